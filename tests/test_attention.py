import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import (
    AttentionSteps,
    attention,
    attention_scores,
    attention_steps,
    scale_scores,
    scaled_dot_product_attention,
    softmax,
    weighted_values,
)


class Inputs(NamedTuple):
    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray


@st.composite
def inputs(draw):
    n_q, n_k, d_k, d_v = (draw(st.integers(1, 4)) for _ in range(4))
    elements = st.floats(-4, 4)
    return Inputs(
        *(
            draw(arrays(float, shape, elements=elements))
            for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v))
        )
    )


def normal(*batch, n_q=2, n_k=5, d_k=3, d_v=4, seed=0):
    """Return random Q, K and V, by default with four sizes that all differ."""
    draw = np.random.default_rng(seed).standard_normal
    return Inputs(draw((*batch, n_q, d_k)), draw((*batch, n_k, d_k)), draw((*batch, n_k, d_v)))


def attention_by_loops(Q, K, V):
    """Compute attention in plain Python, a number at a time."""
    output = []
    for query in Q.tolist():
        scores = [
            sum(q * k for q, k in zip(query, key, strict=True)) / len(query) ** 0.5
            for key in K.tolist()
        ]
        exponentials = [math.exp(score - max(scores)) for score in scores]
        weights = [exponential / sum(exponentials) for exponential in exponentials]
        output.append(
            [sum(a * v for a, v in zip(weights, column, strict=True)) for column in V.T.tolist()]
        )
    return output


def test_steps_come_in_order_and_by_name():
    steps = attention_steps(*normal())
    assert isinstance(steps, AttentionSteps)
    assert steps._fields == ("S", "S_scaled", "A", "output")
    S, S_scaled, A, output = steps
    assert S.shape == S_scaled.shape == A.shape == (2, 5)
    assert output.shape == (2, 4)


def test_scores_of_2_ln_3_and_0_lead_to_an_output_of_3():
    Q, K, V = [[math.log(3), 0, 0, 0]], [[2, 0, 0, 0], [0, 0, 0, 0]], [[4], [0]]
    steps = attention_steps(Q, K, V)
    assert_allclose(steps.S, [[2 * math.log(3), 0]])
    assert_allclose(steps.S_scaled, [[math.log(3), 0]])
    assert_allclose(steps.A, [[0.75, 0.25]])
    assert_allclose(steps.output, [[3]])


def test_every_number_of_a_small_integer_example():
    X = [[1, 2], [3, 4]]
    output, A = scaled_dot_product_attention(X, X, X)
    assert_allclose(A, [[0.014166, 0.985834], [0.000050, 0.999950]], atol=1e-6)
    assert_allclose(output, [[2.971668, 3.971668], [2.999900, 3.999900]], atol=1e-6)


def test_scale_is_the_root_of_the_key_width():
    """Divided by 64, the weights would be 0.73 and 0.27."""
    Q, K, V = np.ones((1, 64)), np.stack([np.ones(64), np.zeros(64)]), np.eye(2)
    steps = attention_steps(Q, K, V)
    assert_array_equal(steps.S, [[64, 0]])
    assert_array_equal(steps.S_scaled, [[8, 0]])
    assert_allclose(steps.A, [[0.999665, 0.000335]], atol=1e-6)


def test_scale_knows_nothing_of_heads_tokens_or_values():
    steps = attention_steps(*normal(1, 12, n_q=3, n_k=3, d_k=64, d_v=9))
    assert_allclose(steps.S_scaled, steps.S / 8, rtol=1e-14)


def test_swapping_queries_and_keys_changes_the_output():
    Q, K = np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 3.0]])
    assert not np.allclose(attention_steps(Q, K, np.eye(2)).A, attention_steps(K, Q, np.eye(2)).A)


def test_steps_are_the_four_functions_one_after_the_other():
    Q, K, V = normal(2)
    S = attention_scores(Q, K)
    S_scaled = scale_scores(S, d_k=3)
    A = softmax(S_scaled)
    for made, expected in zip(
        attention_steps(Q, K, V), (S, S_scaled, A, weighted_values(A, V)), strict=True
    ):
        assert_array_equal(made, expected)


@pytest.mark.parametrize("scale", [None, 0.1])
def test_both_functions_make_the_same_output_and_weights(scale):
    steps = attention_steps(*normal(2), scale=scale)
    output, A = scaled_dot_product_attention(*normal(2), scale=scale)
    assert_array_equal(output, steps.output)
    assert_array_equal(A, steps.A)


