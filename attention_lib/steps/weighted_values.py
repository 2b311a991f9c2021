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
        float32 stays float32, float16 is computed in float32, integers in float64. NaN or inf
        in a value reaches its own column of the output, for every query that gives the value
        any weight: a weight of 0, as on a hidden key, takes nothing, whatever is there.

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


def _mix_key_by_key(A, V):
    """Return A V where V holds NaN or inf, of which a weight of 0 must not make NaN."""
    finite_A, finite_V = np.isfinite(A), np.isfinite(V)
    output = np.where(finite_A, A, 0) @ np.where(finite_V, V, 0)
    for j in range(V.shape[-2]):
        weight, value = A[..., :, j, np.newaxis], V[..., np.newaxis, j, :]
        done = finite_A[..., :, j, np.newaxis] & finite_V[..., np.newaxis, j, :]
        output = output + np.where(done | (weight == 0), 0, weight * value)
    return output
