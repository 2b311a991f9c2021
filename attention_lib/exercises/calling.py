"""Call an answer, whatever it does, and keep what came of it."""

import contextlib
import copy
import inspect
import io
import random
import re
import warnings
from typing import NamedTuple

import numpy as np

DOTS = "...", "\N{HORIZONTAL ELLIPSIS}"  # a cell that wants a word shows them in quotes
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # another one at each run


class Run(NamedTuple):
    """What came of one call of an answer."""

    result: object = None
    array: np.ndarray = None  # the result as numbers, truth values or one word, if it is that
    error: BaseException = None
    changed: str = ""  # the argument that is not what it was
    printed: str = ""
    drew: bool = False  # whether a global random generator was seeded or used


def call(function, case, parameters=()):
    """Call a function on copies of its input, and keep what it does to itself."""
    arguments = copy.deepcopy(case)
    printed = io.StringIO()
    states = np.random.get_state(), random.getstate()
    run = Run()
    try:
        with (
            np.errstate(all="ignore"),
            np.printoptions(),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter("ignore")
            result = function(*arguments)
            if inspect.iscoroutine(result):
                result.close()  # or it would complain that nobody awaited it
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


def is_blank(run):
    """Say whether there is still a `...` where an answer should be, in quotes or without."""
    if run.error is not None:  # other kinds of error speak of an index or of subscripts
        kinds = (TypeError, AttributeError)
        return isinstance(run.error, kinds) and "ellipsis" in _words(run.error).lower()
    parts = [run.result]
    if isinstance(run.result, np.ndarray) and run.result.dtype == object:
        parts = run.result.flat
    elif isinstance(run.result, (list, tuple)):
        parts = run.result
    return any(part is ... or (isinstance(part, str) and part in DOTS) for part in parts)


def wrong_arity(answer, parameters):
    """Return what is wrong with the number of arguments that an answer takes, or ""."""
    try:
        signature = inspect.signature(answer)
    except Exception:  # some functions written in C do not say, some objects refuse
        return ""
    try:
        signature.bind(*parameters)
    except TypeError:
        takes = _ADDRESS.sub("", str(signature))
        return (
            f"{name_of(answer) or 'The function'} takes {takes}; check calls it with {len(parameters)} "
            f"argument{'s' * (len(parameters) != 1)}: {', '.join(parameters)}."
        )
    return ""


def name_of(answer):
    """Return the name of a function, or "" for what cannot be called by one, as a lambda."""
    name = answer.__name__ if inspect.isroutine(answer) or inspect.isclass(answer) else ""
    return name if name.isidentifier() else ""


def error_in_words(error, answer):
    """Return an error with its kind, and the line of the answer in which it came up."""
    words = _words(error)
    text = f"{type(error).__name__}: {words}" if words else type(error).__name__
    code = getattr(answer, "__code__", None) if inspect.isroutine(answer) else None
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code is code:
            line = trace.tb_lineno - code.co_firstlineno + 1
        trace = trace.tb_next
    text = f"In line {line} of {name_of(answer) or 'the function'}: {text}" if line else text
    return text if text.endswith((".", "?", "!")) else f"{text}."


def kind_of(value):
    """Return in a few words what sort of thing a value is."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def literal(value):
    """Return code that makes an argument."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    text = repr(value.tolist()).replace("-inf", "-np.inf").replace(" inf", " np.inf")
    return f"np.array({text})"


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


def _words(error):
    """Return the first line of what an error says, or "" if it does not say anything."""
    try:
        return _ADDRESS.sub("", str(error)).strip().split("\n")[0]
    except KeyboardInterrupt:
        raise
    except BaseException:
        return ""


def _same_state(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
