"""Where the values of a call come from, and what follows: a call whose values the person or trusted data gave needs no asking.

Pure, and only asked after untrusted content was read. What a value is for is `guard.kinds`, who said what is `guard.origins`,
what records say about things the person named is `guard.links`. `docs/provenance.md` has the rule in words, and what it can't see.
"""

from collections.abc import Callable, Iterator
from typing import assert_never

from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.tool import Tool
from treadle.guard.days import day_of, named, without_days
from treadle.guard.intent import (
    CLAUSES,
    Clause,
    data_asked_for,
    deed_asked_for,
    detail_waived,
    forward_asked_for,
    found_at_source,
    left_open,
)
from treadle.guard.kinds import Kind, Leaf, codes_in, leaves_of, places_in
from treadle.guard.links import amount_on_record, day_of_named, described, field_asked_for, id_of_named
from treadle.guard.names import words_of
from treadle.guard.origins import Origins
from treadle.guard.outbound import doubts_of_read, leads_out, party_of
from treadle.guard.reasons import carrying_reason, source_reason
from treadle.guard.words import flat, number_of

_MOST_SHOWN = 5
_SHORT_ID = 4  # figures up to which a number may be in a text by chance
_PLACE_NOUNS = frozenset(("channel", "group", "list", "room", "team", "user"))
_ID_NOUNS = frozenset(("id", "ids", "number", "nr", "no", "ref"))


class _Asked(Struct, frozen=True):
    """A call, and all it takes to judge one value of it."""

    leaves: tuple[Leaf, ...]
    origins: Origins
    clauses: frozenset[Clause]


def is_harmless(call: Call, tool: Tool) -> bool:
    """Whether a call needs no looking into: it only reads, and tells no third party anything."""
    if tool.effect_of(call.arguments) != "read" or party_of(tool):
        return False
    return not any(leads_out(leaf) for leaf in leaves_of(call.arguments, tool.parameters))


def doubts(call: Call, tool: Tool, origins: Origins, clauses: frozenset[Clause] = CLAUSES) -> tuple[str, ...]:
    """Why a person has to look at a call, a sentence each; none where every value that matters is vouched for."""
    asked = _Asked(tuple(leaves_of(call.arguments, tool.parameters)), origins, clauses)
    effect = tool.effect_of(call.arguments)
    match effect:
        case "read":
            return _shortened(doubts_of_read(call.arguments, asked.leaves, tool, origins))
        case "destroy":
            return () if _deed_said(asked, tool) else (f"{tool.name} can't be undone.",)
        case "write":
            return _doubts_of_effect(asked, tool)
        case _:
            assert_never(effect)


def _doubts_of_effect(asked: _Asked, tool: Tool) -> tuple[str, ...]:
    origins = asked.origins
    found = [doubt for leaf in asked.leaves for doubt in _doubts_of(leaf, asked)]
    if not found and not any(_anchors(leaf, origins) for leaf in asked.leaves) and not _deed_said(asked, tool):
        return (f"Nothing in this call of {tool.name} was said by the person.",)
    return _shortened(found)


def _shortened(found: list[str]) -> tuple[str, ...]:
    more = len(found) - _MOST_SHOWN
    return (*found[:_MOST_SHOWN], f"So it is with {more} more.") if more > 0 else tuple(found)


def _doubts_of(leaf: Leaf, asked: _Asked) -> Iterator[str]:
    """What is doubtful about one value, in words."""
    if leaf.kind == "text":
        yield from _doubts_in_text(leaf, asked)
    elif not _KNOWN[leaf.kind](leaf, asked):
        yield source_reason(leaf, str(leaf.value), asked.origins)


def _doubts_in_text(leaf: Leaf, asked: _Asked) -> Iterator[str]:
    """Words may say anything, but not lead somewhere, nor carry a number or code out, that nobody vouches for."""
    text, origins = str(leaf.value), asked.origins
    if any(words.has(text) for words in origins.said):  # trusted data may be private, and isn't to be sent on unasked
        return
    for place in places_in(text):
        if not (origins.vouched(place) or _forwarded(place, leaf, asked)):
            yield source_reason(leaf, place, origins)
    if any(other.kind == "place" for other in asked.leaves):
        for code in codes_in(without_days(text)):
            if not (any(words.has(code) for words in origins.said) or _sent_on(code, asked)):
                yield carrying_reason(leaf, code)


