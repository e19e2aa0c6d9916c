"""How Rust is read. Attributes belong to the item below them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.draft import Draft
from treadle.assistants.reading.outline.grammar import Grammar, Spot
from treadle.assistants.reading.outline.rules import brings, defines, definition, held, opens, skip, through
from treadle.assistants.reading.outline.values import Imported

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_PUBLIC = r"(?:pub(?:\([^)]*\))?\s+)?"


def _struct(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """The fields of `struct Pair(i32, i32)` have no names, so they stay in its signature."""
    body = node.child_by_field_name("body")
    listed = body if body is not None and body.type == "field_declaration_list" else None
    yield definition("struct", node, spot, spot.field(node, "name"), listed)


def _impl(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    trait, owner = spot.field(node, "trait"), spot.field(node, "type")
    yield definition("impl", node, spot, f"{trait} for {owner}" if trait else owner, node.child_by_field_name("body"))


def _value(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    fixed = node.type == "const_item" or not any(child.type == "mutable_specifier" for child in node.named_children)
    yield held(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=fixed)


def _macro(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    draft = definition("macro", node, spot, spot.field(node, "name"))
    name = node.child_by_field_name("name")
    draft.tail = name.end_byte if name is not None else draft.tail
    yield draft


def _field(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield held(node, spot, spot.field(node, "name"), None, constant=False)


def _variant(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield held(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=True)


def _use(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """One import, however many names it lists; its source is what they have in common."""
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
    yield brings(node, source, Imported("named", source, tuple(_used(argument, spot))))


def _used(argument: "Syntax | None", spot: Spot) -> list[str]:
    """The names that a `use` makes known."""
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


def _path_before(part: "Syntax", spot: Spot) -> str:
    """The last word of the path before the list that `self` stands in."""
    around = part.parent.parent if part.parent is not None else None
    return spot.field(around, "path").rpartition("::")[2] if around is not None else ""


def _crate(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    name = spot.field(node, "name")
    yield brings(node, name, Imported("namespace", name, namespace=spot.field(node, "alias") or name))


RUST = Grammar(
    module="tree_sitter_rust",
    rules={
        "use_declaration": _use,
        "extern_crate_declaration": _crate,
        "function_item": defines("function"),
        "function_signature_item": defines("function"),
        "struct_item": _struct,
        "union_item": _struct,
        "enum_item": defines("enum"),
        "trait_item": defines("trait"),
        "impl_item": _impl,
        "mod_item": defines("module"),
        "foreign_mod_item": opens("declaration_list"),
        "declaration_list": through,
        "const_item": _value,
        "static_item": _value,
        "type_item": defines("type"),
        "associated_type": defines("type"),
        "macro_definition": _macro,
        "field_declaration": _field,
        "enum_variant": _variant,
        "inner_attribute_item": skip,
        "empty_statement": skip,
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
