"""Notebook kernels that start warm: forked from a process that has done the usual imports.

Much of what it costs to check a short notebook is starting a kernel and importing NumPy and
pyplot (`bench_validate.py` measures it). A forked kernel has its own process, namespace and
folder, like any other; but the modules of IMPORTS are in memory already, so it cannot notice a
notebook that forgot to import one of them. `refresh.py --check` does: its kernels start cold.

`WarmKernels` keeps the process to fork from, and gives the command that starts a kernel. The
command is a kernel to Jupyter: it lives as long as the kernel and passes signals on.
"""

import ctypes
import io
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import uuid

TOOLS = os.path.dirname(os.path.abspath(__file__))
PR_SET_PDEATHSIG = 1

IMPORTS = "ipykernel.kernelapp ipykernel.zmqshell IPython.core.completer numpy matplotlib.pyplot PIL.PngImagePlugin"


class WarmKernels:
    """The process to fork kernels from. Ends with `close`, or with the process that made it."""

    def __init__(self):
        from surroundings import of_kernel  # here: whoever starts a kernel has no need of it

        self._name = f"kernels-{uuid.uuid4()}"
        self._server = subprocess.Popen(
            [sys.executable, __file__, "serve", self._name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What a kernel would find; matplotlib reads its settings once, when it is imported.
            cwd=TOOLS,
            env=of_kernel(TOOLS),
            # Out of reach of Ctrl-C, which a terminal sends to everybody: the server has kernels to end.
            start_new_session=True,
        )
        if self._server.stdout.readline() != b"ready\n":
            raise RuntimeError(
                f"the process to fork kernels from ended with {self._server.wait()}; its last words are "
                "above. --kernels=cold does without it."
            )

    def command(self):
        """Return the argv of a kernel specification."""
        # -S and -E: this process only waits, it needs no packages.
        return [sys.executable, "-S", "-E", __file__, "start", self._name, "{connection_file}"]

    def close(self):
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()


def serve(name):
    """Fork a kernel for each connection, and end it with the connection; until stdin closes."""
    for module in IMPORTS.split():
        __import__(module)
    draw_something()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0{name}")  # Linux keeps such a socket without a file
    listener.listen()
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    print("ready", flush=True)
    kernels = {}
    while True:
        for key, _ in selector.select(timeout=0.1):
            if key.fileobj is sys.stdin:
                for kernel in kernels.values():
                    os.kill(kernel, signal.SIGKILL)
                    os.waitpid(kernel, 0)
                return
            if key.fileobj is listener:
                connection, _ = listener.accept()
                kernels[connection] = fork_kernel(connection)
                selector.register(connection, selectors.EVENT_READ)
            else:  # whoever asked for the kernel is gone; it may be too busy to be told
                os.kill(kernels[key.fileobj], signal.SIGKILL)
        for connection, kernel in list(kernels.items()):
            if os.waitpid(kernel, os.WNOHANG)[0]:
                selector.unregister(connection)
                connection.close()
                del kernels[connection]


def draw_something():
    """Fill matplotlib's caches: fonts, glyphs, the parser of formulas."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().loglog([1, 10], [1, 10], label="$x$")
    figure.savefig(io.BytesIO(), format="png")


def fork_kernel(connection):
    """Fork the kernel that the other end of `connection` asks for; return its process."""
    server = os.getpid()
    with connection.makefile("rw") as stream:
        wanted = json.loads(stream.readline())
        process = os.fork()
        if process:
            print(process, file=stream, flush=True)
            return process
    # Linux ends the kernel with the server, even where the server had no time to do so.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # the sockets are not the kernel's business
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    path = os.environ["PYTHONPATH"].split(os.pathsep)
    sys.path[:] = path + [folder for folder in sys.path if folder not in {TOOLS, *path}]
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance(argv=["-f", wanted["connection_file"]])
    os._exit(0)


def start(name, connection_file):
    """Ask for a kernel, and stay as long as it and whoever wants it are there."""
    wanting = os.getppid()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(f"\0{name}")
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
        while os.getppid() == wanting:
            if select.select([connection], [], [], 1.0)[0]:
                return


if __name__ == "__main__":
    {"serve": serve, "start": start}[sys.argv[1]](*sys.argv[2:])
