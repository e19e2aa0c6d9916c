"""What values in JavaScript and TypeScript define: functions and classes in any form, objects with functions, calls."""

from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft
from treadle.assistants.reading.outline.nodes import Kind
from treadle.assistants.reading.outline.rules import draft_definition, draft_value, unquote_text

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_FUNCTIONS = ("arrow_function", "function_expression", "generator_function", "function")
_CLASSES = ("class", "class_declaration")
_LONG = 10  # rows from which on a function given to a call is opened, as in `describe("…", () => {…})`
_SHORT = 2  # rows from which on such a call goes by its own name
_DEEP = 6  # calls in calls


def draft_named_value(
    node: "Syntax", spot: RuleContext, name: str, value: "Syntax | None", *, constant: bool, kind: Kind = "function"
) -> NodeDraft:
    """Draft what `name = value` defines: a function, a class, an object with functions, or a plain value."""
    inner = _unwrap_value(value)
    if inner is None:
        return draft_value(node, spot, name, value, constant=constant)
    if inner.type in _CLASSES:
        return draft_definition("class", node, spot, name, inner.child_by_field_name("body"))
    function = inner if inner.type in _FUNCTIONS else _find_passed_function(inner)
    if function is not None:
        return draft_definition("method" if spot.among_members else kind, node, spot, name, function.child_by_field_name("body"))
    draft = draft_value(node, spot, name, value, constant=constant)
    if inner.type == "object" and _has_functions(inner):
        draft.members = inner.named_children
    return draft


def _unwrap_value(value: "Syntax | None") -> "Syntax | None":
    """Return a value without `as const`, `satisfies T` and parentheses."""
    for _ in range(_DEEP):
        if value is None or value.type not in (
            "as_expression",
            "satisfies_expression",
            "parenthesized_expression",
            "non_null_expression",
        ):
            break
        value = value.named_children[0] if value.named_children else None
    return value


def _find_passed_function(call: "Syntax") -> "Syntax | None":
    """Return the function in `memo(forwardRef((props) => {…}))`."""
    for _ in range(_DEEP):
        arguments = call.child_by_field_name("arguments") if call.type == "call_expression" else None
        if arguments is None or arguments.type != "arguments":
            return None
        inner = next((child for child in arguments.named_children if child.type in (*_FUNCTIONS, "call_expression")), None)
        if inner is None:
            return None
        if inner.type in _FUNCTIONS:
            return inner if _is_block(inner) else None
        call = inner
    return None


def _is_block(function: "Syntax") -> bool:
    body = function.child_by_field_name("body")
    return body is not None and body.type == "statement_block"


def _has_functions(thing: "Syntax") -> bool:
    return any(_is_function(child) for child in thing.named_children)


def _is_function(entry: "Syntax") -> bool:
    if entry.type == "pair":
        value = entry.child_by_field_name("value")
        return value is not None and (
            value.type in _FUNCTIONS or (value.type == "object" and any(map(_is_method, value.named_children)))
        )
    return entry.type == "method_definition"


def _is_method(entry: "Syntax") -> bool:
    value = entry.child_by_field_name("value")
    return entry.type == "method_definition" or (value is not None and value.type in _FUNCTIONS)


def draft_executed_code(node: "Syntax", inner: "Syntax", spot: RuleContext) -> NodeDraft:
    """Draft code that runs. A long function in it is expanded: much is defined in `(function () {…})()` and `describe(…)`."""
    draft = NodeDraft("statement", node)
    draft.extra = 1
    rows = draft.end_row - draft.row
    function = _find_largest_function(inner) if rows >= _SHORT else None
    body = function.child_by_field_name("body") if function is not None else None
    if body is not None:
        draft.name = _call_title(inner, spot)
        draft.tail = body.start_byte
        draft.members = body.named_children if rows >= _LONG else ()
    return draft


def _call_title(call: "Syntax", spot: RuleContext) -> str:
    """Return the title of a call with a function: `"holds"` in `it("holds", () => {…})`."""
    arguments = call.child_by_field_name("arguments") if call.type == "call_expression" else None
    first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
    return unquote_text(first, spot) if first is not None and first.type in ("string", "template_string") else ""


def _find_largest_function(node: "Syntax") -> "Syntax | None":
    """Return the longest function that is called here or passed to a call."""
    found: list[Syntax] = []
    pending = [(node, 0)]
    while pending:
        part, deep = pending.pop()
        if part.type in _FUNCTIONS:
            found += [part] if _is_block(part) else []
        elif deep < _DEEP and part.type in (
            "call_expression",
            "parenthesized_expression",
            "unary_expression",
            "arguments",
            "member_expression",
            "await_expression",
        ):
            pending += [(child, deep + 1) for child in part.named_children]
    return max(found, key=lambda function: function.end_byte - function.start_byte, default=None)
