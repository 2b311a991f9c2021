"""Make the practice copies of the notebooks, in which a reader guesses and writes.

    python tools/practice.py [--fresh NOTEBOOK ...]

practice/03_softmax_practice.ipynb is made from notebooks/03_softmax.ipynb: the same cells without
outputs, a box for the guess after each Predict, and the answer folded. A copy that is there stays
as its reader left it, byte for byte; where the notebook has changed since, a line says in which
sections. --fresh makes such a copy anew and keeps the old one beside it.

It needs nothing but Python, so that it runs before anything is installed.
"""

import argparse
import copy
import hashlib
import itertools
import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = "00_overview"

PREDICT = "**Predict.**"
GUESS = "Your guess: "
HOW_TO_GUESS = (
    "*Click beside “Your guess” and type; with the keyboard, Enter and then End. "
    "Shift+Enter goes on.*"
)
FOLDED = "<details><summary>The answer, to compare with your guess</summary>\n\n{}\n\n</details>"
OPENING = "the opening"
RECORD = "practice_copy"  # in the notebook's metadata, where editors leave it alone

LINK = re.compile(r"(\]\()([^()\s]+)(?=[\s)])")
TO_TRY = re.compile(r"^- \*\*To try it yourself:\*\*.*$", re.MULTILINE)


class Unreadable(Exception):
    """There is a file, and no notebook can be read from it."""


def copy_of(lesson):
    """Return where the practice copy of a notebook belongs.

    >>> copy_of(Path("notebooks/03_softmax.ipynb")).as_posix()
    'practice/03_softmax_practice.ipynb'
    """
    return lesson.parent.parent / "practice" / f"{lesson.stem}_practice.ipynb"


def is_written(path):
    """Say whether a path is that of a practice copy which this tool writes, made or not."""
    path = Path(os.path.normpath(path))
    return path in map(copy_of, lessons(path.parent.parent))


