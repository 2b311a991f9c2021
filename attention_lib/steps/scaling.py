"""Step 2: S -> S_scaled."""

import math

import numpy as np

from .. import validation


@np.errstate(all="ignore")  # inf and NaN in the input travel as documented
def scale_scores(S, d_k):
    """Divide the scores by the root of the key width: S_scaled = S / sqrt(d_k).

    A dot product of d_k independent terms of variance 1 has variance d_k; the division
    brings it back to 1.

    Parameters
    ----------
    S : array_like, any shape, usually (..., n_q, n_k)
        Raw scores.
    d_k : int
        Width of a query and of a key, Q.shape[-1]. Not the model width, not the number of
        tokens or heads, and not yet the root.

    Returns
    -------
    S_scaled : ndarray, the shape of S
        Scaled scores; a single number for a single number. Always new; float32 stays float32,
        float16 and bfloat16 are computed in float32, integers in float64. NaN and inf stay where
        they are.

    Raises
    ------
    ValueError
        If d_k is below 1.
    TypeError
        If d_k is not a whole number, or S does not hold real numbers.

    Examples
    --------
    >>> scale_scores([[8.0, 0.0]], d_k=16)
    array([[2., 0.]])

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.1, arXiv:1706.03762.
    """
    S = validation.as_numbers("scale_scores", "S", S)
    d_k = validation.key_width("scale_scores", d_k)
    # math.sqrt gives a Python float; np.sqrt's float64 scalar would turn float32 into float64.
    return S / math.sqrt(d_k)
