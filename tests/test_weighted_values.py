import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import softmax, weighted_values


@st.composite
def weights_and_values(draw):
    n_q, n_k, d_v = (draw(st.integers(1, 4)) for _ in range(3))
    A = softmax(draw(arrays(float, (n_q, n_k), elements=st.floats(-30, 30))))
    return A, draw(arrays(float, (n_k, d_v), elements=st.floats(-100, 100)))


@pytest.mark.parametrize(
    ("A", "output"),
    [
        ([[0.75, 0.25]], [[3.0, 10.0]]),
        ([[1, 0]], [[4.0, 0.0]]),
        ([[0, 1]], [[0.0, 40.0]]),
        ([[0.5, 0.5], [0, 0]], [[2.0, 20.0], [0.0, 0.0]]),
    ],
    ids=["3 to 1", "first value", "second value", "mean, nothing"],
)
def test_output_mixes_the_values_in_the_proportions_of_the_weights(A, output):
    assert_array_equal(weighted_values(A, [[4, 0], [0, 40]]), output)


def test_square_weights_are_not_transposed():
    """With as many queries as keys, A^T V would go through without an error."""
    assert_array_equal(weighted_values([[0, 1], [0, 1]], [[1, 2], [3, 4]]), [[3, 4], [3, 4]])


def test_output_has_a_row_per_query_and_a_column_per_value_feature():
    assert weighted_values(np.ones((2, 5)), np.ones((5, 3))).shape == (2, 3)


def test_rows_that_are_no_distribution_are_taken_as_they_come():
    assert_array_equal(weighted_values([[2.0, -1.0]], [[10.0], [1.0]]), [[19.0]])


@given(weights_and_values())
def test_output_equals_a_loop_over_queries_features_and_keys(A_and_V):
    A, V = A_and_V
    expected = [
        [math.fsum(a * v for a, v in zip(row, column, strict=True)) for column in V.T] for row in A
    ]
    assert_allclose(weighted_values(A, V), expected, rtol=1e-13, atol=1e-12)


@given(weights_and_values())
def test_output_stays_within_the_range_of_the_values(A_and_V):
    A, V = A_and_V
    output = weighted_values(A, V)
    assert (output >= V.min(axis=0) - 1e-12).all()
    assert (output <= V.max(axis=0) + 1e-12).all()


@given(weights_and_values(), st.randoms(use_true_random=False))
def test_permuting_keys_with_their_values_changes_nothing(A_and_V, random):
    A, V = A_and_V
    order = random.sample(range(len(V)), len(V))
    assert_allclose(
        weighted_values(A[:, order], V[order]), weighted_values(A, V), rtol=1e-13, atol=1e-12
    )


def test_batch_axes_broadcast_and_equal_a_loop_over_matrices(counting, batches):
    A_batch, V_batch, output_batch = batches
    A, V = counting(*A_batch, 3, 4), counting(*V_batch, 4, 6)
    output = weighted_values(A, V)
    assert output.shape == (*output_batch, 3, 6)
    all_A, all_V = (
        np.broadcast_to(A, (*output_batch, 3, 4)),
        np.broadcast_to(V, (*output_batch, 4, 6)),
    )
    for index in np.ndindex(output_batch):
        assert_array_equal(output[index], weighted_values(all_A[index], all_V[index]))


@pytest.mark.parametrize(
    ("A_shape", "V_shape", "output_shape"),
    [
        ((0, 3), (3, 2), (0, 2)),
        ((2, 3), (3, 0), (2, 0)),
        ((2, 0), (0, 3), (2, 3)),
        ((0, 2, 3), (0, 3, 4), (0, 2, 4)),
    ],
)
def test_nothing_to_mix_gives_zeros_or_an_empty_output(A_shape, V_shape, output_shape):
    assert_array_equal(weighted_values(np.ones(A_shape), np.ones(V_shape)), np.zeros(output_shape))


def test_result_has_at_least_the_precision_of_float32(dtypes):
    given_dtype, result_dtype = dtypes
    output = weighted_values(np.eye(2, dtype=given_dtype), np.ones((2, 3), dtype=given_dtype))
    assert output.dtype == result_dtype
    assert_array_equal(output, np.ones((2, 3)))


@pytest.mark.parametrize("wider", [np.float64, np.int64, bool])
def test_wider_of_two_dtypes_wins(wider):
    assert weighted_values(np.ones((1, 2), np.float32), np.ones((2, 1), wider)).dtype == np.float64


def test_int8_sums_do_not_wrap():
    assert_array_equal(weighted_values(np.int8([[1, 1]]), np.int8([[100], [100]])), [[200]])


