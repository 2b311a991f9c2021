"""Draw inputs on which one mistake cannot pass for another.

The sizes of an input are different primes, so that none is the square, the double or the half
of another, and no two of its numbers are equal. The numbers come from Python's own generator,
whose sequence is the same in every version: a seed says which inputs an answer met.
"""

import random

import numpy as np

PRIMES = 2, 3, 5, 7
LARGEST = 2.5  # of the numbers that are drawn


class Draw:
    """A source of inputs; the same seed draws the same ones.

    Examples
    --------
    >>> draw = Draw(1)
    >>> n_q, n_k = draw.sizes(2)
    >>> draw.numbers(n_q, n_k).shape == (n_q, n_k), Draw(1).sizes(2) == [n_q, n_k]
    (True, True)
    """

    def __init__(self, seed):
        self._random = random.Random(seed)

    def sizes(self, count):
        """Return so many different primes, in any order."""
        return sorted(PRIMES, key=lambda _: self._random.random())[:count]

    def numbers(self, *shape):
        """Return numbers of both signs with two decimals, no two of the same size."""
        found = set()
        while len(found) < np.prod(shape, dtype=int):
            number = round(LARGEST * self._random.random(), 2)
            found.add(number * (number > 0.02) or 0.03)
        signed = [
            number if self._random.random() < 0.5 else -number
            for number in sorted(found, key=lambda _: self._random.random())
        ]
        return np.array(signed).reshape(shape)

    def weights(self, *shape):
        """Return rows of different positive weights that sum to 1."""
        shares = abs(self.numbers(*shape)) + 0.2
        return shares / shares.sum(axis=-1, keepdims=True)

    def mask(self, n_q, n_k):
        """Return a mask in whose every row one key or more is visible, and one hidden, and no column closed."""
        while True:
            mask = np.array([[self._random.random() < 0.5 for _ in range(n_k)] for _ in range(n_q)])
            counts = mask.sum(axis=-1)
            if 0 < counts.min() <= counts.max() < n_k and mask.any(axis=0).all():
                return mask

    def order(self, n):
        """Return the numbers from 0 to n - 1 in any order."""
        return sorted(range(n), key=lambda _: self._random.random())

    def one_of(self, values):
        """Return one of a few values."""
        return values[int(self._random.random() * len(values))]
