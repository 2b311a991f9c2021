import ast
import base64
import io
import itertools
import math
import re
import subprocess
import sys
from html.parser import HTMLParser

import nbformat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib import pyplot as plt
from matplotlib.offsetbox import AnchoredText
from matplotlib.patches import Circle, Ellipse, FancyArrowPatch, FancyBboxPatch
from nbclient import NotebookClient
from nbconvert import HTMLExporter, get_exporter
from PIL import Image

from attention_lib import attention_steps
from attention_lib.figures import alt_text, describe, show
from attention_lib.heatmap import plot_heatmap, plot_heatmaps, plot_steps

pytestmark = pytest.mark.usefixtures("drawing")

A = np.array([[0.75, 0.25, 0.0], [0.1, 0.3, 0.6]])
SCORE = "score (before softmax): blue below 0, red above"


def heatmap(**options):
    options = {
        "queries": ["it", "sat"],
        "keys": ["the", "cat", "mat"],
        "title": "Weights",
    } | options
    ax = plt.figure(figsize=(5, 3)).add_axes((0.2, 0.2, 0.6, 0.6))
    return plot_heatmap(A, ax=ax, **options)


def lines():
    """Draw a plot with one of everything that a plot is made of."""
    _, ax = plt.subplots()
    ax.plot([1, 2, 4], [1.0, 2.0, 3.5], "o-", label="measured")
    ax.errorbar([1, 2, 4], [2.0, 3.0, 4.0], yerr=[0.1, 0.2, 0.3], label="repeated")
    ax.scatter([1, 2], [3, 1], label="seen")
    ax.bar([1, 2], [0.5, 0.7], label="share")
    ax.fill([1, 2, 2], [0, 0, 1], label="reachable")
    ax.fill_between([1, 2], [0, 1], label="spread")
    ax.annotate("there", (2, 3), (1, 1), arrowprops={"arrowstyle": "->"})
    ax.axhline(1.5, label="even share")
    ax.axvline(3)
    ax.text(2, 2, "note")
    ax.set(xlabel="d_k", ylabel="variance", title="Wider vectors")
    ax.legend()
    return ax


def pixels(png):
    return plt.imread(io.BytesIO(png))


class Images(HTMLParser):
    """The attributes of every img element of a page, and the names of all others."""

    def __init__(self, page):
        super().__init__()
        self.found, self.others = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.found.append(dict(attributes))
        else:
            self.others.append(tag)

    def handle_data(self, data):
        self.others.append(data)


# Descriptions of heatmaps


def test_description_of_a_heatmap_has_its_words_colours_and_numbers():
    assert describe(heatmap()).splitlines() == [
        "figure, 1 panel",
        '"Weights": heatmap, 2 rows (Query) by 3 columns (Key), '
        "magma_r from 0 to 1 (attention weight)",
        "  rows: it | sat",
        "  columns: the | cat | mat",
        "  it: 0.750 0.250 0.000",
        "  sat: 0.100 0.300 0.600",
        "  cells that show their number: 6 of 6",
    ]


def test_description_counts_the_hidden_cells():
    M = [[math.nan, 0.2, -math.inf], [-math.inf, 0.8, 0.4]]
    described = describe(plot_heatmap(M)).splitlines()
    assert "  0: nan 0.200 hidden" in described
    assert described[-3:] == [
        "  cells that show their number: 3 of 6",
        "  hidden (weight 0): 2 cells",
        "  not a number: 1 cells",
    ]


def set_data(ax, change):
    M = ax.images[0].get_array().copy()
    ax.images[0].set_data(change(M))


def add_to_cell(M):
    M[1, 2] += 0.02
    return M


def swap_axis_titles(ax):
    ax.set(xlabel=ax.get_ylabel(), ylabel=ax.get_xlabel())


def reverse_ticks(axis):
    axis.set_ticks(axis.get_ticklocs(), [label.get_text() for label in axis.get_ticklabels()][::-1])


def new_cell(ax, number):
    ax.texts[0].set_text(number)


HEATMAP_CHANGES = {
    "transposed": lambda ax: set_data(ax, np.transpose),
    "upside down": lambda ax: set_data(ax, np.flipud),
    "one cell + 0.02": lambda ax: set_data(ax, add_to_cell),
    "colours reversed": lambda ax: ax.images[0].set_cmap("magma"),
    "other colours": lambda ax: ax.images[0].set_cmap("viridis"),
    "limits dropped": lambda ax: ax.images[0].autoscale(),
    "other limits": lambda ax: ax.images[0].set_clim(0, 2),
    "axis titles swapped": swap_axis_titles,
    "x title dropped": lambda ax: ax.set_xlabel(""),
    "y title changed": lambda ax: ax.set_ylabel("Token"),
    "title changed": lambda ax: ax.set_title("Other weights"),
    "title dropped": lambda ax: ax.set_title(""),
    "heading": lambda ax: ax.figure.suptitle("Heading"),
    "y ticks reversed": lambda ax: reverse_ticks(ax.yaxis),
    "x ticks reversed": lambda ax: reverse_ticks(ax.xaxis),
    "ticks shifted": lambda ax: ax.xaxis.set_ticks(ax.get_xticks() + 0.4, ["the", "cat", "mat"]),
    "ticks dropped": lambda ax: ax.set_xticks([]),
    "one label changed": lambda ax: ax.set_xticks([0, 1, 2], ["the", "cat", "hat"]),
    "y inverted": lambda ax: ax.invert_yaxis(),
    "x inverted": lambda ax: ax.invert_xaxis(),
    "number changed": lambda ax: new_cell(ax, "0.76"),
    "number emptied": lambda ax: new_cell(ax, ""),
    "number removed": lambda ax: ax.texts[-1].remove(),
    "number moved": lambda ax: ax.texts[0].set_position((1, 0)),
    "colour bar renamed": lambda ax: ax.images[0].colorbar.set_label("score"),
    "colour bar removed": lambda ax: ax.images[0].colorbar.remove(),
    "note added": lambda ax: ax.text(7, -3, "note"),
    "panel added": lambda ax: ax.figure.add_axes((0, 0, 0.1, 0.1)),
    "panel removed": lambda ax: ax.remove(),
}


