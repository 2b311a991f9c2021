"""A row per student: a column per exercise, and a total, as gradebooks read them."""

from ..catalogue import EXERCISES
from .writing import counted

FORMS = ("table", "moodle", "canvas", "nbgrader")
# Without this column Moodle's importer (mod/assign/feedback/offline) takes no file.
MOODLE_NEEDS = "Last modified (grade)"
# The header of what nbgrader exports.
NBGRADER = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


def as_lines(rows, submissions, form="table"):
    """Return a gradebook's lines, the header first. A right answer is worth 1.

    Parameters
    ----------
    rows : list of Row
    submissions : list of Submission
        Whose they are.
    form : str
        "table"; "moodle", as its grading worksheet, whose Identifier it matches; "canvas", as
        its gradebook's import, with the points possible in the second line; or "nbgrader", as
        `nbgrader export` writes it, a line per student and assignment. nbgrader's is compared
        with its own in a test; the other two follow Moodle's importer and Canvas' description.

    Examples
    --------
    >>> from .finding import Submission
    >>> from .rows import Row
    >>> submissions = [Submission(None, "a.ipynb", "Ann", "17")]
    >>> rows = [Row("a.ipynb", "softmax", "right", ""), Row("a.ipynb", "scaling", "raised", "")]
    >>> for line in as_lines(rows, submissions, "moodle"):
    ...     print(*line, sep=",")
    Identifier,Full name,scaling,softmax,Grade,Maximum Grade,Last modified (grade)
    Participant 17,Ann,0,1,1,2,
    """
    rows = [row for row in rows if row.exercise in EXERCISES]  # not a name that was misspelt
    exercises = list(counted(rows))
    students = _points(rows, submissions, by_assignment=form == "nbgrader")
    most = len(exercises)
    if form == "nbgrader":
        return [NBGRADER, *_as_nbgrader(students)]
    columns = {
        (student, number): [points.get(name, 0) for name in exercises]
        for (student, number, _), points in students.items()
    }
    if form == "moodle":
        return [
            ["Identifier", "Full name", *exercises, "Grade", "Maximum Grade", MOODLE_NEEDS],
            *(
                [
                    f"Participant {number}" if number else student,
                    student,
                    *points,
                    sum(points),
                    most,
                    "",
                ]
                for (student, number), points in columns.items()
            ),
        ]
    if form == "canvas":
        return [
            ["Student", "ID", "SIS Login ID", "Section", *exercises],
            ["    Points Possible", "", "", "", *[1] * most],
            *([student, number, "", "", *points] for (student, number), points in columns.items()),
        ]
    return [
        ["student", *exercises, "total", "of"],
        *([student, *points, sum(points), most] for (student, _), points in columns.items()),
    ]


def _as_nbgrader(students):
    """Return a line per student and assignment. What nbgrader alone knows stays empty."""
    asked = {}
    for (_, _, assignment), points in students.items():
        asked.setdefault(assignment, set()).update(points)
    for (student, _, assignment), points in students.items():
        known = {"assignment": assignment, "student_id": student, "late_submission_penalty": 0.0}
        score = float(sum(points.values()))
        known |= {"raw_score": score, "score": score, "max_score": float(len(asked[assignment]))}
        yield [known.get(name, "") for name in NBGRADER]


def _points(rows, submissions, by_assignment):
    """Return the points of each student, sorted by name. Of several answers the best one counts."""
    owners = {
        one.name: (one.student, one.number, one.assignment if by_assignment else "")
        for one in submissions
    }
    points = {owner: {} for owner in sorted(owners.values())}
    for row in rows:
        if row.file in owners:
            mine = points[owners[row.file]]
            mine[row.exercise] = max(mine.get(row.exercise, 0), int(row.outcome == "right"))
    return points
