import math
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import (
    AttentionGradients,
    attention_gradients,
    attention_steps,
    causal_mask,
    gradients,
    padding_mask,
    softmax,
    softmax_jacobian,
    softmax_vjp,
)

with warnings.catch_warnings():
    # autograd 1.7 looks up a helper of NumPy's under its old name.
    warnings.filterwarnings("ignore", "numpy.core.einsumfunc is deprecated", DeprecationWarning)
    import autograd.numpy as anp
    from autograd import grad

weights = arrays(
    float, array_shapes(min_dims=1, max_dims=3, max_side=5), elements=st.floats(-30, 30)
).map(softmax)


@st.composite
def weights_and_gradients(draw):
    A = draw(weights)
    return A, draw(arrays(float, A.shape, elements=st.floats(-9, 9)))


class Inputs(NamedTuple):
    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    d_output: np.ndarray


@st.composite
def inputs(draw):
    """Draw Q, K, V and d_output, each number a multiple of 1/64: no product underflows."""
    n_q, n_k, d_k, d_v = (draw(st.integers(1, 4)) for _ in range(4))
    elements = st.integers(-128, 128).map(lambda i: i / 64)
    return Inputs(
        *(
            draw(arrays(float, shape, elements=elements))
            for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v), (n_q, d_v))
        )
    )


@st.composite
def masked_inputs(draw):
    """Draw inputs, and a mask of booleans, in which a row may be False throughout."""
    made = draw(inputs())
    return *made, draw(arrays(bool, (len(made.Q), len(made.K))))


def normal(*batch, n_q=2, n_k=5, d_k=3, d_v=4, seed=0):
    """Return random Q, K, V and d_output, by default with four sizes that all differ."""
    draw = np.random.default_rng(seed).standard_normal
    shapes = ((n_q, d_k), (n_k, d_k), (n_k, d_v), (n_q, d_v))
    return Inputs(*(draw((*batch, *shape)) for shape in shapes))


def broadcast(Q_batch, K_batch, V_batch, **options):
    """Return random inputs with batch axes of their own, and a d_output that fits."""
    Q, K, V = normal(*Q_batch).Q, normal(*K_batch).K, normal(*V_batch).V
    shape = attention_steps(Q, K, V, **options).output.shape
    return Inputs(Q, K, V, np.random.default_rng(2).standard_normal(shape))


def by_autograd(Q, K, V, d_output, mask=None, causal=False, scale=None):
    """Differentiate attention, written once more, by a library that knows nothing of this one."""
    mask = np.asarray(True if mask is None else mask)
    seen = mask if mask.dtype == bool else mask > -np.inf
    added = np.where(seen, 0.0 if mask.dtype == bool else mask, 0.0)
    seen = seen & (np.tri(Q.shape[-2], K.shape[-2], dtype=bool) if causal else True)

    def scored(Q, K):
        return anp.matmul(Q, anp.swapaxes(K, -1, -2))

    def scaled(S):
        return S * (Q.shape[-1] ** -0.5 if scale is None else scale) + added

    def weighted(S_scaled):
        exponentials = anp.where(seen, anp.exp(S_scaled), 0.0)
        total = anp.sum(exponentials, axis=-1, keepdims=True)
        return exponentials / anp.where(total == 0, 1.0, total)

    def loss(A, V):
        return anp.sum(d_output * anp.matmul(A, V))

    S = scored(Q, K)
    S_scaled = scaled(S)
    A = weighted(S_scaled)
    return AttentionGradients(
        dV=grad(lambda V: loss(A, V))(V),
        dA=grad(lambda A: loss(A, V))(A),
        dS_scaled=grad(lambda S_scaled: loss(weighted(S_scaled), V))(S_scaled),
        dS=grad(lambda S: loss(weighted(scaled(S)), V))(S),
        dQ=grad(lambda Q: loss(weighted(scaled(scored(Q, K))), V))(Q),
        dK=grad(lambda K: loss(weighted(scaled(scored(Q, K))), V))(K),
    )


def assert_all_close(made, expected, **tolerances):
    for name, array, other in zip(made._fields, made, expected, strict=True):
        assert array.shape == other.shape, name
        assert_allclose(array, other, err_msg=name, **tolerances)


def assert_all_equal(made, expected, but=()):
    for name, array, other in zip(made._fields, made, expected, strict=True):
        if name not in but:
            assert_array_equal(array, other, err_msg=name, strict=True)


def test_jacobian_of_an_even_choice():
    assert_array_equal(softmax_jacobian([0.5, 0.5]), [[0.25, -0.25], [-0.25, 0.25]])


def test_jacobian_has_off_diagonal_terms():
    assert_allclose(
        softmax_jacobian([0.5, 0.3, 0.2]),
        [[0.25, -0.15, -0.10], [-0.15, 0.21, -0.06], [-0.10, -0.06, 0.16]],
    )


