"""What the checks of figures find: each planted fault by its name, in a sound figure nothing."""

import re

import numpy as np
import pytest
from figure_checks import complaints, complaints_beside
from matplotlib import pyplot as plt
from matplotlib.colors import TwoSlopeNorm
from matplotlib.patches import Patch

from attention_lib import attention_steps, causal_mask
from attention_lib.heatmap import plot_heatmap, plot_heatmaps, plot_steps
from attention_lib.query_picture import STEPS, plot_query
from attention_lib.worked_example import worked_example

pytestmark = pytest.mark.usefixtures("drawing")

tokens, _, _, _, _, Q, K, V = worked_example()
X = np.array([1.0, 2.0, 4.0])
WEIGHTS = np.array([[0.75, 0.25, 0.0], [0.1, 0.3, 0.6]])
SIGNED = np.array([[1.5, -0.5, 0.25], [0.1, -2.0, 0.6]])


def plot():
    """Draw a sound plot with a line, points with error bars, and a level."""
    ax = plt.subplots(figsize=(5, 4))[1]
    ax.plot(X, X, color="tab:blue", label="expected")
    ax.errorbar(X, X + 1, yerr=0.2, fmt="o", color="black", capsize=3, label="measured")
    ax.axhline(6, color="0.4", linestyle="--", label="limit")
    ax.set(xlabel="d_k", ylabel="variance", title="Wider", ylim=(0, 7))
    ax.legend(loc="lower right")
    return ax


def bars():
    ax = plt.subplots(figsize=(5, 4))[1]
    ax.bar(["Owls", "hunt"], [0.25, 0.75], color="tab:blue")
    ax.set(xlabel="Key", ylabel="weight", title="One row")
    return ax


def image(M=SIGNED, **options):
    figure, ax = plt.subplots(figsize=(5, 4))
    figure.colorbar(ax.imshow(M, **options), extend=options.pop("extend", "neither"))
    ax.set(xlabel="Key", ylabel="Query", title="Cells")
    return ax


def heatmap(**options):
    return plot_heatmap(WEIGHTS, title="Weights", **options)


def arrows():
    """Draw two arrows with their names beside them, as in the plane of features."""
    ax = plt.subplots(figsize=(5, 4))[1]
    for name, end, colour in (("query", (2, 0.5), "0.4"), ("key", (1, 2), "tab:blue")):
        ax.annotate("", end, (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour})
        ax.text(end[0] + 0.05, end[1], name, color=colour)
    ax.set(xlim=(-0.2, 3), ylim=(-0.2, 3), xlabel="feature 0", ylabel="feature 1", title="Arrows")
    return ax


def steps(**options):
    return attention_steps(Q, K, V, **options)


SOUND = {
    "plot": plot,
    "bars": bars,
    "arrows": arrows,
    "heatmap": heatmap,
    "heatmap, signed": lambda: plot_heatmap(SIGNED, kind="scores"),
    "heatmap, hidden": lambda: plot_heatmap([[0.5, -np.inf], [np.nan, 1]], queries=["a", "b"]),
    "heatmap, mask": lambda: plot_heatmap(causal_mask(5), kind="mask", title="causal"),
    "heatmap, large": lambda: plot_heatmap(np.eye(40), title="Eye"),
    "heatmap, long labels": lambda: plot_heatmap(
        np.eye(5), queries=["W" * 30] * 5, keys=["W" * 30] * 5
    ),
    "heatmap, beyond the limit": lambda: plot_heatmap(
        SIGNED, kind="scores", limit=1, numbers=False
    ),
    "heatmaps": lambda: plot_heatmaps({"broad": WEIGHTS, "peaked": WEIGHTS}, keys=list("abc")),
    "heatmaps, four": lambda: plot_heatmaps(
        dict.fromkeys("abcd", SIGNED), kind="values", queries=list("ab")
    ),
    "heatmaps, hidden": lambda: plot_heatmaps(
        {"no mask": np.eye(5), "causal": np.eye(5)}, mask=causal_mask(5)
    ),
    "steps": lambda: plot_steps(steps(), V, queries=tokens, keys=tokens),
    "steps, causal": lambda: plot_steps(steps(causal=True), V, queries=tokens, title="Causal"),
    "query": lambda: plot_query(steps(), V, queries=tokens, keys=tokens),
    "query, causal": lambda: plot_query(steps(causal=True), V, 1, keys=tokens),
    **{
        f"query, {step} lit": lambda step=step: plot_query(steps(), V, step=step, keys=tokens)
        for step in STEPS
    },
    "query, causal, lit": lambda: plot_query(steps(causal=True), V, 2, step="softmax", keys=tokens),
    "query, first key alone": lambda: plot_query(
        steps(causal=True), V, 0, step="scores", keys=tokens
    ),
}


