"""Thousands of wrong answers, made of slips; none may be called what it is not.

An answer is put together from the steps of an exercise, each done rightly or with a slip. A slip
that the catalogue knows has the catalogue's name here, any other begins with a tilde. What `check`
says to an answer with one, two or three slips must be the name of one of them, or no name at all;
and it must say the same on inputs that nobody has seen, or it was a coincidence.
"""

import functools
import itertools
import os
import random

import numpy as np
import pytest
from scipy import special

from attention_lib import causal_mask
from attention_lib.exercises.catalogue import EXERCISES
from attention_lib.exercises.engine import judge
from attention_lib.exercises.inputs import Draw

# Of each exercise; with SLIPS=all, all that there are.
MOST = None if os.environ.get("SLIPS") == "all" else 100


FINITE = "a finite number instead of minus infinity"
NO_NUMBER = "NaN everywhere, often from (1 - mask) times minus infinity"


def exp(x):
    return np.exp(x - x.max(axis=-1, keepdims=True))


def rows(x, axis=-1):
    return special.softmax(x, axis=axis)


def without_keepdims(maximum, total):
    def share(S):
        E = np.exp(S - S.max(axis=-1, keepdims=maximum))
        return E / E.sum(axis=-1, keepdims=total)

    return share


def mean_row(V, n):
    return np.tile(V.mean(axis=0), (n, 1))


def only(result, rows_=1, columns=None):
    kept = np.zeros_like(result)
    kept[:rows_, :columns] = result[:rows_, :columns]
    return kept


def filled(step):
    """Return what loops make of a matrix that is right so far."""
    return {
        "": lambda M: M,
        "an array of whole numbers": np.trunc,
        "one list in place of all rows": lambda M: np.tile(M[-1:], (len(M), 1)),
        "a return inside the loop over rows": only,
        "a return inside the inner loop": lambda M: only(M, 1, 1),
        "~turned": lambda M: M.T,
        "~from right to left": lambda M: M[:, ::-1],
        "~from bottom to top": lambda M: M[::-1],
        "~without the last row": lambda M: only(M, len(M) - 1),
        "~negative": np.negative,
        "~one more": lambda M: M + 1,
        "~rounded": lambda M: np.round(M, 1),
        "~absolute": np.abs,
        **step,
    }


COMPARED = {
    "": lambda Q, K: Q @ K.T,
    "queries and keys swapped": lambda Q, K: K @ Q.T,
    "the transpose forgotten": lambda Q, K: Q @ K,
    "the wrong matrix transposed": lambda Q, K: Q.T @ K,
    "queries compared with queries": lambda Q, K: Q @ Q.T,
    "keys compared with keys": lambda Q, K: K @ K.T,
    "elementwise product": lambda Q, K: Q * K,
    "elementwise product, summed": lambda Q, K: (Q * K).sum(axis=-1),
    "cosine instead of dot product": lambda Q, K: (
        (Q / np.linalg.norm(Q, axis=1, keepdims=True))
        @ (K / np.linalg.norm(K, axis=1, keepdims=True)).T
    ),
    "negative distance instead of dot product": lambda Q, K: (
        -((Q[:, None] - K[None]) ** 2).sum(axis=-1)
    ),
    "= for += in a loop": lambda Q, K: np.outer(Q[:, -1], K[:, -1]),
    "the sum returned after its first term": lambda Q, K: np.outer(Q[:, 0], K[:, 0]),
    "a sum that is never set back to 0": lambda Q, K: np.cumsum(Q @ K.T).reshape(len(Q), len(K)),
    "a sum that is set back to 0 once per row": lambda Q, K: np.cumsum(Q @ K.T, axis=1),
    "~the mean of products": lambda Q, K: Q @ K.T / Q.shape[1],
    "~the largest product": lambda Q, K: (Q[:, None] * K[None]).max(axis=-1),
    "~the last feature left out": lambda Q, K: Q[:, :-1] @ K[:, :-1].T,
    "~sums": lambda Q, K: Q.sum(1)[:, None] + K.sum(1),
    "~both turned": lambda Q, K: Q.T @ K.T,
    "~absolute features": lambda Q, K: abs(Q) @ K.T,
}
# In the other exercises these have no names.
COMPARED_ELSEWHERE = {
    f"~{name}"
    if name not in ("", "queries and keys swapped", "the transpose forgotten") and name[0] != "~"
    else name: step
    for name, step in COMPARED.items()
}

