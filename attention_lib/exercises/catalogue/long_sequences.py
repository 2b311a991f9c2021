"""Exercises of notebook 09: attention in tiles, and what joins them."""

import numpy as np

from ... import PartialAttention, merge
from ..exercise import Exercise

# One step of the online softmax


def _any_steps(draw):
    """Draw two rows, and cut each into what was seen and the next scores."""
    cases = []
    for _ in range(2):
        seen, rest = abs(draw.numbers(draw.sizes(1)[0] + 1)), draw.numbers(3)
        cases.append((seen.max(), np.exp(seen - seen.max()).sum(), rest))
    return cases


def _steps_at_the_edge(draw):
    """Draw the first step of a row, and steps between scores whose exponentials overflow."""
    far = draw.numbers(3) + 1000
    return [(-np.inf, 0.0, draw.numbers(2)), (1.5, 1.25, far), (1004.5, 1.25, far)]


def _step(maximum, total, scores):
    new = max(maximum, scores.max())
    return np.array([new, total * np.exp(maximum - new) + np.exp(scores - new).sum()])


ONLINE_STEP = Exercise(
    "online softmax step",
    lambda maximum, total, scores: _step(maximum, total, scores),
    cases=[
        (np.log(2), 1.5, np.log([5.0, 8.0])),
        (np.log(6), 2.5, np.log([3.0, 4.0])),
        (0.5, 1.75, np.array([0.25, 1.5, -1.0])),
    ],
    extreme=[
        (-np.inf, 0.0, np.array([0.0, 1.0])),
        (0.0, 1.5, np.array([1000.0, 1001.0])),
        (1002.0, 1.5, np.array([1000.0, 1001.0])),
    ],
    fresh=_any_steps,
    fresh_extreme=_steps_at_the_edge,
    notice="Where the maximum stays, the old sum is multiplied by 1.",
)


@ONLINE_STEP.mistake(
    "the old sum not rescaled",
    "Entry {entry} is {got} instead of {want}: the old sum was counted from the old maximum, the new terms from "
    "another. From which maximum must both be counted?",
)
def _not_rescaled(maximum, total, scores):
    new = max(maximum, scores.max())
    return np.array([new, total + np.exp(scores - new).sum()])


@ONLINE_STEP.mistake(
    "the old sum rescaled the wrong way",
    "Entry {entry} is {got} instead of {want}: your factor is the fraction turned over. When the maximum grows, does a "
    "sum that is counted from it become larger or smaller?",
)
def _wrong_way(maximum, total, scores):
    new = max(maximum, scores.max())
    return np.array([new, total * np.exp(new - maximum) + np.exp(scores - new).sum()])


@ONLINE_STEP.mistake(
    "the maximum of the new scores alone",
    "Right where the new scores are the larger ones. Entry {entry} is {got} and should be {want}: the largest score so "
    "far may be one of the earlier ones. Of which two numbers is the new maximum the larger?",
)
def _block_alone(maximum, total, scores):
    new = scores.max()
    return np.array([new, total * np.exp(maximum - new) + np.exp(scores - new).sum()])


@ONLINE_STEP.mistake(
    "the old maximum kept",
    "Entry {entry} is {got} and should be {want}: all is counted from the old maximum, also where a larger score has "
    "come. What becomes of the exponential of 1001 - 0?",
)
def _old_kept(maximum, total, scores):
    return np.array([maximum, total + np.exp(scores - maximum).sum()])


@ONLINE_STEP.mistake(
    "the new terms counted from their own maximum",
    "Right where the new scores are the larger ones. Elsewhere entry {entry} is {got} and should be {want}: the old "
    "sum is counted from one maximum and the new terms from another. Are the two terms of your sum in one unit?",
)
def _own_maximum(maximum, total, scores):
    new = max(maximum, scores.max())
    return np.array([new, total * np.exp(maximum - new) + np.exp(scores - scores.max()).sum()])


