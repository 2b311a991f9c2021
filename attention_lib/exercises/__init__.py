"""Exercises that say which mistake was made.

    check("softmax", my_softmax)

tries an answer on small inputs and answers in a sentence or two: right; not attempted yet;
stopped with an error; wrong form; one of the mistakes that learners are known to make, by name
and in the learner's own numbers; or the first entry that differs. It never raises because of
what an answer does.

    exercise.py    what an exercise is: data
    catalogue/     the exercises, a module a notebook, each with its known mistakes
    engine.py      tries an answer and finds the mistake
    asking.py      what was meant by a call of check that cannot be judged
    calling.py     calls an answer, whatever it does
    evidence.py    a learner's own numbers, for the sentences
    feedback.py    the answer, for a page and for a terminal
    inputs.py      draws inputs on which one mistake cannot pass for another
    manners.py     puts back what an answer has changed, and stops one that does not end
    report/        python -m attention_lib.exercises report NOTEBOOK...: a whole class at once
"""

from .asking import NOT_GIVEN, about_the_call
from .catalogue import EXERCISES
from .engine import judge
from .feedback import Feedback

__all__ = ["Feedback", "check"]


def check(name=NOT_GIVEN, answer=NOT_GIVEN, *more):
    """Say whether an answer to an exercise is right, and if not, what the mistake is.

    Parameters
    ----------
    name : str
        Name of the exercise, as in its cell.
    answer : function, or the value that a question asks for
        `...` means "not attempted yet", and so does a function that returns it.
    *more
        Nothing should come here. What does, and an exercise that there is not, gets a sentence.

    Returns
    -------
    Feedback
        `.outcome`, `.mistake` and `.text`; a notebook shows it as a box.

    Examples
    --------
    >>> import numpy as np
    >>> check("softmax", lambda S_scaled: np.exp(S_scaled) / np.exp(S_scaled).sum())
    [softmax] Not yet: softmax over the whole matrix.
    All your numbers together sum to 1.00, your rows to 0.29 0.71: one sum serves the whole
    matrix. How much attention does a single query have to give?
    """
    return hear(name, answer, more)


def hear(name, answer, more):
    """Judge an answer. A report puts itself in this place, and judges from another process."""
    return about_the_call(EXERCISES, name, answer, more) or judge(EXERCISES[name], answer)
