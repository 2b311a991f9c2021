"""Try an answer on the cases of its exercise, and find out what is wrong with it."""

import copy
import functools
import inspect

import numpy as np

from .calling import Answer, call, literal
from .evidence import apart, evidence, first_difference, same
from .feedback import Feedback
from .manners import SECONDS


def judge(exercise, answer):
    """Return the feedback on an answer. Whatever the answer's code does, nothing is raised."""
    return examine(exercise, Answer(answer))


def prepare(exercise):
    """Compute what every known mistake does, so that `examine` need not: a thread may call it then."""
    for stage in ("cases", "extreme", "batch"):
        for mistake in exercise.mistakes:
            _known(exercise, stage)(mistake)


@np.errstate(all="ignore")  # an answer may hold any numbers, and they are compared
def examine(exercise, answer):
    """Return the feedback on an `Answer`, or on what stands for one in another process."""
    with answer.manners() as drew:
        return _examine(exercise, answer, drew)


def _examine(exercise, answer, drew):
    parameters = list(inspect.signature(exercise.reference).parameters)
    if parameters and not answer.callable:
        return _about_no_function(exercise, answer)
    if not parameters and (answer.callable or answer.kind == "a NoneType"):
        came = "a function" if answer.callable else "None"
        text = (
            f"check was given {came}, but this is a question: it expects your answer, as a value."
        )
        return Feedback(exercise.name, "form", text)
    if parameters and (misfit := answer.misfit(parameters)):
        return Feedback(exercise.name, "form", misfit)

    trial = _Trial(exercise, answer, parameters)
    runs = trial.runs(exercise.cases)
    if any(run.blank for run in runs):
        return _not_attempted(exercise, "your own code" if parameters else "your answer")
    extreme_runs, batch_runs = trial.runs(exercise.extreme), trial.runs(exercise.batch)
    if late := next((run for run in runs + extreme_runs + batch_runs if run.late), None):
        where = f", in {late.words}" if late.words else ""
        text = (
            f"After {SECONDS:g} seconds it was stopped{where}. What should bring it to an end, and does that "
            "change from one turn to the next?"
        )
        return Feedback(exercise.name, "endless", text)
    return (
        trial.verdict("cases", runs)
        or trial.verdict("extreme", extreme_runs)
        or trial.verdict("batch", batch_runs)
        or trial.manners(runs + extreme_runs, drew())
        or Feedback(exercise.name, "right", exercise.notice, remarks=tuple(trial.remarks))
    )


class _Trial:
    """One answer under examination: which mistakes are still possible, what to remark."""

    def __init__(self, exercise, answer, parameters):
        self.exercise = exercise
        self.answer = answer
        self.parameters = parameters
        self.possible = list(exercise.mistakes)
        self.remarks = []

    def runs(self, cases):
        return [self.run(case) for case in cases]

    def run(self, case):
        if not self.parameters:
            run = self.answer.value()
            single = run.array is not None and run.array.size == 1 and run.array.ndim <= 2
            is_array = single and run.kind.startswith("an array")
            return run._replace(array=run.array.reshape(())) if is_array else run
        return self.answer.run(case, self.parameters)

    def verdict(self, stage, runs):
        """Return what is wrong on these cases, or None; drop the mistakes that would be wrong."""
        cases, known = getattr(self.exercise, stage), _known(self.exercise, stage)
        wants = [self.exercise.reference(*copy.deepcopy(case)) for case in cases]
        wrong = [i for i, pair in enumerate(zip(runs, wants, strict=True)) if not _right(*pair)]
        if not wrong:
            self.possible = [
                mistake for mistake in self.possible if all(map(_right, known(mistake), wants))
            ]
            return None
        first = wrong[0]
        if mistake := self.made(runs, wants, known, stage):
            shown = next((i for i in wrong if not runs[i].error), first)
            words = evidence(runs[shown].array, wants[shown], runs[shown].words)
            text = mistake.sentence.format_map(words)
            return Feedback(self.exercise.name, "mistake", text, mistake.name)
        if stage != "batch":
            return self.unknown(cases[first], runs[first], wants[first])
        self.remarks.append(self.only_for_a_matrix(cases[first], runs[first], wants[first]))
        return None

    def made(self, runs, wants, known, stage):
        """Return the mistake that gives the same results in every case of a stage, or None."""
        for alike in _WAYS_TO_BE_ALIKE if stage == "extreme" else _WAYS_TO_BE_ALIKE[:1]:
            for mistake in self.possible:
                if all(map(alike, runs, known(mistake), wants)):
                    return mistake
        return None

    def unknown(self, case, run, want):
        """Return the feedback on a wrong result that no known mistake gives."""
        if run.error:
            outcome, text = "raised", run.words
        elif problem := _form(run, want):
            outcome, text = "form", problem
        elif not self.parameters and not np.ndim(want):
            word = run.array.dtype.kind == "U"
            shown = _quoted(run.array.item()) if word else apart(run.array, want)[0]
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
        if run.error:
            happens = f"it raises {run.error}"
        elif problem := _form(run, want):
            happens = problem[0].lower() + problem[1:].partition(". ")[0].rstrip(".")
        else:
            happens = "it gives other numbers"
        return (
            f"Your function is for one matrix: on a batch of shape {shape} {happens}. A function that leaves the axes "
            "in front of the last two alone would serve both."
        )

    def manners(self, runs, drew):
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
        if run.form in ("list", "tuple"):
            self.remarks.append(
                "It returns a list; the next step will want an array: np.array(...) makes one."
            )
        if run.array.dtype in (np.float32, np.float16):
            self.remarks.append(f"It computes in {run.array.dtype}, which is enough here.")
        if any(run.printed for run in runs):
            self.remarks.append(
                "What it prints is not shown here; take the print out when you are done."
            )
        if drew:
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
        function = self.answer.name or "answer"
        return "\n".join([*lines, f"{function}({', '.join(self.parameters)})"])


