# ruff: noqa: E501 - the rows of the table are a line each
"""Each kind of slip that `tools/hygiene.py` knows, made once in a small project, and what it says of it.

The project below is sound: a package of one function, two notebooks, a page. Each row of BROKEN changes
one place of it, as somebody might by accident, and must bring a complaint that names the file, the place
and the kind. What a row expects are words of the complaint: a newcomer reads them, so they are part
of what is tested.
"""

import copy
import doctest
import json
import subprocess

import formula_checks
import hygiene
import markdown_checks
import nbformat
import numpy as np
import pytest
import series_checks

import attention_lib
from attention_lib import attention_gradients, attention_steps


def text(source):
    return {"cell_type": "markdown", "source": source.strip("\n")}


def code(source, printed="", error=None):
    outputs = []
    if printed:
        outputs = [{"output_type": "stream", "name": "stdout", "text": printed}]
    if error:
        outputs = [{"output_type": "error", "ename": error, "evalue": "", "traceback": []}]
    metadata = {"tags": ["raises-exception"]} if error else {}
    source = source.strip("\n")
    return {"cell_type": "code", "source": source, "outputs": outputs, "metadata": metadata}


START = [
    text("""
# Add the entries of a row

**The question:** what does a row add up to?

This is a sample, with **bold** words, *italic* ones, `np`, a formula, $n_k = 3$, and an escaped \\* star.
"""),
    text("""
## What to expect

- **You will do:** a sum by hand, then with NumPy.
- **You need:** nothing.
- **Time:** about 5 minutes.
"""),
    text("""
## The series

| notebook | its question | minutes |
|---|---|---|
| 00 Add the entries (this one) | What does a row add up to? | 5 |
| [01 Mix rows](01_mix.ipynb) | How are rows mixed, and by what? | 20 |
"""),
    text("""
## The equation

$$\\text{output} = \\text{softmax}\\!\\left(\\frac{\\boxed{Q K^T}}{\\sqrt{d_k}}\\right) V \\qquad S_{ij} = \\sum_{m=1}^{d_k} Q_{im} K_{jm}$$

| symbol | in code | what it is | shape |
|---|---|---|---|
| $Q$ | `Q` | queries, one per row | $(n_q, d_k)$ |
| $K$, $V$ | `K`, `V` | keys and values | $(n_k, d_k)$, $(n_k, d_v)$ |
| a bar: `Q \\| K` | | a bar within a cell | |
"""),
    code(
        """
import numpy as np

from attention_lib.sums import row_sums

Q, K = np.ones((2, 4)), np.ones((3, 4))
print("Q:", Q.shape, " K:", K.shape)
""",
        "Q: (2, 4)  K: (3, 4)\n",
    ),
    text("""
## By hand

**Predict.** What is the sum of `[1, 2, 5]`?
"""),
    code(
        """
total = 0
for entry in [1, 2, 5]:
    total += entry
print("total:", total)
assert total == 8
""",
        "total: 8\n",
    ),
    text("""
The entries add up to 8. The last one, 5, is the largest of them. `row_sums` does the same for many rows at once.

<details><summary>Hint 1</summary>

Add **them** up.

</details>

### Many rows

Two rows at once:
"""),
    code(
        """
rng = np.random.RandomState(0)
A = rng.rand(2, 3)
with np.errstate(all="ignore"):
    B = A / A
print("sums agree:", np.allclose(row_sums(A), A.sum(axis=1)))
""",
        "sums agree: True\n",
    ),
    text("""
A row is added along its own axis; see [the mixing](01_mix.ipynb#A-row-of-shares), and `np.sum`. The next cell raises a `ValueError` on purpose.
"""),
    code("row_sums([1, [2, 3]])", error="ValueError"),
    text("""
## Sources

- A. Vaswani et al. (2017), *Attention Is All You Need*, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), section 3.2.1.
- P. Blanchard, D. J. Higham, N. J. Higham (2021), *Accurately computing the log-sum-exp and softmax functions*, [doi:10.1093/imanum/draa038](https://doi.org/10.1093/imanum/draa038).
- The site of [numpy.org](https://numpy.org), and [issue 103963](https://github.com/pytorch/pytorch/issues/103963).
"""),
]

MIX = [
    text("""
# Mix rows by shares

**The question:** how are rows mixed, and by what?

The notebook before, [00 Add the entries](00_start.ipynb), adds what this one mixes.
"""),
    text("""
## What to expect

- **You will do:** a mixture.
- **Time:** about 20 minutes.
"""),
    text("""
## A row of shares

Three shares that sum to 1, and three rows of two entries each.
"""),
    code(
        """
import numpy as np

shares = np.array([0.5, 0.25, 0.25])
rows = np.eye(3)[:, :2]
print("mixed:", shares @ rows, "largest:", shares.argmax())
try:
    shares @ rows.T
except ValueError as error:
    print("no:", type(error).__name__)
""",
        "mixed: [0.5  0.25] largest: 0\nno: ValueError\n",
    ),
    text("""
Half of the first row is in the mixture, a quarter of the second.
"""),
    text("""
## Sources

- A. Vaswani et al. (2017), *Attention Is All You Need*, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), section 3.2.2.
"""),
]

