"""Figures with a text alternative, made from what was really drawn.

`show(figure)` displays a figure where it is called: a notebook page gets the picture with a
one-sentence alternative for screen readers, and the plain-text form of the output is a full
description, which stays the same from one matplotlib version to the next and so can be compared
by a test.
"""

import base64
import html
import io
import sys

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from . import plots_in_words
from .heatmap import cell_text
from .plots_in_words import Thing, number

DOTS_PER_INCH = 144  # sharp on dense screens; the page shows it at 96
MOST_BYTES = 18_000  # of a description, with whatever is left out named
MOST_BYTES_OF_ALT = 1_500
MOST_COLOURS = 256  # of a picture; the colours of its areas are kept, those of its edges rounded


class Picture:
    """A drawn figure: an image with an alternative on a page, a description as text.

    `print(picture)` writes the description. As the value of a cell it appears by itself, except
    in the cell in which `show` has displayed it.
    """

    def __init__(self, alt, text, png, width, height=0):
        self.alt = alt
        self.text = text
        self.png = png
        self.width = width
        self.height = height
        self._displayed_in = None

    def __repr__(self):
        return f"<Picture, {self.width} px wide: {self.text.splitlines()[0]}>"

    def __str__(self):
        return self.text

    def _repr_html_(self):
        return (
            f'<img alt="{html.escape(self.alt)}" width="{self.width}" style="max-width: 100%" '
            f'src="data:image/png;base64,{self._base64()}">'
        )

    def _ipython_display_(self):
        # A cell that ends in show(...) has the picture already.
        if self._displayed_in != _cell():
            self._display()

    def _base64(self):
        return base64.b64encode(self.png).decode("ascii")

    def _display(self, **more_forms):
        """Display the picture where this is called; outside a notebook there is no such place."""
        self._displayed_in = _cell()
        if self._displayed_in is None:
            return
        from IPython.display import display

        # Pages take the HTML, the one form whose alternative they read out. LaTeX has no use for
        # HTML and takes the PNG, and so does whatever refuses images in HTML and asks for PNG first.
        forms = {
            "text/html": self._repr_html_(),
            "image/png": self._base64(),
            "text/plain": self.text,
            **more_forms,
        }
        display(forms, raw=True, metadata={"image/png": {"width": self.width}})


def show(drawn):
    """Display a figure where this is called, once, with a text alternative.

    As `plt.show` does, it displays in the middle of a cell, in a loop, in a function; the same
    call may be the last line of a cell. Outside IPython nothing is displayed.

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

    Notes
    -----
    Exported with nbconvert, the picture is in HTML, PDF, LaTeX and Markdown. `--sanitize-html`
    refuses every image in HTML, and with it the alternative; it shows the picture where it is asked
    for the other form first::

        jupyter nbconvert --to html --sanitize-html \
            --NbConvertBase.display_data_priority="['image/png', 'text/html', 'text/plain']" ...

    Examples
    --------
    >>> from attention_lib.heatmap import plot_heatmap
    >>> picture = show(plot_heatmap([[0.75, 0.25]], queries=["it"], keys=["cat", "mat"], title="A"))
    >>> print(picture)
    figure, 1 panel
    "A": heatmap, 1 rows (Query) by 2 columns (Key), magma_r from 0 to 1 (attention weight)
      rows: it
      columns: cat | mat
      it: 0.750 0.250
      cells that show their number: 2 of 2
    """
    picture = picture_of(_figure_of("show", drawn))
    picture._display()
    return picture


def picture_of(drawn):
    """Return what `show` displays, without displaying it; the figure is closed.

    Parameters
    ----------
    drawn : matplotlib Axes or Figure
        The figure.

    Returns
    -------
    Picture
        As `show` returns it.
    """
    figure = _figure_of("picture_of", drawn)
    buffer = io.BytesIO()
    # Written out, for the reader's settings may ask for a transparent page.
    background = figure.get_facecolor() if figure.get_facecolor()[3] == 1 else "white"
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, transparent=False, facecolor=background)
    plt.close(figure)
    width, height = (round(inches * 96) for inches in figure.get_size_inches())
    return Picture(alt_text(figure), describe(figure), _small(buffer), width, height)


