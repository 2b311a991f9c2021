"""Draw attention: rows are queries, columns are keys, darker weights are stronger.

Functions take `ax`, return what they drew on, and leave showing and saving to the caller; in
a notebook that is `attention_lib.figures.show`.
"""

from typing import NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap, Normalize, to_rgba
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Bbox

from . import validation
from .tokens import drawable, font_families


class _Kind(NamedTuple):
    colours: object  # a name that matplotlib knows, or a colour map
    symmetric: bool
    quantity: str
    hidden: str


KINDS = {
    # Light to dark, as in the chapter; even steps of weight look like even steps of colour.
    "weights": _Kind("magma_r", False, "attention weight", "hidden (weight 0)"),
    "scores": _Kind("RdBu_r", True, "score (before softmax)", "hidden (score -inf)"),
    "values": _Kind("PuOr_r", True, "value", "hidden"),
    "mask": _Kind(ListedColormap(["#9ecae1"], name="mask"), False, "may attend", "hidden"),
}

MOST_NUMBERED = 12  # rows or columns up to which each cell shows its number
LARGEST = 7.5  # inches for the cells of all panels side by side; more cells are smaller
SMALLEST = 1.0  # inches for one side of one panel
LABEL_HEIGHT = 1.2  # font sizes that one line of tick labels needs
GAP = 0.12  # inches around and between panels
MIDDLE = 0.179  # luminance at which black and white have the same contrast, 4.58 : 1

# Cells without a finite number. They must not look like a small weight, so: grey, hatched, no number.
_MISSING_COLOUR = "0.88"
_HIDDEN_HATCH, _NOT_A_NUMBER_HATCH = "////", "xxxx"


def plot_heatmap(
    M,
    *,
    kind="weights",
    mask=None,
    queries=None,
    keys=None,
    ax=None,
    title=None,
    limit=None,
    numbers=None,
    ylabel="Query",
    xlabel="Key",
    colorbar=True,
):
    """Draw one matrix as a heatmap: row i is query i, column j is key j, the first row on top.

    Parameters
    ----------
    M : array_like, shape (n_q, n_k)
        What to draw. -inf is drawn as hidden, NaN as not a number: hatched, without a digit.
    kind : {"weights", "scores", "values", "mask"}
        "weights" uses the colours from 0 to 1, light to dark, always, so that two pictures
        compare. "scores" and "values" use two hues that meet in white at 0. "mask" takes a
        boolean matrix and shows which cells may attend and which are hidden.
    mask : array_like of bool or float, optional
        Which keys each query may attend to, as for `apply_mask`. Hidden cells look hidden,
        except for weights that are not 0: those have leaked, and are shown.
    queries, keys : sequence of str, optional
        One label per row, one per column; equal tokens stay apart. Left out: positions from 0.
        Where labels would overlap, every second, third, ... one is drawn.
    ax : matplotlib Axes, optional
        Where to draw. Left out: a new figure that fits the matrix.
    title : str, optional
        Title of the picture.
    limit : float, optional
        For scores and values: colours run from -limit to limit. Give panels that are compared
        the same one. Left out: the largest magnitude in M.
    numbers : bool, optional
        Print each cell's number. Left out: for at most `MOST_NUMBERED` rows and columns.
    ylabel, xlabel : str
        What rows and columns are.
    colorbar : bool
        Whether to draw the colour bar, which names the quantity.

    Returns
    -------
    matplotlib Axes
        With the image, ticks at 0, 1, 2, ..., and both axes titled.

    Raises
    ------
    ValueError
        If M is not a matrix with a cell in it, labels or mask do not match its shape, kind is
        unknown, or limit is not above 0 or given for weights.
    TypeError
        If M does not hold real numbers, or booleans for kind "mask".

    Examples
    --------
    >>> ax = plot_heatmap([[0.75, 0.25]], queries=["it"], keys=["cat", "mat"])
    >>> ax.get_xlabel(), [label.get_text() for label in ax.get_xticklabels()]
    ('Key', ['cat', 'mat'])

    References
    ----------
    Brenndoerfer (2025), "Scaled Dot-Product Attention", Language AI Handbook, chapter 92: the
    heatmap of section 4.
    """
    where = "plot_heatmap"
    validation.choice(where, "kind", kind, KINDS)
    M = _with_hidden_cells(where, "M", M, kind, mask)
    rows, columns = _check_labels(where, M, queries, keys)
    if limit is not None:
        limit = validation.colour_limit(where, limit, kind)

    own_figure = ax is None
    if own_figure:
        figure, ((ax,),) = _new_figure([[M.shape]])
    image = _draw_cells(ax, M, kind, limit)
    _draw_labels(ax, rows, columns)
    ax.set(ylabel=ylabel, xlabel=xlabel)
    few = max(M.shape) <= MOST_NUMBERED
    if kind != "mask" and (few if numbers is None else numbers):
        _draw_numbers(ax, image, M)
    n_notes = _draw_missing(ax, M, kind)
    if kind == "mask" and few:
        _draw_borders(ax, M)
    if title is not None:
        ax.set_title(title, pad=8 + 15 * n_notes)
    if colorbar and kind != "mask":
        _draw_colorbar(ax, image, kind)
    if own_figure:
        _arrange(figure, [[ax]])
    return ax


