"""Which files are submissions, whose they are, and why others are not run."""

import os
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
CHECKPOINTS = ".ipynb_checkpoints"
# How upload pages name what they hand out: the student, and perhaps the file.
LAYOUTS = (
    # Moodle, as folders or as files: Ann Lee_1234567_assignsubmission_file_week3.ipynb
    re.compile(
        r"(?P<student>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<rest>.*)"
    ),
    # Canvas: leeann_LATE_12345_678910_week3.ipynb
    re.compile(r"(?P<student>[^_]+)_(?:LATE_)?(?P<number>\d{2,})_\d{2,}_(?P<rest>.+)"),
    # Blackboard: Week 3_ann.lee_attempt_2026-01-31-10-00-00_week3.ipynb
    re.compile(r".+_(?P<student>[^_]+)_attempt_\d{4}(?:-\d\d){5}_?(?P<rest>.*)"),
)


class Submission(NamedTuple):
    """A file to run: its name in the report, and whose it is."""

    path: Path
    name: str
    student: str = ""
    number: str = ""  # under which an upload page knows the student
    assignment: str = ""
    companions: tuple = ()  # files of the same student, which go with it


class NotRun(NamedTuple):
    """A file that is no submission, and why."""

    name: str
    reason: str


def find(paths):
    """Return what is to be run, and what is not, each sorted by name, each once.

    Parameters
    ----------
    paths : list of str or Path
        Notebooks, and folders to search for them.

    Returns
    -------
    list of Submission, list of NotRun
        Named relative to the folder that all of `paths` share. What does not exist is a
        submission, whose row will say so.

    Examples
    --------
    >>> submissions, _ = find(["class/ben/a.ipynb", "class/ann/a.ipynb"])
    >>> [(one.name, one.student) for one in submissions]
    [('ann/a.ipynb', 'ann'), ('ben/a.ipynb', 'ben')]
    """
    paths = [Path(os.path.abspath(path)) for path in paths]
    folders = {path if path.is_dir() else path.parent for path in paths}
    try:
        shared = Path(os.path.commonpath(folders))
    except ValueError:  # on different drives, or nothing at all
        shared = Path()
    files, others = {}, {}
    for path in paths:
        if not path.is_dir():
            files.setdefault(os.path.realpath(path), path)
            continue
        notebooks, rest = _search(path)
        for file in notebooks:
            files.setdefault(os.path.realpath(file), file)
        others |= rest
        if not notebooks and not rest:
            others[path] = "there is no file in this folder"
    crowded = _crowded(files.values())
    submissions = [_submission(file, shared, crowded) for file in files.values()]
    taken = {companion for one in submissions for companion in one.companions}
    taken |= {os.path.realpath(file) for file in files.values()}
    not_run = [
        NotRun(_name(file, shared), reason)
        for file, reason in others.items()
        if os.path.realpath(file) not in taken or reason != NO_NOTEBOOK
    ]
    return sorted(submissions, key=lambda one: one.name), sorted(not_run)


NO_NOTEBOOK = "it is not a notebook: the name does not end in .ipynb"


def _search(folder):
    """Return the notebooks in a folder, and the other files with the reason why each is not run."""
    notebooks, others = [], {}
    for place, folders, names in os.walk(folder):
        place = Path(place)
        for name in sorted(folders):
            if name == CHECKPOINTS:
                others |= {
                    file: "a checkpoint that Jupyter made, not what was handed in"
                    for file in sorted((place / name).rglob("*"))
                    if file.is_file()
                }
            elif name.startswith(".") or name in ("__MACOSX", "__pycache__"):
                others[place / name] = "a hidden folder"
        folders[:] = sorted(
            name for name in folders if not name.startswith((".", "__MACOSX", "__pycache__"))
        )
        for name in sorted(names):
            file = place / name
            if name.startswith("."):
                others[file] = "a hidden file"
            elif file.suffix.lower() == ".ipynb":
                notebooks.append(file)
            elif file.suffix.lower() in ARCHIVES:
                others[file] = "an archive: unpack it first"
            elif _is_notebook_inside(file):
                others[file] = "it holds a notebook, but its name does not end in .ipynb"
            else:
                others[file] = NO_NOTEBOOK
    return notebooks, others


def _is_notebook_inside(file):
    try:
        with file.open("rb") as opened:
            start = opened.read(2**16)
    except OSError:
        return False
    return start.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and b'"cell_type"' in start


def _crowded(files):
    """Return the folders in which the notebooks of several students lie together."""
    owners = {}
    for file in files:
        owners.setdefault(file.parent, set()).add(_owner(file.name)[0] or file.stem)
    return {folder for folder, names in owners.items() if len(names) > 1}


def _submission(file, shared, crowded):
    name = _name(file, shared)
    student, number = _owner(file.name)
    parts = list(file.relative_to(shared).parts[:-1]) if file.is_relative_to(shared) else []
    assignment = ""
    where = [part.lower() for part in file.parts]
    if "submitted" in where[:-2]:  # nbgrader: submitted/student/assignment/file
        place = len(where) - 1 - where[::-1].index("submitted")
        student, assignment = file.parts[place + 1], "/".join(file.parts[place + 2 : -1])
    elif not student:
        owned = (_owner(part) for part in reversed(parts))
        student, number = next((owner for owner in owned if owner[0]), ("", ""))
        student = student or (parts[0] if parts else file.stem)
    companions = ()
    if file.parent.is_dir():
        companions = tuple(
            os.path.realpath(other)
            for other in sorted(file.parent.rglob("*"))
            if other.is_file()
            and not other.is_symlink()
            and other.suffix.lower() != ".ipynb"
            and (file.parent not in crowded or _same_owner(other, file))
        )
    return Submission(file, name, _printable(student), number, assignment, companions)


def _owner(name):
    """Return the student in a file's or a folder's name, and the student's number."""
    for layout in LAYOUTS:
        if match := layout.fullmatch(name):
            return match["student"], match.groupdict().get("number") or ""
    return "", ""


def _same_owner(other, file):
    owner = _owner(file.name)
    return bool(owner[0]) and other.parent == file.parent and _owner(other.name) == owner


def _name(file, shared):
    name = file.relative_to(shared) if file.is_relative_to(shared) else file
    return _printable(name.as_posix() if name != Path() else file.name)


def _printable(text):
    """Return text in one line, without what would steer a terminal."""
    text = unicodedata.normalize("NFC", " ".join(str(text).split()))
    return "".join(sign if sign.isprintable() else "?" for sign in text)
