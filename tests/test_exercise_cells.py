# ruff: noqa: E501 - the rows of the table are a line each
"""An exercise's cells and its entry in the catalogue are the same exercise, and a change of one alone is seen."""

import functools

import exercise_checks
import nbformat
import numpy as np
import pytest

import attention_lib
from attention_lib.exercises.catalogue import EXERCISES, MODULES

LESSONS = [path for path in exercise_checks.lessons() if path.stem[3:] in MODULES]


@functools.cache
def taught():
    return exercise_checks.where_taught(LESSONS)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_exercises_and_their_solutions_are_those_of_the_catalogue(path):
    assert exercise_checks.about_lesson(path, taught()) == []
    assert exercise_checks.about_solutions(exercise_checks.solutions_of(path), path) == []


def test_every_module_of_the_catalogue_has_its_notebook_and_every_exercise_its_place():
    assert {path.stem[3:] for path in LESSONS} == set(MODULES)
    asked = {part.name for path in LESSONS for part in exercise_checks.parts_of(path)[0]}
    assert asked == set(EXERCISES)


def test_every_question_says_what_it_gives_but_those_about_a_figure_and_about_sentences():
    without = [
        name for name, exercise in EXERCISES.items()
        if not exercise_checks.parameters(name) and not exercise.given
    ]  # fmt: skip
    assert without == ["strongest key", "the noun that fits", "claims about heads"]


