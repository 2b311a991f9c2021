# ruff: noqa: NPY002  (learners use the global generator, and it must be put back)
import contextlib
import copy
import html
import os
import random
import re
import signal
import subprocess
import sys
import warnings
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hygiene import PATH
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse, special

from attention_lib.exercises import Feedback, check, manners
from attention_lib.exercises.catalogue import EXERCISES
from attention_lib.exercises.engine import judge
from attention_lib.exercises.evidence import evidence, first_difference, number, numbers, same
from attention_lib.exercises.exercise import Exercise
from attention_lib.exercises.feedback import OUTCOMES

FUNCTIONS = [name for name, exercise in EXERCISES.items() if exercise.cases != [()]]


def right(S_scaled):
    return special.softmax(S_scaled, axis=-1)


def outcome_of(feedback):
    """Check what holds for every feedback, and return its outcome and the mistake's name."""
    assert isinstance(feedback, Feedback)
    assert feedback.outcome in OUTCOMES
    assert (feedback.outcome == "mistake") == bool(feedback.mistake)
    assert feedback.text
    assert not re.search(rf"0x[0-9a-fA-F]{{4}}|{PATH}|\.py\b", feedback.text)
    assert max(map(len, repr(feedback).split("\n\n")[0].split("\n"))) <= 88
    assert feedback._repr_html_().startswith("<div role=")
    return feedback.outcome, feedback.mistake


@pytest.fixture
def doubling():
    """Return an exercise whose known mistakes agree on some cases, and differ on others."""
    exercise = Exercise(
        "double",
        lambda x: 2 * x,
        cases=[(np.array([1.0, 2.0]),), (np.array([3.0]),)],
        extreme=[(np.array([1e200]),)],
        batch=[(np.array([[1.0], [-2.0]]),)],
        notice="Even.",
    )
    exercise.mistake("plus two", "Got {got}, not {want}, at {entry}?")(lambda x: x + 2)
    exercise.mistake("square", "Got {got}, not {want}, at {entry}?")(lambda x: x**2)
    exercise.mistake("from the first", "Got {got}?")(
        lambda x: x + x if len(x) > 1 or x[0] > 100 else x + x[0] ** 2
    )
    exercise.mistake("overflow", "Right on small ones, then {got}?")(lambda x: (x**3 * 2) / x**2)
    exercise.mistake("absolute", "Right for one row, then {got}?")(lambda x: 2 * abs(x))
    return exercise


@pytest.fixture
def quick(monkeypatch):
    """Stop an answer that does not end after a tenth of a second, and say that it runs before."""
    monkeypatch.setattr(manners.Stopwatch.__init__, "__defaults__", (0.1, "Your function"))
    monkeypatch.setattr(manners, "TELL_AFTER", 0.03)


# How a mistake is found


@pytest.mark.parametrize(
    ("mistake", "function"),
    [
        ("plus two", lambda x: 2 + x),
        ("square", lambda x: x * x),
        ("from the first", lambda x: x + x if x.size == 2 or x[0] > 100 else x + 9),
        ("overflow", lambda x: 2 * x**3 / x**2),
        ("absolute", lambda x: abs(2 * x)),
    ],
)
def test_each_mistake_is_named_where_it_first_shows(doubling, mistake, function):
    assert outcome_of(judge(doubling, function)) == ("mistake", mistake)


def test_a_mistake_must_show_in_every_case(doubling):
    """It is x + 2 in the first case, and something else in the second."""
    feedback = judge(doubling, lambda x: x + 2 if len(x) == 2 else x + 1)
    assert outcome_of(feedback) == ("different", "")


def test_a_mistake_of_the_extremes_is_not_named_in_a_batch(doubling):
    """Whoever was right at 1e200 did not make it, whatever comes out for a batch."""
    feedback = judge(doubling, lambda x: 2 * x if x.ndim == 1 else (x**3 * 2) / x**2 * 3)
    assert outcome_of(feedback) == ("right", "")
    assert feedback.text == "Even."
    assert feedback.remarks == (
        "Your function is for one matrix: on a batch of shape (2, 1) it gives other numbers. A function "
        "that leaves the axes in front of the last two alone would serve both.",
    )


def test_wrong_at_the_extremes_alone_is_wrong(doubling):
    feedback = judge(doubling, lambda x: 2 * np.minimum(x, 1000))
    assert outcome_of(feedback) == ("different", "")
    assert "Entry [0] is 2000 and should be 2e+200" in feedback.text
    assert "1e+200" in feedback.code


def test_a_mistake_whose_numbers_cannot_be_summed_is_named_without_a_warning(doubling):
    def enormous(x):
        return np.full(x.shape, 1.7e308)

    doubling.mistake("enormous", "Your rows sum to {row_sums}?")(enormous)
    feedback = judge(doubling, enormous)
    assert outcome_of(feedback) == ("mistake", "enormous")
    assert feedback.text == "Your rows sum to inf?"


