"""Attention over keys that lie on several machines.

    keys and values, in shards      a worker for each, with all queries       the results, two by two
    K[0:n],  V[0:n]    ----------   partial_attention(Q, ...)   ---------
                                                                         merge  -----
    K[n:2n], V[n:2n]   ----------   partial_attention(Q, ...)   ---------            |
                                                                                   merge  ->  output
    K[2n:3n], ...      ----------   partial_attention(Q, ...)   ---------            |
                                                                         merge  -----
    K[3n:],  V[3n:]    ----------   partial_attention(Q, ...)   ---------

What travels to be merged has a row for each query, however many keys a shard has. The packages
dask and distributed do the travelling, and do a part again when the machine that had it is lost.
"""

import contextlib
import os
import signal

import numpy as np

from . import validation
from .attention import checked
from .tiled import merge, partial_attention


@contextlib.contextmanager
def connect(workers=2):
    """Connect to a cluster: the one whose address Dask is told, or one on this machine.

    The address of a scheduler, such as tcp://10.0.0.5:8786, stands in the environment variable
    DASK_SCHEDULER_ADDRESS or in Dask's own settings. Without one, workers are started as
    processes on this machine, reachable from it alone, and ended when the block ends.

    Parameters
    ----------
    workers : int
        How many processes to start if there is no address.

    Yields
    ------
    distributed.Client
        The connection, closed behind the block.

    Raises
    ------
    ImportError
        If dask or distributed is not installed, or there can be no processes, as in a browser.
    TypeError, ValueError
        If workers is not a whole number from 1 up.
    OSError
        If nobody answers at the address.

    Notes
    -----
    New processes read the program's own file first. In a script, unlike in a notebook, the call
    belongs under ``if __name__ == "__main__":``.

    Examples
    --------
    >>> with connect(workers=2) as client:  # doctest: +SKIP
    ...     output = cluster_attention(Q, K, V, shards=8, client=client)
    """
    workers = validation.at_least_one("connect", "workers", workers)
    distributed = validation.package_of_clusters("connect", "distributed")
    from dask import config

    address = config.get("scheduler-address", None)
    with contextlib.ExitStack() as stack:
        if address is None:
            # One thread each: tiles have threads of their own. No page that shows the workers,
            # which would need a port; a lost worker is no news, since what it had is done again.
            started = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
                silence_logs="CRITICAL",
            )
            address = stack.enter_context(started)
        yield stack.enter_context(distributed.Client(address))


