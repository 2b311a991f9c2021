"""Open every page of the site in Chromium, as a reader does: `make test-site`, after `make site`.

No page may ask another host, fail a request, log an error, scroll sideways on a phone, or have a
serious finding of axe-core, in the light theme or the dark one. Then the search, a page in a frame,
and JupyterLite: the kernel's start, and notebook 03, where Pyodide's packages are at hand.
"""

import argparse
import contextlib
import functools
import hashlib
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
WHEELS = ROOT / "build" / "site-wheels"
NPM = ROOT / "site" / "node_modules"
AXE = NPM / "axe-core" / "axe.min.js"
CDN = re.compile(r"https://cdn\.jsdelivr\.net/pyodide/v[\d.]+/full/([^?]+)")
PYTHON = "3.14"  # of Pyodide
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """Serve a folder, below a path, as a host of pages does."""
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()


class Watch:
    """What went wrong on a page: failed requests, other hosts, errors."""

    def __init__(self, page, address):
        self.found = []
        page.on("console", lambda m: m.type == "error" and self.found.append(f"console: {m.text}"))
        page.on("pageerror", lambda error: self.found.append(f"error: {error}"))
        page.on("requestfailed", lambda r: self.found.append(f"failed: {r.url} {r.failure}"))
        page.on("response", lambda r: r.status >= 400 and self.found.append(f"{r.status}: {r.url}"))
        page.on(
            "request",
            lambda r: (
                r.url.startswith((address, "data:", "blob:"))
                or self.found.append(f"another host: {r.url[:100]}")
            ),
        )


def settled(page):
    """Wait until the formulas stand."""
    page.evaluate("() => window.MathJax?.startup?.promise?.then(() => true)")
    page.wait_for_timeout(50)


# What hangs out of the window, and is in no box that scrolls; the theme cuts it off in silence.
SIDEWAYS = """() => {
    const boxed = (e) => {
        for (let up = e; up && up.tagName !== 'ARTICLE'; up = up.parentElement)
            if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(up).overflowX))
                if (up !== e || up.getBoundingClientRect().right <= innerWidth) return true;
        return false;
    };
    const out = [...document.querySelectorAll('article *')].filter((e) => !boxed(e));
    const right = Math.max(0, ...out.map((e) => e.getBoundingClientRect().right));
    const root = document.documentElement;
    return Math.round(Math.max(right - innerWidth, root.scrollWidth - root.clientWidth, 0));
}"""
TOO_SMALL = """() => [...document.querySelectorAll('.figure-of-notebook img')].filter(
    i => !i.complete || i.naturalWidth === 0 || i.getBoundingClientRect().width
        < Math.min(i.width, i.naturalWidth / 1.5) - 2).map(i => i.alt.slice(0, 40))"""
CUT = """() => [...document.querySelectorAll('mjx-container')].filter(m => {
    if (m.getBoundingClientRect().right <= innerWidth + 1) return false;
    for (let e = m; e; e = e.parentElement)
        if (['auto', 'scroll'].includes(getComputedStyle(e).overflowX)) return false;
    return true;}).length"""
NO_ALT = "() => [...document.querySelectorAll('article img')].filter(i => !i.alt).length"


def look_at(page, address, name, folder):
    """Return the complaints about one page, in both themes and on a phone."""
    complaints = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size(DESKTOP)
        page.goto(address + name)
        settled(page)
        page.add_script_tag(path=AXE)
        report = page.evaluate("() => axe.run({resultTypes: ['violations'], iframes: false})")
        for finding in report["violations"]:
            if finding["impact"] in ("serious", "critical"):
                node = finding["nodes"][0]
                complaints.append(
                    f"{theme}: {finding['id']} ({len(finding['nodes'])}): {node['html'][:160]}"
                )
        if folder:
            page.screenshot(path=folder / f"{name.replace('/', '-')}-{theme}.png")
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(100)
    if (over := page.evaluate(SIDEWAYS)) > 0:
        complaints.append(f"on a phone the page scrolls sideways by {over} px")
    if small := page.evaluate(TOO_SMALL):
        complaints.append(f"on a phone a figure is too small or missing: {small}")
    if cut := page.evaluate(CUT):
        complaints.append(f"on a phone {cut} formulas are cut off")
    if without := page.evaluate(NO_ALT):
        complaints.append(f"{without} images have no text alternative")
    if folder:
        page.screenshot(path=folder / f"{name.replace('/', '-')}-phone.png")
    return complaints


