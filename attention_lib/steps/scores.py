"""Step 1: Q, K -> S."""

import numpy as np

from .. import validation


# inf and NaN in the input travel as documented; some BLAS builds also raise false alarms.
@np.errstate(all="ignore")
def attention_scores(Q, K):
    """Compare every query with every key: S = Q K^T.

    Parameters
    ----------
    Q : array_like, shape (..., n_q, d_k)
        One query per row.
    K : array_like, shape (..., n_k, d_k)
        One key per row. Axes before the last two broadcast against those of Q.

    Returns
    -------
    S : ndarray, shape (..., n_q, n_k)
        S[i, j] is the dot product of query i and key j: a raw score, of any sign and size, in
        the units of Q times those of K. Always new; float32 stays float32, float16 and bfloat16
        are computed in float32, integers in float64. NaN or inf in query i reaches row i alone, in
        key j column j alone.

    Raises
    ------
    ValueError
        If Q and K differ in d_k, or their batch axes do not broadcast.
    TypeError
        If Q or K does not hold real numbers, or is a NumPy masked array.

    Examples
    --------
    >>> attention_scores([[1, 2], [0, 1]], [[3, 4], [1, 0], [0, 2]])
    array([[11.,  1.,  4.],
           [ 4.,  0.,  2.]])

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", eq. 1, arXiv:1706.03762.
    """
    Q, K = validation.queries_and_keys("attention_scores", Q, K)
    # Only the last two axes turn over: K.T would reverse the batch axes as well.
    return Q @ K.swapaxes(-1, -2)
