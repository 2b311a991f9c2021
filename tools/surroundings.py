"""Keep the machine's own settings out of the checks: what they say depends on the checkout.

A reader's matplotlibrc changes each figure; an IPython startup file, PYTHONSTARTUP or a kernel of
one's own changes what a cell prints; PYTHONOPTIMIZE drops what a cell asserts; and the installed
attention_lib may be that of another checkout.
"""

import atexit
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

DROPPED = [
    *("PYTHONDEVMODE", "PYTHONINSPECT", "PYTHONOPTIMIZE", "PYTHONSTARTUP", "PYTHONWARNINGS"),
    *("JUPYTER_CONFIG_PATH", "JUPYTER_PATH"),
]


def notebooks(root=None):
    """Return the notebooks of a project, without the copies that JupyterLab keeps of them."""
    inside = ((root or ROOT) / "notebooks").rglob("*.ipynb")
    return sorted(path for path in inside if ".ipynb_checkpoints" not in path.parts)


def settle():
    """Give this process, and all that it starts, settings of the project's own.

    Before matplotlib is imported, which reads its settings once.
    """
    for name in DROPPED:
        os.environ.pop(name, None)
    folder = tempfile.mkdtemp(prefix="attention_lib-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        os.environ[name] = str(Path(folder, name.lower()))
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # the kernel of this environment
    if not _can_keep_fonts():
        os.environ["MPLCONFIGDIR"] = folder  # or matplotlib says so on stderr, in each process
    os.environ["MPLBACKEND"] = "agg"
    # The file that matplotlib comes with, instead of the user's; the list of fonts stays in its cache.
    matplotlib = Path(importlib.util.find_spec("matplotlib").origin).parent
    os.environ["MATPLOTLIBRC"] = str(matplotlib / "mpl-data" / "matplotlibrc")
    sys.path.insert(0, str(ROOT))
    os.environ["PYTHONPATH"] = _path_from(ROOT)
    # Here once, and not in the first cell that draws: on a new machine it takes long, and says so
    # on stderr; and where the cache cannot be written, all that is started gets another one.
    importlib.import_module("matplotlib.font_manager")


def _can_keep_fonts():
    home = os.environ.get("MPLCONFIGDIR") or os.environ.get("XDG_CACHE_HOME") or Path.home()
    there = next(place for place in (Path(home), *Path(home).absolute().parents) if place.exists())
    return os.access(there, os.W_OK | os.X_OK)


def of_kernel(folder):
    """Return the environment of a kernel that runs in `folder`: the package is that of its checkout."""
    folder = Path(folder).resolve()
    holding = (f for f in (folder, *folder.parents) if (f / "attention_lib/__init__.py").exists())
    checkout = next(holding, ROOT)
    return os.environ | {
        "PYTHONPATH": _path_from(checkout),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        # A stored slider could not be moved, and a page would show an error in its place.
        "ATTENTION_LIB_STILL": "1",
    }


def _path_from(checkout):
    """Return PYTHONPATH with a checkout in front, whichever of them is installed."""
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([str(checkout), *(other for other in others if other)])
