"""What JupyterLab may write into the notebooks that git knows."""

import json
from pathlib import Path
from types import SimpleNamespace

import nbformat
import normal_form
import pytest
import reading_edition
from surroundings import ROOT, notebooks


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A checkout of one notebook, and the part of a server that saves it."""
    page = tmp_path / "notebooks" / "03_softmax.ipynb"
    page.parent.mkdir()
    page.write_bytes((ROOT / "notebooks" / "03_softmax.ipynb").read_bytes())
    monkeypatch.setattr(reading_edition, "FOLDER", page.parent)

    def save(model, path):
        reading_edition.before_save(
            model=model, path=path, contents_manager=SimpleNamespace(root_dir=str(tmp_path))
        )
        saved = nbformat.from_dict(model["content"])  # from here on as jupyter_server does it
        return normal_form.content(saved)

    return SimpleNamespace(page=page, save=save)


def stored(page):
    """Return what git stores of it, also in a checkout with other ends of lines."""
    return page.read_bytes().replace(b"\r\n", b"\n")


def as_a_browser_sends_it(page):
    content = json.loads(page.read_text(encoding="utf-8"))
    content["metadata"]["language_info"].update(version="3.11.7", mimetype="text/x-python")
    for cell in content["cells"]:
        cell["metadata"]["trusted"] = True
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": []}
    return {"type": "notebook", "content": content}


def test_a_page_that_was_run_and_not_edited_stays(server):
    model = as_a_browser_sends_it(server.page)
    assert server.save(model, "/notebooks/03_softmax.ipynb") == stored(server.page)


@pytest.mark.parametrize("where", [0, -1])
def test_an_edited_page_is_saved_and_nothing_else_in_it_changes(server, where):
    model = as_a_browser_sends_it(server.page)
    model["content"]["cells"][where]["source"] = "# Edited"
    saved = nbformat.reads(server.save(model, "notebooks/03_softmax.ipynb"), as_version=4)
    assert saved.cells[where].source == "# Edited"
    assert saved.metadata == normal_form.METADATA
    assert not any("trusted" in cell.metadata for cell in saved.cells)


def test_a_new_page_is_saved_in_the_normal_form(server):
    model = as_a_browser_sends_it(server.page)
    saved = nbformat.reads(server.save(model, "notebooks/new.ipynb"), as_version=4)
    assert saved.metadata == normal_form.METADATA


@pytest.mark.parametrize("path", ["practice/03_softmax_practice.ipynb", "notebooks.ipynb"])
def test_a_readers_own_notebook_is_saved_as_it_is(server, path):
    model = as_a_browser_sends_it(server.page)
    before = json.dumps(model)
    server.save(model, path)
    assert json.dumps(model) == before


def test_any_other_file_is_saved_as_it_is(server):
    model = {"type": "file", "format": "text", "content": "text"}
    reading_edition.before_save(
        model=model, path="notebooks/a.txt", contents_manager=SimpleNamespace(root_dir=ROOT)
    )
    assert model["content"] == "text"


@pytest.mark.parametrize("page", notebooks(), ids=lambda page: page.stem)
def test_stored_notebooks_are_in_the_normal_form(page):
    notebook = nbformat.read(page, as_version=4)
    normal_form.normalise(notebook)
    assert normal_form.content(notebook) == stored(page)


def test_the_server_of_make_lab_asks_first():
    settings = ROOT / "tools" / "jupyter" / "jupyter_server_config.json"
    hook = json.loads(settings.read_text())["ContentsManager"]["pre_save_hook"]
    module, _, name = hook.rpartition(".")
    assert Path(ROOT, "tools", f"{module}.py").is_file()
    assert callable(getattr(reading_edition, name))
