"""Exercises of notebook 05: which keys a query may see."""

import numpy as np

from ... import apply_mask, causal_mask, padding_mask, softmax
from ..exercise import Exercise

# Weights under a mask


def _any_scores_and_mask(draw):
    cases = []
    for _ in range(2):
        n_q, n_k = draw.sizes(2)
        cases.append((draw.numbers(n_q, n_k), draw.mask(n_q, n_k)))
    return cases


def _scores_and_masks_at_the_edge(draw):
    """Draw a very low visible score, a very high hidden one, high ones all round, and an empty row."""
    low, high = draw.numbers(1, 3), draw.numbers(1, 3) + 1000
    hidden, closed = draw.numbers(1, 5), draw.numbers(1, 5)
    place = draw.one_of(range(3))
    low[0, place] = _VERY_LOW
    at_low, open_ = np.zeros((1, 3), dtype=bool), np.ones((1, 3), dtype=bool)
    at_low[0, place], high[0, place], open_[0, place] = True, 0.5, False
    around = np.ones((1, 5), dtype=bool)
    hidden[0, place], around[0, place] = 1000, False
    return [(low, at_low), (hidden, around), (high, open_), (closed, around & False)]


# Lower than any number that people write for minus infinity, but not than the lowest float.
_VERY_LOW = -1e13

MASKED_WEIGHTS = Exercise(
    "masked weights",
    lambda S_scaled, mask: softmax(apply_mask(S_scaled, mask)),
    cases=[
        (
            np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 1.5]]),
            np.array([[True, True, False], [False, True, True]]),
        ),
        (
            np.array([[0.5, -1.0, 2.0], [1.0, 1.5, 0.0], [0.3, 0.8, -0.5]]),
            np.array([[True, True, False], [False, True, True], [True, False, True]]),
        ),
        (
            np.array([[0.2, -0.4, 1.0, 0.6, 2.2], [0.7, 0.1, -0.3, 1.2, 0.4]]),
            np.array([[True, False, False, False, True], [True, True, True, True, False]]),
        ),
    ],
    fresh=_any_scores_and_mask,
    extreme=[
        (np.array([[_VERY_LOW, 5.0]]), np.array([[True, False]])),
        (np.array([[0.0, 1.0, 1000.0]]), np.array([[True, True, False]])),
        (np.array([[1000.0, 1001.0, 0.0]]), np.array([[True, True, False]])),
        (np.array([[0.5, -1.0, 2.0]]), np.array([[False, False, False]])),
    ],
    fresh_extreme=_scores_and_masks_at_the_edge,
    batch=[
        (
            np.array([[[1.0, 0.0], [0.5, 2.0]], [[0.0, 1.0], [1.0, -1.0]]]),
            np.array([[[True, False]], [[True, True]]]),
        )
    ],
    notice="Hidden keys have a weight of exactly 0, and a query that may see nothing has a row of zeros.",
)


def _plain(x):
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@MASKED_WEIGHTS.mistake(
    "scores multiplied by 0",
    "Entry {entry} is {got} instead of {want}: a hidden key still gets its share, because its score became 0, and "
    "e^0 is 1. Which score would make an exponential of 0?",
)
def _scores_times_zero(S_scaled, mask):
    return softmax(S_scaled * mask)


@MASKED_WEIGHTS.mistake(
    "weights multiplied by 0, and left so",
    "Hidden keys get nothing, but your rows sum to {row_sums}: what the hidden keys had is lost. Could the mask "
    "come before the softmax?",
)
def _weights_times_zero(S_scaled, mask):
    return softmax(S_scaled) * mask


@MASKED_WEIGHTS.mistake(
    "hidden after the exponentials, then divided by the sum",
    "Right as long as hidden keys score like the others. When a hidden key scores far higher, its exponential "
    "leaves nothing of the others, and entry {entry} is {got} instead of {want}. Could the mask come before the "
    "exponentials?",
)
def _renormalised(S_scaled, mask):
    kept = softmax(S_scaled) * mask
    return kept / kept.sum(axis=-1, keepdims=True)


