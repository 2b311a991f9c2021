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
import os
import re
import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
NPM = ROOT / "site" / "node_modules"
AXE = NPM / "axe-core" / "axe.min.js"
CDN = re.compile(r"https://cdn\.jsdelivr\.net/pyodide/v[\d.]+/full/([^?]+)")
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


SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
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
    page.goto(address + "embed.html")
    frame = page.frame_locator("iframe")
    page.locator("iframe").scroll_into_view_if_needed()
    frame.locator("h1").wait_for(timeout=20_000)
    if frame.locator(".sidebar-drawer").is_visible():
        complaints.append("embed.html: the page in the frame shows its side bar")
    return complaints + [f"search, frame: {line}" for line in watch.found]


class Mirror:
    """Answers for Pyodide's address from files here, each with the hash of its lock file."""

    def __init__(self, folder):
        self.lock = json.loads((NPM / "pyodide" / "pyodide-lock.json").read_text("utf-8"))
        self.hashes = {p["file_name"]: p["sha256"] for p in self.lock["packages"].values()}
        self.folders = [NPM / "pyodide", *([folder] if folder else [])]
        self.missing = set()

    def answer(self, route):
        name = CDN.fullmatch(route.request.url)[1]
        for folder in self.folders:
            path = folder / name
            if path.is_file():
                body = path.read_bytes()
                right = self.hashes.get(name)
                if right and hashlib.sha256(body).hexdigest() != right:
                    break
                kind = {".wasm": "application/wasm", ".mjs": "text/javascript"}.get(path.suffix)
                headers = {"Access-Control-Allow-Origin": "*"}
                route.fulfill(body=body, content_type=kind or "application/octet-stream", headers=headers)
                return
        self.missing.add(name)
        route.abort()


def lite(browser, address, folder, mirror):
    """Return the complaints about JupyterLite, and what could not be tried."""
    context = browser.new_context(viewport=DESKTOP)
    context.route(CDN, mirror.answer)
    page = context.new_page()
    said, others = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on(
        "request",
        lambda r: (
            r.url.startswith((address, "data:", "blob:"))
            or CDN.fullmatch(r.url)
            or others.append(r.url)
        ),
    )
    with page.expect_response(lambda r: r.url.endswith("pyodide.asm.wasm"), timeout=120_000):
        page.goto(address + "lite/notebooks/index.html?path=03_softmax_practice.ipynb")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    complaints = [f"JupyterLite asks another host: {url}" for url in others]
    if page.locator("text=Turn scores into weights").count() == 0:
        complaints.append("JupyterLite does not show notebook 03")
    page.wait_for_timeout(20_000)
    if folder:
        page.screenshot(path=folder / "lite.png")
    Path(os.devnull).write_text("\n".join(said))
    return complaints, said


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
            found, said = lite(browser, address, chosen.pictures, mirror)
            complaints += found
            print("\n".join(said)[-3000:])
            if mirror.missing:
                print(f"Skipped: notebook 03 in JupyterLite. Not at hand: {sorted(mirror.missing)}")
        browser.close()
    print(*complaints, sep="\n")
    print(f"{len(pages()) - len(complaints)} ..." if False else f"The site: {len(complaints)} complaints.")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
