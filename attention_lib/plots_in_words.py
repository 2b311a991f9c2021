"""Everything that is drawn in a panel, in words: for a description, and for one sentence.

Nothing is passed over in silence: what has no words of its own is named by its kind and its
place.
"""

import itertools
from typing import NamedTuple

import numpy as np
from matplotlib.axes._secondary_axes import SecondaryAxis
from matplotlib.axis import Axis
from matplotlib.category import StrCategoryLocator
from matplotlib.collections import (
    Collection,
    FillBetweenPolyCollection,
    LineCollection,
    PathCollection,
    QuadMesh,
)
from matplotlib.container import BarContainer, ErrorbarContainer, StemContainer
from matplotlib.contour import ContourSet
from matplotlib.dates import DateLocator, num2date
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import AxLine
from matplotlib.patches import (
    Circle,
    Ellipse,
    FancyArrow,
    FancyArrowPatch,
    Patch,
    Polygon,
    Rectangle,
    Wedge,
)
from matplotlib.path import Path
from matplotlib.quiver import Barbs, Quiver
from matplotlib.spines import Spine
from matplotlib.table import Table
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator

MOST_POINTS = 12  # points of a series that are listed one by one
MOST_TURNS = 3  # turns of a curve that are told one by one
NEAR = 0.1  # of the panel's side: a text so near to a point is its name


class Thing(NamedTuple):
    """One thing that is drawn: a line of a description, and a clause of a sentence or nothing."""

    text: str
    brief: str = ""
    named: bool = False  # things with a name come first; a sentence may leave out the others


def things(ax, skip=()):
    """Return everything that is drawn in a panel, but for its axes and its title."""
    if ax.name == "3d":
        words = "a plot in three dimensions, for which there are no words here"
        return [Thing(words, words, True)]
    ax.xaxis.get_view_interval()  # the limits may be waiting for an update
    said = {id(artist) for artist in skip}
    frame = (ax.patch, ax.title, *(text for text in ax.get_children() if _is_side_title(ax, text)))
    said |= {id(artist) for artist in frame}
    places = _Places(ax, said)
    found = [*_lines(ax, said, places), *_containers(ax, said)]
    kinds = (
        (lambda a: isinstance(a, PathCollection), lambda a: _scatter(a, places)),
        (lambda a: isinstance(a, FillBetweenPolyCollection), _area),
        (lambda a: isinstance(a, ContourSet), _contours),
        (lambda a: isinstance(a, (Quiver, Barbs)), _quiver),
        (lambda a: isinstance(a, QuadMesh), _mesh),
        (lambda a: isinstance(a, LineCollection), _segments),
        (lambda a: isinstance(a, Collection), _collection),
        (lambda a: isinstance(a, AxesImage), _image),
    )
    for is_kind, words in kinds:
        for artist in ax.get_children():
            if _is_seen(artist) and id(artist) not in said and is_kind(artist):
                said.add(id(artist))
                found.append(words(artist))
    found += _regions(ax, said, places)
    found += _arrows(ax, said, places)
    for artist in ax.get_children():
        if isinstance(artist, Patch) and _is_seen(artist) and id(artist) not in said:
            if not isinstance(artist, Spine):
                found.append(_patch(artist, ax))
            said.add(id(artist))
    found += _words(ax, said, places)
    found += [_unknown(artist, ax) for artist in ax.get_children() if _is_left(artist, said)]
    return found


def things_of_figure(figure):
    """Return a line for each thing that a figure has outside its panels, but for its heading."""
    headings = {"_suptitle": None, "_supxlabel": "below", "_supylabel": "at the left"}
    said = {id(figure.patch), id(getattr(figure, "_suptitle", None))}
    lines = []
    for name, place in headings.items():
        words = getattr(figure, name, None)
        if place and words is not None and words.get_text():
            lines.append(f"  text {place}: {words.get_text()!r}")
        said.add(id(words))
    for artist in figure.get_children():
        if id(artist) in said or artist in figure.axes or artist in figure.subfigs:
            continue
        if isinstance(artist, Text):
            if artist.get_text() and artist.get_visible():
                lines.append(f"  text {artist.get_text()!r}")
        elif isinstance(artist, Legend):
            lines.append(f"  {_legend(artist).text}")
        elif artist.get_visible():
            lines.append(f"  {type(artist).__name__} outside the panels")
    return lines


