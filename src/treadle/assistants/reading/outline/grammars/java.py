"""Grammar rules of Java."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import Grammar, RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft
from treadle.assistants.reading.outline.rules import (
    definition_rule,
    draft_definition,
    draft_import,
    draft_value,
    find_child,
    import_from_path,
    separate_declaration,
    transparent_rule,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_CONSTANT = frozenset(("static", "final"))
_TYPE = r"(?:<[^>]+>\s*)?(?!return\b|new\b|else\b|throw\b|assert\b)[\w.<>\[\], ?]+\s+"
_MODIFIERS = r"(?:(?:public|private|protected|static|final|abstract|sealed|strictfp|default|synchronized|native)\s+)*"


def _package(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_definition("module", node, spot, spot.text(find_child(node, "scoped_identifier", "identifier")))


def _import(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    path = spot.text(find_child(node, "scoped_identifier", "identifier"))
    imported = import_from_path(path, ".", every=find_child(node, "asterisk") is not None)
    yield draft_import(node, imported.source or path, imported)


def _fields(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    modifiers = find_child(node, "modifiers")
    words = frozenset([child.type for child in modifiers.children]) if modifiers is not None else frozenset[str]()
    declarators = node.children_by_field_name("declarator")
    for declarator in declarators:
        value = declarator.child_by_field_name("value")
        constant = node.type == "constant_declaration" or words >= _CONSTANT
        yield separate_declaration(
            draft_value(node, spot, spot.field(declarator, "name"), value, constant=constant), declarator, declarators[0], value
        )


def _enum_constant(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_value(node, spot, spot.field(node, "name"), node.child_by_field_name("body"), constant=True)


JAVA = Grammar(
    module="tree_sitter_java",
    rules={
        "package_declaration": _package,
        "import_declaration": _import,
        "class_declaration": definition_rule("class"),
        "record_declaration": definition_rule("class"),
        "interface_declaration": definition_rule("interface"),
        "annotation_type_declaration": definition_rule("interface"),
        "enum_declaration": definition_rule("enum"),
        "module_declaration": definition_rule("module"),
        "enum_body_declarations": transparent_rule,
        "field_declaration": _fields,
        "constant_declaration": _fields,
        "enum_constant": _enum_constant,
        "method_declaration": definition_rule("function"),
        "constructor_declaration": definition_rule("method"),
        "compact_constructor_declaration": definition_rule("method"),
        "annotation_type_element_declaration": definition_rule("method"),
    },
    names=("identifier", "type_identifier"),
    comments=("line_comment", "block_comment"),
    adorning=frozenset(("annotation", "marker_annotation")),
    selves=(b"this",),
    implicit_self=True,
    parameters="type name",
    headers=(
        (_MODIFIERS + r"(?:class|record)\s+(?P<name>\w+)", "class"),
        (_MODIFIERS + r"@?interface\s+(?P<name>\w+)", "interface"),
        (_MODIFIERS + r"enum\s+(?P<name>\w+)", "enum"),
        (_MODIFIERS + _TYPE + r"(?P<name>\w+)\s*\((?:[^()]*\)\s*(?:throws\s+[\w., ]+)?(?:\{|;|$)|[^()]*$)", "function"),
    ),
)