@pytest.mark.parametrize("draw", SOUND.values(), ids=SOUND)
def test_sound_figure_is_sound(draw):
    drawn = draw()
    figure = drawn if isinstance(drawn, plt.Figure) else drawn.get_figure(root=True)
    assert complaints(figure) == []


# Faults: a sound figure, what is done to it, and what the sentence says


def line(ax, n=0):
    return ax.lines[n]


def relabel(ax, text):
    ax.get_legend().get_texts()[0].set_text(text)


def two_lines(**looks):
    """Return a function that draws two named lines, the second with these looks."""

    def draw(ax=None):
        ax = ax or plt.subplots(figsize=(5, 4))[1]
        ax.plot(X, X, color="#1f77b4", label="raw")
        ax.plot(X, X + 1, **{"color": "#d62728", "label": "scaled"} | looks)
        ax.set(xlabel="d_k", ylabel="variance", title="Wider")
        ax.legend()
        return ax

    return draw


def only(draw, page="white"):
    """Return a function that draws this on axes that are empty but for their titles."""

    def drawn():
        ax = plt.subplots(figsize=(5, 4), facecolor=page, subplot_kw={"facecolor": page})[1]
        ax.set(xlabel="d_k", ylabel="variance", title="Wider")
        draw(ax)
        return ax

    return drawn


def pale_all(figure):
    for ax in figure.axes:
        ax.set_gid("pale")