@ONLINE_STEP.mistake(
    "the new terms counted from the old maximum",
    "Entry {entry} is {got} and should be {want}: the old sum was moved to the new maximum, the new terms were not. "
    "From which maximum must both be counted?",
)
def _from_the_old(maximum, total, scores):
    new = max(maximum, scores.max())
    return np.array([new, total * np.exp(maximum - new) + np.exp(scores - maximum).sum()])


@ONLINE_STEP.mistake(
    "the new scores not shifted",
    "Entry {entry} is {got} and should be {want}: the new exponentials are of the scores themselves. From what is the "
    "rest of the sum counted?",
)
def _not_shifted(maximum, total, scores):
    new = max(maximum, scores.max())
    return np.array([new, total * np.exp(maximum - new) + np.exp(scores).sum()])


@ONLINE_STEP.mistake(
    "the old sum forgotten",
    "Entry {entry} is {got} and should be {want}: that is the sum of the new terms alone. What of the scores before?",
)
def _old_forgotten(maximum, total, scores):
    new = max(maximum, scores.max())
    return np.array([new, np.exp(scores - new).sum()])


@ONLINE_STEP.mistake(
    "the exponentials not summed from a maximum",
    "Entry {entry} is {got} and should be {want}: your sum is counted from 0, as the formula is written, and overflows "
    "for large scores. From what is a stable sum counted?",
)
def _from_zero(maximum, total, scores):
    new = max(maximum, scores.max())
    return np.array([new, total * np.exp(maximum) + np.exp(scores).sum()])


@ONLINE_STEP.mistake(
    "sum and maximum exchanged",
    "Entry {entry} is {got} and should be {want}: your two numbers are right and in the other order. Which comes "
    "first?",
)
def _exchanged(maximum, total, scores):
    return _step(maximum, total, scores)[::-1].copy()


# Merging


def _any_partials(draw):
    cases = []
    for _ in range(2):
        n_q, d_v = draw.sizes(2)
        case = []
        for _ in range(2):
            case += [draw.numbers(n_q), 1 + abs(draw.numbers(n_q)), draw.numbers(n_q, d_v)]
        cases.append(tuple(case))
    return cases


def _partials_at_the_edge(draw):
    """Draw partials of large scores, of low ones, and one of no keys."""
    plain = _any_partials(draw)
    high, low = (
        (m_1 + far, t_1, O_1, m_2 + far, t_2, O_2)
        for far, (m_1, t_1, O_1, m_2, t_2, O_2) in zip((1000, -1000), plain, strict=True)
    )
    m_1, t_1, O_1, m_2, t_2, O_2 = plain[0]
    apart = (m_1, t_1, O_1, m_2 + 1000, t_2, O_2)
    return [high, low, apart, (m_1 - np.inf, 0 * t_1, 0 * O_1, m_2, t_2, O_2)]


MERGE = Exercise(
    "merge",
    lambda m_1, t_1, O_1, m_2, t_2, O_2: (
        merge(PartialAttention(m_1, t_1, O_1), PartialAttention(m_2, t_2, O_2)).output
    ),
    cases=[
        (
            *(np.log([2.0]), np.array([1.5]), np.array([[4.0, 0.0]])),
            *(np.log([8.0]), np.array([1.25]), np.array([[0.0, 6.0]])),
        ),
        (
            *(np.array([0.5, -1.0, 2.0]), np.array([1.25, 2.0, 1.5])),
            np.array([[1.0, -2.0], [0.5, 3.0], [-1.5, 2.5]]),
            *(np.array([0.0, 0.75, 1.0]), np.array([2.25, 1.75, 3.0])),
            np.array([[-1.0, 0.5], [2.0, -0.5], [4.0, 1.5]]),
        ),
    ],
    extreme=[
        (
            *(np.array([1000.0]), np.array([1.5]), np.array([[1.0, 2.0]])),
            *(np.array([1001.0]), np.array([1.25]), np.array([[3.0, -1.0]])),
        ),
        (
            *(np.array([-np.inf]), np.array([0.0]), np.array([[0.0, 0.0]])),
            *(np.array([0.5]), np.array([2.0]), np.array([[3.0, -1.0]])),
        ),
    ],
    fresh=_any_partials,
    fresh_extreme=_partials_at_the_edge,
    notice="It is a softmax over two blocks, whose scores are the maximum plus the logarithm of the total.",
)


