"""Draw attention: rows are queries, columns are keys, darker weights are stronger.

Functions take `ax`, return what they drew on, and leave showing and saving to the caller; in
a notebook that is `attention_lib.figures.show`. Every text can be read on a narrow page: numbers
are printed where they are large enough there, and panels go in rows of as many as fit.
"""

import itertools
import textwrap
from typing import NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap, Normalize, to_rgba
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from . import validation
from .tokens import LITERAL, distinct_labels, font_families, with_glyphs


class _Kind(NamedTuple):
    colours: object  # a name that matplotlib knows, or a colour map
    hues: str  # what the two hues mean, where there are two
    quantity: str
    hidden: str


KINDS = {
    # Light to dark, as in the chapter; even steps of weight look like even steps of colour.
    "weights": _Kind("magma_r", "", "attention weight", "hidden (weight 0)"),
    "scores": _Kind(
        "RdBu_r", "blue below 0, red above", "score (before softmax)", "hidden (score -inf)"
    ),
    "values": _Kind("PuOr_r", "purple below 0, orange above", "value", "hidden"),
    "mask": _Kind(ListedColormap(["#9ecae1"], name="mask"), "", "may attend", "hidden"),
}

MOST_NUMBERED = 12  # rows or columns up to which each cell shows its number, where there is room
LARGEST = 7.5  # inches for one side of one panel
LARGEST_CELL, LARGEST_OF_MANY = 0.62, 0.3  # inches, where cells are numbered and where they are not
SMALLEST = 1.0  # inches for one side of one panel
LABEL_HEIGHT = 1.2  # font sizes that one line of tick labels needs
GAP = 0.12  # inches around and between panels
MIDDLE = 0.179  # luminance at which black and white have the same contrast, 4.58 : 1

# JupyterLab with the list of files beside it, on a screen of 1024: what a figure has at least, in
# pixels of which a figure shows 96 to the inch. A wider figure is shown smaller, text and all.
PAGE, SMALLEST_TEXT = 572, 6
WIDEST = 9.6  # inches that a figure takes, unless its labels need more
HIGHEST = 12  # inches up to which panels are spread out for the sake of their numbers
TALLEST = 24  # inches above which more panels share a row, as small as they may be

# Cells without a finite number. They must not look like a small weight, so: grey, hatched, no number.
_MISSING_COLOUR = "0.88"
_HIDDEN_HATCH, _NOT_A_NUMBER_HATCH = "////", "xxxx"

_BAR_GAP, _BAR_WIDTH, _BAR_LABELS = 0.12, 0.16, 0.8  # inches at the right of a panel
_BORDERS = "borders"


class _Panel(NamedTuple):
    """What is to be drawn in one panel, checked."""

    M: np.ndarray  # -inf where a cell is to look hidden
    kind: str
    rows: list
    columns: list
    limit: float | None = None
    title: str | None = None
    ylabel: str = "Query"
    xlabel: str = "Key"
    colorbar: bool = True
    labels_rows: bool = True  # False for one at the right of a panel with the same rows


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
        Print each cell's number. Left out: for at most `MOST_NUMBERED` rows and columns, and
        where the numbers can be read on a page of `PAGE` pixels.
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
    panel = _Panel(M, kind, rows, columns, limit, title, ylabel, xlabel, colorbar)
    if ax is None:
        return _draw_figure([[panel]], numbers)[1][0][0]
    _draw_panel(ax, panel)
    _draw_all_numbers([(ax, panel)], numbers)
    return ax


