"""How long attention takes, and how much memory, beside other ways of computing it.

    python tools/bench_attention.py [--rounds 7] [--quick] [--save docs]

float32, 8 heads, d_k = d_v = 64. The ways take turns, so that what else the machine does meets them
all; a ratio is the median over the rounds of the ratios within a round. Read the ratios, not the
milliseconds. What is not installed (PyTorch, ONNX Runtime, JAX) is left out.

Memory is the most that NumPy's arrays took at one time above the inputs, by tracemalloc.

The limit is what two matrix products at the highest rate that this machine was seen to reach, and
one np.exp for each score, take: no arrangement of NumPy's own functions can be faster.
"""

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from attention_lib import scaled_dot_product_attention, tiled_attention

HEADS, D = 8, 64
LENGTHS = [5, 128, 512, 2048, 8192]
OF_MEMORY = [512, 1024, 2048, 4096, 8192, 16384, 32768]
TEXTBOOK, PLAIN, TILED = "textbook formula", "scaled_dot_product_attention", "tiled_attention"
FUSED = "PyTorch, fused"
KEEPS_ALL_SCORES = {TEXTBOOK: 4096, PLAIN: 4096, "ONNX Runtime": 2048, "JAX": 2048}  # to this n
ENOUGH = 0.02  # seconds that a measurement should last


def inputs(n):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(HEADS, n, D)).astype(np.float32) for _ in range(3)]


