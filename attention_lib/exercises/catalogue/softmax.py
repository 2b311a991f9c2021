"""Exercises of notebook 03: from scores to weights, and how broad a row is."""

import numpy as np

from ... import row_entropy, softmax
from ..exercise import Exercise
from . import loops

# Softmax


def _any_scores(draw):
    """Draw two matrices of scores, neither square."""
    return [(draw.numbers(*draw.sizes(2)),) for _ in range(2)]


def _scores_out_of_range(draw):
    """Draw a row far below another, a row far above another, and rows whose scores lie far apart."""
    low, high, apart = draw.numbers(2, 3), draw.numbers(2, 3), draw.numbers(2, 2)
    low[draw.one_of((0, 1))] -= 1000
    high[draw.one_of((0, 1))] += 1000
    apart += np.array([[0.0, 2000.0], [-2000.0, 0.0]])
    return [(low,), (high,), (apart,)]


SOFTMAX = Exercise(
    "softmax",
    lambda S_scaled: softmax(S_scaled),
    cases=[
        (np.array([[0.0, 1.0], [2.0, 0.5]]),),
        (np.array([[0.5, -1.0, 2.0], [1.0, 1.5, 0.0]]),),
        (np.array([[0.2, 0.9, -0.4], [1.1, 0.3, -0.7], [0.6, 1.4, 0.1]]),),
        (np.array([[3.0, -2.0, 0.5]]),),
    ],
    fresh=_any_scores,
    extreme=[
        (np.array([[0.0, 1.0], [-1000.0, -1001.0]]),),
        (np.array([[1000.0, 1001.0], [0.0, 1.0]]),),
        (np.array([[0.0, 2000.0], [-2000.0, 0.0]]),),
    ],
    fresh_extreme=_scores_out_of_range,
    batch=[(np.array([[[0.0, 1.0], [2.0, 0.5]], [[1.0, -1.0], [0.3, 0.6]]]),)],
    notice="Every row sums to 1, also the row of scores near 1000, and no column has to.",
)


def _exponential(S_scaled, axis=-1):
    exponentials = np.exp(S_scaled)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@SOFTMAX.mistake(
    "softmax over the columns",
    "Your columns sum to {column_sums}, your rows to {row_sums}: this is a softmax over the queries. Whose "
    "attention is shared out, a query's (a row) or a key's (a column)?",
)
def _over_columns(S_scaled):
    return softmax(S_scaled, axis=-2)


@SOFTMAX.mistake(
    "softmax over the whole matrix",
    "All your numbers together sum to {total}, your rows to {row_sums}: one sum serves the whole matrix. How much "
    "attention does a single query have to give?",
)
def _over_everything(S_scaled):
    return softmax(S_scaled.ravel()).reshape(S_scaled.shape)


@SOFTMAX.mistake(
    "keepdims forgotten",
    "Entry {entry} is {got} instead of {want}, and your rows sum to {row_sums}: the sums of the rows were laid "
    "along a row, so that column j was divided by the sum of row j. Which argument of sum keeps it a column?",
)
def _no_keepdims(S_scaled):
    return np.exp(S_scaled) / np.exp(S_scaled).sum(axis=-1)


@SOFTMAX.mistake(
    "keepdims forgotten, with the maximum subtracted",
    "Entry {entry} is {got} instead of {want}. The maximum is as it should be, but your rows sum to {row_sums}: "
    "each row's sum has divided a column. What shape has the sum, and what shape would it need?",
)
def _no_keepdims_on_the_sum(S_scaled):
    exponentials = np.exp(S_scaled - S_scaled.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1)


@SOFTMAX.mistake(
    "keepdims forgotten on the maximum",
    "Your rows sum to 1, but entry {entry} is {got} instead of {want}: the maxima of the rows were laid along a "
    "row, so that each was taken from a column. Which argument of max keeps it a column?",
)
def _no_keepdims_on_the_maximum(S_scaled):
    return _exponential(S_scaled - S_scaled.max(axis=-1))


@SOFTMAX.mistake(
    "keepdims forgotten on maximum and sum",
    "Entry {entry} is {got} instead of {want}, and your rows sum to {row_sums}: maxima and sums of the rows were both "
    "laid along a row, so that each met a column. What shape have they, and what shape would they need?",
)
def _no_keepdims_at_all(S_scaled):
    exponentials = np.exp(S_scaled - S_scaled.max(axis=-1))
    return exponentials / exponentials.sum(axis=-1)


@SOFTMAX.mistake(
    "exponentials without the division",
    "Your rows sum to {row_sums}. The exponentials are there, and positive. What makes a row of them sum to 1?",
)
def _not_divided(S_scaled):
    return np.exp(S_scaled)


