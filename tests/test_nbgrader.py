"""A course of ten students, graded by nbgrader itself and by the report: the same scores.

nbgrader is large, and not among what the tests need; where it is not installed, they pass over this.
"""

import csv
import os
import subprocess
import sys

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbgrader")

RIGHT = (
    "def my_softmax(S_scaled):\n"
    "    E = np.exp(S_scaled - S_scaled.max(axis=-1, keepdims=True))\n"
    "    return E / E.sum(axis=-1, keepdims=True)\n"
    "softmax_feedback = check('softmax', my_softmax)"
)
# What each student hands in for the two exercises, and the score.
STUDENTS = {
    "ann": (RIGHT, "scaling_feedback = check('scaling', lambda S, d_k: S / d_k**0.5)", 2),
    "ben": (RIGHT, "scaling_feedback = check('scaling', lambda S, d_k: S / d_k)", 1),
    "cat": (
        RIGHT.replace(".sum(axis=-1, keepdims=True)", ".sum()"),
        "scaling_feedback = check('scaling', ...)",
        0,
    ),
    "dan": (
        "softmax_feedback = check('softmax', ...)",
        "scaling_feedback = check('scaling', ...)",
        0,
    ),
    "eve": ("1 / 0", "scaling_feedback = check('scaling', lambda S, d_k: S * d_k**-0.5)", 1),
    "fay": (RIGHT, "scaling_feedback = check('scaling', 3)", 1),
    "gus": (
        "softmax_feedback = check('sofmax', 1)",
        "scaling_feedback = check('scaling', lambda S: S)",
        0,
    ),
    "hal": (RIGHT, "def f(S, d_k): return", 1),
    "ida": (RIGHT.replace("S_scaled.max", "-S_scaled.max"), "scaling_feedback = None", 0),
    "jon": (RIGHT, "scaling_feedback = check('scaling', lambda S, d_k: S / np.sqrt(d_k))", 2),
}


def cell(source, name, *, graded):
    made = nbformat.v4.new_code_cell(source)
    made.metadata["nbgrader"] = {
        "schema_version": 3,
        "grade_id": name,
        "grade": graded,
        "solution": not graded,
        "locked": graded,
        "task": False,
    } | ({"points": 1} if graded else {})
    return made


def notebook(softmax, scaling):
    start = "import numpy as np\nfrom attention_lib.exercises import check\nsoftmax_feedback = scaling_feedback = None"
    cells = [nbformat.v4.new_code_cell(start)]
    for name, source in (("softmax", softmax), ("scaling", scaling)):
        cells.append(cell(source, name, graded=False))
        test = f"assert {name}_feedback is not None and {name}_feedback.outcome == 'right'"
        cells.append(cell(test, f"test_{name}", graded=True))
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    return made


def run(*command, cwd):
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=os.environ
        | {"HOME": str(cwd), "JUPYTER_CONFIG_DIR": str(cwd), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        # nbgrader starts alembic by its name.
        | {"PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def scores(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    return list(lines[0]), {
        line["student_id"]: (line["assignment"], float(line["score"]), float(line["max_score"]))
        for line in lines
    }


def test_ten_students_get_from_the_report_what_nbgrader_gives_them(tmp_path):
    course = tmp_path / "course"
    (course / "source" / "week3").mkdir(parents=True)
    blank = notebook(
        "softmax_feedback = check('softmax', ...)", "scaling_feedback = check('scaling', ...)"
    )
    nbformat.write(blank, course / "source" / "week3" / "a.ipynb")
    run("nbgrader", "generate_assignment", "week3", cwd=course)
    for student, (softmax, scaling, _) in STUDENTS.items():
        folder = course / "submitted" / student / "week3"
        folder.mkdir(parents=True)
        nbformat.write(notebook(softmax, scaling), folder / "a.ipynb")
    run("nbgrader", "autograde", "week3", cwd=course)
    run("nbgrader", "export", "--to", "theirs.csv", cwd=course)
    report = (
        "attention_lib.exercises",
        "report",
        "submitted",
        "--form",
        "nbgrader",
        "--grades",
        "ours.csv",
    )
    run(*report, "--handed-out", "source/week3/a.ipynb", cwd=course)
    theirs, ours = scores(course / "theirs.csv"), scores(course / "ours.csv")
    assert ours == theirs
    assert ours[1] == {name: ("week3", score, 2) for name, (*_, score) in STUDENTS.items()}
