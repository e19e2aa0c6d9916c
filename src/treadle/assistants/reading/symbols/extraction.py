"""Symbols of one file: what it defines, and which names it uses on which lines. Runs in the outliner's child process.

Names are the syntax tree's: those in comments and strings don't count. How often a file refers to another's definition is
decided by names, not by types: a bare name counts if the file imports it (or its language imports no names), and what it is
imported from is its qualifier.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from treadle.assistants.reading.file_parts import DEFINITION_KINDS, member_scope, node_elements
from treadle.assistants.reading.outline.builder import outline_parsed
from treadle.assistants.reading.outline.nodes import Node, Outline, walk_nodes
from treadle.assistants.reading.outline.parsing import ParsedSource, parse_source
from treadle.assistants.reading.outline.references import KEY_TYPES, find_qualifier

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

ReferenceKind = Literal["mention", "call", "definition"]
KINDS: tuple[ReferenceKind, ...] = ("mention", "call", "definition")  # the stronger one of a line counts
_MAX_NAME = 100  # characters
_MAX_SIGNATURE = 300
_IMPORT = re.compile(r"^\s*(?:from\s+(\S+)\s+import|import|use)\b(.*)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d][\w$]*")
_CALL = re.compile(rb"\s*!?(?:::)?\s*\(")
_NO_NAMED_IMPORTS = frozenset(("go", "c", "cpp", "csharp", "java", "kotlin", "swift", "ruby", "php"))


class Definition(Struct, frozen=True, array_like=True):
    """A definition. `qualified` has the class before the name; `line` has the name, `start` to `end` is all of it."""

    name: str
    qualified: str
    kind: str
    signature: str
    line: int
    start: int
    end: int


class NameUse(Struct, array_like=True):
    """The uses of a name in a file.

    lines   each line number times four, plus the number of its kind in `KINDS`
    bare    how often it is used unqualified, and may be any other file's
    called  how often it is called as a member
    owners  how often it stands behind each qualifier, or is imported from a module of that name
    """

    name: str
    lines: list[int]
    bare: int = 0
    called: int = 0
    owners: dict[str, int] = {}


class FileSymbols(Struct, frozen=True, array_like=True):
    """The symbols of a file."""

    language: str
    definitions: tuple[Definition, ...]
    uses: tuple[NameUse, ...]


def extract_symbols(text: str, language: str) -> FileSymbols:
    """Return the symbols of a text in a language."""
    parsed = parse_source(text, language)
    outline = outline_parsed(parsed)
    uses = _UseCollector(parsed, outline)
    for leaf in parsed.names:
        uses.add(leaf)
    definitions = tuple(_list_definitions(outline.nodes, uses))
    return FileSymbols(parsed.language, definitions, uses.finish(definitions))


def _list_definitions(nodes: Iterable[Node], uses: "_UseCollector", scope: str = "") -> Iterator[Definition]:
    for node in nodes:
        if node.kind in DEFINITION_KINDS:
            for element in node_elements(node, scope):
                name = element.name.rpartition(".")[2][:_MAX_NAME]
                line = uses.find_line(name, node.start, node.end)
                yield Definition(
                    name, element.name, node.kind, node.signature[:_MAX_SIGNATURE], line, min(node.start, line), max(node.end, line)
                )
        yield from _list_definitions(node.children, uses, member_scope(node, scope))


def _last_part(source: str) -> str:
    """Return the last name of a module: `b` of `a.b` and of `./a/b.js`; empty for `.` alone."""
    parts = [part for part in re.split(r"[./\\:]+", re.sub(r"\.[cm]?[jt]sx?$", "", source)) if part]
    return parts[-1] if parts else ""


class _UseCollector:
    """Collects the uses of names in one file."""

    def __init__(self, parsed: ParsedSource, outline: Outline) -> None:
        self._source = parsed.source
        self._label = re.compile(parsed.grammar.label) if parsed.grammar.label else None
        self._any_name = parsed.language in _NO_NAMED_IMPORTS
        self._bound = {word: _last_part(source) for source, line in _IMPORT.findall(parsed.text) for word in _WORD.findall(line)}
        for node in walk_nodes(outline.nodes):
            if (found := node.imported) is not None:
                self._bound.update(dict.fromkeys(found.bound(), _last_part(found.source) if found.kind == "named" else ""))
        self._uses: dict[str, NameUse] = {}
        self._leaves: dict[str, list[tuple[int, bool]]] = {}

    def add(self, leaf: "Syntax") -> None:
        """Add a name of the syntax tree."""
        start, end, line = leaf.start_byte, leaf.end_byte, leaf.start_point.row + 1
        if end - start > _MAX_NAME:
            return
        name = self._source[start:end].decode("utf-8", "replace")
        owner = find_qualifier(self._source, start)
        self._leaves.setdefault(name, []).append((line, owner is None))
        if owner is None and (leaf.type in KEY_TYPES or (self._label is not None and self._label.match(self._source, end))):
            return
        called = _CALL.match(self._source, end) is not None
        use = self._uses.setdefault(name, NameUse(name, [], owners={}))
        use.lines.append(line * 4 + called)
        imported_from = "" if self._any_name else self._bound.get(name, "")
        qualifier = imported_from if owner is None else owner.decode("utf-8", "replace")
        if qualifier:
            use.owners[qualifier] = use.owners.get(qualifier, 0) + 1
        elif owner is None:
            use.bare += self._any_name or name in self._bound
        if owner is not None:
            use.called += called

    def find_line(self, name: str, start: int, end: int) -> int:
        """Return the line of a definition that has its name: decorators and comments may come before it."""
        inside = [(line, bare) for line, bare in self._leaves.get(name, ()) if start <= line <= end]
        return next((line for line, bare in inside if bare), inside[0][0] if inside else start)

    def finish(self, definitions: Iterable[Definition]) -> tuple[NameUse, ...]:
        """Return the uses, each line once, with the lines of definitions."""
        for each in definitions:
            self._uses.setdefault(each.name, NameUse(each.name, [], owners={})).lines.append(each.line * 4 + 2)
        for use in self._uses.values():
            strongest = {code // 4: code % 4 for code in sorted(use.lines)}
            use.lines = [line * 4 + kind for line, kind in strongest.items()]
        return tuple(self._uses.values())
