"""Exercises of notebook 04: from weights and values to the output."""

import numpy as np

from ... import attention_scores, scaled_dot_product_attention, softmax, weighted_values
from ..exercise import Exercise
from . import loops

# Weighted values


def _any_weights_and_values(draw):
    cases = []
    for _ in range(2):
        n_q, n_k, d_v = draw.sizes(3)
        cases.append((draw.weights(n_q, n_k), draw.numbers(n_k, d_v)))
    return cases


# Some mistakes give numbers only where all sizes are equal, as in the first and the last of these.
WEIGHTED_VALUES = Exercise(
    "weighted values",
    lambda A, V: weighted_values(A, V),
    cases=[
        (np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([[4.0, 0.0], [0.0, 8.0]])),
        (
            np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]),
            np.array(
                [[1.0, 0.0, 2.0, -1.0, 4.0], [0.0, 3.0, 1.0, 0.5, 7.0], [2.0, 2.0, -1.0, 0.0, 5.0]]
            ),
        ),
        (
            np.array([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.25, 0.5, 0.25]]),
            np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0], [-1.5, 0.5, 4.0]]),
        ),
    ],
    fresh=_any_weights_and_values,
    batch=[
        (
            np.array([[[0.75, 0.25]], [[0.5, 0.5]]]),
            np.array([[[4.0, 0.0], [0.0, 8.0]], [[1.0, 1.0], [3.0, 5.0]]]),
        )
    ],
    notice="A one-hot row copies a value; every other row stays between the smallest and the largest of them.",
)


@WEIGHTED_VALUES.mistake(
    "V A instead of A V",
    "Entry {entry} is {got} instead of {want}: the product is the other way round. Row i of the output belongs to "
    "query i. Which of the two matrices has a row per query?",
)
def _other_order(A, V):
    return V @ A


@WEIGHTED_VALUES.mistake(
    "the weights transposed",
    "Entry {entry} is {got} instead of {want}: you mixed with the columns of A. A row of A is what one query "
    "gives to all keys. What is a column?",
)
def _transposed(A, V):
    return A.T @ V


@WEIGHTED_VALUES.mistake(
    "the values transposed",
    "Entry {entry} is {got} instead of {want}: the weights met V turned on its side, and mixed features instead of "
    "values. Which axis of V belongs to the keys, as the columns of A do?",
)
def _values_transposed(A, V):
    return A @ V.T


@WEIGHTED_VALUES.mistake(
    "the output transposed",
    "Yours has shape {shape} where {want_shape} is right, a column per query. What should a row be?",
)
def _turned(A, V):
    return (A @ V).T


@WEIGHTED_VALUES.mistake(
    "softmax applied to the weights",
    "Entry {entry} is {got} instead of {want}: the weights went through a softmax, which they had behind them. "
    "What do the rows of A sum to already?",
)
def _softmax_again(A, V):
    return softmax(A) @ V


@WEIGHTED_VALUES.mistake(
    "the mean of the values",
    "All your rows are alike, such as {row}: every value counts the same. Where do the weights come in?",
)
def _mean(A, V):
    return np.tile(V.mean(axis=-2), (A.shape[-2], 1))


@WEIGHTED_VALUES.mistake(
    "the sum of the values",
    "All your rows are alike, such as {row}: the values were added up, whatever their weights. Where do those "
    "come in?",
)
def _sum(A, V):
    return np.tile(V.sum(axis=-2), (A.shape[-2], 1))


@WEIGHTED_VALUES.mistake(
    "the largest value",
    "All your rows are alike, such as {row}: feature by feature the largest value. Does a query take the best, or "
    "its share of everything?",
)
def _largest(A, V):
    return np.tile(V.max(axis=-2), (A.shape[-2], 1))


@WEIGHTED_VALUES.mistake(
    "the value of the strongest key",
    "Each of your rows is a copy of one value, such as {row}: the strongest key takes all. What becomes of the "
    "rest of the weights?",
)
def _strongest(A, V):
    return V[A.argmax(axis=-1)]


@WEIGHTED_VALUES.mistake(
    "the weighted sum divided by the number of keys",
    "Entry {entry} is {got} instead of {want}: you took the mean over the keys where their sum belongs. What do "
    "the weights of a row sum to already?",
)
def _averaged_again(A, V):
    return A @ V / A.shape[-1]


@WEIGHTED_VALUES.mistake(
    "elementwise product",
    "Weights and values were multiplied entry by entry, which only works when they have the same shape. How many "
    "values go into one row of the output?",
)
def _elementwise(A, V):
    return A * V