def pages():
    """Return the pages of the book, by address."""
    found = sorted(SITE.rglob("*.html"))
    names = [path.relative_to(SITE).as_posix() for path in found]
    return [name for name in names if not name.startswith(("lite/", "_"))]


def book(browser, address, folder):
    complaints = []
    page = browser.new_context().new_page()
    watch = Watch(page, address)
    for name in pages():
        said = look_at(page, address, name, folder) + watch.found
        watch.found.clear()
        complaints += [f"{name}: {line}" for line in dict.fromkeys(said)]
        print(f"  {name}: {len(said)} complaints", flush=True)
    page.set_viewport_size(DESKTOP)
    page.goto(address + "search.html?q=softmax")
    page.wait_for_selector("ul.search li a", timeout=20_000)
    if not page.locator("ul.search a", has_text="softmax").count():
        complaints.append("the search does not find softmax")
    page.wait_for_load_state("networkidle")  # the search reads the pages that it found
    page.goto(address + "embed.html")
    frame = page.frame_locator("iframe")
    page.locator("iframe").scroll_into_view_if_needed()
    frame.locator("h1").wait_for(timeout=20_000)
    if frame.locator(".sidebar-drawer").is_visible():
        complaints.append("embed.html: the page in the frame shows its side bar")
    return complaints + [f"search, frame: {line}" for line in watch.found]


class Mirror:
    """Answers for Pyodide's address from files here: Pyodide itself from npm, which checks its hash.

    Pyodide's own builds of packages are at its address alone. Those in Python alone are taken from
    the package index in the same versions, and the lock file that the browser gets has their hashes;
    a file that is another one is refused by Pyodide. `folder` may hold Pyodide's own: then all is tried.
    """

    def __init__(self, folder):
        self.folders = [NPM / "pyodide", *([folder] if folder else [])]
        self.missing = set()
        self.lock = json.loads((SITE / "lite" / "lock" / "pyodide-lock.json").read_text("utf-8"))
        self.complete = folder is not None
        if not self.complete:
            WHEELS.mkdir(parents=True, exist_ok=True)
            self.folders.append(WHEELS)
            self._fetch()

    def _fetch(self):
        packages = self.lock["packages"]
        wanted, queue = set(), ["micropip", "ipython", "jedi", "traitlets"]
        while queue:
            if (name := queue.pop()) not in wanted:
                wanted.add(name)
                queue += [need.replace("_", "-").lower() for need in packages[name]["depends"]]
        needed = [
            f"{packages[name]['name']}=={packages[name]['version']}" for name in sorted(wanted)
        ]
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            str(WHEELS),
        ]
        subprocess.run(
            [*pip, "--only-binary", ":all:", "--python-version", PYTHON, *needed], check=True
        )
        for name in wanted:
            path = WHEELS / packages[name]["file_name"].rpartition("/")[2]
            packages[name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()

    def answer(self, route):
        name = CDN.fullmatch(route.request.url)[1]
        for path in (folder / name for folder in self.folders):
            if path.is_file():
                kind = {".wasm": "application/wasm", ".mjs": "text/javascript"}.get(path.suffix)
                route.fulfill(
                    path=path,
                    content_type=kind or "application/octet-stream",
                    headers={"Access-Control-Allow-Origin": "*"},
                )
                return
        self.missing.add(name)
        route.abort()

    def answer_lock(self, route):
        route.fulfill(body=json.dumps(self.lock), content_type="application/json")


def write_and_run(page, cell, code):
    """Put code into a cell in place of what is there, run it, and return the cell's output."""
    place = page.locator(".jp-CodeCell").nth(cell)
    place.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)
    page.keyboard.press("Shift+Enter")
    output = place.locator(".jp-OutputArea-output").first
    output.wait_for(timeout=180_000)
    return output.inner_text()


