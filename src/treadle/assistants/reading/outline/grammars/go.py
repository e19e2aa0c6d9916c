"""How Go is read. Methods stand beside their types, as they are written; their signatures show the receiver."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.draft import Draft, Shell, Shelled
from treadle.assistants.reading.outline.grammar import Grammar, Rule, Spot
from treadle.assistants.reading.outline.rules import (
    brings,
    child_of,
    defines,
    definition,
    has_token,
    held,
    skip,
    string_of,
    through,
)
from treadle.assistants.reading.outline.values import Imported

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import Opened


def _group(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    """`const`, `var` and `type`, with one specification or with many in parentheses."""
    if has_token(node, "(") or child_of(node, "var_spec_list") is not None:
        yield from through(node, spot)
        return
    for child in node.named_children:
        yield Shelled(child, Shell(node, whole=True))


def _package(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield definition("module", node, spot, spot.text(child_of(node, "package_identifier")))


def _import(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    path, alias = string_of(node.child_by_field_name("path"), spot), spot.field(node, "name")
    match alias:
        case "_":
            imported = Imported("side_effect", path)
        case ".":
            imported = Imported("named", path, ("*",))
        case _:
            imported = Imported("namespace", path, namespace=alias or _last(path))
    yield brings(node, path, imported)


def _last(path: str) -> str:
    """What a package is called by default: `yaml` for `gopkg.in/yaml.v3`."""
    parts = [part for part in path.split("/") if part]
    if len(parts) > 1 and parts[-1][:1] == "v" and parts[-1][1:].isdigit():
        parts.pop()
    return parts[-1].partition(".v")[0] if parts else ""


def _type(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    name, shape = spot.field(node, "name"), node.child_by_field_name("type")
    if shape is None or shape.type not in ("struct_type", "interface_type"):
        yield definition("type", node, spot, name)
        return
    fields = child_of(shape, "field_declaration_list")
    body = fields if shape.type == "struct_type" else shape
    draft = definition("struct" if shape.type == "struct_type" else "interface", node, spot, name)
    draft.members = body.named_children if body is not None else ()
    draft.tail = shape.start_byte + len(shape.type.removesuffix("_type"))
    yield draft


def _values(constant: bool) -> Rule:
    def rule(node: "Syntax", spot: Spot) -> Iterator[Draft]:
        listed = node.child_by_field_name("value")
        names = [child for child in node.children_by_field_name("name") if child.is_named]
        values = listed.named_children if listed is not None else []
        for at, name in enumerate(names):
            draft = held(node, spot, spot.text(name), values[at] if at < len(values) else None, constant=constant)
            draft.tail = listed.start_byte if listed is not None else draft.tail
            yield draft

    return rule


def _field(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """Fields; an embedded type is one that is named like its type."""
    names = [spot.text(child) for child in node.children_by_field_name("name") if child.is_named]
    for name in names or [spot.field(node, "type").rpartition(".")[2].lstrip("*")]:
        draft = held(node, spot, name, node.child_by_field_name("tag"), constant=False)
        draft.value = ("", "")
        yield draft


def _method(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """A method, with the type of its receiver: `Shelf` in `func (s *Shelf[T]) Put()`."""
    draft = definition("method", node, spot, spot.field(node, "name"), node.child_by_field_name("body"))
    receiver = spot.field(node, "receiver").strip("() ").partition("[")[0].split()
    draft.owner = receiver[-1].lstrip("*") if receiver else ""
    yield draft


def _embedded(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield held(node, spot, spot.text(node), None, constant=False)


GO = Grammar(
    module="tree_sitter_go",
    rules={
        "package_clause": _package,
        "import_declaration": through,
        "import_spec_list": through,
        "import_spec": _import,
        "const_declaration": _group,
        "var_declaration": _group,
        "var_spec_list": through,
        "type_declaration": _group,
        "const_spec": _values(constant=True),
        "var_spec": _values(constant=False),
        "type_spec": _type,
        "type_alias": _type,
        "field_declaration": _field,
        "method_elem": defines("method"),
        "method_spec": defines("method"),
        "type_elem": _embedded,
        "constraint_elem": _embedded,
        "function_declaration": defines("function"),
        "method_declaration": _method,
        "empty_statement": skip,
    },
    names=("identifier", "type_identifier", "field_identifier", "package_identifier"),
    plain_docs=True,
    headers=(
        (r"^func\s+\([^)]*\)\s*(?P<name>\w+)", "method"),
        (r"^func\s+(?P<name>\w+)", "function"),
        (r"^type\s+(?P<name>\w+)(?:\[[^\]]*\])?\s+struct\b", "struct"),
        (r"^type\s+(?P<name>\w+)(?:\[[^\]]*\])?\s+interface\b", "interface"),
        (r"^type\s+(?P<name>\w+)\s+\S", "type"),
    ),
)
