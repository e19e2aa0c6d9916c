"""Parts of a file: the smallest pieces assigned to a block as a whole. A function is one; a class is its head and members.

Made from the outline. A model or the sketch groups these parts; ranges and elements follow from them.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from treadle.assistants.reading.outline.nodes import Node, Outline
from treadle.assistants.reading.reading_types import Elements, Range

_TYPES = ("class", "interface", "struct", "enum", "trait", "impl", "type")
DEFINITION_KINDS = frozenset((*_TYPES, "function", "method", "field", "constant", "variable", "macro"))
_GAP = 12  # lines of comments and blanks that may lie between two parts of one range
_LISTS = {  # which list of a block's elements a kind of node belongs to
    "function": "functions",
    "method": "functions",
    "macro": "functions",
    "variable": "state",
    "field": "state",
    "import": "imports",
    "constant": "constants",
    "class": "types",
    "interface": "types",
    "struct": "types",
    "enum": "types",
    "trait": "types",
    "impl": "types",
    "type": "types",
    "module": "types",
}


class PartElement(Struct, frozen=True):
    """A name that a part defines, and which list of a block's elements it belongs to. Members are prefixed with their class."""

    kind: str
    name: str


class FilePart(Struct, frozen=True):
    """A piece of a file. `owner` is the number of the part it is a member of, -1 for none: a namespace owns nothing.

    `elements` are its names, those of its node first, then those of nodes on its lines without a part of their own.
    """

    number: int
    node: Node
    start: int
    end: int
    owner: int = -1
    elements: tuple[PartElement, ...] = ()

    @property
    def defines(self) -> bool:
        """Whether it defines something that a reader would look for."""
        return self.node.kind in DEFINITION_KINDS

    @property
    def size(self) -> int:
        """Its number of lines."""
        return self.end - self.start + 1


def split_parts(outline: Outline) -> list[FilePart]:
    """Split an outline into parts in file order, without overlaps."""
    cutter = _PartSplitter()
    cutter.cut(outline.nodes, -1, "", 0)
    return cutter.parts


class _PartSplitter:
    """Splits nodes into parts."""

    def __init__(self) -> None:
        self.parts: list[FilePart] = []

    def cut(self, nodes: Iterable[Node], owner: int, scope: str, after: int) -> int:
        """Add the parts of nodes that begin after line `after`; of two on one line the first gets it. Return their last line."""
        for node in nodes:
            start = max(node.start, after + 1)
            if start > node.end:
                self._join(node, scope)
                continue
            members = [child for child in node.children if child.start > node.start and child.start > after]
            end = max(members[0].start - 1 if members else node.end, start)
            number, inner = len(self.parts), member_scope(node, scope)
            beside = [child for child in node.children if child not in members]
            elements = (*node_elements(node, scope), *[element for child in beside for element in _all_elements(child, inner)])
            self.parts.append(FilePart(number, node, start, end, owner, elements))
            after = self.cut(members, owner if node.kind == "module" else number, inner, end)
            if members and after < node.end:
                after = node.end  # what closes it, `}` mostly, needs no part of its own
        return after

    def _join(self, node: Node, scope: str) -> None:
        """Add a node to the part that contains its lines."""
        last = self.parts.pop()
        self.parts.append(replace(last, elements=(*last.elements, *_all_elements(node, scope))))


def member_scope(node: Node, scope: str) -> str:
    """Return the class that a node's members belong to; a namespace isn't one."""
    if node.kind == "module" or not node.name:
        return scope
    name = node.name.rpartition(" for ")[2].partition("<")[0]  # as in Rust: impl Drop for Shelf<T>
    return f"{scope}.{name}" if scope else name


def node_elements(node: Node, scope: str) -> tuple[PartElement, ...]:
    """Return the names of a node in the class `scope`."""
    kind = _LISTS.get(node.kind, "")
    if not kind:
        return ()
    inside = node.owner or scope
    names = [name.replace("::", ".") for name in node_names(node)] if node.kind == "method" else node_names(node)
    if node.kind == "import" or not inside:
        return tuple([PartElement(kind, name) for name in names])
    return tuple([PartElement(kind, f"{inside}.{name.removeprefix('self.')}") for name in names])


def _all_elements(node: Node, scope: str) -> Iterator[PartElement]:
    """Yield the names of a node and of everything in it."""
    yield from node_elements(node, scope)
    for child in node.children:
        yield from _all_elements(child, member_scope(node, scope))


def find_part_at(parts: Sequence[FilePart], line: int) -> FilePart | None:
    """Return the innermost of some parts that contains a line, also between its members or behind them."""
    begun = parts[: bisect_right(parts, line, key=lambda part: part.start)]
    return next((part for part in reversed(begun) if line <= max(part.end, part.node.end)), None)


def part_ranges(parts: Sequence[FilePart], chosen: Iterable[FilePart]) -> tuple[Range, ...]:
    """Return the line ranges of the chosen parts; neighbours are joined if only blank lines and comments are between them."""
    numbers = {part.number for part in chosen}
    found: list[list[int]] = []
    last = -2
    for number in sorted(numbers):
        start, end = parts[number].start, _part_end(parts, number, numbers)
        if number == last + 1 and start - found[-1][1] <= _GAP:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
        last = number
    return tuple([(start, end) for start, end in found])


def _part_end(parts: Sequence[FilePart], number: int, numbers: set[int]) -> int:
    """Return the last line of a part: that of the whole container it is the head of, if all of that was chosen."""
    part = parts[number]
    members = number + 1
    while members < len(parts) and parts[members].start <= part.node.end:
        if members not in numbers:
            return part.end
        members += 1
    return max(part.end, part.node.end)


def find_names_elsewhere(parts: Sequence[FilePart], groups: Sequence[int]) -> dict[int, set[str]]:
    """Return for each group the names that another one lists: each is listed where it is first defined, else where imported."""
    homes: dict[str, int] = {}
    for part in sorted(parts, key=lambda part: not part.defines):
        for element in part.elements:
            homes.setdefault(element.name, groups[part.number])
    return {group: {name for name, home in homes.items() if home != group} for group in {*groups}}


def collect_elements(chosen: Iterable[FilePart], lists: Mapping[str, str] = {}, taken: Collection[str] = ()) -> Elements:
    """Return what the chosen parts define, without names in `taken`. `lists` overrides the usual list of a name."""
    found: dict[str, dict[str, None]] = {}
    for part in chosen:
        for element in part.elements:
            if element.name not in taken:
                found.setdefault(lists.get(element.name, element.kind), {})[element.name] = None
    return Elements(**{kind: tuple(names) for kind, names in found.items()})


def node_names(node: Node) -> tuple[str, ...]:
    """Return the names that a node is known by in its file."""
    if node.imported is None:
        return (node.name,) if node.name else ()
    found = node.imported
    bound = [found.default, found.namespace, *[name.rpartition(" as ")[2] for name in found.names if name != "*"]]
    return tuple(filter(None, bound)) or ((found.source,) if found.source else ())