@given(inputs())
def test_output_equals_plain_loops(inputs):
    output, _ = scaled_dot_product_attention(*inputs)
    assert_allclose(output, attention_by_loops(*inputs), rtol=1e-11, atol=1e-12)


@given(inputs())
def test_weights_are_distributions_and_the_output_stays_within_the_values(inputs):
    output, A = scaled_dot_product_attention(*inputs)
    assert (A >= 0).all()
    assert_allclose(A.sum(axis=-1), 1, rtol=1e-14)
    assert (output >= inputs.V.min(axis=0) - 1e-12).all()
    assert (output <= inputs.V.max(axis=0) + 1e-12).all()


@given(inputs(), st.randoms(use_true_random=False))
def test_permuting_keys_with_their_values_changes_no_output(inputs, random):
    Q, K, V = inputs
    order = random.sample(range(len(K)), len(K))
    expected, A = scaled_dot_product_attention(Q, K, V)
    output, permuted_A = scaled_dot_product_attention(Q, K[order], V[order])
    assert_allclose(output, expected, rtol=1e-11, atol=1e-12)
    assert_allclose(permuted_A, A[:, order], rtol=1e-11)


@given(inputs(), st.randoms(use_true_random=False))
def test_permuting_queries_permutes_the_rows(inputs, random):
    Q, K, V = inputs
    order = random.sample(range(len(Q)), len(Q))
    for permuted, made in zip(
        attention_steps(Q[order], K, V), attention_steps(Q, K, V), strict=True
    ):
        assert_allclose(permuted, made[order], rtol=1e-11, atol=1e-12)


@given(inputs())
def test_row_i_depends_on_query_i_alone(inputs):
    Q, K, V = inputs
    made = attention_steps(Q, K, V)
    for i in range(len(Q)):
        for alone, together in zip(attention_steps(Q[i : i + 1], K, V), made, strict=True):
            assert_allclose(alone[0], together[i], rtol=1e-11, atol=1e-12)