def plot_heatmaps(
    panels,
    *,
    kind="weights",
    mask=None,
    queries=None,
    keys=None,
    limit=None,
    numbers=None,
    ylabel="Query",
    xlabel="Key",
):
    """Draw matrices on one colour scale, so that they can be compared: side by side, in rows.

    Parameters
    ----------
    panels : dict of str to array_like
        Title and matrix of each panel, from left to right, then on the next row. A row has as many
        as can be read on a page of `PAGE` pixels.
    kind, mask, queries, keys, limit, numbers, ylabel, xlabel
        As for `plot_heatmap`; they hold for every panel. limit left out: the largest
        magnitude in all of them.

    Returns
    -------
    matplotlib Figure
        With a panel per matrix and one colour bar, at the right of the first row.

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
    labels = [_check_labels(where, M, queries, keys) for M in matrices]
    if limit is not None:
        limit = validation.colour_limit(where, limit, kind)
    elif KINDS[kind].hues:
        limit = _largest(*matrices)
    drawn = [
        _Panel(M, kind, *names, limit, title, ylabel, xlabel, colorbar=False)
        for title, M, names in zip(panels, matrices, labels, strict=True)
    ]
    grid = _in_rows(drawn, numbers)
    figure, _ = _draw_figure(grid, numbers)
    # How much room labels need is known once they are drawn.
    for length in _lengths_of_rows(len(drawn)):
        if length < len(grid[0]) and figure.get_figwidth() > WIDEST + 1:
            plt.close(figure)
            figure, _ = _draw_figure(_grid(drawn, length), numbers)
    return figure


def plot_steps(steps, V=None, *, queries=None, keys=None, title=None):
    """Draw all four steps in one figure: S, S_scaled, A and the output.

    S and S_scaled share one colour scale; otherwise the scaling could not be seen. Keys that a
    mask hid, at -inf in S_scaled, look hidden there and in A.

    Parameters
    ----------
    steps : AttentionSteps
        What `attention_steps` returned for one sequence and one head: matrices, no batch axes.
    V : array_like, shape (n_k, d_v), optional
        The values that were mixed. Given, the output has the colours that V has in a picture of
        its own, and looks as much paler as its numbers are smaller. Left out: the output's
        largest magnitude has the darkest colour.
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
        If a step is not a matrix with a cell in it, V does not belong to the steps, or labels do
        not match.
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
    where = "plot_steps"
    S, S_scaled, A, output = validation.steps(where, steps)
    limit_of_values = None
    if V is not None:
        limit_of_values = _largest(validation.values_of_steps(where, V, A, output), output)
    for M in (S, S_scaled, A):
        rows, columns = _check_labels(where, M, queries, keys)
    limit = _largest(S, S_scaled)
    weights = _with_hidden_cells(where, "A", A, "weights", ~np.isneginf(S_scaled))
    grid = [
        [
            _Panel(S, "scores", rows, columns, limit, "1. scores S", colorbar=False),
            _Panel(S_scaled, "scores", rows, columns, limit, "2. scaled scores S_scaled"),
        ],
        [
            _Panel(weights, "weights", rows, columns, title="3. weights A"),
            _Panel(
                output,
                "values",
                rows,
                list(range(output.shape[1])),
                limit_of_values,
                "4. output A V",
                xlabel="Feature",
            ),
        ],
    ]
    return _draw_figure(grid, None, heading=title)[0]


def legible_size(width):
    """Return the smallest font size, in points, that can be read in a figure so many inches wide.

    It is `SMALLEST_TEXT` pixels high where the figure is shown on a page `PAGE` pixels wide.

    Examples
    --------
    >>> round(legible_size(5), 2), round(legible_size(10), 2)
    (4.5, 7.55)
    """
    return SMALLEST_TEXT * 72 / 96 * max(1.0, width * 96 / PAGE)


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


def _in_rows(panels, numbers):
    """Put panels into rows of as many as can be read, and the colour bar beside the first row."""
    grids = [_grid(panels, length) for length in _lengths_of_rows(len(panels))]
    if numbers is not False and all(map(_wants_numbers, panels)):
        for grid in grids:
            if _has_room_for_numbers(grid):
                return grid
    if numbers:
        return grids[-1]
    most = max(max(panel.M.shape) for panel in panels)
    for grid in grids:
        # All labels, or a panel of some size; side by side in any case.
        cell, width = _size_of_cells(grid)
        if (cell >= min(0.17, 2.6 / most) and width <= WIDEST) or len(grid[0]) == 2:
            return _lower(grid, grids)
    return _lower(grids[-1], grids)


