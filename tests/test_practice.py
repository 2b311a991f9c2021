"""Practice copies: what they are made of, and that nothing a reader wrote is ever lost."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import practice
import pytest
from hygiene import complaints

ROOT = Path(__file__).parent.parent
LESSONS = practice.lessons(ROOT)

TO_TRY = (
    "- **To try it yourself:** [your practice copy](../practice/03_softmax_practice.ipynb), which"
    " `make practice` writes: outputs cleared, room for guesses, yours to change."
)
CELLS = [
    ("markdown", "# Softmax\n\n**The question:** how?"),
    ("markdown", f"## What to expect\n\n- **Time:** short.\n{TO_TRY}"),
    ("markdown", "## By hand\n\n**Predict.** What comes out?"),
    ("markdown", "A word before the code, beside [02](02_scaling.ipynb#By-hand)."),
    ("code", "print(2)"),
    ("code", "print(3)"),
    ("markdown", "Two and three:\n\n$$a$$\n\n```python\n# no heading\n\nx\n```\n\nSee?"),
    ("code", "print(4)"),
    ("markdown", "This stays in sight, and so does [a term](glossary.ipynb#token)."),
    ("markdown", "**Predict.** And now?"),
    ("code", "1 / 0"),
    ("markdown", "An error.\n\n**Predict.** And then?"),
    ("code", "print(5)"),
    (
        "markdown",
        "## What to keep\n\n[Worked](solutions/03_softmax_solutions.ipynb), [all](https://a.b/c).",
    ),
]


def notebook(cells=CELLS):
    """Return a notebook with outputs, as the reading edition has them."""
    made = nbformat.v4.new_notebook()
    for number, (kind, source) in enumerate(cells):
        cell = getattr(nbformat.v4, f"new_{kind}_cell")(source, id=f"c{number}")
        if kind == "code":
            cell.execution_count = number
            cell.outputs = [nbformat.v4.new_output("stream", text="told")]
        made.cells.append(cell)
    made.cells[10].metadata.tags = ["raises-exception"]
    return made


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "notebooks").mkdir()
    for name in ("02_scaling", "03_softmax"):
        nbformat.write(notebook(), tmp_path / "notebooks" / f"{name}.ipynb")
    return tmp_path


@pytest.fixture
def copied(checkout):
    practice.update(checkout)
    return nbformat.read(checkout / "practice" / "03_softmax_practice.ipynb", as_version=4)


def contents(checkout):
    return {path.name: path.read_bytes() for path in (checkout / "practice").iterdir()}


def change(checkout, name, old, new):
    path = checkout / "notebooks" / f"{name}.ipynb"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


# What is in them


def test_copy_is_a_valid_notebook_without_outputs(copied):
    nbformat.validate(copied)
    code = [cell for cell in copied.cells if cell.cell_type == "code"]
    assert [cell.source for cell in code] == [text for kind, text in CELLS if kind == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert code[3].metadata.tags == ["raises-exception"]


def test_each_predict_is_followed_by_a_box_and_the_first_says_how(copied):
    boxes = [i for i, cell in enumerate(copied.cells) if cell.cell_type == "raw"]
    assert [copied.cells[i].source for i in boxes] == ["Your guess: "] * 3
    before = [copied.cells[i - 1].source for i in boxes]
    assert all("**Predict.**" in text for text in before)
    assert [practice.HOW_TO_GUESS in text for text in before] == [True, False, False]


def test_no_key_can_take_away_what_is_given(copied):
    assert all(cell.metadata.deletable is False for cell in copied.cells)
    texts = [cell for cell in copied.cells if cell.cell_type == "markdown"]
    assert all(cell.metadata.editable is False for cell in texts)
    others = [cell for cell in copied.cells if cell.cell_type != "markdown"]
    assert not any("editable" in cell.metadata for cell in others)


def test_answers_are_folded_whole_and_nothing_else(copied):
    texts = [cell.source for cell in copied.cells if "<details>" in cell.source]
    assert len(texts) == 2
    assert texts[0] == practice.FOLDED.format(CELLS[6][1])
    assert texts[1] == practice.FOLDED.format("An error.") + "\n\n**Predict.** And then?"


def test_links_lead_where_they_led(copied):
    text = "\n".join(cell.source for cell in copied.cells)
    for target in (
        "(02_scaling_practice.ipynb#By-hand)",
        "(../notebooks/glossary.ipynb#token)",
        "(../notebooks/solutions/03_softmax_solutions.ipynb)",
        "(https://a.b/c)",
    ):
        assert target in text


def test_copy_says_what_it_is_and_leads_back(copied):
    title, note, question = copied.cells[0].source.split("\n\n")
    assert (title, question) == ("# Softmax", "**The question:** how?")
    assert "practice copy" in note
    assert "(../notebooks/03_softmax.ipynb)" in note
    assert "To try it yourself" not in copied.cells[1].source
    assert "(../notebooks/03_softmax.ipynb)" in copied.cells[1].source


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_every_notebook_gets_a_copy_with_room_for_its_guesses(lesson):
    source = json.loads(lesson.read_text(encoding="utf-8"))
    made = nbformat.from_dict(practice.practice_copy(source, lesson))
    nbformat.validate(made)
    asked = sum("**Predict.**" in "".join(cell["source"]) for cell in source["cells"])
    assert asked >= 3 or lesson.stem == "10_write_it_all"  # where there is nothing to predict
    assert sum(cell.cell_type == "raw" for cell in made.cells) == asked
    texts = ["".join(cell.source) for cell in made.cells if cell.cell_type == "markdown"]
    summary = practice.FOLDED.partition("\n")[0]
    assert sum(summary in text for text in texts) == asked
    assert practice.TO_TRY.search("\n".join(texts)) is None
    for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", "\n".join(texts)):
        path = Path(os.path.normpath(ROOT / "practice" / target))
        assert path.exists() or practice.is_written(path), target


# What happens to them


def test_second_run_changes_nothing(checkout):
    told, well = practice.update(checkout)
    assert well
    assert told == ["Your practice copies are ready: 2 notebooks in practice."]
    before = contents(checkout)
    assert practice.update(checkout) == (
        ["Your practice copies are as you left them: 2 notebooks in practice."],
        True,
    )
    assert contents(checkout) == before


def test_newer_edition_is_told_by_its_sections_and_the_copy_stays(checkout, monkeypatch):
    monkeypatch.delenv("MAKELEVEL", raising=False)
    practice.update(checkout)
    path = checkout / "practice" / "03_softmax_practice.ipynb"
    written = path.read_text(encoding="utf-8").replace("Your guess: ", "Your guess: four", 1)
    path.write_text(written, encoding="utf-8")
    before = contents(checkout)
    change(checkout, "03_softmax", "## What to keep", "## What stays")
    change(checkout, "03_softmax", "A word before", "Two words before")
    told, well = practice.update(checkout)
    assert well
    assert told[0] == (
        "03_softmax has a newer edition. New: What stays. Changed: By hand. Gone: What to keep."
    )
    assert "tools/practice.py --fresh 03_softmax" in told[1]
    assert contents(checkout) == before


def test_other_outputs_are_no_newer_edition(checkout):
    practice.update(checkout)
    change(checkout, "03_softmax", "told", "said")
    assert "as you left them" in practice.update(checkout)[0][0]


def test_fresh_copy_leaves_the_old_ones_beside_it(checkout):
    practice.update(checkout)
    for number in (1, 2):
        before = contents(checkout)
        change(checkout, "03_softmax", "print(", "print(1")
        told, well = practice.update(checkout, ["03_softmax"])
        assert well
        assert told == [
            "03_softmax_practice.ipynb is new. "
            f"Your old copy is 03_softmax_practice_kept_{number}.ipynb."
        ]
        after = contents(checkout)
        new = after.pop("03_softmax_practice.ipynb")
        assert new != before["03_softmax_practice.ipynb"]
        assert after.pop(f"03_softmax_practice_kept_{number}.ipynb") == before.pop(
            "03_softmax_practice.ipynb"
        )
        assert after == before


def test_new_notebook_is_added(checkout):
    practice.update(checkout)
    before = contents(checkout)
    nbformat.write(notebook(), checkout / "notebooks" / "07_learning.ipynb")
    assert practice.update(checkout) == (["New in practice: 07_learning_practice.ipynb."], True)
    assert before.items() < contents(checkout).items()


@pytest.mark.parametrize("moment", ["write_text", "link"])
def test_interrupted_run_leaves_no_half_file(checkout, monkeypatch, moment):
    def half(path, text, **settings):
        path.write_bytes(text[: len(text) // 2].encode())
        raise KeyboardInterrupt

    def stop(old, new):
        raise KeyboardInterrupt

    broken = {"link": (os, "link", stop), "write_text": (Path, "write_text", half)}
    with monkeypatch.context() as patched:
        patched.setattr(*broken[moment])
        with pytest.raises(KeyboardInterrupt):
            practice.update(checkout)
    assert contents(checkout) == {}
    assert practice.update(checkout)[1]


def test_without_links_nothing_is_replaced_either(checkout, monkeypatch):
    def refuse(old, new):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert practice.update(checkout)[1]
    assert len(contents(checkout)) == 2
    old, new = checkout / "old", checkout / "new"
    old.write_text("a")
    new.write_text("b")
    with pytest.raises(FileExistsError):
        practice._rename(old, new)
    assert (old.read_text(), new.read_text()) == ("a", "b")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "it is a folder"),
        ("{", "it is not JSON"),
        ("[]", "it has not the form of a notebook"),
        ('{"cells": [{}]}', "it has not the form of a notebook"),
        ("\x00", "it is not JSON"),
    ],
)
def test_copy_that_cannot_be_read_is_named_and_left(checkout, content, reason):
    path = checkout / "practice" / "03_softmax_practice.ipynb"
    path.parent.mkdir()
    if content is None:
        path.mkdir()
    else:
        path.write_text(content)
    told, well = practice.update(checkout)
    assert not well
    (sentence,) = [line for line in told if line.startswith(path.name)]
    assert reason in sentence
    assert path.is_dir() if content is None else path.read_text() == content
    assert (checkout / "practice" / "02_scaling_practice.ipynb").is_file()
    # And the way out that is offered works.
    told, well = practice.update(checkout, ["03_softmax"])
    assert well
    assert practice.update(checkout)[0][0].startswith("Your practice copies are as you left them")


def test_copy_without_its_record_is_left_and_named(checkout):
    practice.update(checkout)
    path = checkout / "practice" / "03_softmax_practice.ipynb"
    nbformat.write(notebook(), path)
    told, well = practice.update(checkout)
    assert well
    assert "does not say which edition" in told[0]


def test_broken_notebook_waits_and_the_others_are_copied(checkout):
    (checkout / "notebooks" / "02_scaling.ipynb").write_text("<<<<<<< HEAD")
    told, well = practice.update(checkout)
    assert not well
    assert "02_scaling.ipynb cannot be read" in " ".join(told)
    assert list(contents(checkout)) == ["03_softmax_practice.ipynb"]


def test_file_in_place_of_the_folder_is_named(checkout):
    (checkout / "practice").write_text("mine")
    told, well = practice.update(checkout)
    assert not well
    assert "is a file" in told[0]
    assert (checkout / "practice").read_text() == "mine"


def test_folder_that_cannot_be_written_in_is_named(checkout, monkeypatch):
    # Root may write anywhere, so the refusal is made.
    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    told, well = practice.update(checkout)
    assert not well
    assert "Nothing can be written in" in told[0]
    assert "Permission denied" in told[0]


def test_unknown_notebook_is_named():
    run = subprocess.run(
        [sys.executable, ROOT / "tools" / "practice.py", "--fresh", "03"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert "there is no notebook 03; there are 00_overview," in run.stderr


# What else must know them


def test_links_to_copies_that_the_tool_writes_are_right_without_them(checkout):
    page = checkout / "notebooks" / "page.md"
    page.write_text("# Page\n\n[mine](../practice/03_softmax_practice.ipynb)\n")
    assert complaints(page) == []
    practice.update(checkout)
    for wrong in ("04_masks_practice", "03_softmax", "03_softmax_practice_kept_1"):
        (checkout / "practice" / f"{wrong}.ipynb").write_text("{}")
        page.write_text(f"# Page\n\n[mine](../practice/{wrong}.ipynb)\n")
        assert complaints(page) == [
            f"page, line 3: link to ../practice/{wrong}.ipynb, which is not there"
        ]


def test_git_ignores_the_copies_and_clean_leaves_them():
    assert "/practice/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "practice" not in re.search(r"^clean:\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
