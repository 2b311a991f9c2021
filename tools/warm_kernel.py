"""Notebook kernels that start warm: forked from a process that has done the usual imports.

Starting a kernel and importing NumPy and pyplot costs several times what the cells of a
notebook of this series cost. A forked kernel is as fresh as any other: its own process, its
own namespace, its own folder; only the modules of IMPORTS are in memory already.

`WarmKernels` keeps the process to fork from, and gives the command that starts a kernel. The
command is a kernel to Jupyter: it lives as long as the kernel and passes signals on.
"""

import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

IMPORTS = "ipykernel.kernelapp ipykernel.zmqshell IPython.core.completer numpy matplotlib.pyplot PIL.PngImagePlugin"


class WarmKernels:
    """The process to fork kernels from. Ends with `close`, or with the process that made it."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="kernels-")
        self._address = str(Path(self._folder.name, "socket"))
        self._server = subprocess.Popen(
            [sys.executable, __file__, "serve", self._address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # What a kernel would set; matplotlib reads it once, when it is imported.
            env=os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"},
        )
        self._server.stdout.readline()  # it listens now

    def command(self):
        """Return the argv of a kernel specification."""
        # -S and -E: this process only waits, it needs no packages.
        return [sys.executable, "-S", "-E", __file__, "start", self._address, "{connection_file}"]

    def close(self):
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()
        self._folder.cleanup()


def serve(address):
    """Fork a kernel for each connection, until standard input closes."""
    for module in IMPORTS.split():
        __import__(module)
    draw_something()
    signal.signal(signal.SIGCHLD, bury)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                selector.close()
                become_kernel(connection)
            connection.close()


def draw_something():
    """Fill matplotlib's caches: fonts, glyphs, the parser of formulas."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().loglog([1, 10], [1, 10], label="$x$")
    figure.savefig(io.BytesIO(), format="png")


def bury(_number, _frame):
    """Wait for the kernels that have ended, so that their time counts as this process's own."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def become_kernel(connection):
    """Turn this fork into the kernel that the other end of `connection` asks for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with connection.makefile("rw") as stream:
        wanted = json.loads(stream.readline())
        print(os.getpid(), file=stream, flush=True)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    from ipykernel.kernelapp import launch_new_instance

    # Each side learns from the end of the connection that the other is gone, killed or not.
    threading.Thread(target=lambda: (connection.recv(1), os._exit(0)), daemon=True).start()
    launch_new_instance(argv=["-f", wanted["connection_file"]])
    os._exit(0)


def start(address, connection_file):
    """Ask for a kernel, and stay as long as it lives."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    wanted = {
        "connection_file": connection_file,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    with connection.makefile("rw") as stream:
        print(json.dumps(wanted), file=stream, flush=True)
        kernel = int(stream.readline())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _frame: os.kill(kernel, number))
        stream.read()


if __name__ == "__main__":
    {"serve": serve, "start": start}[sys.argv[1]](*sys.argv[2:])
