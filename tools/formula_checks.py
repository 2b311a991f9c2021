r"""What is wrong with formulas: those that do not parse, and those that say something else than the series.

`math_core` parses as LaTeX does, and as MathJax would: unknown commands, missing arguments, braces and
\left without their partner, two subscripts on one letter are errors. The texts in EQUATION and
DEFINITIONS are what the series defines: a formula that defines the same must be one of them. A new
notebook that writes a definition another way adds it there, once, where a reviewer sees it.
"""

import re
from functools import lru_cache

from math_core import LatexError, LatexToMathML

# What a softmax over S or Q may be taken of, up to boxes, spaces and the mask M.
EQUATION = "output=softmax(QK^T/sqrt(d_k))V"
SCORES_OF_SOFTMAX = {"QK^T/sqrt(d_k)", "S/sqrt(d_k)", "S_{scaled}"}

# What defines a symbol of the series: when a right-hand side is a definition (it holds this), and what it
# may then be, in the form that `plain` gives it. "$S = X M X^T$" is a remark and is left alone.
DEFINITIONS = {
    "S": (r"Q.*K|K.*Q", {"QK^T", "XW_QW_K^TX^T", "X(W_QW_K^T)X^T", "x(W_QW_K^T)X^T"}),
    "S_{ij}": (
        r"\\sum|Q|K|q|k",
        {r"\sum_{m=1}^{d_k}Q_{im}K_{jm}", r"\sum_mQ_{im}K_{jm}", r"q_i\cdotk_j"},
    ),
    "S_{scaled}": (
        r"sqrt|d_k|K",
        {"S/sqrt(d_k)", "QK^T/sqrt(d_k)", "qK^T/sqrt(d_k)", "xPX^T"},
    ),
    "A": ("softmax", {f"softmax({scores})" for scores in SCORES_OF_SOFTMAX}),
    "A_{ij}": (
        r"e\^",
        {r"e^{s_{ij}}/\sum_{l=1}^{n_k}e^{s_{il}}", r"e^{s_{ij}}/\sum_le^{s_{il}}"},
    ),
    "a_j": (r"e\^", {r"e^{s_j}/\sum_le^{s_l}", r"e^{x_j}/\sum_le^{x_l}"}),
    "output": (r"A.*V|V.*A|softmax", {"AV", EQUATION.removeprefix("output=")}),
    "output_i": (r"\\sum|V", {r"\sum_{j=1}^{n_k}A_{ij}V_j", r"\sum_jA_{ij}V_j"}),
    "J": ("diag", {"diag(a)-aa^T"}),
    "Q": ("W_", {"XW_Q", "XW_Q+b_Q"}),
    "K": ("W_", {"XW_K", "XW_K+b_K"}),
    "V": ("W_", {"XW_V", "XW_V+b_V"}),
}

_CONVERTER = LatexToMathML(fancy_error=False)


@lru_cache(maxsize=4096)
def error_of(tex):
    """Return what keeps a formula from being one, or None."""
    if re.search(r"(?<!\\)%", tex):
        return "everything after % is a comment; a percent sign is \\%"
    if not tex:
        return "nothing stands between the dollars"
    try:
        _CONVERTER.convert_with_local_state(tex, displaystyle=False)
    except LatexError as error:
        return re.sub(r"^\d+:\s*", "", str(error)).strip().rstrip(".")
    return None


def about_formula(tex):
    """Yield what is wrong with one formula."""
    shown = " ".join(tex.split())
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    if error := error_of(tex):
        yield f"the formula ${shown}$ does not parse: {error}"
        return
    for part in re.split(r"\\qquad|\\quad", tex):
        yield from _about_part(plain(part))


def about_plain_text(text):
    """Yield what is wrong with the equation where a docstring writes it as text."""
    for line in text.splitlines():
        # As text, the product of Q and K is written without a sign; in code it has an @ or a comma.
        if "softmax(" in line and re.search(r"Q(\^T)? ?K", line):
            yield from _about_softmax(plain(line))


