"""Where a notebook runs: in a sandbox made by bubblewrap, or on the machine as it is.

In the sandbox there is the student's folder, copied and alone, and what Python needs, read-only:
no network, no other process, no home. Python, the packages and the fonts are those of whoever
makes the report. Needs Linux, and bubblewrap, which every distribution has.
"""

import contextlib
import functools
import json
import os
import shutil
import signal
import site
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MARK = "ATTENTION_LIB_REPORT"  # in the environment of what a report has started
BOOT = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from attention_lib.exercises.report import kernel; kernel.main()"
)
PACKAGE = Path(__file__).resolve().parents[2]
WORK = "/work"  # all that can be written in the sandbox, with /tmp
FOLDER = f"{WORK}/notebook"
# What programs need of the system, besides Python.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SETTINGS = ("/etc/ld.so.cache", "/etc/fonts", "/etc/localtime", "/etc/alternatives")


class Limits(NamedTuple):
    """What a notebook may use in the sandbox: bytes, processes, and seconds of the processor."""

    memory: int = 2 * 2**30
    file: int = 64 * 2**20
    disk: int = 256 * 2**20
    processes: int = 64
    cpu: int = 240

    def in_words(self, name):
        """Return what a notebook wanted more of.

        Examples
        --------
        >>> Limits().in_words("memory"), Limits().in_words("cpu")
        ('more than 2 GiB of memory', 'more than 240 s of processor time')
        """
        return (
            "more than "
            + {
                "memory": f"{_size(self.memory)} of memory",
                "file": f"{_size(self.file)} in a file",
                "disk": f"{_size(self.disk)} of files",
                "processes": f"{self.processes} processes and threads",
                "cpu": f"{self.cpu} s of processor time",
            }[name]
        )


class Launch(NamedTuple):
    """How a student's process is started."""

    command: list
    environment: dict
    folder: Path
    limits: Limits | None


def outside(folder, scratch, fonts):
    """Return how to run a notebook on the machine as it is, in its own folder."""
    places = {
        "TMPDIR": scratch / "tmp",
        "MPLCONFIGDIR": scratch / "matplotlib",
        "IPYTHONDIR": scratch / "ipython",  # without the settings of whoever runs this
    }
    environment = os.environ | _settings(places) | {MARK: str(scratch)}
    settings = {
        "user": 0,
        "handed": "",
        "folder": str(folder),
        "make": [str(place) for place in places.values()],
        "fonts": str(fonts),
        "limits": {},
        "parent": os.getpid() if os.name == "posix" else 0,
    }
    return Launch(_python(settings), environment, folder, None)


def inside(folder, scratch, fonts, limits):
    """Return how to run the notebook in a folder in a sandbox. The folder is a copy."""
    places = {
        "HOME": f"{WORK}/home",
        "TMPDIR": f"{WORK}/tmp",
        "MPLCONFIGDIR": f"{WORK}/matplotlib",
        "IPYTHONDIR": f"{WORK}/ipython",
    }
    user = 60_000 + int.from_bytes(os.urandom(2)) % 5_000 if os.geteuid() == 0 else 0
    settings = {
        # The administrator has no limit on processes, so a notebook runs as somebody else.
        "user": user,
        "handed": "/handed",
        "folder": FOLDER,
        "make": list(places.values()),
        "fonts": "/fonts",
        "limits": {
            "AS": limits.memory,
            "FSIZE": limits.file,
            "NPROC": limits.processes + (0 if user else _processes_of_mine()),
            "CPU": limits.cpu,
            "CORE": 0,
        },
        "parent": 0,
    }
    environment = _settings(places) | {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    command = [
        *_walls(limits),
        *("--ro-bind", str(folder), "/handed", "--ro-bind", str(fonts), "/fonts"),
        *(word for pair in environment.items() for word in ("--setenv", *pair)),
        *("--chdir", WORK, "--remount-ro", "/"),
    ]
    return Launch([*command, "--", *_python(settings)], {MARK: str(scratch)}, scratch, limits)


@functools.cache
def missing():
    """Return why there is no sandbox here, or "" if there is one; by trying."""
    if sys.platform != "linux":
        return "bubblewrap needs Linux"
    if not shutil.which("bwrap"):
        return "bubblewrap (bwrap) is not installed"
    trial = [*_walls(Limits()), "--", sys.executable, "-c", "pass"]
    try:
        tried = subprocess.run(
            trial, capture_output=True, text=True, timeout=30, env={}, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"bubblewrap did not start: {error}"
    said = next(iter(tried.stderr.strip().splitlines()), f"exit code {tried.returncode}")
    return "" if tried.returncode == 0 else f"bubblewrap cannot be used here: {said}"


@functools.cache
def version():
    """Return the name and the version of the program that makes the sandbox."""
    said = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=False)
    return said.stdout.strip()


def list_fonts(folder):
    """Have matplotlib list its fonts once into a folder, for all notebooks; not if it is missing."""
    folder.mkdir()
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            [sys.executable, "-c", "import matplotlib.font_manager"],
            env=os.environ | {"MPLCONFIGDIR": str(folder)},
            capture_output=True,
            timeout=120,
            check=False,
        )


