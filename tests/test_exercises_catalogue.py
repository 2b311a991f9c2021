import collections
import copy
import functools
import inspect
import itertools
import math
import re
import string
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

import attention_lib
from attention_lib.exercises import check
from attention_lib.exercises.catalogue import EXERCISES
from attention_lib.exercises.engine import judge
from attention_lib.exercises.inputs import Draw

STAGES = ("cases", "extreme", "batch")

every_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
every_mistake = pytest.mark.parametrize(
    ("exercise", "mistake"),
    [
        pytest.param(exercise, mistake, id=f"{exercise.name}: {mistake.name}")
        for exercise in EXERCISES.values()
        for mistake in exercise.mistakes
    ],
)


def arity(exercise):
    return len(inspect.signature(exercise.reference).parameters)


def answer(exercise, computation):
    """Return what somebody would hand in: a function, or for a question its value."""
    return computation if arity(exercise) else computation()


def results(computation, cases):
    """Return what a computation gives in each case, None where it stops with an error."""
    found = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases:
            try:
                found.append(np.array(computation(*copy.deepcopy(case))))
            except Exception:
                found.append(None)
    return found


def distance(one, other):
    """Return how many tolerances of the comparison lie between two results, at the most."""
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    if "U" in (one.dtype.kind, other.dtype.kind) or not one.size:
        return 0.0 if (one.shape, one.tolist()) == (other.shape, other.tolist()) else math.inf
    if one.shape != other.shape or (one.dtype == bool) != (other.dtype == bool):
        return math.inf
    one, other = one.astype(float), other.astype(float)
    apart = [
        abs(a - b) / (1e-5 + 1e-4 * abs(b)) if math.isfinite(a) and math.isfinite(b) else math.inf
        for a, b in zip(one.ravel(), other.ravel(), strict=True)
        if not (a == b or (math.isnan(a) and math.isnan(b)))
    ]
    return max(apart, default=0.0)


@functools.cache
def by_stage(exercise_name, computation):
    exercise = EXERCISES[exercise_name]
    return [results(computation, getattr(exercise, stage)) for stage in STAGES]


def apart_by_stage(exercise, one, other):
    return [
        max(map(distance, ours, theirs), default=0.0)
        for ours, theirs in zip(
            by_stage(exercise.name, one), by_stage(exercise.name, other), strict=True
        )
    ]


def alike_by_stage(exercise, one, other):
    for ours, theirs in zip(
        by_stage(exercise.name, one), by_stage(exercise.name, other), strict=True
    ):
        yield all(distance(*both) <= 1 for both in zip(ours, theirs, strict=True))


@functools.cache
def first_wrong(exercise_name, computation):
    """Return the stage in which a computation is first wrong, as an index, or None."""
    alike = alike_by_stage(
        EXERCISES[exercise_name], computation, EXERCISES[exercise_name].reference
    )
    return next((i for i, right in enumerate(alike) if not right), None)


def expected_of(exercise, computation):
    """Say by numbers alone whether a computation is right, and which mistakes it makes if not."""
    first = first_wrong(exercise.name, computation)
    if first is None:
        return "right", []
    alike = [
        mistake.name
        for mistake in exercise.mistakes
        if first_wrong(exercise.name, mistake.computation) == first
        and list(alike_by_stage(exercise, computation, mistake.computation))[first]
    ]
    return ("right" if STAGES[first] == "batch" and not alike else "wrong"), alike


# The catalogue


def test_names_are_unique_and_every_exercise_has_mistakes_to_name():
    for name, exercise in EXERCISES.items():
        mistakes = [mistake.name for mistake in exercise.mistakes]
        assert exercise.name == name
        assert len(set(mistakes)) == len(mistakes) >= 2
        assert len({mistake.sentence for mistake in exercise.mistakes}) == len(mistakes)
        assert exercise.notice


@every_exercise
def test_the_reference_is_right_and_hears_the_notice_alone(exercise):
    feedback = check(exercise.name, answer(exercise, exercise.reference))
    assert (feedback.outcome, feedback.mistake) == ("right", "")
    assert feedback.text == exercise.notice


@every_mistake
def test_every_mistake_is_rejected_and_named(exercise, mistake):
    feedback = check(exercise.name, answer(exercise, mistake.computation))
    assert (feedback.outcome, feedback.mistake) == ("mistake", mistake.name)


@every_exercise
def test_no_mistake_or_solution_of_any_exercise_is_named_wrongly(exercise):
    for other in EXERCISES.values():
        if arity(other) != arity(exercise):
            continue
        for computation in [other.reference, *(mistake.computation for mistake in other.mistakes)]:
            outcome, alike = expected_of(exercise, computation)
            feedback = check(exercise.name, answer(exercise, computation))
            assert (feedback.outcome == "right") == (outcome == "right")
            assert [feedback.mistake] == (alike or [""]), (other.name, computation)


@every_mistake
def test_a_mistake_is_far_from_right_where_it_first_shows(exercise, mistake):
    wrong = apart_by_stage(exercise, mistake.computation, exercise.reference)
    assert next(apart for apart in wrong if apart > 0.1) > 10


@every_exercise
def test_two_mistakes_are_far_apart_where_one_of_them_first_shows(exercise):
    for one, other in itertools.combinations(exercise.mistakes, 2):
        shows = [
            max(both)
            for both in zip(
                apart_by_stage(exercise, one.computation, exercise.reference),
                apart_by_stage(exercise, other.computation, exercise.reference),
                strict=True,
            )
        ]
        first = next(i for i, apart in enumerate(shows) if apart > 1)
        apart = apart_by_stage(exercise, one.computation, other.computation)[first]
        assert apart > 10, (one.name, other.name)


@every_exercise
def test_no_case_is_smaller_than_the_first(exercise):
    def sizes(case):
        return [size for value in case for size in np.shape(value) or (int(value),)]

    first = sizes(exercise.cases[0])
    for case in exercise.cases[1:]:
        if len(sizes(case)) == len(first):
            assert sizes(case) == first or any(map(int.__gt__, sizes(case), first))


def related(one, other):
    """Say whether one size could be mistaken for another, as its square, double or half."""
    return other in {one, one**2, 2 * one, one / 2, one**0.5}


@every_exercise
def test_some_inputs_have_sizes_that_cannot_be_mistaken_for_one_another(exercise):
    if not exercise.fresh:
        return
    for case in exercise.drawn(Draw("tests"))["cases"]:
        sizes = {size for part in case for size in np.shape(part) or (part,)}
        assert len(sizes) > 1 or all(np.ndim(part) == 1 for part in case)
        assert not any(related(*pair) for pair in itertools.permutations(sizes, 2))
        scores = next((np.abs(part) for part in case if np.asarray(part).dtype == float), None)
        assert scores is None or len(np.unique(scores)) == scores.size


@every_exercise
def test_a_seed_draws_the_same_inputs_and_another_draws_others(exercise):
    one, same_, other = (repr(exercise.drawn(Draw(seed))) for seed in ("a", "a", "b"))
    assert one == same_
    assert one != other or not exercise.fresh


@every_exercise
def test_every_mistake_has_its_name_on_inputs_drawn_anew(exercise):
    drawn = exercise.with_drawn(Draw("tests"))
    assert judge(drawn, answer(exercise, exercise.reference)).outcome == "right"
    for mistake in exercise.mistakes:
        assert judge(drawn, answer(exercise, mistake.computation)).mistake == mistake.name


