"""Exercises of notebook 10: the four steps and the mask, put together by the reader.

The pieces have exercises of their own in the modules before this one.
"""

import numpy as np

from ... import apply_mask, attention_scores, scale_scores, scaled_dot_product_attention, softmax
from ..exercise import Exercise
from . import loops


def _any_attention_with_a_mask(draw):
    """Draw two inputs; with many keys, some are hidden and several are not."""
    cases = []
    for n_k in (5, 7):
        n_q, d_k, d_v = [size for size in draw.sizes(4) if size != n_k]
        Q, K, V = draw.numbers(n_q, d_k), draw.numbers(n_k, d_k), draw.numbers(n_k, d_v)
        cases.append((Q, K, V, draw.mask(n_q, n_k)))
    return cases


def _attention_at_the_edge(draw):
    """Draw a very low visible score, high scores, and a query that may see nothing."""
    V = draw.numbers(3, 2)
    low = np.array([[1e13], [-5.0], [2.0]])
    high = np.array([[40.0, 40.0], [40.0, 39.0], [0.0, 0.0]]) + abs(draw.numbers(3, 2))
    closed = draw.numbers(1, 5), draw.numbers(3, 5), draw.numbers(3, 2)
    visible = np.array([[True, False, False]])
    return [
        (np.array([[-1.0]]), low, V, visible),
        (np.array([[30.0, 30.0]]), high, draw.numbers(3, 2), np.array([[True, True, False]])),
        (*closed, visible & False),
    ]


MASKED_ATTENTION = Exercise(
    "attention with a mask",
    lambda Q, K, V, mask: scaled_dot_product_attention(Q, K, V, mask=mask)[0],
    cases=[
        (
            np.array([[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, -1.0, 1.0]]),
            np.array([[1.0, 1.0, 0.0, 2.0], [0.5, 0.0, 1.0, 0.0]]),
            np.array([[4.0, 0.0], [1.0, 2.0]]),
            np.array([[True, False], [False, True]]),
        ),
        (
            np.array([[2.0, -2.0, -1.5], [-1.0, -1.5, 2.0], [2.5, 1.0, -2.0]]),
            np.array([[-1.5, -0.5, 0.0], [1.0, 0.5, -1.0], [-1.5, 1.5, 2.0]]),
            np.array([[-2.0, -1.5, 1.0], [3.0, 2.5, 0.5], [-0.5, 4.0, 1.5]]),
            np.array([[True, False, True], [True, True, False], [False, True, True]]),
        ),
    ],
    fresh=_any_attention_with_a_mask,
    fresh_extreme=_attention_at_the_edge,
    extreme=[
        (
            np.array([[-1.0]]),
            np.array([[1e13], [-5.0]]),
            np.array([[3.0], [1.0]]),
            np.array([[True, False]]),
        ),
        (
            np.array([[30.0, 30.0]]),
            np.array([[40.0, 40.0], [40.0, 39.0], [0.0, 0.0]]),
            np.array([[1.0], [4.0], [2.0]]),
            np.array([[True, True, False]]),
        ),
        (
            np.array([[1.0, 2.0]]),
            np.array([[0.0, 1.0], [1.0, 0.0]]),
            np.array([[3.0, 1.0], [1.0, 5.0]]),
            np.array([[False, False]]),
        ),
    ],
    batch=[
        (
            np.array([[[1.0, 0.0], [0.0, 2.0]], [[0.5, 1.0], [1.0, -1.0]]]),
            np.array([[[1.0, 1.0], [0.0, 1.0]], [[2.0, 0.0], [1.0, 1.0]]]),
            np.array([[[1.0, 0.0], [0.0, 1.0]], [[3.0, 1.0], [1.0, 2.0]]]),
            np.array([[[True, False]], [[True, True]]]),
        )
    ],
    notice="The whole of it: compare, scale, mask, share out, mix.",
)


def _scaled(Q, K):
    return scale_scores(attention_scores(Q, K), Q.shape[-1])


