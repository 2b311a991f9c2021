"""Faults that were reported against other attention libraries, teaching notebooks and plotting code.

Each report is a test here, o01 to o59, with its number at the end of the name: first the case as
it was reported, then the whole kind of fault that it stands for. This file has the maths, o01 to
o36 and o39; what concerns pictures and notebooks is in `test_public_reports_drawing.py`.
"""

import ast
import inspect
import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from both_ways import scaled_dot_product_attention
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

import attention_lib
from attention_lib import (
    apply_mask,
    attention,
    attention_gradients,
    attention_scores,
    attention_steps,
    causal_mask,
    merge,
    padding_mask,
    partial_attention,
    row_entropy,
    scale_scores,
    softmax,
    softmax_jacobian,
    softmax_vjp,
    tiled_attention,
    weighted_values,
)

T, F, INF = True, False, math.inf

PUBLIC = [f for f in map(vars(attention_lib).get, attention_lib.__all__) if inspect.isfunction(f)]
PUBLIC.remove(merge)  # it takes no arrays, but what partial_attention made of them
INTEGERS = [np.dtype(code) for code in np.typecodes["AllInteger"]]
MATHS = [*Path(attention_lib.__file__).parent.glob("steps/*.py")]
MATHS += [Path(module.__file__) for module in (attention, inspect.getmodule(causal_mask))]

sizes = st.integers(1, 5)
any_finite = st.floats(allow_nan=False, allow_infinity=False)
any_scores = arrays(float, array_shapes(min_dims=1, max_dims=3, max_side=4), elements=any_finite)


class Problem(NamedTuple):
    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    mask: np.ndarray


@st.composite
def problems(draw, n_q=sizes, n_k=sizes, d_k=sizes, d_v=sizes, batch=()):
    """Draw Q, K, V and a boolean mask, rows without an allowed key among them."""
    n_q, n_k, d_k, d_v = (draw(size) for size in (n_q, n_k, d_k, d_v))
    shapes = (n_q, d_k), (n_k, d_k), (n_k, d_v)
    moderate = st.floats(-4, 4)
    made = (draw(arrays(float, (*batch, *shape), elements=moderate)) for shape in shapes)
    return Problem(*made, draw(arrays(bool, (*batch, n_q, n_k), elements=st.booleans())))


def equal_scores(n_q, n_k, *batch):
    """Return Q, K and V for which every score is 0, and the output is the weights."""
    return np.zeros((*batch, n_q, 1)), np.zeros((*batch, n_k, 1)), np.eye(n_k)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def without_hidden_keys(Q, K, V, allowed, added=0.0):
    """Return output and weights, computed as if hidden keys did not exist."""
    A, added = np.zeros(allowed.shape), np.broadcast_to(added, allowed.shape)
    for i in np.ndindex(allowed.shape[:-1]):
        seen, matrix = allowed[i], i[:-1]
        if seen.any():
            scores = K[matrix][seen] @ Q[i] / math.sqrt(Q.shape[-1]) + added[i][seen]
            A[i][seen] = np.exp(scores - scores.max())
            A[i] /= A[i].sum()
    return A @ V, A


def close(actual, expected, tolerance=1e-6):
    assert_allclose(actual, expected, rtol=0, atol=tolerance)