@pytest.mark.parametrize("change", HEATMAP_CHANGES.values(), ids=HEATMAP_CHANGES)
def test_description_is_of_the_heatmap_that_was_drawn(change):
    ax = heatmap()
    figure = ax.figure
    before = describe(figure)
    change(ax)
    assert describe(figure) != before


def test_description_tells_hidden_cells_that_lost_their_hatch():
    ax = plot_heatmap([[0.5, -math.inf]])
    before = describe(ax)
    for patch in list(ax.patches):
        patch.remove()
    assert describe(ax) != before


def test_description_tells_which_cells_of_a_large_matrix_are_hidden():
    seen = np.tri(40, dtype=bool)
    described = describe(plot_heatmap(np.where(seen, 0.1, -math.inf)))
    assert f"hidden (weight 0): {(~seen).sum()} cells" in described
    assert described.count(" hidden") == (~seen).sum() + 1
    assert "cells that show their number: 0 of 1600" in described


def test_small_negative_numbers_are_described_without_a_minus():
    described = describe(plot_heatmap([[-0.0, -1e-9]], kind="scores", limit=1))
    assert "  0: 0.000 0.000" in described.splitlines()


def test_huge_number_is_known_as_shown():
    ax = plot_heatmap([[-1e9, 12345.678]], kind="scores")
    assert "cells that show their number: 2 of 2" in describe(ax)
    assert alt_text(ax).endswith("highest 12345.68 (0, 1), lowest -1.0e+09 (0, 0).")


@pytest.mark.parametrize("place", [(5, 5), (-1, 0), (0.5, 1.1), (0.4, 0)])
def test_note_beside_the_cells_is_no_number_of_a_cell(place):
    ax = plot_heatmap([[0.5, 0.5]])
    ax.text(*place, "0.50")
    described = describe(ax)
    assert "cells that show their number: 2 of 2" in described
    assert "text '0.50'" in described


def test_panels_are_described_in_order_with_the_shared_quantity():
    figure = plot_heatmaps({"S": [[1, -2]], "S_scaled": [[0.5, -1]]}, kind="scores")
    described = describe(figure)
    assert described.startswith("figure, 2 panels\n")
    assert re.findall(r'^"(.*?)".* (RdBu_r from .*)$', described, flags=re.MULTILINE) == [
        ("S", f"RdBu_r from -2 to 2 ({SCORE})"),
        ("S_scaled", f"RdBu_r from -2 to 2 ({SCORE})"),
    ]


def test_steps_are_described_with_heading_and_four_panels():
    steps = attention_steps([[1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]], [[1.0], [0.0]])
    described = describe(plot_steps(steps, title="Steps"))
    assert described.startswith('figure, 4 panels, "Steps"\n')
    assert re.findall(r"from \S+ to \S+ \((.*)\)$", described, flags=re.MULTILINE) == [
        SCORE,
        SCORE,
        "attention weight",
        "value: purple below 0, orange above",
    ]


def test_panels_of_subfigures_are_described():
    figure = plt.figure()
    for part, title in zip(figure.subfigures(1, 2), ("left", "right"), strict=True):
        plot_heatmap([[0.5]], ax=part.subplots(), title=title)
    described = describe(figure)
    assert described.startswith("figure, 2 panels\n")
    assert re.findall(r'^"(\w+)"', described, flags=re.MULTILINE) == ["left", "right"]
    assert described.count("(attention weight)") == 2


def test_colour_bar_is_no_panel():
    figure, ax = plt.subplots()
    figure.colorbar(ax.imshow(A), label="weight")
    described = describe(figure)
    assert described.startswith("figure, 1 panel\n")
    assert "viridis from 0 to 0.75 (weight)" in described
    assert ";" not in alt_text(figure)


def test_invisible_panel_is_not_described():
    figure, axes = plt.subplots(1, 2)
    axes[1].set_visible(False)
    assert describe(figure).startswith("figure, 1 panel\n")


@pytest.mark.parametrize("draw", [heatmap, lines])
def test_description_stays_the_same_when_the_figure_is_drawn(draw):
    ax = draw()
    before = describe(ax), alt_text(ax)
    ax.figure.canvas.draw()
    ax.figure.set_dpi(40)
    ax.figure.canvas.draw()
    assert (describe(ax), alt_text(ax)) == before
    assert (describe(ax.figure), alt_text(ax.figure)) == before


# Descriptions of other plots


