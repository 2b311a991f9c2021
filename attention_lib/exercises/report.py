"""The report of a class: run the notebooks of students, and collect what `check` said.

    python -m attention_lib.exercises report NOTEBOOK_OR_FOLDER...

It executes the students' code on this machine, with the rights of whoever runs the report:
nothing keeps a notebook from reading or deleting files. Use it for notebooks that you would
also open and run by hand.

Each notebook runs from its top in a kernel of its own, in its own folder, and is never written
to. The answers come through a file (`ATTENTION_LIB_RECORD`), so that those before a crash are
kept. No output of a cell is collected, so that a notebook may print as much as it likes.
"""

import collections
import concurrent.futures
import contextlib
import csv
import importlib.util
import io
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unicodedata
import warnings
from pathlib import Path
from typing import NamedTuple

from . import RECORD
from .catalogue import EXERCISES

# What a row may say beside the outcomes of `check`.
OUTCOMES = {
    "no answer": "the cell stopped with an error before check was asked; the error is shown",
    "no exercise": "the notebook checked nothing",
    "crashed": "the kernel ended in the middle of the notebook",
    "out of time": "the notebook took too long",
    "unreadable": "there is no notebook to run; the reason is shown",
}
START_SECONDS = 60  # for a kernel, on a busy machine; not a part of the notebook's own time
WIDEST_MISTAKE = 90  # in the table; a CSV file has it whole


class Notebook(NamedTuple):
    """A file to run, and its name in the report."""

    path: Path
    name: str


class Row(NamedTuple):
    """What the report says about one exercise of one notebook, or about the notebook."""

    file: str
    exercise: str
    outcome: str
    mistake: str


class _Ended(Exception):
    """The notebook cannot go on. The arguments: the outcome, and the reason."""


def find_notebooks(paths):
    """Return the notebooks to run, sorted by name, each once.

    Parameters
    ----------
    paths : list of str or Path
        Notebooks, and folders to search for them. What is hidden in a folder, as
        .ipynb_checkpoints is, is passed over.

    Returns
    -------
    list of Notebook
        Named relative to the folder that all of `paths` share. What does not exist, and a
        folder without notebooks, is among them: the report has a row for it.

    Examples
    --------
    >>> [notebook.name for notebook in find_notebooks(["class/ben/a.ipynb", "class/ann/a.ipynb"])]
    ['ann/a.ipynb', 'ben/a.ipynb']
    """
    paths = [Path(os.path.abspath(path)) for path in paths]
    folders = {path if path.is_dir() else path.parent for path in paths}
    try:
        shared = Path(os.path.commonpath(folders))
    except ValueError:  # on different drives, or nothing at all
        shared = Path()
    found = {}
    for path in paths:
        for file in _inside(path) if path.is_dir() else [path]:
            name = file.relative_to(shared) if file.is_relative_to(shared) else file
            found.setdefault(file.resolve(), Notebook(file, _printable(name.as_posix())))
    return sorted(found.values(), key=lambda notebook: notebook.name)


def run(notebooks, seconds=120.0, jobs=None):
    """Run notebooks, several at once, and yield the rows of each as soon as it is done.

    This executes the code in the notebooks, with your rights. When the generator is closed or
    interrupted, the kernels that still run are killed.

    Parameters
    ----------
    notebooks : list of Notebook
        From `find_notebooks`.
    seconds : float, default 120
        Time for each notebook, from its first cell to its last.
    jobs : int, optional
        How many to run at once; as many as there are CPUs, unless given.

    Yields
    ------
    (Notebook, list of Row)

    Raises
    ------
    ImportError
        If Jupyter's kernels are not installed.

    Examples
    --------
    >>> next(run(find_notebooks(["nobody.ipynb"])))[1]
    [Row(file='nobody.ipynb', exercise='', outcome='unreadable', mistake='there is no such file')]
    """
    for module in ("ipykernel", "jupyter_client"):
        if importlib.util.find_spec(module) is None:
            raise ImportError(
                f"report: notebooks run in Jupyter's kernels, and {module} is not installed for {sys.executable}. "
                "Install it: python -m pip install ipykernel"
            )
    stop = threading.Event()
    jobs = max(1, min(jobs or os.cpu_count() or 1, len(notebooks)))
    with tempfile.TemporaryDirectory(
        prefix="attention-report-", ignore_cleanup_errors=True
    ) as scratch:
        pool = concurrent.futures.ThreadPoolExecutor(jobs)
        try:
            running = {
                pool.submit(_rows_of, notebook, seconds, Path(scratch, str(number)), stop): notebook
                for number, notebook in enumerate(notebooks)
            }
            waiting = set(running)
            while waiting:
                # Not forever: Windows looks for Ctrl-C only in between.
                done, waiting = concurrent.futures.wait(
                    waiting, timeout=1, return_when=concurrent.futures.FIRST_COMPLETED
                )
                for future in done:
                    yield running[future], future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def as_table(rows):
    """Return rows as aligned text.

    Examples
    --------
    >>> print(as_table([Row("ann.ipynb", "softmax", "mistake", "argmax")]))
    file       exercise  outcome  mistake
    ann.ipynb  softmax   mistake  argmax
    """
    lines = [
        row._replace(mistake=textwrap.shorten(row.mistake, WIDEST_MISTAKE, placeholder=" ..."))
        for row in [Row(*Row._fields), *rows]
    ]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            text + " " * (width - _width(text)) for text, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def summary(rows):
    """Return, for each exercise, how many got it right, and what went wrong, most frequent first.

    Examples
    --------
    >>> made = [("ann", "right", ""), ("ben", "mistake", "argmax"), ("cem", "raised", "")]
    >>> print(summary([Row(file, "softmax", *what) for file, *what in made]))
    softmax: 1 of 3 right, 0 not attempted
        1  argmax
        1  (raised)
    """
    counts, besides = {}, collections.Counter()
    for row in rows:
        if row.exercise:
            counter = counts.setdefault(row.exercise, collections.Counter())
            quiet = row.outcome in ("right", "not attempted")
            counter[row.outcome if quiet else row.mistake_or_outcome] += 1
    return counts, besides


def as_csv(rows):
    """Return rows as CSV, with a header.

    No field begins as a spreadsheet's formula does: an apostrophe goes before it.

    Examples
    --------
    >>> print(as_csv([Row("=1+1.ipynb", "softmax", "mistake", "a, b")]), end="")
    file,exercise,outcome,mistake
    '=1+1.ipynb,softmax,mistake,"a, b"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    for row in rows:
        writer.writerow("'" + field if field.startswith(tuple("=+-@")) else field for field in row)
    return text.getvalue()
