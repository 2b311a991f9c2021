"""The four steps composed. The one place that knows their order."""

import math
from typing import NamedTuple

import numpy as np

from . import validation
from .blocks import cut, spread, work_on
from .masks import hide, hide_later_keys
from .steps.softmax import softmax_in_place
from .steps.weighted_values import mix

_IN_CACHE = 2**19  # scores of a block of queries: a few MB, which stay near the core


class AttentionSteps(NamedTuple):
    """What each step of attention made, in order; hidden keys are -inf in S_scaled, 0 in A."""

    S: np.ndarray
    S_scaled: np.ndarray
    A: np.ndarray
    output: np.ndarray


def attention_steps(Q, K, V, *, mask=None, causal=False, offset=0, scale=None):
    """Run the four steps and keep what each one made.

    A mask hides keys between scaling and softmax.

    Parameters
    ----------
    Q : array_like, shape (..., n_q, d_k)
        One query per row.
    K : array_like, shape (..., n_k, d_k)
        One key per row.
    V : array_like, shape (..., n_k, d_v)
        One value per row; row j belongs to key j. Axes before the last two are batch axes
        and broadcast, so heads are one more axis.
    mask : array_like of bool or float, shape (..., n_q, n_k), optional
        Boolean: True means that this query may attend to this key. Float: is added to the
        scaled scores; -inf hides. Whole numbers are refused. Two axes are (n_q, n_k), never
        (batch, n_k): see `apply_mask`, and `padding_mask` for padding.
    causal : bool
        Whether query i sees keys 0 to i only, also for n_q != n_k. With a mask too, both must
        allow a key.
    offset : int, default 0
        With causal: how many keys stand before the key of query 0, so that query i sees keys 0
        to i + offset, as in `causal_mask`. For queries that are the last of the keys, as with
        a cache: n_k - n_q.
    scale : float, optional
        Multiplies S. Left out, it is 1 / sqrt(d_k), d_k being the last axis of Q and K.

    Returns
    -------
    AttentionSteps
        A named tuple: scores S (..., n_q, n_k), scaled scores S_scaled (..., n_q, n_k) with
        hidden keys at -inf, weights A (..., n_q, n_k), whose rows sum to 1, and output
        (..., n_q, d_v). A query that may see no key, or for which there is none (n_k = 0),
        gets a row of zeros and a zero output. Dtypes follow NumPy's promotion of the inputs,
        a float mask included, from float32 up.

        NaN or inf in a query stays in its row. In a key or a value it reaches the queries
        that may see that key, and no other. Scores beyond the range of their dtype become inf,
        and their rows NaN, or -inf, and their keys hidden.

    Raises
    ------
    ValueError
        If Q and K differ in d_k, K and V in n_k, batch axes do not broadcast, the mask does not
        fit the scores or holds NaN or +inf, scale is not finite, or there is an offset
        without causal.
    TypeError
        If Q, K or V does not hold real numbers, mask neither booleans nor floats, causal is
        not True or False, offset not a whole number, or scale not one number.

    Examples
    --------
    >>> steps = attention_steps([[1, 1, 1, 1]], [[1, 1, 0, 0], [0, 0, 0, 0]], [[4.0], [0.0]])
    >>> steps.S
    array([[2., 0.]])
    >>> steps.S_scaled
    array([[1., 0.]])
    >>> steps.A.round(4)
    array([[0.7311, 0.2689]])
    >>> steps.output.round(4)
    array([[2.9242]])

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", eq. 1, arXiv:1706.03762.
    """
    return run(*checked("attention_steps", Q, K, V, mask, causal, offset, scale))