PAGE = """
# A sample

Two Jupyter notebooks and a package of one function, `attention_lib.sums.row_sums`.

$$\\text{output} = \\text{softmax}\\left(\\frac{Q K^T}{\\sqrt{d_k}}\\right) V$$

![A picture of two rows and their sums, drawn for this page.](docs/rows.png)

## Start

```console
make lab      # opens the notebooks
.venv-test/bin/python -m pytest -n auto
python tools/sums.py --check
```

See [how to start](#start), [CHANGELOG.md](CHANGELOG.md), and the file `attention_lib/sums.py`. `make lab` does it.

| notebook | its question | minutes |
|---|---|---|
| [00 Add the entries](notebooks/00_start.ipynb) | What does a row add up to? | 5 |
| [01 Mix rows](notebooks/01_mix.ipynb) | How are rows mixed, and by what? | 20 |
"""

FILES = {
    "notebooks/00_start.ipynb": START,
    "notebooks/01_mix.ipynb": MIX,
    "README.md": PAGE,
    "CHANGELOG.md": "# Changelog\n\n## 2\n\n### Added\n\n- A.\n\n## 1\n\n### Added\n\n- B.\n",
    "attention_lib/__init__.py": '"""A sample.\n\n    output = softmax(Q K^T / sqrt(d_k)) V\n"""\n',
    "attention_lib/sums.py": (
        '"""Sums.\n\n    python tools/sums.py --check\n\nSee `row_sums`, and `attention_lib.sums`.\n"""\n\n\n'
        'def row_sums(A):\n    """Return the sum of each row.\n\n    References\n    ----------\n    Vaswani et al. (2017), arXiv:1706.03762.\n    """\n'
        "    return A.sum(axis=1)\n"
    ),
    "tools/sums.py": 'OPTION = "--check"\n',
    "docs/rows.png": "",
    "Makefile": "PYTHON ?= python3\nTEST := .venv-test\n\nlab:\n\techo\n",
    "constraints.txt": "pytest==9.2.0\n",
    "pyproject.toml": "",
}


def write(folder, change=None):
    """Write the project, changed in one place; return what hygiene says, with the name of the file."""
    files = copy.deepcopy(FILES)
    if change:
        file, old, new = change
        if isinstance(files[file], str):
            assert files[file].count(old) >= 1
            files[file] = files[file].replace(old, new, 1)
        else:
            cell = next(cell for cell in files[file] if old in cell["source"])
            cell["source"] = cell["source"].replace(old, new, 1)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, str):
            content = json.dumps(as_notebook(content))
        path.write_text(content.lstrip("\n"), encoding="utf-8")


def as_notebook(cells):
    cells = [{"metadata": {}, "id": f"c{n}"} | cell for n, cell in enumerate(cells)]
    count = 0
    for cell in cells:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
    return {"cells": cells, "metadata": hygiene.METADATA, "nbformat": 4, "nbformat_minor": 5}


def said_of(folder, *files):
    """Return what hygiene says of some files, and of what does not agree between all of them."""
    paths = hygiene.everything(folder)
    of_each = (
        (folder / file, line)
        for file in files
        for line in hygiene.complaints(folder / file, folder)
    )
    return [f"{path.name}: {line}" for path, line in [*of_each, *hygiene.disagreements(paths)]]


BY_HAND = "The entries add up to 8."
LOOP = "total = 0"
START_FILE, MIX_FILE = "notebooks/00_start.ipynb", "notebooks/01_mix.ipynb"
SUMS = "attention_lib/sums.py"


def in_start(old, new, place, *words):
    return (START_FILE, old, new, f"00_start.ipynb: {place}: ", *words)


def in_mix(old, new, place, *words):
    return (MIX_FILE, old, new, f"01_mix.ipynb: {place}: ", *words)


def on_page(old, new, place, *words):
    return ("README.md", old, new, f"README.md: page, {place}: ", *words)


def in_text(new, place, *words):
    """Put something into a text, that of cell 7."""
    return in_start(BY_HAND, f"{BY_HAND} {new}", f"cell 7{place}", *words)


def in_code(new, *words, line=1):
    """Put a line before some code, that of cell 6."""
    return in_start(LOOP, f"{new}\n{LOOP}", f"cell 6, line {line}", *words)


