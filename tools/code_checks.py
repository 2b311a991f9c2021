"""What is wrong with a notebook's code, read and not run.

Names are followed through the imports of the whole notebook, so that `from numpy import seterr as quiet`
is found as well as `np.seterr`.
"""

import ast
import builtins
import re
from collections.abc import Iterator

import name_checks

# What a cell must not do, by the full name that it calls or assigns to, and why. The first match counts.
SILENCES = "silences warnings for the rest of the page"
SETTINGS = "changes the reader's settings for the rest of the page"
WRITES = "writes a file beside the notebook"
NETWORK = "asks the network; the series works offline"
MACHINE = "depends on the machine, the date or a version, so that its output differs elsewhere"
UNSEEDED = "draws from the global generator"
CALLS = [
    (r"numpy\.seterr(call)?", f"{SILENCES}; write `with np.errstate(...):` around the lines"),
    (
        r"warnings\.(filterwarnings|simplefilter|resetwarnings)",
        f"{SILENCES}; write `with warnings.catch_warnings():` around the lines",
    ),
    (r"logging\.(disable|basicConfig|captureWarnings)", SILENCES),
    (r"numpy\.(set_printoptions|set_string_function|setbufsize)", SETTINGS),
    (r"(matplotlib\.pyplot|matplotlib)\.(rc|rcdefaults|rc_file|rc_file_defaults)", SETTINGS),
    (r"(matplotlib\.pyplot|matplotlib)\.rcParams\.(update|setdefault|pop|clear)", SETTINGS),
    (r"matplotlib\.(pyplot\.)?style\.use", f"{SETTINGS}; write `with plt.style.context(...):`"),
    (r"matplotlib\.(use|pyplot\.(switch_backend|ion|ioff|set_cmap))", SETTINGS),
    (r"(locale\.setlocale|os\.(chdir|putenv)|sys\.(setrecursionlimit|path\.\w+))", SETTINGS),
    (r"os\.environ\.(update|setdefault|pop)", SETTINGS),
    (r"numpy\.(save|savez|savez_compressed|savetxt|memmap)", WRITES),
    (r"(pickle|json|marshal|joblib)\.dump", WRITES),
    (r"os\.(mkdir|makedirs|remove|unlink|rename|replace|rmdir|symlink)", WRITES),
    (r"(shutil|tempfile|zipfile|tarfile|sqlite3|shelve)\..*", WRITES),
    (r"matplotlib\.pyplot\.(savefig|imsave)", WRITES),
    (r"(urllib|requests|http|httpx|aiohttp|socket|ssl|ftplib|smtplib|webbrowser)(\..*)?", NETWORK),
    (r"(subprocess\..*|os\.(system|popen|exec\w*|spawn\w*))", "starts another program"),
    (
        r"(time|datetime|platform|getpass|uuid|timeit|resource|psutil|calendar)(\..*)?",
        MACHINE,
    ),
    (
        r"os\.(environ|getenv|getcwd|cpu_count|uname|getlogin|listdir|scandir|getpid|stat)(\..*)?",
        MACHINE,
    ),
    (
        r"sys\.(platform|version|version_info|executable|path|getsizeof|maxsize|argv)(\..*)?",
        MACHINE,
    ),
    (r"(numpy|matplotlib|attention_lib|scipy)\.(\w+\.)*__version__", MACHINE),
    (r"numpy\.(show_config|show_runtime|__config__)(\..*)?", MACHINE),
    (r"pathlib\.Path\.(cwd|home)", MACHINE),
    (
        r"numpy\.random\.(?!(RandomState|default_rng|Generator|SeedSequence|PCG64(DXSM)?|MT19937|Philox|SFC64|BitGenerator)\b)\w+",
        f"{UNSEEDED}; make one of your own: np.random.RandomState(0)",
    ),
    (r"random\.(?!Random\b)\w+", f"{UNSEEDED}; use np.random.RandomState(0)"),
    (r"secrets\..*", "draws numbers that are different each time"),
]
CALLS = [(re.compile(pattern), meaning) for pattern, meaning in CALLS]

# These are asked for the same way whatever object they belong to.
METHODS = {
    "write_text": WRITES,
    "write_bytes": WRITES,
    "tofile": WRITES,
    "savefig": WRITES,
    "touch": WRITES,
    "mkdir": WRITES,
    "unlink": WRITES,
    "urlopen": NETWORK,
    "urlretrieve": NETWORK,
    "from_pretrained": NETWORK,
    "hf_hub_download": NETWORK,
    "load_dataset": NETWORK,
}
SEEDED = re.compile(
    r"(numpy\.random\.(RandomState|default_rng|SeedSequence|PCG64(DXSM)?|MT19937|Philox|SFC64)|random\.Random)"
)
UNSTABLE = {"id": MACHINE, "hash": MACHINE, "input": "waits for somebody to type"}
# Within `with`, these put everything back by themselves.
CONTEXTS = ("errstate", "catch_warnings", "rc_context", "context", "printoptions", "localcontext")