def scaled_dot_product_attention(Q, K, V, *, mask=None, causal=False, offset=0, scale=None):
    """Mix the values by how well their keys match each query: softmax(Q K^T / sqrt(d_k)) V.

    The same computation as `attention_steps`, for when only the result and the weights
    matter.

    Parameters
    ----------
    Q, K, V : array_like, shapes (..., n_q, d_k), (..., n_k, d_k), (..., n_k, d_v)
        Queries, keys and values, as for `attention_steps`.
    mask : array_like of bool or float, shape (..., n_q, n_k), optional
        Which keys a query may attend to, as for `attention_steps`: True may.
    causal : bool
        Whether query i sees keys 0 to i + offset only.
    offset : int, default 0
        How many keys stand before the key of query 0, as for `attention_steps`.
    scale : float, optional
        Multiplies S. Left out, it is 1 / sqrt(d_k), d_k being the last axis of Q and K.

    Returns
    -------
    output : ndarray, shape (..., n_q, d_v)
        One mixed value per query.
    A : ndarray, shape (..., n_q, n_k)
        The weights that mixed it, 0 on hidden keys. One matrix per head: never averaged over
        batch axes.

    Raises
    ------
    ValueError, TypeError
        As `attention_steps` does.

    Examples
    --------
    Scores 2 ln 3 and 0, scaled by sqrt(4) to ln 3 and 0, are weights 3/4 and 1/4:

    >>> Q = [[np.log(3), 0.0, 0.0, 0.0]]
    >>> K = [[2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    >>> output, A = scaled_dot_product_attention(Q, K, [[4.0], [0.0]])
    >>> A.round(4)
    array([[0.75, 0.25]])
    >>> output.round(4)
    array([[3.]])

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", eq. 1, arXiv:1706.03762.
    """
    given = checked("scaled_dot_product_attention", Q, K, V, mask, causal, offset, scale)
    return output_and_weights(*given)


def checked(where, Q, K, V, mask, causal, offset, scale):
    """Return the arguments of attention, fit for `run`; refuse them in the name of `where`."""
    Q, K, V = validation.queries_keys_and_values(where, Q, K, V)
    if mask is not None:
        mask = validation.mask(where, mask, "the scores", validation.scores_shape(Q, K, V))
    causal = validation.switch(where, "causal", causal)
    offset = validation.causal_offset(where, offset, causal)
    if scale is not None:
        scale = validation.finite(
            where, "scale", scale, "it multiplies S, and left out it is 1 / sqrt(d_k)"
        )
    return Q, K, V, mask, causal, offset, scale


@np.errstate(all="ignore")  # an extreme scale may overflow to inf, as the scores may
def run(Q, K, V, mask, causal, offset, scale, keep=True, room=None):
    """Run the steps in order, on arguments that are `checked`.

    The arithmetic of the steps as the notebooks show them, but what they would check is known, and
    each works in place where it may: unless S and S_scaled are to be kept, the weights are made
    where the scores were, in `room` if that is given.
    """
    S = np.matmul(Q, K.swapaxes(-1, -2), out=room)
    scaling, factor = (np.divide, math.sqrt(Q.shape[-1])) if scale is None else (np.multiply, scale)
    S_scaled = scaling(S, factor, out=None if keep else S)
    if mask is not None:
        S_scaled = hide(S_scaled, mask)
    if causal:
        hide_later_keys(S_scaled, offset)
    A = softmax_in_place(S_scaled.copy() if keep else S_scaled)
    return AttentionSteps(S, S_scaled, A, mix(A, V))


def output_and_weights(Q, K, V, mask, causal, offset, scale):
    """Run the steps for their last two arrays, on arguments that are `checked`.

    A long sequence is taken some queries at a time: their scores stay in the cache of a core until
    they are weights and have mixed the values.
    """
    shape = *batch, n_q, n_k = validation.scores_shape(Q, K, Q if mask is None else mask)
    if math.prod(shape) <= _IN_CACHE or not _regular(Q, K, V, mask):
        steps = run(Q, K, V, mask, causal, offset, scale, keep=False)
        return steps.output, steps.A
    A = np.empty(shape, np.result_type(Q, K))
    output = np.empty((*batch, n_q, V.shape[-1]), np.result_type(A, V))
    Q, K, V, mask = spread(shape, Q, K, V, mask)

    def work(place):
        index, block = place
        part = run(
            Q[index][block],
            K[index],
            V[index],
            None if mask is None else mask[index][block],
            causal,
            offset + block.start,
            scale,
            keep=False,
            room=A[index][block],
        )
        output[index][block] = part.output

    work_on(cut(batch, n_q, max(1, _IN_CACHE // n_k)), work)
    return output, A


def _regular(Q, K, V, mask):
    """Say whether the weights have the dtype of the scores, and the batch axes of the output."""
    of_weights = [Q, K] if mask is None else [Q, K, mask]
    added = [] if mask is None or mask.dtype == bool else [mask]
    return np.result_type(Q, K) == np.result_type(Q, K, *added) and validation.batch_axes(
        *of_weights
    ) == validation.batch_axes(*of_weights, V)
