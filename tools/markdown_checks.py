"""What is wrong with the form of a Markdown text, and what stands in it: headings, links, formulas, tables.

The text is parsed as Jupyter and GitHub parse it (CommonMark, tables, formulas between dollars). What
a parser lets pass as plain text, because nothing has to be an error in Markdown, is looked for in what
it left over: a star that made nothing bold, a bar that made no table.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from html.parser import HTMLParser
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

# HTML that a text may hold. Anything else is either in Markdown's own reach, or runs, or loads something.
TAGS = {"details", "summary", "br", "kbd", "sub", "sup", "img", "a"}
EMPTY_TAGS = {"br", "img"}

NOTE_TO_ONESELF = re.compile(r"\b(TODO|FIXME|XXX|TBD|WIP)\b|\blorem ipsum\b", re.IGNORECASE)
CONFLICT = re.compile(r"^(<{7}|={7}|>{7}|\|{7})(\s|$)", re.MULTILINE)
# UTF-8 read as Latin-1 or Windows-1252, and characters that nobody typed on purpose.
MOJIBAKE = re.compile(
    "[ÃÂ][\x80-\xbf‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€|â[\x80-\xbf]|ï»¿|\ufffd|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
INVISIBLE = re.compile("[\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\ufeff\u00ad]")


class Heading(NamedTuple):
    line: int
    level: int
    words: str


class Link(NamedTuple):
    line: int
    words: str
    address: str
    is_image: bool


class Table(NamedTuple):
    line: int
    head: list
    rows: list


class Formula(NamedTuple):
    line: int
    tex: str
    in_table: bool


def _parser():
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.disable("text_join")  # so that an escaped star can be told from one that was left over
    return parser.use(dollarmath_plugin, allow_labels=False, double_inline=True)


PARSER = _parser()


@lru_cache(maxsize=4096)
def _blocks(text):
    return PARSER.parse(text)


@lru_cache(maxsize=4096)
def _pieces(text) -> list[tuple[int, Token]]:
    """Return every piece of text, code, formula and HTML with the line that it stands on, from 1."""
    pieces = []
    for block in _blocks(text):
        line = block.map[0] + 1 if block.map else 1
        if block.type == "inline":
            for child in block.children:
                pieces.append((line, child))
                line += child.type in {"softbreak", "hardbreak"}
        else:
            pieces.append((line, block))
    return pieces


def _words(tokens):
    return "".join(token.content for token in tokens)


def headings(text):
    """Return the headings of a text."""
    blocks = _blocks(text)
    return [
        Heading(block.map[0] + 1, int(block.tag[1]), _words(blocks[i + 1].children))
        for i, block in enumerate(blocks)
        if block.type == "heading_open"
    ]


def links(text):
    """Return links and images, those written in HTML among them."""
    found, opened = [], None
    for line, piece in _pieces(text):
        if piece.type == "link_open":
            opened = (line, piece.attrs["href"], "")
        elif piece.type == "link_close":
            found.append(Link(opened[0], opened[2], opened[1], False))
            opened = None
        elif piece.type == "image":
            found.append(Link(line, piece.content, piece.attrs["src"], True))
        elif piece.type.startswith("html"):
            for tag, attributes in _tags(piece.content):
                for name in ("href", "src", "srcset", "data", "poster"):
                    if name in attributes:
                        words = attributes.get("alt", "a link in HTML" if tag == "a" else "") or ""
                        found.append(Link(line, words, attributes[name] or "", tag != "a"))
        elif opened and piece.type != "softbreak":
            opened = (*opened[:2], opened[2] + piece.content)
        elif opened:
            opened = (*opened[:2], opened[2] + " ")
    return found


def formulas(text):
    """Return the formulas, without their dollars."""
    in_table, found = False, []
    for line, piece in _pieces(text):
        in_table = piece.type != "table_close" and (in_table or piece.type == "table_open")
        if piece.type.startswith("math"):
            found.append(Formula(line, piece.content.strip(), in_table))
    return found


def code_spans(text):
    """Return what stands between backquotes, with its line."""
    return [(line, piece.content) for line, piece in _pieces(text) if piece.type == "code_inline"]


def fences(text):
    """Return the blocks of code: line, language, code."""
    return [
        (line, piece.info, piece.content) for line, piece in _pieces(text) if piece.type == "fence"
    ]


def tables(text):
    """Return the tables; each cell as it is written."""
    found, row = [], []
    for token in _blocks(text):
        if token.type == "table_open":
            found.append(Table(token.map[0] + 1, [], []))
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            if found[-1].head:
                found[-1].rows.append(row)
            else:
                found[-1].head.extend(row)
        elif token.type == "inline" and found and token.level >= 4:
            row.append(token.content)
    return found


def paragraphs(text):
    """Return the paragraphs, those of lists included: line and words."""
    blocks = _blocks(text)
    return [
        (block.map[0] + 1, " ".join(blocks[i + 1].content.split()))
        for i, block in enumerate(blocks)
        if block.type == "paragraph_open"
    ]


def prose(text, formulas_too=True):
    """Return the paragraphs as one reads them, without marks and addresses: line and words."""
    blocks, found = _blocks(text), []
    for i, block in enumerate(blocks):
        if block.type == "paragraph_open":
            parts = []
            for child in blocks[i + 1].children:
                if child.type in {"text", "text_special"}:
                    parts.append(child.content)
                elif child.type.startswith("math"):
                    parts.append(child.content if formulas_too else "\0")
                elif child.type == "code_inline":
                    parts.append(f"`{child.content}`")
                elif child.type in {"softbreak", "hardbreak"}:
                    parts.append(" ")
            found.append((block.map[0] + 1, "".join(parts)))
    return found


def form(text) -> Iterator[tuple[int, str]]:
    """Find what is wrong with the form of a text: line and complaint."""
    yield from slips_of_the_hand(text)
    yield from _left_over(text)
    yield from _about_blocks(text)
    yield from _about_html(text)


def slips_of_the_hand(text) -> Iterator[tuple[int, str]]:
    """Find what belongs in no file, whatever it is: marks of a merge, broken characters, notes to oneself."""
    for pattern, meaning in [
        (CONFLICT, "is the mark of a merge that was not finished"),
        (MOJIBAKE, "is a broken character: the text was once read in another encoding"),
        (INVISIBLE, "is a character that nobody can see; delete it"),
        (NOTE_TO_ONESELF, "is a note to oneself; do it, or open an issue"),
    ]:
        for match in pattern.finditer(text):
            shown = match[0].strip() if match[0].strip().isprintable() else ascii(match[0])
            yield text.count("\n", 0, match.start()) + 1, f"{shown or ascii(match[0])} {meaning}"


LEFT_OVER = [
    (r"\*\*|__", "{0} opens or closes bold text, but its partner is missing"),
    (r"\*", "a star opens or closes italics, but its partner is missing; a star itself is \\*"),
    (r"(?<!\w)_(?=\w)|(?<=\w)_(?!\w)", "an underscore opens or closes italics, without a partner"),
    (r"`+", "a backquote opens or closes code, but its partner is missing"),
    (
        r"\$",
        "a dollar opens or closes a formula, but its partner is missing; a dollar itself is \\$",
    ),
    (
        r"\]\(",
        "a link that does not come out as one; look at its brackets and for spaces in the address",
    ),
    (r"\[\^", "a footnote, which notebooks do not have"),
    (r"\]\[", "a link by reference, [words][name], whose name is defined nowhere in this text"),
    (r"<!--", "a comment is opened and not closed; the rest of the text is lost"),
    (r"</?[A-Za-z][^>]*$", "a tag of HTML without its closing >"),
]


def _left_over(text):
    """Find marks that the parser left as text because they mark nothing."""
    for line, piece in _pieces(text):
        if piece.type == "text":
            # An underscore within words is one; the parser may cut the text just there.
            for pattern, meaning in LEFT_OVER:
                if match := re.search(pattern, piece.content):
                    yield line, meaning.format(match[0])
                    break


def _about_blocks(text):
    lines = text.splitlines()
    blocks = _blocks(text)
    for i, block in enumerate(blocks):
        line = block.map[0] + 1 if block.map else 1
        if block.type == "heading_open":
            if block.markup in {"-", "="}:
                yield (
                    line,
                    "a heading made by underlining; write ## before it, or an empty line between",
                )
            if not blocks[i + 1].content.strip():
                yield line, "a heading without words"
        elif block.type == "inline" and blocks[i - 1].type == "paragraph_open":
            for offset, row in enumerate(block.content.splitlines()):
                if match := re.match(r"#{1,6}(?=[^\s#\d])", row):
                    yield line + offset, f"a heading needs a space after {match[0]}"
                if row.startswith("|"):
                    yield (
                        line + offset,
                        "a table that comes out as text: its second line must be a rule, "
                        "|---|---|, with as many columns as the first",
                    )
                    break
        elif block.type == "fence":
            last = lines[block.map[1] - 1].strip(" >")
            opened = block.markup
            if block.map[1] - block.map[0] < 2 or not re.fullmatch(
                re.escape(opened) + re.escape(opened[0]) + "*", last
            ):
                yield line, f"a block of code is opened by {opened} and not closed"
        elif block.type == "code_block":
            yield line, "text indented by four spaces comes out as code; use ``` if it is code"
        elif block.type == "table_open":
            columns = len(_cells(lines[block.map[0]]))
            for number in range(block.map[0] + 2, block.map[1]):
                row = len(_cells(lines[number]))
                if row != columns:
                    yield (
                        number + 1,
                        f"a row of the table has {row} cell{'s' * (row != 1)}, its head has {columns}"
                        + "; a | within a cell is \\|" * (row > columns),
                    )


def _cells(row):
    row = row.strip()
    row = row.removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return re.split(r"(?<!\\)\|", row)


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.events = []

    def handle_starttag(self, tag, attrs):
        self.events.append(("open", tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.events.append(("both", tag, dict(attrs)))

    def handle_endtag(self, tag):
        self.events.append(("close", tag, {}))

    def handle_data(self, data):
        self.events.append(("text", data, {}))


def _events(html):
    parser = _Tags()
    # A browser would read everything after such a tag as its content; here it is only looked at.
    parser.set_cdata_mode = lambda *_arguments, **_options: None
    parser.feed(re.sub(r"<!--.*?(-->|$)", "", html, flags=re.DOTALL))
    return parser.events


def _tags(html):
    return [(tag, attrs) for kind, tag, attrs in _events(html) if kind in {"open", "both"}]


def _about_html(text):
    """Find tags that are not closed, not allowed, or in which Markdown is not read."""
    opened = []
    for line, piece in _pieces(text):
        if not piece.type.startswith("html"):
            continue
        if piece.content.count("<!--") > piece.content.count("-->"):
            yield line, "a comment is opened and not closed; the rest of the text is lost"
            continue
        for kind, tag, attributes in _events(piece.content):
            if kind == "text":
                within = opened and opened[-1][0] == "summary"
                if not within and re.search(r"[*`$\[]", tag):
                    yield line, "Markdown right after a tag is not read; put an empty line between"
                continue
            if tag not in TAGS and kind != "close":
                yield line, f"<{tag}> has no place in a text"
                continue
            if handler := next((name for name in attributes if name.startswith("on")), None):
                yield line, f"<{tag} {handler}=...> runs a script"
            if kind == "open" and tag not in EMPTY_TAGS:
                if opened and opened[-1][0] == "details" and not opened[-1][2] and tag != "summary":
                    yield line, "<details> must begin with its <summary>, which readers click on"
                if tag == "summary" and opened and opened[-1][0] == "details":
                    opened[-1] = (*opened[-1][:2], True)
                opened.append((tag, line, False))
            elif kind == "close" and tag in TAGS:
                if tag not in [name for name, *_ in opened]:
                    yield line, f"</{tag}> closes nothing that is open here"
                    continue
                while opened[-1][0] != tag:
                    inner, start, _ = opened.pop()
                    yield start, f"<{inner}> is opened and not closed before </{tag}>"
                _, start, has_summary = opened.pop()
                if tag == "details" and not has_summary:
                    yield start, "<details> without a <summary>, which readers click on"
    for tag, line, _ in opened:
        yield line, f"<{tag}> is opened and not closed in this text"


def anchor_in_notebook(words):
    """Return the fragment by which JupyterLab and nbconvert find a heading."""
    return words.replace(" ", "-")


def anchor_on_page(words):
    """Return the fragment by which GitHub finds a heading of a page."""
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