# What is changed: notebook, what stands there, what stands there instead, words of the complaint.
BROKEN = [
    # The cell and the catalogue.
    ("01_scores", "def my_scores(Q, K):", "def my_scores(K, Q):", "takes (K, Q), the catalogue's reference (Q, K)"),
    ("02_scaling", "def my_scaling(S, d_k):", "def my_scaling(S):", "takes (S), the catalogue's reference (S, d_k)"),
    ("03_softmax", 'check("softmax", my_softmax)', 'check("softmaxx", my_softmax)', "no exercise 'softmaxx'"),
    ("03_softmax", 'check("softmax", my_softmax)', 'check("softmax", softmax)', "define one function, and hand that one to check"),
    ("03_softmax", 'check("weights that change", ...)', 'check("entropy", my_entropy)', "its exercises are"),
    ("03_softmax", 'check("weights that change", ...)', "answer = ...", "one call of check should follow its text; there is none"),
    # The text and the catalogue.
    ("01_scores", "A function of `Q`, shape $(n_q, d_k)$, and `K`, shape $(n_k, d_k)$", "A function of `K`, shape $(n_k, d_k)$, and `Q`, shape $(n_q, d_k)$", "the arguments in another order"),
    ("01_scores", "`K`, shape $(n_k, d_k)$, that", "`K`, shape $(d_k, n_k)$, that", "the text gives K the shape (d_k, n_k)"),
    ("04_weighted_values", "the values `V`, shape $(n_k, d_v)$, that", "the values `V`, shape $(n_q, d_v)$, that", "the text gives V the shape (n_q, d_v)"),
    ("05_masks", "booleans of shape $(batch, 1, n_k)$", "booleans of shape $(batch, n_k, 1)$", "the text gives the result the shape (batch, n_k, 1)"),
    ("05_masks", "booleans of shape $(batch, 1, n_k)$", "booleans of shape $(batch, n_k)$", "with 3 axes"),
    ("04_weighted_values", "a function of `Q`, `K` and `V` that", "a function of `Q` and `K` that", "what V is"),
    ("10_write_it_all", "give the output $(n_q, d_v)$", "give the output $(n_k, d_v)$", "the text gives the result the shape (n_k, d_v)"),
    # The numbers of a question.
    ("01_scores", "Two queries, three keys, all four", "Three queries, three keys, all four", "its text has the numbers [3, 3, 4], the catalogue computes with [2, 3, 4]"),
    ("00_overview", "Two queries of width 4 meet", "Two queries of width 3 meet", "the catalogue computes with [2, 4, 3, 5]"),
    ("02_scaling", "$d_k = 900$ independent", "$d_k = 400$ independent", "the catalogue computes with [900, 0, 1]"),
    ("02_scaling", "# for d_k = 900", "# for d_k = 400", "a comment in its cell says 400"),
    ("04_weighted_values", "1, 4, 7 and 0. What", "1, 4, 8 and 0. What", "the catalogue computes with [4, 1, 4, 7, 0]"),
    ("05_masks", "of the 36 weights", "of the 25 weights", "the catalogue computes with [6, 36, 0]"),
    ("07_learning", '"c": (0.85, 0.40, 0.85)', '"c": (0.85, 0.40, 0.95)', "measured in its cell is"),
    ("07_learning", "d_k = 1024\nstarts", "d_k = 512\nstarts", "d_k in its cell is 512, in the catalogue 1024"),
    ("07_learning", "**2. Refute it.** Four reports", "**2. Refute it.** Five reports", "its text has the numbers [5]"),
    # Cells that are answers.
    ("01_scores", "def my_scores(Q, K):\n    return ...", "def my_scores(Q, K):\n    return Q @ K.T", "should be a mistake by name; it is Right."),
    ("01_scores", "def my_scores(Q, K):\n    return ...", "def my_scores(Q, K):\n    return ...  # Q @ K.T", "a comment in its cell (scores): Q @ K.T is the answer"),
    ("05_masks", "np.tri(n_q, n_k, -1, dtype=bool)", "np.tri(n_q, n_k, 0, dtype=bool)", "should be a mistake by name; it is Right."),
    ("02_scaling", "np.sqrt(Q.shape[0])", "np.sqrt(Q.shape[0] + 7)", "should be a mistake by name; it is Not yet: another result"),
    ("03_softmax", "def my_softmax(S_scaled):\n    return ...", "def my_softmax(S_scaled):\n    return S_scaled + ...", None),
    ("03_softmax", "def my_softmax(S_scaled):\n    return ...", "def my_softmax(S_scaled):\n    return [[...]]", "should be judged not attempted; it is Not yet: the form of the result."),
    # Hints.
    ("01_scores", "S[i, j] is the dot product of row i of Q and row j of K.", "In NumPy: Q @ K.T does it.", "Hint 2 (scores): Q @ K.T is the answer as it stands"),
    ("01_scores", "-1 is the last axis.", "-1 is the last axis, as in K.swapaxes(-1, -2).", "Hint 3 (scores of a batch): K.swapaxes(-1, -2) is the answer in the cell"),
    ("02_scaling", "The width of one head is the last axis.", "The width of one head is Q.shape[-1], the last axis.", "Hint 3 (scaling of heads): Q.shape[-1] is the answer in the cell"),
    ("04_weighted_values", "softmax is imported at the top", "softmax(S_scaled) is imported at the top", "Hint 3 (from scores to output): softmax(S_scaled) is the answer in the cell"),
    ("06_backward", "np.diag(a) has a on the diagonal.", "np.diag(a) - np.outer(a, a) is it.", "Hint 3 (softmax jacobian)"),
    ("02_scaling", "The standard deviation is the root of the variance.", "The standard deviation is the root of 900, that is 30.", "it says 30, which is the answer"),
    ("03_softmax", "Count the weights of all those rows.", "Count the weights of all those rows: 28.", "it says 28, which is the answer"),
    ("00_overview", "stands over one of the labels at the bottom", "stands over *at*", "it says at, which is the answer"),
    ("03_softmax", "<summary>Hint 2</summary>\n\nThe sum", "<summary>Hint 3</summary>\n\nThe sum", "its hints should be Hint 1, Hint 2, Hint 3"),
    ("03_softmax", "First the scores: which column of S changes?", "", "Hint 1 is empty"),
    ("10_write_it_all", "of the same shape. Look in [02](02_scaling.ipynb).", "of the same shape. Look in [01](01_scores.ipynb).", "a link to 02_scaling.ipynb"),
    # Numbers and titles.
    ("03_softmax", "**2. Mend it.**", "**3. Mend it.**", "numbered [1, 3, 3]"),
    ("03_softmax", "**2. Mend it.**", "**Mend it.**", "there is 'softmax', 'entropy'"),
]  # fmt: skip