def _about_part(part):
    yield from _about_softmax(part)
    if re.search(r"(?<!-)\\sum(_\{?\w+\}?)?([Aa]_\{?\w+\}?)\\(ln|log)\2", part):
        yield "an entropy has a minus before its sum, which is of logarithms of numbers below 1"
    symbol, *sides = _sides(part)
    sign, known = DEFINITIONS.get(symbol, ("", set()))
    for side in sides:
        # A softmax has been looked at already.
        side = side.strip(",.;").replace("+M", "")
        if known and re.search(sign, side) and side not in known and "softmax(" not in side:
            yield (
                f"{symbol} = {side} is not how the series defines {symbol}: "
                f"{' or '.join(sorted(known))} (tools/formula_checks.py has the list)"
            )


def _about_softmax(part):
    for match in re.finditer(r"softmax(.*?)\(", part):
        start = match.end()
        end = _closing(part, start)
        inside = part[start:end].replace("+M", "")
        if match[1] and re.search(r"[QS]", inside):
            yield f"softmax{match[1]}: the series writes softmax(...), which goes along rows"
        if not re.search(r"(?<![A-Za-z_\\])[QS](?![a-z])", inside):
            continue
        # One head is written like the whole: Q_h K_h^T.
        if re.sub(r"(?<=[QKV])_\{?[hi]\}?", "", inside) not in SCORES_OF_SOFTMAX:
            known = " or ".join(sorted(SCORES_OF_SOFTMAX))
            yield (
                f"softmax({inside}) is not the softmax of the series, which is taken of {known} "
                "(tools/formula_checks.py has the list)"
            )
        before, after = part[: match.start()], part[end + 1 :]
        if before.endswith("output=") and not re.match(r"V(?![a-z])", after):
            yield f"output = softmax(...){after} does not end in V; the equation is {EQUATION}"


@lru_cache(maxsize=4096)
def plain(tex):
    r"""Return a formula without spaces, boxes and sizes of brackets; fractions as a/b, roots as sqrt(a).

    >>> plain(r"\text{output} = \text{softmax}\!\left(\frac{\boxed{Q K^T}}{\sqrt{d_k}}\right) V")
    'output=softmax(QK^T/sqrt(d_k))V'
    """
    tex = re.sub(r"\\(left|right|displaystyle|!|,|;|:|quad|qquad)(?![a-z])|\\ |~", "", tex)
    tex = re.sub(r"\s+", "", tex)
    for command, form in [
        ("boxed", "{0}"),
        ("text", "{0}"),
        ("mathrm", "{0}"),
        ("operatorname", "{0}"),
        ("sqrt", "sqrt({0})"),
    ]:
        tex = _unwrap(tex, command, form)
    while (at := max(tex.rfind(r"\frac{"), tex.rfind(r"\dfrac{"), tex.rfind(r"\tfrac{"))) >= 0:
        start = tex.index("{", at) + 1
        middle = _closing(tex, start, "{}")
        if tex[middle + 1 : middle + 2] != "{":
            break
        end = _closing(tex, middle + 2, "{}")
        above, below = tex[start:middle], tex[middle + 2 : end]
        tex = f"{tex[:at]}{above}/{below}{tex[end + 1 :]}"
    return tex


def _unwrap(tex, command, form):
    while (at := tex.find(rf"\{command}" + "{")) >= 0:
        start = at + len(command) + 2
        end = _closing(tex, start, "{}")
        tex = tex[:at] + form.format(tex[start:end]) + tex[end + 1 :]
    return tex


def _closing(text, start, pair="()"):
    """Return where the bracket closes that was opened just before `start`."""
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] == pair[0]) - (text[place] == pair[1])
        if depth == 0:
            return place
    return len(text)


def _sides(part):
    """Split a chain of equations at the = signs that are within no bracket."""
    sides, depth = [""], 0
    for sign in part:
        depth += (sign in "({") - (sign in ")}")
        if sign == "=" and depth == 0:
            sides.append("")
        else:
            sides[-1] += sign
    return sides
