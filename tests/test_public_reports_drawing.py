"""Faults that were reported against other plotting code and teaching notebooks, o41 to o59.

As in `test_public_reports.py`, each report is a test with its number at the end of its name, and
covers the whole kind of fault. Reports of other sections that ask something of the notebooks are
here as well. What is checked of notebooks is checked of all of them.
"""

import ast
import contextlib
import functools
import io
import itertools
import json
import math
import pickle
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from typing import NamedTuple

import figure_checks
import nbformat
import numpy as np
import pytest
from hygiene import complaints
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from IPython.lib.pretty import pretty
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.mathtext import MathTextParser
from matplotlib.ticker import FixedLocator
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import attention, attention_steps, causal_mask, figures, heatmap, sliders, tokens
from attention_lib.figures import Picture, describe, show
from attention_lib.heatmap import plot_heatmap, plot_heatmaps, plot_steps

pytestmark = pytest.mark.usefixtures("drawing")

ROOT = Path(__file__).parent.parent
NOTEBOOKS = [
    path
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb"))
    if ".ipynb_checkpoints" not in path.parts
]
MASKS = ROOT / "notebooks" / "05_masks.ipynb"

of_each_notebook = pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT / "notebooks").as_posix()
)

# What the notebooks and the package say


@functools.cache
def read(path):
    return nbformat.read(path, as_version=4)


def cells(path, kind):
    return [cell for cell in read(path).cells if cell.cell_type == kind]


def stored(cell):
    """Return all that a cell has on the page as text: printed, described, raised."""
    texts = []
    for output in cell.outputs:
        error = f"{output.ename}: {output.evalue}" if "ename" in output else ""
        texts.append(output.get("text", "") or output.get("data", {}).get("text/plain", error))
    return "\n".join(text.rstrip("\n") for text in texts if text)


def programs():
    """Return the code of the project: that of each notebook, and each module.

    Not that of the exercises, where wrong answers are kept on purpose.
    """
    modules = [
        path for where in ("attention_lib", "tools") for path in (ROOT / where).rglob("*.py")
    ]
    modules = [path for path in modules if "exercises" not in path.parts]
    return [cell.source for path in NOTEBOOKS for cell in cells(path, "code")] + [
        path.read_text(encoding="utf-8") for path in modules
    ]


def prose():
    """Return the texts of the project: pages, those of the notebooks, docstrings."""
    texts = [cell.source for path in NOTEBOOKS for cell in cells(path, "markdown")]
    texts += [path.read_text(encoding="utf-8") for path in ROOT.glob("*.md")]
    for path in (ROOT / "attention_lib").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        texts += [ast.get_docstring(node) or "" for node in nodes if isinstance(node, documented)]
    return texts


def pages():
    """Return what the notebooks have on the page below their code."""
    return [stored(cell) for path in NOTEBOOKS for cell in cells(path, "code")]


def panels_on(page):
    """Return the lines of each heatmap that a page describes, its heading first."""
    blocks = re.split(r"\n(?=\")", page)
    return [block.splitlines() for block in blocks if re.match(r'"[^"]*": heatmap', block)]


def found(pattern, texts):
    return [match[0] for text in texts for match in re.finditer(pattern, text)]


# Running a notebook


FIGURES = []  # those that a notebook has shown since it was started


class Run(NamedTuple):
    written: list  # what each code cell wrote
    again: dict  # by its number: what a cell wrote that was run again at once
    calls: list  # arguments and result of each call of attention
    figures: list  # every figure that it has shown
    places: list  # of each: the number of its cell among all cells, None when that ran again


def execute(cell, namespace):
    """Run a cell as a kernel does, the value of its last line included; return what it wrote."""
    tree = ast.parse(cell.source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as written:
        try:
            exec(compile(tree, "cell", "exec"), namespace)
            value = last and eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
            if value is not None and not isinstance(value, Picture):
                print(pretty(value))
        except Exception as error:
            if "raises-exception" not in cell.metadata.get("tags", []):
                raise
            print(f"{type(error).__name__}: {error}")
    plt.close("all")
    return written.getvalue().rstrip("\n")


def described(drawn):
    """Stand in for `show`, without the pixels, which nobody looks at here."""
    text = describe(drawn)
    print(text)
    figure = drawn if isinstance(drawn, plt.Figure) else drawn.get_figure(root=True)
    FIGURES.append(figure)
    plt.close("all")
    return Picture("", text, b"", 0)


def state(namespace):
    """Return what each name stands for, so that a change shows.

    By identity where it is no data: matplotlib's objects keep notes of when they were drawn.
    """
    found = {}
    for name, value in namespace.items():
        found[name] = id(value)
        if not type(value).__module__.startswith("matplotlib"):
            with contextlib.suppress(Exception):  # a function, a module
                found[name] = pickle.dumps(value)
    return found


@functools.cache
def run(path):
    """Run each code cell, in order; and again at once where it changed what was there before it.

    A cell that changed nothing would find the same again, and nbval_strict runs every cell twice.
    """
    calls, places, written, again, namespace, checked = [], [], [], {}, {}, attention.checked
    FIGURES.clear()

    def recorded(where, *arguments):
        given = checked(where, *arguments)
        if (
            given[0].shape[-2] * given[1].shape[-2] < 1_000_000
        ):  # a longer one would fill the memory
            calls.append(((where, *given), attention.run(*given)))
        return given

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)
        patch.setattr(figures, "show", described)
        patch.setattr(sliders, "show", described)  # which may have been imported before
        patch.setattr(attention, "checked", recorded)
        for place, cell in enumerate(read(path).cells):
            if cell.cell_type == "code":
                before = state(namespace)
                written.append(execute(cell, namespace))
                places += [place] * (len(FIGURES) - len(places))
                if not before.items() <= state(namespace).items():
                    again[len(written) - 1] = execute(cell, namespace)
                    places += [None] * (len(FIGURES) - len(places))
    return Run(written, again, calls, list(FIGURES), places)


