"""Call an answer, whatever it does, and keep in plain data what came of it."""

import inspect
import re
import types
from typing import NamedTuple

import numpy as np

from .manners import Stopwatch, TooLong, all_calls, one_call, restore_numpy

DOTS = "...", "\N{HORIZONTAL ELLIPSIS}"  # a cell that wants a word shows them in quotes
LONGEST_WORDS = 200  # of an error or a signature
MOST_ENTRIES = 10_000  # of a result; no exercise has as many
MOST_AXES = 30
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # another one at each run


class Run(NamedTuple):
    """What came of one call of an answer: nothing in it belongs to the answer any more."""

    array: np.ndarray | None = (
        None  # the result as numbers, truth values or one word, if it is that
    )
    kind: str = ""  # in words, what sort of thing the result is
    form: str = ""  # "none", "function", "list", "tuple", "masked" or "huge", if that matters
    length: int = 0  # of a tuple
    blank: bool = False  # whether there is still a ... where an answer should be
    error: str = ""  # the name of its class
    words: str = ""  # the error in words
    arithmetic: bool = False  # whether the error is one of a number's range
    late: bool = False  # whether it had to be stopped
    changed: str = ""  # the argument that is not what it was
    printed: bool = False


class Answer:
    """An answer in this process: what `judge` wants to know about one."""

    def __init__(self, answer):
        self._answer = answer
        self.callable = callable(answer)
        self.name = name_of(answer)
        self.kind = kind_of(answer)
        self._time = Stopwatch(subject=self.name or "Your function")

    def value(self):
        """Return the answer itself, as if a call had returned it."""
        return call(lambda: self._answer, (), time=self._time)

    def misfit(self, parameters):
        """Return what is wrong with the number of arguments that it takes, or ""."""
        return wrong_arity(self._answer, parameters)

    def run(self, case, parameters):
        """Call it on copies of the input."""
        return call(self._answer, case, parameters, self._time)

    def manners(self):
        """Return a block in which it is called, and after which everything is as before."""
        return all_calls()


def call(function, case, parameters=(), time=None):
    """Call a function on copies of its input, and keep what it does to itself."""
    arguments = [part.copy() if isinstance(part, np.ndarray) else part for part in case]
    run, output = Run(), None
    try:
        with one_call() as output, (time or Stopwatch()).running():
            run = _attempt(function, arguments)
    except TooLong as error:
        run = Run(error="TooLong", words=_where(error, function), late=True)
    changed = [
        name
        for name, before, after in zip(parameters, case, arguments, strict=False)
        if np.asarray(before).dtype != np.asarray(after).dtype
        or not np.array_equal(before, after, equal_nan=True)
    ]
    return run._replace(changed="".join(changed[:1]), printed=output.used)


def _attempt(function, arguments):
    try:
        result = function(*arguments)
        restore_numpy()  # for whoever looks at the result
        return describe(result)
    except (KeyboardInterrupt, TooLong):  # that is the reader, or the clock, not the answer
        raise
    except BaseException as error:  # quit() must not stop the kernel
        words = _words(error)
        # Other kinds of error speak of an index or of subscripts.
        blank = isinstance(error, (TypeError, AttributeError)) and "ellipsis" in words.lower()
        return Run(
            blank=blank,
            error=_class_name(type(error)),
            words=error_in_words(error, function),
            # NumPy's own is raised only by those who ask for it, also where nothing is lost.
            arithmetic=isinstance(error, (OverflowError, ZeroDivisionError)),
        )


def describe(result):
    """Return a result in plain data, without a call of anything that it may have redefined.

    Examples
    --------
    >>> describe((1.0, ...))[1:5]
    ('a tuple', 'list', 0, True)
    """
    if is_a(result, types.CoroutineType):
        result.close()  # or it would complain that nobody awaited it
    form, length = _form(result)
    array = None if form in ("none", "function", "masked") else _comparable(result)
    if array is not None and array.size > MOST_ENTRIES:
        form, array = "huge", None
    return Run(array=array, kind=kind_of(result), form=form, length=length, blank=is_blank(result))


def is_a(value, kind):
    """Say whether a value is of a kind, by its type, whatever it says of itself."""
    return issubclass(type(value), kind)


