"""Figures with a text alternative, made from what was really drawn.

`show(figure)` ends a notebook cell: the page gets the picture with a one-sentence alternative
for screen readers, and the plain-text form of the output is a full description, which stays
the same from one matplotlib version to the next and so can be compared by a test.
"""

import base64
import html
import io

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.category import StrCategoryLocator
from matplotlib.collections import FillBetweenPolyCollection, PathCollection
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Polygon
from matplotlib.path import Path
from matplotlib.text import Annotation
from matplotlib.ticker import FixedLocator

from .heatmap import cell_text

DOTS_PER_INCH = 144  # sharp on dense screens; the page shows it at 96
MOST_POINTS = 12  # points of a series that are listed one by one


class Picture:
    """A drawn figure: an image with an alternative on a page, a description as text."""

    def __init__(self, alt, text, png, width):
        self.alt = alt
        self.text = text
        self.png = png
        self.width = width

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        data = base64.b64encode(self.png).decode("ascii")
        return f'<img alt="{html.escape(self.alt)}" width="{self.width}" src="data:image/png;base64,{data}">'


def show(drawn):
    """Turn a figure into a picture with a text alternative, for the last line of a cell.

    Parameters
    ----------
    drawn : matplotlib Axes or Figure
        For example what `plot_heatmap` or `plot_steps` returned. The figure is closed, so a
        notebook does not draw it a second time.

    Returns
    -------
    Picture
        `.alt` (one sentence with the numbers that matter), `.text` (what was drawn, to three
        decimals), `.png` (bytes, on an opaque background).

    Raises
    ------
    TypeError
        If it is neither Axes nor Figure.

    Examples
    --------
    >>> from attention_lib.heatmap import plot_heatmap
    >>> show(plot_heatmap([[0.75, 0.25]], queries=["it"], keys=["cat", "mat"], title="A"))
    figure, 1 panel
    "A": heatmap, 1 rows (Query) by 2 columns (Key), magma_r from 0 to 1 (attention weight)
      rows: it
      columns: cat | mat
      it: 0.750 0.250
      cells that show their number: 2 of 2
    """
    figure = _figure_of("show", drawn)
    buffer = io.BytesIO()
    # Written out, for the reader's settings may ask for a transparent page.
    background = figure.get_facecolor() if figure.get_facecolor()[3] == 1 else "white"
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, transparent=False, facecolor=background)
    plt.close(figure)
    width = round(figure.get_size_inches()[0] * 96)
    return Picture(alt_text(figure), describe(figure), buffer.getvalue(), width)


def alt_text(drawn):
    """Say in one sentence what a figure shows, with the numbers that matter.

    Parameters
    ----------
    drawn : matplotlib Axes or Figure
        The figure to put into words.

    Returns
    -------
    str
        A clause per panel: for a heatmap its size and its strongest and weakest cell, for
        other plots each series with where it starts and ends.

    Examples
    --------
    >>> from attention_lib.heatmap import plot_heatmap
    >>> alt_text(plot_heatmap([[0.75, 0.25]], queries=["it"], keys=["cat", "mat"]))
    'Heatmap, rows Query, columns Key, 1 by 2: highest 0.75 (it, cat), lowest 0.25 (it, mat).'
    """
    return "; ".join(_sentence(ax) for ax in _panels(_figure_of("alt_text", drawn))) + "."


def describe(drawn):
    """Write out what a figure shows: titles, axes, colours, and the data to three decimals.

    Parameters
    ----------
    drawn : matplotlib Axes or Figure
        The figure to put into words. Read from what was drawn, not from what was meant.

    Returns
    -------
    str
        One block of lines per panel.

    Examples
    --------
    >>> figure, ax = plt.subplots()
    >>> line = ax.plot([1, 2, 4], [1, 2, 4], label="variance")
    >>> print(describe(figure))
    figure, 1 panel
    untitled: x "" from 0.85 to 4.15, y "" from 0.85 to 4.15
      line "variance": (1, 1) (2, 2) (4, 4)
    >>> plt.close(figure)
    """
    figure = _figure_of("describe", drawn)
    panels = _panels(figure)
    heading = f"figure, {len(panels)} panel" + "s" * (len(panels) != 1)
    if figure.get_suptitle():
        heading += f', "{figure.get_suptitle()}"'
    return "\n".join([heading, *(line for ax in panels for line in _description(ax))])


def _figure_of(where, drawn):
    if isinstance(drawn, Axes):
        return drawn.get_figure(root=True)
    if isinstance(drawn, Figure):
        return drawn
    raise TypeError(
        f"{where}: it must be given an Axes or a Figure, as plot_heatmap and plot_steps return. "
        f"Got {type(drawn).__name__}. Was a list of lines passed, as ax.plot returns?"
    )


def _panels(figure):
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>" and ax.get_visible()]


