"""Format an outline as text for a model: a line per node, line numbers first, in as few tokens as are clear.

    1-9 import os, re, .stock (Item, Place)
    12-40 class Shelf(Base) # where stock lies
     15-18 def put(self, item: str) -> None
     20-38 … 4 more methods

What doesn't fit is left out by the steps in `STEPS`; the line range of each top-level definition stays longest.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from treadle.assistants.reading.outline.comments import Comments, first_sentence
from treadle.assistants.reading.outline.node_draft import NodeDraft
from treadle.assistants.reading.outline.nodes import CONTAINERS, ImportInfo, Node, Outline
from treadle.assistants.reading.outline.source_text import estimate_tokens

_ALL = 1_000_000


class NodeDetail(Struct, frozen=True):
    """Detail of sibling nodes: characters of their comments, how much of their signatures, and how many nodes.

    `sharing` is the largest number of lines of a node that may share a line of the outline with its siblings; 0 turns
    that off.
    """

    comment: int = 80
    signature: Literal["whole", "short", "name"] = "whole"
    sharing: int = 0
    most: int = _ALL


class OutlineDetail(Struct, frozen=True):
    """Detail of top-level nodes, members and imports, and how many nodes are named on a shared line."""

    at_top: NodeDetail = NodeDetail()
    of_members: NodeDetail = NodeDetail()
    import_names: bool = True
    most_imports: int = _ALL
    most_on_line: int = _ALL
    statements: bool = True


def _build_steps() -> tuple[OutlineDetail, ...]:
    """Build the levels: comments go first, then parameters, then members of the largest containers, at last whole definitions."""
    steps = [OutlineDetail()]

    def then(top: dict[str, Any] | None = None, members: dict[str, Any] | None = None, **changes: Any) -> None:
        last = steps[-1]
        steps.append(
            replace(
                last, at_top=replace(last.at_top, **(top or {})), of_members=replace(last.of_members, **(members or {})), **changes
            )
        )

    then({"sharing": 1}, {"sharing": 1, "comment": 50}, most_imports=60)
    then({"comment": 60}, {"comment": 30})
    then({}, {"comment": 0}, most_imports=40)
    then({"comment": 40}, most_on_line=40)
    then({"comment": 0}, import_names=False)
    then({}, {"signature": "short"}, most_on_line=25)
    then({"signature": "short"}, most_imports=20)
    then({}, {"signature": "name"})
    then({}, {"sharing": 6})
    then({"signature": "name"}, most_on_line=15)
    then({}, {"sharing": 15})
    for most in (60, 30, 15, 8, 4, 2, 0):
        then({}, {"most": most}, most_on_line=min(steps[-1].most_on_line, 2 + most))
    then(most_imports=8, statements=False)
    then(most_imports=0, most_on_line=1)
    for most in (1000, 700, 500, 350, 250, 180, 120, 90, 60, 45, 30, 20, 14, 9, 6, 4, 2, 1):
        then({"most": most})
    return tuple(steps)


STEPS = _build_steps()


_LONGEST = 160
_STATEMENT = 60
_FEW = 3  # nodes that share a line only if they are as many
_SHARING = frozenset(("field", "constant", "variable", "type", "function", "method", "macro"))


def format_nodes(nodes: Sequence[Node], detail: OutlineDetail, depth: int = 0, *, members: bool = False) -> Iterator[str]:
    """Yield the lines of sibling nodes and their children. `members` means that they are members of a class or the like."""
    told = detail.of_members if members else detail.at_top
    listed = _drop_duplicates(nodes if detail.statements else [node for node in nodes if node.kind != "statement" or node.children])
    shown = _take_first(listed, told.most)
    for group in _group_nodes(shown, told.sharing):
        yield " " * depth + _format_line(group, detail, told)
        for node in group:
            yield from format_nodes(node.children, detail, depth + 1, members=members or node.kind not in ("module", "statement"))
    if shown and len(shown) < len(listed):
        yield f"{' ' * depth}{_format_range(listed[len(shown)].start, listed[-1].end)} … {_format_count(listed[len(shown) :])}"


def _take_first(nodes: Sequence[Node], most: int) -> Sequence[Node]:
    """Return the first nodes, up to the limit; one more if it would be the only one left out."""
    return nodes if most and len(nodes) == most + 1 else nodes[:most]


def _drop_duplicates(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes without those that would be written like the one before: `a` and `b` of `a = b = 1`."""
    found: list[Node] = []
    for node in nodes:
        last = found[-1] if found else None
        if last is None or node.imported or (node.start, node.end, node.signature) != (last.start, last.end, last.signature):
            found.append(node)
    return found


