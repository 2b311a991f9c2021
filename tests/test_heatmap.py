import io
import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import attention_steps
from attention_lib.figures import alt_text, describe
from attention_lib.heatmap import KINDS as KINDS_OF
from attention_lib.heatmap import WIDEST, legible_size, plot_heatmap, plot_heatmaps, plot_steps
from attention_lib.query_picture import plot_query

pytestmark = pytest.mark.usefixtures("drawing")

KINDS = ["weights", "scores", "values"]
HIDDEN = {"weights": "hidden (weight 0)", "scores": "hidden (score -inf)", "values": "hidden"}
NOT_A_NUMBER = "not a number"
READABLE = 4.5  # contrast that text needs

SHAPES = [(1, 1), (1, 4), (4, 1), (12, 3), (3, 40)]

AWKWARD = {
    "mathematics": ["$$", "$x_1$", "US$5", "x_1^2", r"$\foo$", "a$b$c", "$", "100%", "#", "\\"],
    "markup": ["<pad>", "[CLS]", "<|endoftext|>", "&amp;", "{x}"],
    "Chinese and Japanese": ["猫", "が", "好き", "注意力"],
    "Arabic and Hebrew": ["قطة", "חתול", "\u202eabc"],
    "emoji": ["🐈", "👩‍👩‍👧", "🇩🇪", "❤️"],
    "combining": ["e\u0301", "\u0301", "Z" + "\u0335" * 30, "ක්‍ෂ", "नि"],
    "control": ["\x00", "\n", "a\nb", "\t", "\r\n", "\x1b[0m", "\x85", "\u2028"],
    "invisible": ["\u200b", "\u200d", "\ufeff", "\xad", "\u2060"],
    "empty and blank": ["", " ", "   ", "\xa0", "\u3000", " the", "the "],
    "lone surrogates": ["\ud800", "\udfff", "a\udc80b"],
    "private and unassigned": ["\ue000", "\U0010ffff", "\u0378", "\ufffe"],
    "not strings": [0, 1.5, None, b"the", np.str_("the")],
}


def rendered(figure):
    """Return the pixels of a figure: (height, width, RGBA), from 0 to 1."""
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()) / 255