BROKEN_SOLUTIONS = [
    ("03_softmax", "**2. Mend it.**", "**2. Write it.**", "not the exercises of 03_softmax.ipynb"),
    ("01_scores", 'check("changed scores", 2)', 'check("weights that change", 28)', "and lacks [(3, 'Predict.', 'changed scores')]"),
    ("03_softmax", 'check("softmax", my_softmax)', 'check("softmax", attention_lib.softmax)', "check is given attention_lib.softmax, which is no function of this cell"),
    ("04_weighted_values", "    return A @ V\n\n\ncheck(\"weighted", "    return attention_lib.weighted_values(A, V)\n\n\ncheck(\"weighted", "only hands its arguments on to weighted_values"),
    ("03_softmax", "    shifted = S_scaled", "    return attention_lib.softmax(S_scaled)\n    shifted = S_scaled", "only hands its arguments on to softmax"),
    ("01_scores", "def my_scores(Q, K):", "def my_scores(Q, K, d_k=4):", "the exercise asks for my_scores(Q, K)"),
    ("02_scaling", "    return S / np.sqrt(d_k)", "    return S / d_k", "it is not right: Not yet: divided by d_k."),
    ("03_softmax", "from attention_lib.exercises import check", "from attention_lib.exercises import check\nfrom attention_lib.exercises.catalogue import EXERCISES", "a solution computes its answer itself"),
    ("07_learning", '"d": (0.24, 0.31, 0.62)', '"d": (0.24, 0.31, 0.52)', "measured is not that of the question"),
]  # fmt: skip


def changed(path, old, new, folder):
    """Return a copy of a notebook with something else in one place of its cells."""
    notebook = nbformat.read(path, as_version=4)
    holding = [cell for cell in notebook.cells if old in cell.source]
    assert holding, f"{path.name} has {old!r} no more: take another place to break"
    holding[-1].source = holding[-1].source.replace(old, new)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []  # figures, which would cost time
    copy = folder / path.name
    nbformat.write(notebook, copy)
    return copy


def lesson(stem):
    (path,) = (path for path in LESSONS if path.stem == stem)
    return path


@pytest.mark.parametrize(("stem", "old", "new", "words"), BROKEN)
def test_a_change_of_one_alone_is_seen(stem, old, new, words, tmp_path):
    found = exercise_checks.about_lesson(changed(lesson(stem), old, new, tmp_path), taught())
    if words is None:
        assert found == []  # another cell with dots is as good
    else:
        assert any(words in complaint for complaint in found), found
        assert all(complaint.startswith(("cell ", "its ", "the ")) for complaint in found)


@pytest.mark.parametrize(("stem", "old", "new", "words"), BROKEN_SOLUTIONS)
def test_a_solution_that_is_none_is_seen(stem, old, new, words, tmp_path):
    path = changed(exercise_checks.solutions_of(lesson(stem)), old, new, tmp_path)
    if "attention_lib." in new and "import" not in new:
        path = changed(path, "import numpy as np", "import numpy as np\nimport attention_lib", tmp_path)  # fmt: skip
    found = exercise_checks.about_solutions(path, lesson(stem))
    assert any(words in complaint for complaint in found), found


def test_a_lost_solution_is_seen(tmp_path):
    path = exercise_checks.solutions_of(lesson("03_softmax"))
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = notebook.cells[:-2]
    nbformat.write(notebook, tmp_path / path.name)
    (found,) = exercise_checks.about_solutions(tmp_path / path.name, lesson("03_softmax"))
    assert found.endswith("lacks [(3, 'Predict.', 'weights that change')]")


@pytest.mark.parametrize(
    ("function", "library"),
    [
        (lambda S: attention_lib.softmax(S), "softmax"),
        (lambda S: EXERCISES["softmax"].reference(S), "softmax"),
        (lambda S: attention_lib.softmax(S.copy()), "softmax"),
        (lambda S: np.exp(S) / np.exp(S).sum(axis=-1, keepdims=True), ""),
        (lambda S: attention_lib.softmax(S - 1), ""),  # a step of its own, and then the library's
    ],
)
def test_who_only_hands_on_is_found(function, library):
    assert exercise_checks.forwarded(function, EXERCISES["softmax"].cases[0]) == library