def _description(ax):
    title = f'"{ax.get_title()}"' if ax.get_title() else "untitled"
    if ax.images:
        return [f"{title}: {_heading_of_image(ax)}", *_image_lines(ax)]
    x, y = (
        f'{name} "{axis.get_label_text()}"{" (log)" * (axis.get_scale() == "log")} '
        f"from {_number(axis.get_view_interval()[0])} to {_number(axis.get_view_interval()[1])}"
        for name, axis in (("x", ax.xaxis), ("y", ax.yaxis))
    )
    return [f"{title}: {x}, {y}", *_named_places(ax), *(f"  {line}" for line in _series(ax))]


def _named_places(ax):
    """Return a line for each axis whose places have names, such as the categories of bars."""
    fixed = (FixedLocator, StrCategoryLocator)
    axes = [axis for axis in (ax.xaxis, ax.yaxis) if isinstance(axis.get_major_locator(), fixed)]
    return [
        f"  {axis.axis_name}: {' | '.join(label.get_text() for label in axis.get_ticklabels())}"
        for axis in axes
    ]


def _sentence(ax):
    title = f' "{ax.get_title()}"' if ax.get_title() else ""
    if ax.images:
        M = ax.images[0].get_array().filled(np.nan)
        size = f"Heatmap{title}, rows {ax.get_ylabel()}, columns {ax.get_xlabel()}, {M.shape[0]} by {M.shape[1]}"
        if _is_mask(ax):
            size, seen = size.replace("Heatmap", "Mask", 1), np.isfinite(M)
            if len(M) > MOST_POINTS:
                return f"{size}: {seen.sum()} of {M.size} cells may attend"
            counts = " ".join(map(str, seen.sum(axis=1)))
            return f"{size}: keys that each query may attend to, row by row: {counts}"
        if not np.isfinite(M).any():
            return f"{size}: no cell has a number"
        rows, columns = _tick_names(ax.yaxis, M.shape[0]), _tick_names(ax.xaxis, M.shape[1])
        ends = []
        for word, pick in (("highest", np.nanargmax), ("lowest", np.nanargmin)):
            i, j = np.unravel_index(pick(M), M.shape)
            ends.append(f"{word} {cell_text(M[i, j])} ({rows[i]}, {columns[j]})")
        ends += [f"{name} {len(at)} of {M.size}" for name, at in _missing_cells(ax).items()]
        return f"{size}: {', '.join(ends)}"
    axes = f"{ax.get_ylabel() or 'y'} against {ax.get_xlabel() or 'x'}"
    series = ", ".join(_series(ax, brief=True))
    return f"Plot{title} of {axes}" + (f": {series}" if series else "")


# Heatmaps


def _heading_of_image(ax):
    image = ax.images[0]
    n_rows, n_columns = image.get_array().shape
    return (
        f"heatmap, {n_rows} rows ({ax.get_ylabel()}) by {n_columns} columns ({ax.get_xlabel()}), "
        f"{image.cmap.name} from {_number(image.norm.vmin)} to {_number(image.norm.vmax)}"
        + (f" ({_quantity(ax)})" if _quantity(ax) else "")
    )


def _image_lines(ax):
    M = ax.images[0].get_array().filled(np.nan)
    rows, columns = _tick_names(ax.yaxis, M.shape[0]), _tick_names(ax.xaxis, M.shape[1])
    missing = _missing_cells(ax)
    words = {(i, j): f"{number:z.3f}" for (i, j), number in np.ndenumerate(M)}
    if _is_mask(ax):
        words = dict.fromkeys(words, "open")
    for name, places in missing.items():
        words |= dict.fromkeys(places, "hidden" if name.startswith("hidden") else "nan")
    # Turned-round axes leave the data as it is, so the direction is part of the description.
    turned = [
        word for word, axis in (("rows", ax.yaxis), ("columns", ax.xaxis)) if _is_turned(word, axis)
    ]
    lines = [f"  rows: {' | '.join(rows)}", f"  columns: {' | '.join(columns)}"]
    lines += [f"  {word} run backwards" for word in turned]
    lines += [
        f"  {name}: {' '.join(words[i, j] for j in range(M.shape[1]))}"
        for i, name in enumerate(rows)
    ]
    others = [text.get_text() for text in ax.texts if not _shows_its_number(text, M)]
    lines.append(f"  cells that show their number: {len(ax.texts) - len(others)} of {M.size}")
    lines += [f"  {name}: {len(places)} cells" for name, places in missing.items()]
    return [*lines, *(f"  text {words!r}" for words in others if words)]


def _missing_cells(ax):
    """Return the places (row, column) of each sort of hatched cells, by its name."""
    missing = {}
    for cells in ax.patches:
        if cells.get_gid():
            path = cells.get_path()
            corners = path.vertices[path.codes == Path.MOVETO]  # top left, half a cell away
            missing[cells.get_gid()] = [(round(y + 0.5), round(x + 0.5)) for x, y in corners]
    return missing


def _is_mask(ax):
    return ax.images[0].cmap.name == "mask"


def _is_turned(word, axis):
    low, high = axis.get_view_interval()
    return low < high if word == "rows" else low > high


def _shows_its_number(text, M):
    column, row = text.get_position()
    n_rows, n_columns = M.shape
    if row not in range(n_rows) or column not in range(n_columns):
        return False
    return text.get_text() == cell_text(M[int(row), int(column)])


