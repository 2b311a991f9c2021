"""Exercises of notebook 02: why the scores are divided, and by what."""

import math

import numpy as np

from ... import attention_scores, scale_scores
from ..exercise import Exercise

# Scaling


def _any_scores_and_width(draw):
    cases = []
    for _ in range(2):
        n_q, n_k, d_k = draw.sizes(3)
        cases.append((draw.numbers(n_q, n_k), d_k))
    return cases


SCALING = Exercise(
    "scaling",
    lambda S, d_k: scale_scores(S, d_k),
    cases=[
        (np.array([[10.0, -5.0, 2.5], [4.0, 7.5, -1.0]]), 25),
        (np.array([[3.0, -6.0, 1.5]]), 49),
    ],
    fresh=_any_scores_and_width,
    batch=[(np.array([[[8.0, 1.0, -3.0]], [[-4.0, 2.0, 5.0]]]), 25)],
    notice="Two scores of a row keep their order and their ratio; only their size changes.",
)


@SCALING.mistake(
    "no scaling",
    "Entry {entry} is {got}, the raw score, and should be {want}. What does the equation divide by?",
)
def _unscaled(S, d_k):
    return S.copy()


@SCALING.mistake(
    "divided by d_k",
    "Entry {entry} is {got} and should be {want}. The variance of a score is d_k. What, then, is its standard "
    "deviation?",
)
def _by_d_k(S, d_k):
    return S / d_k


@SCALING.mistake(
    "multiplied by the root of d_k",
    "Entry {entry} is {got} and should be {want}: your scores grew. Are scores of wide vectors too large or too "
    "small?",
)
def _times_root(S, d_k):
    return S * np.sqrt(d_k)


@SCALING.mistake(
    "multiplied by d_k",
    "Entry {entry} is {got} and should be {want}: your scores grew, and by more than a root. Are scores of wide "
    "vectors too large or too small?",
)
def _times_d_k(S, d_k):
    return S * d_k


@SCALING.mistake(
    "a power of 1/2 without brackets",
    "Entry {entry} is {got} and should be {want}: that is S / d_k / 2, which is what Python reads in S / "
    "d_k**1/2. Where do brackets belong?",
)
def _no_brackets(S, d_k):
    return S / d_k / 2


@SCALING.mistake(
    "divided by the square of d_k",
    "Entry {entry} is {got} and should be {want}. You divided by d_k squared. Is that the root?",
)
def _by_square(S, d_k):
    return S / d_k**2


@SCALING.mistake(
    "the number of keys instead of d_k",
    "Entry {entry} is {got} and should be {want}: the root is that of the number of columns of S. What is d_k the "
    "width of?",
)
def _by_n_k(S, d_k):
    return S / np.sqrt(S.shape[-1])


@SCALING.mistake(
    "the number of queries instead of d_k",
    "Entry {entry} is {got} and should be {want}: the root is that of the number of rows of S, the queries. What is "
    "d_k the width of?",
)
def _by_n_q(S, d_k):
    return S / np.sqrt(S.shape[-2])


@SCALING.mistake(
    "a whole division",
    "Entry {entry} is {got} and should be {want}: // cuts off what stands behind the point. Which sign divides "
    "without rounding?",
)
def _floored(S, d_k):
    return S // np.sqrt(d_k)


@SCALING.mistake(
    "divided by the spread of the scores",
    "Entry {entry} is {got} and should be {want}: you divided by the standard deviation of these scores. Does the "
    "equation look at the scores, or at the width of a key?",
)
def _by_spread(S, d_k):
    return S / S.std()


# Heads

# 3 heads, 2 tokens, 5 features each: d_k = 5, d_model = 15.
_Q = np.array(
    [
        [[0.5, 2.0, 0.0, 1.0, 0.5], [1.5, -0.5, -2.0, -0.5, 1.0]],
        [[1.5, 1.5, 3.0, 3.0, 1.5], [2.5, -1.0, 2.0, 1.5, 0.5]],
        [[1.0, 3.0, -1.0, 0.0, 3.0], [3.0, 2.5, -1.0, 3.0, 2.5]],
    ]
)
_K = np.array(
    [
        [[0.0, 1.5, 2.0, -1.0, -1.0], [-1.0, 0.5, 3.0, 0.0, -0.5]],
        [[1.0, 3.0, -2.0, 2.5, -1.0], [2.0, 0.5, 1.5, 2.0, 2.5]],
        [[3.0, 0.0, -2.0, 1.5, 2.0], [1.0, 1.5, 0.0, -2.0, -1.0]],
    ]
)


