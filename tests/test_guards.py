"""Who guards the guards: the project's own pytest settings, run over a copy with faults, turn red.

A check that was switched off fails nothing. So a copy of the checkout gets a wrong output, a
wrong pixel and a wrong doctest, and is tested by the command of the README, with the settings of
`pyproject.toml` as they are: those three must fail, and the rest must not.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOK = "03_softmax.ipynb"
DOCTEST = ("attention_lib/steps/softmax.py", "array([[0.75, 0.25]])", "array([[0.75, 0.52]])")


def pytest_in(folder, *options):
    """Run the tests of a checkout, as its README says, with no settings but its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def cell_with(notebook, code):
    """Return the number of the code cell, counted as nbval does, that begins so, and the cell."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    (found,) = [(n, cell) for n, cell in enumerate(cells) if cell.source.startswith(code)]
    return found


def write(notebook, path):
    path.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.fixture
def copy(tmp_path):
    """Copy the checkout, with one short notebook, and with no tests but what they need to run."""
    folder = tmp_path / "checkout"
    shutil.copytree(
        ROOT,
        folder,
        ignore=shutil.ignore_patterns(".*", "dist", "practice", "notebooks", "test_*.py"),
    )
    notebook = nbformat.read(ROOT / "notebooks" / NOTEBOOK, as_version=4)
    figure = next(n for n, c in enumerate(notebook.cells) if c.source.startswith("show(plot_heat"))
    notebook.cells = notebook.cells[: figure + 1]
    (folder / "notebooks").mkdir()
    write(notebook, folder / "notebooks" / NOTEBOOK)
    return folder


def plant(folder):
    """Put the faults in; return the names that must fail, as pytest reports them."""
    path = folder / "notebooks" / NOTEBOOK
    notebook = nbformat.read(path, as_version=4)
    number, table = cell_with(notebook, "A = softmax(")
    table.outputs[0].text = table.outputs[0].text.replace("0.1234", "0.1243")
    _, heatmap = cell_with(notebook, "show(plot_heatmap(")
    stored = json.dumps(heatmap.outputs)
    other = json.dumps(cell_with(notebook, "show(plot_query(")[1].outputs)
    picture = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=]*")
    changed = stored.replace(picture.search(stored)[0], picture.search(other)[0])
    assert changed != stored
    heatmap.outputs = [nbformat.from_dict(output) for output in json.loads(changed)]
    write(notebook, path)
    file, old, new = DOCTEST
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    last = len([cell for cell in notebook.cells if cell.cell_type == "code"]) - 1
    return [f"Cell {number}", "attention_lib.steps.softmax.softmax", f"Cell {last}"]


def failures(folder, pixels):
    report = folder / "report.xml"
    run = pytest_in(folder, f"--junitxml={report}", f"--pixels={pixels}")
    cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))
    bad = {"failure", "error"}
    failed = {case.get("name") for case in cases if bad & {result.tag for result in case}}
    return run, cases, failed


@pytest.mark.long
def test_a_wrong_output_a_wrong_pixel_and_a_wrong_doctest_turn_the_tests_red(copy, pytestconfig):
    pixels = pytestconfig.option.pixels
    *planted, pixel = plant(copy)
    run, cases, failed = failures(copy, pixels)
    assert failed == {*planted, *([pixel] if pixels == "compare" else [])}, run.stdout[-3000:]
    assert run.returncode == 1
    assert len(cases) > 20, "the rest was run as well, and is sound"


def test_what_make_test_leaves_out_is_run_by_what_checks_the_project():
    """The marker is the one way to be left out, and both scripts call its command."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    options = settings["tool"]["pytest"]["ini_options"]
    assert re.findall(r"-m (\S.*)", options["addopts"]) == ['"not long"']
    assert not re.search(r"--(deselect|ignore)|-k\b", options["addopts"])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^test-long:.*\n\t.*-m pytest -n auto -m long$", makefile, re.MULTILINE)
    for script in (".ci/run", ".github/workflows/test.yml"):
        if (ROOT / script).exists():  # an archive of the project has neither
            assert "make test-long" in (ROOT / script).read_text(encoding="utf-8")


def test_a_call_without_arguments_collects_every_cell_each_doctest_and_each_test():
    run = pytest_in(ROOT, "--collect-only", "-m", "long or not long")
    cells = re.findall(r"^(notebooks/\S+\.ipynb)::Cell (\d+)$", run.stdout, re.MULTILINE)
    expected = []
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            count = sum(c.cell_type == "code" for c in nbformat.read(path, as_version=4).cells)
            name = path.relative_to(ROOT).as_posix()
            expected += [(name, str(number)) for number in range(count)]
    assert sorted(cells) == sorted(expected)
    names = re.findall(r"^(\S+?)::", run.stdout, re.MULTILINE)
    assert {name.split("/")[0] for name in names} == {"attention_lib", "notebooks", "tests"}
    # Skipped as a whole where a program that it drives is not installed.
    modules = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.glob("tests/test_*.py")
        if "importorskip(" not in path.read_text(encoding="utf-8")
    }
    assert modules <= {*names}
