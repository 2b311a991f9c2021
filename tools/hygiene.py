"""Find what is wrong with a notebook, a page or a module without executing anything.

    python tools/hygiene.py [FILE ...]     (everything the project keeps clean when none is named)
    python tools/hygiene.py --claims [--since=REVISION] [NOTEBOOK ...]
                                           (sentences that no code beside them bears out, for a reviewer;
                                           those alone that the notebook did not have at that revision)

nbval executes and compares; it passes over a cell that was never run, over order, metadata,
warnings, the form of the text, links, formulas, names, and numbers in prose that no cell bears out. One
line per complaint; exit code 1 if there is any. What each kind is about stands in a module beside this one:
`markdown_checks`, `formula_checks`, `code_checks`, `name_checks`, `series_checks`, `claims`.
"""

import ast
import base64
import json
import re
import subprocess
import sys
from pathlib import Path

import claims
import code_checks
import formula_checks
import markdown_checks
import name_checks
import nbformat
import series_checks
from normal_form import METADATA
from practice import hiding_cells
from surroundings import ROOT, notebooks

DENSITY = 1.5  # pixels of a figure for one of the page, as attention_lib.figures draws
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

# Each version of a changelog may have the same headings.
HEADINGS_MAY_REPEAT = {"CHANGELOG.md"}

MAGIC = re.compile(r"^\s*[%!]", re.MULTILINE)
SKIPPING = re.compile(r"NBVAL_|nbval-|PYTEST_VALIDATE_IGNORE")


def complaints(path, root=ROOT):
    """Return what is wrong with one notebook, page or module of a project, a sentence each."""
    kinds = {".ipynb": _of_notebook, ".md": _of_page, ".py": _of_module}
    return list(kinds[path.suffix](path, root))


def _of_notebook(path, root):
    source, *broken = _read(path)
    if broken:
        return broken
    try:
        written = json.loads(source)
        ids = [cell.get("id") for cell in written["cells"]]
        if None in ids or len(set(ids)) < len(ids):
            return ["cell ids are missing or not unique"]  # nbformat would mend that unasked
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except Exception as error:
        if mark := markdown_checks.CONFLICT.search(source):
            line = source.count("\n", 0, mark.start()) + 1
            return [f"line {line}: {mark[1]} is the mark of a merge that was not finished"]
        return [f"not a valid notebook: {error}"]
    found = []
    if notebook.metadata != METADATA:
        found.append(f"metadata is not the project's: {dict(notebook.metadata)}")
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    if counts != list(range(1, len(counts) + 1)):
        found.append(f"not run from the top in one go: counts {counts}")
    cells = _cells(notebook)
    texts = [(place, cell.source) for place, cell in cells if cell.cell_type == "markdown"]
    code = [(place, cell) for place, cell in cells if cell.cell_type == "code"]
    own_names = frozenset().union(*(name_checks.names_in(cell.source) for _, cell in code))
    found += _about_text(path, root, texts, own_names)
    for place, text in texts:
        words = [word for word in text.split() if re.search(r"\w", word)]  # a table's bars are none
        if len(words) > MOST_WORDS:
            found.append(f"{place}: {len(words)} words; split it below {MOST_WORDS}")
    found += _about_numbers(cells)
    printed = [
        (place, "\n".join(output.get("text", "") for output in cell.outputs))
        for place, cell in code
    ]
    found += [
        f"{place}: {complaint}" for place, complaint in series_checks.about_shapes(texts, printed)
    ]
    found += [
        f"cell {place}: the answer is folded in the practice copy, and is the only text before the "
        "code; give that a cell of its own"
        for place in hiding_cells(notebook.cells)
    ]
    before = None
    for place, cell in cells:
        if cell.cell_type not in {"code", "markdown"} or not cell.source.strip():
            found.append(f"{place}: neither text nor code")
        if cell.cell_type == "code":
            about = [*_about_code(cell), *_about_outputs(cell)]
            if before is None or before.cell_type != "markdown":
                about.append("no text before the code")
            else:
                about += _about_named_error(cell, before)
            found += [f"{place}: {complaint}" for complaint in about]
        before = cell
    for place, cell in code:
        for line, complaint in markdown_checks.slips_of_the_hand(cell.source):
            found.append(f"{place}, line {line}: {complaint}")
    sources = [(place, cell.source) for place, cell in code]
    found += [f"{place}: {complaint}" for place, complaint in code_checks.about_code(sources)]
    return found


