"""How Swift is read. An extension is an `impl` of the type it extends, a protocol an interface."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.draft import Draft
from treadle.assistants.reading.outline.grammar import Grammar, Spot
from treadle.assistants.reading.outline.rules import apart, brings, child_of, defines, definition, held, skip, statement
from treadle.assistants.reading.outline.values import Imported, Kind

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_KINDS: dict[str, Kind] = {"class": "class", "actor": "class", "struct": "struct", "enum": "enum", "extension": "impl"}
_MODIFIERS = (
    r"(?:(?:@\w+(?:\([^)]*\))?|public|private|fileprivate|internal|open|final|static|class|override|mutating|nonmutating|indirect|required|convenience"
    r"|async|nonisolated)\s+)*"
)


def _class(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    kind = _KINDS.get(spot.field(node, "declaration_kind"), "class")
    yield definition(kind, node, spot, spot.field(node, "name"), node.child_by_field_name("body"))


def _function(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    kind: Kind = "method" if spot.among_members else "function"
    yield definition(kind, node, spot, spot.field(node, "name"), node.child_by_field_name("body"))


def _called(name: str, node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield definition("method", node, spot, name, node.child_by_field_name("body") or child_of(node, "computed_property"))


def _deinit(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    return _called("deinit", node, spot)


def _subscript(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    return _called("subscript", node, spot)


def _property(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """`let` and `var`, also several at once; without what a computed one does."""
    bindings = list(_bindings(node))
    computed = node.child_by_field_name("computed_value") or child_of(
        node, "willset_didset_block", "protocol_property_requirements"
    )
    fixed = spot.text(child_of(node, "value_binding_pattern")) == "let"
    constant = fixed and (not spot.among_members or "static" in spot.text(child_of(node, "modifiers")).split())
    for pattern, value in bindings:
        draft = held(node, spot, _bound(pattern, spot), value, constant=constant)
        if len(bindings) > 1 and any(found is not None for _, found in bindings[:2]):
            apart(draft, pattern, bindings[0][0], value)
        if computed is not None and value is None:
            draft.tail = computed.start_byte
        yield draft


def _bound(pattern: "Syntax", spot: Spot) -> str:
    return spot.field(pattern, "bound_identifier") or spot.text(pattern)


def _bindings(node: "Syntax") -> "Iterator[tuple[Syntax, Syntax | None]]":
    """The names that `let` and `var` give, each with its value."""
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


def _cases(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """`case a = 1, b`: one constant for each."""
    names = node.children_by_field_name("name")
    if len(names) == 1:
        yield held(node, spot, spot.text(names[0]), node.child_by_field_name("raw_value"), constant=True)
        return
    for name in names:
        value = node.child_by_field_name("raw_value")
        near = value if value is not None and 0 <= value.start_byte - name.end_byte <= 3 else None
        yield apart(held(node, spot, spot.text(name), near, constant=True), name, names[0], near)


def _import(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    path = spot.text(child_of(node, "identifier"))
    yield brings(node, path, Imported("namespace", path, namespace=path.partition(".")[0]))


def _macro(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield definition("macro", node, spot, spot.text(child_of(node, "simple_identifier")))


SWIFT = Grammar(
    module="tree_sitter_swift",
    rules={
        "import_declaration": _import,
        "class_declaration": _class,
        "protocol_declaration": defines("interface"),
        "function_declaration": _function,
        "protocol_function_declaration": _function,
        "init_declaration": _function,
        "deinit_declaration": _deinit,
        "subscript_declaration": _subscript,
        "property_declaration": _property,
        "protocol_property_declaration": _property,
        "typealias_declaration": defines("type"),
        "associatedtype_declaration": defines("type"),
        "enum_entry": _cases,
        "macro_declaration": _macro,
        "directive": skip,
        "diagnostic": skip,
        "shebang_line": skip,
        "operator_declaration": statement,
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
