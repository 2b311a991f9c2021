"""A class of forty notebooks: honest ones with every outcome, and attacks on the judge and the machine.

It is reported twice, in a sandbox and without one. Without one the attacks on the machine are left
out (nothing would stop them), and those on the judge must fail all the same.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from types import SimpleNamespace

import pytest
from class_of_notebooks import (
    IS_RIGHT,
    IS_SCALING,
    IS_WRONG,
    RIGHT,
    SCALING,
    SOFTMAX,
    WRONG,
    files_in,
    no_answer,
    processes_with,
    until,
    write,
)

from attention_lib.exercises.report import finding, pool, sandbox
from attention_lib.exercises.report.rows import OUTCOMES

pytestmark = pytest.mark.long

SECONDS = 24

# On Linux a test of the sandbox may be missing at home, but not where the project is checked.
sandboxed = pytest.mark.skipif(
    bool(sandbox.missing()) and not (sys.platform == "linux" and os.environ.get("CI")),
    reason=sandbox.missing(),
)

STUBBORN = """
import time
def endless(S, d_k):
    while True:
        try:
            while True:
                time.sleep(0.01)
        except BaseException:
            pass
check("scaling", endless)
"""
SLEEPY = """
import time
def sleepy(S, d_k):
    while True:
        time.sleep(0.01)
check("scaling", sleepy)
"""
CHILDREN = """
import subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)  # CHILD"]
for alone in (False, True):
    subprocess.Popen(sleep, start_new_session=alone)