SHARED = {
    "": rows,
    "softmax over the columns": lambda S: rows(S, 0),
    "softmax over the whole matrix": lambda S: rows(S, None),
    "keepdims forgotten": lambda S: np.exp(S) / np.exp(S).sum(axis=-1),
    "keepdims forgotten, with the maximum subtracted": without_keepdims(True, False),
    "keepdims forgotten on the maximum": without_keepdims(False, True),
    "keepdims forgotten on maximum and sum": without_keepdims(False, False),
    "exponentials without the division": np.exp,
    "exponentials whose largest is 1, not divided by their sum": exp,
    "division by the sum, without exponentials": lambda S: S / S.sum(axis=-1, keepdims=True),
    "argmax": lambda S: (S.max(axis=-1, keepdims=True) == S) * 1.0,
    "softmax applied twice": lambda S: rows(rows(S)),
    "logarithm of the softmax": lambda S: np.log(rows(S)),
    "powers of 2 instead of e": lambda S: rows(S * np.log(2)),
    "softmax of the negative scores": lambda S: rows(-S),
    "a sigmoid of each score": special.expit,
    "one maximum per column": lambda S: (e := np.exp(S - S.max(0))) / e.sum(axis=-1, keepdims=True),
    "no maximum subtracted": lambda S: (e := np.exp(S)) / e.sum(axis=-1, keepdims=True),
    "one maximum for the whole matrix": lambda S: (
        (e := np.exp(S - S.max())) / e.sum(axis=-1, keepdims=True)
    ),
    "a sum that is never set back to 0": lambda S: (
        (e := np.exp(S)) / np.cumsum(e.sum(axis=-1))[:, None]
    ),
    "a sum that is used before it is complete": lambda S: (e := np.exp(S)) / np.cumsum(e, axis=-1),
    "~divided by the maximum": lambda S: (e := np.exp(S)) / e.max(axis=-1, keepdims=True),
    "~the mean for the sum": lambda S: (e := np.exp(S)) / e.mean(axis=-1, keepdims=True),
    "~powers of 10": lambda S: rows(S * np.log(10)),
    "~half the scores": lambda S: rows(S / 2),
    "~squares": lambda S: S**2 / (S**2).sum(axis=-1, keepdims=True),
    "~rectified": lambda S: (e := np.maximum(S, 0)) / (e.sum(axis=-1, keepdims=True) + 1e-9),
    "the mean of the values": lambda S: np.full_like(S, 1 / S.shape[1]),
    "~absolute scores": lambda S: rows(abs(S)),
    "~a maximum added": lambda S: np.exp(S + S.max(axis=-1, keepdims=True)),
    "~one column less": lambda S: rows(S[:, :-1]),
}


# What comes to the same numbers as a mistake by another way, and is told so in its sentence.
SAME = {
    ("attention", "no scaling"): [("~less the root",), ("~the mean of products", "~times d_k")],
    ("attention", "softmax over the columns"): [
        ("queries and keys swapped", "the weights transposed")
    ],
    ("attention", "d_k fixed at 4"): [("no scaling", "~half the scores")],
    ("attention", "a power of 1/2 without brackets"): [
        ("scaled by d_k instead of its root", "~half the scores")
    ],
    ("from scores to output", "softmax after the mixing"): [
        ("mixed with the scores", "~softmax on top")
    ],
    ("from scores to output", "the values transposed"): [
        ("the weights transposed", "~V A instead of A V", "~turned")
    ],
    ("weighted values", "the values transposed"): [
        ("the weights transposed", "V A instead of A V", "the output transposed")
    ],
    ("weighted values", "the value of the strongest key"): [("~argmax", "~the best alone")],
    ("scores", "queries and keys swapped"): [("~turned",)],
    ("scores", "scaled already"): [("~the mean of products", "~multiplied by the root of d_k")],
    ("softmax", "exponentials whose largest is 1, not divided by their sum"): [
        ("~divided by the maximum",)
    ],
    ("softmax", "argmax"): [
        ("exponentials whose largest is 1, not divided by their sum", "an array of whole numbers"),
        ("~divided by the maximum", "an array of whole numbers"),
    ],
    ("softmax", "softmax over the columns"): [("~turned", "~turned")],
    ("softmax jacobian", "the off-diagonal terms with the wrong sign"): [("~absolute",)],
    ("softmax jacobian", "the sign reversed"): [("~negative",)],
    ("softmax jacobian", "the diagonal alone"): [
        ("the square taken off twice on the diagonal", "~nothing"),
        ("the square taken off twice on the diagonal", "~ones", "~one more"),
    ],
    ("softmax jacobian", "a_j (1 - a_k) everywhere"): [("~no matrix", "~turned")],
    ("softmax jacobian", "a vector instead of a matrix"): [
        ("~no matrix", "squares in place of the outer product")
    ],
    ("softmax jacobian", "squares in place of the outer product"): [
        ("~squares in columns", "~turned")
    ],
    ("gradient of the scores", "the sign reversed"): [("~negative",)],
    ("gradient of the scores", "the average forgotten"): [
        ("~weights alone", "~brackets", "~one more")
    ],
    ("gradient of the scores", "no way back through the softmax"): [
        ("the average forgotten", "the weight in front forgotten")
    ],
    ("attention with a mask", "no softmax"): [("~none",)],
    ("attention with a mask", f"{FINITE}, and empty rows mended"): [(FINITE,)],
    ("attention with a mask", "a finite number added instead of minus infinity"): [
        ("~a finite number added",)
    ],
    ("attention with a mask", "no scaling"): [
        ("~less the root",),
        ("~the mean of products", "~times d_k"),
    ],
    ("attention with a mask", "d_k fixed at 4"): [("no scaling", "~half the scores")],
    ("scores of a batch", "queries and keys swapped"): [("~turned",)],
    ("scores of a batch", ".T on a batch"): [("~first and last",)],
    ("masked weights", "the mask added as 0 and 1"): [("~the mask less 1",)],
    ("masked weights", "an even row where nothing may be seen"): [
        ("~the lowest float", "0 / 0 where nothing may be seen")
    ],
    ("masked weights", "everything open where nothing may be seen"): [
        ("~opened", "0 / 0 where nothing may be seen")
    ],
    ("masked weights", f"{FINITE}, and empty rows mended"): [(FINITE,)],
    ("masked weights", "a finite number added instead of minus infinity"): [
        ("~a finite number added", "0 / 0 where nothing may be seen")
    ],
}
# Their names say which cells are open, by whatever slips: only a coincidence would be false.
DESCRIBED = {"causal mask", "padding mask"}
# Their sentences say what all numbers are, and the usual causes; nothing more can be known.
SAYS_WHAT_COMES = {"zeros alone", NO_NUMBER}


