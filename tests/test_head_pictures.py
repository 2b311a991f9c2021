"""Pictures of heads: a row as bars, and all heads of a model on one colour scale."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from attention_lib.figures import alt_text
from attention_lib.head_pictures import plot_atlas, plot_row
from attention_lib.real_heads import SENTENCES, all_weights


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_bars_of_a_row_are_its_weights_on_an_axis_from_0_that_holds_1():
    tokens, A = all_weights(SENTENCES[0])
    row = A[1, 3, tokens.index("she")]
    ax = plot_row(row, keys=tokens)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], row)
    assert ax.get_ylim()[0] == 0
    assert ax.get_ylim()[1] >= 1
    assert "girl 0.499" in alt_text(ax)


def test_every_head_stands_in_its_place_on_a_scale_from_0_to_1():
    tokens, A = all_weights(SENTENCES[8])
    layers, heads, n, _ = A.shape
    ax = plot_atlas(A, tokens)
    (image,) = ax.images
    page = np.asarray(image.get_array())
    assert image.get_clim() == (0, 1)
    down, across = (page.shape[0] - n) // (layers - 1), (page.shape[1] - n) // (heads - 1)
    for layer, head in np.ndindex(layers, heads):
        its = page[layer * down :, head * across :][:n, :n]
        np.testing.assert_allclose(its, A[layer, head])


def test_marked_head_has_a_frame_around_its_own_matrix_and_its_name():
    tokens, A = all_weights(SENTENCES[8])
    ax = plot_atlas(A, tokens, marked={"before": (0, 2)})
    (frame,) = [patch for patch in ax.patches if patch.get_gid() == "mark"]
    n = len(tokens)
    left, right = frame.get_x(), frame.get_x() + frame.get_width()
    assert left < 2 * (n + 2) < 2 * (n + 2) + n - 1 < right
    assert "before" in [text.get_text() for text in ax.texts]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: plot_row([[0.5, 0.5]]), ValueError),
        (lambda: plot_row([0.5, 0.5], keys=["a"]), ValueError),
        (lambda: plot_row(["a", "b"]), TypeError),
        (lambda: plot_atlas(np.ones((2, 2)), ["a", "b"]), ValueError),
        (lambda: plot_atlas(np.full((1, 1, 2, 2), 0.5), ["a"]), ValueError),
    ],
)
def test_what_is_no_row_or_no_set_of_heads_is_refused(call, error):
    with pytest.raises(error):
        call()
