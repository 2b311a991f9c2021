"""A figure that follows sliders, where a notebook runs; the same figure, still, where it is read.

In JupyterLab, Jupyter Notebook and JupyterLite, `with_sliders` puts one slider per number above
the figure. A stored notebook, an exported page, and an environment without ipywidgets have the
figure as `attention_lib.figures.show` makes it, drawn at each slider's start.
"""

import html
import math
import os
import sys
from typing import NamedTuple

from . import validation
from .figures import picture_of, show

STILL = "ATTENTION_LIB_STILL"
"""With this variable in its environment a kernel draws the still figure: its outputs are stored."""

_VIEW = "application/vnd.jupyter.widget-view+json"


class Slider(NamedTuple):
    """The values that a number may take: where it starts, its limits, and the step between them.

    If all four are whole numbers, so is each value. `says` is the label; left out, it is the
    parameter's name.
    """

    start: float
    low: float
    high: float
    step: float = 1
    says: str = ""


def with_sliders(draw, **sliders):
    """Draw a figure, and draw it again whenever a slider moves.

    Parameters
    ----------
    draw : callable
        Takes one number per slider, by name, and returns an Axes or a Figure, always of the same
        size. It is called once with the starts, and once for each movement.
    **sliders : Slider
        The slider of each number, in the order in which they stand on the page.

    Returns
    -------
    Picture
        The figure at the starts, displayed, as `attention_lib.figures.show` returns it.

    Raises
    ------
    TypeError
        If `draw` cannot be called, no slider is given, or one is not a `Slider`.
    ValueError
        If a slider does not start between its limits, or its step is not above 0.

    Notes
    -----
    The text alternative under the figure is that of the figure which is shown. Without ipywidgets
    the still figure is followed by one sentence.

    Examples
    --------
    >>> from attention_lib import softmax
    >>> from attention_lib.heatmap import plot_heatmap
    >>> def draw(score):
    ...     return plot_heatmap(softmax([[score, 0.0]]), title="weights")
    >>> picture = with_sliders(draw, score=Slider(start=0, low=-5, high=5))
    >>> picture.alt
    'Heatmap "weights", rows Query, columns Key, 1 by 2: 0.50 in every cell.'
    """
    validation.sliders("with_sliders", draw, sliders, Slider)
    starts = {name: slider.start for name, slider in sliders.items()}
    if not _is_live():
        return show(draw(**starts))
    try:
        import ipywidgets
    except ImportError:
        picture = show(draw(**starts))
        print("Sliders need ipywidgets: python -m pip install ipywidgets, then restart the kernel.")
        return picture
    picture, box = _with_widgets(ipywidgets, draw, sliders)
    _display(picture, box)
    return picture


def _is_live():
    """Say whether there is a page on which a slider could be moved."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    in_terminal = type(shell).__name__ == "TerminalInteractiveShell"
    return shell is not None and not in_terminal and STILL not in os.environ


def _with_widgets(ipywidgets, draw, sliders):
    """Return the picture at the starts, and a box of the sliders and the picture that follows them."""
    controls = {name: _control(ipywidgets, name, slider) for name, slider in sliders.items()}

    def drawn():
        return picture_of(draw(**{name: control.value for name, control in controls.items()}))

    first = drawn()
    page = ipywidgets.HTML(_on_page(first))

    def follow(_change):
        # While this runs, the page holds back all but the last movement, so nothing queues up.
        page.value = _on_page(drawn())

    for control in controls.values():
        control.observe(follow, names="value")
    return first, ipywidgets.VBox([*controls.values(), page])


def _control(ipywidgets, name, slider):
    start, low, high, step = numbers = slider[:4]
    common = {
        "value": start,
        "min": low,
        "max": high,
        "step": step,
        "description": slider.says or name,
        # The label has the room it needs, and the slider never hangs out of a narrow page.
        "style": {"description_width": "initial"},
        "layout": ipywidgets.Layout(width="28em", max_width="98%"),
    }
    if all(isinstance(value, int) for value in numbers):
        return ipywidgets.IntSlider(**common)
    digits = max(0, math.ceil(-math.log10(step) - 1e-9))
    if abs(round(step, digits) - step) > 1e-9:
        digits += 1  # 0.25 has two digits
    return ipywidgets.FloatSlider(**common, readout_format=f".{digits}f")


def _on_page(picture):
    """Return the picture and, as visible text, its alternative, in a space that stays the same."""
    return (
        f'<div style="min-height: {picture.height}px">{picture._repr_html_()}</div>'
        f'<p role="status" style="max-width: {picture.width}px; line-height: 1.4">'
        f"{html.escape(picture.alt)}</p>"
    )


def _display(picture, box):
    """Display the box; what has no use for widgets finds the picture in the same output."""
    view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
    picture._display(**{_VIEW: view})
