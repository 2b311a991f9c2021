"""How a loss changes with each step of attention: the steps read backwards.

Names begin with d: dA is the gradient of the loss with respect to A, of the shape of A.
"""

from typing import NamedTuple

import numpy as np

from . import validation
from .attention import checked, run
from .steps.scaling import scale_scores
from .steps.weighted_values import weighted_values


class AttentionGradients(NamedTuple):
    """The gradient of a loss with respect to each array, in the order in which they are found."""

    dV: np.ndarray
    dA: np.ndarray
    dS_scaled: np.ndarray
    dS: np.ndarray
    dQ: np.ndarray
    dK: np.ndarray


@np.errstate(all="ignore")  # NaN in a row stays in that row, without a warning
def softmax_jacobian(a):
    """Say how weights change with their scores: J_jk = da_j / dx_k = a_j (1[j = k] - a_k).

    Parameters
    ----------
    a : array_like, shape (..., n_k)
        A row of weights, a = softmax(x), or a stack of rows.

    Returns
    -------
    J : ndarray, shape (..., n_k, n_k)
        diag(a) - a a^T for each row: symmetric, each row and column sums to 0. It depends on
        the weights alone, and is all zeros for a one-hot row: such a softmax passes no
        gradient to its scores.

    Raises
    ------
    ValueError
        If a row has an entry below 0, or does not sum to 1.
    TypeError
        If a does not hold real numbers.

    Examples
    --------
    >>> softmax_jacobian([0.5, 0.5])
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])

    References
    ----------
    Goodfellow, Bengio and Courville (2016), "Deep Learning", section 6.2.2.3.
    """
    a = validation.distributions("softmax_jacobian", "a", a)
    identity = np.eye(a.shape[-1], dtype=a.dtype)
    return a[..., :, np.newaxis] * (identity - a[..., np.newaxis, :])


@np.errstate(all="ignore")  # inf and NaN in the input travel as documented
def softmax_vjp(A, dA):
    """Take a gradient back through a softmax: dx_j = a_j (da_j - sum_k a_k da_k), row by row.

    The product of dA with the Jacobian of each row (a vector-Jacobian product), without ever
    making the Jacobian.

    Parameters
    ----------
    A : array_like, shape (..., n_k)
        Weights, A = softmax(x); each row sums to 1, or is all zeros.
    dA : array_like, the shape of A
        Gradient of a loss with respect to the weights.

    Returns
    -------
    dx : ndarray, the shape of A
        Gradient with respect to the scores. Each row sums to 0; a weight of 0 gets exactly 0,
        whatever is in dA there.

    Raises
    ------
    ValueError
        If A and dA differ in shape, or a row of A is no distribution.
    TypeError
        If A or dA does not hold real numbers.

    Examples
    --------
    >>> softmax_vjp([[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]])
    array([[ 0.25, -0.25],
           [ 0.  ,  0.  ]])

    References
    ----------
    Goodfellow, Bengio and Courville (2016), "Deep Learning", sections 6.2.2.3 and 6.5.
    """
    A = validation.distributions("softmax_vjp", "A", A)
    dA = validation.gradient("softmax_vjp", "dA", dA, "A", A.shape)
    average = np.where(A == 0, 0, A * dA).sum(axis=-1, keepdims=True)
    return np.where(A == 0, 0, A * (dA - average))


@np.errstate(all="ignore")  # inf and NaN in the input travel as they do forwards
def attention_gradients(Q, K, V, d_output, *, mask=None, causal=False, offset=0, scale=None):
    """Take the gradient of a loss back from the output of attention to Q, K and V.

    Parameters
    ----------
    Q, K, V, mask, causal, offset, scale
        As for `attention_steps`.
    d_output : array_like, shape (..., n_q, d_v)
        Gradient of the loss with respect to the output, of the shape of the output.

    Returns
    -------
    AttentionGradients
        A named tuple: dV, dA, dS_scaled, dS, dQ, dK, each of the shape of its array; for an
        input that was broadcast over batch axes, the sum over them. Hidden keys and queries
        that may see nothing get and pass on exactly 0 through the scores, whatever their
        numbers are; but a row of weights with NaN in it, from its query or from a key that it
        sees, is NaN throughout, and so are its gradients. Dtypes follow NumPy's promotion of
        the inputs, d_output included.

    Raises
    ------
    ValueError, TypeError
        As `attention_steps` does, and if d_output does not have the shape of the output.

    Examples
    --------
    One query, weights 3/4 and 1/4, values 4 and 0: a higher score for key 0 raises the output
    by 3/4 x 1/4 x (4 - 0).

    >>> Q, K = [[np.log(3)]], [[1.0], [0.0]]
    >>> gradients = attention_gradients(Q, K, [[4.0], [0.0]], [[1.0]])
    >>> gradients.dV.round(4)
    array([[0.75],
           [0.25]])
    >>> gradients.dS.round(4)
    array([[ 0.75, -0.75]])

    References
    ----------
    Vaswani et al. (2017), eq. 1, arXiv:1706.03762; Goodfellow, Bengio and Courville (2016),
    "Deep Learning", section 6.5.
    """
    where = "attention_gradients"
    given = checked(where, Q, K, V, mask, causal, offset, scale)
    Q, K, V, mask, *_, scale = given
    shape = validation.scores_shape(Q, K, V)
    if mask is not None:
        shape = np.broadcast_shapes(shape, mask.shape)
    of_output = (*shape[:-1], V.shape[-1])
    d_output = validation.gradient(where, "d_output", d_output, "the output", of_output)

    steps = run(*given)
    dV = weighted_values(steps.A.swapaxes(-1, -2), d_output)  # output = A V
    dA = d_output @ V.swapaxes(-1, -2)
    A, dA = np.broadcast_arrays(steps.A, dA)  # V may have batch axes of its own
    dS_scaled = softmax_vjp(A, dA)
    dS = scale_scores(dS_scaled, Q.shape[-1]) if scale is None else dS_scaled * scale
    dQ = weighted_values(dS, K)  # S = Q K^T
    dK = weighted_values(dS.swapaxes(-1, -2), Q)
    found = AttentionGradients(dV, dA, dS_scaled, dS, dQ, dK)
    arrays = (V, steps.A, steps.S_scaled, steps.S, Q, K)
    return AttentionGradients(
        *(_sum_to(d, array.shape) for d, array in zip(found, arrays, strict=True))
    )


def _sum_to(gradient, shape):
    """Add up a gradient over the axes along which its array was broadcast to get there."""
    new = tuple(range(gradient.ndim - len(shape)))
    gradient = gradient.sum(axis=new)
    stretched = tuple(
        i for i, (n, m) in enumerate(zip(gradient.shape, shape, strict=True)) if n != m
    )
    # A copy where nothing was added up: broadcast arrays may not be written to.
    return gradient.sum(axis=stretched, keepdims=True) if stretched else gradient.copy()