# The sentences

CODE = re.compile(r"np\.|axis=|keepdims|sqrt|swapaxes|@|lambda|return |\bdef\b|\]\[|==")


@every_mistake
def test_a_sentence_asks_and_is_complete_and_does_not_give_the_code(exercise, mistake):
    text = check(exercise.name, answer(exercise, mistake.computation)).text
    assert not re.search(r"[{}]", text)
    assert "?" in text
    assert text[0].isupper() or text[0] in ".(" or "{got}" in mistake.sentence[:5]
    assert not CODE.search(text)
    assert "None" not in text


@every_mistake
def test_a_sentence_about_a_question_does_not_answer_it(exercise, mistake):
    if not arity(exercise):
        text = check(exercise.name, mistake.computation()).text
        want = exercise.reference()
        assert not re.search(rf"(?<![\w.]){re.escape(str(want))}(?![\w])", text)


@every_mistake
def test_a_sentence_that_points_at_an_entry_gives_its_two_numbers(exercise, mistake):
    fields = {field for _, field, _, _ in string.Formatter().parse(mistake.sentence) if field}
    if not {"entry", "got"} <= fields:
        return
    text = check(exercise.name, mistake.computation).text
    place = tuple(map(int, re.search(r"\[([\d, ]+)\]", text)[1].split(",")))
    got, want = next(
        both
        for stage in STAGES
        for both in zip(
            results(mistake.computation, getattr(exercise, stage)),
            results(exercise.reference, getattr(exercise, stage)),
            strict=True,
        )
        if both[0] is not None and distance(*both) > 1
    )
    got, want = f"{got[place]:.4g}", f"{want[place]:.4g}"
    assert re.search(rf"(?<![\d.]){re.escape(got)}(?![\d])", text)
    if "want" in fields:
        assert re.search(rf"(?<![\d.]){re.escape(want)}(?![\d])", text)


def one_hot(A):
    return ((A == 0) | (A == 1)).all() and (A.sum(axis=-1) == 1).all()


# What a sentence says of everybody who makes the mistake, and the same of the numbers.
CLAIMS = {
    "Your rows sum to 1": lambda got, want: np.allclose(got.sum(axis=-1), 1),
    "Your columns sum to": lambda got, want: np.allclose(got.sum(axis=-2), 1),
    "All your numbers together": lambda got, want: np.isclose(got.sum(), 1),
    "these are the weights, as": lambda got, want: np.allclose(got.sum(axis=-1), 1),
    "the softmax came last": lambda got, want: np.allclose(got.sum(axis=-1), 1),
    "what came out of the softmax was divided": lambda got, want: not np.allclose(got, want),
    "All your rows are alike": lambda got, want: (got == got[0]).all(),
    "Every row of yours is one-hot": lambda got, want: one_hot(got),
    "Your numbers are all below 0": lambda got, want: (got < 0).all(),
    "their exponentials sum to 1": lambda got, want: np.allclose(np.exp(got).sum(axis=-1), 1),
    "none of your numbers is above 0": lambda got, want: (got <= 0).all(),
    "no number of yours is above 1": lambda got, want: (got <= 1).all(),
    "symmetric": lambda got, want: np.allclose(got, got.T),
    "you computed the transpose": lambda got, want: np.allclose(got, want.T),
    "are the same numbers above 0": lambda got, want: np.allclose(got, -want),
    "too small by a factor": lambda got, want: (got <= want / 2 + 1e-12).all(),
    "your scores grew": lambda got, want: (abs(got) >= abs(want)).all(),
    "flatter than they should be": lambda got, want: (np.ptp(got, -1) < np.ptp(want, -1)).all(),
    "The order is turned round": lambda got, want: np.array_equal(
        got.argsort(-1), (-want).argsort(-1)
    ),
    "a column per query": lambda got, want: got.shape == want.shape[::-1],
    "One number per column": lambda got, want: got.ndim == 1,
    "One number came": lambda got, want: got.ndim == 0,
    "One number per token": lambda got, want: got.ndim == 1,
    "the first query sees nothing": lambda got, want: not got[0].any(),
    "the last one only itself": lambda got, want: (
        got[0].all() and got[-1].sum() == got[-1, -1] == 1
    ),
    "keys: nothing is hidden": lambda got, want: got.all(),
    "just those that should be hidden": lambda got, want: (got != want).all(),
    "The number of real keys is right": lambda got, want: (got.sum(-1) == want.sum(-1)).all(),
    "Hidden keys get nothing": lambda got, want: (got[want == 0] == 0).all(),
    "Your smallest number is": lambda got, want: np.isneginf(got.min()),
    "exactly the hidden keys are seen": lambda got, want: (np.nan_to_num(got)[want > 0] == 0).all(),
    "where they should sum to 0": lambda got, want: (
        not np.allclose(got.sum(axis=-1), 0) and np.allclose(want.sum(axis=-1), 0)
    ),
    "Off the diagonal you have zeros": lambda got, want: (
        not got[~np.eye(len(got), dtype=bool)].any()
    ),
    "everywhere with the other sign": lambda got, want: np.allclose(got, -want),
    "Right": lambda got, want: distance(got, want) < 1,
}
# Where a sentence speaks of other inputs than the first, as of queries of width 4.
SPEAKS_OF = {("attention", "d_k fixed at 4"): 2}


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_a_sentence_claims_is_so(claim):
    made = [
        (exercise, mistake)
        for exercise in EXERCISES.values()
        for mistake in exercise.mistakes
        if re.search(rf"(?<!\w){re.escape(claim)}(?!\w)", mistake.sentence)
    ]
    assert made, "no sentence says so any longer"
    for exercise, mistake in made:
        case = exercise.cases[SPEAKS_OF.get((exercise.name, mistake.name), 0)]
        got, want = results(mistake.computation, [case])[0], results(exercise.reference, [case])[0]
        assert CLAIMS[claim](got, want), (exercise.name, mistake.name)


