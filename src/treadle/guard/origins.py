"""Where the values of a run come from: the user and the operator, trusted tools, and untrusted content.

A fold over the conversation, held by the run and extended as it grows. It judges nothing; `guard.provenance` does.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from treadle.core.calls import Call, Result
from treadle.core.messages import Message, Quote
from treadle.guard.argument_kinds import ArgumentLeaf, classify_argument_name, find_addresses, flatten_arguments, is_link
from treadle.guard.dates import Day, find_days, parse_day
from treadle.guard.records import ResultRecord, find_text_fields, parse_records
from treadle.guard.text_index import TextIndex, normalize_text, parse_decimal, split_tokens, stem_tokens

Reads = Callable[[str], bool]
Party = Callable[[str], str | None]

_FILE = re.compile(r"\w\.\w")  # a page's address or a file's name
_NOT_RUN = frozenset(("denied", "unknown_tool", "unreadable", "cut_off", "invalid", "limit", "repeat"))


class UntrustedResult:
    """A tool result that nothing vouches for by itself."""

    def __init__(self, result: Result, asked: tuple[str, ...] = (), pages: tuple[str, ...] = ()) -> None:
        self.name = result.name
        self.asked = asked  # what of the person's own words it was asked with
        self.pages = pages  # the pages and files among them
        self._text = result.content
        self._structured = result.structured
        self.words = TextIndex(self._text)

    @cached_property
    def records(self) -> tuple[ResultRecord, ...]:
        """Its records; none in a text, which may say anything."""
        return parse_records(self._text) if self._structured else ()

    @cached_property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The texts that its tool put in separate fields, with their names; none in a text, which may say anything."""
        return find_text_fields(self._text) if self._structured else ()

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The same texts without their names."""
        return tuple([text for _, text in self.fields])

    @cached_property
    def names(self) -> frozenset[str]:
        """Those of them that can be names of things or people: not what is in a field for words to be read."""
        return frozenset([text for name, text in self.fields if classify_argument_name(name) != "text"])

    @cached_property
    def running_days(self) -> frozenset[Day]:
        """The days that its text mentions; one that is all there is in a field was filled in by the tool."""
        texts = [item for item in self.items if parse_day(item) is None]
        return frozenset([day for text in texts for day in find_days(text)]) if self._structured else self.words.days

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The addresses and links in it."""
        return tuple([place for text in (self.items if self._structured else (self._text,)) for place in find_addresses(text)])

    def says(self, value: str) -> bool:
        """Return whether it contains a value."""
        number = parse_decimal(value)
        return self.words.has(value) or (number is not None and number in self.words.numbers)


