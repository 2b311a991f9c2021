"""One query's way through the four steps, in one picture.

A heatmap shows all queries at one step; this shows one query at all steps: bars over the keys
for its scores, scaled scores and weights, then each value in proportion, and their sum.
"""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from . import validation
from .heatmap import (
    GAP,
    KINDS,
    LARGEST,
    MOST_NUMBERED,
    cell_text,
    make_opaque,
    plot_heatmap,
    tick_text,
    wrap,
)
from .tokens import LITERAL, drawable, font_families, with_glyphs

# The panels that belong to each step, which may be lit while the others are pale.
STEPS = {
    "scores": ["scores"],
    "scaling": ["scaled"],
    "softmax": ["weights"],
    "weighted_values": ["values", "output"],
}
# In inches. A key's column is wide enough for its numbers, as far as the widest figure allows.
COLUMN, WIDEST, SMALLEST = 0.72, 4.8, 0.9
ROW, BARS, BETWEEN = 0.34, 0.85, 0.34

PALE = "pale"  # how such a panel is marked, for whoever measures what can be seen
_PALE_TEXT = "0.45"  # 4.7 : 1 on white: still to be read
_PALE_NUMBER = "0.3"  # on the darkest cell at a quarter of its colour, 4.8 : 1
_PALE_FADE = 0.25


def plot_query(steps, V, query=0, *, step=None, queries=None, keys=None, title=None):
    """Draw what each step makes of one query: bars over the keys, the values they mix, the output.

    Scores and scaled scores share one scale, or the scaling could not be seen. Under each key
    stands its value times its weight, and at the right their sum, the query's output, in the same
    colours. Keys that a mask hides are hatched.

    Parameters
    ----------
    steps : AttentionSteps
        What `attention_steps` returned for one sequence and one head: matrices, no batch axes.
    V : array_like, shape (n_k, d_v)
        The values that the steps were made with.
    query : int, default 0
        Which query: a row of the steps, from 0.
    step : {"scores", "scaling", "softmax", "weighted_values"}, optional
        The step to light; the others are drawn pale. Left out: all of them are lit.
    queries, keys : sequence of str, optional
        One label per query, one per key; the query's label stands in the title.
    title : str, optional
        Title of the figure. Left out: "Query" and the query's label.

    Returns
    -------
    matplotlib Figure
        With five panels: scores, scaled scores, weights, values in proportion, output.

    Raises
    ------
    ValueError
        If a step is not a matrix with a cell in it, V does not belong to the steps, there is no
        such query or step, or labels do not match.
    TypeError
        If `steps` is not what `attention_steps` returned, or query is not a whole number.

    Examples
    --------
    >>> from attention_lib import attention_steps
    >>> Q, K, V = [[1, 0]], [[2, 0], [0, 1]], [[1.0], [0.0]]
    >>> figure = plot_query(attention_steps(Q, K, V), V, keys=["cat", "mat"], step="softmax")
    >>> [ax.get_title() for ax in figure.axes][:3]
    ['1. scores: query · key', '2. scaled scores: divided by √d_k', '3. weights: softmax of the row']

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", eq. 1, arXiv:1706.03762.
    """
    where = "plot_query"
    S, S_scaled, A, output = validation.steps(where, steps)
    V = validation.values_of_steps(where, V, A, output)
    i = validation.row_of_steps(where, query, len(A))
    if step is not None:
        validation.choice(where, "step", step, STEPS)
    row_names = validation.labels(where, "queries", queries, len(A), "row")
    key_names = validation.labels(where, "keys", keys, len(V), "column")

    figure, panels = _new_figure(*V.shape)
    hidden = np.isneginf(S_scaled[i])
    _draw_scores(panels["scores"], panels["scaled"], S[i], S_scaled[i], hidden)
    _draw_weights(panels["weights"], A[i], hidden)
    _draw_mixing(panels["values"], panels["output"], A[i], V, output[i], hidden, key_names)
    for name in ("scores", "scaled", "weights"):
        _label_keys(panels[name], len(V))
    if step is not None:
        for name in panels.keys() - STEPS[step]:
            _make_pale(panels[name])
    words = f"Query {drawable(row_names[i])}" if title is None else with_glyphs(title)
    style = {"family": font_families(), "size": "large"} | LITERAL
    heading = figure.text(0.5, 1, words, ha="center", va="top", **style)
    wrap(heading, np.ptp([end for ax in panels.values() for end in ax.bbox.intervalx]) / figure.dpi)
    _fit(figure, panels)
    return figure