@pytest.mark.parametrize("row", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
def test_jacobian_of_a_one_hot_row_passes_no_gradient(row):
    assert_array_equal(softmax_jacobian(row), np.zeros((3, 3)))


@given(arrays(float, st.integers(1, 5), elements=st.floats(-5, 5)))
def test_jacobian_agrees_with_differences_of_softmax(x):
    """Central differences: their error is of the order of step ** 2."""
    step = 1e-5
    steps = step * np.eye(len(x))
    slopes = (softmax(x + steps) - softmax(x - steps)) / (2 * step)  # row k: the change of score k
    assert_allclose(softmax_jacobian(softmax(x)), slopes.T, atol=1e-9)


@given(weights)
def test_jacobian_is_symmetric_and_its_rows_sum_to_zero(A):
    J = softmax_jacobian(A)
    assert J.shape == (*A.shape, A.shape[-1])
    assert_allclose(J, J.swapaxes(-1, -2), atol=1e-16)
    assert_allclose(J.sum(axis=-1), 0, atol=1e-14)


def test_jacobian_of_a_stack_is_a_stack_of_jacobians():
    A = softmax(np.random.default_rng(0).normal(size=(2, 3, 4)))
    J = softmax_jacobian(A)
    for index in np.ndindex(2, 3):
        assert_allclose(J[index], np.diag(A[index]) - np.outer(A[index], A[index]), atol=1e-16)


@pytest.mark.parametrize(
    ("a", "da", "dx"),
    [
        ([0.5, 0.5], [1.0, 0.0], [0.25, -0.25]),
        ([0.25, 0.75], [4.0, 0.0], [0.75, -0.75]),
        ([0.5, 0.25, 0.25], [4.0, 0.0, 8.0], [0.0, -1.0, 1.0]),
        ([0.5, 0.5, 0.0], [2.0, 6.0, 5.0], [-1.0, 1.0, 0.0]),
        ([1.0], [7.0], [0.0]),
        ([0.0, 1.0], [3.0, 7.0], [0.0, 0.0]),
        ([0.0, 0.0], [3.0, 7.0], [0.0, 0.0]),
    ],
    ids=["even", "uneven", "three", "one hidden", "one key", "one-hot", "empty"],
)
def test_vjp_of_rows_worked_out_by_hand(a, da, dx):
    assert_array_equal(softmax_vjp(a, da), dx)


@given(weights_and_gradients())
def test_vjp_is_the_gradient_times_the_jacobian(weights_and_gradients):
    A, dA = weights_and_gradients
    expected = np.einsum("...j,...jk->...k", dA, softmax_jacobian(A))
    assert_allclose(softmax_vjp(A, dA), expected, rtol=1e-12, atol=1e-14)


@given(weights_and_gradients())
def test_vjp_has_rows_that_sum_to_zero(weights_and_gradients):
    dx = softmax_vjp(*weights_and_gradients)
    assert_allclose(dx.sum(axis=-1), 0, atol=1e-13)


@given(weights_and_gradients(), st.floats(-9, 9))
def test_vjp_does_not_feel_what_all_weights_of_a_row_share(weights_and_gradients, shared):
    A, dA = weights_and_gradients
    assert_allclose(softmax_vjp(A, dA + shared), softmax_vjp(A, dA), rtol=1e-11, atol=1e-13)


def test_vjp_is_not_the_slope_of_each_weight_by_its_own_score_alone():
    """a (1 - a) da leaves out that every other weight moves as well."""
    A, dA = softmax(normal().Q), normal(seed=1).Q
    shortcut = A * (1 - A) * dA
    assert not np.isclose(softmax_vjp(A, dA), shortcut).any()
    assert (np.abs(shortcut.sum(axis=-1)) > 0.01).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
def test_vjp_of_a_weight_of_zero_is_zero_whatever_its_gradient_is(bad):
    A = [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    dA = [[1.0, 0.0, bad], [bad, bad, bad], [bad, 1.0, bad]]
    assert_array_equal(softmax_vjp(A, dA), [[0.25, -0.25, 0], [0, 0, 0], [0, 0, 0]])


def test_vjp_of_nan_in_one_row_stays_there():
    dx = softmax_vjp([[0.5, 0.5], [0.5, 0.5]], [[np.nan, 1.0], [1.0, 0.0]])
    assert np.isnan(dx[0]).all()
    assert_array_equal(dx[1], [0.25, -0.25])


@pytest.mark.parametrize("dA_shape", [(2,), (1, 2), (3, 1), (2, 3), (3, 2, 1), ()])
def test_vjp_refuses_a_gradient_of_another_shape(dA_shape):
    with pytest.raises(ValueError, match=r"^softmax_vjp: dA must have the shape of A") as caught:
        softmax_vjp(np.full((3, 2), 0.5), np.ones(dA_shape))
    assert "the shape of A, (3, 2): " in str(caught.value)
    assert f" Got shape {dA_shape}. " in str(caught.value)


def test_vjp_refuses_a_gradient_that_is_no_array_of_numbers(refused):
    with pytest.raises(refused.error, match=f"^softmax_vjp: dA must .*{refused.rule}"):
        softmax_vjp(np.eye(2), refused.value)


# A is judged before its gradient, so that one of no shape at all will do.
REFUSING = {
    "softmax_jacobian": (softmax_jacobian, "a", ()),
    "softmax_vjp": (softmax_vjp, "A", (0.0,)),
}
each_refusing = pytest.mark.parametrize(("slope", "name", "rest"), REFUSING.values(), ids=REFUSING)


@each_refusing
def test_weights_that_are_no_array_of_numbers_are_refused(slope, name, rest, refused):
    with pytest.raises(refused.error, match=f"^{slope.__name__}: {name} must .*{refused.rule}"):
        slope(refused.value, *rest)


@each_refusing
@pytest.mark.parametrize(
    ("rows", "arrived"),
    [
        ([[1.0, 2.0, 3.0]], r"\(1, 3\), smallest entry 1, row sums from 6 to 6"),
        ([[0.5, 0.5], [1.5, -0.5]], r"\(2, 2\), smallest entry -0\.5, row sums from 1 to 1"),
        ([[0.5, 0.5], [0.5, 0.4]], r"\(2, 2\), smallest entry 0\.4, row sums from 0\.9 to 1"),
        ([[-1.0, 1.0]], r"\(1, 2\), smallest entry -1, row sums from 0 to 0"),
        ([[0.0, -np.inf]], r"\(1, 2\), smallest entry -inf"),
        ([[np.inf, 0.0]], r"\(1, 2\), smallest entry 0, row sums from inf to inf"),
    ],
    ids=["scores", "below zero", "one row too small", "centred", "hidden", "infinite"],
)
def test_rows_that_are_no_weights_are_refused(slope, name, rest, rows, arrived):
    rule = rf"^{slope.__name__}: the rows of {name} must be weights.* shape {arrived}.*before the softmax\?"
    with pytest.raises(ValueError, match=rule):
        slope(rows, *rest)


@each_refusing
def test_a_single_number_is_refused(slope, name, rest):
    rule = rf"^{slope.__name__}: {name} must have at least one axis.* 1\.0"
    with pytest.raises(ValueError, match=rule):
        slope(1.0, *rest)


def vjp_of_ones(A):
    return softmax_vjp(A, np.ones(np.shape(A), np.float16))


every_slope = pytest.mark.parametrize("slope", [softmax_jacobian, vjp_of_ones])


@every_slope
def test_slope_has_at_least_the_precision_of_float32(slope, dtypes):
    given_dtype, result_dtype = dtypes
    assert slope(np.eye(3, dtype=given_dtype)).dtype == result_dtype
    assert slope(np.eye(3, dtype=given_dtype)[0]).dtype == result_dtype


@every_slope
def test_nan_in_one_row_stays_there(slope):
    made = slope([[np.nan, 0.5], [0.5, 0.5]])
    assert np.isnan(made[0]).any()
    assert_array_equal(made[1], slope([0.5, 0.5]))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)])