def alt_text(drawn):
    """Say in one sentence what a figure shows, with the numbers that matter.

    Parameters
    ----------
    drawn : matplotlib Axes or Figure
        The figure to put into words.

    Returns
    -------
    str
        A clause per panel: for a heatmap its size and its strongest and weakest cell, for other
        plots each series with where it rises and falls and what it crosses, arrows, regions, and
        points by their names.

    Examples
    --------
    >>> from attention_lib.heatmap import plot_heatmap
    >>> alt_text(plot_heatmap([[0.75, 0.25]], queries=["it"], keys=["cat", "mat"]))
    'Heatmap, rows Query, columns Key, 1 by 2: highest 0.75 (it, cat), lowest 0.25 (it, mat).'
    """
    clauses = [_sentence(ax) for ax in _panels(_figure_of("alt_text", drawn))]
    fitting = _fitting(clauses, MOST_BYTES_OF_ALT)
    rest = len(clauses) - len(fitting)
    return "; ".join([*fitting, *([f"and {rest} more panels"] if rest else [])]) + "."


def describe(drawn):
    """Write out what a figure shows: titles, axes, colours, and the data to three decimals.

    Of large matrices and long series a part is listed, and what is left out is named, so
    that a description stays within `MOST_BYTES`.

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
    untitled: x axis without a name from 0.85 to 4.15, y axis without a name from 0.85 to 4.15
      line "variance": (1, 1) (2, 2) (4, 4)
    >>> plt.close(figure)
    """
    figure = _figure_of("describe", drawn)
    panels = _panels(figure)
    heading = f"figure, {len(panels)} panel" + "s" * (len(panels) != 1)
    if figure.get_suptitle():
        heading += f', "{_one_line(figure.get_suptitle())}"'
    lines = [heading, *plots_in_words.things_of_figure(figure)]
    for part in _subfigures(figure):
        title = f' "{_one_line(part.get_suptitle())}"' if part.get_suptitle() else ""
        words = plots_in_words.things_of_figure(part)
        if title or words:
            count = len([ax for ax in panels if ax in part.axes])
            lines += [f"part{title} with {count} panel" + "s" * (count != 1), *words]
    allowance = MOST_BYTES // max(1, len(panels)) - 300
    lines += [line for ax in panels for line in _description(ax, allowance)]
    fitting = _fitting(lines, MOST_BYTES)
    if len(fitting) < len(lines):
        fitting.append(f"left out: {len(lines) - len(fitting)} more lines")
    return "\n".join(fitting)


def _figure_of(where, drawn):
    if isinstance(drawn, Axes):
        return drawn.get_figure(root=True)
    if isinstance(drawn, Figure):
        return drawn
    raise TypeError(
        f"{where}: it must be given an Axes or a Figure, as plot_heatmap and plot_steps return. "
        f"Got {type(drawn).__name__}. Was a list of lines passed, as ax.plot returns?"
    )


def _cell():
    """Return what tells one execution of a cell from another, or None outside IPython."""
    ipython = sys.modules.get("IPython")  # not imported here: the package does without it
    shell = ipython.get_ipython() if ipython else None
    return None if shell is None else (id(shell), shell.execution_count)


