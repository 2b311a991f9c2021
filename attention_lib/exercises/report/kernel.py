"""The student's process: it runs the cells of a notebook, and calls answers when it is asked.

It is started by `attention_lib.exercises.report.running`, with requests on its standard input
and replies on its standard output. Nothing here decides whether an answer is right.
"""

import contextlib
import errno
import json
import os
import re
import shutil
import sys
import threading
import time

from ... import exercises
from ..asking import about_the_call
from ..calling import Answer
from ..engine import judge
from ..feedback import Feedback
from . import wire


def main():
    """Run requests until there are no more."""
    settings = json.loads(sys.argv[-1])
    channel = _Channel()
    _withdraw(settings)
    exercises.hear = _Listener(channel).hear
    shell = _shell()
    sys.path.insert(0, "")  # where a notebook finds what lies beside it
    if settings["parent"]:
        threading.Thread(target=_end_with, args=(settings["parent"],), daemon=True).start()
    channel.send({"ready": True})
    while request := channel.receive():
        channel.send(_run(shell, request["run"]))


class _Channel:
    """The two pipes, moved to where a notebook's own input and output do not meet them."""

    def __init__(self):
        self._requests, self._replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        self._process = os.getpid()

    def send(self, message):
        self._stay()
        self._replies.write(wire.to_line(message))
        self._replies.flush()

    def receive(self):
        """Return the next request, or None when there is none any more."""
        self._stay()
        line = self._requests.readline()
        return wire.from_line(line) if line else None

    def _stay(self):
        if os.getpid() != self._process:  # a notebook has forked: only one of the two may speak
            os._exit(0)


class _Listener:
    """What `check` becomes: it hands its answer over, and calls it as often as it is asked."""

    def __init__(self, channel):
        self.channel = channel

    def hear(self, name, answer, more):
        if threading.current_thread() is not threading.main_thread():
            return judge(exercises.EXERCISES[name], answer)  # nobody listens to this one
        if problem := about_the_call(exercises.EXERCISES, name, answer, more):
            self.channel.send({"misuse": problem.exercise, "text": problem.text})
            return problem
        asked = Answer(answer)
        about = {"callable": asked.callable, "name": asked.name, "kind": asked.kind}
        self.channel.send({"check": name, **about})
        with asked.manners():
            while request := self.channel.receive():
                if "heard" in request:
                    return Feedback(**request["heard"])
                self.channel.send(self.reply(asked, request))
        os._exit(0)

    @staticmethod
    def reply(asked, request):
        parameters = request["parameters"]
        if "misfit" in request:
            return {"misfit": asked.misfit(parameters)}
        if "case" in request:
            case = [wire.unpack(part) for part in request["case"]]
            return {"run": wire.pack_run(asked.run(case, parameters))}
        return {"run": wire.pack_run(asked.value())}


def _shell():
    """Return an IPython that keeps no history and prints no traceback."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    shell.showtraceback = shell.showsyntaxerror = lambda *_args, **_options: None
    return shell


def _run(shell, source):
    """Run a cell; return what ended it, in words, and the limit that struck, if it is known."""
    result = shell.run_cell(source)
    error = result.error_before_exec or result.error_in_exec
    if error is None:
        return {"ran": "", "limit": ""}
    words = ""
    with contextlib.suppress(Exception):
        words = next(iter(str(error).strip().splitlines()), "")
    words = re.sub(r" \(\S+, line (\d+)\)$", r" (line \1)", words)  # a cell has no file name
    text = ": ".join(filter(None, [type(error).__name__, words]))
    return {"ran": text[: wire.LONGEST_TEXT], "limit": _limit(error)}


def _limit(error):
    """Return the limit of which an error speaks, or ""."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "processes"
    number = error.errno if isinstance(error, OSError) else None
    limits = {errno.EFBIG: "file", errno.ENOSPC: "disk", errno.EAGAIN: "processes"}
    return limits.get(number, "memory" if number == errno.ENOMEM else "")


def _withdraw(settings):
    """Give up what a notebook should not have: the rights of an administrator, and plenty."""
    if settings["user"]:
        os.setgroups([])
        os.setgid(settings["user"])
        os.setuid(settings["user"])
    if settings["handed"]:
        shutil.copytree(settings["handed"], settings["folder"], dirs_exist_ok=True)
    for folder in settings["make"]:
        os.makedirs(folder, exist_ok=True)
    if settings["fonts"]:
        shutil.copytree(settings["fonts"], os.environ["MPLCONFIGDIR"], dirs_exist_ok=True)
    os.chdir(settings["folder"])
    if settings["limits"]:
        import resource

        for name, most in settings["limits"].items():
            kind = getattr(resource, f"RLIMIT_{name}")
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            # Where the time is up, the first signal says so and the second ends it.
            resource.setrlimit(kind, (most, most + (name == "CPU")))


def _end_with(parent):
    """End this process soon after the one that started it has gone."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