def name_of(ax, which):
    """Return the label of an axis, x or y, or that of a panel which shares it; "" without one."""
    shared = ax.get_shared_x_axes() if which == "x" else ax.get_shared_y_axes()
    sharing = shared.get_siblings(ax)
    for panel in (ax, *(other for other in ax.get_figure(root=True).axes if other in sharing)):
        label = panel.get_xlabel() if which == "x" else panel.get_ylabel()
        if label:
            return " ".join(label.split("\n"))
    return ""


def kind_of_axis(axis):
    """Return what an axis of a polar plot measures, "" for any other."""
    if axis.axes.name != "polar":
        return ""
    return "angle" if axis.axis_name in ("x", "theta") else "radius"


def place_on(axis, value):
    """Return a place on an axis as it is read there: a date, an angle in degrees, a number."""
    if _has_dates(axis):
        return num2date(value).isoformat(sep=" ", timespec="minutes")[:16].removesuffix(" 00:00")
    if kind_of_axis(axis) == "angle":
        value = np.degrees(value)
    return number(value)


def unit_of_axis(axis):
    """Say in what the numbers of a description are, where an axis shows something else."""
    if _has_dates(axis):
        return f" (numbers below are days since {num2date(0).date()})"
    return " degrees (numbers below are radians)" if kind_of_axis(axis) == "angle" else ""


def _has_dates(axis):
    return isinstance(axis.get_major_locator(), DateLocator)


def second_axes(ax):
    """Return a clause for each second scale of a panel, one that is computed from the first."""
    found = []
    for child in ax.child_axes:
        if isinstance(child, SecondaryAxis) and child.get_visible():
            which = child._orientation  # the only place where it is kept
            axis = child.xaxis if which == "x" else child.yaxis
            child._set_lims()  # otherwise they wait for the picture to be drawn
            label = " ".join(axis.get_label_text().split("\n"))
            low, high = axis.get_view_interval()
            found.append(
                f"second {which} axis"
                + (f' "{label}"' if label else " without a name")
                + f" from {place_on(axis, low)} to {place_on(axis, high)}"
            )
    return found


def has_named_places(axis):
    """Say whether an axis has words at fixed places, such as the categories of bars."""
    locator = axis.get_major_locator()
    return isinstance(locator, (FixedLocator, StrCategoryLocator)) and any(names_of_places(axis))


def names_of_places(axis):
    """Return the words at the places of an axis, whether it shows them or a panel that shares it."""
    axis.get_ticklabels()  # brings the ticks up to date
    return [tick.label1.get_text() for tick in axis.get_major_ticks()][:40]


def crossings(ax):
    """Return a clause for each two lines with a name that cross, or lie on each other."""
    lines = [line for line in ax.lines if _is_seen(line) and _label(line) and _is_curve(line, ax)]
    found = []
    for one, other in itertools.combinations(lines[:6], 2):
        if words := _meeting(ax, one, other):
            found.append(Thing("", words, True))
    return found


# Lines


def _lines(ax, said, places):
    errorbars = [part for part in ax.containers if isinstance(part, ErrorbarContainer)]
    named = {id(bars.lines[0]): bars.get_label() for bars in errorbars}
    parts = {id(part) for bars in errorbars for part in bars.get_children()} - named.keys()
    stems = [part for part in ax.containers if isinstance(part, StemContainer)]
    parts |= {id(part) for stem in stems for part in (stem.baseline, stem.stemlines)}
    named |= {id(stem.markerline): stem.get_label() for stem in stems}
    said |= parts
    for line in ax.lines:
        if id(line) in said:
            continue
        said.add(id(line))
        if _is_seen(line):
            label = _label(line, named.get(id(line)))
            yield _line(line, label, ax, places)