def test_description_of_a_plot_has_everything_that_was_drawn():
    described = describe(lines()).splitlines()
    assert described[0] == "figure, 1 panel"
    assert re.match(
        r'"Wider vectors": x axis "d_k" from [-\d.]+ to [\d.]+, y axis "variance" from ',
        described[1],
    )
    assert described[2:] == [
        '  line "measured": (1, 1) (2, 2) (4, 3.5)',
        '  line "repeated": (1, 2) (2, 3) (4, 4)',
        '  horizontal line "even share" at 1.5',
        "  vertical line at 3",
        "    error bars of length 0.2 0.4 0.6",
        '  bars "share": 0.5 0.7',
        '  points "seen": (1, 3) (2, 1)',
        '  area "spread": 1: 0 to 0, 2: 0 to 1',
        '  polygon "reachable": (1, 0) (2, 0) (2, 1)',
        '  arrow "there" from (1, 1) to (2, 3)',
        "  text 'note'",
        "  legend: measured | seen | reachable | spread | even share | repeated | share",
    ]


def errorbar(ax):
    return next(c for c in ax.containers if hasattr(c, "has_yerr"))


def bar(ax):
    return next(c for c in ax.containers if hasattr(c, "patches"))[1]


LINE_CHANGES = {
    "point changed": lambda ax: ax.lines[0].set_ydata([1.0, 2.0, 3.6]),
    "point moved": lambda ax: ax.lines[0].set_xdata([1, 3, 4]),
    "line removed": lambda ax: ax.lines[0].remove(),
    "label changed": lambda ax: ax.lines[0].set_label("simulated"),
    "line added": lambda ax: ax.plot([1, 2], [2, 1]),
    "log scale on x": lambda ax: ax.set_xscale("log"),
    "log scale on y": lambda ax: ax.set_yscale("log"),
    "x limits": lambda ax: ax.set_xlim(0, 9),
    "y inverted": lambda ax: ax.invert_yaxis(),
    "x title": lambda ax: ax.set_xlabel("d_v"),
    "y title": lambda ax: ax.set_ylabel("mean"),
    "title": lambda ax: ax.set_title("Narrow vectors"),
    "error bar longer": lambda ax: errorbar(ax).lines[2][0].set_segments([[(1, 1), (1, 9)]]),
    "error bars removed": lambda ax: errorbar(ax).remove(),
    "bar higher": lambda ax: bar(ax).set_height(0.9),
    "bars added": lambda ax: ax.bar([3], [1]),
    "dot moved": lambda ax: ax.collections[1].set_offsets([(1, 3), (2, 2)]),
    "dots added": lambda ax: ax.scatter([1], [1]),
    "polygon changed": lambda ax: ax.patches[-1].set_xy([(1, 0), (2, 0), (2, 2)]),
    "polygon added": lambda ax: ax.fill([0, 1, 1], [0, 0, 1]),
    "area added": lambda ax: ax.fill_between([1, 2], [1, 1]),
    "arrow moved": lambda ax: setattr(ax.texts[0], "xy", (2, 2)),
    "arrow begins elsewhere": lambda ax: ax.texts[0].set_position((0, 1)),
    "arrow added": lambda ax: ax.annotate("", (1, 2), (0, 0), arrowprops={"arrowstyle": "->"}),
    "axhline moved": lambda ax: ax.lines[-2].set_ydata([1.6, 1.6]),
    "axvline moved": lambda ax: ax.lines[-1].set_xdata([2, 2]),
    "axhline added": lambda ax: ax.axhline(2),
    "text changed": lambda ax: ax.texts[1].set_text("remark"),
    "legend removed": lambda ax: ax.get_legend().remove(),
    "legend entry changed": lambda ax: ax.get_legend().get_texts()[0].set_text("simulated"),
    "panel added": lambda ax: ax.figure.add_axes((0, 0, 0.1, 0.1)),
}


@pytest.mark.parametrize("change", LINE_CHANGES.values(), ids=LINE_CHANGES)
def test_description_is_of_the_plot_that_was_drawn(change):
    ax = lines()
    before = describe(ax)
    change(ax)
    assert describe(ax) != before


@pytest.mark.parametrize(
    "change", [lambda ax: ax.set_yscale("log"), lambda ax: ax.set_xscale("log")]
)
def test_log_scale_is_named(change):
    ax = lines()
    assert "(log)" not in describe(ax)
    change(ax)
    assert describe(ax).count("(log)") == 1


def test_names_of_places_are_described():
    (bars, lying) = plt.subplots(1, 2)[1]
    bars.bar(["it", "cat"], [0.2, 0.8])
    lying.barh([0, 1], [0.3, 0.7], tick_label=["the", "mat"])
    described = describe(bars).splitlines()
    assert described[2:4] == ["  x: it | cat", "  bars: 0.2 0.8"]
    assert described[5:] == ["  y: the | mat", "  bars: 0.3 0.7"]


def test_error_bars_in_either_direction_are_described():
    ax = plt.subplots()[1]
    ax.errorbar([1, 2], [3, 4], xerr=[0.1, 0.2], fmt="none")
    assert "  error bars of length 0.2 0.4" in describe(ax)


def test_long_series_is_described_by_its_range_and_some_points():
    ax = plt.subplots()[1]
    x = np.linspace(0, 1, 101)
    ax.plot(x, x**2, label="square")
    line = describe(ax).splitlines()[-1]
    assert line.startswith('  line "square": 101 points, y from 0 to 1, among them (0, 0) ')
    assert line.endswith(" (1, 1)")
    assert line.count("(") == 12


