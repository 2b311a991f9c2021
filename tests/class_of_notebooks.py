"""Notebooks for the tests of the report: how to write one, and what is in most of them."""

import json
import os
import sys
import time
from pathlib import Path

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


def no_answer(error):
    return ("softmax", "no answer", error)


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
    return {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() or path.is_symlink()
    }


def processes_with(word):
    """Return the processes with a word in their command line or environment, on Linux."""
    if sys.platform != "linux":
        return []
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            text = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:  # it has just ended, or is somebody else's
            continue
        if word.encode() in text and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def until(condition):
    """Wait until a condition holds, 30 seconds at most; say whether it does."""
    for _ in range(300):
        if condition():
            return True
        time.sleep(0.1)
    return False
