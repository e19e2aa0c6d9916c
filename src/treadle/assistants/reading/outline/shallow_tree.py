"""A shallow syntax tree as JSON: the grammar's own node types with line ranges and comments, to a small depth, without bodies.

Every node has `type` and `line_range`. Unlike the outline it has no kinds: it is the syntax tree itself. The debug report has its
size beside those of the file and the whole tree, and whether its ranges are right (`measure_outline`).
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from treadle.assistants.reading.outline.comments import Comments, clean_comments, first_doc_line
from treadle.assistants.reading.outline.grammar import RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft, last_row
from treadle.assistants.reading.outline.parsing import ParsedSource, parse_source
from treadle.assistants.reading.outline.rules import parse_literal
from treadle.assistants.reading.outline.source_text import split_source_lines

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

MAX_TREE_DEPTH = 30
_BODY_FIELDS = frozenset(("body", "block", "consequence", "alternative", "then", "else", "catch", "finalizer", "handlers"))
_BODIES = frozenset(("block", "statement_block", "compound_statement"))
_IMPORTS = frozenset(
    (
        "import_statement",
        "import_from_statement",
        "future_import_statement",
        "import_declaration",
        "import_spec",
        "import",
        "use_declaration",
        "extern_crate_declaration",
        "preproc_include",
        "using_directive",
        "using_declaration",
        "namespace_use_declaration",
    )
)
_PARAMETERS = frozenset(
    ("formal_parameters", "parameters", "parameter_list", "method_parameters", "function_value_parameters", "lambda_parameters")
)
_REST = ("rest", "spread", "variadic", "splat")
_TOKENS_A_NODE = 3.5
_BEGINS = re.compile(r"\s*[\w#@\[~$\"'(<:*&]")
_DECLARES = re.compile(r"declaration|definition|_item$|_specifier$|^class$|^module$|^method$|^singleton_method$|assignment")
_MOST_HEAD = 12  # lines in which a name has to come


def build_shallow_tree(text: str, language: str, max_depth: int = 2) -> dict[str, Any]:
    """Build the shallow tree of a text; the root is at depth 0."""
    return shallow_tree_of(parse_source(text, language), max_depth)


def shallow_tree_of(parsed: ParsedSource, max_depth: int = 2) -> dict[str, Any]:
    """Build the shallow tree of a parsed text."""
    return _TreeBuilder(parsed, min(max(0, max_depth), MAX_TREE_DEPTH)).node(parsed.root, 0)


class _TreeBuilder:
    """Converts syntax nodes to dictionaries."""

    def __init__(self, parsed: ParsedSource, max_depth: int) -> None:
        self._spot = RuleContext(parsed.source, parsed.grammar)
        self._comments = Comments(parsed.comments, parsed.source)
        self._max_depth = max_depth
        self._said: set[int] = set()  # rows whose comments were told: they are those of the outermost node

    def node(self, node: "Syntax", depth: int) -> dict[str, Any]:
        found = {**_node_base(node), **self._describe(node)}
        inner = list(self._named_children(node))
        if depth >= self._max_depth:
            extra = sum([not _is_body(field, child) for field, child in inner])
            return {**found, "extra_children_count": extra} if extra else found
        fields: dict[str, list[dict[str, Any]]] = {}
        children: list[dict[str, Any]] = []
        for field, child in inner:
            written = _node_base(child) if _is_body(field, child) else self.node(child, depth + 1)
            (children if field is None else fields.setdefault(field, [])).append(written)
        return {**found, **({"fields": fields} if fields else {}), **({"children": children} if children else {})}

    def _named_children(self, node: "Syntax") -> "Iterator[tuple[str | None, Syntax]]":
        """Yield the named children with their fields, without comments."""
        comments = self._spot.grammar.comments
        cursor = node.walk()  # asking a node for the field of each child takes a time that grows with the square of their number
        going = cursor.goto_first_child()
        while going:
            child = cursor.node
            if child is not None and child.is_named and child.type not in comments:
                yield cursor.field_name, child
            going = cursor.goto_next_sibling()

    def _describe(self, node: "Syntax") -> dict[str, Any]:
        """Describe a node apart from its position: comments, name, and type-specific fields."""
        found: dict[str, Any] = {}
        row = node.start_point.row
        if node.parent is not None and row not in self._said:
            self._said.add(row)
            found |= {"leading_comment": said} if (said := clean_comments(self._comments.above(row))) else {}
            found |= {"trailing_comment": said} if (said := clean_comments([self._comments.beside(row)])) else {}
        if name := next(filter(None, [self._spot.field(node, field) for field in ("name", "identifier", "id")]), ""):
            found["name"] = name
            found |= {"docstring": said} if (said := self._docstring(node)) else {}
        if node.type in _IMPORTS:
            found |= self._import_details(node)
        elif node.type == "variable_declarator":
            found |= self._value(node)
        elif node.type in _PARAMETERS:
            found |= self._parameters(node)
        return found

    def _docstring(self, node: "Syntax") -> str:
        """Return the first line of a definition's docstring, where the language has them."""
        body, docstring = node.child_by_field_name("body"), self._spot.grammar.docstring
        return first_doc_line(docstring(body.named_children[:2], self._spot)) if body is not None and docstring is not None else ""

    def _import_details(self, node: "Syntax") -> dict[str, Any]:
        rule = self._spot.grammar.rules.get(node.type)
        draft = next((found for found in rule(node, self._spot) if isinstance(found, NodeDraft)), None) if rule else None
        if draft is None or draft.imported is None:
            return {}
        imported = draft.imported
        details = {
            "import_type": imported.kind,
            "namespace_import": imported.namespace or None,
            "default_import": imported.default or None,
            "named_imports": list(imported.names),
            "source": imported.source,
        }
        return {"import_details": details}

    def _value(self, node: "Syntax") -> dict[str, Any]:
        value = node.child_by_field_name("value")
        if value is None:
            return {"value_type": "uninitialized"}
        simple, kind = parse_literal(self._spot.text(value))
        if not kind:
            return {"value_type": value.type, "extra_children_count": value.named_child_count}
        return {"simple_value": simple, "value_type": kind}

    def _parameters(self, node: "Syntax") -> dict[str, Any]:
        listed = [child for child in node.named_children if child.type not in self._spot.grammar.comments]
        rest = (
            any(word in child.type for child in listed for word in _REST)
            or b"..." in self._spot.source[node.start_byte : node.end_byte]
        )
        return {"parameters": [self._parameter(child) for child in listed], "parameter_count": len(listed), "has_rest": rest}

    def _parameter(self, node: "Syntax") -> dict[str, Any]:
        named = [self._spot.field(node, field) for field in ("pattern", "name", "declarator", "left")]
        text = self._spot.text(node)
        default = any(node.child_by_field_name(field) is not None for field in ("value", "default_value", "right"))
        kind = self._spot.field(node, "type").lstrip(": ")
        return {
            "name": next(filter(None, named), "") or text.partition(":")[0].strip(),
            "type": kind or None,
            "has_default": default,
        }


