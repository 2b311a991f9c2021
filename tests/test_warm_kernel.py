"""Kernels that are forked end with whoever wanted them, however that ends."""

import os
import signal
import subprocess
import sys
import time
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


def processes_of(folder):
    """Return the processes that run in a folder: a kernel does, pytest and the server do not."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(process / "cwd")) == folder:
                found.append(int(process.name))
        except OSError:  # it has just ended
            pass
    return found


def until(condition):
    """Wait until a condition holds, a minute at most; say whether it does."""
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("busy", "how"),
    [
        ("in Python", "killed"),
        ("in Python", "terminated"),
        ("in C, deaf to interrupts", "timed out"),
    ],
)
def test_no_kernel_is_left(tmp_path, busy, how):
    folder = tmp_path / "busy"
    folder.mkdir()
    cell = nbformat.v4.new_code_cell(BUSY[busy], execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "busy.ipynb")
    seconds = 2 if how == "timed out" else 60
    options = [
        "-p",
        "nbval_strict",
        "-p",
        "no:cacheprovider",
        "--kernels=warm",
        "--nbval",
        "--nbval-current-env",
    ]
    options += [f"--rootdir={folder}", f"--nbval-cell-timeout={seconds}", "busy/busy.ipynb"]
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-c", os.devnull, *options],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert until(lambda: processes_of(folder))
    if how != "timed out":
        run.send_signal({"killed": signal.SIGKILL, "terminated": signal.SIGTERM}[how])
    run.wait()
    assert until(lambda: not processes_of(folder))
