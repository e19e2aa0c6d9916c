"""What values in JavaScript and TypeScript define: functions and classes however written, objects with functions, calls."""

from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.draft import Draft
from treadle.assistants.reading.outline.grammar import Spot
from treadle.assistants.reading.outline.rules import definition, held, string_of
from treadle.assistants.reading.outline.values import Kind

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_FUNCTIONS = ("arrow_function", "function_expression", "generator_function", "function")
_CLASSES = ("class", "class_declaration")
_LONG = 10  # rows from which on a function given to a call is opened, as in `describe("…", () => {…})`
_SHORT = 2  # rows from which on such a call goes by its own name
_DEEP = 6  # calls in calls


def value_of(node: "Syntax", spot: Spot, name: str, value: "Syntax | None", *, constant: bool, kind: Kind = "function") -> Draft:
    """What `name = value` defines: a function, a class, an object with functions, or just something that holds a value."""
    inner = _bare(value)
    if inner is None:
        return held(node, spot, name, value, constant=constant)
    if inner.type in _CLASSES:
        return definition("class", node, spot, name, inner.child_by_field_name("body"))
    function = inner if inner.type in _FUNCTIONS else _given_function(inner)
    if function is not None:
        return definition("method" if spot.among_members else kind, node, spot, name, function.child_by_field_name("body"))
    draft = held(node, spot, name, value, constant=constant)
    if inner.type == "object" and _has_functions(inner):
        draft.members = inner.named_children
    return draft


def _bare(value: "Syntax | None") -> "Syntax | None":
    """A value without `as const`, `satisfies T` and parentheses."""
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


def _given_function(call: "Syntax") -> "Syntax | None":
    """The function in `memo(forwardRef((props) => {…}))`."""
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


def run_of(node: "Syntax", inner: "Syntax", spot: Spot) -> Draft:
    """Code that runs. A long function in it is opened: much is defined in `(function () {…})()` and tested in `describe(…)`."""
    draft = Draft("statement", node)
    draft.extra = 1
    rows = draft.end_row - draft.row
    function = _largest_function(inner) if rows >= _SHORT else None
    body = function.child_by_field_name("body") if function is not None else None
    if body is not None:
        draft.name = _title(inner, spot)
        draft.tail = body.start_byte
        draft.members = body.named_children if rows >= _LONG else ()
    return draft


def _title(call: "Syntax", spot: Spot) -> str:
    """What a call with a function is called: `"holds"` in `it("holds", () => {…})`."""
    arguments = call.child_by_field_name("arguments") if call.type == "call_expression" else None
    first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
    return string_of(first, spot) if first is not None and first.type in ("string", "template_string") else ""


def _largest_function(node: "Syntax") -> "Syntax | None":
    """The longest function that is called here or given to a call."""
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
