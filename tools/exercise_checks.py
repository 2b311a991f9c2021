"""Whether an exercise's cells and its entry in the catalogue are the same exercise.

    python tools/exercise_checks.py [NOTEBOOK ...]     (every notebook with exercises when none is named)

What a reader sees of an exercise (text, hints, the cell with dots) has its one place in the notebook, where
whoever writes it sees it set, with formulas and folds. What is computed (the arguments, the inputs, the numbers
that a question gives, the answers) has its one place in `attention_lib/exercises/catalogue`. Whatever stands in
both is compared here, so that a change of one that the other does not follow is a complaint:

- the arguments of the function in the cell, their order, and the shapes that the text gives them;
- the numbers of a question, in its text, in its cell and in the cell of its solution;
- the order of the exercises, in the notebook, in the catalogue and in the solutions.

Cells with dots, code in hints and solutions are judged by `check` itself: the dots are no answer, a hint is no
solution, and a solution is code of its own. One line per complaint; exit code 1 if there is any.
"""

import ast
import inspect
import json
import os
import re
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import nbformat
import numpy as np
from surroundings import ROOT

sys.path.insert(0, str(ROOT))

import attention_lib
from attention_lib.exercises import check
from attention_lib.exercises.catalogue import EXERCISES, MODULES

WRITING = "10_write_it_all"  # repeats exercises of the others, and links to them in place of hints
HINTS = ["Hint 1", "Hint 2", "Hint 3"]
WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
MOST_WORDS = 14  # of an expression in a hint

_START = re.compile(r"^## (Your turn|The pieces)", re.MULTILINE)
_TITLE = re.compile(r"^\*\*(\d+)\. ([^*]+)\*\*", re.MULTILINE)
_HINT = re.compile(
    r"<details>\s*<summary>(.*?)</summary>(.*?)</details>", re.DOTALL | re.IGNORECASE
)
_SHAPE = re.compile(r"(?:`(\w+)`(?:,? (?:shape|both))*,? )?\$\(([\w{}, ]+)\)\$")
_NUMBER = re.compile(rf"(?<![\w.-])(?:\d+(?:\.\d+)?|(?:{'|'.join(WORDS)}))(?![\w-])", re.IGNORECASE)


class Part(NamedTuple):
    """One exercise as it stands in a notebook, or its solution."""

    place: str
    number: int
    title: str
    text: str  # without its hints
    hints: list  # of (summary, text)
    code: str  # of all its cells
    name: str  # that check is called with
    given: ast.expr | None  # what check is given


def parts_of(path):
    """Return the exercises of a notebook, and what is wrong with how they stand there."""
    cells = _cells(path)
    texts = [i for i, cell in enumerate(cells) if cell.cell_type == "markdown"]
    start = 0 if "solutions" in path.stem else None
    if start is None:
        start = next((i for i in texts if _START.search(cells[i].source)), len(cells))
    heads = [(i, found) for i in texts if i >= start for found in _TITLE.finditer(cells[i].source)]
    parts, wrong, seen = [], [], set()
    for (i, head), (end, _) in zip(heads, [*heads[1:], (len(cells), None)], strict=True):
        source = cells[i].source[head.start() :]
        place = f"cell {i}, exercise {head[1]}"
        own = [j for j in range(i + 1, end) if cells[j].cell_type == "code"]
        code = "\n\n".join(cells[j].source for j in own)
        calls = list(_checks(code))
        seen.update(own)
        if len(calls) != 1:
            names = ", ".join(repr(name) for name, _ in calls) or "none"
            wrong.append(f"{place}: one call of check should follow its text; there is {names}")
            continue
        ((name, given),) = calls
        if name not in EXERCISES:
            wrong.append(f"{place}: the catalogue has no exercise {name!r}")
            continue
        text = _HINT.sub("", source).strip()
        hints = [(summary.strip(), hint.strip()) for summary, hint in _HINT.findall(source)]
        parts.append(Part(place, int(head[1]), head[2], text, hints, code, name, given))
    for i in range(start, len(cells)):
        if cells[i].cell_type == "code" and i not in seen:
            for name, _ in _checks(cells[i].source):
                wrong.append(
                    f"cell {i}: check({name!r}, ...) has no text before it that begins with **1. Title.**"
                )
    if [part.number for part in parts] != list(range(1, len(parts) + 1)) and not wrong:
        wrong.append(f"the exercises are numbered {[part.number for part in parts]}")
    return parts, wrong


