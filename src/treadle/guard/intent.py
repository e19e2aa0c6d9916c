"""What the user explicitly requested: an action, data to be sent on, an address from a page they named. Pure.

Each clause removes a doubt about a call whose values the user didn't give one by one. All go by the user's own words: what
the operator or a tool says is no request. Values that the user left to be selected are in `guard.selections`.
`bench.agentdojo` leaves clauses out, to measure the others on suites they weren't made for.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal, get_args

from treadle.core.tool import Tool
from treadle.guard.argument_kinds import ArgumentLeaf, find_addresses, find_codes
from treadle.guard.dates import contains_day, parse_day
from treadle.guard.links import find_named_records
from treadle.guard.origins import Origins, UntrustedResult
from treadle.guard.secret_names import split_name
from treadle.guard.text_index import TextIndex, parse_decimal, stem_tokens

Leaves = tuple[ArgumentLeaf, ...]
Clause = Literal["deed", "data", "forward", "source", "choice", "person", "wording", "detail"]
CLAUSES: frozenset[Clause] = frozenset(get_args(Clause))

_NEGATIONS = stem_tokens("not never avoid except unless without instead cannot don't")
_VERBS = frozenset(("get", "list", "read", "search", "find", "fetch", "view", "show", "load", "query", "check", "look", "all"))
_ID_NOUNS = frozenset(("id", "ids", "number", "nr", "no", "ref"))
_CALLED = {"@": stem_tokens("mail email address"), ".": stem_tokens("link url website page site address")}
_SHORT_ID = 4
_TOKEN_AMOUNT = Decimal(1)
_WAIVER = re.compile(r"\b(?:without asking(?: me)?|(?:do not|don.?t|no need to) ask(?: me)?)\b", re.IGNORECASE)


def is_action_requested(tool: Tool, leaves: Leaves, origins: Origins) -> bool:
    """Return whether one sentence of the user contains all words of a tool's name and every value of the call, and no "not"."""
    deed = stem_tokens(tool.name)
    return bool(deed) and any(
        deed <= sentence.roots and not _NEGATIONS & sentence.roots and all(is_mentioned(leaf, sentence) for leaf in leaves)
        for sentence in _iter_sentences(origins)
    )


def is_data_requested(code: str, leaves: Leaves, origins: Origins) -> bool:
    """Return whether a code may go where the user said: it is of a record they named, or in data one of their sentences names."""
    return any(
        code in find_codes(text)
        for wish in _find_wishes_with_places(leaves, origins)
        for text in (*_iter_named_texts(origins), *_iter_field_texts(wish, origins), *_iter_tool_texts(wish, origins))
    )


def is_forwarding_requested(place: str, text: str, leaves: Leaves, origins: Origins) -> bool:
    """Return whether an address or link is in the content the user wanted forwarded, and that is forwarded completely."""
    return any(
        place in loose.places and _is_whole(loose, place, text)
        for wish in _find_wishes_with_places(leaves, origins)
        for loose in _find_named_results(wish, origins)
    )


def is_from_named_source(leaf: ArgumentLeaf, origins: Origins) -> bool:
    """Return whether the user named a page or file as the source of an address, and it is the only one of its kind there."""
    value = str(leaf.value)
    sign = next((each for each in _CALLED if each in value), "")
    return any(
        _CALLED[sign] & sentence.roots and sentence.has(page) and [each for each in loose.places if sign in each] == [value]
        for sentence in (_iter_sentences(origins) if sign else ())
        for loose in origins.loose
        for page in loose.pages
    )


def is_detail_waived(number: Decimal, leaves: Leaves, origins: Origins) -> bool:
    """Return whether the user waived questions about details and gave the recipient, and the amount is a token one."""
    return 0 < number <= _TOKEN_AMOUNT and any(wish.matches(_WAIVER) for wish in _find_wishes_with_places(leaves, origins))


def is_mentioned(leaf: ArgumentLeaf, said: TextIndex) -> bool:
    """Return whether a value is in a text: a boolean by its name, a choice by its beginning, a short number as such an id."""
    value, name = str(leaf.value), frozenset(split_name(leaf.name))
    if isinstance(leaf.value, bool):
        return not leaf.value or stem_tokens(leaf.name) <= said.roots
    if leaf.choices:
        return said.has_beginning(value)
    if leaf.kind == "id" and value.isdigit() and len(value) <= _SHORT_ID:
        return said.has_short_id(value, _ID_NOUNS | name)
    if leaf.kind == "day" and (day := parse_day(value)) is not None:
        return contains_day(day, said.days)
    number = None if isinstance(leaf.value, str) else parse_decimal(leaf.value)
    return said.has(value) if number is None else number in said.numbers


def _iter_sentences(origins: Origins) -> Iterator[TextIndex]:
    return (sentence for wish in origins.wishes for sentence in wish.sentences)


def _find_wishes_with_places(leaves: Leaves, origins: Origins) -> list[TextIndex]:
    """Return the user's messages that name every recipient and destination of a call."""
    places = [str(leaf.value) for leaf in leaves if leaf.kind == "place"]
    return [wish for wish in origins.wishes if places and all(wish.has(place) for place in places)]


def _iter_named_texts(origins: Origins) -> Iterator[str]:
    return (text for record in find_named_records(origins) for text in record.texts())


def _iter_field_texts(wish: TextIndex, origins: Origins) -> Iterator[str]:
    """Yield the fields that the user requested by a name of several words, such as a passport number."""
    for returned in (*origins.trusted, *origins.loose):
        for record in returned.records:
            for key, values in record.fields.items():
                if len(split_name(key)) > 1 and wish.has_words(" ".join(split_name(key))):
                    yield from map(str, values)


def _iter_tool_texts(wish: TextIndex, origins: Origins) -> Iterator[str]:
    return (loose.words.text for loose in _find_named_results(wish, origins))


def _find_named_results(wish: TextIndex, origins: Origins) -> list[UntrustedResult]:
    """Return the results of tools that the user named by their content, in several words: the scheduled transactions."""
    results = [(each, stem_tokens(" ".join(find_nouns(each)))) for each in (*origins.trusted, *origins.loose)]
    return [each for each, nouns in results if len(nouns) > 1 and any(nouns <= sentence.roots for sentence in wish.sentences)]


def find_nouns(loose: UntrustedResult) -> list[str]:
    """Return the words for what a tool returns, by its name: `channels` of `get_channels`."""
    return [word for word in split_name(loose.name) if word not in _VERBS]


def _is_whole(loose: UntrustedResult, place: str, text: str) -> bool:
    """Return whether a text has all links and addresses in fields like that of one: picking one out of many isn't forwarding."""
    leading = [(key, value) for record in loose.records for key, value in record.texts_by_field() if find_addresses(value)]
    keys = {key for key, value in leading if place in value}
    pieces = [value for key, value in leading if key in keys] or [loose.words.text]
    return all(piece in text for piece in pieces)