def _mix(share_1, O_1, share_2, O_2):
    total = share_1 + share_2
    return (share_1 / total)[:, np.newaxis] * O_1 + (share_2 / total)[:, np.newaxis] * O_2


def _shares(m_1, t_1, m_2, t_2):
    m = np.maximum(m_1, m_2)
    return t_1 * np.exp(m_1 - m), t_2 * np.exp(m_2 - m)


@MERGE.mistake(
    "the plain mean of the outputs",
    "Entry {entry} is {got} instead of {want}: both outputs got one half. Does a block with low scores count as much "
    "as one with high scores?",
)
def _plain_mean(m_1, t_1, O_1, m_2, t_2, O_2):
    return (O_1 + O_2) / 2


@MERGE.mistake(
    "the outputs added",
    "Entry {entry} is {got} instead of {want}: the two outputs were added, and each is a mean already. With which "
    "shares do two means make one?",
)
def _added(m_1, t_1, O_1, m_2, t_2, O_2):
    return O_1 + O_2


@MERGE.mistake(
    "weighted by the totals alone",
    "Entry {entry} is {got} instead of {want}: the totals were compared as they are, but each is counted from a "
    "maximum of its own. What turns both into one unit?",
)
def _totals_alone(m_1, t_1, O_1, m_2, t_2, O_2):
    return _mix(t_1, O_1, t_2, O_2)


@MERGE.mistake(
    "weighted by the maxima alone",
    "Entry {entry} is {got} instead of {want}: only the largest score of each block counts. What of the other scores, "
    "which its total holds?",
)
def _maxima_alone(m_1, t_1, O_1, m_2, t_2, O_2):
    return _mix(*_interleaved(_shares(m_1, 1, m_2, 1), O_1, O_2))


def _interleaved(shares, O_1, O_2):
    return shares[0], O_1, shares[1], O_2


@MERGE.mistake(
    "the shares exchanged",
    "Entry {entry} is {got} instead of {want}: each output got the share of the other. Which block should get more, "
    "the one with the higher or with the lower scores?",
)
def _shares_exchanged(m_1, t_1, O_1, m_2, t_2, O_2):
    return _mix(*_interleaved(_shares(m_1, t_1, m_2, t_2), O_2, O_1))


@MERGE.mistake(
    "rescaled the wrong way",
    "Entry {entry} is {got} instead of {want}: the block with the lower maximum was made larger. Of m_1 - m and "
    "m - m_1, which one is not above 0?",
)
def _merged_the_wrong_way(m_1, t_1, O_1, m_2, t_2, O_2):
    m = np.maximum(m_1, m_2)
    return _mix(t_1 * np.exp(m - m_1), O_1, t_2 * np.exp(m - m_2), O_2)


@MERGE.mistake(
    "the first block not rescaled",
    "Entry {entry} is {got} instead of {want}: the first block is still counted from its own maximum, which may not be "
    "the larger one. Which blocks must be moved to the common maximum?",
)
def _first_kept(m_1, t_1, O_1, m_2, t_2, O_2):
    return _mix(t_1, O_1, _shares(m_1, t_1, m_2, t_2)[1], O_2)


@MERGE.mistake(
    "the second block not rescaled",
    "Entry {entry} is {got} instead of {want}: the second block is still counted from its own maximum, which may not "
    "be the larger one. Which blocks must be moved to the common maximum?",
)
def _second_kept(m_1, t_1, O_1, m_2, t_2, O_2):
    return _mix(_shares(m_1, t_1, m_2, t_2)[0], O_1, t_2, O_2)


@MERGE.mistake(
    "not divided by the common total",
    "Entry {entry} is {got} instead of {want}: each output is multiplied by its share of the sum, and the sum is still "
    "in it. What must the two factors add up to?",
)
def _not_divided(m_1, t_1, O_1, m_2, t_2, O_2):
    share_1, share_2 = _shares(m_1, t_1, m_2, t_2)
    return share_1[:, np.newaxis] * O_1 + share_2[:, np.newaxis] * O_2


