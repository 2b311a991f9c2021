"""What a careful reader would find wrong with a drawn figure, one sentence each.

`attention_lib.figures.describe` says what was drawn; this says whether it can be seen, told apart and
trusted. It measures the figure itself, so that a colour, a limit or a legend is judged as it comes
out on the page, whichever call made it.
"""

import itertools
import re
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.container import BarContainer, ErrorbarContainer, StemContainer
from matplotlib.image import AxesImage
from matplotlib.lines import AxLine, Line2D
from matplotlib.patches import FancyArrow, FancyArrowPatch, Patch, Rectangle
from matplotlib.spines import Spine
from matplotlib.text import Annotation, Text

from attention_lib.figures import _panels, _quantity
from attention_lib.heatmap import _luminance
from attention_lib.plots_in_words import name_of
from attention_lib.query_picture import PALE

# Contrasts, as the Web Content Accessibility Guidelines 2.2 measure them: 1 : 1 is none, 21 : 1 black on white.
VISIBLE = 3.0  # of a line, a marker, a bar, a named area: guideline 1.4.11
READABLE = 4.5  # of text: guideline 1.4.3
BACKDROP = 1.2  # of an area without a name, or of a panel that the library has drawn pale
APART = 2.0  # of two series that differ in colour alone: what is left of it in grey
WIDER = 1.5  # times as wide a line looks like another line
NOTHING = {"None", "none", " ", "", None}
SLACK = 0.5  # pixels


class Series(NamedTuple):
    """What belongs together in a panel: a line, some points, bars, an area, an arrow."""

    name: str  # "" without one
    kind: str
    colours: (
        list  # of each of its parts, those in which it can be seen: at least one must stand out
    )
    points: np.ndarray  # in pixels, nan in a direction that runs over the whole panel
    marker: str = ""
    style: str = ""
    width: float = 0.0
    whiskers: np.ndarray = np.empty((0, 2))  # the ends of its error bars, in pixels
    whisker_colours: tuple = ()

    def __str__(self):
        return (
            f'the {self.kind} "{self.name}"'
            if self.name
            else f"{self._article()} {self.kind} without a name"
        )

    def _article(self):
        return "an" if self.kind[0] in "aeiou" else "a"


def complaints(figure):
    """Return a sentence for each thing that is wrong with a figure, its panel's title in front.

    The figure is laid out, not rendered. Sound figures give an empty list.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> line = ax.plot([1, 2], [1, 2], color="0.6")
    >>> texts = ax.set(xlabel="d_k", ylabel="variance", title="Wider")
    >>> for sentence in complaints(figure):
    ...     print(sentence)
    "Wider": a line without a name is hard to see: #999999 on #ffffff has a contrast of 2.8 : 1, the least is 3 : 1.
    >>> plt.close(figure)
    """
    figure.draw_without_rendering()  # the ticks, and the places of all texts, are made now
    panels = _panels(figure)
    found = _complaints_of_panels(panels)
    every = {ax: _series(ax) for ax in panels if ax.name == "rectilinear"}
    for n, ax in enumerate(panels, start=1):
        if ax not in every:
            said = [
                f"axes of the kind {ax.name!r} are not known here, and nothing of them is checked."
            ]
        else:
            rules = (_visible, _inside, _told_apart, _scales, _colours, _axis_titles, _covered)
            said = [sentence for rule in rules for sentence in rule(ax, every[ax])]
            said += _legend_complaints(ax, every)
        name = _title(ax) or f"panel {n}, which has no title"
        found += [f"{name}: {sentence}" for sentence in dict.fromkeys(said)]
    return found + [f"the figure: {sentence}" for sentence in _text_complaints(figure)]