FAULTS = {
    # Legends
    "no legend": (plot, lambda ax: ax.get_legend().remove(), 'the line "expected" is in no legend'),
    "one series added after the legend": (
        plot,
        lambda ax: ax.plot(X, X + 2, ":", color="black", label="late"),
        'the line "late" is in no legend',
    ),
    "legend not visible": (plot, lambda ax: ax.get_legend().set_visible(False), "is in no legend"),
    "legend names what is not drawn": (
        plot,
        lambda ax: ax.legend(
            handles=[*ax.get_legend_handles_labels()[0], Patch(color="red", label="ghost")]
        ),
        'an entry "ghost", but nothing of that name is drawn',
    ),
    "series removed after the legend": (
        plot,
        lambda ax: line(ax).remove(),
        'an entry "expected", but nothing',
    ),
    "series hidden after the legend": (
        plot,
        lambda ax: line(ax).set_visible(False),
        'an entry "expected"',
    ),
    "series without a number": (
        plot,
        lambda ax: line(ax).set_ydata([np.nan] * 3),
        'an entry "expected"',
    ),
    "entry renamed": (plot, lambda ax: relabel(ax, "other"), 'the line "expected" is in no legend'),
    "colour changed after the legend": (
        plot,
        lambda ax: line(ax).set_color("tab:green"),
        "is drawn in #2ca02c, but the legend shows it in #1f77b4",
    ),
    "line style changed after the legend": (
        plot,
        lambda ax: line(ax).set_linestyle(":"),
        "with another marker or line style than the legend",
    ),
    "two entries of one name": (
        two_lines(label="raw", linestyle=":"),
        None,
        'the entry "raw" 2 times',
    ),
    "points that no legend names": (
        plot,
        lambda ax: ax.scatter(X, X + 2, marker="s", color="black", label="seen"),
        'the row of points "seen" is in no legend',
    ),
    "bars that no legend names": (
        bars,
        lambda ax: ax.containers[0].set_label("share"),
        '"share" is in no legend',
    ),
    "area that no legend names": (
        plot,
        lambda ax: ax.axvspan(1, 2, color="0.5", label="train"),
        'the area "train" is in no legend',
    ),
    "hatch changed after the legend": (
        lambda: plot_heatmap([[0.5, -np.inf]], title="Weights"),
        lambda ax: [patch.remove() for patch in list(ax.patches)],
        'an entry "hidden (weight 0)", but nothing',
    ),
    "legend on the points": (
        plot,
        lambda ax: ax.legend(loc="center", prop={"size": 22}),
        "the legend covers",
    ),
    # Visible
    "light grey line": (
        only(lambda ax: ax.plot(X, X, color="0.6")),
        None,
        "#999999 on #ffffff has a contrast of 2.8 : 1",
    ),
    "orange line": (
        only(lambda ax: ax.plot(X, X, color="tab:orange")),
        None,
        "a contrast of 2.5 : 1",
    ),
    "faded line": (only(lambda ax: ax.plot(X, X, "k", alpha=0.3)), None, "(its alpha is 0.3)"),
    "transparent line": (only(lambda ax: ax.plot(X, X, "k", alpha=0)), None, "a contrast of 1 : 1"),
    "line on a dark page": (
        only(lambda ax: ax.plot(X, X, "k"), page="0.2"),
        None,
        "a line without a name is hard to see: #000000 on #333333",
    ),
    "line of no width": (
        only(lambda ax: ax.plot(X, X, "k", lw=0)),
        None,
        "cannot be seen: it has neither a line",
    ),
    "line without a look": (only(lambda ax: ax.plot(X, X, linestyle="")), None, "cannot be seen"),
    "faint points": (
        only(lambda ax: ax.scatter(X, X, color="0.8")),
        None,
        "a row of points without a name is hard",
    ),
    "faint markers": (
        only(lambda ax: ax.plot(X, X, "o", color="0.8")),
        None,
        "a row of points without a name is hard",
    ),
    "faint bars": (
        bars,
        lambda ax: [bar.set_color("0.8") for bar in ax.patches],
        "a row of bars without a name is hard",
    ),
    "one faint bar": (
        bars,
        lambda ax: ax.patches[1].set_color("0.8"),
        "a row of bars without a name is hard",
    ),
    "faint error bars": (
        only(lambda ax: ax.errorbar(X, X, 0.5, fmt="ko", ecolor="0.8")),
        None,
        "the error bars of a row of points without a name are hard to see",
    ),
    "faint arrow": (
        arrows,
        lambda ax: ax.texts[0].arrow_patch.set_color("0.8"),
        "an arrow without a name is hard",
    ),
    "faint lines": (
        only(lambda ax: ax.hlines([1, 2], 0, 1, color="0.8")),
        None,
        "a set of lines without a name is hard",
    ),
    "faint level": (
        only(lambda ax: ax.axhline(1, color="0.8")),
        None,
        "a line without a name is hard",
    ),
    "faint slope": (
        only(lambda ax: ax.axline((0, 0), slope=1, color="0.8")),
        None,
        "a line without a name is hard",
    ),
    "faint named area": (
        only(
            lambda ax: (
                ax.fill_between(X, X, color="0.8", label="spread"),
                ax.legend(loc="lower right"),
            )
        ),
        None,
        'the area "spread" is hard to see',
    ),
    "area as good as white": (
        only(lambda ax: ax.fill(X, [1, 3, 2], color="0.97")),
        None,
        "an area without a name is hard",
    ),
    "pale panels alone": (
        lambda: plot_query(steps(), V, keys=tokens),
        pale_all,
        "every panel is pale",
    ),
    "pale without being marked": (
        lambda: plot_query(steps(), V, keys=tokens, step="scores"),
        lambda figure: [ax.set_gid(None) for ax in figure.axes],
        "a row of bars without a name is hard to see",
    ),
    "faint title": (plot, lambda ax: ax.title.set_color("0.7"), "the text 'Wider' is hard to read"),
    "faint tick labels": (
        plot,
        lambda ax: ax.tick_params(labelcolor="0.7"),
        "is hard to read: #b2b2b2",
    ),
    "black number on a dark cell": (
        heatmap,
        lambda ax: ax.texts[0].set_color("black"),
        "the text '0.75' is hard to read",
    ),
    # Inside
    "x limit cuts": (
        plot,
        lambda ax: ax.set_xlim(0, 3),
        'the line "expected" leaves the panel: 1 of 3 points',
    ),
    "y limit cuts": (
        plot,
        lambda ax: ax.set_ylim(1.5, 7),
        'the line "expected" leaves the panel: 1 of 3 points',
    ),
    "level outside": (plot, lambda ax: ax.set_ylim(0, 5.5), 'the line "limit" leaves the panel'),
    "error bar cut": (
        plot,
        lambda ax: ax.set_ylim(0.5, 5.1),
        'error bars of the row of points "measured" leave',
    ),
    "bars cut above": (
        bars,
        lambda ax: ax.set_ylim(0, 0.5),
        "a row of bars without a name leaves the panel",
    ),
    "bars that do not start at 0": (
        bars,
        lambda ax: ax.set_ylim(0.1, 1),
        "a row of bars without a name leaves the panel",
    ),
    "points cut": (
        only(lambda ax: (ax.scatter(X, X, color="k"), ax.set_xlim(2, 5))),
        None,
        "1 of 3 points lie outside",
    ),
    "nothing left": (plot, lambda ax: ax.set_xlim(100, 200), "3 of 3 points"),
    "area cut": (
        only(lambda ax: (ax.fill_between(X, X, color="0.6"), ax.set_ylim(0, 3))),
        None,
        "an area without a name leaves",
    ),
    "arrow cut": (
        arrows,
        lambda ax: ax.set_xlim(-0.2, 1.5),
        "an arrow without a name leaves the panel",
    ),
    "0 on a log axis": (
        only(
            lambda ax: (ax.plot([1, 2, 3], [0, 1, 10], "k"), ax.set(yscale="log", ylim=(0.1, 20)))
        ),
        None,
        "a line without a name leaves the panel: 1 of 3 points",
    ),
    "row of a heatmap cut": (
        heatmap,
        lambda ax: ax.set_ylim(0.5, -0.5),
        "some cells of the heatmap are cut off",
    ),
    "half a column cut": (
        heatmap,
        lambda ax: ax.set_xlim(-0.5, 2),
        "some cells of the heatmap are cut off",
    ),
    "numbers beyond the colours": (
        lambda: image(SIGNED, cmap="RdBu_r", vmin=-1, vmax=1),
        None,
        "numbers from -2 to 1.5 are drawn in colours that end at -1 and 1",
    ),
    # Told apart
    "hue alone": (two_lines(), None, "differ in hue alone"),
    "the same look": (
        two_lines(color="#1f77b4"),
        None,
        'the line "raw" and the line "scaled" look the same',
    ),
    "hue alone, points": (
        only(
            lambda ax: (ax.scatter(X, X, color="tab:blue"), ax.scatter(X, X + 1, color="tab:red"))
        ),
        None,
        "differ in hue alone",
    ),
    "hue alone, markers": (
        only(
            lambda ax: (
                ax.plot(X, X, "o", color="tab:blue"),
                ax.plot(X, X + 1, "o", color="tab:red"),
            )
        ),
        None,
        "differ in hue alone",
    ),
    "hue alone, bars": (
        only(
            lambda ax: (
                ax.bar(X, X, 0.3, color="tab:blue"),
                ax.bar(X + 0.4, X, 0.3, color="tab:red"),
            )
        ),
        None,
        "differ in hue alone",
    ),
    "nearly as wide": (two_lines(linewidth=2), None, "differ in hue alone"),
    # Scales
    "log scale with plain ticks": (
        plot,
        lambda ax: (
            ax.set_xscale("log"),
            ax.set_xticks([1, 2, 4], [1, 2, 4]),
            ax.set_xticks([], minor=True),
        ),
        'the x axis has a log scale and does not say so: put it into its title, as in "d_k (log scale)"',
    ),
    "log scale on y": (
        only(
            lambda ax: (ax.plot(X, X, "k"), ax.set_yscale("log"), ax.set_yticks([1, 4], ["1", "4"]))
        ),
        None,
        "the y axis has a log scale",
    ),
    "other scale": (
        plot,
        lambda ax: ax.set_yscale("symlog", linthresh=9),
        "the y axis has a symlog scale",
    ),
    # Colour maps
    "signed numbers from light to dark": (lambda: image(cmap="viridis"), None, "0 cannot be seen"),
    "two hues that meet beside 0": (
        lambda: image(cmap="RdBu_r"),
        None,
        "they do not meet at 0: it runs from -2 to 1.5",
    ),
    "two hues, two slopes": (
        lambda: image(cmap="RdBu_r", norm=TwoSlopeNorm(0, -2, 1.5)),
        None,
        "they do not meet at 0",
    ),
    "rainbow": (lambda: image(cmap="jet", vmin=-2, vmax=2), None, "jet is neither"),
    "names as a map": (lambda: image(cmap="tab10", vmin=-2, vmax=2), None, "tab10 is neither"),
    "weights in two hues": (
        lambda: image(WEIGHTS, cmap="RdBu_r", vmin=-1, vmax=1),
        None,
        "which has a hue for each sign",
    ),
    "weights on their own range": (
        lambda: image(WEIGHTS, cmap="magma_r", vmax=0.8),
        None,
        "run from 0 to 0.8",
    ),
    "limits of a heatmap dropped": (
        lambda: plot_heatmap(WEIGHTS * 0.5, title="Weights"),
        lambda ax: ax.images[0].autoscale(),
        "colours of weights run from 0 to 0.375",
    ),
    "mesh": (
        only(lambda ax: ax.pcolormesh(SIGNED, cmap="viridis")),
        None,
        "numbers of both signs are drawn in the colour map viridis",
    ),
    # Axes
    "x without a title": (plot, lambda ax: ax.set_xlabel(""), "the x axis has no title"),
    "y without a title": (plot, lambda ax: ax.set_ylabel(" "), "the y axis has no title"),
    "heatmap without a title of its rows": (
        heatmap,
        lambda ax: ax.set_ylabel(""),
        "the y axis has no title",
    ),
    "panel without a title": (
        lambda: plot_heatmaps({"a": WEIGHTS, "b": WEIGHTS}),
        lambda figure: figure.axes[1].set_title(""),
        "of its 2 panels, number 2 has no title",
    ),
    "three dimensions": (
        lambda: plt.figure().add_subplot(projection="3d"),
        None,
        "axes of the kind '3d' are not known here",
    ),
    # Texts
    "tick labels on each other": (
        plot,
        lambda ax: ax.set_xticks([1, 1.05], ["a long label", "another label"]),
        "the texts 'a long label' and 'another label' overlap",
    ),
    "notes on each other": (
        plot,
        lambda ax: (ax.text(1, 2, "first note"), ax.text(1.05, 2, "second note")),
        "the texts 'first note' and 'second note' overlap",
    ),
    "text off the page": (
        plot,
        lambda ax: ax.text(4, 1, "far " * 30),
        "is cut off at the edge of the page",
    ),
}


