import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import row_entropy, softmax

scores = arrays(
    float, array_shapes(min_dims=1, max_dims=3, max_side=5), elements=st.floats(-30, 30)
)
weights = scores.map(softmax)


@pytest.mark.parametrize(
    ("row", "H"),
    [
        ([1.0, 0.0, 0.0], 0.0),
        ([0.5, 0.5], math.log(2)),
        ([0.5, 0.5, 0.0, 0.0], math.log(2)),
        ([0.25, 0.25, 0.25, 0.25], math.log(4)),
        ([0.5, 0.25, 0.25], 1.5 * math.log(2)),
        ([0.0, 0.0, 0.0], 0.0),
    ],
)
def test_entropy_of_rows_known_by_heart(row, H):
    assert_allclose(row_entropy(row), H, rtol=1e-15)


@pytest.mark.parametrize("row", [[1.0, 0.0], [0.0, 0.0], [1.0 + 2e-16, 0.0], [1.0001]])
def test_entropy_of_a_one_hot_row_is_zero_without_a_sign(row):
    H = row_entropy([row])
    assert_array_equal(H, [0.0])
    assert not np.signbit(H).any()


def test_entropy_has_a_number_per_row():
    A = softmax(np.random.default_rng(0).normal(size=(2, 3, 4)))
    H = row_entropy(A)
    assert H.shape == (2, 3)
    assert_allclose(H[1, 2], row_entropy(A[1, 2]), rtol=1e-15)


@given(weights)
def test_entropy_agrees_with_scipy(A):
    assert_allclose(row_entropy(A), scipy.stats.entropy(A, axis=-1), rtol=1e-11, atol=1e-14)


@given(weights)
def test_entropy_lies_between_zero_and_that_of_a_uniform_row(A):
    entropies = row_entropy(A)
    assert (entropies >= 0).all()
    assert (entropies <= math.log(A.shape[-1]) + 1e-14).all()


@given(weights)
def test_entropy_does_not_care_which_key_has_which_weight(A):
    assert_allclose(row_entropy(A[..., ::-1]), row_entropy(A), rtol=1e-12, atol=1e-15)


def test_larger_scores_of_the_same_order_lower_the_entropy():
    H = row_entropy(softmax(np.outer([0.0, 1.0, 2.0, 8.0], [1.0, 2.0, 3.0])))
    assert (np.diff(H) < 0).all()


def test_result_has_at_least_the_precision_of_float32(dtypes):
    given_dtype, result_dtype = dtypes
    assert row_entropy(np.eye(3, dtype=given_dtype)).dtype == result_dtype
    assert row_entropy(np.eye(3, dtype=given_dtype)[0]).dtype == result_dtype


def test_nan_in_one_row_stays_there():
    H = row_entropy([[np.nan, 0.5], [0.5, 0.5]])
    assert np.isnan(H[0])
    assert_array_equal(H[1], row_entropy([0.5, 0.5]))


@pytest.mark.parametrize(("shape", "H_shape"), [((0, 3), (0,)), ((3, 0), (3,)), ((0,), ())])
def test_nothing_to_measure_gives_zeros_or_an_empty_result(shape, H_shape):
    assert_array_equal(row_entropy(np.ones(shape)), np.zeros(H_shape))


def test_weights_printed_to_four_decimals_still_count_as_weights():
    A = np.array([[0.1234, 0.2426, 0.2145, 0.0651, 0.3545]])
    assert_allclose(row_entropy(A), row_entropy(A / A.sum()), atol=1e-3)


def test_input_is_left_alone_whatever_its_layout(laid_out):
    A = laid_out(np.eye(3))
    H = row_entropy(A)
    assert_array_equal(A, np.eye(3))
    assert_array_equal(H, np.zeros(3))
    assert not np.shares_memory(H, A)


def test_what_is_no_array_of_numbers_is_refused(refused):
    with pytest.raises(refused.error, match=f"^row_entropy: A must .*{refused.rule}"):
        row_entropy(refused.value)


@pytest.mark.parametrize(
    ("rows", "arrived"),
    [
        ([[1.0, 2.0, 3.0]], r"\(1, 3\), smallest entry 1, row sums from 6 to 6"),
        ([[0.5, 0.5], [1.5, -0.5]], r"\(2, 2\), smallest entry -0\.5, row sums from 1 to 1"),
        ([[0.5, 0.5], [0.5, 0.4]], r"\(2, 2\), smallest entry 0\.4, row sums from 0\.9 to 1"),
        ([[0.5, 0.75]], r"\(1, 2\), smallest entry 0\.5, row sums from 1\.25 to 1\.25"),
        ([[-1.0, 1.0]], r"\(1, 2\), smallest entry -1, row sums from 0 to 0"),
        ([[0.0, -np.inf]], r"\(1, 2\), smallest entry -inf"),
        ([[np.inf, 0.0]], r"\(1, 2\), smallest entry 0, row sums from inf to inf"),
    ],
    ids=["scores", "below zero", "one row too small", "too large", "centred", "hidden", "infinite"],
)
def test_rows_that_are_no_weights_are_refused(rows, arrived):
    rule = rf"^row_entropy: the rows of A must be weights.* shape {arrived}.*before the softmax\?"
    with pytest.raises(ValueError, match=rule):
        row_entropy(rows)


def test_a_single_number_is_refused():
    with pytest.raises(ValueError, match=r"^row_entropy: A must have at least one axis.* 1\.0"):
        row_entropy(1.0)


@pytest.mark.parametrize("A", [[[np.nan, -1.0]], [[np.inf, -np.inf]]])
def test_refusal_of_nan_and_inf_makes_no_warning(A):
    with pytest.raises(ValueError, match=r"^row_entropy: the rows of A must be weights"):
        row_entropy(A)


@pytest.mark.parametrize(
    ("dtype", "passed_as"),
    [("float16", "float16"), ("bfloat16", "bfloat16"), ("bfloat16", "float32")],
)
def test_weights_stored_in_sixteen_bits_are_weights(dtype, passed_as):
    scores = np.random.default_rng(0).normal(size=(1000, 7))
    A = softmax(scores).astype(dtype).astype(passed_as)
    assert abs(A.astype(float).sum(axis=-1) - 1).max() > 2e-4  # rounding has left its mark
    assert_allclose(row_entropy(A), row_entropy(softmax(scores)), atol=0.02)


def test_rows_that_sum_to_slightly_more_are_weights_in_sixteen_bits_alone():
    A = np.array([[0.5, 0.502]])
    assert row_entropy(A.astype("float16")) == pytest.approx(math.log(2), abs=1e-3)
    with pytest.raises(ValueError, match=r"row sums from 1\.002 to 1\.002"):
        row_entropy(A)
    with pytest.raises(ValueError, match=r"row sums from 1\.05 to 1\.05"):
        row_entropy(np.array([[0.5, 0.55]], "float16"))