@SOFTMAX.mistake(
    "division by the sum, without exponentials",
    "Your rows sum to 1, but entry {entry} is {got} instead of {want}: scores were divided by their sum, without "
    "exponentials. What becomes of a negative score, and what of scores that sum to 0?",
)
def _no_exponential(S_scaled):
    return S_scaled / S_scaled.sum(axis=-1, keepdims=True)


@SOFTMAX.mistake(
    "argmax",
    "Every row of yours is one-hot, such as {row}: the best key takes everything, as if by argmax, or the rest was cut "
    "off because the array holds whole numbers alone. Entry {entry} should be {want}. How would a "
    "second-best key ever get a share?",
)
def _argmax(S_scaled):
    return (S_scaled == S_scaled.max(axis=-1, keepdims=True)).astype(float)


@SOFTMAX.mistake(
    "softmax applied twice",
    "Your rows sum to 1 but are flatter than they should be: entry {entry} is {got} instead of {want}. What would "
    "come out if scores went in that already lie between 0 and 1?",
)
def _twice(S_scaled):
    return softmax(softmax(S_scaled))


@SOFTMAX.mistake(
    "logarithm of the softmax",
    "Your numbers are all below 0, the largest {largest}, and their exponentials sum to 1. What is still to be "
    "undone?",
)
def _logarithm(S_scaled):
    return np.log(softmax(S_scaled))


@SOFTMAX.mistake(
    "exponentials whose largest is 1, not divided by their sum",
    "Your rows sum to {row_sums}, and the largest number of each is 1. Either the scores lost their maximum and the "
    "division is missing, or each row was divided by its largest exponential. What makes a row sum to 1?",
)
def _stable_but_not_divided(S_scaled):
    return np.exp(S_scaled - S_scaled.max(axis=-1, keepdims=True))


@SOFTMAX.mistake(
    "a sigmoid of each score",
    "Entry {entry} is {got} instead of {want}: each score was turned into a number between 0 and 1 by itself, and your "
    "rows sum to {row_sums}. Should a weight depend on the other scores of its row?",
)
def _sigmoid(S_scaled):
    return 1 / (1 + np.exp(-S_scaled))


@SOFTMAX.mistake(
    "powers of 2 instead of e",
    "Your rows sum to 1, but entry {entry} is {got} instead of {want}: two scores that differ by 1 should get "
    "weights in the proportion e, not 2. Which function is the exponential?",
)
def _base_two(S_scaled):
    return softmax(S_scaled * np.log(2))


@SOFTMAX.mistake(
    "softmax of the negative scores",
    "The order is turned round: at {entry} you give {got} where {want} is right. Does a higher score mean more "
    "weight or less? Look at the signs in front of the scores and of their maximum.",
)
def _negative(S_scaled):
    return softmax(-S_scaled)


@SOFTMAX.mistake(
    "no maximum subtracted",
    "Right on small scores. With scores around 1000 or -1000, entry {entry} is {got} and should be {want}: the "
    "exponentials leave the range of a float, above or below. What can be subtracted from a row without changing "
    "its weights?",
)
def _no_maximum(S_scaled):
    return _exponential(S_scaled)


@SOFTMAX.mistake(
    "one maximum for the whole matrix",
    "Right as long as all rows have scores of similar size. Where one row scores far below another, entry {entry} "
    "is {got} and should be {want}: its exponentials all round to 0. Whose maximum should be subtracted from a "
    "row?",
)
def _one_maximum(S_scaled):
    return _exponential(S_scaled - S_scaled.max())


@SOFTMAX.mistake(
    "another number than the maximum subtracted",
    "Right as long as the scores of a row are of similar size. In a row with scores 0 and 2000, entry {entry} is "
    "{got} and should be {want}: an exponential still overflows. Which number must be subtracted so that no "
    "exponent is above 0?",
)
def _mean_subtracted(S_scaled):
    return _exponential(S_scaled - S_scaled.mean(axis=-1, keepdims=True))


@SOFTMAX.mistake(
    "one maximum per column",
    "Entry {entry} is {got} instead of {want}: the maximum was taken down the columns, so that each score of a "
    "row lost another number. What may be subtracted from a row without changing its weights?",
)
def _maximum_per_column(S_scaled):
    return _exponential(S_scaled - S_scaled.max(axis=-2, keepdims=True))


@SOFTMAX.mistake(
    "a sum that is never set back to 0",
    "The first row is right. In the next one entry {entry} is {got} instead of {want}: the sum of its exponentials "
    "starts where the sum of the row before ended. Where should it start?",
)
def _running_sum(S_scaled):
    exponentials = np.exp(S_scaled)
    return exponentials / np.cumsum(exponentials.sum(axis=-1))[:, np.newaxis]


