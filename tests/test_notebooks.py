"""What nbval cannot see of a notebook: its form, its order, and that it says what the chapter says."""

import contextlib
import io
import re
from pathlib import Path

import nbformat
import pytest
import surroundings
from hygiene import complaints, everything

from attention_lib.exercises.catalogue import EXERCISES

FOLDER = Path(__file__).parent.parent / "notebooks"
LESSONS = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))  # the glossary has no number, and no exercises
GLOSSARY = FOLDER / "glossary.ipynb"
SOLUTIONS = sorted((FOLDER / "solutions").glob("*.ipynb"))
# On this page a reader writes everything, from memory: there is nothing to predict, or to break, and it
# repeats exercises of the others.
WRITING = FOLDER / "10_write_it_all.ipynb"
ASKING = [path for path in LESSONS if path != WRITING]

CHAPTER_TABLE = """\
[[0.1234 0.2426 0.2145 0.0651 0.3545]
 [0.2248 0.1815 0.158  0.2645 0.1712]
 [0.2517 0.1531 0.1539 0.2708 0.1704]
 [0.1666 0.222  0.1869 0.1256 0.299 ]
 [0.1575 0.2351 0.2459 0.2124 0.1491]]

Row sums: [1. 1. 1. 1. 1.]
All weights non-negative: True
"""


def name(path):
    return path.relative_to(FOLDER).with_suffix("").as_posix()


def solutions_of(path):
    return FOLDER / "solutions" / f"{path.stem}_solutions.ipynb"


def lesson(end):
    """Return the lesson whose name ends so, whatever its number is."""
    (path,) = (path for path in LESSONS if path.stem.partition("_")[2] == end)
    return path


def told(path):
    """Return what each exercise of a notebook was told, by its name: the words of the stored output."""
    cells = nbformat.read(path, as_version=4).cells
    texts = [
        o.data.get("text/plain", "") for c in cells for o in c.get("outputs", []) if "data" in o
    ]
    return dict(
        re.fullmatch(r"\[(.+?)\] (.*)", t, re.DOTALL).groups() for t in texts if t[0] == "["
    )


def test_there_are_notebooks_to_check():
    assert len(LESSONS) >= 9
    assert lesson("softmax").stem == "03_softmax"


def test_copies_that_jupyterlab_keeps_are_no_notebooks_of_the_project(tmp_path, monkeypatch):
    kept = tmp_path / "notebooks" / ".ipynb_checkpoints" / "03_softmax-checkpoint.ipynb"
    kept.parent.mkdir(parents=True)
    for path in (kept, tmp_path / "notebooks" / "03_softmax.ipynb"):
        path.write_text("{}", encoding="utf-8")
    monkeypatch.setattr(surroundings, "ROOT", tmp_path)
    assert surroundings.notebooks() == [tmp_path / "notebooks" / "03_softmax.ipynb"]


def test_each_notebook_has_its_solutions():
    # Under names of their own: an editor's tabs show the name alone.
    assert [solutions_of(path) for path in LESSONS] == SOLUTIONS


@pytest.mark.parametrize("path", everything(), ids=lambda path: path.name)
def test_text_is_clean(path):
    assert complaints(path) == []


def test_softmax_notebook_prints_the_table_of_the_chapter():
    cells = nbformat.read(lesson("softmax"), as_version=4).cells
    printed = [o.text for c in cells if c.cell_type == "code" for o in c.outputs if "text" in o]
    (table,) = [text for text in printed if text.startswith("Attention weight matrix A")]
    assert table.partition("\n")[2] == CHAPTER_TABLE


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_notebook_opens_with_a_question_and_ends_with_what_to_keep(path):
    texts = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown"]
    assert re.match(r"# .*\n\n\*\*The question:\*\* .*\?", texts[0])
    assert [text.split("\n")[0] for text in texts[-2:]] == ["## What to keep", "## Sources"]


@pytest.mark.parametrize("path", ASKING, ids=name)
def test_notebook_asks_before_it_answers(path):
    texts = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown"]
    assert sum("**Predict.**" in text for text in texts) >= 3
    assert all(re.search(r"\?", text) for text in texts if "**Predict.**" in text)
    assert any(text.startswith("## Break it on purpose") for text in texts)