# The name of the slip: file, what stands there, what it is changed to; where the complaint says it is,
# and words of it.
BROKEN = {
    # The form of the text
    "bold not closed": in_text("One is **bold.", ", line 1", "**", "its partner is missing"),
    "bold with a space": in_text("One is ** bold**.", ", line 1", "bold", "partner is missing"),
    "italics not closed": in_text("One is *italic.", ", line 1", "italics", "\\*"),
    "italics by underscore": in_text("One is _italic.", ", line 1", "underscore"),
    "code not closed": in_text("One is `code.", ", line 1", "backquote"),
    "formula not closed": in_text("One is $x = 8.", ", line 1", "dollar opens or closes a formula"),
    "block formula not closed": in_text("\n\n$$x = 8", ", line 3", "dollar opens or closes a formula"),
    "comment not closed": in_text("\n\n<!-- hidden", ", line 3", "comment is opened and not closed"),
    "comment in a line": in_text("And <!-- hidden", ", line 1", "comment is opened and not closed"),
    "fence not closed": in_text("\n\n```python\nx = 8\n", ", line 3", "code is opened by ```"),
    "details not closed": in_start("\n</details>", "", "cell 7, line 3", "<details> is opened and not closed"),
    "details closed twice": in_start("</details>", "</details>\n</details>", "cell 7, line 7", "</details> closes nothing"),
    "summary not closed": in_start("</summary>", "", "cell 7, line 3", "<summary>", "closed"),
    "details without summary": in_start("<summary>Hint 1</summary>", "", "cell 7, line 3", "without a <summary>"),
    "Markdown right after a tag": in_start("</summary>\n\n", "</summary>\n", "cell 7, line 3", "put an empty line between"),
    "tag without its end": in_text("It is <b", ", line 1", "tag of HTML without its closing >"),
    "script": in_text("\n\n<script>alert(8)</script>", ", line 3", "<script> has no place"),
    "style in the text": in_text("<span style='color:red'>8</span>", ", line 1", "<span> has no place"),
    "script in an attribute": in_text("<a href='01_mix.ipynb' onclick='x()'>mixing</a>", ", line 1", "onclick", "runs a script"),
    "heading without its space": in_start("## By hand", "##By hand", "cell 5, line 1", "heading needs a space after ##"),
    "heading by underlining": in_text("\n\nA line\n---\n", ", line 3", "heading made by underlining"),
    "heading without words": in_text("\n\n##\n", ", line 3", "heading without words"),
    "answer that hides an introduction": in_start("### Many rows\n\nTwo rows at once:", "", "cell 7", "folded in the practice copy"),
    "question to the reader not marked": in_start("**Predict.**", "*Predict.*", "cell 5, line 3", "**Predict.**"),
    "heading twice": in_start("## By hand", "## What to expect", "cell 5, line 1", "'What to expect' stands already in cell 1"),
    "heading that skips a level": in_start("## By hand", "#### By hand", "cell 5, line 1", "level 4 after level 2"),
    "table without its rule": in_start("|---|---|---|---|\n", "", "cell 3, line 5", "table that comes out as text"),
    "table with a rule too short": in_start("|---|---|---|---|", "|---|---|---|", "cell 3, line 5", "as many columns as the first"),
    "table with a row too short": in_start(" queries, one per row |", "", "cell 3, line 7", "row of the table has 3 cells, its head has 4"),
    "table with a row too long": in_start("`Q \\| K`", "`Q | K`", "cell 3, line 9", "5 cells, its head has 4", "\\|"),
    "indented into code": in_text("\n\n    Four spaces.", ", line 3", "indented by four spaces"),
    "marks of a merge": in_text("\n\n<<<<<<< main\nOne.\n=======\nTwo.\n>>>>>>> mine", ", line 3", "<<<<<<<", "merge that was not finished"),
    "marks of a merge in the file": ("CHANGELOG.md", "- A.", "<<<<<<< main\n- A.\n=======\n- C.\n>>>>>>> mine", "CHANGELOG.md: page, line 7: ", "merge"),
    "broken encoding": in_text("It isn\u00e2\u20ac\u2122t.", ", line 1", "broken character"),
    "broken encoding of an accent": in_text("Jos\u00c3\u00a9.", ", line 1", "broken character"),
    "invisible character": in_text("One\u200btwo.", ", line 1", "nobody can see"),
    "note to oneself": in_text("TODO: say why.", ", line 1", "TODO is a note to oneself"),
    "filling": in_text("Lorem ipsum dolor.", ", line 1", "note to oneself"),
    "note to oneself in the package": (SUMS, "    return", "    # FIXME\n    return", "sums.py: line 16: ", "FIXME is a note to oneself"),
    "paragraph twice": in_mix("Three shares that sum to 1, and three rows of two entries each.", "A row is added along its own axis; see [the mixing](00_start.ipynb), and `np.sum`. The next cell raises a `ValueError` on purpose.", "cell 2", "stands already in 00_start.ipynb, cell 9"),
    # Links and images
    "link to nowhere": in_text("See [the mixing](02_mix.ipynb).", ", line 1", "02_mix.ipynb, which is not there"),
    "link to no heading": in_start("#A-row-of-shares", "#A-row-of-share", "cell 9, line 1", "no heading for #A-row-of-share"),
    "link to a heading in the wrong case": in_start("#A-row-of-shares", "#a-row-of-shares", "cell 9, line 1", "there is #A-row-of-shares"),
    "link to no heading of its own page": on_page("(#start)", "(#Start)", "line 17", "there is #start"),
    "link in HTML to nowhere": in_text("<a href='02_mix.ipynb'>mixing</a>", ", line 1", "02_mix.ipynb, which is not there"),
    "link called 00 that leads to 01": in_mix("(00_start.ipynb)", "(01_mix.ipynb)", "cell 0, line 5", "'00 Add the entries' leads to 01_mix.ipynb"),
    "link with the title of another": in_start("[01 Mix rows]", "[01 Add the entries]", "cell 2, line 6", "'01 Add the entries' leads to the notebook 'Mix rows by shares'"),
    "link called like another file": on_page("[CHANGELOG.md]", "[LICENSE.md]", "line 17", "'LICENSE.md' leads to CHANGELOG.md"),
    "link called here": in_text("See [here](01_mix.ipynb).", ", line 1", "does not say where it leads"),
    "link by a name that is nowhere": in_text("See [the mixing][mix].", ", line 1", "reference"),
    "link with a space in its address": in_text("See [the mixing](01 mix.ipynb).", ", line 1", "does not come out as one"),
    "link without encryption": in_text("See [numpy](http://numpy.org).", ", line 1", "only https"),
    "link to no address": in_text("See [numpy](https://numpy).", ", line 1", "no address"),
    "link from the root": in_text("See [the mixing](/notebooks/01_mix.ipynb).", ", line 1", "own folder"),
    "link to another issue": in_start("[issue 103963]", "[issue 103936]", "cell 11, line 5", "another number"),
    "link to another site": in_start("(https://numpy.org)", "(https://scipy.org)", "cell 11, line 5", "called numpy.org leads to scipy.org"),
    "footnote": in_text("See[^1].", ", line 1", "footnote"),
    "image from outside": in_text("![A picture of two rows.](https://example.org/rows.png)", ", line 1", "loaded from outside"),
    "image in HTML from outside": in_text("<img src='https://example.org/rows.png' alt='A picture of rows'>", ", line 1", "loaded from outside"),
    "image that is not there": on_page("docs/rows.png", "docs/row.png", "line 7", "docs/row.png, which is not there"),
    "image without words": on_page("![A picture of two rows and their sums, drawn for this page.]", "![]", "line 7", "no words for those who cannot see it"),
    # Papers
    "paper with another address": in_start("(https://arxiv.org/abs/1706.03762)", "(https://arxiv.org/abs/1706.03726)", "cell 11, line 3", "arXiv:1706.03762 leads to https://arxiv.org/abs/1706.03726"),
    "paper with another number": in_mix("[arXiv:1706.03762](https://arxiv.org/abs/1706.03762)", "[arXiv:1706.03726](https://arxiv.org/abs/1706.03726)", "cell 5", "Vaswani (2017) is arXiv:1706.03726 here, elsewhere arXiv:1706.03762"),
    "paper with another title": in_mix("Is All You Need*", "Is What You Need*", "cell 5", "'Attention Is What You Need'"),
    "paper with another number in a docstring": (SUMS, "1706.03762", "1706.03763", "sums.py: docstring of row_sums: ", "arXiv:1706.03763 here"),
    "article with another address": in_start("doi.org/10.1093/imanum/draa038)", "doi.org/10.1093/imanum/draa083)", "cell 11, line 4", "doi:10.1093/imanum/draa038 leads to"),
    # Formulas
    "brace not closed": in_text("$d_{model$", ", line 1", "does not parse", "}"),
    "fraction with one part": in_text("$\\frac{a}$", ", line 1", "does not parse", "argument"),
    "left without right": in_text("$\\left( a$", ", line 1", "does not parse", "\\right"),
    "unknown command": in_text("$\\sofmax(a)$", ", line 1", 'Unknown command "\\sofmax"'),
    "two subscripts": in_text("$a_i_j$", ", line 1", "Duplicate subscript"),
    "environment closed by another name": in_text("$\\begin{cases} 1 \\end{array}$", ", line 1", "does not parse"),
    "percent": in_text("$50 %$", ", line 1", "comment", "\\%"),
    "root lost": in_start("{\\sqrt{d_k}}", "{d_k}", "cell 3, line 3", "softmax(QK^T/d_k) is not the softmax of the series"),
    "root lost on a page": on_page("{\\sqrt{d_k}}", "{d_k}", "line 5", "softmax(QK^T/d_k)"),
    "root lost in a docstring": ("attention_lib/__init__.py", "/ sqrt(d_k)", "/ d_k", "__init__.py: docstring of module: ", "softmax(QK^T/d_k)"),
    "transpose lost in a docstring": ("attention_lib/__init__.py", "K^T", "K", "__init__.py: docstring of module: ", "softmax(QK/sqrt(d_k))"),
    "transpose on the other factor": in_start("{Q K^T}", "{Q^T K}", "cell 3, line 3", "softmax(Q^TK/sqrt(d_k))"),
    "values lost": in_start("\\right) V", "\\right)", "cell 3, line 3", "does not end in V"),
    "sum over the other index": in_start("Q_{im} K_{jm}", "Q_{mi} K_{jm}", "cell 3, line 3", "not how the series defines S_{ij}"),
    "softmax over the columns": in_text("$A_{ij} = \\frac{e^{s_{ij}}}{\\sum_{l=1}^{n_q} e^{s_{lj}}}$", ", line 1", "not how the series defines A_{ij}"),
    "entropy without its minus": in_text("$\\sum_j A_{ij} \\ln A_{ij}$", ", line 1", "entropy has a minus"),
    "shape turned round": in_start("$(n_q, d_k)$", "$(d_k, n_q)$", "cell 3, line 7", "Q has shape (d_k, n_q); it has (n_q, d_k)"),
    "shape that is not printed": in_start("| $K$, $V$ | `K`, `V` | keys and values | $(n_k, d_k)$, $(n_k, d_v)$ |", "| $K$ | `K` | keys | $(n_k, d_v)$ |", "cell 3, line 8", "(n_k, d_v); it has (n_k, d_k)"),
    # Names, commands, tables of the series
    "target that is not there": on_page("make lab  ", "make labs ", "line 12", "no target labs"),
    "target in a sentence that is not there": on_page("`make lab`", "`make notebook`", "line 17", "no target notebook"),
    "variable that is not there": on_page("`make lab`", "`make lab NOTEBOOK=1`", "line 17", "no variable NOTEBOOK"),
    "tool that is not there": on_page("tools/sums.py", "tools/sum.py", "line 14", "tools/sum.py is not there"),
    "option that is not there": on_page("--check", "--checks", "line 14", "no option --checks"),
    "environment that is not there": on_page(".venv-test/", ".venv-tests/", "line 13", "no environment .venv-tests"),
    "module that is not there": on_page("-m pytest", "-m pytests", "line 13", "pytests is in no environment"),
    "tool in a docstring that is not there": (SUMS, "tools/sums.py", "tools/sum.py", "sums.py: docstring of module: ", "tools/sum.py is not there"),
    "file that is not there": on_page("`attention_lib/sums.py`", "`attention_lib/sum.py`", "line 17", "file or folder that is not there"),
    "name the library does not have": on_page("attention_lib.sums.row_sums", "attention_lib.sums.sum_rows", "line 3", "the library has no attention_lib.sums.sum_rows"),
    "name that nothing has": in_start("`row_sums` does", "`rows_sum` does", "cell 7, line 1", "rows_sum is no name of the library"),
    "name that NumPy does not have": in_start("`np.sum`", "`np.summ`", "cell 9, line 1", "there is no np.summ"),
    "name in a docstring": (SUMS, "See `row_sums`", "See `rows_sum`", "sums.py: docstring of module: ", "rows_sum is no name"),
    "notebook that is not there": in_text("More in notebook 07.", ", line 1", "notebook 07, which is not there"),
    "number of notebooks": on_page("Two Jupyter notebooks", "Three Jupyter notebooks", "line 3", "there are two in notebooks/"),
    "minutes in the table": on_page("| 20 |", "| 25 |", "line 22", "'25' as minutes of 01_mix.ipynb"),
    "minutes that are a part of the right ones": on_page("| 20 |", "| 2 |", "line 22", "'2' as minutes of 01_mix.ipynb"),
    "question left out": on_page("| How are rows mixed, and by what? |", "| |", "line 22", "'' as its question of 01_mix.ipynb"),
    "question in the table": in_start("| How are rows mixed, and by what? |", "| How are columns mixed? |", "cell 2, line 6", "'How are columns mixed?'"),
    "title in the table": on_page("[01 Mix rows]", "[01 Mix columns]", "line 22", "its own title is 'Mix rows by shares'"),
    "notebook missing in the table": on_page("| [01 Mix rows](notebooks/01_mix.ipynb) | How are rows mixed, and by what? | 20 |\n", "", "line 19", "lacks 01_mix.ipynb"),
    # Code
    "NumPy's errors silenced": in_code('np.seterr(all="ignore")', "numpy.seterr silences warnings", "with np.errstate"),
    "NumPy's errors silenced under another name": in_code('from numpy import seterr as quiet\nquiet(all="ignore")', "numpy.seterr silences", line=2),
    "warnings silenced": in_code('import warnings\nwarnings.filterwarnings("ignore")', "warnings.filterwarnings silences", "catch_warnings", line=2),
    "rcParams": in_code('from matplotlib import pyplot as plt\nplt.rcParams["font.size"] = 8', "reader's settings", "rc_context", line=2),
    "rcParams updated": in_code('import matplotlib as mpl\nmpl.rcParams.update({"font.size": 8})', "reader's settings", line=2),
    "style of figures": in_code('from matplotlib import pyplot as plt\nplt.style.use("ggplot")', "reader's settings", "plt.style.context", line=2),
    "print options": in_code("np.set_printoptions(precision=8)", "reader's settings"),
    "environment variable": in_code('import os\nos.environ["A"] = "8"', "os.environ", line=2),
    "file written": in_code('np.save("total.npy", 8)', "writes a file beside the notebook"),
    "file opened to write": in_code('open("total.txt", "w").write("8")', "writes a file"),
    "file written by a method": in_code('from pathlib import Path\nPath("total.txt").write_text("8")', "writes a file", line=2),
    "figure saved": in_code('from matplotlib import pyplot as plt\nplt.savefig("total.png")', "writes a file", line=2),
    "network": in_code("import urllib.request", "asks the network"),
    "network by a method": in_code('model = Model.from_pretrained("x")', "asks the network"),
    "another program": in_code('import os\nos.system("ls")', "starts another program", line=2),
    "time": in_code("import time", "depends on the machine, the date or a version"),
    "version": in_code("print(np.__version__)", "depends on the machine, the date or a version"),
    "platform": in_code("import sys\nprint(sys.platform)", "depends on the machine", line=2),
    "address as number": in_code("print(id(8))", "id() depends on the machine"),
    "random numbers from the global generator": in_code("np.random.rand(8)", "global generator", "RandomState(0)"),
    "global generator seeded": in_code("np.random.seed(8)", "global generator"),
    "random numbers where errors are silent": in_code('with np.errstate(all="ignore"):\n    np.random.rand(8)', "global generator", line=2),
    "note to oneself in code": in_code("total = 8  # FIXME", "FIXME is a note to oneself"),
    "generator without a seed": in_code("np.random.default_rng()", "without a seed"),
    "generator without a seed, by name": in_code("from numpy.random import RandomState as R\nR(None)", "without a seed", line=2),
    "random numbers of Python": in_code("import random\nrandom.random()", "global generator", line=2),
    "assert of a tuple": in_code('assert (Q == K, "not equal")', "cannot fail", "tuple"),
    "assert of a constant": in_code("assert 8 == 5 + 3", "cannot fail", "nothing that was computed"),
    "assert of a function": in_code("assert (Q == 1).all", "cannot fail", "not called"),
    "assert of the same": in_code("assert np.allclose(Q, Q)", "cannot fail", "both arguments are the same"),
    "assert with a true side": in_code("assert (Q == 8).all() or True", "cannot fail", "or"),
    "assert of a generator": in_code("assert (entry > 8 for entry in Q)", "cannot fail", "all(...)"),
    "assert of a length": in_code("assert len(Q) >= 0", "cannot fail", "never negative"),
    "error swallowed": in_code("try:\n    8 / 0\nexcept ZeroDivisionError:\n    pass", "hides what goes wrong", line=3),
    "error of any kind": in_code("try:\n    8 / 0\nexcept:\n    print()", "catches every error", line=3),
    "import of everything": in_code("from numpy import *", "imports everything from numpy"),
    "word of Python taken": in_code("sum = 8", "gives sum, a word of Python, another meaning"),
    "name lost to an except": in_mix('print("no:", type(error).__name__)', 'print("no:")\nprint(error)', "cell 3, line 10", "uses error, which `except ... as error`", "deletes"),
    "error that was not announced": in_start("`ValueError` on purpose", "mistake on purpose", "cell 10", "raises ValueError, which the text before it does not name"),
    # Files
    "a module that is not Python": (SUMS, "return A", "retrun A", "sums.py: line 16: ", "not Python"),
}  # fmt: skip