def complaints_beside(figure, text):
    """Return what does not agree between the error bars of a figure and the text beside it.

    `text` is that of the cells round the figure; the legend of the figure is added to it.
    """
    panels = _panels(figure)
    drawn = [ax for ax in panels if any(isinstance(c, ErrorbarContainer) for c in ax.containers)]
    words = " ".join(
        [text, *(label for ax in panels for label in ax.get_legend_handles_labels()[1])]
    )
    named = re.search(r"(?i)\berror bars?\b|\bwhiskers?\b", text)
    if named and not drawn:
        return [f'the figure: the text beside it speaks of "{named[0]}", but none is drawn.']
    if drawn and not re.search(r"(?i)\bbars?\b|\bwhiskers?\b|±", words):
        name = _title(drawn[0]) or "a panel without a title"
        return [f"{name}: there are error bars, but no text beside them says what they show."]
    return []


# What a panel consists of


def _series(ax):
    """Return all that is drawn in a panel of lines, points, bars, areas and arrows."""
    found, seen = [], {id(ax.patch)}
    for container in ax.containers:
        seen |= {id(part) for part in container.get_children()}
        if isinstance(container, ErrorbarContainer):
            found += _with_error_bars(ax, container)
        elif isinstance(container, BarContainer):
            found += _bars(ax, container)
        elif isinstance(container, StemContainer):
            found += _of_line(ax, container.markerline, container.get_label())
    for artist in ax.get_children():
        if id(artist) in seen or not artist.get_visible():
            continue
        if isinstance(artist, AxLine):
            found += _of_endless_line(artist)
        elif isinstance(artist, Line2D):
            found += _of_line(ax, artist, artist.get_label())
        elif isinstance(artist, Annotation) and artist.arrow_patch is not None:
            found += _arrow(ax, artist)
        elif isinstance(artist, Patch) and not isinstance(artist, Spine) and not artist.get_gid():
            found += _area(ax, artist)
        elif isinstance(artist, Collection) and not artist.get_gid():
            found += _of_collection(ax, artist)
    return found


def _name(label):
    return "" if str(label).startswith("_") or label is None else str(label)


def _in_pixels(ax, x, y, transform=None):
    x, y = (np.ma.filled(np.ma.asarray(v, dtype=float), np.nan).ravel() for v in (x, y))
    with np.errstate(all="ignore"):
        return (transform or ax.transData).transform(np.stack([x, y], axis=-1))


def _of_line(ax, line, label):
    x, y = line.get_xdata(orig=False), line.get_ydata(orig=False)
    kept = np.isfinite(np.ma.filled(np.ma.asarray(x, float) + np.ma.asarray(y, float), np.nan))
    if not line.get_visible() or not kept.any():
        return []
    points = _in_pixels(ax, np.asarray(x)[kept], np.asarray(y)[kept], line.get_transform())
    for way, measured in enumerate(line.get_transform().contains_branch_seperately(ax.transData)):
        points[:, way] = points[:, way] if measured else np.nan
    drawn = line.get_linestyle() not in NOTHING and line.get_linewidth() > 0
    marked = line.get_marker() not in NOTHING and line.get_markersize() > 0
    alpha = line.get_alpha()
    colours = [_rgba(line.get_color(), alpha)] if drawn else []
    if marked:
        colours += [_rgba(line.get_markerfacecolor(), alpha)]
        if line.get_markeredgewidth() > 0:
            colours += [_rgba(line.get_markeredgecolor(), alpha)]
    return [
        Series(
            _name(label),
            "line" if drawn or not marked else "row of points",
            [colours],
            points,
            str(line.get_marker()) if marked else "",
            str(line.get_linestyle()) if drawn else "",
            line.get_linewidth() if drawn else 0.0,
        )
    ]


def _of_endless_line(line):
    colours, looks = (
        [_rgba(line.get_color(), line.get_alpha())],
        (str(line.get_linestyle()), line.get_linewidth()),
    )
    return [Series(_name(line.get_label()), "line", [colours], np.empty((0, 2)), "", *looks)]


