"""Text made a tree: parsed, mended where the grammar is known to stumble, with its names, comments and errors listed."""

from typing import TYPE_CHECKING, NamedTuple

from treadle.assistants.reading.outline.grammar import Grammar, grammar_of, leaves, parser_language
from treadle.assistants.reading.outline.languages import canonical
from treadle.assistants.reading.outline.source import with_line_feeds

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax


class Parsed(NamedTuple):
    """A text as its language's grammar reads it. `source` is what was written, also where something else was parsed."""

    language: str
    grammar: Grammar
    text: str
    source: bytes
    root: "Syntax"
    names: "list[Syntax]"
    comments: "list[Syntax]"
    errors: "list[Syntax]"


def parse(text: str, language: str) -> Parsed:
    """A text as its language's grammar reads it."""
    grammar = grammar_of(language)
    text = with_line_feeds(text)
    source = text.encode("utf-8", "replace")
    found = _parsed(text, source, source, language, grammar)
    if found.errors and grammar.mend is not None and (mended := grammar.mend(source)) != source:
        better = _parsed(text, source, mended, language, grammar)
        return min(found, better, key=_damage)
    return found


def _parsed(text: str, source: bytes, shown: bytes, language: str, grammar: Grammar) -> Parsed:
    from tree_sitter import Parser, QueryCursor

    name = canonical(language) or language
    root = Parser(parser_language(grammar.module, grammar.function)).parse(shown).root_node
    found = QueryCursor(leaves(name)).captures(root)
    listed = [sorted(found.get(kind, ()), key=_start) for kind in ("name", "comment", "error")]  # they come in no order
    return Parsed(name, grammar, text, source, root, *listed)


def _start(node: "Syntax") -> int:
    return node.start_byte


def _damage(parsed: Parsed) -> int:
    """How much of a text fits no rule."""
    return sum([1 + error.end_byte - error.start_byte for error in parsed.errors])