def _tick_names(axis, count):
    """Return a name for each position: its tick label, or the position where it has none."""
    names = [str(position) for position in range(count)]
    axis.get_ticklabels()  # brings the ticks up to date
    # The ticks, because a panel that shares its rows with another hides the labels.
    for place, tick in zip(axis.get_ticklocs(), axis.get_major_ticks(), strict=True):
        if place in range(count):
            names[int(place)] = tick.label1.get_text()
    return names


def _quantity(ax):
    """Return what the colours mean: the colour bar's label, of this panel or of a shared bar."""
    for image in ax.images:
        if image.colorbar is not None:
            return image.colorbar.ax.get_ylabel()
        for other in ax.get_figure(root=True).axes:
            for twin in other.images:
                if twin.colorbar is not None and twin.cmap.name == image.cmap.name:
                    return twin.colorbar.ax.get_ylabel()
    return ""


# Other plots


def _series(ax, brief=False):
    """Return a line of text for each thing drawn; `brief` keeps those with a name, if there are any."""
    described = []
    errorbars = [
        container for container in ax.containers if isinstance(container, ErrorbarContainer)
    ]
    bars = [container for container in ax.containers if isinstance(container, BarContainer)]
    part_of_errorbar = {id(part) for container in errorbars for part in container.get_children()}
    named = {id(container.lines[0]): container.get_label() for container in errorbars}
    for line in ax.lines:
        label = named.get(id(line), line.get_label())
        if id(line) in part_of_errorbar and id(line) not in named:
            continue
        in_x, in_y = line.get_transform().contains_branch_seperately(ax.transData)
        if in_x and in_y:
            described.append(
                (label, _points("line", label, line.get_xdata(), line.get_ydata(), brief))
            )
        else:
            name, place = ("y", line.get_ydata()[0]) if in_y else ("x", line.get_xdata()[0])
            described.append((label, f"line{_quoted(label)} at {name} = {_number(place)}"))
    for container in errorbars:
        if not brief:
            segments = [segment for lines in container.lines[2] for segment in lines.get_segments()]
            lengths = [np.ptp(segment, axis=0).max() for segment in segments]
            described.append(
                (container.get_label(), f"  error bars of length {' '.join(map(_number, lengths))}")
            )
    for container in bars:
        lying = container.orientation == "horizontal"
        lengths = " ".join(
            _number(bar.get_width() if lying else bar.get_height()) for bar in container
        )
        described.append(
            (container.get_label(), f"bars{_quoted(container.get_label())}: {lengths}")
        )
    for collection in ax.collections:
        if isinstance(collection, PathCollection):
            x, y = np.asarray(collection.get_offsets()).T
            described.append(
                (collection.get_label(), _points("points", collection.get_label(), x, y, brief))
            )
        elif isinstance(collection, FillBetweenPolyCollection):
            for path in collection.get_paths():
                x, y = path.vertices.T
                described.append(
                    (collection.get_label(), _points("area", collection.get_label(), x, y, brief))
                )
    for patch in ax.patches:
        if isinstance(patch, Polygon):
            x, y = patch.get_xy().T
            described.append(
                (patch.get_label(), _points("polygon", patch.get_label(), x, y, brief))
            )
        elif isinstance(patch, FancyArrowPatch) and not brief:
            described.append(("", "arrow"))
    arrows = [
        text for text in ax.texts if isinstance(text, Annotation) and text.arrow_patch is not None
    ]
    for arrow in arrows:
        ends = _listed(*np.transpose([arrow.xyann, arrow.xy]))
        described.append(("", f"arrow {ends}"))
    if not brief:
        words = [text.get_text() for text in ax.texts if text.get_text()]
        described += [("", f"text {word!r}") for word in words]
        if ax.get_legend() is not None:
            entries = " | ".join(text.get_text() for text in ax.get_legend().get_texts())
            described.append(("", f"legend: {entries}"))
    named = [text for label, text in described if label and not label.startswith("_")]
    return named if brief and named else [text for _, text in described]


def _quoted(label):
    return "" if not label or label.startswith("_") else f' "{label}"'


def _points(what, label, x, y, brief):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    head = f"{what}{_quoted(label)}"
    if brief:
        if len(x) == 1:
            return f"{head.removeprefix('points ')} at {_listed(x, y)}"
        return f"{head.removeprefix('line ')} from {_listed(x[:1], y[:1])} to {_listed(x[-1:], y[-1:])}"
    if len(x) <= MOST_POINTS:
        return f"{head}: {_listed(x, y)}"
    some = np.linspace(0, len(x) - 1, MOST_POINTS).round().astype(int)
    extent = f"{len(x)} points, y from {_number(y.min())} to {_number(y.max())}"
    return f"{head}: {extent}, among them {_listed(x[some], y[some])}"


def _listed(x, y):
    # What is nothing beside the rest of its series may be rounding noise of either sign: call it 0.
    x, y = (np.where(np.abs(v) < 1e-9 * np.abs(v).max(initial=0), 0, v) for v in (x, y))
    return " ".join(f"({_number(a)}, {_number(b)})" for a, b in zip(x, y, strict=True))


def _number(value):
    return f"{float(value):z.4g}"
