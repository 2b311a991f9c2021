"""What must agree between the files of the series: links, tables of notebooks, papers, paragraphs, shapes."""

import json
import os
import re
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import formula_checks
import markdown_checks

NUMBER_WORDS = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen",
)

# Paragraphs that may stand in several notebooks: the series' own formulas of speech.
MAY_REPEAT = [
    r"Put your (code|answer|code or your answer) in place of the dots",
    r"\*\*To try it yourself:\*\*",
    r"\*\*You need:\*\*",
    r"\*\*Time:\*\*",
    r"\*\*Next:\*\*",
    r"The (same )?five tokens",
]
SHORTEST_REPEAT = 8  # words; below that, two notebooks may well say the same

# The shapes of the series' arrays, as its tables state them. (tests/test_hygiene.py compares them with
# arrays that the library makes, all sizes different.) n stands for n_q or n_k where a sentence attends
# to itself.
SHAPES = {
    "X": "n, d_model",
    "W_Q": "d_model, d_k",
    "W_K": "d_model, d_k",
    "W_V": "d_model, d_v",
    "Q": "n_q, d_k",
    "K": "n_k, d_k",
    "V": "n_k, d_v",
    "S": "n_q, n_k",
    "S_scaled": "n_q, n_k",
    "A": "n_q, n_k",
    "output": "n_q, d_v",
    "mask": "n_q, n_k",
    "d_output": "n_q, d_v",
    "dV": "n_k, d_v",
    "dA": "n_q, n_k",
    "dS_scaled": "n_q, n_k",
    "dS": "n_q, n_k",
    "dQ": "n_q, d_k",
    "dK": "n_k, d_k",
    "dW_Q": "d_model, d_k",
    "dW_K": "d_model, d_k",
    "dW_V": "d_model, d_v",
}


# Links ------------------------------------------------------------------------------------------------


def about_links(text, folder, own_headings, is_page):
    """Find links and images that lead nowhere, elsewhere than they say, or out of the checkout.

    Parameters
    ----------
    text : str
        Markdown.
    folder : Path
        Where the text lies.
    own_headings : list of str
        The headings of the whole notebook or page, for links within it.
    is_page : bool
        Whether it is a page (GitHub's fragments) or a notebook (Jupyter's).
    """
    for link in markdown_checks.links(text):
        address = unquote(link.address)
        for complaint in _about_link(link, address, folder, own_headings, is_page):
            yield link.line, complaint


def _about_link(link, address, folder, own_headings, is_page):
    words = " ".join(link.words.split())
    kind = "image" if link.is_image else "link"
    if link.is_image and len(words) < 10:
        yield f"the image {address} has no words for those who cannot see it"
    if not link.is_image and words.lower() in {"", "here", "link", "this", "click here"}:
        yield f"a link whose text, {words!r}, does not say where it leads"
    parts = urlsplit(address)
    if parts.scheme or address.startswith("//"):
        if link.is_image:
            yield f"the image {address} is loaded from outside; the series works offline"
        elif parts.scheme not in {"https", "mailto"}:
            yield f"link to {address}: only https leads out of the checkout"
        elif parts.scheme == "https" and (not re.search(r"\w\.\w", parts.netloc) or " " in address):
            yield f"link to {address}, which is no address"
        else:
            yield from _about_address_and_words(words, address, parts.netloc)
        return
    path, _, fragment = address.partition("#")
    target = Path(os.path.normpath(folder / path))
    if target.parent.name == "practice" and (target.parent.parent / "notebooks").is_dir():
        # A clean checkout has no practice copies: what counts is that their notebook is there.
        lesson = target.name.removesuffix("_practice.ipynb")
        target = target.parent.parent / "notebooks" / f"{lesson}.ipynb"
    if path.startswith("/"):
        yield f"{kind} to {address}: it must start from the file's own folder"
        return
    if path and not target.exists():
        yield f"{kind} to {address}, which is not there"
        return
    if fragment:
        fragments = anchors(target) if path else _anchors_of(own_headings, is_page=is_page)
        if fragments is not None and fragment not in fragments:
            near = next((name for name in fragments if name.lower() == fragment.lower()), None)
            hint = f"; there is #{near}" if near else ""
            yield f"link to {address}: it has no heading for #{fragment}{hint}"
    if not link.is_image and path:
        yield from _about_words(words, target)


