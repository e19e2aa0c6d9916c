"""Which definitions and imports of a file each part of it refers to. Told by names and what stands before them, not by types."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from treadle.assistants.reading.outline.draft import Draft
from treadle.assistants.reading.outline.grammar import Grammar
from treadle.assistants.reading.outline.parsing import Parsed
from treadle.assistants.reading.outline.values import CONTAINERS

_OWNER = re.compile(rb"([$@]?\w+)\s*[?!]?(?:\.|->|::)\s*$")
_RECEIVER = re.compile(rb"func\s*\(\s*(\w+)\s+\*?(\w+)")
_NAME_FIRST = re.compile(rb"[(,|]\s*(?:\.\.\.|[*&]{1,2})?(?:\w+\s+)*?([A-Za-z_]\w*)\s*(?=[:,)=|?])")
_TYPE_FIRST = re.compile(rb"[\w*&>\]]\s*[\s*&]([A-Za-z_]\w*)\s*(?=[,)=\[])")
_KEYS = ("property_identifier", "private_property_identifier", "field_identifier")  # by themselves they name a key
_BEFORE = 40  # bytes in which what a member is called on has to be


class Hit(NamedTuple):
    """One mention of a name; `owner` is what it is a member of, as in `owner.name`."""

    at: int
    name: bytes
    owner: bytes | None


class Scope(NamedTuple):
    """What is known at some place: what the file defines and imports, and the members of the class around, by their names."""

    file: frozenset[bytes]
    members: frozenset[bytes] = frozenset()


class _Looking(NamedTuple):
    """What a mention has to be to count: known and not hidden, a member of the class around, or a method of a Go receiver's type.

    `variables` says whether those that begin with `$` count: PHP's functions don't see the ones of the file.
    """

    own: bytes
    scope: Scope
    hidden: set[bytes]
    grammar: Grammar
    receiver: bytes
    methods: frozenset[bytes]
    variables: bool

    def finds(self, hit: Hit) -> bool:
        if hit.name == self.own:
            return False
        if hit.owner is not None:
            here = self.scope.members if hit.owner in self.grammar.selves else self.methods if hit.owner == self.receiver else ()
            return hit.name in here
        if hit.name in self.hidden or (hit.name.startswith(b"$") and not self.variables):
            return False
        return hit.name in self.scope.file or (self.grammar.implicit_self and hit.name in self.scope.members)


class Uses:
    """Finds the names that a draft's text refers to."""

    def __init__(self, drafts: Sequence[Draft], parsed: Parsed) -> None:
        self._parsed = parsed
        self.scope = Scope(frozenset(_defined(drafts)))
        known = self.scope.file | frozenset([child.name.encode() for draft in _all(drafts) for child in draft.children])
        self._hits = list(_hits(parsed, known))
        self._at = [hit.at for hit in self._hits]
        self._methods = _methods_of(drafts, parsed)
        self._last: tuple[tuple[int, int], tuple[str, ...]] = ((-1, -1), ())
        self._together: dict[int, set[bytes]] = {}  # what one statement defines, by where it begins
        for draft in _all(drafts):
            self._together.setdefault(draft.start, set()).add(draft.name.encode())

    def inside(self, draft: Draft, scope: Scope) -> Scope:
        """What is known inside a draft."""
        if draft.kind not in CONTAINERS:
            return scope
        return Scope(scope.file, frozenset([child.name.encode() for child in draft.children]))

    def of(self, draft: Draft, scope: Scope) -> tuple[str, ...]:
        """The names that a draft refers to, in the order of their first use, its own not among them."""
        if draft.kind == "import":
            return ()
        place = (draft.start, draft.end)
        if place != self._last[0]:  # what one statement defines, uses the same
            self._last = (place, self._found(draft, scope))
        return self._last[1]

    def _found(self, draft: Draft, scope: Scope) -> tuple[str, ...]:
        first, last = bisect_left(self._at, draft.start), bisect_left(self._at, draft.end)
        if first == last:
            return ()
        looking = self._looking(draft, scope)
        found = dict.fromkeys([hit.name for hit in self._hits[first:last] if looking.finds(hit)])
        return tuple([name.decode("utf-8", "replace") for name in found])

    def _looking(self, draft: Draft, scope: Scope) -> "_Looking":
        grammar = self._parsed.grammar
        head = self._parsed.source[draft.head : draft.tail]
        hidden = _parameters(head, "name: type" if draft.kind == "macro" else grammar.parameters) | self._together[draft.start]
        if draft.kind in CONTAINERS or draft.kind in ("module", "statement"):
            hidden.update([inner.name.encode() for inner in _all(draft.children)])
        seen = draft.kind in ("statement", "variable", "constant")
        return _Looking(draft.name.encode(), scope, hidden, grammar, *self._receiver(head), variables=seen)

    def _receiver(self, head: bytes) -> tuple[bytes, frozenset[bytes]]:
        """In Go, the name of what a method is called on, and the methods its type has."""
        receiver = _RECEIVER.match(head) if self._methods else None
        return (receiver[1], self._methods.get(receiver[2], frozenset())) if receiver else (b"", frozenset())


def _parameters(head: bytes, order: str) -> set[bytes]:
    """The names of the parameters in a signature, which hide what else has these names."""
    match order:
        case "name: type":
            return set(_NAME_FIRST.findall(head))
        case "type name":
            return set(_TYPE_FIRST.findall(head))
        case _:
            return set()


def _defined(drafts: Sequence[Draft]) -> Iterator[bytes]:
    """What is known everywhere in a file: imports and definitions at its top, and those in its namespaces."""
    pending = list(drafts)
    while pending:
        draft = pending.pop()
        if draft.imported is not None:
            yield from [name.encode() for name in draft.imported.bound()]
        elif draft.name and draft.kind not in ("impl", "statement"):
            yield draft.name.encode()
        if draft.kind in ("module", "statement"):
            pending.extend(draft.children)


def _all(drafts: Sequence[Draft]) -> Iterator[Draft]:
    pending = list(drafts)
    while pending:
        draft = pending.pop()
        yield draft
        pending.extend(draft.children)


def _methods_of(drafts: Sequence[Draft], parsed: Parsed) -> dict[bytes, frozenset[bytes]]:
    """The methods of each type, for a language in which they stand beside it."""
    found: dict[bytes, set[bytes]] = {}
    for draft in drafts:
        if draft.kind == "method" and draft.type == "method_declaration":
            receiver = _RECEIVER.match(parsed.source[draft.head : draft.tail])
            if receiver:
                found.setdefault(receiver[2], set()).add(draft.name.encode())
    return {owner: frozenset(names) for owner, names in found.items()}


def _hits(parsed: Parsed, known: frozenset[bytes]) -> Iterator[Hit]:
    source, label = parsed.source, re.compile(parsed.grammar.label) if parsed.grammar.label else None
    for node in parsed.names:
        start, end = node.start_byte, node.end_byte
        name = source[start:end]
        if source[start - 1 : start] == b"$" and b"$" + name in known:
            name = b"$" + name
        elif name not in known:
            continue
        before = source[max(0, start - _BEFORE) : start].rstrip()
        if before[-1:] == b"." or before[-2:] in (b"->", b"::"):
            owner = _OWNER.search(before)
            yield Hit(start, name, owner[1] if owner else b"")
        elif node.type not in _KEYS and (label is None or label.match(source, end) is None):
            yield Hit(start, name, None)