def _line(line, label, ax, places):
    named = bool(label)
    if isinstance(line, AxLine):
        slope = line.get_slope()
        if slope is None:
            (x0, y0), (x1, y1) = line.get_xy1(), line.get_xy2()
            slope = (y1 - y0) / (x1 - x0) if x1 != x0 else np.inf
        words = f"line{_quoted(label)} through {_listed(*np.transpose([line.get_xy1()]))} "
        words += f"with slope {number(slope)}"
        return Thing(words, words, named)
    in_x, in_y = line.get_transform().contains_branch_seperately(ax.transData)
    if in_x and in_y:
        x, y = _numbers(line.get_xdata(orig=False)), _numbers(line.get_ydata(orig=False))
        points = line.get_linestyle() in {"None", " ", ""} and line.get_marker() not in {
            "None",
            " ",
            "",
        }
        if points:
            return _points(label, x, y, places, ax)
        dates = [place_on(ax.xaxis, day) for day in x] if _has_dates(ax.xaxis) else None
        return Thing(_full("line", label, x, y, dates), _course(ax, label, x, y), named)
    if in_x or in_y:
        way, place = (
            ("horizontal", line.get_ydata()[0]) if in_y else ("vertical", line.get_xdata()[0])
        )
        words = f"{way} line{_quoted(label)} at {number(place)}"
        return Thing(words, words, named)
    words = f"line{_quoted(label)} that belongs to the frame"
    return Thing(words, words if named else "", named)


def _is_curve(line, ax):
    in_x, in_y = line.get_transform().contains_branch_seperately(ax.transData)
    drawn = line.get_linestyle() not in {"None", " ", ""} or line.get_marker() in {"None", " ", ""}
    return (
        in_y and (not in_x or len(line.get_xdata()) > 1) and not isinstance(line, AxLine) and drawn
    )


def _full(what, label, x, y, names=None):
    """Return every point of a series, or of a long one its extent and some."""
    head = f"{what}{_quoted(label)}"
    if len(x) <= MOST_POINTS:
        return f"{head}: {_listed(x, y, names)}"
    some = np.linspace(0, len(x) - 1, MOST_POINTS).round().astype(int)
    names = None if names is None else [names[i] for i in some]
    extent = f"{len(x)} points, y from {number(_low(y))} to {number(_high(y))}"
    return f"{head}: {extent}, among them {_listed(x[some], y[some], names)}"


def _course(ax, label, x, y):
    """Say where a curve starts, rises, falls and ends, and where it is highest and lowest."""

    def point(a, b):
        return f"({place_on(ax.xaxis, a) if _has_dates(ax.xaxis) else short(a)}, {short(b)})"

    name = f'"{label}"' if label else "line"
    kept = np.isfinite(x) & np.isfinite(y)
    x, y = x[kept], y[kept]
    if len(x) == 0:
        return f"{name} without a point"
    if len(x) == 1:
        return f"{name} at {point(x[0], y[0])}"
    start, end = point(x[0], y[0]), point(x[-1], y[-1])
    if not ((np.diff(x) >= 0).all() or (np.diff(x) <= 0).all()):
        return f"{name} from {start} to {end}, by way of {len(x) - 2} points"
    heights = _scaled(y, ax.yaxis)
    if not np.ptp(heights) > 1e-9 * max(1.0, np.abs(heights).max()):
        return f"{name} level from {start} to {end}"
    turns = _turns(heights)
    if len(turns) == 2:
        way = "rises" if heights[-1] > heights[0] else "falls"
        return f"{name} {way} from {start} to {end}{_steepest(ax, x, heights)}"
    if len(turns) - 2 <= MOST_TURNS:
        ways = [
            f"{'rises' if heights[j] > heights[i] else 'falls'} to {point(x[j], y[j])}"
            for i, j in itertools.pairwise(turns)
        ]
        return f"{name} starts at {start}, {', then '.join(ways)}"
    low, high = y.argmin(), y.argmax()
    return (
        f"{name} goes up and down from {start} to {end}, with {len(turns) - 2} turns, lowest "
        f"{point(x[low], y[low])}, highest {point(x[high], y[high])}"
    )


def _turns(y, least=0.05):
    """Return where a curve turns by more than a twentieth of its range, its ends included."""
    least *= np.ptp(y)
    low = high = 0  # since the last turn, the lowest and the highest place
    turns, way = [0], 0
    for i, height in enumerate(y):
        low = i if height < y[low] else low
        high = i if height > y[high] else high
        # It has turned where it has left its last extreme behind by enough.
        if way >= 0 and y[high] - height > least:
            turns += [high] if way or high else []
            way, low = -1, i
            high = i
        elif way <= 0 and height - y[low] > least:
            turns += [low] if way or low else []
            way, high = 1, i
            low = i
    return [*dict.fromkeys([*turns, len(y) - 1])]


