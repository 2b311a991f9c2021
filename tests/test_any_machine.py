"""The checks depend on the checkout alone: not on settings, folders, or what is installed.

All that a machine can put in the way is there at once, and a notebook in a copy of the checkout
must pass; and a fault in the package of that copy, which is not the installed one, must be seen.
"""

import copy
import os
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import nbformat
import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
NOTEBOOK = nbformat.read(ROOT / "notebooks" / "03_softmax.ipynb", as_version=4)
FIGURE = next(n for n, c in enumerate(NOTEBOOK.cells) if c.source.startswith("show(plot_heatmap"))

SPOIL = "import numpy, builtins\nnumpy.set_printoptions(precision=2)\nbuiltins.print = None\n"
PROBE = '''
"""Printed by a test of the copy, which runs in pytest's own process."""
def test_settings_and_package():
    import matplotlib, attention_lib
    assert matplotlib.rcParams["font.size"] == 10
    assert attention_lib.__file__.startswith(__file__.partition("tests")[0])
'''


@pytest.fixture
def checkout(tmp_path):
    """Copy what the checks need into a folder with spaces and accents, with CRLF and checkpoints."""
    folder = tmp_path / "mes études, n° 1"
    folder.mkdir()
    leave = shutil.ignore_patterns("__pycache__")
    for name in ("attention_lib", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    for name in ("conftest.py", "pyproject.toml", "tests/nbval.cfg"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    notebook = copy.deepcopy(NOTEBOOK)
    # An assertion that does not hold, for -O drops it; and the cells up to the first heatmap.
    notebook.cells = notebook.cells[: FIGURE + 1]
    source = "try:\n    assert False, 'seen'\nexcept AssertionError as problem:\n    print(problem)"
    output = nbformat.v4.new_output("stream", name="stdout", text="seen\n")
    notebook.cells.append(nbformat.v4.new_code_cell(source, outputs=[output]))
    notebook.cells[-1].execution_count = sum(c.cell_type == "code" for c in notebook.cells)
    path = folder / "notebooks" / "copy.ipynb"
    for place in (path, path.parent / ".ipynb_checkpoints" / "copy-checkpoint.ipynb"):
        place.parent.mkdir()
        place.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8", newline="\n")
        notebook.cells[-1].outputs = []  # a checkpoint is older
    (folder / "tests" / "test_probe.py").write_text(PROBE, encoding="utf-8")
    for text in [*folder.rglob("*.py"), folder / "tests" / "nbval.cfg", path]:
        text.write_bytes(text.read_bytes().replace(b"\n", b"\r\n"))
    return folder


@pytest.fixture
def settings(tmp_path):
    """Return an environment in which every setting that could spoil a check is there."""
    home = tmp_path / "home"
    spoiled = {
        ".ipython/profile_default/startup/00.py": SPOIL,
        ".ipython/profile_default/ipython_config.py": "c.InteractiveShellApp.exec_lines = ['1 / 0']",
        ".ipython/profile_default/ipython_kernel_config.py": "c.InlineBackend.rc = {'font.size': 3}",
        ".jupyter/jupyter_config.py": "1 / 0",
        ".jupyter/jupyter_nbclient_config.py": "1 / 0",
        "jupyter/kernels/python3/kernel.json": '{"argv": ["false"], "display_name": "mine"}',
        "matplotlib/matplotlibrc": "font.size: 20\nfigure.facecolor: black\nimage.cmap: jet\n",
        "startup.py": SPOIL,
        "attention_lib/__init__.py": "1 / 0",
    }
    for name, text in spoiled.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    return os.environ | {
        "MPLCONFIGDIR": matplotlib.get_cachedir(),  # the list of fonts that is there
        "HOME": str(home),
        "IPYTHONDIR": str(home / ".ipython"),
        "JUPYTER_CONFIG_DIR": str(home / ".jupyter"),
        "JUPYTER_CONFIG_PATH": str(home / ".jupyter"),
        "JUPYTER_DATA_DIR": str(home / "jupyter"),
        "JUPYTER_PATH": str(home / "jupyter"),
        "JUPYTER_RUNTIME_DIR": "/proc/nowhere",
        "MATPLOTLIBRC": str(home / "matplotlib" / "matplotlibrc"),
        "MPLBACKEND": "svg",
        "PYTHONOPTIMIZE": "1",
        "PYTHONPATH": str(home),
        "PYTHONSTARTUP": str(home / "startup.py"),
        "PYTHONWARNINGS": "error::DeprecationWarning",
    }


def run(checkout, settings, *command):
    return subprocess.run(
        [sys.executable, *command],
        cwd=checkout / "notebooks",
        env=settings,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def check(checkout, settings, kernels):
    """Run pytest as somebody in the folder of the notebooks would who has no xdist."""
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest"]
    paths = ["copy.ipynb", "../tests"]
    return run(checkout, settings, "-m", "pytest", *options, f"--kernels={kernels}", *paths)


def break_softmax(checkout):
    path = checkout / "attention_lib" / "steps" / "softmax.py"
    text = path.read_text(encoding="utf-8")
    assert "axis=-1)" in text
    path.write_text(text.replace("axis=-1)", "axis=0)"), encoding="utf-8")


KERNELS = [
    "cold",
    pytest.param("warm", marks=pytest.mark.skipif(sys.platform != "linux", reason="forks")),
]


@pytest.mark.parametrize("kernels", KERNELS)
def test_a_notebook_passes_whatever_the_settings(checkout, settings, kernels):
    if kernels == "cold":  # a new machine lists its fonts first, and here it cannot keep the list
        settings["MPLCONFIGDIR"] = "/proc/nowhere"
    whole = check(checkout, settings, kernels)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    # Each code cell twice, the one that asserts included, and the probe.
    cells = nbformat.read(checkout / "notebooks" / "copy.ipynb", as_version=4).cells
    assert f"{2 * sum(c.cell_type == 'code' for c in cells) + 1} passed" in whole.stdout


def test_a_fault_in_the_package_of_the_copy_is_seen(checkout):
    break_softmax(checkout)  # cold kernels: see refresh, below
    broken = check(checkout, dict(os.environ), "warm" if sys.platform == "linux" else "cold")
    assert broken.returncode == 1
    assert "FAILED copy.ipynb" in broken.stdout


def test_refresh_stores_the_same_whatever_the_settings(checkout, settings):
    path = checkout / "notebooks" / "copy.ipynb"
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    refresh = [str(checkout / "tools" / "refresh.py"), "--check", "copy.ipynb"]
    whole = run(checkout, settings, *refresh)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    break_softmax(checkout)
    assert run(checkout, settings, *refresh).returncode == 1
