"""Attention over long sequences: tile by tile, without ever holding all scores.

The weights of a block of keys, and what they mix, need three things to be joined with those of
another block: the largest score, the sum of the exponentials, and the output.
"""

import math
from typing import NamedTuple

import numpy as np

from . import validation
from .attention import checked, run
from .blocks import cut, spread, work_on
from .masks import hide
from .steps.weighted_values import mix


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
    tile=(256, 1024),
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
    settings = _settings(where, tile, threads, progress)
    *batch, n_q, n_k = validation.scores_shape(*given[:3])
    if math.prod(batch) * n_q * n_k <= math.prod(settings[0]):
        return run(*given, keep=False).output  # no more scores than in one tile
    return _in_tiles(*given, *settings, exact=False).output


def partial_attention(
    Q,
    K,
    V,
    *,
    mask=None,
    causal=False,
    offset=0,
    scale=None,
    tile=(256, 1024),
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
        Which of these keys a query may attend to, True may: the columns of the whole mask that
        belong to this block.
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
    return _in_tiles(*given, *_settings(where, tile, threads, progress), exact=True)


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
    """Return the sizes of a tile, the number of threads and what is put around the blocks, checked."""
    tile = validation.tile(where, tile)
    if threads is not None:
        threads = validation.at_least_one(where, "threads", threads)
    return tile, threads, validation.bar(where, progress)


def _in_tiles(Q, K, V, mask, causal, offset, scale, tile, threads, bar, exact):
    """Attend to all keys, a block of queries after the other, on arguments that are `checked`.

    Scores that are known to be small are not shifted, unless the maxima are wanted `exact`.
    """
    *_, n_q, n_k = validation.scores_shape(Q, K, V)
    batch = validation.batch_axes(Q, K, V) if mask is None else validation.batch_axes(Q, K, V, mask)
    added = [] if mask is None or mask.dtype == bool else [mask]
    of_scores, of_weights = np.result_type(Q, K), np.result_type(Q, K, *added)
    of_output = np.result_type(of_weights, V)
    made = PartialAttention(
        np.empty((*batch, n_q), of_weights),
        np.empty((*batch, n_q), of_weights),
        np.empty((*batch, n_q, V.shape[-1]), of_output),
    )
    scale = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    shifted = exact or bool(added) or not _far_from_overflow(Q, K, V, scale)
    Q, K = (np.ascontiguousarray(array, of_scores) for array in (Q, K))
    if not shifted:
        Q, scale = Q * scale, None
    V = np.ascontiguousarray(V, of_output)
    addable, unit = _addable(V, n_k)
    all_finite = np.isfinite(V).all()
    Q, K, V, mask = spread((*batch, n_q, n_k), Q, K, V, mask)
    addable = np.broadcast_to(addable, V.shape)
    rooms = []  # for the scores of a tile, one for each thread: to pop and to append are one step each

    def work(place):
        index, block = place
        try:
            room = rooms.pop()
        except IndexError:
            room = np.empty(min(n_q, tile[0]) * min(n_k, tile[1]), of_scores)
        tiles = _Tiles(
            Q[index][block],
            K[index],
            None if mask is None else mask[index][block],
            offset + block.start if causal else n_k,
            scale,
            tile[1],
            room,
        )
        maximum, total, output = (array[index][block] for array in made)
        _attend(tiles, addable[index], unit, shifted, maximum, total, output)
        if not all_finite:
            _attend_again(tiles, V[index], maximum, total, output)
        rooms.append(room)

    if threads is None and math.prod(batch) * n_q * n_k <= math.prod(tile):
        threads = 1  # it would take longer to start another
    work_on(cut(batch, n_q, tile[0]), work, threads, bar)
    return made


@np.errstate(all="ignore")  # NaN and inf are found here, and left to others
def _far_from_overflow(Q, K, V, scale):
    """Say whether exp(score) stays within a third of the range of exponents, so needs no shift.

    No score is larger than the longest query times the longest key (Cauchy and Schwarz). Another
    third is for the values, and the last for the sums.
    """
    third = math.log(np.finfo(np.result_type(Q, K)).max) / 3
    longest = [math.sqrt(np.einsum("...d,...d->...", M, M).max(initial=0)) for M in (Q, K)]
    largest = float(max(V.max(initial=0), -V.min(initial=0)))  # float: not compared as float32
    # NaN is in no order with anything, so either comparison fails.
    return longest[0] * longest[1] * abs(scale) <= third and largest <= math.exp(third)


def _addable(V, n_k):
    """Return values of which n_k can be added up, zeros in place of NaN and inf, and their unit.

    The unit is a power of 2: 1, or for values near the end of the range so much smaller that no
    digit changes.
    """
    finite = np.isfinite(V)
    V = V if finite.all() else np.where(finite, V, 0)
    room = np.finfo(V.dtype).max / max(1, 2 * n_k)
    if max(V.max(initial=0), -V.min(initial=0)) <= room:
        return V, 1
    unit = 0.5 ** math.ceil(math.log2(2 * n_k))
    return V * unit, unit


class _Tiles:
    """The scaled scores of some queries, one tile of keys after the other, each in the same room.

    Query i sees keys 0 to i + offset. Tiles in which no query may see a key are left out.
    """

    def __init__(self, Q, K, mask, offset, scale, size, room):
        self.Q, self.K, self.mask, self.offset, self.scale = Q, K, mask, offset, scale
        self.room = room
        seen = min(len(K), max(0, offset + len(Q)))
        self.places = [slice(start, min(start + size, seen)) for start in range(0, seen, size)]
        if mask is not None and mask.dtype == bool:
            self.places = [keys for keys in self.places if mask[:, keys].any()]

    def __iter__(self):
        """Yield which keys they are, and their scores, hidden ones at -inf."""
        for keys in self.places:
            n_q, n_k = len(self.Q), keys.stop - keys.start
            S = self.room[: n_q * n_k].reshape(n_q, n_k)
            np.matmul(self.Q, self.K[keys].T, out=S)
            if self.scale is not None:
                S *= self.scale
            if self.mask is not None:
                S = hide(S, self.mask[:, keys])
            later = max(0, self.offset + 1 - keys.start)  # columns before are seen by every query
            if later < n_k:
                hidden = ~np.tri(n_q, n_k - later, self.offset - keys.start - later, bool)
                np.copyto(S[:, later:], -np.inf, where=hidden)
            yield keys, S


@np.errstate(all="ignore")  # exp may underflow to 0, and is meant to; NaN and inf are documented
def _attend(tiles, V, unit, shifted, maximum, total, output):
    """Add up exponentials, and values weighted with them, tile by tile, into the arrays given."""
    maximum[:], total[:], output[:] = -np.inf if shifted else 0, 0, 0
    ones, share, mixed = np.ones(len(V), total.dtype), np.empty_like(total), np.empty_like(output)
    for keys, S in tiles:
        if shifted:
            _shift(S, maximum, total, output)
        np.exp(S, out=S)
        total += np.matmul(S, ones[: S.shape[1]], out=share)  # faster than S.sum(axis=1)
        output += np.matmul(S, V[keys], out=mixed)
    output /= np.where(total == 0, 1, total)[:, np.newaxis]
    if unit != 1:
        output /= unit


def _shift(S, maximum, total, output):
    """Make the maximum that of these scores too, and subtract it from them and from what was added up.

    What was added up has exp(-maximum) as a factor, so that is a multiplication.
    """
    before = maximum.copy()
    np.maximum(before, S.max(axis=1), out=maximum)
    shift = _number(maximum)
    S -= shift[:, np.newaxis]
    rescaled = np.exp(before - shift)
    total *= rescaled
    output *= rescaled[:, np.newaxis]


def _number(maximum):
    """Return what to subtract: the maximum, or the lowest number where it is -inf."""
    return np.maximum(maximum, np.finfo(maximum.dtype).min)


@np.errstate(all="ignore")  # as the values are
def _attend_again(tiles, V, maximum, total, output):
    """Make the output from the final weights, for values with NaN or inf among them.

    A weight of 0 takes nothing of them, and which are 0 is known only beside all other keys.
    """
    shift, total = _number(maximum)[:, np.newaxis], np.maximum(total, 1)[:, np.newaxis]
    output[:] = 0
    for keys, S in tiles:
        output += mix(np.exp(S - shift) / total, V[keys])
