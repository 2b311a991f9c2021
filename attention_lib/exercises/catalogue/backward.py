"""Exercises of notebook 06: what goes backwards through a softmax."""

import numpy as np

from ... import softmax_jacobian, softmax_vjp
from ..exercise import Exercise
from . import loops

# The Jacobian


def _any_weights(draw):
    return [(draw.weights(n),) for n in draw.sizes(2)]


JACOBIAN = Exercise(
    "softmax jacobian",
    lambda a: softmax_jacobian(a),
    cases=[
        (np.array([0.75, 0.25]),),
        (np.array([0.2, 0.3, 0.5]),),
        (np.array([0.1, 0.6, 0.05, 0.25]),),
        (np.array([0.0, 1.0, 0.0]),),
    ],
    fresh=_any_weights,
    notice="Each row sums to 0: whatever one weight gains, the others lose.",
)


@JACOBIAN.mistake(
    "the diagonal alone",
    "Off the diagonal you have zeros: entry {entry} is {got} instead of {want}, and your rows sum to {row_sums} "
    "where they should sum to 0. When one score grows, what happens to the other weights?",
)
def _diagonal(a):
    return np.diag(a * (1 - a))


@JACOBIAN.mistake(
    "a vector instead of a matrix",
    "Yours has shape {shape}: one slope for each weight. On how many scores does a weight depend?",
)
def _vector(a):
    return a * (1 - a)


@JACOBIAN.mistake(
    "the square taken off twice on the diagonal",
    "Entry {entry} is {got} and should be {want}: on the diagonal, the outer product takes off a square that a (1 "
    "- a) has taken off already. Which diagonal needs no (1 - a)?",
)
def _square_twice(a):
    return np.diag(a * (1 - a)) - np.outer(a, a)


@JACOBIAN.mistake(
    "the off-diagonal terms with the wrong sign",
    "Entry {entry} is {got} and should be {want}, and your rows sum to {row_sums} where they should sum to 0. If "
    "one key gets more, do the others get more too?",
)
def _wrong_sign(a):
    outer = np.outer(a, a)
    return outer + np.diag(a - 2 * a * a)


@JACOBIAN.mistake(
    "the outer product added instead of subtracted",
    "Entry {entry} is {got} and should be {want}, also on the diagonal. If all scores grow alike, should any "
    "weight change?",
)
def _added(a):
    return np.diag(a) + np.outer(a, a)


@JACOBIAN.mistake(
    "the sign reversed",
    "Entry {entry} is {got} and should be {want}. Does a weight grow or shrink with its own score?",
)
def _turned(a):
    return np.outer(a, a) - np.diag(a)


@JACOBIAN.mistake(
    "the outer product alone",
    "Entry {entry} is {got} and should be {want}: the term that only the diagonal has is missing. How does a "
    "weight change with its own score?",
)
def _outer_alone(a):
    return -np.outer(a, a)


@JACOBIAN.mistake(
    "1 instead of a on the diagonal",
    "Entry {entry} is {got} and should be {want}: the 1 of the formula has to be multiplied by a weight as well. "
    "By which?",
)
def _identity(a):
    return np.eye(len(a)) - np.outer(a, a)


@JACOBIAN.mistake(
    "a_j (1 - a_k) everywhere",
    "Entry {entry} is {got} and should be {want}: the 1 belongs to the diagonal, where j = k. What is it "
    "elsewhere?",
)
def _one_everywhere(a):
    return np.outer(a, 1 - a)


@JACOBIAN.mistake(
    "a single number in place of the outer product",
    "Entry {entry} is {got} and should be {want}: the same number was taken from every entry, the sum of the squares, "
    "because a vector is not turned by .T. Which product of two vectors makes a matrix?",
)
def _number_for_the_outer_product(a):
    return np.diag(a) - a @ a


@JACOBIAN.mistake(
    "squares in place of the outer product",
    "Entry {entry} is {got} and should be {want}: from every row the same squares were taken, so that no two different "
    "weights ever met. Which product pairs each weight with each?",
)
def _squares_for_the_outer_product(a):
    return np.diag(a) - a * a


loops.add_zeros(JACOBIAN)
loops.add_to_rows(JACOBIAN)

# The gradient of the scores