def saved(figure):
    """Return the pixels of a figure as a file gets them."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    buffer.seek(0)
    return plt.imread(buffer)


def cells(M, **options):
    """Draw a matrix on axes that are there already, without a colour bar: all that is quick."""
    ax = plt.figure(figsize=(4, 4)).add_axes((0.2, 0.2, 0.6, 0.6))
    return plot_heatmap(M, ax=ax, **{"colorbar": False} | options)


def cell_pixels(ax):
    """Return the pixels of each cell, by where it is on the page: from the top left."""
    pixels = rendered(ax.get_figure(root=True))
    box = ax.get_window_extent()
    n_rows, n_columns = ax.images[0].get_array().shape
    x = np.linspace(box.x0, box.x1, n_columns + 1)
    y = len(pixels) - np.linspace(box.y1, box.y0, n_rows + 1)
    inner = [[slice(round(a) + 4, round(b) - 3) for a, b in itertools.pairwise(v)] for v in (y, x)]
    return [[pixels[rows, columns, :3] for columns in inner[1]] for rows in inner[0]]


def cell_colours(ax):
    """Return the colour in the corner of each cell, where no number is: (rows, columns, RGB)."""
    return np.array([[cell[0, 0] for cell in row] for row in cell_pixels(ax)])


def patterned(ax):
    """Return which cells have more than one colour."""
    return np.array(
        [[np.ptp(cell, axis=(0, 1)).max() > 0.05 for cell in row] for row in cell_pixels(ax)]
    )


def luminance(colours):
    colours = np.asarray(colours, dtype=float)
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def texts(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def notes(ax):
    return (
        [] if ax.get_legend() is None else [text.get_text() for text in ax.get_legend().get_texts()]
    )


def limits(ax):
    return ax.images[0].norm.vmin, ax.images[0].norm.vmax


def bars(figure):
    """Return the quantity of every colour bar in a figure: its label without what the hues mean."""
    return [label.splitlines()[0] for label in labels_of_bars(figure)]


def labels_of_bars(figure):
    images = [image for ax in figure.axes for image in ax.images]
    return [image.colorbar.ax.get_ylabel() for image in images if image.colorbar is not None]


def panels(figure):
    return [ax for ax in figure.axes if ax.images]


def words_outside_cells(figure):
    """Return every text of a figure that is not the number of a cell."""
    numbers = {text for ax in figure.axes for text in ax.texts}
    found = figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible())
    return [text for text in found if text.get_text() and text not in numbers]


def assert_nothing_is_cut_off(figure):
    pixels = rendered(figure)
    background = pixels[0, 0]
    for edge in (pixels[:3], pixels[-3:], pixels[:, :3], pixels[:, -3:]):
        assert_allclose(edge, np.broadcast_to(background, edge.shape), atol=0.01)


def assert_labels_do_not_overlap(ax):
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(lower.y1 <= upper.y0 for upper, lower in itertools.pairwise(boxes))
    labels = ax.get_xticklabels()
    if labels[0].get_rotation() == 0:
        boxes = [label.get_window_extent() for label in labels]
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
        return
    anchors = [ax.transData.transform((label.get_position()[0], 0))[0] for label in labels]
    apart = np.diff(anchors) * math.sin(math.radians(labels[0].get_rotation()))
    for label in labels:
        label.set_rotation(0)  # lying flat, a line of text is as high as it is
    assert max(label.get_window_extent().height for label in labels) <= apart.min()


def some_steps(n_q=2, n_k=3, d_v=2, scale=None):
    draw = np.random.default_rng(0).normal
    return attention_steps(
        draw(size=(n_q, 4)), draw(size=(n_k, 4)), draw(size=(n_k, d_v)), scale=scale
    )


# Rows and columns


def test_rows_are_queries_and_columns_are_keys():
    ax = plot_heatmap([[1, 0, 0], [0, 0, 1]], queries=["q0", "q1"], keys=["k0", "k1", "k2"])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("Query", "Key")
    assert texts(ax.yaxis) == ["q0", "q1"]
    assert texts(ax.xaxis) == ["k0", "k1", "k2"]
    ax.figure.draw_without_rendering()
    q0, q1 = (label.get_window_extent() for label in ax.get_yticklabels())
    k0, k1, k2 = (label.get_window_extent() for label in ax.get_xticklabels())
    assert q0.y0 > q1.y1
    assert k0.x1 < k1.x0 < k1.x1 < k2.x0


@pytest.mark.parametrize("place", list(np.ndindex(2, 3)))
def test_strongest_weight_is_the_dark_cell(place):
    A = np.zeros((2, 3))
    A[place] = 1
    dark = luminance(cell_colours(cells(A, numbers=False)))
    assert np.unravel_index(dark.argmin(), dark.shape) == place
    assert (dark < 0.1).sum() == 1


def test_axes_can_be_titled_otherwise():
    ax = cells([[0.5]], ylabel="Temperature", xlabel="Value dimension", title="A row")
    assert (ax.get_ylabel(), ax.get_xlabel(), ax.get_title()) == (
        "Temperature",
        "Value dimension",
        "A row",
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_every_row_and_column_is_whole(shape):
    ax = cells(np.zeros(shape))
    assert ax.get_ylim() == (shape[0] - 0.5, -0.5)
    assert ax.get_xlim() == (-0.5, shape[1] - 0.5)
    assert_allclose(ax.images[0].get_extent(), (-0.5, shape[1] - 0.5, shape[0] - 0.5, -0.5))


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1), (2, 3), (5, 5), (12, 12)])
def test_position_i_has_label_i(shape):
    queries, keys = ([f"{name}{i}" for i in range(n)] for name, n in zip("qk", shape, strict=True))
    ax = plot_heatmap(np.zeros(shape), queries=queries, keys=keys)
    assert_array_equal(ax.get_yticks(), range(shape[0]))
    assert_array_equal(ax.get_xticks(), range(shape[1]))
    assert texts(ax.yaxis) == queries
    assert texts(ax.xaxis) == keys
    middles = np.arange(shape[1]) + 0.5
    box = ax.get_window_extent()
    anchors = [ax.transData.transform((tick, 0))[0] for tick in ax.get_xticks()]
    assert_allclose(anchors, box.x0 + middles * box.width / shape[1])


def test_positions_count_from_zero_where_there_are_no_labels():
    ax = cells(np.zeros((2, 3)))
    assert texts(ax.yaxis) == ["0", "1"]
    assert texts(ax.xaxis) == ["0", "1", "2"]


def test_equal_tokens_stay_apart():
    tokens = ["the", "cat", "the", "<pad>", "<pad>"]
    ax = cells(np.eye(5), queries=tokens, keys=tokens, numbers=False)
    assert_array_equal(ax.get_yticks(), range(5))
    assert_array_equal(ax.get_xticks(), range(5))
    assert texts(ax.yaxis) == texts(ax.xaxis) == tokens
    assert_array_equal(luminance(cell_colours(ax)) < 0.5, np.eye(5))


@pytest.mark.parametrize("given_as", [tuple, np.array, iter, lambda labels: dict.fromkeys(labels)])
def test_labels_come_in_any_container(given_as):
    ax = cells(np.zeros((1, 3)), keys=given_as(["a", "b", "c"]))
    assert texts(ax.xaxis) == ["a", "b", "c"]


# Tokens


@pytest.mark.parametrize("tokens", AWKWARD.values(), ids=AWKWARD)
def test_awkward_tokens_are_drawn_without_error_or_warning(tokens, caplog):
    M = np.zeros((len(tokens), len(tokens)))
    ax = cells(M, queries=tokens, keys=tokens, numbers=False)
    saved(ax.figure)
    assert not caplog.records
    assert len(texts(ax.yaxis)) == len(texts(ax.xaxis)) == len(tokens)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        assert label.get_window_extent().width > 1


@pytest.mark.parametrize("what", ["mathematics", "markup"])
def test_tokens_are_drawn_literally(what, monkeypatch):
    def parse(*arguments, **options):
        raise AssertionError("read as mathematics")

    monkeypatch.setattr(MathTextParser, "parse", parse)
    tokens = AWKWARD[what]
    ax = cells(np.zeros((len(tokens), len(tokens))), queries=tokens, keys=tokens)
    rendered(ax.figure)
    assert texts(ax.yaxis) == texts(ax.xaxis) == tokens


@pytest.mark.long
@settings(max_examples=15)
@given(st.lists(st.text(max_size=20), min_size=8, max_size=8))
def test_any_text_is_a_token(tokens):
    ax = cells(np.zeros((8, 8)), queries=tokens, keys=tokens[::-1], numbers=False)
    ax.figure.canvas.draw()
    assert texts(ax.yaxis) == texts(ax.xaxis)[::-1]
    assert all(texts(ax.yaxis))
    plt.close(ax.figure)


@pytest.mark.parametrize("token", ["internationalization", "a" * 60])
def test_long_tokens_are_shortened(token):
    ax = cells(np.eye(3), queries=[token] * 3, keys=[token] * 3)
    for shown in texts(ax.yaxis) + texts(ax.xaxis):
        assert shown.endswith("…")
        assert len(shown) <= 14
        assert token.startswith(shown[:-1])


def test_short_labels_lie_flat_in_the_middle_of_their_column():
    ax = plot_heatmap(np.eye(4), keys=["a", "cat", "sat", "."])
    ax.figure.draw_without_rendering()
    for j, label in enumerate(ax.get_xticklabels()):
        assert label.get_rotation() == 0
        box = label.get_window_extent()
        assert (box.x0 + box.x1) / 2 == pytest.approx(ax.transData.transform((j, 0))[0], abs=1.5)


@pytest.mark.parametrize("token", ["quietly and", "WWWWWWW", "internationalization"])
def test_slanted_label_ends_at_its_own_column(token):
    ax = plot_heatmap(np.eye(5), keys=[token] * 5)
    rendered(ax.figure)
    left, right = ax.transData.transform([(0, 0), (1, 0)])[:, 0]
    for j, label in enumerate(ax.get_xticklabels()):
        assert 0 < label.get_rotation() < 90
        assert (label.get_ha(), label.get_rotation_mode()) == ("right", "anchor")
        end = label.get_window_extent().x1
        assert abs(end - (left + j * (right - left))) < 0.35 * (right - left)


@pytest.mark.parametrize("token", ["a", "night", "quietly an", "WWWWW", "gjpqyÅ"])
@pytest.mark.parametrize("n", [5, 30])
def test_labels_do_not_overlap(token, n):
    ax = plot_heatmap(np.zeros((n, n)), queries=[token] * n, keys=[token] * n, numbers=False)
    assert_labels_do_not_overlap(ax)


@pytest.mark.parametrize("token", ["night", "quietly an", "WWWWW"])
def test_labels_do_not_overlap_in_a_figure_of_ones_own(token):
    _, axes = plt.subplots(1, 2)
    plot_heatmap(np.eye(6), keys=[token] * 6, ax=axes[0], colorbar=False)
    plot_heatmap(np.zeros((40, 40)), keys=[token] * 40, ax=axes[1], colorbar=False)
    for ax in axes:
        assert_labels_do_not_overlap(ax)


@pytest.mark.parametrize(("n", "fontsize"), [(60, 6), (60, 10), (60, 20), (200, 10)])
def test_many_labels_thin_out_evenly(n, fontsize):
    plt.rcParams["font.size"] = fontsize
    tokens = [f"token{i}" for i in range(n)]
    ax = plot_heatmap(np.zeros((n, n)), queries=tokens, keys=tokens)
    for axis in (ax.xaxis, ax.yaxis):
        every = int(axis.get_ticklocs()[1])
        assert_array_equal(axis.get_ticklocs(), np.arange(0, n, every))
        assert texts(axis) == tokens[::every]
    assert_labels_do_not_overlap(ax)


@pytest.mark.parametrize("n", [12, 20, 40])
def test_no_row_loses_its_label_where_there_is_room(n):
    assert len(texts(plot_heatmap(np.zeros((n, n))).yaxis)) == n


# Cells without a number


@pytest.mark.parametrize("kind", ["weights", "scores"])
@pytest.mark.parametrize(
    ("M", "expected"),
    [
        ([[math.nan, 0.2], [-math.inf, 0.8]], ["hidden", NOT_A_NUMBER]),
        ([[0.5, -math.inf], [0.5, 0.5]], ["hidden"]),
        ([[0.5, 0.2], [math.nan, 0.8]], [NOT_A_NUMBER]),
        ([[0.5, 0.2], [math.inf, 0.8]], [NOT_A_NUMBER]),
        ([[-math.inf, -math.inf, 0.1]], ["hidden"]),
        ([[-math.inf, -math.inf]], ["hidden"]),
        ([[math.nan], [math.nan]], [NOT_A_NUMBER]),
        (np.where(np.tri(6, dtype=bool), 0.3, -math.inf), ["hidden"]),
        ([[0.5, 0.2], [0.1, 0.8]], []),
    ],
)
def test_cell_without_a_finite_number_is_hatched_and_explained(M, expected, kind):
    M = np.array(M)
    ax = cells(M, kind=kind)
    assert notes(ax) == [HIDDEN[kind] if note == "hidden" else note for note in expected]
    numbered = {text.get_position() for text in ax.texts}
    assert numbered == {(j, i) for i, j in zip(*np.nonzero(np.isfinite(M)), strict=True)}
    ax = cells(M, kind=kind, numbers=False)
    assert_array_equal(patterned(ax), ~np.isfinite(M))


@pytest.mark.parametrize("kind", KINDS)
def test_hidden_cell_is_grey_and_a_small_number_is_not(kind):
    ((hidden, small, _),) = cell_pixels(cells([[-math.inf, 0.001, 1]], kind=kind, numbers=False))
    assert np.ptp(hidden, axis=-1).max() < 0.01
    assert luminance(hidden.mean(axis=(0, 1))) < luminance(small.mean(axis=(0, 1))) - 0.2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mask", [[[True, False]], [[0.0, -math.inf]], [True, False]])
def test_cells_hidden_by_a_mask_look_like_those_hidden_by_their_score(kind, mask):
    masked = cells([[0.5, 0.0]], kind=kind, mask=mask)
    assert notes(masked) == [HIDDEN[kind]]
    assert [text.get_position() for text in masked.texts] == [(0, 0)]
    assert_array_equal(
        rendered(masked.figure), rendered(cells([[0.5, -math.inf]], kind=kind).figure)
    )


def test_weights_that_leak_through_a_mask_are_shown():
    ax = cells([[0.5, 0.2, 0.0]], mask=[[True, False, False]])
    assert [text.get_text() for text in ax.texts] == ["0.50", "0.20"]
    assert notes(ax) == [HIDDEN["weights"]]
    assert describe(ax).splitlines()[4] == "  0: 0.500 0.200 hidden"


def test_scores_under_a_mask_are_not_shown_nor_counted_for_the_colours():
    ax = cells([[0.5, 9.0]], kind="scores", mask=[[True, False]])
    assert [text.get_text() for text in ax.texts] == ["0.50"]
    assert limits(ax) == (-0.5, 0.5)


def test_panels_share_one_mask():
    figure = plot_heatmaps({"a": [[0.5, 0.0]], "b": [[0.9, 0.1]]}, mask=[[True, False]])
    assert [notes(ax) for ax in panels(figure)] == [[HIDDEN["weights"]], []]


def test_mask_is_a_picture_of_open_and_hidden_cells():
    ax = plot_heatmap(np.tri(2, dtype=bool), kind="mask", title="causal")
    assert notes(ax) == ["may attend", "hidden"]
    assert not ax.texts
    assert not ax.child_axes
    ((first, hidden), (_, last)) = cell_pixels(cells(np.tri(2, dtype=bool), kind="mask"))
    assert_array_equal(first.mean(axis=(0, 1)), last.mean(axis=(0, 1)))
    assert np.ptp(hidden, axis=-1).max() < 0.01 < np.ptp(first, axis=-1).min()
    assert describe(ax).splitlines()[4:6] == ["  0: open hidden", "  1: open open"]
    assert alt_text(ax) == (
        'Mask "causal", rows Query, columns Key, 2 by 2: '
        "each query may attend to the key of its own position and to those before it."
    )


def test_alternative_of_a_large_mask_is_still_one_sentence():
    sentence = alt_text(plot_heatmap(np.tri(40, dtype=bool).T, kind="mask"))
    assert sentence == "Mask, rows Query, columns Key, 40 by 40: 820 of 1600 cells may attend."


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ([[True, False], [False, True]], "row by row: 1 1."),
        ([[True, False, True]] * 2, "every query may attend to the keys in columns 0 2 alone."),
        ([[True, True]], "every cell may attend."),
        ([[False, False]], "no cell may attend."),
    ],
)
def test_alternative_of_a_mask_says_who_sees_what(mask, words):
    assert alt_text(plot_heatmap(np.array(mask), kind="mask")).endswith(words)


def test_masks_with_nothing_or_everything_hidden_are_pictures_too():
    figure = plot_heatmaps({"all": [[True, True]], "none": [[False, False]]}, kind="mask")
    assert [notes(ax) for ax in panels(figure)] == [["may attend"], ["hidden"]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"M": [[1, 0]], "kind": "mask"},
            TypeError,
            r'kind "mask" .* boolean M.* int64 .*\(1, 2\)',
        ),
        ({"M": [[0.0, -math.inf]], "kind": "mask"}, TypeError, 'float64 .*kind="scores"'),
        ({"M": [[1, 0]], "mask": [[1, 0]]}, TypeError, r"mask must be boolean .* int64"),
        (
            {"M": [[1, 0]], "mask": np.ones((2, 3), bool)},
            ValueError,
            r"mask must fit M, .*\(2, 3\)",
        ),
        ({"M": [[1, 0]], "mask": np.ones((4, 1, 2), bool)}, ValueError, r"two axes.*mask\[0\]"),
    ],
)
def test_what_is_no_mask_for_the_matrix_is_refused(arguments, error, message):
    with pytest.raises(error, match=f"^plot_heatmap: .*{message}"):
        plot_heatmap(**arguments)
    assert plt.get_fignums() == []


def test_hidden_and_not_a_number_look_different():
    one, other = cell_pixels(cells([[-math.inf, math.nan]]))[0]
    assert abs(one.mean() - other.mean()) > 0.02


@pytest.mark.parametrize("missing", [math.nan, math.inf, -math.inf])
def test_cell_without_a_finite_number_leaves_the_colours_alone(missing):
    M = [[missing, 0.2], [0.1, 0.8]]
    assert limits(cells(M)) == (0, 1)
    assert limits(cells(M, kind="scores")) == (-0.8, 0.8)
    figure = plot_heatmaps({"a": M, "b": [[0.5, 0.5]]}, kind="values")
    assert [limits(ax) for ax in panels(figure)] == [(-0.8, 0.8)] * 2


def test_title_stands_clear_of_the_notes():
    for M in ([[-math.inf, 1]], [[-math.inf, math.nan]]):
        ax = plot_heatmap(M, title="Scores")
        ax.figure.draw_without_rendering()
        assert ax.title.get_window_extent().y0 >= ax.get_legend().get_window_extent().y1 - 1
        assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1 - 1


# Colours


@pytest.mark.parametrize(
    "M", [[[0.2, 0.3]], [[0, 0]], [[1, 1]], [[0, 5]], [[-1, 0.5]], [[1e-9, 0]]]
)
def test_weights_always_run_from_0_to_1(M):
    assert limits(cells(M)) == (0, 1)


def test_weights_run_from_0_to_1_in_every_panel():
    figure = plot_heatmaps({"close": [[0.2, 0.3]], "apart": [[0, 1]], "beyond": [[0, 5]]})
    assert [limits(ax) for ax in panels(figure)] == [(0, 1)] * 3


@pytest.mark.parametrize("kind", ["scores", "values"])
@pytest.mark.parametrize(
    ("M", "limit"),
    [([[1, -3]], 3), ([[2, 1]], 2), ([[-4, -2]], 4), ([[0, 0]], 1), ([[1e-9, 0]], 1e-9)],
)
def test_signed_colours_are_symmetric_about_0(kind, M, limit):
    assert limits(cells(M, kind=kind)) == (-limit, limit)
    assert limits(cells(M, kind=kind, limit=7)) == (-7, 7)


def test_darker_weights_are_stronger():
    weights = np.linspace(0, 1, 41)[np.newaxis]
    (dark,) = luminance(cell_colours(plot_heatmap(weights)))
    assert (np.diff(dark) < 0).all()
    assert dark[0] > 0.85
    assert dark[-1] < 0.01


@pytest.mark.parametrize("kind", ["scores", "values"])
def test_signed_colours_meet_in_white_at_0(kind):
    (colours,) = cell_colours(plot_heatmap(np.linspace(-1, 1, 31)[np.newaxis], kind=kind))
    light = luminance(colours)
    assert light.argmax() == 15
    assert light[15] > 0.9
    assert (np.diff(light[:16]) > 0).all()
    assert (np.diff(light[15:]) < 0).all()
    red_over_blue = colours[:, 0] - colours[:, 2]
    assert (red_over_blue[20:] > 0.1).all()
    assert (red_over_blue[:11] < -0.1).all()


def test_equal_numbers_have_equal_colours_in_compared_panels():
    figure = plot_heatmaps({"a": [[1, 2]], "b": [[1, 8]]}, kind="scores")
    (one, _), (same, _) = (cell_colours(ax)[0] for ax in panels(figure))
    assert_allclose(one, same)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_can_be_read_on_every_colour(kind):
    low = 0 if kind == "weights" else -1
    for values in np.split(np.linspace(low, 1, 288), 2):
        limit = None if kind == "weights" else 1
        ax = cells(values.reshape(12, 12), kind=kind, limit=limit, numbers=True)
        colours = cell_colours(ax)
        assert len(ax.texts) == 144
        for text in ax.texts:
            column, row = text.get_position()
            assert text.get_color() in ("black", "white")
            assert contrast(to_rgb(text.get_color()), colours[row, column]) >= READABLE


@pytest.mark.parametrize(
    ("kind", "quantity"),
    [("weights", "attention weight"), ("scores", "score (before softmax)"), ("values", "value")],
)
def test_one_colour_bar_names_the_quantity(kind, quantity):
    assert bars(plot_heatmap([[0.5, 0.5]], kind=kind).figure) == [quantity]
    assert bars(plot_heatmaps({"a": [[0.5]], "b": [[1]], "c": [[0]]}, kind=kind)) == [quantity]
    assert bars(plot_heatmap([[0.5, 0.5]], kind=kind, colorbar=False).figure) == []


def test_colour_bar_is_as_tall_as_the_cells():
    for shape in [(2, 2), (2, 8), (8, 2), (3, 40)]:
        ax = plot_heatmap(np.zeros(shape))
        ax.figure.draw_without_rendering()
        bar = ax.images[0].colorbar.ax.get_window_extent()
        cells = ax.get_window_extent()
        assert (bar.y0, bar.y1) == pytest.approx((cells.y0, cells.y1), abs=1)
        assert bar.x0 > cells.x1


@pytest.mark.parametrize(
    ("M", "extend"),
    [([[3, 1]], "max"), ([[-3, 1]], "min"), ([[-3, 3]], "both"), ([[1, 0]], "neither")],
)
def test_colour_bar_tells_where_numbers_go_beyond_it(M, extend):
    assert plot_heatmap(M, kind="scores", limit=2).images[0].colorbar.extend == extend


# Numbers


def test_every_cell_of_a_small_matrix_shows_its_number():
    M = np.random.default_rng(1).random((5, 5))
    ax = cells(M)
    shown = {text.get_position(): text.get_text() for text in ax.texts}
    assert shown == {(j, i): f"{M[i, j]:.2f}" for i, j in np.ndindex(5, 5)}
    assert len(ax.texts) == 25


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (-0.004, "0.00"),
        (-0.0, "0.00"),
        (0, "0.00"),
        (-0.006, "-0.01"),
        (0.999, "1.00"),
        (12.3, "12.30"),
    ],
)
def test_number_is_rounded_to_two_decimals(number, shown):
    (text,) = cells([[number]], kind="scores").texts
    assert text.get_text() == shown


@pytest.mark.parametrize("shape", [(13, 1), (1, 13), (13, 13), (60, 60)])
def test_large_matrix_shows_no_numbers(shape):
    assert cells(np.zeros(shape)).texts[:] == []


@pytest.mark.parametrize(
    ("shape", "numbers", "count"),
    [
        ((7, 7), None, 49),
        ((10, 10), None, 0),  # in so small a figure they could not be read
        ((12, 12), True, 144),
        ((1, 7), None, 7),
        ((2, 2), False, 0),
        ((13, 2), True, 26),
    ],
)
def test_numbers_can_be_asked_for(shape, numbers, count):
    assert len(cells(np.zeros(shape), numbers=numbers).texts) == count


@pytest.mark.parametrize("number", [-64.5, 999.99, -9999.99, -1e9, 1e300])
def test_number_fits_into_its_cell(number):
    n = 12
    figure = plot_heatmaps({"a": np.full((1, n), number), "b": np.zeros((1, n))}, kind="scores")
    ax = panels(figure)[0]
    figure.draw_without_rendering()
    text = ax.texts[-1]
    box = text.get_window_extent()
    (x0, y0), (x1, y1) = ax.transData.transform([(n - 1.5, 0.5), (n - 0.5, -0.5)])
    assert x0 < box.x0 < box.x1 < x1
    assert y0 < box.y0 < box.y1 < y1
    assert float(text.get_text()) == pytest.approx(number, rel=0.05)


# Size


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("long", [False, True], ids=["bare", "long labels, title and notes"])
def test_everything_is_inside_the_figure(shape, long):
    M = np.zeros(shape)
    options = {}
    if long:
        M[-1, -1], M[0, 0] = -math.inf, math.nan
        options = {
            "queries": ["internationalization"] * shape[0],
            "keys": ["W" * 60] * shape[1],
            "title": "A title that is longer than the matrix is wide",
        }
    assert_nothing_is_cut_off(plot_heatmap(M, **options).figure)


@pytest.mark.parametrize("dpi", [50, 200])
def test_everything_is_inside_the_figure_at_every_resolution(dpi):
    plt.rcParams["figure.dpi"] = dpi
    plt.rcParams["savefig.dpi"] = 100
    figure = plot_heatmap(np.eye(5), queries=["quietly"] * 5, keys=["international"] * 5).figure
    assert_nothing_is_cut_off(figure)


@pytest.mark.parametrize("shapes", [[(1, 1)] * 3, [(2, 9), (7, 1)], [(30, 30)] * 2])
def test_everything_is_inside_the_figure_of_several_panels(shapes):
    figure = plot_heatmaps({f"panel {i}, with a title": np.zeros(s) for i, s in enumerate(shapes)})
    assert_nothing_is_cut_off(figure)


@pytest.mark.parametrize(
    ("sizes", "title"),
    [
        ((1, 1, 1), "A title " * 12),
        ((1, 1, 1), "Two\nlines"),
        ((3, 3, 2), "Steps"),
        ((2, 15, 1), None),
    ],
)
def test_everything_is_inside_the_figure_of_the_steps(sizes, title):
    figure = plot_steps(some_steps(*sizes), title=title)
    assert_nothing_is_cut_off(figure)
    if title is not None:
        heading = next(text for text in figure.texts if text.get_text() == title)
        for ax in panels(figure):
            assert heading.get_window_extent().y0 > ax.title.get_window_extent().y1


def test_panels_do_not_overlap():
    figure = plot_steps(some_steps(5, 9, 3), queries=["internationalization"] * 5)
    figure.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in panels(figure)]
    for one, other in itertools.combinations(boxes, 2):
        assert one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0


def test_larger_matrix_has_a_larger_figure_up_to_a_page():
    small, middle, large = (
        plot_heatmap(np.zeros((n, n))).figure.get_size_inches() for n in (2, 8, 200)
    )
    assert (small < middle).all()
    assert (middle < large).all()
    assert (large < 11).all()


@pytest.mark.long
@pytest.mark.parametrize("pattern", ["all", "half", "chessboard"])
def test_200_tokens_are_drawn_with_few_artists(pattern):
    """A patch for each of 20 000 hidden cells would take minutes."""
    rows, columns = np.indices((200, 200))
    seen = {"all": rows >= 0, "half": rows >= columns, "chessboard": (rows + columns) % 2 == 0}
    ax = plot_heatmap(np.where(seen[pattern], 0.1, -math.inf))
    rendered(ax.figure)
    assert len(ax.get_children()) < 30


# Several panels


def test_panels_stand_side_by_side_in_order():
    tokens = ["a", "b", "c"]
    figure = plot_heatmaps({"one": np.eye(3), "two": np.zeros((3, 3))}, queries=tokens, keys=tokens)
    one, two = panels(figure)
    assert (one.get_title(), two.get_title()) == ("one", "two")
    assert_array_equal(one.images[0].get_array(), np.eye(3))
    assert_array_equal(two.images[0].get_array(), np.zeros((3, 3)))
    assert one.get_window_extent().x1 < two.get_window_extent().x0
    for ax in (one, two):
        assert texts(ax.xaxis) == tokens
        assert (ax.get_ylabel(), ax.get_xlabel()) == ("Query", "Key")
    assert texts(one.yaxis) == tokens


def test_panels_with_the_same_rows_label_them_once():
    figure = plot_heatmaps({"one": np.eye(3), "two": np.eye(3)}, queries=["a", "b", "c"])
    one, two = panels(figure)
    assert [ax.yaxis.label.get_visible() for ax in (one, two)] == [True, False]
    assert (texts(one.yaxis), texts(two.yaxis)) == (["a", "b", "c"], [])
    assert describe(figure).count("rows: a | b | c") == 2


def test_panels_with_other_rows_have_labels_of_their_own():
    one, two = panels(plot_heatmaps({"one": np.eye(2), "two": np.eye(3)}))
    assert (texts(one.yaxis), texts(two.yaxis)) == (["0", "1"], ["0", "1", "2"])


@pytest.mark.parametrize("kind", ["scores", "values"])
def test_panels_share_the_largest_limit(kind):
    matrices = {"a": [[0.5, -1]], "b": [[-9, 2]], "c": [[3, 3]]}
    assert [limits(ax) for ax in panels(plot_heatmaps(matrices, kind=kind))] == [(-9, 9)] * 3
    assert [limits(ax) for ax in panels(plot_heatmaps(matrices, kind=kind, limit=4))] == [
        (-4, 4)
    ] * 3


def test_panels_can_be_titled_otherwise():
    figure = plot_heatmaps({"a": [[1]]}, ylabel="Temperature", xlabel="Token")
    assert [(ax.get_ylabel(), ax.get_xlabel()) for ax in panels(figure)] == [
        ("Temperature", "Token")
    ]


def test_steps_are_drawn_in_order():
    steps = some_steps(3, 4, 2)
    figure = plot_steps(steps, queries=["a", "b", "c"], keys=["k", "l", "m", "n"], title="Steps")
    drawn = panels(figure)
    titles = ["1. scores S", "2. scaled scores S_scaled", "3. weights A", "4. output A V"]
    assert [ax.get_title() for ax in drawn] == titles
    for ax, step in zip(drawn, steps, strict=True):
        assert_allclose(ax.images[0].get_array(), step)
        assert texts(ax.yaxis) == ["a", "b", "c"]
        assert ax.get_ylabel() == "Query"
    assert [ax.get_xlabel() for ax in drawn] == ["Key", "Key", "Key", "Feature"]
    assert [texts(ax.xaxis) for ax in drawn] == [["k", "l", "m", "n"]] * 3 + [["0", "1"]]
    assert figure.get_suptitle() == "Steps"


@pytest.mark.parametrize("scale", [None, 3.0, -3.0])
def test_scores_and_scaled_scores_share_one_limit(scale):
    steps = some_steps(scale=scale)
    largest = max(abs(steps.S).max(), abs(steps.S_scaled).max())
    S, S_scaled, A, output = panels(plot_steps(steps))
    assert limits(S) == limits(S_scaled) == pytest.approx((-largest, largest))
    assert limits(A) == (0, 1)
    assert limits(output) == pytest.approx((-abs(steps.output).max(), abs(steps.output).max()))


def test_steps_have_one_colour_bar_per_quantity():
    assert bars(plot_steps(some_steps())) == ["score (before softmax)", "attention weight", "value"]


def test_hidden_scores_look_hidden_among_the_steps():
    figure = plot_steps(attention_steps(np.eye(2), np.eye(2), np.eye(2), causal=True))
    assert [notes(ax) for ax in panels(figure)] == [
        [],
        [HIDDEN["scores"]],
        [HIDDEN["weights"]],
        [],
    ]


# The figure and its surroundings


@pytest.mark.parametrize("background", ["none", (1, 1, 1, 0.5)])
@pytest.mark.parametrize("ink", ["black", "white"])
def test_background_is_opaque_and_labels_can_be_read_on_it(background, ink):
    inks = ["text.color", "axes.labelcolor", "xtick.color", "ytick.color"]
    plt.rcParams.update({"figure.facecolor": background} | dict.fromkeys(inks, ink))
    figure = plot_heatmap([[0.5, -math.inf]], title="A").figure
    pixels = saved(figure)
    assert pixels[..., 3].min() == 1
    words = words_outside_cells(figure)
    assert {"A", "Query", "Key", "attention weight", HIDDEN["weights"]} < {
        text.get_text() for text in words
    }
    for text in words:
        assert contrast(to_rgb(text.get_color()), pixels[0, 0, :3]) >= READABLE


STYLES = [
    "default",
    "dark_background",
    "ggplot",
    "classic",
    "fivethirtyeight",
]


@pytest.mark.parametrize("style", STYLES)
def test_figure_is_right_in_every_style(style):
    with plt.style.context(style):
        M = [[0.5, 0.2, -math.inf], [0.1, 0.9, 0.0]]
        ax = plot_heatmap(M, numbers=False, title="A", keys=["the", "cat", "internationalization"])
        assert_array_equal(patterned(ax), ~np.isfinite(M))  # no grid in the cells
        assert_labels_do_not_overlap(ax)
        assert_nothing_is_cut_off(ax.figure)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_words_can_be_read_in_every_theme(style):
    with plt.style.context(style):
        figure = plot_heatmap([[0.5, -math.inf, math.nan]], title="A").figure
        background = rendered(figure)[0, 0, :3]
    words = words_outside_cells(figure)
    assert {"A", "Query", "Key", "attention weight", HIDDEN["weights"], "0.5"} < {
        text.get_text() for text in words
    }
    for text in words:
        assert contrast(to_rgb(text.get_color()), background) >= READABLE


@pytest.mark.parametrize("setting", ["figure.autolayout", "figure.constrained_layout.use"])
def test_layout_settings_do_not_disturb(setting):
    plt.rcParams[setting] = True
    assert_nothing_is_cut_off(plot_heatmap(np.eye(5), keys=["international"] * 5).figure)


DRAWINGS = {
    "plot_heatmap": lambda: plot_heatmap(
        [[0.5, -math.inf], [0.2, 0.3]], keys=["猫", "$"], title="A"
    ),
    "plot_heatmaps": lambda: plot_heatmaps({"a": [[1, 2]], "b": [[3, 4]]}, kind="scores"),
    "plot_steps": lambda: plot_steps(some_steps(1, 1, 1), title="Steps"),
    "plot_heatmap on axes": lambda: plot_heatmap([[0.5, 0.5]], ax=plt.subplots()[1]),
}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_drawing_leaves_settings_as_they_were(draw):
    before = dict(plt.rcParams)
    draw()
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_showing_is_left_to_the_caller(draw, monkeypatch):
    def show(*arguments, **options):
        raise AssertionError("shown")

    monkeypatch.setattr(plt, "show", show)
    monkeypatch.setattr(plt, "pause", show)
    monkeypatch.setattr("matplotlib.figure.Figure.show", show)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", show)
    draw()
    assert len(plt.get_fignums()) == 1


def test_each_call_makes_a_figure_of_its_own():
    one, other = plot_heatmap([[1]]), plot_heatmap([[1]])
    assert isinstance(one, plt.Axes)
    assert one.figure is not other.figure
    assert isinstance(plot_heatmaps({"a": [[1]]}), plt.Figure)
    assert isinstance(plot_steps(some_steps()), plt.Figure)
    assert len(plt.get_fignums()) == 4


def test_given_axes_are_drawn_on_and_returned():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    assert plot_heatmap([[0.1, 0.9]], ax=left, title="A") is left
    assert len(left.images) == 1
    assert not right.has_data()
    assert plt.get_fignums() == [figure.number]
    assert plt.gca() is right
    assert figure.get_size_inches().tolist() == [9, 4]
    assert bars(figure) == ["attention weight"]


@pytest.mark.parametrize(
    ("layout", "share"),
    [(None, True), ("constrained", False), ("tight", False)],
)
def test_panels_fit_into_subplots_of_ones_own(layout, share):
    figure, axes = plt.subplots(2, 2, layout=layout, sharex=share, sharey=share)
    for ax, kind in zip(axes.flat, [*KINDS, "scores"], strict=True):
        assert plot_heatmap(np.eye(3), kind=kind, ax=ax, keys=["a", "b", "c"]) is ax
    rendered(figure)
    assert len(bars(figure)) == 4
    assert all(texts(ax.xaxis) == ["a", "b", "c"] for ax in axes[-1])


def test_panels_fit_into_subfigures():
    figure = plt.figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subfigures(1, 2)
    for part, keys in ((left, ["a", "b"]), (right, ["$$", "猫"])):
        ax = part.subplots()
        assert plot_heatmap([[0.1, 0.9]], keys=keys, ax=ax) is ax
    pixels = rendered(figure)
    assert bars(figure) == ["attention weight"] * 2
    middle = pixels.shape[1] // 2
    assert pixels[:, :middle, :3].min() < 0.2
    assert pixels[:, middle:, :3].min() < 0.2


# Input


@pytest.mark.parametrize("dtype", [bool, int, np.uint8, np.float16, np.float32, np.longdouble])
def test_matrix_of_any_real_numbers_is_drawn(dtype):
    ax = cells(np.array([[0, 1], [1, 0]], dtype=dtype))
    rendered(ax.figure)
    assert [text.get_text() for text in ax.texts] == ["0.00", "1.00", "1.00", "0.00"]


@settings(max_examples=20)
@given(arrays(float, array_shapes(min_dims=2, max_dims=2, max_side=4)), st.sampled_from(KINDS))
def test_any_matrix_is_drawn_without_a_warning(M, kind):
    ax = cells(M, kind=kind)
    ax.figure.canvas.draw()
    assert len(ax.texts) == np.isfinite(M).sum()
    plt.close(ax.figure)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_as_large_as_there_are_do_not_overflow(kind, dtype):
    largest = np.finfo(dtype).max
    M = np.array([[-largest, 1], [largest, np.finfo(dtype).tiny]], dtype=dtype)
    rendered(plot_heatmap(M, kind=kind).figure)


def test_input_is_neither_changed_nor_kept():
    M = np.array([[0.1, math.nan], [-math.inf, 0.4]])
    labels = ["a", " "]
    M.flags.writeable = False
    ax = cells(M, queries=labels, keys=labels)
    plot_heatmaps({"a": M}, queries=labels, keys=labels)
    assert labels == ["a", " "]
    M.flags.writeable = True
    M[0, 0] = 0.9
    assert ax.images[0].get_array()[0, 0] == 0.1


@pytest.mark.parametrize(
    ("M", "error", "message"),
    [
        (np.zeros((2, 3, 3)), ValueError, r"{} must have two axes, .* shape \(2, 3, 3\)\."),
        (np.zeros(3), ValueError, r"{} must have two axes, .* shape \(3,\)\."),
        (0.5, ValueError, r"{} must have two axes, .* shape \(\)\."),
        ([], ValueError, r"{} must have two axes, .* shape \(0,\)\."),
        (
            np.zeros((0, 3)),
            ValueError,
            r"{} must have at least one row and one column\. .*\(0, 3\)",
        ),
        (
            np.zeros((3, 0)),
            ValueError,
            r"{} must have at least one row and one column\. .*\(3, 0\)",
        ),
        ([["a", "b"]], TypeError, "{} must hold real numbers"),
        ("weights", TypeError, "{} must hold real numbers"),
        ([[1j]], TypeError, "{} must hold real numbers"),
        ([[None]], TypeError, "{} must hold real numbers"),
        ([[1, 2], [3]], ValueError, "{} must be a rectangular array"),
    ],
)
def test_what_is_not_a_matrix_of_numbers_is_refused(M, error, message):
    with pytest.raises(error, match="^plot_heatmap: " + message.format("M")):
        plot_heatmap(M)
    with pytest.raises(error, match="^plot_heatmaps: " + message.format("'panel'")):
        plot_heatmaps({"first": [[1]], "panel": M})
    for name in ("S", "S_scaled", "A", "output"):
        with pytest.raises(error, match="^plot_steps: " + message.format(name)):
            plot_steps(some_steps()._replace(**{name: M}))
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queries": ["a"]}, r"queries needs one label per row\. Got 1 labels .* for 2 rows"),
        ({"queries": ["a", "b", "c"]}, r"queries needs one label per row\. Got 3 labels"),
        ({"keys": ["a", "b"]}, r"keys needs one label per column\. Got 2 labels .* for 3 columns"),
        ({"keys": []}, r"keys needs one label per column\. Got 0 labels"),
        ({"keys": "cat"}, r"keys needs one label per column\. .*Split the string"),
        ({"queries": "it"}, r"queries needs one label per row\. .*Split the string"),
    ],
)
def test_labels_that_do_not_match_are_refused(options, message):
    with pytest.raises(ValueError, match=f"^plot_heatmap: {message}"):
        plot_heatmap(np.zeros((2, 3)), **options)
    with pytest.raises(ValueError, match=f"^plot_heatmaps: {message}"):
        plot_heatmaps({"a": np.zeros((2, 3))}, **options)
    with pytest.raises(ValueError, match=f"^plot_steps: {message}"):
        plot_steps(some_steps(2, 3), **options)
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "weight"}, ValueError, "kind must be one of 'weights', 'scores', 'values'"),
        ({"kind": None}, ValueError, "kind must be one of"),
        ({"limit": 1}, ValueError, "limit is for scores and values"),
        ({"kind": "scores", "limit": 0}, ValueError, "limit must be above 0"),
        ({"kind": "values", "limit": -2}, ValueError, "limit must be above 0"),
        ({"kind": "scores", "limit": math.nan}, ValueError, "limit must be finite"),
        ({"kind": "scores", "limit": math.inf}, ValueError, "limit must be finite"),
        ({"kind": "scores", "limit": "large"}, TypeError, "limit must be one number"),
        ({"kind": "scores", "limit": (-1, 1)}, TypeError, "limit must be one number"),
    ],
)
def test_unknown_kinds_and_limits_are_refused(options, error, message):
    with pytest.raises(error, match=f"^plot_heatmap: {message}"):
        plot_heatmap([[1]], **options)
    with pytest.raises(error, match=f"^plot_heatmaps: {message}"):
        plot_heatmaps({"a": [[1]]}, **options)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("nothing", [{}, [], [[0.5]], np.eye(2), None])
def test_panels_must_be_a_dict_with_an_entry(nothing):
    with pytest.raises(ValueError, match=r"^plot_heatmaps: panels must be a dict of titles"):
        plot_heatmaps(nothing)
    assert plt.get_fignums() == []


def test_refused_input_leaves_the_axes_empty():
    ax = plt.subplots()[1]
    with pytest.raises(ValueError, match=r"^plot_heatmap: keys"):
        plot_heatmap([[1, 2]], keys=["a"], ax=ax)
    assert not ax.has_data()


@pytest.mark.parametrize(
    ("draw", "rule"),
    [
        (
            lambda: plot_heatmap(np.eye(2), queries=5),
            "plot_heatmap: queries needs one label per row",
        ),
        (lambda: plot_steps(None), "plot_steps: steps must be what attention_steps returned"),
        (lambda: plot_steps((1, 2, 3, 4)), "plot_steps: steps must be .* Got tuple"),
    ],
)
def test_argument_of_another_kind_is_refused(draw, rule):
    with pytest.raises(TypeError, match=f"^{rule}"):
        draw()


def test_kind_that_no_dict_could_look_up_is_refused():
    with pytest.raises(
        ValueError, match=r"^plot_heatmap: kind must be one of .* Got \['weights'\]"
    ):
        plot_heatmap(np.eye(2), kind=["weights"])


# Read on a narrow page

LARGE = 60


def long_words(count):
    return ["W" * 30 + str(i) for i in range(count)]


def panels_of(count, shape, **options):
    rng = np.random.default_rng(0)
    return plot_heatmaps({f"head {i}": rng.random(shape) for i in range(count)}, **options)


def steps_of(n_q, n_k, d_v, **options):
    steps, V = some_steps(n_q, n_k, d_v), np.ones((n_k, d_v))
    return plot_steps(steps._replace(output=steps.A @ V), V, **options)


SOME_PANELS = [(2, 8), (2, LARGE), (3, 5), (4, 5), (5, 3), (7, 8), (12, 1), (12, 5), (12, 8)]
READ = {
    **{f"one {n}": lambda n=n: plot_heatmap(np.eye(n)).figure for n in (1, 5, 12, 13, LARGE)},
    "one, wide": lambda: plot_heatmap(np.zeros((2, LARGE))).figure,
    "one, long labels": lambda: (
        plot_heatmap(
            np.eye(12), queries=long_words(12), keys=long_words(12), title="A title " * 40
        ).figure
    ),
    "one, large numbers": lambda: plot_heatmap(np.full((12, 12), -1e300), kind="scores").figure,
    "one, notes": lambda: plot_heatmap([[math.nan, -math.inf]], title="long " * 30).figure,
    "mask": lambda: plot_heatmap(np.tri(LARGE, dtype=bool), kind="mask").figure,
    **{
        f"{count} panels of {n}": lambda count=count, n=n: panels_of(count, (n, n))
        for count, n in SOME_PANELS
    },
    "4 panels, other rows": lambda: plot_heatmaps(
        {f"{n} rows of something": np.zeros((n, 6)) for n in (2, 5, 8, 3)}, ylabel="A long title"
    ),
    "12 panels, long labels": lambda: panels_of(
        12, (8, 8), queries=long_words(8), keys=long_words(8)
    ),
    "steps 1": lambda: steps_of(1, 1, 1),
    "steps 5": lambda: steps_of(5, 5, 4, title="Four steps " * 20),
    "steps 12": lambda: steps_of(12, 12, 2),
    "steps large": lambda: steps_of(20, LARGE, 30),
    "steps, long labels": lambda: steps_of(5, 6, 4, queries=long_words(5), keys=long_words(6)),
}


OFTEN = ["one 5", "one, notes", "mask", "3 panels of 5", "steps 5", "steps large"]


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(draw, id=name, marks=[] if name in OFTEN else pytest.mark.long)
        for name, draw in READ.items()
    ],
)
def test_every_text_is_6_px_high_on_a_page_of_572(draw, smallest_text):
    figure = draw()
    height, words = smallest_text(figure)
    assert height >= 6, words
    assert_nothing_is_cut_off(figure)


QUERY = {
    "one": (1, 1, 1, {}),
    "5": (5, 5, 4, {"step": "softmax"}),
    "12": (12, 12, 12, {}),
    "large": (3, LARGE, 30, {}),
    "long": (2, 6, 3, {"queries": long_words(2), "keys": long_words(6)}),
}


@pytest.mark.parametrize(("n_q", "n_k", "d_v", "options"), QUERY.values(), ids=QUERY)
def test_every_text_about_one_query_is_6_px_high_on_a_page_of_572(
    n_q, n_k, d_v, options, smallest_text
):
    rng = np.random.default_rng(0)
    Q, K, V = rng.normal(size=(n_q, 4)), rng.normal(size=(n_k, 4)), rng.normal(size=(n_k, d_v))
    height, words = smallest_text(plot_query(attention_steps(Q, K, V), V, **options))
    assert height >= 6, words


def test_smallest_text_knows_what_it_measures(smallest_text):
    figure = plt.figure(figsize=(572 / 96, 1))
    text = figure.text(0, 0, "a", fontsize=9)
    assert smallest_text(figure) == (12, "a")
    figure.set_figwidth(2 * 572 / 96)
    assert smallest_text(figure) == (6, "a")
    text.set_text("$10^{2}$")
    assert smallest_text(figure)[0] == pytest.approx(4.2)
    text.set_text("")
    figure.subplots().set_title("title", fontsize=20)
    assert smallest_text(figure)[0] == pytest.approx(10 * 96 / 72 / 2)


@pytest.mark.parametrize(
    ("count", "shape", "rows", "numbered"),
    [
        (1, (5, 5), [1], True),
        (2, (5, 5), [2], True),
        (3, (5, 5), [3], True),
        (4, (5, 5), [2, 2], True),
        (2, (12, 12), [2], False),  # side by side, to be compared
        (2, (1, 12), [1, 1], True),  # flat ones compare one below the other as well
        (12, (8, 8), [4, 4, 4], False),
        (5, (5, 5), [3, 2], True),
        (2, (60, 60), [2], False),
    ],
)
def test_panels_go_in_rows_of_as_many_as_can_be_read(count, shape, rows, numbered):
    figure = panels_of(count, shape)
    drawn = panels(figure)
    heights = [round(ax.get_position().y0, 6) for ax in drawn]
    assert [len(list(group)) for _, group in itertools.groupby(heights)] == rows
    assert heights == sorted(heights, reverse=True)
    assert any(ax.texts[:] for ax in drawn) == numbered
    assert len(bars(figure)) == 1
    first_of_row = {0, *np.cumsum(rows)[:-1]}
    assert [bool(texts(ax.yaxis)) for ax in drawn] == [i in first_of_row for i in range(count)]


def test_numbers_can_be_asked_for_in_several_panels():
    assert all(len(ax.texts) == 64 for ax in panels(panels_of(12, (8, 8), numbers=True)))
    assert not any(ax.texts[:] for ax in panels(panels_of(2, (2, 2), numbers=False)))


# Colours of two hues


def test_colour_bar_says_what_its_hues_mean():
    (scores,) = labels_of_bars(plot_heatmap(np.eye(5), kind="scores").figure)
    (values,) = labels_of_bars(plot_heatmap(np.eye(5), kind="values").figure)
    assert scores == "score (before softmax)\nblue below 0, red above"
    assert values == "value\npurple below 0, orange above"
    for kind, low, high in (("scores", 2, 0), ("values", 2, 0)):
        below, above = (plt.get_cmap(KINDS_OF[kind].colours)(share)[:3] for share in (0.2, 0.8))
        assert np.argmax(below) == low  # blue, or purple
        assert np.argmax(above) == high  # red, or orange


def test_output_has_the_colours_of_the_values_it_is_mixed_from():
    steps, V = some_steps(3, 4, 2), np.array([[4.0, -1.0], [1.0, 0.0], [0.0, 2.0], [-3.0, 1.0]])
    steps = steps._replace(output=steps.A @ V)
    assert limits(panels(plot_steps(steps, V))[3]) == (-4, 4)
    own = abs(steps.output).max()
    assert limits(panels(plot_steps(steps))[3]) == pytest.approx((-own, own))


def test_values_of_other_steps_are_refused():
    with pytest.raises(ValueError, match=r"^plot_steps: V must have a row per key.* \(3, 5\)"):
        plot_steps(some_steps(2, 3, 2), np.zeros((3, 5)))
    assert plt.get_fignums() == []


# Letters that LaTeX or mathematics would read


@pytest.fixture
def no_latex(monkeypatch):
    def run(*arguments, **options):
        raise AssertionError("LaTeX was asked")

    plt.rcParams["text.usetex"] = True
    monkeypatch.setattr("matplotlib.texmanager.TexManager.make_tex", run)
    monkeypatch.setattr("matplotlib.texmanager.TexManager.make_dvi", run)
    monkeypatch.setattr("matplotlib.texmanager.TexManager.make_png", run)


@pytest.mark.long
@pytest.mark.usefixtures("no_latex")
@pytest.mark.parametrize("kind", KINDS)
def test_every_text_is_drawn_without_latex(kind):
    tokens = ["50%", "a_b", "#", "{x}", "~", "$5", "\\"]
    M = np.full((7, 7), 0.5)
    M[0, 0], M[1, 1] = -math.inf, math.nan
    ax = plot_heatmap(M, kind=kind, queries=tokens, keys=tokens, title="50% of a_b")
    rendered(ax.figure)
    assert texts(ax.yaxis) == texts(ax.xaxis) == tokens
    rendered(plot_heatmaps({"50%": M, "a_b": M}, kind=kind, queries=tokens))
    rendered(plot_heatmap(np.tri(3, dtype=bool), kind="mask", title="50%").figure)
    rendered(plot_steps(some_steps(7, 7), queries=tokens, keys=tokens, title="50% of a_b"))


# Tokens that look alike


def test_tokens_that_differ_have_labels_that_differ_on_both_axes():
    tokens = ["\u200b", "U+200B", "internationalise", "internationally", "กา", "ก่า"]
    ax = plot_heatmap(np.eye(6), queries=tokens, keys=tokens[::-1])
    assert len(set(texts(ax.yaxis))) == 6
    assert texts(ax.yaxis) == texts(ax.xaxis)[::-1]
    M = np.eye(2)
    ax = plot_heatmap(M, queries=["\u200b", "a"], keys=["U+200B", "a"])
    assert texts(ax.yaxis)[0] != texts(ax.xaxis)[0]


# Titles


@pytest.mark.parametrize("size", [(3, 3), (4, 2.5), (6.4, 4.8)])
@pytest.mark.parametrize("kind", ["mask", "weights"])
def test_title_above_notes_stays_inside_a_figure_of_ones_own(size, kind):
    M = np.tri(6, dtype=bool) if kind == "mask" else [[0.5, -math.inf], [math.nan, 0.5]]
    figure, ax = plt.subplots(figsize=size)
    plot_heatmap(M, kind=kind, ax=ax, title="causal", colorbar=False)
    figure.draw_without_rendering()
    assert ax.title.get_window_extent().y1 <= figure.bbox.y1
    assert ax.title.get_window_extent().y0 >= ax.get_legend().get_window_extent().y1 - 1


def test_long_title_is_broken_into_lines_and_described_in_one():
    title = "A title that goes on and on " * 10
    figure = plot_heatmap(np.eye(2), title=title).figure
    (ax,) = panels(figure)
    assert len(ax.get_title().splitlines()) > 1
    assert " ".join(ax.get_title().split()) == " ".join(title.split())
    assert f'"{" ".join(title.split())}"' in describe(figure)


def lines_of_warning(draw, tmp_path):
    """Return how many lines a program writes to stderr, where nothing has been warned of yet."""
    code = f"""