def _lower(chosen, grids):
    """Return the grid that was chosen, or of those with longer rows the first that is low enough."""
    longer = [grid for grid in reversed(grids) if len(grid[0]) > len(chosen[0])]
    fitting = [chosen, *(grid for grid in longer if _size_of_cells(grid)[1] <= WIDEST)]
    return next((grid for grid in fitting if _height(grid) <= TALLEST), fitting[-1])


def _height(grid):
    """Return roughly how many inches high a grid of panels is."""
    cell, _ = _size_of_cells(grid)
    return sum(max(cell * panel.M.shape[0] for panel in row) + 1 for row in grid)


def _has_room_for_numbers(grid):
    panels = [panel for row in grid for panel in row]
    longest = max(len(text) for panel in panels for text in ["", *_cell_texts(panel.M).values()])
    cell, width = _size_of_cells(grid)
    # One under the other, panels are hard to compare, unless they are flat.
    highest = HIGHEST if len(grid[0]) > 1 or len(panels) == 1 else LARGEST
    return number_size(cell, longest) >= legible_size(width) and _height(grid) <= highest


def _lengths_of_rows(count):
    """Return the lengths that a row of panels may have, the longest first, in even rows."""
    return sorted({-(-count // n_rows) for n_rows in range(1, count + 1)}, reverse=True)


def _grid(panels, length):
    rows = [panels[start : start + length] for start in range(0, len(panels), length)]
    same_rows = len({tuple(map(str, panel.rows)) for panel in panels}) == 1
    return [
        [
            panel._replace(
                labels_rows=not (same_rows and column),
                colorbar=panel.kind != "mask" and row is rows[0] and panel is row[-1],
            )
            for column, panel in enumerate(row)
        ]
        for row in rows
    ]


def _size_of_cells(grid):
    """Return the side of a cell, and the width of the figure, in inches."""
    columns = [
        [panel for panel in column if panel is not None] for column in itertools.zip_longest(*grid)
    ]
    margins = sum(max(map(_margin, column)) for column in columns)
    panels = [panel for row in grid for panel in row]

    def width(cell):
        sides = [max(panel.M.shape[1] for panel in column) * cell for column in columns]
        return margins + sum(max(SMALLEST, side) for side in sides)

    numbered = all(max(panel.M.shape) <= MOST_NUMBERED for panel in panels)
    cell = LARGEST_CELL if numbered else LARGEST_OF_MANY
    cell = min(cell, *(LARGEST / max(panel.M.shape) for panel in panels))
    while width(cell) > WIDEST and cell * max(max(p.M.shape) for p in panels) > SMALLEST:
        cell *= 0.98
    return cell, width(cell)


def _margin(panel):
    """Return roughly how many inches a panel needs beside its cells."""
    longest = max(map(len, distinct_labels(panel.rows))) if panel.labels_rows else 0
    beside = 0.3 + 0.09 * longest if panel.labels_rows else 0
    return 2 * GAP + beside + (_BAR_GAP + _BAR_WIDTH + _BAR_LABELS) * panel.colorbar


def _draw_figure(grid, numbers, heading=None):
    """Draw rows of panels as a figure of their own; return it and its axes."""
    figure = plt.figure(figsize=(LARGEST, LARGEST), layout="none")
    try:
        return figure, _fill_figure(figure, grid, numbers, heading)
    except BaseException:
        plt.close(figure)  # a title that is no formula must not leave half a picture open
        raise


def _fill_figure(figure, grid, numbers, heading):
    cell, width = _size_of_cells(grid)
    make_opaque(figure)
    # Where the panels stand is not settled: `_arrange` places them once it can measure the labels.
    sides = [
        [[max(SMALLEST, cell * count) / LARGEST for count in panel.M.shape[::-1]] for panel in row]
        for row in grid
    ]
    axes = [[figure.add_axes((0, 0, *side)) for side in row] for row in sides]
    room = WIDEST / max(map(len, grid)) - GAP
    least = legible_size(width + 1)  # labels may need an inch that was not foreseen
    for ax, panel in _pairs(axes, grid):
        _draw_panel(ax, panel, max(room, ax.bbox.width / figure.dpi), least)
    if heading is not None:
        heading = figure.suptitle(with_glyphs(heading), usetex=False, family=font_families())
        _enlarge(least, heading)
        wrap(heading, WIDEST)
    _arrange(figure, axes, heading)
    _draw_all_numbers(list(_pairs(axes, grid)), numbers)
    return axes


def _enlarge(least, *texts):
    """Give texts at least so many points, where a reader's own settings are smaller."""
    for text in texts:
        text.set_fontsize(max(least, text.get_fontsize()))


def _pairs(axes, grid):
    return zip(itertools.chain(*axes), itertools.chain(*grid), strict=True)


def _draw_panel(ax, panel, room=None, least=0):
    """Draw all of a panel but its numbers: titles in lines of `room` inches, no text below `least`.

    Without `room`, in axes that somebody else has laid out, that is the width of their figure.
    """
    M, kind = panel.M, panel.kind
    image = _draw_cells(ax, M, kind, panel.limit)
    for axis in (ax.xaxis, ax.yaxis):
        size = axis.get_major_ticks(1)[0].label1.get_fontsize()
        if size < least:
            axis.set_tick_params(labelsize=least)
    _draw_labels(ax, panel.rows, panel.columns)
    style = {"usetex": False, "family": font_families()}
    ax.set_ylabel(with_glyphs(panel.ylabel), **style)
    ax.set_xlabel(with_glyphs(panel.xlabel), **style)
    _enlarge(least, ax.xaxis.label, ax.yaxis.label)
    figure = ax.get_figure(root=True)
    wrap(ax.xaxis.label, room or figure.get_figwidth())
    wrap(ax.yaxis.label, max(3.0, ax.bbox.height / figure.dpi))
    if not panel.labels_rows:
        ax.tick_params(labelleft=False)
        ax.yaxis.label.set_visible(False)
    above = _draw_missing(ax, M, kind, least)
    if kind == "mask" and max(M.shape) <= MOST_NUMBERED:
        _draw_borders(ax, M)
    if panel.title is not None:
        ax.set_title(with_glyphs(panel.title), pad=8 + above, **style)
        _enlarge(least, ax.title)
        wrap(ax.title, room or figure.get_figwidth())
        if room is None and above:
            _make_room_for_title(ax)
    if panel.colorbar and kind != "mask":
        _draw_colorbar(ax, image, kind, least)


def wrap(text, room):
    """Break a title into lines of at most so many inches; a formula is left whole."""
    box, upright = text.get_window_extent(), text.get_rotation() % 180 == 90
    words, wide = text.get_text(), (box.height if upright else box.width) / text.figure.dpi
    if wide > room and words.count("$") < 2:
        lines = words.splitlines()
        most = max(12, int(0.95 * room / wide * max(map(len, lines))))
        text.set_text("\n".join(part for line in lines for part in textwrap.wrap(line, most)))


def _make_room_for_title(ax):
    """Lower the top of axes whose title stands above notes, and would leave the figure."""
    figure = ax.get_figure(root=True)
    beyond = (ax.title.get_window_extent().y1 - figure.bbox.y1) / figure.bbox.height
    if beyond > 0 and figure.get_layout_engine() is None:
        left, bottom, width, height = ax.get_position(original=True).bounds
        ax.set_position((left, bottom, width, max(height / 2, height - beyond - 0.01)))


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

    def span(axes, side):
        """Return (before, size, after) of what stands in one column (side 0) or row (side 1)."""
        return [max(table[ax][side] for ax in axes) for table in (before, size, after)]

    lines = itertools.zip_longest(*grid)  # the last row may be shorter
    lines = [[ax for ax in line if ax is not None] for line in lines]
    columns, rows = [span(line, 0) for line in lines], [span(row, 1) for row in grid]
    across = [columns[: len(row)] for row in grid]
    if any(len({size[ax][0] for ax in line}) > 1 for line in lines) and not any(
        ax.yaxis.label.get_visible() for line in lines[1:] for ax in line
    ):
        # Without labels between them, panels of different widths stand close together.
        across = [[columns[0], *(span([ax], 0) for ax in row[1:])] for row in grid]
        for row, spans in zip(grid, across, strict=True):
            spans[0] = [columns[0][0], *span(row[:1], 0)[1:]]
    panels_width, panels_height = max(map(_total, across)), _total(rows)
    title_width, title_height = (
        (0, 0) if heading is None else heading.get_window_extent().size / dots + 2 * GAP
    )
    width, height = max(panels_width, title_width), panels_height + title_height
    figure.set_size_inches(width, height)
    if heading is not None:
        heading.set_y(1 - GAP / height)
    top = panels_height
    for row, spans, (below, tall, above) in zip(grid, across, rows, strict=True):
        left = (width - panels_width) / 2
        for ax, (margin, wide, right) in zip(row, spans, strict=True):
            bottom = top - above - size[ax][1]
            place = np.array([left + margin, bottom, *size[ax]])
            ax.set_position(place / [width, height, width, height])
            left += margin + wide + right
        top -= below + tall + above


def _total(spans):
    return sum(map(sum, spans))


def _largest(*matrices):
    """Return the largest finite magnitude in all of the matrices, or 1 where it is 0 or missing."""
    return float(max(np.abs(M[np.isfinite(M)]).max(initial=0) for M in matrices)) or 1.0


def _draw_cells(ax, M, kind, limit):
    colours = plt.get_cmap(KINDS[kind].colours).with_extremes(bad=_MISSING_COLOUR)
    # Near the largest float there is, the ticks of the colour bar would overflow.
    high = min(limit or _largest(M), np.finfo(float).max / 1000) if KINDS[kind].hues else 1.0
    low = -high if KINDS[kind].hues else 0.0
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
    style = {"family": font_families()} | LITERAL
    # Of both at once, so that a token has the same label wherever it stands.
    names = distinct_labels([*rows, *columns])
    rows, columns = names[: len(rows)], names[len(rows) :]

    row_ticks = _fitting(ax.yaxis, len(rows), height)
    ax.set_yticks(row_ticks, [rows[i] for i in row_ticks], **style)

    column_ticks = _fitting(ax.xaxis, len(columns), width)
    ax.set_xticks(column_ticks, [columns[j] for j in column_ticks], **style)
    widest = max((label.get_window_extent().width for label in ax.get_xticklabels()), default=0)
    if widest > 0.9 * ax.bbox.width / len(columns) * column_ticks.step:
        # Anchored at its end, so that a slanted label points at its own column. Slanted lines
        # are closer together than the columns they point at.
        style |= {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        column_ticks = _fitting(ax.xaxis, len(columns), width / np.sqrt(2))
        ax.set_xticks(column_ticks, [columns[j] for j in column_ticks], **style)
    ax.tick_params(which="both", length=0)


def _fitting(axis, count, inches):
    """Return the positions 0, k, 2k, ... whose lines of text fit into so many inches."""
    line = LABEL_HEIGHT * axis.get_major_ticks(1)[0].label1.get_fontsize() / 72
    every = max(1, int(np.ceil(count * line / inches)))
    return range(0, count, every)


def _wants_numbers(panel):
    return panel.kind != "mask" and max(panel.M.shape) <= MOST_NUMBERED


def _draw_all_numbers(panels, numbers):
    """Print the number in each cell of all panels, or of none."""
    panels = [(ax, panel) for ax, panel in panels if panel.kind != "mask"]
    if numbers is False or not (numbers or all(_wants_numbers(panel) for _, panel in panels)):
        return
    sizes = []
    for ax, panel in panels:
        figure = ax.get_figure(root=True)
        longest = max(map(len, _cell_texts(panel.M).values()), default=0)
        sizes.append(number_size(ax.bbox.width / figure.dpi / panel.M.shape[1], longest))
    if numbers or (sizes and min(sizes) >= legible_size(figure.get_figwidth())):
        for (ax, panel), size in zip(panels, sizes, strict=True):
            _draw_numbers(ax, panel.M, size)


def number_size(cell_width, longest):
    """Return the font size in which a number of so many characters fits into a cell."""
    return min(9, 102 * cell_width / max(6, longest))


def _cell_texts(M):
    return {place: cell_text(number) for place, number in np.ndenumerate(M) if np.isfinite(number)}


def _draw_numbers(ax, M, size):
    (image,) = ax.images
    families = font_families()
    for (i, j), text in _cell_texts(M).items():
        dark = _luminance(image.cmap(image.norm(M[i, j]))) <= MIDDLE
        colour = "white" if dark else "black"
        style = {"ha": "center", "va": "center", "color": colour, "fontsize": size}
        style["family"] = families
        ax.text(j, i, text, **style, **LITERAL)


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


def _draw_missing(ax, M, kind, least):
    """Hatch the cells without a finite number, and say above the axes what it means.

    Returns
    -------
    float
        The height of what stands there, in points.
    """
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
    if not notes:
        return 0
    # Side by side, or one above the other where that would be wider than the cells.
    for n_columns in {len(notes): None, 1: None}:
        legend = ax.legend(
            handles=notes,
            ncols=n_columns,
            loc="lower left",
            bbox_to_anchor=(-0.02, 1.0),
            frameon=False,
            prop={"family": font_families(), "size": "small"},
            borderaxespad=0.1,
            columnspacing=1,
        )
        for text in legend.get_texts():
            text.set_usetex(False)
            _enlarge(least, text)
        box = legend.get_window_extent()
        if box.width <= 1.05 * ax.bbox.width:
            break
    return box.height / ax.get_figure(root=True).dpi * 72 - 4


def _draw_borders(ax, M):
    """Part the cells from one another, where no colour and no number does."""
    n_rows, n_columns = M.shape
    style = {"color": "white", "linewidth": 1.5, "zorder": 3, "gid": _BORDERS}
    ax.hlines(np.arange(n_rows - 1) + 0.5, -0.5, n_columns - 0.5, **style)
    ax.vlines(np.arange(n_columns - 1) + 0.5, -0.5, n_rows - 0.5, **style)


def _outline(cells):
    """Return one path round all the chosen cells; thousands of paths would take seconds to hatch."""
    rows, columns = np.nonzero(cells)
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])
    vertices = np.stack([columns, rows], axis=-1)[:, np.newaxis] + corners
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(vertices.reshape(-1, 2), codes * len(rows))


def _draw_colorbar(ax, image, kind, least):
    data, norm = image.get_array(), image.norm
    beyond = {(True, False): "min", (False, True): "max", (True, True): "both"}
    extend = beyond.get((bool((data < norm.vmin).any()), bool((data > norm.vmax).any())), "neither")
    # An inset is as tall as the cells whatever the aspect of the matrix.
    width, height = ax.bbox.size / ax.get_figure(root=True).dpi
    place = (1 + _BAR_GAP / width, 0, _BAR_WIDTH / width, 1)
    bar = ax.get_figure().colorbar(image, cax=ax.inset_axes(place), extend=extend)
    ticks = MaxNLocator(4 if height < 2 else 8, steps=[1, 2, 2.5, 5, 10]).tick_values(
        norm.vmin, norm.vmax
    )
    ticks = [tick for tick in ticks if norm.vmin <= tick <= norm.vmax]
    style = {"family": font_families()} | LITERAL
    bar.set_ticks(ticks, labels=[tick_text(tick) for tick in ticks], **style)
    hues = KINDS[kind].hues if height >= 2 else KINDS[kind].hues.replace(", ", ",\n")
    label = f"{KINDS[kind].quantity}\n{hues}" if hues else KINDS[kind].quantity
    bar.set_label(label, **style)
    _enlarge(least, bar.ax.yaxis.label, *bar.ax.get_yticklabels())
    bar.outline.set_visible(False)


def tick_text(number):
    """Return a number as an axis shows it."""
    text = f"{number:z.10g}"
    return text.replace("-", "\N{MINUS SIGN}") if plt.rcParams["axes.unicode_minus"] else text
