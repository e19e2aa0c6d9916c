"""Grammar rules of C and C++, with macros as far as possible without a preprocessor.

Declarators are unwrapped to find the name: `int (*get(void))(int)` declares the function `get`, `int (*get)(int)` a
variable.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from treadle.assistants.reading.outline.grammar import Grammar, Rule, RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft, SyntaxWrapper, WrappedNode
from treadle.assistants.reading.outline.nodes import ImportInfo, Kind
from treadle.assistants.reading.outline.rules import (
    attach_annotations,
    conditional_rule,
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


_CAPITALS = rb"[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]"
_FOR_CPP = rb"^[ \t]*#[ \t]*if(?:def[ \t]+__cplusplus|[ \t]+defined[ \t(]*__cplusplus\)?)[ \t]*\n\s*"
_ENDIF = rb"\s*\n[ \t]*#[ \t]*endif[^\n]*"
_NESTED = rb"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"

_MACRO_PATTERNS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # extern "C" { that only C++ sees, and its end
        _FOR_CPP + rb"extern[ \t]+\"C\"[ \t]*\n?[ \t]*\{" + _ENDIF,
        _FOR_CPP + rb"\}[^\n]*?" + _ENDIF,
        # a macro alone on its line: BEGIN_NAMESPACE
        rb"^[ \t]*" + _CAPITALS + rb"[ \t]*(?=\n)|^[ \t]*__(?:BEGIN|END)_[A-Z_]+[ \t]*(?=\n)",
        # class SHELF_API Shelf
        rb"(?<=class |truct )[A-Z][A-Z0-9_]+(?:\([^()\n]*\))?(?=\s+[A-Za-z_][\w:<>, ]*?\s*(?:final\s*)?(?::(?!:)|\{))",
        # SHELF_API int put(…)
        rb"^[ \t]*" + _CAPITALS + rb"(?=[ \t]+(?!=)(?:[\w:<>,]+[ \t*&]+)+~?\w[\w:]*[ \t]*[({;=])",
        # int SHELF_CALL put(…), int (SHELF_CALL *put)(…)
        rb"(?<=[\w*] )" + _CAPITALS + rb"(?=[ \t]+\*?\w+[ \t]*\()|(?<=\()" + _CAPITALS + rb"(?=[ \t]+\*[ \t]*\w+\)[ \t]*\()",
        # a call of a macro alone on its line, unless it begins a function
        rb"^[ \t]*" + _CAPITALS + rb"\([^\n;{}]*\)[ \t]*(?=\n)(?!\s*\{)",
        # __attribute__((…)), __declspec(…), and the macros of C libraries behind a prototype
        rb"__attribute__[ \t]*\(\("
        + _NESTED
        + rb"\)\)|__declspec\([^()]*\)|__extension__|\b__(?:restrict|inline|volatile)(?:__)?\b",
        rb"(?<=\))(?:\s*\b__(?!attribute)\w+(?:[ \t]*\(\([^()]*\)\)|[ \t]*\([^()]*\))?)+(?=\s*;)",
    )
)


def blank_macros(source: bytes) -> bytes:
    """Blank out what only a preprocessor understands, keeping every other position."""
    for pattern in _MACRO_PATTERNS:
        source = pattern.sub(_blank, source)
    return source


def _blank(match: "re.Match[bytes]") -> bytes:
    return re.sub(rb"[^\n]", b" ", match[0])


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


class _Declarator(NamedTuple):
    """What a declarator declares."""

    node: "Syntax"
    name: str
    function: bool
    value: "Syntax | None"


def _resolve_declarator(declarator: "Syntax", spot: RuleContext) -> _Declarator:
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
        return _Declarator(declarator, spot.text(node).partition("(")[0].strip(), True, None)
    name = " ".join(spot.text(node).split())
    if function and name.isupper() and declarator.type == "function_declarator":
        name = _macro_call(declarator, name, spot)
    return _Declarator(declarator, name, function, None if function else value)


def _macro_call(declarator: "Syntax", name: str, spot: RuleContext) -> str:
    """Name a function whose name a macro makes after the whole call: `TEST(Shelf, Holds)`."""
    called = " ".join(spot.text(declarator).split())
    return called if len(called) <= 60 else name


def _function(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    if declarator is None:
        return
    name = _resolve_declarator(declarator, spot).name
    kind: Kind = "method" if spot.among_members or "::" in name else "function"
    draft = draft_definition(kind, node, spot, name, body)
    initializers = find_child(node, "field_initializer_list")
    draft.tail = draft.tail if initializers is None else initializers.start_byte
    yield draft


def _declaration(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """Yield variables, fields, prototypes, and a struct that is defined inline."""
    declarators = [_resolve_declarator(child, spot) for child in node.children_by_field_name("declarator")]
    shape = node.child_by_field_name("type")
    if shape is not None and shape.type in _SHAPES and shape.child_by_field_name("body") is not None:
        yield _draft_type(shape, spot, declarators[0].name if declarators else "")
        declarators = declarators[1:] if not spot.field(shape, "name") else declarators
    constant = any(spot.text(child) in ("const", "constexpr") for child in node.named_children if child.type == "type_qualifier")
    constant = constant and not any(child.type == "pointer_declarator" for child in node.named_children)
    first, several = node.child_by_field_name("declarator") or node, len(declarators) > 1
    for declared in declarators:
        if declared.function:
            draft = draft_definition(
                "method" if spot.among_members or "::" in declared.name else "function", node, spot, declared.name
            )
        else:
            value = declared.value or _find_default(declared.node, node)
            draft = draft_value(node, spot, declared.name, value, constant=constant)
            if several or declared.node != first:
                separate_declaration(draft, declared.node, first, declared.value)
        yield draft


def _find_default(declarator: "Syntax", node: "Syntax") -> "Syntax | None":
    """Return the value given directly after a declarator."""
    value = node.child_by_field_name("default_value")
    return value if value is not None and 0 <= value.start_byte - declarator.end_byte <= 3 else None


def _type_rule(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield _draft_type(node, spot, "")


def _draft_type(node: "Syntax", spot: RuleContext, otherwise: str) -> NodeDraft:
    """Draft a struct, union, class or enum; without its own name it takes that of what is declared with it."""
    return draft_definition(_SHAPES[node.type], node, spot, spot.field(node, "name") or otherwise, node.child_by_field_name("body"))


def _typedef(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield the names given to a type; a struct defined inline keeps its own name, or takes the first of them."""
    declarators = [_resolve_declarator(child, spot) for child in node.children_by_field_name("declarator")]
    shape = node.child_by_field_name("type")
    defined = ""
    if shape is not None and shape.type in _SHAPES and shape.child_by_field_name("body") is not None:
        draft = _draft_type(shape, spot, declarators[0].name if declarators else "")
        draft.wrap(SyntaxWrapper(node, whole=True))
        defined = draft.name
        yield draft
    for declared in declarators:
        if declared.name != defined:
            draft = draft_definition("type", declared.node if defined else node, spot, declared.name)
            draft.start = node.start_byte
            yield draft


