"""A notebook from its first cell to its last: its answers are asked for, and judged here."""

import contextlib
import dataclasses
import shutil
import time
from pathlib import Path

from ..catalogue import EXERCISES
from ..engine import examine, prepare
from ..feedback import Feedback
from ..inputs import Draw
from ..manners import SECONDS
from . import cells, sandbox, wire
from .rows import Account, Row
from .running import Ended, Process

MOST_PROCESSES = 4  # for one notebook: after a cell that ends its process comes a new one
GRACE = 3.0  # seconds that an answer has to notice that its time is up


class RemoteAnswer:
    """An answer in a student's process: what `examine` wants to know about one."""

    def __init__(self, about, ask):
        self._ask = ask
        self.callable = about["callable"] is True
        self.name = wire.text_of(about["name"])
        self.kind = wire.text_of(about["kind"])

    def value(self):
        return wire.unpack_run(self._ask({"parameters": []})["run"])

    def misfit(self, parameters):
        return wire.text_of(self._ask({"misfit": True, "parameters": parameters})["misfit"])

    def run(self, case, parameters):
        asked = {"case": [wire.pack(part) for part in case], "parameters": parameters}
        return wire.unpack_run(self._ask(asked)["run"])

    def manners(self):
        """Return a block that changes nothing: the student's process minds its own."""
        return contextlib.nullcontext(lambda: False)


def drawn(seed):
    """Return all exercises with inputs behind their own that only this run has."""
    exercises = {
        name: exercise.with_drawn(Draw(f"{seed} {name}")) for name, exercise in EXERCISES.items()
    }
    for exercise in exercises.values():
        prepare(exercise)
    return exercises


class Judge:
    """How notebooks are run and judged, the same for all of them.

    Parameters
    ----------
    exercises : dict of str to Exercise
        From `drawn`.
    seconds : float
        Time for each notebook. A cell may take half of what is left.
    limits : Limits or None
        Of the sandbox; None runs without one.
    fonts : Path
        From `attention_lib.exercises.report.sandbox.list_fonts`.
    stop : threading.Event
        Set when the whole run is to end.
    """

    def __init__(self, exercises, seconds, limits, fonts, stop):
        self.exercises = exercises
        self.seconds = seconds
        self.limits = limits
        self.fonts = fonts
        self.stop = stop

    def rows(self, submission, expected, scratch):
        """Return the rows of one notebook, whatever it does."""
        try:
            code = cells.code_of(submission.path)
        except ValueError as error:
            return [Row(submission.name, "", "unreadable", " ".join(str(error).split()))]
        account = Account([cells.asked_in(cell) for cell in code])
        try:
            launch = self._launch(submission, scratch)
            self._run_all(code, launch, account)
        except Exception as error:  # the machine's: it costs this notebook's row alone
            account.end(0, "crashed", f"{type(error).__name__}: {error}")
        hidden = cells.hidden_libraries(submission.path.parent)
        hint = f"{', '.join(hidden)} beside the notebook hides a library" if hidden else ""
        return [
            row._replace(**{name: _printable(value) for name, value in row._asdict().items()})
            for row in account.rows(submission.name, expected, hint)
        ]

    def _launch(self, submission, scratch):
        scratch.mkdir()
        if self.limits is None:
            return sandbox.outside(submission.path.parent, scratch, self.fonts)
        folder = scratch / "handed"
        folder.mkdir()
        for file in (submission.path, *map(Path, submission.companions)):
            inside = folder / file.relative_to(submission.path.parent)
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, inside)
        return sandbox.inside(folder, scratch, self.fonts, self.limits)

    def _run_all(self, code, launch, account):
        """Run the cells in order. After one that ends its process, go on in a new one.

        The new one runs the cells before it again, for what they define, and leaves it out.
        """
        left, skipped = self.seconds, set()
        for _ in range(MOST_PROCESSES):
            number, start = 0, None
            try:
                with Process(launch, self.stop) as process:
                    start = time.monotonic()
                    for number, cell in enumerate(code):
                        if number not in skipped:
                            account.reached.add(number)
                            self._run(process, cell, number, account, start + left)
                return
            except Ended as ended:
                account.end(number, *ended.args)
                skipped.add(number)
            if start is None or number + 1 == len(code) or self.stop.is_set():
                return
            left -= time.monotonic() - start
            if left < self.seconds / 20:
                return

    def _run(self, process, cell, number, account, limit):
        """Run one cell, and judge the answers that it gives to check."""
        seconds = (limit - time.monotonic()) / 2
        until = time.monotonic() + seconds
        late = f"the cell ran for {max(seconds, 0):.3g} s"
        process.send({"run": cell})
        while True:
            message = process.receive(until, late)
            try:
                if "ran" in message:
                    self._after(wire.text_of(message["ran"]), message["limit"], number, account)
                    return
                if "misuse" in message:
                    misused = Feedback("", "call", wire.text_of(message["text"]))
                    account.hear(wire.text_of(message["misuse"]), misused)
                else:
                    self._judge(process, message, account, until)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise Ended("crashed", "it wrote into the pipe of its answers") from error

    def _after(self, error, limit, number, account):
        if limit and self.limits is not None:
            account.end(number, "stopped", self.limits.in_words(limit))
        elif error:
            account.fail(number, error)

    def _judge(self, process, message, account, until):
        """Judge the answer that a message speaks of, and tell the cell."""
        exercise = self.exercises[message["check"]]
        until = min(until, time.monotonic() + SECONDS + GRACE)

        def ask(request):
            process.send(request)
            return process.receive(until, "the answer did not come to an end")

        feedback = examine(exercise, RemoteAnswer(message, ask))
        account.hear(exercise.name, feedback)
        process.send({"heard": dataclasses.asdict(feedback)})


def _printable(text):
    """Return text in one line, without what would steer a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(str(text).split()))
