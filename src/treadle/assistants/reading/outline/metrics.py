"""How much smaller a shallow tree is than the file and its whole tree, and whether its ranges are right; for a debug report."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from treadle.assistants.reading.outline.parsing import parse
from treadle.assistants.reading.outline.seed_json import shallow
from treadle.assistants.reading.outline.source import lines_of

_TOKENS_A_NODE = 3.5
_BEGINS = re.compile(r"\s*[\w#@\[~$\"'(<:*&]")
_DECLARES = re.compile(r"declaration|definition|_item$|_specifier$|^class$|^module$|^method$|^singleton_method$|assignment")
_MOST_HEAD = 12  # lines in which a name has to come


class Metrics(Struct, frozen=True):
    """Counts and ratios of one file. `integrity` is about nodes whose range begins where their name is."""

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


class Counts(Struct, frozen=True):
    """How many nodes the whole tree of a file has, and its shallow one."""

    full: int
    shallow: int


def counts(text: str, language: str) -> Counts:
    """How many nodes the whole tree of a text has, and its shallow one."""
    parsed = parse(text, language)
    return Counts(parsed.root.descendant_count, sum(1 for _ in _nodes(shallow(parsed))))


def metrics(text: str, language: str) -> Metrics:
    """The metrics of a text."""
    parsed = parse(text, language)
    tree = shallow(parsed)
    nodes = list(_nodes(tree))
    full, few = parsed.root.descendant_count, len(nodes)
    size = len(msgspec.json.encode(tree))
    checks = list(_checks(nodes, lines_of(parsed.text)))
    return Metrics(
        node_reduction_ratio=round(1 - few / max(1, full), 4),
        context_compression_ratio=round(len(parsed.source) / max(1, size), 4),
        comment_retention_score=_retention(nodes),
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


def _nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node.get("children", ()))
        for listed in node.get("fields", {}).values():
            pending.extend(listed)


def _retention(nodes: list[dict[str, Any]]) -> float:
    """The share of declarations that have a comment or a docstring."""
    declared = [node for node in nodes if "name" in node and _DECLARES.search(node["type"])]
    said = [node for node in declared if not {"leading_comment", "trailing_comment", "docstring"}.isdisjoint(node)]
    return _percent(len(said), len(declared))


def _checks(nodes: list[dict[str, Any]], lines: tuple[str, ...]) -> Iterator[bool]:
    """Whether each node with a name begins with a word, a `#` or an `@`, and has its name in its first lines."""
    for node in nodes:
        if "name" in node:
            start, end = node["line_range"]
            head = "\n".join(lines[start - 1 : min(end, start + _MOST_HEAD)])
            first = node["name"].partition("\n")[0]
            yield 1 <= start <= end <= len(lines) and bool(_BEGINS.match(head)) and first in head


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 2) if whole else 100.0
