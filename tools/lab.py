"""Open the notebooks in JupyterLab, beginning with the practice copy of 00.

    python tools/lab.py [OPTION ...]     (options are JupyterLab's own, as --no-browser, --port)

The practice copies are made or looked after first. JupyterLab sees the whole checkout, so that
the links between practice, notebooks and solutions lead somewhere.
"""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from practice import FIRST, ROOT, copy_of, lessons, say, update

# Neither the question about news nor a look for updates: once installed, all works offline. Only
# the defaults change; a reader's own settings come before them.
SETTINGS = ROOT / "tools" / "jupyter"
QUIET = [
    # Otherwise the terminal fills with language servers that are not installed, and with each
    # notebook that was not written on this machine. Errors, and the address, are still printed.
    "--ServerApp.log_level=ERROR",
    "--LabApp.log_level=ERROR",
    # Kernels warn of connections that are not encrypted; so let them be.
    "--KernelManager.transport_encryption=auto",
]


def keep_elsewhere_what_home_refuses():
    """Let Jupyter keep its notes in a temporary folder where it cannot write into its own."""
    from jupyter_core import paths

    folders = {
        "JUPYTER_CONFIG_DIR": paths.jupyter_config_dir(),
        "JUPYTER_DATA_DIR": paths.jupyter_data_dir(),
        "JUPYTER_RUNTIME_DIR": paths.jupyter_runtime_dir(),
        "IPYTHONDIR": os.environ.get("IPYTHONDIR", Path.home() / ".ipython"),
        "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", Path.home() / ".cache" / "matplotlib"),
    }
    refused = [name for name, folder in folders.items() if not can_be_written(Path(folder))]
    if refused:
        kept = tempfile.mkdtemp(prefix="attention_lib-")
        atexit.register(shutil.rmtree, kept, ignore_errors=True)
        os.environ.update({name: str(Path(kept, name.lower())) for name in refused})
        print(
            f"Nothing can be written in {Path.home()}: Jupyter forgets its settings when it ends."
        )


def can_be_written(folder):
    """Say whether a folder takes files, or could be made."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def main(options):
    """Make the practice copies and start JupyterLab; return when it is stopped."""
    try:
        from jupyterlab.labapp import LabApp
    except ImportError:
        sys.exit(
            f"JupyterLab is not installed for {sys.executable}. Use make lab, or, as the README says: "
            "python -m pip install -c constraints.txt -r requirements.txt"
        )
    keep_elsewhere_what_home_refuses()
    told, _ = update()
    say(told)
    (first,) = [lesson for lesson in lessons() if lesson.stem == FIRST]
    # The reading edition where no practice copy could be made, in a checkout that is read-only.
    first = copy_of(first) if copy_of(first).is_file() else first
    print(
        f"Opening {first.relative_to(ROOT)} in your browser. Ctrl-C here, twice, ends it.",
        flush=True,
    )
    # In a container root is often the only user, and Jupyter would refuse.
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    paths = [str(SETTINGS), os.environ.get("JUPYTER_CONFIG_PATH")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))
    LabApp.launch_instance([str(first), f"--ServerApp.root_dir={ROOT}", *QUIET, *root, *options])


if __name__ == "__main__":
    main(sys.argv[1:])