"""

# A file, its cells after the first, and what the report must say.
HONEST = {
    "Zoë 学生/a.ipynb": ([RIGHT], [IS_RIGHT]),
    "=1+1/a.ipynb": ([RIGHT], [IS_RIGHT]),
    "ann/week 3.ipynb": (
        [f"from helper import check\n{SOFTMAX}check('softmax', my_softmax)"],
        [IS_RIGHT],
    ),
    "ben/b/week 3.IPYNB": ([WRONG], [IS_WRONG]),
    "blank/a.ipynb": (
        ["def my_softmax(S_scaled):\n    return ...", "check('softmax', my_softmax)"],
        [("softmax", "not attempted", "")],
    ),
    "raises/a.ipynb": (["check('softmax', lambda S: S @ 'S')"], [("softmax", "raised", "...")]),
    "value/a.ipynb": (["check('softmax', np.eye(2))"], [("softmax", "form", "...")]),
    "other/a.ipynb": (["check('softmax', np.tanh)"], [("softmax", "different", "...")]),
    "question/a.ipynb": (
        ["check('softmax', ...)\ncheck('open weights', np.array([[21]]))"],
        [("softmax", "not attempted", ""), ("open weights", "right", "")],
    ),
    "several/a.ipynb": (
        [WRONG, SCALING, "check('softmax', ...)", RIGHT],
        [IS_RIGHT, IS_SCALING],
    ),
    "worse/a.ipynb": ([f"{RIGHT}\n{WRONG}", "1 / 0"], [IS_WRONG]),
    "errors/a.ipynb": (
        [
            "check('softmax', my_sotfmax)",
            SCALING,
            'def f(n_q, n_k) return 1\ncheck( name = "causal mask", answer=f)',
            "check(\u201centropy\u201d, 1)",
        ],
        [
            no_answer("NameError: name 'my_sotfmax' is not defined"),
            IS_SCALING,
            ("causal mask", "no answer", "SyntaxError: expected ':' (line 1)"),
            (
                "entropy",
                "no answer",
                "SyntaxError: invalid character '\u201c' (U+201C) (line 1)",
            ),
        ],
    ),
    "mended/a.ipynb": (["check('softmax', nothing)", RIGHT], [IS_RIGHT]),
    "no import/a.ipynb": (
        ["del check", RIGHT],
        [no_answer("NameError: name 'check' is not defined")],
    ),
    "other name/a.ipynb": (
        ["check('sofmax', 1)", RIGHT],
        [("sofmax", "call", "There is no exercise 'sofmax'. Did you mean 'softmax'?"), IS_RIGHT],
    ),
    "asks/a.ipynb": (
        [f"try: d_k = input()\nexcept Exception: raise OSError('nobody there')\n{RIGHT}"],
        [no_answer("OSError: nobody there")],
    ),
    "leaves/a.ipynb": (["import sys; sys.exit()", RIGHT], [IS_RIGHT]),
    "moves/a.ipynb": (["%cd -q ..", f"%%time\n{RIGHT}", "raise ValueError"], [IS_RIGHT]),
    "prints/a.ipynb": (["for i in range(2000):\n    print('x' * 10_000)", RIGHT], [IS_RIGHT]),
    "draws/a.ipynb": (
        ["import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", RIGHT],
        [IS_RIGHT],
    ),
    "exits/a.ipynb": (
        [
            f"x = 3\n{RIGHT}",
            f"import os; os._exit(x)\n{SCALING}",
            "check('entropy', lambda A: A * x)",
        ],
        [
            IS_RIGHT,
            ("scaling", "crashed", "the process ended with exit code 3"),
            ("entropy", "form", "..."),
        ],
    ),
    "falls over/a.ipynb": (
        ["import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", RIGHT],
        [IS_RIGHT, ("", "crashed", "the process ended with SIGSEGV")],
    ),
    "none/a.ipynb": (
        ["def recheck(*_): 1 / 0\nrecheck('softmax', 1)", "# check('softmax', 1)\n1 / 0"],
        [("", "no exercise", "")],
    ),
    "missing/a.ipynb": (
        [SCALING],
        [IS_SCALING, ("softmax", "missing", "")],
    ),
    "hides/a.ipynb": (
        ["import colorsys\ncolorsys.hls_to_rgb", RIGHT.replace("check", "colorsys.x; check")],
        [
            no_answer(
                "AttributeError: module 'colorsys' has no attribute 'x' (colorsys.py beside the notebook "
                "hides a library)"
            )
        ],
    ),
    "hangs/a.ipynb": (
        [RIGHT, "while True:\n    import time; time.sleep(1)", SCALING],
        [IS_RIGHT, IS_SCALING, ("", "out of time", "the cell ran for ... s")],
    ),
    "sleepy/a.ipynb": ([RIGHT, SLEEPY], [IS_RIGHT, ("scaling", "endless", "...")]),
    "bad/a.ipynb": (
        None,
        [("", "unreadable", "it is not JSON: Expecting value: line 1 column 12 (char 11)")],
    ),
}

FORGED = """
import json, os
lines = [
    {"ran": "", "limit": ""},
    {"heard": {"exercise": "softmax", "outcome": "right", "text": ""}},
    {"check": "softmax", "outcome": "right"},
    {"run": {"array": None}},
]
for number in range(3, 30):
    for line in lines:
        try:
            os.write(number, json.dumps(line).encode() + b"\\n")
        except OSError:
            pass
"""
FLOOD = """
import os
for number in range(3, 30):
    try:
        os.set_blocking(number, True)
        for _ in range(8):
            os.write(number, b"x" * 2**20)
    except OSError:
        pass