# Functions that say whether something is so: named without a call, they are always true.
ASKS = {"all", "any", "allclose", "array_equal", "isclose", "isfinite", "startswith", "isdigit"}
SHADOWED = {name for name in dir(builtins) if name[0].islower()} - {
    "copyright",
    "credits",
    "license",
}


def about_code(sources: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Find what is wrong with the code of a notebook, all its cells in order: place and complaint.

    Cells that are not plain Python are passed over; the form of a single cell is looked at elsewhere.
    """
    imported = {}
    trees = []
    for place, source in sources:
        try:
            trees.append((place, name_checks.parsed(source)))
        except SyntaxError:
            continue
    for place, tree in trees:
        seen = set()
        for line, complaint in _about_cell(tree, imported):
            if complaint not in seen:
                seen.add(complaint)
                yield f"{place}, line {line}", complaint
    yield from _lost_names(trees)


def _about_cell(tree, imported):
    guarded = _within_contexts(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                imported[name.asname or name.name.split(".")[0]] = (
                    name.name if name.asname else name.name.split(".")[0]
                )
                yield from _about_name(node, name.name, imports=True)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                if name.name == "*":
                    yield node.lineno, f"imports everything from {node.module}; name what you need"
                imported[name.asname or name.name] = f"{node.module}.{name.name}"
                yield from _about_name(node, f"{node.module}.{name.name}", imports=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _about_call(node, imported, node in guarded)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Store):
            full = _full_name(node, imported)
            if full and re.search(r"\.(__version__|environ|platform|version(_info)?)$", full):
                yield from _about_name(node, full)
        elif isinstance(node, ast.Assert):
            if reason := _cannot_fail(node.test):
                yield node.lineno, f"an assert that cannot fail: {reason}"
        elif isinstance(node, ast.ExceptHandler):
            if all(isinstance(line, ast.Pass | ast.Continue) for line in node.body):
                yield (
                    node.lineno,
                    "an except that says nothing hides what goes wrong; print the error",
                )
            elif node.type is None:
                yield (
                    node.lineno,
                    "except without a name catches every error; name the one you mean",
                )
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
            targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
            for target in targets:
                yield from _about_target(target, imported, node in guarded)
    for node in _on_page(tree):
        name = _bound(node)
        if name in SHADOWED:
            yield (
                getattr(node, "lineno", 1),
                f"gives {name}, a word of Python, another meaning for the rest of the page",
            )


def _about_name(node, full, imports=False, guarded=False):
    for pattern, meaning in CALLS:
        if pattern.fullmatch(full):
            put_back = guarded and meaning.startswith((SILENCES, SETTINGS))
            # To import what asks the network or the clock is enough; of the rest, the call counts.
            if not put_back and (not imports or meaning in {NETWORK, MACHINE}):
                yield node.lineno, f"{full} {meaning}"
            return


def _about_call(node, imported, guarded):
    full = _full_name(node.func, imported)
    if full:
        yield from _about_name(node, full, guarded=guarded)
    if full and SEEDED.fullmatch(full):
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not arguments or _is_constant(arguments[0], None):
            yield (
                node.lineno,
                f"{full} without a seed gives other numbers each time; write one, as 0",
            )
    if (
        isinstance(node.func, ast.Name)
        and node.func.id in UNSTABLE
        and node.func.id not in imported
    ):
        yield node.lineno, f"{node.func.id}() {UNSTABLE[node.func.id]}"
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        yield node.lineno, f".{node.func.attr}() {METHODS[node.func.attr]}"
    if (isinstance(node.func, ast.Name) and node.func.id == "open") or full == "io.open":
        modes = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
        if any(
            isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wax+") for mode in modes
        ):
            yield node.lineno, f"open(..., {ast.unparse(modes[0])}) {WRITES}"
    if full and re.fullmatch(r"IPython\.display\.(Image|IFrame|Video|Audio)", full):
        for value in [*node.args[:1], *(k.value for k in node.keywords if k.arg in {"url", "src"})]:
            if isinstance(value, ast.Constant) and "://" in str(value.value):
                yield node.lineno, f"{full.rpartition('.')[2]} {NETWORK}"


def _about_target(target, imported, guarded):
    base = target.value if isinstance(target, ast.Subscript) else target
    full = _full_name(base, imported) or ""
    if guarded:
        return
    if re.fullmatch(r"matplotlib\.(pyplot\.)?(rcParams|rcParamsDefault)", full):
        yield (
            target.lineno,
            f"{full} {SETTINGS}; pass it to the figure, or write `with plt.rc_context(...):`",
        )
    elif re.fullmatch(r"(os\.environ|sys\.(stdout|stderr|path|displayhook|excepthook))", full) or (
        isinstance(target, ast.Attribute) and re.match(r"(numpy|matplotlib|builtins)\.", full)
    ):
        yield target.lineno, f"{full} {SETTINGS}"


def _within_contexts(tree):
    """Return the nodes within a `with` that puts settings back at its end, and the call that opens it."""
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            names = [
                item.context_expr.func.attr
                if isinstance(item.context_expr.func, ast.Attribute)
                else getattr(item.context_expr.func, "id", "")
                for item in node.items
                if isinstance(item.context_expr, ast.Call)
            ]
            if any(name in CONTEXTS for name in names):
                inside.update(ast.walk(node))
    return inside


def _full_name(node, imported):
    """Return the full name of something imported, as numpy.random.randn, or None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in imported:
        return ".".join([imported[node.id], *reversed(parts)])
    return None


def _is_constant(node, value):
    return isinstance(node, ast.Constant) and node.value is value


def _cannot_fail(test):
    """Return why a condition is always true, or None."""
    if isinstance(test, ast.Tuple) and test.elts:
        return (
            "a tuple in brackets is always true; the message stands after a comma, without brackets"
        )
    if isinstance(test, ast.GeneratorExp | ast.Lambda):
        return "a generator or function is always true; call it, or put all(...) around it"
    if isinstance(test, ast.List | ast.ListComp | ast.Dict | ast.Set | ast.JoinedStr):
        return "whatever is in it, it is not compared with anything"
    if isinstance(test, ast.Attribute) and test.attr in ASKS:
        return f"{ast.unparse(test)} is a function that is not called"
    if isinstance(test, ast.Name) and test.id in {"all", "any", "bool", "callable", "isinstance"}:
        return f"{test.id} is a function that is not called"
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        for value in test.values:
            if (isinstance(value, ast.Constant) and value.value) or _cannot_fail(value):
                return f"one side of its or, {ast.unparse(value)}, is always true"
    if isinstance(test, ast.Compare) and len(test.comparators) == 1:
        left, right = test.left, test.comparators[0]
        if ast.dump(left) == ast.dump(right) and isinstance(
            test.ops[0], ast.Eq | ast.LtE | ast.GtE | ast.Is
        ):
            return "both sides are the same"
        if isinstance(left, ast.Call) and isinstance(left.func, ast.Name):
            never_negative = left.func.id in {"len", "abs"} and isinstance(test.ops[0], ast.GtE)
            if never_negative and isinstance(right, ast.Constant) and right.value == 0:
                return f"{left.func.id}(...) is never negative"
    if (
        isinstance(test, ast.Call)
        and len(test.args) >= 2
        and ast.dump(test.args[0]) == ast.dump(test.args[1])
        and getattr(test.func, "attr", "") in {"allclose", "array_equal", "isclose"}
    ):
        return "both arguments are the same"
    if isinstance(test, ast.Call) and getattr(test.func, "attr", "") in {"all", "any"}:
        inner = test.func.value
        if isinstance(inner, ast.Compare) and (reason := _cannot_fail(inner)):
            return reason
    if not any(isinstance(node, ast.Name | ast.Attribute) for node in ast.walk(test)):
        return "it compares numbers written here, and nothing that was computed"
    return None


def _bound(node):
    """Return the name that a node binds, if it binds one."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.alias):
        return node.asname or node.name
    return None


def _lost_names(trees):
    """Find names that an `except ... as` takes away from other cells: Python deletes them at its end."""
    handlers = {}
    for place, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and node.name:
                handlers.setdefault(node.name, []).append((place, node))
    for name, found in handlers.items():
        within = {id(inner) for _, handler in found for inner in ast.walk(handler)}
        for place, tree in trees:
            own = {_bound(node) for node in _at_top(tree)}
            for node in _at_top(tree):
                if name in own:  # this cell makes the name itself before it uses it
                    break
                if (
                    isinstance(node, ast.Name)
                    and node.id == name
                    and isinstance(node.ctx, ast.Load)
                    and id(node) not in within
                ):
                    taken = found[0][0]
                    yield (
                        f"{place}, line {node.lineno}",
                        f"uses {name}, which `except ... as {name}` in {taken} deletes; give one of them another name",
                    )
                    break


def _on_page(tree):
    """Walk the code whose names stay on the page: not what a function or a comprehension has within."""
    waiting = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(
            node,
            ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.comprehension,
        ):
            waiting.extend(ast.iter_child_nodes(node))


def _at_top(tree):
    """Walk the code that sees the notebook's own names: functions and their parameters have theirs."""
    waiting = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        if isinstance(
            node, ast.FunctionDef | ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp
        ):
            local = {
                *(argument.arg for argument in getattr(getattr(node, "args", None), "args", [])),
                *(
                    inner.id
                    for inner in ast.walk(node)
                    if _bound(inner) and isinstance(inner, ast.Name)
                ),
            }
            yield from (
                inner
                for inner in ast.walk(node)
                if not (isinstance(inner, ast.Name) and inner.id in local)
            )
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))