def test_an_error_where_the_mistake_has_one_too_is_the_mistake():
    """Elementwise multiplication stops at the second case of the scores, a loop with another error."""

    def by_loops(Q, K):
        return [[Q[i, j] * K[i, j] for j in range(Q.shape[1])] for i in range(max(len(Q), len(K)))]

    assert outcome_of(check("scores", by_loops)) == ("mistake", "elementwise product")


def test_an_error_in_place_of_numbers_is_no_known_mistake(doubling):
    def stops(x):
        return x + 2 if len(x) == 2 else x + "2"

    feedback = judge(doubling, stops)
    assert outcome_of(feedback) == ("different", "")
    assert "Entry [0] is 3 and should be 2" in feedback.text


def test_numbers_that_agree_but_are_not_truth_values_are_another_thing():
    feedback = check("causal mask", lambda n_q, n_k: np.triu(np.ones((n_q, n_k))))
    assert outcome_of(feedback) == ("form", "")
    assert "float64 where booleans" in feedback.text


@pytest.mark.parametrize(("error", "found"), [(2e-5, "right"), (2e-3, "different")])
def test_the_comparison_forgives_what_float32_loses_and_no_more(error, found):
    feedback = check("softmax", lambda S_scaled: right(S_scaled) * (1 + error))
    assert outcome_of(feedback) == (found, "")


def test_every_outcome_can_be_had(quick):
    def raises(S_scaled):
        return 1 / 0

    def endless(S_scaled):
        while True:
            pass

    had = [
        check("softmax", right),
        check("softmax", ...),
        check("softmax", raises),
        check("softmax", lambda S_scaled: None),
        check("softmax", np.exp),
        check("softmax", lambda S_scaled: S_scaled),
        check("softmax", endless),
        check("softmax"),
    ]
    assert [outcome_of(feedback)[0] for feedback in had] == list(OUTCOMES)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "check needs two things"),
        (("softmax",), "Your answer is missing. It comes after the name: check('softmax', ...)."),
        ((right,), "The name of an exercise comes first, in quotes. A function came."),
        ((right, "softmax"), "A function came. Put 'softmax' in front of your answer."),
        ((None, right), "A NoneType came."),
        (([], right), "A list came."),
        (("output shape", 2, 5), "2 came. Several numbers that make up one answer stand in"),
        (("softmax", right, right, right), "takes one answer after the name, and 3 came."),
        (("sofmax", right), "There is no exercise 'sofmax'. Did you mean 'softmax'?"),
        (("Soft max ", right), "Did you mean 'softmax'?"),
        (("SCALING", right), "Did you mean 'scaling'"),
        (("x" * 1000, right), "There is no exercise 'xxx"),
        (("\n", right), "There is no exercise ''."),
    ],
)
def test_a_call_that_cannot_be_judged_is_put_right_in_a_sentence(arguments, words):
    feedback = check(*arguments)
    assert outcome_of(feedback) == ("call", "")
    assert words in feedback.text
    # A name that came is cut short; those that there are stand there in full.
    assert len(feedback.text) < 100 + len(", ".join(map(repr, EXERCISES)))


def test_a_name_like_no_other_gets_the_list_of_all_names():
    text = check("???", right).text
    assert all(repr(name) in text for name in EXERCISES)


# Not attempted yet

BLANK = ...


@pytest.mark.parametrize(
    "function",
    [
        ...,
        lambda S_scaled: ...,
        lambda S_scaled: S_scaled / ...,
        lambda S_scaled: np.exp(...),
        lambda S_scaled: BLANK(S_scaled),
        lambda S_scaled: BLANK.sum(),
        lambda S_scaled: [..., ...],
        lambda S_scaled: (S_scaled, ...),
    ],
)
def test_dots_in_a_function_mean_that_it_is_not_attempted(function):
    feedback = check("softmax", function)
    assert outcome_of(feedback) == ("not attempted", "")
    assert feedback.code == ""


@pytest.mark.parametrize("value", [..., (..., 5), [..., ...], "...", "\N{HORIZONTAL ELLIPSIS}"])
def test_dots_for_an_answer_mean_that_it_is_not_attempted(value):
    for name in ("output shape", "strongest key"):
        assert outcome_of(check(name, value)) == ("not attempted", "")


def test_dots_in_quotes_for_a_function_mean_that_it_is_not_attempted():
    assert outcome_of(check("softmax", "...")) == ("not attempted", "")


@pytest.mark.parametrize(
    "function",
    [lambda S_scaled: S_scaled[..., ..., 0], lambda S_scaled: np.einsum("...i->", S_scaled)],
)
def test_dots_that_mean_an_index_are_an_attempt(function):
    assert outcome_of(check("softmax", function))[0] != "not attempted"


def test_dots_that_index_everything_are_right():
    assert outcome_of(check("softmax", lambda S_scaled: right(S_scaled)[...])) == ("right", "")


# Errors


class Unsayable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class OwnBase(BaseException):
    pass