def test_no_weights_have_no_slopes(shape):
    assert_array_equal(softmax_jacobian(np.ones(shape)), np.zeros((*shape, shape[-1])))
    assert_array_equal(softmax_vjp(np.ones(shape), np.ones(shape)), np.zeros(shape))


@every_slope
def test_weights_printed_to_four_decimals_still_count_as_weights(slope):
    A = np.array([[0.1234, 0.2426, 0.2145, 0.0651, 0.3545]])
    assert_allclose(slope(A), slope(A / A.sum()), atol=1e-3)


def test_weights_are_left_alone_whatever_their_layout(laid_out):
    A, dA = laid_out(np.eye(3)), laid_out(np.arange(9.0).reshape(3, 3))
    for made in (softmax_jacobian(A), softmax_vjp(A, dA)):
        assert_array_equal(made, np.zeros(made.shape))
        assert not np.shares_memory(made, A)
        assert not np.shares_memory(made, dA)
    assert_array_equal(A, np.eye(3))
    assert_array_equal(dA, np.arange(9.0).reshape(3, 3))


def test_gradients_come_by_name_in_the_order_in_which_they_are_found():
    gradients = attention_gradients(*normal())
    assert isinstance(gradients, AttentionGradients)
    assert gradients._fields == ("dV", "dA", "dS_scaled", "dS", "dQ", "dK")
    assert [d.shape for d in gradients] == [(5, 4), (2, 5), (2, 5), (2, 5), (2, 3), (5, 3)]


def test_every_gradient_of_scores_2_ln_3_and_0_by_hand():
    """Scaled by 1/2, weights 3/4 and 1/4, output 3: 3/4 (4 - 3) = 3/4 for the first score."""
    Q, K, V = [[math.log(3), 0, 0, 0]], [[2, 0, 0, 0], [0, 0, 0, 0]], [[4], [0]]
    gradients = attention_gradients(Q, K, V, [[1]])
    assert_allclose(gradients.dV, [[0.75], [0.25]])
    assert_allclose(gradients.dA, [[4, 0]])
    assert_allclose(gradients.dS_scaled, [[0.75, -0.75]])
    assert_allclose(gradients.dS, [[0.375, -0.375]])
    assert_allclose(gradients.dQ, [[0.75, 0, 0, 0]])
    assert_allclose(gradients.dK, np.outer([0.375, -0.375], Q))


