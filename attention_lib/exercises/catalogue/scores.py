"""Exercises of notebook 01: from queries and keys to scores."""

import numpy as np

from ... import attention_scores
from ..exercise import Exercise
from . import loops

# Scores


def _any_queries_and_keys(draw):
    """Draw two pairs in which the numbers of queries, keys and features all differ."""
    cases = []
    for _ in range(2):
        n_q, n_k, d_k = draw.sizes(3)
        cases.append((draw.numbers(n_q, d_k), draw.numbers(n_k, d_k)))
    return cases


# Some mistakes give numbers only where all sizes are equal: those are the first two cases.
SCORES = Exercise(
    "scores",
    lambda Q, K: attention_scores(Q, K),
    cases=[
        (np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[3.0, 1.0], [-1.0, 2.0]])),
        (
            np.array([[2.0, -2.0, 0.5], [2.5, 3.0, 2.0], [3.0, 1.5, -3.0]]),
            np.array([[-2.0, -1.0, -2.0], [2.5, -1.5, 2.5], [2.5, 1.5, 2.0]]),
        ),
    ],
    fresh=_any_queries_and_keys,
    batch=[
        (
            np.array([[[1.0, 2.0], [0.0, 1.0]], [[1.0, 0.0], [3.0, -1.0]]]),
            np.array([[[0.0, 1.0], [2.0, 1.0]], [[1.0, 1.0], [-1.0, 4.0]]]),
        )
    ],
    notice="S has a row for each query and a column for each key, and need not be square.",
)


@SCORES.mistake(
    "queries and keys swapped",
    "Row i of yours belongs to key i: you computed the transpose, with {got} at {entry} where {want} is right. In "
    "S, who has a row, those who ask or those who are asked?",
)
def _swapped(Q, K):
    return attention_scores(K, Q)


# With other shapes the two have different numbers of entries, and there is no entry to point at.
@SCORES.mistake(
    "the transpose forgotten",
    "Q and K were multiplied as they are, which needs as many keys as features. Between which two vectors is a "
    "score a dot product, and where do they stand in Q and K?",
)
def _no_transpose(Q, K):
    return Q @ K


@SCORES.mistake(
    "the wrong matrix transposed",
    "Here features are paired with features: the sum runs over tokens. Over which axis does a dot product of a "
    "query and a key run?",
)
def _other_transpose(Q, K):
    return Q.T @ K


@SCORES.mistake(
    "cosine instead of dot product",
    "Entry {entry} is {got} instead of {want}, and no number of yours is above 1: the lengths of the vectors were "
    "divided out. Does the equation divide by them?",
)
def _cosine(Q, K):
    def unit(M):
        return M / np.linalg.norm(M, axis=-1, keepdims=True)

    return attention_scores(unit(Q), unit(K))


@SCORES.mistake(
    "elementwise product",
    "Q and K were multiplied entry by entry, which only works when they have the same shape. How many numbers "
    "should come out for one query and one key?",
)
def _elementwise(Q, K):
    return Q * K


@SCORES.mistake(
    "elementwise product, summed",
    "One number per token came: query i met key i alone. With how many keys is a query compared?",
)
def _paired(Q, K):
    return (Q * K).sum(axis=-1)


@SCORES.mistake(
    "queries compared with queries",
    "Your matrix is Q Q^T: symmetric, and without any key. Who is being asked?",
)
def _queries_alone(Q, K):
    return attention_scores(Q, Q)


@SCORES.mistake(
    "keys compared with keys",
    "Your matrix is K K^T: symmetric, and without any query. Who is asking?",
)
def _keys_alone(Q, K):
    return attention_scores(K, K)


@SCORES.mistake(
    "negative distance instead of dot product",
    "Entry {entry} is {got} instead of {want}, and none of your numbers is above 0: these are distances with a "
    "minus sign. Which product does the equation take?",
)
def _distance(Q, K):
    return -((Q[..., :, np.newaxis, :] - K[..., np.newaxis, :, :]) ** 2).sum(axis=-1)


