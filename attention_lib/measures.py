"""What to ask of a row of weights: how broad it is."""

import numpy as np

from . import validation


@np.errstate(all="ignore")  # log(0) is expected, and its product with 0 is set to 0
def row_entropy(A):
    """Measure how broad each row of weights is: H_i = - sum_j A_ij ln A_ij.

    Parameters
    ----------
    A : array_like, shape (..., n_k)
        Weights; each row sums to 1 as closely as its dtype can hold it, or is all zeros.

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
