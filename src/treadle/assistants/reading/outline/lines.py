"""The lines of a compact outline: how one node is written, how several share a line, how those left out are counted."""

import re
from collections.abc import Iterator, Sequence

from treadle.assistants.reading.outline.comments import first_sentence
from treadle.assistants.reading.outline.detail import Detail, Told
from treadle.assistants.reading.outline.signatures import shortened
from treadle.assistants.reading.outline.values import CONTAINERS, Imported, Node

_LONGEST = 160
_STATEMENT = 60
_FEW = 3  # nodes that share a line only if they are as many
_SHARING = frozenset(("field", "constant", "variable", "type", "function", "method", "macro"))


def written(nodes: Sequence[Node], detail: Detail, depth: int = 0, *, members: bool = False) -> Iterator[str]:
    """The lines for nodes side by side, and for what is in them. `members` says that they are those of a class or the like."""
    told = detail.of_members if members else detail.at_top
    listed = _without_doubles(nodes if detail.statements else [node for node in nodes if node.kind != "statement" or node.children])
    shown = _first(listed, told.most)
    for group in _groups(shown, told.sharing):
        yield " " * depth + _line(group, detail, told)
        for node in group:
            yield from written(node.children, detail, depth + 1, members=members or node.kind not in ("module", "statement"))
    if shown and len(shown) < len(listed):
        yield f"{' ' * depth}{_range(listed[len(shown)].start, listed[-1].end)} … {_count(listed[len(shown) :])}"


def _first(nodes: Sequence[Node], most: int) -> Sequence[Node]:
    """The first nodes, as many as may be; one more where it would be the only one left."""
    return nodes if most and len(nodes) == most + 1 else nodes[:most]


def _without_doubles(nodes: Sequence[Node]) -> list[Node]:
    """The nodes without those that would be written just like the one before: `a` and `b` of `a = b = 1`."""
    found: list[Node] = []
    for node in nodes:
        last = found[-1] if found else None
        if last is None or node.imported or (node.start, node.end, node.signature) != (last.start, last.end, last.signature):
            found.append(node)
    return found


def _groups(nodes: Sequence[Node], sharing: int) -> Iterator[list[Node]]:
    """Nodes that share a line: imports in a row, and where asked for short ones of a kind."""
    group: list[Node] = []
    for node in nodes:
        if group and not (_shares(group[-1], sharing) and _shares(node, sharing) and group[-1].kind == node.kind):
            yield from _together(group)
            group = []
        group.append(node)
    yield from _together(group)


def _together(group: list[Node]) -> Iterator[list[Node]]:
    if group and (group[0].kind == "import" or len(group) >= _FEW):
        yield group
    else:
        yield from [[node] for node in group]


def _shares(node: Node, sharing: int) -> bool:
    return node.kind == "import" or (node.kind in _SHARING and node.end - node.start < sharing and not node.children)


def _line(group: Sequence[Node], detail: Detail, told: Told) -> str:
    place = _range(group[0].start, group[-1].end)
    if group[0].kind == "import":
        return f"{place} {_imports(group, detail)}"
    if len(group) > 1:
        return f"{place} {_shared(group, detail.most_on_line, told)}"
    return f"{place} {_head(group[0], told)}{_comment(group[0], told.comment)}"


def _range(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}-{end}"


def _head(node: Node, told: Told) -> str:
    """What a node looks like, as much as asked for."""
    if node.kind == "statement":
        more = " …" if node.extra_children > 1 or node.end > node.start else ""
        most = _STATEMENT * (2 if node.name else 1) // (1 if told.signature == "whole" else 2)
        return shortened(node.signature, most).rstrip("…") + more
    if told.signature == "name":
        return _named(node)
    text = _without_parameters(node) if told.signature == "short" else shortened(node.signature, _LONGEST)
    return f"{text} = {node.value}" if node.value else text


def _named(node: Node) -> str:
    if node.kind in ("function", "method"):
        return f"{node.name}()"
    return f"{node.kind} {node.name}" if node.kind in CONTAINERS or node.kind == "module" else node.name or node.kind


def _without_parameters(node: Node) -> str:
    """A signature up to its parameters; of a class, with what it extends."""
    text = node.signature
    if node.kind not in ("function", "method"):
        return shortened(text, _LONGEST // 2)
    at = text.find("(", max(0, text.find(node.name)) + len(node.name))
    return text if at < 0 or text[at : at + 2] == "()" else f"{text[:at]}(…)"


def _comment(node: Node, most: int) -> str:
    if not most:
        return ""
    said = node.doc or first_sentence(node.leading_comment) or first_sentence(node.trailing_comment)
    return f" # {shortened(said, most)}" if said else ""


def _shared(group: Sequence[Node], most: int, told: Told) -> str:
    """Short nodes on one line, the last ones only counted where there are too many."""
    shown = _first(group, most)
    heads: list[str] = []
    before = ""
    for node in shown:
        head = _head(node, told)
        words = head[: max(0, head.find(node.name))]
        heads.append(head[len(words) :] if words == before else head)  # `private static int` is said once
        before = words
    told_of = "; ".join(heads)
    return f"{told_of} … {_count(group[len(shown) :])}" if len(shown) < len(group) else told_of


def _imports(group: Sequence[Node], detail: Detail) -> str:
    """Where imports come from, and with it what they bring in, in the same words for all languages."""
    names: dict[str, list[str]] = {}
    for node in group:
        if node.imported is not None:
            names.setdefault(_source(node.imported), []).extend(_names(node.imported) if detail.import_names else ())
    shown = list(names)[: detail.most_imports]
    listed = [f"{source} ({', '.join(names[source])})" if names[source] else source for source in shown]
    if not shown:
        return f"import of {len(names)} modules"
    more = [f"{len(names) - len(shown)} more"] if len(shown) < len(names) else []
    return f"import {', '.join([*listed, *more])}"


def _source(imported: Imported) -> str:
    """A module, with the name it is given where that isn't its own."""
    last = re.split(r"[./:\\]", imported.source)[-1]
    own = imported.namespace in ("", last, imported.source) or imported.source.startswith(f"{imported.namespace}.")
    source = imported.source or ", ".join(imported.names)
    return source if own else f"{source} as {imported.namespace}"


def _names(imported: Imported) -> list[str]:
    default = [imported.default] if imported.default else []
    return [*default, *imported.names] if imported.source else []


def _count(nodes: Sequence[Node]) -> str:
    kinds = [node.kind for node in nodes]
    kind = kinds[0] if len(set(kinds)) == 1 else "part"
    return f"{len(nodes)} more {kind}{'' if len(nodes) == 1 else 'es' if kind == 'class' else 's'}"
