import math

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import softmax

any_shape = array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5)
any_scores = arrays(float, any_shape, elements=st.floats(allow_nan=False, allow_infinity=False))
usual_scores = arrays(float, any_shape, elements=st.floats(-30, 30))

LN = np.log([1.0, 2.0, 3.0, 4.0])  # scores whose weights are in the proportions 1 : 2 : 3 : 4


@pytest.mark.parametrize(
    ("x", "A"),
    [
        ([math.log(3), 0.0], [0.75, 0.25]),
        (LN, [0.1, 0.2, 0.3, 0.4]),
        ([7.0, 7.0, 7.0, 7.0], [0.25, 0.25, 0.25, 0.25]),
        ([[5.0], [-5.0]], [[1.0], [1.0]]),
    ],
)
def test_weights_are_in_the_proportions_of_the_exponentials(x, A):
    assert_allclose(softmax(x), A, rtol=1e-15)


def test_each_row_is_a_distribution_of_its_own_and_the_columns_are_not():
    A = softmax([LN[:3], [0.0, 0.0, 0.0]])
    assert_allclose(A, [[1 / 6, 1 / 3, 1 / 2], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-15)
    assert_allclose(A.sum(axis=-1), [1, 1])
    assert (abs(A.sum(axis=-2) - 1) > 0.1).all()


def test_one_query_does_not_turn_all_its_weights_into_ones():
    assert_allclose(softmax([[1.0, 2.0, 3.0]]), [[0.090031, 0.244728, 0.665241]], atol=1e-6)


def test_each_row_has_a_maximum_of_its_own():
    """One maximum for all rows would leave 0 / 0 in those far below it."""
    A = softmax([[0, 1], [1000, 1001], [-1000, -1001]])
    assert_allclose(
        A, [[0.268941, 0.731059], [0.268941, 0.731059], [0.731059, 0.268941]], atol=1e-6
    )


@given(any_scores)
def test_rows_of_any_finite_scores_are_distributions(x):
    A = softmax(x)
    assert A.shape == x.shape
    assert (A >= 0).all()
    assert_allclose(A.sum(axis=-1), 1, rtol=1e-14)


@given(any_scores)
def test_softmax_agrees_with_scipy_for_any_finite_scores(x):
    with np.errstate(over="ignore"):  # SciPy's difference of two huge scores
        expected = scipy.special.softmax(x, axis=-1)
    assert_allclose(softmax(x), expected, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2, np.int64(1)])
def test_axis_says_along_which_axis_the_weights_sum_to_one(axis):
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    A = softmax(x, axis=axis)
    assert_allclose(A.sum(axis=axis), 1, rtol=1e-14)
    assert_allclose(A, scipy.special.softmax(x, axis=axis), rtol=1e-13)


def test_axis_left_out_is_the_last_one():
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    assert_array_equal(softmax(x), softmax(x, axis=2))


@given(usual_scores, st.floats(-1000, 1000))
def test_adding_one_number_to_a_row_changes_no_weight(x, shift):
    assert_allclose(softmax(x + shift), softmax(x), rtol=1e-11)


@given(usual_scores)
def test_two_weights_stand_in_the_proportion_of_the_exponential_of_their_difference(x):
    A = softmax(x)
    assert_allclose(A, A[..., :1] * np.exp(x - x[..., :1]), rtol=1e-12)


@given(usual_scores, st.randoms(use_true_random=False))
def test_permuting_the_scores_permutes_the_weights(x, random):
    order = random.sample(range(x.shape[-1]), x.shape[-1])
    assert_allclose(softmax(x[..., order]), softmax(x)[..., order], rtol=1e-13)


@given(any_scores.filter(lambda x: x.ndim > 1))
def test_a_row_depends_on_no_other_row(x):
    A = softmax(x)
    for index in np.ndindex(x.shape[:-1]):
        assert_allclose(A[index], softmax(x[index]), rtol=1e-14)


def test_integers_and_lists_are_taken():
    expected = [0.09003057, 0.24472847, 0.66524096]
    assert_allclose(softmax([1, 2, 3]), expected, rtol=1e-7)
    assert_allclose(softmax(np.array([1, 2, 3])), expected, rtol=1e-7)


def test_result_has_at_least_the_precision_of_float32(dtypes):
    given_dtype, result_dtype = dtypes
    A = softmax(np.ones((2, 4), dtype=given_dtype))
    assert A.dtype == result_dtype
    assert_array_equal(A, np.full((2, 4), 0.25))