def _about_address_and_words(words, address, host):
    """Find links out whose words name another paper, issue or site than their address."""
    if match := re.fullmatch(r"arXiv:(\S+)", words):
        if address != f"https://arxiv.org/abs/{match[1]}":
            yield f"link called {words} leads to {address}, not to https://arxiv.org/abs/{match[1]}"
    elif match := re.fullmatch(r"doi:(\S+)", words):
        if address != f"https://doi.org/{match[1]}":
            yield f"link called {words} leads to {address}, not to https://doi.org/{match[1]}"
    elif re.fullmatch(r"(www\.)?[\w-]+(\.[\w-]+)+", words):
        # A site, or a module whose pages are on its library's site.
        if words.removeprefix("www.").split(".")[0] not in host:
            yield f"link called {words} leads to {host}"
    elif host == "github.com":
        for number in re.findall(r"\d{2,}", words):
            if number not in address:
                yield f"link called {words} leads to {address}, which has another number"


def _about_words(words, target):
    """Find links whose words name one notebook or file and whose address another."""
    if match := re.match(r"(?:[Nn]otebook )?(\d\d)(?: (.+))?$", words):
        number, title = match.groups()
        if not target.name.startswith(f"{number}_"):
            yield f"link called {words!r} leads to {target.name}"
        elif title and not _is_title_of(title, title_of(target)):
            yield f"link called {words!r} leads to the notebook {title_of(target)!r}"
    elif re.search(r"\.(ipynb|md|py|txt)$", words) and Path(words).name != target.name:
        yield f"link called {words!r} leads to {target.name}"


def _is_title_of(short, title):
    return re.match(re.escape(short) + r"(?!\w)", title, re.IGNORECASE) is not None


@lru_cache
def texts_of(path):
    """Return the texts of a notebook, or the one text of a page."""
    if path.suffix == ".ipynb":
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        except (ValueError, KeyError):
            return []
        return ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    return [path.read_text(encoding="utf-8")]


def _headings_of(path):
    return [heading.words for text in texts_of(path) for heading in markdown_checks.headings(text)]


def _anchors_of(headings, is_page):
    if not is_page:
        return {markdown_checks.anchor_in_notebook(words) for words in headings}
    found = []
    for words in headings:
        anchor = markdown_checks.anchor_on_page(words)
        found.append(f"{anchor}-{found.count(anchor)}" if anchor in found else anchor)
    return set(found)


def anchors(path):
    """Return the fragments that lead somewhere in a notebook or page; None for other files."""
    if path.suffix not in {".ipynb", ".md"} or not path.is_file():
        return None
    return _anchors_of(_headings_of(path), is_page=path.suffix == ".md")


def title_of(path):
    """Return the title of a notebook, the heading it begins with."""
    headings = _headings_of(path)
    return headings[0] if headings else ""


def question_of(path):
    """Return the question of a notebook, as its first text asks it."""
    text = (texts_of(path) or [""])[0]
    match = re.search(r"\*\*The question:\*\*\s*(.+?)\s*(\n\n|$)", text, re.DOTALL)
    return " ".join(match[1].split()) if match else ""


def minutes_of(path):
    """Return the minutes that a notebook says it takes, as text."""
    for text in texts_of(path):
        if match := re.search(r"\*\*Time:\*\*\D*(\d+) minutes", text):
            return match[1]
    return ""


def lessons(root):
    """Return the notebooks of the series, in order."""
    return sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))


# Tables of the series, and how many notebooks there are ------------------------------------------------


def about_series(text, root):
    """Find tables of the series that do not say what the notebooks say, and wrong numbers of notebooks."""
    for table in markdown_checks.tables(text):
        columns = [head.strip().lower() for head in table.head]
        if "notebook" in columns and "minutes" in columns:
            yield from _about_table(table, columns, root)
    count = len(lessons(root))
    for line, words in markdown_checks.prose(text):
        # "Seven Jupyter notebooks" counts them all; "the next two notebooks" does not.
        for match in re.finditer(r"(?:^([A-Z]\w+)|\b(\w+) Jupyter) notebooks\b", words):
            said = (match[1] or match[2]).lower()
            if said in NUMBER_WORDS and NUMBER_WORDS.index(said) != count:
                yield line, f"it says {match[0]!r}; there are {_in_words(count)} in notebooks/"


