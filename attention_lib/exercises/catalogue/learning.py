"""Exercises of notebook 07: what a control shows, and when training is slow."""

import numpy as np

from ..exercise import Exercise

# The ceiling without attention


def _counts(bag, right):
    """Return how often each right word occurs in each bag: an array of counts per bag."""
    return [np.unique(right[bag == b], return_counts=True)[1] for b in np.unique(bag)]


def _any_bags(draw):
    """Draw the bags of some sentences, and the right words of each."""
    cases = []
    for n in (11, 13):
        bag = np.array([draw.one_of(range(3)) for _ in range(n)])
        cases.append((bag, np.array([draw.one_of(range(bag[i] + 2)) for i in range(n)])))
    return cases


CEILING = Exercise(
    "ceiling without attention",
    lambda bag, right: sum(counts.max() for counts in _counts(bag, right)) / len(bag),
    cases=[
        (np.array([0, 0, 1, 1, 1]), np.array([2, 2, 5, 5, 7])),
        (np.array([3, 1, 3, 3, 1, 3, 1]), np.array([4, 4, 0, 4, 9, 2, 0])),
        (np.array([0, 1, 2, 0, 1, 2, 0, 0]), np.array([6, 6, 6, 1, 1, 6, 3, 8])),
    ],
    fresh=_any_bags,
    notice="Compare it with what a model reaches: what lies below the ceiling needs no attention.",
)


@CEILING.mistake(
    "one answer for all sentences",
    "For the first sentences you got {got}, and {want} is right: one word was said everywhere. Whoever sees the bag "
    "may say another word for each. Which would they say for each?",
)
def _one_answer(bag, right):
    return np.unique(right, return_counts=True)[1].max() / len(right)


@CEILING.mistake(
    "the mean over bags",
    "For the first sentences you got {got}, and {want} is right: a small bag counts as much as a large one. Does the "
    "question ask for a share of bags or of sentences?",
)
def _mean_over_bags(bag, right):
    return np.mean([counts.max() / counts.sum() for counts in _counts(bag, right)])


@CEILING.mistake(
    "a count instead of a share",
    "You got {got}, which is a number of sentences. How many sentences are there in all?",
)
def _count(bag, right):
    return float(sum(counts.max() for counts in _counts(bag, right)))


@CEILING.mistake(
    "a guess among the answers of the bag",
    "For the first sentences you got {got}, and {want} is right: every answer that occurs in a bag was guessed "
    "equally often. Is one of them right more often than the others?",
)
def _even_guess(bag, right):
    return sum(counts.sum() / len(counts) for counts in _counts(bag, right)) / len(bag)


@CEILING.mistake(
    "answers drawn as often as they occur",
    "For the first sentences you got {got}, and {want} is right: answers were drawn as often as they occur. Would it "
    "pay to say the commonest one every time?",
)
def _drawn(bag, right):
    return sum((counts**2).sum() / counts.sum() for counts in _counts(bag, right)) / len(bag)


@CEILING.mistake(
    "the rarest answer instead of the commonest",
    "For the first sentences you got {got}, and {want} is right: in each bag you said the word that is right least "
    "often. Which one is right most often?",
)
def _rarest(bag, right):
    return sum(counts.min() for counts in _counts(bag, right)) / len(bag)


@CEILING.mistake(
    "bags and answers exchanged",
    "For the first sentences you got {got}, and {want} is right: sentences were grouped by their right word, which "
    "nobody sees before answering. What does somebody without attention see?",
)
def _exchanged(bag, right):
    return sum(counts.max() for counts in _counts(right, bag)) / len(bag)


@CEILING.mistake(
    "the number of different answers",
    "For the first sentences you got {got}, and {want} is right: you counted different answers in each bag, not how "
    "often the commonest occurs. How often is one answer right?",
)
def _different_answers(bag, right):
    return sum(len(counts) for counts in _counts(bag, right)) / len(bag)


# Questions

_MEASURED = {
    "a": (0.24, 0.45, 0.97),
    "b": (0.24, 0.98, 0.98),
    "c": (0.85, 0.40, 0.85),
    "d": (0.24, 0.31, 0.62),
}