def _with_error_bars(ax, container):
    line, _, bars = container.lines
    ends = [end for lines in bars for part in lines.get_segments() for end in part]
    colours = tuple(_rgba(c) for lines in bars for c in lines.get_edgecolor())
    ends = np.reshape(np.array(ends, dtype=float), (-1, 2))
    whiskers = _in_pixels(ax, *ends[np.isfinite(ends).all(axis=1)].T)
    of_line = [] if line is None else _of_line(ax, line, container.get_label())
    if not of_line:
        empty = Series(_name(container.get_label()), "row of error bars", [], np.empty((0, 2)))
        of_line = [empty._replace(colours=[[colour] for colour in colours])]
    return [series._replace(whiskers=whiskers, whisker_colours=colours) for series in of_line]


def _bars(ax, container):
    bars = [bar for bar in container if bar.get_visible() and bar.get_width() * bar.get_height()]
    if not bars:
        return []
    corners = [
        np.array([bar.get_xy(), np.add(bar.get_xy(), (bar.get_width(), bar.get_height()))])
        for bar in bars
    ]
    corners = np.concatenate(corners)
    # On a log axis a bar starts at 0, which has no place.
    lying = container.orientation == "horizontal"
    axis, base = (ax.xaxis, 0) if lying else (ax.yaxis, 1)
    if axis.get_scale() != "linear":
        corners = corners[corners[:, base] > 0]
    colours = [_colours_of_patch(bar) for bar in bars]
    points = _in_pixels(ax, *corners.T)
    return [
        Series(
            _name(container.get_label()),
            "row of bars",
            colours,
            points,
            str(bars[0].get_hatch() or ""),
        )
    ]


def _colours_of_patch(patch):
    face, edge = patch.get_facecolor(), patch.get_edgecolor()  # their alpha is that of the patch
    drawn = patch.get_linewidth() > 0 or patch.get_hatch()
    return [*([face] if patch.get_fill() else []), *([edge] if drawn else [])]


def _area(ax, patch):
    if isinstance(patch, (FancyArrowPatch, FancyArrow)):
        kind, path = "arrow", patch.get_path()
    else:
        kind, path = "area", patch.get_path()
    transform = patch.get_transform()
    points = transform.transform(path.to_polygons()[0]) if len(path.vertices) else np.empty((0, 2))
    if kind == "area" or isinstance(patch, FancyArrow):
        ways = transform.contains_branch_seperately(ax.transData)
        if isinstance(patch, Rectangle) and not any(ways):
            return []  # it belongs to the frame
        points = np.where(ways, points, np.nan)
    return [
        Series(
            _name(patch.get_label()),
            kind,
            [_colours_of_patch(patch)],
            points,
            str(patch.get_hatch() or ""),
        )
    ]


def _arrow(ax, text):
    ends = [
        place
        for place, measured in ((text.xyann, text.anncoords), (text.xy, text.xycoords))
        if measured == "data"
    ]
    points = _in_pixels(ax, *np.reshape(np.array(ends, dtype=float), (-1, 2)).T)
    return [Series(text.get_text(), "arrow", [_colours_of_patch(text.arrow_patch)], points)]


