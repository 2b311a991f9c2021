"""Try an answer on the cases of its exercise, and find out what is wrong with it."""

import copy
import inspect

import numpy as np

from .calling import DOTS, call, error_in_words, is_blank, kind_of, literal, name_of, wrong_arity
from .evidence import apart, evidence, first_difference, number, same
from .feedback import Feedback


@np.errstate(all="ignore")  # an answer may hold any numbers, and they are compared
def judge(exercise, answer):
    """Return the feedback on an answer. Whatever the answer's code does, nothing is raised."""
    parameters = list(inspect.signature(exercise.reference).parameters)
    if parameters and not callable(answer):
        return _about_no_function(exercise, answer)
    if not parameters:
        if callable(answer) or answer is None:
            came = "None" if answer is None else "a function"
            text = f"check was given {came}, but this is a question: it expects your answer, as a value."
            return Feedback(exercise.name, "form", text)
        single = isinstance(answer, np.ndarray) and answer.size == 1 and answer.ndim <= 2
        value, answer = answer.item() if single else answer, lambda: value
    elif mismatch := wrong_arity(answer, parameters):
        return Feedback(exercise.name, "form", mismatch)

    trial = _Trial(exercise, answer, parameters)
    runs = [trial.run(case) for case in exercise.cases]
    if any(map(is_blank, runs)):
        yours = "your own code" if parameters else "your answer"
        text = f"Put {yours} in place of the dots ..., and run the cell again."
        return Feedback(exercise.name, "not attempted", text)
    extreme_runs = [trial.run(case) for case in exercise.extreme]
    batch_runs = [trial.run(case) for case in exercise.batch]
    return (
        trial.verdict(exercise.cases, runs)
        or trial.verdict(exercise.extreme, extreme_runs)
        or trial.verdict(exercise.batch, batch_runs, must=False)
        or trial.manners(runs + extreme_runs)
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
        return call(self.answer, case, self.parameters)

    def verdict(self, cases, runs, must=True):
        """Return what is wrong on these cases, or None; drop the mistakes that would be wrong."""
        wants = [self.exercise.reference(*copy.deepcopy(case)) for case in cases]
        wrong = [i for i, pair in enumerate(zip(runs, wants, strict=True)) if not _right(*pair)]
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
                text = mistake.sentence.format_map(words)
                return Feedback(self.exercise.name, "mistake", text, mistake.name)
        if must:
            return self.unknown(cases[first], runs[first], wants[first])
        self.remarks.append(self.only_for_a_matrix(cases[first], runs[first], wants[first]))
        return None

    def unknown(self, case, run, want):
        """Return the feedback on a wrong result that no known mistake gives."""
        if run.error is not None:
            outcome, text = "raised", error_in_words(run.error, self.answer)
        elif problem := _form(run, want):
            outcome, text = "form", problem
        elif not self.parameters and not np.ndim(want):
            word = run.array.dtype.kind == "U"
            shown = repr(run.array.item()) if word else number(run.array)
            outcome = "different"
            text = f"{shown} is not it, and not one of the usual mistakes. Look at the cells above again."
        else:
            outcome = "different"
            place = first_difference(run.array, want)
            got, right = apart(run.array[place], np.asarray(want)[place])
            entry = f"Entry {list(place)}" if place else "The result"
            text = f"{entry} is {got} and should be {right}."
            if not self.parameters:
                right = np.count_nonzero(run.array == np.asarray(want))
                text = f"{right} of {np.size(want)} are right. Look at the cells above again."
        return Feedback(self.exercise.name, outcome, text, code=self.code(case))

    def only_for_a_matrix(self, case, run, want):
        shape = max((np.shape(value) for value in case), key=len)
        if run.error is not None:
            happens = f"it raises {type(run.error).__name__}"
        elif problem := _form(run, want):
            happens = problem[0].lower() + problem[1:].partition(". ")[0].rstrip(".")
        else:
            happens = "it gives other numbers"
        return (
            f"That is for one matrix: on a batch of shape {shape} {happens}. A function that leaves the axes "
            "in front of the last two alone would serve both."
        )

    def manners(self, runs):
        """Return what is wrong with a function whose numbers are right, or None; add remarks."""
        run, name = runs[0], self.exercise.name
        if not self.parameters:
            return None
        if changed := next((run.changed for run in runs if run.changed), ""):
            text = (
                f"The numbers are right, but {changed} is no longer what it was: the function writes into its "
                f"argument, and a second call would start from changed numbers. Which line writes into {changed}?"
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
        pairs = zip(self.parameters, case, strict=True)
        lines = [f"{name} = {literal(value)}" for name, value in pairs]
        function = name_of(self.answer) or "answer"
        return "\n".join([*lines, f"{function}({', '.join(self.parameters)})"])


def _runs_of(mistake, cases):
    return (call(mistake.computation, case) for case in cases)  # mostly, the first one tells


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


def _form(run, want):
    """Return what is wrong with the kind or the shape of a result, or ""."""
    if run.result is None:
        return "It returned None: a function gives back what stands after return."
    if callable(run.result):
        return "It returned a function. Was it meant to be called?"
    got, want = run.array, np.asarray(want)
    fits = got is not None and got.shape == want.shape
    if isinstance(run.result, tuple) and _holds_arrays(run.result) and not fits:
        return f"It returned a tuple, of length {len(run.result)}. Which part of it is asked for?"
    if got is None or (got.dtype.kind == "U") != (want.dtype.kind == "U"):
        expected = {"U": "a word", "b": "True and False"}.get(want.dtype.kind, "real numbers")
        return f"It is {kind_of(run.result)} where {expected} should come."
    if want.dtype == bool and got.dtype != bool:
        return (
            f"It is {got.dtype} where booleans should come. Which comparison gives True and False?"
        )
    if got.shape == want.shape:
        return ""
    if want.ndim > 1:
        ask = "has the wrong length" if got.ndim == want.ndim else "is missing, or one too many"
        return f"It has shape {got.shape}, and should have {want.shape}. Which axis {ask}?"
    came = "a single value" if not got.ndim else f"something of shape {got.shape}"
    return f"{came[0].upper()}{came[1:]} came, where {_count(want)} should come."


def _holds_arrays(result):
    return any(isinstance(part, np.ndarray) for part in result)


def _count(want):
    return f"{len(want)} values in a row" if want.ndim else "a single value"


def _about_no_function(exercise, answer):
    if answer is ... or (isinstance(answer, str) and answer in DOTS):
        text = "Write the function, and give it to check by its name."
        return Feedback(exercise.name, "not attempted", text)
    kind = kind_of(answer)
    text = (
        f"{kind[0].upper()}{kind[1:]} came where a function should. Give check the function itself, without "
        f"calling it: check({exercise.name!r}, my_function)."
    )
    return Feedback(exercise.name, "form", text)