def _plain(x):
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@MASKED_ATTENTION.mistake(
    "the mask left out",
    "Entry {entry} is {got} instead of {want}: every query saw every key. Where does the mask come in?",
)
def _no_mask(Q, K, V, mask):
    return softmax(_scaled(Q, K)) @ V


@MASKED_ATTENTION.mistake(
    "polarity reversed",
    "Entry {entry} is {got} instead of {want}: the hidden keys were mixed. What does True mean in this mask?",
)
def _reversed(Q, K, V, mask):
    return softmax(apply_mask(_scaled(Q, K), ~mask)) @ V


@MASKED_ATTENTION.mistake(
    "no scaling",
    "Entry {entry} is {got} instead of {want}: the scores went into the softmax undivided. What does the "
    "equation divide them by?",
)
def _no_scaling(Q, K, V, mask):
    return softmax(apply_mask(attention_scores(Q, K), mask)) @ V


@MASKED_ATTENTION.mistake(
    "scaled by d_k instead of its root",
    "Entry {entry} is {got} instead of {want}: the scores were divided by the whole width of a query. What does "
    "the equation do to d_k before it divides?",
)
def _by_d_k(Q, K, V, mask):
    return softmax(apply_mask(attention_scores(Q, K) / Q.shape[-1], mask)) @ V


@MASKED_ATTENTION.mistake(
    "d_k fixed at 4",
    "Right for queries of width 4, as in the worked example, because the scores are divided by 2. For queries of "
    "another width, entry {entry} is {got} instead of {want}. Where can the function read d_k?",
)
def _fixed_width(Q, K, V, mask):
    return softmax(apply_mask(attention_scores(Q, K) / 2, mask)) @ V


@MASKED_ATTENTION.mistake(
    "scores multiplied by 0",
    "Entry {entry} is {got} instead of {want}: a hidden key still gets its share, because its score became 0, and "
    "e^0 is 1. Which score would make an exponential of 0?",
)
def _scores_times_zero(Q, K, V, mask):
    return softmax(_scaled(Q, K) * mask) @ V


@MASKED_ATTENTION.mistake(
    "weights multiplied by 0, and left so",
    "Entry {entry} is {got} instead of {want}: hidden keys lost their weights after the softmax, and the rest no "
    "longer sums to 1. Could the mask come before the softmax?",
)
def _weights_times_zero(Q, K, V, mask):
    return (softmax(_scaled(Q, K)) * mask) @ V


@MASKED_ATTENTION.mistake(
    "softmax over the columns",
    "Entry {entry} is {got} instead of {want}: the softmax ran over the queries. Whose shares should sum to "
    "1, one query's or one key's?",
)
def _over_columns(Q, K, V, mask):
    return softmax(apply_mask(_scaled(Q, K), mask), axis=-2) @ V


@MASKED_ATTENTION.mistake(
    "no softmax",
    "Entry {entry} is {got} instead of {want}: the values were mixed with the scores themselves. What turns "
    "scores into shares?",
)
def _no_softmax(Q, K, V, mask):
    return np.where(mask, _scaled(Q, K), 0) @ V


@MASKED_ATTENTION.mistake(
    "the weights returned instead of the output",
    "The result has shape {shape}, and its rows sum to {row_sums}: these are the weights. What is left to be "
    "mixed with them?",
)
def _weights_returned(Q, K, V, mask):
    return softmax(apply_mask(_scaled(Q, K), mask))


@MASKED_ATTENTION.mistake(
    "a finite number instead of minus infinity",
    "Right on ordinary scores. When the visible score is lower than your number, the hidden key wins: entry "
    "{entry} is {got} and should be {want}. Which number is below every score?",
)
def _finite(Q, K, V, mask):
    return softmax(np.where(mask, _scaled(Q, K), -1e9)) @ V


@MASKED_ATTENTION.mistake(
    "no maximum subtracted",
    "The mask is right. But when scores are very low or very high, entry {entry} is {got} instead of {want}: the "
    "exponentials leave the range of a float. What did your softmax have to do before it took them?",
)
def _no_maximum(Q, K, V, mask):
    exponentials = np.exp(np.where(mask, _scaled(Q, K), -np.inf))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ V


