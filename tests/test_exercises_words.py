# ruff: noqa: E501 - the rows of the table are a line each
"""What a sentence of the feedback says of rows, columns, queries, keys, Q and K is so.

Every such word of every mistake's sentence must stand in a phrase of PHRASES. Beside a phrase that tells what
the mistake does stands a computation with the mistake's own function, which must agree; beside one that tells
what attention is, as "a query's (a row)", stands DEFINITION: such a phrase is right whatever the mistake does,
and with its words exchanged it is no phrase of the table. So that rows and columns, or queries and keys, cannot
change places in any sentence without being seen: the last test exchanges them in all.
"""

import copy
import re

import numpy as np
import pytest

from attention_lib import attention_steps, softmax
from attention_lib.exercises.catalogue import EXERCISES
from attention_lib.worked_example import worked_example

PAIRS = [("row", "column"), ("rows", "columns"), ("query", "key"), ("queries", "keys"), ("Q", "K"), ("n_q", "n_k")]  # fmt: skip
OTHER = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
OTHER |= {one.capitalize(): other.capitalize() for one, other in OTHER.items() if one.islower()}
WORD = re.compile(r"(?<![{\w])(" + "|".join(sorted(OTHER, key=len, reverse=True)) + r")(?![\w}])")

DEFINITION = None


class Slip:
    """A mistake at work: what it gives, beside what is right."""

    def __init__(self, exercise, mistake):
        self.exercise, self.mistake = exercise, mistake
        self.given = exercise.given

    def results(self, stages=("cases",), wrong=False):
        """Return case, result and right result of all cases that it survives; or those alone that are wrong."""
        found = []
        with np.errstate(all="ignore"):
            for stage in stages:
                for case in getattr(self.exercise, stage):
                    got, want = self.on(case), np.array(self.exercise.reference(*case))
                    if got is not None and not (wrong and close(got, want)):
                        found.append((case, got, want))
        return found

    def on(self, case):
        try:
            return np.array(self.mistake.computation(*copy.deepcopy(case)))
        except Exception:
            return None

    @property
    def value(self):
        return self.mistake.computation()

    @property
    def anywhere(self):
        return self.results(("cases", "extreme", "batch"), wrong=True)

    def is_(self, other):
        """Say whether it does what another function does, on every case."""
        results = self.results()
        return bool(results) and all(close(got, other(*case)) for case, got, _ in results)

    def all(self, says):
        """Say whether something holds of every result: says(got, want, *case)."""
        results = self.results()
        return bool(results) and all(says(got, want, *case) for case, got, want in results)

    def weights(self, **changed):
        """Return the weights that it computes: where it mixes, with values that show them."""
        rng = np.random.RandomState(3)
        n_q, n_k, d_k = 4, 4, 7
        if self.square_only:
            d_k = 4
        inputs = {
            "Q": rng.randn(n_q, d_k), "K": rng.randn(n_k, d_k), "V": np.eye(n_k), "S_scaled": rng.randn(n_q, n_k),
            "A": softmax(rng.randn(n_q, n_k)), "dA": rng.randn(n_q, n_k), "mask": np.ones((n_q, n_k), bool), "d_k": d_k, "a": softmax(rng.randn(n_k)),
        } | changed  # fmt: skip
        self.inputs = inputs
        names = self.exercise.reference.__code__.co_varnames[
            : self.exercise.reference.__code__.co_argcount
        ]
        return self.on([inputs[name] for name in names])

    square_only = False


def close(one, other):
    one, other = np.asarray(one), np.asarray(other)
    return one.shape == other.shape and np.allclose(
        one.astype(float), other.astype(float), equal_nan=True
    )


def sums(axis):
    """The weights sum to 1 along this axis, and not along the other."""

    def fact(slip):
        A = slip.weights()
        return np.allclose(A.sum(axis), 1) and not np.allclose(A.sum(-3 - axis), 1)

    return fact


def each_row_meets_a_column(slip):
    """What a row of the input has goes into that column of the result, in the other rows."""
    names = slip.exercise.reference.__code__.co_varnames
    name = next(name for name in ("S_scaled", "Q", "dA") if name in names)
    before = slip.weights()
    value = slip.inputs[name].copy()
    value[2] = value[2] * 1.7 + 10 * (name != "Q")
    others = np.delete(slip.weights(**{name: value}) / before, 2, axis=0)
    grown = ~np.isclose(others / others[:, :1], 1)  # as far as it is not shared by the whole row
    return grown[:, 2].all() and not np.delete(grown, 2, axis=1).any()