SOUND = [
    name for name in FILES if name.endswith((".ipynb", ".md")) or name.startswith("attention_lib")
]


def test_sound_project_has_no_complaint(tmp_path):
    write(tmp_path)
    assert said_of(tmp_path, *SOUND) == []


@pytest.mark.parametrize("name", BROKEN)
def test_slip_is_caught_with_its_place_and_kind(tmp_path, name):
    file, old, new, place, *words = BROKEN[name]
    write(tmp_path, (file, old, new))
    said = said_of(tmp_path, file)
    found = [
        line for line in said if line.startswith(place) and all(word in line for word in words)
    ]
    assert found, "\n".join([f"{place} {' ... '.join(words)}: not among", *said])
    assert not [line for line in said if "\n" in line]


def test_page_in_another_encoding_is_named(tmp_path):
    write(tmp_path)
    (tmp_path / "CHANGELOG.md").write_bytes("# José".encode("latin-1"))
    assert said_of(tmp_path, "CHANGELOG.md") == ["CHANGELOG.md: not UTF-8: byte 5 is 0xe9"]


def test_merge_that_broke_a_notebook_is_named(tmp_path):
    write(tmp_path)
    path = tmp_path / START_FILE
    path.write_text(path.read_text().replace('{"cells"', '<<<<<<< main\n{"cells"', 1))
    assert (
        "00_start.ipynb: line 1: <<<<<<< is the mark of a merge" in said_of(tmp_path, START_FILE)[0]
    )