def elsewhere(known, steps=SHARED):
    """Return steps with the names that another exercise knows, all others with a tilde."""
    known = known - {"a sum that is never set back to 0"}  # which is another sum there
    return {
        name if name == "" or name in known or name[0] == "~" else f"~{name}": step
        for name, step in steps.items()
        # Right where no scores are extreme.
        if name
        not in (
            "no maximum subtracted",
            "one maximum for the whole matrix",
            "one maximum per column",
        )
    }


def mixed(**names):
    return {
        "": lambda A, V: A @ V,
        "the values transposed": lambda A, V: A @ V.T,
        "the mean of the values": lambda A, V: mean_row(V, len(A)),
        "~V A instead of A V": lambda A, V: V @ A,
        "~the sum of the values": lambda A, V: len(V) * mean_row(V, len(A)),
        "~the largest value": lambda A, V: np.tile(V.max(axis=0), (len(A), 1)),
        "~the value of the strongest key": lambda A, V: V[A.argmax(axis=-1)],
        "~the weighted sum divided by the number of keys": lambda A, V: A @ V / A.shape[1],
        "~elementwise product": lambda A, V: A * V,
        "~the best alone": lambda A, V: A.max(axis=1, keepdims=True) * V[A.argmax(axis=1)],
        "~values first to last": lambda A, V: A @ V[::-1],
        "~values added": lambda A, V: A @ V + V,
        "~= for += in a loop": lambda A, V: np.outer(A[:, -1], V[-1]),
        "~the sum returned after its first term": lambda A, V: np.outer(A[:, 0], V[0]),
        "~a sum that is never set back to 0": lambda A, V: np.cumsum(A @ V).reshape(len(A), -1),
        "~a sum that is set back to 0 once per row": lambda A, V: np.cumsum(A @ V, axis=1),
    }


def named(exercise, steps):
    """Take the tilde from what this exercise knows by name."""
    known = {mistake.name for mistake in EXERCISES[exercise].mistakes}
    return {name[1:] if name[1:] in known else name: step for name, step in steps.items()}


TURNED = {"": lambda A: A, "the weights transposed": lambda A: A.T}


def root(number):
    return number**0.5


