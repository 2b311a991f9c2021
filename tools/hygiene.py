"""Find what is wrong with a notebook, a page or a docstring without executing anything.

    python tools/hygiene.py [FILE ...]     (everything the project keeps clean when none is named)

nbval executes and compares; it passes over a cell that was never run, over order, metadata,
warnings, the form of the text, and numbers in prose that no cell bears out. One line per
complaint; exit code 1 if there is any.
"""

import ast
import json
import os
import re
import sys
from pathlib import Path

import nbformat
from practice import is_written
from refresh import METADATA
from surroundings import ROOT, notebooks

MOST_LINES = 15
MOST_WORDS = 150

PATH = r"/(home|root|Users|tmp|work)/|\b[A-Z]:\\\\"

# Left in an output by an object that nobody formatted, or by a machine.
UNMEANT = {
    r"np\.((float|u?int|bool|str)\w*\(|(True|False)_)": "a bare NumPy scalar; format it",
    r"<[\w.]+( object)? at 0x": "the address of an object",
    r"<(Axes|Figure)\b": "a bare matplotlib object; draw it with show(...)",
    r"Warning\b": "a warning",
    PATH: "a path of one machine",
    r"-0\.0*(?![\d.])": "a negative zero; format with z",
}
# Numbers that belong to the subject and may stand in prose without a cell that prints them: counting
# words, and what the chapter and the papers are called. Everything else is a claim.
CONSTANTS = {float(n) for n in range(11)}
NUMBER = re.compile(r"(?<![\w.^{/:-])\d+(?:\.\d+)?(?![\w]|\.\d)")

MAGIC = re.compile(r"^\s*[%!]", re.MULTILINE)
SKIPPING = re.compile(r"NBVAL_|nbval-|PYTEST_VALIDATE_IGNORE")


def complaints(path):
    """Return what is wrong with one notebook, page or module, a sentence each."""
    kinds = {".ipynb": _of_notebook, ".md": _of_page, ".py": _of_module}
    return list(kinds[path.suffix](path))


def _of_notebook(path):
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        ids = [cell.get("id") for cell in written["cells"]]
        if None in ids or len(set(ids)) < len(ids):
            return ["cell ids are missing or not unique"]  # nbformat would mend that unasked
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except Exception as error:
        return [f"not a valid notebook: {error}"]
    found = []
    if notebook.metadata != METADATA:
        found.append(f"metadata is not the project's: {dict(notebook.metadata)}")
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    if counts != list(range(1, len(counts) + 1)):
        found.append(f"not run from the top in one go: counts {counts}")
    cells = [(f"cell {number}", cell) for number, cell in enumerate(notebook.cells)]
    texts = [(place, cell.source) for place, cell in cells if cell.cell_type == "markdown"]
    found += _about_text(path.parent, texts)
    for place, text in texts:
        words = [word for word in text.split() if re.search(r"\w", word)]  # a table's bars are none
        if len(words) > MOST_WORDS:
            found.append(f"{place}: {len(words)} words; split it below {MOST_WORDS}")
    found += _about_numbers(cells)
    before = None
    for place, cell in cells:
        if cell.cell_type not in {"code", "markdown"} or not cell.source.strip():
            found.append(f"{place}: neither text nor code")
        if cell.cell_type == "code":
            about = [*_about_code(cell), *_about_outputs(cell)]
            if before != "markdown":
                about.append("no text before the code")
            found += [f"{place}: {complaint}" for complaint in about]
        before = cell.cell_type
    return found


def _of_page(path):
    """Check a Markdown page. Its numbers must stand in its examples or in the project's settings."""
    text = path.read_text(encoding="utf-8")
    yield from _about_text(path.parent, [("page", text)])
    examples = "".join(re.findall(r"```.*?```", text, re.DOTALL))
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    known = {*_numbers(examples), *_numbers(settings), MOST_LINES}
    # The minutes in the table of notebooks are compared with the notebooks elsewhere.
    prose = re.sub(r"```.*?```|^\|.*$", "", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^!?\[([^\]]*)\]", r"\1", prose, flags=re.MULTILINE)
    for number in _unfounded(prose, known):
        yield f"the text says {number}, which no example of the page has"


