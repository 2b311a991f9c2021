"""Compare the pixels of the figures that a cell stored with those it draws now.

nbval compares the description of a figure, which holds on every matplotlib version. Pixels are
the second check, for what a description cannot say; they are only comparable when both
pictures come from the same matplotlib.
"""

import base64
import io
import re

import numpy as np
from PIL import Image

# Identical versions draw identical pictures. The smallest visible change, a stroke one pixel
# wide and a tenth of the height long, is far above this root mean square (of 0..255).
TOLERANCE = 0.1


def pictures(outputs):
    """Return the PNG files in the outputs of a cell, in order: that of the page, and the bare one."""
    found = []
    for output in outputs:
        data = output.get("data", {})
        page = data.get("text/html", "")
        encoded = re.findall(r'src="data:image/png;base64,([^"]*)"', page)
        encoded += [data["image/png"]] if "image/png" in data else []
        found += [base64.b64decode(text) for text in encoded]
    return found


def differences(stored, drawn):
    """Return a sentence for each way in which two lists of PNG files differ."""
    if len(stored) != len(drawn):
        return [f"{len(stored)} figures are stored, {len(drawn)} are drawn"]
    pairs = enumerate(zip(stored, drawn, strict=True), start=1)
    return [f"figure {n}: {why}" for n, pair in pairs if (why := _difference(*pair))]


def _difference(stored, drawn):
    try:
        pictures = [Image.open(io.BytesIO(file)) for file in (stored, drawn)]
        old, new = (np.asarray(picture.convert("RGBA"), dtype=float) for picture in pictures)
    except OSError as error:
        return f"the stored picture cannot be read ({error})"
    if old.shape != new.shape:
        how = f"stored with {old.shape[1]} x {old.shape[0]} pixels, drawn with {new.shape[1]} x {new.shape[0]}"
    else:
        distance = np.sqrt(((old - new) ** 2).mean())
        if distance <= TOLERANCE:
            return None
        how = f"root mean square of the difference {distance:.2f} of 255, allowed {TOLERANCE}"
    versions = [_version(picture) for picture in pictures]
    if versions[0] != versions[1]:
        return (
            f"stored by matplotlib {versions[0]}, drawn by {versions[1]}: such pictures always "
            "differ. Use the pinned versions (make test), or --pixels=skip"
        )
    return how


def _version(picture):
    """Return the matplotlib version that a PNG names as its software."""
    software = re.search(r"version\s?([\d.]+\w*)", picture.info.get("Software", ""))
    return software[1].rstrip(".") if software else "unknown"
