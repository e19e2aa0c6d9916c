"""Rules shared by languages, and helpers for building rules. Those of one language are in its module in `grammars`."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import Rule, RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft
from treadle.assistants.reading.outline.nodes import CONTAINERS, ImportInfo, Kind

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import RuleOutput


_MOST = 60  # characters of a string
_NUMBER = re.compile(r"[-+]?\s?(?:0[xXbBoO][\da-fA-F_]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][-+]?\d+)?)[a-zA-Z_]{0,3}\d{0,3}")
_STRING = re.compile(
    r"""[bBrRuUL@$]{0,2}(?P<quote>'''|\"{3}|["'`])(?P<inside>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)(?:\.to_string\(\)|\.into\(\)|\.freeze)?"""
)
_EMPTY_ARRAYS = re.compile(
    r"\[\]|\(\)|list\(\)|tuple\(\)|set\(\)|array\(\)|new Set\(\)|new \w*List(?:<.*>)?\(\)|vec!\[\]|Vec::new\(\)"
)
_EMPTY_OBJECTS = re.compile(r"\{\}|dict\(\)|new Map\(\)|new Object\(\)|\[:\]|new \w*Map(?:<.*>)?\(\)|HashMap::new\(\)")
_WORDS = {
    "true": "boolean",
    "false": "boolean",
    "null": "null",
    "nil": "null",
    "none": "null",
    "nullptr": "null",
    "undefined": "undefined",
}


def parse_literal(text: str) -> tuple[str, str]:
    """Return a simple value and its type: number, string, boolean, null, undefined, array, object. Empty for any other."""
    if not text or len(text) > _MOST + 8:
        return "", ""
    word = _WORDS.get(text.lower())
    if word:
        return text, word
    for pattern, said in ((_NUMBER, "number"), (_EMPTY_ARRAYS, "array"), (_EMPTY_OBJECTS, "object")):
        if pattern.fullmatch(text):
            return text, said
    string = _STRING.fullmatch(text)
    if string and len(string["inside"]) <= _MOST and not (text[0] in "`$" and "{" in text):
        return text, "string"
    return "", ""


_LISTS = frozenset(
    (
        "block",
        "statement_block",
        "compound_statement",
        "constructor_body",
        "function_body",
        "body_statement",
        "statements",
        "statement_list",
    )
)
_LONGEST_VALUE = 80  # bytes; longer ones are not looked at


def definition_rule(kind: Kind, name: str = "name", body: str = "body") -> Rule:
    """Build a rule for nodes with their name and body in fields. A function inside a container is a method."""

    def rule(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
        said: Kind = "method" if kind == "function" and spot.among_members else kind
        yield draft_definition(said, node, spot, spot.field(node, name), node.child_by_field_name(body))

    return rule


def draft_definition(kind: Kind, node: "Syntax", spot: RuleContext, name: str, body: "Syntax | None" = None) -> NodeDraft:
    """Draft a definition with its annotations, and with its members if it is a container."""
    draft = NodeDraft(kind, node, name, tail=body)
    attach_annotations(draft, node, spot)
    if body is None:
        return draft
    if kind in CONTAINERS or kind == "module":
        draft.members = body.named_children
    else:
        draft.extra = count_statements(body, spot)
    return draft


def draft_value(node: "Syntax", spot: RuleContext, name: str, value: "Syntax | None", *, constant: bool) -> NodeDraft:
    """Draft something that holds a value: a constant, else a field in a container and a variable anywhere else."""
    kind: Kind = "constant" if constant else "variable" if spot.inside in ("", "module", "statement") else "field"
    draft = NodeDraft(kind, node, name, tail=value)
    attach_annotations(draft, node, spot)
    if value is not None and value.end_byte - value.start_byte <= _LONGEST_VALUE:
        draft.value = parse_literal(spot.text(value))
    return draft


def separate_declaration(draft: NodeDraft, part: "Syntax", first: "Syntax", value: "Syntax | None") -> NodeDraft:
    """Restrict a draft's signature to its own part of a joint declaration: `int b` of `int a, b`."""
    if part.start_byte > first.start_byte:
        draft.gap = (first.start_byte, part.start_byte)
    if value is None:
        draft.tail = part.end_byte
    return draft


def draft_import(node: "Syntax", name: str, imported: ImportInfo) -> NodeDraft:
    """Draft an import."""
    draft = NodeDraft("import", node, name)
    draft.imported = imported
    return draft


def import_from_path(path: str, divider: str, alias: str = "", *, every: bool = False) -> ImportInfo:
    """Describe `import a.b.c` where that means the name `c` from `a.b`, or every name of it."""
    if every:
        return ImportInfo("named", path, ("*",))
    source, _, name = path.rpartition(divider)
    return ImportInfo("named", source, (alias or name,))


def attach_annotations(draft: NodeDraft, node: "Syntax", spot: RuleContext) -> None:
    """Move leading annotations out of the signature."""
    adorning = spot.grammar.adorning
    if not adorning:
        return
    found: list[str] = []
    for child in _leading_children(node):
        if child.type in adorning:
            found.append(spot.text(child))
        else:
            draft.head, draft.leads = child.start_byte, child.start_point.row
            break
    draft.decorators = tuple(found)


def _leading_children(node: "Syntax") -> "Iterator[Syntax]":
    """Yield the children, those of a list of modifiers one by one."""
    for child in node.children:
        if child.type == "modifiers":
            yield from child.children
        elif child.type not in ("comment", "line_comment", "block_comment", "multiline_comment"):
            yield child


def count_statements(body: "Syntax", spot: RuleContext) -> int:
    """Count the statements of a body."""
    if body.type not in _LISTS:
        return 0
    children = body.named_children
    if len(children) == 1 and children[0].type in _LISTS:
        children = children[0].named_children
    return sum([child.type not in spot.grammar.comments for child in children])


def statement_rule(node: "Syntax", spot: RuleContext) -> "Iterator[RuleOutput]":
    """Draft a statement that defines nothing."""
    draft = NodeDraft("statement", node)
    draft.extra = 1
    yield draft


def transparent_rule(node: "Syntax", spot: RuleContext) -> "Iterable[RuleOutput]":
    """Treat all children as if written where the node is."""
    return node.named_children


def children_rule(*types: str) -> Rule:
    """Build a rule for nodes that count only by their children of some types: clauses with conditions."""
    wanted = frozenset(types)

    def rule(node: "Syntax", spot: RuleContext) -> "Iterable[RuleOutput]":
        return [child for child in node.named_children if child.type in wanted]

    return rule


def skip_rule(node: "Syntax", spot: RuleContext) -> "Iterable[RuleOutput]":
    """Ignore the node."""
    return ()


def find_child(node: "Syntax", *types: str) -> "Syntax | None":
    """Return the first child of one of the types."""
    return next((child for child in node.named_children if child.type in types), None)


def has_token(node: "Syntax", *tokens: str) -> bool:
    """Return whether one of the tokens is a direct child."""
    return any(child.type in tokens for child in node.children)


def unquote_text(node: "Syntax | None", spot: RuleContext) -> str:
    """Return the text of a string without its quotes; any other text as it is."""
    text = spot.text(node).strip()
    return text[1:-1] if len(text) > 1 and text[0] in "\"'`<" and text[-1] in "\"'`>" else text


def conditional_rule(node: "Syntax", spot: RuleContext) -> "Iterable[RuleOutput]":
    """Treat the content of `#if` and the like as written where it is, without the conditions."""
    conditions = {part.start_byte for name in ("condition", "name") if (part := node.child_by_field_name(name)) is not None}
    return [child for child in node.named_children if child.start_byte not in conditions]
