"""Find what is wrong with a notebook without executing it.

    python tools/hygiene.py [NOTEBOOK ...]     (all of them when none is named)

nbval executes and compares; it passes over a cell that was never run, over order, metadata,
warnings and the form of the text. One line per complaint; exit code 1 if there is any.
"""

import ast
import json
import re
import sys
from pathlib import Path

import nbformat
from refresh import METADATA, ROOT

MOST_LINES = 15
MOST_WORDS = 150

PATH = r"/(home|root|Users|tmp|work)/|\b[A-Z]:\\\\"

# Left in an output by an object that nobody formatted, or by a machine.
UNMEANT = {
    r"np\.((float|u?int|bool|str)\w*\(|(True|False)_)": "a bare NumPy scalar; format it",
    r"<[\w.]+( object)? at 0x": "the address of an object",
    r"<(Axes|Figure)\b": "a bare matplotlib object; end the cell with show(...)",
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
    """Return what is wrong with one notebook, a sentence each."""
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
    found += _about_text(path, notebook)
    found += _about_numbers(notebook)
    before = None
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            about = [*_about_code(cell), *_about_outputs(cell)]
            if before != "markdown":
                about.append("no text before the code")
            found += [f"cell {number}: {complaint}" for complaint in about]
        before = cell.cell_type
    return found


def _about_text(path, notebook):
    texts = [
        (n, cell.source) for n, cell in enumerate(notebook.cells) if cell.cell_type == "markdown"
    ]
    level = 0
    for number, text in texts:
        plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        if len(plain.split()) > MOST_WORDS:
            yield f"cell {number}: {len(plain.split())} words; split it below {MOST_WORDS}"
        if re.search(PATH, text):
            yield f"cell {number}: a path of one machine"
        if SKIPPING.search(text):
            yield f"cell {number}: a marker of nbval"
        for hashes in re.findall(r"^(#+) ", plain, re.MULTILINE):
            if len(hashes) > level + 1 or (len(hashes) == 1 and level):
                yield f"cell {number}: heading of level {len(hashes)} after level {level}"
            level = len(hashes)
        for words, target in re.findall(r"\[([^\]]*)\]\(([^)]*)\)", plain):
            if words.strip().lower() in {"", "here", "link", "this", "click here"}:
                yield f"cell {number}: a link whose text, {words!r}, does not say where it leads"
            if "://" not in target and not (path.parent / target.partition("#")[0]).exists():
                yield f"cell {number}: link to {target}, which is not there"
    if not notebook.cells or not notebook.cells[0].source.startswith("# "):
        yield "the first cell is not a title"


def _about_numbers(notebook):
    """Find numbers in prose that no cell of the same section has in its code or its output.

    A section reaches from one heading of level 2 to the next. A decimal in prose may be a
    rounded form of what a cell prints. Sources and the opening are about other things.
    """
    sections, heading = {}, ""
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and (
            found := re.search(r"^## (.*)", cell.source, re.MULTILINE)
        ):
            heading = found[1]
        sections.setdefault(heading, []).append((number, cell))
    for heading, cells in sections.items():
        if heading in {"", "What to expect", "The series", "Sources"}:
            continue
        known = {
            float(n) for _, cell in cells if cell.cell_type == "code" for n in _numbers_of(cell)
        }
        for number, cell in cells:
            if cell.cell_type == "markdown":
                prose = re.sub(r"`[^`]*`|\]\([^)]*\)|\[[^\]]*\](?=\()", " ", cell.source)
                for text in NUMBER.findall(prose):
                    digits = len(text.partition(".")[2])
                    if float(text) not in CONSTANTS and not any(
                        round(n, digits) == float(text) for n in known
                    ):
                        yield f"cell {number}: the text says {text}, which no cell of its section has or prints"


def _numbers_of(cell):
    texts = [cell.source]
    for output in cell.outputs:
        texts += [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
    return re.findall(r"\d+(?:\.\d+)?", "\n".join(texts))


def _about_code(cell):
    source = cell.source
    if source.count("\n") >= MOST_LINES:
        yield f"{source.count(chr(10)) + 1} lines; the limit is {MOST_LINES}"
    if re.search(PATH, source):
        yield "a path of one machine"
    if MAGIC.search(source):
        yield "a magic or shell command"
    if SKIPPING.search(source) or any("nbval" in tag for tag in cell.metadata.get("tags", [])):
        yield "a marker that keeps nbval from comparing"
    if set(cell.metadata) - {"tags"}:
        yield f"metadata beyond tags: {sorted(cell.metadata)}"
    try:
        tree = ast.parse(source)
    except SyntaxError:
        yield "not plain Python"
        return
    for node in ast.walk(tree):
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
        if "image/png" in data:
            yield "a figure without a text alternative; end the cell with show(...)"
        if "<img" in page and not re.search(r'<img alt="[^"]{20,}"', page):
            yield "an image without a text alternative"
        text = output.get("text", "") + data.get("text/plain", "")
        for pattern, meaning in UNMEANT.items():
            if re.search(pattern, text):
                yield f"in its output, {meaning}"


def main(arguments):
    """Check what is named, or every notebook; return the exit code."""
    paths = [Path(argument).resolve() for argument in arguments]
    failed = False
    for path in paths or sorted((ROOT / "notebooks").rglob("*.ipynb")):
        for complaint in complaints(path):
            failed = True
            print(f"{path.name}: {complaint}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