def _known(exercise, stage):
    """Return a function that says what a mistake does in the cases of one stage, as runs."""
    if stage not in exercise.known:
        cases = getattr(exercise, stage)
        exercise.known[stage] = functools.cache(
            lambda mistake: [call(mistake.computation, case) for case in cases]
        )
    return exercise.known[stage]


def _right(run, want):
    return not run.error and not _form(run, want) and same(run.array, want)


def _alike(run, other, _want=None):
    """Say whether an answer did what a known mistake does: the same numbers, or an error too."""
    if run.error or other.error:
        return bool(run.error and other.error)
    got, wrong = run.array, other.array
    if got is None or wrong is None or (got.dtype == bool) != (wrong.dtype == bool):
        return False
    return same(got, wrong)


def _alike_out_of_range(run, other, want, mended=False):
    """Say whether two are alike where numbers leave the range of a float.

    Then NaN, 0, infinity and an arithmetic error are one and the same failure: `math.exp`
    raises, 1e-8 under the line makes 0 of 0 / 0, and `nan_to_num` hides what happened, which
    may even mend some entries.
    """
    if _alike(run, other) or other.array is None or other.array.dtype.kind != "f":
        return _alike(run, other)
    lost = np.isnan(other.array)
    if run.error:
        return run.arithmetic and bool(lost.any())
    if _form(run, want):
        return False
    got = run.array[lost]
    gone = np.isnan(got) | np.isinf(got) | (got == 0)
    if mended:
        gone |= np.isclose(got, np.asarray(want)[lost])
    return bool(lost.any() and gone.all()) and same(run.array[~lost], other.array[~lost])


# At the extremes the second and the third are tried as well, each when the one before finds none.
_WAYS_TO_BE_ALIKE = (
    _alike,
    _alike_out_of_range,
    functools.partial(_alike_out_of_range, mended=True),
)


def _form(run, want):
    """Return what is wrong with the kind or the shape of a result, or ""."""
    if run.form == "none":
        return "It returned None: a function gives back what stands after return."
    if run.form == "function":
        return "It returned a function. Was it meant to be called?"
    if run.form == "masked":
        return (
            "It is a masked array, and some of its entries are hidden: they have no number. Its method filled "
            "makes an array of numbers. Which number should stand where nothing is?"
        )
    got, want = run.array, np.asarray(want)
    if run.form == "huge":
        return f"It has far too many entries. {want.size} should come."
    if run.form == "tuple" and (got is None or got.shape != want.shape):
        return f"It returned a tuple, of length {run.length}. Which part of it is asked for?"
    if got is None or (got.dtype.kind == "U") != (want.dtype.kind == "U"):
        expected = {
            "U": "a word in quotes",
            "b": "True and False",
            "i": "a number, without quotes," if not want.ndim else "numbers, without quotes,",
        }.get(want.dtype.kind, "real numbers")
        return f"It is {run.kind} where {expected} should come."
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


def _quoted(word):
    return repr(word if len(word) <= 60 else f"{word[:57]}...")


def _count(want):
    return f"{len(want)} values in a row" if want.ndim else "a single value"


def _not_attempted(exercise, yours):
    text = f"Put {yours} in place of the dots ..., and run the cell again."
    return Feedback(exercise.name, "not attempted", text)


def _about_no_function(exercise, answer):
    if answer.value().blank:
        text = "Write the function, and give it to check by its name."
        return Feedback(exercise.name, "not attempted", text)
    text = (
        f"{answer.kind[0].upper()}{answer.kind[1:]} came where a function should. Give check the function itself, "
        f"without calling it: check({exercise.name!r}, my_function)."
    )
    return Feedback(exercise.name, "form", text)
