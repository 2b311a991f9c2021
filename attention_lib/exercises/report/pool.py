"""Run the notebooks of a class, several at once."""

import concurrent.futures
import contextlib
import os
import tempfile
import threading
from pathlib import Path

from . import cells, sandbox
from .judging import Judge, drawn
from .keeping import Kept
from .rows import handed_out


def run(submissions, *, seed, seconds=120, limits=None, jobs=None, exercises=None, kept=None):
    """Run notebooks, several at once, and yield the rows of each as soon as it is done.

    When the generator is closed or interrupted, the processes that still run are killed.

    Parameters
    ----------
    submissions : list of Submission
        From `attention_lib.exercises.report.finding.find`.
    seed : int or str
        Of the inputs that only this run has.
    seconds : float
        Time for each notebook, from its first cell to its last.
    limits : Limits, optional
        Of the sandbox; without any, notebooks run on the machine as it is.
    jobs : int, optional
        How many to run at once; as many as there are CPUs, unless given.
    exercises : list of str, optional
        What was handed out; unless given, what at least half of the notebooks alike ask.
    kept : Kept, optional
        Rows of an earlier run: what is among them comes first, and does not run again.

    Yields
    ------
    (Submission, list of Row)
    """
    asked = {one.name: _asked(one.path) for one in submissions}
    expected = {
        name: exercises or handed_out(mine, list(asked.values())) for name, mine in asked.items()
    }
    kept = kept or Kept(None)
    waiting = []
    for one in submissions:
        if rows := kept.of(one, expected[one.name]):
            yield one, rows
        else:
            waiting.append(one)
    if waiting:
        for one, rows in _run(waiting, expected, seed, seconds, limits, jobs):
            kept.keep(one, rows, expected[one.name])
            yield one, rows


def _run(submissions, expected, seed, seconds, limits, jobs):
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="attention_lib_", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        scratch.chmod(0o755)  # a notebook in the sandbox is somebody else
        sandbox.list_fonts(scratch / "fonts")
        judge = Judge(drawn(seed), seconds, limits, scratch / "fonts", stop)
        pool = concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count() or 1)
        try:
            running = {
                pool.submit(judge.rows, one, expected[one.name], scratch / str(number)): one
                for number, one in enumerate(submissions)
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


def _asked(path):
    with contextlib.suppress(ValueError):
        return [name for cell in cells.code_of(path) for name in cells.asked_in(cell)]
    return []
