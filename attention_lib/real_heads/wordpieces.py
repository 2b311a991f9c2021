"""From a sentence to the model's word pieces."""

import re
import unicodedata

LONGEST_WORD = 100  # characters; a longer one is unknown to the model


def pieces_of(sentence, vocabulary):
    """Return the words of a sentence, each with its pieces: (word, (piece, ...)).

    As in BERT: lower case, accents dropped, punctuation apart. Each word is cut into the longest
    pieces that the vocabulary has, from its beginning; pieces after the first begin with ##. A
    word for which there are none is one piece, [UNK].

    Examples
    --------
    >>> pieces_of("The café sings!", {"the", "cafe", "sing", "##s", "!"})
    [('the', ('the',)), ('cafe', ('cafe',)), ('sings', ('sing', '##s')), ('!', ('!',))]
    """
    text = "".join(_plain(c) for c in unicodedata.normalize("NFD", sentence.lower()))
    return [(word, _cut(word, vocabulary)) for word in text.split()]


def _plain(character):
    """Return a character as the model sees it: between blanks if it stands for itself."""
    category = unicodedata.category(character)
    if (
        category == "Mn"
        or (category[0] == "C" and character not in "\t\n\r")
        or character == "\ufffd"
    ):
        return ""
    if category[0] == "P" or re.match(
        r"[!-/:-@\[-`{-~㐀-䶿一-鿿豈-﫿\U00020000-\U0002fa1f]", character
    ):
        return f" {character} "
    return " " if character.isspace() else character


def _cut(word, vocabulary):
    pieces, start = [], 0
    while start < len(word) <= LONGEST_WORD:
        mark = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if mark + word[start:end] in vocabulary), None)
        if end is None:
            return ("[UNK]",)
        pieces.append(mark + word[start:end])
        start = end
    return tuple(pieces) or ("[UNK]",)
