"""A pytest plugin that makes nbval stricter, quicker, and the same on every machine.

It compares the pixels of figures as well, runs each cell a second time, starts kernels warm, and
keeps the machine's own settings out.
"""

import sys
from importlib.util import find_spec

import nbval.kernel
import nbval.plugin
import pytest
from jupyter_client.kernelspec import KernelSpec
from pixels import differences, pictures
from surroundings import of_kernel, settle
from warm_kernel import WarmKernels


def pytest_addoption(parser, pluginmanager):
    group = parser.getgroup("notebooks")
    group.addoption(
        "--pixels",
        choices=["compare", "skip"],
        default="compare",
        help="compare the pixels of stored figures (needs the pinned matplotlib), or their descriptions alone",
    )
    group.addoption(
        "--kernels",
        choices=["warm", "cold"],
        # Forking a process that has loaded frameworks is safe on Linux, and only there.
        default="warm" if sys.platform == "linux" else "cold",
        help="fork kernels from a process that has done the imports, or start each from nothing",
    )
    # Not hasplugin: where this plugin is named on the command line, xdist comes after it.
    if find_spec("xdist") is None or pluginmanager.is_blocked("xdist"):
        group.addoption("--dist", help="nothing: there is no pytest-xdist that could distribute")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if sys.flags.optimize > 1 and not getattr(config.option, "numprocesses", None):
        raise pytest.UsageError(
            "Python runs with -OO, which drops docstrings and so the examples in them. Unset PYTHONOPTIMIZE."
        )
    if not hasattr(config, "workerinput"):  # workers have them from the process that started them
        settle()
    if config.option.nbval_sanitize_with:  # pytest may have been called from another folder
        config.option.nbval_sanitize_with = str(config.rootpath / config.option.nbval_sanitize_with)
    _use_the_package_beside(config)
    _run_again(config)
    if config.option.pixels == "compare":
        _compare_pixels(config)
    if config.option.kernels == "warm":
        _start_warm(config)


def _use_the_package_beside(config):
    start = nbval.kernel.start_new_kernel

    def start_new_kernel(*arguments, cwd, **options):
        return start(*arguments, cwd=cwd, env=of_kernel(cwd), **options)

    _replace(config, nbval.kernel, "start_new_kernel", start_new_kernel)


class CellAgain(nbval.plugin.IPyNbCell):
    """A cell that is run once more when the whole notebook has been: readers go back."""

    def runtest(self):
        if self.parent.failed:
            pytest.skip("a cell failed the first time")
        super().runtest()

    def reportinfo(self):
        path, line, description = super().reportinfo()
        return path, line, f"{description} again, after the last"


def _run_again(config):
    """Let each cell give its stored output again at the end, from the last cell to the first.

    In that order a cell finds each name as the last of the others left it, and not as the cells
    before it did.
    """
    collect_once = nbval.plugin.IPyNbFile.collect

    def collect(file):
        cells = list(collect_once(file))
        yield from cells
        for c in reversed(cells):
            name = f"{c.name} again"
            yield CellAgain.from_parent(
                file, name=name, cell_num=c.cell_num, cell=c.cell, options=c.options
            )

    _replace(config, nbval.plugin.IPyNbFile, "collect", collect)
    _replace(config, nbval.plugin.IPyNbFile, "failed", False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    first = isinstance(item, nbval.plugin.IPyNbCell) and not isinstance(item, CellAgain)
    if first and report.failed:
        item.parent.failed = True
    return report


def _compare_pixels(config):
    compare_the_rest = nbval.plugin.IPyNbCell.compare_outputs

    def compare_outputs(cell, drawn, stored, skip_compare=None):
        # Text first: its message is the better one where both differ.
        if not compare_the_rest(cell, drawn, stored, skip_compare):
            return False
        found = differences(pictures(stored), pictures(drawn))
        cell.comparison_traceback += [f"{cell.name}, {sentence}" for sentence in found]
        return not found

    _replace(config, nbval.plugin.IPyNbCell, "compare_outputs", compare_outputs)


def _start_warm(config):
    kernels = None

    def get_kernel_spec(_manager, _name):
        nonlocal kernels
        if kernels is None:
            kernels = WarmKernels()
            config.add_cleanup(kernels.close)
        return KernelSpec(argv=kernels.command(), display_name="warm", language="python")

    _replace(config, nbval.kernel.NbvalKernelspecManager, "get_kernel_spec", get_kernel_spec)


def _replace(config, owner, name, function):
    original = getattr(owner, name, None)
    config.add_cleanup(lambda: setattr(owner, name, original))
    setattr(owner, name, function)