def _cells(notebook):
    return [(f"cell {number}", cell) for number, cell in enumerate(notebook.cells)]


def _read(path):
    """Return the text of a file, and a complaint if it is not UTF-8."""
    try:
        return [path.read_text(encoding="utf-8")]
    except UnicodeDecodeError as error:
        return ["", f"not UTF-8: byte {error.start} is {error.object[error.start]:#x}"]


def _of_page(path, root):
    """Check a Markdown page. Its numbers must stand in its examples or in the project's settings."""
    text, *broken = _read(path)
    if broken:
        yield from broken
        return
    yield from _about_text(path, root, [("page", text)], frozenset(_names_of_examples(text)))
    examples = "".join(re.findall(r"```.*?```", text, re.DOTALL))
    settings = (root / "pyproject.toml").read_text(encoding="utf-8")
    known = {*_numbers(examples), *_numbers(settings), MOST_LINES}
    # The minutes in the table of notebooks are compared with the notebooks elsewhere.
    prose = re.sub(r"```.*?```|^\|.*$", "", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^!?\[([^\]]*)\]", r"\1", prose, flags=re.MULTILINE)
    for number in _unfounded(prose, known):
        yield f"the text says {number}, which no example of the page has"


def _names_of_examples(text):
    for _, language, code in markdown_checks.fences(text):
        if language == "python":
            yield from name_checks.names_in(code)


def _of_module(path, root):
    """Check docstrings: a number in prose must stand in the example below it, or in the code."""
    source, *broken = _read(path)
    if broken:
        yield from broken
        return
    for line, complaint in markdown_checks.slips_of_the_hand(source):
        yield f"line {line}: {complaint}"
    try:
        tree = name_checks.parsed(source)
    except SyntaxError as error:
        yield f"line {error.lineno}: not Python: {error.msg}"
        return
    for node, name, docstring in _docstrings(tree):
        for complaint in [
            *name_checks.about_docstring(ast.get_docstring(node, clean=False), root),
            *formula_checks.about_plain_text(docstring),
        ]:
            yield f"docstring of {name}: {complaint}"
        prose, _, example = docstring.partition("Examples\n--------\n")
        example, _, _sources = example.partition("References\n----------\n")
        prose, _, _sources = prose.partition("References\n----------\n")
        if not _unfounded(prose, {*_numbers(example)}):
            continue
        code = ast.unparse(ast.Module(node.body[1:], []))
        for number in _unfounded(prose, {*_numbers(example), *_numbers(code)}):
            yield f"docstring of {name}: it says {number}, which neither example nor code has"


