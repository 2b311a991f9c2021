"""What it costs to check the notebooks, in CPU seconds, beside other ways of doing it.

    python tools/bench_validate.py [ROUNDS]     (3 when none is given)

The floor is what the code cells cost as plain scripts in one process: no check can cost less,
if it runs them. Machines are noisy, so the ways take turns, and the median round counts; read
the ratios, not the seconds.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = [str(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]

FLOOR = """
import json, sys
for path in sys.argv[1:]:
    names = {}
    for cell in json.load(open(path, encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), path, "exec"), names)
"""

PYTEST = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:hypothesispytest",
]
NBCONVERT = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute"]


def ways(folder):
    """Return the command of each way."""
    hygiene = ["tests/test_notebooks.py::test_text_is_clean"]
    return {
        "floor: the cells as plain scripts": [sys.executable, "-c", FLOOR, *NOTEBOOKS],
        "all our checks": [*PYTEST, *NOTEBOOKS, *hygiene],
        "all our checks, cold kernels": [*PYTEST, "--kernels=cold", *NOTEBOOKS, *hygiene],
        # Without the project's own options, which would add nbval to it.
        "nbmake": [
            *PYTEST,
            "-c",
            os.devnull,
            "--noconftest",
            "-p",
            "no:nbval",
            "--nbmake",
            *NOTEBOOKS,
        ],
        "jupyter nbconvert --execute": [*NBCONVERT, "--output-dir", folder, *NOTEBOOKS],
    }


def measure(command):
    """Run a command, and return its CPU and wall seconds, those of its children included."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"MPLBACKEND": "agg"}, capture_output=True, text=True
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        sys.exit(
            f"{' '.join(command)[:200]}\nended with {run.returncode}:\n{run.stdout}{run.stderr}"
        )
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main(rounds):
    """Let the ways take turns, and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        commands = ways(folder)
        results = {name: [] for name in commands}
        for number in range(rounds):
            for name, command in commands.items():
                print(f"round {number + 1} of {rounds}: {name} ...", file=sys.stderr, flush=True)
                results[name].append(measure(command))
    cpu = {name: statistics.median(cpu for cpu, _ in result) for name, result in results.items()}
    floor = next(iter(cpu.values()))
    print(f"{len(NOTEBOOKS)} notebooks, median of {rounds} rounds")
    print(f"{'':36}{'CPU s':>8}{'x floor':>9}{'wall s':>8}")
    for name, result in results.items():
        wall = statistics.median(wall for _, wall in result)
        print(f"{name:36}{cpu[name]:8.1f}{cpu[name] / floor:9.2f}{wall:8.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