# Worked out by hand.
IN_WORDS = [
    ("softmax", "softmax over the columns", "columns sum to 1.00 1.00, your rows to 0.74 1.26:"),
    ("softmax", "softmax over the whole matrix", "sum to 1.00, your rows to 0.29 0.71:"),
    ("softmax", "exponentials without the division", "Your rows sum to 3.72 9.04."),
    ("softmax", "argmax", "such as 0.00 1.00:"),
    ("softmax", "logarithm of the softmax", "the largest -0.2014,"),
    ("softmax", "powers of 2 instead of e", "entry [0, 0] is 0.3333 instead of 0.2689"),
    ("softmax", "no maximum subtracted", "entry [1, 0] is nan and should be 0.7311"),
    ("softmax", "one maximum for the whole matrix", "entry [1, 0] is nan and should be 0.7311"),
    ("entropy", "logarithm to base 2", "An even row of two gives 1, and should give 0.6931"),
    ("entropy", "logarithm to base 10", "gives 0.301, and should give 0.6931"),
    ("entropy", "0 times the logarithm of 0", "entry [0] is nan and should be 0"),
    ("scores", "queries and keys swapped", "with 1 at [0, 1] where 3 is right"),
    ("scores", "cosine instead of dot product", "Entry [0, 0] is 0.7071 instead of 5"),
    ("scaling", "no scaling", "Entry [0, 0] is 10, the raw score, and should be 2."),
    ("scaling", "multiplied by the root of d_k", "Entry [0, 0] is 50 and should be 2"),
    ("weighted values", "V A instead of A V", "Entry [0, 1] is 1 instead of 2"),
    ("weighted values", "the mean of the values", "such as 2.00 4.00:"),
    ("masked weights", "weights multiplied by 0, and left so", "your rows sum to 0.33 0.75:"),
    ("masked weights", "scores multiplied by 0", "Entry [0, 0] is 0.5761 instead of 0.7311"),
    ("masked weights", "an even row where nothing may be seen", "is 0.3333 instead of 0,"),
    ("masked weights", "0 / 0 where nothing may be seen", "its row is nan nan nan,"),
    ("causal mask", "the diagonal hidden", "you allow 0 1 2 keys"),
    ("causal mask", "the future let in", "you allow 3 2 1 keys"),
    ("causal mask", "aligned at the bottom right", "you allow 4 5 keys"),
    ("causal mask", "n_q for both sizes", "For 2 queries and 5 keys your mask has shape (2, 2)."),
    ("padding mask", "no query axis", "Yours has shape (2, 3)."),
    ("padding mask", "polarity reversed", "You let 0 keys be seen"),
    ("strongest key", "the column read instead of the row", "Owls is the query that attends most"),
    ("ceiling without attention", "one answer for all sentences", "you got 0.4, and 0.8 is right"),
    ("ceiling without attention", "a count instead of a share", "You got 4, which is a number"),
    ("ceiling without attention", "the mean over bags", "you got 0.8333, and 0.8 is right"),
    ("attention with a mask", "no softmax", "Entry [0, 0] is 6 instead of 4"),
    ("attention with a mask", "polarity reversed", "Entry [0, 0] is 1 instead of 4"),
    ("attention with a mask", "0 / 0 where nothing may be seen", "its output is nan nan,"),
]


@pytest.mark.parametrize(("name", "mistake", "words"), IN_WORDS)
def test_a_sentence_has_the_numbers_of_whoever_made_the_mistake(name, mistake, words):
    exercise = EXERCISES[name]
    computation = next(known.computation for known in exercise.mistakes if known.name == mistake)
    assert words in check(name, answer(exercise, computation)).text


# What people believe, each written down once more as somebody new to the subject would


def shares(scores):
    """Turn each row into weights, in the way that most people write it first."""
    e = np.exp(scores)
    return e / e.sum(axis=-1, keepdims=True)


def softmax_of_columns(S):
    e = np.exp(S - np.max(S, axis=0))
    return e / np.sum(e, axis=0)


def softmax_without_an_axis(S):
    return np.exp(S - np.max(S)) / np.sum(np.exp(S - np.max(S)))


def rows_one_after_the_other(S):
    out = np.zeros(S.shape)
    for i in range(len(S)):
        total = 0
        for j in range(S.shape[1]):
            total += math.exp(S[i, j])
        for j in range(S.shape[1]):
            out[i, j] = math.exp(S[i, j]) / total
    return out


def largest_of_all_subtracted(S):
    e = np.exp(S - np.amax(S))
    return e / e.sum(axis=1)[:, None]


def linear_shares(S):
    return np.array([row / sum(row) for row in S])


def winner_takes_all(S):
    return np.eye(S.shape[-1])[np.argmax(S, axis=-1)]


def cosine(Q, K):
    lengths = np.outer(np.linalg.norm(Q, axis=1), np.linalg.norm(K, axis=1))
    return Q @ K.T / lengths


def scores_along_the_wrong_axis(Q, K):
    return np.einsum("id,dj->ij", Q, K)


def weights_scaled(Q, K, V):
    return shares(Q @ np.swapaxes(K, -1, -2)) / math.sqrt(Q.shape[-1]) @ V


def values_mixed_by_columns(A, V):
    return np.einsum("ji,jd->id", A, V)


def the_usual_mean(A, V):
    return np.array([V.mean(axis=0) for _ in A])


def the_largest_of_each_feature(A, V):
    return np.array([V.max(axis=0) for _ in A])


def hidden_scores_zeroed(S, mask):
    hidden = S.copy()
    hidden[~mask] = 0
    return attention_lib.softmax(hidden)


def hidden_weights_zeroed(S, mask):
    A = special.softmax(S, axis=-1)
    A[~mask] = 0
    return A


def filled_with(number):
    def weights(S, mask):
        return special.softmax(np.where(mask, S, number), axis=-1)

    return weights


def lowered_by(number):
    def weights(S, mask):
        return special.softmax(S + (1 - mask) * number, axis=-1)

    return weights


def visible_keys_filled(S, mask):
    A = special.softmax(np.where(mask, -1e9, S), axis=-1)
    return np.where(mask.all(axis=-1, keepdims=True), 0, np.where(mask, 0, A))


def visible_keys_hidden(S, mask):
    S = S.copy()
    S[mask] = -np.inf
    return shares(S)


def padded_queries(lengths, n_k):
    return np.array([[[q < length] for q in range(n_k)] for length in lengths])


def strictly_before(n_q, n_k):
    return np.array([[j < i for j in range(n_k)] for i in range(n_q)])


def from_here_on(n_q, n_k):
    return np.triu(np.ones((n_q, n_k))) == 1


def bits(A):
    return -np.sum(np.where(A > 0, A * np.log2(np.where(A > 0, A, 1)), 0), axis=1)


def in_bits_and_undefined(A):
    return -(A * np.log2(A)).sum(1)


def only_the_first_row(S):
    A = np.zeros_like(S)
    A[0] = special.softmax(S[0])
    return A


def into_whole_numbers(Q, K):
    S = np.zeros((len(Q), len(K)), dtype=int)
    for i, q in enumerate(Q):
        for j, k in enumerate(K):
            S[i, j] = q @ k
    return S


def into_one_list(Q, K):
    S = [[0] * len(K)] * len(Q)
    for i, q in enumerate(Q):
        for j, k in enumerate(K):
            S[i][j] = q @ k
    return S


def running_scores(Q, K):
    S, score = np.zeros((len(Q), len(K))), 0
    for i in range(len(Q)):
        for j in range(len(K)):
            for d in range(Q.shape[1]):
                score += Q[i, d] * K[j, d]
            S[i, j] = score
    return S


def the_last_product(Q, K):
    S = np.zeros((len(Q), len(K)))
    for i in range(len(Q)):
        for j in range(len(K)):
            for d in range(Q.shape[1]):
                S[i, j] = Q[i, d] * K[j, d]
    return S


def dot(q, k):
    score = 0
    for a, b in zip(q, k, strict=True):
        score += a * b
        return score


def the_first_product(Q, K):
    return [[dot(q, k) for k in K] for q in Q]


def undefined_at_zero(A):
    return np.array([-sum(a * np.log(a) for a in row) for row in A])


def divided(exponentials):
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def commonest_of_all(bag, right):
    return np.bincount(right).max() / len(right)


def share_of_each_bag(bag, right):
    shares = [np.mean(right[bag == b] == np.bincount(right[bag == b]).argmax()) for b in set(bag)]
    return sum(shares) / len(shares)


def one_of_the_answers(bag, right):
    return np.mean([1 / len(set(right[bag == b])) for b in bag])