def test_rounding_noise_beside_real_numbers_is_0():
    ax = plt.subplots()[1]
    ax.plot([0, math.pi], [math.sin(math.pi), 1], label="sine")
    ax.plot([0, 1e-20], [1e-20, 2e-20], label="small")
    described = describe(ax)
    assert 'line "sine": (0, 0) (3.142, 1)' in described
    assert 'line "small": (0, 1e-20) (1e-20, 2e-20)' in described


# Alternatives in one sentence


def test_alternative_says_what_a_heatmap_shows():
    assert alt_text(heatmap()) == (
        'Heatmap "Weights", rows Query, columns Key, 2 by 3: '
        "highest 0.75 (it, the), lowest 0.00 (it, mat)."
    )


@settings(max_examples=15)
@given(
    arrays(float, (3, 4), elements=st.integers(-99, 99), unique=True),
    st.sets(st.sampled_from(list(np.ndindex(3, 4))), max_size=8),
    st.sampled_from([-math.inf, math.nan]),
)
def test_alternative_names_the_highest_and_the_lowest_cell(M, missing, instead):
    for place in missing:
        M[place] = instead
    shown = np.where(np.isfinite(M), M, math.nan)
    high, low = (np.unravel_index(pick(shown), M.shape) for pick in (np.nanargmax, np.nanargmin))
    ax = plt.figure().add_axes((0.2, 0.2, 0.6, 0.6))
    plot_heatmap(M, kind="scores", queries=list("abc"), keys=list("wxyz"), ax=ax, colorbar=False)
    sentence = alt_text(ax)
    plt.close("all")
    name = "hidden (score -inf)" if instead == -math.inf else "not a number"
    assert sentence.endswith(
        f"highest {M[high]:.2f} ({'abc'[high[0]]}, {'wxyz'[high[1]]}), "
        f"lowest {M[low]:.2f} ({'abc'[low[0]]}, {'wxyz'[low[1]]})"
        + (f", {name} {len(missing)} of 12." if missing else ".")
    )


def test_alternative_of_a_heatmap_without_a_number():
    assert alt_text(plot_heatmap([[math.nan, -math.inf]])) == (
        "Heatmap, rows Query, columns Key, 1 by 2: no cell has a number."
    )


def test_alternative_says_of_each_thing_where_it_is_and_goes():
    assert alt_text(lines()) == (
        'Plot "Wider vectors" of variance against d_k: '
        '"measured" rises from (1, 1) to (4, 3.5), "repeated" rises from (1, 2) to (4, 4), '
        'horizontal line "even share" at 1.5, bars "share": 0.5 0.7, "seen" (1, 3), (2, 1), '
        'area "spread" from 0 to 0 at 1 and 0 to 1 at 2, '
        'polygon "reachable" with corners (1, 0) (2, 0) (2, 1), '
        'arrow "there" from (1, 1) to (2, 3), "measured" and "even share" cross near 1.5.'
    )


def test_alternative_of_a_plot_without_names():
    ax = plt.subplots()[1]
    assert alt_text(ax) == "Plot, empty."
    ax.plot([1, 2], [3, 4])
    assert alt_text(ax) == "Plot: line rises from (1, 3) to (2, 4)."
    ax.scatter([5], [6], label="end")
    assert alt_text(ax) == 'Plot: "end" at (5, 6).'
    ax.set_xlabel("step")
    assert alt_text(ax) == 'Plot over step: "end" at (5, 6).'
    ax.set_ylabel("loss")
    assert alt_text(ax) == 'Plot of loss against step: "end" at (5, 6).'


@pytest.mark.parametrize(
    "draw",
    [heatmap, lines, lambda: plot_heatmaps({"a": [[0.5]], "b": [[1]]})],
    ids=["heatmap", "lines", "panels"],
)
def test_alternative_is_one_sentence(draw):
    sentence = alt_text(draw())
    assert sentence.endswith(".")
    assert not re.search(r"\.\s|\n", sentence)


def test_alternative_has_a_clause_for_each_panel():
    sentence = alt_text(plot_heatmaps({"broad": [[0.5, 0.4]], "peaked": [[0.9, 0.1]]}))
    broad, peaked = sentence.split("; ")
    assert broad.startswith('Heatmap "broad"')
    assert broad.endswith("highest 0.50 (0, 0), lowest 0.40 (0, 1)")
    assert peaked.startswith('Heatmap "peaked"')
    assert peaked.endswith("highest 0.90 (0, 0), lowest 0.10 (0, 1).")


# Pictures


@pytest.mark.parametrize("draw", [heatmap, lambda: lines().figure], ids=["axes", "figure"])
def test_picture_is_the_figure_with_its_description(draw):
    drawn = draw()
    expected = describe(drawn), alt_text(drawn)
    picture = show(drawn)
    assert (picture.text, picture.alt) == expected
    assert str(picture) == picture.text
    assert repr(picture) == f"<Picture, {picture.width} px wide: figure, 1 panel>"
    assert picture.png.startswith(b"\x89PNG\r\n\x1a\n")
    height, width, _ = pixels(picture.png).shape
    assert picture.width == pytest.approx(width * 96 / 144, abs=1)
    assert height > 100
    assert np.ptp(pixels(picture.png)[..., :3]) == 1


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("figure.facecolor", "none"),
        ("figure.facecolor", (1, 1, 1, 0.5)),
        ("savefig.facecolor", "none"),
        ("savefig.transparent", True),
    ],
)
def test_picture_is_opaque(setting, value):
    plt.rcParams[setting] = value
    for ax in (plot_heatmap([[0.5, -math.inf]]), plt.subplots(figsize=(2, 2))[1]):
        picture = pixels(show(ax).png)
        assert picture.shape[2] == 3 or picture[..., 3].min() == 1


