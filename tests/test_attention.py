import math
from typing import NamedTuple

import numpy as np
import pytest
from both_ways import scaled_dot_product_attention
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import (
    AttentionSteps,
    apply_mask,
    attention,
    attention_scores,
    attention_steps,
    causal_mask,
    padding_mask,
    scale_scores,
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


@st.composite
def masked_inputs(draw):
    """Draw Q, K and V, and a mask of booleans, in which a row may be False throughout."""
    Q, K, V = draw(inputs())
    return Q, K, V, draw(arrays(bool, (len(Q), len(K))))


def attention_by_loops(Q, K, V, added=None):
    """Compute attention in plain Python, a number at a time; `added` is a float mask."""
    output = []
    for i, query in enumerate(Q.tolist()):
        scores = [
            sum(q * k for q, k in zip(query, key, strict=True)) / len(query) ** 0.5
            for key in K.tolist()
        ]
        if added is not None:
            scores = [score + a for score, a in zip(scores, added[i].tolist(), strict=True)]
        if max(scores) == -math.inf:
            output.append([0.0] * V.shape[-1])
            continue
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


def test_a_query_mixes_only_the_values_it_may_see():
    """All scores are equal: two visible keys weigh 1/2 each, one weighs 1."""
    Q, K, V = np.zeros((2, 4)), np.ones((3, 4)), [[1.0], [2.0], [6.0]]
    mask = [[True, False, True], [False, True, False]]
    output, A = scaled_dot_product_attention(Q, K, V, mask=mask)
    assert_array_equal(A, [[0.5, 0, 0.5], [0, 1, 0]])
    assert_array_equal(output, [[3.5], [2.0]])


def test_a_float_mask_is_added_after_scaling():
    """Scaled, ln 3 would be ln 3 / 2, and the weights not in the proportion 3 to 1."""
    output, A = scaled_dot_product_attention(
        np.zeros((1, 4)), np.ones((2, 4)), [[4.0], [0.0]], mask=[[math.log(3), 0.0]]
    )
    assert_allclose(A, [[0.75, 0.25]])
    assert_allclose(output, [[3]])


def test_causal_lets_each_token_average_itself_and_those_before_it():
    output, A = scaled_dot_product_attention(
        np.zeros((3, 2)), np.ones((3, 2)), [[6.0], [0.0], [3.0]], causal=True
    )
    assert_allclose(A, [[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    assert_allclose(output, [[6], [3], [3]])


def test_masked_steps_are_the_functions_one_after_the_other():
    """The raw scores stay whole: keys are hidden between scaling and softmax."""
    Q, K, V = normal(2, n_q=4)
    mask = np.random.default_rng(1).random((2, 4, 5)) < 0.6
    S = attention_scores(Q, K)
    S_scaled = apply_mask(scale_scores(S, d_k=3), mask & causal_mask(4, 5))
    A = softmax(S_scaled)
    for made, expected in zip(
        attention_steps(Q, K, V, mask=mask, causal=True),
        (S, S_scaled, A, weighted_values(A, V)),
        strict=True,
    ):
        assert_array_equal(made, expected)


def test_scale_multiplies_the_scores_and_not_the_mask():
    """With scale 2 on a score of 0.5 the mask still adds 1, or hides."""
    Q, K, V = [[1.0]], [[0.5], [0.5], [0.5]], np.eye(3)
    steps = attention_steps(Q, K, V, mask=[[1.0, 0.0, -np.inf]], scale=2)
    assert_array_equal(steps.S_scaled, [[2, 1, -np.inf]])
    steps = attention_steps(Q, K, V, mask=[[True, True, False]], causal=True, scale=2)
    assert_array_equal(steps.S_scaled, [[1, -np.inf, -np.inf]])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", [None, [True, False] * 2 + [True], [0.5, -np.inf, 0, 1, 2]])
def test_both_functions_mask_alike(mask, causal):
    steps = attention_steps(*normal(2), mask=mask, causal=causal)
    output, A = scaled_dot_product_attention(*normal(2), mask=mask, causal=causal)
    assert_array_equal(output, steps.output)
    assert_array_equal(A, steps.A)


@given(masked_inputs(), st.booleans())
def test_masked_output_equals_plain_loops(masked_inputs, causal):
    Q, K, V, mask = masked_inputs
    seen = [[m and not (causal and j > i) for j, m in enumerate(row)] for i, row in enumerate(mask)]
    output, _ = scaled_dot_product_attention(Q, K, V, mask=mask, causal=causal)
    expected = attention_by_loops(Q, K, V, np.where(seen, 0.0, -np.inf))
    assert_allclose(output, expected, rtol=1e-11, atol=1e-12)


@given(masked_inputs(), st.floats(-4, 4), st.randoms(use_true_random=False))
def test_output_with_a_float_mask_equals_plain_loops(masked_inputs, slope, random):
    Q, K, V, mask = masked_inputs
    added = np.array([[slope * random.random() for _ in row] for row in mask])
    added[~mask] = -np.inf
    output, _ = scaled_dot_product_attention(Q, K, V, mask=added)
    assert_allclose(output, attention_by_loops(Q, K, V, added), rtol=1e-11, atol=1e-12)


@given(masked_inputs())
def test_boolean_mask_and_float_mask_of_zeros_hide_the_same_keys(masked_inputs):
    Q, K, V, mask = masked_inputs
    for by_boolean, by_float in zip(
        attention_steps(Q, K, V, mask=mask),
        attention_steps(Q, K, V, mask=np.where(mask, 0.0, -np.inf)),
        strict=True,
    ):
        assert_array_equal(by_boolean, by_float)


@given(masked_inputs())
def test_masked_attention_is_attention_over_the_visible_keys(masked_inputs):
    Q, K, V, mask = masked_inputs
    output, A = scaled_dot_product_attention(Q, K, V, mask=mask)
    for i, seen in enumerate(mask):
        one_output, one_A = scaled_dot_product_attention(Q[i : i + 1], K[seen], V[seen])
        assert_allclose(output[i], one_output[0], rtol=1e-11, atol=1e-12)
        assert_allclose(A[i, seen], one_A[0], rtol=1e-11)
        assert_array_equal(A[i, ~seen], 0)


@given(masked_inputs())
def test_masked_weights_are_distributions_over_the_visible_keys(masked_inputs):
    *inputs, mask = masked_inputs
    _, A = scaled_dot_product_attention(*inputs, mask=mask)
    assert (A >= 0).all()
    assert_array_equal(A[~mask], 0)
    assert_allclose(A.sum(axis=-1), mask.any(axis=-1), rtol=1e-14)


@given(masked_inputs(), st.randoms(use_true_random=False))
def test_permuting_keys_with_values_and_columns_of_the_mask_changes_no_output(
    masked_inputs, random
):
    Q, K, V, mask = masked_inputs
    order = random.sample(range(len(K)), len(K))
    expected, A = scaled_dot_product_attention(Q, K, V, mask=mask)
    output, permuted_A = scaled_dot_product_attention(Q, K[order], V[order], mask=mask[:, order])
    assert_allclose(output, expected, rtol=1e-11, atol=1e-12)
    assert_allclose(permuted_A, A[:, order], rtol=1e-11)


@pytest.mark.parametrize(("n_q", "n_k"), [(1, 1), (3, 3), (2, 5), (5, 2), (1, 4), (4, 1)])
def test_causal_is_the_mask_of_the_same_name_for_any_sizes(n_q, n_k):
    Q, K, V = normal(2, n_q=n_q, n_k=n_k)
    for by_switch, by_mask in zip(
        attention_steps(Q, K, V, causal=True),
        attention_steps(Q, K, V, mask=causal_mask(n_q, n_k)),
        strict=True,
    ):
        assert_array_equal(by_switch, by_mask)


@pytest.mark.parametrize("off", [False, np.False_])
def test_causal_is_off_unless_asked_for(off):
    by_default = attention_steps(*normal())
    assert_array_equal(attention_steps(*normal(), causal=off).A, by_default.A)
    assert (by_default.A > 0).all()
    assert_array_equal(attention_steps(*normal(), causal=np.True_).A > 0, causal_mask(2, 5))


@given(masked_inputs())
def test_with_causal_and_a_mask_both_must_allow_a_key(masked_inputs):
    Q, K, V, mask = masked_inputs
    both = mask & causal_mask(*mask.shape)
    expected = attention_steps(Q, K, V, mask=both)
    for given_mask in (mask, np.where(mask, 0.0, -np.inf)):
        for made, joined in zip(
            attention_steps(Q, K, V, mask=given_mask, causal=True), expected, strict=True
        ):
            assert_array_equal(made, joined)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("hide", [False, -np.inf], ids=["boolean", "float"])
def test_a_query_that_may_see_nothing_gets_zeros(hide, dtype):
    mask = np.full((2, 5), 0.0 if hide else True)
    mask[0] = hide
    steps = attention_steps(*(array.astype(dtype) for array in normal()), mask=mask)
    assert_array_equal(steps.S_scaled[0], [-np.inf] * 5)
    assert_array_equal(steps.A[0], [0] * 5)
    assert_array_equal(steps.output[0], [0] * 4)
    assert_allclose(steps.A[1].sum(), 1, rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
def test_nothing_at_all_to_see_gives_zeros_whatever_there_is(bad):
    Q, K, V = (np.full_like(array, bad) for array in normal(2))
    output, A = scaled_dot_product_attention(Q, K, V, mask=np.zeros((2, 5), bool))
    assert_array_equal(A, np.zeros((2, 2, 5)))
    assert_array_equal(output, np.zeros((2, 2, 4)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("hide", [False, -np.inf], ids=["boolean", "float"])
def test_what_a_hidden_key_and_its_value_hold_reaches_nobody(hide, bad):
    Q, K, V = normal()
    mask = np.full((2, 5), 0.0 if hide else True)
    mask[:, [1, 3]] = hide
    _, S_scaled, A, output = attention_steps(Q, K, V, mask=mask)
    K[[1, 3]], V[[1, 3]] = bad, bad
    spoilt = attention_steps(Q, K, V, mask=mask)
    assert_array_equal(spoilt.S_scaled, S_scaled)
    assert_array_equal(spoilt.A, A)
    assert_array_equal(spoilt.output, output)


def test_nan_in_a_visible_key_reaches_the_queries_that_may_see_it_and_no_other():
    Q, K, V = normal(n_q=4)
    mask = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]], bool)
    clean = attention_steps(Q, K, V, mask=mask)
    K[1, 0] = np.nan
    steps = attention_steps(Q, K, V, mask=mask)
    assert_array_equal(np.isnan(steps.S_scaled), mask & (np.arange(5) == 1))
    assert np.isnan(steps.output[:2]).all()
    assert_array_equal(steps.A[2:], clean.A[2:])
    assert_array_equal(steps.output[2:], clean.output[2:])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_reaches_the_queries_that_may_see_it_and_no_other(bad):
    Q, K, V = normal(n_q=3)
    mask = np.array([[1, 1, 0, 0, 0], [1, 0, 1, 1, 1], [0, 0, 0, 0, 0]], bool)
    clean = attention_steps(Q, K, V, mask=mask).output
    V[1, 2] = bad
    output = attention_steps(Q, K, V, mask=mask).output
    assert_array_equal(output[0, 2], bad)
    assert_array_equal(np.delete(output[0], 2), np.delete(clean[0], 2))
    assert_array_equal(output[1:], clean[1:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("later", [-7.0, 1e30, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("t", [1, 4, 8])
def test_changing_a_later_token_leaves_earlier_outputs_as_they_were_to_the_last_bit(
    t, later, dtype
):
    X = normal(2, n_q=9, d_k=6).Q.astype(dtype)
    before = attention_steps(X, X, X, causal=True)
    X[:, t:] *= dtype(later)
    after = attention_steps(X, X, X, causal=True)
    for name in ("S_scaled", "A", "output"):
        assert_array_equal(getattr(after, name)[:, :t], getattr(before, name)[:, :t])
        assert not np.array_equal(getattr(after, name)[:, t:], getattr(before, name)[:, t:])


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3),
    st.integers(0, 1000),
    st.booleans(),
    st.sampled_from([0.0, 1e308, np.nan, np.inf]),
)
def test_a_padded_batch_equals_each_sequence_alone(lengths, seed, causal, padding):
    Q, K, V = normal(len(lengths), n_q=4, n_k=4, seed=seed)
    for b, length in enumerate(lengths):
        K[b, length:], V[b, length:] = padding, padding
    output, A = scaled_dot_product_attention(
        Q, K, V, mask=padding_mask(lengths, n_k=4), causal=causal
    )
    for b, length in enumerate(lengths):
        alone, alone_A = scaled_dot_product_attention(
            Q[b], K[b, :length], V[b, :length], causal=causal
        )
        assert_allclose(output[b], alone, rtol=1e-11, atol=1e-12)
        assert_allclose(A[b, :, :length], alone_A, rtol=1e-11)
        assert_array_equal(A[b, :, length:], 0)


@pytest.mark.parametrize(
    ("Q_batch", "V_batch", "mask_shape", "A_batch", "batch"),
    [
        ((2, 3), (2, 3), (2, 1, 1, 5), (2, 3), (2, 3)),
        ((2, 3), (2, 3), (3, 2, 5), (2, 3), (2, 3)),
        ((2, 3), (2, 3), (3, 2, 1), (2, 3), (2, 3)),
        ((2, 3), (1, 1), (5,), (2, 3), (2, 3)),
        ((2, 1), (2, 1), (3, 1, 5), (2, 3), (2, 3)),
        ((), (), (3, 2, 5), (3,), (3,)),
        ((), (3,), (3, 2, 5), (3,), (3,)),
        ((3,), (2, 3), (2, 1, 1, 1), (2, 3), (2, 3)),
        ((), (2, 3), (3, 1, 5), (3,), (2, 3)),
    ],
    ids=[
        *("padding for all heads", "a mask per head", "queries off per head", "one row for all"),
        *("heads from the mask", "batch from the mask", "batch of the values"),
        *("batch of the values, heads of all", "heads of values and mask"),
    ],
)
def test_batch_axes_of_the_mask_broadcast_and_equal_a_loop_over_matrices(
    Q_batch, V_batch, mask_shape, A_batch, batch
):
    Q, K, V = normal(*Q_batch).Q, normal(*Q_batch).K, normal(*V_batch).V
    mask = np.random.default_rng(1).random(mask_shape) < 0.6
    output, A = scaled_dot_product_attention(Q, K, V, mask=mask)
    assert A.shape == (*A_batch, 2, 5)
    assert output.shape == (*batch, 2, 4)
    every = [np.broadcast_to(array, (*batch, *array.shape[-2:])) for array in (Q, K, V)]
    every_mask = np.broadcast_to(mask, (*batch, 2, 5))
    for index in np.ndindex(batch):
        one_output, one_A = scaled_dot_product_attention(
            *(array[index] for array in every), mask=every_mask[index]
        )
        assert_allclose(output[index], one_output, rtol=1e-12)
        assert_allclose(np.broadcast_to(A, (*batch, 2, 5))[index], one_A, rtol=1e-12)


@pytest.mark.parametrize("mask_dtype", [bool, float])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n_q", "n_k"), [(0, 3), (2, 0), (0, 0)])
def test_without_queries_or_keys_a_mask_is_as_empty_as_the_weights(n_q, n_k, causal, mask_dtype):
    output, A = scaled_dot_product_attention(
        *normal(n_q=n_q, n_k=n_k), mask=np.zeros((n_q, n_k), mask_dtype), causal=causal
    )
    assert A.shape == (n_q, n_k)
    assert_array_equal(output, np.zeros((n_q, 4)))


def test_a_boolean_mask_leaves_every_dtype_as_it_was(dtypes):
    given_dtype, result_dtype = dtypes
    steps = attention_steps(
        *(array.astype(given_dtype) for array in normal()), mask=[True, False] * 2 + [True]
    )
    assert [step.dtype for step in steps] == [result_dtype] * 4


@pytest.mark.parametrize(
    ("mask_dtype", "masked"), [(np.float16, "f4"), (np.float32, "f4"), (np.float64, "f8")]
)
def test_a_float_mask_widens_what_comes_after_it(mask_dtype, masked):
    steps = attention_steps(
        *(array.astype(np.float32) for array in normal()), mask=np.zeros((2, 5), mask_dtype)
    )
    assert [step.dtype for step in steps] == ["f4", masked, masked, masked]


@pytest.mark.parametrize("mask", [np.ones((2, 5), bool), np.zeros((2, 5)), np.tri(2, 5) > 0])
def test_the_mask_is_left_alone_and_shares_no_memory(laid_out, mask):
    laid_mask = laid_out(mask)
    steps = attention_steps(*normal(), mask=laid_mask, scale=1)
    assert_array_equal(laid_mask, mask)
    for made, expected in zip(
        steps, attention_steps(*normal(), mask=mask.copy(), scale=1), strict=True
    ):
        assert_array_equal(made, expected)
        assert not np.shares_memory(made, laid_mask)
    assert not any(np.shares_memory(a, b) for i, a in enumerate(steps) for b in steps[:i])


def test_a_mask_as_lists_is_taken():
    mask = [[True, False, True, True, False], [False, True, True, False, True]]
    _, A = scaled_dot_product_attention(*normal(), mask=mask)
    assert_array_equal(A > 0, mask)


_FUNCTIONS = pytest.mark.parametrize("function", [attention_steps, scaled_dot_product_attention])


@pytest.fixture
def no_arithmetic(monkeypatch):
    """Fail where the first step begins, so that an error must have come before it."""
    monkeypatch.setattr(attention, "run", lambda *given, **how: pytest.fail("the arithmetic began"))


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


@_FUNCTIONS
@pytest.mark.parametrize("kind", [bool, float])
@pytest.mark.parametrize(
    ("mask_shape", "message"),
    [
        ((5, 2), r"= \(3, 2, 5\); .* Got shape \(5, 2\)\. Is it turned round\?"),
        (
            (3, 5),
            r"= \(3, 2, 5\); .* Got shape \(3, 5\)\..* \(batch, n_k\): mask\[:, np\.newaxis, :\]",
        ),
        ((2, 4), r"= \(3, 2, 5\); .* Got shape \(2, 4\)\. Two axes are \(n_q, n_k\)"),
        ((2,), r"= \(3, 2, 5\); .* Got shape \(2,\)\. Two axes are \(n_q, n_k\)"),
        ((4, 2, 5), r"= \(3, 2, 5\); .* Got shape \(4, 2, 5\), whose batch axes do not fit"),
        ((), r"= \(3, 2, 5\); .* Got the single value .* causal_mask\(n_q, n_k\)"),
    ],
)
@pytest.mark.usefixtures("no_arithmetic")
def test_a_mask_that_does_not_fit_the_scores_is_refused(function, mask_shape, message, kind):
    with pytest.raises(
        ValueError, match=rf"^{function.__name__}: mask must fit the scores, .* {message}"
    ):
        function(*normal(3), mask=np.zeros(mask_shape, kind))


@_FUNCTIONS
@pytest.mark.usefixtures("no_arithmetic")
def test_a_mask_must_fit_the_batch_axes_of_the_values_too(function):
    Q, K, V = normal().Q, normal().K, normal(3).V
    with pytest.raises(ValueError, match=r"mask must fit.* = \(3, 2, 5\).* Got shape \(4, 1, 5\)"):
        function(Q, K, V, mask=np.ones((4, 1, 5), bool))


@_FUNCTIONS
@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (np.ones((2, 5), int), TypeError, r"mask must be boolean .* int64 and shape \(2, 5\)"),
        ([[1, 1, 1, 1, 0]], TypeError, r"mask must be boolean .* int64 and shape \(1, 5\)"),
        ("causal", TypeError, r"mask must hold real numbers.* str with dtype <U6"),
        ([[True], [True, False]], ValueError, "mask must be a rectangular array"),
        (np.ma.array(np.ones((2, 5), bool)), TypeError, r"masked array with shape \(2, 5\)"),
        (causal_mask, TypeError, "mask must hold real numbers.* object"),
        (np.full((2, 5), np.nan), ValueError, r"finite or -inf\. .* \(2, 5\) with 10 entries NaN"),
        ([np.inf, 0.0, 0.0, 0.0, -np.inf], ValueError, r"\(5,\) .* 1 entries \+inf"),
    ],
    ids=["integers", "ones and zeros", "a name", "ragged", "masked", "function", "NaN", "+inf"],
)
@pytest.mark.usefixtures("no_arithmetic")
def test_what_is_no_mask_is_refused(function, mask, error, message):
    with pytest.raises(error, match=f"^{function.__name__}: .*{message}"):
        function(*normal(), mask=mask)


@_FUNCTIONS
@pytest.mark.parametrize("causal", [None, 0, 1, 1.0, "causal", np.array(True), [True]])
@pytest.mark.usefixtures("no_arithmetic")
def test_causal_that_is_neither_true_nor_false_is_refused(function, causal):
    rule = f"^{function.__name__}: causal must be True or False.* passed as mask"
    with pytest.raises(TypeError, match=rule) as caught:
        function(*normal(), causal=causal)
    assert f"Got {causal!r} ({type(causal).__name__})." in str(caught.value)


@_FUNCTIONS
@pytest.mark.usefixtures("no_arithmetic")
def test_a_mask_passed_as_causal_is_named_by_its_shape(function):
    with pytest.raises(TypeError, match=r"causal must be .* Got an array with shape \(2, 5\)\."):
        function(*normal(), causal=causal_mask(2, 5))


@_FUNCTIONS
@pytest.mark.usefixtures("no_arithmetic")
def test_shapes_are_judged_first_then_mask_causal_and_scale(function):
    Q, K, V = normal()
    bad = {"mask": np.ones((5, 2), bool), "causal": 1, "scale": math.nan}
    with pytest.raises(ValueError, match="share n_k"):
        function(Q, K, V[1:], **bad)
    with pytest.raises(ValueError, match="mask must fit"):
        function(Q, K, V, **bad)
    with pytest.raises(TypeError, match="causal must be"):
        function(Q, K, V, **bad | {"mask": None})