@MASKED_ATTENTION.mistake(
    "an even row where nothing may be seen",
    "Right, except for a query that may see nothing: entry {entry} is {got} instead of {want}, a mean of what it "
    "may not see. What should such a query take home?",
)
def _lowest_float(Q, K, V, mask):
    return softmax(np.where(mask, _scaled(Q, K), np.finfo(np.float64).min)) @ V


@MASKED_ATTENTION.mistake(
    "0 / 0 where nothing may be seen",
    "Right, except for a query that may see nothing: its output is {row}, because all exponentials and their sum "
    "are 0, or minus infinity was subtracted from itself. What should such a row of weights be?",
)
def _empty_row(Q, K, V, mask):
    return _plain(np.where(mask, _scaled(Q, K), -np.inf)) @ V


@MASKED_ATTENTION.mistake(
    "everything open where nothing may be seen",
    "Right, except for a query that may see nothing: entry {entry} is {got} instead of {want}, its output without a "
    "mask. What should such a query take home?",
)
def _opened(Q, K, V, mask):
    return scaled_dot_product_attention(Q, K, V, mask=mask | ~mask.any(axis=-1, keepdims=True))[0]


@MASKED_ATTENTION.mistake(
    "a finite number added instead of minus infinity",
    "Right on ordinary scores. When a visible score is lower than a hidden one by more than your number, the hidden "
    "key wins: entry {entry} is {got} and should be {want}. Which number can be added so that every score is above it?",
)
def _finite_added(Q, K, V, mask):
    return softmax(_scaled(Q, K) + np.where(mask, 0, -1e9)) @ V


@MASKED_ATTENTION.mistake(
    "a finite number instead of minus infinity, and empty rows mended",
    "Right on ordinary scores, and where nothing may be seen. When a visible score is very low, the hidden key wins: "
    "entry {entry} is {got} and should be {want}. Which number is below every score?",
)
def _finite_and_mended(Q, K, V, mask):
    return np.where(mask.any(axis=-1, keepdims=True), _finite(Q, K, V, mask), 0)


@MASKED_ATTENTION.mistake(
    "the number of keys instead of d_k",
    "Entry {entry} is {got} instead of {want}: the root is that of the number of keys. Over what does a dot product of "
    "a query and a key run?",
)
def _number_of_keys(Q, K, V, mask):
    return softmax(apply_mask(attention_scores(Q, K) / np.sqrt(K.shape[-2]), mask)) @ V


@MASKED_ATTENTION.mistake(
    "the number of queries instead of d_k",
    "Entry {entry} is {got} instead of {want}: the root is that of the number of queries. Over what does a dot product "
    "of a query and a key run?",
)
def _number_of_queries(Q, K, V, mask):
    return softmax(apply_mask(attention_scores(Q, K) / np.sqrt(Q.shape[-2]), mask)) @ V


@MASKED_ATTENTION.mistake(
    "a power of 1/2 without brackets",
    "Entry {entry} is {got} instead of {want}: the scores were divided by d_k and then by 2, which is what Python "
    "reads in d_k**1/2. Where do brackets belong?",
)
def _power_without_brackets(Q, K, V, mask):
    return softmax(apply_mask(attention_scores(Q, K) / Q.shape[-1] / 2, mask)) @ V


@MASKED_ATTENTION.mistake(
    "NaN everywhere, often from (1 - mask) times minus infinity",
    "Entry {entry} is {got}, and so are all your numbers. Mostly 0 was multiplied by infinity, as in (1 - mask) times "
    "minus infinity, or plus infinity or NaN was put on hidden keys. What chooses between two numbers without "
    "multiplying?",
)
def _product_with_infinity(Q, K, V, mask):
    return _plain(_scaled(Q, K) + (1 - mask) * -np.inf) @ V


loops.add_to_matrices(MASKED_ATTENTION)

ALL = [MASKED_ATTENTION]
