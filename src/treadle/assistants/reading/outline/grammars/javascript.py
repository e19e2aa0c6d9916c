"""How JavaScript, TypeScript and TSX are read.

A function is one however it came by its name: declared, assigned, exported, or as a property of a listed object.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from treadle.assistants.reading.outline.draft import Draft, Shell, Shelled
from treadle.assistants.reading.outline.grammar import Grammar, Rule, Spot
from treadle.assistants.reading.outline.grammars.js_values import run_of, value_of
from treadle.assistants.reading.outline.rules import (
    apart,
    brings,
    child_of,
    defines,
    definition,
    has_token,
    held,
    opens,
    skip,
    statement,
    string_of,
    through,
)
from treadle.assistants.reading.outline.values import Imported, Kind

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import Opened

_BLOCKS = ("statement_block", "else_clause", "catch_clause", "finally_clause")


def _declared(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    """`const`, `let` and `var`: one draft for each name. The whole declaration is the range where it has only one."""
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    constant = has_token(node, "const")
    for declarator in declarators:
        for draft in _declarator(declarator, spot, constant):
            if len(declarators) == 1:
                draft.wrap(Shell(node, whole=True))
            else:
                draft.head = node.start_byte
                apart(draft, declarator, declarators[0], declarator.child_by_field_name("value"))
            yield draft


def _declarator(node: "Syntax", spot: Spot, constant: bool) -> Iterator[Draft]:
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    required = _required(value, spot)
    names = _names(target, spot)
    if required:
        whole = target is not None and target.type == "identifier"
        imported = (
            Imported("namespace", required, namespace=spot.text(target)) if whole else Imported("named", required, tuple(names))
        )
        yield brings(node, required, imported)
    elif target is not None and target.type == "identifier":
        yield value_of(node, spot, names[0], value, constant=constant)
    else:
        for name in names:
            yield held(node, spot, name, value, constant=constant)


def _names(target: "Syntax | None", spot: Spot) -> list[str]:
    """The names in `a`, `{ a, b: c = 1, ...d }` and `[a, b]`."""
    found: list[str] = []
    pending = [target] if target is not None else []
    while pending:
        part = pending.pop()
        match part.type:
            case "identifier" | "shorthand_property_identifier_pattern":
                found.append(spot.text(part))
            case "pair_pattern":
                pending += part.children_by_field_name("value")
            case "object_assignment_pattern" | "assignment_pattern":
                pending += part.children_by_field_name("left")
            case "object_pattern" | "array_pattern" | "rest_pattern":
                pending += reversed(part.named_children)
            case _:
                pass
    return found


def _required(value: "Syntax | None", spot: Spot) -> str:
    """The module in `require("module")`."""
    if value is None or value.type != "call_expression" or spot.field(value, "function") != "require":
        return ""
    arguments = value.child_by_field_name("arguments")
    return string_of(arguments.named_children[0], spot) if arguments is not None and arguments.named_children else ""


def _export(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    declared, source = node.child_by_field_name("declaration"), node.child_by_field_name("source")
    if declared is not None:
        decorators = tuple([spot.text(child) for child in node.children_by_field_name("decorator")])
        begins = next((child for child in node.children if child.type != "decorator"), None)
        yield Shelled(declared, Shell(node, decorators=decorators, begins=begins))
    elif source is not None:
        names = _specified(child_of(node, "export_clause"), spot) or ("*",)
        yield brings(node, string_of(source, spot), Imported("named", string_of(source, spot), names))
    elif (value := node.child_by_field_name("value")) is not None:
        yield value_of(node, spot, spot.field(value, "name") or "default", value, constant=True)
    else:
        yield from statement(node, spot)


def _specified(clause: "Syntax | None", spot: Spot) -> tuple[str, ...]:
    """The names in `{ a, b as c }`."""
    if clause is None:
        return ()
    return tuple(
        [
            spot.field(part, "alias") or spot.field(part, "name")
            for part in clause.named_children
            if part.type.endswith("_specifier")
        ]
    )


def _import(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    required = child_of(node, "import_require_clause")
    if required is not None:
        name, source = spot.text(child_of(required, "identifier")), string_of(required.child_by_field_name("source"), spot)
        yield brings(node, source, Imported("namespace", source, namespace=name))
        return
    clause, source = child_of(node, "import_clause"), string_of(node.child_by_field_name("source"), spot)
    if clause is None:
        yield brings(node, source, Imported("side_effect", source))
        return
    default = spot.text(child_of(clause, "identifier"))
    whole = child_of(clause, "namespace_import")
    namespace = spot.text(child_of(whole, "identifier")) if whole is not None else ""
    names = _specified(child_of(clause, "named_imports"), spot)
    yield brings(node, source, Imported(_form(default, namespace, names), source, names, default, namespace))


def _form(default: str, namespace: str, names: tuple[str, ...]) -> Literal["namespace", "named", "default", "mixed"]:
    if sum(map(bool, (default, namespace, names))) > 1:
        return "mixed"
    return "default" if default else "namespace" if namespace else "named"


def _expression(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    inner = node.named_children[0] if node.named_children else None
    if inner is None or inner.type == "string":  # nothing, or 'use strict'
        return
    match inner.type:
        case "internal_module":
            yield Shelled(inner, Shell(node, whole=True))
        case "assignment_expression":
            yield from _assigned(node, inner, spot)
        case _:
            yield run_of(node, inner, spot)


def _assigned(node: "Syntax", assignment: "Syntax", spot: Spot) -> "Iterator[Opened]":
    """`exports.put = …`, `module.exports = …`, `Shelf.prototype.put = …`; any other assignment is a statement."""
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    while right is not None and right.type == "assignment_expression":  # module.exports = Shelf = …
        right = right.child_by_field_name("right")
    if left is None or left.type != "member_expression":
        yield from statement(node, spot)
        return
    target, owner = spot.text(left), spot.field(left, "object")
    if target == "module.exports" or owner in ("exports", "module.exports"):
        name = target if target == "module.exports" else spot.field(left, "property")
        yield value_of(node, spot, name, right, constant=target != "module.exports")
        return
    draft = value_of(node, spot, spot.field(left, "property"), right, constant=False, kind="method")
    draft.owner = owner.removesuffix(".prototype") if owner.endswith(".prototype") else ""
    if draft.kind in ("variable", "field") and not draft.members:
        yield from statement(node, spot)
    else:
        yield draft


def _property(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    """A field of a class, or a pair of a listed object."""
    name = spot.field(node, "name") or spot.field(node, "property") or spot.field(node, "key")
    readonly = has_token(node, "readonly") and has_token(node, "static")
    yield value_of(node, spot, name.strip("\"'"), node.child_by_field_name("value"), constant=readonly)


def _shorthand(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield held(node, spot, spot.text(node), None, constant=spot.inside == "enum")


def _enum_value(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield held(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=True)


def _called(kind: Kind, name: str) -> Rule:
    """A rule for members without a name of their own."""

    def rule(node: "Syntax", spot: Spot) -> Iterator[Draft]:
        yield definition(kind, node, spot, name)

    return rule


def _module(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    name = string_of(node.child_by_field_name("name"), spot)
    yield definition("module", node, spot, name, node.child_by_field_name("body"))


def _ambient(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    """`declare …`, and `declare global {…}`."""
    for child in node.named_children:
        if child.type == "statement_block":
            yield child
        else:
            yield Shelled(child, Shell(node, whole=True))


_DEFINING: dict[str, Rule] = {
    "class_declaration": defines("class"),
    "abstract_class_declaration": defines("class"),
    "function_declaration": defines("function"),
    "generator_function_declaration": defines("function"),
    "function_signature": defines("function"),
    "interface_declaration": defines("interface"),
    "type_alias_declaration": defines("type"),
    "enum_declaration": defines("enum"),
    "module": _module,
    "internal_module": _module,
    "lexical_declaration": _declared,
    "variable_declaration": _declared,
    "export_statement": _export,
    "ambient_declaration": _ambient,
    "expression_statement": _expression,
    "import_statement": _import,
    "import_alias": statement,
    "method_definition": defines("function"),
    "abstract_method_signature": defines("method"),
    "method_signature": defines("method"),
    "field_definition": _property,
    "public_field_definition": _property,
    "property_signature": _property,
    "pair": _property,
    "shorthand_property_identifier": _shorthand,
    "property_identifier": _shorthand,
    "enum_assignment": _enum_value,
    "index_signature": _called("field", "[]"),
    "call_signature": _called("method", "()"),
    "construct_signature": _called("method", "new"),
    "decorator": skip,
    "hash_bang_line": skip,
    "empty_statement": skip,
    "statement_block": through,
    **dict.fromkeys(("if_statement", "try_statement", *_BLOCKS[1:]), opens(*_BLOCKS, "if_statement")),
}

_JAVASCRIPT_NAMES = (
    "identifier",
    "property_identifier",
    "private_property_identifier",
    "shorthand_property_identifier",
)
_EXPORT = r"(?:export\s+)?(?:default\s+)?(?:declare\s+)?"
_WORDS = r"(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*"
_NO_METHOD = r"(?!(?:if|for|while|switch|catch|function|return|with|else|do)\b)"
_FUNCTION_VALUE = r"(?:async\s*)?(?:<[^>]*>)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|[\w$]+\s*=>)"
_HEADERS: tuple[tuple[str, Kind], ...] = (
    (_EXPORT + r"(?:async\s+)?function\b\s*\*?\s*(?P<name>[\w$]+)", "function"),
    (_EXPORT + r"(?:abstract\s+)?class\s+(?P<name>[\w$]+)", "class"),
    (_EXPORT + r"(?:namespace|module)\s+(?P<name>[\w.]+)\s*\{", "module"),
    (_EXPORT + r"interface\s+(?P<name>[\w$]+)", "interface"),
    (_EXPORT + r"(?:const\s+)?enum\s+(?P<name>[\w$]+)", "enum"),
    (_EXPORT + r"type\s+(?P<name>[\w$]+)\s*(?:<[^=]*>)?\s*=", "type"),
    (_EXPORT + r"(?:const|let|var)\s+(?P<name>[\w$]+)(?:\s*:[^=]+)?\s*=\s*" + _FUNCTION_VALUE, "function"),
    (r"(?:[\w$]+\.)+(?P<name>[\w$]+)\s*=\s*" + _FUNCTION_VALUE, "function"),
    (_WORDS + _NO_METHOD + r"(?P<name>[\w$#]+)\s*\([^()]*\)\s*(?::[^={]+)?\{", "function"),
)


def _grammar(module: str, function: str, names: tuple[str, ...]) -> Grammar:
    return Grammar(
        module=module,
        function=function,
        rules=_DEFINING,
        names=names,
        comments=("comment",),
        around=frozenset(("if_statement", "try_statement", "statement_block")),
        adorning=frozenset(("decorator",)),
        selves=(b"this",),
        parameters="name: type",
        headers=_HEADERS,
    )


JAVASCRIPT = _grammar("tree_sitter_javascript", "language", _JAVASCRIPT_NAMES)
TYPESCRIPT = _grammar("tree_sitter_typescript", "language_typescript", (*_JAVASCRIPT_NAMES, "type_identifier"))
TSX = _grammar("tree_sitter_typescript", "language_tsx", (*_JAVASCRIPT_NAMES, "type_identifier"))
