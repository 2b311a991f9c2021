"""Mistakes that are made in loops, the same ones in every exercise that can be solved by loops."""

import numpy as np


def add_to_sums(exercise, terms, what):
    """Add what goes wrong when each entry is a sum that a loop adds up.

    Parameters
    ----------
    exercise : Exercise
        Its reference is the sum of the terms.
    terms : function
        Returns the terms of each entry along one more axis, the last.
    what : str
        What a term counts for, as "feature".
    """

    @exercise.mistake(
        "= for += in a loop",
        f"Entry {{entry}} is {{got}} instead of {{want}}: that is the term of the last {what} alone. What becomes of "
        "the earlier ones, each time the loop comes round?",
    )
    def _last(*case):
        return terms(*case)[..., -1].copy()

    @exercise.mistake(
        "the sum returned after its first term",
        f"Entry {{entry}} is {{got}} instead of {{want}}: that is the term of the first {what} alone. How far is the "
        "line that ends the sum moved in?",
    )
    def _first(*case):
        return terms(*case)[..., 0].copy()

    @exercise.mistake(
        "a sum that is never set back to 0",
        "The first entry is right, and entry {entry} is {got} instead of {want}: each sum starts where the one before "
        "ended. Where should it start?",
    )
    def _running(*case):
        sums = terms(*case).sum(axis=-1)
        return np.cumsum(sums).reshape(sums.shape)

    if terms(*exercise.cases[0]).ndim < 3:  # one sum per row
        return

    @exercise.mistake(
        "a sum that is set back to 0 once per row",
        "Entry {entry} is {got} instead of {want}: within a row each sum starts where the one before ended. For which "
        "of the loops is the sum to be set back?",
    )
    def _running_in_rows(*case):
        return np.cumsum(terms(*case).sum(axis=-1), axis=-1)


def add_to_matrices(exercise):
    """Add what goes wrong when a loop fills a matrix, whatever it fills it with."""
    right = exercise.reference

    @exercise.mistake(
        "an array of whole numbers",
        "Entry {entry} is {got} instead of {want}: your numbers are right up to the point and have nothing behind it. "
        "Which numbers can the array hold that you fill?",
    )
    def _whole(*case):
        return np.trunc(right(*case))

    add_to_rows(exercise)


def add_zeros(exercise):
    """Add what is left of numbers below 1 in an array of whole numbers, or in one never filled."""

    @exercise.mistake(
        "zeros alone",
        "All your numbers are 0, and entry {entry} should be {want}. Perhaps nothing was written into the array, or it "
        "holds whole numbers alone and cuts off what stands behind the point, or a product has a factor 0. Which "
        "is it?",
    )
    def _zeros(*case):
        return np.zeros_like(exercise.reference(*case))


def add_to_rows(exercise):
    """Add what goes wrong when a loop fills a matrix row by row."""
    right = exercise.reference

    @exercise.mistake(
        "one list in place of all rows",
        "All your rows are the last one, {row}: multiplying a list of a list repeats the same row, so that a number "
        "written into one is in all. How does each row get a list of its own?",
    )
    def _one_row(*case):
        result = right(*case)
        return np.broadcast_to(result[..., -1:, :], result.shape).copy()

    @exercise.mistake(
        "a return inside the loop over rows",
        "The first row is right, and behind it entry {entry} is still {got} instead of {want}. How far is the line "
        "moved in that ends the function?",
    )
    def _first_row(*case):
        result = right(*case)
        result[..., 1:, :] = 0
        return result

    @exercise.mistake(
        "a return inside the inner loop",
        "One entry is right, and behind it entry {entry} is still {got} instead of {want}. How far is the line "
        "moved in that ends the function?",
    )
    def _first_entry(*case):
        result = right(*case)
        only = np.zeros_like(result)
        only[..., 0, 0] = result[..., 0, 0]
        return only
