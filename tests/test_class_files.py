"""What a class is given: the container, Binder, and the page about them name what is there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INSTRUCTIONS = {"FROM", "RUN", "USER", "WORKDIR", "COPY", "EXPOSE", "CMD"}


def steps():
    """Return the Dockerfile's steps: instruction and arguments, continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [tuple(line.split(maxsplit=1)) for line in lines]


def test_each_step_is_one_that_docker_knows():
    assert {name for name, _ in steps()} <= INSTRUCTIONS
    assert steps()[0][0] == "FROM"
    assert ":" in steps()[0][1], "the image it begins with has no version"


def test_what_is_copied_is_there_and_not_kept_out():
    kept_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for _, arguments in (step for step in steps() if step[0] == "COPY"):
        *sources, _target = [part for part in arguments.split() if not part.startswith("--")]
        for source in sources:
            assert (ROOT / source).exists(), source
            assert source not in kept_out


def test_installation_has_its_files_before_it_runs():
    names = [f"{name} {arguments}" for name, arguments in steps()]
    install = next(i for i, line in enumerate(names) if "pip install" in line)
    copied = " ".join(line for line in names[:install] if line.startswith("COPY"))
    for needed in ("pyproject.toml", "README.md", "LICENSE", "requirements.txt", "constraints.txt"):
        assert needed in copied
    assert "attention_lib attention_lib" in copied


def test_the_container_runs_as_a_user_and_starts_the_lab():
    names = [name for name, _ in steps()]
    assert [arguments for name, arguments in steps() if name == "USER"][-1] != "root"
    assert names[-1] == "CMD"
    command = re.findall(r'"([^"]+)"', steps()[-1][1])
    assert (ROOT / command[1]).is_file()
    assert "--ServerApp.ip=0.0.0.0" in command


def test_binder_installs_the_pinned_lists():
    folder = ROOT / "binder"
    for line in (folder / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            assert (folder / line.split()[1]).is_file(), line
    minimum = re.search(r"python-(\d+\.\d+)", (folder / "runtime.txt").read_text(encoding="utf-8"))[
        1
    ]
    assert f">={minimum}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("bash") is None, reason="postBuild is a bash script")
def test_post_build_makes_the_copies(tmp_path):
    for name in ("tools", "notebooks", "binder"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    # Its sys.prefix is in the folder, so that no environment gets settings.
    prefix = f"import sys; sys.prefix = {str(tmp_path)!r}; "
    python.write_text(
        f'#!/bin/sh\nif [ "$1" = -c ]; then exec {shlex.quote(sys.executable)} -c "{prefix}$2"; fi\n'
        f'exec {shlex.quote(sys.executable)} "$@"\n'
    )
    python.chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    subprocess.run(
        ["bash", "binder/postBuild"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        env=os.environ | {"PATH": path},
    )
    assert (tmp_path / "practice" / "00_overview_practice.ipynb").is_file()
    assert list(tmp_path.glob("etc/jupyter/labconfig/*.json"))


def test_the_page_names_what_is_there():
    page = (ROOT / "docs" / "class.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:binder|practice|tools)[\w/.]*)`", page):
        assert name == "practice" or (ROOT / name).exists(), name