def test_picture_keeps_a_dark_background():
    with plt.style.context("dark_background"):
        picture = pixels(show(plt.subplots()[1]).png)
    assert picture[0, 0, :3].max() == 0


AWKWARD = [
    "<pad>",
    '"',
    "'",
    "&amp;",
    "\ud800",
    "\n",
    "猫",
]


@pytest.mark.parametrize("token", AWKWARD, ids=ascii)
def test_page_gets_one_image_whatever_the_tokens(token):
    picture = show(heatmap(queries=[token, "b"], title='Weights of <it> & "that"'))
    page = picture._repr_html_()
    page.encode("utf-8")
    images = Images(page)
    assert images.others == []
    (image,) = images.found
    assert image.keys() == {"alt", "width", "style", "src"}
    assert image["style"] == "max-width: 100%"
    assert image["alt"] == picture.alt
    kind, data = image["src"].split(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data, validate=True) == picture.png
    assert int(image["width"]) == picture.width


def test_shown_figure_is_closed_and_others_are_not():
    other = plt.figure()
    ax = heatmap()
    show(ax)
    assert plt.get_fignums() == [other.number]
    subfigure_axes = plt.figure().subfigures(1, 2)[0].subplots()
    show(subfigure_axes)
    assert plt.get_fignums() == [other.number]


@pytest.mark.parametrize("draw", [heatmap, lines])
def test_showing_leaves_settings_as_they_were(draw):
    before = dict(plt.rcParams)
    show(draw())
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize("function", [show, describe, alt_text])
@pytest.mark.parametrize("what", ["list of lines", "image", "None", "matrix"])
def test_what_is_neither_axes_nor_figure_is_refused(function, what):
    ax = plt.subplots()[1]
    given = {
        "list of lines": ax.plot([1, 2]),
        "image": ax.imshow(A),
        "None": None,
        "matrix": A,
    }[what]
    message = f"^{function.__name__}: it must be given an Axes or a Figure.* Got {type(given).__name__}\\."
    with pytest.raises(TypeError, match=message):
        function(given)


# Everything that is drawn has words


def test_points_are_called_by_the_names_beside_them():
    ax = plt.subplots()[1]
    ax.plot([0, 1], [0, 1], "o", label="values")
    ax.scatter([0.5], [0.1])
    for name, x, y in (("Owls", 0, 0), ("night", 1, 1), ("here", 0.5, 0.1), ("far off", 0.2, 0.9)):
        ax.text(x + 0.01, y + 0.03, name)
    described = describe(ax).splitlines()
    assert '  points "values": Owls (0, 0) night (1, 1)' in described
    assert "  points: here (0.5, 0.1)" in described
    assert described[-1] == "  text 'far off'"
    assert '"values" Owls (0, 0), night (1, 1), points at here (0.5, 0.1)' in alt_text(ax)


def test_triangles_that_fill_a_hull_are_one_region_with_its_corners():
    corners = np.array([[0, 0], [4, 0], [5, 3], [1, 4], [2, 2]])
    ax = plt.subplots()[1]
    for three in itertools.combinations(corners, 3):
        ax.fill(*np.transpose(three), color="0.9")
    ax.plot(*corners.T, "o", label="values")
    for name, (x, y) in zip("abcde", corners, strict=True):
        ax.text(x, y, name)
    region = "region with corners a (0, 0) b (4, 0) c (5, 3) d (1, 4)"
    assert f"  {region}" in describe(ax).splitlines()
    assert region in alt_text(ax)


def test_polygons_with_a_gap_are_not_called_a_region():
    ax = plt.subplots()[1]
    for left in (0, 2):
        ax.fill([left, left + 1, left + 1, left], [0, 0, 1, 1], color="0.9")
    assert "region" not in describe(ax)
    assert describe(ax).count("polygon: ") == 2


def test_arrows_lead_from_somewhere_to_somewhere_and_have_a_name():
    ax = plt.subplots()[1]
    ax.set(xlim=(0, 4), ylim=(0, 4))
    style = {"arrowstyle": "->"}
    ax.annotate("", (2, 0), (0, 0), arrowprops=style)
    ax.text(2.1, 0.1, "query")
    ax.annotate("key", (3, 3), (1, 1), arrowprops=style)
    ax.arrow(0, 1, 0, 2)
    ax.add_patch(FancyArrowPatch((1, 1), (1, 2)))
    assert alt_text(ax) == (
        'Plot: arrow "query" from (0, 0) to (2, 0), arrow "key" from (1, 1) to (3, 3), '
        "arrow from (0, 1) to (0, 3), arrow from (1, 1) to (1, 2)."
    )