def _of_collection(ax, drawn):
    name, alpha = _name(drawn.get_label()), drawn.get_alpha()
    # A colour map is judged on its own, and so is what has hundreds of parts of it.
    mapped = drawn.get_array() is not None
    edges = (
        [_rgba(c) for c in drawn.get_edgecolor()]
        if np.max(drawn.get_linewidth(), initial=0) > 0
        else []
    )
    faces = [_rgba(c) for c in drawn.get_facecolor()]
    if isinstance(drawn, PathCollection):
        points = np.ma.filled(np.ma.asarray(drawn.get_offsets(), dtype=float), np.nan)
        points = points[np.isfinite(points).all(axis=1)]
        marks = len(points) and drawn.get_sizes().max(initial=0) > 0 and alpha != 0
        colours = [
            list(pair) for pair in itertools.zip_longest(faces, edges, fillvalue=(0, 0, 0, 0))
        ]
        shape = f"marker of {len(drawn.get_paths()[0].vertices)} corners"
        shown = _in_pixels(ax, *points.T, drawn.get_offset_transform())
        return (
            [Series(name, "row of points", [] if mapped else colours, shown, shape)]
            if marks
            else []
        )
    if isinstance(drawn, LineCollection):
        ends = [end for part in drawn.get_segments() for end in part]
        shown = _in_pixels(ax, *np.reshape(np.array(ends, dtype=float), (-1, 2)).T)
        width = float(np.max(drawn.get_linewidth(), initial=0))
        style = str(drawn.get_linestyle()[0][1])
        return [
            Series(
                name,
                "set of lines",
                [] if mapped else [[c] for c in edges],
                shown,
                "",
                style,
                width,
            )
        ]
    vertices = [path.vertices for path in drawn.get_paths() if len(path.vertices)]
    if mapped or not vertices or drawn.get_transform() != ax.transData:
        return []
    shown = _in_pixels(ax, *np.concatenate(vertices).T)
    return [Series(name, "area", [[*faces[:1], *edges[:1]]], shown, str(drawn.get_hatch() or ""))]


# Visible against the page


def _visible(ax, series):
    page = _page(ax)
    for one in series:
        least = VISIBLE
        if _is_pale(ax) or (one.kind == "area" and not one.name):
            least = BACKDROP
        best = [max(((_contrast(c, page), c) for c in part), default=None) for part in one.colours]
        if None in best:
            yield f"{one} cannot be seen: it has neither a line nor a marker."
        elif best and min(best)[0] < least:
            ratio, colour = min(best)
            yield _hard_to_see(str(one), ratio, colour, page, least)
        if one.whisker_colours:
            ratio, colour = min((_contrast(c, page), c) for c in one.whisker_colours)
            if ratio < least:
                yield _hard_to_see(f"the error bars of {one}", ratio, colour, page, least, "are")
    yield from _readable(ax, page)


def _hard_to_see(what, ratio, colour, page, least, verb="is"):
    shown = to_hex(_over(colour, page))
    faded = f" (its alpha is {colour[3]:.2g})" if colour[3] < 1 else ""
    return (
        f"{what} {verb} hard to see: {shown}{faded} on {to_hex(page)} has a contrast of {_ratio(ratio)}, "
        f"the least is {least:g} : 1."
    )


def _readable(ax, page):
    around = _over(ax.get_figure(root=True).get_facecolor(), (1, 1, 1, 1))
    outside = [ax.title, ax.xaxis.label, ax.yaxis.label, *_tick_labels(ax)]
    for text in [*ax.texts, *outside]:
        if not text.get_visible() or not text.get_text().strip():
            continue
        behind = around if text in outside else _behind(ax, text, page)
        ratio = _contrast(_rgba(text.get_color(), text.get_alpha()), behind)
        if ratio < READABLE:
            yield (
                f"the text {_short(text)} is hard to read: {to_hex(text.get_color())} on {to_hex(behind)} "
                f"has a contrast of {_ratio(ratio)}, the least is {READABLE:g} : 1."
            )


def _behind(ax, text, page):
    """Return the colour behind a text: that of its cell in a heatmap, or of the page."""
    x, y = text.get_position()
    for image in ax.images:
        M = image.get_array()
        if np.ndim(M) == 2 and text.get_transform() == ax.transData:
            row, column = round(float(y)), round(float(x))
            if 0 <= row < M.shape[0] and 0 <= column < M.shape[1]:
                # As a part of the array, which stays masked where the cell has no number.
                (colour,) = image.cmap(image.norm(M[row, column : column + 1]))
                return _over(_rgba(colour, image.get_alpha()), page)
    return page


