"""Opened and run in JupyterLab, a notebook of the reading edition stays the file that git knows.

JupyterLab saves by itself, two minutes after a page was opened and run, and adds to it what it
knows of the kernel. A reader who changed nothing would have a changed checkout, and the next
`git pull` would stop. `tools/jupyter/jupyter_server_config.json` has the server ask here first.
"""

import json
from pathlib import Path

import nbformat
from normal_form import normalise

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"


def before_save(model, path, contents_manager, **_):
    """Give what is about to be saved the form in which this project stores it.

    Outputs come from `make refresh` alone: where no cell's text was changed, the stored ones stay.
    """
    file = Path(contents_manager.root_dir, path.strip("/")).resolve()
    if model["type"] != "notebook" or FOLDER not in file.parents:
        return
    # By way of text, which mends lists of lines and old formats as opening a file does.
    new = nbformat.reads(json.dumps(model["content"]), as_version=4)
    normalise(new)
    stored = nbformat.read(file, as_version=4) if file.is_file() else None
    unchanged = stored is not None and texts(stored) == texts(new)
    model["content"] = stored if unchanged else new


def texts(notebook):
    """Return what an author writes in a notebook."""
    return [(cell.cell_type, cell.source, cell.metadata.get("tags")) for cell in notebook.cells]
