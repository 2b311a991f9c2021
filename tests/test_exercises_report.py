"""The report of a class: its files, rows, tables and gradebooks. Whole classes run in test_exercises_class.py."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from class_of_notebooks import RIGHT, SCALING, WRONG, processes_with, until, write

from attention_lib.exercises import feedback
from attention_lib.exercises.__main__ import main
from attention_lib.exercises.calling import Run
from attention_lib.exercises.report import cells, grades, keeping, pool, sandbox, wire
from attention_lib.exercises.report.finding import Submission, find
from attention_lib.exercises.report.page import as_page
from attention_lib.exercises.report.rows import OUTCOMES, Account, Row, handed_out
from attention_lib.exercises.report.writing import as_csv, as_table, summary, write_csv

COMMAND = [sys.executable, "-W", "error", "-m", "attention_lib.exercises"]
OFF = ["--sandbox", "off"]
UNREADABLE = {
    "bad.ipynb": ('{"cells": [', "it is not JSON: Expecting value: line 1 column 12 (char 11)"),
    "empty.ipynb": ("", "the file is empty"),
    "list.ipynb": ("[]", "it is not a notebook, or one of a format older than 4"),
}


def test_every_outcome_of_check_is_one_of_the_report():
    assert set(feedback.OUTCOMES) < set(OUTCOMES)


# Finding


def names(*paths):
    return [one.name for one in find(paths)[0]]


def test_names_are_relative_to_what_the_arguments_share(tmp_path):
    for name in ("ann/a.ipynb", "ben/b/a.IPYNB", "ben/._a.ipynb", ".venv/a.ipynb"):
        write(tmp_path / name)
    (tmp_path / "link").symlink_to(tmp_path / "ann")
    assert names(tmp_path) == ["ann/a.ipynb", "ben/b/a.IPYNB"]
    assert names(tmp_path / "ann") == ["a.ipynb"]
    assert names(tmp_path / "ann", tmp_path / "link/a.ipynb") == ["ann/a.ipynb"]
    assert names(tmp_path / ".venv/a.ipynb", tmp_path / "ann/../ann") == [
        ".venv/a.ipynb",
        "ann/a.ipynb",
    ]


def test_names_are_one_line_and_cannot_steer_a_terminal():
    assert names("a\n\x1b[1mb.ipynb") == ["a ?[1mb.ipynb"]


@pytest.mark.parametrize(
    ("file", "student", "number", "assignment"),
    [
        ("submitted/ann/week3/a.ipynb", "ann", "", "week3"),
        ("Ann Lee_1234567_assignsubmission_file_/a.ipynb", "Ann Lee", "1234567", ""),
        ("Ann Lee_1234567_assignsubmission_file_a.ipynb", "Ann Lee", "1234567", ""),
        ("leeann_12345_678910_a.ipynb", "leeann", "12345", ""),
        ("leeann_LATE_12345_678910_a.ipynb", "leeann", "12345", ""),
        ("Week 3_ann.lee_attempt_2026-01-31-10-00-00_a.ipynb", "ann.lee", "", ""),
        ("ann/a.ipynb", "ann", "", ""),
        ("ann/deep/a.ipynb", "ann", "", ""),
        ("ann.ipynb", "ann", "", ""),
        ("03_softmax_practice.ipynb", "03_softmax_practice", "", ""),
    ],
)
def test_the_student_is_read_from_the_usual_layouts(tmp_path, file, student, number, assignment):
    write(tmp_path / file)
    write(tmp_path / "other" / "b.ipynb")
    found = next(one for one in find([tmp_path])[0] if one.name == file)
    assert (found.student, found.number, found.assignment) == (student, number, assignment)


def test_in_a_folder_of_many_a_notebook_takes_only_what_is_its_students(tmp_path):
    for name in ("leeann_11_22_a.ipynb", "ray_33_44_a.ipynb"):
        write(tmp_path / "flat" / name)
    for name in ("leeann_11_23_data.csv", "ray_33_45_data.csv", "notes.txt"):
        (tmp_path / "flat" / name).write_text("1")
    write(tmp_path / "ann" / "a.ipynb")
    (tmp_path / "ann" / "data.csv").write_text("1")
    (tmp_path / "ann" / "link.csv").symlink_to(tmp_path / "flat" / "notes.txt")
    found, not_run = find([tmp_path])
    companions = {one.student: [Path(file).name for file in one.companions] for one in found}
    assert companions == {
        "ann": ["data.csv"],
        "leeann": ["leeann_11_23_data.csv"],
        "ray": ["ray_33_45_data.csv"],
    }
    assert [one.name for one in not_run] == ["ann/link.csv", "flat/notes.txt"]


def test_an_empty_folder_and_a_missing_file_have_a_row(tmp_path):
    (tmp_path / "without").mkdir()
    found, not_run = find([tmp_path / "without", tmp_path / "missing.ipynb"])
    assert [one.name for one in found] == ["missing.ipynb"]
    assert not_run == [("without", "there is no file in this folder")]
    with pytest.raises(ValueError, match="there is no such file"):
        cells.code_of(found[0].path)


@pytest.mark.parametrize("file", UNREADABLE)
def test_what_cannot_be_read_is_said(tmp_path, file):
    text, reason = UNREADABLE[file]
    (tmp_path / file).write_text(text)
    with pytest.raises(ValueError, match=re.escape(reason)):
        cells.code_of(tmp_path / file)


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("check('softmax', f)\ncheck( name = \"scaling\", answer=g)", ["softmax", "scaling"]),
        ("check(\u201csoftmax\u201d, f)", ["softmax"]),
        ("check(\u00absoftmax\u00bb, f", ["softmax"]),
        ("# check('softmax', f)\nrecheck('softmax', f)", []),
    ],
)
def test_what_a_cell_asks_is_read_also_where_it_is_no_code(code, asked):
    assert cells.asked_in(code) == asked


def test_files_that_hide_a_library_are_seen(tmp_path):
    for name in ("re.py", "helper.py", "data.csv", "numpy.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("")
    assert cells.hidden_libraries(tmp_path) == ["numpy", "re.py"]


# Rows


def test_everything_that_was_asked_has_a_row():
    account = Account([["scores"], ["scaling", "softmax"], ["entropy"], []])
    account.reached |= {0, 1, 3}
    account.hear("scores", feedback.Feedback("scores", "mistake", "A sentence?", "no scaling"))
    account.fail(1, "NameError: x")
    account.end(3, "crashed", "exit code 3")
    assert account.rows("a.ipynb", ["scores", "attention"]) == [
        Row("a.ipynb", "scores", "mistake", "no scaling", "A sentence?"),
        Row("a.ipynb", "scaling", "no answer", "NameError: x"),
        Row("a.ipynb", "softmax", "no answer", "NameError: x"),
        Row("a.ipynb", "entropy", "not reached", "the cells before it left no time"),
        Row("a.ipynb", "attention", "missing", ""),
        Row("a.ipynb", "", "crashed", "exit code 3"),
    ]


def test_what_was_handed_out_is_what_most_of_those_alike_ask():
    others = [["scores", "scaling"]] * 3 + [["scores", "mine"], ["softmax"]]
    assert handed_out(["scores", "mine"], others) == ["scores", "scaling"]
    assert handed_out(["softmax"], others) == ["softmax"]
    assert handed_out([], others) == []


# Between the two processes


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        np.eye(2),
        np.array(True),
        np.float32([1, np.nan]),
        np.empty((0, 2)),
        np.array("at"),
        np.int8([1]),
    ],
    ids=repr,
)
def test_what_is_packed_comes_back(value):
    back = wire.unpack(json.loads(json.dumps(wire.pack(value))))
    assert type(back) is type(value)
    assert np.asarray(back).dtype == np.asarray(value).dtype
    assert np.array_equal(back, value, equal_nan=np.asarray(value).dtype.kind == "f")


def test_what_came_of_a_call_comes_back():
    run = Run(array=np.eye(2), kind="a list", form="list", printed=True, changed="S")
    back = wire.unpack_run(json.loads(json.dumps(wire.pack_run(run))))
    assert back._replace(array=None) == run._replace(array=None)
    assert np.array_equal(back.array, run.array)


GOOD = wire.pack(np.eye(2))


@pytest.mark.parametrize(
    "bad",
    [
        3.5,
        [],
        "text",
        {},
        GOOD | {"dtype": "O"},
        GOOD | {"dtype": "<c16"},
        GOOD | {"dtype": ["<f8"]},
        GOOD | {"shape": [2, -2]},
        GOOD | {"shape": [2, 3]},
        GOOD | {"shape": [10**9, 10**9]},
        GOOD | {"data": "!!"},
        {"word": "x" * 10**4},
        {"word": 3},
    ],
    ids=str,
)
def test_what_was_never_packed_is_refused(bad):
    with pytest.raises((ValueError, KeyError, TypeError)):
        wire.unpack(bad)


@pytest.mark.parametrize("field", Run._fields)
def test_no_field_of_a_run_may_be_of_another_type(field):
    with pytest.raises((ValueError, KeyError, TypeError)):
        wire.unpack_run(wire.pack_run(Run()) | {field: {"a": 1}})


# Tables


def test_csv_comes_back_as_it_was_and_is_no_formula(tmp_path):
    rows = [
        Row("a, b.ipynb", "softmax", "no answer", 'NameError: "x"', "Said?"),
        Row("\u00e9", "", "crashed", ""),
    ]
    assert list(csv.reader(as_csv(rows).splitlines())) == [list(Row._fields), *map(list, rows)]
    dangerous = as_csv([Row("=A1", "+A1", "-A1", "@A1")])
    assert dangerous == "file,exercise,outcome,mistake,said\n'=A1,'+A1,'-A1,'@A1,\n"
    write_csv(tmp_path / "a.csv", as_csv(rows))
    assert (tmp_path / "a.csv").read_bytes().startswith(b"\xef\xbb\xbffile,exercise")


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


def test_summary_says_what_to_talk_about():
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


CLASS = [
    Submission(None, "ann.ipynb", "Ann Lee", "17", "week3"),
    Submission(None, "ben.ipynb", "Ben", "", "week3"),
    Submission(None, "ben again.ipynb", "Ben", "", "week3"),
]
ROWS = [
    Row("ann.ipynb", "scaling", "right", ""),
    Row("ann.ipynb", "softmax", "mistake", "argmax", "Every row of yours is <one-hot>?"),
    Row("ben.ipynb", "softmax", "missing", ""),
    Row("ben again.ipynb", "softmax", "right", ""),
    Row("notes.txt", "", "not run", "it is not a notebook"),
    Row("ben.ipynb", "sofmax", "call", "There is no exercise 'sofmax'."),
]


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("table", ["student,scaling,softmax,total,of", "Ann Lee,1,0,1,2", "Ben,0,1,1,2"]),
        (
            "moodle",
            [
                "Identifier,Full name,scaling,softmax,Grade,Maximum Grade,Last modified (grade)",
                "Participant 17,Ann Lee,1,0,1,2,",
                "Ben,Ben,0,1,1,2,",
            ],
        ),
        (
            "canvas",
            [
                "Student,ID,SIS Login ID,Section,scaling,softmax",
                "    Points Possible,,,,1,1",
                "Ann Lee,17,,,1,0",
                "Ben,,,,0,1",
            ],
        ),
        (
            "nbgrader",
            [
                "assignment,duedate,timestamp,student_id,last_name,first_name,email,"
                "raw_score,late_submission_penalty,score,max_score",
                "week3,,,Ann Lee,,,,1.0,0.0,1.0,2.0",
                "week3,,,Ben,,,,1.0,0.0,1.0,2.0",
            ],
        ),
    ],
)
def test_grades_have_a_row_per_student_as_a_gradebook_reads_them(form, lines):
    assert [",".join(map(str, line)) for line in grades.as_lines(ROWS, CLASS, form)] == lines


class Reader(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def test_the_page_needs_nothing_from_anywhere_and_tells_nothing_by_colour_alone():
    page = as_page(ROWS, CLASS, "Run <in> a sandbox.")
    reader = Reader(page)
    assert {tag for tag, _ in reader.tags}.isdisjoint({"a", "script", "img", "link", "iframe"})
    assert not re.search(r"https?:|url\(|@import", page)
    assert "Every row of yours is <one-hot>?" in reader.text
    assert "<one-hot>" not in page
    signs = [attributes for tag, attributes in reader.tags if tag == "td" and "class" in attributes]
    assert [sign["aria-label"] for sign in signs] == [
        "right",
        "mistake: argmax",
        "missing",
        "call: There is no exercise 'sofmax'.",
        "right",
    ]
    assert "notes.txt: not run. it is not a notebook" in reader.text
    assert "1 \u00d7 argmax" in reader.text


# Runs that are kept


def test_a_kept_row_is_good_until_the_notebook_or_the_package_changes(tmp_path, monkeypatch):
    write(tmp_path / "a.ipynb", RIGHT)
    (one,), _ = find([tmp_path / "a.ipynb"])
    rows = [Row("a.ipynb", "softmax", "right", "")]
    keeping.Kept(tmp_path / "kept.json").keep(one, rows)
    assert keeping.Kept(tmp_path / "kept.json").of(one) == rows
    assert keeping.Kept(tmp_path / "kept.json", (60,)).of(one) is None
    assert keeping.Kept(tmp_path / "kept.json").of(one, ["scaling"]) is None
    assert keeping.Kept(None).of(one) is None
    monkeypatch.setattr(keeping, "PACKAGE", tmp_path)
    assert keeping.Kept(tmp_path / "kept.json").of(one) is None
    monkeypatch.undo()
    write(tmp_path / "a.ipynb", WRONG)
    assert keeping.Kept(tmp_path / "kept.json").of(one) is None
    (tmp_path / "kept.json").write_text("half a")
    assert keeping.Kept(tmp_path / "kept.json").of(one) is None


# The command


def report(*arguments, **options):
    return subprocess.run(
        [*COMMAND, "report", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        **options,
    )


@pytest.mark.long
def test_a_report_says_how_it_was_made_and_writes_what_was_asked_for_and_resumes(tmp_path):
    folder = tmp_path / "class"
    write(folder / "ann" / "a.ipynb", RIGHT, SCALING)
    write(folder / "b\u00e9n" / "a.ipynb", WRONG, SCALING)
    files = {name: tmp_path / f"made.{name}" for name in ("csv", "grades", "html", "resume")}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    made = report(folder, *OFF, "--seed", "7", *options)
    assert made.returncode == 0
    note = (
        "Run without a sandbox, with your rights: it was switched off. Inputs drawn with --seed 7."
    )
    assert made.stdout.startswith(f"{note}\n\nfile ")
    assert re.fullmatch(
        r"1 of 2  \S+/a\.ipynb  \(about \d+ s left\)\n2 of 2  \S+/a\.ipynb\n", made.stderr
    )
    rows = [
        Row(*fields) for fields in csv.reader(io.StringIO(files["csv"].read_text("utf-8-sig")))
    ][1:]
    assert [row[:4] for row in rows] == [
        ("ann/a.ipynb", "softmax", "right", ""),
        ("ann/a.ipynb", "scaling", "mistake", "divided by d_k"),
        ("b\u00e9n/a.ipynb", "softmax", "mistake", "softmax over the whole matrix"),
        ("b\u00e9n/a.ipynb", "scaling", "mistake", "divided by d_k"),
    ]
    assert "All your numbers together" in rows[2].said
    assert files["grades"].read_text("utf-8-sig").splitlines()[1:] == [
        "ann,0,1,1,2",
        "b\u00e9n,0,0,0,2",
    ]
    assert note in files["html"].read_text("utf-8")
    start = time.monotonic()
    again = report(folder, *OFF, "--resume", files["resume"])
    assert again.stdout.splitlines()[2:] == made.stdout.splitlines()[2:]
    assert time.monotonic() - start < 60
    write(folder / "ann" / "a.ipynb", WRONG)
    assert (
        "ann/a.ipynb  softmax   mistake" in report(folder, *OFF, "--resume", files["resume"]).stdout
    )


def test_without_a_sandbox_that_is_required_nothing_runs(tmp_path, monkeypatch):
    write(tmp_path / "a.ipynb", "open('ran', 'w')")
    monkeypatch.setattr(sandbox, "missing", lambda: "bubblewrap (bwrap) is not installed")
    with pytest.raises(
        SystemExit, match=r"There is no sandbox: bubblewrap .bwrap. is not installed. Nothing"
    ):
        main(["report", str(tmp_path), "--sandbox", "required"])
    assert not (tmp_path / "ran").exists()


def test_what_was_handed_out_can_be_said(tmp_path):
    write(tmp_path / "given.ipynb", "check('softmax', ...)", "check('entropy', ...)")
    write(tmp_path / "class" / "a.ipynb", RIGHT)
    made = report(tmp_path / "class", *OFF, "--handed-out", tmp_path / "given.ipynb")
    assert "a.ipynb  entropy   missing" in made.stdout


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and sends signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_stopped_it_kills_the_processes_and_prints_the_rows_so_far(tmp_path, how):
    write(tmp_path / "class" / "endless.ipynb", "import time; time.sleep(600)  # STOPPED")
    write(tmp_path / "class" / "quick.ipynb", WRONG)
    reporting = subprocess.Popen(
        [*COMMAND, "report", "class", "--jobs", "2", *OFF],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert reporting.stderr.readline().startswith("1 of 2  quick.ipynb")
    assert until(lambda: processes_with(f"{tmp_path}/attention_lib_"))
    reporting.send_signal(how)
    stdout, stderr = reporting.communicate(timeout=60)
    assert stderr == "Stopped: 1 of 2 notebooks are done.\n"
    assert "quick.ipynb  softmax   mistake  softmax over the whole matrix" in stdout
    assert "endless" not in stdout
    assert reporting.returncode == 130
    assert until(lambda: not processes_with(f"{tmp_path}/attention_lib_"))


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


@pytest.mark.long
def test_csv_alone_is_printed_and_a_single_notebook_tells_no_progress(tmp_path):
    printed = subprocess.run(
        [*COMMAND, "report", tmp_path / "\u00e4.ipynb", "--csv", "-", *OFF],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    expected = (
        "file,exercise,outcome,mistake,said\n\u00e4.ipynb,,unreadable,there is no such file,\n"
    )
    assert printed.stdout.decode("utf-8").splitlines() == expected.splitlines()
    assert (printed.returncode, printed.stderr) == (0, b"")


def test_help_says_that_it_executes_the_code_of_students_and_whose_answers_are_right(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["report", "--help"])
    assert exit_.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "with your rights, and then nothing keeps a notebook from reading or deleting" in text
    assert "An answer that calls the library's own function is right." in text


def test_list_counts_the_mistakes_of_each_exercise(capsys):
    assert main(["list"]) == 0
    assert re.search(r"^softmax +\d+ known mistakes$", capsys.readouterr().out, flags=re.MULTILINE)


def test_machine_that_starts_no_process_costs_one_row(monkeypatch, tmp_path):
    def refuse(*_arguments, **_options):
        raise OSError("too many processes")

    write(tmp_path / "a.ipynb", RIGHT)
    monkeypatch.setattr("subprocess.Popen", refuse)
    ((_, rows),) = pool.run(find([tmp_path])[0], seed=1)
    assert [row[1:4] for row in rows] == [
        ("softmax", "not reached", "the cells before it left no time"),
        ("", "crashed", "OSError: too many processes"),
    ]


def test_without_ipython_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install ipykernel"):
        main(["report", str(tmp_path)])


@pytest.mark.skipif(sys.platform != "linux", reason="writes to a full disk")
def test_csv_that_cannot_be_written_does_not_cost_the_table(capsys, tmp_path):
    with pytest.raises(SystemExit, match="/dev/full was not written"):
        main(["report", str(tmp_path / "a.ipynb"), "--csv", "/dev/full", *OFF])
    assert "there is no such file" in capsys.readouterr().out