def masked_afterwards(Q, K, V, mask):
    A = special.softmax(Q @ np.swapaxes(K, -1, -2) / math.sqrt(Q.shape[-1]), axis=-1)
    return np.where(mask, A, 0) @ V


def masked_with(number):
    def attention(Q, K, V, mask):
        S = Q @ np.swapaxes(K, -1, -2) / math.sqrt(Q.shape[-1])
        return special.softmax(np.where(mask, S, number), axis=-1) @ V

    return attention


FINITE = "a finite number instead of minus infinity"
ADDED = "a finite number added instead of minus infinity"
LOWEST = "an even row where nothing may be seen"

BELIEVED = [
    (
        "a masked row needs no maximum",
        "masked weights",
        "no maximum subtracted",
        lambda S, mask: divided(np.exp(np.where(mask, S, -np.inf))),
    ),
    (
        "a masked row needs no maximum, and a large number hides",
        "masked weights",
        "no maximum subtracted",
        lambda S, mask: divided(np.exp(np.where(mask, S, -1e9))),
    ),
    (
        "exponentials may be hidden instead of scores",
        "masked weights",
        "no maximum subtracted, and exponentials multiplied by 0",
        lambda S, mask: divided(np.exp(S) * mask),
    ),
    (
        "stable exponentials may be hidden instead of scores",
        "masked weights",
        "hidden after the exponentials, then divided by the sum",
        lambda S, mask: divided(np.exp(S - S.max(axis=-1, keepdims=True)) * mask),
    ),
    (
        "True means hidden, and a large number hides",
        "masked weights",
        "polarity reversed",
        lambda S, mask: special.softmax(np.where(mask, -1e9, S), axis=-1),
    ),
    (
        "any shift keeps exponentials small",
        "softmax",
        "another number than the maximum subtracted",
        lambda S: divided(np.exp(S - S[..., :1])),
    ),
    (
        "the sum of a row broadcasts by itself",
        "softmax",
        "keepdims forgotten",
        lambda S: np.exp(S) / np.exp(S).sum(axis=1),
    ),
    (
        "entropy has no sign, nor zeros",
        "entropy",
        "the sign forgotten",
        lambda A: (A * np.log(A)).sum(-1),
    ),
    (
        "entropy is one number, without zeros",
        "entropy",
        "one number for the whole matrix",
        lambda A: -(A * np.log(A)).sum(),
    ),
    (
        "the slope of the softmax is a (1 - a)",
        "softmax jacobian",
        "a vector instead of a matrix",
        lambda a: a - a**2,
    ),
    (
        "the softmax's Jacobian is diagonal",
        "softmax jacobian",
        "the diagonal alone",
        lambda a: np.diag(a - a**2),
    ),
    (
        "a gradient goes back through a softmax entry by entry",
        "gradient of the scores",
        "the softmax differentiated entry by entry",
        lambda A, dA: dA * (A - A * A),
    ),
    (
        "the softmax runs down the columns",
        "softmax",
        "softmax over the columns",
        softmax_of_columns,
    ),
    (
        "the softmax runs down the columns, given to SciPy",
        "softmax",
        "softmax over the columns",
        lambda S: special.softmax(S, axis=-2),
    ),
    (
        "the softmax runs down the columns, in the whole of attention",
        "attention",
        "softmax over the columns",
        lambda Q, K, V: (
            special.softmax(Q @ np.swapaxes(K, -1, -2) / Q.shape[-1] ** 0.5, axis=-2) @ V
        ),
    ),
    (
        "all scores together are one distribution",
        "softmax",
        "softmax over the whole matrix",
        softmax_without_an_axis,
    ),
    (
        "all scores together are one distribution, as SciPy does without an axis",
        "softmax",
        "softmax over the whole matrix",
        special.softmax,
    ),
    ("exponentials are always safe", "softmax", "no maximum subtracted", shares),
    (
        "one maximum serves all rows",
        "softmax",
        "one maximum for the whole matrix",
        largest_of_all_subtracted,
    ),
    (
        "dividing by the sum is enough",
        "softmax",
        "division by the sum, without exponentials",
        linear_shares,
    ),
    ("the best key takes everything", "softmax", "argmax", winner_takes_all),
    (
        "softmax once in the model and once in the loss",
        "softmax",
        "softmax applied twice",
        lambda S: shares(special.softmax(S, axis=-1)),
    ),
    ("scores need no scale", "scaling", "no scaling", lambda S, d_k: S),
    (
        "scores need no scale, in the whole of attention",
        "attention",
        "no scaling",
        lambda Q, K, V: shares(Q @ np.swapaxes(K, -1, -2)) @ V,
    ),
    (
        "scores need no scale, with heads",
        "scaling of heads",
        "no scaling",
        lambda Q, K: np.einsum("hqd,hkd->hqk", Q, K),
    ),
    ("the scale is d_k itself", "scaling", "divided by d_k", lambda S, d_k: S * (1 / d_k)),
    (
        "the scale is d_k itself, in the whole of attention",
        "attention",
        "scaled by d_k instead of its root",
        lambda Q, K, V: shares(Q @ np.swapaxes(K, -1, -2) / Q.shape[-1]) @ V,
    ),
    (
        "the root multiplies",
        "scaling",
        "multiplied by the root of d_k",
        lambda S, d_k: math.sqrt(d_k) * S,
    ),
    (
        "the width that counts is the model's",
        "scaling of heads",
        "scaled by the model width",
        lambda Q, K: Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[0] * Q.shape[2]),
    ),
    (
        "the width that counts is the number of heads",
        "scaling of heads",
        "scaled by the number of heads",
        lambda Q, K: Q @ K.swapaxes(-1, -2) / np.sqrt(len(Q)),
    ),
    (
        "the width that counts is the number of tokens",
        "scaling of heads",
        "scaled by the number of tokens",
        lambda Q, K: Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-2]),
    ),
    (
        "the width that counts is the number of keys",
        "scaling",
        "the number of keys instead of d_k",
        lambda S, d_k: S / len(S[0]) ** 0.5,
    ),
    ("the weights are scaled", "attention", "scaled after the softmax", weights_scaled),
    ("keys ask and queries answer", "scores", "queries and keys swapped", lambda Q, K: K @ Q.T),
    (
        "keys ask and queries answer, in a loop",
        "scores",
        "queries and keys swapped",
        lambda Q, K: [[sum(k * q) for q in Q] for k in K],
    ),
    (
        "Q K is what the paper means",
        "scores",
        "the transpose forgotten",
        scores_along_the_wrong_axis,
    ),
    ("Q K, with np.dot", "scores", "the transpose forgotten", np.dot),
    (
        ".T exchanges the last two axes",
        "scores of a batch",
        ".T on a batch",
        lambda Q, K: np.matmul(Q, np.transpose(K)),
    ),
    ("a score is a cosine", "scores", "cosine instead of dot product", cosine),
    ("a score is a product, entry by entry", "scores", "elementwise product", np.multiply),
    (
        "a score is a product, entry by entry, then a sum",
        "scores",
        "elementwise product, summed",
        lambda Q, K: np.einsum("id,id->i", Q, K),
    ),
    (
        "one projection is enough",
        "scores",
        "queries compared with queries",
        lambda Q, K: np.inner(Q, Q),
    ),
    (
        "the values come first",
        "weighted values",
        "V A instead of A V",
        lambda A, V: np.matmul(V, A),
    ),
    (
        "a column of weights belongs to a query",
        "weighted values",
        "the weights transposed",
        values_mixed_by_columns,
    ),
    (
        "weights multiply the scores they came from",
        "from scores to output",
        "weights times scores, entry by entry",
        lambda S, V: S * shares(S),
    ),
    (
        "weights are a matrix to multiply scores with",
        "from scores to output",
        "weights times scores, as matrices",
        lambda S, V: np.dot(shares(S), S),
    ),
    ("all values count alike", "weighted values", "the mean of the values", the_usual_mean),
    (
        "the largest value wins, feature by feature",
        "weighted values",
        "the largest value",
        the_largest_of_each_feature,
    ),
    (
        "the value of the best key wins",
        "weighted values",
        "the value of the strongest key",
        lambda A, V: np.array([V[row.argmax()] for row in A]),
    ),
    (
        "scores are weights already",
        "from scores to output",
        "mixed with the scores",
        lambda S, V: np.einsum("ij,jd->id", S, V),
    ),
    (
        "a score of 0 hides a key",
        "masked weights",
        "scores multiplied by 0",
        hidden_scores_zeroed,
    ),
    (
        "weights may be blanked afterwards",
        "masked weights",
        "weights multiplied by 0, and left so",
        hidden_weights_zeroed,
    ),
    *(
        (f"{number} is as good as minus infinity, filled in", "masked weights", FINITE, fill)
        for number in (-1e4, -1e9, -1e10, -(2.0**32))
        for fill in [filled_with(number)]
    ),
    *(
        (f"{number} is as good as minus infinity, added", "masked weights", ADDED, lower)
        for number in (-1e4, -1e9, -1e10)
        for lower in [lowered_by(number)]
    ),
    (
        "-1e9 is as good as minus infinity, by hand and in float32",
        "masked weights",
        FINITE,
        lambda S, mask: special.softmax(np.where(mask, S, -1e9).astype(np.float32), axis=-1),
    ),
    (
        "the lowest float is as good as minus infinity",
        "masked weights",
        LOWEST,
        filled_with(np.finfo(np.float64).min),
    ),
    (
        "minus infinity needs no further care",
        "masked weights",
        "0 / 0 where nothing may be seen",
        filled_with(-np.inf),
    ),
    (
        "True means hidden",
        "masked weights",
        "polarity reversed",
        visible_keys_filled,
    ),
    (
        "True means hidden, and minus infinity needs no further care",
        "masked weights",
        "polarity reversed",
        visible_keys_hidden,
    ),
    (
        "True means hidden, in a mask of padding",
        "padding mask",
        "polarity reversed",
        lambda lengths, n_k: np.array([[[j >= n for j in range(n_k)]] for n in lengths]),
    ),
    (
        "padding is masked where it asks",
        "padding mask",
        "queries hidden instead of keys",
        padded_queries,
    ),
    ("a token does not see itself", "causal mask", "the diagonal hidden", strictly_before),
    ("the upper triangle is the past", "causal mask", "the future let in", from_here_on),
    (
        "0 times minus infinity is 0",
        "masked weights",
        "NaN everywhere, often from (1 - mask) times minus infinity",
        lowered_by(-np.inf),
    ),
    ("entropy is always in bits", "entropy", "logarithm to base 2", bits),
    (
        "entropy is always in bits, and log 0 never comes up",
        "entropy",
        "logarithm to base 2",
        in_bits_and_undefined,
    ),
    ("a sigmoid makes a weight", "softmax", "a sigmoid of each score", special.expit),
    ("// divides", "scaling", "a whole division", lambda S, d_k: S // d_k**0.5),
    ("return ends a loop", "softmax", "a return inside the loop over rows", only_the_first_row),
    ("an empty array holds any number", "scores", "an array of whole numbers", into_whole_numbers),
    ("a list times n is n lists", "scores", "one list in place of all rows", into_one_list),
    ("one sum serves all scores", "scores", "a sum that is never set back to 0", running_scores),
    ("= adds up", "scores", "= for += in a loop", the_last_product),
    ("return ends a sum", "scores", "the sum returned after its first term", the_first_product),
    (
        "exponentials go out of range in plain Python too",
        "softmax",
        "no maximum subtracted",
        rows_one_after_the_other,
    ),
    (
        "a little under the line mends 0 / 0",
        "softmax",
        "no maximum subtracted",
        lambda S: np.exp(S) / (np.exp(S).sum(axis=-1, keepdims=True) + 1e-8),
    ),
    (
        "nan_to_num mends everything",
        "softmax",
        "no maximum subtracted",
        lambda S: np.nan_to_num(divided(np.exp(S))),
    ),
    (
        "nan_to_num mends exponentials",
        "softmax",
        "no maximum subtracted",
        lambda S: divided(np.nan_to_num(np.exp(S))),
    ),
    (
        "nan_to_num mends one maximum for all",
        "softmax",
        "one maximum for the whole matrix",
        lambda S: np.nan_to_num(divided(np.exp(S - S.max()))),
    ),
    (
        "nan_to_num mends a masked row",
        "masked weights",
        "no maximum subtracted",
        lambda S, mask: np.nan_to_num(divided(np.exp(np.where(mask, S, -np.inf)))),
    ),
    (
        "an empty row is an open row",
        "masked weights",
        "everything open where nothing may be seen",
        lambda S, mask: divided(
            np.exp(
                (S := np.where(mask | ~mask.any(-1, keepdims=True), S, -np.inf))
                - S.max(-1, keepdims=True)
            )
        ),
    ),
    ("log 0 never comes up", "entropy", "0 times the logarithm of 0", undefined_at_zero),
    (
        "the ceiling is what the commonest word reaches",
        "ceiling without attention",
        "one answer for all sentences",
        commonest_of_all,
    ),
    (
        "the ceiling is the mean of the bags' ceilings",
        "ceiling without attention",
        "the mean over bags",
        share_of_each_bag,
    ),
    (
        "without attention, one can only guess among the answers",
        "ceiling without attention",
        "a guess among the answers of the bag",
        one_of_the_answers,
    ),
    (
        "attention needs no mask",
        "attention with a mask",
        "the mask left out",
        lambda Q, K, V, mask: attention_by_einsum(Q, K, V),
    ),
    (
        "weights may be blanked afterwards, in the whole of attention",
        "attention with a mask",
        "weights multiplied by 0, and left so",
        masked_afterwards,
    ),
    (
        "-1e9 is as good as minus infinity, in the whole of attention",
        "attention with a mask",
        FINITE,
        masked_with(-1e9),
    ),
    (
        "minus infinity needs no further care, in the whole of attention",
        "attention with a mask",
        "0 / 0 where nothing may be seen",
        masked_with(-np.inf),
    ),
    (
        "the lowest float is as good as minus infinity, in the whole of attention",
        "attention with a mask",
        LOWEST,
        masked_with(np.finfo(np.float64).min),
    ),
]