def _checks(code):
    """Return the calls of check that name an exercise: its name and what is handed in."""
    for node in ast.walk(_parsed(code)):
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "check"
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.args[0].value, node.args[1] if len(node.args) > 1 else None


def _parsed(code, mode="exec"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that `A is 0`, words of a hint, compares with is
        try:
            return ast.parse(code, mode=mode)
        except (SyntaxError, ValueError):
            return ast.Module([], [])


def parameters(name):
    """Return the names of what a function for this exercise takes."""
    return list(inspect.signature(EXERCISES[name].reference).parameters)


# The text of a lesson


def about_lesson(path, taught=None):
    """Return what is wrong with the exercises of a notebook, a sentence each with its place.

    Parameters
    ----------
    taught : dict of str to str, optional
        The notebook of each exercise, by the exercise's name, for the page that repeats them.
    """
    parts, wrong = parts_of(path)
    repeats = path.stem == WRITING
    names = [part.name for part in parts]
    module = path.stem.partition("_")[2]
    own = [exercise.name for exercise in MODULES[module].ALL]
    if not wrong and not repeats and names != own:
        wrong.append(f"its exercises are {names}, those of catalogue/{module}.py are {own}")
    scope = _scope(path)
    for part in parts:
        about = [
            *(_about_link(part, taught or {}) if repeats else _about_hints(part)),
            *_about_stub(part, scope),
            *_about_numbers(part),
            *(_about_shapes(part) if parameters(part.name) else ()),
        ]
        wrong += [f"{part.place} ({part.name}): {complaint}" for complaint in about]
        wrong += [f"{part.place}, {where}" for where in _about_giving_away(part, scope)]
        for function in _functions(part.code):
            scope[function.name] = EXERCISES[part.name].reference  # later hints may build on it
    return wrong


def _about_hints(part):
    summaries = [summary for summary, _ in part.hints]
    if summaries != HINTS:
        yield f"its hints should be {', '.join(HINTS)}, each folded in <details>; there are {summaries}"
    for summary, hint in part.hints:
        if not hint:
            yield f"{summary} is empty"


def _about_link(part, taught):
    name = taught.get(part.name, "00_overview")
    if f"({name}.ipynb)" not in part.text:
        yield f"its text should say where to look, with a link to {name}.ipynb, in which the exercise is taught"


def _about_stub(part, scope):
    """The cell takes the catalogue's arguments, and is not an answer."""
    takes = parameters(part.name)
    functions = _functions(part.code)
    if takes:
        if [f.name for f in functions] != [getattr(part.given, "id", None)]:
            yield "its cell should define one function, and hand that one to check"
            return
        arguments = [argument.arg for argument in functions[0].args.args]
        if arguments != takes:
            yield f"the function takes ({', '.join(arguments)}), the catalogue's reference ({', '.join(takes)})"
            return
    attempt = _value(f"{part.code.partition('check(')[0]}\n{ast.unparse(part.given)}", scope)
    outcome = check(part.name, attempt)
    to_write = ast.unparse(part.given) if not takes else part.code
    if "..." in to_write and outcome.outcome != "not attempted":
        yield f"the cell as it is should be judged not attempted; it is {outcome.heading}"
    if "..." not in to_write and outcome.outcome != "mistake":
        yield f"what is to be mended should be a mistake by name; it is {outcome.heading}"
    if takes and "..." in part.code:
        places = [re.search(rf"`{name}\b", part.text) for name in takes]
        missing = [name for name, found in zip(takes, places, strict=True) if not found]
        if missing:
            yield f"the text does not say, in backquotes, what {' and '.join(missing)} is"
        elif [found.start() for found in places] != sorted(found.start() for found in places):
            yield f"the text has the arguments in another order than the function, ({', '.join(takes)})"


def _about_shapes(part):
    """The shapes in the text fit the inputs on which check tries an answer, one size to a symbol."""
    exercise, takes = EXERCISES[part.name], parameters(part.name)
    said = []  # of (name or None, symbols)
    for name, symbols in _SHAPE.findall(part.text):
        said.append((name or None, [symbol.strip(" {}") for symbol in symbols.split(",")]))
    case = exercise.cases[-1]  # of different sizes
    arrays = {n: np.shape(value) for n, value in zip(takes, case, strict=True) if np.ndim(value)}
    result = np.shape(exercise.reference(*case))
    sizes = {n: value for n, value in zip(takes, case, strict=True) if not np.ndim(value)}
    left = [name for name in arrays if name not in {n for n, _ in said}]
    for name, symbols in said:
        if name not in arrays:
            name = left.pop(0) if left and name is None else None
        shape = arrays[name] if name else result
        whose = name or "the result"
        words = f"the text gives {whose} the shape ({', '.join(symbols)})"
        if len(symbols) != len(shape):
            yield f"{words}, and check tries one with {len(shape)} axes, {shape}"
            continue
        for symbol, size in zip(symbols, shape, strict=True):
            if (int(symbol) if symbol.isdigit() else sizes.setdefault(symbol, size)) != size:
                yield f"{words}, and in {shape}, which check tries, {symbol} is not what it is elsewhere"
                break


# Numbers


def numbers(text):
    """Return the numbers that a text names in digits or words; "one" is a word like "a".

    Examples
    --------
    >>> numbers("Four queries, one key, $d_k = 900$")
    [4, 900]
    """
    found = []
    for word in _NUMBER.findall(text):
        if word.lower() != "one":
            number = WORDS.index(word.lower()) if word.lower() in WORDS else float(word)
            found.append(int(number) if number == int(number) else number)
    return found


def _about_numbers(part):
    """The numbers of a question are those from which the catalogue computes its answer."""
    given = EXERCISES[part.name].given
    if not given:
        return
    assigned = _assigned(part.code)
    wanted = []
    for name, value in given.items():
        if name in assigned:
            if assigned[name] != value:
                yield f"{name} in its cell is {assigned[name]}, in the catalogue {value}"
            if not isinstance(value, int | float):
                wanted.append(len(value))
        else:
            wanted += [value] if isinstance(value, int | float) else list(value)
    if (said := numbers(part.text.partition("**")[2].partition("**")[2])) != wanted:
        yield f"its text has the numbers {said}, the catalogue computes with {wanted}"
    comments = " ".join(re.findall(r"#(.*)", part.code))
    known = [value for value in given.values() if isinstance(value, int | float)]
    for number in numbers(comments):
        if number not in known:
            yield f"a comment in its cell says {number}, which the catalogue does not compute with"


def _assigned(code):
    """Return the values that a cell assigns to names of its own, where they can be computed from numbers."""
    found = {}
    for node in _parsed(code).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = eval(ast.unparse(node.value), {"__builtins__": {}})
            except Exception:
                continue  # made of something else, as rng.randn(3)
    return found


# Hints


def _about_giving_away(part, scope):
    """Find code in hints, comments and text that is an answer: alone, or put into the cell."""
    texts = [
        *((summary, hint) for summary, hint in part.hints),
        ("a comment in its cell", "\n".join(re.findall(r"#(.*)", part.code))),
        ("code in its text", "\n".join(re.findall(r"`([^`]*)`", part.text))),
    ]
    takes = parameters(part.name)
    for where, text in texts:
        for expression in expressions(text, {*scope, *takes}, bare=bool(takes)):
            if attempt := _right(part, expression, scope):
                yield f"{where} ({part.name}): {expression} is the answer{attempt}; leave the last step to the reader"
                break
        if not takes and where in HINTS:
            marked = re.findall(r"[*`\"']([\w ]+)[*`\"']", text)
            for value in [*numbers(text), *marked]:
                if check(part.name, value).outcome == "right":
                    yield f"{where} ({part.name}): it says {value}, which is the answer"
    for edit in [*takes, "None"]:
        if takes and "..." in part.code and _right(part, edit, scope):
            yield f"its cell ({part.name}): with {edit} in place of the dots it is right"


def _right(part, expression, scope):
    """Say where an expression would be a right answer, or ""."""
    key = part.name, part.code, expression, frozenset(scope)
    if key not in _JUDGED:
        _JUDGED[key] = _judged(part, expression, scope)
    return _JUDGED[key]


_JUDGED = {}  # a check of many copies of one notebook asks the same again and again


def _judged(part, expression, scope):
    takes = parameters(part.name)
    if not takes:
        value = _value(expression, scope)
        return " as it stands" if check(part.name, value).outcome == "right" else ""
    arguments = ", ".join(takes)
    alone = _value(f"lambda {arguments}: {expression}", scope)
    if check(part.name, alone).outcome == "right":
        return " as it stands"
    (function,) = _functions(part.code)
    if "..." in part.code:
        return ""
    for changed in _with(function, ast.parse(expression, mode="eval").body):
        if check(part.name, _value(f"{changed}\n{function.name}", scope)).outcome == "right":
            return f" in the cell, as in {changed.splitlines()[-1].strip()}"
    return ""


def _with(function, expression):
    """Return a function's code with an expression in the place of each of its own, one at a time."""
    lines = [node for node in ast.walk(function) if isinstance(node, ast.Return | ast.Assign)]
    for line in lines:
        for parent in ast.walk(line.value):
            for field, old in ast.iter_fields(parent):
                slots = enumerate(old) if isinstance(old, list) else [(None, old)]
                for index, child in slots:
                    if not isinstance(child, ast.expr):
                        continue
                    if index is None:
                        setattr(parent, field, expression)
                    else:
                        old[index] = expression
                    yield ast.unparse(function)
                    if index is None:
                        setattr(parent, field, child)
                    else:
                        old[index] = child


def expressions(text, known, bare=True):
    """Return what is Python in a text and could be computed: spans of its words, the longest first.

    Examples
    --------
    >>> expressions("The code S @ V mixes; see np.log.", {"S", "V", "np"})
    ['S @ V', 'np.log', 'S', 'V']
    """
    found = {}
    words = text.split()
    for start in range(len(words)):
        for end in range(start + 1, min(start + MOST_WORDS, len(words)) + 1):
            span = " ".join(words[start:end]).strip("`").rstrip(".,:;?`")
            tree = _parsed(span, "eval")
            if not isinstance(tree, ast.Expression) or isinstance(tree.body, ast.Constant):
                continue
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            says = names and (bare or not isinstance(tree.body, ast.Name))
            if says and names <= known | {"len", "sum", "range", "max", "min", "abs"}:
                found[span] = None
    return sorted(found, key=lambda span: -len(span.split()))


# Solutions


def about_solutions(path, lesson):
    """Return what is wrong with the solutions of a notebook, a sentence each with its place."""
    parts, wrong = parts_of(path)
    asked, _ = parts_of(lesson)
    said = [(part.number, part.title, part.name) for part in parts]
    wanted = [(part.number, part.title, part.name) for part in asked]
    if not wrong and said != wanted:
        different = [part for part in said if part not in wanted] or said[len(wanted) :]
        missing = [part for part in wanted if part not in said]
        wrong.append(f"not the exercises of {lesson.name}: it has {different}, and lacks {missing}")
    stubs = {part.name: part for part in asked}
    scope = _scope(path)
    for name in _imported(path, "attention_lib.exercises"):
        if name != "attention_lib.exercises.check":
            wrong.append(f"it imports {name}: a solution computes its answer itself")
    for part in parts:
        about = list(_about_solution(part, stubs.get(part.name), scope))
        wrong += [f"{part.place} ({part.name}): {complaint}" for complaint in about]
    return wrong


def _about_solution(part, stub, scope):
    for name, value in _assigned(part.code).items():
        if value != EXERCISES[part.name].given.get(name, value):
            yield f"{name} is not that of the question"
    if not parameters(part.name):
        return
    functions = {function.name: function for function in _functions(part.code)}
    handed_in = getattr(part.given, "id", None)
    if handed_in not in functions:
        yield f"check is given {ast.unparse(part.given)}, which is no function of this cell"
        return
    function = functions[handed_in]
    if stub and (original := _functions(stub.code)):
        mine, its = (ast.unparse(f.args) for f in (function, original[0]))
        if (handed_in, mine) != (original[0].name, its):
            yield f"it writes {handed_in}({mine}), the exercise asks for {original[0].name}({its})"
    code = "\n".join(ast.unparse(function) for function in functions.values())
    exec(compile(code, "<solution>", "exec"), scope)
    outcome = check(part.name, scope[handed_in])
    if outcome.outcome != "right":
        yield f"it is not right: {outcome.heading}"
    elif library := forwarded(scope[handed_in], EXERCISES[part.name].cases[0]):
        yield f"{handed_in} only hands its arguments on to {library}; a solution is written out"


def forwarded(function, case):
    """Return the library's function that does all the work of another, or "".

    That is one that is called with the same arguments and returns the same result.
    """
    package = os.path.dirname(attention_lib.__file__)
    calls = []

    def watch(frame, event, result):
        code = frame.f_code
        if event != "return" or not code.co_filename.startswith(package):
            return
        count = code.co_argcount + code.co_kwonlyargcount
        calls.append(
            (code.co_name, [frame.f_locals.get(n) for n in code.co_varnames[:count]], result)
        )

    sys.setprofile(watch)
    try:
        result = function(*case)
    finally:
        sys.setprofile(None)
    for name, arguments, returned in calls:
        taken = all(any(_same(own, one) for one in arguments) for own in case)
        if taken and _same(returned, result):
            return name
    return ""


def _same(one, other):
    if type(one) is not type(other):
        return False
    return one is other or (np.shape(one) == np.shape(other) and bool(np.all(one == other)))


# What is run


def _cells(path):
    """Return the cells of a notebook without their outputs; nbformat would check the figures as well."""
    written = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        nbformat.from_dict({"cell_type": cell["cell_type"], "source": "".join(cell["source"])})
        for cell in written
    ]


