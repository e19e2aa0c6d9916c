"""Find which definitions and imports of a file each part refers to, by names and their qualifiers, not by types."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from treadle.assistants.reading.outline.grammar import Grammar
from treadle.assistants.reading.outline.node_draft import NodeDraft
from treadle.assistants.reading.outline.nodes import CONTAINERS
from treadle.assistants.reading.outline.parsing import ParsedSource

_OWNER = re.compile(rb"([$@]?\w+)\s*[?!]?(?:\.|->|::)\s*$")
_RECEIVER = re.compile(rb"func\s*\(\s*(\w+)\s+\*?(\w+)")
_NAME_FIRST = re.compile(rb"[(,|]\s*(?:\.\.\.|[*&]{1,2})?(?:\w+\s+)*?([A-Za-z_]\w*)\s*(?=[:,)=|?])")
_TYPE_FIRST = re.compile(rb"[\w*&>\]]\s*[\s*&]([A-Za-z_]\w*)\s*(?=[,)=\[])")
KEY_TYPES = ("property_identifier", "private_property_identifier", "field_identifier")  # by themselves they name a key
_MAY_QUALIFY = frozenset((b".", b">", b":", b" ", b"\n", b"\t", b"\r"))  # what may stand before a qualified name
_BEFORE = 40  # bytes in which what a member is called on has to be


class NameMention(NamedTuple):
    """One mention of a name; `owner` is its qualifier, as in `owner.name`."""

    at: int
    name: bytes
    owner: bytes | None


class NameScope(NamedTuple):
    """The names known at a position: the file's definitions and imports, and the members of the enclosing class."""

    file: frozenset[bytes]
    members: frozenset[bytes] = frozenset()


class _ReferenceFilter(NamedTuple):
    """Which mentions count: names that are known and not hidden, members of the enclosing class, methods of a Go receiver's type.

    `variables` says whether names that begin with `$` count: PHP's functions don't see those of the file.
    """

    own: bytes
    scope: NameScope
    hidden: set[bytes]
    grammar: Grammar
    receiver: bytes
    methods: frozenset[bytes]
    variables: bool

    def finds(self, hit: NameMention) -> bool:
        if hit.name == self.own:
            return False
        if hit.owner is not None:
            here = self.scope.members if hit.owner in self.grammar.selves else self.methods if hit.owner == self.receiver else ()
            return hit.name in here
        if hit.name in self.hidden or (hit.name.startswith(b"$") and not self.variables):
            return False
        return hit.name in self.scope.file or (self.grammar.implicit_self and hit.name in self.scope.members)


class ReferenceFinder:
    """Finds the names that a draft's text refers to."""

    def __init__(self, drafts: Sequence[NodeDraft], parsed: ParsedSource) -> None:
        self._parsed = parsed
        self.scope = NameScope(frozenset(_defined_names(drafts)))
        known = self.scope.file | frozenset([child.name.encode() for draft in _walk_drafts(drafts) for child in draft.children])
        self._hits = list(_find_mentions(parsed, known))
        self._at = [hit.at for hit in self._hits]
        self._methods = _methods_of(drafts, parsed)
        self._last: tuple[tuple[int, int], tuple[str, ...]] = ((-1, -1), ())
        self._together: dict[int, set[bytes]] = {}  # what one statement defines, by where it begins
        for draft in _walk_drafts(drafts):
            self._together.setdefault(draft.start, set()).add(draft.name.encode())

    def inside(self, draft: NodeDraft, scope: NameScope) -> NameScope:
        """Return the scope inside a draft."""
        if draft.kind not in CONTAINERS:
            return scope
        return NameScope(scope.file, frozenset([child.name.encode() for child in draft.children]))

    def of(self, draft: NodeDraft, scope: NameScope) -> tuple[str, ...]:
        """Return the names that a draft refers to, in order of first use, without its own."""
        if draft.kind == "import":
            return ()
        place = (draft.start, draft.end)
        if place != self._last[0]:  # what one statement defines, uses the same
            self._last = (place, self._find_names(draft, scope))
        return self._last[1]

    def _find_names(self, draft: NodeDraft, scope: NameScope) -> tuple[str, ...]:
        first, last = bisect_left(self._at, draft.start), bisect_left(self._at, draft.end)
        if first == last:
            return ()
        looking = self._build_filter(draft, scope)
        found = dict.fromkeys([hit.name for hit in self._hits[first:last] if looking.finds(hit)])
        return tuple([name.decode("utf-8", "replace") for name in found])

    def _build_filter(self, draft: NodeDraft, scope: NameScope) -> "_ReferenceFilter":
        grammar = self._parsed.grammar
        head = self._parsed.source[draft.head : draft.tail]
        hidden = _parameter_names(head, "name: type" if draft.kind == "macro" else grammar.parameters) | self._together[draft.start]
        if draft.kind in CONTAINERS or draft.kind in ("module", "statement"):
            hidden.update([inner.name.encode() for inner in _walk_drafts(draft.children)])
        seen = draft.kind in ("statement", "variable", "constant")
        return _ReferenceFilter(draft.name.encode(), scope, hidden, grammar, *self._receiver(head), variables=seen)

    def _receiver(self, head: bytes) -> tuple[bytes, frozenset[bytes]]:
        """Return the name of a Go method's receiver, and the methods of its type."""
        receiver = _RECEIVER.match(head) if self._methods else None
        return (receiver[1], self._methods.get(receiver[2], frozenset())) if receiver else (b"", frozenset())


