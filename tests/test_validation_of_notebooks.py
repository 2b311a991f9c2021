"""The checks of notebooks are checked: each of these broken copies must be caught, and the whole one not.

A small notebook of the series is copied, broken in one way, and put before the same checks as
the series: `tools/hygiene.py`, and nbval with the pixels of figures. Broken copies of the
package lie beside a copy of the notebook, where its kernel finds them first.
"""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import nbformat
import pytest
from hygiene import complaints

ROOT = Path(__file__).parent.parent
NOTEBOOK = nbformat.read(ROOT / "notebooks" / "03_softmax.ipynb", as_version=4)
TABLE = next(n for n, c in enumerate(NOTEBOOK.cells) if "Attention weight matrix" in c.source)
FIGURE = next(n for n, c in enumerate(NOTEBOOK.cells) if c.source.startswith("show(plot_heatmap("))
PROSE = next(n for n, c in enumerate(NOTEBOOK.cells) if c.source.startswith("Row 0: the exp"))
# The opening, the loop, the table and the heatmap, as far as the text that reads it: every kind of cell.
assert PROSE < TABLE < FIGURE
NOTEBOOK.cells = NOTEBOOK.cells[: FIGURE + 4]
# The practice copy it links to is made by a command, and in the folder of the notebook itself.
NOTEBOOK.cells[1].source = re.sub(r"\n- [^\n]*practice/.*", "", NOTEBOOK.cells[1].source)
CODE = [cell for cell in NOTEBOOK.cells if cell.cell_type == "code"]


def in_output(old, new):
    """Break the stored outputs: what was printed, drawn or described."""

    def change(notebook):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                changed = json.dumps(cell.outputs).replace(old, new)
                cell.outputs = [nbformat.from_dict(output) for output in json.loads(changed)]

    return change


def in_source(number, old, new):
    """Break the text or code of one cell; what it stored stays."""

    def change(notebook):
        assert old in notebook.cells[number].source
        notebook.cells[number].source = notebook.cells[number].source.replace(old, new)

    return change


def in_cell(number, **attributes):
    return lambda notebook: notebook.cells[number].update(copy.deepcopy(attributes))


def in_metadata(**attributes):
    return lambda notebook: notebook.metadata.update(attributes)


def strip(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)


def swap_counts(notebook):
    first, second = [cell for cell in notebook.cells if cell.cell_type == "code"][:2]
    first.execution_count, second.execution_count = 2, 1


def same_id_twice(notebook):
    notebook.cells[1].id = notebook.cells[0].id


def other_picture(notebook):
    """Put a picture in that was drawn from a slightly different matrix, its description unchanged."""
    import numpy as np

    from attention_lib import attention_steps
    from attention_lib.figures import show
    from attention_lib.heatmap import plot_heatmap
    from attention_lib.worked_example import worked_example

    tokens, *_, Q, K, V = worked_example()
    A = attention_steps(Q, K, V).A
    A = A + np.where(np.indices(A.shape).sum(axis=0) == 0, 0.02, 0)
    title = "Attention weights A"
    drawn = show(plot_heatmap(A, queries=tokens, keys=tokens, title=title))._repr_html_()
    (output,) = notebook.cells[FIGURE].outputs
    picture = re.search(r'src="[^"]*"', drawn)[0]
    output.data["text/html"] = re.sub(r'src="[^"]*"', picture, output.data["text/html"])


def no_picture(notebook):
    (output,) = notebook.cells[FIGURE].outputs
    output.data["text/html"] = re.sub(r"base64,[^\"]*", "base64,", output.data["text/html"])


def no_figure(notebook):
    notebook.cells[FIGURE].outputs = []


def figure_without_description(notebook):
    (output,) = notebook.cells[FIGURE].outputs
    data = re.search(r'base64,([^"]*)"', output.data["text/html"])[1]
    output.data = {"image/png": data, "text/plain": "<Figure size 400x340 with 2 Axes>"}