@pytest.mark.parametrize(
    ("exercise", "mistake", "computation"),
    [row[1:] for row in BELIEVED],
    ids=[row[0] for row in BELIEVED],
)
def test_what_people_believe_is_rejected_by_its_name(exercise, mistake, computation):
    feedback = check(exercise, computation)
    assert (feedback.outcome, feedback.mistake) == ("mistake", mistake)


# Right, whichever way it is written


def softmax_in_plain_python(S):
    rows = []
    for row in S.tolist():
        exponentials = [math.exp(score - max(row)) for score in row]
        rows.append([exponential / sum(exponentials) for exponential in exponentials])
    return rows


def softmax_on_a_copy(S_scaled):
    A = S_scaled.copy()
    A -= A.max(axis=-1, keepdims=True)
    np.exp(A, out=A)
    A /= A.sum(axis=-1, keepdims=True)
    return A


def softmax_with_options(x, axis=-1, *, dtype=None, **options):
    return special.softmax(np.asarray(x, dtype), axis=axis)


def softmax_that_tells(S):
    print("the scores are", S)
    return special.softmax(S, axis=-1)


class Layer:
    def __call__(self, S):
        return special.softmax(S, axis=-1)

    def forward(self, S):
        return special.softmax(S, axis=-1)

    @staticmethod
    def function(S):
        return special.softmax(S, axis=-1)


