import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from attention_lib import attention_scores

whole_numbers = st.integers(-9, 9).map(float)


@st.composite
def queries_and_keys(draw):
    n_q, n_k, d_k = (draw(st.integers(1, 4)) for _ in range(3))
    return draw(arrays(float, (n_q, d_k), elements=whole_numbers)), draw(
        arrays(float, (n_k, d_k), elements=whole_numbers)
    )


def test_each_score_is_the_dot_product_of_a_query_and_a_key():
    S = attention_scores([[1, 2], [0, 1]], [[3, 4], [1, 0], [0, 2]])
    assert_array_equal(S, [[11, 1, 4], [4, 0, 2]])


def test_square_scores_have_a_row_per_query():
    """With as many queries as features, Q K would go through without an error."""
    assert_array_equal(attention_scores([[1, 0], [0, 1]], [[1, 2], [3, 4]]), [[1, 3], [2, 4]])


def test_long_keys_score_higher_than_short_ones():
    """A dot product is no cosine: length counts."""
    assert_array_equal(attention_scores([[2, 0]], [[1, 0], [10, 0]]), [[2, 20]])


@given(queries_and_keys())
def test_scores_equal_a_loop_over_queries_keys_and_features(Q_and_K):
    Q, K = Q_and_K
    expected = np.zeros((len(Q), len(K)))
    for i, j, c in itertools.product(range(len(Q)), range(len(K)), range(Q.shape[1])):
        expected[i, j] += Q[i, c] * K[j, c]
    assert_array_equal(attention_scores(Q, K), expected)


@given(queries_and_keys())
def test_swapping_queries_and_keys_transposes_the_scores(Q_and_K):
    Q, K = Q_and_K
    assert_array_equal(attention_scores(K, Q), attention_scores(Q, K).T)


def test_transpose_leaves_the_batch_axes_alone(counting):
    X = counting(2, 3, 4)
    assert attention_scores(X, X).shape == (2, 3, 3)


def test_batch_axes_broadcast_and_equal_a_loop_over_matrices(counting, batches):
    Q_batch, K_batch, S_batch = batches
    Q, K = counting(*Q_batch, 3, 4), counting(*K_batch, 6, 4)
    S = attention_scores(Q, K)
    assert S.shape == (*S_batch, 3, 6)
    all_Q, all_K = np.broadcast_to(Q, (*S_batch, 3, 4)), np.broadcast_to(K, (*S_batch, 6, 4))
    for index in np.ndindex(S_batch):
        assert_array_equal(S[index], attention_scores(all_Q[index], all_K[index]))


@pytest.mark.parametrize(
    ("Q_shape", "K_shape", "S_shape"),
    [
        ((0, 4), (3, 4), (0, 3)),
        ((2, 4), (0, 4), (2, 0)),
        ((0, 2, 4), (0, 3, 4), (0, 2, 3)),
        ((0, 2, 4), (1, 3, 4), (0, 2, 3)),
    ],
)
def test_nothing_to_compare_gives_an_empty_matrix(Q_shape, K_shape, S_shape):
    assert attention_scores(np.ones(Q_shape), np.ones(K_shape)).shape == S_shape


def test_result_has_at_least_the_precision_of_float32(dtypes):
    given_dtype, result_dtype = dtypes
    S = attention_scores(np.eye(2, dtype=given_dtype), np.ones((3, 2), dtype=given_dtype))
    assert S.dtype == result_dtype
    assert_array_equal(S, np.ones((2, 3)))


@pytest.mark.parametrize("wider", [np.float64, np.int64, bool])
def test_wider_of_two_dtypes_wins(wider):
    assert attention_scores(np.ones((1, 2), np.float32), np.ones((1, 2), wider)).dtype == np.float64


def test_int8_products_do_not_wrap():
    assert_array_equal(attention_scores(np.int8([[100, 100]]), np.int8([[100, 100]])), [[20_000]])


def test_float16_products_do_not_overflow():
    assert_array_equal(
        attention_scores(np.full((1, 64), 100, np.float16), np.full((1, 64), 100, np.float16)),
        [[640_000]],
    )


def test_float16_sums_keep_their_last_digit():
    """2049 lies between two float16 numbers."""
    assert_array_equal(attention_scores(np.float16([[1, 1]]), np.float16([[2048, 1]])), [[2049]])


def test_scores_beyond_the_largest_float_are_inf_without_a_warning():
    assert_array_equal(
        attention_scores(np.float32([[3e38]]), np.float32([[3e38], [-3e38]])), [[np.inf, -np.inf]]
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_row_or_column(counting, bad):
    Q, K = counting(3, 4), counting(5, 4)
    S = attention_scores(Q, K)
    Q_bad, K_bad = Q.copy(), K.copy()
    Q_bad[1, 2] = K_bad[3, 0] = bad
    assert_array_equal(np.delete(attention_scores(Q_bad, K), 1, axis=0), np.delete(S, 1, axis=0))
    assert_array_equal(np.delete(attention_scores(Q, K_bad), 3, axis=1), np.delete(S, 3, axis=1))


def test_inputs_are_left_alone_whatever_their_layout(counting, laid_out):
    Q, K = laid_out(counting(3, 4)), laid_out(counting(5, 4))
    S = attention_scores(Q, K)
    assert_array_equal(S, counting(3, 4) @ counting(5, 4).T)
    assert_array_equal(Q, counting(3, 4))
    assert_array_equal(K, counting(5, 4))
    assert not np.shares_memory(S, Q)
    assert not np.shares_memory(S, K)


@pytest.mark.parametrize("name", ["Q", "K"])
def test_what_is_no_array_of_numbers_is_refused(refused, name):
    arguments = {"Q": np.eye(2), "K": np.eye(2)} | {name: refused.value}
    with pytest.raises(refused.error, match=rf"^attention_scores: {name} must .*{refused.rule}"):
        attention_scores(**arguments)


@pytest.mark.parametrize(
    ("Q_shape", "K_shape", "message"),
    [
        ((4,), (3, 4), r"Q must have at least two axes, \(n_q, d_k\)\. Got shape \(4,\)"),
        ((3, 4), (4,), r"K must have at least two axes, \(n_k, d_k\)\. Got shape \(4,\)"),
        ((), (3, 4), r"Q must have at least two axes, .* Got shape \(\)"),
        (
            (3, 4),
            (5, 6),
            r"share their last axis, d_k.* \(3, 4\) \(d_k = 4\).* \(5, 6\) \(d_k = 6\)",
        ),
        ((3, 4), (4, 5), r"d_k.* \(3, 4\) .* \(4, 5\) .*Was K passed already transposed\?"),
        ((3, 4), (5, 1), r"share their last axis, d_k.* \(d_k = 4\).* \(d_k = 1\)"),
        ((3, 0), (5, 0), r"d_k.* at least 1.* \(3, 0\).* \(5, 0\)"),
        (
            (2, 3, 4),
            (5, 6, 4),
            r"Q and K before the last two are batch axes.* \(2, 3, 4\).* \(5, 6, 4\)",
        ),
        (
            (0, 3, 4),
            (2, 6, 4),
            r"Q and K before the last two are batch axes.* \(0, 3, 4\).* \(2, 6, 4\)",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_refused(Q_shape, K_shape, message):
    with pytest.raises(ValueError, match=f"^attention_scores: .*{message}"):
        attention_scores(np.ones(Q_shape), np.ones(K_shape))
