"""Grammar rules of Rust. Attributes belong to the item below them."""

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
    skip_rule,
    transparent_rule,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_PUBLIC = r"(?:pub(?:\([^)]*\))?\s+)?"


def _struct(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield a struct. The fields of `struct Pair(i32, i32)` have no names, so they stay in its signature."""
    body = node.child_by_field_name("body")
    listed = body if body is not None and body.type == "field_declaration_list" else None
    yield draft_definition("struct", node, spot, spot.field(node, "name"), listed)


def _impl(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    trait, owner = spot.field(node, "trait"), spot.field(node, "type")
    yield draft_definition("impl", node, spot, f"{trait} for {owner}" if trait else owner, node.child_by_field_name("body"))


def _value(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    fixed = node.type == "const_item" or not any(child.type == "mutable_specifier" for child in node.named_children)
    yield draft_value(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=fixed)


def _macro(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    draft = draft_definition("macro", node, spot, spot.field(node, "name"))
    name = node.child_by_field_name("name")
    draft.tail = name.end_byte if name is not None else draft.tail
    yield draft


def _field(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_value(node, spot, spot.field(node, "name"), None, constant=False)


def _variant(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_value(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=True)


def _use(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield one import, however many names it lists; its source is their common path."""
    argument = node.child_by_field_name("argument")
    source = spot.text(argument)
    if argument is not None and argument.type in ("scoped_use_list", "use_list"):
        source = spot.field(argument, "path")
    elif argument is not None and argument.type == "use_wildcard":
        source = source.removesuffix("::*")
    elif argument is not None and argument.type == "use_as_clause":
        source = spot.field(argument, "path")
    elif "::" in source and not source.startswith("{"):
        source = source.rpartition("::")[0]
    yield draft_import(node, source, ImportInfo("named", source, tuple(_used_names(argument, spot))))


def _used_names(argument: "Syntax | None", spot: RuleContext) -> list[str]:
    """Return the names that a `use` brings into scope."""
    found: list[str] = []
    pending = [argument] if argument is not None else []
    while pending:
        part = pending.pop()
        match part.type:
            case "scoped_use_list":
                pending += part.children_by_field_name("list")
            case "use_list":
                pending += reversed(part.named_children)
            case "use_as_clause":
                found.append(spot.field(part, "alias"))
            case "use_wildcard":
                found.append("*")
            case "self":
                found.append(_path_before(part, spot))
            case "identifier" | "scoped_identifier" | "crate" | "super":
                found.append(spot.field(part, "name") or spot.text(part))
            case _:
                pass
    return [name for name in found if name]


def _path_before(part: "Syntax", spot: RuleContext) -> str:
    """Return the last word of the path before the list that contains `self`."""
    around = part.parent.parent if part.parent is not None else None
    return spot.field(around, "path").rpartition("::")[2] if around is not None else ""


def _crate(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    name = spot.field(node, "name")
    yield draft_import(node, name, ImportInfo("namespace", name, namespace=spot.field(node, "alias") or name))


RUST = Grammar(
    module="tree_sitter_rust",
    rules={
        "use_declaration": _use,
        "extern_crate_declaration": _crate,
        "function_item": definition_rule("function"),
        "function_signature_item": definition_rule("function"),
        "struct_item": _struct,
        "union_item": _struct,
        "enum_item": definition_rule("enum"),
        "trait_item": definition_rule("trait"),
        "impl_item": _impl,
        "mod_item": definition_rule("module"),
        "foreign_mod_item": children_rule("declaration_list"),
        "declaration_list": transparent_rule,
        "const_item": _value,
        "static_item": _value,
        "type_item": definition_rule("type"),
        "associated_type": definition_rule("type"),
        "macro_definition": _macro,
        "field_declaration": _field,
        "enum_variant": _variant,
        "inner_attribute_item": skip_rule,
        "empty_statement": skip_rule,
    },
    names=("identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"),
    comments=("line_comment", "block_comment"),
    before=frozenset(("attribute_item",)),
    selves=(b"self", b"Self"),
    parameters="name: type",
    headers=(
        (_PUBLIC + r"(?:(?:default|async|const|unsafe|extern(?:\s+\"[^\"]*\")?)\s+)*fn\s+(?P<name>\w+)", "function"),
        (_PUBLIC + r"(?:struct|union)\s+(?P<name>\w+)", "struct"),
        (_PUBLIC + r"enum\s+(?P<name>\w+)", "enum"),
        (_PUBLIC + r"(?:unsafe\s+)?trait\s+(?P<name>\w+)", "trait"),
        (_PUBLIC + r"mod\s+(?P<name>\w+)\s*\{", "module"),
        (r"(?:unsafe\s+)?impl\b(?:<[^>]*>)?\s+(?P<name>[^{]+?)\s*(?:where\b.*)?\{", "impl"),
        (r"macro_rules!\s*(?P<name>\w+)", "macro"),
    ),
)