import matplotlib; matplotlib.use("agg")
from matplotlib import pyplot as plt
from attention_lib.heatmap import plot_heatmap, plot_heatmaps
{draw}
figure.savefig({str(tmp_path / "figure.png")!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return len(done.stderr.splitlines())


@pytest.mark.long
@pytest.mark.parametrize(
    "setting", ["plt.rcParams['font.family'] = 'No Such Font'", ""], ids=["no font", "no glyph"]
)
def test_missing_fonts_and_glyphs_make_no_more_warnings_than_matplotlibs_own(setting, tmp_path):
    words = "\U0001f9f6 and \U0001f9f5"
    labels = f"title={words!r}, xlabel={words!r}, ylabel={words!r}"
    own = f"""
figure, ax = plt.subplots(); image = ax.imshow([[0.5, 0.5]]); figure.colorbar(image, label="weight")
ax.set({labels}); ax.text(0, 0, "0.50"); ax.text(1, 0, "0.50")"""
    drawn = f"figure = plot_heatmap([[0.5, 0.5]], {labels}, keys=[{words!r}, 'a']).figure"
    allowed = lines_of_warning(f"{setting}\n{own}", tmp_path)
    assert lines_of_warning(f"{setting}\n{drawn}", tmp_path) <= allowed


def test_a_title_that_is_no_formula_leaves_no_figure_open():
    with pytest.raises(ValueError, match="foo"):
        plot_heatmap([[1.0]], title=r"$\foo$")
    assert plt.get_fignums() == []


def test_small_fonts_of_the_reader_are_made_large_enough():
    with plt.rc_context({"font.size": 4}):
        figure = plot_heatmap([[0.5, -np.inf]], title="A").get_figure()
    shown = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    assert min(t.get_fontsize() for t in shown) >= legible_size(figure.get_figwidth())
    assert {t.get_text() for t in shown} >= {"A", "Key", "Query", "0", "attention weight"}


def test_long_titles_and_axis_titles_are_broken_into_lines():
    words = "a title that goes on " * 12
    _, ax = plt.subplots()
    plot_heatmap([[1.0]], ax=ax, title=words, xlabel=words, ylabel=words)
    width, height = ax.figure.bbox.size
    assert ax.title.get_window_extent().width <= width
    assert ax.xaxis.label.get_window_extent().width <= width
    assert ax.yaxis.label.get_window_extent().height <= height


@pytest.mark.parametrize("size", [12, 40])
def test_many_large_panels_share_rows(size):
    panels = {f"head {n}": np.full((size, size), 1 / size) for n in range(30)}
    width, height = plot_heatmaps(panels).get_size_inches()
    assert width <= WIDEST + 1
    assert height <= 25