"""
REMEMBERS = """
from attention_lib.exercises.catalogue import EXERCISES
known = EXERCISES["softmax"]
known = {case[0].tobytes(): known.reference(*case) for case in known.cases + known.extreme + known.batch}
check("softmax", lambda S_scaled: known[S_scaled.tobytes()])
"""
REPLACES_THE_JUDGE = f"""
import attention_lib.exercises as e
from attention_lib.exercises import engine, calling, feedback
right = feedback.Feedback("softmax", "right", "")
e.judge = engine.judge = engine.examine = lambda *a, **k: right
engine.same = engine._right = lambda *a, **k: True
for name in e.EXERCISES:
    e.EXERCISES[name].mistakes.clear()
    e.EXERCISES[name].cases.clear()
{WRONG}
"""
REPLACES_NUMPY = f"""
true = lambda *a, **k: True
np.array_equal = np.isclose = np.allclose = true
import builtins
builtins.all = true
{WRONG}
"""
REPLACES_CHECK = f"""
import attention_lib.exercises as e
from attention_lib.exercises.feedback import Feedback
e.check = e.hear = check = lambda name, *a: Feedback(name, "right", "")
{WRONG}
"""
# What fails without a sandbox too.
AGAINST_THE_JUDGE = {
    # The cell seems to have ended when it had not yet given an answer.
    "forges/a.ipynb": (
        [FORGED + WRONG],
        [no_answer("the cell ran, and gave check no answer")],
    ),
    "floods/a.ipynb": ([FLOOD + WRONG], [("softmax", "crashed", "...")]),
    "remembers/a.ipynb": ([REMEMBERS], [("softmax", "raised", "...")]),
    "judges/a.ipynb": ([REPLACES_THE_JUDGE], [IS_WRONG]),
    "patches/a.ipynb": ([REPLACES_NUMPY], [IS_WRONG]),
    "checks/a.ipynb": (
        [REPLACES_CHECK],
        [no_answer("the cell ran, and gave check no answer")],
    ),
    "stubborn/a.ipynb": (
        [RIGHT, STUBBORN],
        [IS_RIGHT, ("scaling", "out of time", "the answer did not come to an end")],
    ),
    "children/a.ipynb": ([CHILDREN, RIGHT], [IS_RIGHT]),
}

KILLS_EVERYTHING = """
import os
for number in [*range(2, 5000), -1]:
    try:
        os.kill(number, 9)
    except OSError:
        pass
"""
TRIES_TO_WRITE = """
import attention_lib
try:
    open(attention_lib.__file__, "a")
except OSError:
    raise OSError("kept out") from None