def plot_heatmaps(
    panels,
    *,
    kind="weights",
    mask=None,
    queries=None,
    keys=None,
    limit=None,
    ylabel="Query",
    xlabel="Key",
):
    """Draw matrices side by side on one colour scale, so that they can be compared.

    Parameters
    ----------
    panels : dict of str to array_like
        Title and matrix of each panel, from left to right.
    kind, mask, queries, keys, limit, ylabel, xlabel
        As for `plot_heatmap`; they hold for every panel. limit left out: the largest
        magnitude in all of them.

    Returns
    -------
    matplotlib Figure
        With a panel per matrix and one colour bar at the right.

    Raises
    ------
    ValueError
        If there is no panel, or a panel cannot be drawn by `plot_heatmap`.

    Examples
    --------
    >>> figure = plot_heatmaps({"broad": [[0.5, 0.5]], "peaked": [[0.9, 0.1]]})
    >>> [ax.get_title() for ax in figure.axes if ax.get_title()]
    ['broad', 'peaked']
    """
    where = "plot_heatmaps"
    validation.choice(where, "kind", kind, KINDS)
    matrices = [
        _with_hidden_cells(where, repr(title), M, kind, mask)
        for title, M in validation.panels(where, panels).items()
    ]
    # All of it before there is a figure, or an empty one would be left behind.
    for M in matrices:
        _check_labels(where, M, queries, keys)
    if limit is not None:
        limit = validation.colour_limit(where, limit, kind)
    elif KINDS[kind].symmetric:
        limit = _largest(*matrices)
    figure, (axes,) = _new_figure([[M.shape for M in matrices]])
    for ax, (title, M) in zip(axes, panels.items(), strict=True):
        plot_heatmap(
            M,
            kind=kind,
            mask=mask,
            queries=queries,
            keys=keys,
            ax=ax,
            title=title,
            limit=limit,
            ylabel=ylabel,
            xlabel=xlabel,
            colorbar=ax is axes[-1],
        )
    if len({M.shape[0] for M in matrices}) == 1:
        for ax in axes[1:]:  # the rows are those of the first panel
            ax.tick_params(labelleft=False)
            ax.yaxis.label.set_visible(False)
    _arrange(figure, [axes])
    return figure