def _include(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    path = unquote_text(node.child_by_field_name("path"), spot)
    yield draft_import(node, path, ImportInfo("side_effect", path))


def _macro(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield a macro, unless it is an include guard."""
    name, value = spot.field(node, "name"), node.child_by_field_name("value")
    around = node.parent
    if value is None and around is not None and around.type == "preproc_ifdef" and spot.field(around, "name") == name:
        return
    draft = draft_value(node, spot, name, value, constant=True)
    draft.kind = "macro"
    yield draft


def _using(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    path = spot.text(find_child(node, "qualified_identifier", "identifier"))
    if any(child.type == "namespace" for child in node.children):
        yield draft_import(node, path, ImportInfo("named", path, ("*",)))
        return
    source, _, name = path.rpartition("::")
    yield draft_import(node, source, ImportInfo("named", source, (name,)))


def _template(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    inner = [child for child in node.named_children if child.type not in ("template_parameter_list", "requires_clause", "comment")]
    if inner:
        yield WrappedNode(inner[-1], SyntaxWrapper(node, whole=True))


def _linkage(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """`extern "C"`, before one declaration or around many."""
    body = node.child_by_field_name("body")
    if body is not None and body.type == "declaration_list":
        yield body
    elif body is not None:
        yield WrappedNode(body, SyntaxWrapper(node, whole=True))


def _expression(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """Yield a macro call at the top level; a lone semicolon is ignored."""
    if node.named_child_count:
        yield from statement_rule(node, spot)


def _enumerator(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_value(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=True)


def _alias(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    draft = NodeDraft("type", node, spot.field(node, "name"))
    attach_annotations(draft, node, spot)
    yield draft


_COMMON: dict[str, Rule] = {
    "preproc_include": _include,
    "preproc_def": _macro,
    "preproc_function_def": _macro,
    "preproc_call": skip_rule,
    **dict.fromkeys(("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else"), conditional_rule),
    **dict.fromkeys(_SHAPES, _type_rule),
    "declaration": _declaration,
    "field_declaration": _declaration,
    "type_definition": _typedef,
    "function_definition": _function,
    "enumerator": _enumerator,
    "linkage_specification": _linkage,
    "declaration_list": transparent_rule,
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
    mend=blank_macros,
)

CPP = Grammar(
    module="tree_sitter_cpp",
    rules={
        **_COMMON,
        "namespace_definition": definition_rule("module"),
        "namespace_alias_definition": _alias,
        "template_declaration": _template,
        "alias_declaration": _alias,
        "concept_definition": _alias,
        "using_declaration": _using,
        "access_specifier": skip_rule,
        "friend_declaration": skip_rule,
        "static_assert_declaration": skip_rule,
        "empty_statement": skip_rule,
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
    mend=blank_macros,
)
