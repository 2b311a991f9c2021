"""What `check` answers: a few sentences, for a page and for a terminal."""

import html
import textwrap
from dataclasses import dataclass

# Every outcome that there is, and the words that a feedback of that kind begins with.
OUTCOMES = {
    "right": "Right",
    "not attempted": "Not attempted yet",
    "raised": "Not yet: it stops with an error",
    "form": "Not yet: the form of the result",
    "mistake": "Not yet",
    "different": "Not yet: another result",
    "endless": "Not yet: it does not come to an end",
    "call": "Not yet: the call of check",
}
# The words say it all; the colour of the edge says it again, and so does its line.
_EDGES = {"right": "solid #2e7d32", "not attempted": "dotted #777777"}
_OTHER_EDGE = "dashed #b26a00"
_CALL = "This call shows it:"
_BESIDES = "Besides:"


@dataclass(frozen=True)
class Feedback:
    """The answer to an answer.

    Attributes
    ----------
    exercise : str
        Name of the exercise, or what was given for it.
    outcome : str
        One of `OUTCOMES`.
    mistake : str
        The mistake by name, or "".
    text : str
        What happened, in one to three sentences.
    code : str
        Lines to paste into a cell to see it happen, or "".
    remarks : tuple of str
        What else there is to say of a right answer, none of which makes it less right.
    """

    exercise: str
    outcome: str
    text: str
    mistake: str = ""
    code: str = ""
    remarks: tuple = ()

    @property
    def heading(self):
        return OUTCOMES[self.outcome] + (f": {self.mistake}." if self.mistake else ".")

    def __repr__(self):
        heading = f"[{self.exercise}] {self.heading}" if self.exercise else self.heading
        paragraphs = [heading, self.text, *(f"{_BESIDES} {remark}" for remark in self.remarks)]
        lines = [textwrap.fill(paragraph, width=88) for paragraph in paragraphs]
        if self.code:
            lines += [_CALL, "", textwrap.indent(self.code, "    ")]
        return "\n".join(lines)

    def _repr_html_(self):
        edge = _EDGES.get(self.outcome, _OTHER_EDGE)
        code = f'<pre style="margin: 0.5em 0 0 0">{html.escape(self.code)}</pre>'
        code = f" {_CALL}{code}" if self.code else ""
        remarks = "".join(
            f'<p style="margin: 0.5em 0 0 0">{_BESIDES} {html.escape(remark)}</p>'
            for remark in self.remarks
        )
        return (
            f'<div role="status" style="border-left: 5px {edge}; padding: 0.3em 0.9em; max-width: 46em">'
            f"<strong>{html.escape(self.heading)}</strong> {html.escape(self.text)}{code}{remarks}</div>"
        )