def _shares_of_values(A, V):
    """Return what each key adds to each output, keys last."""
    return np.moveaxis(A[..., :, :, np.newaxis] * V[..., np.newaxis, :, :], -2, -1)


loops.add_to_sums(WEIGHTED_VALUES, _shares_of_values, "key")
loops.add_to_matrices(WEIGHTED_VALUES)


# From scores to the output


def _any_scores_and_values(draw):
    cases = []
    for _ in range(2):
        n_q, n_k, d_v = draw.sizes(3)
        cases.append((draw.numbers(n_q, n_k), draw.numbers(n_k, d_v)))
    return cases


OUTPUT = Exercise(
    "from scores to output",
    lambda S_scaled, V: weighted_values(softmax(S_scaled), V),
    cases=[
        (np.array([[1.0, 0.0], [0.5, 2.0]]), np.array([[4.0, 0.0], [0.0, 8.0]])),
        (
            np.array([[0.2, 0.9, -0.4], [1.1, 0.3, -0.7], [0.6, 1.4, 0.1]]),
            np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0], [-1.5, 0.5, 4.0]]),
        ),
    ],
    fresh=_any_scores_and_values,
    notice="First shares, then the mixture: whatever the scores are, the output stays among the values.",
)


@OUTPUT.mistake(
    "mixed with the scores",
    "Entry {entry} is {got} instead of {want}: the scores themselves were used as weights. What do the rows of "
    "S_scaled sum to, and may they be negative?",
)
def _with_scores(S_scaled, V):
    return S_scaled @ V


@OUTPUT.mistake(
    "exponentials without the division",
    "Entry {entry} is {got} instead of {want}: the values were mixed with exponentials. What makes a row of them "
    "sum to 1?",
)
def _not_divided(S_scaled, V):
    return np.exp(S_scaled) @ V


@OUTPUT.mistake(
    "weights times scores, entry by entry",
    "Yours has shape {shape}: the weights met their own scores, and V did not come in. What is it that the "
    "weights should mix?",
)
def _weights_times_scores(S_scaled, V):
    return softmax(S_scaled) * S_scaled


@OUTPUT.mistake(
    "weights times scores, as matrices",
    "The weights were multiplied with the scores, and V did not come in. What is it that the weights should mix?",
)
def _weights_at_scores(S_scaled, V):
    return softmax(S_scaled) @ S_scaled


@OUTPUT.mistake(
    "softmax after the mixing",
    "Your rows sum to {row_sums}: the softmax came last, and made a distribution of the output. Which of the "
    "matrices is to have rows that sum to 1?",
)
def _softmax_last(S_scaled, V):
    return softmax(S_scaled @ V)


@OUTPUT.mistake(
    "the weights returned instead of the output",
    "Your rows sum to {row_sums}: these are the weights, as they should be. What is left to be mixed with them?",
)
def _weights_alone(S_scaled, V):
    return softmax(S_scaled)


@OUTPUT.mistake(
    "softmax over the columns",
    "Entry {entry} is {got} instead of {want}: the softmax ran over the queries. Whose shares should sum to 1, "
    "one query's or one key's?",
)
def _over_columns(S_scaled, V):
    return softmax(S_scaled, axis=-2) @ V


@OUTPUT.mistake(
    "softmax applied twice",
    "Entry {entry} is {got} instead of {want}: the weights went through a second softmax, which flattens them. "
    "How often does it stand in the equation?",
)
def _twice(S_scaled, V):
    return softmax(softmax(S_scaled)) @ V


@OUTPUT.mistake(
    "the weights transposed",
    "Entry {entry} is {got} instead of {want}: you mixed with the columns of A. Which of them sum to 1, rows or "
    "columns?",
)
def _weights_transposed(S_scaled, V):
    return softmax(S_scaled).T @ V


@OUTPUT.mistake(
    "the values transposed",
    "Entry {entry} is {got} instead of {want}: the weights met V turned on its side, and mixed features instead of "
    "values. Which axis of V belongs to the keys?",
)
def _output_of_turned_values(S_scaled, V):
    return softmax(S_scaled) @ V.T


@OUTPUT.mistake(
    "keepdims forgotten",
    "Entry {entry} is {got} instead of {want}: the sums of the rows were laid along a row, so that each divided a "
    "column. Which argument of sum keeps them a column?",
)
def _output_without_keepdims(S_scaled, V):
    return np.exp(S_scaled) / np.exp(S_scaled).sum(axis=-1) @ V


