"""Data types of an outline: nodes and imports, and functions to traverse them.

`builder` builds them, `formatter` formats them. Lines are counted from 1, and both ends belong to the node.
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


class ImportInfo(Struct, frozen=True):
    """What an import binds.

    `names` are the names that the file may use from now on, so the alias if there is one, and `*` for all; `default` and
    `namespace` are the names given to a module's default export and to the module as a whole.
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

    `type` is the grammar's node type, `owner` the type of a method that is written outside of it, `extra_children` how
    many parts the outline doesn't list, and `uses` the other definitions and imports of this file that its text refers
    to, in order of first use.
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
    imported: ImportInfo | None = None
    value: str = ""
    value_type: str = ""
    uses: tuple[str, ...] = ()
    children: tuple["Node", ...] = ()
    owner: str = ""


class Outline(Struct, frozen=True):
    """A source file without its bodies. `chars` and `tokens` (approximate) are the file's size, `doc` its own description.

    `broken` is true if part of the text fits no rule of the language; `note` then says where.
    """

    language: str
    lines: int
    nodes: tuple[Node, ...] = ()
    doc: str = ""
    broken: bool = False
    note: str = ""
    chars: int = 0
    tokens: int = 0


def walk_nodes(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yield every node before its children, in file order."""
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def iter_definitions(outline: Outline) -> Iterator[Node]:
    """Yield every node that defines a name: neither imports nor statements."""
    return (node for node in walk_nodes(outline.nodes) if node.kind not in ("import", "statement"))
