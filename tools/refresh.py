"""Execute the notebooks from the top and store what they print and draw; draw the README's image.

    python tools/refresh.py [--check] [NOTEBOOK ...]     (all of them when none is named)

Where nothing changed, every file comes out byte for byte as it was; --check writes nothing and fails otherwise.
"""

import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from normal_form import content, normalise
from surroundings import ROOT, notebooks, of_kernel, settle


def refresh(path, check=False):
    """Execute one notebook and write it back in its normal form; say whether it changed."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=120,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],  # a kernel warns that it is on TCP
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute(env=of_kernel(path.parent))
    normalise(notebook)
    return store(path, content(notebook), check)


def readme_picture():
    """Draw the chapter's heatmap, the image of the README."""
    # Here, once the settings are the project's.
    from attention_lib import attention_steps
    from attention_lib.figures import show
    from attention_lib.heatmap import plot_heatmap
    from attention_lib.worked_example import worked_example

    tokens, *_, Q, K, V = worked_example()
    A = attention_steps(Q, K, V).A
    return show(plot_heatmap(A, queries=tokens, keys=tokens, title="Attention weights A"))


def store(path, stored, check):
    """Write a file unless it is only to be checked; say whether it was different."""
    changed = not path.exists() or path.read_bytes() != stored
    if changed and not check:
        # In one step, so that a full disk or a kill cannot leave half a notebook.
        new = path.with_name(path.name + ".new")
        try:
            new.write_bytes(stored)
            os.replace(new, path)
        finally:
            new.unlink(missing_ok=True)
    return changed


def main(arguments):
    """Refresh what is named, or everything."""
    settle()
    check = "--check" in arguments
    paths = [Path(argument).resolve() for argument in arguments if argument != "--check"]
    changed = []
    if not paths:
        image = ROOT / "docs" / "attention_weights.png"
        changed += [image] if store(image, readme_picture().png, check) else []
        paths = notebooks()
    for path in paths:
        start = time.perf_counter()
        print(f"{os.path.relpath(path, ROOT)}: ", end="", flush=True)
        changed += [path] if refresh(path, check) else []
        word = "changed" if path in changed else "as it was"
        print(f"{word} ({time.perf_counter() - start:.1f} s)")
    if check and changed:
        names = ", ".join(os.path.relpath(path, ROOT) for path in changed)
        sys.exit(
            f"Not stored as it comes out: {names}. Run make refresh, look at the difference, commit it."
        )


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("\nStopped. The notebook that was running is as it was; those before it are done.")
