"""Start `make lab` as a reader does, look at what it opens, and stop it.

    python tools/try_lab.py [COMMAND ...]     (make lab when none is given)

A small program stands in for the browser and writes down which page it was asked to open. That
page is fetched, with all that the notebook on it links to; a kernel is started and has to end
with JupyterLab. Exit code 1 and the terminal's text if anything is not as it should be.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil
from jupyter_client import BlockingKernelClient
from practice import FIRST, LINK, ROOT, copy_of

OPENED = copy_of(ROOT / "notebooks" / f"{FIRST}.ipynb").relative_to(ROOT).as_posix()
PATIENCE = 60  # seconds for what takes a few; a limit for a hung command, not a measurement
BROWSER = """\
import os, sys
open("{0}.part", "w").write(sys.argv[1])
os.replace("{0}.part", "{0}")
"""
# Each has been a page of text on a reader's screen.
UNWANTED = r"Traceback|(?i:warning)|[Dd]eprecat|Skipped|No such file|\[[IWE] \d"
MOST_LINES = 20


class Server:
    """A Jupyter server, as the recorded page gives its address and its token."""

    def __init__(self, address):
        self.address, self.path, self.token = re.match(
            r"(https?://[^/]+)(/[^?]*)\?token=(\w+)", address
        ).groups()

    def fetch(self, path, method=None, **body):
        """Return what the server answers; a status of an error raises."""
        request = urllib.request.Request(
            self.address + path,
            method=method,
            data=json.dumps(body).encode() if body else None,
            headers={"Authorization": f"token {self.token}"},
        )
        return urllib.request.urlopen(request, timeout=PATIENCE).read().decode()


def address_in(recorded):
    """Return the address behind what a browser was asked to open: a small page that forwards to it."""
    page = Path(urllib.request.url2pathname(recorded.removeprefix("file://")))
    return re.search(r'href="([^"]+)"', page.read_text(encoding="utf-8"))[1]


def look(server):
    """Check what the browser would show."""
    assert server.path == f"/lab/tree/{OPENED}", f"it opens {server.path}"
    assert "<title>JupyterLab</title>" in server.fetch(server.path), "it is not JupyterLab"
    notices = "/lab/api/settings/@jupyterlab/apputils-extension:notification"
    choices = json.loads(server.fetch(notices))["schema"]["properties"]
    assert choices["fetchNews"]["default"] == "false", "it asks about news"
    assert choices["checkForUpdates"]["default"] is False, "it looks for updates"
    cells = json.loads(server.fetch(f"/api/contents/{OPENED}"))["content"]["cells"]
    assert cells[0]["source"].startswith("# "), "the notebook does not begin with its title"
    texts = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    targets = {target.partition("#")[0] for _, target in LINK.findall(texts) if ":" not in target}
    for target in targets - {""}:
        path = os.path.normpath(f"{os.path.dirname(OPENED)}/{target}").replace(os.sep, "/")
        server.fetch(f"/api/contents/{path}?content=0")
    print(f"{OPENED} opens, and so do the {len(targets)} files that it links to.")
    save_unchanged(server, ROOT / "notebooks" / f"{FIRST}.ipynb")
    server.fetch("/api/kernels", name="python3")


def save_unchanged(server, page):
    """Check that a page which was run and saved, but not edited, is the same file."""
    before, path = page.read_bytes(), page.relative_to(ROOT).as_posix()
    content = json.loads(server.fetch(f"/api/contents/{path}"))["content"]
    content["metadata"]["language_info"]["version"] = "3"
    for cell in content["cells"]:
        cell["metadata"]["trusted"] = True
        cell.update({"outputs": [], "execution_count": 99} if cell["cell_type"] == "code" else {})
    try:
        server.fetch(f"/api/contents/{path}", "PUT", type="notebook", content=content)
        assert page.read_bytes() == before, f"saving {path} changes it"
    finally:
        page.write_bytes(before)
    print(f"{path} is the same file after a save.")


def run_code(code, folder):
    """Let the kernel that was started run code, as a cell of a notebook does."""
    (connection,) = folder.glob("RUNTIME/kernel-*.json")
    client = BlockingKernelClient(connection_file=str(connection))
    client.load_connection_file()
    client.start_channels()
    try:
        client.kernel_info(reply=True, timeout=PATIENCE)
        answer = client.execute_interactive(code, timeout=PATIENCE)["content"]
    finally:
        client.stop_channels()
    assert answer["status"] == "ok", f"{code} raises {answer.get('evalue')}"


def wait_for(something, running):
    """Wait until something is there, as long as the command runs."""
    limit = time.monotonic() + PATIENCE
    while not something():
        assert running.poll() is None, f"it ended, with exit code {running.returncode}"
        assert time.monotonic() < limit, f"nothing opened within {PATIENCE} seconds"
        time.sleep(0.1)


def try_out(command, folder):
    """Start the command in surroundings of its own, look, and stop it as Ctrl-C does."""
    recorded, browser, terminal = (folder / name for name in ("page", "browser.py", "terminal"))
    browser.write_text(BROWSER.format(recorded.as_posix()), encoding="utf-8")
    surroundings = os.environ | {
        # Quoted for webbrowser, which splits it as a shell does.
        "BROWSER": f"{shlex.quote(sys.executable)} {shlex.quote(str(browser))} %s",
        **{f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")},
        "IPYTHONDIR": str(folder / "ipython"),
    }
    keyboard, theirs = os.openpty()  # Jupyter asks before it stops, where there is somebody to ask
    with open(terminal, "wb") as output:
        running = subprocess.Popen(
            command,
            cwd=ROOT,
            env=surroundings,
            stdin=theirs,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    started = []
    try:
        wait_for(recorded.is_file, running)
        look(Server(address_in(recorded.read_text(encoding="utf-8"))))
        run_code("import attention_lib, matplotlib.pyplot", folder)
        started = psutil.Process(running.pid).children(recursive=True)
        for _ in range(2):
            os.killpg(running.pid, signal.SIGINT)
            time.sleep(0.5)
        _, left = psutil.wait_procs(started, timeout=PATIENCE)
        assert not left, f"still running after Ctrl-C: {left}"
        text = terminal.read_text(encoding="utf-8")
        assert not re.search(UNWANTED, text), "the terminal has more than a reader needs"
        assert text.count("\n") <= MOST_LINES, "the terminal has more than a reader can take in"
    except Exception:
        print(terminal.read_text(encoding="utf-8", errors="replace"))
        raise
    finally:
        for process in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        os.close(keyboard)
        os.close(theirs)
    print("It stops, and nothing is left running.")


def main(command):
    """Try a command; an exception says what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        try_out(command or ["make", "lab"], Path(folder).resolve())


if __name__ == "__main__":
    main(sys.argv[1:])