ERRORS = [
    ValueError("wrong"),
    TypeError("not a 'str'"),
    KeyError("weights"),
    IndexError("index 3 is out of bounds"),
    AttributeError("no such thing"),
    NameError("name 'softmx' is not defined"),
    ZeroDivisionError("division by zero"),
    AssertionError(),
    StopIteration(3),
    StopAsyncIteration(),
    MemoryError(),
    OverflowError("too large"),
    FloatingPointError("underflow"),
    NotImplementedError(),
    ImportError("no module"),
    OSError(2, "No such file", "weights.npy"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    RecursionError("too deep"),
    SyntaxError("bad"),
    EOFError(),
    TimeoutError("late"),
    UserWarning("a warning, raised"),
    ExceptionGroup("several", [ValueError("one")]),
    np.linalg.LinAlgError("singular"),
    SystemExit(1),
    SystemExit("bye"),
    GeneratorExit(),
    OwnBase("rare"),
    Unsayable(),
    ValueError("first line\nsecond line"),
    ValueError("{braces} and %s"),
    ValueError(object()),
    ValueError("x" * 500),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: f"{type(error).__name__}")
def test_whatever_an_answer_raises_is_said_with_its_kind_and_line(error):
    def answer(S_scaled):
        raise error

    feedback = check("softmax", answer)
    assert outcome_of(feedback) == ("raised", "")
    assert feedback.text.startswith(f"In line 2 of answer: {type(error).__name__}")
    assert "second line" not in feedback.text
    assert feedback.code.endswith("\nanswer(S_scaled)")


def test_an_error_deep_inside_is_put_down_to_the_line_that_led_there():
    def answer(S_scaled):
        A = S_scaled * 2
        B = np.linalg.inv(A[:, :1])
        return B

    assert "In line 3 of answer: LinAlgError" in check("softmax", answer).text


def test_endless_recursion_comes_to_an_end():
    def answer(S_scaled):
        return answer(S_scaled)

    assert "RecursionError" in check("softmax", answer).text


def test_quitting_does_not_quit():
    assert outcome_of(check("softmax", lambda S_scaled: sys.exit())) == ("raised", "")


def test_an_interrupt_is_the_readers_and_goes_through_with_the_generators_put_back():
    def answer(S_scaled):
        np.random.seed(0)
        random.seed(0)
        raise KeyboardInterrupt

    before = np.random.get_state()[1].tolist(), random.getstate()
    with pytest.raises(KeyboardInterrupt):
        check("softmax", answer)
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before


# Odd results


class Foreign:
    """A thing of another library that does not want to be an array."""

    def __array__(self, *args, **kwargs):
        raise SystemExit("not convertible")

    def __getattr__(self, name):
        raise ValueError(name)


class Convertible:
    def __array__(self, dtype=None, copy=None):
        return np.array(-7.5)


endless = []
endless.append(endless)

ODD = {
    "None": None,
    "nested dots": [[..., 1.0], [1.0, 1.0]],
    "function": np.exp,
    "class": float,
    "string": "0.5",
    "bytes": b"0.5",
    "array of strings": np.array([["a", "b"], ["c", "d"]]),
    "objects": np.array([[1, None], [2, 3]], dtype=object),
    "decimals": [[Decimal(1), Decimal(2)]],
    "ragged": [[1.0], [1.0, 2.0]],
    "complex": np.eye(2) * 1j,
    "masked array": np.ma.array(np.eye(2), mask=np.eye(2)),
    "masked": np.ma.masked,
    "huge": 10**400,
    "huge numbers": [[10**30, 1], [1, 1]],
    "sparse": sparse.csr_array(np.eye(2)),
    "dict": {"A": np.eye(2)},
    "set": {1, 2},
    "dates": np.array(["2020-01-01"], dtype="M8[D]"),
    "durations": np.array([3], dtype="m8[s]"),
    "records": np.zeros(2, dtype=[("a", float)]),
    "foreign": Foreign(),
    "convertible": Convertible(),
    "endless": endless,
    "deep": eval("[" * 60 + "]" * 60),
    "empty": [],
    "no rows": np.empty((0, 2)),
    "range": range(4),
    "slice": slice(3),
    "module": np,
    "exception": ValueError("returned, not raised"),
    "NotImplemented": NotImplemented,
    "nan": np.full((2, 2), np.nan),
    "inf": np.full((2, 2), np.inf),
    "mixed infinities": np.array([[np.inf, -np.inf], [np.nan, 0.0]]),
    "enormous": np.full((2, 2), 1.7e308),
    "tiny": np.full((2, 2), 5e-324),
    "longdouble": np.full((2, 2), np.longdouble("1e400")),
    "float16": np.full((2, 2), np.float16(60000)),
    "uint64": np.full((2, 2), 2**64 - 1, dtype=np.uint64),
    "many axes": np.ones((1,) * 20),
    "nameless": type("", (), {})(),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_results_are_wrong_and_nothing_worse(odd):
    for name in ("softmax", "attention", "causal mask"):
        found = outcome_of(check(name, lambda a, b=0, c=0: odd))
        assert found in {("form", ""), ("different", "")}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_values_for_an_answer_are_wrong_and_nothing_worse(odd):
    for name, exercise in EXERCISES.items():
        if exercise.cases == [()] or not callable(odd):
            assert outcome_of(check(name, odd)) in {("form", ""), ("different", "")}


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("None", "It returned None"),
        ("function", "It returned a function. Was it meant to be called?"),
        ("string", "It is a str where real numbers should come."),
        ("ragged", "It is a list where real numbers should come."),
        ("objects", "It is an array of object where real numbers should come."),
        ("dict", "It is a dict where real numbers should come."),
        ("exception", "It is a ValueError where real numbers should come."),
        ("no rows", "It has shape (0, 2), and should have (2, 2)."),
    ],
)
def test_the_kind_of_an_odd_result_is_said(odd, words):
    assert check("softmax", lambda S_scaled: ODD[odd]).text.startswith(words)