@functools.wraps(softmax_on_a_copy)
def wrapped(*args, **kwargs):
    return softmax_on_a_copy(*args, **kwargs)


def scores_by_loops(Q, K):
    S = np.empty((len(Q), len(K)))
    for i, q in enumerate(Q):
        for j, k in enumerate(K):
            S[i, j] = np.dot(q, k)
    return S


def entropy_without_zeros(A):
    logarithms = np.log(A, where=A > 0, out=np.zeros_like(A))
    return -(A * logarithms).sum(axis=-1)


def entropy_row_by_row(A):
    return [-sum(a * math.log(a) for a in row if a > 0) for row in A]


def attention_by_loops(Q, K, V):
    output = []
    for q in Q:
        scores = [q @ k / math.sqrt(len(q)) for k in K]
        e = [math.exp(score) for score in scores]
        output.append(sum(x / sum(e) * v for x, v in zip(e, V, strict=True)))
    return np.array(output)


def attention_by_einsum(Q, K, V):
    S = np.einsum("...id,...jd->...ij", Q, K) / np.sqrt(K.shape[-1])
    return np.einsum("...ij,...jd->...id", special.softmax(S, axis=-1), V)


def masked_and_mended(S, mask):
    return np.nan_to_num(special.softmax(np.where(mask, S, -np.inf), axis=-1))


def masked_on_a_copy(S, mask):
    S = S.copy()
    S[~mask] = -np.inf
    return np.nan_to_num(special.softmax(S, axis=-1))


def masked_by_hand(S, mask):
    seen = np.where(mask, S, -np.inf).max(axis=-1, keepdims=True)
    e = np.where(mask, np.exp(np.minimum(S - seen, 0)), 0)
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def masked_key_by_key(S, mask):
    A = np.zeros(S.shape)
    for i, row in enumerate(S):
        open_keys = [j for j in range(len(row)) if mask[i, j]]
        if open_keys:
            A[i, open_keys] = special.softmax(row[open_keys])
    return A


def ceiling_by_a_counter(bag, right):
    pairs = collections.Counter(zip(bag.tolist(), right.tolist(), strict=True))
    best = {}
    for (b, _), count in pairs.items():
        best[b] = max(best.get(b, 0), count)
    return sum(best.values()) / len(bag)


def ceiling_by_saying_it(bag, right):
    said = np.array([np.bincount(right[bag == b]).argmax() for b in bag])
    return (said == right).mean()


def masked_attention_by_loops(Q, K, V, mask):
    output = np.zeros((len(Q), V.shape[1]))
    for i, q in enumerate(Q):
        seen = [j for j in range(len(K)) if mask[i, j]]
        if seen:
            weights = special.softmax([q @ K[j] / math.sqrt(len(q)) for j in seen])
            output[i] = weights @ V[seen]
    return output


def masked_attention_mended(Q, K, V, mask):
    S = np.where(mask, Q @ np.swapaxes(K, -1, -2) / math.sqrt(Q.shape[-1]), -np.inf)
    return np.nan_to_num(special.softmax(S, axis=-1)) @ V


def causal_key_by_key(n_q, n_k):
    mask = [[False] * n_k for _ in range(n_q)]
    for i in range(n_q):
        for j in range(min(i + 1, n_k)):
            mask[i][j] = True
    return mask


def padding_key_by_key(lengths, n_k):
    mask = np.zeros((len(lengths), 1, n_k), dtype=bool)
    for b, length in enumerate(lengths):
        mask[b, 0, :length] = True
    return mask


MATRIX = "Your function is for one matrix: on a batch of shape"
LIST = "It returns a list"
FLOAT32 = "It computes in float32, which is enough here."
PRINTS = "What it prints is not shown here"

