"""Nodes in the making, and what is written around them. `grammars` make drafts from syntax, `tree` makes nodes from drafts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from treadle.assistants.reading.outline.values import Imported, Kind

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax


class Point(NamedTuple):
    """A place in a file, counted from 0."""

    row: int
    column: int


class Line(NamedTuple):
    """A stretch of text that stands for a syntax node where there is none."""

    type: str
    start_byte: int
    end_byte: int
    start_point: Point
    end_point: Point

    @property
    def is_missing(self) -> bool:
        """Whether the tree lacks something here, as it does."""
        return True

    @property
    def children(self) -> "Sequence[Syntax]":
        """None."""
        return ()


class Draft:
    """A node in the making. Bytes say where its text and its signature begin and end, rows (from 0) where its lines do.

    `members` are the syntax nodes in which its children are to be found, `leads` is the row of its own first word, which a trailing
    comment has to be on.
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

    def __init__(self, kind: Kind, node: "Syntax | Line", name: str = "", *, tail: "Syntax | None" = None) -> None:
        self.kind: Kind = kind
        self.type = node.type
        self.name = name
        self.start = self.head = node.start_byte
        self.row = self.leads = node.start_point.row
        self.end, self.end_row = node.end_byte, last_row(node)
        self.tail = self.end if tail is None else tail.start_byte
        self.members: Sequence[Syntax] = ()
        self.children: list[Draft] = []
        self.extra = 0
        self.gap: tuple[int, int] | None = None  # bytes that its signature leaves out
        self.decorators: tuple[str, ...] = ()
        self.imported: Imported | None = None
        self.value: tuple[str, str] = ("", "")
        self.doc = ""
        self.owner = ""  # the type of a method that is written outside of it

    def wrap(self, shell: "Shell") -> None:
        """Begin where the shell does."""
        self.start, self.row = shell.node.start_byte, shell.node.start_point.row
        if shell.whole:
            self.end, self.end_row = shell.node.end_byte, last_row(shell.node)
        if shell.head:
            self.head = self.start if shell.begins is None else shell.begins.start_byte
        self.decorators = (*shell.decorators, *self.decorators)

    def join(self, later: "Draft") -> None:
        """Go on to the end of a later one."""
        self.end, self.end_row = max(self.end, later.end), max(self.end_row, later.end_row)
        self.extra += later.extra


class Shell(NamedTuple):
    """What is written around a definition and belongs to it: `export`, decorators, `template <…>`.

    `head` says that its words are part of the signature, from where it `begins`; `whole` that the definition ends where the shell
    does.
    """

    node: "Syntax"
    head: bool = True
    whole: bool = False
    decorators: tuple[str, ...] = ()
    begins: "Syntax | None" = None


class Shelled(NamedTuple):
    """A syntax node to go on with, and what is written around it."""

    node: "Syntax"
    shell: Shell


def last_row(node: "Syntax | Line") -> int:
    """The row of a node's last character. Some grammars count the line end behind it as its own."""
    end = node.end_point
    return end.row - 1 if end.column == 0 and end.row > node.start_point.row else end.row