def calls():
    return [call for path in NOTEBOOKS for call in run(path).calls]


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def same(one, other):
    """Say whether two texts are equal, numbers to 1e-6."""
    if one == other:
        return True
    numbers, others = (list(map(float, NUMBER.findall(text))) for text in (one, other))
    words, other_words = (NUMBER.sub("#", text).split() for text in (one, other))
    return words == other_words and np.allclose(numbers, others, rtol=1e-6, atol=1e-6)


def stale(code, written):
    """Return the numbers of the cells whose stored output is not what they write."""
    pairs = enumerate(zip(code, written, strict=True))
    return [n for n, (cell, text) in pairs if not same(stored(cell), text)]


# Masks, scaling and words in the notebooks


def test_notebook_shows_that_a_large_negative_number_is_not_minus_inf_o02():
    """The row of a query that may see nothing: zeros with one, a mixture of values with the other."""
    shown = [c for c in cells(MASKS, "code") if "-1e9" in c.source and "-np.inf" in c.source]
    rows = "\n".join(map(stored, shown))
    assert re.search(r"-1e9 instead:.*0\.3333 0\.3333 0\.3333", rows)
    assert re.search(r"this library:.*\[0\. 0\. 0\.\]", rows)
    assert found(r"`-1e9` cancels", [cell.source for cell in cells(MASKS, "markdown")])
    assert found(r"(?i)masked out", prose()) == []


UNTURNED_TRIANGLE = r"mask\w*\s*=\s*(?!~)[^,)\n]*\bnp\.triu\("


def test_notebooks_hide_the_future_and_check_it_o07():
    checks = [c for c in cells(MASKS, "code") if re.search(r"np\.triu\(\w+\.A, k=1\)", c.source)]
    assert any("weight above the diagonal: 0.0" in stored(cell) for cell in checks)
    cached = [c for c in cells(MASKS, "code") if "no weight from diagonal" in c.source]
    assert any("no weight from diagonal 4 on: True" in stored(cell) for cell in cached)
    for (_where, _Q, _K, _V, _mask, causal, offset, _scale), steps in calls():
        assert not causal or (np.triu(steps.A, 1 + offset) == 0).all()
    assert found(UNTURNED_TRIANGLE, programs()) == []
    assert found(UNTURNED_TRIANGLE, ["f(q, attn_mask=np.triu(np.ones((3, 3)), 1).astype(bool))"])


def test_notebook_says_where_true_means_the_opposite_o08():
    (table,) = [c.source for c in cells(MASKS, "markdown") if "| True means |" in c.source]
    meanings = dict(re.findall(r"`([\w.]+)`[^|]*\| (may attend|hidden) \|", table))
    assert meanings["attention_lib"] == "may attend"
    assert meanings["torch.nn.functional.scaled_dot_product_attention"] == "may attend"
    assert meanings["torch.nn.MultiheadAttention"] == "hidden"


def test_some_example_has_four_sizes_that_all_differ_o25():
    sizes = [{*Q.shape[-2:], *V.shape[-2:]} for (_, Q, _K, V, *_), _ in calls()]
    assert 4 in map(len, sizes)


def test_picture_of_the_causal_mask_has_its_diagonal_open_o27():
    """And whoever takes the open diagonal for a mistake finds a sentence about it."""
    drawn = [
        panel
        for page in pages()
        for panel in panels_on(page)
        if '"triangular matrix": heatmap' in panel[0]
    ]
    (panel,) = drawn
    rows = [
        line.split(": ")[1].split() for line in panel if re.search(r": (\d\.\d{3}|hidden) ", line)
    ]
    assert_array_equal(np.array(rows) != "hidden", causal_mask(len(rows)))
    assert_array_equal(~causal_mask(5), np.triu(np.ones((5, 5)), 1))
    texts = [cell.source for cell in cells(MASKS, "markdown")]
    assert found(r"(?i)diagonal is open[^.]* a token sees itself", texts)
    assert found(r"-\\infty & \\text\{if not\}", texts)