def test_generators_and_coroutines_are_no_numbers():
    def generator(S_scaled):
        yield from S_scaled

    assert "a generator where real numbers" in check("softmax", generator).text
    assert (
        "a map where real numbers" in check("softmax", lambda S_scaled: map(np.exp, S_scaled)).text
    )


things = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.complex_numbers(),
        st.text(),
        st.binary(),
        st.decimals(),
        st.fractions(),
        st.dates(),
        st.just(...),
        st.sampled_from(list(ODD)).map(ODD.get),
        arrays.arrays(
            arrays.scalar_dtypes(),
            arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=2),
    ),
    max_leaves=4,
)


@given(st.sampled_from(list(EXERCISES)), things)
def test_no_result_whatever_makes_check_raise(name, thing):
    if EXERCISES[name].cases == [()]:
        outcome_of(check(name, thing))
    else:
        outcome_of(check(name, lambda *args: thing))


@given(st.sampled_from(FUNCTIONS), st.data())
def test_no_numbers_in_the_right_shape_make_check_raise(name, data):
    wants = (np.asarray(EXERCISES[name].reference(*case)) for case in EXERCISES[name].cases)
    drawn = [data.draw(arrays.arrays(want.dtype, want.shape)) for want in wants]
    remaining = iter(drawn)

    def answer(a, b=0, c=0):
        return next(remaining)

    outcome, _ = outcome_of(check(name, answer))
    assert outcome in {"different", "mistake", "form", "raised"}  # out of arrays, it raises


class Liar:
    """A result that says other things of itself than it is."""

    __class__ = property(lambda self: 1 / 0)
    __len__ = lambda self: -1  # noqa: E731
    __bool__ = __eq__ = __array__ = __float__ = __index__ = lambda self, *_: 1 / 0
    __hash__ = None
    __getattr__ = lambda self, name: 1 / 0  # noqa: E731


class LongList(list):
    def __len__(self):
        return 10**12

    def __iter__(self):
        return iter(int, 1)


class Odd(np.ndarray):
    shape = property(lambda self: (9, 9))
    dtype = property(lambda self: 1 / 0)
    __eq__ = __sub__ = lambda self, other: 1 / 0
    __hash__ = None


class Meta(type):
    __name__ = property(lambda cls: 1 / 0)
    __instancecheck__ = __subclasscheck__ = lambda cls, other: 1 / 0


class Classless(metaclass=Meta):
    pass


LIARS = {  # made where they are needed: not even pytest can look at them
    "liar": Liar,
    "list of a liar": lambda: [Liar()],
    "rows of liars": lambda: [[Liar()] * 2] * 2,
    "long list": lambda: LongList([1.0]),
    "array": lambda: np.eye(2).view(Odd),
    "of a nameless class": lambda: Classless(),
    "nameless class": lambda: Classless,
}


@pytest.mark.parametrize("kind", LIARS)
def test_a_result_of_any_class_length_and_operator_gets_a_sentence(kind):
    for name in ("softmax", "causal mask", "attention"):
        found = outcome_of(check(name, lambda a, b=0, c=0: LIARS[kind]()))
        assert found[0] in {"form", "different"}


def test_a_masked_array_is_named_unless_nothing_is_hidden():
    def masked(S_scaled):
        return np.ma.array(right(S_scaled), mask=S_scaled > 0)

    feedback = check("softmax", masked)
    assert outcome_of(feedback) == ("form", "")
    assert feedback.text.startswith("It is a masked array, and some of its entries are hidden")
    assert outcome_of(check("softmax", lambda S_scaled: np.ma.array(right(S_scaled))))[0] == "right"


def test_what_an_error_says_is_shown_to_a_bounded_length():
    def answer(S_scaled):
        raise ValueError("x" * 10**6)

    assert len(check("softmax", answer).text) < 300


@pytest.mark.parametrize("value", [30.00001, 29.99999999])
def test_a_nearly_right_number_is_not_shown_as_the_right_one(value):
    feedback = check("spread of scores", value + 0.001)
    assert outcome_of(feedback) == ("different", "")
    assert not feedback.text.startswith("30 is")


# An answer that does not end

