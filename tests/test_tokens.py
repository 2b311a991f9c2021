import logging
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.mathtext import MathTextParser

from attention_lib import tokens
from attention_lib.tokens import FALLBACK_FONTS, LONGEST, distinct_labels, drawable, font_families

pytestmark = pytest.mark.usefixtures("drawing")

WITHOUT_GLYPH = "\U0001f9f6"  # a ball of yarn, for want of a font with every character


def draw(token):
    """Render one token as the tick label of a figure."""
    figure, ax = plt.subplots(figsize=(1, 1))
    ax.set_xticks([0], [drawable(token)], family=font_families(), parse_math=False)
    figure.canvas.draw()
    plt.close(figure)


@pytest.mark.parametrize("token", ["the", "##ing", "don't", "naïve", "Ω", "→", "U+0041", "…", "∅"])
def test_visible_token_is_shown_as_it_is(token):
    assert drawable(token) == token


@pytest.mark.parametrize(
    "token",
    [
        "$",
        "$$",
        "$x_1$",
        "US$5",
        r"$\foo$",
        "a$b$c",
        "x_1^2",
        "100%",
        "#",
        "{",
        "\\",
        "<pad>",
        "&lt;",
    ],
)
def test_token_is_never_read_as_mathematics_or_markup(token, monkeypatch):
    def parse(*arguments, **options):
        raise AssertionError("read as mathematics")

    monkeypatch.setattr(MathTextParser, "parse", parse)
    assert drawable(token) == token
    draw(token)


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("", "∅"),
        (" ", "␣"),
        ("   ", "␣␣␣"),
        (" the", "␣the"),
        ("the ", "the␣"),
        ("a b", "a b"),
        ("a  b", "a␣␣b"),
        (" a b ", "␣a b␣"),
    ],
)
def test_blank_shows_where_it_would_be_lost(token, shown):
    assert drawable(token) == shown


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("\n", r"\n"),
        ("\t", r"\t"),
        ("\r", r"\r"),
        ("a\nb", r"a\nb"),
        ("\x00", "U+0000"),
        ("\x1b[0m", "U+001B[0m"),
        ("\x7f", "U+007F"),
        ("\x85", "U+0085"),
        ("\xa0", "U+00A0"),
        ("\xad", "U+00AD"),
        ("\u200b", "U+200B"),
        ("a\u200db", "aU+200Db"),
        ("\u202e", "U+202E"),
        ("\u2028", "U+2028"),
        ("\u3000", "U+3000"),
        ("\ufeff", "U+FEFF"),
        ("\ud800", "U+D800"),
        ("\udfff", "U+DFFF"),
        ("\ue000", "U+E000"),
        ("\U0010ffff", "U+10FFFF"),
    ],
)
def test_character_that_cannot_be_seen_shows_its_escape(token, shown):
    assert drawable(token) == shown


@pytest.mark.parametrize("token", ["\u0301", "\u0301a", "\ufe0f"])
def test_accent_without_a_letter_gets_a_circle_to_sit_on(token):
    assert drawable(token) == "◌" + token
    assert drawable("e" + token) == "e" + token


@pytest.mark.parametrize("token", ["\x00" * 20, "x" * 15, "x" * 60, "猫" * 60, " " * 60, "ab " * 9])
def test_long_token_ends_in_an_ellipsis(token):
    assert len(drawable(token)) == LONGEST
    assert drawable(token).endswith("…")


def test_token_that_just_fits_is_not_shortened():
    assert drawable("x" * LONGEST) == "x" * LONGEST
    assert drawable("x" * LONGEST + "y") == "x" * (LONGEST - 1) + "…"


@pytest.mark.parametrize(
    ("token", "shown"), [(7, "7"), (0.5, "0.5"), (None, "None"), (b"a", "b'a'")]
)
def test_token_need_not_be_a_string(token, shown):
    assert drawable(token) == shown


def test_character_without_a_glyph_shows_its_code_point():
    assert drawable(WITHOUT_GLYPH) == "U+1F9F6"


def test_character_shows_itself_where_a_fallback_font_has_it(monkeypatch):
    plt.rcParams["font.family"] = "STIXGeneral"
    monkeypatch.setattr(tokens, "FALLBACK_FONTS", ())
    assert drawable("ي") == "U+064A"
    monkeypatch.setattr(tokens, "FALLBACK_FONTS", ("DejaVu Sans",))
    assert drawable("ي") == "ي"


