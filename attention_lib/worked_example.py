"""The chapter's worked example: five tokens whose weights are the printed 5 x 5 table."""

from typing import NamedTuple

import numpy as np


class WorkedExample(NamedTuple):
    """The arrays of the worked example, in the order in which they are made."""

    tokens: tuple
    X: np.ndarray
    W_Q: np.ndarray
    W_K: np.ndarray
    W_V: np.ndarray
    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray


def worked_example():
    """Make the inputs of the chapter's example: five tokens, d_model = 8, d_k = d_v = 4.

    The chapter prints the weights these inputs lead to, not the inputs. X, W_Q and W_K are a
    recipe that reproduces every printed number. W_V (the next draw of the same stream) and
    the five words are this series' own choice. Nothing here was trained: the projections are
    random numbers, so the weights carry no meaning about the words.

    Returns
    -------
    WorkedExample
        A named tuple to unpack in one line: tokens (5 strings), X (5, 8), W_Q, W_K and W_V
        (8, 4), Q, K and V (5, 4), all float64 and new at each call.

    Examples
    --------
    >>> tokens, X, W_Q, W_K, W_V, Q, K, V = worked_example()
    >>> tokens
    ('Owls', 'hunt', 'quietly', 'at', 'night')
    >>> X.shape, W_Q.shape, Q.shape
    ((5, 8), (8, 4), (5, 4))

    References
    ----------
    Brenndoerfer (2025), "Scaled Dot-Product Attention", Language AI Handbook, chapter 92.
    """
    # The stream of np.random.seed(42), which NumPy keeps as it is for good, without touching
    # the global generator of whoever calls this.
    draw = np.random.RandomState(42).randn
    tokens = ("Owls", "hunt", "quietly", "at", "night")
    X = draw(5, 8)
    W_Q, W_K, W_V = draw(8, 4) * 0.3, draw(8, 4) * 0.3, draw(8, 4) * 0.3
    return WorkedExample(tokens, X, W_Q, W_K, W_V, X @ W_Q, X @ W_K, X @ W_V)
