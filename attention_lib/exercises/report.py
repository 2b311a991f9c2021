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
from pathlib import Path
from typing import NamedTuple

from . import RECORD
from .catalogue import EXERCISES

# What a row may say: the outcomes of `check`, and those of a notebook.
OUTCOMES = {
    "right": "the answer is right",
    "not attempted": "the dots ... are still there",
    "mistake": "one of the known mistakes, by name",
    "raised": "the answer stops with an error",
    "form": "the result is of another kind or shape than it should be",
    "different": "the result differs, by none of the known mistakes",
    "call": "check was called with a name that no exercise has, or not with one answer",
    "no answer": "the cell stopped before check could look at an answer; the error says why",
    "no exercise": "the notebook checked nothing",
    "crashed": "the kernel ended in the middle of the notebook",
    "out of time": "the notebook was stopped; the exercise is that of the cell it was in",
    "unreadable": "there is no notebook to run; the reason is given",
}
START_SECONDS = 60  # for a kernel, on a busy machine; not a part of the notebook's own time
NO_HISTORY = "--HistoryManager.enabled=False"
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
            name = _printable(name.as_posix() if name != Path() else file.name)
            found.setdefault(os.path.realpath(file), Notebook(file, name))
    return sorted(found.values(), key=lambda notebook: notebook.name)


def run(notebooks, seconds=120, jobs=None):
    """Run notebooks, several at once, and yield the rows of each as soon as it is done.

    This executes the code in the notebooks, with your rights. When the generator is closed or
    interrupted, the kernels that still run are killed.

    Parameters
    ----------
    notebooks : list of Notebook
        From `find_notebooks`.
    seconds : float
        Time for each notebook, from its first cell to its last; two minutes, unless given.
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
    """Return, for each exercise, how many got it right, and what went wrong, the most frequent first.

    Examples
    --------
    >>> outcomes = [("right", ""), ("mistake", "argmax"), ("raised", ""), ("mistake", "argmax")]
    >>> print(summary([Row("a student's", "softmax", *outcome) for outcome in outcomes]))
    softmax: 1 of 4 right, 0 not attempted
        2  argmax
        1  (raised)
    """
    counts = {name: collections.Counter() for name in EXERCISES}
    besides = collections.Counter(row.outcome for row in rows if not row.exercise)
    for row in rows:
        if row.exercise:
            what = row.mistake if row.outcome == "mistake" else f"({row.outcome})"
            counts.setdefault(row.exercise, collections.Counter())[what] += 1
    lines = []
    for name, counter in counts.items():
        if total := counter.total():
            right, blank = counter.pop("(right)", 0), counter.pop("(not attempted)", 0)
            lines.append(f"{name}: {right} of {total} right, {blank} not attempted")
            lines += [f"{count:5}  {what}" for what, count in _most_frequent_first(counter)]
    if besides:
        often = [f"{count} {what}" for what, count in _most_frequent_first(besides)]
        lines.append(f"Besides: {', '.join(often)}")
    return "\n".join(lines)


def as_csv(rows):
    """Return rows as CSV, with a header.

    A field that a spreadsheet would take for a formula gets an apostrophe in front.

    Examples
    --------
    >>> print(as_csv([Row("=1+1.ipynb", "softmax", "mistake", "argmax, twice")]), end="")
    file,exercise,outcome,mistake
    '=1+1.ipynb,softmax,mistake,"argmax, twice"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    for row in rows:
        writer.writerow("'" + field if field.startswith(tuple("=+-@")) else field for field in row)
    return text.getvalue()


def _most_frequent_first(counter):
    """Return what was counted, with its count; of one count, the mistakes that have a name first."""
    return sorted(counter.items(), key=lambda item: (-item[1], item[0].startswith("("), item[0]))


def _inside(folder):
    """Return the notebooks in a folder, or the folder itself if there is none."""
    files = [
        file
        for file in folder.rglob("*.ipynb")
        if not file.is_dir()
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    ]
    return files or [folder]


def _rows_of(notebook, seconds, scratch, stop):
    """Return the rows of one notebook, whatever it does."""
    try:
        cells = _code_cells(notebook.path)
    except ValueError as error:
        return [_row(notebook, "", "unreadable", error)]
    record, errors, asked, end = scratch / "record", {}, [], None
    try:
        scratch.mkdir()
        with _Kernel(notebook.path.parent, scratch, record, stop) as kernel:
            limit = time.monotonic() + seconds
            for cell in cells:
                asked = _asked_in(cell)
                error = kernel.run(cell, limit, f"it ran for {seconds:g} s")
                errors |= dict.fromkeys(asked, error) if error else {}
    except _Ended as ended:
        end = ended.args
    except Exception as error:  # Jupyter's or the machine's: it costs this notebook's row alone
        end = "crashed", f"{type(error).__name__}: {error}"
    said = _said_in(record)
    rows = [_row(notebook, exercise, *what) for exercise, what in said.items()]
    rows += [
        _row(notebook, exercise, "no answer", error)
        for exercise, error in errors.items()
        if exercise not in said
    ]
    places = [exercise for cell in cells for exercise in _asked_in(cell)]
    rows.sort(key=lambda row: places.index(row.exercise) if row.exercise in places else len(places))
    if end:
        unsaid = [exercise for exercise in asked if exercise not in said]
        rows.append(_row(notebook, next(iter([*unsaid, *asked]), ""), *end))
    return rows or [_row(notebook, "", "no exercise", "")]