class Origins:
    """The origins of all values in a run, so far.

    After the first untrusted result, what a trusted tool returns is vouched for only if every value it was called with is: a
    tool that repeats its input makes nothing true. Once a call with an effect included anything else, what trusted tools
    return may be that.
    """

    def __init__(self, reads: Reads, party: Party = lambda name: "", *, person: bool = True) -> None:
        self._reads = reads
        self._party = party
        self._person = person
        self.said: list[TextIndex] = []  # by the person or the operator
        self.wishes: list[TextIndex] = []  # by the person
        self.trusted: list[UntrustedResult] = []
        self.loose: list[UntrustedResult] = []
        self.followed: frozenset[str] = frozenset()  # links that were asked for
        self._given: dict[str, frozenset[str]] = {}  # the texts in calls with an effect, by call
        self._parties: Counter[str] = Counter()
        self._tainted = False
        self._spoilt = False
        self._calls: dict[str, Call] = {}

    def copy(self) -> "Origins":
        """Return an independent copy."""
        other = Origins(self._reads, self._party, person=self._person)
        other.said, other.wishes, other.trusted, other.loose = [*self.said], [*self.wishes], [*self.trusted], [*self.loose]
        other.followed, other._parties, other._given = self.followed, self._parties.copy(), {**self._given}
        other._tainted, other._spoilt, other._calls = self._tainted, self._spoilt, {**self._calls}
        return other

    def told(self, text: str) -> None:
        """Add the operator's instructions."""
        if text:
            self.said.append(TextIndex(text))

    def add_context(self, source: str, text: str) -> None:
        """Add untrusted context: what the run began with, or what a user added to a message."""
        self.loose.append(UntrustedResult(Result("", source, text, None, untrusted=True)))
        self._parties.update(("",))
        self._tainted = True

    def heard(self, message: Message) -> None:
        """Add one more message."""
        if message.role == "person" and self._person:
            self.told(message.text)
            self.wishes.append(TextIndex(message.text))
        for part in message.parts:
            if isinstance(part, Call):
                self._calls[part.id] = part
            elif isinstance(part, Result):
                self.add_result(self._calls.pop(part.call_id, None), part)
            elif isinstance(part, Quote):
                self.add_context(part.source, part.text)

    def add_result(self, call: Call | None, result: Result) -> None:
        """Add one more result, with its call."""
        vouched = not self._tainted or (call is not None and not self._spoilt and self._are_known(call.arguments))
        texts = [] if call is None else _find_texts(call)
        asked = tuple([text for text in texts if self._is_phrase(text)])
        pages = tuple([text for text in asked if _FILE.search(text) and any(words.has(text) for words in self.wishes)])
        returned = UntrustedResult(result, asked, pages)
        trusted = vouched and result.problem is None and not result.untrusted
        (self.trusted if trusted else self.loose).append(returned)
        self._tainted = self._tainted or result.untrusted
        if result.problem not in _NOT_RUN:
            self._record_call(result.name, texts, vouched=vouched)
            if call is not None:
                self.add_open_call(call)

    def add_open_call(self, call: Call) -> None:
        """Add a call that may be made, without its result."""
        if not self._reads(call.name):
            self._given[call.id] = frozenset(_find_texts(call))

    def was_given(self, value: str, call_id: str) -> bool:
        """Return whether another call with an effect has this value, before or beside this one."""
        return any(value in texts for other, texts in self._given.items() if other != call_id)

    def _record_call(self, name: str, texts: list[str], *, vouched: bool) -> None:
        party = self._party(name)
        self._parties.update(() if party is None else (party,))
        self.followed |= frozenset([normalize_text(text) for text in texts if is_link(text)])
        self._spoilt = self._spoilt or not (vouched or self._reads(name))

    def elsewhere(self, party: str) -> bool:
        """Return whether the run has any data that a third party didn't provide itself, other than what the user said."""
        return not (party and self._person) or bool(self._parties.keys() - {party})

    def requests_to(self, party: str) -> int:
        """Return how many calls went to a third party so far."""
        return self._parties[party]

    def _is_phrase(self, value: str) -> bool:
        return len(split_tokens(value)) > 1 and self.names(value)

    def is_vouched(self, value: str) -> bool:
        """Return whether the user or trusted data contains this value."""
        return any(words.has(value) for words in self.known)

    def names(self, value: str) -> bool:
        """Return whether the user said this name of a thing, in any spelling."""
        return any(words.has_words(value) for words in self.said)

    def says_every_word(self, value: str) -> bool:
        """Return whether each word of a text was said by the user or the operator, in any order; stop words don't count."""
        roots: frozenset[str] = frozenset[str]().union(*[words.roots for words in self.said])
        return stem_tokens(value) <= roots

    @property
    def beginnings(self) -> Iterable[str]:
        """What the user said that something starts with."""
        return (start for words in self.said for start in words.beginnings)

    @property
    def known(self) -> Iterable[TextIndex]:
        """All texts that are vouched for."""
        return (*self.said, *[each.words for each in self.trusted])

    def _are_known(self, arguments: Mapping[str, Any]) -> bool:
        return all(self._is_known(leaf) for leaf in flatten_arguments(arguments, {}))

    def _is_known(self, leaf: ArgumentLeaf) -> bool:
        if isinstance(leaf.value, bool):
            return True
        number = None if isinstance(leaf.value, str) else parse_decimal(leaf.value)
        return any(number in words.numbers if number is not None else words.has(str(leaf.value)) for words in self.known)


def _find_texts(call: Call) -> list[str]:
    return [leaf.value for leaf in flatten_arguments(call.arguments, {}) if isinstance(leaf.value, str)]