def _about_table(table, columns, root):
    named = []
    for line, row in enumerate(table.rows, start=table.line + 2):
        cells = dict(zip(columns, (cell.strip() for cell in row), strict=False))
        number = re.search(r"\b\d\d\b", cells["notebook"])
        path = next(
            (path for path in lessons(root) if number and path.name.startswith(number[0])), None
        )
        if path is None:
            yield (
                line,
                f"the table of notebooks has {cells['notebook']!r}, which is not there",
            )
            continue
        named.append(path)
        title = _words_of(re.sub(r"\((this one|here)\)", "", cells["notebook"]))
        title = title.replace(number[0], "", 1).strip()
        if not _is_title_of(title, title_of(path)):
            yield (
                line,
                f"the table calls {path.name} {title!r}; its own title is {title_of(path)!r}",
            )
        for column, own in (
            (next((c for c in columns if "question" in c), ""), question_of(path)),
            ("minutes", minutes_of(path)),
        ):
            said = cells.get(column, "")
            # A table may shorten a question, by its end or to one of its sentences.
            same = said == own if column == "minutes" else said and _spoken(said) in _spoken(own)
            if column and not same:
                yield (
                    line,
                    f"the table has {said!r} as {column} of {path.name}; the notebook itself has {own!r}",
                )
    missing = [path.name for path in lessons(root) if path not in named]
    if missing:
        yield table.line, f"the table of notebooks lacks {', '.join(missing)}"
    if named != sorted(named):
        yield table.line, "the table of notebooks is not in the order of the notebooks"


def _spoken(text):
    """Return a question in one form: a root is a root in words or in signs."""
    text = _words_of(text)
    text = re.sub(r"\$\\sqrt\{(.*?)\}\$", r"the root of \1", text)
    text = re.sub(r"[`$*\\]", "", text).replace("√d_k", "the root of d_k")
    return " ".join(text.lower().split()).rstrip(".?")


