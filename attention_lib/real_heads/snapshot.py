"""The files beside this module: what they hold, and how to read them.

A matrix is stored as whole numbers of twelve bits, two in three bytes, and a scale for each row.
`tools/make_snapshot.py` writes the files; SOURCE.md says where they come from.
"""

import functools
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
LARGEST = 2047  # of a stored number, either sign


def pack(matrix):
    """Return a matrix as bytes (rows, 3/2 columns) and a float32 scale per row (rows, 1)."""
    scale = (np.abs(matrix).max(axis=1, keepdims=True) / LARGEST).astype(np.float32)
    scale[scale == 0] = 1
    numbers = np.round(matrix / scale.astype(float)).astype(int) + LARGEST + 1
    first, second = numbers[:, ::2], numbers[:, 1::2]
    three = np.stack([first & 255, first >> 8 | (second & 15) << 4, second >> 4], axis=-1)
    return three.reshape(len(matrix), -1).astype(np.uint8), scale


def unpack(packed, scale):
    """Return the float64 matrix that `pack` stored."""
    low, middle, high = packed.reshape(len(packed), -1, 3).astype(int).transpose(2, 0, 1)
    numbers = np.stack([low | (middle & 15) << 8, middle >> 4 | high << 4], axis=-1)
    return (numbers.reshape(len(packed), -1) - LARGEST - 1) * scale.astype(float)


@functools.cache
def vocabulary():
    """Return all pieces of the model, as a tuple: a piece's place is its number in the model."""
    return tuple((FOLDER / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1])


@functools.cache
def pieces():
    """Return the pieces that the snapshot holds, each with its row in the table of embeddings."""
    with np.load(FOLDER / "model.npz") as stored:
        return {vocabulary()[number]: row for row, number in enumerate(stored["pieces"])}


@functools.cache
def parameters():
    """Return the stored part of the model in float64, by the names that the model's file has."""
    with np.load(FOLDER / "model.npz") as stored:
        names = [name for name in stored.files if name != "pieces" and not name.endswith(".scale")]
        return {
            name: unpack(stored[name], stored[f"{name}.scale"])
            if f"{name}.scale" in stored.files
            else stored[name].astype(float)
            for name in names
        }


@functools.cache
def atlas():
    """Return what is stored of all heads, by name."""
    with np.load(FOLDER / "atlas.npz") as stored:
        return dict(stored)