def _group_nodes(nodes: Sequence[Node], sharing: int) -> Iterator[list[Node]]:
    """Yield nodes that share a line: adjacent imports and, with `sharing`, short nodes of one kind."""
    group: list[Node] = []
    for node in nodes:
        if group and not (_shares_line(group[-1], sharing) and _shares_line(node, sharing) and group[-1].kind == node.kind):
            yield from _split_group(group)
            group = []
        group.append(node)
    yield from _split_group(group)


def _split_group(group: list[Node]) -> Iterator[list[Node]]:
    if group and (group[0].kind == "import" or len(group) >= _FEW):
        yield group
    else:
        yield from [[node] for node in group]


def _shares_line(node: Node, sharing: int) -> bool:
    return node.kind == "import" or (node.kind in _SHARING and node.end - node.start < sharing and not node.children)


def _format_line(group: Sequence[Node], detail: OutlineDetail, told: NodeDetail) -> str:
    place = _format_range(group[0].start, group[-1].end)
    if group[0].kind == "import":
        return f"{place} {_format_imports(group, detail)}"
    if len(group) > 1:
        return f"{place} {_format_shared(group, detail.most_on_line, told)}"
    return f"{place} {_format_head(group[0], told)}{_format_comment(group[0], told.comment)}"


def _format_range(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}-{end}"


def _format_head(node: Node, told: NodeDetail) -> str:
    """Return a node's text at the requested detail."""
    if node.kind == "statement":
        more = " …" if node.extra_children > 1 or node.end > node.start else ""
        most = _STATEMENT * (2 if node.name else 1) // (1 if told.signature == "whole" else 2)
        return truncate_signature(node.signature, most).rstrip("…") + more
    if told.signature == "name":
        return _format_name(node)
    text = _strip_parameters(node) if told.signature == "short" else truncate_signature(node.signature, _LONGEST)
    return f"{text} = {node.value}" if node.value else text


def _format_name(node: Node) -> str:
    if node.kind in ("function", "method"):
        return f"{node.name}()"
    return f"{node.kind} {node.name}" if node.kind in CONTAINERS or node.kind == "module" else node.name or node.kind