def test_nan_in_one_query_stays_in_its_row():
    Q, K, V = normal()
    expected = attention_steps(Q, K, V)
    Q[1, 0] = np.nan
    for made, clean in zip(attention_steps(Q, K, V), expected, strict=True):
        assert np.isnan(made[1]).all()
        assert_allclose(made[0], clean[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("Q_batch", "K_batch", "V_batch", "batch"),
    [
        ((2,), (2,), (2,), (2,)),
        ((2, 3), (2, 3), (2, 3), (2, 3)),
        ((2, 3), (2, 1), (2, 1), (2, 3)),
        ((), (), (3,), (3,)),
        ((), (3,), (), (3,)),
        ((3,), (2, 1), (), (2, 3)),
    ],
)
def test_batch_axes_broadcast_and_equal_a_loop_over_matrices(Q_batch, K_batch, V_batch, batch):
    Q, K, V = normal(*Q_batch).Q, normal(*K_batch).K, normal(*V_batch).V
    output, A = scaled_dot_product_attention(Q, K, V)
    assert output.shape == (*batch, 2, 4)
    every = [np.broadcast_to(array, (*batch, *array.shape[-2:])) for array in (Q, K, V)]
    for index in np.ndindex(batch):
        one_output, one_A = scaled_dot_product_attention(*(array[index] for array in every))
        assert_allclose(output[index], one_output, rtol=1e-12)
        assert_allclose(np.broadcast_to(A, (*batch, 2, 5))[index], one_A, rtol=1e-12)


def test_heads_keep_weights_of_their_own():
    _, A = scaled_dot_product_attention(*normal(1, 2, n_q=3, n_k=3, d_k=4))
    assert A.shape == (1, 2, 3, 3)
    assert not np.allclose(A[0, 0], A[0, 1])


@pytest.mark.parametrize(
    ("Q_shape", "K_shape", "V_shape", "A_shape", "output_shape"),
    [
        ((0, 4), (3, 4), (3, 2), (0, 3), (0, 2)),
        ((2, 4), (0, 4), (0, 3), (2, 0), (2, 3)),
        ((0, 4), (0, 4), (0, 3), (0, 0), (0, 3)),
        ((2, 4), (3, 4), (3, 0), (2, 3), (2, 0)),
        ((0, 2, 4), (0, 3, 4), (0, 3, 5), (0, 2, 3), (0, 2, 5)),
        ((5, 2, 4), (5, 0, 4), (5, 0, 3), (5, 2, 0), (5, 2, 3)),
    ],
    ids=["no query", "no key", "neither", "no value feature", "no batch", "no key in a batch"],
)
def test_without_queries_keys_or_batch_the_output_is_empty_or_zero(
    Q_shape, K_shape, V_shape, A_shape, output_shape
):
    output, A = scaled_dot_product_attention(np.ones(Q_shape), np.ones(K_shape), np.ones(V_shape))
    assert A.shape == A_shape
    assert_array_equal(output, np.zeros(output_shape))


@pytest.mark.parametrize("scale", [0.5, 1, -2, np.float64(0.5), np.float32(0.25), np.array(3.0)])
def test_scale_multiplies_the_scores_in_place_of_the_root(scale):
    steps = attention_steps(*normal(), scale=scale)
    assert_allclose(steps.S_scaled, steps.S * float(scale), rtol=1e-15)
    assert_array_equal(steps.A, softmax(steps.S_scaled))


def test_scale_of_one_over_the_root_is_the_default():
    by_default, by_hand = (
        attention_steps(*normal(d_k=16)),
        attention_steps(*normal(d_k=16), scale=0.25),
    )
    assert_allclose(by_default.output, by_hand.output, rtol=1e-14)


def test_scale_of_zero_blends_all_values_evenly():
    Q, K, V = normal()
    output, A = scaled_dot_product_attention(Q, K, V, scale=0)
    assert_allclose(A, np.full((2, 5), 1 / 5))
    assert_allclose(output, np.tile(V.mean(axis=0), (2, 1)))


@pytest.mark.parametrize(
    ("q", "k", "dtype", "scale", "S_scaled"),
    [
        (1e200, 1e100, float, 1e10, np.inf),
        (1.0, 1.0, np.float32, 1e39, np.inf),
        (np.inf, 1.0, float, 0, np.nan),
        (1e-30, 1.0, np.float32, 1e-30, 0.0),
    ],
)
def test_scale_out_of_the_range_of_floats_makes_no_warning(q, k, dtype, scale, S_scaled):
    steps = attention_steps(
        np.array([[q]], dtype), np.array([[k]], dtype), np.ones((1, 1), dtype), scale=scale
    )
    assert_array_equal(steps.S_scaled, [[S_scaled]])


def test_scale_is_given_by_name_alone():
    with pytest.raises(TypeError, match="positional"):
        attention_steps(*normal(), 0.5)


@pytest.mark.parametrize("scale", [None, 0.5, np.float64(0.5), np.float32(0.5), np.array(0.5)])
def test_every_step_has_at_least_the_precision_of_float32(dtypes, scale):
    given_dtype, result_dtype = dtypes
    steps = attention_steps(*(array.astype(given_dtype) for array in normal()), scale=scale)
    assert [step.dtype for step in steps] == [result_dtype] * 4


def test_precise_values_do_not_make_the_weights_more_precise():
    Q, K, V = normal()
    output, A = scaled_dot_product_attention(Q.astype(np.float32), K.astype(np.float32), V)
    assert (output.dtype, A.dtype) == (np.float64, np.float32)


def test_float32_output_agrees_with_float64():
    exact, _ = scaled_dot_product_attention(*normal(n_q=20, n_k=30, d_k=64))
    output, _ = scaled_dot_product_attention(
        *(array.astype(np.float32) for array in normal(n_q=20, n_k=30, d_k=64))
    )
    assert_allclose(output, exact, rtol=1e-4, atol=1e-5)


def test_float16_scores_do_not_overflow_before_they_are_scaled():
    Q, K = np.full((1, 64), 100, np.float16), np.array([[100] * 64, [99] * 64], np.float16)
    output, A = scaled_dot_product_attention(Q, K, np.float16([[1], [0]]))
    assert_array_equal(A, [[1, 0]])
    assert_array_equal(output, [[1]])


def test_inputs_are_left_alone_whatever_their_layout(laid_out):
    given_inputs = [laid_out(array) for array in normal()]
    steps = attention_steps(*given_inputs)
    assert_allclose(steps.output, attention_by_loops(*normal()), rtol=1e-12)
    for array, before in zip(given_inputs, normal(), strict=True):
        assert_array_equal(array, before)
        assert not any(np.shares_memory(array, step) for step in steps)


@pytest.mark.parametrize("scale", [None, 1])
def test_each_step_has_memory_of_its_own(scale):
    """Also where the scale is 1, and the scaled scores are the scores."""
    steps = attention_steps(*normal(d_k=1), scale=scale)
    assert not any(np.shares_memory(a, b) for i, a in enumerate(steps) for b in steps[:i])


_FUNCTIONS = pytest.mark.parametrize("function", [attention_steps, scaled_dot_product_attention])


@pytest.fixture
def no_arithmetic(monkeypatch):
    """Fail where the first step begins, so that an error must have come before it."""
    monkeypatch.setattr(
        attention, "attention_scores", lambda Q, K: pytest.fail("the arithmetic began")
    )


@_FUNCTIONS
@pytest.mark.parametrize("name", ["Q", "K", "V"])
@pytest.mark.usefixtures("no_arithmetic")
def test_what_is_no_array_of_numbers_is_refused(function, name, refused):
    arguments = {"Q": np.eye(2), "K": np.eye(2), "V": np.eye(2)} | {name: refused.value}
    with pytest.raises(refused.error, match=rf"^{function.__name__}: {name} must .*{refused.rule}"):
        function(**arguments)


@_FUNCTIONS
@pytest.mark.parametrize(
    ("Q_shape", "K_shape", "V_shape", "message"),
    [
        ((4,), (3, 4), (3, 2), r"Q must have at least two axes, \(n_q, d_k\)\. Got shape \(4,\)"),
        ((2, 4), (4,), (3, 2), r"K must have at least two axes, \(n_k, d_k\)\. Got shape \(4,\)"),
        ((2, 4), (3, 4), (3,), r"V must have at least two axes, \(n_k, d_v\)\. Got shape \(3,\)"),
        (
            (3, 4),
            (5, 6),
            (5, 2),
            r"share their last axis, d_k.* \(3, 4\) \(d_k = 4\).* \(5, 6\) \(d_k = 6\)",
        ),
        ((3, 4), (4, 5), (5, 2), r"d_k.* \(3, 4\) .* \(4, 5\) .*Was K passed already transposed\?"),
        ((3, 0), (5, 0), (5, 2), r"d_k.* at least 1.* \(3, 0\).* \(5, 0\)"),
        ((3, 8), (5, 8), (6, 8), r"share n_k.* \(5, 8\) \(n_k = 5\).* \(6, 8\) \(n_k = 6\)"),
        ((3, 8), (5, 8), (1, 8), r"share n_k.* \(5, 8\) \(n_k = 5\).* \(1, 8\) \(n_k = 1\)"),
        ((3, 8), (0, 8), (6, 8), r"share n_k.* \(0, 8\) \(n_k = 0\).* \(6, 8\) \(n_k = 6\)"),
        (
            (2, 3, 4),
            (5, 6, 4),
            (6, 2),
            r"Q and K before the last two are batch.* \(2, 3, 4\).* \(5, 6, 4\)",
        ),
        (
            (2, 3, 4),
            (2, 6, 4),
            (5, 6, 2),
            r"batch axes.* \(2, 3, 4\).* \(2, 6, 4\).* V has shape \(5, 6, 2\)",
        ),
        (
            (2, 3, 4),
            (6, 4),
            (5, 6, 2),
            r"batch axes.* \(2, 3, 4\).* \(6, 4\).* V has shape \(5, 6, 2\)",
        ),
    ],
)
@pytest.mark.usefixtures("no_arithmetic")
def test_shapes_that_do_not_fit_are_refused(function, Q_shape, K_shape, V_shape, message):
    with pytest.raises(ValueError, match=f"^{function.__name__}: .*{message}"):
        function(np.ones(Q_shape), np.ones(K_shape), np.ones(V_shape))


@_FUNCTIONS
@pytest.mark.parametrize(
    "scale",
    [
        *("0.5", "big", b"1", np.array("0.5"), [0.5], np.array([0.5]), np.array([0.5, 2.0])),
        *(1j, np.complex64(0.5), np.array(1j), np.ma.masked, np.eye),
    ],
)
@pytest.mark.usefixtures("no_arithmetic")
def test_scale_that_is_not_one_number_is_refused(function, scale):
    with pytest.raises(
        TypeError, match=f"^{function.__name__}: scale must be one number"
    ) as caught:
        function(*normal(), scale=scale)
    assert f"Got {scale!r} ({type(scale).__name__})" in str(caught.value)


@_FUNCTIONS
@pytest.mark.parametrize("scale", [math.nan, math.inf, -math.inf, np.float32(np.nan)])
@pytest.mark.usefixtures("no_arithmetic")
def test_scale_that_is_not_finite_is_refused(function, scale):
    with pytest.raises(
        ValueError, match=rf"^{function.__name__}: scale must be finite.* Got {float(scale)}\."
    ):
        function(*normal(), scale=scale)


@_FUNCTIONS
def test_shapes_are_judged_before_the_scale(function):
    Q, K, V = normal()
    with pytest.raises(ValueError, match="share n_k"):
        function(Q, K, V[1:], scale=math.nan)
