"""Pictures of heads: one row of weights as bars, and all heads of a model in one figure."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from . import validation
from .heatmap import KINDS, PAGE, legible_size, make_opaque
from .query_picture import draw_row
from .tokens import LITERAL, distinct_labels, font_families, with_glyphs

_WIDTH = PAGE / 96  # inches: shown as large as it is drawn
_ASIDE, _ABOVE = 2, 5  # cells between two heads; above one, a name has room
_MARK = "#0072b2"


def plot_row(a, *, keys=None, ax=None, title=None):
    """Draw one row of weights as bars over the keys, each with its number, on an axis from 0 to 1.

    Parameters
    ----------
    a : array_like, shape (n_k,)
        The weights of one query; they sum to 1.
    keys : sequence of str, optional
        One label per key; equal tokens stay apart. Left out: positions from 0.
    ax : matplotlib Axes, optional
        Where to draw. Left out: a new figure as wide as a page.
    title : str, optional
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        With a bar per key.

    Raises
    ------
    ValueError
        If a is not one row of weights, or the labels do not match.
    TypeError
        If a does not hold real numbers.

    Examples
    --------
    >>> ax = plot_row([0.75, 0.25], keys=["cat", "mat"], title="Query it")
    >>> [round(float(bar.get_height()), 2) for bar in ax.patches]
    [0.75, 0.25]
    """
    where = "plot_row"
    a = validation.row_of_weights(where, "a", a)
    names = distinct_labels(validation.labels(where, "keys", keys, len(a), "column"))
    if ax is None:
        figure, ax = plt.subplots(figsize=(_WIDTH, 2.4), layout="constrained")
        make_opaque(figure)
    draw_row(ax, a)
    style = {"family": font_families()} | LITERAL
    tilted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(a) > 6 else {}
    ax.set_xticks(range(len(a)), labels=names, **tilted, **style)
    ax.tick_params(axis="x", labelbottom=True)
    ax.set_xlabel("Key", **style)
    if title is not None:
        ax.set_title(with_glyphs(title), **style)
    return ax


def plot_atlas(A, tokens, *, marked=None, title=None):
    """Draw the weights of all heads of a model: a row of small heatmaps for each layer, one colour scale.

    Parameters
    ----------
    A : array_like, shape (layers, heads, n, n)
        The weights of one sentence, as `attention_lib.real_heads.all_weights` gives them.
    tokens : sequence of str
        The n tokens. They are too small to be drawn; the text alternative names them.
    marked : dict of str to (int, int), optional
        Heads to put a frame around, (layer, head) by a name for each.
    title : str, optional
        Title of the figure.

    Returns
    -------
    matplotlib Axes
        One picture in which each head's matrix has its place.

    Raises
    ------
    ValueError
        If A has another number of axes, or the tokens do not match.
    TypeError
        If A does not hold real numbers.

    Examples
    --------
    >>> ax = plot_atlas([[[[0.75, 0.25], [0.5, 0.5]]] * 3] * 2, ["cat", "mat"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('Head', 'Layer')
    """
    where = "plot_atlas"
    A = validation.weights_of_heads(where, "A", A)
    layers, heads, n, _ = A.shape
    names = validation.labels(where, "tokens", tokens, n, "column")
    page = np.full((layers * (n + _ABOVE) - _ABOVE, heads * (n + _ASIDE) - _ASIDE), np.nan)
    for layer in range(layers):
        for head in range(heads):
            page[layer * (n + _ABOVE) :, head * (n + _ASIDE) :][:n, :n] = A[layer, head]
    height = _WIDTH * 0.88 * page.shape[0] / page.shape[1] + 1.0
    figure, ax = plt.subplots(figsize=(_WIDTH, height), layout="constrained")
    make_opaque(figure)
    kind = KINDS["weights"]
    image = ax.imshow(page, cmap=kind.colours, norm=Normalize(0, 1))
    bar = figure.colorbar(image, ax=ax, location="bottom", fraction=0.04, aspect=40, pad=0.02)
    bar.set_label(kind.quantity)
    _name_places(ax.yaxis, layers, n + _ABOVE, names, "layer")
    _name_places(ax.xaxis, heads, n + _ASIDE, names, "head")
    ax.set(xlim=(-1.5, page.shape[1] + 0.5), ylim=(page.shape[0] + 0.5, -_ABOVE))
    ax.set_ylabel("Layer")
    ax.set_xlabel("Head")
    ax.xaxis.set_label_position("top")
    ax.spines[:].set_visible(False)
    for words, (layer, head) in (marked or {}).items():
        _mark(ax, layer * (n + _ABOVE), head * (n + _ASIDE), n, words)
    if title is not None:
        ax.set_title(with_glyphs(title), **LITERAL)
    return ax


def _name_places(axis, count, side, names, word):
    """Show the number of each layer or head at its middle; name every row or column for descriptions."""
    n = len(names)
    places = [i * side + j for i in range(count) for j in range(n)]
    axis.set_ticks(places, labels=[f"{word} {i} {name}" for i in range(count) for name in names])
    axis.remove_overlapping_locs = False
    axis.set_ticks(
        [i * side + (n - 1) / 2 for i in range(count)], labels=map(str, range(count)), minor=True
    )
    top = axis.axis_name == "x"
    none = {"length": 0, "labelbottom": False, "labeltop": False, "labelleft": False}
    axis.set_tick_params(which="major", **none)
    shown = {"labeltop": True} if top else {"labelleft": True}
    axis.set_tick_params(which="minor", **(none | shown), labelsize=max(8, legible_size(_WIDTH)))


def _mark(ax, top, left, n, words):
    look = {"fill": False, "edgecolor": _MARK, "linewidth": 1.5, "gid": "mark"}
    ax.add_patch(Rectangle((left - 1, top - 1), n + 1, n + 1, **look))
    style = {"ha": "center", "va": "bottom", "color": _MARK, "size": 7} | LITERAL
    ax.text(left + (n - 1) / 2, top - 1.3, with_glyphs(words), **style)
