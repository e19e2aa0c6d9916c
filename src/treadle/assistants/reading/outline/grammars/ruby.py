"""Grammar rules of Ruby. What `attr_accessor`, `define_method` and `Struct.new` define counts as defined."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import Grammar, RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft, SyntaxWrapper, WrappedNode
from treadle.assistants.reading.outline.nodes import ImportInfo, Kind
from treadle.assistants.reading.outline.rules import (
    children_rule,
    draft_definition,
    draft_import,
    draft_value,
    skip_rule,
    statement_rule,
    transparent_rule,
    unquote_text,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import RuleOutput

_REQUIRING = ("require", "require_relative", "load", "autoload")
_ACCESSORS = ("attr_accessor", "attr_reader", "attr_writer", "attr")
_VISIBILITY = ("private", "public", "protected", "module_function", "private_class_method", "private_constant")
_CLAUSES = ("then", "else", "elsif", "rescue", "ensure", "body_statement", "begin")
_LONG = 10  # rows from which on the block of a call is opened: `describe "…" do`
_SHORT = 2  # rows from which on such a call goes by its own name


def _singleton(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield _draft_with_head("method", node, spot, f"{spot.field(node, 'object')}.{spot.field(node, 'name')}")


def _method(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield _draft_with_head("method" if spot.inside else "function", node, spot, spot.field(node, "name"))


def _draft_with_head(kind: Kind, node: "Syntax", spot: RuleContext, name: str) -> NodeDraft:
    draft = draft_definition(kind, node, spot, name, node.child_by_field_name("body"))
    parameters = node.child_by_field_name("parameters") or node.child_by_field_name("name")
    draft.tail = parameters.end_byte if parameters is not None else draft.tail
    return draft


def _class(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield a class or module; what follows its name and parent, also a comment, is its body."""
    kind: Kind = "class" if node.type == "class" else "module"
    draft = draft_definition(kind, node, spot, spot.field(node, "name"), node.child_by_field_name("body"))
    head = node.child_by_field_name("superclass") or node.child_by_field_name("name")
    draft.tail = head.end_byte if head is not None else draft.tail
    yield draft


def _assignment(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    targets = (
        left.named_children if left is not None and left.type == "left_assignment_list" else [left] if left is not None else []
    )
    names = [
        target
        for target in targets
        if target.type in ("constant", "identifier", "class_variable", "instance_variable", "global_variable")
    ]
    if not names:
        yield from statement_rule(node, spot)
    for target in names:
        yield _value(node, spot, target, right)


def _value(node: "Syntax", spot: RuleContext, target: "Syntax", value: "Syntax | None") -> NodeDraft:
    name = spot.text(target)
    block = value.child_by_field_name("block") if value is not None and value.type == "call" else None
    if block is not None and value is not None and spot.field(value, "method") == "new" and target.type == "constant":
        draft = draft_definition("class", node, spot, name, block)
        draft.members = _block_body(block)
        return draft
    if value is not None and value.type == "lambda":
        return draft_definition("function", node, spot, name, value.child_by_field_name("body"))
    return draft_value(node, spot, name, value, constant=target.type == "constant")


def _block_body(block: "Syntax") -> "list[Syntax]":
    body = block.child_by_field_name("body")
    return body.named_children if body is not None else []


def _call(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    method = spot.field(node, "method")
    arguments = node.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    if method in _REQUIRING and given:
        path = unquote_text(given[-1], spot)
        names = (spot.text(given[0]).lstrip(":"),) if method == "autoload" else ()
        yield draft_import(node, path, ImportInfo("named" if names else "side_effect", path, names))
    elif method in _ACCESSORS and spot.inside:
        for part in given:
            yield draft_value(node, spot, unquote_text(part, spot).lstrip(":"), None, constant=False)
    elif method == "define_method" and given:
        yield draft_definition("method", node, spot, unquote_text(given[0], spot).lstrip(":"), node.child_by_field_name("block"))
    elif method in _VISIBILITY:
        for part in given:
            if part.type in ("method", "singleton_method", "call"):
                yield WrappedNode(part, SyntaxWrapper(node))
    else:
        yield _draft_call(node, spot)


def _draft_call(node: "Syntax", spot: RuleContext) -> NodeDraft:
    """Draft a call; a long block passed to it is expanded."""
    draft = NodeDraft("statement", node, tail=node.child_by_field_name("block"))
    draft.extra = 1
    block = node.child_by_field_name("block")
    if block is not None and draft.end_row - draft.row >= _SHORT:
        arguments = node.child_by_field_name("arguments")
        first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
        draft.name = (
            unquote_text(first, spot) if first is not None and first.type in ("string", "simple_symbol", "constant") else ""
        )
        draft.members = _block_body(block) if draft.end_row - draft.row >= _LONG else ()
    return draft


def _word(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """Process a lone identifier: `private` defines nothing by itself."""
    if spot.text(node) not in _VISIBILITY:
        yield from statement_rule(node, spot)


def _modifier(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """Process `NAME = 1 unless defined?(NAME)`."""
    body = node.child_by_field_name("body")
    if body is not None and body.type in ("assignment", "call"):
        yield WrappedNode(body, SyntaxWrapper(node, whole=True))
    else:
        yield from statement_rule(node, spot)


RUBY = Grammar(
    module="tree_sitter_ruby",
    rules={
        "class": _class,
        "module": _class,
        "singleton_class": children_rule("body_statement"),
        "body_statement": transparent_rule,
        "method": _method,
        "singleton_method": _singleton,
        "assignment": _assignment,
        "operator_assignment": _assignment,
        "call": _call,
        "identifier": _word,
        "if_modifier": _modifier,
        "unless_modifier": _modifier,
        "then": transparent_rule,
        "begin": transparent_rule,
        "else": transparent_rule,
        "ensure": transparent_rule,
        "rescue": children_rule("then"),
        **dict.fromkeys(("if", "unless", "elsif"), children_rule(*_CLAUSES)),
        "uninterpreted": skip_rule,
        "empty_statement": skip_rule,
    },
    names=("identifier", "constant"),
    around=frozenset(("if", "unless", "begin")),
    selves=(b"self",),
    implicit_self=True,
    label=rb":(?!:)",
    parameters="name: type",
    plain_docs=True,
    headers=(
        (r"class\s+(?P<name>[\w:]+)", "class"),
        (r"module\s+(?P<name>[\w:]+)", "module"),
        (r"def\s+(?P<name>[\w.]+[?!=]?)", "function"),
    ),
)