def _steepest(ax, x, heights):
    """Say where most of a long rise or fall lies, if it is in less than half of its way."""
    if len(x) < 6:
        return ""
    done = (heights - heights[0]) / (heights[-1] - heights[0])
    begin, end = max(0, int(np.argmax(done > 0.1)) - 1), int(np.argmax(done >= 0.9))
    along = _scaled(x, ax.xaxis)
    if end <= begin or abs(along[end] - along[begin]) >= 0.5 * abs(along[-1] - along[0]):
        return ""
    return f" (most of it between {short(x[begin])} and {short(x[end])})"


def _meeting(ax, one, other):
    """Say where two lines cross, or that they lie on each other."""
    (x, y), (u, v) = (_curve(line, ax) for line in (one, other))
    if len(x) < 2 and len(u) < 2:
        return ""
    low, high = max(x.min(), u.min()), min(x.max(), u.max())
    along = np.unique(np.concatenate([x, u]))
    along = along[(along >= low) & (along <= high)]
    if len(along) < 2:
        return ""
    apart = np.interp(along, x, y) - np.interp(along, u, v)
    names = f'"{_label(one)}" and "{_label(other)}"'
    span = abs(np.subtract(*_scaled(np.array(ax.yaxis.get_view_interval()), ax.yaxis)))
    if np.abs(apart).max() < 0.02 * span:
        return f"{names} lie on each other"
    sides = np.sign(np.where(np.abs(apart) < 1e-9 * span, 0, apart))
    held = np.flatnonzero(sides)
    changes = [(a, b) for a, b in itertools.pairwise(held) if sides[a] != sides[b]]
    if not changes:
        return ""
    if len(changes) > 2:
        return f"{names} cross {len(changes)} times"
    at = []
    for a, b in changes:
        share = apart[a] / (apart[a] - apart[b])
        at.append(along[a] + share * (along[b] - along[a]))
    return f"{names} cross near {' and '.join(short(p) for p in _unscaled(np.array(at), ax.xaxis))}"


def _curve(line, ax):
    """Return the course of a line as its axes draw it, from left to right."""
    in_x, _ = line.get_transform().contains_branch_seperately(ax.transData)
    x, y = _numbers(line.get_xdata(orig=False)), _numbers(line.get_ydata(orig=False))
    if not in_x:
        x = np.sort(ax.xaxis.get_view_interval())
    x, y = _scaled(x, ax.xaxis), _scaled(y, ax.yaxis)
    kept = np.isfinite(x) & np.isfinite(y)
    order = np.argsort(x[kept], kind="stable")
    return x[kept][order], y[kept][order]


def _scaled(values, axis):
    with np.errstate(all="ignore"):
        return axis.get_transform().transform(np.asarray(values, dtype=float))


def _unscaled(values, axis):
    return axis.get_transform().inverted().transform(values)


# Points and their names


class _Places:
    """The texts of a panel, and what they stand at: a text beside a point is its name."""

    def __init__(self, ax, said):
        self.ax = ax
        self.free = [
            text
            for text in ax.texts
            if _is_seen(text)
            and text.get_text().strip()
            and id(text) not in said
            and text.get_transform() == ax.transData
            and getattr(text, "arrow_patch", None) is None
        ]
        self.names = {}  # of points in the plane, for regions whose corners they are

    def on_panel(self, points):
        """Return where points stand, as shares of the panel's sides."""
        to_panel = self.ax.transData + self.ax.transAxes.inverted()
        return to_panel.transform(np.reshape(np.asarray(points, dtype=float), (-1, 2)))

    def name(self, points):
        """Return the name of each point, "" without one, and take the names off the texts."""
        if not self.free or len(points) == 0 or len(points) > 200:
            return [""] * len(points)
        at = self.on_panel([text.get_position() for text in self.free])
        apart = np.linalg.norm(at[:, np.newaxis] - self.on_panel(points), axis=-1)
        names, used = [""] * len(points), []
        for flat in np.argsort(apart, axis=None, kind="stable"):
            i, j = np.unravel_index(flat, apart.shape)
            if apart[i, j] > NEAR:
                break
            if i not in used and not names[j]:
                names[j] = self.free[i].get_text()
                used.append(i)
        self.free = [text for i, text in enumerate(self.free) if i not in used]
        return names


