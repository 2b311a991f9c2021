"""The pages of the site, made from the notebooks: nothing about a notebook is written twice."""

import copy
import html
import json
import re

from practice import copy_of, practice_copy

SOLUTIONS = "_solutions"
PART = re.compile(r"^- \*\*(You will do|You will learn|You need|Time):\*\* (.+)$", re.MULTILINE)
TO_TRY = re.compile(r"^- \*\*To try it yourself:\*\*.*$\n?", re.MULTILINE)
IMAGE = re.compile(r"<img\b[^>]*>")


def anchor(heading):
    """Return a heading's anchor as JupyterLab makes it, which the notebooks' links use.

    >>> anchor("All four steps")
    'All-four-steps'
    """
    return heading.strip().replace(" ", "-")


def text_of(notebook):
    """Return the text cells of a notebook."""
    return ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown"]


def title_of(notebook):
    """Return the heading of a notebook."""
    return re.search(r"^# (.+)$", text_of(notebook)[0], re.MULTILINE)[1]


def parts_of(notebook):
    """Return what a notebook says of itself under "What to expect", by the name of each line."""
    return {name: said for text in text_of(notebook)[:3] for name, said in PART.findall(text)}


def minutes_of(notebook):
    """Return how long a notebook says it takes, or None."""
    said = re.search(r"\d+", parts_of(notebook).get("Time", ""))
    return int(said[0]) if said else None


def lite_address(lesson, depth):
    """Return the address of a notebook's practice copy in JupyterLite, from a page so deep."""
    return f"{'../' * depth}lite/notebooks/index.html?path={copy_of(lesson).name}"


def book_page(notebook, lesson, has_practice):
    """Return a notebook as the book shows it: a button to its practice copy, figures in boxes."""
    page = copy.deepcopy(notebook)
    depth = len(lesson.parts) - 1
    for cell in page["cells"]:
        if cell["cell_type"] == "markdown":
            text = TO_TRY.sub("", "".join(cell["source"]))
            cell["source"] = _retargeted(text, depth).splitlines(keepends=True)
        for output in cell.get("outputs", []):
            _box(output)
    if has_practice:
        button = (
            f'\n\n<a class="try-it" href="{lite_address(lesson, depth)}">Try it in your browser</a>'
            "\n\nNothing is installed. What you write stays in this browser;"
            " *File*, *Download* saves it to your disk."
        )
        first = page["cells"][0]
        first["source"] = ("".join(first["source"]) + button).splitlines(keepends=True)
    return page


def _retargeted(text, depth):
    """Let links to practice copies open them in JupyterLite."""
    up = "../" * depth

    def there(found):
        return f"]({up}lite/notebooks/index.html?path={found[1]})"

    text = re.sub(r"\]\((?:\.\./)+practice/([\w.]+)\)", there, text)
    return re.sub(r"\]\((lite|(?:\.\./)+lite)/([^)]*)\)", r"](<\1/\2>)", text)


def _box(output):
    """Put a figure into a box that scrolls; its text alternative is the image's own."""
    data = output.get("data", {})
    page = "".join(data.get("text/html", ""))
    if "image/png" not in data or not (found := IMAGE.search(page)):
        return
    data["text/html"] = f'<div class="figure-of-notebook">{found[0]}</div>'
    data.pop("image/png")


def picture(notebook, words):
    """Return the first figure whose text alternative has these words as HTML, alternative and all."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            found = IMAGE.search("".join(output.get("data", {}).get("text/html", "")))
            if found and words in found[0]:
                return f'<div class="figure-of-notebook">{found[0]}</div>'
    raise ValueError(f"picture: no figure of the notebook has {words!r} in its text alternative.")


def table_of_notebooks(notebooks):
    """Return the rows about the notebooks, from their own words, as Markdown.

    Parameters
    ----------
    notebooks : dict
        From the path of a notebook, below the root, to the notebook.
    """
    lines = ["| notebook | minutes | you need |", "|---|---|---|"]
    for path, notebook in notebooks.items():
        needs = re.sub(r"\]\((\w+\.ipynb)", r"](notebooks/\1", parts_of(notebook)["You need"])
        title = f"[{path.stem[:2]} {title_of(notebook)}]({path.as_posix()})"
        lines.append(f"| {title} | {minutes_of(notebook)} | {needs} |")
    return "\n".join(lines)


def tree(names, caption):
    """Return a list of pages for the side bar."""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```"])


def lite_copy(notebook, lesson):
    """Return the practice copy for JupyterLite, with links that lead back into the book."""
    page = practice_copy(notebook, lesson)
    for cell in page["cells"]:
        if cell["cell_type"] == "markdown":
            text = "".join(cell["source"])
            text = re.sub(r"\]\(\.\./notebooks/([\w/]+)\.ipynb", r"](../../notebooks/\1.html", text)
            cell["source"] = text.splitlines(keepends=True)
    page["metadata"] = page["metadata"] | {
        "kernelspec": {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
    }
    return page


def embedding(address):
    """Return the HTML with which another page shows a page of the site."""
    return f'<iframe src="{html.escape(address)}?embed" title="A notebook on attention"></iframe>'


def dumped(notebook):
    """Return a notebook as text."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
