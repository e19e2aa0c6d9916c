"""The parts of a file: the smallest pieces that belong to a block whole. A function is one; a class is its head and its members.

Made from the outline. Whoever groups a file, a model or the sketch, groups these; ranges and elements follow from them.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

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


class Part(Struct, frozen=True):
    """A piece of a file. `owner` is the number of the part it is a member of, -1 for none."""

    number: int
    node: Node
    start: int
    end: int
    owner: int = -1

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
    return list(_parts(outline.nodes, 0, -1, 0))


def _parts(nodes: Iterable[Node], number: int, owner: int, after: int) -> Iterator[Part]:
    """Parts of nodes that begin behind line `after`; of two on one line the first has it."""
    for node in nodes:
        start = max(node.start, after + 1)
        if start > node.end:
            continue
        members = [child for child in node.children if child.start > node.start and child.start > after]
        head_end = members[0].start - 1 if members else node.end
        head = Part(number, node, start, max(head_end, start), owner)
        yield head
        number, after = number + 1, head.end
        for part in _parts(members, number, head.number, after):
            yield part
            number, after = part.number + 1, part.end
        if members and after < node.end:
            after = node.end  # what closes it, `}` mostly, needs no part of its own


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


def elements_of(chosen: Iterable[Part]) -> Elements:
    """What the chosen parts define, by name."""
    lists: dict[str, dict[str, None]] = {}
    for part in chosen:
        for name in names_of(part.node):
            lists.setdefault(_LISTS.get(part.node.kind, ""), {})[name] = None
    lists.pop("", None)
    return Elements(**{kind: tuple(names) for kind, names in lists.items()})


def names_of(node: Node) -> tuple[str, ...]:
    """What a node is known by in its file."""
    if node.imported is None:
        return (node.name,) if node.name else ()
    found = node.imported
    bound = [found.default, found.namespace, *[name.rpartition(" as ")[2] for name in found.names if name != "*"]]
    return tuple(filter(None, bound)) or ((found.source,) if found.source else ())
