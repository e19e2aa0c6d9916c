"""Grammar rules of Swift. An extension is an `impl` of the type it extends, a protocol an interface."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import Grammar, RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft
from treadle.assistants.reading.outline.nodes import ImportInfo, Kind
from treadle.assistants.reading.outline.rules import (
    definition_rule,
    draft_definition,
    draft_import,
    draft_value,
    find_child,
    separate_declaration,
    skip_rule,
    statement_rule,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_KINDS: dict[str, Kind] = {"class": "class", "actor": "class", "struct": "struct", "enum": "enum", "extension": "impl"}
_MODIFIERS = (
    r"(?:(?:@\w+(?:\([^)]*\))?|public|private|fileprivate|internal|open|final|static|class|override|mutating|nonmutating|indirect|required|convenience"
    r"|async|nonisolated)\s+)*"
)


def _class(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    kind = _KINDS.get(spot.field(node, "declaration_kind"), "class")
    yield draft_definition(kind, node, spot, spot.field(node, "name"), node.child_by_field_name("body"))


def _function(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    kind: Kind = "method" if spot.among_members else "function"
    yield draft_definition(kind, node, spot, spot.field(node, "name"), node.child_by_field_name("body"))


def _draft_method(name: str, node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_definition("method", node, spot, name, node.child_by_field_name("body") or find_child(node, "computed_property"))


def _deinit(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    return _draft_method("deinit", node, spot)


def _subscript(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    return _draft_method("subscript", node, spot)


def _property(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield `let` and `var`, also several at once; without the body of a computed one."""
    bindings = list(_bindings(node))
    computed = node.child_by_field_name("computed_value") or find_child(
        node, "willset_didset_block", "protocol_property_requirements"
    )
    fixed = spot.text(find_child(node, "value_binding_pattern")) == "let"
    constant = fixed and (not spot.among_members or "static" in spot.text(find_child(node, "modifiers")).split())
    for pattern, value in bindings:
        draft = draft_value(node, spot, _bound_name(pattern, spot), value, constant=constant)
        if len(bindings) > 1 and any(found is not None for _, found in bindings[:2]):
            separate_declaration(draft, pattern, bindings[0][0], value)
        if computed is not None and value is None:
            draft.tail = computed.start_byte
        yield draft


def _bound_name(pattern: "Syntax", spot: RuleContext) -> str:
    return spot.field(pattern, "bound_identifier") or spot.text(pattern)


def _bindings(node: "Syntax") -> "Iterator[tuple[Syntax, Syntax | None]]":
    """Yield the names bound by `let` and `var`, each with its value."""
    values = {value.id for value in node.children_by_field_name("value")}
    pattern: Syntax | None = None
    for child in node.named_children:
        if child.type == "pattern":
            if pattern is not None:
                yield pattern, None
            pattern = child
        elif child.id in values and pattern is not None:
            yield pattern, child
            pattern = None
    if pattern is not None:
        yield pattern, None


def _cases(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield one constant for each case of `case a = 1, b`."""
    names = node.children_by_field_name("name")
    if len(names) == 1:
        yield draft_value(node, spot, spot.text(names[0]), node.child_by_field_name("raw_value"), constant=True)
        return
    for name in names:
        value = node.child_by_field_name("raw_value")
        near = value if value is not None and 0 <= value.start_byte - name.end_byte <= 3 else None
        yield separate_declaration(draft_value(node, spot, spot.text(name), near, constant=True), name, names[0], near)


def _import(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    path = spot.text(find_child(node, "identifier"))
    yield draft_import(node, path, ImportInfo("namespace", path, namespace=path.partition(".")[0]))


def _macro(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_definition("macro", node, spot, spot.text(find_child(node, "simple_identifier")))


SWIFT = Grammar(
    module="tree_sitter_swift",
    rules={
        "import_declaration": _import,
        "class_declaration": _class,
        "protocol_declaration": definition_rule("interface"),
        "function_declaration": _function,
        "protocol_function_declaration": _function,
        "init_declaration": _function,
        "deinit_declaration": _deinit,
        "subscript_declaration": _subscript,
        "property_declaration": _property,
        "protocol_property_declaration": _property,
        "typealias_declaration": definition_rule("type"),
        "associatedtype_declaration": definition_rule("type"),
        "enum_entry": _cases,
        "macro_declaration": _macro,
        "directive": skip_rule,
        "diagnostic": skip_rule,
        "shebang_line": skip_rule,
        "operator_declaration": statement_rule,
    },
    names=("simple_identifier", "type_identifier"),
    comments=("comment", "multiline_comment"),
    adorning=frozenset(("attribute",)),
    selves=(b"self", b"Self"),
    implicit_self=True,
    label=rb"\s*:",
    parameters="name: type",
    headers=(
        (_MODIFIERS + r"(?:class|actor)\s+(?P<name>\w+)", "class"),
        (_MODIFIERS + r"struct\s+(?P<name>\w+)", "struct"),
        (_MODIFIERS + r"enum\s+(?P<name>\w+)", "enum"),
        (_MODIFIERS + r"extension\s+(?P<name>[\w.]+)", "impl"),
        (_MODIFIERS + r"protocol\s+(?P<name>\w+)", "interface"),
        (_MODIFIERS + r"func\s+(?P<name>\w+)", "function"),
        (_MODIFIERS + r"(?P<name>init)[?!]?\s*\(", "method"),
    ),
)