def _is_pale(ax):
    """Say whether the library has drawn this panel pale, so that another one of its figure is looked at."""
    return ax.get_gid() == PALE


# Inside the limits


def _inside(ax, series):
    box = ax.bbox
    for one in series:
        for what, points in ((str(one), one.points), (f"the error bars of {one}", one.whiskers)):
            lost = _beyond(points, box)
            if lost:
                noun = "ends" if "error bars" in what else "corners" if "bars" in what else "points"
                yield (
                    f"{what} {'leave' if 'error bars' in what else 'leaves'} the panel: "
                    f"{lost} of {len(points)} {noun} lie outside the limits of the axes."
                )
    for image in ax.images:
        left, right, bottom, top = image.get_extent()
        corners = _in_pixels(ax, [left, right], [bottom, top])
        if _beyond(corners, box):
            yield "some cells of the heatmap are cut off: the limits of the axes end before they do."
        yield from _beyond_colours(ax, image)


def _beyond(points, box):
    """Return how many points are outside a box; one without a place (0 on a log axis) is."""
    if not len(points):
        return 0
    whole = np.isnan(points).all(axis=0)  # it runs over the whole panel in this direction
    with np.errstate(invalid="ignore"):
        inside = (points >= box.min - SLACK) & (points <= box.max + SLACK)
    return int((~(inside | whole).all(axis=1)).sum())


def _beyond_colours(ax, image):
    M = np.ma.asarray(image.get_array())
    if M.ndim != 2 or not M.count():
        return
    slack = 1e-9 * max(1e-300, image.norm.vmax - image.norm.vmin)
    low, high = M.min() < image.norm.vmin - slack, M.max() > image.norm.vmax + slack
    extend = image.colorbar.extend if image.colorbar is not None else "neither"
    shown = len(ax.texts) >= M.count()
    if not shown and (
        (low and extend not in ("min", "both")) or (high and extend not in ("max", "both"))
    ):
        yield (
            f"numbers from {M.min():.3g} to {M.max():.3g} are drawn in colours that end at {image.norm.vmin:.3g} and "
            f"{image.norm.vmax:.3g}, and no pointed end of a colour bar says so."
        )


# Told apart by more than hue


def _told_apart(ax, series):
    page = _page(ax)
    drawn = [one for one in series if one.kind != "arrow" and one.colours and one.colours[0]]
    for one, other in itertools.combinations(drawn[:12], 2):
        if one.kind != other.kind or _is_written(ax, one.name) or _is_written(ax, other.name):
            continue
        if any(
            len({colour for bar in part.colours for colour in bar}) > 2 for part in (one, other)
        ):
            continue  # many colours in one series: a colour map
        if one.marker != other.marker or one.style != other.style:
            continue
        if max(one.width, other.width) >= WIDER * min(one.width, other.width) > 0:
            continue
        colours = [_over(part.colours[0][0], page) for part in (one, other)]
        if colours[0] == colours[1] and not (one.name or other.name):
            continue  # one bundle
        if (ratio := _contrast(*colours)) < APART:
            how = "look the same" if colours[0] == colours[1] else "differ in hue alone"
            yield (
                f"{one} and {other} {how}: in grey, their contrast is {_ratio(ratio)}. "
                f"Give them different markers, line styles or widths, or a contrast of {APART:g} : 1."
            )


def _is_written(ax, name):
    """Say whether a name stands in the panel itself, beside what it names."""
    return bool(name) and any(text.get_text().strip() == name for text in ax.texts)


# Legends


