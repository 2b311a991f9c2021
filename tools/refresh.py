"""Execute the notebooks from the top and store what they print and draw.

    python tools/refresh.py [NOTEBOOK ...]     (all of them when none is named)

A notebook in which nothing changed comes out byte for byte as it was.
"""

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"

# The same in every notebook, so that none asks for somebody's private kernel.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def refresh(path):
    """Execute one notebook and write it back in its normal form."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=120,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    nbformat.validate(notebook)
    before, after = path.read_text(encoding="utf-8"), nbformat.writes(notebook) + "\n"
    path.write_text(after, encoding="utf-8", newline="\n")
    return before != after


def main(arguments):
    paths = [Path(argument).resolve() for argument in arguments] or sorted(NOTEBOOKS.rglob("[0-9]*.ipynb"))
    for path in paths:
        start = time.perf_counter()
        print(f"{path.name} ... ", end="", flush=True)
        changed = refresh(path)
        print(f"{'changed' if changed else 'as it was'} ({time.perf_counter() - start:.1f} s)")


if __name__ == "__main__":
    main(sys.argv[1:])