def warning_on_the_page(notebook):
    stream = {"output_type": "stream", "name": "stderr", "text": "RuntimeWarning: overflow\n"}
    notebook.cells[TABLE].outputs.append(nbformat.from_dict(stream))


def raises_untagged(notebook):
    error = {"output_type": "error", "ename": "ValueError", "evalue": "x", "traceback": []}
    notebook.cells[TABLE].outputs.append(nbformat.from_dict(error))


def new_cell(source, **attributes):
    def change(notebook):
        cell = nbformat.v4.new_code_cell(source, **attributes)
        cell.id = "new"
        cell.execution_count = len(CODE) + 1
        text = nbformat.v4.new_markdown_cell("One more thing to look at, for the sake of it.")
        text.id = "new-text"
        notebook.cells += [text, cell]

    return change


# What is broken, by which change. Some copies need not run to be caught: those of the first list.
STILL = {
    "whole notebook stripped": strip,
    "cell never run": in_cell(FIGURE, execution_count=None, outputs=[]),
    "output deleted with its count": in_cell(TABLE, execution_count=None, outputs=[]),
    "counts out of order": swap_counts,
    "figure deleted": no_figure,
    "figure without a description": figure_without_description,
    "nbval told to ignore, by a tag": in_cell(TABLE, metadata={"tags": ["nbval-ignore-output"]}),
    "nbval told to skip, by a tag": in_cell(TABLE, metadata={"tags": ["nbval-skip"]}),
    "nbval told to ignore, by a comment": in_source(TABLE, "A =", "# NBVAL_IGNORE_OUTPUT\nA ="),
    "tagged to raise, does not raise": in_cell(TABLE, metadata={"tags": ["raises-exception"]}),
    "raises, not tagged": raises_untagged,
    "warning on the page": warning_on_the_page,
    "kernel of one machine": in_metadata(
        kernelspec={"name": "conda-env-x-py", "display_name": "x", "language": "python"}
    ),
    "version of one machine": in_metadata(language_info={"name": "python", "version": "3.11.7"}),
    "metadata in a cell": in_cell(TABLE, metadata={"collapsed": True}),
    "told to skip, by a tag": in_cell(TABLE, metadata={"tags": ["skip-execution"]}),
    "hidden by a tag": in_cell(TABLE, metadata={"tags": ["hide-input"]}),
    "text emptied": in_cell(PROSE, source=""),
    "cell that is neither text nor code": in_cell(PROSE, cell_type="raw"),
    "two cells with one id": same_id_twice,
    "no title": in_source(0, "# Turn", "Turn"),
    "heading that skips a level": in_source(1, "## What", "#### What"),
    "second title": in_source(1, "## What", "# What"),
    "link to nowhere": in_source(1, "02_scaling.ipynb", "02_scale.ipynb"),
    "link to a heading that is not there": in_source(
        1, "(02_scaling.ipynb)", "(02_scaling.ipynb#the-way)"
    ),
    "link to a term that is not explained": in_source(
        1, "(02_scaling.ipynb)", "(glossary.ipynb#owl)"
    ),
    "link called here": in_source(1, "[02 Scale the scores]", "[here]"),
    "path of one machine, printed": in_output("All weights", "/home/me/All weights"),
    "path of one machine, in code": in_source(TABLE, "A =", 'here = "/home/me/data"\nA ='),
    "bare NumPy scalar, printed": in_output("0.1234", "np.float64(0.1234)"),
    "address of an object, printed": in_output("0.1234", "<object object at 0x7f>"),
    "negative zero, printed": in_output("0.1234", "-0.0"),
    "cell too long": in_source(TABLE, "A =", "\n" * 15 + "A ="),
    "text too long": in_source(PROSE, "Row 0", "word " * 150 + "Row 0"),
    "wrong number in prose": in_source(PROSE, "add up to 8", "add up to 88"),
    "wrong decimal in prose": in_source(PROSE, "add up to 8", "add up to 8.25"),
    "magic": in_source(TABLE, "A =", "%matplotlib notebook\nA ="),
    "import of a private name": in_source(
        TABLE, "A =", "from attention_lib.heatmap import _largest\nA ="
    ),
    "import past the public names": in_source(
        TABLE, "A =", "from attention_lib.steps.softmax import softmax\nA ="
    ),
    "import of everything": in_source(TABLE, "A =", "from attention_lib import *\nA ="),
    "code without text before it": lambda notebook: notebook.cells.pop(PROSE),
    "not a notebook": lambda notebook: notebook.cells.append({"cell_type": "code", "id": "x"}),
}

