"""How Kotlin is read. Its grammar names few fields, so parts are told by their types."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.draft import Draft
from treadle.assistants.reading.outline.grammar import Grammar, Spot
from treadle.assistants.reading.outline.rules import brings, child_of, definition, has_token, held, named_from, skip
from treadle.assistants.reading.outline.values import Kind

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|open|abstract|final|sealed|override|suspend|inline|operator|infix|tailrec|external|data|inner|value|actual|expect"
    r"|annotation)\s+)*"
)
_TIGHT = re.compile(rb"(?<=[^\s{;]) (?=\s*\})")


def _class(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    kind: Kind = "interface" if has_token(node, "interface") else "enum" if "enum" in _modifiers(node, spot) else "class"
    name = spot.field(node, "name") or ("Companion" if node.type == "companion_object" else "")
    yield definition(kind, node, spot, name, child_of(node, "class_body", "enum_class_body"))


def _modifiers(node: "Syntax", spot: Spot) -> list[str]:
    return spot.text(child_of(node, "modifiers")).split()


def _function(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    name = "constructor" if node.type == "secondary_constructor" else spot.field(node, "name")
    yield definition("method" if spot.among_members else "function", node, spot, name, child_of(node, "function_body", "block"))


def _property(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """`val` and `var`, also several at once; without what its getter does."""
    listed = child_of(node, "multi_variable_declaration") or node
    names = [spot.text(child_of(child, "identifier")) for child in listed.named_children if child.type == "variable_declaration"]
    accessor = child_of(node, "getter", "setter", "property_delegate")
    value = _after_equals(node)
    for name in names:
        draft = held(node, spot, name, value, constant="const" in _modifiers(node, spot))
        if accessor is not None and value is None:
            draft.tail = accessor.start_byte
        yield draft


def _after_equals(node: "Syntax") -> "Syntax | None":
    return next((after for before, after in pairwise(node.children) if before.type == "="), None)


def _entry(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield held(node, spot, spot.text(child_of(node, "identifier")), child_of(node, "class_body"), constant=True)


def _import(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    path, alias = spot.text(child_of(node, "qualified_identifier", "identifier")), ""
    if has_token(node, "as"):
        alias = spot.text(node.named_children[-1])
    imported = named_from(path, ".", alias, every=has_token(node, "*"))
    yield brings(node, imported.source or path, imported)


def _package(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield definition("module", node, spot, spot.text(child_of(node, "qualified_identifier", "identifier")))


def _alias(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield definition("type", node, spot, spot.field(node, "type") or spot.text(child_of(node, "identifier")))


def _with_semicolons(source: bytes) -> bytes:
    """The grammar wants a line end or a semicolon before a closing brace, which people leave out: `object A { val x = 1 }`."""
    return _TIGHT.sub(b";", source)


KOTLIN = Grammar(
    module="tree_sitter_kotlin",
    rules={
        "package_header": _package,
        "import": _import,
        "class_declaration": _class,
        "object_declaration": _class,
        "companion_object": _class,
        "function_declaration": _function,
        "secondary_constructor": _function,
        "property_declaration": _property,
        "enum_entry": _entry,
        "type_alias": _alias,
        "file_annotation": skip,
    },
    names=("identifier",),
    comments=("line_comment", "block_comment"),
    adorning=frozenset(("annotation",)),
    selves=(b"this",),
    implicit_self=True,
    label=rb"\s*=(?!=)",
    parameters="name: type",
    headers=(
        (_MODIFIERS + r"enum\s+class\s+(?P<name>\w+)", "enum"),
        (_MODIFIERS + r"(?:class|object)\s+(?P<name>\w+)", "class"),
        (_MODIFIERS + r"(?:fun\s+)?interface\s+(?P<name>\w+)", "interface"),
        (_MODIFIERS + r"fun\s+(?:<[^>]*>\s*)?(?:[\w<>?, *]+\.)?(?P<name>\w+)\s*\(", "function"),
        (r"typealias\s+(?P<name>\w+)", "type"),
    ),
    mend=_with_semicolons,
    leaves_holes=True,
)
