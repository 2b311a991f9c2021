"""Read the library's code where it is used."""

import ast
import inspect
import textwrap


def source(function):
    """Return the code of a Python function without its docstring and decorators.

    For a notebook that shows what it is about to call: `print(source(softmax))`.

    Parameters
    ----------
    function : function
        A function written in Python.

    Returns
    -------
    str
        Its lines as they stand in the file, comments included.

    Raises
    ------
    TypeError
        If the source cannot be found, as for a function written in C.

    Examples
    --------
    >>> from attention_lib import weighted_values
    >>> print(source(weighted_values))
    def weighted_values(A, V):
        A, V = validation.weights_and_values("weighted_values", A, V)
        return A @ V if np.isfinite(V).all() else _mix_key_by_key(A, V)
    """
    if getattr(function, "__name__", "") == "<lambda>":
        raise TypeError(f"source: it shows functions made with def. Got {function!r}.")
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (TypeError, OSError) as error:
        raise TypeError(
            f"source: the code of {function!r} is not written in Python, or not in a file."
        ) from error
    definition = ast.parse(text).body[0]
    if getattr(definition, "name", None) != getattr(function, "__name__", ""):
        raise TypeError(f"source: it shows functions made with def. Got {function!r}.")
    lines = text.rstrip().splitlines()
    body = definition.body
    head = lines[definition.lineno - 1 : body[0].lineno - 1]
    starts = body[0].end_lineno if ast.get_docstring(definition) is not None else body[0].lineno - 1
    return "\n".join(head + lines[starts:])
