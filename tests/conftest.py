"""Inputs that every function of the maths must treat alike."""

import re
import signal
from decimal import Decimal
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import settings

# The same examples on every machine, so that a test never fails by chance.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def children_that_heed_signals():
    """Let what the tests start end by Ctrl-C, also where a shell made all of it deaf to that.

    As "nohup make test &" does. A handler that does nothing is not inherited, to ignore is.
    """
    deaf = [
        number
        for name in ("SIGINT", "SIGHUP")
        if (number := getattr(signal, name, None)) and signal.getsignal(number) == signal.SIG_IGN
    ]
    for number in deaf:
        signal.signal(number, lambda *_: None)
    yield
    for number in deaf:
        signal.signal(number, signal.SIG_IGN)


class Refused(NamedTuple):
    """What no function takes for an array, and what the error says after the argument's name."""

    value: object
    error: type
    rule: str


_MASKED = np.ma.array([[1.0, 0.0], [0.0, 1.0]], mask=[[0, 0], [1, 1]])

_REFUSED = {
    "masked array": Refused(_MASKED, TypeError, r"masked array.* shape \(2, 2\).*filled"),
    "masked array, nothing hidden": Refused(
        np.ma.array(np.eye(3)), TypeError, r"masked array.* shape \(3, 3\)"
    ),
    "list of masked arrays": Refused([_MASKED[0], _MASKED[1]], TypeError, "masked"),
    "list with a masked entry": Refused([[1.0, np.ma.masked], [0.0, 1.0]], TypeError, "masked"),
    "ragged list": Refused(
        [[1.0, 2.0], [3.0]], ValueError, "rectangular.*list whose rows differ in length"
    ),
    "ragged arrays": Refused(
        [np.ones(2), np.ones(3)], ValueError, "rectangular.*rows differ in length"
    ),
    "strings": Refused(
        [["1", "2"], ["3", "4"]], TypeError, r"real numbers.*<U1 and shape \(2, 2\)"
    ),
    "complex": Refused(np.eye(2) * 1j, TypeError, r"real numbers.*complex128 and shape \(2, 2\)"),
    "objects": Refused(
        [[Decimal(1), Decimal(2)]], TypeError, r"real numbers.*object and shape \(1, 2\)"
    ),
    "dates": Refused(
        np.array([["2020-01-01"]], "M8[D]"), TypeError, r"real numbers.*datetime64.* shape \(1, 1\)"
    ),
    "eight bits": Refused(
        np.eye(2).astype(ml_dtypes.float8_e4m3fn),
        TypeError,
        r"float8.*\(2, 2\).*astype\(np.float32\)",
    ),
    "bytes without a meaning": Refused(
        np.zeros((2, 2), "V2"), TypeError, r"real numbers.*V2 and shape \(2, 2\). Look at where"
    ),
    "None": Refused(None, TypeError, r"real numbers.*NoneType.* shape \(\)"),
    "generator": Refused((row for row in np.eye(2)), TypeError, "real numbers.*generator"),
}


@pytest.fixture(params=_REFUSED.values(), ids=_REFUSED)
def refused(request):
    return request.param


_RESULT_DTYPES = {
    "float16": np.float32,
    "bfloat16": np.float32,  # of ml_dtypes, which onnx needs
    "float32": np.float32,
    ">f4": np.float32,
    "float64": np.float64,
    "longdouble": np.longdouble,
    "bool": np.float64,
    "int8": np.float64,
    "uint8": np.float64,
    "int64": np.float64,
}


@pytest.fixture(params=_RESULT_DTYPES.items(), ids=_RESULT_DTYPES)
def dtypes(request):
    """Yield the dtype of an input, and the dtype that the result must have."""
    return request.param


def _read_only(array):
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)


def _every_second_column(array):
    return np.repeat(array, 2, axis=-1)[..., ::2]


def _backwards(array):
    return array[::-1, ::-1].copy()[::-1, ::-1]


@pytest.fixture(params=[np.copy, _read_only, np.asfortranarray, _every_second_column, _backwards])
def laid_out(request):
    """Yield a function that copies a matrix into one of the layouts that memory can have."""
    return request.param


@pytest.fixture
def counting():
    """Return a function that makes arrays of small whole numbers, whose products are exact."""
    return lambda *shape: np.arange(float(np.prod(shape))).reshape(shape) % 7 - 3


_BATCHES = [
    ((2,), (2,), (2,)),
    ((), (2,), (2,)),
    ((2,), (), (2,)),
    ((2, 5), (2, 1), (2, 5)),
    ((5,), (2, 1), (2, 5)),
]


@pytest.fixture(params=_BATCHES, ids=lambda shapes: "{} with {}".format(*shapes))
def batches(request):
    """Yield the batch axes of two inputs, and those of their result."""
    return request.param


@pytest.fixture
def drawing():
    """Draw into memory with matplotlib's own settings, whatever the machine's are; leave no figure."""
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    with plt.style.context("default"):
        yield
    plt.close("all")


@pytest.fixture(scope="session")
def smallest_text():
    """Return a function that says how high the smallest text of a figure is on a narrow page.

    In pixels: a figure has 96 of them to the inch, and is shown smaller where it is wider than
    the 572 of JupyterLab beside the list of files, on a screen of 1024.
    """
    from matplotlib.text import Text

    def smallest(figure):
        figure.draw_without_rendering()  # the labels of the ticks are made now
        shown = min(1, 572 / (96 * figure.get_figwidth()))
        heights = {}
        for part in (figure, *(ax for ax in figure.axes if ax.get_visible())):
            for text in part.findobj(Text):
                words = text.get_text().strip()
                if words and text.get_visible():
                    # mathtext draws what stands above or below the line at 0.7 of the size.
                    raised = text.get_parse_math() and re.search(r"\$[^$]*[\^_]", words)
                    size = text.get_fontsize() * (0.7 if raised else 1)
                    heights[words] = size * 96 / 72 * shown
        words = min(heights, key=heights.get)
        return heights[words], words

    return smallest