def _small(png):
    """Return a PNG in `MOST_COLOURS`, a third as large: those of areas kept, those of edges rounded.

    A notebook holds each picture twice, and a repository each version of a notebook.
    """
    picture = Image.open(png)
    pixels = np.asarray(picture.convert("RGB")).astype(np.uint32)
    packed = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    colours, index, counts = np.unique(packed, return_inverse=True, return_counts=True)
    palette = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=-1).astype(np.uint8)
    if len(colours) > MOST_COLOURS:
        kept = np.argsort(-counts, kind="stable")[: MOST_COLOURS // 2]
        others = np.delete(palette, kept, axis=0)[np.newaxis]
        rounded = Image.fromarray(others).quantize(
            MOST_COLOURS - len(kept), method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        rounded = np.array(rounded.getpalette(), dtype=np.uint8).reshape(-1, 3)
        few = np.concatenate([palette[kept], rounded])[:MOST_COLOURS]
        nearest = _nearest(palette.astype(np.int32), few.astype(np.int32))
        palette, index = few, nearest[index]
    small = Image.fromarray(index.reshape(packed.shape).astype(np.uint8))
    small.putpalette(palette.tobytes())
    written, notes = io.BytesIO(), PngInfo()
    notes.add_text("Software", picture.info.get("Software", ""))  # which matplotlib drew it
    small.save(written, "png", optimize=True, pnginfo=notes, dpi=(DOTS_PER_INCH, DOTS_PER_INCH))
    return written.getvalue()


def _nearest(colours, few):
    """Return for each colour the position of the nearest one of a few."""
    parts = np.array_split(colours, max(1, len(colours) // 2000))
    return np.concatenate(
        [((part[:, np.newaxis] - few) ** 2).sum(axis=-1).argmin(axis=-1) for part in parts]
    )


def _panels(figure):
    """Return the panels of a figure in order, those inside another one after it, no colour bars."""
    panels = [part for ax in figure.axes for part in _with_insets(ax)]
    bars = {
        id(drawn.colorbar.ax)
        for ax in panels
        for drawn in (*ax.images, *ax.collections)
        if drawn.colorbar is not None
    }
    seen = dict.fromkeys(panels)  # an inset is listed once
    return [
        ax
        for ax in seen
        if id(ax) not in bars and ax.get_label() != "<colorbar>" and ax.get_visible()
    ]


def _subfigures(figure):
    return [part for inner in figure.subfigs for part in (inner, *_subfigures(inner))]


def _shown(ax):
    """Return the image that makes a panel a heatmap: the first that is visible, or None."""
    return next((image for image in ax.images if image.get_visible()), None)


def _with_insets(ax):
    insets = [child for child in ax.child_axes if isinstance(child, Axes)]
    return [ax, *(part for inset in insets for part in _with_insets(inset))]


def _fitting(parts, most):
    """Return as many of the first parts as have so many bytes together; at least a piece of one."""
    fitting, total = [], 0
    for part in parts:
        total += len(part.encode("utf-8", "replace")) + 2
        if total > most:
            break
        fitting.append(part)
    return fitting or [part[: most // 4] + "…" for part in parts[:1]]


def _one_line(text):
    return " ".join(text.split("\n"))


def _title(ax):
    return _one_line(ax.get_title() or ax.get_title("left") or ax.get_title("right"))


def _description(ax, allowance):
    title = f'"{_title(ax)}"' if _title(ax) else "untitled"
    things = plots_in_words.things(ax, skip=_parts_of_heatmap(ax))
    if _shown(ax) is not None:
        heading, lines = _heading_of_image(ax), _image_lines(ax, allowance)
    else:
        heading, lines = _axes_of_plot(ax), _named_places(ax)
    return [f"{title}: {heading}", *lines, *(f"  {thing.text}" for thing in things)]


def _axes_of_plot(ax):
    parts = []
    for name, axis in (("x axis", ax.xaxis), ("y axis", ax.yaxis)):
        label = plots_in_words.name_of(ax, name[0])
        low, high = axis.get_view_interval()
        name = plots_in_words.kind_of_axis(axis) or name
        scale = axis.get_scale()
        parts.append(
            (f'{name} "{label}"' if label else f"{name} without a name")
            + (f" ({scale})" if scale != "linear" else "")
            + f" from {plots_in_words.place_on(axis, low)} to {plots_in_words.place_on(axis, high)}"
            + plots_in_words.unit_of_axis(axis)
        )
    return ", ".join([*parts, *plots_in_words.second_axes(ax)])


def _named_places(ax):
    """Return a line for each axis whose places have names, such as the categories of bars."""
    return [
        f"  {axis.axis_name}: {' | '.join(plots_in_words.names_of_places(axis))}"
        for axis in (ax.xaxis, ax.yaxis)
        if plots_in_words.has_named_places(axis)
    ]


def _sentence(ax):
    title = f' "{_title(ax)}"' if _title(ax) else ""
    if _shown(ax) is not None:
        return _sentence_of_image(ax, title)
    things = plots_in_words.things(ax)
    across, up = plots_in_words.name_of(ax, "x"), plots_in_words.name_of(ax, "y")
    axes = (f" of {up}" if up else "") + (
        f" {'against' if up else 'over'} {across}" if across else ""
    )
    said = _clauses(things + plots_in_words.crossings(ax))
    return f"Plot{title}{axes}{said or ', empty'}"


def _clauses(things: list[Thing]):
    """Return what is said of things in one sentence: of those with a name, if there are any."""
    named = [thing.brief for thing in things if thing.brief and thing.named]
    clauses = named or [thing.brief for thing in things if thing.brief]
    fitting = _fitting(clauses, MOST_BYTES_OF_ALT // 2)
    rest = len(clauses) - len(fitting)
    if not clauses:
        return ""
    return ": " + ", ".join([*fitting, *([f"and {rest} more things"] if rest else [])])


# Heatmaps


def _sentence_of_image(ax, title):
    things = [
        thing for thing in plots_in_words.things(ax, skip=_parts_of_heatmap(ax)) if thing.named
    ]
    M = _numbers(ax)
    if M is None:
        height, width = _shown(ax).get_array().shape[:2]
        return f"Picture{title} in colours of its own, {height} by {width} pixels" + _clauses(
            things
        )
    names = [
        f", {word} {_one_line(label)}"
        for word, label in (("rows", ax.get_ylabel()), ("columns", ax.get_xlabel()))
        if label
    ]
    size = f"Heatmap{title}{''.join(names)}, {M.shape[0]} by {M.shape[1]}"
    if _is_mask(ax):
        return f"{size.replace('Heatmap', 'Mask', 1)}: {_openings(np.isfinite(M))}"
    if not np.isfinite(M).any():
        return f"{size}: no cell has a number"
    rows, columns = _names_of_cells(ax, M.shape)
    ends = []
    if np.nanmax(M) == np.nanmin(M) and M.size > 1:
        ends.append(
            f"{cell_text(np.nanmax(M))} in every cell" + " with a number" * bool(np.isnan(M).any())
        )
    else:
        for word, pick in (("highest", np.nanargmax), ("lowest", np.nanargmin)):
            i, j = np.unravel_index(pick(M), M.shape)
            ends.append(f"{word} {cell_text(M[i, j])} ({rows[i]}, {columns[j]})")
    ends += [f"{name} {len(at)} of {M.size}" for name, at in _missing_cells(ax).items()]
    return f"{size}: {', '.join(ends)}" + _clauses(things).replace(": ", ", ", 1)


def _openings(seen):
    """Say which cells of a mask may attend: a known shape by its name, a small one row by row."""
    if not seen.any() or seen.all():
        return "every cell may attend" if seen.any() else "no cell may attend"
    if len(seen) > 1 and (seen == np.tri(*seen.shape, dtype=bool)).all():
        return "each query may attend to the key of its own position and to those before it"
    if len(seen) > 1 and (seen == seen[0]).all() and len(seen[0]) <= plots_in_words.MOST_POINTS:
        keys = " ".join(map(str, np.flatnonzero(seen[0])))
        return f"every query may attend to the keys in columns {keys} alone"
    if len(seen) > plots_in_words.MOST_POINTS:
        return f"{seen.sum()} of {seen.size} cells may attend"
    counts = " ".join(map(str, seen.sum(axis=1)))
    return f"keys that each query may attend to, row by row: {counts}"


def _numbers(ax):
    """Return the numbers of the first image, nan where there is none; None for a colour picture."""
    array = _shown(ax).get_array()
    if array is None or np.ndim(array) != 2:
        return None
    return np.ma.filled(np.ma.asarray(array).astype(float), np.nan)


def _heading_of_image(ax):
    image = _shown(ax)
    if _numbers(ax) is None:
        array = np.asarray(image.get_array(), dtype=float)
        height, width = array.shape[:2]
        mean = " ".join(f"{part:z.3f}" for part in array.reshape(-1, array.shape[-1]).mean(axis=0))
        return f"picture in colours of its own, {height} by {width} pixels, mean colour {mean}"
    n_rows, n_columns = image.get_array().shape
    return (
        f"heatmap, {n_rows} rows{_in_brackets(ax.get_ylabel())} by "
        f"{n_columns} columns{_in_brackets(ax.get_xlabel())}, "
        f"{image.cmap.name} from {number(image.norm.vmin)} to {number(image.norm.vmax)}"
        + _in_brackets(_quantity(ax))
    )


def _in_brackets(words):
    return f" ({_one_line(words)})" if words else ""


def _image_lines(ax, allowance):
    M = _numbers(ax)
    if M is None:
        return []
    rows, columns = _names_of_cells(ax, M.shape)
    missing = _missing_cells(ax)
    kept_rows, kept_columns = _kept(M, rows, columns, allowance)
    words = {(i, j): _three_decimals(M[i, j]) for i in kept_rows for j in kept_columns}
    if _is_mask(ax):
        words = dict.fromkeys(words, "open")
    for name, places in missing.items():
        word = "hidden" if name.startswith("hidden") else "nan"
        words |= {place: word for place in places if place in words}
    # Turned-round axes leave the data as it is, so the direction is part of the description.
    turned = [
        word for word, axis in (("rows", ax.yaxis), ("columns", ax.xaxis)) if _is_turned(ax, axis)
    ]
    lines = [
        f"  rows: {' | '.join(rows[i] for i in kept_rows)}",
        f"  columns: {' | '.join(columns[j] for j in kept_columns)}",
    ]
    lines += [f"  {word} run backwards" for word in turned]
    lines += [f"  {rows[i]}: {' '.join(words[i, j] for j in kept_columns)}" for i in kept_rows]
    if len(words) < M.size:
        lines += _left_out(M, kept_rows, kept_columns)
    shown = sum(_shows_its_number(text, M) for text in ax.texts)
    lines.append(f"  cells that show their number: {shown} of {M.size}")
    return [*lines, *(f"  {name}: {len(places)} cells" for name, places in missing.items())]


def _kept(M, rows, columns, allowance):
    """Return the rows and columns that are listed: all, or as many from both ends as there is room."""
    n_rows, n_columns = M.shape
    names = [len(name.encode("utf-8", "replace")) for name in (*rows, *columns)]
    name, cell = np.mean(names) + 3, 1 + np.mean([len(_three_decimals(x)) for x in _some(M)])

    def size():
        return n_rows * (2 * name + 4) + n_columns * name + n_rows * n_columns * cell

    while size() > allowance and max(n_rows, n_columns) > 2:
        if n_rows >= n_columns:
            n_rows = max(2, int(0.95 * n_rows))
        else:
            n_columns = max(2, int(0.95 * n_columns))
    return _ends(M.shape[0], n_rows), _ends(M.shape[1], n_columns)


def _some(M):
    return M.ravel()[:: max(1, M.size // 500)]


def _ends(count, kept):
    first = (kept + 1) // 2
    return [*range(first), *range(count - (kept - first), count)]


def _left_out(M, kept_rows, kept_columns):
    n_rows, n_columns = M.shape
    left = n_rows - len(kept_rows), n_columns - len(kept_columns)
    numbers = M[np.isfinite(M)]
    summary = (
        f"; all {numbers.size} numbers: mean {number(numbers.mean())}, from "
        f"{number(numbers.min())} to {number(numbers.max())}"
        if numbers.size
        else ""
    )
    return [
        f"  left out: {left[0]} of {n_rows} rows and {left[1]} of {n_columns} columns, "
        f"from the middle{summary}"
    ]


def _three_decimals(value):
    text = f"{value:z.3f}"
    return text if len(text) <= 12 else f"{value:.3e}"


def _parts_of_heatmap(ax):
    """Return what `plot_heatmap` draws beside the image, and the lines about the image speak of."""
    if _shown(ax) is None:
        return []
    M = _numbers(ax)
    numbers = [text for text in ax.texts if M is not None and _shows_its_number(text, M)]
    hatched = _hatched(ax)
    borders = [lines for lines in ax.collections if lines.get_gid() == "borders"]
    legend = [ax.get_legend()] if hatched and ax.get_legend() is not None else []
    return [_shown(ax), *numbers, *hatched, *borders, *legend]


def _missing_cells(ax):
    """Return the places (row, column) of each sort of hatched cells, by its name."""
    missing = {}
    for cells in _hatched(ax):
        path = cells.get_path()
        corners = path.vertices[path.codes == path.MOVETO]  # top left, half a cell away
        missing[cells.get_gid()] = [(round(y + 0.5), round(x + 0.5)) for x, y in corners]
    return missing


def _hatched(ax):
    return [patch for patch in ax.patches if isinstance(patch, PathPatch) and patch.get_gid()]


def _is_mask(ax):
    return _shown(ax).cmap.name == "mask"


def _places_of_cells(ax, axis, count):
    """Return where the rows or columns of a heatmap have their middle, in data coordinates."""
    image = _shown(ax)
    left, right, bottom, top = image.get_extent()
    if axis is ax.xaxis:
        first, last = left, right
    else:  # the first row is at the top, or at the bottom, whichever way the axis runs
        first, last = (top, bottom) if image.origin == "upper" else (bottom, top)
    return first + (last - first) * (np.arange(count) + 0.5) / count


def _is_turned(ax, axis):
    """Say whether the first row is drawn below the last one, or the first column at the right."""
    first, last = _places_of_cells(ax, axis, 2)
    low, high = axis.get_view_interval()
    rises = (last - first) * (high - low) > 0
    return rises if axis is ax.yaxis else not rises


def _shows_its_number(text, M):
    column, row = text.get_position()
    n_rows, n_columns = M.shape
    if row not in range(n_rows) or column not in range(n_columns):
        return False
    return text.get_text() == cell_text(M[int(row), int(column)])


def _names_of_cells(ax, shape):
    return tuple(
        _tick_names(axis, _places_of_cells(ax, axis, count))
        for axis, count in zip((ax.yaxis, ax.xaxis), shape, strict=True)
    )


def _tick_names(axis, places):
    """Return a name for each row or column: its tick label, or its place where it has none."""
    apart = abs(places[1] - places[0]) if len(places) > 1 else 1
    whole = (places == places.round()).all()
    names = [str(round(place)) if whole else number(place) for place in places]
    axis.get_ticklabels()  # brings the ticks up to date
    # The ticks, because a panel that shares its rows with another hides the labels.
    for place, tick in zip(axis.get_ticklocs(), axis.get_major_ticks(), strict=True):
        nearest = int(np.abs(places - place).argmin())
        if abs(places[nearest] - place) < 1e-6 * apart and tick.label1.get_text():
            names[nearest] = tick.label1.get_text()
    return names


def _quantity(ax):
    """Return what the colours mean: the colour bar's label, of this panel or of a shared bar."""
    for image in ax.images:
        if image.colorbar is not None:
            return _words_of_bar(image.colorbar)
        for other in ax.get_figure(root=True).axes:
            for twin in other.images:
                if twin.colorbar is not None and twin.cmap.name == image.cmap.name:
                    return _words_of_bar(twin.colorbar)
    return ""


def _words_of_bar(bar):
    label = bar.ax.get_ylabel() or bar.ax.get_xlabel()
    return " ".join(label.replace("\n", ": ", 1).split())
