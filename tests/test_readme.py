"""The README keeps its promises: its example, its image, its table, its commands."""

import re
import tomllib
from pathlib import Path

import nbformat
import pytest
from pixels import differences
from refresh import readme_picture

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))


EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)


def test_there_are_examples():
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_stands_below_it(code, output, capsys):
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == output


def test_image_is_what_the_library_draws(pytestconfig):
    path = re.search(r"!\[.*?\]\((.*?)\)", README)[1]
    stored = (ROOT / path).read_bytes()
    assert stored.startswith(b"\x89PNG")
    if pytestconfig.option.pixels == "compare":
        assert differences([stored], [readme_picture().png]) == []


def test_alternative_of_the_image_names_what_the_library_names():
    alternative = re.search(r"!\[(.*?)\]", README)[1]
    drawn = readme_picture().alt
    for cell in re.findall(r"(\d\.\d\d) \((\w+), (\w+)\)", drawn):
        number, query, key = cell
        assert f"{number}, " in alternative
        assert f"{query} on {key}" in alternative


def series():
    """Return the table of the series at the end of 00, which is itself in it without a link."""
    cells = nbformat.read(NOTEBOOKS[0], as_version=4).cells
    (table,) = [cell.source for cell in cells if cell.source.startswith("## The series")]
    return table.replace("| 00 ", "| (00_overview.ipynb) ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_tables_have_each_notebook_with_its_minutes(path):
    for table in (README, series()):
        row = next(line for line in table.splitlines() if f"{path.name})" in line)
        minutes = row.rstrip("| ").rsplit("|", 1)[-1].strip()
        opening = nbformat.read(path, as_version=4).cells[1].source
        assert f"about {minutes} minutes" in opening


def test_oldest_python_is_stated_once_and_for_all():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    assert f"Python {oldest} or newer" in README
    workflow = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
    assert f'"{oldest}"' in workflow
