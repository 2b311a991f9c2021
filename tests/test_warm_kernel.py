"""Kernels that are forked end with whoever wanted them, however that ends."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only")

BUSY = {
    "in Python": "while True: pass",
    "in C, deaf to interrupts": (
        "import itertools, signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "sum(itertools.repeat(1))"
    ),
}


class Run:
    """pytest over busy notebooks, in a process group of its own as a terminal's shell makes it."""

    def __init__(self, folder, cell, options, count=1, ignoring=()):
        self.mark = f"RUN={uuid.uuid4()}".encode()  # in the environment of all that it starts
        self.folder = folder / "notebooks"
        self.folder.mkdir()
        for number in range(count):
            notebook = nbformat.v4.new_notebook(cells=[cell])
            nbformat.write(notebook, self.folder / f"{number}.ipynb")

        def ignore():
            for number in ignoring:
                signal.signal(number, signal.SIG_IGN)

        options = [
            *(
                "-c",
                os.devnull,
                f"--rootdir={folder}",
                "-p",
                "nbval_strict",
                "-p",
                "no:cacheprovider",
            ),
            *("--kernels=warm", "--nbval", "--nbval-current-env", *options, "notebooks"),
        ]
        self.pytest = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT / "tools"), "RUN": self.mark[4:].decode()},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=ignore,
        )

    def processes(self):
        """Return the folder of each process of the run that is there, kernels and server included."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark in (process / "environ").read_bytes().split(b"\0"):
                    found[int(process.name)] = Path(os.readlink(process / "cwd"))
            except OSError:  # it has just ended, or is somebody else's
                pass
        return found

    def kernels(self):
        """Return the kernels, which alone run in the notebooks' folder, and who waits for them."""
        return [process for process, cwd in self.processes().items() if cwd == self.folder]

    def has_kernels(self, count):
        """Wait for this many kernels; each is two processes in its folder, it and who waits for it."""
        return until(lambda: len(self.kernels()) == 2 * count)


def until(condition):
    """Wait until a condition holds, a minute at most; say whether it does."""
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


def cell(source, **attributes):
    return nbformat.v4.new_code_cell(source, execution_count=1, **attributes)


@pytest.mark.long
@pytest.mark.parametrize(
    ("busy", "how", "workers"),
    [
        ("in Python", "Ctrl-C", 2),
        ("in C, deaf to interrupts", "terminal closed", 0),
        ("in Python", "killed", 0),
        ("in Python", "terminated", 0),
        ("in C, deaf to interrupts", "timed out", 0),
    ],
)
def test_nothing_is_left(tmp_path, busy, how, workers):
    seconds = 2 if how == "timed out" else 60
    options = [f"-n{workers}", f"--nbval-cell-timeout={seconds}"]
    # A shell starts what is to run on without it deaf to Ctrl-C, as "nohup make test &" does.
    ignoring = [signal.SIGINT, signal.SIGHUP] if how == "timed out" else []
    run = Run(tmp_path, cell(BUSY[busy]), options, max(workers, 1), ignoring)
    assert run.has_kernels(max(workers, 1))
    if how == "Ctrl-C":
        os.killpg(run.pytest.pid, signal.SIGINT)
    elif how == "terminal closed":
        os.killpg(run.pytest.pid, signal.SIGHUP)
    elif how != "timed out":
        run.pytest.send_signal({"killed": signal.SIGKILL, "terminated": signal.SIGTERM}[how])
    run.pytest.wait()
    assert until(lambda: not run.processes()), run.processes()


def test_no_kernel_outlives_the_server_it_was_forked_from(tmp_path):
    run = Run(tmp_path, cell(BUSY["in C, deaf to interrupts"]), ["-n0"])
    assert run.has_kernels(1)
    for process in run.processes().keys() - run.kernels():
        if b"serve" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0"):
            os.kill(process, signal.SIGKILL)
    assert until(lambda: not run.kernels())
    os.killpg(run.pytest.pid, signal.SIGKILL)
    run.pytest.wait()