def test_notebook_says_that_t_turns_all_axes_over_o30():
    assert found(r"`K\.T` reverses \*all\* axes(?s:.*)`swapaxes\(-1, -2\)`", prose())


SHAPES = {
    "X": ("n", "d_model"),
    "W_Q": ("d_model", "d_k"),
    "W_K": ("d_model", "d_k"),
    "W_V": ("d_model", "d_v"),
    "Q": ("n_q", "d_k"),
    "K": ("n_k", "d_k"),
    "V": ("n_k", "d_v"),
    "S": ("n_q", "n_k"),
    "A": ("n_q", "n_k"),
}
MATRIX = r"(?<![\w{.@(])(W_[QKV]|[XQKVSA])(\^T|\.T|ᵀ)?(?![\w({\[^ᵀ]|\.\w)"
JOINED = rf"{MATRIX}(?=( |\\, ?| ?\\cdot ?| ?@ ?| ?\* ?){MATRIX})"


def products_that_do_not_fit(text):
    """Return the products of two named matrices whose inner sizes differ, or that are no product."""
    wrong = []
    for left, turned, joint, right, right_turned in re.findall(JOINED, text):
        inner = SHAPES[left][0 if turned else 1], SHAPES[right][1 if right_turned else 0]
        tokens_on_both_sides = {*inner} <= {"n", "n_q", "n_k"} and "n" in inner
        if "*" in joint or not (inner[0] == inner[1] or tokens_on_both_sides):
            wrong.append(f"{left}{turned}{joint}{right}{right_turned}")
    return wrong


def test_formulas_fit_the_shapes_they_state_o31():
    texts = [re.sub(r"`[^`]*`", "", text) for text in prose()]
    assert [wrong for text in texts for wrong in products_that_do_not_fit(text)] == []
    assert sum(len(re.findall(JOINED, text)) for text in texts) > 20
    titles = [panel[0].split('": ')[0] for page in pages() for panel in panels_on(page)]
    assert [wrong for text in titles for wrong in products_that_do_not_fit(text)] == []


@pytest.mark.parametrize(
    "wrong", ["V A", "V*W_V", "W_Q * X", r"W_Q \cdot X", "Q K", "A S", "A @ Q"]
)
def test_formula_that_does_not_fit_is_found_o31(wrong):
    assert products_that_do_not_fit(f"the product ${wrong}$ of two") == [wrong]


def test_weights_in_notebooks_are_those_before_any_dropout_o37():
    assert found(r"(?i)dropout", programs()) == []
    for _, steps in calls():
        total = steps.A.sum(axis=-1)
        total = total[np.isfinite(total)]
        assert_allclose(total, np.where(total == 0, 0, 1), atol=1e-12)


def test_weights_come_out_the_same_every_time_o37():
    Q, K, V = np.random.default_rng(0).normal(size=(3, 4, 4))
    A = [attention_steps(Q, K, V).A for _ in range(3)]
    assert_array_equal(A[0], A[1])
    assert_array_equal(A[0], A[2])


MISNAMED = [
    r"(?i)attention[- ]scores?\b",
    r"(?i)scores? after (the )?softmax",
    r"(?i)weights? before (the )?softmax",
]
MISNAMING = [
    r"\b\w*(score|logit)\w*\s*=\s*(np\.)?softmax\(",
    r"\b\w*weight\w*\s*=\s*(attention_scores|scale_scores)\(",
]


def test_scores_come_before_the_softmax_and_weights_after_it_o38():
    for pattern in MISNAMED:
        assert found(pattern, [*prose(), *pages()]) == []
    for pattern in MISNAMING:
        assert found(pattern, programs()) == []
    for panel in (panel for page in pages() for panel in panels_on(page)):
        title, quantity = re.match(r'"([^"]*)".*? to \S+(?: \((.*)\))?$', panel[0]).groups()
        quantity = quantity and quantity.partition(": ")[0]  # without what the hues mean
        if quantity == "attention weight":
            assert not re.search(r"(?i)(raw|scaled|attention) scores?\b|^scores?$", title)
        if quantity == "score (before softmax)":
            assert "weight" not in title.lower()


def test_wrong_name_for_weights_or_scores_is_found_o38():
    assert found(MISNAMED[0], ["The softmax gives the attention score of each key."])
    assert found(MISNAMING[0], ["attention_scores = softmax(S)"])
    assert found(MISNAMING[1], ["weights = scale_scores(S, 4)"])


def test_every_text_about_the_output_multiplies_weights_and_values_o39():
    assert (
        found(
            r"(?i)weights?\W+(\w+\W+){0,4}(times|by) (the |their |its )?(own )?(scores|logits)",
            prose(),
        )
        == []
    )
    assert found(r"\b(A|weights) *[*@] *(S|S_scaled|scores|logits)\b", programs()) == []
    outputs = found(r"\boutput = (?!\\text|\w+\()[^,\n`]*", prose())
    assert outputs
    assert all(re.search(r"A V|\) V", formula) for formula in outputs)


