"""What to ask of a row of weights: how broad it is, and how it answers to its scores."""

import numpy as np

from . import validation


@np.errstate(all="ignore")  # log(0) is expected, and its product with 0 is set to 0
def row_entropy(A):
    """Measure how broad each row of weights is: H_i = - sum_j A_ij ln A_ij.

    Parameters
    ----------
    A : array_like, shape (..., n_k)
        Weights; each row sums to 1, or is all zeros.

    Returns
    -------
    H : ndarray, shape (...)
        Entropy in nats: 0.0 for a row with all its weight on one key (and for a row of
        zeros), ln(n_k) for a uniform row. 0 ln 0 counts as 0.

    Raises
    ------
    ValueError
        If a row has an entry below 0, or does not sum to 1.
    TypeError
        If A does not hold real numbers.

    Examples
    --------
    >>> row_entropy([[1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]).round(4)
    array([0.    , 1.3863])

    References
    ----------
    Shannon (1948), "A Mathematical Theory of Communication", section 6.
    """
    A = validation.distributions("row_entropy", "A", A)
    H = -np.where(A == 0, 0, A * np.log(A)).sum(axis=-1)
    # A weight rounded to just above 1 must not give an entropy below 0, nor a one-hot row -0.0.
    return np.where(H <= 0, 0, H)


@np.errstate(all="ignore")  # NaN in a row stays in that row, without a warning
def softmax_jacobian(a):
    """Say how weights answer to their scores: J_jk = da_j / dx_k = a_j (1[j = k] - a_k).

    Parameters
    ----------
    a : array_like, shape (..., n_k)
        A row of weights, a = softmax(x), or a stack of rows.

    Returns
    -------
    J : ndarray, shape (..., n_k, n_k)
        diag(a) - a a^T for each row: symmetric, each row and column sums to 0. It depends on
        the weights alone, and is all zeros for a one-hot row: such a softmax passes no
        gradient.

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
