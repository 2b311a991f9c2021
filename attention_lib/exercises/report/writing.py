"""Rows as a table, as a summary, and as CSV."""

import collections
import csv
import io
import textwrap
import unicodedata

from ..catalogue import EXERCISES
from .rows import Row

WIDEST_MISTAKE = 90  # in the table; a CSV file has it whole
IN_TABLE = Row._fields[:4]


def as_table(rows):
    """Return rows as aligned text.

    Examples
    --------
    >>> print(as_table([Row("ann.ipynb", "softmax", "mistake", "argmax")]))
    file       exercise  outcome  mistake
    ann.ipynb  softmax   mistake  argmax
    """
    lines = [
        (*line[:3], textwrap.shorten(line[3], WIDEST_MISTAKE, placeholder=" ..."))
        for line in [IN_TABLE, *rows]
    ]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            text + " " * (width - _width(text)) for text, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def summary(rows):
    """Return, for each exercise, how many got it right, and what went wrong, the most frequent first.

    Examples
    --------
    >>> outcomes = [("right", ""), ("mistake", "argmax"), ("raised", ""), ("mistake", "argmax")]
    >>> print(summary([Row("a student's", "softmax", *outcome) for outcome in outcomes]))
    softmax: 1 of 4 right, 0 not attempted
        2  argmax
        1  (raised)
    """
    lines = []
    for name, counter in counted(rows).items():
        total = counter.total()
        right, blank = counter.pop("(right)", 0), counter.pop("(not attempted)", 0)
        lines.append(f"{name}: {right} of {total} right, {blank} not attempted")
        lines += [f"{count:5}  {what}" for what, count in most_frequent_first(counter)]
    besides = collections.Counter(row.outcome for row in rows if not row.exercise)
    if besides:
        often = [f"{count} {what}" for what, count in most_frequent_first(besides)]
        lines.append(f"Besides: {', '.join(often)}")
    return "\n".join(lines)


def as_csv(rows):
    """Return rows as CSV, with a header.

    A field that a spreadsheet would take for a formula gets an apostrophe in front.

    Examples
    --------
    >>> print(as_csv([Row("=1+1.ipynb", "softmax", "mistake", "argmax, twice")]), end="")
    file,exercise,outcome,mistake,said
    '=1+1.ipynb,softmax,mistake,"argmax, twice",
    """
    return table_as_csv([Row._fields, *rows])


def table_as_csv(lines):
    """Return lines of fields as CSV, none of them a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for line in lines:
        fields = map(str, line)
        writer.writerow(
            "'" + field if field.startswith(tuple("=+-@")) else field for field in fields
        )
    return text.getvalue()


def write_csv(path, text):
    """Write CSV so that a spreadsheet reads its accents: with a byte order mark."""
    path.write_text(text, encoding="utf-8-sig", newline="")


def counted(rows):
    """Return for each exercise, in the order of the notebooks, how often what happened."""
    counts = {name: collections.Counter() for name in EXERCISES}
    for row in rows:
        if row.exercise:
            what = row.mistake if row.outcome == "mistake" else f"({row.outcome})"
            counts.setdefault(row.exercise, collections.Counter())[what] += 1
    return {name: counter for name, counter in counts.items() if counter}


def most_frequent_first(counter):
    """Return what was counted, with its count; of one count, the mistakes that have a name first."""
    return sorted(counter.items(), key=lambda item: (-item[1], item[0].startswith("("), item[0]))


def _width(text):
    """Return how many columns of a terminal a text takes."""
    return sum(
        2 if unicodedata.east_asian_width(sign) in "WF" else not unicodedata.combining(sign)
        for sign in text
    )
