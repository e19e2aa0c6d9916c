"""How Python is read. Definitions inside `if`, `try` and the like count as written at the top."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.draft import Draft, Shell, Shelled
from treadle.assistants.reading.outline.grammar import Grammar, Rule, Spot
from treadle.assistants.reading.outline.rules import brings, defines, definition, held, opens, skip, statement, through
from treadle.assistants.reading.outline.values import Imported, Kind

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import Opened

_CLAUSES = ("block", "elif_clause", "else_clause", "except_clause", "except_group_clause", "finally_clause")


def _docstring(statements: "Sequence[Syntax]", spot: Spot) -> str:
    """The string that a body or a file begins with, without its quotes."""
    first = next((child for child in statements if child.type != "comment"), None)
    if first is None or first.type != "expression_statement" or not first.named_children:
        return ""
    string = first.named_children[0]
    content = [child for child in string.named_children if child.type == "string_content"]
    return spot.text(content[0]) if string.type == "string" and content else ""


def _documented(kind: Kind) -> Rule:
    plain = defines(kind)

    def rule(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
        body = node.child_by_field_name("body")
        for draft in plain(node, spot):
            if isinstance(draft, Draft) and body is not None:
                draft.doc = _docstring(body.named_children[:2], spot)
            yield draft

    return rule


def _decorated(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    inner = node.child_by_field_name("definition")
    if inner is not None:
        decorators = tuple([spot.text(child) for child in node.named_children if child.type == "decorator"])
        yield Shelled(inner, Shell(node, head=False, decorators=decorators))


def _expression(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    inner = node.named_children[0] if node.named_children else node
    match inner.type:
        case "string" | "concatenated_string" | "ellipsis":  # a docstring, a comment written as a string, or nothing
            return
        case "assignment":
            drafts = list(_assigned(node, inner, spot))
            yield from drafts or statement(node, spot)
        case _:
            yield from statement(node, spot)


def _assigned(node: "Syntax", assignment: "Syntax", spot: Spot) -> Iterator[Draft]:
    """The names that are given a value, in `a = b = 1` and `a, b = 1, 2` too."""
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
            yield definition("method" if spot.among_members else "function", node, spot, name, right.child_by_field_name("body"))
        else:
            yield held(node, spot, name, right, constant=name.isupper() and len(name) > 1)


def _import(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    for part in node.children_by_field_name("name"):
        source, alias = spot.field(part, "name") or spot.text(part), spot.field(part, "alias")
        yield brings(node, source, Imported("namespace", source, namespace=alias or source.partition(".")[0]))


def _import_from(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    source = spot.field(node, "module_name") or "__future__"
    listed = node.children_by_field_name("name")
    names = tuple([spot.field(part, "alias") or spot.text(part) for part in listed]) or ("*",)
    yield brings(node, source, Imported("named", source, names))


def _type_alias(node: "Syntax", spot: Spot) -> Iterator[Draft]:
    yield definition("type", node, spot, spot.field(node, "left"))


def _main(node: "Syntax", spot: Spot) -> "Iterator[Opened]":
    """`if`: opened for what it defines. What `if __name__ == "__main__"` assigns is nobody's to use."""
    if "__name__" in spot.field(node, "condition") and not any(_defines(child) for child in node.named_children):
        yield from statement(node, spot)
        return
    yield from opens(*_CLAUSES)(node, spot)


def _defines(node: "Syntax") -> bool:
    defining = ("class_definition", "function_definition", "decorated_definition", "import_statement", "import_from_statement")
    return node.type == "block" and any(child.type in defining for child in node.named_children)


PYTHON = Grammar(
    module="tree_sitter_python",
    rules={
        "class_definition": _documented("class"),
        "function_definition": _documented("function"),
        "decorated_definition": _decorated,
        "expression_statement": _expression,
        "import_statement": _import,
        "import_from_statement": _import_from,
        "future_import_statement": _import_from,
        "type_alias_statement": _type_alias,
        "if_statement": _main,
        "block": through,
        "pass_statement": skip,
        **dict.fromkeys((*_CLAUSES[1:], "try_statement", "with_statement", "for_statement", "while_statement"), opens(*_CLAUSES)),
    },
    names=("identifier",),
    around=frozenset(("if_statement", "try_statement", "with_statement", "for_statement", "while_statement")),
    selves=(b"self", b"cls"),
    label=rb"\s*=(?!=)",
    parameters="name: type",
    docstring=_docstring,
    headers=(
        (r"(?:async\s+)?def\s+(?P<name>\w+)", "function"),
        (r"class\s+(?P<name>\w+)", "class"),
    ),
)