def lite(browser, address, folder, mirror):
    """Return the complaints about JupyterLite."""
    context = browser.new_context(viewport=DESKTOP)
    context.route(CDN, mirror.answer)
    context.route("**/lock/pyodide-lock.json*", mirror.answer_lock)
    page, others, complaints = context.new_page(), [], []
    context.on(
        "request",
        lambda r: (
            r.url.startswith((address, "data:", "blob:"))
            or CDN.fullmatch(r.url)
            or others.append(r.url)
        ),
    )
    notebook = address + "lite/notebooks/index.html?path=03_softmax_practice.ipynb"
    page.goto(notebook)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=120_000)
    page.locator(".jp-Notebook h1", has_text="Turn scores into weights").wait_for(timeout=60_000)
    said = write_and_run(page, 0, "import sys; print(sys.platform, 6 * 7)")
    if said.strip() != "emscripten 42":
        complaints.append(f"the kernel says {said!r}, not what it was asked")
    if mirror.complete:
        complaints += whole_notebook(page, notebook)
    if folder:
        page.screenshot(path=folder / "lite.png")
    # What was written stays in the browser, also when the page is loaded anew.
    page.keyboard.press("Control+s")
    page.wait_for_timeout(3_000)
    page.goto(notebook)
    kept = page.locator(".jp-CodeCell .cm-content").first
    kept.wait_for(timeout=120_000)
    if "6 * 7" not in kept.inner_text():
        complaints.append("what a reader wrote is gone when the page is loaded anew")
    return complaints + [f"JupyterLite asks another host: {url}" for url in others]


def whole_notebook(page, notebook):
    """Run notebook 03 to its end, and answer an exercise wrong and right."""
    complaints = []
    wrong = "check('softmax', lambda s: np.exp(s) / np.exp(s).sum(axis=0))"
    right = "check('softmax', lambda s: softmax(s))"
    said = write_and_run(page, 0, SETUP)
    if "0.1234" not in said:
        complaints.append(f"the chapter's table is not in the output: {said[:300]}")
    for code, words in ((wrong, "softmax over the columns"), (right, "[softmax]")):
        if words not in (said := write_and_run(page, 1, f"print({code})")):
            complaints.append(f"check says {said[:200]!r}")
    write_and_run(page, 2, "from attention_lib.figures import show\n"
                  "from attention_lib.heatmap import plot_heatmap\nshow(plot_heatmap(A))")  # fmt: skip
    if page.locator(".jp-CodeCell").nth(2).locator("img[alt^=Heatmap]").count() == 0:
        complaints.append("the heatmap is not drawn")
    return complaints


SETUP = """import numpy as np
from attention_lib import scaled_dot_product_attention, softmax
from attention_lib.exercises import check
from attention_lib.worked_example import worked_example
*_, Q, K, V = worked_example()
output, A = scaled_dot_product_attention(Q, K, V)
print(A.round(4))"""


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Try the site in build/site.")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of what was seen")
    parser.add_argument("--pyodide", type=Path, help="a folder with Pyodide's packages")
    parser.add_argument("--only", choices=["book", "lite"])
    chosen = parser.parse_args(arguments)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("try_site: Chromium is missing; on Debian: apt install chromium")
    if chosen.pictures:
        chosen.pictures.mkdir(parents=True, exist_ok=True)
    complaints = []
    with served(SITE) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        if chosen.only != "lite":
            complaints += book(browser, address, chosen.pictures)
        if chosen.only != "book":
            mirror = Mirror(chosen.pyodide)
            complaints += lite(browser, address, chosen.pictures, mirror)
            if not mirror.complete:
                print(
                    "Skipped in JupyterLite: whatever needs NumPy, which Pyodide builds and no package"
                    " index has. With its files in a folder: --pyodide FOLDER"
                )
        browser.close()
    print(*complaints, sep="\n")
    print(f"The site: {len(complaints)} complaints.")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