def both_meet_columns(slip):
    """Maxima and sums of the rows were both used as if they stood along a row."""

    def weights(S):
        exponentials = np.exp(S - S.max(axis=-1))
        return exponentials / exponentials.sum(axis=-1)

    computed, inputs = slip.weights(), slip.inputs
    S = inputs["S_scaled"]
    if slip.exercise.name == "attention":
        S = inputs["Q"] @ inputs["K"].T / np.sqrt(inputs["Q"].shape[-1])
    return close(computed, weights(S))


def rows_alike(slip):
    return slip.all(lambda got, want, *_: got.ndim > 1 and (len(got) == 1 or close(got, np.broadcast_to(got[..., -1:, :], got.shape)))) and any(
        not close(got, np.broadcast_to(got[..., -1:], got.shape)) for _, got, _ in slip.results()
    )  # fmt: skip


def root_of(axis):
    """Only this axis of the scores sets the scale: with twice as many of it, scores shrink by the root of 2."""

    def fact(slip):
        rng = np.random.RandomState(0)
        if slip.exercise.name == "scaling":
            return slip.is_(lambda S, d_k: S / np.sqrt(S.shape[axis]))
        right = slip.exercise.reference
        case = [rng.randn(3, 7), rng.randn(5, 7), rng.randn(5, 2)]
        case += [np.ones((3, 5), bool)] * (slip.exercise.name == "attention with a mask")
        scaled = [case[0] * np.sqrt(7 / (3, 5)[axis]), *case[1:]]
        return close(slip.on(case), right(*scaled))

    return fact


def without(name):
    """The argument of that name makes no difference."""

    def fact(slip):
        slip.square_only = True
        before = slip.weights()
        return close(slip.weights(**{name: slip.inputs[name] + 1}), before)

    return fact


def value_is(*names, times=False):
    """The answer to a question is the number, the numbers or the product of what it gives."""

    def fact(slip):
        numbers = tuple(slip.given[name] for name in names)
        return slip.value == (np.prod(numbers) if times else numbers if len(numbers) > 1 else numbers[0])  # fmt: skip

    return fact


def hidden(says):
    """What it gives to hidden keys, in every case with some: says(their weights, those of the others)."""

    def fact(slip):
        found = []
        for case, got, _ in slip.results(("cases", "extreme"), wrong=True):
            mask = (
                case[-1] & np.ones(got.shape[-2:], bool)
                if slip.exercise.name == "masked weights"
                else None
            )
            if mask is not None and (~mask).any() and mask.any(axis=-1).all():
                found.append(bool(says(got[~mask], got[mask])))
        return all(found) and (bool(found) or slip.exercise.name != "masked weights")

    return fact


def wrong_where_nothing_is_seen(slip):
    """Its wrong rows are those of queries that may see nothing."""
    results = slip.results(("cases", "extreme"), wrong=True)
    for case, got, want in results:
        empty = ~(case[-1] & np.ones((len(got), case[-1].shape[-1]), bool)).any(axis=-1)
        if not empty.any() or not close(got[~empty], want[~empty]):
            return False
    return bool(results)


def mask_of(says):
    """A boolean result: says(it, the right one, n_q or lengths, n_k) in all square cases, or all there are."""
    return lambda slip: slip.all(says)


def on_square(says):
    def fact(slip):
        found = [says(got, want) for (n_q, n_k), got, want in slip.results() if n_q == n_k]
        return bool(found) and all(found)

    return fact


def first_row_right(slip):
    found = slip.results(wrong=True)
    return bool(found) and all(close(got[0], want[0]) for _, got, want in found if got.ndim > 1 and len(got) > 1)  # fmt: skip


def turned(slip):
    """It mixes with the columns of the weights: what values that show the weights give is the transpose."""
    rng = np.random.RandomState(3)
    if slip.exercise.name == "weighted values":
        A = softmax(rng.randn(4, 4))
        return close(slip.on([A, np.eye(4)]), A.T)
    if slip.exercise.name == "from scores to output":
        S = rng.randn(4, 4)
        return close(slip.on([S, np.eye(4)]), softmax(S).T)
    Q, K = rng.randn(4, 7), rng.randn(4, 7)
    return close(slip.on([Q, K, np.eye(4)]), attention_steps(Q, K, np.eye(4)).A.T)


def row_is_of_a_key(slip):
    if slip.exercise.name == "attention":
        rng = np.random.RandomState(3)
        Q, K = rng.randn(4, 7), rng.randn(4, 7)
        return close(slip.on([Q, K, np.eye(4)]), attention_steps(K, Q, np.eye(4)).A)
    return slip.all(lambda got, want, Q, K: close(got, np.swapaxes(want, -1, -2)))