@OUTPUT.mistake(
    "the mean of the values",
    "All your rows are alike, such as {row}: every value counts the same. Where do the scores come in?",
)
def _mean_again(S_scaled, V):
    return np.tile(V.mean(axis=-2), (S_scaled.shape[-2], 1))


loops.add_to_sums(OUTPUT, lambda S_scaled, V: _shares_of_values(softmax(S_scaled), V), "key")
loops.add_to_matrices(OUTPUT)


# The whole equation


def _any_attention(draw):
    """Draw two inputs in which the numbers of queries, keys, features and value features differ."""
    cases = []
    for _ in range(2):
        n_q, n_k, d_k, d_v = draw.sizes(4)
        cases.append((draw.numbers(n_q, d_k), draw.numbers(n_k, d_k), draw.numbers(n_k, d_v)))
    return cases


# The first two have equal sizes, on which all products can be taken; the third has the width 4.
ATTENTION = Exercise(
    "attention",
    lambda Q, K, V: scaled_dot_product_attention(Q, K, V)[0],
    cases=[
        (
            np.array([[1.0, 2.0], [-1.0, 0.5]]),
            np.array([[0.5, 1.0], [2.0, -1.0]]),
            np.array([[4.0, 1.0], [-2.0, 3.0]]),
        ),
        (
            np.array([[2.0, -2.0, -1.5], [-1.0, -1.5, 2.0], [2.5, 1.0, -2.0]]),
            np.array([[-1.5, -0.5, 0.0], [1.0, 0.5, -1.0], [-1.5, 1.5, 2.0]]),
            np.array([[-2.0, -1.5, 1.0], [3.0, 2.5, 0.5], [-0.5, 4.0, 1.5]]),
        ),
        (
            np.array([[1.0, 0.0, 2.0, 1.0], [0.5, 1.0, -1.0, 1.0], [-1.0, 2.0, 0.5, 0.0]]),
            np.array(
                [
                    [1.0, 1.0, 0.0, 2.0],
                    [0.5, 0.0, 1.0, -1.0],
                    [-1.0, 0.5, 0.0, 1.5],
                    [2.0, -0.5, 1.0, 0.0],
                    [0.0, 1.5, -1.0, 0.5],
                ]
            ),
            np.array([[4.0, 0.0], [1.0, 2.0], [-1.0, 3.0], [0.5, -2.0], [2.5, 1.5]]),
        ),
    ],
    fresh=_any_attention,
    batch=[
        (
            np.array([[[1.0, 0.0], [0.0, 2.0]], [[0.5, 1.0], [1.0, -1.0]]]),
            np.array([[[1.0, 1.0], [0.0, 1.0]], [[2.0, 0.0], [1.0, 1.0]]]),
            np.array([[[1.0, 0.0], [0.0, 1.0]], [[3.0, 1.0], [1.0, 2.0]]]),
        )
    ],
    notice="All four steps: compare, scale, share out, mix.",
)


def _scores(Q, K):
    return attention_scores(Q, K)


def _root(Q):
    return np.sqrt(Q.shape[-1])


@ATTENTION.mistake(
    "no scaling",
    "Entry {entry} is {got} instead of {want}: the scores went into the softmax undivided. What does the equation "
    "divide them by?",
)
def _no_scaling(Q, K, V):
    return softmax(_scores(Q, K)) @ V


@ATTENTION.mistake(
    "scaled by d_k instead of its root",
    "Entry {entry} is {got} instead of {want}: the scores were divided by the whole width of a query. What does "
    "the equation do to d_k before it divides?",
)
def _by_d_k(Q, K, V):
    return softmax(_scores(Q, K) / Q.shape[-1]) @ V


@ATTENTION.mistake(
    "multiplied by the root of d_k",
    "Entry {entry} is {got} instead of {want}: the scores grew where they should have shrunk. Is the root in the "
    "numerator or in the denominator?",
)
def _times_root(Q, K, V):
    return softmax(_scores(Q, K) * _root(Q)) @ V


@ATTENTION.mistake(
    "d_k fixed at 4",
    "Right for queries of width 4, as in the worked example, because the scores are divided by 2. For queries of "
    "another width, entry {entry} is {got} instead of {want}. Where can the function read d_k?",
)
def _fixed_width(Q, K, V):
    return softmax(_scores(Q, K) / 2) @ V