SCALED = {
    "": lambda S, d_k, n_q, n_k, d_v: S / root(d_k),
    "no scaling": lambda S, *_: S,
    "scaled by d_k instead of its root": lambda S, d_k, *_: S / d_k,
    "multiplied by the root of d_k": lambda S, d_k, *_: S * root(d_k),
    "a power of 1/2 without brackets": lambda S, d_k, *_: S / d_k / 2,
    "d_k fixed at 4": lambda S, *_: S / 2,
    "the number of keys instead of d_k": lambda S, d_k, n_q, n_k, d_v: S / root(n_k),
    "the number of queries instead of d_k": lambda S, d_k, n_q, n_k, d_v: S / root(n_q),
    "the width of the values instead of d_k": lambda S, d_k, n_q, n_k, d_v: S / root(d_v),
    "~the number of keys, no root": lambda S, d_k, n_q, n_k, d_v: S / n_k,
    "~the number of queries, no root": lambda S, d_k, n_q, n_k, d_v: S / n_q,
    "~the number of entries": lambda S, *_: S / root(S.size),
    "~d_k squared": lambda S, d_k, *_: S / d_k**2,
    "~times d_k": lambda S, d_k, *_: S * d_k,
    "~less the root": lambda S, d_k, *_: S - root(d_k),
    "~the root of the scores": lambda S, d_k, *_: np.sqrt(S) / d_k,
    "~fixed at 64": lambda S, *_: S / 8,
    "~fixed at 2": lambda S, *_: S / root(2),
    "~the third root": lambda S, d_k, *_: S / d_k ** (1 / 3),
    "~the logarithm": lambda S, d_k, *_: S / np.log(d_k),
    "~the spread": lambda S, *_: S / S.std(),
}


def attention(compare, scale, share, turn, mix, fill):
    def answer(Q, K, V):
        S = scale(compare(Q, K), Q.shape[1], len(Q), len(K), V.shape[1])
        return fill(mix(turn(share(S)), V))

    return answer


def output(share, turn, mix, fill):
    return lambda S, V: fill(mix(turn(share(S)), V))


def weighted(share, turn, mix, fill):
    return lambda A, V: fill(mix(turn(share(A)), V))


def scores(compare, scale, fill):
    return lambda Q, K: fill(scale(compare(Q, K), Q.shape[1], len(Q), len(K), 11))


def scaling(scale, fill):
    return lambda S, d_k: fill(scale(S, d_k, *S.shape, 11))


def softmax(scale, share, fill):
    return lambda S: fill(share(scale(S)))


def entropy(log, multiply, total, sign):
    def answer(A):
        return sign(total(multiply(A, log(A))))

    return answer


def heads(compare, scale, fill):
    def answer(Q, K):
        return fill(scale(compare(Q, K), *Q.shape))

    return answer


def batch(order, turn, multiply, fill):
    def answer(Q, K):
        Q, K = order(Q, K)
        return fill(multiply(Q, turn(K)))

    return answer


def masked(hide, share, mend):
    return lambda S, mask: mend(share(hide(S, mask)), S, mask)


def causal(sizes, compare, turn):
    def answer(n_q, n_k):
        rows_, columns = sizes(n_q, n_k)
        i, j = np.arange(rows_)[:, None], np.arange(columns)
        return turn(compare(i, j, rows_, columns))

    return answer


def padding(count, compare, place, turn):
    def answer(lengths, n_k):
        return turn(place(compare(count(n_k), lengths[:, None])))

    return answer


def jacobian(diagonal, off, combine, fill):
    return lambda a: fill(combine(diagonal(a), off(a)))


def gradient(weigh, average, combine, fill):
    return lambda A, dA: fill(combine(A, dA, average(weigh(A, dA))))


def masked_attention(compare, scale, hide, share, mix, fill):
    def answer(Q, K, V, mask):
        S = scale(compare(Q, K), Q.shape[1], len(Q), len(K), V.shape[1])
        A = share(hide(S, mask))
        A = np.where(mask.any(axis=-1, keepdims=True), A, 0) if A.shape == mask.shape else A
        return fill(mix(A, V))

    return answer