def argmax_of_weights(says):
    def fact(slip):
        tokens, *_, Q, K, V = worked_example()
        return says(slip.value, tokens, attention_steps(Q, K, V).A)

    return fact


def of_the_key(index):
    """The term of this key alone: of an entropy -a ln a in that column, of an output its weighted value."""

    def term(A, V=None):
        return -(A * np.log(A))[:, index] if V is None else A[:, [index]] @ V[[index]]

    return lambda slip: slip.is_(lambda A, *V: term(softmax(A) if "scores" in slip.exercise.name else A, *V))  # fmt: skip


def depends_on_mask(slip):
    return slip.is_(lambda Q, K, V, mask: attention_steps(Q, K, V).output)


def far_apart(axis):
    """It fails where the scores lie over 700 apart: those of one row (axis 1), or the best of two rows (0)."""

    def fact(slip):
        spreads = [
            np.ptp(case[0], axis=1).max() if axis else np.ptp(case[0].max(axis=1))
            for case, _, _ in slip.anywhere if case[0].ndim == 2
        ]  # fmt: skip
        return bool(spreads) and min(spreads) > 700

    return fact


def controls(first, second):
    """A report in which the rows of this kind reach as much as the trained ones is what this answer has missed."""

    def fact(slip):
        reports = slip.given["measured"].values()
        kinds = {"even": [r[0] for r in reports], "frozen": [r[1] for r in reports], "trained": [r[2] for r in reports]}  # fmt: skip
        went_by = [trained > other for other, trained in zip(kinds[first], kinds["trained"], strict=True)]  # fmt: skip
        missed = [a >= t and said for a, t, said in zip(kinds[second], kinds["trained"], slip.value, strict=True)]  # fmt: skip
        return list(slip.value) == went_by and any(missed)

    return fact


def tiles(count):
    """Each block of queries counts so many tiles: count(what its queries see of each tile of keys, as booleans)."""

    def fact(slip):
        def computed(n_q, n_k, tile, offset):
            seen = np.tri(n_q, n_k, offset, dtype=bool)
            return np.array(
                [
                    sum(count(seen[r : r + tile, c : c + tile]) for c in range(0, n_k, tile))
                    for r in range(0, n_q, tile)
                ]
            )

        return slip.is_(computed)

    return fact


def last_query_sees(slip):
    """A number for each block of queries: how many keys its last query sees."""

    def computed(n_q, n_k, tile, offset):
        seen = np.tri(n_q, n_k, offset).sum(axis=-1)
        return np.array([seen[r : r + tile][-1] for r in range(0, n_q, tile)])

    return slip.is_(computed)


def with_offset_of_the_last_queries(slip):
    results = slip.results()
    same = [close(got, want) for (n_q, n_k, _, offset), got, want in results if n_k - n_q == offset]
    taken = lambda n_q, n_k, tile, offset: slip.exercise.reference(n_q, n_k, tile, n_k - n_q)  # noqa: E731
    return all(same) and slip.is_(taken)


def beyond_the_last_key(slip):
    """It is wrong, and too large, only where the last query of a block stands behind the last key."""
    return all(
        (
            (got > want) <= (np.minimum(np.arange(0, n_q, tile) + tile, n_q) - 1 + offset >= n_k)
        ).all()
        for (n_q, n_k, tile, offset), got, want in slip.results(wrong=True)
    )


def only_in_a_last_tile_that_is_not_full(slip):
    return all(
        case[0] % case[2] and close(got[:-1], want[:-1])
        for case, got, want in slip.results(wrong=True)
    )