@MASKED_WEIGHTS.mistake(
    "no maximum subtracted",
    "The mask is right. But when all visible scores are very low or very high, entry {entry} is {got} instead of "
    "{want}: the exponentials leave the range of a float. What does a softmax for scores of any size do before it "
    "takes exponentials?",
)
def _no_maximum(S_scaled, mask):
    exponentials = np.exp(np.where(mask, S_scaled, -np.inf))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@MASKED_WEIGHTS.mistake(
    "no maximum subtracted, and exponentials multiplied by 0",
    "Right on ordinary scores. When scores are very low or very high, entry {entry} is {got} instead of {want}: "
    "the exponentials leave the range of a float, hidden ones too. Could the mask come before them, and a "
    "softmax do the rest?",
)
def _exponentials_times_zero(S_scaled, mask):
    exponentials = np.exp(S_scaled) * mask
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@MASKED_WEIGHTS.mistake(
    "a finite number instead of minus infinity",
    "Right on ordinary scores. When the visible score is lower than your number, the hidden key wins: entry "
    "{entry} is {got} and should be {want}. Which number is below every score?",
)
def _finite(S_scaled, mask):
    return softmax(np.where(mask, S_scaled, -1e9))


@MASKED_WEIGHTS.mistake(
    "a finite number added instead of minus infinity",
    "Right on ordinary scores. When a visible score is lower than a hidden one by more than your number, the hidden "
    "key wins: entry {entry} is {got} and should be {want}. Which number can be added so that every score is above it?",
)
def _finite_added(S_scaled, mask):
    return softmax(S_scaled + np.where(mask, 0, -1e9))


@MASKED_WEIGHTS.mistake(
    "a finite number instead of minus infinity, and empty rows mended",
    "Right on ordinary scores, and where nothing may be seen. When a visible score is very low, the hidden key wins: "
    "entry {entry} is {got} and should be {want}. Which number is below every score?",
)
def _finite_and_mended(S_scaled, mask):
    return np.where(mask.any(axis=-1, keepdims=True), _finite(S_scaled, mask), 0)


@MASKED_WEIGHTS.mistake(
    "a finite number instead of minus infinity, and hidden weights mended",
    "Right on ordinary scores, and hidden keys have no weight. When a visible score is very low, a hidden key still "
    "takes from it: entry {entry} is {got} and should be {want}. Which number is below every score?",
)
def _finite_and_hidden_again(S_scaled, mask):
    return _finite(S_scaled, mask) * mask


@MASKED_WEIGHTS.mistake(
    "everything open where nothing may be seen",
    "Right, except for a query that may see nothing: entry {entry} is {got} instead of {want}, its share without a "
    "mask. Is there a key that such a query may attend to?",
)
def _opened(S_scaled, mask):
    return softmax(apply_mask(S_scaled, mask | ~mask.any(axis=-1, keepdims=True)))


@MASKED_WEIGHTS.mistake(
    "an even row where nothing may be seen",
    "Right, except for a query that may see nothing: entry {entry} is {got} instead of {want}, the same for each of "
    "its keys, as from a very low number that all of them share. Is there a key that such a query may attend to?",
)
def _lowest_float(S_scaled, mask):
    return softmax(np.where(mask, S_scaled, np.finfo(np.float64).min))


@MASKED_WEIGHTS.mistake(
    "0 / 0 where nothing may be seen",
    "Right, except for a query that may see nothing: its row is {row}, because all exponentials and their sum are "
    "0, or minus infinity was subtracted from itself. What should such a row be?",
)
def _empty_row(S_scaled, mask):
    return _plain(np.where(mask, S_scaled, -np.inf))


@MASKED_WEIGHTS.mistake(
    "polarity reversed",
    "Entry {entry} is {got} and should be {want}: exactly the hidden keys are seen. What does True mean in this "
    "mask?",
)
def _reversed(S_scaled, mask):
    return softmax(apply_mask(S_scaled, ~mask))


@MASKED_WEIGHTS.mistake(
    "softmax over the columns",
    "Entry {entry} is {got} instead of {want}: your rows sum to {row_sums}, because the softmax ran over the "
    "queries. Whose attention is shared out?",
)
def _over_columns(S_scaled, mask):
    return softmax(apply_mask(S_scaled, mask), axis=-2)


@MASKED_WEIGHTS.mistake(
    "the mask added as 0 and 1",
    "Entry {entry} is {got} instead of {want}: a visible score gains only 1 on a hidden one, and a hidden key "
    "still gets its share. How low must a hidden score be for its weight to be 0?",
)
def _added(S_scaled, mask):
    return softmax(S_scaled + mask)


@MASKED_WEIGHTS.mistake(
    "NaN everywhere, often from (1 - mask) times minus infinity",
    "Entry {entry} is {got}, and so are all your numbers. Mostly 0 was multiplied by infinity, as in (1 - mask) times "
    "minus infinity, or plus infinity or NaN was put on hidden keys. What chooses between two numbers without "
    "multiplying?",
)
def _product_with_infinity(S_scaled, mask):
    return _plain(S_scaled + (1 - mask) * -np.inf)


