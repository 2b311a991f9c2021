"""How make lab starts, as far as it can be seen without starting it."""

import os
from pathlib import Path

import lab
import pytest


@pytest.fixture
def variables(monkeypatch):
    """An environment of its own: what is set in it goes when the test ends."""
    names = ["JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"]
    for name in [*names, "IPYTHONDIR", "MPLCONFIGDIR"]:
        monkeypatch.setenv(name, "to be put back")
        monkeypatch.delenv(name)
    return monkeypatch


def test_a_home_that_takes_files_is_left_alone(variables, tmp_path, capsys):
    variables.setenv("HOME", str(tmp_path))
    lab.keep_elsewhere_what_home_refuses()
    assert "JUPYTER_RUNTIME_DIR" not in os.environ
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(os.name == "nt", reason="HOME is of other systems")
def test_where_home_takes_no_files_jupyter_writes_elsewhere_and_one_line_says_so(
    variables, tmp_path, capsys
):
    home = tmp_path / "a file"  # refuses root as well
    home.touch()
    variables.setenv("HOME", str(home))
    lab.keep_elsewhere_what_home_refuses()
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
        Path(os.environ[name]).mkdir(parents=True)
    assert capsys.readouterr().out.count("\n") == 1
