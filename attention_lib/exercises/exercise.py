"""What an exercise is: a reference, inputs to try an answer on, and the mistakes people make."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from .inputs import Draw

SEED = 1  # of the inputs that everybody meets


class Mistake(NamedTuple):
    """A known mistake: what it computes, and what to say to whoever made it.

    The sentence may use the evidence of `attention_lib.exercises.evidence`, as in
    "your rows sum to {row_sums}". It ends with a question that leads on, not with the solution.
    """

    name: str
    computation: Callable
    sentence: str


@dataclass
class Exercise:
    """One exercise, as data.

    Parameters
    ----------
    name : str
        What `check` is called with.
    reference : function
        Computes the right answer. Its parameters are those that an answer takes; without any,
        the exercise is a question, and an answer is the value itself.
    cases : list of tuple
        Inputs, the smallest first. Every known mistake must give other numbers than the
        reference on one of them, or on one of the `extreme` or `batch` cases, and other
        numbers than every other mistake.
    notice : str
        One thing to notice, said with a right answer.
    extreme : list of tuple
        Inputs on which careless arithmetic fails. They come after the cases.
    fresh, fresh_extreme : function, optional
        Draw more cases, and more extreme ones, from an `attention_lib.exercises.inputs.Draw`.
        One drawing stands behind the cases that are written down here.
    batch : list of tuple
        Inputs with batch axes. An answer for one matrix alone is right without them, unless
        it makes a known mistake there.
    given : dict
        What a question gives, by name, in the order of its text: a number, or several. The
        reference and the mistakes compute from it, and `tools/exercise_checks.py` compares it
        with the notebook's text, or with what its cell assigns to that name.

    Examples
    --------
    >>> double = Exercise("double", lambda x: 2 * x, cases=[(1,), (3,)], notice="Even numbers.")
    >>> @double.mistake("square", "For 3 you got {got}. Is 3 times 3 the same as 3 plus 3?")
    ... def square(x):
    ...     return x * x
    >>> [mistake.name for mistake in double.mistakes]
    ['square']
    """

    name: str
    reference: Callable
    cases: list
    notice: str
    extreme: list = field(default_factory=list)
    batch: list = field(default_factory=list)
    fresh: Callable = None
    fresh_extreme: Callable = None
    given: dict = field(default_factory=dict)
    mistakes: list = field(default_factory=list)
    known: dict = field(default_factory=dict, repr=False)  # what each does, by stage, once asked

    def __post_init__(self):
        drawn = self.drawn(Draw(SEED))
        self.cases, self.extreme = self.cases + drawn["cases"], self.extreme + drawn["extreme"]

    def drawn(self, draw):
        """Return inputs of the same kinds as the cases and the extreme cases, newly drawn."""
        return {
            "cases": self.fresh(draw) if self.fresh else [],
            "extreme": self.fresh_extreme(draw) if self.fresh_extreme else [],
        }

    def with_drawn(self, draw):
        """Return the exercise with newly drawn inputs behind its own."""
        drawn = self.drawn(draw)
        more = copy.copy(self)
        more.cases, more.extreme = self.cases + drawn["cases"], self.extreme + drawn["extreme"]
        more.known = {}
        return more

    def mistake(self, name, sentence):
        """Add the decorated function to the catalogue as what this mistake computes."""

        def add(computation):
            self.mistakes.append(Mistake(name, computation, sentence))
            return computation

        return add