def _of_module(path):
    """Check docstrings: a number in prose must stand in the example below it, or in the code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            prose, _, example = ast.get_docstring(node).partition("Examples\n--------\n")
            example, _, _sources = example.partition("References\n----------\n")
            prose, _, _sources = prose.partition("References\n----------\n")
            code = ast.unparse(ast.Module(node.body[1:], []))
            for number in _unfounded(prose, {*_numbers(example), *_numbers(code)}):
                name = getattr(node, "name", "module")
                yield f"docstring of {name}: it says {number}, which neither example nor code has"


def _about_text(folder, texts):
    level = 0
    for place, text in texts:
        plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        if re.search(PATH, text):
            yield f"{place}: a path of one machine"
        if SKIPPING.search(text):
            yield f"{place}: a marker of nbval"
        for hashes in re.findall(r"^(#+) ", plain, re.MULTILINE):
            if len(hashes) > level + 1 or (len(hashes) == 1 and level):
                yield f"{place}: heading of level {len(hashes)} after level {level}"
            level = len(hashes)
        for words, target in re.findall(r"\[([^\]]*)\]\(([^)]*)\)", plain):
            if words.strip().lower() in {"", "here", "link", "this", "click here"}:
                yield f"{place}: a link whose text, {words!r}, does not say where it leads"
            if "://" not in target and not _is_there(folder, target, texts):
                yield f"{place}: link to {target}, which is not there"
    if not texts or not texts[0][1].startswith("# "):
        yield "it does not begin with a title"


def _is_there(folder, target, texts):
    """Say whether a link leads somewhere: to a file, and in a notebook to a heading of it."""
    name, _, heading = target.partition("#")
    path = folder / name
    if not _leads_somewhere(path):
        return False
    if not path.exists():  # a practice copy, whose headings are its lesson's
        return not heading
    if heading and path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = [("", "".join(c["source"])) for c in cells if c["cell_type"] == "markdown"]
    elif name:
        return True
    return not heading or heading in _anchors(texts)


def _anchors(texts):
    """Return what headings are called in links: JupyterLab keeps their case, and - stands for a blank."""
    headings = re.findall(r"^#+ +(.*?) *$", "\n".join(text for _, text in texts), re.MULTILINE)
    return {heading.replace(" ", "-") for heading in headings}


def _leads_somewhere(path):
    # A clean checkout has no practice copies: what counts is that `make practice` writes this one.
    folder = Path(os.path.normpath(path)).parent
    if folder.name == "practice" and (folder.parent / "notebooks").is_dir():
        return is_written(path)
    return path.exists()


def _about_numbers(cells):
    """Find numbers in prose that no cell of the same section has in its code or its output.

    A section reaches from one heading of level 2 to the next. Sources and the opening speak of
    other things.
    """
    sections, heading = {}, ""
    for place, cell in cells:
        if cell.cell_type == "markdown" and (
            found := re.search(r"^## (.*)", cell.source, re.MULTILINE)
        ):
            heading = found[1]
        sections.setdefault(heading, []).append((place, cell))
    opening = {""} if len(sections) > 1 else set()  # solutions have one section, without a heading
    for heading, members in sections.items():
        if heading in opening | {"What to expect", "The series", "Sources"}:
            continue
        known = {n for _, cell in members if cell.cell_type == "code" for n in _numbers_of(cell)}
        for place, cell in members:
            if cell.cell_type == "markdown":
                for number in _unfounded(cell.source, known):
                    yield f"{place}: the text says {number}, which no cell of its section has or prints"


def _unfounded(prose, known):
    """Return the numbers in prose that are not among the known ones, nor rounded from one."""
    claims = NUMBER.findall(re.sub(r"`[^`]*`|\]\([^)]*\)|\[[^\]]*\](?=\()", " ", prose))
    return [
        text
        for text in claims
        if float(text) not in CONSTANTS
        and not any(round(n, len(text.partition(".")[2])) == float(text) for n in known)
    ]


def _numbers(text):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def _numbers_of(cell):
    texts = [cell.source]
    for output in cell.outputs:
        texts += [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
    return _numbers("\n".join(texts))


def _about_code(cell):
    source = cell.source
    if source.count("\n") >= MOST_LINES:
        yield f"{source.count(chr(10)) + 1} lines; the limit is {MOST_LINES}"
    if re.search(PATH, source):
        yield "a path of one machine"
    if MAGIC.search(source):
        yield "a magic or shell command"
    if SKIPPING.search(source):
        yield "a marker that keeps nbval from comparing"
    if set(cell.metadata.get("tags", [])) - {"raises-exception"}:
        yield f"tags that skip or hide it: {cell.metadata.tags}"
    if set(cell.metadata) - {"tags"}:
        yield f"metadata beyond tags: {sorted(cell.metadata)}"
    try:
        tree = ast.parse(source)
    except SyntaxError:
        yield "not plain Python"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(".steps" in name.name for name in node.names):
            yield "imports a step's module: take public names from attention_lib"
        if isinstance(node, ast.ImportFrom):
            parts = f"{node.module}.{'.'.join(name.name for name in node.names)}".split(".")
            if any(part.startswith("_") or part in {"steps", "*"} for part in parts):
                yield f"imports {node.module}: take public names from attention_lib"


def _about_outputs(cell):
    raises = "raises-exception" in cell.metadata.get("tags", [])
    errors = [output for output in cell.outputs if output.output_type == "error"]
    if raises != bool(errors):
        yield (
            "tagged raises-exception but did not raise"
            if raises
            else "an error output without its tag"
        )
    defines = re.search(r"^\s*def ", cell.source, re.MULTILINE)
    if re.search(r"\b(print|show)\(", cell.source) and not defines and not cell.outputs:
        yield "prints or draws, but has no output"
    for output in cell.outputs:
        if output.get("name") == "stderr":
            yield "output on stderr"
        data = output.get("data", {})
        page = data.get("text/html", "")
        if "image/png" in data and "<img" not in page:
            yield "a figure without a text alternative; draw it with show(...)"
        elif "image/png" in data and f'base64,{data["image/png"].strip()}"' not in page:
            yield "the picture on the page is another one than that of LaTeX and other exports"
        if "for which there are no words" in data.get("text/plain", ""):
            yield "a figure of which the description says nothing"
        if "<img" in page and not re.search(r'<img alt="[^"]{20,}"', page):
            yield "an image without a text alternative"
        text = output.get("text", "") + data.get("text/plain", "")
        for pattern, meaning in UNMEANT.items():
            if re.search(pattern, text):
                yield f"in its output, {meaning}"


def everything():
    """Return what the project keeps clean: notebooks, pages, and the package."""
    return [
        *notebooks(),
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "attention_lib").rglob("*.py")),
    ]


def main(arguments):
    """Check what is named, or everything; return the exit code."""
    failed = False
    for path in [Path(argument).resolve() for argument in arguments] or everything():
        for complaint in complaints(path):
            failed = True
            print(f"{path.name}: {complaint}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
