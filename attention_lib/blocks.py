"""Blocks of queries, worked on at the same time.

A query needs all keys but no other query. NumPy lets other threads run while it computes, so two
blocks can be under way on two cores, if each matrix product keeps to one core. The package
threadpoolctl sees to that. Without it blocks are taken one after the other, and each product
takes the cores that it likes.
"""

import contextlib
import functools

import numpy as np

# Whoever has taken the key out may set how many cores the products take. (To pop it is one step, in
# any number of threads; a lock would need a module that NumPy has not loaded.)
_KEY = ["the only one"]


def spread(shape, Q, K, V, mask):
    """Return the arrays with all the batch axes of scores of this shape, the mask with n_q, n_k too."""
    Q, K, V = (np.broadcast_to(array, (*shape[:-2], *array.shape[-2:])) for array in (Q, K, V))
    return Q, K, V, None if mask is None else np.broadcast_to(mask, shape)


def cut(batch, n_q, rows):
    """Return the place of each block: an index of the batch axes, and a slice of queries."""
    slices = [slice(start, min(start + rows, n_q)) for start in range(0, n_q, rows)]
    return [(index, block) for index in np.ndindex(*batch) for block in slices]


def work_on(places, work, threads=None, bar=iter):
    """Call `work` with each place; `bar` is put around them, as tqdm is.

    Left out, `threads` is the number of cores that matrix products are set to take, or 1 if that
    cannot be changed for the time of the call.
    """
    products = _products()
    if threads is None:
        threads = max((found.num_threads for found in products.lib_controllers), default=1)
    threads = min(threads, len(places))
    if threads <= 1:
        for place in bar(places):
            work(place)
        return
    from concurrent.futures import ThreadPoolExecutor  # here: most calls are too short to need it

    with _OneCore(products), ThreadPoolExecutor(threads) as pool:
        done = pool.map(work, places)
        for _ in zip(bar(places), done, strict=True):
            pass


@functools.cache
def _products():
    """Return what controls the libraries that compute matrix products."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return _Nothing()
    return ThreadpoolController().select(user_api="blas")


class _Nothing:
    """Controls no library: what there is without threadpoolctl."""

    lib_controllers = ()

    def limit(self, limits):
        return self

    def restore_original_limits(self):
        pass


class _OneCore:
    """Keeps matrix products to one core, unless another call does so already.

    The number is one for the whole process. Were two calls to set and restore it in turn, the
    second would restore what the first had set.
    """

    def __init__(self, products):
        self.products = products

    def __enter__(self):
        self.key = []
        with contextlib.suppress(IndexError):
            self.key.append(_KEY.pop())
            self.limit = self.products.limit(limits=1)

    def __exit__(self, *exception):
        if self.key:
            self.limit.restore_original_limits()
            _KEY.append(self.key.pop())