def _new_figure(n_k, d_v):
    """Return a figure with the panels by name: three rows of bars, and below them the mixing.

    Where they stand on the page is not settled: `_fit` makes room once it can measure the labels.
    """
    figure = plt.figure(figsize=(LARGEST, LARGEST), layout="none")
    make_opaque(figure)
    column = min(COLUMN, WIDEST / n_k)
    wide, tall = max(SMALLEST, column * n_k), min(WIDEST / 2, max(SMALLEST, ROW * d_v))
    panels = {}
    for above, name in zip((2, 1, 0), ("scores", "scaled", "weights"), strict=True):
        bottom = tall + BETWEEN + above * (BARS + BETWEEN)
        panels[name] = _add_panel(figure, 0, bottom, wide, BARS)
    panels["values"] = _add_panel(figure, 0, 0, wide, tall)
    panels["output"] = _add_panel(figure, wide + BETWEEN, 0, max(column, ROW), tall)
    return figure, panels


def _add_panel(figure, left, bottom, wide, tall):
    inches = np.array([left, bottom, wide, tall])
    return figure.add_axes(inches / figure.get_figwidth())


def _fit(figure, panels):
    """Size the figure to its panels and their labels, with the title above them."""
    dots = figure.dpi
    title = figure.texts[0].get_window_extent().size / dots
    outer = Bbox.union([ax.get_tightbbox() for ax in panels.values()]).get_points() / dots
    places = {ax: np.array(ax.bbox.bounds) / dots for ax in panels.values()}
    inside = outer[1] - outer[0]
    width, height = max(inside[0], title[0]) + 2 * GAP, inside[1] + title[1] + 3 * GAP
    figure.set_size_inches(width, height)
    for ax, (left, bottom, wide, tall) in places.items():
        left, bottom = left - outer[0][0] + GAP, bottom - outer[0][1] + GAP
        ax.set_position([left / width, bottom / height, wide / width, tall / height])
    figure.texts[0].set_position((0.5, 1 - GAP / height))


def _draw_scores(ax, ax_scaled, s, s_scaled, hidden):
    finite = [*s[np.isfinite(s)], *s_scaled[np.isfinite(s_scaled)], 0.0]
    low, high = min(finite), max(finite)
    if low == high:  # all of them 0, or none of them finite
        low, high = -1.0, 1.0
    room = 0.3 * (high - low)  # for the numbers at the ends of the bars
    shown = np.zeros(len(s), dtype=bool)  # a mask comes after the scores
    for panel, heights, covered in ((ax, s, shown), (ax_scaled, s_scaled, hidden)):
        colours = plt.get_cmap(KINDS["scores"].colours)
        _draw_bars(panel, heights, [colours(0.85 if h > 0 else 0.15) for h in heights], covered)
        panel.set_ylim(low - room * (low < 0), high + room * (high > 0))
        panel.axhline(0, color="0.3", linewidth=0.8)
        ticks = MaxNLocator(3).tick_values(*panel.get_ylim())
        _mark_heights(panel, [tick for tick in ticks if low <= tick <= high])
    _entitle(ax, "1. scores: query · key", "score")
    _entitle(ax_scaled, "2. scaled scores: divided by √d_k", "scaled")


def draw_row(ax, a):
    """Draw one row of weights as bars, with their numbers, on an axis from 0 to 1."""
    _draw_weights(ax, a, np.zeros(len(a), dtype=bool))
    _label_keys(ax, len(a))
    ax.set_title("")


def _draw_weights(ax, a, hidden):
    colours = plt.get_cmap(KINDS["weights"].colours)
    _draw_bars(ax, a, colours(np.nan_to_num(a)), hidden)
    ax.set_ylim(0, 1.3)
    _mark_heights(ax, [0, 0.5, 1])
    _entitle(ax, "3. weights: softmax of the row", "weight")


def _entitle(ax, title, ylabel):
    style = {"family": font_families()} | LITERAL
    ax.set_title(title, **style)
    ax.set_ylabel(ylabel, **style)