PLAIN = {"": lambda S: S, "~doubled": lambda S: 2 * S, "~shifted": lambda S: S + 1}
STEPS_OF_HEADS = {
    "": lambda S, h, n, d: S / root(d),
    "no scaling": lambda S, h, n, d: S,
    "divided by d_k": lambda S, h, n, d: S / d,
    "multiplied by the root of d_k": lambda S, h, n, d: S * root(d),
    "scaled by the model width": lambda S, h, n, d: S / root(h * d),
    "scaled by the number of heads": lambda S, h, n, d: S / root(h),
    "scaled by the number of tokens": lambda S, h, n, d: S / root(n),
    "~heads, no root": lambda S, h, n, d: S / h,
    "~tokens, no root": lambda S, h, n, d: S / n,
    "~all features, no root": lambda S, h, n, d: S / (h * d),
    "~tokens and features": lambda S, h, n, d: S / root(n * d),
    "~heads and tokens": lambda S, h, n, d: S / root(h * n),
    "~width by heads": lambda S, h, n, d: S / root(d / h),
    "~everything": lambda S, h, n, d: S / root(h * n * d),
    "~d_k squared": lambda S, h, n, d: S / d**2,
    "a power of 1/2 without brackets": lambda S, h, n, d: S / d / 2,
    "~fixed at 4": lambda S, h, n, d: S / 2,
    "~fixed at 64": lambda S, h, n, d: S / 8,
}
HIDDEN = {
    "": lambda S, mask: np.where(mask, S, -np.inf),
    "polarity reversed": lambda S, mask: np.where(mask, -np.inf, S),
    "scores multiplied by 0": lambda S, mask: S * mask,
    "no mask": lambda S, mask: S,
    "the mask added as 0 and 1": lambda S, mask: S + mask,
    FINITE: lambda S, mask: np.where(mask, S, -1e9),
    "~a finite number added": lambda S, mask: S + np.where(mask, 0, -1e6),
    "~the lowest float": lambda S, mask: np.where(mask, S, np.finfo(float).min),
    "~opened": lambda S, mask: np.where(mask | ~mask.any(axis=-1, keepdims=True), S, -np.inf),
    "~an infinity that makes NaN": lambda S, mask: S + (1 - mask) * -np.inf,
    "~a little lower": lambda S, mask: np.where(mask, S, -5),
    "~plus infinity": lambda S, mask: np.where(mask, S, np.inf),
    "~a mask of queries": lambda S, mask: np.where(mask[:, :1], S, -np.inf),
    "~causal": lambda S, mask: np.where(causal_mask(*S.shape), S, -np.inf),
    "~one mask for all": lambda S, mask: np.where(mask[:1], S, -np.inf),
    "~the mask less 1": lambda S, mask: S + mask - 1,
}
MENDED = {
    "": lambda A, S, mask: np.where(mask.any(axis=-1, keepdims=True), A, 0),
    "0 / 0 where nothing may be seen": lambda A, S, mask: A,
    "weights multiplied by 0, and left so": lambda A, S, mask: rows(S) * mask,
    "minus infinity among the weights": lambda A, S, mask: np.where(mask, rows(S), -np.inf),
    "the scores returned instead of the weights": lambda A, S, mask: np.where(mask, S, -np.inf),
    "~weights less 1": lambda A, S, mask: A - ~mask,
    "~one where nothing may be seen": lambda A, S, mask: np.where(
        mask.any(-1, keepdims=True), A, 1
    ),
    "~even among the visible": lambda A, S, mask: mask / mask.sum(axis=-1, keepdims=True),
}
LOGARITHMS = {
    "": lambda A: np.log(np.where(A > 0, A, 1)),
    "0 times the logarithm of 0": np.log,
    "logarithm to base 2": lambda A: np.log2(np.where(A > 0, A, 1)),
    "logarithm to base 10": lambda A: np.log10(np.where(A > 0, A, 1)),
    "~the logarithm of 1 + a": np.log1p,
    "~the exponential": np.exp,
    "~no logarithm": lambda A: A,
    "~the root": np.sqrt,
}
COUNTED = {
    "": lambda i, j, n, m: j <= i,
    "the diagonal hidden": lambda i, j, n, m: j < i,
    "the future let in": lambda i, j, n, m: j >= i,
    "polarity reversed": lambda i, j, n, m: j > i,
    "one key too many": lambda i, j, n, m: j <= i + 1,
    "aligned at the bottom right": lambda i, j, n, m: j <= i + m - n,
    "the diagonal alone": lambda i, j, n, m: i == j,
    "everything open": lambda i, j, n, m: i + j >= 0,
    "~everything closed": lambda i, j, n, m: i + j < 0,
    "~all but the diagonal": lambda i, j, n, m: i != j,
    "~the other diagonal": lambda i, j, n, m: i + j < m,
    "~one key too few": lambda i, j, n, m: j <= i - 2,
    "~two keys": lambda i, j, n, m: (j <= i) & (j >= i - 1),
    "~keys alone": lambda i, j, n, m: (j < n) & (i >= 0),
}


def untold(exercise, steps):
    """Put a tilde before what this exercise does not know by name."""
    known = {mistake.name for mistake in EXERCISES[exercise].mistakes}
    return {
        name if name == "" or name[0] == "~" or name in known else f"~{name}": step
        for name, step in steps.items()
    }


