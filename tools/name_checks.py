"""What a text names and is not there: commands, make targets, files, and names of the library.

A name is known if the package, the notebook's own code, NumPy, or Python has it. Known is
what can be read off the sources; nothing is imported but NumPy and matplotlib's pyplot, for their names.
"""

import ast
import builtins
import importlib
import importlib.util
import keyword
import re
import sys
from functools import lru_cache
from pathlib import Path

import markdown_checks

# Other libraries' names, which a text may mention and nobody here can look up.
FOREIGN = {
    "torch",
    "jax",
    "keras",
    "onnx",
    "tensorflow",
    "flax",
    "einops",
    "sklearn",
    "transformers",
}
FOREIGN_NAMES = {"Attention", "CLS", "SEP"}  # ONNX's operator, two tokens of BERT
# Made by a command of the project, and not kept.
MADE_LATER = re.compile(r"(^|/)(practice|\.venv[\w-]*|_site|site|dist|build)(/|$)")
SUFFIXES = (".py", ".ipynb", ".md", ".txt", ".toml", ".cfg", ".yml", ".png")
TOP_MODULES = {"np": "numpy", "numpy": "numpy", "plt": "matplotlib.pyplot", "math": "math"}


def about_names(text, root, folder, own_names=frozenset()):
    """Find what a text names in backquotes and in blocks of code: line and complaint.

    Parameters
    ----------
    text : str
        Markdown.
    root, folder : Path
        The project, and where the text lies within it.
    own_names : set of str
        What the code beside the text makes and uses.
    """
    for line, span in markdown_checks.code_spans(text):
        for complaint in about_span(span, root, folder, own_names):
            yield line, complaint
    for line, language, code in markdown_checks.fences(text):
        if language in {"console", "bash", "sh", "shell"}:
            for offset, row in enumerate(code.splitlines()):
                for complaint in about_command(row, root):
                    yield line + 1 + offset, complaint
    for line, words in markdown_checks.prose(text):
        for number in re.findall(r"\b[Nn]otebooks? (\d\d)\b", words):
            if not list((root / "notebooks").glob(f"{number}_*.ipynb")):
                yield line, f"it speaks of notebook {number}, which is not there"


def about_docstring(text, root):
    """Find what a docstring names: names in backquotes, and commands."""
    for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text):
        yield from about_span(span, root, root, frozenset())
    for row in text.splitlines():
        if re.match(r"\s+(python\d?|\.venv\S*) ", row):
            yield from about_command(row, root)
        elif match := re.match(r"\s+(make [\w-]+)", row):
            yield from about_command(match[1], root)  # words may follow that say what it does


def about_span(span, root, folder, own_names):
    """Find what is wrong with one span of code in a text."""
    words = span.split()
    if not words or "<" in span or "…" in span or span.startswith("--"):
        return  # a placeholder, as in tests/test_<module>.py, or another program's option
    if words[0].endswith(".py") and len(words) > 1:
        words = words[:1]
        span = words[0]
    if words[0] in {"make", "git", "pip", "uv"} or re.match(r"(python\d?|py|\.venv\S*)$", words[0]):
        yield from about_command(span, root)
    elif _looks_like_a_path(span):
        if not _exists(span, root, folder):
            yield f"`{span}` is a file or folder that is not there"
    else:
        yield from _about_expression(span, root, own_names)


def about_command(command, root):
    """Find what a command names and is not there: a target, a tool, an option, a module, a file."""
    command = re.split(r"\s{2,}|\s#", command.strip())[0].rstrip("\\ ")
    makefile = _read(root / "Makefile")
    if match := re.match(r"make\b(.*)", command):
        for word in match[1].split():
            if "=" in word:
                name, _, value = word.partition("=")
                if not re.search(rf"\$\({name}\)|^{name}\s*\?=", makefile, re.MULTILINE):
                    yield f"`{command}`: the Makefile has no variable {name}"
                if (
                    value.strip("\"'").endswith(".ipynb")
                    and not (root / value.strip("\"'")).exists()
                ):
                    yield f"`{command}`: {value} is not there"
            elif not word.startswith("-") and not re.search(
                rf"^{re.escape(word)}:", makefile, re.MULTILINE
            ):
                yield f"`{command}`: the Makefile has no target {word}"
        return
    match = re.match(r"(\.venv[\w-]*)", command)
    if match and match[1] not in re.findall(r"\.venv[\w-]*", makefile):
        yield f"`{command}`: the Makefile makes no environment {match[1]}"
    if match := re.search(r"\bpython\S*\s+-m\s+([\w.]+)", command):
        yield from _about_module(match[1], command, root)
    if match := re.search(r"\bpython\S*\s+([\w/]+\.py)(.*)", command):
        tool = root / match[1]
        if not tool.exists():
            yield f"`{command}`: {match[1]} is not there"
        else:
            for option in re.findall(r"(?<!\S)\[?(--[\w-]+)", match[2]):
                if option not in _read(tool):
                    yield f"`{command}`: {match[1]} has no option {option}"
    for file in re.findall(r"(?:-r|-c|--output-file)\s+(\S+)", command):
        if file.endswith(".txt") and not (root / file).exists():
            yield f"`{command}`: {file} is not there"
    for extra in re.findall(r"--extra\s+(\w+)|\.\[(\w+)\]", command):
        if not re.search(rf"^{''.join(extra)} = \[", _read(root / "pyproject.toml"), re.MULTILINE):
            yield f"`{command}`: pyproject.toml has no extra {''.join(extra)}"


