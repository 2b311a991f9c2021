"""The report of a class, on a class that does everything a class does."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attention_lib.exercises import feedback
from attention_lib.exercises.__main__ import main
from attention_lib.exercises.report import (
    OUTCOMES,
    Row,
    as_csv,
    as_table,
    find_notebooks,
    run,
    summary,
)

COMMAND = [sys.executable, "-W", "error", "-m", "attention_lib.exercises"]

START = "from attention_lib.exercises import check\nimport numpy as np"
SOFTMAX = (
    "def my_softmax(S_scaled):\n"
    "    E = np.exp(S_scaled - S_scaled.max(axis=-1, keepdims=True))\n"
    "    return E / E.sum(axis=-1, keepdims=True)\n"
)
RIGHT = f"{SOFTMAX}check('softmax', my_softmax)"
WRONG = "check('softmax', lambda S_scaled: np.exp(S_scaled) / np.exp(S_scaled).sum())"
SCALING = "check('scaling', lambda S, d_k: S / d_k)"

IS_RIGHT = ("softmax", "right", "")
IS_WRONG = ("softmax", "mistake", "softmax over the whole matrix")
IS_SCALING = ("scaling", "mistake", "divided by d_k")

ENDLESS = """
import time
while True:
    try:
        while True:
            time.sleep(0.01)
    except KeyboardInterrupt:
        pass
check("scaling", lambda S, d_k: S)
"""
CHILDREN = """
import subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
for alone in (False, True):
    subprocess.Popen(sleep, start_new_session=alone, env=None if alone else {})
"""
# What is left of a record when a kernel ends while it writes, or others write there.
HALF_A_LINE = """
import os
with open(os.environ["ATTENTION_LIB_RECORD"], "a") as record:
    record.write('[1]\\n{"exercise": "scal')
"""
HERE = f"""
import os, sys
assert sys.executable == {sys.executable!r}
assert os.path.basename(os.getcwd()) == "ann"
assert "ATTENTION_LIB_RECORD" not in open("helper.py").read()
from helper import check
"""


def no_answer(error):
    return ("softmax", "no answer", error)


# A file of the class, its cells after the first, and what the report must say.
CLASS = {
    # The first, so that the others run while it wastes its time.
    "0 endless.ipynb": (
        [f"{RIGHT}\n{ENDLESS}"],
        [IS_RIGHT, ("scaling", "out of time", "it ran for 10 s")],
    ),
    "=1+1.ipynb": ([RIGHT], [IS_RIGHT]),
    "Zoë 学生.ipynb": ([RIGHT], [IS_RIGHT]),
    "ann/week 3.ipynb": ([f"{HERE}{SOFTMAX}check('softmax', my_softmax)"], [IS_RIGHT]),
    "ben/b/week 3.ipynb": ([WRONG], [IS_WRONG]),
    "blank.ipynb": (
        ["def my_softmax(S_scaled):\n    return ...", "check('softmax', my_softmax)"],
        [("softmax", "not attempted", "")],
    ),
    "raises.ipynb": (["check('softmax', lambda S: S @ 'S')"], [("softmax", "raised", "...")]),
    "value.ipynb": (["check('softmax', np.eye(2))"], [("softmax", "form", "...")]),
    "other numbers.ipynb": (["check('softmax', np.tanh)"], [("softmax", "different", "...")]),
    "several.ipynb": (
        [WRONG, SCALING, "check('softmax', ...)", RIGHT],
        [IS_RIGHT, IS_SCALING],
    ),
    "worse and worse.ipynb": ([f"{RIGHT}\n{WRONG}", "1 / 0  # check('scaling', 1)"], [IS_WRONG]),
    "errors.ipynb": (
        [
            "check('softmax', my_sotfmax)",
            SCALING,
            'def f(n_q, n_k) return 1\ncheck( name = "causal mask", answer=f)',
        ],
        [
            no_answer("NameError: name 'my_sotfmax' is not defined"),
            IS_SCALING,
            ("causal mask", "no answer", "SyntaxError: expected ':' (line 1)"),
        ],
    ),
    "error, then mended.ipynb": (["check('softmax', nothing)", RIGHT], [IS_RIGHT]),
    "forgot the import.ipynb": (
        ["del check", RIGHT],
        [no_answer("NameError: name 'check' is not defined")],
    ),
    "other name.ipynb": (["check('sofmax', 1)"], [("sofmax", "call", "...")]),
    "asks.ipynb": (
        [f"try: d_k = input()\nexcept Exception: raise OSError('nobody there')\n{RIGHT}"],
        [no_answer("OSError: nobody there")],
    ),
    "leaves.ipynb": (["import sys; sys.exit()", RIGHT], [IS_RIGHT]),
    "moves.ipynb": (["%cd -q ..", f"%%time\n{RIGHT}", "raise ValueError"], [IS_RIGHT]),
    "prints.ipynb": (["for i in range(2000):\n    print('x' * 10_000)", RIGHT], [IS_RIGHT]),
    "children.ipynb": ([CHILDREN, RIGHT], [IS_RIGHT]),
    "exits.ipynb": (
        [RIGHT, f"{HALF_A_LINE}os._exit(3)\n{SCALING}", WRONG],
        [IS_RIGHT, ("scaling", "crashed", "the kernel ended with exit code 3")],
    ),
    "falls over.ipynb": (
        ["import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", RIGHT],
        [("", "crashed", "the kernel ended with SIGSEGV")],
    ),
    "none.ipynb": (
        ["def recheck(*_): 1 / 0\nrecheck('softmax', 1)", "# check('softmax', 1)\n1 / 0"],
        [("", "no exercise", "")],
    ),
}
UNREADABLE = {
    "bad.ipynb": ('{"cells": [', "it is not JSON: Expecting value: line 1 column 12 (char 11)"),
    "empty.ipynb": ("", "the file is empty"),
    "list.ipynb": ("[]", "it is not a notebook, or one of a format older than 4"),
    "missing.ipynb": (None, "there is no such file"),
    "without": (None, "there is no notebook in this folder"),
}


def write(path, *cells, start=START):
    """Write a notebook, after whose title comes the cell that imports check."""
    path.parent.mkdir(parents=True, exist_ok=True)
    title = {
        "cell_type": "markdown",
        "id": "title",
        "metadata": {},
        "source": ["check('softmax', 1)"],
    }
    code = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "metadata": {},
            "source": cell.splitlines(keepends=True),
        }
        | {"execution_count": None, "outputs": []}
        for number, cell in enumerate([start, *cells])
    ]
    notebook = {"cells": [title, *code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook), encoding="utf-8")


def files_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def processes_in(folder):
    """Return the processes that run in a folder or below it: kernels do, and what they start."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(process / "cwd")).is_relative_to(folder):
                found.append(int(process.name))
        except OSError:  # it has just ended
            pass
    return found


