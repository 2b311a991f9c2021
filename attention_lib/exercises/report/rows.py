"""What the report says: a row for everything that was asked, and for every file."""

import collections
from typing import NamedTuple

# What a row may say: the outcomes of `check`, and those of a notebook.
OUTCOMES = {
    "right": "the answer is right",
    "not attempted": "the dots ... are still there",
    "mistake": "one of the known mistakes, by name",
    "raised": "the answer stops with an error",
    "form": "the result is of another kind or shape than it should be",
    "different": "the result differs, by none of the known mistakes",
    "endless": "the answer did not come to an end, and was stopped",
    "call": "check was called with a name that no exercise has, or not with one answer",
    "no answer": "the cell stopped before check could look at an answer; the reason is given",
    "missing": "the exercise was handed out, and no cell of the notebook asks it",
    "not reached": "the notebook was stopped before the cell of the exercise",
    "no exercise": "the notebook checked nothing",
    "crashed": "the student's process ended in the middle of the cell",
    "out of time": "the cell was stopped, because it took too long",
    "stopped": "the cell wanted more than the sandbox gives; what of, is said",
    "unreadable": "there is no notebook to run; the reason is given",
    "not run": "the file is no submission; the reason is given",
}


class Row(NamedTuple):
    """What the report says about one exercise of one notebook, or about a file."""

    file: str
    exercise: str
    outcome: str
    mistake: str  # by name, or what happened instead
    said: str = ""  # what check said


class Account:
    """What became of the exercises of one notebook, as it runs."""

    def __init__(self, cells_asking):
        self.places = cells_asking  # for each cell, the exercises that it asks about
        self.heard, self.errors, self.ends = {}, {}, {}
        self.besides = []  # how cells ended that ask about nothing more
        self.reached = set()  # cells, by number

    def hear(self, exercise, feedback):
        """Keep what check said; the last time counts."""
        self.heard[exercise] = feedback

    def fail(self, cell, error):
        """Keep the error that ended a cell, for the exercises that it had not come to."""
        for exercise in self.places[cell]:
            self.errors[exercise] = error

    def end(self, cell, outcome, reason):
        """Keep how a cell ended that took the student's process with it."""
        unheard = [exercise for exercise in self.places[cell] if exercise not in self.heard]
        for exercise in unheard:
            self.ends[exercise] = outcome, reason
        if not unheard and (outcome, reason) not in self.besides:
            self.besides.append((outcome, reason))

    def rows(self, file, expected, hint=""):
        """Return a row for every exercise, in the order of the notebook, and of what else happened.

        Parameters
        ----------
        file : str
            The notebook's name in the report.
        expected : list of str
            The exercises that were handed out.
        hint : str
            What may be behind errors, as a file that hides a library.
        """
        order = list(dict.fromkeys(name for cell in self.places for name in cell))
        order += [name for name in self.heard if name not in order]
        order += [name for name in expected if name not in order]
        found = [Row(file, name, *self._about(name, hint)) for name in order]
        found += [Row(file, "", *self._hinted(*end, hint)) for end in self.besides]
        return found or [Row(file, "", "no exercise", "")]

    def _about(self, name, hint):
        feedback = self.heard.get(name)
        if feedback is not None:
            said = feedback.text if feedback.outcome != "right" else ""
            plain = feedback.outcome in ("right", "not attempted")
            return feedback.outcome, "" if plain else feedback.mistake or feedback.text, said
        if name in self.ends:
            return self._hinted(*self.ends[name], hint)
        if name in self.errors:
            return self._hinted("no answer", self.errors[name], hint)
        cells = [number for number, asked in enumerate(self.places) if name in asked]
        if not cells:
            return "missing", ""
        if not self.reached & set(cells):
            return "not reached", "the cells before it left no time"
        return self._hinted("no answer", "the cell ran, and gave check no answer", hint)

    @staticmethod
    def _hinted(outcome, reason, hint):
        return outcome, f"{reason} ({hint})" if hint else reason


def handed_out(mine, others):
    """Return the exercises that at least half of the notebooks like this one ask.

    Parameters
    ----------
    mine : list of str
        What this notebook asks. One that shares none of it is not like it.
    others : list of list of str
        What each notebook of the class asks, this one included.

    Examples
    --------
    >>> handed_out(["scores"], [["scores", "scaling"], ["scores", "scaling"], ["scores"], ["softmax"]])
    ['scores', 'scaling']
    """
    alike = [names for names in others if set(names) & set(mine)]
    counts = collections.Counter(name for names in alike for name in dict.fromkeys(names))
    return [name for name, count in counts.items() if 2 * count >= len(alike)]