def plot_steps(steps, *, queries=None, keys=None, title=None):
    """Draw all four steps in one figure: S, S_scaled, A and the output.

    S and S_scaled share one colour scale; otherwise the scaling could not be seen. Keys that a
    mask hid, at -inf in S_scaled, look hidden there and in A.

    Parameters
    ----------
    steps : AttentionSteps
        What `attention_steps` returned for one sequence and one head: matrices, no batch axes.
    queries, keys : sequence of str, optional
        One label per query, one per key.
    title : str, optional
        Title of the figure.

    Returns
    -------
    matplotlib Figure
        With a panel per step, in order.

    Raises
    ------
    ValueError
        If a step is not a matrix with a cell in it, or labels do not match.
    TypeError
        If `steps` is not what `attention_steps` returned.

    Examples
    --------
    >>> from attention_lib import attention_steps
    >>> figure = plot_steps(attention_steps([[1, 0]], [[2, 0], [0, 1]], [[1], [0]]))
    >>> [ax.get_title() for ax in figure.axes if ax.get_title()][0]
    '1. scores S'

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", figure 2, arXiv:1706.03762.
    """
    S, S_scaled, A, output = validation.steps("plot_steps", steps)
    for M in (S, S_scaled, A):
        _check_labels("plot_steps", M, queries, keys)
    figure, axes = _new_figure([[S.shape, S_scaled.shape], [A.shape, output.shape]])
    limit = _largest(S, S_scaled)
    shared = {"queries": queries, "keys": keys}
    plot_heatmap(
        S, kind="scores", limit=limit, ax=axes[0][0], title="1. scores S", colorbar=False, **shared
    )
    plot_heatmap(
        S_scaled,
        kind="scores",
        limit=limit,
        ax=axes[0][1],
        title="2. scaled scores S_scaled",
        **shared,
    )
    plot_heatmap(A, mask=~np.isneginf(S_scaled), ax=axes[1][0], title="3. weights A", **shared)
    plot_heatmap(
        output,
        kind="values",
        ax=axes[1][1],
        title="4. output A V",
        queries=queries,
        xlabel="Value dimension",
    )
    _arrange(figure, axes, heading=None if title is None else figure.suptitle(title))
    return figure


def _with_hidden_cells(where, name, M, kind, mask):
    """Return M as floats to be drawn, with -inf in the cells that are to look hidden."""
    M = validation.picture(where, name, M, boolean=kind == "mask")
    if kind == "mask":
        M = np.where(M, 1, -np.inf)
    if mask is None:
        return M
    mask = validation.mask_of_picture(where, mask, name, M.shape)
    hidden = np.isneginf(mask) if mask.dtype.kind == "f" else ~mask
    # A weight on a hidden key is a leak, which the picture must not cover up.
    return np.where(hidden & (M == 0) if kind == "weights" else hidden, -np.inf, M)


def _check_labels(where, M, queries, keys):
    """Return the labels of the rows and of the columns of M."""
    rows = validation.labels(where, "queries", queries, M.shape[0], "row")
    columns = validation.labels(where, "keys", keys, M.shape[1], "column")
    return rows, columns


def _new_figure(shapes):
    """Return a figure with one axes per matrix shape, in rows, each as large as its cells need.

    Where they stand is not settled: `_arrange` places them once it can measure the labels.
    """
    most_columns = max(sum(shape[1] for shape in row) for row in shapes)
    most_cells = max(most_columns, *(shape[0] for row in shapes for shape in row))
    largest_cell = (
        0.62 if max(max(shape) for row in shapes for shape in row) <= MOST_NUMBERED else 0.3
    )
    cell = min(largest_cell, LARGEST / most_cells)
    figure = plt.figure(figsize=(LARGEST, LARGEST), layout="none")
    make_opaque(figure)
    sides = [
        [[max(SMALLEST, cell * count) / LARGEST for count in shape[::-1]] for shape in row]
        for row in shapes
    ]
    return figure, [[figure.add_axes((0, 0, *side)) for side in row] for row in sides]


def make_opaque(figure):
    """Give a transparent figure a page: its labels would vanish on one of their own colour."""
    if figure.get_facecolor()[3] < 1:
        dark_text = _luminance(to_rgba(plt.rcParams["text.color"])) <= MIDDLE
        figure.set_facecolor("white" if dark_text else "black")


