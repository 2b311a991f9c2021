"""Exercises of notebook 03: from scores to weights, and how broad a row is."""

import numpy as np

from ... import row_entropy, softmax
from ..exercise import Exercise

# Softmax

SOFTMAX = Exercise(
    "softmax",
    lambda S_scaled: softmax(S_scaled),
    cases=[
        (np.array([[0.0, 1.0], [2.0, 0.5]]),),
        (np.array([[0.5, -1.0, 2.0], [1.0, 1.5, 0.0]]),),
        (np.array([[0.2, 0.9, -0.4], [1.1, 0.3, -0.7], [0.6, 1.4, 0.1]]),),
        (np.array([[3.0, -2.0, 0.5, 1.0]]),),
    ],
    extreme=[
        (np.array([[0.0, 1.0], [-1000.0, -1001.0]]),),
        (np.array([[1000.0, 1001.0], [0.0, 1.0]]),),
        (np.array([[0.0, 2000.0], [-2000.0, 0.0]]),),
    ],
    batch=[(np.array([[[0.0, 1.0], [2.0, 0.5]], [[1.0, -1.0], [0.3, 0.6]]]),)],
    notice="Every row sums to 1, also the row of scores near 1000, and no column has to.",
)


def _exponential(S_scaled, axis=-1):
    exponentials = np.exp(S_scaled)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@SOFTMAX.mistake(
    "softmax over the columns",
    "Your columns sum to {column_sums}, your rows to {row_sums}. This is a softmax down axis 0. Whose attention "
    "is shared out, a query's (a row) or a key's (a column)?",
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
    "Every row of yours is one-hot, such as {row}: the best key takes everything. Entry {entry} should be {want}. "
    "How would a second-best key ever get a share?",
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


# Entropy

ENTROPY = Exercise(
    "entropy",
    lambda A: row_entropy(A),
    cases=[
        (np.array([[0.5, 0.5], [0.9, 0.1]]),),
        (np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]),),
    ],
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


# Questions

WEIGHTS_THAT_CHANGE = Exercise(
    "weights that change",
    lambda: 28,
    cases=[()],
    notice="A key stands in every row, and within a row all shares depend on all scores.",
)


@WEIGHTS_THAT_CHANGE.mistake(
    "only the column of the key",
    "That many scores change: the column of that key. If one share of a row grows, can the other shares stay as "
    "they are?",
)
def _column():
    return 4


@WEIGHTS_THAT_CHANGE.mistake(
    "only one row",
    "That many weights change when a query changes: its row. In how many rows does a key stand?",
)
def _row():
    return 7


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
    return 10


ALL = [SOFTMAX, ENTROPY, WEIGHTS_THAT_CHANGE]
