"""A pytest plugin: nbval compares the pixels of figures as well, and its kernels start warm."""

import sys

import nbval.kernel
import nbval.plugin
import pytest
from jupyter_client.kernelspec import KernelSpec
from pixels import differences, pictures
from warm_kernel import WarmKernels


def pytest_addoption(parser):
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


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if config.option.pixels == "compare":
        _compare_pixels(config)
    if config.option.kernels == "warm":
        _start_warm(config)


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
    original = getattr(owner, name)
    config.add_cleanup(lambda: setattr(owner, name, original))
    setattr(owner, name, function)
