"""Build the outline of a text in this process: parse it, extract drafts, and convert them to nodes.

Untrusted text can crash or stall a parser; `outliner` builds the same outline where that does no harm.
"""

from collections.abc import Sequence

from treadle.assistants.reading.outline.comments import (
    Comments,
    clean_comments,
    first_paragraph,
    first_sentence,
    is_doc_comment,
    is_license_notice,
    is_prose,
)
from treadle.assistants.reading.outline.error_recovery import recover_definitions
from treadle.assistants.reading.outline.extraction import extract_drafts
from treadle.assistants.reading.outline.formatter import format_signature
from treadle.assistants.reading.outline.grammar import RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft, last_row
from treadle.assistants.reading.outline.nodes import Node, Outline
from treadle.assistants.reading.outline.parsing import ParsedSource, parse_source
from treadle.assistants.reading.outline.references import NameScope, ReferenceFinder
from treadle.assistants.reading.outline.source_text import estimate_tokens, split_source_lines

_MOST_PLACES = 5  # named in a note


def build_outline(text: str, language: str) -> Outline:
    """Build the outline of a text in a language, by any of the language's names."""
    return outline_parsed(parse_source(text, language))


def outline_parsed(parsed: ParsedSource) -> Outline:
    """Build the outline of a parsed text."""
    comments = Comments(parsed.comments, parsed.source)
    spot = RuleContext(parsed.source, parsed.grammar)
    top = parsed.root.named_children
    drafts = extract_drafts([parsed.root] if parsed.root.type == "ERROR" else top, spot)
    if parsed.errors:
        drafts = recover_definitions(drafts, parsed, comments)
    lines = len(split_source_lines(parsed.text))
    doc = parsed.grammar.docstring(top, spot) if parsed.grammar.docstring else ""
    return Outline(
        parsed.language,
        lines,
        _NodeBuilder(parsed, comments, drafts).nodes(drafts, lines),
        doc=first_paragraph(doc) if doc else _file_doc(comments, drafts),
        broken=bool(parsed.errors),
        note=_describe_damage(parsed),
        chars=len(parsed.text),
        tokens=estimate_tokens(parsed.text),
    )


class _NodeBuilder:
    """Converts drafts to nodes."""

    def __init__(self, parsed: ParsedSource, comments: Comments, drafts: Sequence[NodeDraft]) -> None:
        self._comments = comments
        self._first = drafts[0] if drafts else None
        self._plain_docs = parsed.grammar.plain_docs
        self._uses = ReferenceFinder(drafts, parsed)

    def nodes(self, drafts: Sequence[NodeDraft], lines: int) -> tuple[Node, ...]:
        return tuple([self._node(draft, self._uses.scope, 1, max(1, lines)) for draft in drafts])

    def _node(self, draft: NodeDraft, scope: NameScope, first: int, last: int) -> Node:
        """Build a node, limited to the lines of its parent."""
        start = min(max(draft.row + 1, first), last)
        end = min(max(draft.end_row + 1, start), last)
        above = self._above(draft)
        value, value_type = draft.value
        inside = self._uses.inside(draft, scope)
        return Node(
            draft.kind,
            draft.type,
            " ".join(draft.name.split()),
            format_signature(draft, self._comments),
            start,
            end,
            clean_comments(above) if above else "",
            clean_comments([beside]) if (beside := self._comments.beside(draft.leads)) else "",
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

    def _above(self, draft: NodeDraft) -> list[str]:
        """Return the comments above a draft, unless they are the license notice of the file."""
        first = draft is self._first  # what is above it may be about the file
        above = self._comments.above(draft.row, apart=not first and draft.kind not in ("import", "statement"))
        return [] if first and is_license_notice(clean_comments(above)) else above

    def _doc(self, draft: NodeDraft, above: Sequence[str]) -> str:
        if draft.doc:
            return first_sentence(draft.doc)
        if above and (self._plain_docs or is_doc_comment(above[-1])):
            return first_sentence(clean_comments(above))
        return ""


def _file_doc(comments: Comments, drafts: Sequence[NodeDraft]) -> str:
    """Return what the comments at the top say about the file. Those directly above a definition belong to that."""
    first = drafts[0] if drafts else None
    for end, run in comments.runs_before(first.row if first else 1 << 30):
        if first is not None and end + 1 == first.row and first.kind not in ("import", "module", "statement"):
            break
        if (said := first_paragraph(clean_comments(run))) and is_prose(first_sentence(said)):
            return said
    return ""


def _describe_damage(parsed: ParsedSource) -> str:
    if not parsed.errors:
        return ""
    rows = sorted({(error.start_point.row + 1, last_row(error) + 1) for error in parsed.errors})
    places = ", ".join([str(start) if start == end else f"{start}-{end}" for start, end in rows[:_MOST_PLACES]])
    more = f" and {len(rows) - _MOST_PLACES} more places" if len(rows) > _MOST_PLACES else ""
    return f"The grammar could not read all of it: lines {places}{more}."