@pytest.mark.parametrize(
    "source",
    [
        "snake_case, d_k and __init__ within `code`; d_k in the text, and 2 · 3 with a dot.",
        "A star \\* and a dollar \\$, escaped; **bold** and *italic*, ***both***.",
        "A row [0, 1], its entry [i] and an interval (0, 1]; see f(x)[0].",
        "$-\\sum_j A_{ij} \\ln A_{ij}$",
        "$$\n\\frac{a}{b} \\quad \\text{if } a < b\n$$\n\nand $|x|$, $a_{i}^{2}$, $\\|x\\|$.",
        "- a list\n- with `code`\n\n  and a paragraph of its own\n\n1. numbers\n2. too",
        "> A quotation.\n\n```python\n# not a heading\n| not | a table\n```",
        "<details><summary>Hint</summary>\n\n**Bold**, $x$ and `code`.\n\n</details>",
        "| a | b |\n|:--|--:|\n| `x \\| y` | |\n| $x$ | 2 |",
        "First line  \nsecond line<br>third; 3<sup>2</sup>, press <kbd>A</kbd>.",
        "Héllo, naïve, Ångström, “quotes”, … – × ≥ √ τ; 日本語 and emoji are characters like others.",
        "#1 is a number, and C# a language. --- is no heading here.",
    ],
)
def test_sound_text_has_no_complaint(source):
    said = [*markdown_checks.form(source), *series_checks.about_formulas(source)]
    assert said == []