def textbook(Q, K, V, causal):
    """The equation as it stands, one array after the other."""
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    if causal:
        S = np.where(np.tri(*S.shape[-2:], dtype=bool), S, -np.inf).astype(S.dtype)
    exponentials = np.exp(S - S.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ V


def plain(Q, K, V, causal):
    return scaled_dot_product_attention(Q, K, V, causal=causal)[0]


def tiled(Q, K, V, causal):
    return tiled_attention(Q, K, V, causal=causal)


def with_torch(Q, K, V, causal):
    import torch

    # With an axis for the batch: without it, another kernel is taken.
    Q, K, V = (torch.from_numpy(array)[np.newaxis] for array in (Q, K, V))
    attend = torch.nn.functional.scaled_dot_product_attention

    def call():
        with torch.inference_mode():
            return attend(Q, K, V, is_causal=causal)[0].numpy()

    return call


def with_onnxruntime(Q, K, V, causal):
    import onnxruntime
    from onnx import TensorProto, helper

    names = ["Q", "K", "V"]
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in [*names, "Y"]
    ]
    node = helper.make_node("Attention", names, ["Y"], is_causal=int(causal))
    graph = helper.make_graph([node], "attention", values[:3], values[3:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feed = dict(zip(names, (array[np.newaxis] for array in (Q, K, V)), strict=True))
    return lambda: session.run(None, feed)[0][0]


def with_jax(Q, K, V, causal):
    import jax

    # Positions come before heads there.
    Q, K, V = (jax.numpy.asarray(array.swapaxes(0, 1)[np.newaxis]) for array in (Q, K, V))
    attend = jax.jit(lambda Q, K, V: jax.nn.dot_product_attention(Q, K, V, is_causal=causal))
    return lambda: np.asarray(attend(Q, K, V).block_until_ready())[0].swapaxes(0, 1)


OURS = {TEXTBOOK: textbook, PLAIN: plain, TILED: tiled}
OTHERS = {FUSED: with_torch, "ONNX Runtime": with_onnxruntime, "JAX": with_jax}


def calls(n, causal):
    """Return a call for each way that is installed and can keep what it keeps, all checked."""
    Q, K, V = inputs(n)
    made = {
        name: lambda way=way: way(Q, K, V, causal)
        for name, way in OURS.items()
        if n <= KEEPS_ALL_SCORES.get(name, n)
    }
    for name, prepare in OTHERS.items():
        if n <= KEEPS_ALL_SCORES.get(name, n):
            try:
                made[name] = prepare(Q, K, V, causal)
            except ImportError:
                print(f"{name}: not installed", file=sys.stderr)
    expected = made[TILED]()
    for name, call in made.items():
        np.testing.assert_allclose(call(), expected, atol=2e-5, err_msg=name)
    return made


def times(n, causal, rounds):
    """Return the seconds of each way, one number per round, the ways taking turns."""
    made = calls(n, causal)
    repeats = {}
    for name, call in made.items():
        start = time.perf_counter()
        call()
        repeats[name] = max(1, int(ENOUGH / (time.perf_counter() - start)))
    seconds = {name: [] for name in made}
    for number in range(rounds):
        print(f"n = {n}{', causal' * causal}: round {number + 1} of {rounds}", file=sys.stderr)
        for name, call in made.items():
            start = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            seconds[name].append((time.perf_counter() - start) / repeats[name])
    return seconds


def median_ratio(seconds, reference):
    return statistics.median(a / b for a, b in zip(seconds, reference, strict=True))


def limit(threads):
    """Return operations per second of a matrix product, and np.exps per second, at their best."""
    rng = np.random.default_rng(0)
    product = rng.random((1024, 1024), np.float32)
    best = min(_seconds(lambda: product @ product) for _ in range(20))
    scores = [rng.random((128, 512), np.float32) for _ in range(threads)]

    def exp(array):
        for _ in range(20):
            np.exp(array, out=np.empty_like(array))

    with ThreadPoolExecutor(threads) as pool:
        each = min(_seconds(lambda: list(pool.map(exp, scores))) for _ in range(10))
    return 2 * 1024**3 / best, 20 * threads * scores[0].size / each


def _seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak(name, n):
    """Return the most bytes that NumPy's arrays took during a call, above the inputs."""
    Q, K, V = inputs(n)
    print(f"memory of {name}, n = {n}", file=sys.stderr)
    tracemalloc.start()
    OURS[name](Q, K, V, False)
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def slope(lengths, values):
    """Return the power of n that the numbers grow with, from a line through their logarithms."""
    return float(np.polyfit(np.log(lengths), np.log(values), 1)[0])


def machine():
    """Return what the numbers depend on."""
    found = {"cores": os.cpu_count(), "numpy": np.__version__, "python": platform.python_version()}
    try:
        from threadpoolctl import threadpool_info

        for library in threadpool_info():
            if library["user_api"] == "blas":
                found["threads"] = library["num_threads"]
                found["BLAS"] = f"{library['internal_api']} {library['version']}"
                found["kernel"] = library.get("architecture")
                break
    except ImportError:
        pass
    for package in ("torch", "onnxruntime", "jax"):
        if package in sys.modules:
            found[package] = sys.modules[package].__version__
    return found


def table(measured, rounds, reference, found):
    """Return what was measured as Markdown."""
    names = [*OURS, *(name for name in OTHERS if name in measured[0]["seconds"])]
    lines = [
        f"Times over that of {reference}, median of {rounds} rounds:",
        "",
        f"| n | | {' | '.join(names)} | limit |",
        f"|---:|---|{'---:|' * (len(names) + 1)}",
    ]
    for row in measured:
        ratios = (f"{row['ratios'][name]:.2f}" if name in row["ratios"] else "" for name in names)
        kind = "causal" if row["causal"] else ""
        lines.append(f"| {row['n']} | {kind} | {' | '.join(ratios)} | {row['limit_ratio']:.2f} |")
    lines += ["", ", ".join(f"{name} {value}" for name, value in found.items()) + "."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="short sequences alone")
    parser.add_argument("--save", metavar="FOLDER", type=Path, help="for benchmark.json and .md")
    options = parser.parse_args()
    lengths = [n for n in LENGTHS if n <= (512 if options.quick else n)]
    threads = machine().get("threads", os.cpu_count())
    operations, exps = limit(threads)
    measured = []
    for n in lengths:
        for causal in (False, True):
            seconds = times(n, causal, options.rounds)
            reference = FUSED if FUSED in seconds else TEXTBOOK
            scores = HEADS * (n * (n + 1) / 2 if causal else n * n)
            least = 4 * scores * D / operations + scores / exps
            middle = {name: statistics.median(values) for name, values in seconds.items()}
            measured.append(
                {
                    "n": n,
                    "causal": causal,
                    "seconds": middle,
                    "ratios": {
                        name: median_ratio(values, seconds.get(reference, seconds[TILED]))
                        for name, values in seconds.items()
                    },
                    "limit_seconds": least,
                    "limit_ratio": least / middle.get(reference, middle[TILED]),
                }
            )
    memory = {
        name: {
            n: peak(name, n)
            for n in OF_MEMORY
            if n <= min(KEEPS_ALL_SCORES.get(name, n), max(lengths) * 4)
        }
        for name in OURS
    }
    found = machine()
    text = table(measured, options.rounds, reference, found)
    text += "\nPeak memory above the inputs, in MB:\n\n| n | " + " | ".join(OURS) + " |\n"
    text += "|---:|" + "---:|" * len(OURS) + "\n"
    for n in sorted({n for held in memory.values() for n in held}):
        cells = (f"{held[n] / 1e6:,.0f}" if n in held else "" for held in memory.values())
        text += f"| {n} | {' | '.join(cells)} |\n"
    slopes = {
        name: {
            "time": slope(*zip(*_points(measured, name), strict=True)),
            "memory": slope(list(held)[-3:], list(held.values())[-3:]),
        }
        for name, held in memory.items()
    }
    text += "\nGrowth, as a power of n, through the last three lengths: "
    text += "; ".join(
        f"{name} time {powers['time']:.2f}, memory {powers['memory']:.2f}"
        for name, powers in slopes.items()
    )
    text += ".\n"
    print(text)
    if options.save:
        data = {
            "machine": found,
            "rounds": options.rounds,
            "reference": reference,
            "heads": HEADS,
            "d": D,
            "limit": {"operations_per_second": operations, "exps_per_second": exps},
            "times": measured,
            "memory": memory,
            "slopes": slopes,
        }
        (options.save / "benchmark.json").write_text(json.dumps(data, indent=1) + "\n")
        (options.save / "benchmark.md").write_text(text)


def _points(measured, name):
    """Return n and seconds of the longer sequences, causal ones left out."""
    points = [
        (row["n"], row["seconds"][name])
        for row in measured
        if row["n"] >= 128 and not row["causal"] and name in row["seconds"]
    ]
    return points[-3:]


if __name__ == "__main__":
    main()
