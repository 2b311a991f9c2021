"""A learner's own numbers, in the words that a sentence about a mistake can use."""

import re

import numpy as np

MOST_NUMBERS = 5  # of a row, before it ends in dots


def evidence(got, want, error=""):
    """Return what a mistake's sentence may name, from a wrong result and the right one.

    Parameters
    ----------
    got, want : ndarray or other value
        What an answer returned, and what is right.
    error : str
        What it raised, if it returned nothing.

    Returns
    -------
    dict of str to str
        entry, got, want: the first entry that differs, its number and the right number.
        row: the row of `got` with that entry. row_sums, column_sums, total, smallest,
        largest: of the first matrix of `got`. shape, want_shape.

    Examples
    --------
    >>> words = evidence(np.array([[0.5, 1.0], [0.5, 0.0]]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    >>> "entry {entry} is {got}, rows sum to {row_sums}".format(**words)
    'entry [0, 1] is 1, rows sum to 1.50 0.50'
    """
    if got is None:
        return _without_a_result(np.asarray(want), error)
    got, want = np.asarray(got), np.asarray(want)
    words = {"shape": str(got.shape), "want_shape": str(want.shape)}
    if got.dtype.kind not in "biuf" or want.dtype.kind not in "biuf":
        return words | {"got": str(got), "want": str(want)}
    if not got.ndim:
        words["got"] = number(got)
    place = first_difference(got, want)
    if place is not None:
        shown = dict(zip(("got", "want"), apart(got[place], want[place]), strict=True))
        words |= {"entry": str(list(place)), **shown}
        words["row"] = numbers(got[place[:-1]]) if place else number(got)
    if got.size and got.ndim:
        matrix = got.reshape(-1, *got.shape[-2:])[0] if got.ndim > 1 else got[np.newaxis]
        if got.dtype != bool:
            matrix = matrix.astype(np.float64)
        words |= {
            "row_sums": numbers(matrix.sum(axis=1)),
            "column_sums": numbers(matrix.sum(axis=0)),
            "total": numbers([matrix.sum()]),
            "smallest": number(matrix.min()),
            "largest": number(matrix.max()),
        }
    return words


def _without_a_result(want, error):
    """Return what a sentence may say of an answer that raised on every case it is wrong in."""
    place = (0,) * want.ndim
    shown = {"got": f"an error ({error.rstrip('.')})", "want": number(want[place])}
    rest = dict.fromkeys(("row", "row_sums", "column_sums", "total", "smallest", "largest"), "?")
    return rest | shown | {"entry": str(list(place)), "shape": "?", "want_shape": str(want.shape)}


def same(got, want):
    """Say whether two results agree, as closely as float32 can tell; NaN agrees with NaN.

    Examples
    --------
    >>> same(np.float32(0.1), 0.1), same(np.ones(3), np.ones((1, 3))), same("B, d", "bd")
    (True, False, True)
    """
    if "U" in (np.asarray(got).dtype.kind, np.asarray(want).dtype.kind):
        plain = (re.sub(r"\W", "", str(word)).casefold() for word in (got, want))
        return len(set(plain)) == 1
    return np.shape(got) == np.shape(want) and first_difference(got, want) is None


def first_difference(got, want):
    """Return the place of the first entry in which two arrays of one shape differ, or None."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return None
    # Counts are exact; what is computed is right in float32 as well.
    tolerance = (
        {"rtol": 1e-4, "atol": 1e-5} if want.dtype.kind == "f" else {"rtol": 0, "atol": 1e-9}
    )
    differ = ~_close(got.astype(np.float64), want.astype(np.float64), **tolerance)
    return tuple(int(i) for i in np.argwhere(differ)[0]) if differ.any() else None


def _close(got, want, rtol, atol):
    """Say where numbers agree, as `np.isclose` does with NaN equal to NaN, in a fifth of the time."""
    with np.errstate(all="ignore"):
        near = abs(got - want) <= atol + rtol * abs(want)
    return (near & np.isfinite(want)) | (got == want) | (np.isnan(got) & np.isnan(want))


def number(value, digits=4):
    """Return a number in at most so many digits, whole ones whole, a truth value as a word."""
    if np.asarray(value).dtype == bool:
        return str(bool(value))
    whole = float(value).is_integer() and abs(value) < 1e7
    return f"{float(value):z.0f}" if whole else f"{float(value):z.{digits}g}"


def apart(got, want):
    """Return two numbers in as many digits as it takes to tell them apart, from four on.

    Examples
    --------
    >>> apart(0.26894, 0.2689), apart(0.1, 0.5)
    (('0.26894', '0.2689'), ('0.1', '0.5'))
    """
    pairs = ((number(got, digits), number(want, digits)) for digits in range(4, 17))
    return next((pair for pair in pairs if pair[0] != pair[1]), (number(got), number(want)))


def numbers(values):
    """Return the first few numbers of a row: counts and truth values whole, others to two decimals."""
    values = np.asarray(values)
    show = number if values.dtype.kind in "biu" else "{:z.2f}".format
    return " ".join([*map(show, values[:MOST_NUMBERS]), *["..."] * (len(values) > MOST_NUMBERS)])
