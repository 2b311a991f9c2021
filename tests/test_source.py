import functools
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from attention_lib import attention_scores, scale_scores, softmax, validation, weighted_values
from attention_lib.source import source


def announced(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


def plain(x):
    # Says what comes next.
    return x + 1


@announced
@announced
def decorated(
    x,
    y=(1, 2),
):
    """Say something.

    And more.
    """
    # A comment after the docstring.
    z = x

    return z, y


def nothing_but_a_docstring():
    """Say what will be done."""


def sorted_in_place(x):
    x.sort()
    return x


def one_line(x): return 2 * x  # fmt: skip


async def later():
    """Say something."""
    return 1


NAMELESS = {
    "in a line that is no statement of its own": lambda x: x,
}


def test_code_without_a_docstring_is_shown_as_it_stands():
    assert source(plain) == "def plain(x):\n    # Says what comes next.\n    return x + 1"


def test_docstring_and_decorators_are_left_out_and_the_rest_is_kept():
    assert source(decorated).splitlines() == [
        "def decorated(",
        "    x,",
        "    y=(1, 2),",
        "):",
        "    # A comment after the docstring.",
        "    z = x",
        "",
        "    return z, y",
    ]


def test_function_within_a_function_loses_its_indentation():
    def inner(x):
        """Say something."""
        return x

    assert source(inner) == "def inner(x):\n    return x"


def test_what_is_no_docstring_is_kept():
    assert source(sorted_in_place) == "def sorted_in_place(x):\n    x.sort()\n    return x"


def test_unusual_functions_are_shown_too():
    assert source(nothing_but_a_docstring) == "def nothing_but_a_docstring():"
    assert source(one_line).startswith("def one_line(x): return 2 * x")
    assert source(later) == "async def later():\n    return 1"


@pytest.mark.parametrize(
    ("step", "arguments"),
    [
        (attention_scores, ([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]])),
        (scale_scores, ([[8.0, 0.0]], 16)),
        (softmax, ([[0.0, 1.0], [1.0, 1.0]],)),
        (weighted_values, ([[0.75, 0.25]], [[4.0], [0.0]])),
    ],
)
def test_code_of_each_step_runs_and_does_what_the_step_does(step, arguments):
    names = {"np": np, "math": math, "validation": validation}
    exec(source(step), names)
    assert_array_equal(names[step.__name__](*arguments), step(*arguments))
    assert names[step.__name__].__doc__ is None


def test_function_without_a_file_is_refused():
    names = {}
    exec("def typed_in(): pass", names)
    with pytest.raises(TypeError, match=r"^source: the code of <function typed_in.*not in a file"):
        source(names["typed_in"])


@pytest.mark.parametrize(
    "not_code", [len, np.exp, 3, "softmax", None, lambda x: x, *NAMELESS.values(), functools]
)
def test_what_is_no_function_with_a_name_and_code_is_refused(not_code):
    with pytest.raises(TypeError, match=r"^source: ") as caught:
        source(not_code)
    assert repr(not_code) in str(caught.value)