GRAMMARS = {
    "softmax jacobian": (
        jacobian,
        {
            "": np.diag,
            "1 instead of a on the diagonal": lambda a: np.eye(len(a)),
            "the square taken off twice on the diagonal": lambda a: np.diag(a * (1 - a)),
            "the outer product alone": lambda a: 0 * np.diag(a),
            "~squares": lambda a: np.diag(a * a),
            "~no matrix": lambda a: a,
        },
        {
            "": lambda a: np.outer(a, a),
            "a single number in place of the outer product": lambda a: a @ a.T,
            "squares in place of the outer product": lambda a: a * a,
            "~nothing": lambda a: 0 * np.outer(a, a),
            "~weights": lambda a: a,
            "~ones": lambda a: np.ones((len(a), len(a))),
            "~sums": lambda a: np.add.outer(a, a),
            "~squares in columns": lambda a: (a * a)[:, None],
        },
        {
            "": np.subtract,
            "the outer product added instead of subtracted": np.add,
            "the sign reversed": lambda one, other: other - one,
            "~product": np.multiply,
            "~as matrices": lambda one, other: one @ other,
        },
        untold("softmax jacobian", filled({})),
    ),
    "gradient of the scores": (
        gradient,
        {
            "": lambda A, dA: A * dA,
            "the plain average instead of the weighted one": lambda A, dA: dA / A.shape[-1],
            "~weights alone": lambda A, dA: A,
            "~squares": lambda A, dA: A * A * dA,
            "~as matrices": lambda A, dA: A @ dA.T,
        },
        {
            "": lambda M: M.sum(axis=-1, keepdims=True),
            "keepdims forgotten": lambda M: M.sum(axis=-1),
            "the average over the columns": lambda M: M.sum(axis=0, keepdims=True),
            "the average forgotten": lambda M: 0,
            "~of everything": np.sum,
            "~mean": lambda M: M.mean(axis=-1, keepdims=True),
            "~the largest": lambda M: M.max(axis=-1, keepdims=True),
        },
        {
            "": lambda A, dA, mean: A * (dA - mean),
            "the softmax differentiated entry by entry": lambda A, dA, mean: A * (1 - A) * dA,
            "the weight in front forgotten": lambda A, dA, mean: dA - mean,
            "the weighted average alone": lambda A, dA, mean: A * mean,
            "the sign reversed": lambda A, dA, mean: A * (mean - dA),
            "no way back through the softmax": lambda A, dA, mean: dA,
            "~added": lambda A, dA, mean: A * (dA + mean),
            "~brackets": lambda A, dA, mean: A * dA - mean,
            "~divided": lambda A, dA, mean: (dA - mean) / A,
            "~dA in front": lambda A, dA, mean: dA * (A - mean),
        },
        filled({}),
    ),
    "attention with a mask": (
        masked_attention,
        untold("attention with a mask", COMPARED),
        untold("attention with a mask", SCALED),
        {
            {"no mask": "the mask left out"}.get(name, name): step
            for name, step in HIDDEN.items()
            if name not in ("an even row where nothing may be seen",)
        },
        {
            "": rows,
            "softmax over the columns": lambda S: rows(S, 0),
            "~the whole matrix": lambda S: rows(S, None),
            "~twice": lambda S: rows(rows(S)),
            "~no division": np.exp,
            "~none": lambda S: np.where(np.isfinite(S), S, 0),
        },
        untold("attention with a mask", mixed())
        | {"the weights returned instead of the output": lambda A, V: A},
        filled({}),
    ),
    "attention": (
        attention,
        COMPARED_ELSEWHERE,
        {
            **SCALED,
            # What is divided later goes into the softmax as it is.
        },
        elsewhere({m.name for m in EXERCISES["attention"].mistakes}) | {"no softmax": lambda S: S},
        TURNED,
        named("attention", mixed())
        | {"the weights returned instead of the output": lambda A, V: A},
        named("attention", filled({})),
    ),
    "from scores to output": (
        output,
        elsewhere({m.name for m in EXERCISES["from scores to output"].mistakes})
        | {"mixed with the scores": lambda S: S},
        TURNED,
        named("from scores to output", mixed())
        | {"the weights returned instead of the output": lambda A, V: A},
        named("from scores to output", filled({"~softmax on top": rows})),
    ),
    "weighted values": (
        weighted,
        {
            "": lambda A: A,
            "softmax applied to the weights": rows,
            "~over the columns": lambda A: rows(A, 0),
            "~argmax": lambda A: (A.max(axis=-1, keepdims=True) == A) * 1.0,
            "~squared": np.square,
            "~logarithms": np.log,
            "the mean of the values": lambda A: np.full_like(A, 1 / A.shape[1]),
            "~complement": lambda A: 1 - A,
            "~reversed": lambda A: A[:, ::-1],
            "~rounded": np.round,
        },
        TURNED,
        named("weighted values", mixed()),
        named(
            "weighted values",
            {"the output transposed" if k == "~turned" else k: v for k, v in filled({}).items()},
        ),
    ),
    "scores": (
        scores,
        COMPARED,
        {"": lambda S, *_: S, "scaled already": lambda S, d_k, *_: S / root(d_k)}
        | {f"~{name}": step for name, step in SCALED.items() if name not in ("", "no scaling")},
        filled({}),
    ),
    "scaling": (
        scaling,
        {
            {
                "scaled by d_k instead of its root": "divided by d_k",
                "the width of the values instead of d_k": "~the root of 11",
                "d_k fixed at 4": "~fixed at 4",
                "~d_k squared": "divided by the square of d_k",
                "~times d_k": "multiplied by d_k",
                "~the spread": "divided by the spread of the scores",
            }.get(name, name): step
            for name, step in SCALED.items()
        }
        | {"a whole division": lambda S, d_k, *_: S // root(d_k)},
        {
            f"~{name}" if name and name[0] != "~" else name: step
            for name, step in filled({}).items()
        },
    ),
    "softmax": (softmax, PLAIN | {"~turned": lambda S: S.T}, SHARED, filled({})),
    "scaling of heads": (
        heads,
        {
            "": lambda Q, K: Q @ K.mT,
            "~keys first": lambda Q, K: K @ Q.mT,
            "~queries alone": lambda Q, K: Q @ Q.mT,
            "~all axes": lambda Q, K: Q @ K.T,
            "~one head": lambda Q, K: np.broadcast_to(
                Q[:1] @ K[:1].mT, Q.shape[:1] + (Q.shape[1],) * 2
            ),
            "~heads added": lambda Q, K: (Q @ K.mT).sum(axis=0),
        },
        STEPS_OF_HEADS,
        {"": lambda S: S, "~turned": lambda S: S.mT, "~weights": rows, "~negative": np.negative},
    ),
    "scores of a batch": (
        batch,
        {
            "": lambda Q, K: (Q, K),
            "queries and keys swapped": lambda Q, K: (K, Q),
            "~queries alone": lambda Q, K: (Q, Q),
            "~keys alone": lambda Q, K: (K, K),
        },
        {
            "": lambda K: K.mT,
            ".T on a batch": lambda K: K.T,
            "the first two axes swapped": lambda K: np.swapaxes(K, 0, 1),
            "reshaped instead of transposed": lambda K: K.reshape(len(K), K.shape[2], K.shape[1]),
            "the transpose forgotten": lambda K: K,
            "~first and last": lambda K: np.swapaxes(K, 0, 2),
            "~the first sentence": lambda K: K[:1].mT,
            "~the last sentence first": lambda K: K[::-1].mT,
            "~keys backwards": lambda K: K[:, ::-1].mT,
            "~features backwards": lambda K: K[:, :, ::-1].mT,
        },
        {
            "": np.matmul,
            "~elementwise": np.multiply,
            "~dot": np.dot,
            "~all with all": lambda Q, K: np.tensordot(Q, K, axes=(2, 1)),
            "~scaled": lambda Q, K: Q @ K / root(Q.shape[2]),
        },
        {
            "": lambda S: S,
            "~turned": lambda S: S.mT,
            "~added": lambda S: S.sum(axis=0),
            "~mean": lambda S: S / len(S),
        },
    ),
    "entropy": (
        entropy,
        LOGARITHMS,
        {
            "": np.multiply,
            "~no weights": lambda A, L: L,
            "~divided": lambda A, L: A / L,
            "~weights added": np.add,
        },
        {
            "": lambda E: E.sum(axis=-1),
            "the mean instead of the sum": lambda E: E.mean(axis=-1),
            "the sum over the columns": lambda E: E.sum(axis=0),
            "one number for the whole matrix": np.sum,
            "= for += in a loop": lambda E: E[:, -1],
            "the sum returned after its first term": lambda E: E[:, 0],
            "a sum that is never set back to 0": lambda E: np.cumsum(E.sum(axis=-1)),
            "~the largest": lambda E: E.max(axis=-1),
            "~one mean": np.mean,
            "~kept as a column": lambda E: E.sum(axis=-1, keepdims=True),
            "~all but the last": lambda E: E[:, :-1].sum(axis=-1),
        },
        {
            "": np.negative,
            "the sign forgotten": np.positive,
            "~absolute": np.abs,
            "~its exponential": np.exp,
            "~in parts of the largest": lambda H: -H / np.max(np.abs(H)),
        },
    ),
    "masked weights": (
        masked,
        HIDDEN,
        {
            "": rows,
            "softmax over the columns": lambda S: rows(S, 0),
            "no maximum subtracted": lambda S: (e := np.exp(S)) / e.sum(axis=-1, keepdims=True),
            "~the whole matrix": lambda S: rows(S, None),
            "~twice": lambda S: rows(rows(S)),
            "~negative": lambda S: rows(-S),
            "~no division": np.exp,
            "~argmax": lambda S: (S.max(axis=-1, keepdims=True) == S) * 1.0,
            "~a sigmoid": special.expit,
        },
        MENDED,
    ),
    "causal mask": (
        causal,
        {
            "": lambda n_q, n_k: (n_q, n_k),
            "n_q for both sizes": lambda n_q, n_k: (n_q, n_q),
            "n_k for both sizes": lambda n_q, n_k: (n_k, n_k),
            "n_q and n_k exchanged": lambda n_q, n_k: (n_k, n_q),
            "~one query more": lambda n_q, n_k: (n_q + 1, n_k),
            "~one key more": lambda n_q, n_k: (n_q, n_k + 1),
        },
        COUNTED,
        {
            "": lambda M: M,
            "the mask transposed": lambda M: M.T,
            "~not": np.invert,
            "~from right to left": lambda M: M[:, ::-1],
            "~from bottom to top": lambda M: M[::-1],
            "~as numbers": lambda M: M * 1.0,
            "~as whole numbers": lambda M: M * 1,
            "~minus infinity": lambda M: np.where(M, 0, -np.inf),
        },
    ),
    "padding mask": (
        padding,
        {
            "": np.arange,
            "~from 1": lambda n_k: np.arange(1, n_k + 1),
            "~one more": lambda n_k: np.arange(n_k + 1),
            "~backwards": lambda n_k: np.arange(n_k)[::-1],
        },
        {
            "": np.less,
            "one key too many": np.less_equal,
            "~equal": np.equal,
            "~more": np.greater,
            "polarity reversed": np.greater_equal,
            "one key too few": lambda j, n: j < n - 1,
            "~not equal": np.not_equal,
        },
        {
            "": lambda M: M[:, None, :],
            "no query axis": lambda M: M,
            "queries hidden instead of keys": lambda M: M[:, :, None],
            "the query axis in front": lambda M: M[None],
            "padding hidden from the padding too": lambda M: M[:, :, None] & M[:, None],
            "~either": lambda M: M[:, :, None] | M[:, None],
            "~for each key": lambda M: np.repeat(M[:, None], M.shape[1], axis=1),
        },
        {
            "": lambda M: M,
            "~not": np.invert,
            "padding at the front": lambda M: M[..., ::-1],
            "~as numbers": lambda M: M * 1.0,
            "~turned": lambda M: M.swapaxes(0, -1),
        },
    ),
}


def answers(exercise):
    """Return (slips, function) of every answer with one to three slips, those with few first."""
    build, *points = GRAMMARS[exercise]
    found = []
    for count in (1, 2, 3):
        of_this_count = []
        for places in itertools.combinations(range(len(points)), count):
            choices = [[name for name in points[place] if name] for place in places]
            for names in itertools.product(*choices):
                chosen = dict(zip(places, names, strict=True))
                steps = [point[chosen.get(i, "")] for i, point in enumerate(points)]
                of_this_count.append((names, build(*steps)))
        random.Random(count).shuffle(of_this_count)
        found += of_this_count
    return found if MOST is None else found[:MOST]


@functools.cache
def unseen(exercise):
    return EXERCISES[exercise].with_drawn(Draw("unseen"))


def may_be_called(exercise, slips):
    """Return the names that are true of an answer with these slips."""
    names = {
        name
        for (of, name), ways in SAME.items()
        for way in ways
        if of == exercise and all(slips.count(slip) >= way.count(slip) for slip in way)
    }
    return names | set(slips)


@pytest.mark.long
@pytest.mark.parametrize("exercise", GRAMMARS)
def test_no_slip_is_called_what_it_is_not(exercise):
    known = {mistake.name for mistake in EXERCISES[exercise].mistakes}
    falsely = []
    for slips, function in answers(exercise):
        name, true = judge(EXERCISES[exercise], function).mistake, may_be_called(exercise, slips)
        if len(slips) == 1 and slips[0] in known and name not in true:
            falsely.append((slips, "not named", name))
        elif name in SAYS_WHAT_COMES:
            continue
        elif name and name not in true and exercise not in DESCRIBED:
            falsely.append((slips, name))
        elif name and judge(unseen(exercise), function).mistake != name:
            falsely.append((slips, "by coincidence", name))
    assert not falsely, "\n".join(map(str, falsely))