def _docstrings(tree):
    """Return what has a docstring in a module: node, name, docstring."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            if docstring := ast.get_docstring(node):
                yield node, getattr(node, "name", "module"), docstring
            waiting.extend(reversed(node.body))


def _about_text(path, root, texts, own_names):
    """Check all that is text in a notebook or page."""
    folder, is_page = path.parent, path.suffix == ".md"
    every_heading = [h.words for _, text in texts for h in markdown_checks.headings(text)]
    level = 0
    for place, text in texts:
        if re.search(PATH, text):
            yield f"{place}: a path of one machine"
        if SKIPPING.search(text):
            yield f"{place}: a marker of nbval"
        for line, words in markdown_checks.paragraphs(text):
            if re.match(r"\W{0,2}Predict\b", words) and not words.startswith("**Predict.**"):
                yield f"{place}, line {line}: a question to the reader begins with **Predict.**"
        for heading in markdown_checks.headings(text):
            if heading.level > level + 1 or (heading.level == 1 and level):
                yield f"{place}, line {heading.line}: heading of level {heading.level} after level {level}"
            level = heading.level
        for line, complaint in [
            *markdown_checks.form(text),
            *series_checks.about_formulas(text),
            *series_checks.about_links(text, folder, every_heading, is_page),
            *series_checks.about_series(text, root),
            *name_checks.about_names(text, root, folder, own_names),
        ]:
            yield f"{place}, line {line}: {complaint}"
    if path.name not in HEADINGS_MAY_REPEAT:
        for place, complaint in series_checks.about_headings(texts):
            yield f"{place}: {complaint}"
    if not texts or not texts[0][1].startswith("# "):
        yield "it does not begin with a title"


def _about_named_error(cell, text):
    """A cell that raises on purpose says beforehand what will be raised."""
    for output in cell.outputs:
        if output.output_type == "error" and output.ename not in text.source:
            yield f"it raises {output.ename}, which the text before it does not name"


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


def _about_form_of_picture(output, page):
    """Find a figure that is stored in another form than `show` gives it, as its size on the page."""
    data = output.get("data", {})
    if "image/png" not in data or "<img" not in page:
        return
    if output.output_type != "display_data" or set(data) != {
        "text/html",
        "image/png",
        "text/plain",
    }:
        yield "a figure in another form than show(...) gives it"
    pixels = int.from_bytes(base64.b64decode(data["image/png"][:64])[16:20], "big")  # of a PNG file
    wide = round(pixels / DENSITY)
    stated = [
        re.findall(r' width="(\d+)"', page),
        [output.metadata.get("image/png", {}).get("width")],
    ]
    for (width,) in ([*found, None][:1] for found in stated):
        if width is None or abs(int(width) - wide) > 1:
            yield f"a figure that is {wide} pixels wide is shown {width} wide"


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
        yield from _about_form_of_picture(output, page)
        if "for which there are no words" in data.get("text/plain", ""):
            yield "a figure of which the description says nothing"
        if "<img" in page and not re.search(r'<img alt="[^"]{20,}"', page):
            yield "an image without a text alternative"
        text = output.get("text", "") + data.get("text/plain", "")
        for pattern, meaning in UNMEANT.items():
            if re.search(pattern, text):
                yield f"in its output, {meaning}"


def everything(root=ROOT):
    """Return what a project keeps clean: notebooks, pages, and the package."""
    package = sorted((root / "attention_lib").rglob("*.py"))
    return [*notebooks(root), *sorted(root.glob("*.md")), *package]


def disagreements(paths):
    """Return what is wrong between files: each a path and a sentence. Needs all of them to be complete."""
    documents = [document for path in paths for document in _documents(path)]
    texts = [document for document in documents if document[0].suffix != ".py"]
    for path, place, complaint in [
        *series_checks.about_papers(documents),
        *series_checks.about_repeats(texts),
    ]:
        yield path, f"{place}: {complaint}"


def _documents(path):
    """Return the texts of a file: path, place, text."""
    text, *broken = _read(path)
    if broken:
        return
    if path.suffix == ".md":
        yield path, "page", text
    elif path.suffix == ".ipynb":
        try:
            cells = json.loads(text)["cells"]
        except (ValueError, KeyError):
            return  # complained of elsewhere
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "markdown":
                yield path, f"cell {number}", "".join(cell["source"])
    else:
        try:
            tree = name_checks.parsed(text)
        except SyntaxError:
            return  # complained of elsewhere
        for _, name, docstring in _docstrings(tree):
            yield path, f"docstring of {name}", docstring


def claims_of(path, since=""):
    """Return the sentences of a notebook that a reviewer should read; those that are new since a revision."""
    found = claims.claims(_cells(nbformat.read(path, as_version=4)))
    if since:
        command = ["git", "show", f"{since}:./{path.name}"]
        shown = subprocess.run(command, cwd=path.parent, capture_output=True, encoding="utf-8")
        if shown.returncode == 0:  # else the notebook was not there
            before = claims.claims(_cells(nbformat.reads(shown.stdout, as_version=4)))
            known = {claim.words for claim in before}
            found = [claim for claim in found if claim.words not in known]
    return found


def main(arguments):
    """Check what is named, or everything; return the exit code."""
    paths = [Path(argument).resolve() for argument in arguments if not argument.startswith("--")]
    options = [argument for argument in arguments if argument.startswith("--")]
    if unknown := [o for o in options if o != "--claims" and not o.startswith("--since=")]:
        print(f"hygiene.py: no option {unknown[0]}; there are --claims and --since=REVISION")
        return 2
    if options:
        since = next((o.partition("=")[2] for o in options if "=" in o), "")
        for path in paths or [path for path in everything() if path.suffix == ".ipynb"]:
            for claim in claims_of(path, since):
                print(f"{path.name}: {claim.place}: {claim.what}: {claim.words}")
        return 0
    failed = False
    paths = paths or everything()
    alone = ((path, complaint) for path in paths for complaint in complaints(path))
    for path, complaint in [*alone, *disagreements(paths)]:
        failed = True
        print(f"{path.name}: {complaint}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
