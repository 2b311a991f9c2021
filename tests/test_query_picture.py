"""The picture of one query: what it shows is what the steps made."""

import io

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from attention_lib import attention_steps
from attention_lib.figures import show
from attention_lib.query_picture import STEPS, plot_query
from attention_lib.worked_example import worked_example

tokens, *_, Q, K, V = worked_example()
PANELS = ["scores", "scaled", "weights", "values", "output"]

pytestmark = pytest.mark.usefixtures("drawing")


def panels(figure):
    return dict(zip(PANELS, figure.axes, strict=True))


def heights(ax):
    return [bar.get_height() for bar in ax.containers[0]]


def cells(ax):
    return ax.images[0].get_array().filled(np.nan)


@pytest.mark.parametrize("i", range(5))
def test_bars_and_cells_are_the_numbers_of_the_query(i):
    steps = attention_steps(Q, K, V)
    ax = panels(plot_query(steps, V, i, queries=tokens, keys=tokens))
    assert np.allclose(heights(ax["scores"]), steps.S[i])
    assert np.allclose(heights(ax["scaled"]), steps.S_scaled[i])
    assert np.allclose(heights(ax["weights"]), steps.A[i])
    assert np.allclose(cells(ax["values"]), (steps.A[i][:, np.newaxis] * V).T)
    assert np.allclose(cells(ax["output"])[:, 0], steps.output[i])
    assert np.allclose(cells(ax["values"]).sum(axis=1), cells(ax["output"])[:, 0])


def test_each_bar_shows_its_number_above_its_key():
    steps = attention_steps(Q, K, V)
    figure = plot_query(steps, V, 0, keys=tokens)
    ax = panels(figure)
    written = [text.get_text() for text in ax["weights"].texts]
    assert written == [f"{weight:.2f}" for weight in steps.A[0]]
    assert [text.xy[0] for text in ax["weights"].texts] == [0, 1, 2, 3, 4]
    assert [t.get_text() for t in ax["values"].get_xticklabels()] == list(tokens)
    figure.canvas.draw()
    edges = [ax[name].get_window_extent().x0 for name in PANELS[:4]]
    assert np.ptp(edges) < 1, "the keys of all panels stand in one line"


def test_scores_share_a_scale_and_values_share_colours():
    ax = panels(plot_query(attention_steps(Q, K, V), V, 3))
    assert ax["scores"].get_ylim() == ax["scaled"].get_ylim()
    assert ax["weights"].get_ylim()[0] == 0
    assert ax["weights"].get_ylim()[1] >= 1
    norms = [ax[name].images[0].norm for name in ("values", "output")]
    assert norms[0].vmax == norms[1].vmax == -norms[0].vmin


def test_title_names_the_query():
    steps = attention_steps(Q[:2], K, V)
    figure = plot_query(steps, V, 1, queries=["$a$", "$b$"])
    assert figure.texts[0].get_text() == "Query $b$"
    assert not figure.texts[0].get_parse_math()
    assert plot_query(steps, V, 1, title="Mine").texts[0].get_text() == "Mine"


@pytest.mark.parametrize("step", STEPS)
def test_the_step_is_lit_and_the_others_are_pale(step):
    ax = panels(plot_query(attention_steps(Q, K, V), V, step=step))
    for name, panel in ax.items():
        things = [*panel.patches, *panel.images]
        pale = {thing.get_alpha() is not None and thing.get_alpha() < 0.5 for thing in things}
        assert pale == {name not in STEPS[step]}, name


def test_left_out_all_steps_are_lit():
    for panel in panels(plot_query(attention_steps(Q, K, V), V)).values():
        assert to_hex(panel.title.get_color()) == to_hex(plt.rcParams["text.color"])
        assert all(thing.get_alpha() is None for thing in [*panel.patches, *panel.images])


def test_hidden_keys_are_hatched_after_the_mask_and_have_no_number():
    steps = attention_steps(Q, K, V, causal=True)
    ax = panels(plot_query(steps, V, 2))
    assert [text.get_text() for text in ax["scores"].texts].count("hidden") == 0
    for name in ("scaled", "weights"):
        words = [text.get_text() for text in ax[name].texts]
        assert words[3:] == ["hidden", "hidden"]
        assert "hidden" not in words[:3]
    assert np.isnan(cells(ax["values"])[:, 3:]).all()
    assert np.isfinite(cells(ax["values"])[:, :3]).all()