main_thread_has_an_alarm = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="the system has no alarm"
)


@main_thread_has_an_alarm
def test_an_endless_answer_is_stopped_and_something_says_that_it_runs(quick, capsys):
    def endless(S_scaled):
        print("mine")
        turns = 0
        while True:
            turns += 1

    feedback = check("softmax", endless)
    assert outcome_of(feedback) == ("endless", "")
    assert "in line 5 of endless" in feedback.text or "in line 4 of endless" in feedback.text
    assert capsys.readouterr().out == (
        "endless is still running; it is stopped after 0.1 seconds.\n"
    )
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@main_thread_has_an_alarm
def test_an_answer_that_catches_every_exception_is_stopped_all_the_same(quick):
    def stubborn(S_scaled):
        while True:
            with contextlib.suppress(Exception):
                sum(range(1000))

    assert outcome_of(check("softmax", stubborn)) == ("endless", "")


# What an answer changes is put back


def patches(S_scaled):
    np.array_equal = np.isclose = np.allclose = lambda *args, **options: True
    np.exp = np.asarray = np.argwhere = None
    np.mine = 1
    return S_scaled


def test_numpy_is_what_it_was_for_the_judge_and_afterwards():
    before = dict(vars(np))
    assert outcome_of(check("softmax", patches)) == ("different", "")
    assert {name: id(value) for name, value in vars(np).items()} == {
        name: id(value) for name, value in before.items()
    }


def test_numpy_patched_before_is_judged_as_it_was_and_left_patched(monkeypatch):
    mine = lambda *args, **options: True  # noqa: E731
    monkeypatch.setattr(np, "array_equal", mine)
    monkeypatch.setattr(np, "exp", mine)
    assert outcome_of(check("softmax", right)) == ("right", "")
    assert outcome_of(check("softmax", lambda S_scaled: S_scaled)) == ("different", "")
    assert np.array_equal is np.exp is mine


def test_folder_path_limit_environment_and_output_are_put_back(tmp_path):
    def rude(S_scaled):
        os.chdir(tmp_path)
        sys.path.clear()
        sys.setrecursionlimit(70)
        os.environ["MINE"] = "1"
        os.environ.pop("PATH", None)
        sys.stdout.close()
        sys.stdout = None
        return right(S_scaled)

    def state():
        return os.getcwd(), sys.path[:], sys.getrecursionlimit(), dict(os.environ), id(sys.stdout)

    before = state()
    assert outcome_of(check("softmax", rude)) == ("right", "")
    assert state() == before


# What is given to check

SENTINEL = object()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda: 1, "The function takes (); check calls it with 1 argument: S_scaled."),
        (
            lambda S, d_k: S,
            "The function takes (S, d_k); check calls it with 1 argument: S_scaled.",
        ),
        (lambda S, *, axis: S, "The function takes (S, *, axis); check calls it with 1 argument"),
        (lambda *, S: S, "The function takes (*, S); check calls it with 1 argument"),
        (lambda S, d, f=SENTINEL: S, "The function takes (S, d, f=<object object>); check calls"),
        (np.eye(2), "An array of float64 came where a function should."),
        (3, "An int came where a function should."),
        (None, "A NoneType came where a function should."),
        ("softmax", "A str came where a function should."),
    ],
)
def test_what_cannot_be_called_in_this_way_is_said_before_it_is(answer, words):
    feedback = check("softmax", answer)
    assert outcome_of(feedback) == ("form", "")
    assert feedback.text.startswith(words)
    assert feedback.code == ""


def test_a_named_function_with_too_many_arguments_is_told_so_by_its_name():
    def my_scores(Q, K, V):
        return Q @ K.T

    words = "my_scores takes (Q, K, V); check calls it with 2 arguments: Q, K."
    assert check("scores", my_scores).text == words


@pytest.mark.parametrize(("answer", "came"), [(lambda: 3, "a function"), (None, "None")])
def test_a_question_wants_a_value_and_gives_none_away(answer, came):
    for name, exercise in EXERCISES.items():
        if exercise.cases == [()]:
            feedback = check(name, answer)
            assert outcome_of(feedback) == ("form", "")
            assert feedback.text.startswith(f"check was given {came}, but this is a question")
            assert not re.search(r"\d", feedback.text)


def test_a_lambda_gets_a_call_that_can_be_pasted():
    assert check("softmax", lambda S_scaled: S_scaled).code.endswith("\nanswer(S_scaled)")


# Manners


def zeroes(S_scaled):
    A = right(S_scaled)
    S_scaled[:] = 0
    return A


def reshapes(S_scaled):
    A = right(S_scaled)
    S_scaled.shape = (-1,)
    return A


def retypes(S_scaled):
    A = right(S_scaled)
    S_scaled.dtype = "S8"
    return A


def into_its_argument(S_scaled):
    S_scaled -= S_scaled.max(axis=-1, keepdims=True)
    np.exp(S_scaled, out=S_scaled)
    S_scaled /= S_scaled.sum(axis=-1, keepdims=True)
    return S_scaled


