"""The student's process, as it is seen from outside: it is asked, and answers in time or ends."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from . import sandbox, wire

START_SECONDS = 60  # for a process, on a busy machine; not a part of the notebook's own time
WATCH_SECONDS = 0.5  # between two looks at what a notebook uses


class Ended(Exception):
    """The process cannot go on. The arguments: the outcome, and the reason."""


class Process:
    """A new Python for one notebook, in a process group of its own that ends with the block."""

    def __init__(self, launch, stop):
        self.launch = launch
        self.stop = stop
        self.lines = queue.Queue(maxsize=8)
        self.looked = 0.0

    def __enter__(self):
        self.process = subprocess.Popen(
            self.launch.command,
            cwd=self.launch.folder,
            env=self.launch.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.receive(time.monotonic() + START_SECONDS, "it did not start")
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
        self._end_strays()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError, ValueError):
                pipe.close()

    def send(self, message):
        """Send a request; whoever does not read any more will not reply either."""
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(wire.to_line(message))
            self.process.stdin.flush()

    def receive(self, limit, late):
        """Return the next message. Raise `Ended` if there is none until `limit`."""
        while True:
            try:
                line = self.lines.get(timeout=0.1)
            except queue.Empty:
                self._watch()
                # When the whole run is stopped, nobody reads this row any more.
                if self.stop.is_set() or time.monotonic() > limit:
                    raise Ended("out of time", late) from None
                continue
            if line is None:
                raise Ended(*self._how_it_ended())
            try:
                return wire.from_line(line)
            except (ValueError, RecursionError) as error:
                raise Ended("crashed", "it wrote into the pipe of its answers") from error

    def _read(self):
        """Put the lines that the process writes where they are waited for; None is the end."""
        with contextlib.suppress(OSError, ValueError):
            while line := self.process.stdout.readline(wire.LONGEST_LINE):
                if not line.endswith(b"\n"):
                    break
                self.lines.put(line)
        self.lines.put(None)

    def _how_it_ended(self):
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "crashed", "it closed the pipe of its answers"
        name = sandbox.signal_of(code)
        if name == "SIGXCPU" and self.launch.limits:
            return "stopped", self.launch.limits.in_words("cpu")
        return "crashed", f"the process ended with {name or f'exit code {code}'}"

    def _watch(self):
        """End what uses more memory in all its processes than it may."""
        limits, now = self.launch.limits, time.monotonic()
        if limits is None or now < self.looked + WATCH_SECONDS:
            return
        self.looked = now
        if sum(_memory(process) for process in _family(self.process.pid)) > limits.memory:
            raise Ended("stopped", limits.in_words("memory"))

    def _end_strays(self):
        """Kill what has left the group, on Linux: it has the environment of the process."""
        if sys.platform != "linux":
            return
        mark = f"{sandbox.MARK}={self.launch.environment[sandbox.MARK]}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)


def _family(parent):
    """Return a process and all that descend from it, by number."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            above = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(above, []).append(int(stat.parent.name))
    family, new = [], [parent]
    while new:
        family += new
        new = [child for one in new for child in children.get(one, [])]
    return family


def _memory(process):
    """Return the bytes of memory that a process uses by itself."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        pages = Path(f"/proc/{process}/statm").read_text().split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")
    return 0