@ATTENTION.mistake(
    "a power of 1/2 without brackets",
    "Entry {entry} is {got} instead of {want}: the scores were divided by d_k and then by 2, which is what Python "
    "reads in d_k**1/2. Where do brackets belong?",
)
def _power_without_brackets(Q, K, V):
    return softmax(_scores(Q, K) / Q.shape[-1] / 2) @ V


@ATTENTION.mistake(
    "the number of queries instead of d_k",
    "Entry {entry} is {got} instead of {want}: the root is that of the number of queries. What counts the features of "
    "a query?",
)
def _number_of_queries(Q, K, V):
    return softmax(_scores(Q, K) / np.sqrt(Q.shape[-2])) @ V


@ATTENTION.mistake(
    "the width of the values instead of d_k",
    "Entry {entry} is {got} instead of {want}: the root is that of the width of a value. Which vectors does a score "
    "compare, and how wide are they?",
)
def _width_of_values(Q, K, V):
    return softmax(_scores(Q, K) / np.sqrt(V.shape[-1])) @ V


@ATTENTION.mistake(
    "the number of keys instead of d_k",
    "Entry {entry} is {got} instead of {want}: the root is that of the number of keys. Which axis of K counts "
    "features?",
)
def _number_of_keys(Q, K, V):
    return softmax(_scores(Q, K) / np.sqrt(K.shape[-2])) @ V


@ATTENTION.mistake(
    "softmax applied twice",
    "Entry {entry} is {got} instead of {want}: the weights went through a second softmax, which flattens them. "
    "How often does it stand in the equation?",
)
def _softmax_twice(Q, K, V):
    return softmax(softmax(_scores(Q, K) / _root(Q))) @ V


@ATTENTION.mistake(
    "the weights transposed",
    "Entry {entry} is {got} instead of {want}: you mixed with the columns of A. Either A was turned, or Q and K "
    "changed places and the softmax its axis, which comes to the same. Which sum to 1, rows or columns?",
)
def _mixed_by_columns(Q, K, V):
    return softmax(_scores(Q, K) / _root(Q)).T @ V


@ATTENTION.mistake(
    "scaled after the softmax",
    "Entry {entry} is {got} instead of {want}: what came out of the softmax was divided, not what went in. Does "
    "the equation divide the scores, or something later?",
)
def _scaled_after(Q, K, V):
    return softmax(_scores(Q, K)) / _root(Q) @ V


@ATTENTION.mistake(
    "softmax over the columns",
    "Entry {entry} is {got} instead of {want}: the softmax ran over the queries, or Q and K changed places "
    "and the weights were turned. Whose shares should sum to 1, one query's or one key's?",
)
def _attention_over_columns(Q, K, V):
    return softmax(_scores(Q, K) / _root(Q), axis=-2) @ V


@ATTENTION.mistake(
    "no scaling, and softmax over the columns",
    "Two things at once: entry {entry} is {got} instead of {want}, because the softmax ran over the queries and "
    "the scores were not scaled. Which axis belongs to the keys, and what does the equation divide by?",
)
def _no_scaling_over_columns(Q, K, V):
    return softmax(_scores(Q, K), axis=-2) @ V


@ATTENTION.mistake(
    "scaled by d_k instead of its root, and softmax over the columns",
    "Two things at once: entry {entry} is {got} instead of {want}, because the softmax ran over the queries and "
    "the scores were divided by d_k. Which axis belongs to the keys, and what does the equation do to d_k?",
)
def _by_d_k_over_columns(Q, K, V):
    return softmax(_scores(Q, K) / Q.shape[-1], axis=-2) @ V


@ATTENTION.mistake(
    "softmax over the whole matrix",
    "Entry {entry} is {got} instead of {want}: all queries together share one sum of 1. How much attention does "
    "each query have to give?",
)
def _over_everything(Q, K, V):
    S = _scores(Q, K) / _root(Q)
    return softmax(S.ravel()).reshape(S.shape) @ V


@ATTENTION.mistake(
    "no softmax",
    "Entry {entry} is {got} instead of {want}: the values were mixed with the scores themselves. What turns "
    "scores into shares?",
)
def _no_softmax(Q, K, V):
    return _scores(Q, K) / _root(Q) @ V


@ATTENTION.mistake(
    "the weights returned instead of the output",
    "The result has shape {shape}, and its rows sum to {row_sums}: these are the weights. What is left to be "
    "mixed with them?",
)
def _weights_returned(Q, K, V):
    return softmax(_scores(Q, K) / _root(Q))