def _where(says_yes):
    return [says_yes(even, frozen, trained) for even, frozen, trained in _MEASURED.values()]


CONTROLS = Exercise(
    "what the controls say",
    lambda: _where(lambda even, frozen, trained: trained > max(even, frozen)),
    cases=[()],
    given={"measured": _MEASURED},
    notice="A number near 1 may come from elsewhere, and a lower one may be the row's own work.",
)


@CONTROLS.mistake(
    "the highest numbers",
    "You went by how high the last number is. Does one of these three reach as much with a row that was never trained?",
)
def _highest():
    return _where(lambda even, frozen, trained: trained > 0.8)


@CONTROLS.mistake(
    "every number above the even rows",
    "You compared with even rows alone. Is there a report whose frozen rows reach as much as its trained ones?",
)
def _above_even():
    return _where(lambda even, frozen, trained: trained > even)


@CONTROLS.mistake(
    "every number above the frozen rows",
    "You compared with frozen rows alone. Is there a report whose even rows reach as much as its trained ones?",
)
def _above_frozen():
    return _where(lambda even, frozen, trained: trained > frozen)


@CONTROLS.mistake(
    "only a number near 1",
    "That one is right. Does training add something in another report, although it ends lower?",
)
def _near_one():
    return _where(lambda even, frozen, trained: trained > max(even, frozen, 0.9))


@CONTROLS.mistake(
    "all of them",
    "In two of them a row without training does as well. Which two?",
)
def _all_claims():
    return [True, True, True, True]


@CONTROLS.mistake(
    "none of them",
    "In two of them the trained rows beat both controls. Which two?",
)
def _no_claim():
    return [False, False, False, False]


@CONTROLS.mistake(
    "the other two",
    "Those are the two in which a control does as well as the trained rows. What does that say about the training?",
)
def _other_two():
    return _where(lambda even, frozen, trained: trained <= max(even, frozen))


_D_K = 1024
_STARTS = {  # standard deviation of the queries and keys, scale of the scores
    "a": (1, 1 / 32),
    "b": (1, 1),
    "c": (32**-0.5, 1),
    "d": (32**0.5, 1 / 32),
}


def _spreads():
    """Return how far the scores of each run spread, a number for each."""
    return [deviation**2 * np.sqrt(_D_K) * scale for deviation, scale in _STARTS.values()]


SLOW_RUNS = Exercise(
    "slow runs",
    lambda: [bool(spread > 5) for spread in _spreads()],
    cases=[()],
    given={"d_k": _D_K, "starts": _STARTS},
    notice="What counts is how far the scores spread at the start; the scale is one of the ways to set it.",
)


@SLOW_RUNS.mistake(
    "all runs without a scale",
    "In one of these two runs the vectors are so short that the scores spread by about 1 all the same. Which of "
    "the four have rows that are one-hot before training?",
)
def _without_scale():
    return [scale == 1 for _, scale in _STARTS.values()]


@SLOW_RUNS.mistake(
    "only the usual case",
    "That one is slow. Is there another run whose scores spread as far, although it has the scale?",
)
def _usual():
    return [False, True, False, False]


@SLOW_RUNS.mistake(
    "only the long vectors",
    "That one is slow. What do the scores of vectors of standard deviation 1 look like without a scale?",
)
def _long():
    return [deviation > 1 for deviation, _ in _STARTS.values()]


@SLOW_RUNS.mistake(
    "all but the usual case with a scale",
    "Two of these three are slow. How far do the scores of short vectors spread, without a scale?",
)
def _all_others():
    return [False, True, True, True]


@SLOW_RUNS.mistake(
    "all of them",
    "Two of them are not slow. In which two do the scores spread by about 1 at the start?",
)
def _everyone():
    return [True, True, True, True]


@SLOW_RUNS.mistake(
    "none of them",
    "Two of them are slow. In which two are the rows one-hot before training?",
)
def _nobody():
    return [False, False, False, False]


@SLOW_RUNS.mistake(
    "the runs that learn",
    "Those that you call slow have scores that spread by about 1. Do broad rows pass gradients on?",
)
def _learning():
    return [bool(spread < 5) for spread in _spreads()]


ALL = [CEILING, CONTROLS, SLOW_RUNS]