def test_float16_sums_keep_their_last_digit():
    """2049 lies between two float16 numbers."""
    assert_array_equal(weighted_values(np.float16([[1, 1]]), np.float16([[2048], [1]])), [[2049]])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_column_and_with_the_queries_that_weigh_it(bad):
    V = [[bad, 1.0], [0.0, 2.0]]
    assert_array_equal(weighted_values([[0.5, 0.5], [0.0, 1.0]], V), [[bad, 1.5], [0.0, 2.0]])


def test_values_that_are_not_finite_add_up_as_numbers_do():
    inf = np.inf
    A = [
        [0.5, 0.5, 0],
        [0, 0.5, 0.5],
        [0.5, 0, 0.5],
        [-1, 0, 0],
        [np.nan, 0, 1],
        [inf, 0, 1],
        [0, 0, inf],
    ]
    V = [[inf], [-inf], [4.0]]
    expected = [[np.nan], [-inf], [inf], [-inf], [np.nan], [inf], [inf]]
    assert_array_equal(weighted_values(A, V), expected)


def test_what_is_not_finite_stays_in_its_batch_and_its_dtype():
    A, V = np.full((2, 1, 2), 0.5, np.float32), np.ones((3, 1, 2, 1), np.float32)
    V[1, 0, 0, 0] = np.nan
    output = weighted_values(A, V)
    assert output.dtype == np.float32
    assert_array_equal(output[:, :, 0, 0], [[1, 1], [np.nan, np.nan], [1, 1]])


def test_inputs_are_left_alone_whatever_their_layout(counting, laid_out):
    A, V = laid_out(np.eye(3)), laid_out(counting(3, 5))
    output = weighted_values(A, V)
    assert_array_equal(output, counting(3, 5))
    assert_array_equal(A, np.eye(3))
    assert_array_equal(V, counting(3, 5))
    assert not np.shares_memory(output, A)
    assert not np.shares_memory(output, V)


@pytest.mark.parametrize("name", ["A", "V"])
def test_what_is_no_array_of_numbers_is_refused(refused, name):
    arguments = {"A": np.eye(2), "V": np.eye(2)} | {name: refused.value}
    with pytest.raises(refused.error, match=rf"^weighted_values: {name} must .*{refused.rule}"):
        weighted_values(**arguments)


@pytest.mark.parametrize(
    ("A_shape", "V_shape", "message"),
    [
        ((4,), (4, 3), r"A must have at least two axes, \(n_q, n_k\)\. Got shape \(4,\)"),
        ((3, 4), (4,), r"V must have at least two axes, \(n_k, d_v\)\. Got shape \(4,\)"),
        ((3, 5), (4, 2), r"one column per row of V.* \(3, 5\) \(5 keys\).* \(4, 2\) \(4 values\)"),
        ((5, 3), (5, 2), r"one column per row of V.* \(5, 3\) \(3 keys\).* \(5, 2\) \(5 values\)"),
        ((3, 1), (4, 2), r"one column per row of V.* \(3, 1\) \(1 keys\).* \(4, 2\) \(4 values\)"),
        (
            (2, 3, 4),
            (5, 4, 6),
            r"A and V before the last two are batch axes.* \(2, 3, 4\).* \(5, 4, 6\)",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_refused(A_shape, V_shape, message):
    with pytest.raises(ValueError, match=f"^weighted_values: .*{message}"):
        weighted_values(np.ones(A_shape), np.ones(V_shape))


def key_by_key(A, V):
    """Add up A V one key at a time, without the keys of weight 0."""
    output = 0 * (np.zeros(A.shape) @ np.zeros(V.shape))
    for j in range(V.shape[-2]):
        weight, value = A[..., :, j, np.newaxis], V[..., np.newaxis, j, :]
        output = output + np.where(weight == 0, 0, weight * value)
    return output


@st.composite
def anything_and_anything(draw):
    n_q, n_k, d_v = (draw(st.integers(1, 4)) for _ in range(3))
    batches = st.sampled_from([(), (2,), (1,), (2, 1)])
    entries = st.sampled_from([0, 0, -0.0, 1, 2, -1, 0.5, np.nan, np.inf, -np.inf])
    shapes = (*draw(batches), n_q, n_k), (*draw(batches), n_k, d_v)
    return [draw(arrays(float, shape, elements=entries)) for shape in shapes]


@given(anything_and_anything())
def test_whatever_is_not_finite_adds_up_as_it_does_key_by_key(A_and_V):
    A, V = A_and_V
    V[..., 0, 0] = np.nan  # or else it is a matrix product
    with np.errstate(all="ignore"):
        assert_array_equal(weighted_values(A, V), key_by_key(A, V))
