"""The workflow is one that GitHub accepts, and what it runs is there."""

import subprocess
import sys
from pathlib import Path

import pytest
from name_checks import about_command
from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"


def refused(path):
    """Return what the published schema of workflows says against a file; it comes with the checker."""
    command = ["-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)]
    run = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    return run.stdout if run.returncode else ""


def missing(path):
    """Return what the steps of a workflow run and is not there."""
    jobs = YAML(typ="safe").load(path.read_text(encoding="utf-8"))["jobs"].values()
    lines = [
        line for job in jobs for step in job["steps"] for line in step.get("run", "").splitlines()
    ]
    return [complaint for line in lines for complaint in about_command(line, ROOT)]


@pytest.mark.parametrize("path", sorted(WORKFLOW.parent.glob("*.yml")), ids=lambda path: path.stem)
def test_workflow_is_valid_and_what_it_runs_is_there(path):
    assert refused(path) == ""
    assert missing(path) == []


def test_broken_workflow_is_refused(tmp_path):
    text = WORKFLOW.read_text(encoding="utf-8")
    for old, new in [
        ("runs-on:", "run-on:"),
        ("    steps:", "    stages:"),
        ("  contents: read", "  content: read"),
        ("on:\n  push:", "on:\n  pushed:"),
    ]:
        assert old in text
        (tmp_path / "test.yml").write_text(text.replace(old, new, 1), encoding="utf-8")
        assert refused(tmp_path / "test.yml"), new


@pytest.mark.parametrize(
    ("new", "complaint"),
    [
        ("make tests PYTHON=python", "no target tests"),
        ("make test PYTHN=python", "no variable PYTHN"),
        ("python tools/hygeine.py", "tools/hygeine.py is not there"),
    ],
)
def test_workflow_that_runs_what_is_not_there_is_caught(tmp_path, new, complaint):
    text = WORKFLOW.read_text(encoding="utf-8")
    changed = text.replace("make test PYTHON=python", new, 1)
    assert changed != text
    (tmp_path / "test.yml").write_text(changed, encoding="utf-8")
    assert any(complaint in said for said in missing(tmp_path / "test.yml"))