@SCORES.mistake(
    "scaled already",
    "Entry {entry} is {got} instead of {want}: your scores are divided by the root of d_k. That is the next step. "
    "What are the raw scores?",
)
def _scaled(Q, K):
    return attention_scores(Q, K) / np.sqrt(Q.shape[-1])


loops.add_to_sums(
    SCORES, lambda Q, K: Q[..., :, np.newaxis, :] * K[..., np.newaxis, :, :], "feature"
)
loops.add_to_matrices(SCORES)


# Scores of a batch


def _any_batches(draw):
    """Draw two batches in which all four sizes differ."""
    cases = []
    for _ in range(2):
        sentences, n_q, n_k, d_k = draw.sizes(4)
        cases.append((draw.numbers(sentences, n_q, d_k), draw.numbers(sentences, n_k, d_k)))
    return cases


BATCH_SCORES = Exercise(
    "scores of a batch",
    lambda Q, K: attention_scores(Q, K),
    cases=[
        (
            np.array([[[1.0, 2.0], [0.0, 1.0]], [[1.0, 0.0], [3.0, -1.0]]]),
            np.array([[[0.0, 1.0], [2.0, 1.0]], [[1.0, 1.0], [-1.0, 4.0]]]),
        ),
        (
            np.array([[[1.0, 2.0]], [[0.5, 1.0]], [[2.0, -1.0]]]),
            np.array([[[1.0, -0.5]], [[3.0, 1.0]], [[0.5, 2.0]]]),
        ),
    ],
    fresh=_any_batches,
    notice="Each sentence of the batch is compared with its own keys, and with no others.",
)


@BATCH_SCORES.mistake(
    ".T on a batch",
    "Entry {entry} is {got} instead of {want}: all three axes of K were reversed, so that its batch axis came "
    "last. Which two axes of K should change places?",
)
def _all_axes(Q, K):
    return Q @ K.T


@BATCH_SCORES.mistake(
    "the first two axes swapped",
    "Entry {entry} is {got} instead of {want}: the batch axis changed places with the tokens. Counted from the "
    "end, which two axes hold keys and features?",
)
def _first_axes(Q, K):
    return Q @ np.swapaxes(K, 0, 1)


@BATCH_SCORES.mistake(
    "reshaped instead of transposed",
    "Entry {entry} is {got} instead of {want}: reshape keeps the order of the numbers and cuts it differently. "
    "What exchanges two axes instead?",
)
def _reshaped(Q, K):
    return Q @ K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])


@BATCH_SCORES.mistake(
    "the transpose forgotten",
    "The matrices were multiplied as they are. Between which two vectors is a score a dot product, and along "
    "which axis of K do its features lie?",
)
def _batch_untransposed(Q, K):
    return Q @ K


@BATCH_SCORES.mistake(
    "queries and keys swapped",
    "Row i of yours belongs to key i, with {got} at {entry}. Who has a row, those who ask or those who are asked?",
)
def _batch_swapped(Q, K):
    return attention_scores(K, Q)


# Questions

_N_Q, _N_K, _D_K = 2, 3, 4

CHANGED_SCORES = Exercise(
    "changed scores",
    lambda: _N_Q,
    cases=[()],
    given={"n_q": _N_Q, "n_k": _N_K, "d_k": _D_K},
    notice="A key owns a column of S: one score for each of the 2 queries.",
)


@CHANGED_SCORES.mistake(
    "the row of a query",
    "That many scores change when a query changes: its row, one for each key. How many queries compare themselves "
    "with one key?",
)
def _row_of_a_query():
    return _N_K


@CHANGED_SCORES.mistake(
    "a single score",
    "A score belongs to one query and one key. How many queries are there that meet this key?",
)
def _single_score():
    return 1


@CHANGED_SCORES.mistake(
    "all scores",
    "That is the whole matrix. Does the score of a query with key 0 know about key 1?",
)
def _all_scores():
    return _N_Q * _N_K


@CHANGED_SCORES.mistake(
    "features counted instead of scores",
    "A key has that many features. How many numbers does a dot product over them leave?",
)
def _features():
    return _D_K


ALL = [SCORES, BATCH_SCORES, CHANGED_SCORES]
