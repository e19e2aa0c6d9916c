"""Nodes under construction and the syntax around them. `grammars` make drafts from syntax, `builder` makes nodes from drafts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from treadle.assistants.reading.outline.nodes import ImportInfo, Kind

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax


class Point(NamedTuple):
    """A position in a file, counted from 0."""

    row: int
    column: int


class TextSpan(NamedTuple):
    """A span of text that stands in for a missing syntax node."""

    type: str
    start_byte: int
    end_byte: int
    start_point: Point
    end_point: Point

    @property
    def is_missing(self) -> bool:
        """Whether the syntax node is missing from the tree: always true."""
        return True

    @property
    def children(self) -> "Sequence[Syntax]":
        """Its children: always empty."""
        return ()


class NodeDraft:
    """A node under construction. Byte offsets delimit its text and signature, rows (from 0) its lines.

    `members` are the syntax nodes that contain its children, `leads` is the row of its first own word, on which a
    trailing comment has to be.
    """

    __slots__ = (
        "children",
        "decorators",
        "doc",
        "end",
        "end_row",
        "extra",
        "gap",
        "head",
        "imported",
        "kind",
        "leads",
        "members",
        "name",
        "owner",
        "row",
        "start",
        "tail",
        "type",
        "value",
    )

    def __init__(self, kind: Kind, node: "Syntax | TextSpan", name: str = "", *, tail: "Syntax | None" = None) -> None:
        self.kind: Kind = kind
        self.type = node.type
        self.name = name
        self.start = self.head = node.start_byte
        self.row = self.leads = node.start_point.row
        self.end, self.end_row = node.end_byte, last_row(node)
        self.tail = self.end if tail is None else tail.start_byte
        self.members: Sequence[Syntax] = ()
        self.children: list[NodeDraft] = []
        self.extra = 0
        self.gap: tuple[int, int] | None = None  # bytes that its signature leaves out
        self.decorators: tuple[str, ...] = ()
        self.imported: ImportInfo | None = None
        self.value: tuple[str, str] = ("", "")
        self.doc = ""
        self.owner = ""  # the type of a method that is written outside of it

    def wrap(self, shell: "SyntaxWrapper") -> None:
        """Extend the draft to the start of a wrapper."""
        self.start, self.row = shell.node.start_byte, shell.node.start_point.row
        if shell.whole:
            self.end, self.end_row = shell.node.end_byte, last_row(shell.node)
        if shell.head:
            self.head = self.start if shell.begins is None else shell.begins.start_byte
        self.decorators = (*shell.decorators, *self.decorators)

    def join(self, later: "NodeDraft") -> None:
        """Extend the draft to the end of a later one."""
        self.end, self.end_row = max(self.end, later.end), max(self.end_row, later.end_row)
        self.extra += later.extra


class SyntaxWrapper(NamedTuple):
    """Syntax around a definition that belongs to it: `export`, decorators, `template <…>`.

    `head` means that its text is part of the signature, from where it `begins`; `whole` that the definition ends where
    the wrapper does.
    """

    node: "Syntax"
    head: bool = True
    whole: bool = False
    decorators: tuple[str, ...] = ()
    begins: "Syntax | None" = None


class WrappedNode(NamedTuple):
    """A syntax node to continue with, and the syntax around it."""

    node: "Syntax"
    shell: SyntaxWrapper


def last_row(node: "Syntax | TextSpan") -> int:
    """Return the row of a node's last character. Some grammars include the line end behind it."""
    end = node.end_point
    return end.row - 1 if end.column == 0 and end.row > node.start_point.row else end.row