def _anchors(leaf: Leaf, origins: Origins) -> bool:
    """Whether a value without doubts ties the call to what the person or trusted data said."""
    return leaf.kind not in ("plain", "day") and (leaf.kind != "text" or origins.vouched(str(leaf.value)))


# what the person asked for in so many words


def _deed_said(asked: _Asked, tool: Tool) -> bool:
    return "deed" in asked.clauses and deed_asked_for(tool, asked.leaves, asked.origins)


def _forwarded(place: str, leaf: Leaf, asked: _Asked) -> bool:
    return "forward" in asked.clauses and forward_asked_for(place, str(leaf.value), asked.leaves, asked.origins)


def _sent_on(code: str, asked: _Asked) -> bool:
    return "data" in asked.clauses and data_asked_for(code, asked.leaves, asked.origins)


def _wanted(leaf: Leaf, asked: _Asked) -> bool:
    if "source" in asked.clauses and found_at_source(leaf, asked.origins):
        return True
    return "choice" in asked.clauses and left_open(leaf, asked.leaves, asked.origins)


# whether a value is vouched for, by what it is for


def _vouched(leaf: Leaf, asked: _Asked) -> bool:
    return asked.origins.vouched(str(leaf.value))


def _known_place(leaf: Leaf, asked: _Asked) -> bool:
    nouns, value, origins = _PLACE_NOUNS | {*words_of(leaf.name)}, str(leaf.value), asked.origins
    said = any(words.has_place(value, nouns) for words in origins.known)
    return said or field_asked_for(leaf, origins) or described(leaf, origins) or _wanted(leaf, asked)


def _known_thing(leaf: Leaf, asked: _Asked) -> bool:
    return _vouched(leaf, asked) or ("choice" in asked.clauses and left_open(leaf, asked.leaves, asked.origins))


def _known_power(leaf: Leaf, asked: _Asked) -> bool:
    """A right that is one of a few is said in full or by its beginning, as `r` is by read; a yes by the name of what it allows."""
    if isinstance(leaf.value, bool):
        return not leaf.value or any(words.has_words(word) for words in asked.origins.said for word in words_of(leaf.name))
    if leaf.choices:
        return any(words.has_beginning(str(leaf.value)) for words in asked.origins.said)
    return _vouched(leaf, asked)


def _known_id(leaf: Leaf, asked: _Asked) -> bool:
    """Said, a short number as that of such a thing; or the id of a record that the person named."""
    value, origins = str(leaf.value), asked.origins
    if value.isdigit() and len(value) <= _SHORT_ID:
        nouns = _ID_NOUNS | {*words_of(leaf.name)}
        return any(words.has_short_id(value, nouns) for words in origins.known) or id_of_named(leaf, origins)
    return origins.vouched(value) or id_of_named(leaf, origins)


def _known_title(leaf: Leaf, asked: _Asked) -> bool:
    """Said; or what the person asked for with a gap, filled in with something that leads nowhere."""
    value = str(leaf.value)
    if asked.origins.vouched(value):
        return True
    fits = any(template.fullmatch(flat(value)) for words in asked.origins.said for template in words.templates)
    return fits and not places_in(value)


def _known_amount(leaf: Leaf, asked: _Asked) -> bool:
    """Said; or at most what is on record with the call's own recipient, whom the person said."""
    number, origins = number_of(leaf.value), asked.origins
    if number is None:
        return _vouched(leaf, asked)
    if any(number in words.numbers for words in origins.known):
        return True
    places = {str(other.value) for other in asked.leaves if other.kind == "place"}
    said = {place for place in places if any(words.has(place) for words in origins.said)}
    if amount_on_record(number, leaf.name, said, origins):
        return True
    return "detail" in asked.clauses and detail_waived(number, asked.leaves, origins)


def _known_day(leaf: Leaf, asked: _Asked) -> bool:
    """Said; or of a record that the person named; or in no untrusted running text, and so not planted."""
    day, origins = day_of(str(leaf.value)), asked.origins
    assert day is not None  # a leaf of this kind is a day
    if any(named(day, words.days) for words in origins.known) or day_of_named(day, origins):
        return True
    return not any(named(day, loose.running_days) for loose in origins.loose)


def _always(leaf: Leaf, asked: _Asked) -> bool:
    return True


_KNOWN: dict[Kind, Callable[[Leaf, _Asked], bool]] = {
    "place": _known_place,
    "power": _known_power,
    "id": _known_id,
    "thing": _known_thing,
    "title": _known_title,
    "amount": _known_amount,
    "day": _known_day,
    "plain": _always,
}