def _row(notebook, *fields):
    return Row(notebook.name, *map(_printable, fields))


def _code_cells(path):
    """Return the code of a notebook, cell by cell. A ValueError says why there is none."""
    if path.is_dir():
        raise ValueError("there is no notebook in this folder")
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise ValueError("there is no such file") from error
    except OSError as error:
        raise ValueError(error.strerror or type(error).__name__) from error
    if not content.strip():
        raise ValueError("the file is empty")
    try:
        cells = json.loads(content.decode("utf-8-sig"))["cells"]
        return [
            "".join(cell["source"])
            for cell in cells
            if cell["cell_type"] == "code" and "".join(cell["source"]).strip()
        ]
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from error
    except (KeyError, TypeError) as error:
        raise ValueError("it is not a notebook, or one of a format older than 4") from error


def _asked_in(cell):
    """Return the exercises that the code of a cell checks, by name; it need not be valid code."""
    code = re.sub(r"#.*", "", cell)
    return [name for _, name in re.findall(r"""\bcheck\(\s*(?:name\s*=\s*)?(["'])(.+?)\1""", code)]


def _said_in(record):
    """Return the outcome and the mistake of each exercise that was checked; the last check counts."""
    said = {}
    with contextlib.suppress(FileNotFoundError):
        for line in record.read_text(encoding="utf-8", errors="replace").splitlines():
            # A kernel may have died while it wrote, and other code may write there too.
            with contextlib.suppress(ValueError, KeyError, TypeError):
                answer = json.loads(line)
                said[str(answer["exercise"])] = str(answer["outcome"]), str(answer["why"])
    return said


class _Kernel:
    """A new kernel of this very Python, in a process group of its own that ends with the block."""

    def __init__(self, folder, scratch, record, stop):
        self.folder = folder
        self.connection = scratch / "connection.json"
        self.stop = stop
        self.environment = os.environ | {
            RECORD: str(record),
            "IPYTHONDIR": str(scratch / "ipython"),  # without the settings of whoever runs this
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "PYTHONDONTWRITEBYTECODE": "1",  # nothing beside the notebook
        }
        if os.name == "posix":  # the kernel ends by itself should this process be killed
            self.environment["JPY_PARENT_PID"] = str(os.getpid())

    def __enter__(self):
        from jupyter_client import BlockingKernelClient

        self.client = BlockingKernelClient(connection_file=str(self.connection))
        # The kernel chooses free ports itself, so that two that start at once cannot want the same.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ipykernel_launcher", "-f", str(self.connection), NO_HISTORY],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            limit, late = time.monotonic() + START_SECONDS, "the kernel did not start"
            while not self._connected():
                self._go_on(self.process.poll(), limit, late)
                time.sleep(0.02)
            self.run("", limit, late)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error):
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        else:
            kill = ["taskkill", "/F", "/T", "/PID", str(self.process.pid)]
            subprocess.run(kill, capture_output=True, check=False)
        self.process.wait()
        # On Linux, also what has left the group: it has the kernel's environment.
        mark = f"{RECORD}={self.environment[RECORD]}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
        self.client.stop_channels()

    def run(self, code, limit, late):
        """Run code; return the error that it stopped with, in words, or "". Raise `_Ended` after `limit`."""
        self._go_on(self.process.poll(), limit, late)
        asked = self.client.execute(code, allow_stdin=False, stop_on_error=False)
        reply = None
        while reply is None or reply["parent_header"].get("msg_id") != asked:
            exit_code = self.process.poll()  # before looking: a kernel may reply and end
            try:
                reply = self.client.shell_channel.get_msg(timeout=0.1)
            except queue.Empty:
                self._go_on(exit_code, limit, late)
        content = reply["content"]
        if content["status"] == "ok":
            return ""
        words = next(iter(content.get("evalue", "").strip().splitlines()), "")
        words = re.sub(r" \(\S+, line (\d+)\)$", r" (line \1)", words)  # a cell has no file name
        return ": ".join(filter(None, [content.get("ename", content["status"]), words]))

    def _connected(self):
        """Connect, if the kernel has said where; say whether it has."""
        try:
            self.client.load_connection_file()
        except (OSError, ValueError):  # not there, or not complete
            return False
        self.client.start_channels(iopub=False, stdin=False, hb=False, control=False)
        return True

    def _go_on(self, exit_code, limit, late):
        """Raise `_Ended` if there is nothing to wait for."""
        if exit_code is not None:
            how = f"exit code {exit_code}" if exit_code >= 0 else signal.Signals(-exit_code).name
            raise _Ended("crashed", f"the kernel ended with {how}")
        # When the whole run is stopped, nobody reads this row any more.
        if self.stop.is_set() or time.monotonic() > limit:
            raise _Ended("out of time", late)


def _printable(text):
    """Return text in one line, without what would steer a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(str(text).split()))


def _width(text):
    """Return how many columns of a terminal a text takes."""
    return sum(
        2 if unicodedata.east_asian_width(sign) in "WF" else not unicodedata.combining(sign)
        for sign in text
    )
