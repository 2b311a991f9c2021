"""Attention over long sequences: tile by tile, without ever holding all scores.

The weights of a block of keys, and what they mix, need three things to be joined with those of
another block: the largest score, the sum of the exponentials, and the output.
"""

import functools
import itertools
import os
from typing import NamedTuple

import numpy as np

from . import validation
from .attention import checked
from .masks import apply_mask, causal_mask
from .steps.weighted_values import weighted_values


class PartialAttention(NamedTuple):
    """Attention over some of the keys, with what it takes to `merge` it with the rest.

    maximum (..., n_q) is each query's largest scaled score, total (..., n_q) the sum of
    exp(score - maximum), and output (..., n_q, d_v) the values mixed by these keys' own weights. Of
    no visible key: -inf, 0 and zeros.
    """

    maximum: np.ndarray
    total: np.ndarray
    output: np.ndarray


def tiled_attention(
    Q,
    K,
    V,
    *,
    mask=None,
    causal=False,
    offset=0,
    scale=None,
    tile=(256, 512),
    threads=None,
    progress=False,
):
    """Compute the output of attention without ever holding more than tiles of scores.

    The output of `scaled_dot_product_attention`, whose memory grows with n_q times n_k, in
    memory that grows with n_q + n_k. Tiles in which no query may see a key are left out: causal
    attention takes about half the time.

    Parameters
    ----------
    Q, K, V : array_like, shapes (..., n_q, d_k), (..., n_k, d_k), (..., n_k, d_v)
        Queries, keys and values, as for `attention_steps`.
    mask, causal, offset, scale
        As for `attention_steps`. A mask is taken in tiles too; one with an axis of length 1
        takes no memory along that axis.
    tile : int or (int, int)
        How many queries and how many keys a tile of scores has; one number for both. The
        result does not depend on it, but for rounding; time and memory do.
    threads : int, optional
        How many tiles are worked on at the same time. Left out, it is the number of cores that
        this process may use, if the package threadpoolctl is there to keep the matrix products
        from using all cores themselves; without it, it is 1, and they may.
    progress : bool
        Whether to show a bar, which needs the package tqdm.

    Returns
    -------
    output : ndarray, shape (..., n_q, d_v)
        One mixed value per query: what `scaled_dot_product_attention` returns first, dtype, NaN,
        infinities and empty rows included, up to rounding.

    Raises
    ------
    ValueError, TypeError
        As `attention_steps` does, and if tile or threads are not whole numbers from 1 up.
    ImportError
        If progress is asked for without tqdm.

    Examples
    --------
    Weights 3/4 and 1/4, each found in a tile of its own:

    >>> Q, K = [[np.log(3)]], [[1.0], [0.0]]
    >>> tiled_attention(Q, K, [[4.0], [0.0]], tile=1).round(4)
    array([[3.]])

    References
    ----------
    Milakov and Gimelshein (2018), "Online normalizer calculation for softmax", arXiv:1805.02867.
    Rabe and Staats (2021), "Self-attention Does Not Need O(n^2) Memory", arXiv:2112.05682.
    Dao et al. (2022), "FlashAttention", arXiv:2205.14135.
    """
    where = "tiled_attention"
    given = checked(where, Q, K, V, mask, causal, offset, scale)
    return _in_tiles(*given, *_settings(where, tile, threads, progress)).output


def partial_attention(
    Q,
    K,
    V,
    *,
    mask=None,
    causal=False,
    offset=0,
    scale=None,
    tile=(256, 512),
    threads=None,
    progress=False,
):
    """Attend to a block of the keys, and keep what it takes to `merge` it with other blocks.

    Parameters
    ----------
    Q : array_like, shape (..., n_q, d_k)
        Queries.
    K, V : array_like, shapes (..., n_k, d_k), (..., n_k, d_v)
        A block of the keys, and their values.
    mask : array_like of bool or float, shape (..., n_q, n_k), optional
        The columns of the mask that belong to these keys.
    causal, offset
        As for `attention_steps`. For a block that begins at key `start` of all keys, the offset is
        smaller by `start`; it may be below 0.
    scale, tile, threads, progress
        As for `tiled_attention`.

    Returns
    -------
    PartialAttention
        A named tuple: maximum (..., n_q), the largest scaled score of each query; total
        (..., n_q), the sum of exp(score - maximum); output (..., n_q, d_v), attention over these
        keys alone.

    Raises
    ------
    ValueError, TypeError, ImportError
        As `tiled_attention` does.

    Examples
    --------
    >>> Q, K, V = [[1.0]], [[np.log(3)], [0.0], [0.0]], [[4.0], [0.0], [2.0]]
    >>> first, rest = partial_attention(Q, K[:1], V[:1]), partial_attention(Q, K[1:], V[1:])
    >>> rest
    PartialAttention(maximum=array([0.]), total=array([2.]), output=array([[1.]]))
    >>> merge(first, rest).output.round(4)
    array([[2.8]])

    References
    ----------
    Rabe and Staats (2021), "Self-attention Does Not Need O(n^2) Memory", arXiv:2112.05682.
    """
    where = "partial_attention"
    given = checked(where, Q, K, V, mask, causal, offset, scale)
    return _in_tiles(*given, *_settings(where, tile, threads, progress))