@pytest.mark.parametrize(("draw", "change", "words"), FAULTS.values(), ids=FAULTS)
def test_planted_fault_is_found_by_name(draw, change, words):
    drawn = draw()
    if change is not None:
        change(drawn)
    figure = drawn if isinstance(drawn, plt.Figure) else drawn.get_figure(root=True)
    said = complaints(figure)
    assert [sentence for sentence in said if re.search(words, sentence) or words in sentence], said
    assert all(
        re.match(r'("[^"]+"|panel \d+, which has no title|the figure): ', sentence)
        for sentence in said
    )
    assert all(sentence.endswith(".") for sentence in said)


# What is no fault


DIFFERENT = {
    "line style": {"linestyle": "--"},
    "marker": {"marker": "o"},
    "width": {"linewidth": 3},
    "luminance": {"color": "black"},
}


@pytest.mark.parametrize("looks", DIFFERENT.values(), ids=DIFFERENT)
def test_one_difference_beside_hue_is_enough(looks):
    assert complaints(two_lines(**looks)().figure) == []


def test_legend_of_one_panel_serves_its_neighbour_as_long_as_both_look_the_same():
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for ax, title in zip(axes, ("left", "right"), strict=True):
        two_lines(linestyle="--")(ax)
        ax.set_title(title)
    axes[1].get_legend().remove()
    assert complaints(figure) == []
    axes[1].lines[0].set_color("tab:purple")
    assert complaints(figure) == [
        '"right": the line "raw" is drawn in #9467bd, but the legend shows it in #1f77b4.'
    ]


