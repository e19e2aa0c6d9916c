"""Extract drafts from syntax: apply each node's rule until only drafts are left, then the same for each draft's members."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.grammar import RuleContext
from treadle.assistants.reading.outline.node_draft import NodeDraft, SyntaxWrapper, WrappedNode
from treadle.assistants.reading.outline.rules import statement_rule

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from treadle.assistants.reading.outline.grammar import RuleOutput

MAX_DEPTH = 12  # levels of definitions in definitions
_MAX_WRAPPERS = 4  # around one definition; more are nonsense


def extract_drafts(nodes: "Sequence[RuleOutput]", spot: RuleContext, deep: int = 0) -> list[NodeDraft]:
    """Return what a sequence of syntax nodes defines, including nested definitions."""
    drafts = _join_statements(_Extractor(spot, deep).run(nodes))
    for draft in drafts:
        if draft.members and deep < MAX_DEPTH:
            draft.children = _filter_members(
                draft, extract_drafts(draft.members, RuleContext(spot.source, spot.grammar, draft.kind), deep + 1)
            )
        elif draft.members:
            draft.extra = len(draft.members)
        draft.members = ()
    return drafts


def _filter_members(around: NodeDraft, drafts: list[NodeDraft]) -> list[NodeDraft]:
    """Return the drafts worth listing: inside a test, only other tests, functions and classes."""
    if around.kind != "statement" or not around.name:
        return drafts
    found = [draft for draft in drafts if draft.name and draft.kind not in ("variable", "constant", "field")]
    around.extra = len(drafts) - len(found)
    return found


def _join_statements(drafts: list[NodeDraft]) -> list[NodeDraft]:
    """Join adjacent statements into one; those that contain definitions, or have a name like a test, stay separate."""
    found: list[NodeDraft] = []
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
    """A syntax node still to be processed, the syntax around it, and whether it lies in damaged text."""

    __slots__ = ("item", "loose", "shells")

    def __init__(self, item: "RuleOutput", shells: tuple[SyntaxWrapper, ...] = (), loose: bool = False) -> None:
        self.item = item
        self.shells = shells
        self.loose = loose


class _Extractor:
    """Applies rules to syntax nodes one after another, with its own stack, so that nesting needs no recursion."""

    def __init__(self, spot: RuleContext, deep: int) -> None:
        self._spot = spot
        self._deep = deep
        self._pending: list[_Pending] = []
        self._before: list[Syntax] = []
        self._found: list[NodeDraft] = []

    def run(self, nodes: "Sequence[RuleOutput]") -> list[NodeDraft]:
        self._push(nodes, (), loose=False)
        while self._pending:
            pending = self._pending.pop()
            item = pending.item
            if isinstance(item, NodeDraft):
                self._add_draft(item, pending)
            elif isinstance(item, WrappedNode):
                shells = (*pending.shells[:_MAX_WRAPPERS], item.shell)
                self._pending.append(_Pending(item.node, shells, pending.loose))
            else:
                self._open(item, pending)
        return self._found

    def _push(self, items: "Sequence[RuleOutput]", shells: tuple[SyntaxWrapper, ...], *, loose: bool) -> None:
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
                self._push(list(rule(node, self._spot)), self._take_wrappers(pending), loose=pending.loose)
            elif not pending.loose:
                self._push(list(statement_rule(node, self._spot)), self._take_wrappers(pending), loose=False)

    def _open_around(self, node: "Syntax", pending: _Pending) -> None:
        """Process a statement that counts by what it defines, or as one statement if it defines nothing."""
        rule = self._spot.grammar.rules[node.type]
        inner = _Extractor(self._spot, self._deep + 1).run(list(rule(node, self._spot))) if self._deep < MAX_DEPTH else []
        if all(draft.kind == "statement" for draft in inner):
            inner = [] if pending.loose else [draft for draft in statement_rule(node, self._spot) if isinstance(draft, NodeDraft)]
        self._push(inner, pending.shells, loose=False)

    def _take_wrappers(self, pending: _Pending) -> tuple[SyntaxWrapper, ...]:
        """Return the wrappers around a node, including the attributes above it."""
        if not self._before:
            return pending.shells
        above = SyntaxWrapper(self._before[0], head=False, decorators=tuple([self._spot.text(node) for node in self._before]))
        self._before = []
        return (above, *pending.shells)

    def _add_draft(self, draft: NodeDraft, pending: _Pending) -> None:
        if pending.loose and draft.kind == "statement":
            return
        for shell in reversed(pending.shells):
            draft.wrap(shell)
        self._found.append(draft)
