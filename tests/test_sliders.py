"""Figures that follow sliders: still where they are stored, moving where they can be moved."""

import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot as plt

from attention_lib import sliders, softmax
from attention_lib.figures import show
from attention_lib.heatmap import plot_heatmap
from attention_lib.sliders import Slider, with_sliders

pytestmark = pytest.mark.usefixtures("drawing")
SCORE = Slider(start=0, low=-5, high=5)


def draw(score):
    return plot_heatmap(softmax([[score, 0.0]]), title="weights")


@pytest.fixture
def displayed(monkeypatch):
    """Let the library see a live page, and return the outputs that it gets."""
    outputs = []
    shell = type("Shell", (), {"kernel": None, "execution_count": 1})()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr("IPython.display.display", lambda forms, **options: outputs.append(forms))
    monkeypatch.delenv(sliders.STILL, raising=False)
    return outputs


@pytest.fixture
def parts():
    """Return the sliders by name and the page's HTML, as a live page has them."""
    import ipywidgets

    assert InteractiveShell.initialized() is False  # no kernel is needed
    _, box = sliders._with_widgets(ipywidgets, draw, {"score": SCORE})
    return box.children


def test_outside_a_notebook_the_figure_is_that_of_the_starts():
    assert with_sliders(draw, score=SCORE).text == show(draw(0)).text


def test_a_slider_that_moves_draws_anew_with_its_alternative(parts):
    control, page = parts
    assert "0.50 in every cell" in page.value
    control.value = 3
    expected = show(draw(3))
    assert f'alt="{expected.alt}"'.replace('"weights"', "&quot;weights&quot;") in page.value
    assert expected._base64() in page.value
    assert 'role="status"' in page.value


def test_the_space_of_the_figure_stays(parts):
    control, page = parts
    before = page.value.partition("px")[0]
    control.value = -5
    assert page.value.partition("px")[0] == before
    assert before != '<div style="min-height: 0'


def test_no_figure_stays_open(parts):
    for value in (1, 2, 3):
        parts[0].value = value
    assert plt.get_fignums() == []


def test_whole_numbers_stay_whole_and_others_show_their_digits():
    import ipywidgets

    assert type(sliders._control(ipywidgets, "n", SCORE)) is ipywidgets.IntSlider
    for step, form in ((0.1, ".1f"), (0.25, ".2f"), (0.05, ".2f"), (0.5, ".1f")):
        control = sliders._control(ipywidgets, "x", Slider(1.0, 0.0, 2.0, step))
        assert control.readout_format == form
    assert sliders._control(ipywidgets, "x", SCORE._replace(says="score of at")).description == (
        "score of at"
    )


def test_a_live_page_gets_the_sliders_and_the_picture_in_one_output(displayed):
    picture = with_sliders(draw, score=SCORE)
    (forms,) = displayed
    assert forms[sliders._VIEW]["model_id"]
    assert forms["text/plain"] == picture.text
    assert picture._base64() in forms["text/html"]


def test_what_is_stored_has_the_picture_alone(displayed, monkeypatch):
    monkeypatch.setenv(sliders.STILL, "1")
    with_sliders(draw, score=SCORE)
    assert [set(forms) for forms in displayed] == [{"text/html", "image/png", "text/plain"}]


def test_without_ipywidgets_the_picture_and_one_sentence(displayed, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with_sliders(draw, score=SCORE)
    assert [set(forms) for forms in displayed] == [{"text/html", "image/png", "text/plain"}]
    assert capsys.readouterr().out.count("\n") == 1


def test_kernels_whose_outputs_are_stored_are_told():
    from surroundings import of_kernel

    assert sliders.STILL in of_kernel(".")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((draw, {}), TypeError, "at least one slider"),
        ((draw(0), {"score": SCORE}), TypeError, "without its brackets"),
        ((draw, {"score": 3}), TypeError, "score must be a Slider"),
        ((draw, {"score": Slider(9, 0, 5)}), ValueError, "start 9, low 0, high 5"),
        ((draw, {"score": Slider(1, 0, 5, 0)}), ValueError, "step is above 0"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_words(arguments, error, words):
    with pytest.raises(error, match=words):
        with_sliders(arguments[0], **arguments[1])
    plt.close("all")