RUN = {
    "printed number changed": in_output("0.1234", "0.1243"),
    "printed line missing": in_output("All weights non-negative: True\\n", ""),
    "description changed": in_output("0.123 0.243", "0.124 0.243"),
    "title of a figure stale": in_output("Attention weights A", "Weights"),
    "picture of other numbers": other_picture,
    "picture empty": no_picture,
    "code changed, output stale": in_source(TABLE, "round(4)", "round(3)"),
    "wrong axis in the notebook": in_source(
        TABLE, "softmax(S_scaled)", "softmax(S_scaled, axis=0)"
    ),
    "rows and columns of a figure exchanged": in_source(
        FIGURE, "plot_heatmap(A", "plot_heatmap(A.T"
    ),
    "figure that is new": new_cell("plt.plot([1, 2])", outputs=[]),
    "error that is new": new_cell("1 / 0", outputs=[]),
    "name gone when a reader goes back": new_cell("del S_scaled", outputs=[]),
    "numbers changed when a reader goes back": new_cell("S_scaled = 2 * S_scaled", outputs=[]),
}

# A fault in the package: file, what stands there, what it is changed to.
PACKAGE = {
    "softmax along the columns": ("steps/softmax.py", "axis=-1)", "axis=0)"),
    "no scaling": ("attention.py", "math.sqrt(Q.shape[-1]))", "1)"),
    "scaling by d_k": ("attention.py", "math.sqrt(Q.shape[-1]))", "Q.shape[-1])"),
    "queries and keys exchanged": ("attention.py", "np.matmul(Q, K.swap", "np.matmul(K, Q.swap"),
    "heatmap transposed": ("heatmap.py", 'where, "M", M, kind, mask)', 'where, "M", M, kind, mask).T'),
    "colours reversed": ("heatmap.py", '"magma_r"', '"magma"'),
    "limits of the colours dropped": ("heatmap.py", "Normalize(low, high,", "Normalize(None, None,"),
    "titles of the axes exchanged": ("heatmap.py", "with_glyphs(panel.ylabel)", "with_glyphs(panel.xlabel)"),
    "ticks reversed": ("heatmap.py", "[rows[i] for i in row_ticks]", "[rows[-1 - i] for i in row_ticks]"),
    "numbers of cells gone": ("heatmap.py", "MOST_NUMBERED = 12", "MOST_NUMBERED = 0"),
    "figure upside down": ("heatmap.py", "ylim=(n_rows - 0.5, -0.5)", "ylim=(-0.5, n_rows - 0.5)"),
    "colour of the numbers wrong": ("heatmap.py", "else \"black\"", "else \"0.2\""),
    "warning from the library": ("steps/softmax.py", "    x = val", "    np.float32(1e39)\n    x = val"),
}  # fmt: skip

SEEN_IN_PIXELS_ALONE = {"picture of other numbers", "picture empty", "colour of the numbers wrong"}


def write(path, change=None):
    notebook = copy.deepcopy(NOTEBOOK)
    if change is not None:
        change(notebook)
    path.parent.mkdir(parents=True)
    # The links of the notebook lead to its neighbours.
    for neighbour in (ROOT / "notebooks").glob("*.ipynb"):
        (path.parent / neighbour.name).symlink_to(neighbour)
    path.write_text(json.dumps(notebook), encoding="utf-8")  # nbformat would mend some of it


