"""The pages of the site are made from the notebooks. `make test-site` opens them in a browser."""

import json
from pathlib import Path

import pytest
import site_pages
from practice import lessons

ROOT = Path(__file__).parent.parent
LESSONS = {path.relative_to(ROOT): json.loads(path.read_text("utf-8")) for path in lessons(ROOT)}


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_notebook_says_what_its_row_on_the_first_page_needs(path):
    assert set(site_pages.parts_of(LESSONS[path])) == {
        "You will do", "You will learn", "You need", "Time",
    }  # fmt: skip
    assert 5 <= site_pages.minutes_of(LESSONS[path]) <= 90


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_page_has_its_own_button_and_each_figure_its_alternative(path):
    page = site_pages.book_page(LESSONS[path], path, has_practice=True)
    text = "\n".join(site_pages.text_of(page))
    assert f"../lite/notebooks/index.html?path={path.stem}_practice.ipynb" in text
    assert "make practice`, which" not in text
    outputs = [output for cell in page["cells"] for output in cell.get("outputs", [])]
    figures = ["".join(o["data"].get("text/html", "")) for o in outputs if "data" in o]
    assert all('alt="' in figure for figure in figures if "<img" in figure)
    assert not any("image/png" in o.get("data", {}) for o in outputs)


def test_picture_of_the_first_page_is_the_one_that_its_text_speaks_of():
    overview = LESSONS[Path("notebooks/00_overview.ipynb")]
    assert "weight · value" in site_pages.picture(overview, "1. scores: query")
    with pytest.raises(ValueError, match="no figure of the notebook has"):
        site_pages.picture(overview, "no such words")


def test_copy_for_the_browser_leads_back_into_the_book():
    path = Path("notebooks/03_softmax.ipynb")
    copied = site_pages.lite_copy(LESSONS[path], path)
    text = "\n".join(site_pages.text_of(copied))
    assert "](../../notebooks/03_softmax.html" in text
    assert "](../notebooks/" not in text
    assert copied["metadata"]["kernelspec"]["name"] == "python"


def test_lock_file_of_npm_has_hashes_and_names_no_host():
    packages = json.loads((ROOT / "site" / "package-lock.json").read_text("utf-8"))["packages"]
    assert all("integrity" in package for name, package in packages.items() if name)
    assert not any("resolved" in package for package in packages.values())


def test_pages_name_no_other_host():
    for path in [*(ROOT / "site").glob("*.md"), *(ROOT / "site" / "_static").glob("*.*s")]:
        assert "https://" not in path.read_text("utf-8"), path