X = np.linspace(0, 10, 101)
COURSES = {
    "rises": (X, "rises from (0, 0) to (10, 10)"),
    "falls": (-X, "falls from (0, 0) to (10, -10)"),
    "level": (0 * X + 2, "level from (0, 2) to (10, 2)"),
    "up and down": (5 - abs(X - 5), "starts at (0, 0), rises to (5, 5), then falls to (10, 0)"),
    "step": (np.tanh(9 * (X - 3)), "(most of it between 2.8 and 3.2)"),
    "wave": (np.sin(2 * X), "with 6 turns, lowest (5.5, -1), highest ("),
    "a little noise": (X + 0.1 * np.sin(50 * X), "rises from (0, 0) to (10, "),
    "gaps": (np.where(X % 2 < 1, np.nan, X), "rises from (1, 1) to (9.9, 9.9)"),
}


@pytest.mark.parametrize(("y", "words"), COURSES.values(), ids=COURSES)
def test_course_of_a_curve_is_told(y, words):
    ax = plt.subplots()[1]
    ax.plot(X, y, label="curve")
    assert words in alt_text(ax)


def test_lines_that_cross_or_lie_on_each_other_are_told():
    ax = plt.subplots()[1]
    ax.plot(X, X, label="one")
    ax.plot(X, 10 - X, label="other")
    ax.plot(X, X + 0.01, label="twin")
    ax.axhline(3, label="level")
    said = alt_text(ax)
    assert '"one" and "other" cross near 5,' in said
    assert '"one" and "twin" lie on each other' in said
    assert '"other" and "level" cross near 7' in said


def test_crossing_on_a_log_axis_is_where_it_is_drawn():
    ax = plt.subplots()[1]
    ax.plot([1, 100], [0, 2], label="up")
    ax.plot([1, 100], [2, 0], label="down")
    ax.set_xscale("log")
    assert '"up" and "down" cross near 10.' in alt_text(ax)


def test_axis_without_a_name_has_none_and_a_shared_one_has_its_neighbours():
    _, (left, right) = plt.subplots(1, 2, sharey=True)
    left.plot([1, 2], [1, 2])
    right.plot([1, 2], [2, 1])
    assert alt_text(left) == (
        "Plot: line rises from (1, 1) to (2, 2); Plot: line falls from (1, 2) to (2, 1)."
    )
    left.set_ylabel("loss")
    assert alt_text(left).count("Plot of loss: line") == 2
    assert describe(left).count('y axis "loss" from') == 2


RNG = np.random.default_rng(0)
DRAWN = {
    "mesh": (lambda ax: ax.pcolormesh(RNG.normal(size=(3, 4))), "mesh of 3 by 4 cells"),
    "contours": (lambda ax: ax.contour(RNG.normal(size=(5, 5)), [0, 1]), "contours at 0 1"),
    "filled contours": (lambda ax: ax.contourf(RNG.normal(size=(5, 5)), [0, 1]), "contours at 0 1"),
    "quiver": (lambda ax: ax.quiver([0], [1], [2], [3]), "1 arrows: at (0, 1) by (2, 3)"),
    "barbs": (lambda ax: ax.barbs([0], [1], [5], [9]), "1 arrows: at (0, 1) by (5, 9)"),
    "pie": (lambda ax: ax.pie([1, 3], labels=["a", "b"]), 'wedge "a" from 0 to 90 degrees, 25.0%'),
    "table": (lambda ax: ax.table([["a", "b"], ["1", "2"]]), "table of 2 rows: a | b; 1 | 2"),
    "area": (lambda ax: ax.fill_between([0, 1], [1, 2]), "area from 0 to 1 at 0 and 0 to 2 at 1"),
    "hexbin": (lambda ax: ax.hexbin([0, 1], [0, 1], gridsize=3), "values from 0 to 1"),
    "stem": (lambda ax: ax.stem([1, 2]), "points (0, 1), (1, 2)"),
    "span": (lambda ax: ax.axvspan(1, 2, label="train"), 'band "train" across from 1 to 2'),
    "hlines": (lambda ax: ax.hlines([1, 2], 0, 1, label="rows"), '2 lines "rows"'),
    "circle": (lambda ax: ax.add_patch(Circle((1, 2), 3)), "circle round (1, 2), radius 3"),
    "ellipse": (lambda ax: ax.add_patch(Ellipse((1, 2), 3, 4)), "ellipse round (1, 2), 3 wide"),
    "box": (lambda ax: ax.add_patch(FancyBboxPatch((0, 0), 1, 1)), "FancyBboxPatch"),
    "sloping line": (lambda ax: ax.axline((0, 1), slope=2), "line through (0, 1) with slope 2"),
    "colour picture": (lambda ax: ax.imshow(RNG.random((2, 3, 3))), "2 by 3 pixels"),
    "anchored text": (lambda ax: ax.add_artist(AnchoredText("oh", loc="center")), "'oh'"),
    "heatmap and point": (
        lambda ax: (ax.imshow(A), ax.scatter([1], [0], label="here")),
        '"here" at (1, 0)',
    ),
    "inset": (lambda ax: ax.inset_axes((0, 0, 1, 1)).plot([1, 2], label="in"), '"in" rises'),
}


@pytest.mark.parametrize(("draw", "words"), DRAWN.values(), ids=DRAWN)
def test_whatever_is_drawn_has_words(draw, words):
    ax = plt.subplots()[1]
    empty = describe(ax), alt_text(ax)
    draw(ax)
    assert describe(ax) != empty[0]
    assert words in alt_text(ax)


