"""Each command in the README and in CONTRIBUTING does what the page says.

`make check-lab` runs the first of them as a reader does, browser and all; `.ci/run` calls it. Here
stands, for each of the others, how it is run or what vouches for it. A command that nobody has
thought of fails.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parent.parent
BIN = "Scripts" if os.name == "nt" else "bin"
MAKE = shutil.which("make")
needs_make = pytest.mark.skipif(MAKE is None, reason="the README has the plain commands too")


def written():
    """Yield each command: the lines of console blocks, and code in the text that begins as one."""
    for name in ("README.md", "CONTRIBUTING.md"):
        for token in MarkdownIt().parse((ROOT / name).read_text(encoding="utf-8")):
            if token.type == "fence" and token.info == "console":
                for line in token.content.replace("\\\n", "").splitlines():
                    yield " ".join(shlex.split(line, comments=True))
            for child in token.children or []:
                if child.type == "code_inline" and re.match(r"(make|python3?) ", child.content):
                    yield child.content


COMMANDS = sorted(set(written()))
MADE = [command for command in COMMANDS if command.startswith("make ")]

# What `make` would run for the same purpose; `make check-lab` and this very suite run those.
SAME_AS_MAKE = {
    "python3 -m venv .venv": "lab",
    ".venv/bin/python -m pip install -c constraints.txt -r requirements.txt": "lab",
    ".venv/bin/python tools/lab.py": "lab",
    "python3 -m venv .venv-test": "test",
    ".venv-test/bin/python -m pip install -c constraints.txt -e .[test]": "test",
    ".venv-test/bin/python -m pytest -n auto": "test",
}
REPORT_WITH_FILES = (
    ".venv/bin/python -m attention_lib.exercises report FOLDER "
    "--html page.html --grades grades.csv --form moodle --resume kept.json"
)
# Run for real, below.
RUN_HERE = {
    "python tools/hygiene.py",
    "python tools/exercise_checks.py",
    "python tools/hygiene.py --claims",
    "python3 tools/practice.py",
    ".venv/bin/python -m attention_lib.exercises report FOLDER",
    REPORT_WITH_FILES,
}


def not_run(command):
    """Say of a command that it is not run: uv and docker ask a registry, and docker needs an engine.

    The steps of the Dockerfile are looked at in `test_class_files.py`.
    """
    return command.startswith(("uv pip compile ", "docker "))


def run(*command, cwd=ROOT, **variables):
    """Run a command and return what it printed; it must succeed."""
    done = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | variables,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_command_is_known_here():
    known = {*MADE, *SAME_AS_MAKE, *RUN_HERE}
    assert [command for command in COMMANDS if command not in known and not not_run(command)] == []
    assert {*SAME_AS_MAKE, *RUN_HERE} <= set(COMMANDS)


@needs_make
@pytest.mark.parametrize("command", MADE)
def test_make_knows_what_to_do(command):
    assert run(MAKE, "--dry-run", *shlex.split(command)[1:])


@needs_make
@pytest.mark.parametrize(("command", "target"), SAME_AS_MAKE.items())
def test_plain_command_is_what_make_runs(command, target):
    # -W: as if the pins were new, so that the making of the environment is shown as well.
    shown = run(MAKE, "--dry-run", "-W", "constraints.txt", target).replace("'", "")
    lines = [line.removeprefix("@") for line in shown.splitlines()]
    quiet = [
        re.sub(r" (--quiet|--disable-pip-version-check|--clear)\b", "", line) for line in lines
    ]
    assert command.replace("/bin/", f"/{BIN}/") in quiet


def small_checkout(folder):
    """Copy what the practice tool needs, under a name with a space."""
    folder = folder / "my checkout"
    for name in ("tools", "notebooks"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "Makefile", folder)
    return folder


@needs_make
def test_make_practice_writes_copies_and_makes_one_anew(tmp_path):
    folder = small_checkout(tmp_path)
    python = f"PYTHON={shlex.quote(Path(sys.executable).as_posix())}"
    assert "are ready" in run(MAKE, "practice", python, cwd=folder)
    assert (folder / "practice" / "00_overview_practice.ipynb").is_file()
    assert "as you left them" in run(MAKE, "practice", python, cwd=folder)
    told = run(MAKE, "practice", "FRESH=03_softmax", python, cwd=folder)
    assert "03_softmax_practice_kept_1.ipynb" in told


def test_practice_tool_runs_without_anything_installed(tmp_path):
    folder = small_checkout(tmp_path)
    # -I -S: neither packages nor variables of this environment.
    told = run(sys.executable, "-I", "-S", "tools/practice.py", cwd=folder)
    assert told.startswith("Your practice copies are ready")


@pytest.mark.long
def test_report_runs_a_practice_copy(tmp_path):
    folder = small_checkout(tmp_path)
    run(sys.executable, "tools/practice.py", cwd=folder)
    students = tmp_path / "FOLDER"
    students.mkdir()
    shutil.move(folder / "practice" / "03_softmax_practice.ipynb", students / "ann.ipynb")
    told = run(sys.executable, "-m", "attention_lib.exercises", "report", "FOLDER", cwd=tmp_path)
    assert re.search(r"ann\.ipynb\s+softmax\s+not attempted", told)
    assert "unreadable" not in told
    run(sys.executable, *REPORT_WITH_FILES.split()[1:], cwd=tmp_path)
    grades = (tmp_path / "grades.csv").read_text(encoding="utf-8-sig")
    assert grades.startswith("Identifier,Full name,")
    assert (tmp_path / "page.html").exists()


def test_hygiene_runs():
    run(sys.executable, "tools/hygiene.py")
    assert "05_masks.ipynb" in run(sys.executable, "tools/hygiene.py", "--claims")


def test_exercise_checks_run():
    run(sys.executable, "tools/exercise_checks.py")


def test_lab_says_so_where_jupyterlab_is_not_installed(tmp_path):
    folder = small_checkout(tmp_path)
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            "import sys; sys.path.insert(0, 'tools'); import lab; lab.main([])",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "JupyterLab is not installed" in done.stderr
    assert "Traceback" not in done.stderr
