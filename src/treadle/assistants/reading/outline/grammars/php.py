"""How PHP is read. What is outside `<?php … ?>` is left out."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.draft import Draft
from treadle.assistants.reading.outline.grammar import Grammar, Spot
from treadle.assistants.reading.outline.rules import (
    apart,
    brings,
    child_of,
    defines,
    definition,
    held,
    opens,
    skip,
    statement,
    string_of,
    through,
)
from treadle.assistants.reading.outline.values import Imported

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import Opened

_FUNCTIONS = ("anonymous_function", "anonymous_function_creation_expression", "arrow_function")
_INCLUDING = ("require_expression", "require_once_expression", "include_expression", "include_once_expression")
_BLOCKS = ("compound_statement", "else_clause", "else_if_clause", "colon_block", "catch_clause", "finally_clause")
_MODIFIERS = r"(?:(?:abstract|final|readonly|public|private|protected|static)\s+)*"


def _use(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """One import for each clause of a `use`, or for a group of them."""
    group, prefix = child_of(node, "namespace_use_group"), spot.text(child_of(node, "namespace_name"))
    if group is not None:
        names = tuple([_local(clause, spot) for clause in group.named_children if clause.type.startswith("namespace_use")])
        yield brings(node, prefix, Imported("named", prefix, names))
        return
    for clause in node.named_children:
        if clause.type == "namespace_use_clause":
            path = spot.text(child_of(clause, "qualified_name", "name")).lstrip("\\")
            source = path.rpartition("\\")[0]
            yield brings(node, source or path, Imported("named", source, (_local(clause, spot),)))


def _local(clause: "Syntax", spot: Spot) -> str:
    """What a clause of `use` is called from now on."""
    alias = spot.field(clause, "alias") or spot.text(child_of(clause, "namespace_aliasing_clause")).removeprefix("as ").strip()
    return alias or spot.text(child_of(clause, "qualified_name", "name", "namespace_name")).rpartition("\\")[2]


def _constants(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    for element in node.named_children:
        if element.type == "const_element" and element.named_children:
            value = element.named_children[-1] if len(element.named_children) > 1 else None
            draft = held(node, spot, spot.text(element.named_children[0]), value, constant=True)
            yield apart(draft, element, child_of(node, "const_element") or element, value)


def _properties(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    for element in node.named_children:
        if element.type == "property_element":
            value = element.child_by_field_name("default_value")
            draft = held(node, spot, spot.text(child_of(element, "variable_name")), value, constant=False)
            yield apart(draft, element, child_of(node, "property_element") or element, value)


def _case(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield held(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=True)


def _expression(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    inner = node.named_children[0] if node.named_children else None
    if inner is not None and inner.type in _INCLUDING:
        path = string_of(inner.named_children[0], spot) if inner.named_children else ""
        yield brings(node, path, Imported("side_effect", path))
    elif inner is not None and inner.type == "assignment_expression":
        yield from _assigned(node, inner, spot)
    elif inner is not None and inner.type == "function_call_expression" and spot.field(inner, "function").lower() == "define":
        yield from _define(node, inner, spot)
    else:
        yield from statement(node, spot)


def _assigned(node: "Syntax", assignment: "Syntax", spot: Spot) -> "Iterator[Opened]":
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if left is None or left.type != "variable_name":
        yield from statement(node, spot)
    elif right is not None and right.type in _FUNCTIONS:
        yield definition("function", node, spot, spot.text(left), right.child_by_field_name("body"))
    else:
        yield held(node, spot, spot.text(left), right, constant=False)


def _define(node: "Syntax", call: "Syntax", spot: Spot) -> Iterator[Draft]:
    """`define('NAME', value)`."""
    arguments = call.child_by_field_name("arguments")
    given = [child for child in arguments.named_children if child.type == "argument"] if arguments is not None else []
    if given:
        value = given[1].named_children[0] if len(given) > 1 and given[1].named_children else None
        draft = held(node, spot, string_of(given[0], spot), value, constant=True)
        draft.head, draft.tail = given[0].start_byte + 1, given[0].end_byte - 1
        yield draft


def _namespace(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield definition("module", node, spot, spot.field(node, "name"), node.child_by_field_name("body"))


PHP = Grammar(
    module="tree_sitter_php",
    function="language_php",
    rules={
        "namespace_definition": _namespace,
        "namespace_use_declaration": _use,
        "class_declaration": defines("class"),
        "interface_declaration": defines("interface"),
        "trait_declaration": defines("trait"),
        "enum_declaration": defines("enum"),
        "function_definition": defines("function"),
        "method_declaration": defines("method"),
        "const_declaration": _constants,
        "property_declaration": _properties,
        "enum_case": _case,
        "expression_statement": _expression,
        "compound_statement": through,
        "colon_block": through,
        **dict.fromkeys((*_BLOCKS[1:3], *_BLOCKS[4:], "if_statement", "try_statement"), opens(*_BLOCKS)),
        **dict.fromkeys(("php_tag", "php_end_tag", "text", "text_interpolation", "declare_statement", "empty_statement"), skip),
    },
    names=("name",),
    around=frozenset(("if_statement", "try_statement", "compound_statement")),
    adorning=frozenset(("attribute_list",)),
    selves=(b"$this", b"self", b"static"),
    headers=(
        (_MODIFIERS + r"class\s+(?P<name>\w+)", "class"),
        (_MODIFIERS + r"interface\s+(?P<name>\w+)", "interface"),
        (_MODIFIERS + r"trait\s+(?P<name>\w+)", "trait"),
        (_MODIFIERS + r"enum\s+(?P<name>\w+)", "enum"),
        (_MODIFIERS + r"function\s+&?(?P<name>\w+)", "function"),
    ),
)
