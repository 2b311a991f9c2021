"""Exercises of notebook 00: all of attention at once."""

import numpy as np

from ... import attention_scores, scaled_dot_product_attention, softmax
from ..exercise import Exercise

# The whole equation

ATTENTION = Exercise(
    "attention",
    lambda Q, K, V: scaled_dot_product_attention(Q, K, V)[0],
    cases=[
        (
            np.array([[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, -1.0, 1.0]]),
            np.array([[1.0, 1.0, 0.0, 2.0], [0.5, 0.0, 1.0, 0.0]]),
            np.array([[4.0, 0.0], [1.0, 2.0]]),
        ),
        (
            np.array([[0.5, -1.0, 1.0], [2.0, 0.0, 0.5]]),
            np.array([[1.0, 0.0, 1.0], [0.0, 2.0, -1.0], [-1.0, 1.0, 0.5], [0.5, 0.5, 1.5]]),
            np.array([[1.0], [3.0], [-2.0], [0.5]]),
        ),
    ],
    batch=[
        (
            np.array([[[1.0, 0.0], [0.0, 2.0]], [[0.5, 1.0], [1.0, -1.0]]]),
            np.array([[[1.0, 1.0], [0.0, 1.0]], [[2.0, 0.0], [1.0, 1.0]]]),
            np.array([[[1.0, 0.0], [0.0, 1.0]], [[3.0, 1.0], [1.0, 2.0]]]),
        )
    ],
    notice="Four steps in one line: compare, scale, share out, mix.",
)


def _scores(Q, K):
    return attention_scores(Q, K)


def _root(Q):
    return np.sqrt(Q.shape[-1])


@ATTENTION.mistake(
    "no scaling",
    "Entry {entry} is {got} instead of {want}: the scores went into the softmax as they are. What does the "
    "equation divide them by?",
)
def _no_scaling(Q, K, V):
    return softmax(_scores(Q, K)) @ V


@ATTENTION.mistake(
    "scaled by d_k instead of its root",
    "Entry {entry} is {got} instead of {want}: the scores were divided by the whole width of a query. What stands "
    "over d_k in the equation?",
)
def _by_d_k(Q, K, V):
    return softmax(_scores(Q, K) / Q.shape[-1]) @ V


@ATTENTION.mistake(
    "multiplied by the root of d_k",
    "Entry {entry} is {got} instead of {want}: the scores grew where they should have shrunk. On which side of "
    "the fraction does the root stand?",
)
def _times_root(Q, K, V):
    return softmax(_scores(Q, K) * _root(Q)) @ V


@ATTENTION.mistake(
    "scaled after the softmax",
    "Entry {entry} is {got} instead of {want}, so the weights of a query no longer sum to 1. Does the equation "
    "divide the scores or the weights?",
)
def _scaled_after(Q, K, V):
    return softmax(_scores(Q, K)) / _root(Q) @ V


@ATTENTION.mistake(
    "softmax over the columns",
    "Entry {entry} is {got} instead of {want}: the softmax ran down axis 0, over the queries. Along which axis "
    "should the weights of one query sum to 1?",
)
def _over_columns(Q, K, V):
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
    "the scores were divided by d_k. Which axis belongs to the keys, and what stands over d_k in the equation?",
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
def _weights(Q, K, V):
    return softmax(_scores(Q, K) / _root(Q))


@ATTENTION.mistake(
    "queries and keys swapped",
    "Entry {entry} is {got} instead of {want}: row i of the scores belongs to key i. Which comes first in the "
    "product, the one that asks or the one that is asked?",
)
def _swapped(Q, K, V):
    return softmax(_scores(K, Q) / _root(Q)) @ V


@ATTENTION.mistake(
    "the mean of the values",
    "All your rows are alike, such as {row}: every value counts the same, whatever the query. Where do the "
    "weights come in?",
)
def _mean(Q, K, V):
    return np.broadcast_to(V.mean(axis=-2, keepdims=True), (*Q.shape[:-1], V.shape[-1])).copy()


# Questions

OUTPUT_SHAPE = Exercise(
    "output shape",
    lambda: (2, 5),
    cases=[()],
    notice="One row per query, as wide as a value; the number of keys and their width have disappeared.",
)


@OUTPUT_SHAPE.mistake(
    "the shape of the weights",
    "That is the shape of S and of A, a row per query and a column per key. What does the product with V do to "
    "the columns?",
)
def _shape_of_weights():
    return 2, 3


@OUTPUT_SHAPE.mistake(
    "the shape of the values",
    "That is the shape of V. Is there one output per key, or one per query?",
)
def _shape_of_values():
    return 3, 5


@OUTPUT_SHAPE.mistake(
    "the shape of the queries",
    "That is the shape of Q. What is mixed, queries or values, and how wide is one of those?",
)
def _shape_of_queries():
    return 2, 4


@OUTPUT_SHAPE.mistake(
    "rows and columns turned round",
    "The two numbers are right, their order is not. Do rows belong to queries or to features?",
)
def _turned_shape():
    return 5, 2


ALL = [ATTENTION, OUTPUT_SHAPE]