def test_legend_of_the_figure_serves_all_panels():
    ax = plot()
    ax.get_legend().remove()
    ax.figure.legend(loc="outside upper right")
    assert complaints(ax.figure) == []


def test_name_beside_a_line_needs_no_legend():
    ax = two_lines()()
    ax.get_legend().remove()
    ax.text(2, 1.5, "raw")
    ax.text(2, 3.5, "scaled")
    assert complaints(ax.figure) == []


@pytest.mark.parametrize("axis", ["x", "y"])
def test_log_scale_that_says_so_is_no_fault(axis):
    ax = plt.figure(figsize=(5, 4)).add_axes((0.2, 0.2, 0.7, 0.7))
    ax.plot(X, X, "k")
    ax.set(**{"xlabel": "d_k", "ylabel": "loss"} | {f"{axis}label": "width, log scale"})
    ax.set(**{f"{axis}scale": "log", f"{axis}ticks": [1, 4], f"{axis}ticklabels": [1, 4]})
    assert complaints(ax.figure) == []
    ax.set(**{f"{axis}label": "width"})
    getattr(ax, f"set_{axis}scale")("log", base=2)
    assert complaints(ax.figure) == []  # its ticks are powers of two


def test_contrast_is_rounded_towards_the_fault():
    ax = only(lambda ax: ax.plot(X, X, color="0.586"))()
    (sentence,) = complaints(ax.figure)
    assert "2.9 : 1, the least is 3 : 1" in sentence
    ax.lines[0].set_color("0.58")
    assert complaints(ax.figure) == []


# Error bars and the text beside them


@pytest.mark.parametrize("word", ["error bars", "Error bar", "whiskers"])
def test_error_bars_that_the_text_mentions_must_be_there(word):
    ax = plot()
    text = f"The {word} reach one standard error up and down."
    assert complaints_beside(ax.figure, text) == []
    ax.containers[0].remove()
    (sentence,) = complaints_beside(ax.figure, text)
    assert sentence == f'the figure: the text beside it speaks of "{word}", but none is drawn.'


def test_error_bars_that_no_text_explains_are_a_fault():
    ax = plot()
    assert complaints_beside(ax.figure, "The variance grows.") == [
        '"Wider": there are error bars, but no text beside them says what they show.'
    ]
    ax.containers[0].set_label("mean ± 1 standard error")
    assert complaints_beside(ax.figure, "The variance grows.") == []


def test_bars_of_another_kind_are_no_error_bars():
    assert complaints_beside(bars().figure, "Compare its bars with those above.") == []
