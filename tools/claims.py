"""Sentences that say what came out, and that nothing bears out: a list for whoever reviews.

    python tools/hygiene.py --claims [--since=REVISION] [NOTEBOOK ...]

A program cannot read a sentence, but it can say where a reader must. Listed is each sentence of a
notebook's text with a small number, a fraction or multiple in words, or a word like "darkest", "only",
"never", that no code beside it bears out. What bears a sentence out:

- a number: a cell beside it printed it, or an assert has it ("one third" is 0.33 or 0.3333, "twice" 2), or it
  is an input that such a cell writes out, as a step of 0.1 (0, 1 and 2 stand in every cell, and prove nothing);
- a superlative: a cell beside it looks for the largest or smallest of something (argmax, min, sort), or
  asserts something;
- "only", "never", "always", "exactly", "nothing": a cell beside it asserts something, or prints True or
  False, or asks whether all or any are so.

Beside a text stand the last code cell before it and the first one after it, within its section; beside "What to
keep", which sums up, every cell, as far as numbers go. The number of an exercise is no claim. So an
author who wants a sentence off the list puts `assert A.argmax() == 4` into the cell it speaks of. Nothing
here is an error, and nothing fails because of it.
"""

import ast
import re
from typing import NamedTuple

import markdown_checks

NUMBER_WORDS = {"no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
NUMBER_WORDS |= {"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
PARTS = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "sixth": 1 / 6}
PARTS |= {"eighth": 1 / 8, "tenth": 1 / 10}
MULTIPLES = {"twice": 2, "double": 2, "doubles": 2, "thrice": 3, "tenfold": 10, "hundredfold": 100}

# A number after one of these is a name, not a result: row 0, notebook 03.
LABELS = (
    "notebook|section|step|panel|exercise|row|column|key|query|queries|token|sentence|axis|head|feature|"
    "equation|chapter|line|part|value|weight|level|version|place|issue|request|position|from|of"
)
LABELLED = re.compile(rf"\b(?:{LABELS})s? \d+(?:(?:,| and| to|, and) \d+)*", re.IGNORECASE)

SUPERLATIVE = re.compile(r"\b(best|worst|most|least|fewest|\w{3,}est)\b", re.IGNORECASE)
UNIVERSAL = re.compile(
    r"\b(only|never|always|exactly|nothing|nobody|none|identical|identically)\b", re.IGNORECASE
)
NO_SUPERLATIVE = re.compile(
    "(in)?(te|re|tere|reque|late|we|hone|sugge|mode|fore|gue|harve|prote|arre|conte|inve|dige|ne|que)?st"
)
# What code must hold beside such a word, other than an assert.
LOOKS = {
    "superlative": re.compile(r"(max|min|sort|rank|quantile)\w*\("),
    "universal": re.compile(
        r"\b(all|any|allclose|array_equal|count_nonzero|isclose)\(|==|!=|assert"
    ),
}
SUMMARY = "What to keep"
NUMBERED = re.compile(r"^\d+\. (?=[A-Z])")  # an exercise's number
# In these, "nothing" is no count: a query that may see nothing, a choice by next to nothing.
IDIOMS = re.compile(
    r"next to nothing|\b(see|sees|say|says|mean|means|leave|leaves|learn|show|shows) nothing\b|\bnothing else\b"
)
PASSED_OVER = {"", "What to expect", "How to use it", "The series", "Sources", "Your turn"}


class Claim(NamedTuple):
    place: str
    words: str
    what: str


def claims(cells):
    """Return the sentences of a notebook that nothing beside them bears out.

    Parameters
    ----------
    cells : list of (place, cell)
        All cells of a notebook in order.
    """
    found, heading = [], ""
    if not any(cell.cell_type == "code" for _, cell in cells):
        return found  # a glossary defines; nothing came out of anything
    for index, (place, cell) in enumerate(cells):
        if cell.cell_type != "markdown":
            continue
        headings = markdown_checks.headings(cell.source)
        heading = headings[-1].words if headings else heading
        if heading in PASSED_OVER:
            continue
        beside = _beside(cells, index)
        inputs = {number for other in beside for number in _inputs(other.source)}
        printed = {n for _, c in cells if c.cell_type == "code" for n in _numbers(_printed(c))}
        for line, words in markdown_checks.prose(cell.source, formulas_too=False):
            words = NUMBERED.sub("", words)
            if words.startswith("Predict."):
                continue  # a question; what it expects is said, and borne out, after the code
            for sentence in re.split(r"(?<=[.!?;])\s+(?=[A-Z\d`\0])", words):
                what = [
                    (word, kind)
                    for word, kind in _claimed(sentence)
                    if not _borne_out((word, kind), beside)
                    and kind not in inputs
                    and not (
                        heading == SUMMARY
                        and kind not in LOOKS
                        and any(_is_rounded(kind, n) for n in printed)
                    )
                ]
                if what and not sentence.endswith("?"):
                    shown = sentence.replace("\0", "$...$").strip()
                    names = ", ".join(dict.fromkeys(word for word, _ in what))
                    found.append(Claim(f"{place}, line {line}", shown, names))
    return found


def _claimed(sentence):
    """Return what a sentence claims: the words, and their number or their kind."""
    sentence = re.sub(r"`[^`]*`|\"[^\"]*\"|https?://\S+|\S+\.ipynb", " ", sentence)
    sentence = IDIOMS.sub(" ", sentence)
    sentence = re.sub(r"\b\d\d (?=[A-Z])", " ", LABELLED.sub(" ", sentence))  # 10 Write it all
    found = []
    # A minus or a slash before a number belongs to it; 5 x 5 and 03 are no results.
    for match in re.finditer(
        r"(?<![\w.])(\d+) ?/ ?(\d+)|(?<![\w.^])[-−]?\d+(?:\.\d+)?(?![\w.]\d)", sentence
    ):
        if match[1]:
            found.append((match[0], int(match[1]) / max(int(match[2]), 1)))
        elif abs(float(match[0].replace("−", "-"))) <= 10 and not re.match(r"0\d", match[0]):
            found.append((match[0], float(match[0].replace("−", "-"))))
    for match in re.finditer(
        rf"\b(?:({'|'.join(NUMBER_WORDS)}|a) )?({'|'.join(PARTS)})s?\b", sentence, re.IGNORECASE
    ):
        if match[1] or match[2].lower() == "half":
            times = max(NUMBER_WORDS.get((match[1] or "a").lower(), 1), 1)
            found.append((match[0], times * PARTS[match[2].lower()]))
    for match in re.finditer(rf"\b({'|'.join(NUMBER_WORDS)}) times\b", sentence, re.IGNORECASE):
        found.append((match[0], NUMBER_WORDS[match[1].lower()]))
    for match in re.finditer(rf"\b({'|'.join(MULTIPLES)})\b", sentence, re.IGNORECASE):
        found.append((match[0], MULTIPLES[match[1].lower()]))
    for match in re.finditer(
        rf"\b({'|'.join(NUMBER_WORDS)}) (?:out )?of (?:the )?({'|'.join(NUMBER_WORDS)}|them|its)\b",
        sentence,
        re.IGNORECASE,
    ):
        found.append((match[0], NUMBER_WORDS[match[1].lower()]))
    for match in SUPERLATIVE.finditer(sentence):
        if not NO_SUPERLATIVE.fullmatch(match[0].lower()) and not sentence[
            : match.start()
        ].endswith("at "):
            found.append((match[0], "superlative"))
    found += [(match[0], "universal") for match in UNIVERSAL.finditer(sentence)]
    return found


def _beside(cells, index):
    """Return the code cells that stand beside a text: the last before it and the first after it."""
    found = []
    for step in (-1, 1):
        place = index + step
        while 0 <= place < len(cells) and cells[place][1].cell_type != "code":
            nearer = cells[place + 1][1] if step < 0 else cells[place][1]
            if nearer.cell_type == "markdown" and re.search(r"^## ", nearer.source, re.MULTILINE):
                break
            place += step
        if 0 <= place < len(cells) and cells[place][1].cell_type == "code":
            own = cells[index][1].source
            if step > 0 or not own.startswith("## "):
                found.append(cells[place][1])
    return found


def _inputs(source):
    """Return the numbers that a cell writes out, but for those that stand in every cell."""
    try:
        nodes = ast.walk(ast.parse(source))
    except SyntaxError:
        return set()
    values = (node.value for node in nodes if isinstance(node, ast.Constant))
    return {float(value) for value in values if type(value) in (int, float)} - {0, 1, 2}


def _borne_out(claim, cells):
    _, kind = claim
    for cell in cells:
        printed, asserted = _printed(cell), _asserts(cell.source)
        if kind in LOOKS:
            says_so = kind == "universal" and re.search(r"\b(True|False)\b", printed)
            if asserted or says_so or LOOKS[kind].search(cell.source):
                return True
        elif any(_is_rounded(kind, text) for text in _numbers(f"{printed}\n{asserted}")):
            return True
    return False


def _numbers(text):
    return re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text)


def _is_rounded(number, text):
    digits = len(text.partition(".")[2])
    if number < 0 and not text.startswith("-"):
        return False  # "fell by 0.3" may speak of -0.3, but -0.3 is not 0.3
    return round(abs(number), digits) == abs(float(text)) and (digits > 0 or number == int(number))


def _printed(cell):
    parts = []
    for output in cell.outputs:
        parts += [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
    return "\n".join(parts)


def _asserts(source):
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""
    return "\n".join(ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Assert))
