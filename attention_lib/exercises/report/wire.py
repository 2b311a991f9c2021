"""What goes between the report and a student's process: lines of JSON, arrays by value.

Nothing that comes from a student is ever unpickled or evaluated. What does not have the form it
should have is a `ValueError`.
"""

import base64
import json
import math
import re

import numpy as np

from ..calling import MOST_ENTRIES, Run

LONGEST_LINE = 2**22  # bytes; a result may have `calling.MOST_ENTRIES` numbers
LONGEST_TEXT = 2000
_DTYPE = re.compile(r"[<>|]([biuf])(\d{1,2})")


def to_line(message):
    """Return a message as bytes, with the newline that ends it."""
    return json.dumps(message).encode() + b"\n"


def from_line(line):
    """Return the message in a line."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("a message is an object")
    return message


def pack(value):
    """Return an argument or a result as what JSON can hold.

    Examples
    --------
    >>> unpack(pack(np.array([[1.0, -np.inf]])))
    array([[  1., -inf]])
    >>> unpack(pack(3)), unpack(pack(np.array("at"))), unpack(pack(None))
    (3, array('at', dtype='<U2'), None)
    """
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "U":
        return {"word": str(value)[:LONGEST_TEXT]}
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return {"dtype": value.dtype.str, "shape": list(value.shape), "data": data}


def unpack(value):
    """Return what `pack` was given."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, dict) and "word" in value:
        return np.array(text_of(value["word"]))
    match = _DTYPE.fullmatch(text_of(value["dtype"]))
    shape = value["shape"]
    if not match or len(shape) > 64 or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("no array of numbers")
    if math.prod(shape) > MOST_ENTRIES:
        raise ValueError("too many numbers")
    data = base64.b64decode(value["data"], validate=True)
    return np.frombuffer(data, dtype=np.dtype(match[0])).reshape(shape).copy()


def pack_run(run):
    """Return what came of a call as what JSON can hold."""
    return run._replace(array=pack(run.array))._asdict()


def unpack_run(fields):
    """Return what came of a call, each of its fields of the type it must have."""
    array = unpack(fields["array"])
    if array is not None and not isinstance(array, np.ndarray):
        raise ValueError("no array")
    plain = {
        name: _as(kind, fields[name])
        for name, kind in Run.__annotations__.items()
        if name != "array"
    }
    return Run(array=array, **plain)


def text_of(value):
    """Return a text, if it is one of bounded length."""
    return _as(str, value)


def _as(kind, value):
    if type(value) is not kind or (kind is str and len(value) > LONGEST_TEXT):
        raise ValueError(f"no {kind.__name__}")
    return value