def _strip_parameters(node: Node) -> str:
    """Return a signature up to its parameters; for a class, with its bases."""
    text = node.signature
    if node.kind not in ("function", "method"):
        return truncate_signature(text, _LONGEST // 2)
    at = text.find("(", max(0, text.find(node.name)) + len(node.name))
    return text if at < 0 or text[at : at + 2] == "()" else f"{text[:at]}(…)"


def _format_comment(node: Node, most: int) -> str:
    if not most:
        return ""
    said = node.doc or first_sentence(node.leading_comment) or first_sentence(node.trailing_comment)
    return f" # {truncate_signature(said, most)}" if said else ""


def _format_shared(group: Sequence[Node], most: int, told: NodeDetail) -> str:
    """Return short nodes on one line; the last ones are only counted if there are too many."""
    shown = _take_first(group, most)
    heads: list[str] = []
    before = ""
    for node in shown:
        head = _format_head(node, told)
        words = head[: max(0, head.find(node.name))]
        heads.append(head[len(words) :] if words == before else head)  # `private static int` is said once
        before = words
    told_of = "; ".join(heads)
    return f"{told_of} … {_format_count(group[len(shown) :])}" if len(shown) < len(group) else told_of


def _format_imports(group: Sequence[Node], detail: OutlineDetail) -> str:
    """Return the modules that imports come from, and the imported names, in the same format for all languages."""
    names: dict[str, list[str]] = {}
    for node in group:
        if node.imported is not None:
            names.setdefault(_format_import_source(node.imported), []).extend(
                _imported_names(node.imported) if detail.import_names else ()
            )
    shown = list(names)[: detail.most_imports]
    listed = [f"{source} ({', '.join(names[source])})" if names[source] else source for source in shown]
    if not shown:
        return f"import of {len(names)} modules"
    more = [f"{len(names) - len(shown)} more"] if len(shown) < len(names) else []
    return f"import {', '.join([*listed, *more])}"


def _format_import_source(imported: ImportInfo) -> str:
    """Return a module, with its alias if it has one."""
    last = re.split(r"[./:\\]", imported.source)[-1]
    own = imported.namespace in ("", last, imported.source) or imported.source.startswith(f"{imported.namespace}.")
    source = imported.source or ", ".join(imported.names)
    return source if own else f"{source} as {imported.namespace}"


def _imported_names(imported: ImportInfo) -> list[str]:
    default = [imported.default] if imported.default else []
    return [*default, *imported.names] if imported.source else []


def _format_count(nodes: Sequence[Node]) -> str:
    kinds = [node.kind for node in nodes]
    kind = kinds[0] if len(set(kinds)) == 1 else "part"
    return f"{len(nodes)} more {kind}{'' if len(nodes) == 1 else 'es' if kind == 'class' else 's'}"


LONG = 500  # lines from which on an outline takes at most a quarter of its file
_SHARE = 0.25
_TOKEN_SHARE = 0.205  # as the count of tokens is a rough one
_HEADER = 200


def format_outline(outline: Outline, most_chars: int | None = None) -> str:
    """Format the outline in at most `most_chars` characters; by default, in at most a quarter of a long file's size."""
    low, high = 0, len(STEPS) - 1
    while low < high:  # the first step that fits; each takes less than the one before
        middle = (low + high) // 2
        if _fits(_format_text(outline, STEPS[middle]), outline, most_chars):
            high = middle
        else:
            low = middle + 1
    text = _format_text(outline, STEPS[low])
    return text if most_chars is None else _truncate(text, most_chars)


def _format_text(outline: Outline, detail: OutlineDetail) -> str:
    header: list[str] = []
    if outline.doc and detail.at_top.comment:
        header.append(f"# {truncate_signature(' '.join(outline.doc.split()), _HEADER)}")
    if outline.note and detail.at_top.comment:
        header.append(f"# {outline.note}")
    return "\n".join([*header, *format_nodes(outline.nodes, detail)])


def _fits(text: str, outline: Outline, most_chars: int | None) -> bool:
    if most_chars is not None:
        return len(text) <= most_chars
    if outline.lines <= LONG:
        return len(text) <= max(outline.chars, LONG)
    return len(text) <= outline.chars * _SHARE and estimate_tokens(text) <= outline.tokens * _TOKEN_SHARE


def _truncate(text: str, most: int) -> str:
    """Truncate to a number of characters, at a line end if possible."""
    if len(text) <= most:
        return text
    kept = text[: max(0, most - 1)]
    return f"{kept.rpartition(chr(10))[0] or kept}…"[:most]


_MOST = 300
_MOST_STATEMENT = 100
_TIGHT = re.compile(r"(?<=[(\[]) | (?=[)\]])|,(?= ?[)\]])")
_ENDINGS = ("=>", " do", " then")


def format_signature(draft: NodeDraft, comments: Comments) -> str:
    """Return the signature of a draft; for a run of statements the first line of the first."""
    tail = min(draft.tail, draft.head + 4 * _MOST)
    text = comments.cut(draft.head, tail)
    if draft.gap is not None:
        text = comments.cut(draft.head, draft.gap[0]) + comments.cut(draft.gap[1], max(draft.tail, draft.gap[1]))
    if draft.kind == "statement":
        first = " ".join(text.strip().partition("\n")[0].split())
        return truncate_signature(_strip_body_start(first) or first, _MOST_STATEMENT)
    flat = " ".join(text.split())
    if "\n" in text:
        flat = _TIGHT.sub("", flat)
    flat = truncate_signature(_strip_body_start(flat), _MOST)
    unnamed = draft.kind != "import" and draft.name.isidentifier() and draft.name not in flat
    return f"{flat} {draft.name}" if unnamed else flat


def _strip_body_start(text: str) -> str:
    """Return a signature without the characters that begin its body."""
    while True:
        bare = text.rstrip(" {:;=,\\")
        for ending in _ENDINGS:
            bare = bare.removesuffix(ending)
        if bare == text:
            return text
        text = bare


def truncate_signature(text: str, most: int) -> str:
    """Truncate to a number of characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
