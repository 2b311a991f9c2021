"""A release is made whole or not at all. In a repository of its own, which holds a small package."""

import hashlib
import subprocess
import sys

import pytest
import release as tool
from release import Refused, check, release

DAY = "2030-01-31"
PASS, FAIL = [sys.executable, "-c", ""], [sys.executable, "-c", "raise SystemExit(1)"]
PYPROJECT = """\
[build-system]
requires = ["flit_core >=3.11,<4"]
build-backend = "flit_core.buildapi"
[project]
name = "attention_lib"
description = "A package to release."
dynamic = ["version"]
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ann@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    root = tmp_path / "checkout"
    (root / "attention_lib").mkdir(parents=True)
    (root / tool.CODE).write_text('"""A package."""\n\n__version__ = "0.1.0"\n')
    (root / tool.CHANGES).write_text(
        "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0\n\n- Old.\n"
    )
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / ".gitignore").write_text("/dist/\n")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "First")
    return root


def git(root, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def as_it_was(root):
    return (
        git(root, "status", "--porcelain") == ""
        and git(root, "tag") == ""
        and git(root, "log", "--format=%s") == "First"
        and '"0.1.0"' in (root / tool.CODE).read_text()
        and "## Unreleased" in (root / tool.CHANGES).read_text()
    )


def test_a_release_has_its_version_date_tag_archives_hashes_and_notes(checkout):
    made = release(checkout, "0.2.0", PASS, DAY)
    assert [path.name for path in made] == [
        "attention_lib-0.2.0-py2.py3-none-any.whl",
        "attention_lib-0.2.0.tar.gz",
    ] or [path.name for path in made] == [
        "attention_lib-0.2.0-py3-none-any.whl",
        "attention_lib-0.2.0.tar.gz",
    ]
    assert '__version__ = "0.2.0"' in (checkout / tool.CODE).read_text()
    assert f"## 0.2.0 ({DAY})\n\n- New.\n\n## 0.1.0" in (checkout / tool.CHANGES).read_text()
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "rev-parse", "v0.2.0^{commit}") == git(checkout, "rev-parse", "HEAD")
    sums = (checkout / "dist/0.2.0/SHA256SUMS").read_text().splitlines()
    assert sums == [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}" for p in made]
    assert (checkout / "dist/0.2.0/NOTES.md").read_text() == "- New.\n"


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("0.1.0", "does not come after"),
        ("0.0.9", "does not come after"),
        ("newest", "not a version"),
        ("v0.2.0", "is written 0.2.0"),
    ],
)
def test_a_version_that_is_not_next_is_refused(checkout, version, words):
    with pytest.raises(Refused, match=words):
        release(checkout, version, PASS, DAY)
    assert as_it_was(checkout)


def test_a_tag_that_is_there_is_refused(checkout):
    git(checkout, "tag", "v0.2.0")
    with pytest.raises(Refused, match=r"tag v0\.2\.0 already"):
        check(checkout, "0.2.0")


@pytest.mark.parametrize("name", ["new.txt", "CHANGELOG.md"])
def test_changes_that_are_not_committed_are_refused(checkout, name):
    (checkout / name).write_text("something")
    with pytest.raises(Refused, match="not committed"):
        release(checkout, "0.2.0", PASS, DAY)
    assert (checkout / name).read_text() == "something"


def test_a_release_of_nothing_new_is_refused(checkout):
    (checkout / tool.CHANGES).write_text("# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- Old.\n")
    git(checkout, "commit", "--quiet", "--all", "--message", "Nothing")
    with pytest.raises(Refused, match="says what is new"):
        check(checkout, "0.2.0")


def test_tests_that_fail_leave_all_as_it_was(checkout):
    with pytest.raises(Refused, match="tests failed"):
        release(checkout, "0.2.0", FAIL, DAY)
    assert as_it_was(checkout)


def test_a_build_that_fails_leaves_all_as_it_was(checkout, monkeypatch):
    monkeypatch.setattr(tool, "build", lambda *_: (_ for _ in ()).throw(Refused("no disk")))
    with pytest.raises(Refused, match="no disk"):
        release(checkout, "0.2.0", PASS, DAY)
    assert as_it_was(checkout)


def test_a_tag_that_fails_takes_the_commit_back(checkout, monkeypatch):
    real = tool.git

    def no_tag(root, *arguments):
        if arguments[:2] == ("tag", "--annotate"):
            raise Refused("git tag: no")
        return real(root, *arguments)

    monkeypatch.setattr(tool, "git", no_tag)
    with pytest.raises(Refused, match="no"):
        release(checkout, "0.2.0", PASS, DAY)
    assert as_it_was(checkout)


def test_a_trial_changes_nothing(checkout, monkeypatch, capsys):
    monkeypatch.setattr(tool, "ROOT", checkout)
    tool.main(["0.2.0", "--dry-run"])
    assert "- New." in capsys.readouterr().out
    assert as_it_was(checkout)
    with pytest.raises(SystemExit, match=r"No release: 0\.1\.0 does not come after"):
        tool.main(["0.1.0", "--dry-run"])