def is_blank(result):
    """Say whether a result is still a `...`, in quotes or without, or holds one."""
    parts = [result]
    if is_a(result, np.ndarray):
        array = np.asarray(result)  # of NumPy's own class
        parts = array.flat if array.dtype == object else []
    elif is_a(result, list):
        parts = list.__iter__(result)
    elif is_a(result, tuple):
        parts = tuple.__iter__(result)
    return any(part is ... or (type(part) in (str, np.str_) and part in DOTS) for part in parts)


def _form(result):
    """Return the form of a result, and its length if it is a tuple."""
    if result is None:
        return "none", 0
    if is_a(result, np.ma.MaskedArray) and np.ma.getmaskarray(result).any():
        return "masked", 0
    if is_a(result, tuple):
        holds_arrays = any(is_a(part, np.ndarray) for part in tuple.__iter__(result))
        return ("tuple" if holds_arrays else "list"), tuple.__len__(result) * holds_arrays
    if is_a(result, list):
        return "list", 0
    return ("function", 0) if callable(result) else ("", 0)


def wrong_arity(answer, parameters):
    """Return what is wrong with the number of arguments that an answer takes, or ""."""
    try:
        signature = inspect.signature(answer)
        takes = _bounded(_ADDRESS.sub("", str(signature)))
    except Exception:  # some functions written in C do not say, some objects refuse
        return ""
    try:
        signature.bind(*parameters)
    except TypeError:
        return (
            f"{name_of(answer) or 'The function'} takes {takes}; check calls it with {len(parameters)} "
            f"argument{'s' * (len(parameters) != 1)}: {', '.join(parameters)}."
        )
    return ""


def name_of(answer):
    """Return the name of a function, or "" for what cannot be called by one, as a lambda."""
    kinds = types.FunctionType, types.BuiltinFunctionType, types.MethodType, type
    name = answer.__name__ if is_a(answer, kinds) else ""
    return name if type(name) is str and name.isidentifier() and len(name) < 60 else ""


def error_in_words(error, answer):
    """Return an error with its kind, and the line of the answer in which it came up."""
    words, kind = _words(error), _class_name(type(error))
    text = f"{kind}: {words}" if words else kind
    where = _where(error, answer)
    text = f"In {where}: {text}" if where else text
    return text if text.endswith((".", "?", "!")) else f"{text}."


def kind_of(value):
    """Return in a few words what sort of thing a value is."""
    if is_a(value, np.ma.MaskedArray):
        return "a masked array"
    if is_a(value, np.ndarray):
        return f"an array of {np.asarray(value).dtype}"
    name = _class_name(type(value))
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
        array = np.array(_plain(result))
    except Exception:
        return None
    if array.dtype.kind in "biuf" or (array.dtype.kind == "U" and array.ndim == 0):
        return array
    return None


def _plain(result, depth=0):
    """Return a result without classes that could make NumPy walk through it for ever.

    Raises
    ------
    TypeError
        If it is nothing that numbers, truth values or a word can be taken from.
    """
    if depth > MOST_AXES:
        raise TypeError("nested too deeply")
    if is_a(result, (list, tuple, range)):
        own = next(kind for kind in (list, tuple, range) if is_a(result, kind))
        if own.__len__(result) > MOST_ENTRIES:
            raise TypeError("too long")
        return [_plain(part, depth + 1) for part in own.__iter__(result)]
    plain = (np.ndarray, np.generic, bool, int, float, complex, str, bytes)
    if is_a(result, plain) or hasattr(type(result), "__array__"):
        return result
    raise TypeError("no numbers")


def _where(error, answer):
    """Return the line of a function in which an error came up, in words, or ""."""
    code = answer.__code__ if is_a(answer, types.FunctionType) else None
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code is code:
            line = trace.tb_lineno - code.co_firstlineno + 1
        trace = trace.tb_next
    return f"line {line} of {name_of(answer) or 'the function'}" if line else ""


def _words(error):
    """Return the first line of what an error says, or "" if it does not say anything."""
    try:
        return _bounded(_ADDRESS.sub("", str(error)).strip().split("\n")[0])
    except (KeyboardInterrupt, TooLong):
        raise
    except BaseException:
        return ""


def _bounded(text):
    return text if len(text) <= LONGEST_WORDS else f"{text[: LONGEST_WORDS - 4]} ..."


def _class_name(kind):
    """Return the name of a class, whatever its own class makes of that word."""
    return type.__dict__["__name__"].__get__(kind)[:LONGEST_WORDS]