@pytest.mark.parametrize(("n_k", "d_v"), [(1, 1), (2, 7), (12, 1), (13, 3), (40, 64)])
def test_any_size_fits_the_figure(n_k, d_v):
    rng = np.random.RandomState(0)
    values = 1000 * rng.randn(n_k, d_v)
    steps = attention_steps(50 * rng.randn(1, 3), rng.randn(n_k, 3), values)
    names = ["internationalization", *"b" * (n_k - 1)]
    figure = plot_query(steps, values, keys=names, title="A title that is longer than the figure")
    figure.canvas.draw()
    page = figure.bbox
    for ax in figure.axes:
        box = ax.get_tightbbox()
        assert box.x0 >= page.x0 - 1, ax.get_title()
        assert box.y0 >= page.y0 - 1, ax.get_title()
        assert box.x1 <= page.x1 + 1, ax.get_title()
        assert box.y1 <= page.y1 + 1, ax.get_title()


def test_numbers_that_are_not_finite_are_said_and_draw_without_a_warning():
    steps = attention_steps([[np.inf, 1.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0], [np.nan]])
    text = show(plot_query(steps, [[1.0], [np.nan]])).text
    assert "nan" in text or "not a number" in text


def test_no_text_is_given_to_latex(monkeypatch):
    def run(*arguments, **options):
        raise AssertionError("LaTeX was asked")

    plt.rcParams["text.usetex"] = True
    for step in ("make_tex", "make_dvi", "make_png"):
        monkeypatch.setattr(f"matplotlib.texmanager.TexManager.{step}", run)
    names = ["50%", "a_b", "#", "$5", "\\"]
    steps = attention_steps(Q, K, V, causal=True)
    figure = plot_query(steps, V, 3, queries=names, keys=names, title="50% of a_b")
    figure.savefig(io.BytesIO(), format="png")
    assert figure.texts[0].get_text() == "50% of a_b"


def test_an_infinite_value_behind_a_weight_of_0_takes_nothing():
    values = [[1.0], [np.inf]]
    steps = attention_steps(np.eye(2), np.eye(2), values, causal=True)
    ax = panels(plot_query(steps, values, 0))
    assert cells(ax["output"])[0, 0] == 1.0


def test_a_long_title_is_broken_and_leaves_the_figure_as_wide_as_its_panels():
    steps = attention_steps(Q, K, V)
    wide = plot_query(steps, V, title="word " * 60).get_figwidth()
    assert wide <= 1.1 * plot_query(steps, V, title="word").get_figwidth()


def test_changes_nothing_of_its_input():
    steps, values = attention_steps(Q, K, V), V.copy()
    before = [step.copy() for step in steps]
    plot_query(steps, values)
    assert all(np.array_equal(a, b) for a, b in zip(steps, before, strict=True))
    assert np.array_equal(values, V)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"query": 5}, ValueError, r"rows 0 to 4. Got 5"),
        ({"query": -1}, ValueError, r"rows 0 to 4. Got -1"),
        ({"query": "night"}, TypeError, r"number of a row.*'night'.*tokens.index"),
        ({"step": "values"}, ValueError, r"step must be one of 'scores', .*'weighted_values'"),
        ({"V": V[:3]}, ValueError, r"\(n_k, d_v\) = \(5, 4\),.*Got shape \(3, 4\)"),
        ({"V": Q[:, :2]}, ValueError, r"Got shape \(5, 2\)"),
        ({"V": 100 * V}, ValueError, r"A V is not the output: it is .*\[.* in row 0"),
        (
            {"steps": attention_steps(Q, K, V)._replace(S=np.ones((9, 9)))},
            ValueError,
            r"must have one shape.*\(9, 9\), \(5, 5\)",
        ),
        ({"keys": ["a"]}, ValueError, "keys needs one label per column. Got 1"),
        ({"queries": ["a"]}, ValueError, "queries needs one label per row. Got 1"),
        ({"steps": (1, 2)}, TypeError, "steps must be what attention_steps returned"),
    ],
)
def test_bad_input_is_refused_in_words_and_leaves_no_figure(arguments, error, words):
    good = {"steps": attention_steps(Q, K, V), "V": V}
    with pytest.raises(error, match=f"plot_query: .*{words}"):
        plot_query(**good | arguments)
    assert plt.get_fignums() == []