@pytest.mark.parametrize("path", ASKING, ids=name)
def test_notebook_ends_with_exercises_that_nobody_has_done_yet(path):
    cells = nbformat.read(path, as_version=4).cells
    (start,) = [i for i, c in enumerate(cells) if c.source.startswith("## Your turn")]
    assert f"(solutions/{solutions_of(path).name})" in cells[start].source
    answers = told(path)
    assert 2 <= len(answers) <= 4
    assert not [exercise for exercise, answer in answers.items() if answer.startswith("Right")]
    # What is to be written is not attempted, what is to be mended has a mistake that has a name.
    starts = ("Not attempted yet.", "Not yet: ")
    assert all(answer.startswith(starts) for answer in answers.values())
    exercise = re.compile(r"^\*\*\d\.", re.MULTILINE)
    for text in (c.source for c in cells[start:] if exercise.search(c.source)):
        assert [f"Hint {i}" in text for i in (1, 2, 3, 4)] == [True, True, True, False]


@pytest.mark.parametrize("path", SOLUTIONS, ids=name)
def test_solutions_are_right_and_answer_every_exercise(path):
    answers = told(path)
    (its,) = (its for its in LESSONS if solutions_of(its) == path)
    assert list(answers) == list(told(its))
    assert [answer.split(".")[0] for answer in answers.values()] == ["Right"] * len(answers)


def test_every_exercise_stands_in_one_notebook_and_the_last_page_repeats_some():
    taught = [exercise for path in ASKING for exercise in told(path)]
    asked = list(told(WRITING))
    assert len(asked) == 6
    assert sorted(taught) == sorted(EXERCISES.keys() - {asked[-1]})


def printed(path):
    """Return what the cells of a notebook printed, as one text."""
    cells = nbformat.read(path, as_version=4).cells
    return "".join(o.text for c in cells if c.cell_type == "code" for o in c.outputs if "text" in o)


def test_last_page_waits_for_the_reader_and_then_makes_the_table_of_the_chapter():
    answers = told(WRITING)
    assert all(answer.startswith("Not attempted yet.") for answer in answers.values())
    assert "right, too: " + ", ".join(answers) + "\n" in printed(WRITING)
    assert "0.1234" not in printed(WRITING)
    assert printed(solutions_of(WRITING)) == CHAPTER_TABLE.partition("\n\n")[0] + "\n"


def test_last_page_shows_the_table_and_its_picture_when_all_is_written():
    # Its own last cells, behind the functions of its solutions.
    *_, table, picture = (
        c.source for c in nbformat.read(WRITING, as_version=4).cells if c.cell_type == "code"
    )
    solved = nbformat.read(solutions_of(WRITING), as_version=4).cells
    scope, shown = {}, io.StringIO()
    for cell in solved:
        if (
            cell.cell_type == "code"
            and "A = " not in cell.source
            and "show(plot" not in cell.source
        ):
            exec(cell.source, scope)
    drawn = []
    with contextlib.redirect_stdout(shown):
        exec(table, scope)
        exec(picture, scope | {"show": drawn.append})
    assert shown.getvalue() == CHAPTER_TABLE.partition("\n\n")[0] + "\n"
    assert [len(ax.images) + len(ax.collections) for ax in drawn] == [1]


def test_glossary_has_each_term_once_in_the_order_of_the_alphabet():
    title, *terms = (cell.source for cell in nbformat.read(GLOSSARY, as_version=4).cells)
    assert title.startswith("# Look up a word\n")
    headings = [re.match(r"## (.*)\n", text)[1] for text in terms]
    assert headings == sorted(set(headings), key=str.lower)
    # Each says what the word means, and where the reader meets it first.
    assert all(re.search(r"\n\n\*First in notebook .*\d\d\b.*\*$", text) for text in terms)


def test_glossary_names_the_notebook_in_which_a_term_comes_first():
    for text in (cell.source for cell in nbformat.read(GLOSSARY, as_version=4).cells[1:]):
        term = re.match(r"## (.*)\n", text)[1].replace(" ", "-")
        first = re.search(r"\*First in notebook \[?(\d\d)", text)[1]
        for lesson in LESSONS:
            linked = f"(glossary.ipynb#{term})" in lesson.read_text(encoding="utf-8")
            assert not (linked and lesson.name < first), (
                f"{lesson.name} explains {term} before {first}"
            )


@pytest.mark.parametrize("path", [*LESSONS, *SOLUTIONS], ids=name)
def test_code_and_what_it_prints_have_no_greek_letter(path):
    # LaTeX's typewriter font has none, and a PDF would have a gap there, with a line in a log.
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    printed = [o.text for c in cells for o in c.outputs if o.output_type == "stream"]
    assert not re.findall(r"[\u0370-\u03ff]", "\n".join([c.source for c in cells] + printed))