def _functions(code):
    return [node for node in _parsed(code).body if isinstance(node, ast.FunctionDef)]


def _imports(path):
    """Return the imports of a notebook, those apart that draw."""
    for cell in _cells(path):
        if cell.cell_type == "code":
            for node in ast.walk(_parsed(cell.source)):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield node


def _imported(path, module):
    for node in _imports(path):
        base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for name in node.names:
            if f"{base}{name.name}".startswith(module):
                yield f"{base}{name.name}"


def _scope(path):
    """Return the names of NumPy, math and the library's functions that a notebook has imported."""
    scope = {}
    for node in _imports(path):
        modules = (
            [node.module]
            if isinstance(node, ast.ImportFrom)
            else [name.name for name in node.names]
        )
        if set(modules) <= {"numpy", "math", "attention_lib"}:
            exec(ast.unparse(node), scope)
    scope.setdefault("np", np)
    scope.setdefault("math", __import__("math"))
    scope.pop("__builtins__", None)
    return scope


def _value(code, scope):
    """Return the value of the last line of some code, or `...` where it cannot be run."""
    tree = _parsed(code)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return ...
    space = dict(scope)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(ast.Module(tree.body[:-1], []), "<cell>", "exec"), space)
            return eval(compile(ast.Expression(tree.body[-1].value), "<cell>", "eval"), space)
        except Exception:
            return ...


# All of them


def lessons(root=ROOT):
    """Return the notebooks that have exercises."""
    return sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def solutions_of(lesson):
    """Return where the solutions of a notebook are."""
    return lesson.parent / "solutions" / f"{lesson.stem}_solutions.ipynb"


def where_taught(paths):
    """Return the notebook in which each exercise is taught, by the exercise's name."""
    return {
        part.name: path.stem for path in paths if path.stem != WRITING for part in parts_of(path)[0]
    }


def main(arguments):
    """Check what is named, or everything; return the exit code."""
    paths = [Path(argument).resolve() for argument in arguments] or lessons()
    taught = where_taught(lessons())
    failed = False
    for path in paths:
        if path.stem.partition("_")[2] not in MODULES:
            continue  # it has no exercises, or is a page of solutions
        solved = solutions_of(path)
        found = [(path.name, complaint) for complaint in about_lesson(path, taught)]
        found += [(solved.name, complaint) for complaint in about_solutions(solved, path)]
        for name, complaint in found:
            failed = True
            print(f"{name}: {complaint}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