def _words_of(text):
    """Return a text with the words of its links in place of the links."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def _in_words(count):
    return NUMBER_WORDS[count] if count < len(NUMBER_WORDS) else str(count)


# Shapes in tables of symbols ---------------------------------------------------------------------------


def shapes_in_tables(text):
    """Return what a table of symbols says of shapes: line, name in code, shape as "n_q, d_k"."""
    found = []
    for table in markdown_checks.tables(text):
        columns = [head.strip().lower() for head in table.head]
        if "in code" not in columns or "shape" not in columns:
            continue
        for offset, row in enumerate(table.rows):
            cells = dict(zip(columns, row, strict=False))
            if not re.fullmatch(r"`\w+`(, `\w+`)*", cells["in code"].strip()):
                continue  # "rows of `Z`" has another shape than `Z`
            names = re.findall(r"`(\w+)`", cells["in code"])
            shapes = [
                ", ".join(axis.strip() for axis in re.sub(r"[{}\\!]", "", shape).split(","))
                for shape in re.findall(r"\$\(([^$]*)\)\$", cells["shape"])
            ]
            if len(shapes) == 1:
                shapes *= len(names)
            if shapes and len(shapes) != len(names):
                found.append((table.line + 2 + offset, ", ".join(names), None))
            found += [(table.line + 2 + offset, *pair) for pair in zip(names, shapes, strict=False)]
    return found


def about_shapes(texts, outputs):
    """Find tables of symbols whose shapes are not the library's, or not those that a cell prints.

    Parameters
    ----------
    texts : list of (place, str)
        The notebook's texts.
    outputs : list of (place, str)
        What its cells printed. "Q: (5, 4)" counts as the shape of Q; axes in front are batch axes.
    """
    said = {}
    for place, text in texts:
        for line, name, shape in shapes_in_tables(text):
            where = f"{place}, line {line}"
            if shape is None:
                yield where, f"the table has another number of shapes than of names ({name})"
                continue
            said[name] = shape
            if name in SHAPES and not _same_shape(shape, SHAPES[name]):
                yield where, f"the table says {name} has shape ({shape}); it has ({SHAPES[name]})"
    for place, printed in outputs:
        found = re.findall(
            r"(?<![\w.\[@])(?<![@*+/=-] )(\w+)(?: +|: *)\(((?:\d+, ?)+\d*)\)", printed
        )
        shapes = [(name, tuple(int(n) for n in re.findall(r"\d+", shape))) for name, shape in found]
        for complaint in shapes_that_disagree(said, shapes):
            yield place, complaint


def shapes_that_disagree(said, shapes):
    """Find arrays whose shapes are not what a table says, or whose sizes cannot be those of its symbols.

    Parameters
    ----------
    said : dict of str
        The table: "n_q, d_k" for the name "Q".
    shapes : list of (name, shape)
        What there is. Axes in front of those of the table are heads or a batch.
    """
    sizes = {}
    for name, shape in shapes:
        if name not in said:
            continue
        axes = said[name].split(", ")
        if len(shape) < len(axes):
            yield f"{name} has shape {shape} here; the table says ({said[name]})"
            continue
        for axis, size in zip(axes, shape[-len(axes) :], strict=True):
            if axis.isdigit():
                first, known = "the table", int(axis)
            else:
                first, known = sizes.setdefault(axis, (name, size))
            if size != known and not (
                name == "mask" and size == 1
            ):  # it is repeated along that axis
                yield (
                    f"{name} has shape {shape} here, ({said[name]}) in the table: {axis} would be "
                    f"{size}, and is {known} in {first}"
                )


def _same_shape(said, known):
    said, known = said.split(", "), known.split(", ")
    # Axes in front are heads or a batch. n may stand for n_q and n_k.
    pairs = list(zip(said[::-1], known[::-1], strict=False))
    return len(said) >= len(known) and all(
        one == other or (one == "n" and other in {"n_q", "n_k"}) for one, other in pairs
    )


# Between files -----------------------------------------------------------------------------------------


def about_papers(documents):
    """Find papers with two numbers, two titles, or the number of another: path, place, complaint.

    Parameters
    ----------
    documents : list of (path, place, text)
        Texts of notebooks and pages, and docstrings.
    """
    titles, numbers, of_authors = {}, {}, {}
    for path, place, text in documents:
        for item in _references(text):
            found = re.findall(r"arXiv:\d{4}\.\d{4,5}|doi:10\.\d+/[^\s\])]*[\w/]", item)
            # The link repeats the number; what stands in it is one paper.
            (number,) = set(found) if len(set(found)) == 1 else (None,)
            if number is None:
                continue
            # The first author, as "A. Vaswani et al. (2017)", "S. Jain, B. C. Wallace (2019)".
            authors = re.match(
                r"(?:- )?(?:[A-Z]\. )*([A-Z][\w-]+)(?= et al\.|,| \()[^()*]*\((\d{4})\)", item
            )
            title = re.search(r"(?<!\*)\*([^*]+)\*(?!\*)", item)
            checks = []
            if title:
                checks += [
                    (
                        titles,
                        number,
                        title[1],
                        "the title {new!r} is given to {key}, elsewhere {old!r}",
                    ),
                    (numbers, title[1].lower(), number, "{key!r} is {new} here, elsewhere {old}"),
                ]
            if authors:
                who = f"{authors[1]} ({authors[2]})"
                checks.append((of_authors, who, number, "{key} is {new} here, elsewhere {old}"))
            for known, key, new, sentence in checks:
                old, first = known.setdefault(key, (new, path))
                if old != new:
                    yield (
                        path,
                        place,
                        sentence.format(key=key, new=new, old=f"{old} ({first.name})"),
                    )


def _references(text):
    """Split a text into what speaks of one paper: items of lists, and what semicolons part."""
    items = re.split(r"\n\s*\n|\n\s*[-*] |\n\d+\. |-{5,}\n", text)
    return [" ".join(part.split()) for item in items for part in re.split(r";\s", item)]


def about_repeats(documents):
    """Find paragraphs that stand in the tree twice, and headings that a file has twice."""
    seen = defaultdict(list)
    for path, place, text in documents:
        in_sources = False
        headings = iter(markdown_checks.headings(text))
        heading = next(headings, None)
        for line, words in markdown_checks.paragraphs(text):
            while heading and heading.line <= line:
                in_sources = heading.words == "Sources"
                heading = next(headings, None)
            if in_sources or len(words.split()) < SHORTEST_REPEAT:
                continue
            if any(re.match(pattern, words) for pattern in MAY_REPEAT):
                continue
            key = re.sub(r"\]\([^)]*\)", "]", words)
            if seen[key]:
                first_path, first_place = seen[key][0]
                where = first_place if first_path == path else f"{first_path.name}, {first_place}"
                yield path, place, f"the paragraph {_shortened(words)!r} stands already in {where}"
            seen[key].append((path, place))


def about_headings(texts):
    """Find headings that a notebook or page has twice: place and complaint."""
    seen = {}
    for place, text in texts:
        for heading in markdown_checks.headings(text):
            where = f"{place}, line {heading.line}"
            key = heading.words.strip().lower()
            if key in seen:
                yield where, f"the heading {heading.words!r} stands already in {seen[key]}"
            seen.setdefault(key, where)


def _shortened(words):
    return words if len(words) <= 50 else f"{words[:47]}..."


def about_formulas(text):
    """Find formulas that do not parse or say something else than the series: line and complaint."""
    for formula in markdown_checks.formulas(text):
        for complaint in formula_checks.about_formula(formula.tex):
            yield formula.line, complaint