RIGHT = [
    ("the package's own", "softmax", attention_lib.softmax),
    ("plain Python", "softmax", softmax_in_plain_python, LIST, MATRIX),
    ("SciPy", "softmax", functools.partial(special.softmax, axis=-1)),
    (
        "less the logarithm of the sum",
        "softmax",
        lambda S: np.exp(S - special.logsumexp(S, axis=-1, keepdims=True)),
    ),
    ("SciPy's logarithm", "softmax", lambda S: np.exp(special.log_softmax(S, axis=-1))),
    ("in place on a copy", "softmax", softmax_on_a_copy),
    ("float32", "softmax", lambda S: softmax_on_a_copy(S.astype(np.float32)), FLOAT32),
    ("longdouble", "softmax", lambda S: softmax_on_a_copy(S.astype(np.longdouble))),
    (
        "a new axis instead of keepdims",
        "softmax",
        lambda S: (e := np.exp(S - S.max(axis=-1)[..., None])) / e.sum(axis=-1)[..., None],
    ),
    (
        "axis 1 and a reshape",
        "softmax",
        lambda S: (e := np.exp(S - S.max(1).reshape(-1, 1))) / e.sum(1).reshape(-1, 1),
        MATRIX,
    ),
    (
        "there and back by .T",
        "softmax",
        lambda S: ((e := np.exp(S.T - S.max(axis=1))) / e.sum(axis=0)).T,
    ),
    ("np.matrix", "softmax", lambda S: np.matrix(special.softmax(S, axis=-1)), MATRIX),
    ("row by row", "softmax", lambda S: np.stack([special.softmax(row) for row in S]), MATRIX),
    (
        "row by row, a list of arrays",
        "softmax",
        lambda S: list(map(special.softmax, S)),
        LIST,
        MATRIX,
    ),
    (
        "along an axis",
        "softmax",
        lambda S: np.apply_along_axis(special.softmax, -1, S),
    ),
    (
        "sums by einsum",
        "softmax",
        lambda S: (
            (e := np.exp(S - S.max(-1, keepdims=True))) / np.einsum("...j->...", e)[..., None]
        ),
    ),
    ("options that have defaults", "softmax", softmax_with_options),
    ("an object that can be called", "softmax", Layer()),
    ("a method", "softmax", Layer().forward),
    ("a static method", "softmax", Layer.function),
    ("a decorated function", "softmax", wrapped),
    ("any number of arguments", "softmax", lambda *args: special.softmax(*args, axis=-1)),
    ("it prints", "softmax", softmax_that_tells, PRINTS),
    ("loops", "scores", scores_by_loops, MATRIX),
    ("a comprehension", "scores", lambda Q, K: [[q @ k for k in K] for q in Q], LIST, MATRIX),
    ("einsum", "scores", lambda Q, K: np.einsum("...id,...jd->...ij", Q, K)),
    ("einsum for two axes", "scores", lambda Q, K: np.einsum("id,jd->ij", Q, K), MATRIX),
    (".T, which is all that a matrix needs", "scores", lambda Q, K: Q @ K.T, MATRIX),
    ("matmul", "scores", lambda Q, K: np.matmul(Q, np.swapaxes(K, -1, -2))),
    ("the matrix transpose", "scores", lambda Q, K: Q @ K.mT),
    ("tensordot", "scores", lambda Q, K: np.tensordot(Q, K, axes=(-1, -1)), MATRIX),
    ("inner", "scores", np.inner, MATRIX),
    ("dot", "scores", lambda Q, K: np.dot(Q, K.T), MATRIX),
    (
        "broadcasting",
        "scores",
        lambda Q, K: (Q[..., :, None, :] * K[..., None, :, :]).sum(axis=-1),
    ),
    ("transposed twice", "scores", lambda Q, K: np.moveaxis(K @ np.moveaxis(Q, -1, -2), -1, -2)),
    ("float32", "scores", lambda Q, K: np.float32(Q) @ np.float32(K).mT, FLOAT32),
    ("einsum", "scores of a batch", lambda Q, K: np.einsum("...id,...jd->...ij", Q, K)),
    ("swapped from the end", "scores of a batch", lambda Q, K: Q @ K.swapaxes(-2, -1)),
    ("NumPy's root", "scaling", lambda S, d_k: S / np.sqrt(d_k)),
    ("a power", "scaling", lambda S, d_k: S * d_k**-0.5),
    ("a list", "scaling", lambda S, d_k: [[s / math.sqrt(d_k) for s in row] for row in S], LIST),
    ("a tuple of rows", "scaling", lambda S, d_k: tuple(S / np.sqrt(d_k)), LIST),
    ("fractions that became floats", "scaling", lambda S, d_k: S * float(Fraction(d_k)) ** -0.5),
    (
        "einsum and a power",
        "scaling of heads",
        lambda Q, K: np.einsum("hid,hjd->hij", Q, K) / Q.shape[2] ** 0.5,
    ),
    (
        "a loop over heads",
        "scaling of heads",
        lambda Q, K: np.array([q @ k.T / np.sqrt(k.shape[1]) for q, k in zip(Q, K, strict=True)]),
    ),
    ("SciPy's entr", "entropy", lambda A: special.entr(A).sum(axis=-1)),
    ("SciPy's xlogy", "entropy", lambda A: -special.xlogy(A, A).sum(axis=1)),
    ("zeros left out", "entropy", entropy_without_zeros),
    ("NaN left out", "entropy", lambda A: -np.nansum(A * np.log(A), axis=1)),
    ("a little added", "entropy", lambda A: -(A * np.log(A + 1e-12)).sum(axis=-1)),
    ("row by row", "entropy", entropy_row_by_row, LIST),
    ("matmul", "weighted values", np.matmul),
    ("einsum", "weighted values", lambda A, V: np.einsum("...ij,...jd->...id", A, V)),
    ("tensordot", "weighted values", lambda A, V: np.tensordot(A, V, axes=1), MATRIX),
    (
        "np.average",
        "weighted values",
        lambda A, V: np.array([np.average(V, axis=0, weights=a) for a in A]),
        MATRIX,
    ),
    (
        "a sum of scaled values",
        "weighted values",
        lambda A, V: (A[..., None] * V[..., None, :, :]).sum(axis=-2),
    ),
    ("the product of both", "from scores to output", lambda S, V: special.softmax(S, -1) @ V),
    ("loops", "attention", attention_by_loops, MATRIX),
    ("einsum", "attention", attention_by_einsum),
    (
        "the package's own",
        "attention",
        lambda Q, K, V: attention_lib.scaled_dot_product_attention(Q, K, V)[0],
    ),
    ("mended afterwards", "masked weights", masked_and_mended),
    ("on a copy", "masked weights", masked_on_a_copy, MATRIX),
    ("by hand", "masked weights", masked_by_hand),
    ("key by key", "masked weights", masked_key_by_key, MATRIX),
    ("tri", "causal mask", lambda n_q, n_k: np.tri(n_q, n_k, dtype=bool)),
    ("tril", "causal mask", lambda n_q, n_k: np.tril(np.ones((n_q, n_k), dtype=bool))),
    ("not triu", "causal mask", lambda n_q, n_k: ~np.triu(np.ones((n_q, n_k), dtype=bool), k=1)),
    ("a comparison", "causal mask", lambda n_q, n_k: np.arange(n_k) <= np.arange(n_q)[:, None]),
    (
        "an outer comparison",
        "causal mask",
        lambda n_q, n_k: np.greater_equal.outer(np.arange(n_q), np.arange(n_k)),
    ),
    (
        "from indices",
        "causal mask",
        lambda n_q, n_k: np.fromfunction(lambda i, j: j <= i, (n_q, n_k)),
    ),
    ("key by key", "causal mask", causal_key_by_key, LIST),
    ("key by key", "padding mask", padding_key_by_key),
    ("broadcasting", "padding mask", lambda lengths, n_k: np.arange(n_k) < lengths[:, None, None]),
    (
        "an axis put in afterwards",
        "padding mask",
        lambda lengths, n_k: np.expand_dims(np.less.outer(np.arange(n_k), lengths).T, 1),
    ),
    (
        "a list",
        "padding mask",
        lambda lengths, n_k: [[[j < length for j in range(n_k)]] for length in lengths],
        LIST,
    ),
    ("a counter", "ceiling without attention", ceiling_by_a_counter),
    ("the answers themselves", "ceiling without attention", ceiling_by_saying_it),
    ("loops", "attention with a mask", masked_attention_by_loops, MATRIX),
    ("mended afterwards", "attention with a mask", masked_attention_mended),
    *(
        (f"{type(value).__name__} {value!r}", name, value)
        for name, values in {
            "open weights": (21, 21.0, np.int8(21), np.float32(21), np.array(21)),
            "spread of scores": (30, 30.0, math.sqrt(900), np.sqrt(900)),
            "an even row": (3, 3.0, np.mean([0, 5, 7, 0])),
            "strongest key": ("at", "At", " AT ", "at\n", np.str_("at"), np.array("at")),
            "what the controls say": ([True, False, False, True], np.array([1, 0, 0, 1]) == 1),
            "output shape": ((2, 5), [2, 5], np.array([2.0, 5.0]), np.empty((2, 5)).shape),
        }.items()
        for value in values
    ),
]


@pytest.mark.parametrize(
    ("exercise", "function", "remarks"),
    [(exercise, function, remarks) for _, exercise, function, *remarks in RIGHT],
    ids=[f"{row[1]}: {row[0]}" for row in RIGHT],
)
def test_a_right_answer_is_right_in_every_form(exercise, function, remarks, capsys):
    feedback = check(exercise, function)
    assert (feedback.outcome, feedback.mistake, feedback.code) == ("right", "", "")
    assert feedback.text == EXERCISES[exercise].notice
    besides = " ".join(feedback.remarks)
    assert {part for part in (MATRIX, LIST, FLOAT32, PRINTS) if part in besides} == set(remarks)
    assert len(feedback.remarks) == len(remarks)
    assert capsys.readouterr() == ("", "")