def test_plot_in_three_dimensions_says_that_it_has_no_words():
    ax = plt.figure().add_subplot(projection="3d")
    ax.plot([1, 2], [1, 2], [1, 2])
    assert "for which there are no words" in alt_text(ax)
    assert "for which there are no words" in describe(ax)


def test_words_outside_the_panels_are_described():
    figure, _ = plt.subplots()
    figure.text(0.5, 0.5, "note")
    figure.supxlabel("step")
    assert describe(figure).splitlines()[1:3] == ["  text below: 'step'", "  text 'note'"]


# Text of large figures


def large_lines():
    ax = plt.subplots()[1]
    for i in range(300):
        ax.plot(X, X * i, label=f"line {i}")
        ax.text(0, i, f"text {i}")
    ax.bar(range(2000), range(2000))
    return ax


HUGE = {
    "512 x 512": lambda: plot_heatmap(np.eye(512)),
    "512 x 512 mask": lambda: plot_heatmap(np.tri(512, dtype=bool), kind="mask"),
    "3 x 20 000": lambda: plt.subplots()[1].imshow(np.ones((3, 20_000))).axes,
    "huge numbers": lambda: plot_heatmap(np.full((60, 60), 1e300), kind="scores"),
    "long labels": lambda: plot_heatmap(
        np.eye(90), queries=["猫" * 20 + str(i) for i in range(90)]
    ),
    "12 of 60 x 60": lambda: plot_heatmaps({f"{'head ' * 30}{h}": np.eye(60) for h in range(12)}),
    "80 panels": lambda: plt.subplots(8, 10)[0],
    "a long title": lambda: plot_heatmap([[1]], title="word " * 8000),
    "lines": large_lines,
}


@pytest.mark.parametrize("draw", HUGE.values(), ids=HUGE)
def test_text_of_any_figure_is_below_20_kb(draw):
    drawn = draw()
    assert len((describe(drawn) + alt_text(drawn)).encode("utf-8", "replace")) < 20_000


def test_what_is_left_out_of_a_large_matrix_is_said():
    M = np.arange(512.0 * 512).reshape(512, 512) / 512**2
    described = describe(plot_heatmap(M))
    (said,) = [line for line in described.splitlines() if "left out" in line]
    rows, columns = map(int, re.findall(r"(\d+) of 512", said))
    assert 400 < min(rows, columns) <= max(rows, columns) < 512
    assert said.endswith("all 262144 numbers: mean 0.5, from 0 to 1")
    listed = [line for line in described.splitlines() if re.match(r"  \d+: ", line)]
    assert len(listed) == 512 - rows
    assert all(len(line.split(": ")[1].split()) == 512 - columns for line in listed)
    assert listed[0].startswith("  0: 0.000 ")
    assert listed[-1].endswith(" 1.000")


@pytest.mark.parametrize("n", [1, 5, 12, 30, 40])
def test_nothing_is_left_out_of_a_small_matrix(n):
    described = describe(plot_heatmap(np.eye(n)))
    assert "left out" not in described
    assert described.count("1.000") == n


# Pixels


def test_colours_of_areas_are_kept_and_those_of_edges_hardly_changed():
    steps = attention_steps(*np.random.default_rng(0).normal(size=(3, 5, 4)))
    figure = plot_steps(steps)
    exact = io.BytesIO()
    figure.savefig(exact, format="png", dpi=144)
    small = show(figure).png
    exact = np.asarray(Image.open(exact).convert("RGB")).astype(int)
    drawn = np.asarray(Image.open(io.BytesIO(small)).convert("RGB")).astype(int)
    apart = abs(exact - drawn).max(axis=-1)
    assert len(small) < 70_000
    assert apart.max() < 32
    assert (apart == 0).mean() > 0.95
    assert (exact[0, 0] == drawn[0, 0]).all()


# In a notebook, and exported

DRAW = "figure, ax = plt.subplots(figsize=(2, 2)); line = ax.plot([1, 2]);"
CELLS = {
    "last line": (f"{DRAW} show(figure)", 1),
    "assigned": (f"{DRAW} picture = show(ax)", 1),
    "value of a later cell": ("picture", 1),
    "semicolon": (f"{DRAW} show(figure);", 1),
    "in the middle": (f"{DRAW} show(figure)\nprint('after')", 1),
    "loop": (f"for i in range(3):\n    {DRAW} show(figure)", 3),
    "function": (f"def f():\n    {DRAW} return show(figure)\nf()", 1),
    "list": ("[show(plt.subplots(figsize=(2, 2))[0]) for _ in range(2)]", 2),
    "assigned and named": (f"{DRAW} picture = show(figure)\npicture", 1),
    "printed": (f"{DRAW} print(show(figure))", 1),
}


@pytest.fixture(scope="module")
def notebook():
    """Return a notebook of these cells, executed by a kernel."""
    first = (
        "from matplotlib import pyplot as plt\nfrom attention_lib.figures import show\n"
        "from attention_lib.heatmap import plot_heatmap"
    )
    sources = [first, *(source for source, _ in CELLS.values())]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    made = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(made, timeout=120, extra_arguments=["--log-level=ERROR"]).execute()
    return made


