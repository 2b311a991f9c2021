"""Which keys a query may attend to: S_scaled, mask -> S_scaled with hidden keys at -inf.

One convention everywhere: in a boolean mask, True means "this query may attend to this key".
"""

import numpy as np

from . import validation


def causal_mask(n_q, n_k=None, *, offset=0):
    """Let query i see keys 0 to i, and those of earlier tokens: mask[i, j] = (j <= i + offset).

    Parameters
    ----------
    n_q : int
        Number of queries.
    n_k : int, optional
        Number of keys. Left out: n_q + offset, the earlier keys and those of the queries.
    offset : int, default 0
        How many keys stand before the key of query 0, as in a cache of earlier tokens. Below 0:
        the keys begin so many tokens after query 0, as in a block cut out of all keys.

    Returns
    -------
    mask : ndarray of bool, shape (n_q, n_k)
        True on and below the diagonal: a token sees itself. Also for n_q != n_k the diagonal
        starts at the top left, so that row i ends at key i. An offset moves it to the right; with
        n_k - n_q it ends at the bottom right, so that the last query sees all keys.

    Raises
    ------
    ValueError
        If n_q or n_k is below 0.
    TypeError
        If n_q, n_k or offset is not a whole number.

    Examples
    --------
    >>> causal_mask(3)
    array([[ True, False, False],
           [ True,  True, False],
           [ True,  True,  True]])
    >>> causal_mask(2, 4)
    array([[ True, False, False, False],
           [ True,  True, False, False]])

    Two new tokens after two whose keys are in a cache:

    >>> causal_mask(2, offset=2)
    array([[ True,  True,  True, False],
           [ True,  True,  True,  True]])

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.3, arXiv:1706.03762.
    ONNX operator Attention, version 24: offset, "the count of valid keys preceding the current
    query block".
    """
    n_q = validation.count("causal_mask", "n_q", n_q)
    offset = validation.offset("causal_mask", offset)
    n_k = validation.count("causal_mask", "n_k", n_q + offset if n_k is None else n_k)
    return np.tri(n_q, n_k, offset, dtype=bool)


def padding_mask(lengths, n_k):
    """Hide the padding behind each sequence of a batch: mask[b, 0, j] = (j < lengths[b]).

    Parameters
    ----------
    lengths : array_like of int, shape (batch,)
        How many keys of each sequence are real; the others, at its end, are padding. More
        axes are more batch axes.
    n_k : int
        Number of keys that every sequence was padded to.

    Returns
    -------
    mask : ndarray of bool, shape (batch, 1, n_k)
        True on real keys. The axis of length 1 is the query axis: the mask hides keys from
        every query of its own sequence. With heads, give them an axis too:
        padding_mask(lengths, n_k)[:, np.newaxis].

    Raises
    ------
    ValueError
        If a length is below 0 or above n_k.
    TypeError
        If lengths or n_k are not whole numbers.

    Notes
    -----
    Without the middle axis the mask would have shape (batch, n_k), and two axes are read as
    (n_q, n_k). Where batch and n_q happen to be equal, that passes without a word, and hides
    keys from query b instead of from sequence b:

    >>> S_scaled = np.zeros((2, 2, 2))  # 2 sequences, 2 queries, 2 keys
    >>> wrong = [[True, True], [True, False]]  # meant as (batch, n_k)
    >>> apply_mask(S_scaled, wrong)[0]  # sequence 0 has no padding
    array([[  0.,   0.],
           [  0., -inf]])
    >>> apply_mask(S_scaled, padding_mask([2, 1], n_k=2))
    array([[[  0.,   0.],
            [  0.,   0.]],
    <BLANKLINE>
           [[  0., -inf],
            [  0., -inf]]])

    Examples
    --------
    >>> padding_mask([3, 1], n_k=3)
    array([[[ True,  True,  True]],
    <BLANKLINE>
           [[ True, False, False]]])

    References
    ----------
    ONNX operator Attention, version 24, input attn_mask: its shape and what it broadcasts to.
    """
    n_k = validation.count("padding_mask", "n_k", n_k)
    lengths = validation.lengths("padding_mask", lengths, n_k)
    return np.arange(n_k) < lengths[..., np.newaxis, np.newaxis]


@np.errstate(all="ignore")  # a sum may overflow to -inf or inf, as the scores may
def apply_mask(S_scaled, mask):
    """Hide keys before the softmax: S_scaled where mask is True, -inf where it is False.

    Parameters
    ----------
    S_scaled : array_like, shape (..., n_q, n_k)
        Scaled scores.
    mask : array_like of bool or float, shape (..., n_q, n_k)
        Each of the last two axes may be 1 instead, or n_q left out; axes before them
        broadcast against those of S_scaled. Boolean: True means that this query may attend to
        this key. Float: is added to the scores, and -inf hides. Two axes are (n_q, n_k),
        never (batch, n_k): for padding use `padding_mask`.

    Returns
    -------
    S_scaled : ndarray, shape (..., n_q, n_k)
        Scaled scores, -inf on hidden keys whatever their score was, NaN and inf included.
        Always new; dtypes follow NumPy's promotion of scores and float mask, from float32 up.

    Raises
    ------
    ValueError
        If the shapes do not fit, or a float mask holds NaN or +inf.
    TypeError
        If mask holds whole numbers: 0 and 1 could mean either. mask.astype(bool) says that 1
        may attend, mask == 0 that 1 is hidden.

    Examples
    --------
    >>> apply_mask([[0.5, 2.0]], [[True, False]])
    array([[ 0.5, -inf]])
    >>> apply_mask([[0.5, 2.0]], [[1.0, -np.inf]])
    array([[ 1.5, -inf]])

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.3, arXiv:1706.03762.
    ONNX operator Attention, version 24, input attn_mask: True takes part, floats are added.
    """
    S_scaled = validation.as_matrix("apply_mask", "S_scaled", S_scaled, "(n_q, n_k)")
    mask = validation.mask("apply_mask", mask, "S_scaled", S_scaled.shape)
    if mask.dtype == bool:
        return np.where(mask, S_scaled, -np.inf)
    # -inf hides outright: added to a score of inf or NaN, it would give NaN.
    return np.where(np.isneginf(mask), -np.inf, S_scaled + mask)


def hide(S_scaled, mask):
    """Hide keys as `apply_mask` does, in S_scaled itself if it has room; nothing is checked."""
    shape = np.broadcast_shapes(S_scaled.shape, mask.shape)
    if mask.dtype == bool:
        room = S_scaled if shape == S_scaled.shape else np.broadcast_to(S_scaled, shape).copy()
        hidden = ~mask
    else:
        fits = shape == S_scaled.shape and np.can_cast(mask.dtype, S_scaled.dtype)
        room = np.add(S_scaled, mask, out=S_scaled if fits else None)
        hidden = np.isneginf(mask)
    np.copyto(room, -np.inf, where=hidden)
    return room


def hide_later_keys(S_scaled, offset):
    """Hide from query i, in place, the keys behind key i + offset; nothing is checked."""
    for i in range(S_scaled.shape[-2]):
        S_scaled[..., i, max(0, i + offset + 1) :] = -np.inf