def _node_base(node: "Syntax") -> dict[str, Any]:
    return {"type": node.type, "line_range": [node.start_point.row + 1, last_row(node) + 1]}


def _is_body(field: str | None, node: "Syntax") -> bool:
    return field in _BODY_FIELDS or node.type in _BODIES


class OutlineMetrics(Struct, frozen=True):
    """Counts and ratios of one file. `integrity_checks_passed` counts the nodes whose range begins where their name is."""

    node_reduction_ratio: float
    context_compression_ratio: float
    comment_retention_score: float
    full_ast_node_count: int
    shallow_ast_node_count: int
    raw_source_bytes: int
    json_bytes: int
    full_ast_estimated_tokens: int
    shallow_ast_estimated_tokens: int
    integrity_checks_passed: int
    integrity_checks_total: int
    integrity_score: float


def measure_outline(text: str, language: str) -> OutlineMetrics:
    """Compute the metrics of a text."""
    parsed = parse_source(text, language)
    tree = shallow_tree_of(parsed)
    nodes = list(_walk_tree(tree))
    full, few = parsed.root.descendant_count, len(nodes)
    size = len(msgspec.json.encode(tree))
    checks = list(_check_ranges(nodes, split_source_lines(parsed.text)))
    return OutlineMetrics(
        node_reduction_ratio=round(1 - few / max(1, full), 4),
        context_compression_ratio=round(len(parsed.source) / max(1, size), 4),
        comment_retention_score=_comment_retention(nodes),
        full_ast_node_count=full,
        shallow_ast_node_count=few,
        raw_source_bytes=len(parsed.source),
        json_bytes=size,
        full_ast_estimated_tokens=round(full * _TOKENS_A_NODE),
        shallow_ast_estimated_tokens=round(few * _TOKENS_A_NODE),
        integrity_checks_passed=sum(checks),
        integrity_checks_total=len(checks),
        integrity_score=_percent(sum(checks), len(checks)),
    )


def _walk_tree(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node.get("children", ()))
        for listed in node.get("fields", {}).values():
            pending.extend(listed)


def _comment_retention(nodes: list[dict[str, Any]]) -> float:
    """Return the share of declarations that have a comment or a docstring."""
    declared = [node for node in nodes if "name" in node and _DECLARES.search(node["type"])]
    said = [node for node in declared if not {"leading_comment", "trailing_comment", "docstring"}.isdisjoint(node)]
    return _percent(len(said), len(declared))


def _check_ranges(nodes: list[dict[str, Any]], lines: tuple[str, ...]) -> Iterator[bool]:
    """Yield whether each named node begins with a word, a `#` or an `@`, and has its name in its first lines."""
    for node in nodes:
        if "name" in node:
            start, end = node["line_range"]
            head = "\n".join(lines[start - 1 : min(end, start + _MOST_HEAD)])
            first = node["name"].partition("\n")[0]
            yield 1 <= start <= end <= len(lines) and bool(_BEGINS.match(head)) and first in head


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 2) if whole else 100.0
