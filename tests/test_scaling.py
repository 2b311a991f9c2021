import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import attention_scores, scale_scores


@pytest.mark.parametrize(("d_k", "scaled"), [(1, 8.0), (4, 4.0), (16, 2.0), (64, 1.0)])
def test_scores_are_divided_by_the_root_of_d_k(d_k, scaled):
    assert_array_equal(scale_scores([[8.0, 0.0, -8.0]], d_k), [[scaled, 0.0, -scaled]])


@given(
    arrays(
        float,
        array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
        elements=st.floats(-1e9, 1e9),
    ),
    st.integers(1, 512),
)
def test_scaled_scores_times_the_root_are_the_scores_in_any_shape(S, d_k):
    S_scaled = scale_scores(S, d_k)
    assert S_scaled.shape == S.shape
    assert_allclose(S_scaled * d_k**0.5, S, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("d_k", [16, 400])
def test_scaling_brings_the_variance_of_random_scores_back_to_one(d_k):
    rng = np.random.default_rng(0)
    S = attention_scores(rng.standard_normal((300, d_k)), rng.standard_normal((300, d_k)))
    assert S.var() == pytest.approx(d_k, rel=0.1)
    assert scale_scores(S, d_k).var() == pytest.approx(1, rel=0.1)


def test_scaling_keeps_inf_and_nan_where_they_are():
    S_scaled = scale_scores([[np.nan, np.inf, -np.inf, 2.0]], d_k=4)
    assert_array_equal(S_scaled, [[np.nan, np.inf, -np.inf, 1.0]])


@pytest.mark.parametrize("integer", [int, np.int8, np.uint8, np.int64])
def test_any_integer_type_can_be_d_k_and_leaves_float32_alone(integer):
    S_scaled = scale_scores(np.float32([[8.0]]), integer(16))
    assert_array_equal(S_scaled, [[2.0]])
    assert S_scaled.dtype == np.float32


def test_result_has_at_least_the_precision_of_float32(dtypes):
    given_dtype, result_dtype = dtypes
    S_scaled = scale_scores(np.eye(2, dtype=given_dtype), d_k=4)
    assert S_scaled.dtype == result_dtype
    assert_array_equal(S_scaled, np.eye(2) / 2)


@pytest.mark.parametrize("d_k", [1, 4])
def test_input_is_left_alone_whatever_its_layout(laid_out, d_k):
    """Also with d_k = 1, where the numbers stay the same."""
    S = laid_out(np.eye(3))
    S_scaled = scale_scores(S, d_k)
    assert_array_equal(S_scaled, np.eye(3) / math.sqrt(d_k))
    assert_array_equal(S, np.eye(3))
    assert not np.shares_memory(S_scaled, S)


def test_what_is_no_array_of_numbers_is_refused(refused):
    with pytest.raises(refused.error, match=f"^scale_scores: S must .*{refused.rule}"):
        scale_scores(refused.value, d_k=4)


@pytest.mark.parametrize(
    "d_k",
    [
        2.0,
        0.5,
        True,
        np.True_,
        math.sqrt(16),
        np.sqrt(16),
        np.float32(4),
        "4",
        None,
        [4],
        np.array([4, 4]),
        4j,
    ],
)
def test_d_k_that_is_no_whole_number_is_refused(d_k):
    with pytest.raises(TypeError, match=r"^scale_scores: d_k must be a whole number") as caught:
        scale_scores([[8.0]], d_k)
    assert f"Got {d_k!r} ({type(d_k).__name__})" in str(caught.value)
    assert "pass d_k, not sqrt(d_k)" in str(caught.value)


@pytest.mark.parametrize("d_k", [0, -4, np.int64(0)])
def test_d_k_below_one_is_refused(d_k):
    with pytest.raises(ValueError, match=rf"^scale_scores: d_k must be at least 1\. Got {d_k}\."):
        scale_scores([[8.0]], d_k)
