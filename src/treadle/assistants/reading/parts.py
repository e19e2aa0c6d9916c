"""The parts of a file: the smallest pieces that belong to a block whole. A function is one; a class is its head and its members.

Made from the outline. Whoever groups a file, a model or the sketch, groups these; ranges and elements follow from them.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from treadle.assistants.reading.outline.values import Node, Outline
from treadle.assistants.reading.values import Elements, Range

_TYPES = ("class", "interface", "struct", "enum", "trait", "impl", "type")
DEFINES = frozenset((*_TYPES, "function", "method", "field", "constant", "variable", "macro"))
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


class Element(Struct, frozen=True):
    """A name that a part stands for, and which list of a block's elements it belongs to. Members have their class before it."""

    kind: str
    name: str


class Part(Struct, frozen=True):
    """A piece of a file. `owner` is the number of the part it is a member of, -1 for none: a namespace owns nothing.

    `elements` are its names, those of its node first; what stands on its lines without a part of its own follows.
    """

    number: int
    node: Node
    start: int
    end: int
    owner: int = -1
    elements: tuple[Element, ...] = ()

    @property
    def defines(self) -> bool:
        """Whether it defines something a reader would look for."""
        return self.node.kind in DEFINES

    @property
    def size(self) -> int:
        """How many lines it has."""
        return self.end - self.start + 1


def parts_of(outline: Outline) -> list[Part]:
    """All parts, in the order of the file, none of them in two."""
    cutter = _Cutter()
    cutter.cut(outline.nodes, -1, "", 0)
    return cutter.parts


class _Cutter:
    """Cuts nodes into parts."""

    def __init__(self) -> None:
        self.parts: list[Part] = []

    def cut(self, nodes: Iterable[Node], owner: int, scope: str, after: int) -> int:
        """Add the parts of nodes that begin behind line `after`; of two on one line the first has it. Returns their last line."""
        for node in nodes:
            start = max(node.start, after + 1)
            if start > node.end:
                self._join(node, scope)
                continue
            members = [child for child in node.children if child.start > node.start and child.start > after]
            end = max(members[0].start - 1 if members else node.end, start)
            number, inner = len(self.parts), _scope(node, scope)
            beside = [child for child in node.children if child not in members]
            elements = (*elements_in(node, scope), *[element for child in beside for element in _all_elements(child, inner)])
            self.parts.append(Part(number, node, start, end, owner, elements))
            after = self.cut(members, owner if node.kind == "module" else number, inner, end)
            if members and after < node.end:
                after = node.end  # what closes it, `}` mostly, needs no part of its own
        return after

    def _join(self, node: Node, scope: str) -> None:
        """Add a node to the part that has its lines."""
        last = self.parts.pop()
        self.parts.append(replace(last, elements=(*last.elements, *_all_elements(node, scope))))


def _scope(node: Node, scope: str) -> str:
    """The class that the members of a node belong to; a namespace is none."""
    if node.kind == "module" or not node.name:
        return scope
    name = node.name.rpartition(" for ")[2].partition("<")[0]  # as in Rust: impl Drop for Shelf<T>
    return f"{scope}.{name}" if scope else name


def elements_in(node: Node, scope: str) -> tuple[Element, ...]:
    """The names of a node, in the class `scope`."""
    kind = _LISTS.get(node.kind, "")
    if not kind:
        return ()
    inside = node.owner or scope
    names = [name.replace("::", ".") for name in names_of(node)] if node.kind == "method" else names_of(node)
    if node.kind == "import" or not inside:
        return tuple([Element(kind, name) for name in names])
    return tuple([Element(kind, f"{inside}.{name.removeprefix('self.')}") for name in names])


def _all_elements(node: Node, scope: str) -> Iterator[Element]:
    """The names of a node and of all that is in it."""
    yield from elements_in(node, scope)
    for child in node.children:
        yield from _all_elements(child, _scope(node, scope))


def part_at(parts: Sequence[Part], line: int) -> Part | None:
    """The innermost of some parts that has a line, also one between its members or behind them."""
    begun = parts[: bisect_right(parts, line, key=lambda part: part.start)]
    return next((part for part in reversed(begun) if line <= max(part.end, part.node.end)), None)


def ranges_of(parts: Sequence[Part], chosen: Iterable[Part]) -> tuple[Range, ...]:
    """The lines of the chosen parts; neighbours are joined where only blank lines and comments lie between."""
    numbers = {part.number for part in chosen}
    found: list[list[int]] = []
    last = -2
    for number in sorted(numbers):
        start, end = parts[number].start, _end(parts, number, numbers)
        if number == last + 1 and start - found[-1][1] <= _GAP:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
        last = number
    return tuple([(start, end) for start, end in found])


def _end(parts: Sequence[Part], number: int, numbers: set[int]) -> int:
    """The last line of a part: that of the whole of what it is the head of, if all of that was chosen."""
    part = parts[number]
    members = number + 1
    while members < len(parts) and parts[members].start <= part.node.end:
        if members not in numbers:
            return part.end
        members += 1
    return max(part.end, part.node.end)


def elements_of(chosen: Iterable[Part], lists: Mapping[str, str] = {}, taken: Collection[str] = ()) -> Elements:
    """What the chosen parts define, by name, without what is `taken`. `lists` says where a name is, if not in its usual list."""
    found: dict[str, dict[str, None]] = {}
    for part in chosen:
        for element in part.elements:
            if element.name not in taken:
                found.setdefault(lists.get(element.name, element.kind), {})[element.name] = None
    return Elements(**{kind: tuple(names) for kind, names in found.items()})


def names_in(elements: Elements) -> set[str]:
    """Every name of a block."""
    return {name for kind in Elements.__struct_fields__ for name in getattr(elements, kind)}


def names_of(node: Node) -> tuple[str, ...]:
    """What a node is known by in its file."""
    if node.imported is None:
        return (node.name,) if node.name else ()
    found = node.imported
    bound = [found.default, found.namespace, *[name.rpartition(" as ")[2] for name in found.names if name != "*"]]
    return tuple(filter(None, bound)) or ((found.source,) if found.source else ())
