"""Grammar rules of Python. Definitions inside `if`, `try` and the like count as top-level."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import Grammar, Rule, RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft, SyntaxWrapper, WrappedNode
from treadle.assistants.reading.outline.nodes import ImportInfo, Kind
from treadle.assistants.reading.outline.rules import (
    children_rule,
    definition_rule,
    draft_definition,
    draft_import,
    draft_value,
    skip_rule,
    statement_rule,
    transparent_rule,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import RuleOutput

_TYPE_CALLS = frozenset(("TypeVar", "ParamSpec", "TypeVarTuple", "NewType"))
_TYPE_FORMS = frozenset(
    ["Annotated", "Callable", "Dict", "List", "Literal", "Optional", "Tuple", "Type", "Union", "dict", "list", "tuple", "type"]
)
_CLAUSES = ("block", "elif_clause", "else_clause", "except_clause", "except_group_clause", "finally_clause")


def _find_docstring(statements: "Sequence[Syntax]", spot: RuleContext) -> str:
    """Return the string that a body or a file begins with, without its quotes."""
    first = next((child for child in statements if child.type != "comment"), None)
    if first is None or first.type != "expression_statement" or not first.named_children:
        return ""
    string = first.named_children[0]
    content = [child for child in string.named_children if child.type == "string_content"]
    return spot.text(content[0]) if string.type == "string" and content else ""


def _documented_rule(kind: Kind) -> Rule:
    plain = definition_rule(kind)

    def rule(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
        body = node.child_by_field_name("body")
        for draft in plain(node, spot):
            if isinstance(draft, NodeDraft) and body is not None:
                draft.doc = _find_docstring(body.named_children[:2], spot)
            yield draft

    return rule


def _decorated(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    inner = node.child_by_field_name("definition")
    if inner is not None:
        decorators = tuple([spot.text(child) for child in node.named_children if child.type == "decorator"])
        yield WrappedNode(inner, SyntaxWrapper(node, head=False, decorators=decorators))


def _expression(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    inner = node.named_children[0] if node.named_children else node
    match inner.type:
        case "string" | "concatenated_string" | "ellipsis":  # a docstring, a comment written as a string, or nothing
            return
        case "assignment":
            drafts = list(_assignment(node, inner, spot))
            yield from drafts or statement_rule(node, spot)
        case _:
            yield from statement_rule(node, spot)


def _assignment(node: "Syntax", assignment: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    """Yield the names that are assigned, also in `a = b = 1` and `a, b = 1, 2`."""
    names: list[str] = []
    right = assignment
    while right is not None and right.type == "assignment":
        left = right.child_by_field_name("left")
        assignment, right = right, right.child_by_field_name("right")
        targets = [left] if left is not None else []
        if left is not None and left.type in ("pattern_list", "tuple_pattern", "list_pattern"):
            targets = left.named_children
        names += [spot.text(target) for target in targets if target.type == "identifier"]
    for name in names:
        if right is not None and right.type == "lambda":
            yield draft_definition(
                "method" if spot.among_members else "function", node, spot, name, right.child_by_field_name("body")
            )
        elif right is not None and (_is_type(right, spot) or spot.field(assignment, "type").endswith("TypeAlias")):
            yield draft_definition("type", node, spot, name)
        else:
            yield draft_value(node, spot, name, right, constant=name.isupper() and len(name) > 1)


def _is_type(value: "Syntax", spot: RuleContext) -> bool:
    """Return whether an assigned value is a type variable or an alias: `TypeVar("T")`, `t.Callable[..., int]`."""
    field, names = ("function", _TYPE_CALLS) if value.type == "call" else ("value", _TYPE_FORMS)
    return value.type in ("call", "subscript") and spot.field(value, field).rpartition(".")[2] in names


def _import(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    for part in node.children_by_field_name("name"):
        source, alias = spot.field(part, "name") or spot.text(part), spot.field(part, "alias")
        yield draft_import(node, source, ImportInfo("namespace", source, namespace=alias or source.partition(".")[0]))


def _import_from(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    source = spot.field(node, "module_name") or "__future__"
    listed = node.children_by_field_name("name")
    names = tuple([spot.field(part, "alias") or spot.text(part) for part in listed]) or ("*",)
    yield draft_import(node, source, ImportInfo("named", source, names))


def _type_alias(node: "Syntax", spot: RuleContext) -> Iterator[NodeDraft]:
    yield draft_definition("type", node, spot, spot.field(node, "left"))


def _if_statement(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """Process an `if` for what it defines. What `if __name__ == "__main__"` assigns can't be used elsewhere."""
    if "__name__" in spot.field(node, "condition") and not any(_defines(child) for child in node.named_children):
        yield from statement_rule(node, spot)
        return
    yield from children_rule(*_CLAUSES)(node, spot)


def _defines(node: "Syntax") -> bool:
    defining = ("class_definition", "function_definition", "decorated_definition", "import_statement", "import_from_statement")
    return node.type == "block" and any(child.type in defining for child in node.named_children)


PYTHON = Grammar(
    module="tree_sitter_python",
    rules={
        "class_definition": _documented_rule("class"),
        "function_definition": _documented_rule("function"),
        "decorated_definition": _decorated,
        "expression_statement": _expression,
        "import_statement": _import,
        "import_from_statement": _import_from,
        "future_import_statement": _import_from,
        "type_alias_statement": _type_alias,
        "if_statement": _if_statement,
        "block": transparent_rule,
        "pass_statement": skip_rule,
        **dict.fromkeys(
            (*_CLAUSES[1:], "try_statement", "with_statement", "for_statement", "while_statement"), children_rule(*_CLAUSES)
        ),
    },
    names=("identifier",),
    around=frozenset(("if_statement", "try_statement", "with_statement", "for_statement", "while_statement")),
    selves=(b"self", b"cls"),
    label=rb"\s*=(?!=)",
    parameters="name: type",
    docstring=_find_docstring,
    headers=(
        (r"(?:async\s+)?def\s+(?P<name>\w+)", "function"),
        (r"class\s+(?P<name>\w+)", "class"),
    ),
)