def one_entry(S_scaled):
    A = right(S_scaled)
    S_scaled[-1, -1] = np.nan
    return A


@pytest.mark.filterwarnings("ignore:Setting the")  # newer NumPy would rather not have it done
@pytest.mark.parametrize("function", [zeroes, reshapes, retypes, into_its_argument, one_entry])
def test_right_numbers_and_a_changed_argument_are_a_mistake_of_its_own(function):
    feedback = check("softmax", function)
    assert outcome_of(feedback) == ("mistake", "changes its input")
    assert "S_scaled is no longer what it was" in feedback.text


def test_the_argument_that_was_changed_is_named():
    def mask_changes(S_scaled, mask):
        A = EXERCISES["masked weights"].reference(S_scaled, mask)
        mask ^= True
        return A

    assert "but mask is no longer" in check("masked weights", mask_changes).text


def test_returning_the_argument_itself_is_no_change():
    assert outcome_of(check("softmax", lambda S_scaled: S_scaled)) == ("different", "")
    assert outcome_of(check("scaling", lambda S, d_k: S)) == ("mistake", "no scaling")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_answer_can_spoil_an_exercise(name):
    exercise = EXERCISES[name]
    before = copy.deepcopy((exercise.cases, exercise.extreme, exercise.batch))
    mistakes = list(exercise.mistakes)

    def spoils(*args):
        result = exercise.reference(*args)
        for arg in args:
            if isinstance(arg, np.ndarray):
                arg[...] = 0
        return result

    check(name, spoils)
    assert repr((exercise.cases, exercise.extreme, exercise.batch)) == repr(before)
    assert exercise.mistakes == mistakes
    assert outcome_of(check(name, exercise.reference)) == ("right", "")


@pytest.mark.parametrize(
    "draws",
    [
        lambda: np.random.seed(0),
        lambda: np.random.rand(3),
        lambda: random.seed(0),
        lambda: random.random(),
        lambda: np.random.shuffle([1, 2]),
    ],
)
def test_the_global_generators_are_put_back_and_it_is_said(draws):
    def answer(S_scaled):
        draws()
        return right(S_scaled)

    before = np.random.get_state()[1:3], random.getstate()
    feedback = check("softmax", answer)
    after = np.random.get_state()[1:3], random.getstate()
    assert repr(before) == repr(after)
    assert outcome_of(feedback) == ("right", "")
    assert "the generator has been put back" in feedback.remarks[0]


def test_a_generator_of_its_own_is_nobodys_business():
    def answer(S_scaled):
        return right(S_scaled + 0 * np.random.default_rng(0).random())

    assert check("softmax", answer).text == EXERCISES["softmax"].notice


def test_what_an_answer_prints_reaches_nobody_and_it_is_said(capfd):
    def answer(S_scaled):
        print("hello")
        print("warned", file=sys.stderr)
        sys.stdout.write("written")
        return right(S_scaled)

    feedback = check("softmax", answer)
    assert capfd.readouterr() == ("", "")
    assert "take the print out when you are done" in feedback.remarks[0]
    assert "hello" not in repr(feedback)


def test_no_warning_of_an_answer_reaches_anybody():
    def answer(S_scaled):
        warnings.simplefilter("error")
        warnings.warn("look", stacklevel=1)

    def careless(S_scaled):
        warnings.warn("look", stacklevel=1)
        np.log(np.zeros(2)), np.ones(1) / 0, np.exp([1e6])
        return right(S_scaled)

    filters = list(warnings.filters)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert outcome_of(check("softmax", careless)) == ("right", "")
        assert outcome_of(check("softmax", answer)) == ("raised", "")
    assert not seen
    assert warnings.filters == filters


def test_numpys_error_state_is_put_back_and_does_not_matter():
    def answer(S_scaled):
        np.seterr(all="raise")
        return right(S_scaled)

    before = np.geterr()
    assert outcome_of(check("softmax", answer))[0] in {"right", "raised"}
    assert np.geterr() == before
    with np.errstate(all="raise"):
        assert outcome_of(check("softmax", right)) == ("right", "")
        assert check("softmax", lambda S: np.full(S.shape, 1.7e308)).outcome == "different"


def test_an_answer_that_draws_from_a_new_generator_each_time_is_told_so():
    def noisy(S_scaled):
        return right(S_scaled) * (1 + np.random.default_rng().random())

    assert outcome_of(check("softmax", noisy)) == ("different", "")


def test_an_answer_that_remembers_its_last_call_is_told_so():
    seen = set()

    def forgetful(S_scaled):
        again = S_scaled.tobytes() in seen
        seen.add(S_scaled.tobytes())
        return right(S_scaled) + again

    feedback = check("softmax", forgetful)
    assert outcome_of(feedback) == ("different", "")
    assert feedback.text.startswith("Called twice with the same input")


def test_a_list_that_grows_from_call_to_call_is_seen_as_it_was():
    def grows(S_scaled, rows=[]):  # noqa: B006
        rows += right(S_scaled).tolist()
        return rows

    feedback = check("softmax", grows)
    assert outcome_of(feedback) == ("form", "")
    assert "S_scaled = np.array([[0.5" in feedback.code  # the first call was right