@ATTENTION.mistake(
    "queries and keys swapped",
    "Entry {entry} is {got} instead of {want}: row i of your weights belongs to key i. Either Q and K changed places, "
    "or a softmax over the queries was turned afterwards. Who has a row, the one that asks or the one that is asked?",
)
def _swapped(Q, K, V):
    return softmax(_scores(K, Q) / _root(Q)) @ V


@ATTENTION.mistake(
    "the values transposed",
    "Entry {entry} is {got} instead of {want}: the weights met V turned on its side, and mixed features instead of "
    "values. Which axis of V belongs to the keys?",
)
def _values_turned(Q, K, V):
    return softmax(_scores(Q, K) / _root(Q)) @ V.T


@ATTENTION.mistake(
    "the transpose forgotten",
    "Q and K were multiplied as they are, which needs as many keys as features. Between which two vectors is a score a "
    "dot product, and where do they stand in Q and K?",
)
def _nothing_transposed(Q, K, V):
    return softmax(Q @ K / _root(Q)) @ V


@ATTENTION.mistake(
    "keepdims forgotten",
    "Entry {entry} is {got} instead of {want}: the sums of the rows were laid along a row, so that each divided a "
    "column. Which argument of sum keeps them a column?",
)
def _sum_without_keepdims(Q, K, V):
    exponentials = np.exp(_scores(Q, K) / _root(Q))
    return exponentials / exponentials.sum(axis=-1) @ V


@ATTENTION.mistake(
    "keepdims forgotten, with the maximum subtracted",
    "Entry {entry} is {got} instead of {want}. The maximum is as it should be, but the sums of the rows were laid "
    "along a row, so that each divided a column. What shape has the sum, and what shape would it need?",
)
def _stable_sum_without_keepdims(Q, K, V):
    S = _scores(Q, K) / _root(Q)
    exponentials = np.exp(S - S.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1) @ V


@ATTENTION.mistake(
    "keepdims forgotten on the maximum",
    "Entry {entry} is {got} instead of {want}: the maxima of the rows were laid along a row, so that each was taken "
    "from a column. Which argument of max keeps them a column?",
)
def _maximum_without_keepdims(Q, K, V):
    S = _scores(Q, K) / _root(Q)
    return softmax(S - S.max(axis=-1)) @ V


@ATTENTION.mistake(
    "keepdims forgotten on maximum and sum",
    "Entry {entry} is {got} instead of {want}: maxima and sums of the rows were both laid along a row, so that each "
    "met a column. What shape have they, and what shape would they need?",
)
def _nothing_with_keepdims(Q, K, V):
    S = _scores(Q, K) / _root(Q)
    exponentials = np.exp(S - S.max(axis=-1))
    return exponentials / exponentials.sum(axis=-1) @ V


@ATTENTION.mistake(
    "the mean of the values",
    "All your rows are alike, such as {row}: every value counts the same, whatever the query. Where do the "
    "weights come in?",
)
def _mean_value(Q, K, V):
    return np.broadcast_to(V.mean(axis=-2, keepdims=True), (*Q.shape[:-1], V.shape[-1])).copy()


loops.add_to_matrices(ATTENTION)

# Questions

_VALUES = 1, 4, 7, 0

UNIFORM_ROW = Exercise(
    "an even row",
    lambda: sum(_VALUES) // len(_VALUES),
    cases=[()],
    given={"n_k": len(_VALUES), "values": _VALUES},
    notice="An even share of each is the mean.",
)


@UNIFORM_ROW.mistake(
    "the sum instead of the mean",
    "That is the sum of the values. How much of each does the query take?",
)
def _sum_of_values():
    return sum(_VALUES)


@UNIFORM_ROW.mistake(
    "the zero not counted",
    "That is the mean of three of the values. Does the fourth, the 0, take a share of the attention?",
)
def _without_zero():
    return sum(_VALUES) // np.count_nonzero(_VALUES)


@UNIFORM_ROW.mistake(
    "the largest value",
    "That is the largest of the values. Which key has the most weight here?",
)
def _largest_value():
    return max(_VALUES)


@UNIFORM_ROW.mistake(
    "the weight instead of the output",
    "That is the weight of each key. What does the query take home, if it takes that much of each value?",
)
def _weight():
    return 1 / len(_VALUES)


ALL = [WEIGHTED_VALUES, OUTPUT, ATTENTION, UNIFORM_ROW]
