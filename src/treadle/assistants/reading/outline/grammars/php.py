"""Grammar rules of PHP. Text outside `<?php … ?>` is left out."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import Grammar, RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft
from treadle.assistants.reading.outline.nodes import ImportInfo
from treadle.assistants.reading.outline.rules import (
    children_rule,
    definition_rule,
    draft_definition,
    draft_import,
    draft_value,
    find_child,
    separate_declaration,
    skip_rule,
    statement_rule,
    transparent_rule,
    unquote_text,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import RuleOutput

_FUNCTIONS = ("anonymous_function", "anonymous_function_creation_expression", "arrow_function")
_INCLUDING = ("require_expression", "require_once_expression", "include_expression", "include_once_expression")
_BLOCKS = ("compound_statement", "else_clause", "else_if_clause", "colon_block", "catch_clause", "finally_clause")
_MODIFIERS = r"(?:(?:abstract|final|readonly|public|private|protected|static)\s+)*"


def _use(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield one import for each clause of a `use`, or for a group of them."""
    group, prefix = find_child(node, "namespace_use_group"), spot.text(find_child(node, "namespace_name"))
    if group is not None:
        names = tuple([_local_name(clause, spot) for clause in group.named_children if clause.type.startswith("namespace_use")])
        yield draft_import(node, prefix, ImportInfo("named", prefix, names))
        return
    for clause in node.named_children:
        if clause.type == "namespace_use_clause":
            path = spot.text(find_child(clause, "qualified_name", "name")).lstrip("\\")
            source = path.rpartition("\\")[0]
            yield draft_import(node, source or path, ImportInfo("named", source, (_local_name(clause, spot),)))


def _local_name(clause: "Syntax", spot: RuleContext) -> str:
    """Return the local name of a `use` clause."""
    alias = spot.field(clause, "alias") or spot.text(find_child(clause, "namespace_aliasing_clause")).removeprefix("as ").strip()
    return alias or spot.text(find_child(clause, "qualified_name", "name", "namespace_name")).rpartition("\\")[2]


def _constants(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    for element in node.named_children:
        if element.type == "const_element" and element.named_children:
            value = element.named_children[-1] if len(element.named_children) > 1 else None
            draft = draft_value(node, spot, spot.text(element.named_children[0]), value, constant=True)
            yield separate_declaration(draft, element, find_child(node, "const_element") or element, value)


def _properties(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    for element in node.named_children:
        if element.type == "property_element":
            value = element.child_by_field_name("default_value")
            draft = draft_value(node, spot, spot.text(find_child(element, "variable_name")), value, constant=False)
            yield separate_declaration(draft, element, find_child(node, "property_element") or element, value)


def _case(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_value(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=True)


def _expression(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    inner = node.named_children[0] if node.named_children else None
    if inner is not None and inner.type in _INCLUDING:
        path = unquote_text(inner.named_children[0], spot) if inner.named_children else ""
        yield draft_import(node, path, ImportInfo("side_effect", path))
    elif inner is not None and inner.type == "assignment_expression":
        yield from _assignment(node, inner, spot)
    elif inner is not None and inner.type == "function_call_expression" and spot.field(inner, "function").lower() == "define":
        yield from _define(node, inner, spot)
    else:
        yield from statement_rule(node, spot)


def _assignment(node: "Syntax", assignment: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if left is None or left.type != "variable_name":
        yield from statement_rule(node, spot)
    elif right is not None and right.type in _FUNCTIONS:
        yield draft_definition("function", node, spot, spot.text(left), right.child_by_field_name("body"))
    else:
        yield draft_value(node, spot, spot.text(left), right, constant=False)


def _define(node: "Syntax", call: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """`define('NAME', value)`."""
    arguments = call.child_by_field_name("arguments")
    given = [child for child in arguments.named_children if child.type == "argument"] if arguments is not None else []
    if given:
        value = given[1].named_children[0] if len(given) > 1 and given[1].named_children else None
        draft = draft_value(node, spot, unquote_text(given[0], spot), value, constant=True)
        draft.head, draft.tail = given[0].start_byte + 1, given[0].end_byte - 1
        yield draft


def _namespace(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_definition("module", node, spot, spot.field(node, "name"), node.child_by_field_name("body"))


PHP = Grammar(
    module="tree_sitter_php",
    function="language_php",
    rules={
        "namespace_definition": _namespace,
        "namespace_use_declaration": _use,
        "class_declaration": definition_rule("class"),
        "interface_declaration": definition_rule("interface"),
        "trait_declaration": definition_rule("trait"),
        "enum_declaration": definition_rule("enum"),
        "function_definition": definition_rule("function"),
        "method_declaration": definition_rule("method"),
        "const_declaration": _constants,
        "property_declaration": _properties,
        "enum_case": _case,
        "expression_statement": _expression,
        "compound_statement": transparent_rule,
        "colon_block": transparent_rule,
        **dict.fromkeys((*_BLOCKS[1:3], *_BLOCKS[4:], "if_statement", "try_statement"), children_rule(*_BLOCKS)),
        **dict.fromkeys(
            ("php_tag", "php_end_tag", "text", "text_interpolation", "declare_statement", "empty_statement"), skip_rule
        ),
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