def _legend_complaints(ax, every):
    legends = {
        id(legend): (legend, owner)
        for owner in every
        for legend in [owner.get_legend()]
        if legend is not None and legend.get_visible()
    }
    of_figure = [legend for legend in ax.get_figure(root=True).legends if legend.get_visible()]
    own = ax.get_legend() if ax.get_legend() is not None and ax.get_legend().get_visible() else None
    others = [legend for legend, owner in legends.values() if owner is not ax]
    entries = {}
    for legend in [*([own] if own else []), *of_figure, *others]:
        for name, handle in _entries(legend):
            entries.setdefault(name, handle)
    named = [one for one in every[ax] if one.name and one.kind != "arrow"]
    for one in named:
        if one.name in entries:
            yield from _wrong_look(one, entries[one.name], _page(ax))
        elif not _is_written(ax, one.name):
            yield f"{one} is in no legend, and its name is not written beside it."
    for legend in [*([own] if own else []), *(of_figure if ax is next(iter(every)) else [])]:
        owners = [ax] if legend is own else list(every)
        yield from _not_drawn(legend, owners, every)


def _entries(legend):
    return [
        (text.get_text(), handle)
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=False)
    ]


def _not_drawn(legend, owners, every):
    names = [name for name, _ in _entries(legend)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f'the legend has the entry "{name}" {names.count(name)} times.'
    series = [one for ax in owners for one in every[ax]]
    for name, handle in _entries(legend):
        if any(one.name == name for one in series):
            continue
        page = _page(owners[0])
        alike = [one for one in series if not one.name and not list(_wrong_look(one, handle, page))]
        if not alike and not any(_is_in_heatmap(ax, name, handle) for ax in owners):
            yield f'the legend has an entry "{name}", but nothing of that name is drawn.'


def _is_in_heatmap(ax, name, handle):
    """Say whether an entry is that of hatched cells, or of a colour that cells have."""
    hatched = [p for p in ax.patches if p.get_gid() == name and p.get_visible()]
    if not isinstance(handle, Patch):
        return False
    if handle.get_hatch():
        return any(patch.get_hatch() == handle.get_hatch() for patch in hatched)
    return any(
        to_hex(handle.get_facecolor())
        in {to_hex(c) for c in np.reshape(image.to_rgba(image.get_array()), (-1, 4))}
        for image in ax.images
        if np.ndim(image.get_array()) == 2
    )


def _wrong_look(one, handle, page):
    """Yield in what the entry of a legend does not look like its series."""
    drawn = {
        to_hex(_over(c, page)) for part in [*one.colours, one.whisker_colours] for c in part if c[3]
    }
    colours, marker, style = _look(handle)
    colours = {to_hex(_over(c, page)) for c in colours if c[3]}
    if drawn and colours and not drawn & colours:
        yield f"{one} is drawn in {_listed(drawn)}, but the legend shows it in {_listed(colours)}."
    # The sample of error bars is a line without a marker, that of a scatter has no style.
    elif marker is None or len(one.whiskers) or one.marker.startswith("marker of"):
        return
    elif (marker, style) != (one.marker, one.style):
        yield f"{one} is drawn with another marker or line style than the legend shows."


def _look(handle):
    """Return the colours of a legend's sample, and of a line its marker and its line style."""
    if isinstance(handle, Line2D):
        alpha, marked = handle.get_alpha(), handle.get_marker() not in NOTHING
        drawn = handle.get_linestyle() not in NOTHING
        colours = [_rgba(handle.get_color(), alpha)] if drawn else []
        if marked:
            colours += [
                _rgba(c, alpha)
                for c in (handle.get_markerfacecolor(), handle.get_markeredgecolor())
            ]
        return (
            colours,
            str(handle.get_marker()) if marked else "",
            str(handle.get_linestyle()) if drawn else "",
        )
    if isinstance(handle, Patch):
        return _colours_of_patch(handle), None, None
    if isinstance(handle, Collection):
        return [_rgba(c) for c in (*handle.get_facecolor(), *handle.get_edgecolor())], None, None
    return [], None, None


def _covered(ax, series):
    legend = ax.get_legend()
    if legend is None or not legend.get_visible():
        return
    box = legend.get_window_extent()
    for one in series:
        if one.kind in ("line", "row of points"):
            x, y = one.points.T
            under = int(((x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1)).sum())
            if under:
                yield f"the legend covers {under} of the {len(x)} points of {one}."


# Scales


def _scales(ax, series):
    for axis, word in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        title = name_of(ax, word)
        if axis.get_scale() == "linear" or re.search(r"(?i)\blog", title):
            continue
        shown = [label.get_text() for label in axis.get_ticklabels() if label.get_visible()]
        shown = [text for text in shown if text.strip()]
        if len(shown) >= 2 and all("^" in text for text in shown):
            continue
        yield (
            f"the {word} axis has a {axis.get_scale()} scale and does not say so: put it into its title, "
            f'as in "{title or "d_k"} (log scale)", or write its ticks as powers.'
        )


# Colour maps


def _colours(ax, series):
    for drawn in (*ax.images, *(c for c in ax.collections if c.get_array() is not None)):
        M = np.ma.masked_invalid(np.ma.asarray(drawn.get_array(), dtype=float))
        if (isinstance(drawn, AxesImage) and M.ndim != 2) or not M.count() or drawn.cmap.N < 3:
            continue
        kind, low, high = _kind_of_map(drawn.cmap), drawn.norm.vmin, drawn.norm.vmax
        name = f"the colour map {drawn.cmap.name}"
        if kind == "neither":
            yield f"{name} is neither light to dark nor two hues that meet in the middle: equal steps look unequal."
        elif kind == "diverging" and not np.isclose(low, -high, rtol=1e-6):
            yield f"{name} has two hues, but they do not meet at 0: it runs from {low:.3g} to {high:.3g}."
        elif kind == "diverging" and _are_weights(ax, M):
            yield f"weights, which are never below 0, are drawn in {name}, which has a hue for each sign."
        elif kind == "sequential" and M.min() < 0 < M.max():
            yield f"numbers of both signs are drawn in {name}, from light to dark: 0 cannot be seen."
        elif kind == "sequential" and _are_weights(ax, M) and (low, high) != (0, 1):
            yield f"colours of weights run from {low:.3g} to {high:.3g}: from 0 to 1, pictures of weights compare."


def _kind_of_map(cmap):
    """Return "sequential", "diverging" or "neither", from how light the colours are along the map."""
    light = np.array([_luminance(colour) for colour in cmap(np.linspace(0, 1, 65))]) ** (1 / 3)
    if np.ptp(light) > 0.2 and (_climbs(light) or _climbs(light[::-1])):
        return "sequential"
    for course in (light, -light):  # the middle is the lightest, or the darkest
        ends = abs(light[0] - light[-1])
        if _climbs(course[:33]) and _climbs(course[:31:-1]) and ends < 0.5 * np.ptp(light):
            return "diverging"
    return "neither"


def _climbs(light, slack=0.02):
    """Say whether something gets lighter all the way, but for what nobody sees."""
    return bool((np.maximum.accumulate(light) - light < slack).all()) and light[-1] > light[0]


def _are_weights(ax, M):
    """Say whether numbers are weights: by the words of the colour bar, or where it has none by their sums."""
    if (M < 0).any():
        return False
    if words := _quantity(ax):
        return "weight" in words
    sums = M.sum(axis=-1) if M.ndim == 2 and min(M.shape) > 1 else np.zeros(1)
    return bool(np.allclose(sums, 1, atol=1e-6)) and bool(((M > 0) & (M < 1)).any())


# Axes


def _axis_titles(ax, series):
    for axis, word in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        if not ax.axison or not axis.get_visible() or name_of(ax, word).strip():
            continue
        shown = [text for text in _tick_labels(ax, axis) if text.get_text().strip()]
        # One word at one place, such as "sum", needs no other.
        if shown and not (len(shown) == 1 and re.search(r"[^\W\d_]", shown[0].get_text())):
            yield f"the {word} axis has no title: a reader cannot know what its ticks count."


def _complaints_of_panels(panels):
    bare = [n for n, ax in enumerate(panels, start=1) if not _title(ax)]
    found = []
    if len(panels) > 1 and bare:
        which = " and ".join(map(str, bare))
        found.append(f"the figure: of its {len(panels)} panels, number {which} has no title.")
    if panels and all(ax.get_gid() == PALE for ax in panels):
        found.append("the figure: every panel is pale, and none is lit.")
    return found


def _title(ax):
    words = ax.get_title() or ax.get_title("left") or ax.get_title("right")
    return f'"{" ".join(words.split())}"' if words else ""


# Texts


def _tick_labels(ax, axis=None):
    """Return the labels of the ticks that are shown: those inside the limits."""
    found = []
    for one in (ax.xaxis, ax.yaxis) if axis is None else (axis,):
        if not ax.axison or not one.get_visible():
            continue
        low, high = sorted(one.get_view_interval())
        for tick in (*one.get_major_ticks(), *one.get_minor_ticks()):
            if low - 1e-9 <= tick.get_loc() <= high + 1e-9 and tick.get_visible():
                found += [text for text in (tick.label1, tick.label2) if text.get_visible()]
    return [text for text in found if text.get_text().strip()]


def _text_complaints(figure):
    """Return which texts lie on each other, or leave the page."""
    # That of an annotation would hold its arrow as well.
    boxes = [(text, Text.get_window_extent(text)) for text in _texts(figure)]
    for text, box in boxes:
        if min(box.x0, box.y0) < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1:
            yield f"the text {_short(text)} is cut off at the edge of the page."
    level = [(text, box) for text, box in boxes if text.get_rotation() % 90 == 0]
    for (one, a), (other, b) in itertools.combinations(level, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        # A box is a little higher than its letters are.
        if across > 1 and up > 0.25 * min(a.height, b.height):
            yield f"the texts {_short(one)} and {_short(other)} overlap."


def _texts(figure):
    found = list(figure.texts)
    for ax in [part for top in figure.axes for part in (top, *top.child_axes)]:
        if isinstance(ax, Axes) and ax.get_visible():
            titles = [ax.title, ax._left_title, ax._right_title]
            found += [*ax.texts, *titles, *_tick_labels(ax)]
            if ax.axison:
                found += [axis.label for axis in (ax.xaxis, ax.yaxis)]
            if ax.get_legend() is not None and ax.get_legend().get_visible():
                found += ax.get_legend().get_texts()
    found += [text for legend in figure.legends for text in legend.get_texts()]
    if figure.get_suptitle():
        found.append(figure._suptitle)
    unique = {id(text): text for text in found}.values()
    return [text for text in unique if text.get_visible() and text.get_text().strip()]


def _short(text: Text):
    words = " ".join(text.get_text().split())
    return repr(words if len(words) <= 40 else f"{words[:39]}…")


# Colours


def _rgba(colour, alpha=None):
    if isinstance(colour, str) and colour in NOTHING:
        return (0.0, 0.0, 0.0, 0.0)
    return tuple(to_rgba(colour, alpha))


def _page(ax):
    """Return the colour behind what is drawn in a panel."""
    around = _over(ax.get_figure(root=True).get_facecolor(), (1, 1, 1, 1))
    return _over(ax.get_facecolor(), around) if ax.axison else around


def _over(colour, page):
    """Return a colour as it comes out on the page, through which it may shine."""
    *rgb, alpha = colour
    return (*(alpha * c + (1 - alpha) * p for c, p in zip(rgb, page, strict=False)), 1.0)


def _contrast(colour, page):
    dark, light = sorted([_luminance(_over(colour, page)), _luminance(page)])
    return (light + 0.05) / (dark + 0.05)


def _ratio(ratio):
    return f"{np.floor(10 * ratio) / 10:g} : 1"  # 2.96 is not 3


def _listed(colours):
    return " and ".join(sorted(colours))
