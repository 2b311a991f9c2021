"""pytest, for the whole checkout: nbval compares the pixels of figures as well."""

import nbval.plugin
import pytest
from pixels import differences, pictures


def pytest_addoption(parser):
    parser.addoption(
        "--pixels",
        choices=["compare", "skip"],
        default="compare",
        help="compare the pixels of stored figures (needs the pinned matplotlib), or their descriptions alone",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if config.option.pixels == "skip":
        return
    compare_the_rest = nbval.plugin.IPyNbCell.compare_outputs

    def compare_outputs(cell, drawn, stored, skip_compare=None):
        # Text first: its message is the better one where both differ.
        if not compare_the_rest(cell, drawn, stored, skip_compare):
            return False
        found = differences(pictures(stored), pictures(drawn))
        cell.comparison_traceback += [f"{cell.name}, {sentence}" for sentence in found]
        return not found

    config.add_cleanup(lambda: setattr(nbval.plugin.IPyNbCell, "compare_outputs", compare_the_rest))
    nbval.plugin.IPyNbCell.compare_outputs = compare_outputs