def test_keys_and_values_collect_from_every_query():
    """All scores are 0, all weights 1/2; the loss weighs the second output twice."""
    Q, K, V = [[0.0, 0.0], [1.0, 0.0]], [[0.0, 2.0], [0.0, 6.0]], [[4.0], [0.0]]
    gradients = attention_gradients(Q, K, V, [[1.0], [2.0]], scale=3)
    assert_array_equal(gradients.dV, [[1.5], [1.5]])
    assert_array_equal(gradients.dA, [[4, 0], [8, 0]])
    assert_array_equal(gradients.dS_scaled, [[1, -1], [2, -2]])
    assert_array_equal(gradients.dS, [[3, -3], [6, -6]])
    assert_array_equal(gradients.dQ, [[0, -12], [0, -24]])
    assert_array_equal(gradients.dK, [[6, 0], [-6, 0]])


def test_gradient_of_a_query_leaves_out_the_key_that_it_may_not_see():
    """Of the keys 0 and 2, with weight 1/2 each, the first has the larger value."""
    K, V = np.eye(3), [[6.0], [9.0], [2.0]]
    gradients = attention_gradients(
        np.zeros((1, 3)), K, V, [[1.0]], mask=[True, False, True], scale=1
    )
    assert_array_equal(gradients.dV, [[0.5], [0], [0.5]])
    assert_array_equal(gradients.dA, [[6, 9, 2]])
    assert_array_equal(gradients.dQ, [[1, 0, -1]])


