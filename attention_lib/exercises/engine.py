"""Try an answer on the cases of its exercise, and find out what is wrong with it."""

import contextlib
import copy
import inspect
import io
import random
import re
import warnings
from typing import NamedTuple

import numpy as np

from .evidence import evidence, first_difference, number, same
from .feedback import Feedback

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # another one at each run


class Run(NamedTuple):
    """What came of one call of an answer."""

    result: object = None
    array: np.ndarray = None  # the result as numbers, truth values or one word, if it is that
    error: BaseException = None
    changed: str = ""  # the argument that is not what it was
    printed: str = ""
    drew: bool = False  # whether a global random generator was seeded or used


@np.errstate(all="ignore")  # an answer may hold any numbers, and they are compared
def judge(exercise, answer):
    """Return the feedback on an answer. Whatever the answer's code does, nothing is raised."""
    parameters = list(inspect.signature(exercise.reference).parameters)
    if parameters and not callable(answer):
        return _about_no_function(exercise, answer)
    if not parameters:
        if callable(answer) or answer is None:
            came = "None" if answer is None else "A function"
            text = f"{came} came. This is a question: give check the answer itself, as a value."
            return Feedback(exercise.name, "form", text)
        value, answer = answer, lambda: value
    elif mismatch := _arity(answer, parameters):
        return Feedback(exercise.name, "form", mismatch)

    trial = _Trial(exercise, answer, parameters)
    runs = [trial.run(case) for case in exercise.cases]
    if any(map(_is_blank, runs)):
        text = "Put your own code in place of the dots ..., and run the cell again."
        if not parameters:
            text = "Put your answer in place of the dots ..., and run the cell again."
        return Feedback(exercise.name, "not attempted", text)
    return (
        trial.verdict(exercise.cases, runs)
        or trial.verdict(exercise.extreme, [trial.run(case) for case in exercise.extreme])
        or trial.verdict(exercise.batch, [trial.run(case) for case in exercise.batch], must=False)
        or trial.manners(runs)
        or Feedback(exercise.name, "right", " ".join([exercise.notice, *trial.remarks]))
    )


