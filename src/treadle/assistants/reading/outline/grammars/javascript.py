"""Grammar rules of JavaScript, TypeScript and TSX.

A function counts as one however it gets its name: declared, assigned, exported, or as a property of a listed object.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from treadle.assistants.reading.outline.grammar import Grammar, Rule, RuleContext
from treadle.assistants.reading.outline.grammars.js_values import draft_executed_code, draft_named_value
from treadle.assistants.reading.outline.node_draft import NodeDraft, SyntaxWrapper, WrappedNode
from treadle.assistants.reading.outline.nodes import ImportInfo, Kind
from treadle.assistants.reading.outline.rules import (
    children_rule,
    definition_rule,
    draft_definition,
    draft_import,
    draft_value,
    find_child,
    has_token,
    separate_declaration,
    skip_rule,
    statement_rule,
    transparent_rule,
    unquote_text,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import RuleOutput

_BLOCKS = ("statement_block", "else_clause", "catch_clause", "finally_clause")


def _declaration(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """Yield one draft for each name of `const`, `let` and `var`. The range is the whole declaration if it has only one name."""
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    constant = has_token(node, "const")
    for declarator in declarators:
        for draft in _declarator(declarator, spot, constant):
            if len(declarators) == 1:
                draft.wrap(SyntaxWrapper(node, whole=True))
            else:
                draft.head = node.start_byte
                separate_declaration(draft, declarator, declarators[0], declarator.child_by_field_name("value"))
            yield draft


def _declarator(node: "Syntax", spot: RuleContext, constant: bool) -> Iterator[NodeDraft]:
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    required = _required_module(value, spot)
    names = _target_names(target, spot)
    if required:
        whole = target is not None and target.type == "identifier"
        imported = (
            ImportInfo("namespace", required, namespace=spot.text(target)) if whole else ImportInfo("named", required, tuple(names))
        )
        yield draft_import(node, required, imported)
    elif target is not None and target.type == "identifier":
        yield draft_named_value(node, spot, names[0], value, constant=constant)
    else:
        for name in names:
            yield draft_value(node, spot, name, value, constant=constant)


def _target_names(target: "Syntax | None", spot: RuleContext) -> list[str]:
    """Return the names in `a`, `{ a, b: c = 1, ...d }` and `[a, b]`."""
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


def _required_module(value: "Syntax | None", spot: RuleContext) -> str:
    """Return the module in `require("module")`."""
    if value is None or value.type != "call_expression" or spot.field(value, "function") != "require":
        return ""
    arguments = value.child_by_field_name("arguments")
    return unquote_text(arguments.named_children[0], spot) if arguments is not None and arguments.named_children else ""


def _export(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    declared, source = node.child_by_field_name("declaration"), node.child_by_field_name("source")
    if declared is not None:
        decorators = tuple([spot.text(child) for child in node.children_by_field_name("decorator")])
        begins = next((child for child in node.children if child.type != "decorator"), None)
        yield WrappedNode(declared, SyntaxWrapper(node, decorators=decorators, begins=begins))
    elif source is not None:
        names = _specified_names(find_child(node, "export_clause"), spot) or ("*",)
        yield draft_import(node, unquote_text(source, spot), ImportInfo("named", unquote_text(source, spot), names))
    elif (value := node.child_by_field_name("value")) is not None:
        yield draft_named_value(node, spot, spot.field(value, "name") or "default", value, constant=True)
    else:
        yield from statement_rule(node, spot)


def _specified_names(clause: "Syntax | None", spot: RuleContext) -> tuple[str, ...]:
    """Return the names in `{ a, b as c }`."""
    if clause is None:
        return ()
    return tuple(
        [
            spot.field(part, "alias") or spot.field(part, "name")
            for part in clause.named_children
            if part.type.endswith("_specifier")
        ]
    )


def _import(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    required = find_child(node, "import_require_clause")
    if required is not None:
        name, source = spot.text(find_child(required, "identifier")), unquote_text(required.child_by_field_name("source"), spot)
        yield draft_import(node, source, ImportInfo("namespace", source, namespace=name))
        return
    clause, source = find_child(node, "import_clause"), unquote_text(node.child_by_field_name("source"), spot)
    if clause is None:
        yield draft_import(node, source, ImportInfo("side_effect", source))
        return
    default = spot.text(find_child(clause, "identifier"))
    whole = find_child(clause, "namespace_import")
    namespace = spot.text(find_child(whole, "identifier")) if whole is not None else ""
    names = _specified_names(find_child(clause, "named_imports"), spot)
    yield draft_import(node, source, ImportInfo(_import_kind(default, namespace, names), source, names, default, namespace))


def _import_kind(default: str, namespace: str, names: tuple[str, ...]) -> Literal["namespace", "named", "default", "mixed"]:
    if sum(map(bool, (default, namespace, names))) > 1:
        return "mixed"
    return "default" if default else "namespace" if namespace else "named"


def _expression(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    inner = node.named_children[0] if node.named_children else None
    if inner is None or inner.type == "string":  # nothing, or 'use strict'
        return
    match inner.type:
        case "internal_module":
            yield WrappedNode(inner, SyntaxWrapper(node, whole=True))
        case "assignment_expression":
            yield from _assignment(node, inner, spot)
        case _:
            yield draft_executed_code(node, inner, spot)


def _assignment(node: "Syntax", assignment: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """Handle `exports.put = …`, `module.exports = …`, `Shelf.prototype.put = …`; any other assignment is a statement."""
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    while right is not None and right.type == "assignment_expression":  # module.exports = Shelf = …
        right = right.child_by_field_name("right")
    if left is None or left.type != "member_expression":
        yield from statement_rule(node, spot)
        return
    target, owner = spot.text(left), spot.field(left, "object")
    if target == "module.exports" or owner in ("exports", "module.exports"):
        name = target if target == "module.exports" else spot.field(left, "property")
        yield draft_named_value(node, spot, name, right, constant=target != "module.exports")
        return
    draft = draft_named_value(node, spot, spot.field(left, "property"), right, constant=False, kind="method")
    draft.owner = owner.removesuffix(".prototype") if re.fullmatch(r"[\w$]+(?:\.prototype)?", owner) and owner != "this" else ""
    if draft.kind in ("variable", "field") and not draft.members:
        yield from statement_rule(node, spot)
    else:
        yield draft


def _property(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """A field of a class, or a pair of a listed object."""
    name = spot.field(node, "name") or spot.field(node, "property") or spot.field(node, "key")
    readonly = has_token(node, "readonly") and has_token(node, "static")
    yield draft_named_value(node, spot, name.strip("\"'"), node.child_by_field_name("value"), constant=readonly)


def _shorthand(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_value(node, spot, spot.text(node), None, constant=spot.inside == "enum")


def _enum_value(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_value(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=True)


def _fixed_name_rule(kind: Kind, name: str) -> Rule:
    """Build a rule for members without a name of their own."""

    def rule(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
        yield draft_definition(kind, node, spot, name)

    return rule


def _module(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    name = unquote_text(node.child_by_field_name("name"), spot)
    yield draft_definition("module", node, spot, name, node.child_by_field_name("body"))


def _ambient(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """`declare …`, and `declare global {…}`."""
    for child in node.named_children:
        if child.type == "statement_block":
            yield child
        else:
            yield WrappedNode(child, SyntaxWrapper(node, whole=True))


_DEFINING: dict[str, Rule] = {
    "class_declaration": definition_rule("class"),
    "abstract_class_declaration": definition_rule("class"),
    "function_declaration": definition_rule("function"),
    "generator_function_declaration": definition_rule("function"),
    "function_signature": definition_rule("function"),
    "interface_declaration": definition_rule("interface"),
    "type_alias_declaration": definition_rule("type"),
    "enum_declaration": definition_rule("enum"),
    "module": _module,
    "internal_module": _module,
    "lexical_declaration": _declaration,
    "variable_declaration": _declaration,
    "export_statement": _export,
    "ambient_declaration": _ambient,
    "expression_statement": _expression,
    "import_statement": _import,
    "import_alias": statement_rule,
    "method_definition": definition_rule("function"),
    "abstract_method_signature": definition_rule("method"),
    "method_signature": definition_rule("method"),
    "field_definition": _property,
    "public_field_definition": _property,
    "property_signature": _property,
    "pair": _property,
    "shorthand_property_identifier": _shorthand,
    "property_identifier": _shorthand,
    "enum_assignment": _enum_value,
    "index_signature": _fixed_name_rule("field", "[]"),
    "call_signature": _fixed_name_rule("method", "()"),
    "construct_signature": _fixed_name_rule("method", "new"),
    "decorator": skip_rule,
    "hash_bang_line": skip_rule,
    "empty_statement": skip_rule,
    "statement_block": transparent_rule,
    **dict.fromkeys(("if_statement", "try_statement", *_BLOCKS[1:]), children_rule(*_BLOCKS, "if_statement")),
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
