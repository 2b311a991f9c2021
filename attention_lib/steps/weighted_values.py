"""Step 4: A, V -> output."""

import numpy as np

from .. import validation


# inf and NaN in the input travel as documented; some BLAS builds also raise false alarms.
@np.errstate(all="ignore")
def weighted_values(A, V):
    """Average the value rows with the attention weights: output = A V.

    Parameters
    ----------
    A : array_like, shape (..., n_q, n_k)
        Attention weights. Rows that are no distribution are taken as they come: the output is
        then a linear combination of the values instead of an average.
    V : array_like, shape (..., n_k, d_v)
        One value per row, one row per key. Axes before the last two broadcast.

    Returns
    -------
    output : ndarray, shape (..., n_q, d_v)
        Row i mixes the rows of V in the proportions A[i], in the units of V. Always new;
        float32 stays float32, float16 and bfloat16 are computed in float32, integers in float64.
        NaN or inf in a value reaches its own column of the output, for every query that gives the
        value any weight: a weight of 0, as on a hidden key, takes nothing, whatever is there.

    Raises
    ------
    ValueError
        If A has another number of columns than V has rows, or batch axes do not broadcast.
    TypeError
        If A or V does not hold real numbers, or is a NumPy masked array.

    Examples
    --------
    >>> weighted_values([[0.75, 0.25]], [[4.0], [0.0]])
    array([[3.]])

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", eq. 1, arXiv:1706.03762.
    """
    A, V = validation.weights_and_values("weighted_values", A, V)
    return A @ V if np.isfinite(V).all() else _mix_key_by_key(A, V)


def mix(A, V):
    """Return what `weighted_values` does; nothing is checked."""
    return A @ V if np.isfinite(V).all() else _mix_key_by_key(A, V)


def _mix_key_by_key(A, V):
    """Return A V where V holds NaN or inf: added up key by key, without the keys of weight 0."""
    finite_A, finite_V = np.isfinite(A), np.isfinite(V)
    output = np.where(finite_A, A, 0) @ np.where(finite_V, V, 0)
    # What is left of each sum are the keys whose weight or value is not finite.
    left = ~(_for_each_key(finite_A, -1) & _for_each_key(finite_V, -2))
    up, down, no_number = _products_without_end(A[..., left], V[..., left, :])
    output[up] += np.inf
    output[down] -= np.inf  # NaN where it has gone up before, as in any sum
    output[no_number] = np.nan
    return output


def _for_each_key(finite, axis):
    """Say for each key, which lie along `axis`, whether everything about it is finite."""
    others = tuple(range(finite.ndim + axis)) + tuple(range(finite.ndim + axis + 1, finite.ndim))
    return finite.all(axis=others)


def _products_without_end(A, V):
    """Say for which entries of A V a product of weight and value is inf, is -inf, is NaN.

    With inf or NaN in a product, the sizes of weight and value do not matter, their signs do. A
    matrix product counts signs for all keys at once, in float32, which holds the counts exactly.
    """
    sign_A, sign_V = (np.nan_to_num(np.sign(M)).astype(np.float32) for M in (A, V))
    inf_A, inf_V = (np.where(np.isinf(M), np.sign(M), 0).astype(np.float32) for M in (A, V))
    rest_A = sign_A - inf_A
    more_up = inf_A @ sign_V + rest_A @ inf_V
    in_all = abs(inf_A) @ abs(sign_V) + abs(rest_A) @ abs(inf_V)
    # A weight of 0 takes nothing, of NaN neither; a weight of inf on a value of 0 is no number.
    no_number = _count(A != 0, np.isnan(V)) + _count(np.isinf(A), V == 0)
    no_number += np.isnan(A).any(axis=-1, keepdims=True)
    return in_all + more_up > 0, in_all - more_up > 0, no_number > 0


def _count(of_weights, of_values):
    """Count the keys for which both are true, for each query and column."""
    return of_weights.astype(np.float32) @ of_values.astype(np.float32)
