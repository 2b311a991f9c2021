"""Build the site: the notebooks as a book, and a JupyterLite in which each of them runs.

    python tools/build_site.py [--self-hosted]

`make site` calls it. The pages are made in build/site-pages, the site in build/site. Stored outputs
are shown; nothing is executed. With --self-hosted the site brings Pyodide along as well.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import urllib.request
from pathlib import Path

import site_pages
from practice import copy_of, lessons

import attention_lib

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "site"
PAGES = ROOT / "build" / "site-pages"
LITE = ROOT / "build" / "site-lite"
OUT = ROOT / "build" / "site"
NPM = SOURCE / "node_modules"

# Pinned in package.json too, where npm checks the hash of its lock file.
PYODIDE = json.loads((SOURCE / "package.json").read_text("utf-8"))["devDependencies"]["pyodide"]
CDN = f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE}/full/"
READY = ["numpy", "matplotlib", "attention-lib", "ipywidgets"]
# For sliders, and for the kernel itself. What Pyodide has not, the site brings along.
WHEELS = {
    "comm": [],
    "jupyterlab-widgets": [],
    "ipywidgets": ["comm", "ipython", "jupyterlab-widgets", "traitlets", "widgetsnbextension"],
}


def run(*command, cwd=ROOT, **variables):
    """Run a command; end with what it said where it fails."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=os.environ | variables)
    if done.returncode:
        sys.exit(f"build_site: {Path(str(command[0])).name} {command[1]} failed, see above.")


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def make_pages():
    """Lay out what Sphinx reads: the pages of site/, and the notebooks as the book shows them."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(SOURCE, PAGES, ignore=shutil.ignore_patterns("node_modules", "package*"))
    taught = {path.relative_to(ROOT): read(path) for path in lessons(ROOT)}
    solved = [p.relative_to(ROOT) for p in sorted(ROOT.glob("notebooks/solutions/*.ipynb"))]
    others = [Path("notebooks/glossary.ipynb"), *solved]
    for path, notebook in (taught | {path: read(ROOT / path) for path in others}).items():
        page = site_pages.book_page(notebook, path, path in taught)
        write(PAGES / path, site_pages.dumped(page))
    index = (SOURCE / "index.md").read_text(encoding="utf-8")
    overview = taught[Path("notebooks/00_overview.ipynb")]
    filled = {
        "PICTURE": site_pages.picture(overview, "1. scores: query"),
        "NOTEBOOKS": site_pages.table_of_notebooks(taught),
        "BOOK": site_pages.tree(map(numbered, taught.items()), "The notebooks"),
        "SOLUTIONS": site_pages.tree([p.with_suffix("").as_posix() for p in solved], "Solutions"),
    }
    for name, text in filled.items():
        index = index.replace(f"%{name}%", text)
    write(PAGES / "index.md", index)
    api = (SOURCE / "api.md").read_text(encoding="utf-8")
    write(PAGES / "api.md", api.replace("%FLOW%", flow()))


def numbered(item):
    """Return a page's line in the side bar, its number in front."""
    path, notebook = item
    return f"{path.stem[:2]} {site_pages.title_of(notebook)} <{path.with_suffix('').as_posix()}>"


def flow():
    """Return the diagram of the package's docstring."""
    blocks = attention_lib.__doc__.split("\n\n    Q (", 1)[1].split("\n\n`attention_steps`")[0]
    return textwrap.dedent("    Q (" + blocks)


def levels():
    """Give the captions of the side bar, which the theme calls headings, the level of one."""
    bare = '<p class="caption" role="heading">'
    for path in OUT.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        if bare in page:
            write(path, page.replace(bare, bare.replace(">", ' aria-level="2">')))


