"""Provenance of a call's values: a call whose values the user or trusted data gave needs no approval.

Pure, and only checked after untrusted content was read. What a value is for is in `guard.argument_kinds`, its origin in
`guard.origins`, what records say about things the user named in `guard.links`. `docs/provenance.md` has the rule, and its
limits.
"""

from collections.abc import Callable, Iterator
from typing import assert_never

from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.tool import Tool
from treadle.guard.argument_kinds import ArgumentKind, ArgumentLeaf, find_addresses, find_codes, flatten_arguments
from treadle.guard.dates import contains_day, parse_day, strip_days
from treadle.guard.intent import (
    CLAUSES,
    Clause,
    is_action_requested,
    is_data_requested,
    is_detail_waived,
    is_forwarding_requested,
    is_from_named_source,
)
from treadle.guard.links import (
    is_amount_on_record,
    is_day_of_named_record,
    is_described_item,
    is_id_of_named_record,
    is_requested_field,
)
from treadle.guard.origins import Origins
from treadle.guard.outbound import find_read_doubts, is_outbound_link, third_party_of
from treadle.guard.reasons import explain_carried_code, explain_source
from treadle.guard.secret_names import split_name
from treadle.guard.selections import is_choice_left_open
from treadle.guard.text_index import normalize_text, parse_decimal

_MOST_SHOWN = 5
_SHORT_ID = 4  # figures up to which a number may be in a text by chance
_PLACE_NOUNS = frozenset(("channel", "group", "list", "room", "team", "user"))
_ID_NOUNS = frozenset(("id", "ids", "number", "nr", "no", "ref"))


class _CallCheck(Struct, frozen=True):
    """A call, and everything needed to judge one of its values."""

    call_id: str
    tool: Tool
    leaves: tuple[ArgumentLeaf, ...]
    origins: Origins
    clauses: frozenset[Clause]
    literals: frozenset[tuple[str, str | int | float]]


def is_harmless(call: Call, tool: Tool) -> bool:
    """Return whether a call needs no check: it only reads, and sends nothing to a third party."""
    if tool.effect_of(call.arguments) != "read" or third_party_of(tool):
        return False
    return not any(is_outbound_link(leaf) for leaf in flatten_arguments(call.arguments, tool.parameters))


def find_doubts(
    call: Call,
    tool: Tool,
    origins: Origins,
    clauses: frozenset[Clause] = CLAUSES,
    literals: frozenset[tuple[str, str | int | float]] = frozenset(),
) -> tuple[str, ...]:
    """Return why a user has to approve a call, a sentence each; none where every relevant value is vouched for.

    `literals` are values, with the names of their parameters, that the model chose for this tool before it could have read
    anything untrusted.
    """
    asked = _CallCheck(call.id, tool, tuple(flatten_arguments(call.arguments, tool.parameters)), origins, clauses, literals)
    effect = tool.effect_of(call.arguments)
    match effect:
        case "read":
            return _shorten(find_read_doubts(call.arguments, asked.leaves, tool, origins))
        case "destroy":
            return () if _is_action_said(asked) else (f"{tool.name} can't be undone.",)
        case "write":
            return _find_effect_doubts(asked)
        case _:
            assert_never(effect)


def _find_effect_doubts(asked: _CallCheck) -> tuple[str, ...]:
    origins = asked.origins
    found = [doubt for leaf in asked.leaves for doubt in _find_value_doubts(leaf, asked)]
    if not found and not any(_is_anchor(leaf, origins) for leaf in asked.leaves) and not _is_action_said(asked):
        return (f"Nothing in this call of {asked.tool.name} was said by the person.",)
    return _shorten(found)


def _shorten(found: list[str]) -> tuple[str, ...]:
    more = len(found) - _MOST_SHOWN
    return (*found[:_MOST_SHOWN], f"So it is with {more} more.") if more > 0 else tuple(found)


def _find_value_doubts(leaf: ArgumentLeaf, asked: _CallCheck) -> Iterator[str]:
    """Yield the doubts about one value, as sentences."""
    if (leaf.name, leaf.value) in asked.literals:
        return
    if leaf.kind == "text":
        yield from _find_text_doubts(leaf, asked)
    elif not _KNOWN[leaf.kind](leaf, asked):
        yield explain_source(leaf, str(leaf.value), asked.origins)


def _find_text_doubts(leaf: ArgumentLeaf, asked: _CallCheck) -> Iterator[str]:
    """Yield the doubts about a text: links, and numbers or codes it carries out, that nothing vouches for. Words alone are fine."""
    text, origins = str(leaf.value), asked.origins
    if any(words.has(text) for words in origins.said):  # trusted data may be private, and isn't to be sent on unasked
        return
    for place in find_addresses(text):
        if not (origins.is_vouched(place) or _is_forwarded(place, leaf, asked)):
            yield explain_source(leaf, place, origins)
    if any(other.kind == "place" for other in asked.leaves):
        for code in find_codes(strip_days(text)):
            if not (any(words.has(code) for words in origins.said) or _is_data_requested(code, asked)):
                yield explain_carried_code(leaf, code)


