"""Step 3: S_scaled -> A."""

import numpy as np

from .. import validation


@np.errstate(all="ignore")  # exp may underflow to 0, and is meant to; NaN is documented
def softmax(x, axis=-1):
    """Turn scores into weights: exp(x_j) divided by the sum of exp(x_k) over `axis`.

    The largest score of each slice is subtracted first. That changes no weight, because
    exp(x_j - m) / sum exp(x_k - m) = exp(x_j) / sum exp(x_k), and keeps exp from overflowing.

    Parameters
    ----------
    x : array_like, at least one axis, usually (..., n_q, n_k)
        Scaled scores. -inf is a key that gets no weight.
    axis : int, default -1
        The axis along which the weights sum to 1. -1 is one distribution per query.

    Returns
    -------
    A : ndarray, the shape of x
        Attention weights: no entry below 0, each slice sums to 1. Always new; float32 stays
        float32, float16 and bfloat16 are computed in float32, integers in float64. A slice that is -inf
        throughout, or of length 0, has no key to attend to and gives zeros. A slice with NaN
        or +inf gives NaN; other slices are not touched by it.

    Raises
    ------
    ValueError
        If x is a single number, or has no such axis.
    TypeError
        If x does not hold real numbers, or `axis` is not one whole number.

    Examples
    --------
    Two scores that differ by ln 3 give weights in the proportion 3 to 1:

    >>> softmax([[np.log(3), 0.0]]).round(4)
    array([[0.75, 0.25]])
    >>> softmax([[1000.0, 1000.0]])
    array([[0.5, 0.5]])

    References
    ----------
    Blanchard, Higham and Higham (2021), "Accurately computing the log-sum-exp and softmax
    functions", IMA Journal of Numerical Analysis 41(4), doi:10.1093/imanum/draa038.
    """
    x = validation.as_rows("softmax", "x", x)
    validation.softmax_axis("softmax", x, axis)
    x_max = x.max(axis=axis, keepdims=True, initial=-np.inf)
    exponentials = np.exp(x - np.where(np.isneginf(x_max), 0, x_max))
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def softmax_in_place(x):
    """Turn scores into weights where they stand, as `softmax` over the last axis; nothing is checked."""
    # From the lowest number up: where all is -inf, or nothing there, the shift is a number too.
    x -= x.max(axis=-1, keepdims=True, initial=np.finfo(x.dtype).min)
    np.exp(x, out=x)
    total = x.sum(axis=-1, keepdims=True)
    x /= np.maximum(total, 1, out=total)  # the largest score alone gives 1; no score, 0
    return x