def _points(label, x, y, places, ax):
    names = places.name(np.stack([x, y], axis=-1)) if len(x) <= 200 else [""] * len(x)
    places.names |= {
        (number(a), number(b)): name for a, b, name in zip(x, y, names, strict=True) if name
    }
    steps = np.diff(x)
    if not any(names) and len(x) > 4 and ((steps > 0).all() or (steps < 0).all()):
        brief = _course(ax, label, x, y)  # measured along an axis, as a curve is
    elif len(x) <= MOST_POINTS:
        where = " at " if len(x) == 1 else " "
        listed = ", ".join(
            f"{name} {_point(a, b)}".strip() for a, b, name in zip(x, y, names, strict=True)
        )
        brief = (f'"{label}"' if label else "points") + (
            where + listed if len(x) else " without one"
        )
    else:
        brief = (
            (f'"{label}": ' if label else "")
            + f"{len(x)} points, across from {short(_low(x))} to {short(_high(x))}, up from "
            f"{short(_low(y))} to {short(_high(y))}"
        )
    return Thing(_full("points", label, x, y, names), brief, bool(label) or any(names))


def _scatter(collection, places):
    x, y = np.ma.filled(np.ma.asarray(collection.get_offsets(), dtype=float), np.nan).T
    return _points(_label(collection), x, y, places, collection.axes)


# Bars, error bars


def _containers(ax, said):
    for container in ax.containers:
        label = _label(container)
        if isinstance(container, ErrorbarContainer):
            said |= {id(part) for part in container.get_children()}
            segments = [part for lines in container.lines[2] for part in lines.get_segments()]
            lengths = [np.ptp(segment, axis=0).max() for segment in segments if len(segment)]
            yield Thing(f"  error bars of length {_some(lengths)}")
        elif isinstance(container, BarContainer):
            said |= {id(bar) for bar in container}
            yield _bars(container, label, ax)


def _bars(container, label, ax):
    lying = container.orientation == "horizontal"
    lengths = [bar.get_width() if lying else bar.get_height() for bar in container]
    words = f"bars{_quoted(label)}: {_some(lengths)}"
    axis = ax.yaxis if lying else ax.xaxis
    names = names_of_places(axis) if has_named_places(axis) else []
    if len(names) == len(lengths) and len(lengths) <= MOST_POINTS:
        listed = ", ".join(f"{n} {short(v)}" for n, v in zip(names, lengths, strict=True))
        return Thing(words, f"bars{_quoted(label)}: {listed}", bool(label))
    if len(lengths) > MOST_POINTS:
        brief = f"{len(lengths)} bars{_quoted(label)} from {short(min(lengths))} to {short(max(lengths))}"
        return Thing(words, brief, bool(label))
    return Thing(words, f"bars{_quoted(label)}: {' '.join(map(short, lengths))}", bool(label))


# Areas and collections


def _area(collection):
    """Say between what heights an area lies, at each place along it."""
    label, spans = _label(collection), {}
    for path in collection.get_paths():
        for a, b in path.vertices:
            low, high = spans.get(a, (b, b))
            spans[a] = min(low, b), max(high, b)
    places = sorted(spans)
    some = places
    if len(places) > MOST_POINTS:
        some = [places[i] for i in np.linspace(0, len(places) - 1, MOST_POINTS).round().astype(int)]
    listed = ", ".join(f"{number(a)}: {number(spans[a][0])} to {number(spans[a][1])}" for a in some)
    left = f" ({len(places)} places, among them)" if len(some) < len(places) else ""
    brief = ""
    if places:
        ends = (
            f"{short(spans[a][0])} to {short(spans[a][1])} at {short(a)}"
            for a in (places[0], places[-1])
        )
        brief = f"area{_quoted(label)} from {' and '.join(ends)}"
    return Thing(f"area{_quoted(label)}{left}: {listed}", brief, bool(label))


def _contours(contours):
    label = _label(contours)
    levels = _some(contours.levels)
    words = f"contours{_quoted(label)} at {levels}"
    return Thing(f"{words}{_extent(contours, contours.axes)}", words, True)


def _quiver(arrows):
    label = _label(arrows)
    x, y = np.asarray(arrows.get_offsets(), dtype=float).T
    u, v = (
        (np.ravel(arrows.U), np.ravel(arrows.V)) if hasattr(arrows, "U") else (arrows.u, arrows.v)
    )
    few = slice(MOST_POINTS)
    pairs = zip(x[few], y[few], np.ravel(u)[few], np.ravel(v)[few], strict=True)
    listed = ", ".join(f"at {_pair(a, b)} by {_pair(c, d)}" for a, b, c, d in pairs)
    left = f" and {len(x) - MOST_POINTS} more" if len(x) > MOST_POINTS else ""
    words = f"{len(x)} arrows{_quoted(label)}: {listed}{left}"
    return Thing(words, words, True)