def _parameter_names(head: bytes, order: str) -> set[bytes]:
    """Return the parameter names of a signature, which hide other definitions of these names."""
    match order:
        case "name: type":
            return set(_NAME_FIRST.findall(head))
        case "type name":
            return set(_TYPE_FIRST.findall(head))
        case _:
            return set()


def _defined_names(drafts: Sequence[NodeDraft]) -> Iterator[bytes]:
    """Yield the names known everywhere in a file: imports, top-level definitions, and those in namespaces."""
    pending = list(drafts)
    while pending:
        draft = pending.pop()
        if draft.imported is not None:
            yield from [name.encode() for name in draft.imported.bound()]
        elif draft.name and draft.kind not in ("impl", "statement"):
            yield draft.name.encode()
        if draft.kind in ("module", "statement"):
            pending.extend(draft.children)


def _walk_drafts(drafts: Sequence[NodeDraft]) -> Iterator[NodeDraft]:
    pending = list(drafts)
    while pending:
        draft = pending.pop()
        yield draft
        pending.extend(draft.children)


def _methods_of(drafts: Sequence[NodeDraft], parsed: ParsedSource) -> dict[bytes, frozenset[bytes]]:
    """Return the methods of each type, for a language in which they are written beside it."""
    found: dict[bytes, set[bytes]] = {}
    for draft in drafts:
        if draft.kind == "method" and draft.type == "method_declaration":
            receiver = _RECEIVER.match(parsed.source[draft.head : draft.tail])
            if receiver:
                found.setdefault(receiver[2], set()).add(draft.name.encode())
    return {owner: frozenset(names) for owner, names in found.items()}


def find_qualifier(source: bytes, start: int) -> bytes | None:
    """Return the qualifier of a name that starts at a position: `owner` in `owner.name`, empty for any other; None if bare."""
    if source[start - 1 : start] not in _MAY_QUALIFY:
        return None
    before = source[max(0, start - _BEFORE) : start].rstrip()
    if before[-1:] != b"." and before[-2:] not in (b"->", b"::"):
        return None
    owner = _OWNER.search(before)
    return owner[1] if owner else b""


def _find_mentions(parsed: ParsedSource, known: frozenset[bytes]) -> Iterator[NameMention]:
    source, label = parsed.source, re.compile(parsed.grammar.label) if parsed.grammar.label else None
    for node in parsed.names:
        start, end = node.start_byte, node.end_byte
        name = source[start:end]
        if source[start - 1 : start] == b"$" and b"$" + name in known:
            name = b"$" + name
        elif name not in known:
            continue
        owner = find_qualifier(source, start)
        if owner is not None:
            yield NameMention(start, name, owner)
        elif node.type not in KEY_TYPES and (label is None or label.match(source, end) is None):
            yield NameMention(start, name, None)