"""


def against_the_machine(base, port):
    victim, secret = base / "class" / "victim" / "a.ipynb", base / "home" / "secret.txt"
    missing = "FileNotFoundError: [Errno 2] No such file or directory: "
    return {
        "reads/a.ipynb": (
            [
                f"open({str(victim)!r}).read()\n{RIGHT}",
                "check('scaling', len(open('../victim/a.ipynb').read()))",
            ],
            [
                no_answer(f"{missing}{str(victim)!r}"),
                ("scaling", "no answer", f"{missing}'../victim/a.ipynb'"),
            ],
        ),
        "goes home/a.ipynb": (
            [f"open({str(secret)!r})\n{RIGHT}", "check('scaling', open('link.txt'))"],
            [
                no_answer(f"{missing}{str(secret)!r}"),
                ("scaling", "no answer", f"{missing}'link.txt'"),
            ],
        ),
        "writes/a.ipynb": (
            ["open('beside.txt', 'w').write('mine')\nopen('a.ipynb', 'w').write('')", RIGHT],
            [IS_RIGHT],
        ),
        "replaces/a.ipynb": (
            [f"open({str(victim)!r}, 'w').write('')\n{RIGHT}", SCALING],
            [no_answer(f"{missing}{str(victim)!r}"), IS_SCALING],
        ),
        "replaces the library/a.ipynb": (
            [f"{TRIES_TO_WRITE}\n{RIGHT}", SCALING],
            [no_answer("OSError: kept out"), IS_SCALING],
        ),
        "calls/a.ipynb": (
            [f"import socket\nsocket.create_connection(('127.0.0.1', {port}))\n{RIGHT}", SCALING],
            [no_answer("ConnectionRefusedError: [Errno 111] Connection refused"), IS_SCALING],
        ),
        "kills/a.ipynb": (
            [
                KILLS_EVERYTHING,
                RIGHT,
            ],
            [IS_RIGHT, ("", "crashed", "the process ended with SIGKILL")],
        ),
        "memory/a.ipynb": (
            [f"x = np.ones(10**9)\n{RIGHT}", SCALING],
            [("softmax", "stopped", "more than 2 GiB of memory"), IS_SCALING],
        ),
        "file/a.ipynb": (
            [f"open('big', 'wb').write(bytes(10**8))\n{RIGHT}", SCALING],
            [("softmax", "stopped", "more than 64 MiB in a file"), IS_SCALING],
        ),
        "disk/a.ipynb": (
            [
                f"for i in range(9):\n    open(f'big{{i}}', 'wb').write(bytes(6 * 10**7))\n{RIGHT}",
                SCALING,
            ],
            [("softmax", "stopped", "more than 256 MiB of files"), IS_SCALING],
        ),
        "forks/a.ipynb": (
            [f"import os\nwhile True:\n    os.fork()\n{RIGHT}", SCALING],
            [("softmax", "stopped", "more than 64 processes and threads"), IS_SCALING],
        ),
        "victim/a.ipynb": ([RIGHT], [IS_RIGHT]),
    }


NOT_RUN = {
    "ann/.ipynb_checkpoints/week 3-checkpoint.ipynb": "a checkpoint that Jupyter made, not what was handed in",
    "packed.zip": "an archive: unpack it first",
    "hidden/.a.ipynb": "a hidden file",
    "renamed/a.ipynb.txt": "it holds a notebook, but its name does not end in .ipynb",
    "script/a.py": "it is not a notebook: the name does not end in .ipynb",
}


def make(base, notebooks):
    folder = base / "class"
    for name, (cells, _) in notebooks.items():
        if cells is None:
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text('{"cells": [')
        else:
            write(folder / name, *cells)
    (folder / "ann" / "helper.py").write_text("from attention_lib.exercises import check\n")
    (folder / "hides" / "colorsys.py").write_text("hls_to_rgb = 1\n")
    for name in NOT_RUN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('{"cells": [{"cell_type": "code"}]}' if "txt" in name else "x")
    # As some editors on Windows save it.
    value = folder / "value" / "a.ipynb"
    value.write_bytes(b"\xef\xbb\xbf" + value.read_bytes())
    (base / "home").mkdir()
    (base / "home" / "secret.txt").write_text("secret")
    if "goes home/a.ipynb" in notebooks:
        (folder / "goes home" / "link.txt").symlink_to(base / "home" / "secret.txt")
    return folder


def report(base, notebooks, limits):
    """Report on a class, and keep what there was before and after."""
    folder = make(base, notebooks)
    before = files_in(base)
    submissions, not_run = finding.find([folder])
    with tempfile_in(base):
        running = pool.run(submissions, seed="test", seconds=SECONDS, limits=limits, jobs=3)
        rows = {one.name: [tuple(row[1:4]) for row in rows] for one, rows in running}
    return SimpleNamespace(
        base=base,
        folder=folder,
        before=before,
        after=files_in(base),
        rows=rows,
        not_run=not_run,
        wanted=notebooks,
    )


@contextlib.contextmanager
def tempfile_in(base):
    """Have temporary folders made in a folder, by which the processes of this test are known."""
    before, tempfile.tempdir = tempfile.tempdir, str(base)
    try:
        yield
    finally:
        tempfile.tempdir = before


@pytest.fixture(scope="module")
def in_a_sandbox(tmp_path_factory):
    base = tmp_path_factory.mktemp("inside")
    server = socket.create_server(("127.0.0.1", 0))
    callers = []
    threading.Thread(target=_count, args=(server, callers), daemon=True).start()
    port = server.getsockname()[1]
    made = report(
        base, HONEST | AGAINST_THE_JUDGE | against_the_machine(base, port), sandbox.Limits(cpu=60)
    )
    server.close()
    made.callers = callers
    return made


def _count(server, callers):
    try:
        while True:
            callers.append(server.accept())
    except OSError:  # it was closed
        pass


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    few = ("ann/week 3.ipynb", "value/a.ipynb", "exits/a.ipynb", "hides/a.ipynb")
    return report(
        tmp_path_factory.mktemp("outside"),
        {name: HONEST[name] for name in few} | AGAINST_THE_JUDGE,
        None,
    )


def shown(row):
    """Return a row without what is different on every machine and what check said at length."""
    exercise, outcome, what = row
    if outcome in ("raised", "form", "different", "endless"):
        what = "..."
    elif outcome == "out of time":
        what = re.sub(r"[\d.]+ s", "... s", what)
    return exercise, outcome, what


def assert_rows(made, name):
    wanted = made.wanted[name][1]
    rows = [shown(row) for row in made.rows[name]]
    if name.startswith("floods"):
        rows = [(*row[:2], "...") for row in rows]
    assert rows == wanted


EVERYTHING = [*HONEST, *AGAINST_THE_JUDGE, *against_the_machine(finding.Path(), 0)]


@sandboxed
@pytest.mark.parametrize("name", EVERYTHING)
def test_in_a_sandbox_each_notebook_gets_its_rows(in_a_sandbox, name):
    assert_rows(in_a_sandbox, name)


@sandboxed
def test_in_a_sandbox_nothing_is_changed_and_nobody_called_and_nothing_is_left(in_a_sandbox):
    assert len(in_a_sandbox.wanted) >= 40
    assert in_a_sandbox.after == in_a_sandbox.before
    assert in_a_sandbox.callers == []
    assert until(lambda: not processes_with(str(in_a_sandbox.base)))


@sandboxed
def test_in_a_sandbox_every_outcome_happens(in_a_sandbox):
    outcomes = {row[1] for rows in in_a_sandbox.rows.values() for row in rows}
    assert outcomes == set(OUTCOMES) - {"not reached", "not run"}


@pytest.mark.parametrize("name", AGAINST_THE_JUDGE)
def test_without_a_sandbox_the_attacks_on_the_judge_fail_too(without, name):
    assert_rows(without, name)


@pytest.mark.parametrize(
    "name", ["ann/week 3.ipynb", "value/a.ipynb", "exits/a.ipynb", "hides/a.ipynb"]
)
def test_without_a_sandbox_honest_notebooks_get_their_rows(without, name):
    assert_rows(without, name)


def test_without_a_sandbox_nothing_is_left(without):
    assert without.after == without.before
    assert until(lambda: not processes_with(str(without.base)))


def test_what_is_not_run_is_named_with_the_reason(without):
    assert {one.name: one.reason for one in without.not_run} == NOT_RUN


@sandboxed
def test_processor_time_is_limited_and_named(tmp_path):
    burn = "import hashlib\nwhile True: hashlib.sha256(bytes(10**7))"
    write(tmp_path / "class" / "a.ipynb", f"{burn}\n{RIGHT}")
    submissions, _ = finding.find([tmp_path / "class"])
    limits = sandbox.Limits(cpu=2)
    ((_, rows),) = pool.run(submissions, seed=1, seconds=20, limits=limits)
    assert [row[1:4] for row in rows] == [("softmax", "stopped", "more than 2 s of processor time")]


@sandboxed
def test_memory_of_all_processes_together_is_limited(tmp_path):
    several = (
        "import os, time\n"
        "for _ in range(4):\n"
        "    if not os.fork():\n"
        "        x = np.ones(2 * 10**7); time.sleep(60)\n"
        "time.sleep(60)\n"
    )
    write(tmp_path / "class" / "a.ipynb", several + RIGHT)
    submissions, _ = finding.find([tmp_path / "class"])
    limits = sandbox.Limits(memory=2**29)
    ((_, rows),) = pool.run(submissions, seed=1, seconds=20, limits=limits)
    assert [row[1:3] for row in rows] == [("softmax", "stopped")]


@sandboxed
def test_a_machine_that_says_it_is_checking_has_a_sandbox():
    assert sandbox.missing() == ""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_run_that_is_killed_takes_its_processes_with_it(tmp_path):
    write(tmp_path / "class" / "a.ipynb", f"{CHILDREN}\nimport time; time.sleep(60)")
    command = [sys.executable, "-m", "attention_lib.exercises", "report", str(tmp_path / "class")]
    reporting = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    try:
        assert until(lambda: processes_with(f"{tmp_path}/attention_lib_"))
    finally:
        reporting.kill()
        reporting.wait()
    if not sandbox.missing():  # without one, what has left the notebook's process lives on
        assert until(lambda: not processes_with(f"{tmp_path}/attention_lib_"))