def _arrange(figure, grid, heading=None):
    """Place the panels and size the figure so that every label is inside it.

    matplotlib's own layouts shrink panels with square cells and then misplace what hangs off
    them, so the cells keep their size here, and the figure takes the size that the labels need.
    """
    dots = figure.dpi
    size = {ax: np.array([ax.bbox.width, ax.bbox.height]) / dots for row in grid for ax in row}
    before, after = {}, {}  # inches that labels reach out: left and below, right and above
    for ax in size:
        # In matplotlib 3.10 the tight box leaves out an axis title that is longer than its axis.
        titles = [axis.label for part in (ax, *ax.child_axes) for axis in (part.xaxis, part.yaxis)]
        boxes = [t.get_window_extent() for t in titles if t.get_text() and t.get_visible()]
        outer = Bbox.union([ax.get_tightbbox(), *boxes])
        before[ax] = np.array([ax.bbox.x0 - outer.x0, ax.bbox.y0 - outer.y0]) / dots + GAP
        after[ax] = np.array([outer.x1 - ax.bbox.x1, outer.y1 - ax.bbox.y1]) / dots + GAP

    def spans(lines, side):
        """Return (before, size, after) of each column (side 0) or row (side 1) of the grid."""
        return [
            [max(table[ax][side] for ax in line) for table in (before, size, after)]
            for line in lines
        ]

    columns, rows = spans(zip(*grid, strict=True), 0), spans(grid, 1)
    panels_width, panels_height = sum(map(sum, columns)), sum(map(sum, rows))
    title_width, title_height = (
        (0, 0) if heading is None else heading.get_window_extent().size / dots + 2 * GAP
    )
    width, height = max(panels_width, title_width), panels_height + title_height
    figure.set_size_inches(width, height)
    if heading is not None:
        heading.set_y(1 - GAP / height)
    top = panels_height
    for row, (below, tall, above) in zip(grid, rows, strict=True):
        left = (width - panels_width) / 2
        for ax, (margin, wide, right) in zip(row, columns, strict=True):
            bottom = top - above - size[ax][1]
            place = np.array([left + margin, bottom, *size[ax]])
            ax.set_position(place / [width, height, width, height])
            left += margin + wide + right
        top -= below + tall + above


def _largest(*matrices):
    """Return the largest finite magnitude in all of the matrices, or 1 where it is 0 or missing."""
    return float(max(np.abs(M[np.isfinite(M)]).max(initial=0) for M in matrices)) or 1.0


def _draw_cells(ax, M, kind, limit):
    colours = plt.get_cmap(KINDS[kind].colours).with_extremes(bad=_MISSING_COLOUR)
    # Near the largest float there is, the ticks of the colour bar would overflow.
    high = min(limit or _largest(M), np.finfo(float).max / 1000) if KINDS[kind].symmetric else 1.0
    low = -high if KINDS[kind].symmetric else 0.0
    n_rows, n_columns = M.shape
    # A strip of 3 x 200 square cells could not be read.
    aspect = "equal" if max(n_rows, n_columns) <= 5 * min(n_rows, n_columns) else "auto"
    image = ax.imshow(
        np.ma.masked_invalid(M.astype(np.float64)),
        cmap=colours,
        norm=Normalize(low, high, clip=True),
        aspect=aspect,
        interpolation="nearest",
        origin="upper",
    )
    ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5))
    ax.grid(False)  # some styles draw lines through the middle of the cells
    return image


