"""Tokens as they can be drawn: literal, visible, short, and without a missing glyph."""

import functools
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
)


def drawable(token):
    r"""Return the form of one token that a figure shows.

    Blanks become an open box, control and invisible characters their escape, an empty token
    the empty-set sign, a character that no installed font has its code point. The
    token is never read as mathematics: pass `parse_math=False` where it is drawn.

    Examples
    --------
    >>> [drawable(token) for token in (" the", "a\nb", "", "$x$", "internationalization")]
    ['␣the', 'a\\nb', '∅', '$x$', 'international…']
    """
    text = "".join(_visible(character) for character in str(token))
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    return text or "∅"


def font_families():
    """Return the font families to draw tokens in: the figure's own, then installed fallbacks."""
    return [*rcParams["font.family"], *(name for name in FALLBACK_FONTS if _font_path(name))]


def _visible(character):
    if character == " ":
        return "␣"
    if character in "\n\t\r":
        return repr(character)[1:-1]
    # Cc, Cf, Zs ...: controls, zero-width and direction marks, exotic spaces, lone surrogates.
    if unicodedata.category(character)[0] in "CZ" or not _has_glyph(character, tuple(rcParams["font.family"])):
        return f"U+{ord(character):04X}"
    return character


@functools.lru_cache(maxsize=4096)
def _has_glyph(character, families):
    if character.isascii():
        return True
    paths = [font_manager.findfont(font_manager.FontProperties(family=[family])) for family in families]
    paths += [path for path in map(_font_path, FALLBACK_FONTS) if path]
    return any(ord(character) in font_manager.get_font(path).get_charmap() for path in paths)


@functools.cache
def _font_path(family):
    """Return the file of an installed family, or None; findfont would warn about a missing one."""
    known = {entry.name: entry.fname for entry in font_manager.fontManager.ttflist}
    return known.get(family)
