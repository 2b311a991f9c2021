"""The sentences whose weights are stored for all heads of the model."""

SENTENCES = (
    "The boy saw the girl before she left.",
    "The boy saw the girl before he left.",
    "The girl saw the boy before she left.",
    "The girl saw the boy before he left.",
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "The doctor saw the nurse before she left.",
    "The doctor saw the nurse before he left.",
    "Owls hunt quietly at night.",
    "A dog ran across the road.",
    "We ate bread and cheese for lunch.",
    "The old man sat near the river.",
    "My sister plays the piano every day.",
)

WITH_SHIFTS = 4  # the first ones, in which a boy or a girl leaves

# Held out: the head for pronouns was chosen with "boy" and "girl", and none of these was looked at.
PAIRS = (
    ("man", "woman"),
    ("father", "mother"),
    ("king", "queen"),
    ("brother", "sister"),
    ("uncle", "aunt"),
    ("actor", "actress"),
)
FRAMES = (
    "The {} saw the {} before {} left.",
    "The {} thanked the {} because {} had helped.",
    "Yesterday the {} told the {} that {} was late.",
    "When the {} met the {} at the old station, {} smiled and said nothing.",
)


def held_out():
    """Return 96 sentences with two people and a pronoun that fits one of them.

    Six pairs of nouns in four frames, in both orders, with "he" and with "she": in half of the
    sentences the noun that fits comes first, and each noun is the right one as often as not.

    Returns
    -------
    list of (str, str, str, str)
        The sentence, its pronoun, the noun that fits the pronoun, and the other noun.

    Examples
    --------
    >>> len(held_out())
    96
    >>> held_out()[0]
    ('The man saw the woman before he left.', 'he', 'man', 'woman')
    """
    return [
        (frame.format(first, second, pronoun), pronoun, fits, other)
        for he, she in PAIRS
        for frame in FRAMES
        for first, second in ((he, she), (she, he))
        for pronoun, fits, other in (("he", he, she), ("she", she, he))
    ]