def _mesh(mesh):
    values = np.ma.filled(np.ma.asarray(mesh.get_array(), dtype=float), np.nan)
    shape = " by ".join(map(str, values.shape[:2] if values.ndim > 1 else values.shape))
    words = f"mesh of {shape} cells{_quoted(_label(mesh))}, {_of_values(values)}"
    colours = f", {mesh.cmap.name} from {number(mesh.norm.vmin)} to {number(mesh.norm.vmax)}"
    listed = f": {_some(values.ravel())}" if values.size else ""
    return Thing(f"{words}{colours}{_extent(mesh, mesh.axes)}{listed}", words, True)


def _segments(lines):
    label, segments = _label(lines), lines.get_segments()
    ends = [
        f"{_pair(*part[0])} to {_pair(*part[-1])}" for part in segments[:MOST_POINTS] if len(part)
    ]
    left = f" and {len(segments) - MOST_POINTS} more" if len(segments) > MOST_POINTS else ""
    words = f"{len(segments)} line{'s' * (len(segments) != 1)}{_quoted(label)}"
    return Thing(f"{words}: {', '.join(ends)}{left}", words, bool(label))


def _collection(collection):
    kind = type(collection).__name__
    values = collection.get_array()
    count = len(collection.get_offsets()) if len(collection.get_offsets()) > 1 else None
    count = count or len(collection.get_paths())
    words = f"{kind} of {count} parts{_quoted(_label(collection))}"
    if values is not None and np.size(values):
        numbers = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)
        words += f", {_of_values(numbers)}"
    return Thing(f"{words}{_extent(collection, collection.axes)}", words, True)


def _image(image):
    shape = np.shape(image.get_array())
    words = f"another image, {shape[0]} by {shape[1]}{_quoted(_label(image))}"
    return Thing(f"{words}{_extent(image, image.axes)}", words, True)


def _of_values(values):
    finite = values[np.isfinite(values)]
    if not finite.size:
        return "no values"
    return f"values from {number(finite.min())} to {number(finite.max())}, mean {number(finite.mean())}"


# Regions, arrows, other patches


def _regions(ax, said, places):
    """Put polygons that together fill one convex region into one line: that with its corners."""
    polygons = [
        patch
        for patch in ax.patches
        if type(patch) is Polygon and _is_seen(patch) and id(patch) not in said
    ]
    said |= {id(patch) for patch in polygons}
    groups = {}
    for patch in polygons:
        key = (_label(patch), patch.get_facecolor(), patch.get_fill())
        groups.setdefault(key, []).append(patch)
    for (label, *_), group in groups.items():
        corners = (
            _hull(np.concatenate([patch.get_xy() for patch in group])) if len(group) > 1 else None
        )
        if corners is not None and _fill(group, corners):
            listed = _listed(*corners.T, [places.names.get(_key(c), "") for c in corners])
            words = f"region{_quoted(label)} with corners {listed}"
            yield Thing(words, words, True)
            continue
        for patch in group[:MOST_POINTS]:
            xy = patch.get_xy()
            # A closed polygon ends where it begins.
            xy = xy[:-1] if len(xy) > 1 and (xy[0] == xy[-1]).all() else xy
            named = [places.names.get(_key(corner), "") for corner in xy]
            brief = f"polygon{_quoted(label)} with {len(xy)} corners"
            if len(xy) <= MOST_POINTS:
                brief = f"polygon{_quoted(label)} with corners {_listed(*xy.T, named)}"
            yield Thing(_full("polygon", label, *xy.T, named), brief, bool(label))
        if len(group) > MOST_POINTS:
            yield Thing(f"and {len(group) - MOST_POINTS} more polygons")


def _key(point):
    return tuple(map(number, point))


def _hull(points):
    """Return the corners of the convex hull, counter-clockwise, from the lowest left."""
    points = sorted({(float(x), float(y)) for x, y in points})
    if len(points) < 3:
        return None

    def half(points):
        chain = []
        for p in points:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return np.array(half(points) + half(points[::-1]))


