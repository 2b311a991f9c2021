"""Put back what an answer may have changed in this process, and stop one that does not end."""

import contextlib
import io
import os
import random
import signal
import sys
import threading
import time
import warnings

import numpy as np

SECONDS = 10.0  # that all calls of one answer may take together
TELL_AFTER = 3.0  # seconds, after which a reader is told that something still runs

# NumPy as it was before anybody could change it.
_NUMPY = [
    (vars(module), dict(vars(module)), list(vars(module).values()))
    for module in (np, np.linalg, np.random)
]


class TooLong(BaseException):
    """An answer used up its time. Not an `Exception`, which an answer may well catch."""


class Silence(io.TextIOBase):
    """A stream that keeps nothing of what is written, except that something was."""

    used = False

    def write(self, text):
        self.used = self.used or bool(text)
        return len(text)

    def writable(self):
        return True


class Stopwatch:
    """The time that the calls of one answer have left.

    The alarm needs a system that has one (not Windows) and the main thread, in which Jupyter
    runs its cells. Elsewhere an answer has all the time it wants.
    """

    def __init__(self, seconds=SECONDS, subject="Your function"):
        self.seconds = self.left = seconds
        self.subject = subject
        self._page = sys.stdout  # which an answer's own output does not reach

    @contextlib.contextmanager
    def running(self):
        """Raise `TooLong` in the block when no time is left; say on the reader's page that it runs."""
        in_main_thread = threading.current_thread() is threading.main_thread()
        if not hasattr(signal, "setitimer") or not in_main_thread:
            yield
            return
        start, told = time.monotonic(), self.left < self.seconds - TELL_AFTER

        def ring(_number, _frame):
            nonlocal told
            if time.monotonic() - start >= self.left:
                raise TooLong
            if not told:
                told = True
                with contextlib.suppress(Exception):
                    self._page.write(
                        f"{self.subject} is still running; it is stopped after {self.seconds:g} seconds.\n"
                    )
                    self._page.flush()

        handler = signal.signal(signal.SIGALRM, ring)
        # Again and again: whoever catches everything, catches the first one.
        timer = signal.setitimer(signal.ITIMER_REAL, min(TELL_AFTER, max(self.left, 1e-3)), 0.25)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, handler)
            self.left -= time.monotonic() - start


@contextlib.contextmanager
def one_call():
    """Run a block without output and warnings; put back what would disturb whoever judges.

    Yields
    ------
    Silence
        Where the output goes.
    """
    output, limit, path = Silence(), sys.getrecursionlimit(), sys.path[:]
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        with np.errstate(all="ignore"), np.printoptions(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sys.stdout = sys.stderr = output
            yield output
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        sys.setrecursionlimit(limit)
        sys.path[:] = path
        restore_numpy()


@contextlib.contextmanager
def all_calls():
    """Run a block with NumPy as it was at first, and put back whatever its calls have changed.

    Yields
    ------
    function
        It says whether a global random generator was used.
    """
    try:
        folder = os.getcwd()
    except OSError:  # it is gone
        folder = None
    environment, found = dict(os.environ), [dict(space) for space, *_ in _NUMPY]
    states = np.random.get_state(), random.getstate()

    def drew():
        now = np.random.get_state(), random.getstate()
        same = all(np.array_equal(*pair) for pair in zip(states[0], now[0], strict=True))
        return not same or states[1] != now[1]

    restore_numpy()
    try:
        yield drew
    finally:
        for (space, *_), before in zip(_NUMPY, found, strict=True):
            _fill(space, before)
        np.random.set_state(states[0])
        random.setstate(states[1])
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        if folder is not None:
            with contextlib.suppress(OSError):
                os.chdir(folder)


def restore_numpy():
    """Make NumPy what it was when the exercises were imported."""
    for space, before, values in _NUMPY:
        try:
            untouched = list(space.values()) == values  # one that is itself needs no comparison
        except Exception:
            untouched = False
        if not untouched:
            _fill(space, before)


def _fill(space, before):
    """Give a namespace the values that it had, whatever came in between."""
    for name in space.keys() - before.keys():
        # A submodule that was imported meanwhile is no change.
        if type(space[name]) is not type(np):
            del space[name]
    space.update(before)