def _is_anchor(leaf: ArgumentLeaf, origins: Origins) -> bool:
    """Return whether a value without doubts ties the call to what the user or trusted data said."""
    return leaf.kind not in ("plain", "day") and (leaf.kind != "text" or origins.is_vouched(str(leaf.value)))


# what the person asked for in so many words


def _is_action_said(asked: _CallCheck) -> bool:
    return "deed" in asked.clauses and is_action_requested(asked.tool, asked.leaves, asked.origins)


def _is_forwarded(place: str, leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    return "forward" in asked.clauses and is_forwarding_requested(place, str(leaf.value), asked.leaves, asked.origins)


def _is_data_requested(code: str, asked: _CallCheck) -> bool:
    return "data" in asked.clauses and is_data_requested(code, asked.leaves, asked.origins)


def _is_wanted(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    return ("source" in asked.clauses and is_from_named_source(leaf, asked.origins)) or _is_left_open(leaf, asked)


def _is_left_open(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    if any(each.kind == "text" for each in asked.leaves) and asked.origins.was_given(str(leaf.value), asked.call_id):
        return False  # one message each: several could spell something, by which of the user's words are in them
    return is_choice_left_open(leaf, asked.leaves, asked.tool, asked.origins, asked.clauses)


# whether a value is vouched for, by what it is for


def _is_vouched(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    return asked.origins.is_vouched(str(leaf.value))


def _is_known_place(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    nouns, value, origins = _PLACE_NOUNS | {*split_name(leaf.name)}, str(leaf.value), asked.origins
    said = any(words.has_place(value, nouns) for words in origins.known)
    return said or is_requested_field(leaf, origins) or is_described_item(leaf, origins) or _is_wanted(leaf, asked)


def _is_known_thing(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    return _is_vouched(leaf, asked) or _is_left_open(leaf, asked)


def _is_known_power(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    """Said; a right from a short list in full or by its beginning, as `r` is by read; a boolean by the name of what it allows."""
    if isinstance(leaf.value, bool):
        return not leaf.value or any(words.has_words(word) for words in asked.origins.said for word in split_name(leaf.name))
    if leaf.choices:
        return any(words.has_beginning(str(leaf.value)) for words in asked.origins.said)
    return _is_vouched(leaf, asked)


def _is_known_id(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    """Said, a short number as the id of such a thing; or the id of a record that the user named."""
    value, origins = str(leaf.value), asked.origins
    if value.isdigit() and len(value) <= _SHORT_ID:
        nouns = _ID_NOUNS | {*split_name(leaf.name)}
        return any(words.has_short_id(value, nouns) for words in origins.known) or is_id_of_named_record(leaf, origins)
    return origins.is_vouched(value) or is_id_of_named_record(leaf, origins)


def _is_known_title(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    """Said; or a template of the user's, filled in with something that contains no link or address."""
    value = str(leaf.value)
    if asked.origins.is_vouched(value):
        return True
    fits = any(template.fullmatch(normalize_text(value)) for words in asked.origins.said for template in words.templates)
    return fits and not find_addresses(value)


def _is_known_amount(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    """Said; or at most what is on record with the call's own recipient, whom the user said."""
    number, origins = parse_decimal(leaf.value), asked.origins
    if number is None:
        return _is_vouched(leaf, asked)
    if any(number in words.numbers for words in origins.known):
        return True
    places = {str(other.value) for other in asked.leaves if other.kind == "place"}
    said = {place for place in places if any(words.has(place) for words in origins.said)}
    if is_amount_on_record(number, leaf.name, said, origins):
        return True
    return "detail" in asked.clauses and is_detail_waived(number, asked.leaves, origins)


def _is_known_day(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    """Said; or of a record that the user named; or in no untrusted running text, and so not planted."""
    day, origins = parse_day(str(leaf.value)), asked.origins
    assert day is not None  # a leaf of this kind is a day
    if any(contains_day(day, words.days) for words in origins.known) or is_day_of_named_record(day, origins):
        return True
    return not any(contains_day(day, loose.running_days) for loose in origins.loose)


def _is_always_known(leaf: ArgumentLeaf, asked: _CallCheck) -> bool:
    return True


_KNOWN: dict[ArgumentKind, Callable[[ArgumentLeaf, _CallCheck], bool]] = {
    "place": _is_known_place,
    "power": _is_known_power,
    "id": _is_known_id,
    "thing": _is_known_thing,
    "title": _is_known_title,
    "amount": _is_known_amount,
    "day": _is_known_day,
    "plain": _is_always_known,
}
