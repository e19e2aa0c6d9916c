"""How much smaller a shallow tree is than the file and its whole tree, and whether its ranges are right, for the debug report."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from treadle.assistants.reading.outline.parsing import parse_source
from treadle.assistants.reading.outline.shallow_tree import shallow_tree_of
from treadle.assistants.reading.outline.source_text import split_source_lines

_TOKENS_A_NODE = 3.5
_BEGINS = re.compile(r"\s*[\w#@\[~$\"'(<:*&]")
_DECLARES = re.compile(r"declaration|definition|_item$|_specifier$|^class$|^module$|^method$|^singleton_method$|assignment")
_MOST_HEAD = 12  # lines in which a name has to come


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


class NodeCounts(Struct, frozen=True):
    """Number of nodes in a file's whole tree and in its shallow tree."""

    full: int
    shallow: int


def count_nodes(text: str, language: str) -> NodeCounts:
    """Count the nodes of a text's whole tree and of its shallow tree."""
    parsed = parse_source(text, language)
    return NodeCounts(parsed.root.descendant_count, sum(1 for _ in _walk_tree(shallow_tree_of(parsed))))


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
