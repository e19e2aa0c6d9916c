"""Parse text into a tree, repaired where the grammar is known to fail, with its names, comments and errors listed."""

from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from treadle.assistants.reading.outline.grammar import Grammar, build_leaf_query, load_grammar, load_parser_language
from treadle.assistants.reading.outline.languages import canonical_language
from treadle.assistants.reading.outline.node_draft import Point, TextSpan
from treadle.assistants.reading.outline.source_text import normalize_line_feeds

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_RUBBLE = 10_000  # signs in one error
_FEW = 100
_HOLE = 30  # bytes that no grammar skips in good faith


class ParsedSource(NamedTuple):
    """A parsed text. `source` is the original, also if a repaired version was parsed."""

    language: str
    grammar: Grammar
    text: str
    source: bytes
    root: "Syntax"
    names: "list[Syntax]"
    comments: "list[Syntax]"
    errors: "list[Syntax | TextSpan]"


def parse_source(text: str, language: str) -> ParsedSource:
    """Parse a text by its language's grammar; repaired, unless it parses better as it is."""
    grammar = load_grammar(language)
    text = normalize_line_feeds(text)
    source = text.encode("utf-8", "replace")
    mended = grammar.mend(source) if grammar.mend is not None else source
    found = _parse_bytes(text, source, mended, language, grammar)
    if found.errors and mended != source:
        return min(_parse_bytes(text, source, source, language, grammar), found, key=_measure_damage)
    return found


def _parse_bytes(text: str, source: bytes, shown: bytes, language: str, grammar: Grammar) -> ParsedSource:
    from tree_sitter import Parser, QueryCursor

    name = canonical_language(language) or language
    root = Parser(load_parser_language(grammar.module, grammar.function)).parse(shown).root_node
    found = QueryCursor(build_leaf_query(name)).captures(root) if not _is_mostly_punctuation(root) else {"error": [root]}
    names, comments, errors = [_sort_by_position(found.get(kind, [])) for kind in ("name", "comment", "error")]
    holes = _find_holes(root, shown, grammar) if grammar.leaves_holes else ()
    return ParsedSource(name, grammar, text, source, root, names, comments, [*errors, *holes])


def _is_mostly_punctuation(root: "Syntax") -> bool:
    """Return whether there is almost nothing but punctuation; a query takes quadratic time in that."""
    errors = [node for node in (root, *root.named_children[:_FEW]) if node.is_error]
    return any(node.child_count - node.named_child_count > _RUBBLE for node in errors)


def _find_holes(root: "Syntax", shown: bytes, grammar: Grammar) -> Iterator[TextSpan]:
    """Yield text that a grammar skipped without an error."""
    for node in (root, *root.children):
        children = node.children if node.type not in grammar.comments else []
        starts = [child.start_byte for child in children[1:]] + [node.end_byte]
        for child, start in zip(children, starts, strict=False):
            if start - child.end_byte > _HOLE and shown[child.end_byte : start].strip():
                end, lines = child.end_point, shown.count(b"\n", child.end_byte, start)
                yield TextSpan("HOLE", child.end_byte, start, Point(end.row, end.column), Point(end.row + lines, 1))


def _sort_by_position(nodes: "list[Syntax]") -> "list[Syntax]":
    """Sort nodes by position; a query returns them in no order."""
    return sorted(nodes, key=attrgetter("start_byte"))


def _measure_damage(parsed: ParsedSource) -> int:
    """Return how much of a text fits no rule."""
    return sum([1 + error.end_byte - error.start_byte for error in parsed.errors])