class _Trial:
    """One answer under examination: which mistakes are still possible, what to remark."""

    def __init__(self, exercise, answer, parameters):
        self.exercise = exercise
        self.answer = answer
        self.parameters = parameters
        self.possible = list(exercise.mistakes)
        self.remarks = []

    def run(self, case):
        return _run(self.answer, case, self.parameters)

    def verdict(self, cases, runs, must=True):
        """Return what is wrong on these cases, or None; drop the mistakes that would be wrong."""
        wants = [self.exercise.reference(*copy.deepcopy(case)) for case in cases]
        wrong = [
            i
            for i, (run, want) in enumerate(zip(runs, wants, strict=True))
            if not _right(run, want)
        ]
        if not wrong:
            self.possible = [
                mistake
                for mistake in self.possible
                if all(map(_right, _runs_of(mistake, cases), wants))
            ]
            return None
        first = wrong[0]
        for mistake in self.possible:
            if all(map(_alike, runs, _runs_of(mistake, cases))):
                shown = next((i for i in wrong if runs[i].error is None), first)
                words = evidence(runs[shown].array, wants[shown])
                return Feedback(
                    self.exercise.name,
                    "mistake",
                    mistake.sentence.format_map(words),
                    mistake.name,
                )
        if must:
            return self.unknown(cases[first], runs[first], wants[first])
        self.remarks.append(self.only_for_a_matrix(cases[first], runs[first], wants[first]))
        return None

    def unknown(self, case, run, want):
        """Return the feedback on a wrong result that no known mistake gives."""
        name, code = self.exercise.name, self.code(case)
        if run.error is not None:
            text = f"{_error_in_words(run.error, self.answer)}. This call is enough to see it:"
            return Feedback(name, "raised", text, code=code)
        if problem := _form(run, want):
            text = f"{problem} This call shows it:" if code else problem
            return Feedback(name, "form", text, code=code)
        if isinstance(want, str) or not np.ndim(want):
            text = f"{_shown(run.array)} is not it, and not one of the usual mistakes either."
            if not code:
                return Feedback(name, "different", f"{text} Look at the cells above again.")
            return Feedback(
                name, "different", f"{text} The right number here is {_shown(want)}:", code=code
            )
        got = run.array
        place = first_difference(got, want)
        if not code:
            return Feedback(
                name, "different", f"Entry {list(place)}, {number(got[place])}, is not right."
            )
        right = number(np.asarray(want)[place])
        text = f"Entry {list(place)} is {number(got[place])} and should be {right}, in this call:"
        return Feedback(name, "different", text, code=code)

    def only_for_a_matrix(self, case, run, want):
        shape = max((np.shape(value) for value in case), key=len)
        if run.error is not None:
            happens = f"it raises {type(run.error).__name__}"
        elif problem := _form(run, want):
            happens = problem[0].lower() + problem[1:].partition(". ")[0].rstrip(".")
        else:
            happens = "it gives other numbers"
        return (
            f"That is for one matrix: on a batch of shape {shape} {happens}. Axes counted from the end "
            "(-1, -2) would serve both."
        )

    def manners(self, runs):
        """Return what is wrong with a function whose numbers are right, or None; add remarks."""
        run, name = runs[0], self.exercise.name
        if not self.parameters:
            return None
        if changed := next((run.changed for run in runs if run.changed), ""):
            text = (
                f"The numbers are right, but {changed} is no longer what it was: the function writes into its "
                "argument, and a second call would start from changed numbers. Which line assigns to a part of "
                f"{changed}?"
            )
            return Feedback(name, "mistake", text, "changes its input")
        again = self.run(self.exercise.cases[0])
        if not _alike(again, run):
            text = "Called twice with the same input, it gave different numbers. What does it remember, or draw?"
            return Feedback(name, "different", text, code=self.code(self.exercise.cases[0]))
        if isinstance(run.result, (list, tuple)):
            self.remarks.append(
                "It returns a list; the next step will want an array: np.array(...) makes one."
            )
        if run.array.dtype in (np.float32, np.float16):
            self.remarks.append(f"It computes in {run.array.dtype}, which is enough here.")
        if any(run.printed for run in runs):
            self.remarks.append(
                "What it prints is not shown here; take the print out when you are done."
            )
        if any(run.drew for run in runs):
            self.remarks.append(
                "It seeds or uses NumPy's or Python's global random generator, which this does not need; the "
                "generator has been put back."
            )
        return None

    def code(self, case):
        """Return lines that call the answer on this case."""
        if not self.parameters:
            return ""
        lines = [
            f"{name} = {_literal(value)}" for name, value in zip(self.parameters, case, strict=True)
        ]
        function = _name(self.answer) or "answer"
        return "\n".join([*lines, f"{function}({', '.join(self.parameters)})"])