@SOFTMAX.mistake(
    "a sum that is used before it is complete",
    "Entry {entry} is {got} instead of {want}, and the last number of each row is right: each exponential was divided "
    "by the sum as far as it had come. When is the sum of a row known?",
)
def _growing_sum(S_scaled):
    exponentials = np.exp(S_scaled)
    return exponentials / np.cumsum(exponentials, axis=-1)


loops.add_zeros(SOFTMAX)
loops.add_to_rows(SOFTMAX)


# Entropy


def _any_weights(draw):
    return [(draw.weights(*draw.sizes(2)),) for _ in range(2)]


def _weights_with_zeros(draw):
    some, hot = draw.weights(3, 5), np.eye(5)[draw.order(5)[:3]]
    some[draw.one_of((0, 1, 2))] = 0
    some[:, draw.one_of(range(5))] += 1
    return [(some / some.sum(axis=-1, keepdims=True),), (hot,)]


ENTROPY = Exercise(
    "entropy",
    lambda A: row_entropy(A),
    cases=[
        (np.array([[0.5, 0.5], [0.9, 0.1]]),),
        (np.array([[0.2, 0.3, 0.5], [0.6, 0.15, 0.25]]),),
    ],
    fresh=_any_weights,
    fresh_extreme=_weights_with_zeros,
    extreme=[
        (np.array([[1.0, 0.0], [0.5, 0.5]]),),
        (np.array([[0.0, 0.25, 0.75]]),),
    ],
    notice="A one-hot row has entropy 0, an even row of n keys has ln n, and every other row lies between.",
)


@ENTROPY.mistake(
    "0 times the logarithm of 0",
    "Right on rows without zeros. Where a weight is 0, entry {entry} is {got} and should be {want}: log(0) is "
    "-inf, and 0 times -inf is NaN. What does a key without weight contribute?",
)
def _no_convention(A):
    return -(A * np.log(A)).sum(axis=-1)


@ENTROPY.mistake(
    "logarithm to base 2",
    "An even row of two gives {got}, and should give {want}: these are bits. Which logarithm gives nats?",
)
def _bits(A):
    return row_entropy(A) / np.log(2)


@ENTROPY.mistake(
    "logarithm to base 10",
    "An even row of two gives {got}, and should give {want}. Which logarithm gives nats?",
)
def _base_ten(A):
    return row_entropy(A) / np.log(10)


@ENTROPY.mistake(
    "the sign forgotten",
    "Your entropies are {row}; the right ones are the same numbers above 0. What sign has the logarithm of a "
    "weight?",
)
def _sign(A):
    return -row_entropy(A)


@ENTROPY.mistake(
    "the mean instead of the sum",
    "At {entry} you have {got} instead of {want}, too small by a factor of the number of keys. Is the entropy a "
    "sum over the keys, or an average of them?",
)
def _mean(A):
    return row_entropy(A) / A.shape[-1]


@ENTROPY.mistake(
    "the sum over the columns",
    "One number per column came. Is it a query's attention that is broad or narrow, or a key's?",
)
def _columns(A):
    return -(A * np.log(A)).sum(axis=-2)


@ENTROPY.mistake(
    "one number for the whole matrix",
    "One number came, {got}, for all queries together. How many rows of weights are there, and may they differ?",
)
def _total(A):
    return row_entropy(A).sum()


def _contributions(A):
    return -A * np.log(np.where(A > 0, A, 1))


loops.add_to_sums(ENTROPY, _contributions, "key")

# Questions

_N_Q, _N_K = 4, 7

WEIGHTS_THAT_CHANGE = Exercise(
    "weights that change",
    lambda: _N_Q * _N_K,
    cases=[()],
    given={"n_q": _N_Q, "n_k": _N_K},
    notice="A key stands in every row, and within a row all shares depend on all scores.",
)


@WEIGHTS_THAT_CHANGE.mistake(
    "only the column of the key",
    "That many scores change: the column of that key. If one share of a row grows, can the other shares stay as "
    "they are?",
)
def _column():
    return _N_Q


@WEIGHTS_THAT_CHANGE.mistake(
    "only one row",
    "That many weights change when a query changes: its row. In how many rows does a key stand?",
)
def _row():
    return _N_K


@WEIGHTS_THAT_CHANGE.mistake(
    "a single weight",
    "One weight belongs to one query and one key. How many queries meet the key, and what must the rest of such a "
    "row do?",
)
def _single():
    return 1


@WEIGHTS_THAT_CHANGE.mistake(
    "one row and one column",
    "A row and a column that cross: but why should that row change as a whole, and the others only in one place? "
    "Which rows hold a score of this key?",
)
def _cross():
    return _N_Q + _N_K - 1


ALL = [SOFTMAX, ENTROPY, WEIGHTS_THAT_CHANGE]
