"""Keys on a cluster give the output of one process, also when a worker is killed on the way."""

import importlib
import os
import signal

import numpy as np
import pytest

from attention_lib import scaled_dot_product_attention
from attention_lib.cluster import cluster_attention, connect, hold_on_workers, lose_worker

da = pytest.importorskip("dask.array")

# To start two processes that import all of it takes seconds.
started = pytest.mark.long


def arrays(*, n_q=40, n_k=53, batch=(2,), seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((*batch, n, 4)) for n in (n_q, n_k, n_k))


class InThisProcess:
    """What stands for a cluster where no process is needed: it computes a plan here."""

    def ncores(self):
        return {"one": 1, "other": 1}

    def compute(self, plan):
        self.made = plan.compute(scheduler="synchronous")
        return self

    def result(self):
        return self.made


@pytest.mark.parametrize("shards", [None, 1, 2, 3, 7, 53, 60])
@pytest.mark.parametrize("setting", ["plain", "causal", "offset", "mask", "column", "added"])
def test_plan_gives_what_one_process_gives(shards, setting):
    Q, K, V = arrays()
    drawn = np.random.default_rng(1).random((2, 40, 53))
    given = {
        "plain": {},
        "causal": {"causal": True},
        "offset": {"causal": True, "offset": 13},
        "mask": {"mask": drawn > 0.5, "scale": 0.3},
        "column": {"mask": drawn[:, :, :1] > 0.2},
        "added": {"mask": drawn, "causal": True, "offset": -3},
    }[setting]
    output = cluster_attention(Q, K, V, shards=shards, client=InThisProcess(), **given)
    expected, _ = scaled_dot_product_attention(Q, K, V, **given)
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-12)


def test_arrays_of_dask_keep_their_chunks():
    Q, K, V = arrays()
    lying = [da.from_array(M, chunks=(2, 10, 4)) for M in (K, V)]
    output = cluster_attention(Q, *lying, client=InThisProcess())
    expected, _ = scaled_dot_product_attention(Q, K, V)
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-12)


def test_missing_package_is_named(monkeypatch):
    def import_module(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", import_module)
    Q, K, V = arrays()
    with pytest.raises(ImportError, match=r"cluster_attention: .*pip install dask distributed"):
        cluster_attention(Q, K, V)
    with pytest.raises(ImportError, match=r"connect: .*pip install dask distributed"), connect():
        pass


@pytest.mark.parametrize("shards", [0, -1, 1.5, True])
def test_shards_are_whole_numbers(shards):
    with pytest.raises((TypeError, ValueError), match=r"cluster_attention: .*shards"):
        cluster_attention(*arrays(), shards=shards, client=InThisProcess())


def test_workers_of_others_are_left_alone(monkeypatch):
    class Elsewhere:
        def run(self, function):
            return {"tcp://127.0.0.1:4000": 1, "tcp://10.0.0.5:4000": 1}

    monkeypatch.setattr(os, "kill", lambda *given: pytest.fail("something was ended"))
    with pytest.raises(ValueError, match=r"lose_worker: .*10\.0\.0\.5"):
        lose_worker(Elsewhere())


@started
def test_worker_killed_in_the_middle(tmp_path):
    """A worker ends by force while it makes its shard; later another ends, with shards it held."""
    flag = tmp_path / "a worker was killed"
    Q, K, V = arrays(batch=())

    def fatal_once(keys, block_id=None):
        if block_id == (3, 0) and not flag.exists():
            flag.write_text(str(os.getpid()))
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        return keys

    with connect(workers=2) as client:
        before = set(client.run(os.getpid).values())
        lying = da.from_array(K, chunks=(10, 4)).map_blocks(fatal_once, dtype=K.dtype, meta=K[:0])
        in_the_middle = cluster_attention(Q, lying, V, causal=True, client=client)
        killed = int(flag.read_text())

        held = hold_on_workers(client, K, V, shards=6)
        address = lose_worker(client)
        afterwards = cluster_attention(Q, *held, causal=True, client=client)
        assert address not in client.scheduler_info()["workers"]
    expected, _ = scaled_dot_product_attention(Q, K, V, causal=True)
    assert killed in before
    np.testing.assert_allclose(in_the_middle, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(afterwards, expected, rtol=0, atol=1e-12)
