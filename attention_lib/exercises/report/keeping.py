"""Rows kept from a run that was stopped, so that what is finished does not run again."""

import hashlib
import json
from pathlib import Path

import numpy as np

from .rows import Row
from .sandbox import PACKAGE


class Kept:
    """A file of finished rows. Each is good as long as its notebook and the package are the same.

    Parameters
    ----------
    path : Path or None
        None keeps nothing.
    conditions : tuple
        What else the rows depend on, as the time that a notebook had.
    """

    def __init__(self, path, conditions=()):
        self.path = path
        self.package = _digest(sorted(PACKAGE.rglob("*.py"))) + repr((np.__version__, conditions))
        self.rows = {}
        if path and path.exists():
            try:
                self.rows = json.loads(path.read_text(encoding="utf-8"))
            except (ValueError, OSError):  # half written, or something else: as if there were none
                self.rows = {}

    def of(self, submission, expected=()):
        """Return the rows of a notebook, or None if it has to run."""
        found = self.rows.get(self._key(submission, expected)) if self.path else None
        return [Row(*fields) for fields in found] if found else None

    def keep(self, submission, rows, expected=()):
        """Keep the rows of a notebook that is done."""
        if self.path:
            self.rows[self._key(submission, expected)] = rows
            partial = self.path.with_name(f"{self.path.name}.part")
            partial.write_text(json.dumps(self.rows), encoding="utf-8")
            partial.replace(self.path)

    def _key(self, submission, expected):
        files = [submission.path, *map(Path, submission.companions)]
        text = f"{submission.name} {_digest(files)} {self.package} {list(expected)}"
        return hashlib.sha256(text.encode()).hexdigest()


def _digest(files):
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file}\0".encode())
        digest.update(file.read_bytes() if file.is_file() else b"\0")
    return digest.hexdigest()
