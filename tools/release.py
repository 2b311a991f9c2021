"""Make a release: version, changelog, tests, commit and tag, archives with their hashes, notes.

    python tools/release.py VERSION [--dry-run] [--tests COMMAND]

All is made here, in this checkout and its folder dist; nothing is sent anywhere. What to send is
printed at the end. The changelog needs a section "Unreleased" that says what is new. A run that
fails leaves the files as they were, and no tag.
"""

import argparse
import datetime
import hashlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parent.parent
CODE, CHANGES = Path("attention_lib", "__init__.py"), Path("CHANGELOG.md")
IN_CODE = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
UNRELEASED = re.compile(r"^## Unreleased\n+(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


class Refused(Exception):
    """The release cannot be made; the sentence says why, and nothing was changed."""


def git(root, *arguments):
    """Run git and return what it printed."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def check(root, wanted):
    """Return the notes of a release that can be made; refuse one that cannot."""
    try:
        version = Version(wanted)
    except InvalidVersion:
        raise Refused(f"{wanted} is not a version, as 0.2.0 is") from None
    if str(version) != wanted:
        raise Refused(f"{wanted} is written {version}")
    if git(root, "status", "--porcelain"):
        raise Refused("there are changes that are not committed; git status shows them")
    if git(root, "tag", "--list", f"v{wanted}"):
        raise Refused(f"there is a tag v{wanted} already")
    present = IN_CODE.search((root / CODE).read_text(encoding="utf-8"))[1]
    if version <= Version(present):
        raise Refused(f"{wanted} does not come after {present}, the version in {CODE.as_posix()}")
    found = UNRELEASED.search((root / CHANGES).read_text(encoding="utf-8"))
    if not found or not found[1].strip():
        raise Refused(f'{CHANGES} has no section "## Unreleased" that says what is new')
    return found[1].strip() + "\n"


def write(root, version, day):
    """Put the version into the package, and with the date into the changelog."""
    code, changes = root / CODE, root / CHANGES
    text = code.read_text(encoding="utf-8")
    code.write_text(IN_CODE.sub(f'__version__ = "{version}"', text), encoding="utf-8", newline="\n")
    text = changes.read_text(encoding="utf-8")
    text = text.replace("## Unreleased\n", f"## {version} ({day})\n", 1)
    changes.write_text(text, encoding="utf-8", newline="\n")


def build(root, version, notes):
    """Make the source archive and the wheel in dist, with their hashes and the notes beside them."""
    dist = root / "dist" / version
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(root)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Refused(
            f"the archives could not be built:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    made = sorted([*dist.glob("*.tar.gz"), *dist.glob("*.whl")])
    # In the form that sha256sum --check reads.
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made]
    (dist / "SHA256SUMS").write_text("".join(lines), encoding="utf-8", newline="\n")
    (dist / "NOTES.md").write_text(notes, encoding="utf-8", newline="\n")
    return made


def release(root, version, tests, day):
    """Make a release; whatever goes wrong on the way, the files come back as they were."""
    notes = check(root, version)
    start = git(root, "rev-parse", "HEAD")
    try:
        write(root, version, day)
        if subprocess.run(tests, cwd=root).returncode:
            raise Refused(f"the tests failed: {shlex.join(tests)}")
        if sorted(git(root, "diff", "--name-only").split()) != [CHANGES.name, CODE.as_posix()]:
            raise Refused("the tests changed other files; git status shows them")
        made = build(root, version, notes)
        git(root, "commit", "--quiet", "--all", "--message", f"Version {version}")
        git(root, "tag", "--annotate", f"v{version}", "--message", f"Version {version}")
    except BaseException:
        # The commit, if it was made, and the two files; not what somebody else wrote meanwhile.
        git(root, "reset", "--quiet", "--soft", start)
        git(root, "restore", "--staged", "--worktree", "--", str(CODE), str(CHANGES))
        raise
    return made


def main(arguments):
    """Make the release that is named, or say what would be made."""
    parser = argparse.ArgumentParser(description="Make a release in this checkout.")
    parser.add_argument("version")
    parser.add_argument(
        "--dry-run", action="store_true", help="check, print the notes, change nothing"
    )
    parser.add_argument(
        "--tests",
        default=shlex.join([sys.executable, "-m", "pytest", "-n", "auto"]),
        help="the command that has to succeed",
    )
    chosen = parser.parse_args(arguments)
    try:
        if chosen.dry_run:
            print(
                f"Version {chosen.version} can be made. Its notes:\n\n{check(ROOT, chosen.version)}"
            )
            return
        day = datetime.date.today().isoformat()
        made = release(ROOT, chosen.version, shlex.split(chosen.tests), day)
    except Refused as refused:
        sys.exit(f"No release: {refused}.")
    print(f"Version {chosen.version} is committed and tagged. To publish it:")
    print(f"  git push --follow-tags\n  twine upload {' '.join(str(path) for path in made)}")


if __name__ == "__main__":
    main(sys.argv[1:])
