"""What an outline is made of: nodes, what an import brings in, and the ways to walk them.

Values only; `tree` makes them, `compact` writes them down. Lines are counted from 1, and both ends belong to the node.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

Kind = Literal[
    "import",
    "class",
    "interface",
    "struct",
    "enum",
    "trait",
    "impl",
    "function",
    "method",
    "field",
    "constant",
    "variable",
    "type",
    "module",
    "macro",
    "statement",
]

CONTAINERS: frozenset[Kind] = frozenset(("class", "interface", "struct", "enum", "trait", "impl"))


class Imported(Struct, frozen=True):
    """What an import brings in.

    `names` are those that the file may use from now on, so the new one where it is renamed, and `*` for all there are; `default`
    and `namespace` are the names given to a module's default and to the module as a whole.
    """

    kind: Literal["namespace", "named", "default", "mixed", "side_effect"]
    source: str
    names: tuple[str, ...] = ()
    default: str = ""
    namespace: str = ""

    def bound(self) -> tuple[str, ...]:
        """Every name by which the file can refer to it."""
        return tuple([name for name in (self.default, self.namespace, *self.names) if name not in ("", "*")])


class Node(Struct, frozen=True):
    """One definition, import, or run of statements that define nothing.

    `type` is the grammar's own word for it, `owner` the type of a method that is written outside of it, `extra_children` how many
    parts of it the outline doesn't list, and `uses` the other definitions and imports of this file that its text refers to, in the
    order of their first use.
    """

    kind: Kind
    type: str
    name: str
    signature: str
    start: int
    end: int
    leading_comment: str = ""
    trailing_comment: str = ""
    doc: str = ""
    extra_children: int = 0
    decorators: tuple[str, ...] = ()
    imported: Imported | None = None
    value: str = ""
    value_type: str = ""
    uses: tuple[str, ...] = ()
    children: tuple["Node", ...] = ()
    owner: str = ""


class Outline(Struct, frozen=True):
    """A source file without its bodies. `chars` and `tokens` (roughly) say how large the file is, `doc` what it says of itself.

    `broken` is true where part of the text fits no rule of the language; `note` then says where.
    """

    language: str
    lines: int
    nodes: tuple[Node, ...] = ()
    doc: str = ""
    broken: bool = False
    note: str = ""
    chars: int = 0
    tokens: int = 0


def walk(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Every node, each before its children, in the order of the file."""
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def node_at(outline: Outline, line: int) -> Node | None:
    """The innermost node that has `line`."""
    found: Node | None = None
    nodes = outline.nodes
    while True:
        inner = next((node for node in nodes if node.start <= line <= node.end), None)
        if inner is None:
            return found
        found, nodes = inner, inner.children


def definitions(outline: Outline) -> Iterator[Node]:
    """Every node that defines a name: neither imports nor statements."""
    return (node for node in walk(outline.nodes) if node.kind not in ("import", "statement"))
