"""Grammar rules of C#. Properties and events are fields; indexers and operators are methods."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import Grammar, RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft, SyntaxWrapper, WrappedNode
from treadle.assistants.reading.outline.nodes import ImportInfo
from treadle.assistants.reading.outline.rules import (
    conditional_rule,
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
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import RuleOutput

_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|sealed|abstract|partial|readonly|async|override|virtual|new|extern|unsafe|ref)"
    r"\s+)*"
)
_NO_HEADER = r"(?!return\b|new\b|else\b|throw\b|await\b)"
_DIRECTIVES = ("region", "endregion", "pragma", "nullable", "define", "undef", "line", "error", "warning")


def _using(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    alias = spot.field(node, "name")
    path = [spot.text(child) for child in node.named_children][-1:]
    source = path[0] if path else ""
    yield draft_import(
        node, source, ImportInfo("namespace", source, namespace=alias) if alias else ImportInfo("named", source, ("*",))
    )


def _namespace(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_definition("module", node, spot, spot.field(node, "name"), node.child_by_field_name("body"))


def _fields(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """Yield fields, events, and top-level variables."""
    listed = find_child(node, "variable_declaration")
    constant = any(spot.text(child) == "const" for child in node.named_children if child.type == "modifier")
    if listed is None:
        return
    for declarator in listed.named_children:
        if declarator.type == "variable_declarator":
            value = declarator.named_children[-1] if has_token(declarator, "=") else None
            draft = draft_value(node, spot, spot.field(declarator, "name"), value, constant=constant)
            yield separate_declaration(draft, declarator, find_child(listed, "variable_declarator") or declarator, value)


def _property(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield a property without the bodies of its accessors."""
    value, accessors = node.child_by_field_name("value"), node.child_by_field_name("accessors")
    simple = value if value is not None and value.type != "arrow_expression_clause" else None
    draft = draft_value(node, spot, _explicit_name(node, spot), simple, constant=False)
    ending = accessors or value
    draft.tail = ending.start_byte if ending is not None else draft.tail
    yield draft


def _explicit_name(node: "Syntax", spot: RuleContext) -> str:
    """Return a name with the interface it is implemented for: `IShelf.Put`."""
    return spot.text(find_child(node, "explicit_interface_specifier")) + spot.field(node, "name")


def _method(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    name = _explicit_name(node, spot)
    match node.type:
        case "destructor_declaration":
            name = f"~{name}"
        case "indexer_declaration":
            name = "this[]"
        case "operator_declaration":
            name = f"operator {spot.field(node, 'operator')}"
        case "conversion_operator_declaration":
            name = f"operator {spot.field(node, 'type')}"
        case _:
            pass
    body = node.child_by_field_name("body") or node.child_by_field_name("accessors")
    yield draft_definition("method" if spot.among_members else "function", node, spot, name, body)


def _record(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_definition(
        "struct" if has_token(node, "struct") else "class", node, spot, spot.field(node, "name"), node.child_by_field_name("body")
    )


def _member(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_value(node, spot, spot.field(node, "name"), node.child_by_field_name("value"), constant=True)


def _global(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    for child in node.named_children:
        yield WrappedNode(child, SyntaxWrapper(node, whole=True))


CSHARP = Grammar(
    module="tree_sitter_c_sharp",
    rules={
        "using_directive": _using,
        "namespace_declaration": _namespace,
        "file_scoped_namespace_declaration": _namespace,
        "class_declaration": definition_rule("class"),
        "record_declaration": _record,
        "struct_declaration": definition_rule("struct"),
        "interface_declaration": definition_rule("interface"),
        "enum_declaration": definition_rule("enum"),
        "delegate_declaration": definition_rule("type"),
        "enum_member_declaration": _member,
        "field_declaration": _fields,
        "event_field_declaration": _fields,
        "local_declaration_statement": _fields,
        "property_declaration": _property,
        "event_declaration": _property,
        **dict.fromkeys(
            (
                "method_declaration",
                "constructor_declaration",
                "destructor_declaration",
                "indexer_declaration",
                "operator_declaration",
                "conversion_operator_declaration",
                "local_function_statement",
            ),
            _method,
        ),
        "declaration_list": transparent_rule,
        "global_statement": _global,
        "empty_statement": skip_rule,
        "global_attribute": skip_rule,
        "extern_alias_directive": statement_rule,
        **dict.fromkeys(("preproc_if", "preproc_elif", "preproc_else"), conditional_rule),
        **dict.fromkeys([f"preproc_{directive}" for directive in _DIRECTIVES], skip_rule),
    },
    names=("identifier",),
    adorning=frozenset(("attribute_list",)),
    selves=(b"this",),
    implicit_self=True,
    parameters="type name",
    label=rb"\s*:(?!:)",
    headers=(
        (_MODIFIERS + r"(?:class|record)\s+(?P<name>\w+)", "class"),
        (_MODIFIERS + r"struct\s+(?P<name>\w+)", "struct"),
        (_MODIFIERS + r"interface\s+(?P<name>\w+)", "interface"),
        (_MODIFIERS + r"enum\s+(?P<name>\w+)", "enum"),
        (r"namespace\s+(?P<name>[\w.]+)", "module"),
        (
            _MODIFIERS + _NO_HEADER + r"[\w.<>\[\],? ]+\s+(?P<name>\w+)(?:<[^>]*>)?\s*\([^;=]*\)?\s*(?:where\b.*|=>.*|\{.*)?$",
            "function",
        ),
    ),
)