def constants(path):
    """Return every number that is written in a module."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [value for value in values if isinstance(value, (int, float))]


# Rows in which no key is allowed


def test_row_without_an_allowed_key_gets_zero_weights_and_a_zero_output_o01():
    Q, K, V = [[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1]], [[1, 2, 3], [4, 5, 6]]
    output, A = scaled_dot_product_attention(Q, K, V, mask=[[T, T], [F, F], [F, T]])
    close(A, [[0.669762, 0.330238], [0, 0], [0, 1]])
    close(output, [[1.990715, 2.990715, 3.990715], [0, 0, 0], [4, 5, 6]])


@given(problems(), st.data())
def test_any_mask_with_empty_rows_leaves_zeros_there_and_the_rest_right_o01(problem, data):
    Q, K, V, mask = problem
    mask[data.draw(st.integers(0, len(Q) - 1))] = False
    expected_output, expected_A = without_hidden_keys(Q, K, V, mask)
    for written in (mask, np.where(mask, 0.0, -INF)):
        output, A = scaled_dot_product_attention(Q, K, V, mask=written)
        close(A, expected_A, 1e-12)
        close(output, expected_output, 1e-12)
        assert_array_equal(A == 0, ~mask)
        assert_array_equal(output[~mask.any(axis=1)], 0)


@given(problems(batch=(2, 3)))
def test_empty_rows_of_one_sequence_or_head_do_not_reach_another_o01(problem):
    output, A = scaled_dot_product_attention(*problem[:3], mask=problem.mask)
    expected_output, expected_A = without_hidden_keys(*problem)
    close(A, expected_A, 1e-12)
    close(output, expected_output, 1e-12)


def test_minus_inf_hides_a_row_and_a_large_negative_number_does_not_o02():
    Q, K, V = equal_scores(1, 2)
    for number, weights in ((-INF, [[0, 0]]), (-1e9, [[0.5, 0.5]])):
        output, A = scaled_dot_product_attention(Q, K, V, mask=[[number, number]])
        assert_array_equal(A, weights)
        assert_array_equal(output, weights)


@given(problems(), st.floats(-1e9, -1e3))
def test_a_finite_number_added_to_a_whole_row_hides_nothing_o02(problem, number):
    Q, K, V, mask = problem
    added = np.where(mask.any(axis=1, keepdims=True), 0.0, number) * np.ones(mask.shape)
    _, A = scaled_dot_product_attention(Q, K, V, mask=added)
    close(A, scaled_dot_product_attention(Q, K, V)[1])


def test_softmax_of_minus_inf_alone_is_zeros_and_says_so_o03():
    assert_array_equal(softmax([-INF, -INF, -INF]), [0, 0, 0])
    assert re.search(r"-inf\s+throughout,.*\s+gives zeros", softmax.__doc__)


@given(
    array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
    st.sampled_from([np.float16, np.float32, np.float64]),
    st.data(),
)
def test_softmax_of_minus_inf_is_zeros_in_any_shape_along_any_axis_o03(shape, dtype, data):
    x = np.full(shape, -INF, dtype)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    assert_array_equal(softmax(x, axis=axis), np.zeros(shape))


# Masks: polarity, orientation, broadcasting


def test_padding_is_hidden_as_a_key_and_goes_on_as_a_query_o04():
    ids = np.array([[5, 7, 0, 0]])
    for mask in (padding_mask([2], n_k=4), (ids != 0)[:, np.newaxis, :]):
        assert mask.shape == (1, 1, 4)
        output, A = scaled_dot_product_attention(*equal_scores(4, 4, 1), mask=mask)
        assert_array_equal(A, [[[0.5, 0.5, 0, 0]] * 4])
        assert_array_equal(output, A)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(1, 5), st.booleans())
def test_padding_of_any_lengths_hides_columns_and_never_rows_o04(lengths, n_q, heads):
    mask = padding_mask(lengths, n_k=5)
    Q, K, V = equal_scores(n_q, 5, len(lengths), 1)
    if heads:
        _, A = scaled_dot_product_attention(Q, K, V, mask=mask[:, np.newaxis])
    else:
        _, A = scaled_dot_product_attention(Q[:, 0], K[:, 0], V, mask=mask)
    for length, weights in zip(lengths, A, strict=True):
        row = np.where(np.arange(5) < length, 1 / max(length, 1), 0)
        close(weights, np.broadcast_to(row, weights.shape), 1e-15)


def test_mask_with_one_entry_per_key_hides_that_key_from_every_query_o05():
    half = [[0.5, 0.5, 0]] * 3
    for mask in ([T, T, F], [0.0, 0.0, -1e10], [0.0, 0.0, -INF]):
        close(scaled_dot_product_attention(*equal_scores(3, 3), mask=mask)[1], half)


@given(problems())
def test_mask_of_keys_hides_columns_and_mask_of_queries_rows_o05(problem):
    Q, K, V, mask = problem
    for keys in (mask[0], mask[:1]):
        _, A = scaled_dot_product_attention(Q, K, V, mask=keys)
        assert_array_equal(A == 0, np.broadcast_to(~keys, mask.shape))
    _, A = scaled_dot_product_attention(Q, K, V, mask=mask[:, :1])
    assert_array_equal(A == 0, np.broadcast_to(~mask[:, :1], mask.shape))


def test_padding_of_a_batch_as_long_as_its_sequences_goes_by_sequence_o06():
    square = np.array([[T, T, T], [T, T, F], [T, F, F]])
    rows = np.array([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0], [1, 0, 0]])
    Q, K, V = equal_scores(3, 3, 3)
    for mask in (padding_mask([3, 2, 1], n_k=3), square[:, np.newaxis, :]):
        close(scaled_dot_product_attention(Q, K, V, mask=mask)[1], np.stack([rows] * 3, axis=1))
    close(scaled_dot_product_attention(Q, K, V, mask=square)[1], [rows] * 3)
    for function in (attention_steps, apply_mask):
        assert re.search(r"Two axes are\s+\(n_q, n_k\),\s+never\s+\(batch, n_k\)", function.__doc__)


@given(st.integers(2, 5), st.integers(2, 5), st.integers(1, 5), st.booleans())
def test_padding_that_does_not_line_up_is_refused_with_the_way_out_o06(batch, n_q, n_k, heads):
    assume(batch != n_q)
    Q, K, V = equal_scores(n_q, n_k, batch, *[2] * heads)
    with pytest.raises(ValueError, match=r"mask\[:, np\.newaxis, :\]|turned round"):
        attention_steps(Q, K, V, mask=np.ones((batch, n_k), bool))


def test_upper_triangle_of_true_shows_the_future_alone_o07():
    future = np.triu(np.ones((3, 3)), 1).astype(bool)
    _, A = scaled_dot_product_attention(*equal_scores(3, 3), mask=future)
    assert_array_equal(A, [[0, 0.5, 0.5], [0, 0, 1], [0, 0, 0]])


@given(st.integers(0, 6), st.integers(0, 6))
def test_causal_is_the_upper_triangle_turned_into_its_opposite_o07(n_q, n_k):
    future = np.triu(np.ones((n_q, n_k), bool), 1)
    assert_array_equal(causal_mask(n_q, n_k), ~future)
    Q, K, V = normal(n_q, 3), normal(n_k, 3, seed=1), normal(n_k, 2, seed=2)
    _, A = scaled_dot_product_attention(Q, K, V, causal=True)
    assert_array_equal(A, scaled_dot_product_attention(Q, K, V, mask=~future)[1])
    assert (A[future] == 0).all()
    assert (A[~future] > 0).all()


def test_true_means_may_attend_o08():
    _, A = scaled_dot_product_attention(*equal_scores(1, 2), mask=[[T, F]])
    assert_array_equal(A, [[1, 0]])


@given(problems())
def test_every_path_reads_a_boolean_mask_alike_o08(problem):
    Q, K, V, mask = problem
    steps = attention_steps(Q, K, V, mask=mask)
    by_hand = apply_mask(scale_scores(attention_scores(Q, K), K.shape[-1]), mask)
    output, A = scaled_dot_product_attention(Q, K, V, mask=mask)
    assert_array_equal(np.isneginf(by_hand), ~mask)
    assert_array_equal(steps.S_scaled, by_hand)
    assert_array_equal(steps.A, softmax(by_hand))
    assert_array_equal(A, steps.A)
    assert_array_equal(output, steps.output)
    assert_array_equal(A > 0, mask)


@pytest.mark.parametrize(
    "function", [f for f in PUBLIC if "mask" in [f.__name__[-4:], *inspect.signature(f).parameters]]
)
def test_docstring_says_what_true_means_o08(function):
    meaning = r"True\s+(means that .* may attend|may\b|on )|mask, .*\s+As for `attention_steps`"
    assert re.search(meaning, function.__doc__, re.DOTALL)


@pytest.mark.parametrize("dtype", [int, np.int8, np.uint8])
def test_mask_of_ones_and_zeros_is_refused_because_it_may_mean_either_o08(dtype):
    for call in (
        lambda mask: apply_mask(np.zeros((1, 2)), mask),
        lambda mask: attention_steps(*equal_scores(1, 2), mask=mask),
        lambda mask: scaled_dot_product_attention(*equal_scores(1, 2), mask=mask),
    ):
        with pytest.raises(TypeError, match=r"astype\(bool\).*mask == 0"):
            call(np.array([[1, 0]], dtype))


def test_mask_without_heads_and_queries_holds_for_all_of_them_o09():
    Q, K, V = normal(2, 4, 3, 8), normal(2, 4, 3, 8, seed=1), normal(2, 4, 3, 8, seed=2)
    mask = np.array([[T, F, T], [T, T, F]])[:, np.newaxis, np.newaxis, :]
    output, A = scaled_dot_product_attention(Q, K, V, mask=mask)
    expected = without_hidden_keys(Q, K, V, np.broadcast_to(mask, A.shape))
    close(output, expected[0], 1e-12)
    close(A, expected[1], 1e-12)


@given(problems(batch=(2, 3)), st.data())
def test_any_mask_that_broadcasts_equals_the_mask_written_out_o09(problem, data):
    Q, K, V, mask = problem
    whole = data.draw(st.lists(st.booleans(), min_size=4, max_size=4))
    mask = mask[tuple(slice(None) if axis else slice(1) for axis in whole)]
    while mask.shape[0] == 1 and mask.ndim > 1 and data.draw(st.booleans()):
        mask = mask[0]
    written_out = np.broadcast_to(mask, (*Q.shape[:-1], K.shape[-2]))
    expected = attention_steps(Q, K, V, mask=written_out)
    assert_equal(attention_steps(Q, K, V, mask=mask), expected)
    assert_equal(attention_steps(Q, K, V, mask=np.where(mask, 0.0, -INF)), expected)


@given(problems(batch=(3,)), array_shapes(min_dims=1, max_dims=4, max_side=5))
def test_mask_that_does_not_broadcast_is_refused_with_both_shapes_o09(problem, shape):
    Q, K, V, _ = problem
    scores = (3, Q.shape[-2], K.shape[-2])
    last = (1, *shape)[-2:]
    fits = all(size in (1, full) for size, full in zip(last, scores[-2:], strict=True))
    assume(not fits or (len(shape) > 2 and shape[-3] not in (1, 3)))
    with pytest.raises(ValueError, match=r"^attention_steps: mask must fit") as caught:
        attention_steps(Q, K, V, mask=np.ones(shape, bool))
    assert str(scores) in str(caught.value)
    assert str(shape) in str(caught.value)


def test_zero_times_inf_on_the_allowed_cells_is_refused_o10():
    m = np.array([[1.0, 0.0]])
    with np.errstate(invalid="ignore"):
        wrong = (1 - m) * -INF
    with pytest.raises(ValueError, match=r"1 entries NaN.*np\.where\(m, 0\.0, -np\.inf\)"):
        attention_steps(*equal_scores(1, 2), mask=wrong)
    _, A = scaled_dot_product_attention(*equal_scores(1, 2), mask=np.where(m, 0, -INF))
    assert_array_equal(A, [[1, 0]])


@given(problems())
def test_float_mask_is_refused_or_right_however_it_was_made_o10(problem):
    Q, K, V, mask = problem
    with np.errstate(invalid="ignore"):
        wrong = (1.0 - mask) * -INF
    if mask.any():
        with pytest.raises(ValueError, match="NaN"):
            apply_mask(np.zeros(mask.shape), wrong)
    right = attention_steps(Q, K, V, mask=np.where(mask, 0, -INF))
    assert_equal(right, attention_steps(Q, K, V, mask=mask))


# float16, and large negative numbers in place of -inf


def test_hidden_float16_key_gets_exactly_nothing_o11():
    Q, K, V = (array.astype(np.float16) for array in (normal(1, 4), normal(2, 4), np.eye(2)))
    output, A = scaled_dot_product_attention(Q, K, V, mask=[[T, F]])
    assert_array_equal(A, [[1, 0]])
    assert_array_equal(output, [[1, 0]])


@given(
    st.sampled_from([np.float16, np.float32, np.float64]),
    st.sampled_from([1, 100, 60000]),
    st.data(),
)
def test_hidden_keys_get_exactly_nothing_in_every_precision_o11(dtype, size, data):
    mask = data.draw(arrays(bool, (3, 4), elements=st.booleans()))
    scores = data.draw(arrays(np.int32, (3, 4), elements=st.integers(-size, size))).astype(dtype)
    for written in (mask, np.where(mask, 0, -INF).astype(dtype)):
        A = softmax(apply_mask(scores, written))
        assert (A[~mask] == 0).all()
        close(A.sum(axis=-1), mask.any(axis=-1))


@pytest.mark.parametrize("path", MATHS, ids=lambda path: path.stem)
def test_no_large_number_stands_in_for_inf_o11(path):
    assert [number for number in constants(path) if abs(number) >= 1000] == []


def test_hidden_key_gets_nothing_beside_a_very_low_score_o12():
    assert_array_equal(softmax(apply_mask([[-20000.0, 5.0]], [[T, F]])), [[1, 0]])
    steps = attention_steps([[1.0]], [[-20000.0], [5.0]], np.eye(2), mask=[[T, F]], scale=1)
    assert_array_equal(steps.A, [[1, 0]])


@given(any_finite, any_finite, st.sampled_from([np.float32, np.float64]))
def test_the_only_allowed_key_gets_all_weight_however_low_its_score_o12(low, high, dtype):
    limit = float(np.finfo(dtype).max)
    scores = np.clip([[low, high]], -limit, limit).astype(dtype)
    assert_array_equal(softmax(apply_mask(scores, [[T, F]])), [[1, 0]])
    assert_array_equal(softmax(apply_mask(scores, [[F, T]])), [[0, 1]])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("how", ["causal", "mask", "float16 mask"])
def test_masked_float16_agrees_with_float64_o13(seed, how):
    Q, K, V = np.random.default_rng(seed).random((3, 1, 4, 8)).astype(np.float16)
    mask = np.where(np.tri(4), 0, -INF).astype(np.float16)
    options = {"causal": T} if how == "causal" else {"mask": mask if "16" in how else mask == 0}
    output, A = scaled_dot_product_attention(Q, K, V, **options)
    exact = scaled_dot_product_attention(*(array.astype(float) for array in (Q, K, V)), causal=True)
    close(output, exact[0], 1e-5)
    close(A, exact[1], 1e-5)
    assert_array_equal(np.triu(A, 1), np.zeros((1, 4, 4)))


def test_float16_scores_do_not_overflow_before_they_are_scaled_o14():
    Q, K = np.full((1, 64), 100, np.float16), np.array([[100] * 64, [99] * 64], np.float16)
    steps = attention_steps(Q, K, np.array([[1], [0]], np.float16))
    assert_array_equal(steps.S_scaled, [[80000, 79200]])
    assert_array_equal(steps.A, [[1, 0]])
    assert_array_equal(steps.output, [[1]])


# Whole numbers and square widths, so that float32 makes no rounding error either.
@given(st.sampled_from([1, 4, 16]), st.data())
def test_float16_inputs_of_any_size_agree_with_float64_o14(d_k, data):
    whole = st.integers(-300, 300)
    Q, K = (data.draw(arrays(np.int32, (n, d_k), elements=whole)).astype("f2") for n in (2, 3))
    output, A = scaled_dot_product_attention(Q, K, np.eye(3, dtype="f2"))
    close(A, scaled_dot_product_attention(Q.astype(float), K.astype(float), np.eye(3))[1])
    assert_array_equal(output, A)
    assert output.dtype == np.float32


# Softmax


def test_large_scores_of_either_sign_do_not_overflow_o15():
    close(softmax([1000, 1001, 1002]), [0.090031, 0.244728, 0.665241])
    close(softmax([-1000, -1001, -1002]), [0.665241, 0.244728, 0.090031])


@given(any_scores)
def test_no_finite_scores_overflow_o15(x):
    A = softmax(x)
    close(A.sum(axis=-1), np.ones(x.shape[:-1]), 1e-14)
    assert (np.take_along_axis(A, x.argmax(-1)[..., np.newaxis], -1) >= 1 / x.shape[-1]).all()


def test_each_row_subtracts_a_maximum_of_its_own_o16():
    A = softmax([[0, 1], [1000, 1001], [-1000, -1001]])
    close(A, [[0.268941, 0.731059], [0.268941, 0.731059], [0.731059, 0.268941]])


@given(arrays(float, (3, 4), elements=st.floats(-9, 9)), st.permutations([0.0, 1e4, -1e6]))
def test_rows_far_apart_are_each_what_they_are_alone_o16(x, shifts):
    x = x + np.reshape(shifts, (3, 1))
    A = softmax(x)
    for row, alone in zip(A, x, strict=True):
        assert_array_equal(row, softmax(alone))
    close(A.sum(axis=-1), [1, 1, 1], 1e-14)


def test_softmax_goes_along_rows_o17():
    scores, third = [[1, 2, 3], [1, 1, 1]], 1 / 3
    close(softmax(scores), [[0.090031, 0.244728, 0.665241], [third, third, third]])
    close(softmax(scores, axis=0), [[0.5, 0.731059, 0.880797], [0.5, 0.268941, 0.119203]])
    with pytest.raises(TypeError, match="axis must be one whole number"):
        softmax(scores, axis=None)


@given(any_scores, st.data())
def test_weights_sum_to_one_along_the_last_axis_or_the_one_asked_for_o17(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    close(softmax(x, axis=axis).sum(axis=axis), 1, 1e-14)
    assert_array_equal(softmax(x), softmax(x, axis=x.ndim - 1))
    moved = np.moveaxis(softmax(np.moveaxis(x, axis, -1)), -1, axis)
    close(softmax(x, axis=axis), moved, 1e-14)


def test_one_query_spreads_its_weights_o17():
    _, A = scaled_dot_product_attention([[1.0]], [[1.0], [2.0], [3.0]], np.eye(3))
    close(A, [[0.090031, 0.244728, 0.665241]])


@given(problems(n_q=st.just(2), n_k=st.just(3)) | problems())
def test_rows_sum_to_one_and_columns_do_not_o18(problem):
    n_q, n_k = problem.mask.shape
    assume(n_q != n_k)
    for A in (scaled_dot_product_attention(*problem[:3])[1], softmax(problem.mask)):
        close(A.sum(axis=-1), np.ones(n_q), 1e-14)
        assert not np.allclose(A.sum(axis=-2), 1)


def test_softmax_takes_integers_and_lists_o19():
    for x in (np.array([1, 2, 3]), [1, 2, 3], np.int8([1, 2, 3])):
        close(softmax(x), [0.090031, 0.244728, 0.665241])
        assert softmax(x).dtype == np.float64


@given(st.sampled_from([*INTEGERS, np.dtype(bool)]), st.data())
def test_softmax_of_any_integers_is_that_of_the_same_floats_o19(dtype, data):
    x = data.draw(arrays(dtype, array_shapes(max_dims=2, max_side=4)))
    assert_array_equal(softmax(x), softmax(x.astype(float)))
    assert softmax(x).dtype == np.float64


def test_softmax_leaves_its_argument_alone_and_repeats_itself_o20():
    x = np.array([[1.0, 2.0, 3.0]])
    first, second = softmax(x), softmax(x)
    assert_array_equal(x, [[1, 2, 3]])
    assert_array_equal(first, second)


def arguments(function, dtype=float):
    """Return arrays that a public function takes, by the names of its parameters."""
    Q, K, V, S = (normal(*shape).astype(dtype) for shape in ((2, 4), (3, 4), (3, 2), (2, 3)))
    A = np.array([[0.5, 0.25, 0.25], [0, 1, 0]], dtype)
    mask = np.array([[0, -INF, 0.5], [-INF, -INF, -INF]], dtype)
    return {
        attention_scores: {"Q": Q, "K": K},
        scale_scores: {"S": S, "d_k": 4},
        causal_mask: {"n_q": 2, "n_k": 3},
        padding_mask: {"lengths": np.array([2, 0, 3]), "n_k": 3},
        apply_mask: {"S_scaled": S, "mask": mask},
        softmax: {"x": S},
        weighted_values: {"A": A, "V": V},
        attention_steps: {"Q": Q, "K": K, "V": V, "mask": mask, "causal": True},
        attention_lib.scaled_dot_product_attention: {
            "Q": Q,
            "K": K,
            "V": V,
            "mask": mask,
            "scale": 1,
        },
        tiled_attention: {"Q": Q, "K": K, "V": V, "mask": mask, "tile": 2},
        partial_attention: {"Q": Q, "K": K, "V": V, "mask": mask, "causal": True},
        row_entropy: {"A": A},
        softmax_jacobian: {"a": A},
        softmax_vjp: {"A": A, "dA": S},
        attention_gradients: {"Q": Q, "K": K, "V": V, "d_output": S[:, :2], "mask": mask},
    }[function]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("function", PUBLIC)
def test_no_function_changes_or_keeps_its_arguments_o20(function, dtype):
    given_arguments, before = arguments(function, dtype), arguments(function, dtype)
    first, second = function(**given_arguments), function(**given_arguments)
    assert_equal(first, second)
    assert_equal(given_arguments, before)
    made = first if isinstance(first, tuple) else (first,)
    for array in given_arguments.values():
        assert not any(np.shares_memory(array, result) for result in made)


@pytest.mark.parametrize("function", PUBLIC)
def test_functions_take_arrays_that_cannot_be_written_to_o20(function):
    frozen = arguments(function)
    for array in frozen.values():
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    assert_equal(function(**frozen), function(**arguments(function)))


def test_inf_makes_its_own_row_nan_and_the_docstring_says_so_o21():
    assert_array_equal(softmax([INF, 0]), [math.nan, math.nan])
    assert_array_equal(softmax([[INF, 0], [0, 0]]), [[math.nan, math.nan], [0.5, 0.5]])
    close(softmax([0, -INF, 1]), [0.268941, 0, 0.731059])
    assert re.search(r"NaN\s+or\s+\+inf gives NaN; other slices are not touched", softmax.__doc__)


@given(arrays(float, (3, 4), elements=st.floats(-9, 9) | st.sampled_from([INF, -INF, math.nan])))
def test_inf_and_nan_stay_in_their_rows_o21(x):
    A = softmax(x)
    for row, weights in zip(x, A, strict=True):
        if (np.isnan(row) | np.isposinf(row)).any():
            assert np.isnan(weights).all()
        else:
            assert_array_equal(weights, softmax(row))
            close(weights.sum(), np.isfinite(row).any(), 1e-14)


# Scaling


def test_scale_is_the_root_of_the_width_of_a_head_o22():
    steps = attention_steps(np.ones((1, 64)), [[1] * 64, [0] * 64], np.eye(2))
    assert_array_equal(steps.S_scaled, [[8, 0]])
    close(steps.A, [[0.999665, 0.000335]])


@given(st.integers(1, 8), st.integers(1, 12), st.integers(1, 6), st.integers(1, 6))
def test_scale_knows_neither_the_width_of_the_model_nor_heads_nor_tokens_o22_o23(d_k, h, n, d_v):
    Q, K, V = normal(1, h, n, d_k), normal(1, h, n, d_k, seed=1), normal(1, h, n, d_v)
    steps = attention_steps(Q, K, V)
    close(steps.S, np.einsum("bhik,bhjk->bhij", Q, K), 1e-12)
    close(steps.S_scaled, steps.S * d_k**-0.5, 1e-12)
    close(steps.A, softmax(steps.S * d_k**-0.5), 1e-12)


def test_scale_of_twelve_heads_of_64_is_an_eighth_o23():
    Q, K = normal(1, 12, 3, 64), normal(1, 12, 3, 64, seed=1)
    steps = attention_steps(Q, K, np.eye(3))
    close(steps.S_scaled, np.einsum("bhik,bhjk->bhij", Q, K) / 8, 1e-12)


def test_a_score_of_8_at_a_width_of_16_becomes_2_o24():
    assert_array_equal(scale_scores([[8.0]], d_k=16), [[2.0]])


@given(st.integers(1, 4096), st.floats(-1e6, 1e6))
def test_scaled_twice_is_divided_by_the_width_o24(d_k, score):
    twice = scale_scores(scale_scores([score], d_k), d_k)
    assert_allclose(twice, [score / d_k], rtol=1e-14)


def test_width_of_a_key_is_not_the_number_of_tokens_o25():
    steps = attention_steps(normal(3, 4), normal(5, 4), normal(5, 7))
    assert [step.shape for step in steps] == [(3, 5), (3, 5), (3, 5), (3, 7)]
    close(steps.S_scaled, steps.S / 2, 1e-15)


@given(problems())
def test_each_step_has_the_shape_that_its_docstring_says_o25(problem):
    Q, K, V, mask = problem
    steps = attention_steps(Q, K, V, mask=mask)
    assert [step.shape for step in steps[:3]] == [(len(Q), len(K))] * 3
    assert steps.output.shape == (len(Q), V.shape[1])


# Causal masks


def test_a_token_sees_itself_o26():
    _, A = scaled_dot_product_attention(*equal_scores(3, 3), causal=True)
    close(A, [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])


@given(st.integers(1, 8), st.integers(1, 8))
def test_row_i_ends_at_key_i_and_no_row_is_empty_o26(n_q, n_k):
    _, A = scaled_dot_product_attention(*equal_scores(n_q, n_k), causal=True)
    for i, row in enumerate(A):
        close(row, np.where(np.arange(n_k) <= i, 1 / min(i + 1, n_k), 0), 1e-15)


def test_causal_starts_at_the_top_left_where_there_are_more_keys_than_queries_o28():
    V = np.arange(8.0).reshape(4, 2)
    output, A = scaled_dot_product_attention(np.eye(4)[:2], np.eye(4), V, causal=True)
    close(A, [[1, 0, 0, 0], [0.377541, 0.622459, 0, 0]])
    close(output, [[0, 1], [1.244919, 2.244919]])
    assert re.search(r"n_q != n_k the diagonal\s+starts at the top left", causal_mask.__doc__)
    assert re.search(
        r"query i sees keys 0 to i only, also\s+for n_q != n_k", attention_steps.__doc__
    )


@given(problems(batch=(2,)))
def test_causal_is_the_same_whatever_the_number_of_later_keys_o28(problem):
    Q, K, V, _ = problem
    output, A = scaled_dot_product_attention(Q, K, V, causal=True)
    for i in range(Q.shape[1]):
        some = slice(min(i, K.shape[1] - 1) + 1)
        alone, weights = scaled_dot_product_attention(Q[:, [i]], K[:, some], V[:, some])
        close(output[:, [i]], alone, 1e-12)
        close(A[:, [i], some], weights, 1e-12)


def test_mask_and_causal_must_both_allow_a_key_o29():
    mask = [[T, T, T], [F, T, T], [T, T, F]]
    _, A = scaled_dot_product_attention(*equal_scores(3, 3), mask=mask, causal=True)
    close(A, [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]])


@given(problems(), st.floats(-3, 3))
def test_mask_with_causal_is_their_intersection_o29(problem, added):
    Q, K, V, mask = problem
    both = mask & causal_mask(*mask.shape)
    expected = attention_steps(Q, K, V, mask=both)
    assert_equal(attention_steps(Q, K, V, mask=mask, causal=True), expected)
    for A in (expected.A, attention_steps(Q, K, V, mask=np.where(mask, added, -INF), causal=T).A):
        close(A, without_hidden_keys(Q, K, V, both)[1], 1e-12)


# Shapes, dtypes, containers


def test_keys_of_a_batch_are_transposed_one_by_one_o30():
    X = normal(2, 3, 4)
    assert attention_scores(X, X).shape == (2, 3, 3)
    close(attention_scores(X, X), [x @ x.T for x in X], 1e-12)


@given(array_shapes(min_dims=0, max_dims=3, max_side=3), sizes, sizes, sizes)
def test_scores_of_any_batch_are_those_of_each_matrix_o30(batch, n_q, n_k, d_k):
    Q, K = normal(*batch, n_q, d_k), normal(*batch, n_k, d_k, seed=1)
    S = attention_scores(Q, K)
    assert S.shape == (*batch, n_q, n_k)
    for i in np.ndindex(*batch):
        close(S[i], Q[i] @ K[i].T, 1e-12)


def test_weights_stand_before_the_values_o31():
    A, V = softmax(normal(2, 5)), normal(5, 3)
    assert weighted_values(A, V).shape == (2, 3)
    close(weighted_values(A, V), A @ V, 1e-15)
    with pytest.raises(ValueError, match=r"A needs one column per row of V.*\(5, 3\).*\(2, 5\)"):
        weighted_values(V, A)


@given(sizes, sizes, sizes)
def test_values_before_weights_are_refused_unless_the_sizes_hide_it_o31(n_q, n_k, d_v):
    A, V = np.full((n_q, n_k), 1 / n_k), normal(n_k, d_v)
    close(weighted_values(A, V), np.broadcast_to(V.mean(axis=0), (n_q, d_v)), 1e-14)
    if d_v != n_q:
        with pytest.raises(ValueError, match="A needs one column per row of V"):
            weighted_values(V, A)


@pytest.mark.parametrize(
    ("K", "V", "message"),
    [
        ((5, 8), (6, 8), r"K and V must share n_k.*\(5, 8\) \(n_k = 5\).*\(6, 8\) \(n_k = 6\)"),
        ((5, 7), (5, 8), r"share their last axis, d_k.*\(3, 8\) \(d_k = 8\).*\(5, 7\) \(d_k = 7\)"),
    ],
)
def test_lengths_that_differ_are_refused_before_any_arithmetic_o32(K, V, message, monkeypatch):
    monkeypatch.setattr(attention, "run", lambda *given, **how: pytest.fail("too late"))
    for function in (attention_steps, scaled_dot_product_attention):
        with pytest.raises(ValueError, match=message):
            function(np.ones((3, 8)), np.ones(K), np.ones(V))


@given(sizes, st.integers(0, 5), st.integers(0, 5), sizes, sizes)
def test_keys_and_values_of_any_two_lengths_are_refused_o32(n_q, n_k, n_v, d_q, d_k):
    assume(n_k != n_v or d_q != d_k)
    with pytest.raises(ValueError, match="d_k" if d_q != d_k else "n_k"):
        attention_steps(np.ones((n_q, d_q)), np.ones((n_k, d_k)), np.ones((n_v, 2)))


def test_sequence_of_length_zero_in_a_batch_gets_a_zero_output_o33():
    Q, K, V = normal(2, 2, 3), normal(2, 2, 3, seed=1), normal(2, 2, 4, seed=2)
    for mask in (padding_mask([2, 0], n_k=2), np.array([[[T, T]], [[F, F]]])):
        output, A = scaled_dot_product_attention(Q, K, V, mask=mask)
        assert_array_equal(A[1], np.zeros((2, 2)))
        assert_array_equal(output[1], np.zeros((2, 4)))
        close(output[0], scaled_dot_product_attention(Q[0], K[0], V[0])[0], 1e-15)


@given(problems(n_k=st.just(4), batch=(3,)), st.lists(st.integers(0, 4), min_size=3, max_size=3))
def test_padded_sequences_are_what_they_are_alone_whatever_the_padding_holds_o33(problem, lengths):
    Q, K, V, _ = problem
    for b, length in enumerate(lengths):
        K[b, length:], V[b, length:] = math.nan, INF
    output, A = scaled_dot_product_attention(Q, K, V, mask=padding_mask(lengths, n_k=4))
    for b, length in enumerate(lengths):
        alone, weights = scaled_dot_product_attention(Q[b], K[b, :length], V[b, :length])
        close(output[b], alone, 1e-12)
        close(A[b], np.pad(weights, ((0, 0), (0, 4 - length))), 1e-12)


def test_no_query_gives_an_empty_output_o34():
    output, A = scaled_dot_product_attention(np.ones((0, 4)), np.ones((3, 4)), np.ones((3, 2)))
    assert (output.shape, A.shape) == ((0, 2), (0, 3))


@given(*[st.integers(0, 2)] * 4, st.booleans(), st.booleans())
def test_whatever_is_empty_gives_zeros_of_the_right_shape_o34(b, n_q, n_k, d_v, masked, causal):
    mask = np.zeros((b, n_q, n_k), bool) if masked else None
    Q, K, V = np.ones((b, n_q, 4)), np.ones((b, n_k, 4)), np.ones((b, n_k, d_v))
    output, A = scaled_dot_product_attention(Q, K, V, mask=mask, causal=causal)
    assert (A.shape, output.shape) == ((b, n_q, n_k), (b, n_q, d_v))
    assert_array_equal(output, np.full(output.shape, float(n_k > 0 and not masked)))


def test_masked_array_is_refused_before_its_mask_gets_lost_o35():
    K = np.ma.array([[1.0, 0.0], [0.0, 1.0]], mask=[[0, 0], [1, 1]])
    with pytest.raises(TypeError, match=r"K must be an ordinary array.*K\.filled"):
        scaled_dot_product_attention(np.eye(2), K, np.eye(2))


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("function", PUBLIC)
def test_no_function_takes_a_masked_array_o35(function, hidden):
    given_arguments = arguments(function)
    for name, array in given_arguments.items():
        if isinstance(array, np.ndarray):
            masked = np.ma.array(array, mask=hidden)
            for value in [masked, list(masked)] if hidden else [masked]:
                with pytest.raises(TypeError, match=f"^{function.__name__}: {name} .*masked"):
                    function(**given_arguments | {name: value})


def test_integers_are_not_truncated_o36():
    X = np.array([[1, 2], [3, 4]])
    output, A = scaled_dot_product_attention(X, X, X)
    close(output, [[2.971668, 3.971668], [2.9999, 3.9999]])
    close(A, [[0.014166, 0.985834], [0.00005, 0.99995]])


@given(st.sampled_from([*INTEGERS, np.dtype(bool)]), st.data())
def test_integers_of_any_dtype_are_computed_as_floats_o36(dtype, data):
    Q, K, V = (data.draw(arrays(dtype, shape)) for shape in ((2, 3), (4, 3), (4, 2)))
    steps = attention_steps(Q, K, V)
    assert_equal(steps, attention_steps(*(array.astype(float) for array in (Q, K, V))))
    assert {step.dtype for step in steps} == {np.dtype(float)}


# An exercise


@given(problems(n_k=st.just(3), d_v=st.just(3)))
def test_weights_mix_the_values_and_not_their_own_scores_o39(problem):
    """As many values as features, or the shape alone would tell."""
    Q, K, V, _ = problem
    steps = attention_steps(Q, K, V)
    by_hand = np.zeros((len(Q), 3))
    for i, j in np.ndindex(len(Q), 3):
        by_hand[i] += steps.A[i, j] * V[j]
    close(steps.output, by_hand, 1e-12)
    one_hot = attention_steps(Q, K, V, mask=[[F, T, F]])
    assert_array_equal(one_hot.output, np.broadcast_to(V[1], one_hot.output.shape))


def test_output_is_not_the_product_of_weights_and_scores_o39():
    S = np.array([[math.log(3), 0.0]])
    A, V = softmax(S), np.array([[4.0, 0.0], [0.0, 8.0]])
    assert_allclose(weighted_values(A, V), [[3, 2]])
    assert not np.allclose(weighted_values(A, V), A * S)
