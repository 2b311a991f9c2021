"""Tokens as they can be drawn: literal, visible, short, distinct, and without a missing glyph."""

import collections
import functools
import re
import unicodedata

from matplotlib import font_manager, rcParams

# The style of a text that is drawn letter by letter: no mathematics, and no LaTeX, which would
# take a % for the start of a comment.
LITERAL = {"parse_math": False, "usetex": False}
LONGEST = 14  # characters of one drawn label; longer tokens end in an ellipsis

GENERIC = {"serif", "sans-serif", "cursive", "fantasy", "monospace"}

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
    code point. The token is never read as mathematics: draw it in the `LITERAL` style.

    Examples
    --------
    >>> [drawable(token) for token in (" the", "a\nb", "", "$x$", "internationalization")]
    ['␣the', 'a\\nb', '∅', '$x$', 'international…']
    """
    return _shortened(_whole(token))


def distinct_labels(tokens):
    r"""Return the form of each token that a figure shows, no two alike for tokens that differ.

    Mostly that is `drawable`. Where long tokens would be cut to the same text, the cut is made in
    the middle. Where that does not tell them apart, or two tokens look alike to the last
    character, such as a zero-width space and the word that spells its code point, one of them
    keeps the label, the word if there is one, and the others get a number. Equal tokens have
    equal labels.

    Examples
    --------
    >>> distinct_labels(["internationalise", "internationally", "it", "it"])
    ['intern…onalise', 'intern…ionally', 'it', 'it']
    >>> distinct_labels(["\u200b", "U+200B"])
    ['U+200B (2)', 'U+200B']
    """
    texts = [str(token) for token in tokens]
    whole = {text: _whole(text) for text in texts}  # in order of appearance, each token once
    labels = {text: _shortened(form) for text, form in whole.items()}
    alike = _alike(labels)
    for text, form in whole.items():
        if alike[_look(labels[text])] > 1 and len(form) > LONGEST:
            labels[text] = form[: LONGEST // 2 - 1] + "…" + form[-(LONGEST // 2) :]
    # The label of a token that is shown as it is stays, and the other one gets the number.
    taken = set()
    for text in sorted(whole, key=lambda text: labels[text] != text):
        label, number = labels[text], 1
        while _look(label) in taken:
            number += 1
            mark = f" ({number})"
            label = _shortened(labels[text], LONGEST - len(mark)) + mark
        labels[text] = label
        taken.add(_look(label))
    return [labels[text] for text in texts]


def with_glyphs(words):
    """Return a title in which each character that no installed font has is its code point.

    Examples
    --------
    >>> with_glyphs("weights of \U0001f9f6")
    'weights of U+1F9F6'
    """
    if str(words).isascii():
        return str(words)
    paths = _font_paths()
    return "".join(
        c if c.isspace() or _has_glyph(c, paths) else f"U+{ord(c):04X}" for c in str(words)
    )


def font_families():
    """Return the font families to draw in: the figure's own, then fallbacks, all of them installed.

    For one that is not, matplotlib would write a line of warning each time a text is measured.
    """
    return [*_usual_families(), *(name for name in FALLBACK_FONTS if _font_path(name))]


def _usual_families():
    families = rcParams["font.family"]
    families = [families] if isinstance(families, str) else families
    return [name for name in families if any(map(_font_path, _members(name)))]


def _members(family):
    """Return the families that a generic name stands for; any other name stands for itself."""
    generic = "sans-serif" if family in {"sans", "sans serif"} else family
    return rcParams.get(f"font.{generic}", [family]) if generic in GENERIC else [family]


def _whole(token):
    text = str(token)
    # A blank between two words shows by itself; one at an end, or one of several, does not.
    text = re.sub(r"^ +| +$| {2,}", lambda blanks: "␣" * len(blanks[0]), text)
    text = "".join(map(_visible, text))
    if text and unicodedata.category(text[0])[0] == "M":
        text = "◌" + text  # an accent by itself has no width
    return text or "∅"


def _shortened(text, longest=LONGEST):
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _alike(labels):
    return collections.Counter(map(_look, labels.values()))


def _look(label):
    """Return what two labels have in common that look the same: é is one character or two."""
    return unicodedata.normalize("NFC", label)


def _visible(character):
    if character == " ":
        return character
    if character in "\n\t\r":
        return repr(character)[1:-1]
    # Cc, Cf, Zs ...: controls, zero-width and direction marks, exotic spaces, lone surrogates.
    hidden = unicodedata.category(character)[0] in "CZ"
    # Every font has the letters of ASCII; to look for the fonts takes longer than all the rest.
    if hidden or not (character.isascii() or _has_glyph(character, _font_paths())):
        return f"U+{ord(character):04X}"
    return character


def _font_paths():
    usual = (
        font_manager.findfont(font_manager.FontProperties(family=[name]))
        for name in _usual_families()
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
