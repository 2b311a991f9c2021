"""Importing the package changes nothing of the reader's: settings, states, warnings, whatever a page shares.

Each module is imported in a fresh process, which says what was different afterwards. That the process
would notice is shown by modules that change each of these things on purpose.
"""

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "attention_lib"
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if path.stem != "__main__"  # a command, not to be imported
)

# What a page shares with the modules that it imports. Third parties are imported first: what
# matplotlib does to itself on import is its own.
WATCH = """
import builtins, copy, decimal, gc, importlib, locale, logging, os, random, signal, sys, threading, warnings

import numpy as np
import matplotlib
from matplotlib import pyplot as plt


def state():
    root = logging.getLogger()
    return {
        "NumPy's error state": np.geterr(),
        "NumPy's print options": {k: v for k, v in np.get_printoptions().items() if k != "formatter"},
        "NumPy's random state": str(np.random.get_state()),
        "Python's random state": hash(random.getstate()),
        "rcParams": dict(matplotlib.rcParams),
        "the backend": matplotlib.get_backend(),
        "interactive mode": plt.isinteractive(),
        "open figures": plt.get_fignums(),
        "styles and colour maps": (sorted(plt.style.available), sorted(matplotlib.colormaps)),
        "warnings": [str(filter) for filter in warnings.filters],
        "how warnings are shown": (warnings.showwarning, warnings.formatwarning),
        "logging": (root.level, list(root.handlers), logging.root.manager.disable),
        "matplotlib's logging": logging.getLogger("matplotlib").level,
        "locale": locale.setlocale(locale.LC_ALL),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "sys.path": list(sys.path),
        "limits": (sys.getrecursionlimit(), decimal.getcontext().prec, gc.isenabled()),
        "hooks": (sys.displayhook, sys.excepthook, sys.stdout, sys.stderr, sys.gettrace()),
        "signals": signal.getsignal(signal.SIGINT),
        "threads": threading.active_count(),
        "words of Python": {k: v for k, v in vars(builtins).items() if k != "_"},
    }


before = copy.copy(state())
importlib.import_module(sys.argv[1])
after = state()
print(*[name for name in before if before[name] != after[name]], sep="\\n")
"""

PLANTED = {
    "NumPy's error state": "import numpy; numpy.seterr(over='ignore')",
    "NumPy's print options": "import numpy; numpy.set_printoptions(precision=4)",
    "NumPy's random state": "import numpy; numpy.random.seed(0)",
    "Python's random state": "import random; random.random()",
    "rcParams": "import matplotlib; matplotlib.rcParams['font.size'] = 8",
    "the backend": "import matplotlib; matplotlib.use('svg')",
    "interactive mode": "from matplotlib import pyplot; pyplot.ion()",
    "open figures": "from matplotlib import pyplot; pyplot.figure()",
    "styles and colour maps": (
        "import matplotlib; matplotlib.colormaps.register(matplotlib.colormaps['gray'], name='mine')"
    ),
    "warnings": "import warnings; warnings.filterwarnings('ignore')",
    "how warnings are shown": "import warnings; warnings.showwarning = print",
    "logging": "import logging; logging.basicConfig()",
    "matplotlib's logging": "import logging; logging.getLogger('matplotlib').setLevel(50)",
    "environment": "import os; os.environ['MPLBACKEND_'] = 'agg'",
    "folder": "import os; os.chdir('..')",
    "sys.path": "import sys; sys.path.append('.')",
    "limits": "import sys; sys.setrecursionlimit(5000)",
    "hooks": "import sys; sys.displayhook = print",
    "signals": "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)",
    "threads": (
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"
    ),
    "words of Python": "import builtins; builtins.show = print",
}


def changed_by(module, folder):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WATCH, module],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()[:-1] if done.stdout == "\n" else done.stdout.splitlines()


def test_importing_everything_changes_nothing(tmp_path):
    lines = "\n".join(f"import {module}" for module in MODULES)
    (tmp_path / "all_of_it.py").write_text(lines, encoding="utf-8")
    assert {"attention_lib.heatmap", "attention_lib.figures", "attention_lib.exercises"} <= {
        *MODULES
    }
    assert changed_by("all_of_it", tmp_path) == []


def test_the_watch_notices_each_change(tmp_path):
    # All in one process: a fresh one for each would take half a minute.
    (tmp_path / "all_of_it.py").write_text("\n".join(PLANTED.values()), encoding="utf-8")
    found = changed_by("all_of_it", tmp_path)
    assert [name for name in PLANTED if name not in found] == []