def _walls(limits):
    """Return bubblewrap's command line as far as it is the same for every notebook."""
    command = [
        shutil.which("bwrap"),
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--cap-drop",
        "ALL",
    ]
    command += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    command += ["--unshare-cgroup-try"]
    if os.geteuid() == 0:  # to become somebody else before the first cell
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        command += ["--unshare-user"]
    for path in SYSTEM:
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            command += ["--ro-bind", path, path]
    for path in SETTINGS:
        command += ["--ro-bind-try", path, path]
    command += ["--proc", "/proc", "--dev", "/dev", "--size", str(2**24), "--tmpfs", "/dev/shm"]
    command += ["--remount-ro", "/dev"]
    for path in ("/tmp", WORK):
        command += ["--perms", "1777", "--size", str(limits.disk), "--tmpfs", path]
    for path in _needed():
        # Every folder on the way, or bubblewrap makes it for the administrator alone.
        ways = [str(folder) for folder in reversed(Path(path).parents)][1:]
        command += [word for way in ways for word in ("--dir", way)] + ["--ro-bind", path, path]
    return command


def _needed():
    """Return the folders of this Python, of its packages and of this one, outer ones first."""
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages()}
    folders |= {os.path.dirname(os.path.realpath(sys.executable)), str(PACKAGE)}
    if site.ENABLE_USER_SITE:
        folders.add(site.getusersitepackages())
    outer = list(SYSTEM)
    for path in sorted(filter(os.path.isdir, map(os.path.abspath, folders))):
        if path != "/" and not any(Path(path).is_relative_to(folder) for folder in outer):
            outer.append(path)
    return outer[len(SYSTEM) :]


def _python(settings):
    # -P: nothing that lies beside the notebook may stand in for a library here.
    return [sys.executable, "-P", "-c", BOOT, str(PACKAGE.parent), json.dumps(settings)]


def _settings(places):
    """Return the environment that a student's process needs."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        **{name: str(place) for name, place in places.items()},
        **threads,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONDONTWRITEBYTECODE": "1",  # nothing beside the notebook
        "PYTHONPATH": "",
    }


def _processes_of_mine():
    """Count the processes and threads of whoever runs this, which older systems count in."""
    count = 0
    for status in Path("/proc").glob("[0-9]*/task/*"):
        with contextlib.suppress(OSError):
            count += status.stat().st_uid == os.getuid()
    return count


def signal_of(exit_code):
    """Return the signal that ended a process, by name, or "". Behind bubblewrap it is above 128."""
    number = -exit_code if exit_code < 0 else exit_code - 128
    try:
        return signal.Signals(number).name if number > 0 else ""
    except ValueError:
        return ""


def _size(number):
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= unit:
            return f"{number / unit:g} {name}"
    return f"{number} bytes"