def _run(function, case, parameters=()):
    """Call a function on copies of its input, and keep what it does to itself."""
    arguments = copy.deepcopy(case)
    printed = io.StringIO()
    states = np.random.get_state(), random.getstate()
    run = Run()
    try:
        with (
            np.errstate(all="ignore"),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter("ignore")
            result = function(*arguments)
            run = run._replace(result=result, array=_comparable(result))
    except KeyboardInterrupt:  # that is the reader, not the answer
        raise
    except BaseException as error:  # quit() must not stop the kernel
        run = run._replace(error=error)
    finally:
        now = np.random.get_state(), random.getstate()
        np.random.set_state(states[0])
        random.setstate(states[1])
    drew = not (_same_state(states[0], now[0]) and states[1] == now[1])
    changed = [
        name
        for name, before, after in zip(parameters, case, arguments, strict=False)
        if np.asarray(before).dtype != np.asarray(after).dtype
        or not np.array_equal(before, after, equal_nan=True)
    ]
    return run._replace(changed="".join(changed[:1]), printed=printed.getvalue(), drew=drew)


def _same_state(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _runs_of(mistake, cases):
    return (_run(mistake.computation, case) for case in cases)  # mostly, the first one tells


def _is_blank(run):
    """Say whether there is still a `...` where an answer should be."""
    if run.error is not None:  # other kinds of error speak of an index or of subscripts
        kinds = (TypeError, AttributeError)
        return isinstance(run.error, kinds) and "ellipsis" in _words(run.error).lower()
    if isinstance(run.result, (list, tuple)):
        return any(part is ... for part in run.result)
    return run.result is ...


def _right(run, want):
    return run.error is None and not _form(run, want) and same(run.array, want)


def _alike(run, other):
    """Say whether an answer did what a known mistake does: the same numbers, or an error too."""
    if run.error is not None or other.error is not None:
        return run.error is not None and other.error is not None
    got, wrong = run.array, other.array
    if got is None or wrong is None or (got.dtype == bool) != (wrong.dtype == bool):
        return False
    return same(got, wrong)


def _comparable(result):
    """Return a result as an array of numbers, truth values or one string; None if it is none.

    The array is a copy: the result may be something that a later call changes.
    """
    try:
        array = np.array(result)
    except Exception:
        return None
    if array.dtype.kind in "biuf" or (array.dtype.kind == "U" and array.ndim == 0):
        return array
    return None


def _form(run, want):
    """Return what is wrong with the kind or the shape of a result, or ""."""
    if run.result is None:
        return "It returned None: a function gives back what stands after return."
    got, want = run.array, np.asarray(want)
    if callable(run.result):
        return "It returned a function. Was it meant to be called?"
    if got is None or (got.dtype.kind == "U") != (want.dtype.kind == "U"):
        expected = "a word" if want.dtype.kind == "U" else "numbers"
        return f"It is {_kind(run.result)} where {expected} should come."
    if want.dtype == bool and got.dtype != bool:
        return f"It is {got.dtype} where booleans, True and False, should come. Which comparison says it?"
    if got.shape != want.shape:
        ask = " Which axis went missing, or came in?" if want.ndim > 1 else ""
        return f"It has shape {got.shape}, and should have {want.shape}.{ask}"
    return ""


def _kind(result):
    if isinstance(result, np.ndarray):
        return f"an array of {result.dtype}"
    name = type(result).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def _about_no_function(exercise, answer):
    if answer is ...:
        text = "Write the function, and give it to check by its name."
        return Feedback(exercise.name, "not attempted", text)
    kind = _kind(answer)
    text = (
        f"{kind[0].upper()}{kind[1:]} came where a function should. Give check the function itself, without "
        f"calling it: check({exercise.name!r}, my_function)."
    )
    return Feedback(exercise.name, "form", text)


def _arity(answer, parameters):
    """Return what is wrong with the number of arguments that an answer takes, or ""."""
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):  # some functions written in C do not say
        return ""
    try:
        signature.bind(*parameters)
    except TypeError:
        takes = _ADDRESS.sub("", str(signature))
        return (
            f"{_name(answer) or 'The function'} takes {takes}; check calls it with {len(parameters)} "
            f"argument{'s' * (len(parameters) != 1)}: {', '.join(parameters)}."
        )
    return ""


def _name(answer):
    """Return the name of a function, or "" for what cannot be called by one, as a lambda."""
    name = answer.__name__ if inspect.isroutine(answer) or inspect.isclass(answer) else ""
    return name if name.isidentifier() else ""


def _error_in_words(error, answer):
    """Return an error with its kind, and the line of the answer in which it came up."""
    words = _words(error)
    text = f"{type(error).__name__}: {words}" if words else type(error).__name__
    code = getattr(answer, "__code__", None) if inspect.isroutine(answer) else None
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code is code:
            line = trace.tb_lineno - code.co_firstlineno + 1
        trace = trace.tb_next
    return f"In line {line} of {_name(answer) or 'the function'}: {text}" if line else text


def _words(error):
    """Return the first line of what an error says, or "" if it does not say anything."""
    try:
        return _ADDRESS.sub("", str(error)).strip().split("\n")[0]
    except Exception:
        return ""


def _shown(value):
    value = np.asarray(value)
    return repr(str(value)) if value.dtype.kind == "U" else number(value)


def _literal(value):
    """Return code that makes an argument."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    text = repr(value.tolist()).replace("-inf", "-np.inf").replace(" inf", " np.inf")
    return f"np.array({text})"