@pytest.mark.parametrize("scale", [None, 0.3, 1, -2.0, 0, np.float32(0.25)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "mask",
    [
        None,
        [[True, False, True, True, False], [False] * 5, [False, True] * 2 + [True]],
        [[True], [False], [True]],
        [[0.5, -np.inf, 0, 1, -2], [-np.inf] * 5, [0, 0, 3, -np.inf, 0]],
        [0.5, -np.inf, 0, 1, -2],
    ],
    ids=["no mask", "boolean", "queries off", "float", "one row for all"],
)
def test_gradients_agree_with_autograd(mask, causal, scale):
    inputs, options = normal(2, n_q=3), {"mask": mask, "causal": causal, "scale": scale}
    assert_all_close(
        attention_gradients(*inputs, **options),
        by_autograd(*inputs, **options),
        rtol=1e-10,
        atol=1e-14,
    )


@given(masked_inputs(), st.booleans())
def test_gradients_with_any_boolean_mask_agree_with_autograd(masked_inputs, causal):
    *inputs, mask = masked_inputs
    made = attention_gradients(*inputs, mask=mask, causal=causal)
    assert_all_close(made, by_autograd(*inputs, mask, causal), rtol=1e-10, atol=1e-13)


@given(masked_inputs(), st.floats(-4, 4), st.floats(-2, 2), st.randoms(use_true_random=False))
def test_gradients_with_any_float_mask_and_scale_agree_with_autograd(
    masked_inputs, slope, scale, random
):
    *inputs, mask = masked_inputs
    added = np.array([[slope * random.random() for _ in row] for row in mask])
    added[~mask] = -np.inf
    made = attention_gradients(*inputs, mask=added, scale=scale)
    assert_all_close(made, by_autograd(*inputs, added, scale=scale), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    ("Q_batch", "K_batch", "V_batch", "mask_shape"),
    [
        ((2,), (2,), (2,), None),
        ((2, 3), (2, 3), (2, 3), None),
        ((2, 3), (2, 1), (2, 1), None),
        ((2, 1), (2, 3), (1, 3), None),
        ((), (), (3,), None),
        ((), (3,), (), None),
        ((3,), (2, 1), (), None),
        ((1,), (1,), (2, 1), None),
        ((2, 3), (2, 3), (2, 3), (2, 1, 1, 5)),
        ((2, 3), (2, 3), (2, 3), (3, 2, 5)),
        ((2, 3), (2, 3), (1, 1), (5,)),
        ((2, 1), (2, 1), (2, 1), (3, 1, 5)),
        ((), (), (), (3, 2, 5)),
        ((), (), (2, 3), (3, 2, 1)),
        ((3,), (), (2, 1), (2, 1, 1, 1)),
    ],
    ids=[
        *("batch", "heads", "heads share keys and values", "heads share queries"),
        *("batch of the values", "batch of the keys", "an axis each", "new axis and old"),
        *("padding for all heads", "a mask per head", "one row for all", "heads from the mask"),
        *("batch from the mask", "batch of the values, heads of all", "all different"),
    ],
)
def test_gradients_add_up_over_the_axes_along_which_an_input_was_broadcast(
    Q_batch, K_batch, V_batch, mask_shape
):
    mask = None if mask_shape is None else np.random.default_rng(1).random(mask_shape) < 0.6
    inputs = broadcast(Q_batch, K_batch, V_batch, mask=mask)
    steps = attention_steps(*inputs[:3], mask=mask)
    gradients = attention_gradients(*inputs, mask=mask)
    of = (inputs.V, steps.A, steps.S_scaled, steps.S, inputs.Q, inputs.K)
    assert [d.shape for d in gradients] == [array.shape for array in of]
    assert_all_close(gradients, by_autograd(*inputs, mask), rtol=1e-10, atol=1e-13)


def test_keys_shared_by_three_queries_get_the_sum_of_what_each_query_gives():
    Q, K, V, d_output = broadcast((3,), (), ())
    together = attention_gradients(Q, K, V, d_output)
    alone = [attention_gradients(Q[b], K, V, d_output[b]) for b in range(3)]
    assert_allclose(together.dK, sum(gradients.dK for gradients in alone), rtol=1e-12)
    assert_allclose(together.dV, sum(gradients.dV for gradients in alone), rtol=1e-12)
    assert_allclose(together.dQ, [gradients.dQ for gradients in alone], rtol=1e-12)


@given(masked_inputs(), st.booleans(), st.sampled_from([None, 0.7]))
def test_gradients_agree_with_differences_of_the_output(masked_inputs, causal, scale):
    """Central differences, all entries of an input at once: one copy, a little off, for each."""
    *inputs, d_output, mask = masked_inputs
    options = {"mask": mask, "causal": causal, "scale": scale}
    gradients = attention_gradients(*inputs, d_output, **options)
    step = 1e-5
    for i, found in enumerate((gradients.dQ, gradients.dK, gradients.dV)):
        nudges = step * np.eye(found.size).reshape(found.size, *found.shape)
        up, down = (
            (attention_steps(*inputs[:i], moved, *inputs[i + 1 :], **options).output * d_output)
            for moved in (inputs[i] + nudges, inputs[i] - nudges)
        )
        slopes = (up - down).sum(axis=(-2, -1)) / (2 * step)
        assert_allclose(found, slopes.reshape(found.shape), atol=1e-7)


@given(masked_inputs())
def test_gradients_are_those_of_attention_over_the_visible_keys(masked_inputs):
    Q, K, V, d_output, mask = masked_inputs
    together = attention_gradients(Q, K, V, d_output, mask=mask)
    dK, dV = np.zeros_like(K), np.zeros_like(V)
    for i, seen in enumerate(mask):
        alone = attention_gradients(Q[[i]], K[seen], V[seen], d_output[[i]])
        assert_allclose(together.dQ[i], alone.dQ[0], rtol=1e-11, atol=1e-13)
        assert_array_equal(together.dS[i, ~seen], 0)
        dK[seen] += alone.dK
        dV[seen] += alone.dV
    assert_allclose(together.dK, dK, rtol=1e-11, atol=1e-13)
    assert_allclose(together.dV, dV, rtol=1e-11, atol=1e-13)


@given(masked_inputs())
def test_scores_of_a_row_and_all_keys_together_have_no_pull(masked_inputs):
    """The same number added to a row of scores, or vector to every key, changes no weight."""
    *inputs, mask = masked_inputs
    gradients = attention_gradients(*inputs, mask=mask)
    assert_allclose(gradients.dS_scaled.sum(axis=-1), 0, atol=1e-13)
    assert_allclose(gradients.dS.sum(axis=-1), 0, atol=1e-13)
    assert_allclose(gradients.dK.sum(axis=-2), 0, atol=1e-13)


@given(masked_inputs(), st.floats(-4, 4), st.floats(-4, 4))
def test_gradients_are_linear_in_d_output(masked_inputs, a, b):
    Q, K, V, d_output, mask = masked_inputs
    other = np.cos(d_output)
    one, two, both = (
        attention_gradients(Q, K, V, d, mask=mask)
        for d in (d_output, other, a * d_output + b * other)
    )
    combined = [a * x + b * y for x, y in zip(one, two, strict=True)]
    assert_all_close(both, combined, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_a_small_step_against_the_gradient_lowers_the_loss_as_much_as_it_foretells(causal):
    *inputs, target = normal(2, n_q=5)

    def error(inputs):
        return attention_steps(*inputs, causal=causal).output - target

    for _ in range(20):
        d_output = error(inputs)
        found = attention_gradients(*inputs, d_output, causal=causal)
        downhill = (found.dQ, found.dK, found.dV)
        step = 1e-4
        moved = [array - step * d for array, d in zip(inputs, downhill, strict=True)]
        gain = (d_output**2).sum() / 2 - (error(moved) ** 2).sum() / 2
        assert_allclose(gain, step * sum((d**2).sum() for d in downhill), rtol=0.01)
        inputs = [array - 0.1 * d for array, d in zip(inputs, downhill, strict=True)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("hide", [False, -np.inf], ids=["boolean", "float"])
def test_hidden_keys_and_values_get_and_pass_on_nothing_whatever_they_hold(hide, bad):
    Q, K, V, d_output = normal(n_q=3)
    mask = np.full((3, 5), 0.0 if hide else True)
    mask[:, [1, 3]] = hide
    clean = attention_gradients(Q, K, V, d_output, mask=mask)
    K[[1, 3]], V[[1, 3]] = bad, bad
    spoilt = attention_gradients(Q, K, V, d_output, mask=mask)
    assert_all_equal(spoilt, clean, but=["dA"])
    assert_array_equal(spoilt.dA[:, [0, 2, 4]], clean.dA[:, [0, 2, 4]])
    assert_array_equal(spoilt.dS_scaled[:, [1, 3]], 0)
    assert_array_equal(spoilt.dK[[1, 3]], 0)
    assert_array_equal(spoilt.dV[[1, 3]], 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("hide", [False, -np.inf], ids=["boolean", "float"])
def test_a_query_that_may_see_nothing_gets_and_passes_on_nothing_whatever_it_holds(hide, bad):
    Q, K, V, d_output = normal(n_q=3)
    mask = np.full((3, 5), 0.0 if hide else True)
    mask[1] = hide
    clean = attention_gradients(Q, K, V, d_output, mask=mask)
    Q[1], d_output[1] = bad, bad
    spoilt = attention_gradients(Q, K, V, d_output, mask=mask)
    assert_all_equal(spoilt, clean, but=["dA"])
    assert_array_equal(spoilt.dS[1], 0)
    assert_array_equal(spoilt.dQ[1], 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nothing_at_all_to_see_gives_zeros_whatever_there_is(bad):
    inputs = (np.full_like(array, bad) for array in normal(2))
    gradients = attention_gradients(*inputs, mask=np.zeros((2, 5), bool))
    for name in ("dV", "dS_scaled", "dS", "dQ", "dK"):
        made = getattr(gradients, name)
        assert_array_equal(made, np.zeros(made.shape), err_msg=name)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_d_output_that_is_not_finite_reaches_what_its_query_may_see_and_no_more(bad):
    Q, K, V, d_output = normal(n_q=3)
    mask = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1]], bool)
    clean = attention_gradients(Q, K, V, d_output, mask=mask)
    d_output[0] = bad
    gradients = attention_gradients(Q, K, V, d_output, mask=mask)
    for name in ("dV", "dK"):
        made, before = getattr(gradients, name), getattr(clean, name)
        assert not np.isfinite(made[:2]).any()
        assert_array_equal(made[2:], before[2:])
    for name in ("dS_scaled", "dS", "dQ"):
        made, before = getattr(gradients, name), getattr(clean, name)
        assert np.isnan(made[0]).any()
        assert_array_equal(made[1:], before[1:])
    assert_array_equal(gradients.dS[0, 2:], 0)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3),
    st.integers(0, 1000),
    st.booleans(),
    st.sampled_from([0.0, 1e308, np.nan, np.inf]),
)
def test_gradients_of_a_padded_batch_equal_those_of_each_sequence_alone(
    lengths, seed, causal, padding
):
    Q, K, V, d_output = normal(len(lengths), n_q=4, n_k=4, seed=seed)
    for b, length in enumerate(lengths):
        K[b, length:], V[b, length:] = padding, padding
    mask = padding_mask(lengths, n_k=4)
    together = attention_gradients(Q, K, V, d_output, mask=mask, causal=causal)
    for b, n in enumerate(lengths):
        alone = attention_gradients(Q[b], K[b, :n], V[b, :n], d_output[b], causal=causal)
        assert_allclose(together.dQ[b], alone.dQ, rtol=1e-11, atol=1e-12)
        assert_allclose(together.dK[b, :n], alone.dK, rtol=1e-11, atol=1e-12)
        assert_allclose(together.dV[b, :n], alone.dV, rtol=1e-11, atol=1e-12)
        assert_array_equal(together.dK[b, n:], 0)
        assert_array_equal(together.dV[b, n:], 0)


