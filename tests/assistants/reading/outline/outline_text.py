"""Outlines told in short lines, so that a test can say all of one at a glance."""

from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.nodes import Node, Outline, walk_nodes


def told(text: str, language: str) -> str:
    """Everything that an outline says of every node, a line each, indented by depth."""
    made = build_outline(text, language)
    return "\n".join([f"doc: {' / '.join(made.doc.splitlines()) or 'none'}", *_told(made.nodes, 0)])


def _told(nodes: tuple[Node, ...], depth: int) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        value = f" = {node.value} ({node.value_type})" if node.value_type else ""
        head = f"{' ' * depth}{node.start}-{node.end} {node.kind} {node.name} | {node.signature}{value}"
        lines.append(" ".join([head, *_more(node)]))
        lines.extend(_told(node.children, depth + 1))
    return lines


def _more(node: Node) -> list[str]:
    """What few nodes have, each in braces."""
    imported = node.imported
    said = {
        "above": " / ".join(node.leading_comment.splitlines()),
        "beside": node.trailing_comment,
        "doc": node.doc,
        "with": " ".join(node.decorators),
        "uses": " ".join(node.uses),
        "brings": imported and f"{imported.kind} {imported.source}: {' '.join(imported.bound() or imported.names)}",
    }
    return [f"{{{word}: {words}}}" for word, words in said.items() if words]


def found(made: Outline, name: str) -> Node:
    """The first node by that name."""
    return next(node for node in walk_nodes(made.nodes) if node.name == name)


def check_ranges(made: Outline) -> None:
    """Every range lies in the file, and every child in its parent."""
    pending = [(made.nodes, 1, max(1, made.lines))]
    while pending:
        nodes, first, last = pending.pop()
        for node in nodes:
            assert first <= node.start <= node.end <= last, node
            pending.append((node.children, node.start, node.end))
