"""What is installed and handed on: the pins, the wheel, the source archive."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
READERS = [
    line
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
# Not a part of what is handed on: what git, an editor or a run leaves behind.
LEFT_BEHIND = {"node_modules", "__pycache__", ".ipynb_checkpoints", ".ruff_cache"}


def run(*command, cwd, **environment):
    done = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def pins(name):
    """Return the version that a file of pins has for each package."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pinned = [Requirement(line) for line in lines if line and not line.startswith("#")]
    versions = {}
    for pin in pinned:
        (specifier,) = pin.specifier
        assert specifier.operator == "==", f"{name}: {pin} is no exact version"
        versions.setdefault(_plain(pin.name), []).append(specifier.version)
    return versions


def _plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def asked():
    """Return what the package, its extras and the readers' list ask for, as requirements."""
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in extra), *READERS]
    requirements = [Requirement(line) for line in lines if not line.startswith("-e")]
    return [r for r in requirements if _plain(r.name) != "attention-lib"]


@pytest.mark.parametrize("requirement", asked(), ids=str)
def test_pinned_version_is_one_that_is_asked_for(requirement):
    for version in pins("constraints.txt").get(_plain(requirement.name), ["none"]):
        assert version in requirement.specifier, (
            f"constraints.txt pins {requirement.name}=={version}, and {requirement} is asked for"
        )


@pytest.mark.parametrize("name", pins("constraints-oldest.txt"))
def test_oldest_version_is_within_the_range(name):
    wanted = [r for r in asked() if _plain(r.name) == name]
    for version in pins("constraints-oldest.txt")[name]:
        assert all(version in requirement.specifier for requirement in wanted)


def test_readers_get_the_package_and_what_the_project_fixes():
    assert "-e ." in READERS
    names = {_plain(Requirement(line).name) for line in READERS if line != "-e ."}
    assert {"numpy", "matplotlib", "jupyter", "nbval"} <= names


def test_tests_and_readers_use_one_nbval():
    everywhere = [str(r) for r in asked() if r.name == "nbval"]
    assert len(everywhere) == 2
    assert len({*everywhere}) == 1


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the source archive, and the wheel from it; return both."""
    folder = tmp_path_factory.mktemp("built")
    run("-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT), cwd=folder)
    (archive,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return archive, wheel


def test_source_archive_holds_what_a_checkout_holds(built):
    with tarfile.open(built[0]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
    tops = {
        ".dockerignore",
        "binder",
        ".gitattributes",
        "attention_lib",
        "docs",
        "notebooks",
        "site",
        "tests",
        "tools",
    }
    tops |= {path.name for path in ROOT.iterdir() if path.is_file() and path.name[0] != "."}
    files = (file for top in tops for file in [ROOT / top, *(ROOT / top).rglob("*")])
    checkout = {
        file.relative_to(ROOT).as_posix()
        for file in files
        if file.is_file() and not LEFT_BEHIND & {*file.parts}
    }
    assert held == checkout


def test_wheel_holds_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "attention_lib").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == package


@pytest.mark.long
def test_wheel_works_from_a_clean_folder(built, tmp_path):
    site = tmp_path / "site"
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    run("-m", "pip", "install", *quiet, "--target", str(site), str(built[1]), cwd=tmp_path)
    code = (
        "import attention_lib; print(attention_lib.__file__);"
        "from attention_lib.exercises import check; print(check('output shape', (2, 5)).outcome)"
    )
    printed = run("-c", code, cwd=tmp_path, PYTHONPATH=str(site)).split("\n")
    assert Path(printed[0]).is_relative_to(site)
    assert printed[1] == "right"


@pytest.mark.long
def test_source_archive_passes_its_tests_from_a_clean_folder(built, tmp_path):
    with tarfile.open(built[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    some = ["attention_lib/steps", "tests/test_package.py", "notebooks/solutions"]
    printed = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *some, cwd=folder)
    assert re.search(r"\d{2,} passed", printed)