@pytest.mark.parametrize("later", [-7.0, 1e30, np.nan, np.inf])
def test_a_loss_on_early_outputs_has_no_gradient_in_later_tokens(later):
    X = normal(2, n_q=9).Q
    d_output = normal(2, n_q=9, d_v=3, seed=1).d_output
    d_output[:, 4:] = 0
    before = attention_gradients(X, X, X, d_output, causal=True)
    moved = X.copy()
    moved[:, 4:] *= later
    # Only as keys and values: a later query that is NaN is a NaN output, however little it counts.
    after = attention_gradients(X, moved, moved, d_output, causal=True)
    for name in ("dV", "dK"):
        assert_array_equal(getattr(before, name)[:, 4:], 0)
    assert_array_equal(after.dQ[:, :4], before.dQ[:, :4])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [10, 1e2, 1e4])
def test_scores_up_to_ten_thousand_saturate_the_softmax_without_nan(size, dtype):
    inputs = (array.astype(dtype) for array in normal(8, n_q=6))
    gradients = attention_gradients(*inputs, scale=size)
    for name, d in zip(gradients._fields, gradients, strict=True):
        assert np.isfinite(d).all(), name


def test_a_row_that_is_one_hot_passes_no_gradient_to_its_scores():
    """The other weight, exp(-10000), is 0; a score of 10000 more or less changes nothing."""
    gradients = attention_gradients([[1.0]], [[1e4], [0.0]], [[4.0], [7.0]], [[3.0]])
    assert_array_equal(gradients.dV, [[3], [0]])
    assert_array_equal(gradients.dA, [[12, 21]])
    for d in (gradients.dS_scaled, gradients.dS, gradients.dQ, gradients.dK):
        assert_array_equal(d, np.zeros_like(d))


def test_a_weight_next_to_nothing_passes_on_next_to_nothing():
    gradients = attention_gradients([[1.0]], [[300.0], [0.0]], [[4.0], [7.0]], [[1.0]])
    assert_allclose(gradients.dS, [[0, 3 * math.exp(-300)]], rtol=1e-12, atol=1e-200)


def test_a_single_key_has_weight_1_whatever_its_score_and_no_gradient():
    Q, K, V, d_output = normal(2, n_k=1)
    gradients = attention_gradients(Q, K, V, d_output)
    assert_allclose(gradients.dV, d_output.sum(axis=-2, keepdims=True), rtol=1e-14)
    for d in (gradients.dS_scaled, gradients.dS, gradients.dQ, gradients.dK):
        assert_array_equal(d, np.zeros_like(d))


