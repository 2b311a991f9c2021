"""The one form in which a notebook of this project is stored, whoever writes it.

The same notebook is the same file then, byte for byte, and git shows what somebody meant to change.
"""

import nbformat

# The same in every notebook, so that none asks for somebody's private kernel.
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


def normalise(notebook):
    """Leave what the notebook says, and drop what an editor noted about itself; changes it in place."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})


def content(notebook):
    """Return the notebook as the bytes of a file."""
    nbformat.validate(notebook)
    return (nbformat.writes(notebook) + "\n").encode()