def _about_module(module, command, root):
    top = module.split(".")[0]
    if top == "attention_lib":
        path = root.joinpath(*module.split("."))
        if not (path.with_suffix(".py").exists() or (path / "__main__.py").exists()):
            yield f"`{command}`: there is no module {module} to run"
        return
    pinned = _read(root / "constraints.txt")
    if top not in {*sys.stdlib_module_names, "pip"} and not re.search(
        rf"^{top}==", pinned, re.MULTILINE
    ):
        yield f"`{command}`: {top} is in no environment of the project"


def _looks_like_a_path(span):
    return bool(re.fullmatch(r"[\w./\\-]+", span)) and (
        (span.endswith(SUFFIXES) and span not in SUFFIXES)
        or ("/" in span and not span.startswith("/") and re.search(r"[a-z]{2}", span) is not None)
        or span.startswith(".venv")
    )


def _exists(span, root, folder):
    path = span.replace("\\", "/")
    if match := re.match(r"(\.venv[\w-]*)", path):
        return match[1] in set(re.findall(r"\.venv[\w-]*", _read(root / "Makefile")))
    if MADE_LATER.search(path):
        return True
    return (
        (folder / path).exists()
        or (root / path).exists()
        or ("/" not in path and path in _file_names(root))
    )


def _about_expression(span, root, own_names):
    """Find unknown names in a span that is a piece of Python; whatever is not Python is left alone."""
    code = span.strip()
    code = f"x{code}" if code.startswith(".") else code
    code = f"{code}x" if code.endswith("=") else code
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    known = _known(root) | own_names
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            dotted = _dotted(node)
            top = dotted.split(".")[0] if dotted else None
            if top in FOREIGN:
                return
            if top == "attention_lib":
                if not _in_package(dotted, root):
                    yield f"`{span}`: the library has no {dotted}"
                return
            if top in TOP_MODULES and top not in own_names - set(TOP_MODULES):
                if dotted != "np.random" and not _resolves(dotted):
                    yield f"`{span}`: there is no {dotted}"
                return
            if node.attr not in known:
                yield f"`{span}`: nothing here has a {node.attr}"
                return
        elif isinstance(node, ast.Name) and not (
            node.id in known or node.id in FOREIGN | FOREIGN_NAMES or len(node.id) == 1
        ):
            yield f"`{span}`: {node.id} is no name of the library, of the code around it, or of NumPy"
            return


def _dotted(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


@lru_cache
def _resolves(dotted):
    top, *names = dotted.split(".")
    if top == "plt":
        # To import it takes longer than all the rest; its names are read off its source.
        (folder,) = importlib.util.find_spec("matplotlib").submodule_search_locations
        pyplot = _read(Path(folder) / "pyplot.py")
        return re.search(rf"^(def |class |    )?{names[0]}\b", pyplot, re.MULTILINE) is not None
    thing = importlib.import_module(TOP_MODULES[top])
    for name in names:
        if not hasattr(thing, name):
            return False
        thing = getattr(thing, name)
    return True


@lru_cache
def _in_package(dotted, root):
    """Say whether attention_lib.x.y is a module or a name that a module makes or imports."""
    path, names = root / "attention_lib", dotted.split(".")[1:]
    while names and (path / names[0]).is_dir():
        path /= names.pop(0)
    if not names:
        return True
    module = path / f"{names[0]}.py"
    # The public functions have the names of their modules: the name counts, not the module.
    if module.exists():
        path, names = module, names[1:]
    else:
        path /= "__init__.py"
    return not names or names[0] in _names_made(path)


@lru_cache
def _names_made(path):
    names = set()
    try:
        body = parsed(_read(path)).body
    except SyntaxError:
        return names  # complained of elsewhere
    for node in body:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                names.add(inner.id)
            elif isinstance(inner, ast.FunctionDef | ast.ClassDef):
                names.add(inner.name)
            elif isinstance(inner, ast.alias):
                names.add((inner.asname or inner.name).split(".")[0])
    return names


def names_in(source):
    """Return every name, attribute and argument in a piece of code; nothing if it is not Python."""
    try:
        tree = parsed(source)
    except SyntaxError:
        return set()
    return _names_of(tree)


@lru_cache(maxsize=4096)
def parsed(source):
    """Return the syntax tree of a piece of code; several checks read the same one."""
    return ast.parse(source)


def _names_of(tree):
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.arg | ast.keyword):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names |= {node.name, *node.name.split("."), node.asname}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module, *(node.module or "").split(".")}
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isupper()
        ):
            names.add(node.value)  # the name of a setting
    return names


@lru_cache
def _known(root):
    """Return the names that any text of the project may use."""
    numpy = importlib.import_module("numpy")
    names = {*dir(builtins), *keyword.kwlist, *dir(str), *dir(list), *dir(dict)}
    names |= {
        "axis",
        "ddof",
        "keepdims",
        "dtype",
        "atol",
        "rtol",
        "out",
        "where",
        "initial",
        "copy",
    }
    names |= {
        *dir(numpy),
        *dir(numpy.ndarray),
        *dir(numpy.random),
        *dir(numpy.linalg),
        "nan",
        "inf",
    }
    # Symbols of the subject, which stand in shapes: the chapter's and the series'.
    names |= {"n", "n_q", "n_k", "d_k", "d_v", "d_model", "batch", "heads", "rows", "columns"}
    for folder in ("attention_lib", "tools"):
        for path in (root / folder).rglob("*.py"):
            names |= names_in(_read(path)) | {path.stem, folder}
    return frozenset(name for name in names if name)


@lru_cache
def _file_names(root):
    return {
        path.name
        for folder in ("attention_lib", "notebooks", "tests", "tools", "docs", ".github")
        for path in (root / folder).rglob("*.*")
    } | {path.name for path in root.glob("*")}


@lru_cache
def _read(path: Path):
    return path.read_text(encoding="utf-8") if path.exists() else ""