@pytest.mark.parametrize("name", CELLS)
def test_picture_is_displayed_where_show_is_called_and_once(notebook, name):
    cell = notebook.cells[1 + list(CELLS).index(name)]
    shown = [output for output in cell.outputs if "image/png" in output.get("data", {})]
    assert len(shown) == CELLS[name][1]
    for output in shown:
        assert output.output_type == "display_data"
        assert output.data.keys() == {"text/html", "image/png", "text/plain"}
        assert output.data["text/plain"].startswith("figure, 1 panel")
        (image,) = Images(output.data["text/html"]).found
        assert image["alt"]
        assert image["src"] == f"data:image/png;base64,{output.data['image/png'].strip()}"
        assert output.metadata["image/png"]["width"] == int(image["width"])
    others = [output for output in cell.outputs if output not in shown]
    texts = [output.get("text") or output.data["text/plain"] for output in others]
    assert all("figure, 1 panel" not in text or name in {"printed", "list"} for text in texts)
    if name == "in the middle":
        assert [output.output_type for output in cell.outputs] == ["display_data", "stream"]


@pytest.mark.parametrize("to", ["html", "slides", "markdown", "latex"])
def test_every_export_has_every_picture(notebook, to):
    page, resources = get_exporter(to)().from_notebook_node(notebook)
    files = [name for name in resources["outputs"] or {} if name.endswith(".png")]
    expected = sum(count for _, count in CELLS.values())
    if to == "latex":
        assert len(files) == expected
        assert all(name in page for name in files)
    else:
        images = [
            image
            for image in Images(page).found
            if image.get("src", "").startswith("data:image/png")
        ]
        assert len(images) == expected
        assert all("Plot" in image["alt"] for image in images)


def test_sanitised_page_has_every_picture_where_it_is_asked_for(notebook):
    exporter = HTMLExporter(sanitize_html=True)
    command = re.search(r"display_data_priority=\"(\[.*?\])\"", show.__doc__)[1]
    exporter.config.NbConvertBase.display_data_priority = ast.literal_eval(command)
    page, _ = HTMLExporter(config=exporter.config, sanitize_html=True).from_notebook_node(notebook)
    images = [image for image in Images(page).found if image["src"].startswith("data:image/png")]
    assert len(images) == sum(count for _, count in CELLS.values())
    assert "&lt;img" not in page


def test_outside_ipython_nothing_is_displayed_and_ipython_is_not_needed():
    code = (
        "import sys; import matplotlib; matplotlib.use('agg')\n"
        "from matplotlib import pyplot as plt; from attention_lib.figures import show\n"
        "picture = show(plt.subplots()[1])\n"
        "assert 'IPython' not in sys.modules\n"
        "print(picture.alt, len(picture.png) > 100, picture.text.splitlines()[0], sep='|')"
    )
    done = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert done == "Plot, empty.|True|figure, 1 panel\n"


def test_an_image_with_an_extent_has_its_places_and_its_direction():
    _, ax = plt.subplots()
    ax.imshow([[1, 2], [3, 4]], extent=(0, 10, 100, 200), origin="lower")
    lines = describe(ax).splitlines()
    assert lines[2:4] == ["  rows: 125 | 175", "  columns: 2.5 | 7.5"]
    assert "  rows run backwards" in lines
    assert "  125: 1.000 2.000" in lines
    _, ax = plt.subplots()
    ax.imshow([[1, 2], [3, 4]], extent=(0, 10, 100, 200))
    assert "  175: 1.000 2.000" in describe(ax)
    assert "backwards" not in describe(ax)


def test_an_invisible_image_makes_no_heatmap():
    _, ax = plt.subplots()
    ax.imshow([[1, 2], [3, 4]]).set_visible(False)
    ax.plot([1, 2], label="seen")
    assert "heatmap" not in describe(ax)
    assert alt_text(ax).startswith("Plot")


def test_titles_of_subfigures_are_told():
    figure = plt.figure()
    left, right = figure.subfigures(1, 2)
    left.suptitle("before")
    right.suptitle("after")
    left.subplots()
    right.subplots(1, 2)
    assert 'part "before" with 1 panel\npart "after" with 2 panels' in describe(figure)


def test_a_second_scale_is_told():
    _, ax = plt.subplots()
    ax.set_xlim(0, 3)
    second = ax.secondary_xaxis("top", functions=(lambda x: 2 * x, lambda x: x / 2))
    second.set_xlabel("doubled")
    assert 'second x axis "doubled" from 0 to 6' in describe(ax)


def test_scales_that_are_not_linear_are_named():
    _, ax = plt.subplots()
    ax.set(xscale="symlog", yscale="logit")
    assert "(symlog)" in describe(ax)
    assert "(logit)" in describe(ax)


def test_a_polar_plot_has_an_angle_and_a_radius():
    _, ax = plt.subplots(subplot_kw={"projection": "polar"})
    ax.plot([0, 1], [1, 2])
    assert "angle without a name from 0 to 360 degrees" in describe(ax)
    assert "radius without a name" in describe(ax)


def test_dates_are_told_as_dates():
    _, ax = plt.subplots()
    ax.plot(np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[D]"), [1, 2], label="rise")
    ax.set_xlim(np.datetime64("2024-01-01"), np.datetime64("2024-03-01"))
    assert "from 2024-01-01 to 2024-03-01" in describe(ax)
    assert "2024-02-01 (1.975e+04, 2)" in describe(ax)
    assert '"rise" rises from (2024-01-01, 1) to (2024-02-01, 2)' in alt_text(ax)