def test_an_answer_that_writes_into_the_same_memory_each_time_is_right():
    memory = np.empty((7, 7))

    def answer(S, d_k):
        return np.divide(S, np.sqrt(d_k), out=memory[: S.shape[-2], : S.shape[-1]])

    feedback = check("scaling", answer)
    assert outcome_of(feedback) == ("right", "")
    assert "Your function is for one matrix" in feedback.remarks[0]


def test_an_answer_that_takes_its_own_tools_away_hurts_only_itself():
    scope = {}
    code = (
        "import numpy as np\ndef answer(S_scaled):\n    global np\n    result = np.exp(S_scaled)\n"
    )
    exec(f"{code}    del np\n    return result", scope)
    feedback = check("softmax", scope["answer"])
    assert outcome_of(feedback) == ("different", "")
    exec(f"{code}    np = softmax = None\n    return result", scope)
    assert outcome_of(check("softmax", scope["answer"]))[0] != "right"
    assert outcome_of(check("softmax", right)) == ("right", "")


def test_a_function_for_one_matrix_is_right_with_a_remark():
    def answer(S_scaled):
        rows, _ = S_scaled.shape
        return np.array([right(S_scaled[i]) for i in range(rows)])

    feedback = check("softmax", answer)
    assert outcome_of(feedback) == ("right", "")
    assert "on a batch of shape (2, 2, 2) it raises ValueError. A function" in feedback.remarks[0]


def test_every_remark_is_a_whole_sentence():
    feedback = check("weighted values", lambda A, V: np.dot(A, V).tolist())
    batch, is_list = feedback.remarks
    assert "it has shape (2, 1, 2, 2), and should have (2, 1, 2). A function" in batch
    assert is_list.startswith("It returns a list;")
    assert not re.search(r"[.?!][.?!]", repr(feedback).replace("np.array(...)", ""))


# The feedback


@pytest.mark.parametrize(
    "function", [right, np.exp, zeroes, lambda S_scaled: S_scaled, lambda S_scaled: 1 / 0]
)
def test_the_same_answer_hears_the_same_twice(function):
    one, other = check("softmax", function), check("softmax", function)
    assert one == other
    assert repr(one) == repr(other)
    assert one._repr_html_() == other._repr_html_()


def test_another_process_says_the_same():
    code = (
        "from attention_lib.exercises import check; print(check('softmax', lambda S: S + object()))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parent.parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in "12"
    }
    assert len(said) == 1
    assert "TypeError: unsupported operand" in said.pop()


def test_in_a_terminal_the_name_comes_first_and_code_is_indented():
    lines = repr(check("softmax", lambda S_scaled: S_scaled)).split("\n")
    assert lines == [
        "[softmax] Not yet: another result.",
        "Entry [0, 0] is 0 and should be 0.2689.",
        "This call shows it:",
        "",
        "    S_scaled = np.array([[0.0, 1.0], [2.0, 0.5]])",
        "    answer(S_scaled)",
    ]