def cluster_attention(
    Q, K, V, *, mask=None, causal=False, offset=0, scale=None, shards=None, client=None
):
    """Compute the output of attention over keys that are spread over a cluster.

    Keys and values are cut into shards along n_k. Each worker gets all queries and, one after
    the other, the shards that it works on; what they make is merged in a tree. No machine holds
    more than some shards, unless it brought them. Shards that no query may see are left out.

    Parameters
    ----------
    Q : array_like, shape (..., n_q, d_k)
        Queries.
    K, V : array_like or dask.array.Array, shapes (..., n_k, d_k), (..., n_k, d_v)
        Keys and values. As Dask arrays they are read and cut on the workers, and never here;
        those that are not are sent from here.
    mask, causal, offset, scale
        As for `attention_steps`.
    shards : int, optional
        How many shards to cut. Left out, there are as many as K has chunks along n_k, or two for
        each worker if K is not a Dask array.
    client : distributed.Client, optional
        The cluster, from `connect`. Left out, one is connected to for the time of the call.

    Returns
    -------
    output : ndarray, shape (..., n_q, d_v)
        What `tiled_attention` returns, up to rounding.

    Raises
    ------
    ImportError, OSError
        As `connect` does.
    ValueError, TypeError
        As `attention_steps` does, and if shards is not a whole number from 1 up.

    Examples
    --------
    >>> cluster_attention(Q, K, V, causal=True, shards=8)  # doctest: +SKIP

    References
    ----------
    Rabe and Staats (2021), "Self-attention Does Not Need O(n^2) Memory", arXiv:2112.05682.
    """
    where = "cluster_attention"
    if shards is not None:
        shards = validation.at_least_one(where, "shards", shards)
    da = validation.package_of_clusters(where, "dask.array")
    seen = (
        (_stand_in(K) if isinstance(K, da.Array) else K),
        (_stand_in(V) if isinstance(V, da.Array) else V),
    )
    Q, *seen, mask, causal, offset, scale = checked(where, Q, *seen, mask, causal, offset, scale)
    K, V = (
        given if isinstance(given, da.Array) else array
        for given, array in zip((K, V), seen, strict=True)
    )
    with contextlib.nullcontext(client) if client else connect() as client:
        if shards is None:
            shards = K.numblocks[-2] if isinstance(K, da.Array) else 2 * len(client.ncores())
        n_k = K.shape[-2]
        size = max(1, -(-n_k // shards))
        parts = _partials(
            Q, _cut(da, K, size), _cut(da, V, size), mask, causal, offset, scale, size
        )
        return client.compute(_tree(parts)).result().output


def hold_on_workers(client, *arrays, shards):
    """Cut arrays along the axis before the last, and let the workers of a cluster hold the shards.

    Parameters
    ----------
    client : distributed.Client
        The cluster, from `connect`.
    arrays : array_like, shapes (..., n, d)
        Keys, and values.
    shards : int
        How many shards to cut of each.

    Returns
    -------
    list of dask.array.Array
        One for each array, when all shards have arrived. Dask keeps what it made them from, and
        makes a shard again if the worker that holds it is lost.

    Raises
    ------
    ImportError
        If dask or distributed is not installed.
    TypeError, ValueError
        If shards is not a whole number from 1 up.

    Examples
    --------
    >>> with connect(workers=2) as client:  # doctest: +SKIP
    ...     K_held, V_held = hold_on_workers(client, K, V, shards=8)
    ...     output = cluster_attention(Q, K_held, V_held, client=client)
    """
    where = "hold_on_workers"
    shards = validation.at_least_one(where, "shards", shards)
    da = validation.package_of_clusters(where, "dask.array")
    distributed = validation.package_of_clusters(where, "distributed")
    held = []
    for array in map(np.asarray, arrays):
        size = max(1, -(-array.shape[-2] // shards))
        held.append(
            client.persist(da.from_array(array, (*array.shape[:-2], size, array.shape[-1])))
        )
    distributed.wait(held)
    return held


def lose_worker(client):
    """End one worker at once, by force, as a machine that fails does.

    What it holds is lost, without a word to anybody. On the cluster that `connect` starts,
    another process takes its place a little later.

    Parameters
    ----------
    client : distributed.Client
        The cluster, from `connect`.

    Returns
    -------
    str
        The address that the worker had.

    Raises
    ------
    ValueError
        If the workers are not all on this machine: those of others are not for us to end.

    Examples
    --------
    >>> with connect(workers=2) as client:  # doctest: +SKIP
    ...     address = lose_worker(client)
    """
    processes = client.run(os.getpid)
    validation.workers_here("lose_worker", processes)
    address, process = min(processes.items())
    os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows ends it by either
    return address


def _stand_in(array):
    """Return an array of the shape and dtype of one that lies elsewhere. It takes no memory."""
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)


def _cut(da, array, size):
    """Return the shards of keys or values, which are still to be made, each a whole array."""
    chunks = (*array.shape[:-2], size, array.shape[-1])
    array = array.rechunk(chunks) if isinstance(array, da.Array) else da.from_array(array, chunks)
    return list(array.to_delayed().ravel())


def _partials(Q, K, V, mask, causal, offset, scale, size):
    """Return what each shard gives, still to be computed."""
    from dask import delayed

    attend = delayed(partial_attention, pure=True)
    queries = delayed(Q, traverse=False)  # once in the plan, so once on each worker
    last = Q.shape[-2] - 1 + offset  # the last key that a query sees
    starts = [size * number for number in range(len(K))]
    return [
        attend(
            queries,
            keys,
            values,
            mask=mask if mask is None or mask.shape[-1] == 1 else mask[..., start : start + size],
            causal=causal,
            offset=offset - start if causal else 0,
            scale=scale,
        )
        for start, keys, values in zip(starts, K, V, strict=True)
        if start == 0 or not causal or start <= last
    ]


def _tree(parts):
    """Return the merged results, still to be computed: neighbours first, then pairs of pairs."""
    from dask import delayed

    join = delayed(merge, pure=True)
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]