@np.errstate(all="ignore")  # NaN and inf travel as documented
def merge(first, second):
    """Join attention over some keys with attention over others: softmax over the two blocks.

    Each block enters with the weight total * exp(maximum), which no shift changes. The order of
    the blocks does not matter, nor the order in which they are joined, but for rounding: three
    can be merged as (a, b), c or a, (b, c). A partial of no keys changes nothing.

    Parameters
    ----------
    first, second : PartialAttention
        What `partial_attention`, or this function, made for the same queries.

    Returns
    -------
    PartialAttention
        Attention over the keys of both. Always new. A NaN of either is a NaN of the result; a
        block whose weight is 0 gives nothing, whatever its output is.

    Raises
    ------
    TypeError
        If either is not a partial.
    ValueError
        If their shapes do not fit.

    Examples
    --------
    >>> one = PartialAttention(np.array([0.0]), np.array([3.0]), np.array([[4.0]]))
    >>> other = PartialAttention(np.array([0.0]), np.array([1.0]), np.array([[0.0]]))
    >>> merge(one, other)
    PartialAttention(maximum=array([0.]), total=array([4.]), output=array([[3.]]))

    References
    ----------
    Milakov and Gimelshein (2018), "Online normalizer calculation for softmax", section 3.1,
    arXiv:1805.02867.
    """
    first, second = validation.partials("merge", first, second)
    maximum = np.maximum(first.maximum, second.maximum)
    shift = np.where(np.isneginf(maximum), 0, maximum)
    shares = [part.total * np.exp(part.maximum - shift) for part in (first, second)]
    total = shares[0] + shares[1]
    output = sum(
        _take(share / np.where(total == 0, 1, total), part.output)
        for share, part in zip(shares, (first, second), strict=True)
    )
    return PartialAttention(maximum, total, output)


def _take(weight, output):
    """Return the weighted output; a weight of 0 takes nothing, whatever is there."""
    weight = weight[..., np.newaxis]
    return np.where(weight == 0, 0, weight * output)


def _settings(where, tile, threads, progress):
    """Return the sizes of a tile, the number of threads and the bar, checked."""
    return (
        validation.tile(where, tile),
        threads if threads is None else validation.at_least_one(where, "threads", threads),
        validation.switch(where, "progress", progress),
    )


def _in_tiles(Q, K, V, mask, causal, offset, scale, tile, threads, progress):
    """Attend to all keys, one tile of queries after the other; all arguments are checked."""
    *batch, n_q, n_k = validation.scores_shape(Q, K, V)
    if mask is not None:
        batch = np.broadcast_shapes(tuple(batch), mask.shape[:-2])
        mask = np.broadcast_to(mask, (*batch, n_q, n_k))
    Q, K, V = (np.broadcast_to(array, (*batch, *array.shape[-2:])) for array in (Q, K, V))
    scale = Q.shape[-1] ** -0.5 if scale is None else scale
    of_weights = np.result_type(Q, K, *([mask] if mask is not None and mask.dtype != bool else []))
    made = PartialAttention(
        np.empty((*batch, n_q), of_weights),
        np.empty((*batch, n_q), of_weights),
        np.empty((*batch, n_q, V.shape[-1]), np.result_type(of_weights, V)),
    )

    def work(place):
        index, rows = place
        first = offset + rows.start
        part = _attend(
            Q[index][rows],
            K[index],
            V[index],
            None if mask is None else mask[index][rows],
            first if causal else None,
            scale,
            tile[1],
        )
        for whole, piece in zip(made, part, strict=True):
            whole[index][rows] = piece

    places = list(itertools.product(np.ndindex(*batch), _slices(n_q, tile[0])))
    for place in places:
        work(place)
    return made


@np.errstate(all="ignore")  # NaN and inf travel as documented
def _attend(Q, K, V, mask, offset, scale, size):
    """Attend to all keys with a tile of queries, one tile of keys after the other."""
    n_k = len(K) if offset is None else max(0, min(len(K), offset + len(Q)))
    parts = [_tile(Q, K, V, mask, offset, scale, keys) for keys in _slices(n_k, size)]
    none = PartialAttention(
        np.full(len(Q), -np.inf, np.result_type(Q, K)),
        np.zeros(len(Q), np.result_type(Q, K)),
        np.zeros((len(Q), V.shape[-1]), V.dtype),
    )
    whole = functools.reduce(merge, parts, none)
    if np.isfinite(V).all():
        return whole
    # Which values are taken at all is known only now: a weight may be 0 beside later keys.
    output = np.zeros_like(whole.output)
    for keys in _slices(n_k, size):
        S_scaled = _scores(Q, K, mask, offset, scale, keys)
        A = _weights(S_scaled, whole.maximum, whole.total)
        output += weighted_values(A, V[keys])
    return whole._replace(output=output)


def _tile(Q, K, V, mask, offset, scale, keys):
    """Attend to one tile of keys."""
    S_scaled = _scores(Q, K, mask, offset, scale, keys)
    maximum = S_scaled.max(axis=-1)
    exponentials = np.exp(S_scaled - np.where(np.isneginf(maximum), 0, maximum)[:, np.newaxis])
    total = exponentials.sum(axis=-1)
    V = np.where(np.isfinite(V[keys]), V[keys], 0)
    return PartialAttention(maximum, total, _weights(S_scaled, maximum, total) @ V)


def _scores(Q, K, mask, offset, scale, keys):
    """Return the scaled scores of one tile of keys, hidden ones at -inf."""
    S_scaled = Q @ K[keys].T * scale
    if mask is not None:
        S_scaled = apply_mask(S_scaled, mask[:, keys])
    if offset is not None:
        seen = causal_mask(*S_scaled.shape, offset=offset - keys.start)
        S_scaled = apply_mask(S_scaled, seen)
    return S_scaled


def _weights(S_scaled, maximum, total):
    shift = np.where(np.isneginf(maximum), 0, maximum)
    return np.exp(S_scaled - shift[:, np.newaxis]) / np.where(total == 0, 1, total)[:, np.newaxis]


def _slices(n, size):
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
