"""A table of symbols says what shapes the notebook's own arrays have.

The cells are run here, up to the one that makes the last of the table's names; each array is looked at
when it is first made, because later cells may use its name for a batch.
"""

import ast
import contextlib
import io
from pathlib import Path

import nbformat
import numpy as np
import pytest
from series_checks import shapes_in_tables, shapes_that_disagree

pytestmark = pytest.mark.usefixtures(
    "drawing"
)  # whatever another test left in matplotlib's settings

LESSONS = sorted((Path(__file__).parent.parent / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def bound(source):
    """Return the names that a cell assigns to at its top."""
    return {
        name.id
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }


def said_and_made(cells):
    """Return the shapes that the tables of a notebook state, and those of the arrays that it makes."""
    said = {
        name: shape
        for cell in cells
        if cell.cell_type == "markdown"
        for _, name, shape in shapes_in_tables(cell.source)
        if shape
    }
    code = [c.source for c in cells if c.cell_type == "code" and not c.metadata.get("tags")]
    # The function of an exercise may have arguments of the same names; they are not bound at the top.
    first = {
        name: next((n for n, source in enumerate(code) if name in bound(source)), None)
        for name in said
    }
    last = max((n for n in first.values() if n is not None), default=-1)
    scope, shapes = {"__name__": "__main__"}, []
    for number, source in enumerate(code[: last + 1]):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, f"cell {number}", "exec"), scope)
        shapes += [
            (name, np.shape(scope[name])) for name, where in first.items() if where == number
        ]
    return said, shapes


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_shapes_in_the_table_are_those_of_the_arrays(path):
    said, made = said_and_made(nbformat.read(path, as_version=4).cells)
    assert list(shapes_that_disagree(said, made)) == []


def test_most_notebooks_have_arrays_to_compare():
    made = [said_and_made(nbformat.read(path, as_version=4).cells)[1] for path in LESSONS[:2]]
    assert all(made)


def test_table_of_another_shape_is_caught():
    table = "| s | in code | shape |\n|---|---|---|\n| $Q$ | `Q` | $(n_q, d_k)$ |\n| $K$ | `K` | $(d_k, n_k)$ |"
    cells = [
        nbformat.v4.new_markdown_cell(table),
        nbformat.v4.new_code_cell("import numpy as np\nQ, K = np.ones((2, 4)), np.ones((3, 4))"),
    ]
    (complaint,) = shapes_that_disagree(*said_and_made(cells))
    assert (
        complaint
        == "K has shape (3, 4) here, (d_k, n_k) in the table: d_k would be 3, and is 4 in Q"
    )
