# ruff: noqa: NPY002  (the legacy generator is what the example is made with)
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import attention_steps, softmax
from attention_lib.worked_example import worked_example

# The weights as the chapter prints them.
PRINTED = [
    [0.1234, 0.2426, 0.2145, 0.0651, 0.3545],
    [0.2248, 0.1815, 0.1580, 0.2645, 0.1712],
    [0.2517, 0.1531, 0.1539, 0.2708, 0.1704],
    [0.1666, 0.2220, 0.1869, 0.1256, 0.2990],
    [0.1575, 0.2351, 0.2459, 0.2124, 0.1491],
]


def test_weights_are_the_25_printed_numbers():
    example = worked_example()
    steps = attention_steps(example.Q, example.K, example.V)
    assert_array_equal(steps.A.round(4), PRINTED)


def test_weights_by_the_recipe_are_the_25_printed_numbers():
    """The same without a scale or a transpose from the library: d_k is 4, its root 2."""
    example = worked_example()
    S_scaled = (example.X @ example.W_Q) @ (example.X @ example.W_K).T / 2
    assert_array_equal(softmax(S_scaled).round(4), PRINTED)


def test_arrays_come_in_the_order_in_which_they_are_made():
    tokens, *made = worked_example()
    assert worked_example()._fields == ("tokens", "X", "W_Q", "W_K", "W_V", "Q", "K", "V")
    assert len(set(tokens)) == 5
    assert [array.shape for array in made] == [
        (5, 8),
        (8, 4),
        (8, 4),
        (8, 4),
        (5, 4),
        (5, 4),
        (5, 4),
    ]
    assert all(array.dtype == np.float64 for array in made)


def test_queries_keys_and_values_are_projections_of_the_tokens():
    example = worked_example()
    assert_allclose(example.Q, example.X @ example.W_Q, rtol=1e-14)
    assert_allclose(example.K, example.X @ example.W_K, rtol=1e-14)
    assert_allclose(example.V, example.X @ example.W_V, rtol=1e-14)


def test_numbers_are_one_stream_of_the_seed_42():
    example = worked_example()
    stream = np.random.RandomState(42).randn(5 * 8 + 3 * 8 * 4)
    drawn = [example.X, example.W_Q / 0.3, example.W_K / 0.3, example.W_V / 0.3]
    assert_allclose(np.concatenate([array.ravel() for array in drawn]), stream, rtol=1e-15)


@pytest.mark.parametrize("name", ["X", "W_Q", "W_K", "W_V", "Q", "K", "V"])
def test_every_call_makes_new_arrays_with_the_same_numbers(name):
    first, second = worked_example(), worked_example()
    assert_array_equal(getattr(first, name), getattr(second, name))
    assert not any(np.shares_memory(getattr(first, name), array) for array in second[1:])
    getattr(first, name)[:] = 0  # what a reader may do to one of them
    assert_array_equal(getattr(second, name), getattr(worked_example(), name))


def test_global_generator_of_numpy_is_left_alone():
    np.random.random()  # a call before this test may have left its own state behind
    before = np.random.get_state()
    worked_example()
    after = np.random.get_state()
    assert_array_equal(after[1], before[1])
    assert after[2:] == before[2:]