@pytest.mark.parametrize("x", [np.int8([-128, 127]), np.uint8([0, 255])])
def test_small_integers_do_not_wrap(x):
    assert_array_equal(softmax(x), [math.exp(-255), 1.0])


def test_float16_weights_are_as_good_as_float32():
    x = np.float16([0.1, 0.2, 0.4])
    assert_allclose(softmax(x), softmax(x.astype(float)), rtol=1e-6)


@pytest.mark.parametrize("shift", [0.0, 3e4, -3e4])
def test_float32_weights_agree_with_float64(shift):
    x = np.random.default_rng(0).normal(size=(4, 50)).astype(np.float32) + np.float32(shift)
    assert_allclose(softmax(x), softmax(x.astype(float)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_largest_and_the_smallest_float_fit_into_one_row(dtype):
    largest = np.finfo(dtype).max
    assert_array_equal(
        softmax(np.array([[largest, -largest], [largest, largest]])), [[1, 0], [0.5, 0.5]]
    )


def test_float32_scores_of_3e38_and_minus_3e38_fit_into_one_row():
    assert_array_equal(softmax(np.float32([3e38, -3e38, 0.0])), [1, 0, 0])


def test_scores_far_below_the_largest_underflow_to_zero_without_a_warning():
    A = softmax([0.0, -740.0, -1000.0])
    assert A[0] == 1
    assert 0 < A[1] < 1e-300
    assert A[2] == 0


@pytest.mark.parametrize(
    ("x", "A"),
    [
        ([0.0, -np.inf, 1.0], [0.268941, 0, 0.731059]),
        ([-np.inf, -1000.0], [0, 1]),
        ([[-np.inf, 0.0], [0.0, 0.0]], [[0, 1], [0.5, 0.5]]),
    ],
)
def test_minus_inf_gets_no_weight(x, A):
    assert_allclose(softmax(x), A, atol=1e-6)
    assert_array_equal(softmax(x) == 0, np.isneginf(x))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_slice_of_minus_inf_alone_is_all_zeros(dtype):
    x = np.array([[-np.inf, -np.inf], [-np.inf, 3.0]], dtype)
    assert_array_equal(softmax(x), [[0, 0], [0, 1]])
    assert_array_equal(softmax(x, axis=0), [[0, 0], [0, 1]])
    assert_array_equal(softmax(x[0]), [0, 0])


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("other", [0.0, np.inf, -np.inf])
def test_inf_and_nan_make_their_own_row_nan_and_no_other(bad, other):
    A = softmax([[bad, other], [0.0, 0.0], [-np.inf, -np.inf]])
    assert_array_equal(A, [[np.nan, np.nan], [0.5, 0.5], [0, 0]])


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3), (0, 0)])
@pytest.mark.parametrize("axis", [0, -1])
def test_nothing_to_weigh_gives_an_empty_result(shape, axis):
    assert softmax(np.ones(shape), axis=axis).shape == shape


@pytest.mark.parametrize("scores", [[[0.0, LN[2]], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
def test_input_is_left_alone_whatever_its_layout(laid_out, scores):
    """Also where the largest score is 0, and nothing is there to subtract."""
    x = laid_out(np.array(scores))
    A = softmax(x)
    assert_array_equal(x, scores)
    assert not np.shares_memory(A, x)
    assert_array_equal(softmax(x), A)
    assert_allclose(A, scipy.special.softmax(scores, axis=-1), rtol=1e-14)


def test_what_is_no_array_of_numbers_is_refused(refused):
    with pytest.raises(refused.error, match=f"^softmax: x must .*{refused.rule}"):
        softmax(refused.value)


def test_a_single_number_is_refused():
    with pytest.raises(
        ValueError, match=r"^softmax: x must have at least one axis\. Got the single number 2\.0"
    ):
        softmax(2.0)


@pytest.mark.parametrize("axis", [3, -4])
def test_an_axis_that_x_does_not_have_is_refused(axis):
    rule = (
        rf"^softmax: axis must name an axis of x, from -3 to 2\. Got {axis}; .* shape \(2, 3, 4\)"
    )
    with pytest.raises(ValueError, match=rule):
        softmax(np.ones((2, 3, 4)), axis=axis)


@pytest.mark.parametrize("axis", [None, 1.0, "0", (0, 1), [0], True])
def test_an_axis_that_is_no_whole_number_is_refused(axis):
    with pytest.raises(
        TypeError, match=r"^softmax: axis must be one whole number.* shape \(2, 3\)"
    ) as caught:
        softmax(np.ones((2, 3)), axis=axis)
    assert f"Got {axis!r}" in str(caught.value)