@pytest.mark.parametrize(
    "source",
    [
        'with np.errstate(all="ignore"):\n    x = 8 / np.zeros(1)',
        'with warnings.catch_warnings():\n    warnings.simplefilter("ignore")',
        'with plt.rc_context({"font.size": 8}):\n    plt.rcParams["font.size"] = 9',
        "rng = np.random.RandomState(0)\nx = rng.rand(2), np.random.default_rng(seed=3).random()",
        "x = np.random.Generator(np.random.PCG64(1)).normal()",
        "assert (x == y).all(), (x, y)\nassert x\nassert not np.isnan(x)\nassert len(x) > 0",
        "assert np.allclose(f(x), x) and x.shape == (2, 3)\nassert abs(x) >= 1",
        "try:\n    f()\nexcept ValueError as error:\n    print(error)\n\n\ndef g(error):\n    return error",
        'text = open("x.txt").read()\nfigure.set(title="open")\nmax_of = max(x)',
        "def f(x):\n    sum, id = x\n    return [max for max in sum]\n\n\nclass A:\n    def round(self): ...",
        "def random(time):\n    return time.random() + np.max(x)",
    ],
)
def test_sound_code_has_no_complaint(source):
    imports = "import warnings\nimport numpy as np\nfrom matplotlib import pyplot as plt\n"
    assert [*hygiene.code_checks.about_code([("cell 1", imports + source)])] == []