def test_a_scale_of_zero_leaves_queries_and_keys_without_a_gradient():
    gradients = attention_gradients(*normal(), scale=0)
    assert (gradients.dS_scaled != 0).all()
    for d in (gradients.dS, gradients.dQ, gradients.dK):
        assert_array_equal(d, np.zeros_like(d))


@pytest.mark.parametrize(
    ("Q_shape", "K_shape", "V_shape"),
    [
        ((0, 4), (3, 4), (3, 2)),
        ((2, 4), (0, 4), (0, 3)),
        ((0, 4), (0, 4), (0, 3)),
        ((2, 4), (3, 4), (3, 0)),
        ((5, 2, 4), (5, 0, 4), (5, 0, 3)),
        ((0, 2, 4), (0, 3, 4), (0, 3, 5)),
        ((0, 2, 4), (1, 3, 4), (3, 5)),
        ((2, 4), (3, 4), (0, 1, 3, 5)),
    ],
    ids=[
        *("no query", "no key", "neither", "no value feature", "no key in a batch"),
        *("no batch", "one for no batch", "values without a batch"),
    ],
)
@pytest.mark.parametrize("causal", [False, True])
def test_without_queries_keys_or_batch_gradients_are_empty_or_zero(
    Q_shape, K_shape, V_shape, causal
):
    inputs = np.ones(Q_shape), np.ones(K_shape), np.ones(V_shape)
    steps = attention_steps(*inputs, causal=causal)
    gradients = attention_gradients(*inputs, np.ones(steps.output.shape), causal=causal)
    of = (inputs[2], steps.A, steps.S_scaled, steps.S, *inputs[:2])
    for name, d, array in zip(gradients._fields, gradients, of, strict=True):
        if name == "dA" or (name == "dV" and V_shape[-1] == 0):
            assert d.shape == array.shape
        else:
            assert_array_equal(d, np.zeros(array.shape), err_msg=name, strict=True)


def test_a_mask_without_a_batch_leaves_every_gradient_zero():
    Q, K, V, _ = normal(1)
    gradients = attention_gradients(Q, K, V, np.ones((0, 2, 4)), mask=np.ones((0, 2, 5), bool))
    shapes = [(1, 5, 4), (0, 2, 5), (0, 2, 5), (1, 2, 5), (1, 2, 3), (1, 5, 3)]
    for name, d, shape in zip(gradients._fields, gradients, shapes, strict=True):
        assert_array_equal(d, np.zeros(shape), err_msg=name, strict=True)


@pytest.mark.parametrize("scale", [None, 0.5, np.float64(0.5), np.float32(0.5), np.array(0.5)])
def test_every_gradient_has_at_least_the_precision_of_float32(dtypes, scale):
    given_dtype, result_dtype = dtypes
    inputs = (array.astype(given_dtype) for array in normal())
    gradients = attention_gradients(*inputs, mask=[True, False] * 2 + [True], scale=scale)
    assert [d.dtype for d in gradients] == [result_dtype] * 6


def test_float32_gradients_agree_with_float64():
    inputs = normal(n_q=20, n_k=30, d_k=64)
    assert_all_close(
        attention_gradients(*(array.astype(np.float32) for array in inputs)),
        attention_gradients(*inputs),
        rtol=1e-4,
        atol=1e-4,
    )


def test_lists_of_whole_numbers_are_taken():
    Q, K, V, d_output = (np.round(4 * array) for array in normal())
    lists = [array.astype(int).tolist() for array in (Q, K, V, d_output)]
    assert_all_equal(attention_gradients(*lists), attention_gradients(Q, K, V, d_output))


def test_inputs_are_left_alone_whatever_their_layout(laid_out):
    mask = np.random.default_rng(1).random((2, 5)) < 0.6
    given_inputs = [laid_out(array) for array in (*normal(), mask)]
    gradients = attention_gradients(*given_inputs[:4], mask=given_inputs[4])
    assert_all_close(gradients, by_autograd(*normal(), mask), rtol=1e-10, atol=1e-14)
    for array, before in zip(given_inputs, (*normal(), mask), strict=True):
        assert_array_equal(array, before)
        assert not any(np.shares_memory(array, d) for d in gradients)


@pytest.mark.parametrize("scale", [None, 1])
@pytest.mark.parametrize(
    ("Q_batch", "K_batch", "V_batch", "mask_shape"),
    [((), (), (), (2, 5)), ((2,), (2,), (2,), (5,)), ((), (), (3,), (5,)), ((3,), (), (), (5,))],
)
def test_each_gradient_is_new_and_may_be_written_to(Q_batch, K_batch, V_batch, mask_shape, scale):
    """Also where the scale is 1, and the gradient of the scaled scores that of the scores."""
    mask = np.ones(mask_shape)
    Q, K, V, d_output = broadcast(Q_batch, K_batch, V_batch, mask=mask)
    inputs = (Q[..., :1], K[..., :1], V, d_output, mask)
    gradients = attention_gradients(*inputs[:4], mask=mask, scale=scale)
    for i, d in enumerate(gradients):
        assert not any(np.shares_memory(d, other) for other in (*inputs, *gradients[:i]))
        d[...] = i
        assert_array_equal(d, np.full(d.shape, float(i)))