def test_weights_of_heads_are_never_averaged_o40():
    Q, K, V = np.random.default_rng(0).normal(size=(3, 1, 2, 3, 4))
    A = attention_steps(Q, K, V).A
    assert A.shape == (1, 2, 3, 3)
    for h in range(2):
        assert_allclose(A[0, h], attention_steps(Q[0, h], K[0, h], V[0, h]).A, rtol=1e-12)
    assert not np.allclose(A[0, 0], A[0, 1])
    for (_, Q, K, _V, mask, *_), steps in calls():
        batches = [np.shape(array)[:-2] for array in (Q, K, *([] if mask is None else [mask]))]
        assert steps.A.shape[:-2] == np.broadcast_shapes(*batches)
    for M in (A, A[0]):
        with pytest.raises(ValueError, match="Pick one matrix of a batch"):
            plot_heatmap(M)
    averaged = r"\bA_\w+\.(mean|sum)\((axis=)?[-\d]|np\.(mean|sum)\(A_\w+, (axis=)?(0|1|-3)\b"
    assert found(averaged, programs()) == []
    assert found(averaged, ["M = A_heads.mean(axis=0)"])


# Heatmaps: tokens


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def small(M, **options):
    """Draw on axes of a fixed size, without a colour bar: all that is quick."""
    ax = plt.figure(figsize=(4, 4)).add_axes((0.2, 0.2, 0.6, 0.6))
    return plot_heatmap(M, ax=ax, **{"colorbar": False} | options)


def pixel(ax, i, j):
    """Return the colour near the top left corner of cell (i, j) as it comes out on the page."""
    ax.figure.canvas.draw()
    page = np.asarray(ax.figure.canvas.buffer_rgba())[..., :3] / 255
    x, y = ax.transData.transform((j - 0.4, i - 0.4))
    return page[len(page) - round(y), round(x)]


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture
def no_mathematics(monkeypatch):
    def parse(*arguments, **options):
        raise AssertionError("a label was read as mathematics")

    monkeypatch.setattr(MathTextParser, "parse", parse)


REPORTED = ["$$", "$x_1$", "US$5", "x_1^2", "<pad>", "a$b$c", r"$\foo$", "$", "%", "#"]


@pytest.mark.usefixtures("no_mathematics")
def test_tokens_with_dollars_are_drawn_literally_o41():
    n = len(REPORTED)
    ax = small(np.eye(n), queries=REPORTED, keys=REPORTED)
    steps = attention_steps(np.eye(n), np.eye(n), np.eye(n))
    several = plot_heatmaps({"a": np.eye(n)}, queries=REPORTED, keys=REPORTED)
    for figure in (ax.figure, several, plot_steps(steps, queries=REPORTED, keys=REPORTED)):
        figure.canvas.draw()
        for part in (part for part in figure.axes if part.get_ylabel() == "Query"):
            assert labels(part.yaxis) == REPORTED
            assert part.get_xlabel() != "Key" or labels(part.xaxis) == REPORTED


@pytest.mark.usefixtures("drawing")
@settings(max_examples=20)
@given(st.lists(st.text("$\\{}_^ab%#&~", max_size=9), min_size=1, max_size=6))
def test_any_text_with_dollars_is_drawn_o41(words):
    ax = small(np.zeros((1, len(words))), keys=words)
    ax.figure.canvas.draw()
    assert labels(ax.xaxis) == [word or "∅" for word in words]
    assert not any(label.get_parse_math() for label in ax.get_xticklabels())
    plt.close(ax.figure)


def test_characters_that_no_font_has_become_code_points_o42(monkeypatch, caplog):
    words = ["猫", "が", "好き"]
    for fonts in (tokens.FALLBACK_FONTS, ()):
        monkeypatch.setattr(tokens, "FALLBACK_FONTS", fonts)
        ax = small(np.eye(3), queries=words, keys=words)
        ax.figure.canvas.draw()
        shown = labels(ax.xaxis)
        for word, label in zip(words, shown, strict=True):
            assert label in (word, "".join(f"U+{ord(character):04X}" for character in word))
    assert shown == ["U+732B", "U+304C", "U+597DU+304D"]
    assert not caplog.records
    assert "code point" in tokens.drawable.__doc__


@settings(max_examples=20)
@given(st.lists(st.text(st.characters(min_codepoint=0x80), max_size=5), min_size=2, max_size=4))
def test_any_script_is_drawn_without_a_warning_o42(words):
    ax = small(np.zeros((1, len(words))), keys=words)
    ax.figure.canvas.draw()
    assert len(labels(ax.xaxis)) == len(words)
    plt.close(ax.figure)


@of_each_notebook
def test_every_text_in_a_figure_of_a_notebook_is_6_px_high_on_a_page_of_572_o52(
    path, smallest_text
):
    for figure in run(path).figures:
        height, words = smallest_text(figure)
        assert height >= 6, words