def vendor():
    """Copy what the pages load in a browser to their own host."""
    static = PAGES / "_static"
    for name in ("tex-svg.js", "a11y", "input/tex", "output/svg", "ui"):
        source, target = NPM / "mathjax" / "es5" / name, static / "mathjax" / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    shutil.copy(NPM / "@jupyter-widgets/html-manager/dist/embed-amd.js", static / "embed-amd.js")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wheels(folder):
    """Make the package's wheel, and fetch the pinned ones that Pyodide has not."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    pins = ROOT / "constraints.txt"
    run(*pip, "download", "--no-deps", "--dest", folder, "-c", pins, *WHEELS)
    return {path.name.split("-")[0].replace("_", "-"): path for path in folder.glob("*.whl")}


def lock_file(found, at):
    """Return Pyodide's lock file with the package and its companions in it.

    A plain import works then: Pyodide loads what a cell imports from the lock file.
    """
    lock = read(NPM / "pyodide" / "pyodide-lock.json")
    for package in lock["packages"].values():
        package["file_name"] = at + package["file_name"]
    needs = {"attention-lib": ["numpy", "matplotlib", "pillow"], **WHEELS}
    stub = found.get("widgetsnbextension")
    if stub:
        needs["widgetsnbextension"] = []
    for name, depends in needs.items():
        path = found[name]
        lock["packages"][name] = {
            "name": name,
            "version": path.name.split("-")[1],
            "file_name": f"../wheels/{path.name}",
            "install_dir": "site",
            "sha256": digest(path),
            "package_type": "package",
            "imports": [name.replace("-", "_")],
            "depends": depends,
            "unvendored_tests": False,
        }
    return lock


def make_lite(self_hosted):
    """Build JupyterLite with the practice copies in it."""
    shutil.rmtree(LITE, ignore_errors=True)
    for path in lessons(ROOT):
        page = site_pages.lite_copy(read(path), path.relative_to(ROOT))
        write(LITE / "contents" / copy_of(path).name, site_pages.dumped(page))
    found = wheels(LITE / "wheels")
    # Pyodide's kernel brings a stub of it, for its own copy is of no use without a server.
    extension = Path(sys.prefix) / "share/jupyter/labextensions/@jupyterlite"
    stub = next(extension.glob("*/static/pypi/widgetsnbextension-4*.whl"))
    found["widgetsnbextension"] = Path(shutil.copy(stub, LITE / "wheels"))
    here = "../pyodide/" if self_hosted else CDN
    write(LITE / "files" / "lock" / "pyodide-lock.json", json.dumps(lock_file(found, here)))
    settings = read(SOURCE / "lite" / "jupyter-lite.json")
    kernel = settings["jupyter-config-data"]["litePluginSettings"]
    kernel["@jupyterlite/pyodide-kernel-extension:kernel"] = {
        "pyodideUrl": "./pyodide/pyodide.mjs" if self_hosted else f"{CDN}pyodide.mjs",
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"lockFileURL": "./lock/pyodide-lock.json", "packages": READY},
    }
    write(LITE / "jupyter-lite.json", json.dumps(settings, indent=1))
    wheel_options = [f"--piplite-wheels={found['comm']}"]
    run(
        sys.executable, "-m", "jupyter", "lite", "build",
        "--lite-dir", LITE, "--contents", LITE / "contents", "--output-dir", OUT / "lite",
        "--apps", "lab", "--apps", "notebooks", "--apps", "tree", *wheel_options,
        "--no-sourcemaps", "--no-unused-shared-packages", cwd=LITE,
    )  # fmt: skip
    shutil.copytree(LITE / "files" / "lock", OUT / "lite" / "lock", dirs_exist_ok=True)
    shutil.copytree(LITE / "wheels", OUT / "lite" / "wheels", dirs_exist_ok=True)
    if self_hosted:
        bring_pyodide(OUT / "lite" / "pyodide")


def bring_pyodide(folder):
    """Put Pyodide and the packages that the notebooks need beside the site, each with its hash."""
    lock = read(NPM / "pyodide" / "pyodide-lock.json")["packages"]
    folder.mkdir(parents=True, exist_ok=True)
    for path in (NPM / "pyodide").iterdir():
        if path.suffix in {".mjs", ".wasm", ".zip", ".json"}:
            shutil.copy(path, folder)
    wanted, queue = set(), ["micropip", "ipython", "jedi", "matplotlib", "pillow", "traitlets"]
    while queue:
        if (name := queue.pop()) not in wanted and name in lock:
            wanted.add(name)
            queue += lock[name]["depends"]
    for name in sorted(wanted):
        target = folder / lock[name]["file_name"]
        if not target.exists():
            with urllib.request.urlopen(CDN + target.name, timeout=120) as answer:
                target.write_bytes(answer.read())
        if digest(target) != lock[name]["sha256"]:
            target.unlink()
            sys.exit(f"build_site: {target.name} is not the file that Pyodide's lock file names.")


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Build the site in build/site.")
    parser.add_argument("--self-hosted", action="store_true", help="bring Pyodide along")
    chosen = parser.parse_args(arguments)
    if not NPM.is_dir():
        sys.exit("build_site: npm's packages are missing; run npm ci in the folder site first.")
    make_pages()
    vendor()
    shutil.rmtree(OUT, ignore_errors=True)
    tools = os.pathsep.join([str(ROOT / "tools"), str(ROOT)])
    run(sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", PAGES, OUT, PYTHONPATH=tools)
    levels()
    make_lite(chosen.self_hosted)
    print(f"The site is in {OUT.relative_to(ROOT)}: open index.html through a web server.")


if __name__ == "__main__":
    main()
