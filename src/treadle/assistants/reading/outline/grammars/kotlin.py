"""Grammar rules of Kotlin. Its grammar names few fields, so children are recognised by their types."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import Grammar, RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft
from treadle.assistants.reading.outline.nodes import Kind
from treadle.assistants.reading.outline.rules import (
    draft_definition,
    draft_import,
    draft_value,
    find_child,
    has_token,
    import_from_path,
    skip_rule,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|open|abstract|final|sealed|override|suspend|inline|operator|infix|tailrec|external|data|inner|value|actual|expect"
    r"|annotation)\s+)*"
)
_TIGHT = re.compile(rb"(?<=[^\s{;]) (?=\s*\})")


def _class(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    kind: Kind = "interface" if has_token(node, "interface") else "enum" if "enum" in _modifiers(node, spot) else "class"
    name = spot.field(node, "name") or ("Companion" if node.type == "companion_object" else "")
    yield draft_definition(kind, node, spot, name, find_child(node, "class_body", "enum_class_body"))


def _modifiers(node: "Syntax", spot: RuleContext) -> list[str]:
    return spot.text(find_child(node, "modifiers")).split()


def _function(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    name = "constructor" if node.type == "secondary_constructor" else spot.field(node, "name")
    yield draft_definition(
        "method" if spot.among_members else "function", node, spot, name, find_child(node, "function_body", "block")
    )


def _property(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield `val` and `var`, also several at once; without the body of a getter."""
    listed = find_child(node, "multi_variable_declaration") or node
    names = [spot.text(find_child(child, "identifier")) for child in listed.named_children if child.type == "variable_declaration"]
    accessor = find_child(node, "getter", "setter", "property_delegate")
    value = _after_equals(node)
    for name in names:
        draft = draft_value(node, spot, name, value, constant="const" in _modifiers(node, spot))
        if accessor is not None and value is None:
            draft.tail = accessor.start_byte
        yield draft


def _after_equals(node: "Syntax") -> "Syntax | None":
    return next((after for before, after in pairwise(node.children) if before.type == "="), None)


def _entry(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_value(node, spot, spot.text(find_child(node, "identifier")), find_child(node, "class_body"), constant=True)


def _import(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    path, alias = spot.text(find_child(node, "qualified_identifier", "identifier")), ""
    if has_token(node, "as"):
        alias = spot.text(node.named_children[-1])
    imported = import_from_path(path, ".", alias, every=has_token(node, "*"))
    yield draft_import(node, imported.source or path, imported)


def _package(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_definition("module", node, spot, spot.text(find_child(node, "qualified_identifier", "identifier")))


def _alias(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_definition("type", node, spot, spot.field(node, "type") or spot.text(find_child(node, "identifier")))


def _with_semicolons(source: bytes) -> bytes:
    """Insert the line end or semicolon that the grammar requires before a closing brace, as in `object A { val x = 1 }`."""
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
        "file_annotation": skip_rule,
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