def _turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _fill(polygons, corners):
    """Say whether polygons leave no place inside these corners free."""
    if len(corners) < 3:
        return False
    low, high = corners.min(axis=0), corners.max(axis=0)
    # Odd steps, so that no place lies on a common edge of many polygons.
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 43)[1:-1].T), axis=-1).reshape(-1, 2)
    inside = grid[Path(corners).contains_points(grid, radius=0)]
    slack = 1e-9 * float(np.max(high - low))
    covered = np.zeros(len(inside), dtype=bool)
    for patch in polygons:
        path = Path(patch.get_xy())
        covered |= path.contains_points(inside, radius=slack)
        covered |= path.contains_points(inside, radius=-slack)
    return len(inside) > 0 and bool(covered.all())


def _arrows(ax, said, places):
    """Say of each arrow from where to where it leads, and what stands at its point."""
    found = []
    for text in ax.texts:
        if isinstance(text, Annotation) and text.arrow_patch is not None and _is_seen(text):
            said.add(id(text))
            ends = (
                _in_data(text.xyann, text.anncoords),
                _in_data(text.xy, text.xycoords),
            )
            found.append((text.get_text(), *ends))
    for patch in ax.patches:
        if id(patch) in said or not _is_seen(patch):
            continue
        if isinstance(patch, FancyArrowPatch):
            ends = getattr(patch, "_posA_posB", None)
            if ends is None:
                vertices = patch.get_path().vertices
                ends = vertices[0], vertices[-1]
            found.append((_label(patch), *map(tuple, ends)))
        elif isinstance(patch, FancyArrow):
            begin = (patch._x, patch._y)
            found.append((_label(patch), begin, (patch._x + patch._dx, patch._y + patch._dy)))
        else:
            continue
        said.add(id(patch))
    heads = [head for _, _, head in found if head is not None]
    names = iter(places.name(heads))
    for label, tail, head in found:
        beside = next(names) if head is not None else ""
        label = label or beside
        way = " ".join(
            f"{word} {_pair(*end)}" if end is not None else f"{word} its text"
            for word, end in (("from", tail), ("to", head))
        )
        words = f"arrow{_quoted(label)} {way}"
        yield Thing(words, words, True)


def _in_data(place, coordinates):
    """Return a place in data coordinates, or None where it is measured in something else."""
    return tuple(map(float, place)) if coordinates == "data" else None


def _patch(patch, ax):
    label, kind = _label(patch), type(patch).__name__
    if isinstance(patch, Wedge):
        words = (
            f"wedge{_quoted(label)} from {number(patch.theta1)} to {number(patch.theta2)} degrees, "
            f"{(patch.theta2 - patch.theta1) / 360:.1%} of the circle"
        )
        return Thing(words, words, True)
    if isinstance(patch, Circle):
        words = (
            f"circle{_quoted(label)} round {_pair(*patch.center)}, radius {number(patch.radius)}"
        )
        return Thing(words, words, True)
    if isinstance(patch, Ellipse):
        words = (
            f"ellipse{_quoted(label)} round {_pair(*patch.center)}, {number(patch.width)} wide and "
            f"{number(patch.height)} high"
        )
        return Thing(words, words, True)
    if isinstance(patch, Rectangle):
        in_x, in_y = patch.get_transform().contains_branch_seperately(ax.transData)
        x, y = patch.get_x(), patch.get_y()
        across = f"across from {number(x)} to {number(x + patch.get_width())}"
        up = f"up from {number(y)} to {number(y + patch.get_height())}"
        if in_x and in_y:
            words = f"rectangle{_quoted(label)} {across}, {up}"
        elif in_x or in_y:
            words = f"band{_quoted(label)} {across if in_x else up}"
        else:
            words = f"rectangle{_quoted(label)} that belongs to the frame"
        hatch = ", hatched" if patch.get_hatch() else ""
        return Thing(words + hatch, words + hatch, bool(label))
    words = f"{kind}{_quoted(label)}"
    return Thing(f"{words}{_extent(patch, ax)}", words, bool(label))


# Words, tables, the rest