def lessons(root=ROOT):
    """Return the notebooks that have a practice copy."""
    return sorted((Path(root) / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def practice_copy(notebook, lesson):
    """Return the practice copy of a notebook, both as nbformat's dict; `lesson` is its path."""
    cells, asked, ran, guesses = [], False, False, 0
    for cell in copy.deepcopy(notebook["cells"]):
        cell["metadata"]["deletable"] = False  # so that "x" or "d d" cannot take it away
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
            ran = asked
        if cell["cell_type"] == "markdown":
            cell["metadata"]["editable"] = False
            text = _relinked("".join(cell["source"]), lesson)
            asks = PREDICT in text
            if not cells:
                text = _titled(text, lesson)
            if ran:
                text, asked, ran = _folded(text), False, False
            if asks and not guesses:
                text += f"\n\n{HOW_TO_GUESS}"
            cell["source"] = text.splitlines(keepends=True)
        cells.append(cell)
        if cell["cell_type"] == "markdown" and asks:
            guesses, asked = guesses + 1, True
            box = {"cell_type": "raw", "id": f"guess-{guesses}", "source": [GUESS]}
            cells.append(box | {"metadata": {"deletable": False}})
    record = {"of": lesson.stem, "sections": sections(notebook)}
    return notebook | {"cells": cells, "metadata": notebook["metadata"] | {RECORD: record}}


def _titled(text, lesson):
    title, _, rest = text.partition("\n")
    reading = f"[The reading edition](../notebooks/{lesson.name})"
    note = f"*Your practice copy: write and change what you like. {reading} has the outputs.*"
    return f"{title}\n\n{note}\n{rest}"


def _relinked(text, lesson):
    """Let the links of a text lead to the same places from practice/, and to other practice copies."""
    here, practice = lesson.parent, copy_of(lesson).parent

    def there(found):
        target, hash_sign, anchor = found[2].partition("#")
        if not target or ":" in target:
            return found[0]
        path = Path(os.path.normpath(here / target))
        if path.parent == here and re.match(r"\d\d_", path.name):
            path = copy_of(path)
        return found[1] + Path(os.path.relpath(path, practice)).as_posix() + hash_sign + anchor

    back = (
        f"- **To read it with its outputs:** [the reading edition](../notebooks/{lesson.name}),"
        " which stays as it is."
    )
    return TO_TRY.sub(back, LINK.sub(there, text))


def hiding_cells(cells):
    """Return the places of answers that would be folded with the only text before the next code.

    >>> texts = [("markdown", "**Predict.** What?"), ("code", "1"), ("markdown", "1"), ("code", "2")]
    >>> hiding_cells([{"cell_type": kind, "source": text} for kind, text in texts])
    [2]
    """
    found, asked, ran = [], False, False
    for place, (cell, after) in enumerate(itertools.pairwise(cells)):
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            ran = asked
        elif cell["cell_type"] == "markdown":
            if ran:
                _, rest = _answer_and_rest(text)
                found += [place] if after["cell_type"] == "code" and not rest else []
                asked = ran = False
            asked |= PREDICT in text
    return found


def _folded(text):
    """Fold an answer, up to where the text goes on to a new section or to the next question."""
    answer, rest = _answer_and_rest(text)
    return "\n\n".join([FOLDED.format(answer), *rest]) if answer else text


def _answer_and_rest(text):
    blocks, fenced, end = re.split(r"\n{2,}", text), False, 0
    for block in blocks:
        if not fenced and (block.startswith("#") or PREDICT in block):
            break
        fenced ^= block.count("```") % 2 == 1
        end += 1
    return "\n\n".join(blocks[:end]), blocks[end:]


def sections(notebook):
    """Return a digest of each section's text and code, by its heading, in order."""
    texts, heading = {}, OPENING
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and (found := re.search(r"^## (.+)", source, re.M)):
            heading = found[1].strip()
        texts[heading] = texts.get(heading, "") + f"\0{cell['cell_type']}\0{source}"
    return {name: hashlib.sha256(t.encode()).hexdigest()[:12] for name, t in texts.items()}


def news(before, now):
    """Say which sections are new, changed or gone.

    >>> news({"By hand": "1", "Sources": "2"}, {"By hand": "3", "Your turn": "4"})
    'New: Your turn. Changed: By hand. Gone: Sources.'
    """
    kinds = {
        "New": [name for name in now if name not in before],
        "Changed": [name for name in now if name in before and now[name] != before[name]],
        "Gone": [name for name in before if name not in now],
    }
    return " ".join(f"{kind}: {', '.join(names)}." for kind, names in kinds.items() if names)


def _read(path):
    try:
        # Some editors put a byte order mark in front.
        notebook = json.loads(path.read_text(encoding="utf-8-sig"))
        sections(notebook)  # as much of a notebook's form as is needed
        for cell in notebook["cells"]:
            cell["metadata"].keys()
        notebook["metadata"].get(RECORD)
    except OSError as error:
        raise Unreadable("it is a folder" if path.is_dir() else error.strerror) from None
    except UnicodeEncodeError:
        raise Unreadable("it holds half a character, which no text can") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is not JSON: {error}") from None
    except (KeyError, TypeError, AttributeError):
        raise Unreadable("it has not the form of a notebook") from None
    return notebook


def _write(path, notebook, aside=None):
    """Write a whole notebook or nothing, and over nothing; what is there goes `aside` first."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(
            json.dumps(notebook, indent=1, ensure_ascii=False) + "\n",
            encoding="utf-8",
            newline="\n",
        )
        if aside:
            _rename(path, aside)
        _rename(part, path)
    finally:
        part.unlink(missing_ok=True)


def _rename(old, new):
    """Rename, and never replace what has the new name (os.rename would)."""
    try:
        os.link(old, new)
    except FileExistsError:
        raise
    except OSError:  # folders, and file systems that have no links
        if os.path.lexists(new):
            raise FileExistsError(new) from None
        os.rename(old, new)
    else:
        os.unlink(old)


def _free_name(path):
    """Return the first name for an old copy that nothing has."""
    number = 1
    while os.path.lexists(kept := path.with_name(f"{path.stem}_kept_{number}.ipynb")):
        number += 1
    return kept


def update(root=ROOT, fresh=()):
    """Write the practice copies that are missing; return what to tell the reader, and whether all went well.

    Parameters
    ----------
    root : Path
        The checkout.
    fresh : collection of str
        Names of notebooks, such as 03_softmax, to copy anew beside the old copy.

    Returns
    -------
    (list of str, bool)
    """
    told, written, kept, outdated, well = [], [], 0, [], True
    folder = root / "practice"
    try:
        folder.mkdir(exist_ok=True)
    except FileExistsError:
        what = "a link that leads nowhere" if folder.is_symlink() else "a file"
        return [
            f"{folder} is {what}. Practice copies need a folder of that name: rename it."
        ], False
    except OSError as error:
        return [_cannot_write(folder, error)], False
    for lesson in lessons(root):
        path = copy_of(lesson)
        there, aside = os.path.lexists(path), None
        try:
            notebook = _read(lesson)
        except Unreadable as error:
            told.append(
                f"notebooks/{lesson.name} cannot be read: {error}. Its practice copy has to wait."
            )
            well = False
            continue
        if there and lesson.stem in fresh:
            aside = _free_name(path)
        elif there:
            kept += 1
            try:
                record = _read(path)["metadata"].get(RECORD)
                changes = news(record["sections"], sections(notebook))
            except Unreadable as error:
                told.append(f"{path.name} cannot be read: {error}. It stays as it is.")
                outdated.append(lesson.stem)
                well = False
            except (KeyError, TypeError, AttributeError):
                told.append(
                    f"{path.name} does not say which edition it is a copy of. It stays as it is."
                )
                outdated.append(lesson.stem)
            else:
                if changes:
                    told.append(f"{lesson.stem} has a newer edition. {changes}")
                    outdated.append(lesson.stem)
            continue
        try:
            _write(path, practice_copy(notebook, lesson), aside)
        except FileExistsError:  # another run was quicker
            continue
        except OSError as error:
            return [*told, _cannot_write(folder, error)], False
        if aside:
            told.append(f"{path.name} is new. Your old copy is {aside.name}.")
        else:
            written.append(path.name)
    if orphans := _orphans(root):
        told.append(
            f"No notebook of the series belongs to {', '.join(orphans)} any more. What you wrote stays there."
        )
    if written and kept:
        told.insert(0, f"New in practice: {', '.join(written)}.")
    elif written:
        told.insert(0, f"Your practice copies are ready: {len(written)} notebooks in practice.")
    elif not told:
        told.append(f"Your practice copies are as you left them: {kept} notebooks in practice.")
    if outdated:
        told.append(
            "Your copies stay as they are. To have new ones, with yours kept beside them:\n"
            f"    {_command(outdated)}"
        )
    return told, well


def _cannot_write(folder, error):
    return (
        f"Nothing can be written in {folder} ({error.strerror}), so no practice copy was made. "
        "The notebooks themselves can be read as they are."
    )


def _command(names):
    if "MAKELEVEL" in os.environ:
        names = " ".join(names)
        return f'make practice FRESH="{names}"' if " " in names else f"make practice FRESH={names}"
    return f"{'py' if os.name == 'nt' else 'python3'} tools/practice.py --fresh {' '.join(names)}"


def say(told):
    """Print what there is to tell, on terminals of any encoding as well."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    print(*told, sep="\n", flush=True)


def _orphans(root):
    """Return the copies whose notebook has gone, or has another name now."""
    known = {copy_of(lesson) for lesson in lessons(root)}
    copies = sorted((root / "practice").glob("[0-9][0-9]_*_practice.ipynb"))
    return [path.name for path in copies if path not in known]


def main(arguments=None):
    """Write the copies and say what is new; return the exit code."""
    parser = argparse.ArgumentParser(
        description="Make the practice copies of the notebooks. Those that are there stay as they are."
    )
    parser.add_argument(
        "--fresh",
        action="extend",
        nargs="+",
        default=[],
        metavar="NOTEBOOK",
        help="make these copies anew, such as 03_softmax; the old ones are kept beside them",
    )
    # A reader may name the copy instead of its notebook.
    chosen = [
        Path(name).stem.removesuffix("_practice") for name in parser.parse_args(arguments).fresh
    ]
    names = [lesson.stem for lesson in lessons()]
    for name in chosen:
        if name not in names:
            parser.error(f"there is no notebook {name}; there are {', '.join(names)}")
    told, well = update(ROOT, chosen)
    say(told)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