def until(condition):
    """Wait until a condition holds, 30 seconds at most; say whether it does."""
    for _ in range(300):
        if condition():
            return True
        time.sleep(0.1)
    return False


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make the report on the class, once. Nothing of this machine's own settings may matter."""
    base = tmp_path_factory.mktemp("report")
    folder = base / "class"
    for name, (cells, _) in CLASS.items():
        write(folder / name, *cells)
    for name, (text, _) in UNREADABLE.items():
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
    (folder / "without").mkdir()
    # As some editors on Windows save it.
    (folder / "value.ipynb").write_bytes(b"\xef\xbb\xbf" + (folder / "value.ipynb").read_bytes())
    (folder / "ann" / "helper.py").write_text("from attention_lib.exercises import check\n")
    write(folder / "ann" / ".ipynb_checkpoints" / "week 3-checkpoint.ipynb", WRONG)
    startup = base / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "mine.py").write_text("import os; os._exit(1)")
    (base / "scratch").mkdir()
    before = files_in(folder)
    named = [".", "ann", "ann/week 3.ipynb", "without", "missing.ipynb", "../class/missing.ipynb"]
    options = ["--csv", "table.csv", "--seconds", "10", "--jobs", "4"]
    made = subprocess.run(
        [*COMMAND, "report", *(folder / name for name in named), *options],
        cwd=base,
        env=os.environ
        | {"IPYTHONDIR": str(base / "ipython"), "TMPDIR": str(base / "scratch")}
        | {"PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    made.folder, made.before, made.scratch = folder, before, base / "scratch"
    made.text = (base / "table.csv").read_text(encoding="utf-8")
    made.rows = [Row(*fields) for fields in csv.reader(made.text.splitlines())][1:]
    return made


@pytest.mark.parametrize("file", CLASS)
def test_each_notebook_gets_its_rows(made, file):
    rows = [tuple(row[1:]) for row in made.rows if row.file.lstrip("'") == file]
    # Where no mistake has a name, what check said stands in its place.
    starts = (
        "In line 1 of the function: UFunc",
        "An array of float64 came",
        "Entry [0, 0] is 0",
        "There is no",
    )
    rows = [(*row[:2], "..." if row[2].startswith(starts) else row[2]) for row in rows]
    assert rows == CLASS[file][1]


@pytest.mark.parametrize("file", UNREADABLE)
def test_what_cannot_be_read_costs_one_row(made, file):
    rows = [row for row in made.rows if row.file == file]
    assert rows == [Row(file, "", "unreadable", UNREADABLE[file][1])]


def test_files_come_once_and_sorted_with_their_folders(made):
    files = list(dict.fromkeys(row.file.lstrip("'") for row in made.rows))
    assert files == sorted([*CLASS, *UNREADABLE])


def test_every_outcome_is_explained_and_happens_in_this_class(made):
    assert set(feedback.OUTCOMES) < set(OUTCOMES)
    assert {row.outcome for row in made.rows} == set(OUTCOMES)


def test_report_was_made_and_nothing_else_is_on_the_screen(made):
    plain = [row._replace(file=row.file.lstrip("'")) for row in made.rows]
    assert made.returncode == 0
    assert made.stdout == f"{as_table(plain)}\n\n{summary(plain)}\n"
    lines = made.stderr.splitlines()
    total = len(CLASS) + len(UNREADABLE)
    assert [line.split("  ")[0] for line in lines] == [
        f"{n} of {total}" for n in range(1, total + 1)
    ]
    assert sorted(line.split("  ")[1] for line in lines) == sorted([*CLASS, *UNREADABLE])


def test_notebooks_stay_as_they_are_and_nothing_is_left_beside_them_or_behind(made):
    assert files_in(made.folder) == made.before
    assert list(made.scratch.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_kernel_is_left_nor_what_it_started(made):
    assert until(lambda: not processes_in(made.folder))


def test_csv_comes_back_as_it_was_and_is_no_formula(made):
    rows = [
        Row("a, b.ipynb", "softmax", "no answer", 'NameError: "x"'),
        Row("é", "", "crashed", ""),
    ]
    assert list(csv.reader(as_csv(rows).splitlines())) == [list(Row._fields), *map(list, rows)]
    dangerous = as_csv([Row("=A1", "+A1", "-A1", "@A1")])
    assert dangerous == "file,exercise,outcome,mistake\n'=A1,'+A1,'-A1,'@A1\n"
    assert "\n'=1+1.ipynb,softmax,right,\n" in made.text


def test_table_is_aligned_also_for_letters_of_other_widths():
    rows = [
        Row("学生.ipynb", "softmax", "right", ""),
        Row("Zoe\u0308.ipynb", "scaling", "mistake", "word " * 50),
    ]
    assert as_table(rows).splitlines() == [
        "file        exercise  outcome  mistake",
        "学生.ipynb  softmax   right",
        f"Zoe\u0308.ipynb   scaling   mistake  {'word ' * 17}...",
    ]


def test_summary_says_what_to_talk_about(made):
    rows = [
        Row("", "softmax", outcome, "") for outcome in ("not attempted", "right", "form", "form")
    ]
    rows += [
        Row("", "softmax", "mistake", name) for name in ("argmax", "twice", "argmax", "twice", "x")
    ]
    rows += [Row("", "attention", "no answer", "NameError"), Row("", "sofmax", "no answer", "")]
    rows += [Row("", "", outcome, "") for outcome in ("crashed", "unreadable", "unreadable")]
    assert summary(rows).splitlines() == [
        "softmax: 1 of 9 right, 1 not attempted",
        "    2  argmax",
        "    2  twice",
        "    2  (form)",
        "    1  x",
        "attention: 0 of 1 right, 0 not attempted",
        "    1  (no answer)",
        "sofmax: 0 of 1 right, 0 not attempted",
        "    1  (no answer)",
        "Besides: 2 unreadable, 1 crashed",
    ]
    assert made.stdout.endswith("Besides: 5 unreadable, 1 crashed, 1 no exercise\n")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and sends signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_stopped_it_kills_the_kernels_and_prints_the_rows_so_far(tmp_path, how):
    write(tmp_path / "class" / "endless.ipynb", CHILDREN, RIGHT, ENDLESS)
    write(tmp_path / "class" / "quick.ipynb", WRONG)
    reporting = subprocess.Popen(
        [*COMMAND, "report", "class", "--jobs", "2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert reporting.stderr.readline() == "1 of 2  quick.ipynb\n"
    # The kernel, and the two that it starts.
    assert until(lambda: len(processes_in(tmp_path / "class")) == 3)
    reporting.send_signal(how)
    stdout, stderr = reporting.communicate(timeout=60)
    assert stderr == "Stopped: 1 of 2 notebooks are done.\n"
    assert stdout.splitlines()[1:2] == [
        "quick.ipynb  softmax   mistake  softmax over the whole matrix"
    ]
    assert "endless" not in stdout
    assert reporting.returncode == 130
    assert until(lambda: not processes_in(tmp_path / "class"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "required: COMMAND"),
        (["report"], "required: NOTEBOOK_OR_FOLDER"),
        (["report", "a.ipynb", "--seconds", "0"], "a number above 0. Got '0'"),
        (["report", "a.ipynb", "--seconds", "nan"], "a number above 0. Got 'nan'"),
        (["report", "a.ipynb", "--jobs", "1.5"], "a whole number above 0. Got '1.5'"),
        (["report", "--csv", "a.ipynb", "b.ipynb"], "must not be a notebook"),
        (["report", "a.ipynb", "--csv", "no/such/table.csv"], "a folder that exists"),
    ],
)
def test_wrong_usage_is_said_in_words(capsys, options, says):
    with pytest.raises(SystemExit) as exit_:
        main(options)
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""


def test_csv_alone_is_printed_and_a_single_notebook_tells_no_progress(tmp_path):
    printed = subprocess.run(
        [*COMMAND, "report", tmp_path / "ä.ipynb", "--csv", "-"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    expected = "file,exercise,outcome,mistake\nä.ipynb,,unreadable,there is no such file\n"
    assert printed.stdout.decode("utf-8").splitlines() == expected.splitlines()
    assert (printed.returncode, printed.stderr) == (0, b"")
    wrong = subprocess.run([*COMMAND, "report"], capture_output=True)
    assert wrong.returncode == 2


def test_help_says_that_it_executes_the_code_of_students(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["report", "--help"])
    assert exit_.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "executes the students' code on this machine, with your rights" in text


def test_list_counts_the_mistakes_of_each_exercise(capsys):
    assert main(["list"]) == 0
    assert re.search(r"^softmax +\d+ known mistakes$", capsys.readouterr().out, flags=re.MULTILINE)


def test_names_are_relative_to_what_the_arguments_share(tmp_path):
    for name in ("ann/a.ipynb", "ben/b/a.ipynb", "ben/._a.ipynb", ".venv/a.ipynb"):
        write(tmp_path / name)
    (tmp_path / "link").symlink_to(tmp_path / "ann")

    def names(*paths):
        return [notebook.name for notebook in find_notebooks([tmp_path / path for path in paths])]

    assert names(".") == ["ann/a.ipynb", "ben/b/a.ipynb"]
    assert names("ann") == ["a.ipynb"]
    assert names("ben", "ann/a.ipynb") == ["ann/a.ipynb", "ben/b/a.ipynb"]
    assert names("ann", "link/a.ipynb") == ["ann/a.ipynb"]
    assert names(".venv/a.ipynb", "ann/../ann") == [".venv/a.ipynb", "ann/a.ipynb"]


def test_names_are_one_line_and_cannot_steer_a_terminal():
    (notebook,) = find_notebooks(["a\n\x1b[1mb.ipynb"])
    assert notebook.name == "a ?[1mb.ipynb"


def test_time_is_that_of_the_notebook_not_of_a_cell(tmp_path):
    write(tmp_path / "a.ipynb", "2", start="1")  # too quick to be waited for
    ((_, rows),) = run(find_notebooks([tmp_path]), seconds=1e-6)
    assert rows == [Row("a.ipynb", "", "out of time", "it ran for 1e-06 s")]


def test_machine_that_starts_no_kernel_costs_one_row(monkeypatch, tmp_path):
    def refuse(*_arguments, **_options):
        raise OSError("too many processes")

    write(tmp_path / "a.ipynb", RIGHT)
    monkeypatch.setattr("subprocess.Popen", refuse)
    ((_, rows),) = run(find_notebooks([tmp_path]))
    assert rows == [Row("a.ipynb", "", "crashed", "OSError: too many processes")]


def test_without_jupyter_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install ipykernel"):
        main(["report", str(tmp_path)])


@pytest.mark.skipif(sys.platform != "linux", reason="writes to a full disk")
def test_csv_that_cannot_be_written_does_not_cost_the_table(capsys, tmp_path):
    with pytest.raises(SystemExit, match="The CSV file was not written"):
        main(["report", str(tmp_path / "a.ipynb"), "--csv", "/dev/full"])
    assert "there is no such file" in capsys.readouterr().out