@of_each_notebook
def test_nothing_is_wrong_with_a_figure_of_a_notebook(path):
    """By what `tools/figure_checks.py` measures, in the figures of the one run."""
    said, its_cells = [], read(path).cells
    for place, figure in zip(run(path).places, run(path).figures, strict=True):
        if place is None:
            continue  # a second run draws the same
        texts = [cell.source for cell in its_cells[max(0, place - 1) : place + 2]]
        found = [
            *figure_checks.complaints(figure),
            *figure_checks.complaints_beside(figure, "\n".join(texts)),
        ]
        said += [f"cell {place}, {sentence}" for sentence in found]
    assert list(dict.fromkeys(said)) == []


def test_no_notebook_prints_a_warning_about_glyphs_o42():
    assert found(r"(?i)glyph|findfont|font family", pages()) == []


def test_equal_tokens_stay_apart_o43():
    words = ["the", "cat", "the", "<pad>", "<pad>"]
    ax = small(np.eye(5), queries=words, keys=words)
    assert ax.images[0].get_array().shape == (5, 5)
    assert labels(ax.yaxis) == labels(ax.xaxis) == words
    assert_array_equal(ax.get_xticks(), range(5))


@settings(max_examples=20)
@given(
    st.lists(st.sampled_from(["the", "cat", ""]), min_size=1, max_size=5),
    st.lists(st.sampled_from(["sat", "<pad>"]), min_size=1, max_size=5),
)
def test_token_i_stands_at_position_i_however_often_it_occurs_o43(rows, columns):
    ax = small(np.zeros((len(rows), len(columns))), queries=rows, keys=columns)
    for axis, words in ((ax.yaxis, rows), (ax.xaxis, columns)):
        assert labels(axis) == [word or "∅" for word in words]
        assert_array_equal(axis.get_ticklocs(), range(len(words)))
    plt.close(ax.figure)


# Heatmaps: cells, colours, numbers


def test_rows_are_queries_from_the_top_and_columns_are_keys_o44():
    ax = small([[1, 0, 0], [0, 0, 1]], queries=["q0", "q1"], keys=["k0", "k1", "k2"], numbers=False)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("Query", "Key")
    assert (labels(ax.yaxis), labels(ax.xaxis)) == (["q0", "q1"], ["k0", "k1", "k2"])
    dark = [[luminance(pixel(ax, i, j)) < 0.1 for j in range(3)] for i in range(2)]
    assert_array_equal(dark, [[1, 0, 0], [0, 0, 1]])
    (x0, top), (x2, bottom) = ax.transData.transform([(0, 0), (2, 1)])
    assert top > bottom
    assert x0 < x2


@pytest.mark.parametrize("kind", ["weights", "scores", "values"])
@pytest.mark.parametrize("place", list(np.ndindex(2, 3)))
def test_cell_of_query_i_and_key_j_is_where_they_cross_o44(place, kind):
    M = np.zeros((2, 3))
    M[place] = 1
    ax = small(M, kind=kind, numbers=False)
    light = np.array([[luminance(pixel(ax, i, j)) for j in range(3)] for i in range(2)])
    assert np.unravel_index(light.argmin(), light.shape) == place
    assert_array_equal(ax.images[0].get_array(), M)


@pytest.mark.parametrize("shape", [(5, 5), (1, 1), (2, 3), (7, 1), (40, 40), (3, 60)])
def test_every_row_and_column_is_whole_o45(shape):
    for ax in (small(np.zeros(shape)), plot_heatmap(np.zeros(shape))):
        ax.figure.canvas.draw()
        assert ax.get_ylim() == (shape[0] - 0.5, -0.5)
        assert ax.get_xlim() == (-0.5, shape[1] - 0.5)


@pytest.mark.parametrize("kind", ["weights", "scores", "values"])
def test_cells_without_a_number_look_like_no_number_o46(kind):
    M = np.array([[math.nan, 0.2], [-math.inf, 0.8]])
    ax = small(M, kind=kind, numbers=False)
    notes = [text.get_text() for text in ax.get_legend().get_texts()]
    assert ["hidden" in notes[0], notes[1:]] == [True, ["not a number"]]
    limits = (0, 1) if kind == "weights" else (-0.8, 0.8)
    assert (ax.images[0].norm.vmin, ax.images[0].norm.vmax) == limits
    assert_array_equal(ax.images[0].get_array().mask, ~np.isfinite(M))
    grey = to_rgb(heatmap._MISSING_COLOUR)
    map_of_colours = plt.get_cmap(heatmap.KINDS[kind].colours)
    assert abs(map_of_colours(np.linspace(0, 1, 256))[:, :3] - grey).max(axis=1).min() > 0.02
    assert_allclose(ax.images[0].cmap.get_bad(), to_rgba(grey))
    assert len({patch.get_hatch() for patch in ax.patches if patch.get_gid()} - {None}) == 2


