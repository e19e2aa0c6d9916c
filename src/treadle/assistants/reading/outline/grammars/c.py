"""How C and C++ are read, with macros as far as can be told without a preprocessor.

Declarators are dug through for the name: `int (*get(void))(int)` declares the function `get`, `int (*get)(int)` a variable.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from treadle.assistants.reading.outline.draft import Draft, Shell, Shelled
from treadle.assistants.reading.outline.grammar import Grammar, Rule, Spot
from treadle.assistants.reading.outline.grammars.macros import without_macros
from treadle.assistants.reading.outline.rules import (
    adorn,
    apart,
    brings,
    child_of,
    conditional,
    defines,
    definition,
    held,
    skip,
    statement,
    string_of,
    through,
)
from treadle.assistants.reading.outline.values import Imported, Kind

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import Opened

_DECLARATORS = frozenset(
    (
        "pointer_declarator",
        "reference_declarator",
        "parenthesized_declarator",
        "array_declarator",
        "function_declarator",
        "init_declarator",
        "attributed_declarator",
        "variadic_declarator",
    )
)
_SHAPES: dict[str, Kind] = {
    "struct_specifier": "struct",
    "union_specifier": "struct",
    "class_specifier": "class",
    "enum_specifier": "enum",
}


class _Declared(NamedTuple):
    """What a declarator declares."""

    node: "Syntax"
    name: str
    function: bool
    value: "Syntax | None"


def _declared(declarator: "Syntax", spot: Spot) -> _Declared:
    function, value = False, None
    node = declarator
    while node.type in _DECLARATORS:
        if node.type == "init_declarator":
            value = node.child_by_field_name("value")
        function = node.type == "function_declarator" or (function and node.type == "parenthesized_declarator")
        inner = node.child_by_field_name("declarator") or next(
            (child for child in reversed(node.named_children) if "declarator" in child.type or "identifier" in child.type), None
        )
        if inner is None:
            break
        node = inner
    if node.type == "operator_cast":
        return _Declared(declarator, spot.text(node).partition("(")[0].strip(), True, None)
    name = " ".join(spot.text(node).split())
    if function and name.isupper() and declarator.type == "function_declarator":
        name = _macro_call(declarator, name, spot)
    return _Declared(declarator, name, function, None if function else value)


def _macro_call(declarator: "Syntax", name: str, spot: Spot) -> str:
    """A function whose name a macro makes goes by the whole call: `TEST(Shelf, Holds)`."""
    called = " ".join(spot.text(declarator).split())
    return called if len(called) <= 60 else name


def _function(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    if declarator is None:
        return
    name = _declared(declarator, spot).name
    kind: Kind = "method" if spot.among_members or "::" in name else "function"
    draft = definition(kind, node, spot, name, body)
    initializers = child_of(node, "field_initializer_list")
    draft.tail = draft.tail if initializers is None else initializers.start_byte
    yield draft


def _declaration(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    """Variables, fields, prototypes; and a struct that is defined on the way."""
    declarators = [_declared(child, spot) for child in node.children_by_field_name("declarator")]
    shape = node.child_by_field_name("type")
    if shape is not None and shape.type in _SHAPES and shape.child_by_field_name("body") is not None:
        yield _shaped(shape, spot, declarators[0].name if declarators else "")
        declarators = declarators[1:] if not spot.field(shape, "name") else declarators
    constant = any(spot.text(child) in ("const", "constexpr") for child in node.named_children if child.type == "type_qualifier")
    constant = constant and not any(child.type == "pointer_declarator" for child in node.named_children)
    first, several = node.child_by_field_name("declarator") or node, len(declarators) > 1
    for declared in declarators:
        if declared.function:
            draft = definition("method" if spot.among_members or "::" in declared.name else "function", node, spot, declared.name)
        else:
            value = declared.value or _default(declared.node, node)
            draft = held(node, spot, declared.name, value, constant=constant)
            if several or declared.node != first:
                apart(draft, declared.node, first, declared.value)
        yield draft


def _default(declarator: "Syntax", node: "Syntax") -> "Syntax | None":
    """The value given directly behind a declarator."""
    value = node.child_by_field_name("default_value")
    return value if value is not None and 0 <= value.start_byte - declarator.end_byte <= 3 else None


def _shape(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield _shaped(node, spot, "")


def _shaped(node: "Syntax", spot: Spot, otherwise: str) -> Draft:
    """A struct, union, class or enum; without a name of its own it goes by what is declared with it."""
    return definition(_SHAPES[node.type], node, spot, spot.field(node, "name") or otherwise, node.child_by_field_name("body"))


def _typedef(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """The names given to a type; a struct that is defined on the way goes by its own, or by the first of them."""
    declarators = [_declared(child, spot) for child in node.children_by_field_name("declarator")]
    shape = node.child_by_field_name("type")
    defined = ""
    if shape is not None and shape.type in _SHAPES and shape.child_by_field_name("body") is not None:
        draft = _shaped(shape, spot, declarators[0].name if declarators else "")
        draft.wrap(Shell(node, whole=True))
        defined = draft.name
        yield draft
    for declared in declarators:
        if declared.name != defined:
            draft = definition("type", declared.node if defined else node, spot, declared.name)
            draft.start = node.start_byte
            yield draft


def _include(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    path = string_of(node.child_by_field_name("path"), spot)
    yield brings(node, path, Imported("side_effect", path))


def _macro(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """A macro, unless all it does is say that this header was read."""
    name, value = spot.field(node, "name"), node.child_by_field_name("value")
    around = node.parent
    if value is None and around is not None and around.type == "preproc_ifdef" and spot.field(around, "name") == name:
        return
    draft = held(node, spot, name, value, constant=True)
    draft.kind = "macro"
    yield draft


def _using(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    path = spot.text(child_of(node, "qualified_identifier", "identifier"))
    if any(child.type == "namespace" for child in node.children):
        yield brings(node, path, Imported("named", path, ("*",)))
        return
    source, _, name = path.rpartition("::")
    yield brings(node, source, Imported("named", source, (name,)))


def _template(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    inner = [child for child in node.named_children if child.type not in ("template_parameter_list", "requires_clause", "comment")]
    if inner:
        yield Shelled(inner[-1], Shell(node, whole=True))


def _linkage(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    """`extern "C"`, before one declaration or around many."""
    body = node.child_by_field_name("body")
    if body is not None and body.type == "declaration_list":
        yield body
    elif body is not None:
        yield Shelled(body, Shell(node, whole=True))


def _expression(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    """A macro that is called at the top; a lone semicolon is nothing."""
    if node.named_child_count:
        yield from statement(node, spot)


def _enumerator(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield held(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=True)


def _alias(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    draft = Draft("type", node, spot.field(node, "name"))
    adorn(draft, node, spot)
    yield draft


_COMMON: dict[str, Rule] = {
    "preproc_include": _include,
    "preproc_def": _macro,
    "preproc_function_def": _macro,
    "preproc_call": skip,
    **dict.fromkeys(("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else"), conditional),
    **dict.fromkeys(_SHAPES, _shape),
    "declaration": _declaration,
    "field_declaration": _declaration,
    "type_definition": _typedef,
    "function_definition": _function,
    "enumerator": _enumerator,
    "linkage_specification": _linkage,
    "declaration_list": through,
    "expression_statement": _expression,
}
_NO_HEADER = r"^(?!else\b|return\b|typedef\b|struct\b[^(]*\{|if\b|for\b|while\b|switch\b)"
_C_HEADERS: tuple[tuple[str, Kind], ...] = (
    (r"^(?:typedef\s+)?(?:struct|union)\s+(?P<name>\w+)\s*(?:\{|$)", "struct"),
    (r"^(?:typedef\s+)?enum\s+(?P<name>\w+)\s*(?:\{|$)", "enum"),
    (r"#\s*define\s+(?P<name>\w+)", "macro"),
    (r"^(?P<name>[A-Z][A-Z0-9_]+\([^()]*\))\s*\{?\s*$", "function"),
    (r"^[A-Z][A-Z0-9_]*\([\w\s*]+\)\s*(?P<name>\w+)\s*\([^;]*$", "function"),
    (
        _NO_HEADER + r"[A-Za-z_][\w\s*]*?\b(?P<name>\w+)\s*\([^;{}=]*\)?\s*\{?\s*$",
        "function",
    ),
)

C = Grammar(
    module="tree_sitter_c",
    rules=_COMMON,
    names=("identifier", "type_identifier", "field_identifier"),
    parameters="type name",
    headers=_C_HEADERS,
    mend=without_macros,
)

CPP = Grammar(
    module="tree_sitter_cpp",
    rules={
        **_COMMON,
        "namespace_definition": defines("module"),
        "namespace_alias_definition": _alias,
        "template_declaration": _template,
        "alias_declaration": _alias,
        "concept_definition": _alias,
        "using_declaration": _using,
        "access_specifier": skip,
        "friend_declaration": skip,
        "static_assert_declaration": skip,
        "empty_statement": skip,
    },
    names=("identifier", "type_identifier", "field_identifier", "namespace_identifier"),
    adorning=frozenset(("attribute_declaration",)),
    selves=(b"this",),
    implicit_self=True,
    parameters="type name",
    headers=(
        (r"(?:template\s*<[^{]*>\s*)?(?:class|struct|union)\s+(?:[A-Z_]+\s+)?(?P<name>\w+)[^;]*$", "class"),
        (r"(?:inline\s+)?namespace\s+(?P<name>[\w:]+)\s*\{?\s*$", "module"),
        *_C_HEADERS,
    ),
    mend=without_macros,
)
