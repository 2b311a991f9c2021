"""Tokens as they can be drawn: literal, visible, short, and without a missing glyph."""

import functools
import re
import unicodedata

from matplotlib import font_manager, rcParams

LONGEST = 14  # characters of one drawn label; longer tokens end in an ellipsis

# Looked for in this order when the usual font lacks a character. None has to be installed.
FALLBACK_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Noto Sans SC",
    "Hiragino Sans",
    "PingFang SC",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
    "Noto Sans Hebrew",
    "DejaVu Sans",  # comes with matplotlib, so the signs for blanks and empty tokens are always there
)


def drawable(token):
    r"""Return the form of one token that a figure shows.

    Blanks at an end, and several in a row, become open boxes; control and invisible characters
    their escape; an empty token the empty-set sign; a character that no installed font has its
    code point. The token is never read as mathematics: pass `parse_math=False` to draw it.

    Examples
    --------
    >>> [drawable(token) for token in (" the", "a\nb", "", "$x$", "internationalization")]
    ['␣the', 'a\\nb', '∅', '$x$', 'international…']
    """
    text = str(token)
    # A blank between two words shows by itself; one at an end, or one of several, does not.
    text = re.sub(r"^ +| +$| {2,}", lambda blanks: "␣" * len(blanks[0]), text)
    text = "".join(map(_visible, text))
    if text and unicodedata.category(text[0])[0] == "M":
        text = "◌" + text  # an accent by itself has no width
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    return text or "∅"


def font_families():
    """Return the font families to draw tokens in: the figure's own, then installed fallbacks."""
    return [*rcParams["font.family"], *(name for name in FALLBACK_FONTS if _font_path(name))]


def _visible(character):
    if character == " ":
        return character
    if character in "\n\t\r":
        return repr(character)[1:-1]
    # Cc, Cf, Zs ...: controls, zero-width and direction marks, exotic spaces, lone surrogates.
    if unicodedata.category(character)[0] in "CZ" or not _has_glyph(character, _font_paths()):
        return f"U+{ord(character):04X}"
    return character


def _font_paths():
    usual = (
        font_manager.findfont(font_manager.FontProperties(family=[name]))
        for name in rcParams["font.family"]
    )
    return (*usual, *(path for path in map(_font_path, FALLBACK_FONTS) if path))


@functools.lru_cache(maxsize=4096)
def _has_glyph(character, paths):
    if character.isascii():
        return True
    return any(ord(character) in font_manager.get_font(path).get_charmap() for path in paths)


@functools.cache
def _font_path(family):
    """Return the file of an installed family, or None; findfont would warn about a missing one."""
    if family not in font_manager.get_font_names():
        return None
    # The very face that text is drawn in: a bold or a light one may have other characters.
    return font_manager.findfont(font_manager.FontProperties(family=[family]))