@settings(max_examples=25)
@given(
    arrays(
        float, (2, 3), elements=st.floats(0, 1) | st.sampled_from([math.nan, math.inf, -math.inf])
    ),
    st.sampled_from(["weights", "scores"]),
)
def test_no_missing_number_spoils_the_colours_of_the_others_o46(M, kind):
    image = small(M, kind=kind).images[0]
    largest = np.abs(M[np.isfinite(M)]).max(initial=0) or 1
    limits = (0, 1) if kind == "weights" else (-largest, largest)
    assert (image.norm.vmin, image.norm.vmax) == limits
    assert_array_equal(np.ma.getmaskarray(image.get_array()), ~np.isfinite(M))
    plt.close(image.figure)


def limits_of(figure):
    return {(image.norm.vmin, image.norm.vmax) for ax in figure.axes for image in ax.images}


def bars_of(figure):
    return [image.colorbar for ax in figure.axes for image in ax.images if image.colorbar]


def test_panels_share_one_range_and_one_colour_bar_o47():
    M = {"A": [[0.2, 0.3], [0.3, 0.2]], "B": [[0, 1], [1, 0]]}
    figure = plot_heatmaps(M)
    assert limits_of(figure) == {(0, 1)}
    assert len(bars_of(figure)) == 1
    assert limits_of(plot_heatmaps({"A": M["A"]})) == {(0, 1)}
    assert limits_of(plot_heatmaps({"A": [[1, -3]], "B": [[9, 2]]}, kind="scores")) == {(-9, 9)}


def test_panel_of_zeros_does_not_widen_the_range_of_the_others_o47():
    assert limits_of(plot_heatmaps({"A": [[0, 0]], "B": [[0.5, 0]]}, kind="scores")) == {
        (-0.5, 0.5)
    }
    figure = plot_steps(attention_steps([[0.5]], [[0.5]], [[0.5]], scale=0))
    assert limits_of(figure) == {(-0.25, 0.25), (0, 1), (-0.5, 0.5)}


@pytest.mark.long
@settings(max_examples=15)
@given(st.lists(arrays(float, (1, 2), elements=st.floats(-50, 50)), min_size=2, max_size=3))
def test_panels_of_any_numbers_share_one_range_o47(matrices):
    panels = {str(i): M for i, M in enumerate(matrices)}
    largest = np.abs(matrices).max() or 1
    for kind, limits in (("weights", (0, 1)), ("scores", (-largest, largest))):
        figure = plot_heatmaps(panels, kind=kind)
        assert limits_of(figure) == {limits}
        assert len(bars_of(figure)) == 1
        plt.close(figure)


def test_figures_of_notebooks_compare_on_one_range_o47():
    for page in pages():
        ranges = {}
        for panel in panels_on(page):
            low, high, what = re.search(r"from (\S+) to (\S+)(?: \((.*)\))?$", panel[0]).groups()
            ranges.setdefault(what, set()).add((float(low), float(high)))
        assert ranges.get("attention weight", {(0, 1)}) == {(0, 1)}
        assert all(len(limits) == 1 for limits in ranges.values())


def test_labels_stand_at_fixed_places_o48():
    ax = small(np.eye(3), queries=["A", "B", "C"], keys=["A", "B", "C"])
    for axis in (ax.xaxis, ax.yaxis):
        assert isinstance(axis.get_major_locator(), FixedLocator)
    ax.figure.canvas.draw()
    for label, place in zip(ax.get_xticklabels(), range(3), strict=True):
        assert label.get_position()[0] == place
    for set_labels in (r"set_[xy]ticklabels\(", r"[xy]ticks\(\[?[\"']"):
        assert found(set_labels, programs()) == []


@pytest.mark.parametrize("n", [1, 2, 9, 12, 13, 30])
def test_labels_keep_their_places_whatever_is_done_to_the_axes_o48(n):
    words = [f"t{i}" for i in range(n)]
    ax = small(np.zeros((n, n)), queries=words, keys=words)
    ax.set(xlim=(-0.5, n + 3))
    ax.figure.canvas.draw()
    for axis in (ax.xaxis, ax.yaxis):
        assert labels(axis) == [words[int(place)] for place in axis.get_ticklocs()]


@pytest.mark.long
@pytest.mark.parametrize("n", [1, 12, 13, 59, 60, 61, 137, 200])
def test_many_labels_thin_out_by_a_stated_rule_and_do_not_overlap_o49(n):
    words = [f"token{i}" for i in range(n)]
    ax = plot_heatmap(np.zeros((n, n)), queries=words, keys=words)
    ax.figure.canvas.draw()
    assert len(ax.get_children()) < 40 or n <= heatmap.MOST_NUMBERED
    for axis in (ax.xaxis, ax.yaxis):
        every = int(np.diff([*axis.get_ticklocs(), n])[0])
        assert labels(axis) == words[::every]
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(lower.y1 <= upper.y0 for upper, lower in itertools.pairwise(boxes))
    slant = math.radians(ax.get_xticklabels()[0].get_rotation())
    places = ax.transData.transform([(place, 0) for place in ax.get_xticks()])[:, 0]
    if slant:
        assert (np.diff(places) * math.sin(slant) >= boxes[0].height).all()
    assert re.search(r"every second, third, \.\.\. one is drawn", plot_heatmap.__doc__)