def _mark_heights(ax, ticks):
    ax.set_yticks(ticks, labels=[tick_text(tick) for tick in ticks], **LITERAL)


def _draw_mixing(ax, ax_output, a, V, output, hidden, key_names):
    """Draw each value times its weight under its key, and the sum of all of them at the right."""
    # A weight of 0 takes nothing, whatever the value is.
    with np.errstate(invalid="ignore"):
        shares = np.where(a == 0, 0.0, a * V.T)
    finite = np.abs([*shares[np.isfinite(shares)], *output[np.isfinite(output)]])
    limit = float(finite.max(initial=0)) or 1.0
    features = list(range(V.shape[1]))
    look = {"kind": "values", "limit": limit, "queries": features, "colorbar": False}
    plot_heatmap(
        np.where(hidden, -np.inf, shares),
        keys=key_names,
        ax=ax,
        title="4. weight · value",
        ylabel="Feature",
        numbers=max(V.shape) <= MOST_NUMBERED,
        **look,
    )
    plot_heatmap(
        output[:, np.newaxis],
        keys=["sum"],
        ax=ax_output,
        title="output",
        ylabel="",
        xlabel="",
        numbers=max(V.shape) <= MOST_NUMBERED,
        **look,
    )
    for panel in (ax, ax_output):
        panel.set_aspect("auto")  # the columns stand under the bars
        panel.apply_aspect()
        for number in panel.texts:
            number.set_fontsize(_number_size(panel, panel.texts))
    if ax.get_legend() is not None:
        ax.get_legend().remove()  # the hatched bars above say it
        _entitle(ax, "4. weight · value", "Feature")
    ax_output.tick_params(labelleft=False)


def _draw_bars(ax, heights, colours, hidden):
    """Draw a bar for each key with its number; hatch the place of a hidden one."""
    finite = np.where(np.isfinite(heights), heights, 0.0)
    ax.bar(range(len(heights)), finite, color=colours, edgecolor="0.3", linewidth=0.8)
    few = len(heights) <= MOST_NUMBERED
    for j, height in enumerate(heights):
        if hidden[j]:
            look = {"facecolor": "0.88", "edgecolor": "0.55", "hatch": "////", "linewidth": 0}
            box = Rectangle((j - 0.5, 0), 1, 1, transform=ax.get_xaxis_transform(), **look)
            ax.add_artist(box)
            words = "hidden"
        elif np.isfinite(height):
            words = cell_text(height)
        else:
            words = "not a number" if np.isnan(height) else "inf"
        if few:
            place = (j, 0.5) if hidden[j] else (j, finite[j])
            up = height >= 0 or not np.isfinite(height)
            ax.annotate(
                words,
                place,
                xycoords=ax.get_xaxis_transform() if hidden[j] else "data",
                xytext=(0, 0 if hidden[j] else 2 if up else -2),
                textcoords="offset points",
                ha="center",
                va="center" if hidden[j] else "bottom" if up else "top",
                rotation=90 if hidden[j] and len(heights) > 6 else 0,
                **LITERAL,
            )


def _number_size(ax, texts):
    """Return the font size in which the longest of the numbers fits into a key's column."""
    column = ax.bbox.width / ax.get_figure(root=True).dpi / max(1, np.ptp(ax.get_xlim()))
    return min(8, 102 * column / max(6, max(len(text.get_text()) for text in texts)))


def _label_keys(ax, n_k):
    """Put a tick at each key, in line with the columns below, where the names stand."""
    ax.set_xlim(-0.5, n_k - 0.5)
    ax.set_xticks(range(n_k), labels=[""] * n_k)
    for number in ax.texts:
        number.set_fontsize(_number_size(ax, ax.texts))
    ax.tick_params(axis="x", labelbottom=False, length=0)
    ax.spines[["top", "right"]].set_visible(False)


def _make_pale(ax):
    """Take the attention off a panel, and leave it readable."""
    ax.set_gid(PALE)
    for thing in [*ax.patches, *ax.images, *ax.lines, *ax.artists]:
        thing.set_alpha(_PALE_FADE)
    for text in [*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label]:
        text.set_color(_PALE_TEXT)
    if ax.images:
        for number in ax.texts:
            number.set_color(_PALE_NUMBER)
    ax.tick_params(colors=_PALE_TEXT)
    for spine in ax.spines.values():
        spine.set_color("0.8")