def test_shapes_of_the_tables_are_those_that_the_library_makes():
    # All sizes differ, so that each size says which axis it is.
    names = {2: "n_q", 3: "n_k", 4: "d_k", 5: "d_v", 6: "d_model"}
    Q, K, V = np.ones((2, 4)), np.ones((3, 4)), np.ones((3, 5))
    steps, mask = attention_steps(Q, K, V), np.ones((2, 3), dtype=bool)
    gradients = attention_gradients(Q, K, V, d_output=steps.output)
    assert attention_steps(Q, K, V, mask=mask).A.shape == mask.shape
    made = {"Q": Q, "K": K, "V": V, "mask": mask, "d_output": steps.output}
    made |= {"W_Q": np.ones((6, 4)), "W_K": np.ones((6, 4)), "W_V": np.ones((6, 5))}
    made |= {f"dW_{name}": made[f"W_{name}"] for name in "QKV"}
    made |= steps._asdict() | gradients._asdict()
    shapes = {name: ", ".join(names[size] for size in array.shape) for name, array in made.items()}
    assert shapes | {"X": "n, d_model"} == series_checks.SHAPES


SYMBOLS = "| symbol | in code | shape |\n|---|---|---|\n| $G$ | `G` | $(n_q, d_v)$ |\n| $V$ | `V` | $(n_k, d_v)$ |"