def test_every_cell_shows_a_number_that_can_be_read_o50():
    M = [[0.02, 0.97, 0.01], [0.97, 0.02, 0.01], [0.5, 0.3, 0.2]]
    ax = small(M)
    assert [text.get_text() for text in ax.texts] == [f"{w:.2f}" for row in M for w in row]
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert colours["0.97"] == "white"
    assert colours["0.02"] == "black"


@settings(max_examples=20)
@given(arrays(float, (3, 3), elements=st.floats(-1, 1)), st.sampled_from(["weights", "scores"]))
def test_number_stands_out_from_any_colour_o50(M, kind):
    ax = small(abs(M) if kind == "weights" else M, kind=kind)
    image = ax.images[0]
    assert len(ax.texts) == 9
    for text, number in zip(ax.texts, image.get_array().flat, strict=True):
        assert contrast(image.cmap(image.norm(number)), to_rgb(text.get_color())) >= 4.5
    plt.close(ax.figure)


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("background", [None, "none", (0.5, 0.5, 0.5, 0.2)])
def test_background_is_opaque_and_words_stand_out_from_it_o51(style, background):
    with plt.style.context(style):
        plt.rcParams["savefig.transparent"] = background is not None
        if background is not None:
            plt.rcParams["figure.facecolor"] = background
        ax = plot_heatmap([[0.5, 0.5]], title="A")
        words = [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels()]
        assert ax.figure.get_facecolor()[3] == 1
        drawn = plt.imread(io.BytesIO(show(ax).png))
        assert drawn[..., 3].min() == 1
        assert all(contrast(to_rgb(w.get_color()), drawn[0, 0]) >= 4.5 for w in words)


@of_each_notebook
def test_pictures_of_notebooks_are_opaque_o51(path):
    for page in found(r"base64,[^\"]+", [json.dumps(read(path)).replace("\\", "")]):
        drawn = plt.imread(io.BytesIO(b64decode(page.removeprefix("base64,"))))
        assert drawn.shape[2] == 3 or drawn[..., 3].min() == 1


LONG = ["internationalization", "a" * 60]


def assert_labels_are_inside(figure):
    figure.canvas.draw()
    width, height = figure.bbox.size
    for ax in figure.axes:
        for label in (*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label):
            box = label.get_window_extent()
            if label.get_text() and label.get_visible():
                assert min(box.x0, box.y0) >= 0
                assert box.x1 <= width
                assert box.y1 <= height


def test_long_labels_are_shortened_and_end_at_their_columns_o52():
    ax = plot_heatmap(np.eye(2), queries=LONG, keys=LONG)
    assert labels(ax.xaxis) == labels(ax.yaxis) == ["international…", "a" * 13 + "…"]
    assert_labels_are_inside(ax.figure)
    for j, label in enumerate(ax.get_xticklabels()):
        assert (label.get_ha(), label.get_rotation_mode()) == ("right", "anchor")
        column = ax.transData.transform((j, 0))[0]
        assert abs(label.get_window_extent().x1 - column) < ax.bbox.width / 4


@pytest.mark.long
@settings(max_examples=12)
@given(st.lists(st.text("aWi .", min_size=1, max_size=60), min_size=1, max_size=14))
def test_labels_of_any_length_are_inside_the_figure_o52(words):
    ax = plot_heatmap(np.zeros((len(words), len(words))), queries=words, keys=words, title="A")
    assert_labels_are_inside(ax.figure)
    rotated = [label for label in ax.get_xticklabels() if label.get_rotation()]
    assert all((a.get_ha(), a.get_rotation_mode()) == ("right", "anchor") for a in rotated)
    assert max(map(len, labels(ax.xaxis))) <= tokens.LONGEST
    plt.close(ax.figure)


# Notebooks


def test_there_are_notebooks_to_check():
    assert len(NOTEBOOKS) >= 6


@of_each_notebook
def test_notebook_asks_for_the_kernel_that_everybody_has_o53(path):
    kernel = json.loads(path.read_text(encoding="utf-8"))["metadata"]["kernelspec"]
    assert kernel["name"] == "python3"
    assert kernel["display_name"] == "Python 3 (ipykernel)"


@pytest.mark.long
def test_package_can_be_imported_from_every_folder_once_installed_o54(tmp_path):
    asked = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert "-e ." in asked
    assert "pip install -c constraints.txt -r requirements.txt" in "\n".join(prose())
    for folder in (ROOT, ROOT / "notebooks", tmp_path):
        code = "from attention_lib import attention_steps; print(attention_steps.__name__)"
        done = subprocess.check_output([sys.executable, "-c", code], cwd=folder, text=True)
        assert done == "attention_steps\n"