def _any_heads(draw):
    """Draw two sets of heads in which the numbers of heads, tokens and features all differ."""
    cases = []
    for _ in range(2):
        heads, tokens, width = draw.sizes(3)
        cases.append((draw.numbers(heads, tokens, width), draw.numbers(heads, tokens, width)))
    return cases


HEAD_SCALING = Exercise(
    "scaling of heads",
    lambda Q, K: scale_scores(attention_scores(Q, K), d_k=Q.shape[-1]),
    cases=[(_Q, _K)],
    fresh=_any_heads,
    notice="The width that counts is that of one head, the last axis, whatever the number of heads and tokens.",
)


def _head_scores(Q, K):
    return attention_scores(Q, K)


@HEAD_SCALING.mistake(
    "scaled by the model width",
    "Entry {entry} is {got} and should be {want}: you took the root of the width of all heads together. Over how "
    "many features does one of these dot products run?",
)
def _by_model_width(Q, K):
    return _head_scores(Q, K) / np.sqrt(Q.shape[0] * Q.shape[-1])


@HEAD_SCALING.mistake(
    "scaled by the number of heads",
    "Entry {entry} is {got} and should be {want}: you took the root of the number of heads. Over what does a dot "
    "product run?",
)
def _by_heads(Q, K):
    return _head_scores(Q, K) / np.sqrt(Q.shape[0])


@HEAD_SCALING.mistake(
    "scaled by the number of tokens",
    "Entry {entry} is {got} and should be {want}: you took the root of the number of tokens. Over what does a dot "
    "product run?",
)
def _by_tokens(Q, K):
    return _head_scores(Q, K) / np.sqrt(Q.shape[1])


@HEAD_SCALING.mistake(
    "no scaling",
    "Entry {entry} is {got}, the raw score, and should be {want}. What is the width of a query here?",
)
def _heads_unscaled(Q, K):
    return _head_scores(Q, K)


@HEAD_SCALING.mistake(
    "divided by d_k",
    "Entry {entry} is {got} and should be {want}. You divided by d_k itself. Is that the variance of the scores, "
    "or their spread?",
)
def _heads_by_d_k(Q, K):
    return _head_scores(Q, K) / Q.shape[-1]


@HEAD_SCALING.mistake(
    "multiplied by the root of d_k",
    "Entry {entry} is {got} and should be {want}: your scores grew. Should wide heads score higher?",
)
def _heads_times_root(Q, K):
    return _head_scores(Q, K) * np.sqrt(Q.shape[-1])


@HEAD_SCALING.mistake(
    "a power of 1/2 without brackets",
    "Entry {entry} is {got} and should be {want}: the scores were divided by d_k and then by 2, which is what Python "
    "reads in d_k**1/2. Where do brackets belong?",
)
def _heads_without_brackets(Q, K):
    return _head_scores(Q, K) / Q.shape[-1] / 2


# Questions

_D_K, _MEAN, _VARIANCE = 900, 0, 1  # of each feature

SPREAD = Exercise(
    "spread of scores",
    lambda: math.isqrt(_D_K) * _VARIANCE,
    cases=[()],
    given={"d_k": _D_K, "mean": _MEAN, "variance": _VARIANCE},
    notice="The variance of a sum of d_k independent terms is d_k, and the standard deviation is its root.",
)


@SPREAD.mistake(
    "the variance instead of the standard deviation",
    "That is the variance. What is the standard deviation of something with this variance?",
)
def _variance():
    return _D_K * _VARIANCE**2


@SPREAD.mistake(
    "the spread of one term",
    "That is the standard deviation of one product of two features, or of a scaled score; the question is about a "
    "raw one. A score adds up one such product for each feature: what happens to the variance of a sum?",
)
def _one_term():
    return _VARIANCE


@SPREAD.mistake(
    "the scale instead of the spread",
    "That is less than the spread of a single term. Does a sum of many such terms spread less than one of them?",
)
def _inverse():
    return 1 / np.sqrt(_D_K)


ALL = [SCALING, HEAD_SCALING, SPREAD]