@pytest.mark.parametrize(
    ("printed", "complaint"),
    [
        ("G: (2, 5)  V: (3, 5)", None),
        ("G: (8, 2, 5)  V: (8, 3, 5)", None),
        (
            "G: (2, 5)  V: (5, 3)",
            "(5, 3) here, (n_k, d_v) in the table: d_v would be 3, and is 5 in G",
        ),
        ("G: (5,)", "G has shape (5,) here; the table says (n_q, d_v)"),
    ],
)
def test_shapes_that_a_cell_prints_are_those_of_the_table(printed, complaint):
    said = list(series_checks.about_shapes([("cell 0", SYMBOLS)], [("cell 1", printed)]))
    assert [place for place, _ in said] == ["cell 1"] * bool(complaint)
    assert all(line.endswith(complaint) for _, line in said)


def test_files_of_the_series_agree():
    said = hygiene.disagreements(hygiene.everything())
    assert [f"{path.name}: {line}" for path, line in said] == []


def test_equation_of_the_package_is_the_one_that_formulas_are_held_to():
    line = next(line for line in attention_lib.__doc__.splitlines() if "softmax(" in line)
    assert formula_checks.plain(line) == formula_checks.EQUATION
    assert doctest.testmod(formula_checks) == (0, 1)


def test_fragments_are_those_of_jupyter_and_of_github():
    assert markdown_checks.anchor_in_notebook("What's d_k, and why?") == "What's-d_k,-and-why?"
    assert markdown_checks.anchor_on_page("What's d_k, and why?") == "whats-d_k-and-why"


CLAIMS = [
    ("The sum is 8.", None),
    ("The sum is 7.", "7"),
    ("The sum is -8.", "-8"),
    ("The first is 1/3 of all.", None),
    ("The first is one third of all.", None),
    ("The first is two thirds of all.", "two thirds"),
    ("The first is half of all.", "half"),
    ("The sum is twice the first.", None),
    ("The sum is three times the first.", "three times"),
    ("One of three is odd.", "One of three"),
    ("The last is the largest.", "largest"),
    ("The first is never odd.", None),
    ("It grows like before, with more in it.", None),
    ("See row 7, notebook 06 and section 5.", None),
    ("Is it 7?", None),
    ("`7` is code.", None),
]


@pytest.mark.parametrize(("sentence", "what"), CLAIMS)
def test_sentence_is_listed_unless_its_cell_bears_it_out(sentence, what):
    printed = "total: 8, share 0.3333, ratio 2.0, even: True\n"
    cells = [code("print(total)", printed), text(sentence)]
    notebook = nbformat.from_dict(as_notebook([text("# A\n\n## B"), *cells]))
    listed = hygiene.claims.claims([(f"cell {n}", cell) for n, cell in enumerate(notebook.cells)])
    assert [claim.what for claim in listed] == ([what] if what else [])
    assert all(claim == ("cell 2, line 1", sentence, what) for claim in listed)


def test_superlative_is_borne_out_by_an_assert():
    cells = [text("# A\n\n## B"), code("assert x.argmax() == 4"), text("The last is the largest.")]
    notebook = nbformat.from_dict(as_notebook(cells))
    assert hygiene.claims.claims([("cell", cell) for cell in notebook.cells]) == []


def test_claims_are_listed_and_are_no_errors(tmp_path, capsys):
    write(tmp_path, (MIX_FILE, "Half of the first row", "Two thirds of the first row"))
    assert hygiene.main(["--claims", str(tmp_path / MIX_FILE)]) == 0
    listed = capsys.readouterr().out
    assert "\n01_mix.ipynb: cell 4, line 1: Two thirds: Two thirds of the first row is" in listed


def test_claims_that_a_revision_had_are_not_listed_again(tmp_path, capsys):
    def git(*words):
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    write(tmp_path)
    git("init")
    git("add", ".")
    git("commit", "--message=before")
    write(tmp_path, (MIX_FILE, "Half of the first row", "Two thirds of the first row"))
    for since, count in [("--since=HEAD", 1), ("--since=HEAD~1", 2)]:
        assert hygiene.main(["--claims", since, str(tmp_path / MIX_FILE)]) == 0
        assert len(capsys.readouterr().out.splitlines()) == count


def test_option_that_is_none_is_refused(capsys):
    assert hygiene.main(["--claim"]) == 2
    assert "no option --claim; there are --claims" in capsys.readouterr().out


def test_complaints_are_printed_and_set_the_exit_code(tmp_path, capsys):
    write(tmp_path, (START_FILE, BY_HAND, f"{BY_HAND} **bold"))
    assert hygiene.main([str(tmp_path / START_FILE)]) == 1
    assert "00_start.ipynb: cell 7, line 1: ** opens or closes bold text" in capsys.readouterr().out