@MASKED_WEIGHTS.mistake(
    "minus infinity among the weights",
    "Your smallest number is {smallest}: minus infinity was put among the weights. Should a weight ever be below "
    "0? At which step do the hidden numbers still pass through an exponential?",
)
def _infinite_weights(S_scaled, mask):
    return np.where(mask, softmax(S_scaled), -np.inf)


@MASKED_WEIGHTS.mistake(
    "the scores returned instead of the weights",
    "Your smallest number is {smallest}: these are the scores, with the mask as it should be. What turns scores "
    "into weights?",
)
def _scores_returned(S_scaled, mask):
    return np.where(mask, S_scaled, -np.inf)


@MASKED_WEIGHTS.mistake(
    "no mask",
    "Entry {entry} is {got} instead of {want}: these are the weights without a mask. Where does it come in?",
)
def _ignored(S_scaled, mask):
    return softmax(S_scaled)


# Causal masks


def _any_two_sizes(draw):
    few, many = draw.one_of((2, 3)), draw.one_of((5, 7))
    return [(few, many), (many, few)]


CAUSAL_MASK = Exercise(
    "causal mask",
    lambda n_q, n_k: causal_mask(n_q, n_k),
    cases=[(3, 3), (2, 5), (5, 2)],
    fresh=_any_two_sizes,
    notice="Query i sees keys 0 to i, itself included, also where there are more keys than queries.",
)


@CAUSAL_MASK.mistake(
    "the diagonal hidden",
    "Row by row you allow {row_sums} keys, and the first query sees nothing. May a token attend to itself?",
)
def _without_diagonal(n_q, n_k):
    return np.tri(n_q, n_k, -1, dtype=bool)


@CAUSAL_MASK.mistake(
    "the future let in",
    "Row by row you allow {row_sums} keys: query 0 sees all of them, and the last one only itself. Which "
    "triangle, seen from a query, lies in the past?",
)
def _upper(n_q, n_k):
    return ~np.tri(n_q, n_k, -1, dtype=bool)


@CAUSAL_MASK.mistake(
    "polarity reversed",
    "Row by row you allow {row_sums} keys, just those that should be hidden. What does True mean here?",
)
def _causal_reversed(n_q, n_k):
    return ~np.tri(n_q, n_k, dtype=bool)


@CAUSAL_MASK.mistake(
    "one key too many",
    "Row by row you allow {row_sums} keys: query 0 already sees key 1. Is j <= i + 1 the past?",
)
def _one_too_many(n_q, n_k):
    return np.tri(n_q, n_k, 1, dtype=bool)


@CAUSAL_MASK.mistake(
    "aligned at the bottom right",
    "Right where n_q = n_k, and for the last queries of a longer text, as with a cache. Here the mask starts at the "
    "top left, and row by row you allow {row_sums} keys. How many should query 0 see?",
)
def _bottom_right(n_q, n_k):
    return np.tri(n_q, n_k, n_k - n_q, dtype=bool)


@CAUSAL_MASK.mistake(
    "n_q for both sizes",
    "For 2 queries and 5 keys your mask has shape {shape}. How many columns does a matrix of weights have?",
)
def _square(n_q, n_k):
    return np.tri(n_q, dtype=bool)


@CAUSAL_MASK.mistake(
    "n_k for both sizes",
    "For 2 queries and 5 keys your mask has shape {shape}. How many rows does a matrix of weights have?",
)
def _square_of_keys(n_q, n_k):
    return np.tri(n_k, dtype=bool)


@CAUSAL_MASK.mistake(
    "n_q and n_k exchanged",
    "For 2 queries and 5 keys your mask has shape {shape}. Which of the two counts rows?",
)
def _sizes_exchanged(n_q, n_k):
    return np.tri(n_k, n_q, dtype=bool)


@CAUSAL_MASK.mistake(
    "the mask transposed",
    "For 2 queries and 5 keys your mask has shape {shape}, and where both numbers are equal query 0 sees all keys. Do "
    "rows belong to those who ask or to those who are asked?",
)
def _causal_turned(n_q, n_k):
    return np.tri(n_q, n_k, dtype=bool).T


@CAUSAL_MASK.mistake(
    "the diagonal alone",
    "Row by row you allow {row_sums} keys: each query sees itself. What of the keys before it?",
)
def _diagonal_alone(n_q, n_k):
    return np.eye(n_q, n_k, dtype=bool)


@CAUSAL_MASK.mistake(
    "everything open",
    "Row by row you allow {row_sums} keys: nothing is hidden. Which keys come after query 0?",
)
def _all_open(n_q, n_k):
    return np.ones((n_q, n_k), dtype=bool)


# Padding masks


