"""Exercises of notebook 00: shapes, and a heatmap to read."""

from ... import attention_steps
from ...worked_example import worked_example
from ..exercise import Exercise

_N_Q, _D_K, _N_K, _D_V = 2, 4, 3, 5

OUTPUT_SHAPE = Exercise(
    "output shape",
    lambda: (_N_Q, _D_V),
    cases=[()],
    given={"n_q": _N_Q, "d_k": _D_K, "n_k": _N_K, "d_v": _D_V},
    notice="One row per query, as wide as a value; the number of keys and their width have disappeared.",
)


@OUTPUT_SHAPE.mistake(
    "the shape of the weights",
    "That is the shape of S and of A, a row per query and a column per key. What does the product with V do to "
    "the columns?",
)
def _shape_of_weights():
    return _N_Q, _N_K


@OUTPUT_SHAPE.mistake(
    "the shape of the values",
    "That is the shape of V. Is there one output per key, or one per query?",
)
def _shape_of_values():
    return _N_K, _D_V


@OUTPUT_SHAPE.mistake(
    "the shape of the queries",
    "That is the shape of Q. What is mixed, queries or values, and how wide is one of those?",
)
def _shape_of_queries():
    return _N_Q, _D_K


@OUTPUT_SHAPE.mistake(
    "rows and columns swapped",
    "The two numbers are right, their order is not. Do rows belong to queries or to features?",
)
def _turned_shape():
    return _D_V, _N_Q


def _weights():
    tokens, *_, Q, K, V = worked_example()
    return tokens, attention_steps(Q, K, V).A


STRONGEST_KEY = Exercise(
    "strongest key",
    lambda: _strongest(axis=1),
    cases=[()],
    notice="Rows are queries: you went to the row of hunt and looked for its darkest cell.",
)


def _strongest(axis):
    tokens, A = _weights()
    return tokens[(A[1] if axis == 1 else A[:, 1]).argmax()]


@STRONGEST_KEY.mistake(
    "the column read instead of the row",
    "{got} is the query that attends most to the key hunt. Here hunt asks. Which of the two axes is labelled "
    "Query?",
)
def _column_of_hunt():
    return _strongest(axis=0)


@STRONGEST_KEY.mistake(
    "the palest cell instead of the darkest",
    "{got} gets the least of hunt's attention. Which end of the colour bar is strong?",
)
def _palest():
    tokens, A = _weights()
    return tokens[A[1].argmin()]


@STRONGEST_KEY.mistake(
    "the darkest cell of the whole panel",
    "{got} stands under the darkest cell of all, but in another row. Which row belongs to hunt?",
)
def _darkest_of_all():
    return "night"


@STRONGEST_KEY.mistake(
    "the query itself",
    "It is hunt that asks. How much attention does it pay to itself, and is there a darker cell in its row?",
)
def _itself():
    return "hunt"


ALL = [OUTPUT_SHAPE, STRONGEST_KEY]
