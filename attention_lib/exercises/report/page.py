"""One page to look at: exercises by students, and the mistakes by how often they were made."""

import html

from .writing import counted, most_frequent_first

# A sign for each outcome, so that nothing is told by colour alone.
SIGNS = {
    "right": ("&#10003;", "right"),
    "mistake": ("m", "wrong"),
    "different": ("d", "wrong"),
    "form": ("f", "wrong"),
    "raised": ("e", "wrong"),
    "endless": ("&#8734;", "wrong"),
    "not attempted": ("&#183;", "blank"),
    "missing": ("&#8211;", "blank"),
}
OTHER_SIGN = ("!", "stopped")
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; } td, th { padding: 0.2em 0.5em; border: 1px solid #ccc; }
thead th { vertical-align: bottom; } tbody th { text-align: left; font-weight: normal; }
td { text-align: center; min-width: 1.4em; } .scroll { overflow-x: auto; }
.right { background: #d9f0d3; } .wrong { background: #fde0c5; } .stopped { background: #e6d5f0; }
.blank { color: #666; } .side { writing-mode: vertical-rl; transform: rotate(180deg); font-weight: normal; }
dt { margin-top: 0.8em; } dd { margin-left: 2em; color: #444; } .note { color: #555; }
"""


def as_page(rows, submissions, note=""):
    """Return an HTML page that needs nothing from anywhere.

    Parameters
    ----------
    rows : list of Row
    submissions : list of Submission
        Whose they are.
    note : str
        How the report was made, in a sentence.
    """
    counts = counted(rows)
    title = f"{len(submissions)} notebooks, {len(counts)} exercises"
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        f'<h1>{title}</h1><p class="note">{html.escape(note)}</p>',
        "<h2>Who is where</h2>",
        _grid(rows, submissions, list(counts)),
        "<h2>What went wrong</h2>",
        *(_mistakes(rows, name, counter) for name, counter in counts.items()),
        _others(rows),
        "</body></html>\n",
    ]
    return "\n".join(filter(None, parts))


def _grid(rows, submissions, exercises):
    """Return a table: a line per notebook, a column per exercise."""
    cells = {(row.file, row.exercise): row for row in rows}
    heads = "".join(
        f'<th scope="col"><span class="side">{html.escape(name)}</span></th>' for name in exercises
    )
    lines = []
    for one in submissions:
        shown = "".join(_cell(cells.get((one.name, name))) for name in exercises)
        right = sum(row.outcome == "right" for row in rows if row.file == one.name)
        who = html.escape(one.student or one.name)
        lines.append(
            f'<tr><th scope="row" title="{html.escape(one.name)}">{who}</th>{shown}<td>{right}</td></tr>'
        )
    key = ", ".join(f"{sign} {outcome}" for outcome, (sign, _) in SIGNS.items())
    return (
        '<div class="scroll"><table><caption class="note">Each sign: '
        f"{key}, {OTHER_SIGN[0]} anything else. Point at one to read what happened.</caption>"
        f'<thead><tr><th scope="col">student</th>{heads}<th scope="col">right</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(row):
    if row is None:
        return "<td></td>"
    sign, kind = SIGNS.get(row.outcome, OTHER_SIGN)
    words = html.escape(": ".join(filter(None, [row.outcome, row.mistake])))
    return f'<td class="{kind}" title="{words}" aria-label="{words}">{sign}</td>'


def _mistakes(rows, name, counter):
    """Return the mistakes of one exercise, the most frequent first, each with a sentence it got."""
    said = {row.mistake: row.said for row in rows if row.exercise == name and row.said}
    total, right = counter.total(), counter["(right)"]
    wrong = {what: count for what, count in counter.items() if what != "(right)"}
    items = "".join(
        f"<dt>{count} &#215; {html.escape(what)}</dt>"
        + (f"<dd>{html.escape(said[what])}</dd>" if what in said else "")
        for what, count in most_frequent_first(wrong)
    )
    return f"<h3>{html.escape(name)}: {right} of {total} right</h3><dl>{items}</dl>"


def _others(rows):
    """Return what happened beside the exercises, and which files were not run."""
    items = "".join(
        f"<li>{html.escape(row.file)}: {html.escape(row.outcome)}. {html.escape(row.mistake)}</li>"
        for row in rows
        if not row.exercise
    )
    return f"<h2>Besides</h2><ul>{items}</ul>" if items else ""
