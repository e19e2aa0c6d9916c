"""How Java is read."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.draft import Draft
from treadle.assistants.reading.outline.grammar import Grammar, Spot
from treadle.assistants.reading.outline.rules import apart, brings, child_of, defines, definition, held, named_from, through

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_CONSTANT = frozenset(("static", "final"))
_TYPE = r"(?:<[^>]+>\s*)?(?!return\b|new\b|else\b|throw\b|assert\b)[\w.<>\[\], ?]+\s+"
_MODIFIERS = r"(?:(?:public|private|protected|static|final|abstract|sealed|strictfp|default|synchronized|native)\s+)*"


def _package(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield definition("module", node, spot, spot.text(child_of(node, "scoped_identifier", "identifier")))


def _import(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    path = spot.text(child_of(node, "scoped_identifier", "identifier"))
    imported = named_from(path, ".", every=child_of(node, "asterisk") is not None)
    yield brings(node, imported.source or path, imported)


def _fields(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    modifiers = child_of(node, "modifiers")
    words = frozenset([child.type for child in modifiers.children]) if modifiers is not None else frozenset[str]()
    declarators = node.children_by_field_name("declarator")
    for declarator in declarators:
        value = declarator.child_by_field_name("value")
        constant = node.type == "constant_declaration" or words >= _CONSTANT
        yield apart(held(node, spot, spot.field(declarator, "name"), value, constant=constant), declarator, declarators[0], value)


def _enum_constant(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield held(node, spot, spot.field(node, "name"), node.child_by_field_name("body"), constant=True)


JAVA = Grammar(
    module="tree_sitter_java",
    rules={
        "package_declaration": _package,
        "import_declaration": _import,
        "class_declaration": defines("class"),
        "record_declaration": defines("class"),
        "interface_declaration": defines("interface"),
        "annotation_type_declaration": defines("interface"),
        "enum_declaration": defines("enum"),
        "module_declaration": defines("module"),
        "enum_body_declarations": through,
        "field_declaration": _fields,
        "constant_declaration": _fields,
        "enum_constant": _enum_constant,
        "method_declaration": defines("function"),
        "constructor_declaration": defines("method"),
        "compact_constructor_declaration": defines("method"),
        "annotation_type_element_declaration": defines("method"),
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