def run_nbval(folder, pixels):
    """Run nbval over `folder` as the test suite does, and return the paths of what failed."""
    report = folder / "report.xml"
    options = ["--nbval-cell-timeout=60", f"--nbval-sanitize-with={ROOT / 'tests' / 'nbval.cfg'}"]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={folder}"]
        + ["-p", "nbval_strict", "-p", "no:hypothesispytest", "-p", "no:cacheprovider", "-n", "2"]
        + ["--dist=loadscope", "--nbval", "--nbval-current-env", *options, f"--junitxml={report}"]
        + [f"--pixels={pixels}"]
        + [str(path) for path in sorted(folder.glob("*/copy.ipynb"))],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
        capture_output=True,
    )
    cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    failed = {case.get("classname") for case in cases if list(case)}
    return {folder / name.split(".")[0] for name in failed}


@pytest.mark.long
def test_every_broken_copy_is_caught_and_the_whole_one_is_not(
    tmp_path, record_property, pytestconfig
):
    pixels = pytestconfig.option.pixels
    broken = STILL | RUN | PACKAGE
    if pixels == "skip":
        broken = {name: how for name, how in broken.items() if name not in SEEN_IN_PIXELS_ALONE}
    folders = {name: tmp_path / re.sub(r"\W+", "-", name) for name in ["whole", *broken]}
    for name, folder in folders.items():
        write(folder / "copy.ipynb", (STILL | RUN).get(name))
        if name in PACKAGE:
            file, old, new = PACKAGE[name]
            copied = shutil.copytree(ROOT / "attention_lib", folder / "attention_lib")
            text = (copied / file).read_text(encoding="utf-8")
            assert old in text, name
            (copied / file).write_text(text.replace(old, new), encoding="utf-8")
    found = {name: complaints(folder / "copy.ipynb") for name, folder in folders.items()}
    for name in STILL:  # no need to run them
        (folders[name] / "copy.ipynb").unlink()
    failed = run_nbval(tmp_path, pixels)
    by = {
        name: [check for check, hit in (("hygiene", found[name]), ("run", folder in failed)) if hit]
        for name, folder in folders.items()
    }
    rows = [f"  {name:42} {' and '.join(by[name]) or 'NOTHING'}" for name in broken]
    title = f"{len(broken)} broken copies of a notebook, and what caught them:"
    record_property("summary", "\n".join([title, *rows]))
    assert by.pop("whole") == []
    assert [name for name, checks in by.items() if not checks] == []


@pytest.mark.parametrize("name", STILL)
def test_hygiene_alone_catches(tmp_path, name):
    write(tmp_path / "folder" / "copy.ipynb", STILL[name])
    assert complaints(tmp_path / "folder" / "copy.ipynb")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("README.md", "The largest weight, 0.35", "The largest weight, 0.36"),
        ("README.md", "](LICENSE)", "](LICENCE)"),
        ("README.md", "# attention_lib", "attention_lib"),
        ("CONTRIBUTING.md", "at most 15 lines", "at most 16 lines"),
        ("attention_lib/measures.py", "for a uniform row", "(1.79 for six keys) for a uniform row"),
    ],
)
def test_broken_page_or_docstring_is_caught(tmp_path, file, old, new):
    for page in [*ROOT.glob("*.md"), *(ROOT / "attention_lib").glob("*.py"), ROOT / "LICENSE"]:
        shutil.copy(page, tmp_path)
    for folder in ("notebooks", "docs", "attention_lib"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    path = tmp_path / Path(file).name
    assert complaints(path) == []
    text = path.read_text(encoding="utf-8")
    changed = text.replace(old, new)
    assert changed != text
    path.write_text(changed, encoding="utf-8")
    assert complaints(path) != []
