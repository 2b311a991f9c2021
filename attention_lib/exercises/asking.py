"""What was meant by a call of `check` that names no exercise, or not one answer."""

import difflib

from .calling import kind_of
from .feedback import Feedback

LONGEST_NAME = 60  # that is repeated in a sentence


class NotGiven:
    """What stands for an argument that was left out; `None` may be an answer."""

    def __repr__(self):
        return "<not given>"


NOT_GIVEN = NotGiven()


def about_the_call(exercises, name, answer, more):
    """Return what to say about a call that cannot be judged, or None.

    Examples
    --------
    >>> about_the_call(["softmax", "scaling"], "sofmax", 1, ())
    [sofmax] Not yet: the call of check.
    There is no exercise 'sofmax'. Did you mean 'softmax'?
    """
    if name is NOT_GIVEN:
        return _say("", "check needs two things: the name of an exercise and your answer to it.")
    if not isinstance(name, str):
        return _say("", _about_no_name(exercises, name, answer))
    if name not in exercises:
        return _say(name, _about_an_unknown_name(exercises, name))
    if answer is NOT_GIVEN:
        return _say(name, f"Your answer is missing. It comes after the name: check({name!r}, ...).")
    if more:
        return _say(
            name,
            f"check takes one answer after the name, and {len(more) + 1} came. Several numbers that make up one "
            f"answer stand in brackets: check({name!r}, (..., ...)).",
        )
    return None


def _say(name, text):
    return Feedback(_short(name), "call", text)


def _short(name):
    name = " ".join(name.split())
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."


def _about_no_name(exercises, name, answer):
    kind = kind_of(name)
    text = f"The name of an exercise comes first, in quotes. {kind[0].upper()}{kind[1:]} came."
    if isinstance(answer, str) and answer in exercises:
        return f"{text} Put {answer!r} in front of your answer."
    return text


def _about_an_unknown_name(exercises, name):
    plain = {known.casefold(): known for known in exercises}
    near = difflib.get_close_matches(name.casefold().strip(), plain, n=3)
    if near:
        meant = " or ".join(repr(plain[one]) for one in near)
        return f"There is no exercise {_short(name)!r}. Did you mean {meant}?"
    return f"There is no exercise {_short(name)!r}. There are {', '.join(map(repr, exercises))}."
