"""Where the values of a run come from: what the person and the operator said, what trusted tools said, and what anybody may have.

A fold over the conversation, kept by the run and made longer as it grows. It judges nothing; `guard.provenance` does.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from treadle.core.calls import Call, Result
from treadle.core.messages import Message
from treadle.guard.days import Day, day_of, days_in
from treadle.guard.kinds import Leaf, is_link, leaves_of, places_in
from treadle.guard.records import Record, items_in, records_in
from treadle.guard.words import Words, flat, number_of, parts_of, roots_of

Reads = Callable[[str], bool]
Party = Callable[[str], str | None]

_FILE = re.compile(r"\w\.\w")  # a page's address or a file's name
_NOT_RUN = frozenset(("denied", "unknown_tool", "unreadable", "cut_off", "invalid", "limit", "repeat"))


class Loose:
    """What a tool returned: by itself nobody vouches for it."""

    def __init__(self, result: Result, asked: tuple[str, ...] = (), pages: tuple[str, ...] = ()) -> None:
        self.name = result.name
        self.asked = asked  # what of the person's own words it was asked with
        self.pages = pages  # the pages and files among them
        self._text = result.content
        self._structured = result.structured
        self.words = Words(self._text)

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """Its records; none in a text, which may say anything."""
        return records_in(self._text) if self._structured else ()

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The texts that its tool put by themselves; none in a text, which may say anything."""
        return items_in(self._text) if self._structured else ()

    @cached_property
    def running_days(self) -> frozenset[Day]:
        """The days that it speaks of; one that is all there is in a field was filled in by the tool."""
        texts = [item for item in self.items if day_of(item) is None]
        return frozenset([day for text in texts for day in days_in(text)]) if self._structured else self.words.days

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The addresses and links in it."""
        return tuple([place for text in (self.items if self._structured else (self._text,)) for place in places_in(text)])

    def says(self, value: str) -> bool:
        """Whether a value is in it."""
        number = number_of(value)
        return self.words.has(value) or (number is not None and number in self.words.numbers)


class Origins:
    """Who said what in a run, so far.

    After the first untrusted result, what a trusted tool returns is vouched for only if every value it was called with is:
    a tool that repeats what it is told makes nothing true. Once a call with an effect took anything else along, what trusted
    tools return may be that.
    """

    def __init__(self, reads: Reads, party: Party = lambda name: "", *, person: bool = True) -> None:
        self._reads = reads
        self._party = party
        self._person = person
        self.said: list[Words] = []  # by the person or the operator
        self.wishes: list[Words] = []  # by the person
        self.trusted: list[Loose] = []
        self.loose: list[Loose] = []
        self.followed: frozenset[str] = frozenset()  # links that were asked for
        self._parties: Counter[str] = Counter()
        self._tainted = False
        self._spoilt = False
        self._calls: dict[str, Call] = {}

    def copy(self) -> "Origins":
        """One that goes on by itself."""
        other = Origins(self._reads, self._party, person=self._person)
        other.said, other.wishes, other.trusted, other.loose = [*self.said], [*self.wishes], [*self.trusted], [*self.loose]
        other.followed, other._parties = self.followed, self._parties.copy()
        other._tainted, other._spoilt, other._calls = self._tainted, self._spoilt, {**self._calls}
        return other

    def told(self, text: str) -> None:
        """The operator said this."""
        if text:
            self.said.append(Words(text))

    def heard(self, message: Message) -> None:
        """One more message."""
        if message.role == "person" and self._person:
            self.told(message.text)
            self.wishes.append(Words(message.text))
        for part in message.parts:
            if isinstance(part, Call):
                self._calls[part.id] = part
            elif isinstance(part, Result):
                self.returned(self._calls.pop(part.call_id, None), part)

    def returned(self, call: Call | None, result: Result) -> None:
        """One more result, and the call it is of."""
        vouched = not self._tainted or (call is not None and not self._spoilt and self._vouches(call.arguments))
        texts = [] if call is None else [leaf.value for leaf in leaves_of(call.arguments, {}) if isinstance(leaf.value, str)]
        asked = tuple([text for text in texts if self._is_phrase(text)])
        pages = tuple([text for text in asked if _FILE.search(text) and any(words.has(text) for words in self.wishes)])
        returned = Loose(result, asked, pages)
        trusted = vouched and result.problem is None and not result.untrusted
        (self.trusted if trusted else self.loose).append(returned)
        self._tainted = self._tainted or result.untrusted
        if result.problem not in _NOT_RUN:
            self._ran(result.name, texts, vouched=vouched)

    def _ran(self, name: str, texts: list[str], *, vouched: bool) -> None:
        party = self._party(name)
        self._parties.update(() if party is None else (party,))
        self.followed |= frozenset([flat(text) for text in texts if is_link(text)])
        self._spoilt = self._spoilt or not (vouched or self._reads(name))

    def elsewhere(self, party: str) -> bool:
        """Whether there is anything in this run that a third party didn't say itself, other than what the person said."""
        return not (party and self._person) or bool(self._parties.keys() - {party})

    def requests_to(self, party: str) -> int:
        """How many calls went to a third party so far."""
        return self._parties[party]

    def _is_phrase(self, value: str) -> bool:
        return len(parts_of(value)) > 1 and self.names(value)

    def vouched(self, value: str) -> bool:
        """Whether the person or trusted data says this value."""
        return any(words.has(value) for words in self.known)

    def names(self, value: str) -> bool:
        """Whether the person said this name of a thing, in whatever spelling."""
        return any(words.has_words(value) for words in self.said)

    def says_every_word(self, value: str) -> bool:
        """Whether each word of a text was said by the person or the operator, in whatever order; small words are nobody's."""
        roots: frozenset[str] = frozenset[str]().union(*[words.roots for words in self.said])
        return roots_of(value) <= roots

    @property
    def beginnings(self) -> Iterable[str]:
        """What the person said that something starts with."""
        return (start for words in self.said for start in words.beginnings)

    @property
    def known(self) -> Iterable[Words]:
        """All that is vouched for."""
        return (*self.said, *[each.words for each in self.trusted])

    def _vouches(self, arguments: Mapping[str, Any]) -> bool:
        return all(self._says(leaf) for leaf in leaves_of(arguments, {}))

    def _says(self, leaf: Leaf) -> bool:
        if isinstance(leaf.value, bool):
            return True
        number = None if isinstance(leaf.value, str) else number_of(leaf.value)
        return any(number in words.numbers if number is not None else words.has(str(leaf.value)) for words in self.known)