@pytest.mark.parametrize("setting", ["font.family", "font.sans-serif"])
def test_change_of_the_font_is_noticed(setting, monkeypatch):
    monkeypatch.setattr(tokens, "FALLBACK_FONTS", ())
    assert drawable("ي") == "ي"
    plt.rcParams[setting] = ["STIXGeneral"]
    assert drawable("ي") == "U+064A"


@pytest.mark.parametrize("family", ["DejaVu Serif", "DejaVu Sans Mono", "STIXGeneral"])
@pytest.mark.parametrize("token", ["", " the", "x" * 20, "猫", "\x00", "Ω"])
def test_signs_can_be_drawn_in_every_font(token, family):
    plt.rcParams["font.family"] = family
    draw(token)


def test_families_start_with_the_figures_own_and_are_all_installed(caplog):
    plt.rcParams["font.family"] = ["serif", "monospace"]
    first, second, *fallbacks = font_families()
    assert (first, second) == ("serif", "monospace")
    assert fallbacks == [name for name in FALLBACK_FONTS if name in fallbacks]
    with caplog.at_level(logging.WARNING):
        draw("猫")
    assert not caplog.records


@given(st.text())
def test_any_text_becomes_a_short_visible_label(token):
    shown = drawable(token)
    assert 1 <= len(shown) <= LONGEST
    assert shown.strip(" ") == shown
    assert {unicodedata.category(character)[0] for character in shown.replace(" ", "")}.isdisjoint(
        "CZ"
    )


@given(
    st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), min_size=1, max_size=14)
)
def test_short_ascii_text_is_shown_as_it_is(token):
    assert drawable(token) == token


# Labels of several tokens


def looks(labels):
    return [unicodedata.normalize("NFC", label) for label in labels]


ALIKE = {
    "Thai words that differ in one mark": ["กา", "ก่า", "เกาะเกากลาง", "เกาะเก่ากลาง"],
    "the same beginning": ["internationalise", "internationally", "internationalisation"],
    "the same beginning and end": [f"{'a' * 20}{x}{'b' * 20}" for x in "pqr"],
    "the code point and the character": ["\u200b", "U+200B", "\u200b\u200b", "U+200BU+200B"],
    "blanks": [" the", "␣the", "␣␣", "  ", " ␣"],
    "nothing": ["", "∅"],
    "escapes": ["\n", "\\n", "\\\\n", "\t", "\\t"],
    "accents": ["\u0301", "◌\u0301"],
    "one character or two": ["é", "e\u0301", "é (2)"],
    "numbered": ["\u200b", "U+200B", "U+200B (2)", "U+200B (3)"],
    "code points cut off": ["\U0010fffe" * 3, "\U0010fffe" * 4, "\U0010fffe\U0010ffff" * 2],
}


@pytest.mark.parametrize("words", ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("fonts", [FALLBACK_FONTS, ()])
def test_tokens_that_differ_have_labels_that_differ(words, fonts, monkeypatch):
    monkeypatch.setattr(tokens, "FALLBACK_FONTS", fonts)
    for some in (words, words[::-1]):
        labels = distinct_labels([*some, *some])
        assert labels[: len(some)] == labels[len(some) :]  # equal tokens, equal labels
        assert len(set(looks(labels))) == len(some)
        assert all(1 <= len(label) <= LONGEST for label in labels)


def test_token_that_is_shown_as_it_is_keeps_its_label():
    assert distinct_labels(["\u200b", "U+200B"]) == ["U+200B (2)", "U+200B"]
    assert distinct_labels(["", "∅"]) == ["∅ (2)", "∅"]


def test_tokens_that_are_told_apart_by_themselves_are_shown_as_alone():
    words = ["the", "internationalization", " the", "", "the", "\n", 7]
    assert distinct_labels(words) == [drawable(word) for word in words]


@given(st.lists(st.text("aé\u0301e \u200bU+20B…()∅", max_size=20), max_size=12))
def test_no_two_different_tokens_ever_look_alike(words):
    labels = distinct_labels(words)
    assert len(labels) == len(words)
    assert len(set(looks(labels))) == len({str(word) for word in words})
    assert all(1 <= len(label) <= LONGEST for label in labels)


def test_many_tokens_with_one_beginning_and_end_are_numbered():
    labels = distinct_labels([f"{'a' * 9}{n:03}{'b' * 9}" for n in range(300)])
    assert len(set(labels)) == 300
