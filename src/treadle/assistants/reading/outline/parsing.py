"""Text made a tree: parsed, mended where the grammar is known to stumble, with its names, comments and errors listed."""

from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from treadle.assistants.reading.outline.draft import Line, Point
from treadle.assistants.reading.outline.grammar import Grammar, grammar_of, leaves, parser_language
from treadle.assistants.reading.outline.languages import canonical
from treadle.assistants.reading.outline.source import with_line_feeds

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_RUBBLE = 10_000  # signs in one error
_FEW = 100
_HOLE = 30  # bytes that no grammar skips in good faith


class Parsed(NamedTuple):
    """A text as its language's grammar reads it. `source` is what was written, also where something else was parsed."""

    language: str
    grammar: Grammar
    text: str
    source: bytes
    root: "Syntax"
    names: "list[Syntax]"
    comments: "list[Syntax]"
    errors: "list[Syntax | Line]"


def parse(text: str, language: str) -> Parsed:
    """A text as its language's grammar reads it; mended, unless it reads better as it is."""
    grammar = grammar_of(language)
    text = with_line_feeds(text)
    source = text.encode("utf-8", "replace")
    mended = grammar.mend(source) if grammar.mend is not None else source
    found = _parsed(text, source, mended, language, grammar)
    if found.errors and mended != source:
        return min(_parsed(text, source, source, language, grammar), found, key=_damage)
    return found


def _parsed(text: str, source: bytes, shown: bytes, language: str, grammar: Grammar) -> Parsed:
    from tree_sitter import Parser, QueryCursor

    name = canonical(language) or language
    root = Parser(parser_language(grammar.module, grammar.function)).parse(shown).root_node
    found = QueryCursor(leaves(name)).captures(root) if not _is_rubble(root) else {"error": [root]}
    names, comments, errors = [_in_order(found.get(kind, [])) for kind in ("name", "comment", "error")]
    holes = _holes(root, shown, grammar) if grammar.leaves_holes else ()
    return Parsed(name, grammar, text, source, root, names, comments, [*errors, *holes])


def _is_rubble(root: "Syntax") -> bool:
    """Whether there is next to nothing but brackets and the like; a query takes the square of their number."""
    errors = [node for node in (root, *root.named_children[:_FEW]) if node.is_error]
    return any(node.child_count - node.named_child_count > _RUBBLE for node in errors)


def _holes(root: "Syntax", shown: bytes, grammar: Grammar) -> Iterator[Line]:
    """Text that a grammar skipped without a word."""
    for node in (root, *root.children):
        children = node.children if node.type not in grammar.comments else []
        starts = [child.start_byte for child in children[1:]] + [node.end_byte]
        for child, start in zip(children, starts, strict=False):
            if start - child.end_byte > _HOLE and shown[child.end_byte : start].strip():
                end, lines = child.end_point, shown.count(b"\n", child.end_byte, start)
                yield Line("HOLE", child.end_byte, start, Point(end.row, end.column), Point(end.row + lines, 1))


def _in_order(nodes: "list[Syntax]") -> "list[Syntax]":
    """As they are in the file; a query finds them in no order."""
    return sorted(nodes, key=attrgetter("start_byte"))


def _damage(parsed: Parsed) -> int:
    """How much of a text fits no rule."""
    return sum([1 + error.end_byte - error.start_byte for error in parsed.errors])