class Reader(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def test_on_a_page_it_is_a_status_whose_words_are_those_of_the_terminal():
    feedback = check("softmax", np.exp)
    page = Reader(feedback._repr_html_())
    assert [tag for tag, _ in page.tags] == ["div", "strong"]
    assert page.tags[0][1]["role"] == "status"
    assert page.text == f"{feedback.heading} {feedback.text}"
    assert " ".join(repr(feedback).split()) == " ".join(f"[softmax] {page.text}".split())


def test_no_outcome_is_told_by_colour_alone():
    feedbacks = [Feedback("e", outcome, "text") for outcome in OUTCOMES]
    assert len({feedback.heading for feedback in feedbacks}) == len(OUTCOMES)
    edges = [
        re.search(r"border-left: 5px (\w+) (#\w+);", feedback._repr_html_()).groups()
        for feedback in feedbacks
    ]
    lines = dict(edges)
    assert set(lines) == {"solid", "dotted", "dashed"}
    assert len(set(lines.values())) == len(set(edges)) == 3
    assert [line for line, _ in edges].count("solid") == 1


def test_what_an_answer_says_cannot_become_part_of_the_page():
    def answer(S_scaled):
        raise ValueError("<script>alert('x')</script> & <b>")

    for feedback in (
        check("softmax", answer),
        check("strongest key", "<script>"),
        check("softmax", lambda S_scaled, script="<script>", *, more: S_scaled),
    ):
        page = feedback._repr_html_()
        assert "<script>" in feedback.text
        assert "<script>" not in page
        assert html.escape("<script>") in page
        assert {tag for tag, _ in Reader(page).tags} <= {"div", "strong", "pre"}


def test_code_on_a_page_is_preformatted_and_escaped():
    page = Feedback("e", "raised", "text", code="a < b\n<i>")._repr_html_()
    assert "a &lt; b\n&lt;i&gt;</pre></div>" in page


# Evidence


def test_evidence_of_a_matrix_is_about_the_first_entry_that_differs():
    got = np.array([[0.5, 0.5], [0.25, 1.0]])
    want = np.array([[0.5, 0.5], [0.25, 0.75]])
    assert evidence(got, want) == {
        "shape": "(2, 2)",
        "want_shape": "(2, 2)",
        "entry": "[1, 1]",
        "got": "1",
        "want": "0.75",
        "row": "0.25 1.00",
        "row_sums": "1.00 1.25",
        "column_sums": "0.75 1.50",
        "total": "2.25",
        "smallest": "0.25",
        "largest": "1",
    }


def test_evidence_of_truth_values_counts_them():
    words = evidence(np.array([[True, False], [True, True]]), np.ones((2, 2), dtype=bool))
    assert (words["entry"], words["got"], words["want"]) == ("[0, 1]", "False", "True")
    assert (words["row_sums"], words["column_sums"], words["total"]) == ("1 2", "2 1", "3")
    assert words["row"] == "True False"


def test_evidence_of_a_batch_sums_its_first_matrix():
    got = np.stack([np.eye(2), np.full((2, 2), 9.0)])
    words = evidence(got, np.stack([np.eye(2), np.ones((2, 2))]))
    assert (words["entry"], words["row"]) == ("[1, 0, 0]", "9.00 9.00")
    assert (words["row_sums"], words["largest"]) == ("1.00 1.00", "1")


def test_evidence_of_a_row_of_a_number_and_of_a_word():
    words = evidence(np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    assert (words["entry"], words["row"], words["row_sums"]) == ("[1]", "1.00 2.00", "3.00")
    words = evidence(3.5, 4)
    assert (words["entry"], words["got"], words["want"], words["row"]) == ("[]", "3.5", "4", "3.5")
    assert evidence("at", "night") == {
        "shape": "()",
        "want_shape": "()",
        "got": "at",
        "want": "night",
    }


def test_evidence_of_another_shape_has_no_entry_but_has_its_sums():
    words = evidence(np.ones((2, 3)), np.ones((3, 2)))
    assert "entry" not in words
    assert (words["shape"], words["want_shape"]) == ("(2, 3)", "(3, 2)")
    assert words["row_sums"] == "3.00 3.00"
    assert evidence(np.float64(2), np.ones(2))["got"] == "2"
    assert "row_sums" not in evidence(np.empty((0, 2)), np.ones((2, 2)))


@pytest.mark.parametrize(
    ("got", "want", "agree"),
    [
        (1.0, 1.0, True),
        (1, 1.0, True),
        (np.float32(0.1), 0.1, True),
        (1.00005, 1.0, True),
        (1.0005, 1.0, False),
        (5e-6, 0.0, True),
        (5e-5, 0.0, False),
        (np.nan, np.nan, True),
        (np.nan, 0.0, False),
        (np.inf, np.inf, True),
        (np.inf, -np.inf, False),
        (np.inf, 1e308, False),
        ([1, 2], (1, 2), True),
        ([1, 2], [[1, 2]], False),
        (True, 1, True),
        ([True, False], [True, True], False),
        ("Night ", "night", True),
        ("nights", "night", False),
        ("3", 3, True),
        ([], [], True),
    ],
)
def test_same_means_as_near_as_float32_can_tell(got, want, agree):
    assert same(np.array(got), np.array(want)) is agree


def test_first_difference_reads_row_by_row_and_needs_one_shape():
    assert first_difference([[1, 2], [3, 4]], [[1, 0], [0, 4]]) == (0, 1)
    assert first_difference([[1, 2], [np.nan, 4]], [[1, 2], [3, 0]]) == (1, 0)
    assert first_difference(3, 4) == ()
    assert first_difference([1, 2], [1, 2]) is None
    assert first_difference([1, 2], [1, 2, 3]) is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.0, "1"),
        (21, "21"),
        (0.26894142, "0.2689"),
        (-0.00001, "-1e-05"),
        (-0.0, "0"),
        (1234.56, "1235"),
        (np.inf, "inf"),
        (-np.inf, "-inf"),
        (np.nan, "nan"),
        (True, "True"),
        (np.False_, "False"),
        (np.float32(0.1), "0.1"),
        (np.array(2.5), "2.5"),
        (np.uint8(255), "255"),
    ],
)
def test_a_number_has_at_most_four_digits(value, words):
    assert number(value) == words


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.5, 1.0], "0.50 1.00"),
        ([1, 2], "1 2"),
        ([True, False], "True False"),
        ([-0.001, -0.0], "0.00 0.00"),
        ([np.nan, -np.inf], "nan -inf"),
        (range(5), "0 1 2 3 4"),
        (range(6), "0 1 2 3 4 ..."),
        (np.linspace(0, 1, 9), "0.00 0.12 0.25 0.38 0.50 ..."),
        ([], ""),
    ],
)
def test_a_row_of_numbers_ends_in_dots_after_five(values, words):
    assert numbers(values) == words