@MERGE.mistake(
    "divided by the sum of the old totals",
    "Entry {entry} is {got} instead of {want}: the shares are in the unit of the common maximum, what you divided by "
    "is not. What must the two factors add up to?",
)
def _divided_by_old(m_1, t_1, O_1, m_2, t_2, O_2):
    return _not_divided(m_1, t_1, O_1, m_2, t_2, O_2) / (t_1 + t_2)[:, np.newaxis]


@MERGE.mistake(
    "no maximum subtracted",
    "Right on ordinary scores. When the maxima are very high or very low, entry {entry} is {got} instead of {want}: "
    "their exponentials leave the range of a float. What cancels if it is subtracted from both?",
)
def _no_shift(m_1, t_1, O_1, m_2, t_2, O_2):
    return _mix(t_1 * np.exp(m_1), O_1, t_2 * np.exp(m_2), O_2)


@MERGE.mistake(
    "the smaller maximum subtracted",
    "Right on ordinary scores. When the maxima are far apart, entry {entry} is {got} instead of {want}: counted from "
    "the smaller one, the larger block's exponential leaves the range of a float. Which of the two keeps all "
    "exponents at 0 or below?",
)
def _smaller(m_1, t_1, O_1, m_2, t_2, O_2):
    m = np.minimum(m_1, m_2)
    return _mix(t_1 * np.exp(m_1 - m), O_1, t_2 * np.exp(m_2 - m), O_2)


@MERGE.mistake(
    "the output of the block with the larger maximum",
    "Entry {entry} is {got} instead of {want}: one block gives all, the other nothing. Does softmax give all to the "
    "largest score?",
)
def _winner(m_1, t_1, O_1, m_2, t_2, O_2):
    return np.where((m_1 > m_2)[:, np.newaxis], O_1, O_2)


# Tiles


def _any_tiles(draw):
    """Draw sizes that are different primes, so that no number can be mistaken for another."""
    cases = []
    for _ in range(2):
        n_q, n_k, offset = draw.one_of([(7, 19, 11), (11, 23, 5), (13, 17, 5), (11, 19, 7)])
        cases.append((n_q, n_k, draw.one_of((2, 3)), offset))
    return cases


def _starts(n, tile):
    return np.arange(0, n, tile)


def _ends(n, tile):
    """Return the last position of each tile."""
    return np.minimum(_starts(n, tile) + tile, n) - 1


def _counted(first_hidden, n_k, tile):
    """Return how many tiles of keys begin before the first hidden key."""
    return (_starts(n_k, tile) < first_hidden[:, np.newaxis]).sum(axis=-1)


TILES = Exercise(
    "tiles to compute",
    lambda n_q, n_k, tile, offset: _counted(_ends(n_q, tile) + offset + 1, n_k, tile),
    cases=[(6, 6, 2, 0), (4, 11, 2, 5), (7, 11, 3, 4), (5, 7, 2, 6)],
    fresh=_any_tiles,
    notice="The tiles on the edge are computed, and masked inside; of a long square, nearly half are not.",
)


@TILES.mistake(
    "the offset forgotten",
    "Right for an offset of 0. With one, entry {entry} is {got} instead of {want}: your staircase starts at the top "
    "left. How many keys stand before that of query 0?",
)
def _top_left(n_q, n_k, tile, offset):
    return _counted(_ends(n_q, tile) + 1, n_k, tile)


@TILES.mistake(
    "the offset taken the other way",
    "Right for an offset of 0. With one, entry {entry} is {got} instead of {want}: it moved your staircase up instead"
    " of down. Does an earlier key hide something, or add to what may be seen?",
)
def _offset_negative(n_q, n_k, tile, offset):
    return _counted(_ends(n_q, tile) - offset + 1, n_k, tile)


