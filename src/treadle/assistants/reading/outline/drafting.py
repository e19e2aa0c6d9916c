"""Drafts from syntax: each syntax node is opened by its rule until only drafts are left, then the members of each likewise."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.draft import Draft, Shell, Shelled
from treadle.assistants.reading.outline.grammar import Spot
from treadle.assistants.reading.outline.rules import statement

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import Opened

DEEPEST = 12  # levels of definitions in definitions
_SHELLS = 4  # around one definition; more are nonsense


def drafted(nodes: "Sequence[Opened]", spot: Spot, deep: int = 0) -> list[Draft]:
    """What is defined in a row of syntax nodes, with what is defined inside it."""
    drafts = _joined(_Opening(spot, deep).run(nodes))
    for draft in drafts:
        if draft.members and deep < DEEPEST:
            draft.children = _worth(draft, drafted(draft.members, Spot(spot.source, spot.grammar, draft.kind), deep + 1))
        elif draft.members:
            draft.extra = len(draft.members)
        draft.members = ()
    return drafts


def _worth(around: Draft, drafts: list[Draft]) -> list[Draft]:
    """The drafts worth listing: of what is in a test, only other tests, functions and classes."""
    if around.kind != "statement" or not around.name:
        return drafts
    found = [draft for draft in drafts if draft.name and draft.kind not in ("variable", "constant", "field")]
    around.extra = len(drafts) - len(found)
    return found


def _joined(drafts: list[Draft]) -> list[Draft]:
    """Statements one after another are one; such as hold definitions, or have a name like a test, stay by themselves."""
    found: list[Draft] = []
    for draft in drafts:
        last = found[-1] if found else None
        if (
            last is not None
            and last.kind == draft.kind == "statement"
            and not any((last.members, draft.members, last.name, draft.name))
        ):
            last.join(draft)
        else:
            found.append(draft)
    return found


class _Pending:
    """A syntax node still to be opened, what is written around it, and whether it lies in damaged text."""

    __slots__ = ("item", "loose", "shells")

    def __init__(self, item: "Opened", shells: tuple[Shell, ...] = (), loose: bool = False) -> None:
        self.item = item
        self.shells = shells
        self.loose = loose


class _Opening:
    """Opens syntax nodes one after another. It keeps its own stack, so nesting costs no depth."""

    def __init__(self, spot: Spot, deep: int) -> None:
        self._spot = spot
        self._deep = deep
        self._pending: list[_Pending] = []
        self._before: list[Syntax] = []
        self._found: list[Draft] = []

    def run(self, nodes: "Sequence[Opened]") -> list[Draft]:
        self._push(nodes, (), loose=False)
        while self._pending:
            pending = self._pending.pop()
            item = pending.item
            if isinstance(item, Draft):
                self._take(item, pending)
            elif isinstance(item, Shelled):
                shells = (*pending.shells[:_SHELLS], item.shell)
                self._pending.append(_Pending(item.node, shells, pending.loose))
            else:
                self._open(item, pending)
        return self._found

    def _push(self, items: "Sequence[Opened]", shells: tuple[Shell, ...], *, loose: bool) -> None:
        self._pending.extend([_Pending(item, shells, loose) for item in reversed(items)])

    def _open(self, node: "Syntax", pending: _Pending) -> None:
        grammar, kind = self._spot.grammar, node.type
        if kind in grammar.comments:
            return
        if kind == "ERROR":
            self._push(node.named_children, (), loose=True)
        elif kind in grammar.before:
            self._before.append(node)
        elif kind in grammar.around:
            self._open_around(node, pending)
        else:
            rule = grammar.rules.get(kind)
            if rule is not None:
                self._push(list(rule(node, self._spot)), self._shelled(pending), loose=pending.loose)
            elif not pending.loose:
                self._push(list(statement(node, self._spot)), self._shelled(pending), loose=False)

    def _open_around(self, node: "Syntax", pending: _Pending) -> None:
        """A statement that counts by what it defines, and as one statement where that is nothing."""
        rule = self._spot.grammar.rules[node.type]
        inner = _Opening(self._spot, self._deep + 1).run(list(rule(node, self._spot))) if self._deep < DEEPEST else []
        if all(draft.kind == "statement" for draft in inner):
            inner = [] if pending.loose else [draft for draft in statement(node, self._spot) if isinstance(draft, Draft)]
        self._push(inner, pending.shells, loose=False)

    def _shelled(self, pending: _Pending) -> tuple[Shell, ...]:
        """What is written around a node, with the attributes above it."""
        if not self._before:
            return pending.shells
        above = Shell(self._before[0], head=False, decorators=tuple([self._spot.text(node) for node in self._before]))
        self._before = []
        return (above, *pending.shells)

    def _take(self, draft: Draft, pending: _Pending) -> None:
        if pending.loose and draft.kind == "statement":
            return
        for shell in reversed(pending.shells):
            draft.wrap(shell)
        self._found.append(draft)
