"""Exercises of notebook 09: attention in tiles, and what joins them."""

import numpy as np

from ... import PartialAttention, merge
from ..exercise import Exercise

# One step of the online softmax


def _any_steps(draw):
    """Draw two rows, and cut each into what was seen and the next scores."""
    cases = []
    for _ in range(2):
        seen, rest = draw.numbers(draw.sizes(1)[0] + 1), draw.numbers(3)
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
    "Entry {entry} is {got} and should be {want}: your sum is counted from 0, as the formula is written. That "
    "overflows "
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
    "Right where the first block has the larger maximum. Elsewhere entry {entry} is {got} instead of {want}: its total "
    "is still counted from its own maximum. Which blocks must be moved to the common one?",
)
def _first_kept(m_1, t_1, O_1, m_2, t_2, O_2):
    return _mix(t_1, O_1, _shares(m_1, t_1, m_2, t_2)[1], O_2)


@MERGE.mistake(
    "the second block not rescaled",
    "Right where the second block has the larger maximum. Elsewhere entry {entry} is {got} instead of {want}: its "
    "total is still counted from its own maximum. Which blocks must be moved to the common one?",
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
    cases = []
    for tile in (2, 3):
        few, many = sorted(draw.sizes(2))
        cases += [(few + 4, many + 6, tile, many - few + 2), (many + 5, few + 2, tile, 0)]
    return cases


def _skipped(n_q, n_k, tile, offset):
    last_query = np.minimum(np.arange(0, n_q, tile) + tile, n_q) - 1
    first_key = np.arange(0, n_k, tile)
    return first_key > last_query[:, np.newaxis] + offset


def _both_ends(n, tile):
    starts = np.arange(0, n, tile)
    return starts, np.minimum(starts + tile, n) - 1


SKIPPED_TILES = Exercise(
    "skipped tiles",
    lambda n_q, n_k, tile, offset: _skipped(n_q, n_k, tile, offset),
    cases=[(6, 6, 2, 0), (4, 10, 2, 5), (7, 11, 3, 4), (3, 8, 2, 3)],
    fresh=_any_tiles,
    notice="The tiles on the edge stay, with a mask inside; of a long square, nearly half can go.",
)


@SKIPPED_TILES.mistake(
    "the offset forgotten",
    "Right for an offset of 0. With earlier keys, entry {entry} is {got} instead of {want}: your staircase starts at "
    "the top left. How many keys stand before that of query 0?",
)
def _top_left(n_q, n_k, tile, offset):
    return _skipped(n_q, n_k, tile, 0)


@SKIPPED_TILES.mistake(
    "the offset taken the other way",
    "Right for an offset of 0. With earlier keys, entry {entry} is {got} instead of {want}: your queries see fewer "
    "keys "
    "than without them. Does an earlier key hide something, or add to what may be seen?",
)
def _offset_negative(n_q, n_k, tile, offset):
    return _skipped(n_q, n_k, tile, -offset)


@SKIPPED_TILES.mistake(
    "n_k - n_q for the offset",
    "Entry {entry} is {got} instead of {want}: you took n_k - n_q for the offset, which holds for the last queries of "
    "a "
    "text. Which offset was given?",
)
def _last_queries(n_q, n_k, tile, offset):
    return _skipped(n_q, n_k, tile, n_k - n_q)


@SKIPPED_TILES.mistake(
    "a tile skipped for its first query",
    "Entry {entry} is {got} instead of {want}: no key of this tile is open to its first query, but one is to a later "
    "query. Which query of a tile sees most?",
)
def _first_query(n_q, n_k, tile, offset):
    queries, keys = _both_ends(n_q, tile)[0], _both_ends(n_k, tile)[0]
    return keys > queries[:, np.newaxis] + offset


@SKIPPED_TILES.mistake(
    "a tile skipped for its last key",
    "Entry {entry} is {got} instead of {want}: the last key of this tile is hidden from all its queries, an earlier "
    "key "
    "is not. Which key of a tile is the first to be seen?",
)
def _last_key(n_q, n_k, tile, offset):
    queries, keys = _both_ends(n_q, tile)[1], _both_ends(n_k, tile)[1]
    return keys > queries[:, np.newaxis] + offset


@SKIPPED_TILES.mistake(
    "every tile with a hidden score",
    "Entry {entry} is {got} instead of {want}: a tile was skipped because some of its scores are hidden, and with them "
    "go those that are not. When may a whole tile be left out?",
)
def _any_hidden(n_q, n_k, tile, offset):
    queries, keys = _both_ends(n_q, tile)[0], _both_ends(n_k, tile)[1]
    return keys > queries[:, np.newaxis] + offset


@SKIPPED_TILES.mistake(
    "a tile skipped that one query just reaches",
    "Entry {entry} is {got} instead of {want}: the first key of this tile is that of its last query's own place, and a "
    "token sees itself. Is it > or >=?",
)
def _at_the_edge(n_q, n_k, tile, offset):
    queries, keys = _both_ends(n_q, tile)[1], _both_ends(n_k, tile)[0]
    return keys >= queries[:, np.newaxis] + offset


@SKIPPED_TILES.mistake(
    "the tiles that are needed",
    "Entry {entry} is {got} instead of {want}: True stands for the tiles that have something to see. Which ones are "
    "asked for?",
)
def _needed(n_q, n_k, tile, offset):
    return ~_skipped(n_q, n_k, tile, offset)


@SKIPPED_TILES.mistake(
    "the tiles of the past",
    "Entry {entry} is {got} instead of {want}: you skip keys that come before a tile's queries. Which ones does a "
    "causal "
    "mask hide, earlier keys or later ones?",
)
def _past(n_q, n_k, tile, offset):
    queries, keys = _both_ends(n_q, tile)[0], _both_ends(n_k, tile)[1]
    return keys < queries[:, np.newaxis] + offset


@SKIPPED_TILES.mistake(
    "an entry for each score instead of each tile",
    "Yours has shape {shape}, one entry for each score. How many tiles are there along the queries, and along the "
    "keys?",
)
def _each_score(n_q, n_k, tile, offset):
    return ~np.tri(n_q, n_k, offset, dtype=bool)


@SKIPPED_TILES.mistake(
    "the tiles by number, whatever the offset",
    "Entry {entry} is {got} instead of {want}: tile numbers were compared, as if there were no earlier keys. In which "
    "position does the last query of a tile stand?",
)
def _by_number(n_q, n_k, tile, offset):
    return np.arange(-(-n_k // tile)) > np.arange(-(-n_q // tile))[:, np.newaxis]


@SKIPPED_TILES.mistake(
    "the last tile of the queries taken as full",
    "Entry {entry} is {got} instead of {want}: the last tile has fewer queries than the others, and you let it see "
    "what "
    "a query behind the end would see. Which is its last query?",
)
def _full(n_q, n_k, tile, offset):
    last_query = np.arange(0, n_q, tile) + tile - 1
    return np.arange(0, n_k, tile) > last_query[:, np.newaxis] + offset


ALL = [ONLINE_STEP, MERGE, SKIPPED_TILES]