@TILES.mistake(
    "n_k - n_q for the offset",
    "Right where n_k - n_q is the offset. Here entry {entry} is {got} instead of {want}: you took the one for the "
    "other. Which offset was given?",
)
def _last_queries(n_q, n_k, tile, offset):
    return _counted(_ends(n_q, tile) + n_k - n_q + 1, n_k, tile)


@TILES.mistake(
    "counted for the first query, or for whole tiles",
    "Entry {entry} is {got} instead of {want}: you counted what the first query of a tile sees, or the tiles that its"
    " last query sees whole, which is the same number. Does a tile with one key to see have to be computed?",
)
def _first_query(n_q, n_k, tile, offset):
    return _counted(_starts(n_q, tile) + offset + 1, n_k, tile)


@TILES.mistake(
    "only tiles without a hidden score",
    "Entry {entry} is {got} instead of {want}: a tile was left out because some of its scores are hidden, and with "
    "them went those that are not. When may a whole tile be left out?",
)
def _all_open(n_q, n_k, tile, offset):
    return (_ends(n_k, tile) <= _starts(n_q, tile)[:, np.newaxis] + offset).sum(axis=-1)


@TILES.mistake(
    "the query's own key left out",
    "Entry {entry} is {got} instead of {want}: a tile was left out although it begins at the last query's own place. "
    "May a token attend to itself?",
)
def _own_key(n_q, n_k, tile, offset):
    return _counted(_ends(n_q, tile) + offset, n_k, tile)


@TILES.mistake(
    "the tiles that are left out",
    "Entry {entry} is {got} instead of {want}: that is how many tiles have nothing to see. Which ones are asked for?",
)
def _left_out(n_q, n_k, tile, offset):
    return len(_starts(n_k, tile)) - TILES.reference(n_q, n_k, tile, offset)


@TILES.mistake(
    "every tile",
    "Entry {entry} is {got} instead of {want}: you counted the tiles of all keys. Are there some in which nothing can"
    " be seen?",
)
def _every_tile(n_q, n_k, tile, offset):
    return np.full(len(_starts(n_q, tile)), len(_starts(n_k, tile)))


@TILES.mistake(
    "keys counted instead of tiles",
    "Entry {entry} is {got} instead of {want}: so many keys does a tile's last query see. In how many tiles do they "
    "lie?",
)
def _keys(n_q, n_k, tile, offset):
    return np.minimum(_ends(n_q, tile) + offset + 1, n_k)


@TILES.mistake(
    "tiles beyond the last key",
    "Entry {entry} is {got} instead of {want}: you counted on behind the last key, where there is nothing to see. How"
    " many tiles are there at the most?",
)
def _beyond(n_q, n_k, tile, offset):
    return -(-(_ends(n_q, tile) + offset + 1) // tile)


@TILES.mistake(
    "rounded down",
    "Entry {entry} is {got} instead of {want}: the keys to see were divided by the size of a tile and rounded down, "
    "which loses the tile that is seen in part. Which way must be rounded?",
)
def _down(n_q, n_k, tile, offset):
    return np.minimum(_ends(n_q, tile) + offset + 1, n_k) // tile


@TILES.mistake(
    "the last tile of the queries taken as full",
    "Right where all tiles are full. Here entry {entry} is {got} instead of {want}: the last one has fewer queries "
    "than the others. Which is its last one?",
)
def _full(n_q, n_k, tile, offset):
    return _counted(_starts(n_q, tile) + tile + offset, n_k, tile)


@TILES.mistake(
    "a number for each query",
    "Yours has shape {shape}, a number for each query. How many tiles do they lie in?",
)
def _each_query(n_q, n_k, tile, offset):
    return _counted(np.arange(n_q) + offset + 1, n_k, tile)


@TILES.mistake(
    "one number for all",
    "One number came, {got}: everything added up. How many numbers are there, if each tile of queries has its own?",
)
def _together(n_q, n_k, tile, offset):
    return TILES.reference(n_q, n_k, tile, offset).sum()


ALL = [ONLINE_STEP, MERGE, TILES]
