"""Exercises of notebook 08: a head found by a number, what a head gets right, what a claim needs."""

import numpy as np

from ..exercise import Exercise


def _offset(A, offset, total=np.mean):
    return total(np.diagonal(A, offset, -2, -1), axis=-1)


def _any_heads(draw):
    """Draw the weights of a few heads."""
    return [(draw.weights(*draw.one_of(((2, 3), (3, 2))), 5, 5),)]


def _heads(seed, *shape):
    A = np.random.RandomState(seed).exponential(size=shape)
    return A / A.sum(axis=-1, keepdims=True)


BEFORE = Exercise(
    "share on the token before",
    lambda A: _offset(A, -1),
    cases=[(_heads(0, 1, 2, 3, 3),), (_heads(1, 2, 3, 5, 5),)],
    fresh=_any_heads,
    notice="One number for each head: 1 for a head that looks only there, 1/n for one whose rows are even.",
)


@BEFORE.mistake(
    "the token after",
    "For the first head you got {got}, and {want} is right: this is the weight on the token after. Rows are queries: "
    "which key stands before query 1?",
)
def _after(A):
    return _offset(A, 1)


@BEFORE.mistake(
    "the token itself",
    "For the first head you got {got}, and {want} is right: this is the weight of each token on itself. Which diagonal "
    "holds the token before?",
)
def _itself(A):
    return _offset(A, 0)


@BEFORE.mistake(
    "divided by the number of all queries",
    "For the first head you got {got}, and {want} is right: the sum was divided by n. How many queries have a token "
    "before them?",
)
def _by_all(A):
    return _offset(A, -1, np.sum) / A.shape[-1]


@BEFORE.mistake(
    "a sum instead of a mean",
    "For the first head you got {got}, and {want} is right: the weights were added up. By how many queries must the "
    "sum be divided?",
)
def _sum(A):
    return _offset(A, -1, np.sum)


@BEFORE.mistake(
    "the largest instead of the mean",
    "For the first head you got {got}, and {want} is right: this is the best of all queries. What does a head do on "
    "the average?",
)
def _best(A):
    return _offset(A, -1, np.max)


@BEFORE.mistake(
    "the first query looks at the last token",
    "For the first head you got {got}, and {want} is right: here the first query's token before is the last one. Is "
    "there a token before the first?",
)
def _around(A):
    n = A.shape[-1]
    return A[..., np.arange(n), np.arange(n) - 1].mean(axis=-1)


@BEFORE.mistake(
    "all tokens before",
    "For the first head you got {got}, and {want} is right: this is the weight on all the earlier tokens together. "
    "Which one of them is meant?",
)
def _all_before(A):
    return np.tril(A, -1).sum(axis=-1)[..., 1:].mean(axis=-1)


@BEFORE.mistake(
    "two tokens before",
    "For the first head you got {got}, and {want} is right: this is the weight two places back. Which diagonal is one "
    "place back?",
)
def _two_before(A):
    return _offset(A, -2)


# Questions

RIGHT_NOUN = Exercise(
    "the noun that fits",
    lambda: [True, False, False, True],
    cases=[()],
    notice="The last two rows are nearly the same: one of them is right, and the last word had no part in it.",
)


@RIGHT_NOUN.mistake(
    "the three with a thing are wrong",
    "In one of the three with it, the word that is meant does get more. Which row would be right without being read "
    "to the end?",
)
def _things_wrong():
    return [True, False, False, False]


@RIGHT_NOUN.mistake(
    "all of them",
    "In two of them the other noun gets more. Can one row be right for both big and small, if the last word hardly "
    "changes it?",
)
def _all_right():
    return [True, True, True, True]


@RIGHT_NOUN.mistake(
    "none of them",
    "In two of them the noun that is meant gets more. Which noun agrees with the pronoun in the first?",
)
def _none_right():
    return [False, False, False, False]


@RIGHT_NOUN.mistake(
    "big and small exchanged",
    "You have big and small exchanged. In both sentences the row prefers the same noun: which one? Run the cell below "
    "and look.",
)
def _exchanged():
    return [True, False, True, False]


@RIGHT_NOUN.mistake(
    "only the street is wrong",
    "Big and small mean different nouns here, and the row hardly changes. Can both be right?",
)
def _street_wrong():
    return [True, False, True, True]


@RIGHT_NOUN.mistake(
    "the street is right",
    "With wide, the street is meant. Which of the two nouns had more weight in the figure above?",
)
def _street_right():
    return [True, True, False, True]


@RIGHT_NOUN.mistake(
    "the opposite of each",
    "Each answer is the opposite of what the rows show. Did you mark the sentences in which the noun that is meant "
    "gets less?",
)
def _opposite():
    return [False, True, True, False]


CLAIMS = Exercise(
    "claims about heads",
    lambda: [False, True, False, True],
    cases=[()],
    notice="What was measured is a preference, for some nouns in some sentences; the claims that fail say more.",
)


@CLAIMS.mistake(
    "a is taken as shown",
    "Claim a goes further than claim b. In the lists of words nobody is referred to, and what did the row do there?",
)
def _antecedent():
    return [True, True, False, True]


@CLAIMS.mistake(
    "c is taken as shown",
    "Claim c speaks of the output, and 0.95 is a weight. How long is what the weight is multiplied by?",
)
def _output():
    return [False, True, True, True]


@CLAIMS.mistake(
    "every claim",
    "Two of them say more than was measured. Which of them speak of finding, or of what an output is made of?",
)
def _every():
    return [True, True, True, True]


@CLAIMS.mistake(
    "no claim",
    "Two of them say only what the cells printed. Which two repeat a number that you have seen?",
)
def _no():
    return [False, False, False, False]


@CLAIMS.mistake(
    "d is taken as refuted",
    "Claim d compares heads with one another, for this sentence. What did the table of shifts have in first place?",
)
def _shift():
    return [False, True, False, False]


@CLAIMS.mistake(
    "b is taken as refuted",
    "Claim b allows exceptions. In how many of the sentences did the noun that fits get more than the other?",
)
def _preference():
    return [False, False, False, True]


@CLAIMS.mistake(
    "the opposite of each",
    "Each answer is the opposite of what was measured. Did you mark the claims that fail?",
)
def _turned():
    return [True, False, True, False]


ALL = [BEFORE, RIGHT_NOUN, CLAIMS]