def _words(ax, said, places):
    unnamed = {id(text) for text in places.free}
    for text in ax.texts:
        if id(text) in said or not _is_seen(text):
            continue
        said.add(id(text))
        is_name = text.get_transform() == ax.transData and id(text) not in unnamed
        if text.get_text().strip() and not is_name:
            yield Thing(f"text {text.get_text()!r}")
    legend = ax.get_legend()
    if legend is not None and id(legend) not in said and legend.get_visible():
        said.add(id(legend))
        yield _legend(legend)
    for artist in ax.get_children():
        if isinstance(artist, Table) and id(artist) not in said:
            said.add(id(artist))
            cells = artist.get_celld()
            rows = sorted({row for row, _ in cells})
            listed = "; ".join(
                " | ".join(cells[at].get_text().get_text() for at in sorted(cells) if at[0] == row)
                for row in rows[: 2 * MOST_POINTS]
            )
            left = (
                f"; and {len(rows) - 2 * MOST_POINTS} more rows"
                if len(rows) > 2 * MOST_POINTS
                else ""
            )
            words = f"table of {len(rows)} rows: {listed}{left}"
            yield Thing(words, words, True)


def _legend(legend):
    return Thing("legend: " + " | ".join(text.get_text() for text in legend.get_texts()))


def _unknown(artist, ax):
    inside = [text.get_text() for text in artist.findobj(Text) if text.get_text()]
    words = f"{type(artist).__name__}{_quoted(_label(artist))}"
    words += f" with the text {' | '.join(inside)!r}" if inside else ""
    return Thing(f"{words}{_extent(artist, ax)}", words, True)


def _is_left(artist, said):
    known = (Axis, Spine, Legend)
    panel = hasattr(artist, "get_xlim") or hasattr(artist, "_functions")  # insets, second axes
    return (
        _is_seen(artist) and id(artist) not in said and not isinstance(artist, known) and not panel
    )


def _is_side_title(ax, artist):
    return isinstance(artist, Text) and artist not in ax.texts


def _is_seen(artist):
    return artist.get_visible()


def _extent(artist, ax):
    """Say where something stands, as far as it can be told."""
    try:
        box = artist.get_datalim(ax.transData) if isinstance(artist, Collection) else None
        if box is None:
            box = artist.get_window_extent().transformed(ax.transData.inverted())
        numbers = [box.x0, box.x1, box.y0, box.y1]
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return ""
    if not np.isfinite(numbers).all():
        return ""
    left, right, low, high = map(_rough, numbers)
    return f", across from {left} to {right}, up from {low} to {high}"


def _rough(value):
    return f"{float(value):z.3g}"


# Numbers and labels


def _label(thing, label=None):
    """Return the name of what is drawn; matplotlib's own begin with an underscore and are none."""
    label = (
        str(thing.get_label() if label is None else label) if hasattr(thing, "get_label") else ""
    )
    return "" if label.startswith("_") or label == "None" else " ".join(label.split("\n"))


def _quoted(label):
    return f' "{label}"' if label else ""


def _numbers(values):
    return np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)


def _listed(x, y, names=None):
    # What is nothing beside the rest of its series may be rounding noise of either sign: call it 0.
    x, y = (np.where(np.abs(v) < 1e-9 * _largest_finite(v), 0, v) for v in (x, y))
    names = names or [""] * len(x)
    return " ".join(f"{name} {_pair(a, b)}".strip() for a, b, name in zip(x, y, names, strict=True))


def _largest_finite(values):
    sizes = np.abs(values)
    return sizes[np.isfinite(sizes)].max(initial=0)


def _pair(a, b):
    return f"({number(a)}, {number(b)})"


def _point(a, b):
    return f"({short(a)}, {short(b)})"


def _some(values):
    """Return a few numbers, or of many the first and the last few and how many there are."""
    values = list(values)
    if len(values) <= 2 * MOST_POINTS:
        return " ".join(map(number, values))
    first, last = values[:MOST_POINTS], values[-MOST_POINTS:]
    return f"{' '.join(map(number, first))} ... {' '.join(map(number, last))}, {len(values)} in all"


def _low(values):
    return np.nanmin(values) if np.isfinite(values).any() else np.nan


def _high(values):
    return np.nanmax(values) if np.isfinite(values).any() else np.nan


def number(value):
    """Return a number for a description, to four digits."""
    return f"{float(value):z.4g}"


def short(value):
    """Return a number for a sentence, to three digits, whole from a thousand on."""
    text = f"{float(value):z.3g}"
    return text if "e" not in text else f"{float(value):z.4g}" if abs(value) > 1 else f"{value:.2g}"
