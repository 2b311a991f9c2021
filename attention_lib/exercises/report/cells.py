"""What stands in a notebook: its code, and the exercises that it asks about."""

import json
import re
import sys
from importlib.util import find_spec

# Also in the typographic quotes that a word processor puts in, with which no code can run.
_QUOTE = r"""["'\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb]"""
_CHECK = re.compile(rf"\bcheck\s*\(\s*(?:name\s*=\s*)?{_QUOTE}(.+?){_QUOTE}")


def code_of(path):
    """Return the code of a notebook, cell by cell. A `ValueError` says why there is none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise ValueError("there is no such file") from error
    except OSError as error:
        raise ValueError(error.strerror or type(error).__name__) from error
    if not content.strip():
        raise ValueError("the file is empty")
    try:
        cells = json.loads(content.decode("utf-8-sig"))["cells"]
        return [
            "".join(cell["source"])
            for cell in cells
            if cell["cell_type"] == "code" and "".join(cell["source"]).strip()
        ]
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from error
    except (KeyError, TypeError) as error:
        raise ValueError("it is not a notebook, or one of a format older than 4") from error


def asked_in(cell):
    """Return the exercises that the code of a cell checks, by name; it need not be valid code.

    Examples
    --------
    >>> asked_in("check('softmax', f)  # check('scaling', g)")
    ['softmax']
    """
    return _CHECK.findall(re.sub(r"#.*", "", cell))


def hidden_libraries(folder):
    """Return the names of files in a folder that stand in the way of a library of that name."""
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        name = path.stem if path.suffix == ".py" else path.name
        is_module = path.suffix == ".py" or (path / "__init__.py").is_file()
        if is_module and name.isidentifier() and _is_library(name, folder):
            found.append(path.name)
    return found


def _is_library(name, folder):
    if name in sys.stdlib_module_names:
        return True
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return False
    return bool(spec and spec.origin and not spec.origin.startswith(str(folder)))