def _draw_labels(ax, rows, columns):
    """Put a label at each position, or at every k-th where more would overlap."""
    ax.apply_aspect()  # square cells may leave a part of the axes empty
    width, height = ax.bbox.size / ax.get_figure(root=True).dpi
    style = {"family": font_families(), "parse_math": False}

    row_ticks = _fitting(ax.yaxis, len(rows), height)
    ax.set_yticks(row_ticks, [drawable(rows[i]) for i in row_ticks], **style)

    column_ticks = _fitting(ax.xaxis, len(columns), width)
    ax.set_xticks(column_ticks, [drawable(columns[j]) for j in column_ticks], **style)
    widest = max((label.get_window_extent().width for label in ax.get_xticklabels()), default=0)
    if widest > 0.9 * ax.bbox.width / len(columns) * column_ticks.step:
        # Anchored at its end, so that a slanted label points at its own column. Slanted lines
        # are closer together than the columns they point at.
        style |= {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        column_ticks = _fitting(ax.xaxis, len(columns), width / np.sqrt(2))
        ax.set_xticks(column_ticks, [drawable(columns[j]) for j in column_ticks], **style)
    ax.tick_params(which="both", length=0)


def _fitting(axis, count, inches):
    """Return the positions 0, k, 2k, ... whose lines of text fit into so many inches."""
    line = LABEL_HEIGHT * axis.get_major_ticks(1)[0].label1.get_fontsize() / 72
    every = max(1, int(np.ceil(count * line / inches)))
    return range(0, count, every)


def _draw_numbers(ax, image, M):
    texts = {place: cell_text(number) for place, number in np.ndenumerate(M) if np.isfinite(number)}
    longest = max(map(len, texts.values()), default=0)
    cell_width = ax.bbox.width / ax.get_figure(root=True).dpi / M.shape[1]
    fontsize = min(9, 102 * cell_width / max(6, longest))
    for (i, j), text in texts.items():
        dark = _luminance(image.cmap(image.norm(M[i, j]))) <= MIDDLE
        colour = "white" if dark else "black"
        ax.text(j, i, text, ha="center", va="center", color=colour, fontsize=fontsize)


def cell_text(number):
    """Return a number as a cell shows it: two decimals, or a power of ten where it is huge."""
    text = f"{number:z.2f}"  # z: a rounded -0.004 is 0.00, not -0.00
    return text if len(text) <= 8 else f"{number:.1e}"


def _luminance(rgba):
    """Return the WCAG relative luminance."""
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgba[:3]
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _draw_missing(ax, M, kind):
    """Hatch the cells without a finite number, say above the axes what it means; count the notes."""
    notes = []
    if kind == "mask" and np.isfinite(M).any():
        notes.append(Patch(label=KINDS[kind].quantity, facecolor=KINDS[kind].colours.colors[0]))
    for meaning, hatch, cells in (
        (KINDS[kind].hidden, _HIDDEN_HATCH, np.isneginf(M)),
        ("not a number", _NOT_A_NUMBER_HATCH, np.isnan(M) | np.isposinf(M)),
    ):
        if cells.any():
            look = {"facecolor": "none", "edgecolor": "0.55", "hatch": hatch, "linewidth": 0}
            # Not add_patch, which would look for new limits along every edge.
            ax.add_artist(PathPatch(_outline(cells), **look, gid=meaning))
            notes.append(Patch(label=meaning, **look | {"facecolor": _MISSING_COLOUR}))
    if notes:
        ax.legend(
            handles=notes,
            loc="lower left",
            bbox_to_anchor=(-0.02, 1.0),
            frameon=False,
            fontsize="small",
            borderaxespad=0.1,
        )
    return len(notes)


def _draw_borders(ax, M):
    """Part the cells from one another, where no colour and no number does."""
    n_rows, n_columns = M.shape
    style = {"color": "white", "linewidth": 1.5, "zorder": 3}
    ax.hlines(np.arange(n_rows - 1) + 0.5, -0.5, n_columns - 0.5, **style)
    ax.vlines(np.arange(n_columns - 1) + 0.5, -0.5, n_rows - 0.5, **style)


def _outline(cells):
    """Return one path round all the chosen cells; thousands of paths would take seconds to hatch."""
    rows, columns = np.nonzero(cells)
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])
    vertices = np.stack([columns, rows], axis=-1)[:, np.newaxis] + corners
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(vertices.reshape(-1, 2), codes * len(rows))


def _draw_colorbar(ax, image, kind):
    data, norm = image.get_array(), image.norm
    beyond = {(True, False): "min", (False, True): "max", (True, True): "both"}
    extend = beyond.get((bool((data < norm.vmin).any()), bool((data > norm.vmax).any())), "neither")
    # An inset is as tall as the cells whatever the aspect of the matrix.
    bar = ax.get_figure().colorbar(image, cax=ax.inset_axes((1.04, 0, 0.05, 1)), extend=extend)
    bar.set_label(KINDS[kind].quantity)
    bar.outline.set_visible(False)
