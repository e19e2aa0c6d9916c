"""Grammar rules of Go. Methods are listed beside their types, as they are written; their signatures show the receiver."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import Grammar, Rule, RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft, SyntaxWrapper, WrappedNode
from treadle.assistants.reading.outline.nodes import ImportInfo
from treadle.assistants.reading.outline.rules import (
    definition_rule,
    draft_definition,
    draft_import,
    draft_value,
    find_child,
    has_token,
    skip_rule,
    transparent_rule,
    unquote_text,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import RuleOutput


def _group(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """`const`, `var` and `type`, with one specification or with many in parentheses."""
    if has_token(node, "(") or find_child(node, "var_spec_list") is not None:
        yield from transparent_rule(node, spot)
        return
    for child in node.named_children:
        yield WrappedNode(child, SyntaxWrapper(node, whole=True))


def _package(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_definition("module", node, spot, spot.text(find_child(node, "package_identifier")))


def _import(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    path, alias = unquote_text(node.child_by_field_name("path"), spot), spot.field(node, "name")
    match alias:
        case "_":
            imported = ImportInfo("side_effect", path)
        case ".":
            imported = ImportInfo("named", path, ("*",))
        case _:
            imported = ImportInfo("namespace", path, namespace=alias or _default_package_name(path))
    yield draft_import(node, path, imported)


def _default_package_name(path: str) -> str:
    """Return the default name of a package: `yaml` for `gopkg.in/yaml.v3`."""
    parts = [part for part in path.split("/") if part]
    if len(parts) > 1 and parts[-1][:1] == "v" and parts[-1][1:].isdigit():
        parts.pop()
    return parts[-1].partition(".v")[0] if parts else ""


def _type(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    name, shape = spot.field(node, "name"), node.child_by_field_name("type")
    if shape is None or shape.type not in ("struct_type", "interface_type"):
        yield draft_definition("type", node, spot, name)
        return
    fields = find_child(shape, "field_declaration_list")
    body = fields if shape.type == "struct_type" else shape
    draft = draft_definition("struct" if shape.type == "struct_type" else "interface", node, spot, name)
    draft.members = body.named_children if body is not None else ()
    draft.tail = shape.start_byte + len(shape.type.removesuffix("_type"))
    yield draft


def _values(constant: bool) -> Rule:
    def rule(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
        listed = node.child_by_field_name("value")
        names = [child for child in node.children_by_field_name("name") if child.is_named]
        values = listed.named_children if listed is not None else []
        for at, name in enumerate(names):
            draft = draft_value(node, spot, spot.text(name), values[at] if at < len(values) else None, constant=constant)
            draft.tail = listed.start_byte if listed is not None else draft.tail
            yield draft

    return rule


def _field(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield fields; an embedded type is a field named like its type."""
    names = [spot.text(child) for child in node.children_by_field_name("name") if child.is_named]
    for name in names or [spot.field(node, "type").rpartition(".")[2].lstrip("*")]:
        draft = draft_value(node, spot, name, node.child_by_field_name("tag"), constant=False)
        draft.value = ("", "")
        yield draft


def _method(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield a method with the type of its receiver: `Shelf` in `func (s *Shelf[T]) Put()`."""
    draft = draft_definition("method", node, spot, spot.field(node, "name"), node.child_by_field_name("body"))
    receiver = spot.field(node, "receiver").strip("() ").partition("[")[0].split()
    draft.owner = receiver[-1].lstrip("*") if receiver else ""
    yield draft


def _embedded(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_value(node, spot, spot.text(node), None, constant=False)


GO = Grammar(
    module="tree_sitter_go",
    rules={
        "package_clause": _package,
        "import_declaration": transparent_rule,
        "import_spec_list": transparent_rule,
        "import_spec": _import,
        "const_declaration": _group,
        "var_declaration": _group,
        "var_spec_list": transparent_rule,
        "type_declaration": _group,
        "const_spec": _values(constant=True),
        "var_spec": _values(constant=False),
        "type_spec": _type,
        "type_alias": _type,
        "field_declaration": _field,
        "method_elem": definition_rule("method"),
        "method_spec": definition_rule("method"),
        "type_elem": _embedded,
        "constraint_elem": _embedded,
        "function_declaration": definition_rule("function"),
        "method_declaration": _method,
        "empty_statement": skip_rule,
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