def _any_lengths(draw):
    cases = []
    for _ in range(2):
        sentences, n_k = sorted(draw.sizes(2))
        cases.append((np.array([*draw.order(n_k + 1)[: sentences - 1], n_k - 1]), n_k))
    return cases


PADDING_MASK = Exercise(
    "padding mask",
    lambda lengths, n_k: padding_mask(lengths, n_k),
    cases=[(np.array([3, 1]), 3), (np.array([2, 4, 0]), 5), (np.array([2]), 5)],
    fresh=_any_lengths,
    notice="The axis of length 1 is the query axis: each sentence hides its own padding from all of its queries.",
)


def _real(lengths, n_k):
    return np.arange(n_k) < lengths[:, np.newaxis]


@PADDING_MASK.mistake(
    "no query axis",
    "Yours has shape {shape}. Two axes will be read as (n_q, n_k), so that sentence 1 hides keys from query 1. "
    "Which axis is missing between batch and keys?",
)
def _no_query_axis(lengths, n_k):
    return _real(lengths, n_k)


@PADDING_MASK.mistake(
    "queries hidden instead of keys",
    "Yours has shape {shape}: the padding lies along the query axis, so rows are closed and every open row still "
    "sees the padding. Which axis belongs to the keys?",
)
def _queries_hidden(lengths, n_k):
    return _real(lengths, n_k)[:, :, np.newaxis]


@PADDING_MASK.mistake(
    "polarity reversed",
    "You let {row_sums} keys be seen in the first sentence, just those that are padding. What does True mean "
    "here?",
)
def _padding_reversed(lengths, n_k):
    return ~padding_mask(lengths, n_k)


@PADDING_MASK.mistake(
    "one key too many",
    "A sentence of length 1 should show key 0 alone. For length 1, which positions j satisfy j <= 1?",
)
def _inclusive(lengths, n_k):
    return np.arange(n_k) <= lengths[:, np.newaxis, np.newaxis]


@PADDING_MASK.mistake(
    "one key too few",
    "A sentence of length 1 should show key 0. For length 1, which positions j satisfy j < 0?",
)
def _too_few(lengths, n_k):
    return np.arange(n_k) < lengths[:, np.newaxis, np.newaxis] - 1


@PADDING_MASK.mistake(
    "padding at the front",
    "The number of real keys is right, their place is not: they stand at the end of your rows. Where is the "
    "padding, before a sentence or behind it?",
)
def _padded_in_front(lengths, n_k):
    return padding_mask(lengths, n_k)[..., ::-1]


@PADDING_MASK.mistake(
    "the query axis in front",
    "Yours has shape {shape}. The axis of length 1 stands where the sentences belong, and the sentences where the "
    "queries do. Between which two axes should it be?",
)
def _axis_in_front(lengths, n_k):
    return _real(lengths, n_k)[np.newaxis]


@PADDING_MASK.mistake(
    "the real keys counted from 1",
    "Key 0 is hidden, and as many keys after it are seen as the sentence is long. At which number do positions start?",
)
def _from_one(lengths, n_k):
    positions = np.arange(n_k)
    return (positions > 0) & (positions <= lengths[:, np.newaxis, np.newaxis])


@PADDING_MASK.mistake(
    "padding hidden from the padding too",
    "Yours has shape {shape}: the rows of the padding are closed as well. That hides nothing more, and such rows "
    "are empty. If the mask is the same for every query, how many rows does it need?",
)
def _both_ways(lengths, n_k):
    return _real(lengths, n_k)[:, :, np.newaxis] & _real(lengths, n_k)[:, np.newaxis, :]


# Questions

_TOKENS = 6

OPEN_WEIGHTS = Exercise(
    "open weights",
    lambda: np.tri(_TOKENS, dtype=int).sum(),
    cases=[()],
    given={"tokens": _TOKENS, "all weights": _TOKENS**2, "a weight that does not count": 0},
    notice="1 + 2 + 3 + 4 + 5 + 6: a little more than half of the square, because the diagonal is open.",
)


@OPEN_WEIGHTS.mistake(
    "the diagonal left out",
    "That many weights lie below the diagonal. May a token attend to itself?",
)
def _below_diagonal():
    return np.tri(_TOKENS, k=-1, dtype=int).sum()


@OPEN_WEIGHTS.mistake(
    "half of the square",
    "That is half of all weights. Does the diagonal belong to one half or to both?",
)
def _half():
    return _TOKENS**2 // 2


@OPEN_WEIGHTS.mistake(
    "the whole square",
    "Without a mask there are that many weights. How many keys does the first query see?",
)
def _whole():
    return _TOKENS**2


ALL = [MASKED_WEIGHTS, CAUSAL_MASK, PADDING_MASK, OPEN_WEIGHTS]