BACKENDS = r"%\s*matplotlib\s+(?!inline\b)\S+|(?i:nbagg|ipympl)|switch_backend|matplotlib\.use\("


def test_no_cell_asks_for_a_backend_that_the_page_lacks_o55():
    sources = [cell.source for path in NOTEBOOKS for cell in read(path).cells]
    assert found(BACKENDS, sources) == []


@pytest.mark.parametrize("line", ["%matplotlib notebook", "%matplotlib widget", "% matplotlib qt"])
def test_backend_that_the_page_lacks_is_found_o55(line):
    assert found(BACKENDS, [f"import numpy as np\n{line}"])
    assert not found(BACKENDS, ["%matplotlib inline", "import ipywidgets"])


SCALARS = r"\bnp\.(float|u?int|longdouble|bool|str|complex)\w*\(\s*[-'\dTFni]|\bnp\.(True|False)_"


def test_no_page_shows_a_bare_numpy_scalar_o56():
    answers = [re.sub(r"(?m)^(>>>|\.\.\.) .*", "", text) for text in prose()]
    assert found(SCALARS, [*pages(), *answers]) == []
    for path in NOTEBOOKS:
        assert found(SCALARS, run(path).written) == []


@pytest.mark.parametrize(
    "value", [np.float64(0.5), [np.float32(1)], {"a": np.int64(3)}, np.bool_(1)]
)
def test_bare_numpy_scalar_is_found_o56(value):
    assert found(SCALARS, [repr(value)])
    assert not found(SCALARS, [repr(np.array([value])) if np.isscalar(value) else "0.5"])


@of_each_notebook
def test_stored_outputs_are_what_the_code_writes_o57(path):
    assert stale(cells(path, "code"), run(path).written) == []


@of_each_notebook
def test_any_changed_output_is_noticed_o57(path):
    """Each stored number in its turn, a little off; and each line of text missing."""
    for cell, text in zip(cells(path, "code"), run(path).written, strict=True):
        for number in NUMBER.finditer(stored(cell)):
            value = float(number[0])
            off = f"{value + 1e-4 * max(1, abs(value)):.9g}"
            before, after = stored(cell)[: number.start()], stored(cell)[number.end() :]
            assert not same(before + off + after, text)
        lines = stored(cell).splitlines()
        for n, line in enumerate(lines):
            assert not line.strip() or not same("\n".join(lines[:n] + lines[n + 1 :]), text)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")), ids=lambda path: path.stem
)
def test_wrong_number_in_prose_is_noticed_o57(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    texts = [c for c in notebook.cells if c.cell_type == "markdown" and "##" not in c.source]
    texts[-1].source += " It is 987.65 all told."
    nbformat.write(notebook, tmp_path / path.name)
    assert [c for c in complaints(tmp_path / path.name) if "the text says 987.65" in c]


@of_each_notebook
def test_cell_that_changes_a_name_can_be_run_again_at_once_o58(path):
    done = run(path)
    assert done.again == {number: done.written[number] for number in done.again}


def names_bound(source):
    """Return the names that a cell assigns at its top level, those that it imports apart."""
    assigned, imported = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            assigned.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            imported |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return assigned, imported


def test_no_cell_takes_the_name_of_a_function_or_a_module_o58():
    pairs = [names_bound(cell.source) for path in NOTEBOOKS for cell in cells(path, "code")]
    taken = set(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)
    for _, imported in pairs:
        taken |= imported
    assert [sorted(assigned & taken) for assigned, _ in pairs if assigned & taken] == []


@pytest.mark.parametrize(
    ("made", "changed", "written"),
    [
        ("x = [1.0]", "x = [2 * a for a in x]", "[4.0]"),
        ("x = [1.0]", "x += [2.0]", "[1.0, 2.0, 2.0]"),
        ("x = [1.0]\ndef f(): x.append(2.0)", "f()", "[1.0, 2.0, 2.0]"),
        ("x = np.ones(2)", "x[0] += 1", "[3. 1.]"),
        ("r = np.random.default_rng(0)", "x = r.integers(9, size=3)", "[2 2 0]"),
    ],
)
def test_cell_that_changes_its_own_input_is_noticed_o58(tmp_path, made, changed, written):
    sources = [f"import numpy as np\n{made}", f"{changed}\nprint(x)", "x = 0"]
    code = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=code), tmp_path / "twice.ipynb")
    done = run(tmp_path / "twice.ipynb")
    assert done.again[1] == written != done.written[1]


REMOVED = r"\bcm\.(get_cmap|register_cmap)|from matplotlib\.cm import [^\n]*\bget_cmap"


def test_colour_maps_are_not_looked_up_where_they_no_longer_are_o59():
    assert found(REMOVED, programs()) == []
    assert found(
        REMOVED, ["c = matplotlib.cm.get_cmap('magma')", "from matplotlib.cm import get_cmap"]
    )
    assert not found(REMOVED, ["plt.get_cmap('magma')", "matplotlib.colormaps['magma']"])