# Wrong in ways that nobody foresaw


def for_two_by_two(S):
    return special.softmax(S.reshape(2, 2), axis=-1)


def one_too_far(S):
    return np.array([[S[i, j + 1] for j in range(S.shape[1])] for i in range(len(S))])


def misspelt(Q, K):
    return Q @ k.T  # noqa: F821


def of_its_parts(A, V):
    return sum(weight * value for weight, value in zip(A, V, strict=True))


UNFORESEEN = [
    ("softmax", "different", lambda S: S + 1),
    ("softmax", "different", lambda S: special.softmax(S / 2, axis=-1)),
    ("softmax", "different", lambda S: S**2 / (S**2).sum(axis=-1, keepdims=True)),
    ("softmax", "different", lambda S: special.softmax(S, axis=-1)[:, ::-1]),
    ("softmax", "different", lambda S: special.softmax(S, axis=-1).round(3)),
    ("softmax", "different", lambda S: special.softmax(S, axis=-1) + 1e-4),
    ("softmax", "different", lambda S: np.full(S.shape, np.nan)),
    ("softmax", "different", lambda S: np.full(S.shape, -np.inf)),
    ("softmax", "different", lambda S: np.full(S.shape, 1e308)),
    ("softmax", "different", lambda S: S > 0),
    ("softmax", "form", lambda S: special.softmax(S, axis=-1).sum(axis=-1)),
    ("softmax", "form", lambda S: special.softmax(S, axis=-1)[np.newaxis]),
    ("softmax", "raised", for_two_by_two),
    ("softmax", "raised", one_too_far),
    ("scores", "different", lambda Q, K: Q @ K.mT + 1),
    ("scores", "different", lambda Q, K: abs(Q @ K.mT)),
    ("scores", "different", lambda Q, K: (Q @ K.mT).clip(max=4)),
    ("scores", "form", lambda Q, K: (Q @ K.mT).ravel()),
    ("scores", "raised", misspelt),
    ("scores of a batch", "form", lambda Q, K: np.tensordot(Q, K, axes=(-1, -1))),
    ("scaling", "different", lambda S, d_k: S / d_k ** (1 / 3)),
    ("scaling", "different", lambda S, d_k: S - np.sqrt(d_k)),
    ("scaling of heads", "different", lambda Q, K: Q @ K.mT / np.sqrt(Q.shape[-1] + 1)),
    ("scaling of heads", "different", lambda Q, K: Q @ K.mT / 2),
    ("scaling of heads", "different", lambda Q, K: Q @ K.mT / np.log2(Q.shape[-1])),
    ("entropy", "different", lambda A: 1 - (A**2).sum(axis=-1)),
    ("entropy", "different", lambda A: A.max(axis=-1)),
    ("entropy", "form", lambda A: special.entr(A)),
    ("weighted values", "different", lambda A, V: A.round() @ V),
    ("weighted values", "different", lambda A, V: A[:, ::-1] @ V),
    ("weighted values", "different", lambda A, V: A @ V + V),
    ("weighted values", "form", of_its_parts),
    ("from scores to output", "different", lambda S, V: special.expit(S) @ V),
    ("attention", "different", lambda Q, K, V: np.maximum(Q @ K.mT, 0) @ V),
    ("attention", "form", attention_lib.scaled_dot_product_attention),
    (
        "masked weights",
        "different",
        lambda S, mask: special.softmax(np.where(mask, S, -5), axis=-1),
    ),
    ("attention with a mask", "different", masked_with(-5)),
    ("attention with a mask", "form", lambda Q, K, V, mask: attention_by_einsum(Q, K, V).sum()),
    ("causal mask", "form", lambda n_q, n_k: np.tri(n_q, n_k)),
    ("causal mask", "form", lambda n_q, n_k: np.tri(n_q, n_k, dtype=int)),
    ("causal mask", "different", lambda n_q, n_k: np.tri(n_q, n_k, dtype=bool)[::-1]),
    ("padding mask", "form", lambda lengths, n_k: (np.arange(n_k) < lengths[:, None, None]) * 1.0),
    ("padding mask", "different", lambda lengths, n_k: np.ones((len(lengths), 1, n_k), bool)),
]


def run(code, function):
    """Run the lines that came with a feedback, as somebody would who pasted them."""
    *setup, call = code.split("\n")
    name = call.split("(")[0]
    scope = {"np": np, name: function}
    exec("\n".join(setup), scope)
    arguments = [scope[line.split(" = ")[0]] for line in setup]
    with np.errstate(all="ignore"):
        return eval(call, scope), arguments


@pytest.mark.parametrize(("exercise", "outcome", "function"), UNFORESEEN)
def test_an_unforeseen_answer_gets_a_call_that_shows_what_is_wrong(exercise, outcome, function):
    feedback = check(exercise, function)
    assert (feedback.outcome, feedback.mistake) == (outcome, "")
    if outcome == "raised":
        error = re.search(r"(\w+Error)\b", feedback.text)[1]
        with pytest.raises((ValueError, IndexError, NameError)) as raised:
            run(feedback.code, function)
        assert type(raised.value).__name__ == error
        return
    got, arguments = run(feedback.code, function)
    want = np.asarray(EXERCISES[exercise].reference(*arguments))
    if outcome == "form":
        wrong = (
            str(np.shape(got)) if np.shape(got) != want.shape else str(np.asarray(got).dtype)
        ) in feedback.text
        assert wrong or isinstance(got, tuple)
        return
    entry, shown, right = re.match(
        r"Entry \[(.*?)\] is (\S+) and should be (\S+)\.$", feedback.text
    ).groups()
    place = tuple(map(int, entry.split(",")))
    spell = str if want.dtype == bool else "{:.4g}".format
    assert right == spell(want[place])
    assert shown == (str(got[place]) if got.dtype == bool else f"{got[place]:.4g}")
    before = np.ravel_multi_index(place, want.shape)
    assert np.allclose(got.ravel()[:before], want.ravel()[:before], rtol=1e-4, atol=1e-5)
    assert shown != right or not np.isclose(got[place], want[place], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("exercise", "value", "outcome", "words"),
    [
        ("open weights", 22, "different", "22 is not it"),
        ("open weights", -1, "different", "-1 is not it"),
        ("open weights", math.nan, "different", "nan is not it"),
        ("open weights", "21", "form", "a str where a number, without quotes, should come"),
        ("open weights", [21], "form", "shape (1,)"),
        ("spread of scores", 15.9, "different", "15.9 is not it"),
        ("strongest key", "fly", "different", "'fly' is not it"),
        ("strongest key", np.str_("fly"), "different", "'fly' is not it"),
        ("strongest key", np.array("fly"), "different", "'fly' is not it"),
        ("strongest key", 4, "form", "an int where a word in quotes should come"),
        ("output shape", (2, 6), "different", "1 of 2 are right."),
        ("output shape", 10, "form", "A single value came, where 2 values in a row"),
    ],
)
def test_another_answer_to_a_question_is_not_named_and_gives_nothing_away(
    exercise, value, outcome, words
):
    feedback = check(exercise, value)
    assert (feedback.outcome, feedback.mistake, feedback.code) == (outcome, "", "")
    assert words in feedback.text
    assert str(EXERCISES[exercise].reference()) not in feedback.text.replace("Look at", "")
