"""The outline of a text, made in this process: parsed, drafted, and written down as values.

Text from strangers can crash or stall a parser; `worker` makes the same outline where that does no harm.
"""

from collections.abc import Sequence

from treadle.assistants.reading.outline.comments import (
    Comments,
    documents,
    first_line,
    first_paragraph,
    first_sentence,
    is_about_rights,
    words,
)
from treadle.assistants.reading.outline.draft import Draft, last_row
from treadle.assistants.reading.outline.drafting import drafted
from treadle.assistants.reading.outline.grammar import Spot
from treadle.assistants.reading.outline.parsing import Parsed, parse
from treadle.assistants.reading.outline.salvage import salvage
from treadle.assistants.reading.outline.signatures import signature
from treadle.assistants.reading.outline.source import lines_of
from treadle.assistants.reading.outline.tokens import estimated_tokens
from treadle.assistants.reading.outline.uses import Scope, Uses
from treadle.assistants.reading.outline.values import Node, Outline

_MOST_PLACES = 5  # named in a note


def outline(text: str, language: str) -> Outline:
    """The outline of a text in a language, by any name the language has."""
    parsed = parse(text, language)
    comments = Comments(parsed.comments, parsed.source)
    spot = Spot(parsed.source, parsed.grammar)
    top = parsed.root.named_children
    drafts = drafted([parsed.root] if parsed.root.type == "ERROR" else top, spot)
    if parsed.errors:
        drafts = salvage(drafts, parsed, comments)
    lines = len(lines_of(parsed.text))
    doc = parsed.grammar.docstring(top, spot) if parsed.grammar.docstring else ""
    return Outline(
        parsed.language,
        lines,
        _Writing(parsed, comments, drafts).nodes(drafts, lines),
        doc=first_paragraph(doc) if doc else _header(comments, drafts),
        broken=bool(parsed.errors),
        note=_note(parsed),
        chars=len(parsed.text),
        tokens=estimated_tokens(parsed.text),
    )


class _Writing:
    """Nodes from drafts."""

    def __init__(self, parsed: Parsed, comments: Comments, drafts: Sequence[Draft]) -> None:
        self._comments = comments
        self._first = drafts[0] if drafts else None
        self._plain_docs = parsed.grammar.plain_docs
        self._uses = Uses(drafts, parsed)

    def nodes(self, drafts: Sequence[Draft], lines: int) -> tuple[Node, ...]:
        return tuple([self._node(draft, self._uses.scope, 1, max(1, lines)) for draft in drafts])

    def _node(self, draft: Draft, scope: Scope, first: int, last: int) -> Node:
        """A node within the lines of what is around it."""
        start = min(max(draft.row + 1, first), last)
        end = min(max(draft.end_row + 1, start), last)
        above = self._above(draft)
        value, value_type = draft.value
        inside = self._uses.inside(draft, scope)
        return Node(
            draft.kind,
            draft.type,
            " ".join(draft.name.split()),
            signature(draft, self._comments),
            start,
            end,
            words(above) if above else "",
            words([beside]) if (beside := self._comments.beside(draft.leads)) else "",
            self._doc(draft, above),
            draft.extra,
            draft.decorators,
            draft.imported,
            value,
            value_type,
            self._uses.of(draft, scope),
            tuple([self._node(child, inside, start, end) for child in draft.children]),
            draft.owner,
        )

    def _above(self, draft: Draft) -> list[str]:
        """The comments above a draft, unless they are about the rights in the whole file."""
        above = self._comments.above(draft.row)
        return [] if draft is self._first and is_about_rights(words(above)) else above

    def _doc(self, draft: Draft, above: Sequence[str]) -> str:
        if draft.doc:
            return first_line(draft.doc)
        if above and (self._plain_docs or documents(above[-1])):
            return first_sentence(words(above))
        return ""


def _header(comments: Comments, drafts: Sequence[Draft]) -> str:
    """What the comments at the top say of the file. Those directly above a definition are about that."""
    first = drafts[0] if drafts else None
    for end, run in comments.runs_before(first.row if first else 1 << 30):
        if first is not None and end + 1 == first.row and first.kind not in ("import", "module", "statement"):
            break
        if said := first_paragraph(words(run)):
            return said
    return ""


def _note(parsed: Parsed) -> str:
    if not parsed.errors:
        return ""
    rows = sorted({(error.start_point.row + 1, last_row(error) + 1) for error in parsed.errors})
    places = ", ".join([str(start) if start == end else f"{start}-{end}" for start, end in rows[:_MOST_PLACES]])
    more = f" and {len(rows) - _MOST_PLACES} more places" if len(rows) > _MOST_PLACES else ""
    return f"The grammar could not read all of it: lines {places}{more}."