def test_a_d_output_that_is_one_number_stretched_is_taken():
    """As mean and sum give it: a view of one number, which may not be written to."""
    Q, K, V, d_output = normal(2)
    stretched = np.broadcast_to(1.0, d_output.shape)
    assert_all_equal(
        attention_gradients(Q, K, V, stretched),
        attention_gradients(Q, K, V, np.ones_like(d_output)),
    )


def test_causal_is_the_mask_of_the_same_name():
    by_switch = attention_gradients(*normal(2, n_q=4), causal=True)
    by_mask = attention_gradients(*normal(2, n_q=4), mask=causal_mask(4, 5))
    assert_all_equal(by_switch, by_mask)


def test_mask_causal_and_scale_are_given_by_name_alone():
    with pytest.raises(TypeError, match="positional"):
        attention_gradients(*normal(), causal_mask(2, 5))


@pytest.fixture
def no_arithmetic(monkeypatch):
    """Fail where the first step begins, so that an error must have come before it."""
    monkeypatch.setattr(gradients, "run", lambda *given: pytest.fail("the arithmetic began"))


@pytest.mark.parametrize("name", ["Q", "K", "V"])
@pytest.mark.usefixtures("no_arithmetic")
def test_what_is_no_array_of_numbers_is_refused(name, refused):
    arguments = dict.fromkeys(("Q", "K", "V", "d_output"), np.eye(2)) | {name: refused.value}
    with pytest.raises(refused.error, match=f"^attention_gradients: {name} must .*{refused.rule}"):
        attention_gradients(**arguments)


def test_a_d_output_that_is_no_array_of_numbers_is_refused(refused):
    rule = f"^attention_gradients: d_output must .*{refused.rule}"
    with pytest.raises(refused.error, match=rule):
        attention_gradients(np.eye(2), np.eye(2), np.eye(2), refused.value)


@pytest.mark.parametrize(
    "changed",
    [
        {"Q": np.ones(4)},
        {"K": np.ones(4)},
        {"V": np.ones(4)},
        {"Q": np.ones((2, 4))},
        {"Q": np.ones((2, 0)), "K": np.ones((5, 0))},
        {"V": np.ones((1, 4))},
        {"Q": np.ones((2, 2, 3)), "K": np.ones((3, 5, 3))},
        {"Q": np.ones((2, 2, 3)), "V": np.ones((3, 5, 4))},
        {"mask": np.ones((5, 2), bool)},
        {"mask": np.ones((2, 5), int)},
        {"mask": np.full((2, 5), np.nan)},
        {"mask": np.ma.array(np.ones((2, 5), bool))},
        {"mask": True},
        {"mask": "causal"},
        {"causal": 1},
        {"causal": causal_mask(2, 5)},
        {"scale": "0.5"},
        {"scale": np.array([0.5])},
        {"scale": math.nan},
        {"V": np.ones((1, 4)), "scale": math.nan},
        {"mask": np.ones((5, 2), bool), "causal": 1},
        {"causal": 1, "scale": math.nan},
    ],
    ids=lambda changed: ", ".join(changed),
)
@pytest.mark.usefixtures("no_arithmetic")
def test_whatever_attention_steps_refuses_is_refused_in_the_same_words(changed):
    """And before d_output is looked at, whose shape follows from the others."""
    Q, K, V, _ = normal()
    arguments = {"Q": Q, "K": K, "V": V} | changed
    with pytest.raises((TypeError, ValueError), match=r"^attention_steps: ") as by_steps:
        attention_steps(**arguments)
    with pytest.raises(by_steps.type, match=r"^attention_gradients: ") as by_gradients:
        attention_gradients(**arguments, d_output=np.ones(7))
    expected = str(by_steps.value).replace("attention_steps", "attention_gradients", 1)
    assert str(by_gradients.value) == expected


@pytest.mark.parametrize(
    "d_shape", [(4, 2), (2, 5), (4,), (1, 4), (2, 1), (1, 2, 4), (3, 2, 4), (), (0,)]
)
def test_a_d_output_that_does_not_have_the_shape_of_the_output_is_refused(d_shape):
    """Also one that would broadcast."""
    with pytest.raises(ValueError, match=r"^attention_gradients: d_output must have") as caught:
        attention_gradients(*normal()[:3], np.ones(d_shape))
    assert "the shape of the output, (2, 4): " in str(caught.value)
    assert f" Got shape {d_shape}. " in str(caught.value)


def test_a_d_output_must_have_the_batch_axes_of_values_and_mask_too():
    Q, K, V, d_output = normal()
    with pytest.raises(ValueError, match=r"the output, \(3, 2, 4\): .* Got shape \(2, 4\)\."):
        attention_gradients(Q, K, np.stack([V] * 3), d_output)
    with pytest.raises(ValueError, match=r"the output, \(3, 2, 4\): .* Got shape \(2, 4\)\."):
        attention_gradients(Q, K, V, d_output, mask=np.ones((3, 2, 5), bool))
