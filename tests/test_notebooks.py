"""What nbval cannot see of a notebook: its form, its order, and that it says what the chapter says."""

import re
from pathlib import Path

import nbformat
import pytest
from hygiene import complaints, everything
from matplotlib import pyplot as plt

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").rglob("*.ipynb"))

CHAPTER_TABLE = """\
[[0.1234 0.2426 0.2145 0.0651 0.3545]
 [0.2248 0.1815 0.158  0.2645 0.1712]
 [0.2517 0.1531 0.1539 0.2708 0.1704]
 [0.1666 0.222  0.1869 0.1256 0.299 ]
 [0.1575 0.2351 0.2459 0.2124 0.1491]]

Row sums: [1. 1. 1. 1. 1.]
All weights non-negative: True
"""


def test_there_are_notebooks_to_check():
    assert len(NOTEBOOKS) >= 5


@pytest.mark.parametrize("path", everything(), ids=lambda path: path.name)
def test_text_is_clean(path):
    assert complaints(path) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_can_be_run_twice(path, capsys, monkeypatch):
    """Pressing Shift+Enter twice must neither raise nor change what comes out."""
    # Half of the time would go into pixels, which nobody looks at here.
    monkeypatch.setattr("attention_lib.figures.show", lambda drawn: plt.close("all"))
    cells = nbformat.read(path, as_version=4).cells
    namespace = {}
    for number, cell in enumerate(cells):
        if cell.cell_type == "code":
            printed = []
            for _ in range(2):
                exec(compile(cell.source, f"{path.stem}, cell {number}", "exec"), namespace)
                printed.append(capsys.readouterr().out)
            assert printed[0] == printed[1], f"cell {number}"


def test_softmax_notebook_prints_the_table_of_the_chapter():
    cells = nbformat.read(NOTEBOOKS[3], as_version=4).cells
    printed = [o.text for c in cells if c.cell_type == "code" for o in c.outputs if "text" in o]
    (table,) = [text for text in printed if text.startswith("Attention weight matrix A")]
    assert table.partition("\n")[2] == CHAPTER_TABLE


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_asks_before_it_answers(path):
    texts = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown"]
    assert "**The question:**" in texts[0]
    assert sum("**Predict.**" in text for text in texts) >= 3
    assert all(re.search(r"\?", text) for text in texts if "**Predict.**" in text)
    assert any(text.startswith("## Break it on purpose") for text in texts)
    assert [text.split("\n")[0] for text in texts[-2:]] == ["## What to keep", "## Sources"]
