import ast
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import attention_lib
from attention_lib.source import source
from attention_lib.worked_example import worked_example

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "attention_lib"

MASKS = ["causal_mask", "padding_mask", "apply_mask"]
FLOW = ["attention_scores", "scale_scores", *MASKS, "softmax", "weighted_values"]
COMPOSED = ["AttentionSteps", "attention_steps", "scaled_dot_product_attention"]
TILED = ["PartialAttention", "tiled_attention", "partial_attention", "merge"]
MEASURES = ["row_entropy"]
BACKWARDS = ["softmax_jacobian", "softmax_vjp", "AttentionGradients", "attention_gradients"]

DRAWING = {
    "head_pictures",
    "plots_in_words",
    "figures",
    "heatmap",
    "query_picture",
    "sliders",
    "tokens",
}
MATHS = sorted(path for path in PACKAGE.rglob("*.py") if path.stem not in DRAWING)
STEPS = sorted(path for path in (PACKAGE / "steps").glob("*.py") if path.stem != "__init__")


def imported_by(path):
    """Return the absolute name of every module that a file imports, at its top or within a function."""
    parents = [PACKAGE.name, *path.relative_to(PACKAGE).parent.parts]
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return names


def test_public_names_stand_in_the_order_of_the_flow():
    assert attention_lib.__all__ == FLOW + COMPOSED + TILED + MEASURES + BACKWARDS


def test_public_names_are_all_that_the_package_offers_beside_its_modules():
    offered = {
        name
        for name, thing in vars(attention_lib).items()
        if not (name[0] == "_" or inspect.ismodule(thing))
    }
    assert offered == set(attention_lib.__all__)


def test_diagram_shows_the_steps_in_the_order_of_the_flow():
    _title, _equation, diagram, *_rest = attention_lib.__doc__.split("\n\n")
    assert re.findall("|".join(FLOW), diagram) == FLOW


@pytest.mark.parametrize("name", FLOW)
def test_each_step_is_a_function_and_not_its_module(name):
    assert inspect.isfunction(getattr(attention_lib, name))


@pytest.mark.parametrize("path", STEPS, ids=lambda path: path.stem)
def test_steps_import_numpy_and_the_error_sentences_but_not_one_another(path):
    assert imported_by(path) <= {"math", "numpy", "attention_lib", "attention_lib.validation"}


@pytest.mark.parametrize("path", MATHS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_maths_never_imports_what_draws(path):
    drawing = {f"attention_lib.{module}" for module in DRAWING}
    assert not {
        name for name in imported_by(path) if name in drawing or name.split(".")[0] == "matplotlib"
    }


def test_importing_the_package_loads_nothing_that_numpy_had_not_loaded():
    code = "import sys, numpy; before = {*sys.modules}; import attention_lib; print(*{*sys.modules} - before)"
    loaded = subprocess.check_output([sys.executable, "-W", "error", "-c", code], text=True).split()
    assert "attention_lib.validation" in loaded
    assert [name for name in loaded if name.split(".")[0] != "attention_lib"] == []


@pytest.mark.parametrize(
    "function",
    [
        *(
            getattr(attention_lib, name)
            for name in FLOW + COMPOSED[1:] + TILED[1:] + MEASURES + BACKWARDS
            if name[0].islower()
        ),
        source,
        worked_example,
    ],
    ids=lambda function: function.__name__,
)
def test_docstring_says_what_goes_in_what_comes_out_and_shows_an_example(function):
    sections = re.findall(r"^(\w+)\n-+$", inspect.getdoc(function), flags=re.MULTILINE)
    expected = ["Parameters"] if inspect.signature(function).parameters else []
    expected += ["Returns", "Examples"]
    assert [section for section in sections if section in expected] == expected


@pytest.mark.parametrize("library", ["numpy", "matplotlib"])
def test_readers_install_what_the_package_asks_for(library):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [line for line in project["dependencies"] if line.startswith(library)]
    requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert len(asked) == 1
    assert [line for line in requirements if line.startswith(library)] == asked