def _any_weights_and_gradients(draw):
    cases = []
    for _ in range(2):
        n_q, n_k = draw.sizes(2)
        cases.append((draw.weights(n_q, n_k), draw.numbers(n_q, n_k)))
    return cases


SCORES_GRADIENT = Exercise(
    "gradient of the scores",
    lambda A, dA: softmax_vjp(A, dA),
    cases=[
        (np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([[1.0, 0.0], [2.0, -1.0]])),
        (
            np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3], [0.25, 0.5, 0.25]]),
            np.array([[1.0, -1.0, 0.5], [0.0, 2.0, 1.0], [-0.5, 1.0, 3.0]]),
        ),
        (
            np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 1.0, 0.0, 0.0]]),
            np.array([[1.0, 2.0, 3.0, 5.0], [4.0, 3.5, 2.5, 1.5]]),
        ),
    ],
    fresh=_any_weights_and_gradients,
    batch=[
        (
            np.array([[[0.75, 0.25]], [[0.5, 0.5]]]),
            np.array([[[1.0, 0.0]], [[2.0, -1.0]]]),
        )
    ],
    notice="The loss grows with the score of a key whose dA is above its row's average, so training lowers "
    "that score; a one-hot row gets nothing.",
)


@SCORES_GRADIENT.mistake(
    "the softmax differentiated entry by entry",
    "Entry {entry} is {got} and should be {want}, and your rows sum to {row_sums} where they should sum to 0. "
    "This is a (1 - a) times dA. What about the weights that a score takes from the other keys?",
)
def _elementwise(A, dA):
    return A * (1 - A) * dA


@SCORES_GRADIENT.mistake(
    "the average forgotten",
    "Entry {entry} is {got} and should be {want}, and your rows sum to {row_sums} where they should sum to 0. "
    "What has to be taken from dA so that a constant in it does nothing?",
)
def _no_average(A, dA):
    return A * dA


@SCORES_GRADIENT.mistake(
    "keepdims forgotten",
    "Entry {entry} is {got} and should be {want}: the averages of the rows were laid along a row, and each was "
    "taken from a column. Which argument of sum keeps them a column?",
)
def _no_keepdims(A, dA):
    return A * (dA - (A * dA).sum(axis=-1))


@SCORES_GRADIENT.mistake(
    "the plain average instead of the weighted one",
    "Entry {entry} is {got} and should be {want}. The average of dA over a row was taken with equal shares. With "
    "which shares does the query itself average?",
)
def _plain_average(A, dA):
    return A * (dA - dA.mean(axis=-1, keepdims=True))


@SCORES_GRADIENT.mistake(
    "the average over the columns",
    "Entry {entry} is {got} and should be {want}: the sum of A dA ran down the columns. Which entries share one "
    "softmax, those of a row or of a column?",
)
def _column_average(A, dA):
    return A * (dA - (A * dA).sum(axis=-2, keepdims=True))


@SCORES_GRADIENT.mistake(
    "the weight in front forgotten",
    "Entry {entry} is {got} and should be {want}. You have how far each key is above the average. What must that "
    "be multiplied by, so that a key without weight gets nothing?",
)
def _no_weight(A, dA):
    return dA - (A * dA).sum(axis=-1, keepdims=True)


@SCORES_GRADIENT.mistake(
    "the sign reversed",
    "Entry {entry} is {got} and should be {want}, everywhere with the other sign. Should the score of a key with "
    "a large dA have a positive gradient?",
)
def _negative(A, dA):
    return -softmax_vjp(A, dA)


@SCORES_GRADIENT.mistake(
    "no way back through the softmax",
    "You returned dA as it came, with {got} at {entry}. What does the softmax do to it on the way back?",
)
def _passed_on(A, dA):
    return dA.copy()


@SCORES_GRADIENT.mistake(
    "the weighted average alone",
    "Entry {entry} is {got} and should be {want}: each weight met the average of its row, and dA itself is missing. By "
    "what is a key's own dA compared with the average?",
)
def _average_alone(A, dA):
    return A * (A * dA).sum(axis=-1, keepdims=True)


loops.add_zeros(SCORES_GRADIENT)
loops.add_to_rows(SCORES_GRADIENT)

ALL = [JACOBIAN, SCORES_GRADIENT]