# A phrase, and what must be so where a sentence has it.
PHRASES = [
    # Placeholders of evidence.py: row_sums sums along rows.
    (r"[Yy]our columns sum to \{column_sums\}", sums(-2)),
    (r"\b[Yy]?o?u?r?(its)? ?rows (sum )?to \{row_sums\}", DEFINITION),
    (r"your rows sum to 1\b|Your rows sum to 1\b", lambda slip: slip.all(lambda got, *_: np.allclose(got.sum(-1), 1))),
    (r"[Rr]ow by row you allow \{row_sums\} keys", mask_of(lambda got, *_: got.dtype == bool and got.ndim == 2)),
    (r"You let \{row_sums\} keys be seen", mask_of(lambda got, *_: got.dtype == bool)),
    # Rows of the result.
    (r"All your rows are (the last one|alike)", rows_alike),
    (r"repeats the same row|How does each row get a list", rows_alike),
    (r"whatever the query", rows_alike),
    (r"Every row of yours is one-hot", lambda slip: slip.all(lambda got, *_: ((got == 1).sum(-1) == 1).all())),
    (r"the best key takes everything", lambda slip: slip.all(lambda got, want, *_: (got.argmax(-1) == want.argmax(-1)).all() and (got.max(-1) == 1).all())),
    (r"Each of your rows is a copy of one value", lambda slip: slip.all(lambda got, want, A, V: all(any(close(row, v) for v in V) for row in got))),
    (r"the strongest key takes all", lambda slip: slip.is_(lambda A, V: V[A.argmax(axis=-1)])),
    (r"Right on rows without zeros", lambda slip: bool(slip.anywhere) and all(((case[0] == 0).any(-1) == ~np.isclose(got, want)).all() for case, got, want in slip.anywhere)),
    (r"[Tt]he first row is right", first_row_right),
    (r"the sum of the row before ended", first_row_right),
    (r"the last number of each row is right", lambda slip: slip.all(lambda got, want, *_: np.allclose(got[..., -1], want[..., -1]))),
    (r"within a row each sum starts where the one before ended", lambda slip: slip.all(lambda got, want, *_: np.allclose(got[..., 0], want[..., 0]) and np.allclose(np.diff(got, axis=-1), want[..., 1:]))),
    (r"the largest number of each is 1", lambda slip: slip.all(lambda got, *_: np.allclose(got.max(-1), 1))),
    (r"each row was divided by its largest exponential", lambda slip: slip.is_(lambda S: np.exp(S) / np.exp(S).max(axis=-1, keepdims=True))),
    # Softmax along which axis.
    (r"(a softmax|the softmax ran) over the queries(?! was turned)", sums(-2)),
    (r"a softmax over the queries was turned afterwards", sums(-1)),
    (r"all queries together share one sum of 1", lambda slip: np.isclose(slip.weights().sum(), 1)),
    # keepdims.
    (r"maxima and sums of the rows were both laid along a row|so that each met a column", both_meet_columns),
    (r"(sums|maxima|averages) of the rows were laid along a row", each_row_meets_a_column),
    (r"column j was divided by the sum of row j|each (divided|was taken from) a column|each row's sum has divided a column", each_row_meets_a_column),
    (r"so that each divided a column", each_row_meets_a_column),
    (r"the maximum was taken down the columns", lambda slip: slip.is_(lambda S: np.exp(S - S.max(axis=-2, keepdims=True)) / np.exp(S - S.max(axis=-2, keepdims=True)).sum(axis=-1, keepdims=True))),
    (r"each score of a row lost another number", lambda slip: slip.all(lambda got, want, S: len(S) == 1 or not close(got, want))),
    (r"all rows have scores of similar size|Where one row scores far below another", far_apart(0)),
    (r"the scores of a row are of similar size|In a row with scores 0 and 2000", far_apart(1)),
    # Scores.
    (r"Row i of yours belongs to key i|row i of your weights belongs to key i", row_is_of_a_key),
    (r"Q and K were multiplied as they are", lambda slip: slip.is_(lambda Q, K, *V: softmax(Q @ K / np.sqrt(Q.shape[-1])) @ V[0] if V else Q @ K)),
    (r"Q and K were multiplied entry by entry", lambda slip: slip.is_(lambda Q, K: Q * K)),
    (r"which needs as many keys as features", lambda slip: all(Q.shape == K.shape[::-1] or Q.shape[-1] == K.shape[-2] for (Q, K, *_), _, _ in slip.results())),
    (r"query i met key i alone", lambda slip: slip.is_(lambda Q, K: np.array([q @ k for q, k in zip(Q, K, strict=True)]))),
    (r"Your matrix is Q Q\^T", lambda slip: slip.is_(lambda Q, K: Q @ Q.T)),
    (r"Your matrix is K K\^T", lambda slip: slip.is_(lambda Q, K: K @ K.T)),
    (r"without any key", without("K")),
    (r"without any query", without("Q")),
    (r"all three axes of K were reversed", lambda slip: slip.is_(lambda Q, K: Q @ K.transpose(2, 1, 0))),
    (r"Either A was turned, or Q and K changed places", turned),
    (r"Either Q and K changed places|, or Q and K changed places and the weights were turned", lambda slip: row_is_of_a_key(slip) or sums(-2)(slip)),
    # Scaling.
    (r"the root is that of the number of columns of S", root_of(-1)),
    (r"the root is that of the number of rows of S, the queries", root_of(-2)),
    (r"the root is that of the number of keys", root_of(1)),
    (r"the root is that of the number of queries", root_of(0)),
    (r"divided by the whole width of a query", lambda slip: slip.is_(lambda Q, K, V, mask=None: attention_steps(Q / np.sqrt(Q.shape[-1]), K, V, mask=mask).output)),
    (r"Right for queries of width 4|For queries of another width", lambda slip: all((case[0].shape[-1] == 4) == close(got, want) for case, got, want in slip.results())),
    # Mixing.
    (r"you mixed with the columns of A", turned),
    (r"a column per query", lambda slip: slip.all(lambda got, want, *_: close(got, want.T))),
    (r"you took the mean over the keys", lambda slip: slip.all(lambda got, want, A, V: close(got * A.shape[-1], want))),
    (r"too small by a factor of the number of keys", lambda slip: slip.all(lambda got, want, A: close(got * A.shape[-1], want))),
    (r"One number per column came", lambda slip: slip.all(lambda got, want, A: got.shape == A.shape[1:])),
    (r"for all queries together", lambda slip: slip.all(lambda got, want, A: got.shape == () and np.isclose(got, want.sum()))),
    (r"the term of the last key alone", of_the_key(-1)),
    (r"the term of the first key alone", of_the_key(0)),
    # Masks.
    (r"a hidden key still gets its share", hidden(lambda got, others: (got > 0).all())),
    (r"[Hh]idden keys (get nothing|have no weight)|hidden keys lost their weights", hidden(lambda got, others: (got == 0).all())),
    (r"what the hidden keys had is lost", lambda slip: slip.all(lambda got, *_: (got.sum(-1) < 1 + 1e-9).all())),
    (r"the hidden key wins", lambda slip: bool(slip.anywhere) and hidden(lambda got, others: got.sum() > 0.5)(slip)),
    (r"a hidden key still takes from it", hidden(lambda got, others: (got == 0).all() and others.sum() < 0.5)),
    (r"hidden keys score like the others|When a hidden key scores far higher", lambda slip: all(S[~mask].max() > S[mask].max() + 700 for (S, mask), _, _ in slip.results(("cases", "extreme"), wrong=True) if mask.any())),
    (r"exactly the hidden keys are seen", hidden(lambda got, others: (others == 0).all() and (got > 0).any())),
    (r"the hidden keys were mixed", lambda slip: all(close(got, slip.exercise.reference(*case[:3], ~case[3])) for case, got, _ in slip.results() if (~case[3]).any(axis=-1).all())),
    (r"put on hidden keys", lambda slip: slip.all(lambda got, *_: np.isnan(got).all())),
    (r"every query saw every key", depends_on_mask),
    (r"a query that may see nothing", wrong_where_nothing_is_seen),
    (r"its row is \{row\}", wrong_where_nothing_is_seen),
    (r"the same for each of its keys", lambda slip: all(np.ptp(got[np.argwhere(~np.isclose(got, want))[0][0]]) < 1e-9 for _, got, want in slip.results(("cases", "extreme"), wrong=True))),
    # The causal mask.
    (r"the first query sees nothing", mask_of(lambda got, *_: not got[0].any())),
    (r"query 0 sees all of them", mask_of(lambda got, *_: got[0].all())),
    (r"where both numbers are equal query 0 sees all keys", on_square(lambda got, want: got[0].all())),
    (r"query 0 already sees key 1", mask_of(lambda got, want, n_q, n_k: n_k < 2 or got[0, 1])),
    (r"each query sees itself", mask_of(lambda got, want, n_q, n_k: (got == np.eye(n_q, n_k)).all())),
    (r"Right where n_q = n_k, and for the last queries of a longer text", lambda slip: all((n_q == n_k) == close(got, want) for (n_q, n_k), got, want in slip.results())),
    (r"For 2 queries and 5 keys your mask has shape \{shape\}", lambda slip: any(case == (2, 5) and got.shape != want.shape for case, got, want in slip.results())),
    (r"How many columns does a matrix of weights have", mask_of(lambda got, want, n_q, n_k: got.shape == (n_q, n_q))),
    (r"How many rows does a matrix of weights have", mask_of(lambda got, want, n_q, n_k: got.shape == (n_k, n_k))),
    (r"What of the keys before it|Which keys come after query 0|How many should query 0 see|seen from a query", DEFINITION),
    # The padding mask.
    (r"sentence 1 hides keys from query 1", mask_of(lambda got, want, lengths, n_k: got.shape == (len(lengths), n_k))),
    (r"the padding lies along the query axis, so rows are closed and every open row still sees the padding", mask_of(lambda got, want, lengths, n_k: got.shape == (len(lengths), n_k, 1))),
    (r"should show key 0\b", mask_of(lambda got, want, lengths, n_k: want[lengths == 1, 0, 0].all() and not close(got, want))),
    (r"The number of real keys is right", mask_of(lambda got, want, *_: close(got.sum(-1), want.sum(-1)))),
    (r"at the end of your rows", mask_of(lambda got, want, *_: close(got[..., ::-1], want))),
    (r"and the sentences where the queries do", mask_of(lambda got, want, lengths, n_k: got.shape == (1, len(lengths), n_k))),
    (r"Key 0 is hidden", mask_of(lambda got, *_: not got[..., 0].any())),
    (r"as many keys after it are seen as the sentence is long", mask_of(lambda got, want, lengths, n_k: (got.sum(-1)[:, 0] == np.minimum(lengths, n_k - 1)).all())),
    (r"the rows of the padding are closed as well", mask_of(lambda got, want, lengths, n_k: got.shape == (len(lengths), n_k, n_k) and all(not m[length:].any() for m, length in zip(got, lengths, strict=True)))),
    (r"such rows are empty", mask_of(lambda got, want, lengths, n_k: not got[0, lengths[0] :].any())),
    (r"the same for every query, how many rows does it need|Which axis is missing between batch and keys|read as \(n_q, n_k\)", DEFINITION),
    # Gradients.
    (r"from every row the same squares were taken", lambda slip: slip.is_(lambda a: np.diag(a) - np.broadcast_to(a * a, (len(a), len(a))))),
    (r"The average of dA over a row was taken with equal shares", lambda slip: slip.is_(lambda A, dA: A * (dA - dA.mean(axis=-1, keepdims=True)))),
    (r"the sum of A dA ran down the columns", lambda slip: slip.is_(lambda A, dA: A * (dA - (A * dA).sum(axis=-2, keepdims=True)))),
    (r"how far each key is above the average", lambda slip: slip.is_(lambda A, dA: dA - (A * dA).sum(axis=-1, keepdims=True))),
    (r"each weight met the average of its row", lambda slip: slip.all(lambda got, want, A, dA: close(abs(got), abs(A * (A * dA).sum(axis=-1, keepdims=True))))),
    # Questions: the numbers are those that the question gives.
    (r"the shape of S and of A, a row per query and a column per key", value_is("n_q", "n_k")),
    (r"That is the shape of Q\b", value_is("n_q", "d_k")),
    (r"when a query changes: its row, one for each key", value_is("n_k")),
    (r"when a query changes: its row\.", value_is("n_k")),
    (r"the column of that key", value_is("n_q")),
    (r"A row and a column that cross|that row change as a whole", lambda slip: slip.value == slip.given["n_q"] + slip.given["n_k"] - 1),
    (r"A key has that many features", value_is("d_k")),
    (r"That is the weight of each key", lambda slip: slip.value == 1 / slip.given["n_k"]),
    (r"\{got\} is the query that attends most to the key hunt", argmax_of_weights(lambda got, tokens, A: got == tokens[A[:, tokens.index("hunt")].argmax()])),
    (r"of all, but in another row", argmax_of_weights(lambda got, tokens, A: got == tokens[A.max(axis=0).argmax()] and A.max(axis=1).argmax() != tokens.index("hunt"))),
    (r"is there a darker cell in its row", argmax_of_weights(lambda got, tokens, A: A[1].max() > A[1, tokens.index(got)])),
    (r"compared with even rows alone\. Is there a report whose frozen rows reach as much", controls("even", "frozen")),
    (r"compared with frozen rows alone\. Is there a report whose even rows reach as much", controls("frozen", "even")),
    (r"the trained rows|with a row that was never trained|a row without training|have rows that are one-hot|are the rows one-hot|Do broad rows pass", DEFINITION),
    # Heads.
    (r"this is the best of all queries", lambda slip: slip.is_(lambda A: np.diagonal(A, -1, -2, -1).max(axis=-1))),
    (r"the first query's token before is the last one", lambda slip: slip.is_(lambda A: (A[..., 0, -1] + np.diagonal(A, -1, -2, -1).sum(axis=-1)) / A.shape[-1])),
    (r"Rows are queries: which key stands before query 1|How many queries have a token before|By how many queries must the sum", DEFINITION),
    (r"Which row would be right|Can one row be right|the row prefers the same noun|the row hardly changes|what the rows show|what did the row do", DEFINITION),
    # Tiles.
    (r"Right where n_k - n_q is the offset", with_offset_of_the_last_queries),
    (r"you counted what the first query of a tile sees", tiles(lambda seen: seen[0].any())),
    (r"the tiles that its last query sees whole", tiles(lambda seen: seen[-1].all())),
    (r"it begins at the last query's own place", lambda slip: slip.is_(lambda n_q, n_k, tile, offset: slip.exercise.reference(n_q, n_k, tile, offset - 1))),
    (r"you counted the tiles of all keys", tiles(lambda seen: True)),
    (r"so many keys does a tile's last query see", last_query_sees),
    (r"you counted on behind the last key", beyond_the_last_key),
    (r"the keys to see were divided by the size of a tile and rounded down", lambda slip: slip.is_(lambda n_q, n_k, tile, offset: np.array([min(min(r + tile, n_q) + offset, n_k) // tile for r in range(0, n_q, tile)]))),
    (r"the last one has fewer queries than the others", only_in_a_last_tile_that_is_not_full),
    (r"a number for each query\b", lambda slip: slip.all(lambda got, want, n_q, *_: got.shape == (n_q,))),
    (r"if each tile of queries has its own|a tile with one key to see|How many keys stand before that of query 0|Does an earlier key hide", DEFINITION),
    # What attention is.
    (r"Whose attention is shared out, a query's \(a row\) or a key's \(a column\)|one query's or one key's|[Ii]s it a query's attention that is broad or narrow, or a key's", DEFINITION),
    (r"does (a single|each) query have to give|Does a query take the best|does the query (itself )?(take|average)", DEFINITION),
    (r"keeps? (it|them) a column|(makes|of) a row( of them)? sum to|other scores of its row|subtracted from a row\b|the sum of a row known|If one share of a row grows", DEFINITION),
    (r"a second-best key|a key without weight|Which key has the most weight|How many keys does the first query see|takes from the other keys|What is mixed, queries or values|If one key gets more|score of a key with|a key's own dA|Is there a key that such a query may attend to", DEFINITION),
    (r"[Ww]ho has a row|where do they stand in Q and K|axes of K|axis of K|a query and a key\b|one query and one key|With how many keys is a query compared|hold keys and features", DEFINITION),
    (r"How many queries compare themselves with one key|How many queries are there that meet this key|How many queries meet the key|the score of a query with key 0 know about key 1", DEFINITION),
    (r"the width of a (key|query)|the features of a query|do to the columns\?|one output per key, or one per query|Do rows belong to (queries or to features|those who ask)|is labelled Query|Which row belongs to hunt", DEFINITION),
    (r"An even row of two|sum over the keys|How many rows of weights|In how many rows does a key stand|the rest of such a row|Which rows hold a score of this key|What should such a row\b", DEFINITION),
    (r"Row i of the output belongs to query i|has a row per query|A row of A is what one query gives to all keys\. What is a column|belongs? to the keys, as the columns of A do|belongs to the keys\b", DEFINITION),
    (r"What should a row be|the rows of (A|S_scaled) sum to|weights of a row sum to|into one row of the output|to have rows that sum to 1|sum to 1, rows or columns|Which of the two counts rows|such a query take home|those of a row or of a column", DEFINITION),
    # Tiles of queries, which need tiles of keys.
    (r"How many keys stand before that of query 0|Does an earlier key hide", DEFINITION),
    (r"if each tile of queries has its own|Does a tile with one key to see", DEFINITION),
    (r"Right where n_k - n_q is the offset", lambda slip: slip.is_(lambda n_q, n_k, tile, offset: slip.exercise.reference(n_q, n_k, tile, n_k - n_q))),
    (r"you counted what the first query of a tile sees", lambda slip: slip.all(lambda got, want, n_q, n_k, tile, offset: (got == np.minimum(np.arange(0, n_q, tile) + offset, n_k - 1) // tile + 1).all())),
    (r"the tiles that its last query sees whole", lambda slip: slip.all(lambda got, want, n_q, n_k, tile, offset: got[0] == min(-(-n_k // tile), (tile + offset) // tile))),
    (r"it begins at the last query's own place", lambda slip: slip.all(lambda got, want, n_q, n_k, tile, offset: (want[0] > got[0]) == ((tile + offset - 1) % tile == 0 and tile + offset <= n_k))),
    (r"you counted the tiles of all keys", lambda slip: slip.all(lambda got, want, n_q, n_k, tile, offset: (got == -(-n_k // tile)).all())),
    (r"so many keys does a tile's last query see", lambda slip: slip.all(lambda got, want, n_q, n_k, tile, offset: got[-1] == min(n_q + offset, n_k))),
    (r"you counted on behind the last key", lambda slip: slip.anywhere and all(got.max() > -(-n_k // tile) for (_, n_k, tile, _), got, _ in slip.anywhere)),
    (r"the keys to see were divided by the size of a tile", lambda slip: slip.all(lambda got, want, n_q, n_k, tile, offset: got[-1] == min(n_q + offset, n_k) // tile)),
    (r"the last one has fewer queries than the others", lambda slip: slip.anywhere and all(n_q % tile for (n_q, _, tile, _), _, _ in slip.anywhere)),
    (r"a number for each query", lambda slip: slip.all(lambda got, want, n_q, *_: got.shape == (n_q,))),
]  # fmt: skip
PHRASES = [(re.compile(pattern), fact) for pattern, fact in PHRASES]

SENTENCES = [
    pytest.param(exercise, mistake, id=f"{exercise.name}: {mistake.name}")
    for exercise in EXERCISES.values()
    for mistake in exercise.mistakes
    if WORD.search(mistake.sentence)
]


def complaints(exercise, mistake, sentence):
    """Return what is wrong with a sentence: the words that no phrase has, the phrases that are not so."""
    slip, covered, found = Slip(exercise, mistake), set(), []
    for pattern, fact in PHRASES:
        for match in pattern.finditer(sentence):
            covered.update(range(*match.span()))
            if fact is not DEFINITION:
                try:
                    if not fact(slip):
                        found.append(f"is not so: {match[0]!r}")
                except (TypeError, ValueError, KeyError, StopIteration) as error:
                    found.append(f"cannot be tried on this exercise: {match[0]!r}: {error!r}")
    for match in WORD.finditer(sentence):
        if match.start() not in covered:
            words = sentence[max(0, match.start() - 40) : match.end() + 40]
            found.append(f"no phrase of the table has {match[0]!r} in {words!r}")
    return found


@pytest.mark.parametrize(("exercise", "mistake"), SENTENCES)
def test_what_a_sentence_says_of_rows_columns_queries_and_keys_is_so(exercise, mistake):
    assert complaints(exercise, mistake, mistake.sentence) == []


def exchanged(sentence):
    """Return the sentence with a word exchanged for the other of its pair: each alone, and all of a pair."""
    words = list(WORD.finditer(sentence))
    for word in words:
        yield sentence[: word.start()] + OTHER[word[1]] + sentence[word.end() :]
    for pair in PAIRS:
        kind = {*pair, *(word.capitalize() for word in pair)}
        yield WORD.sub(lambda m, kind=kind: OTHER[m[1]] if m[1] in kind else m[1], sentence)
    yield WORD.sub(lambda m: OTHER[m[1]], sentence)


# Exchanged, these say the same, or something else that is right as well.
AS_GOOD = ["What is the width of a key here", "or at the width of a query"]  # both are d_k wide


@pytest.mark.parametrize(("exercise", "mistake"), SENTENCES)
def test_no_two_of_these_words_can_change_places_unseen(exercise, mistake):
    unseen = [
        other
        for other in set(exchanged(mistake.sentence)) - {mistake.sentence}
        if not complaints(exercise, mistake, other)
    ]
    assert [other for other in unseen if not any(words in other for words in AS_GOOD)] == []


def test_no_phrase_of_the_table_is_left_over():
    sentences = [mistake.sentence for _, mistake in (row.values for row in SENTENCES)]
    for pattern, _ in PHRASES:
        for part in re.sub(r"\([^()]*\)", "", pattern.pattern).split("|"):
            assert any(pattern.search(sentence) for sentence in sentences), part


# A sentence that names the wrong axis or argument, though no word was exchanged in it: another mistake's.
MOVED = [
    ("softmax", "softmax over the whole matrix", "this is a softmax over the queries"),
    ("softmax", "one maximum per column", "the sums of the rows were laid along a row"),
    ("scores", "queries compared with queries", "Your matrix is K K^T: without any query"),
    ("scores", "keys compared with keys", "without any key"),
    ("scaling", "the number of queries instead of d_k", "the root is that of the number of columns of S"),
    ("attention", "the number of keys instead of d_k", "the root is that of the number of queries"),
    ("attention", "softmax over the columns", "you mixed with the columns of A"),
    ("weighted values", "the largest value", "Each of your rows is a copy of one value"),
    ("entropy", "= for += in a loop", "the term of the first key alone"),
    ("causal mask", "n_q for both sizes", "How many rows does a matrix of weights have"),
    ("masked weights", "scores multiplied by 0", "hidden keys have no weight"),
    ("changed scores", "a single score", "when a query changes: its row, one for each key"),
    ("what the controls say", "every number above the even rows", "compared with frozen rows alone. Is there a report whose even rows reach as much"),
    ("strongest key", "the palest cell instead of the darkest", "{got} is the query that attends most to the key hunt"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "other", "words"), MOVED)
def test_a_sentence_of_another_mistake_is_not_so(name, other, words):
    exercise = EXERCISES[name]
    (mistake,) = (mistake for mistake in exercise.mistakes if mistake.name == other)
    assert any(found.startswith("is not so") for found in complaints(exercise, mistake, words))
