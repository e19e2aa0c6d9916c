"""What the person asked for in so many words: a deed, data to be sent on, an address from a page they named, a choice. Pure.

Each clause takes a doubt off a call whose values the person didn't say one by one. All go by the person's own words: what the
operator or a tool says is no wish. `bench.agentdojo` leaves clauses out, to see how the others do on suites they weren't made for.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal, get_args

from treadle.core.tool import Tool
from treadle.guard.days import day_of, named
from treadle.guard.kinds import Leaf, codes_in, looks_like_place, places_in
from treadle.guard.links import named_records
from treadle.guard.names import words_of
from treadle.guard.origins import Loose, Origins
from treadle.guard.words import Words, number_of, roots_of

Leaves = tuple[Leaf, ...]
Clause = Literal["deed", "data", "forward", "source", "choice", "detail"]
CLAUSES: frozenset[Clause] = frozenset(get_args(Clause))

_NEGATIONS = roots_of("not never avoid except unless without instead cannot don't")
_VERBS = frozenset(("get", "list", "read", "search", "find", "fetch", "view", "show", "load", "query", "check", "look", "all"))
_ID_NOUNS = frozenset(("id", "ids", "number", "nr", "no", "ref"))
_CALLED = {"@": roots_of("mail email address"), ".": roots_of("link url website page site address")}
_SHORT_ID = 4
_LONGEST_CHOICE = 40
_TOKEN_AMOUNT = Decimal(1)
_CHOICE = (
    r"\b(?:find|get|pick|choose|select)\s+(?:me\s+)?(?:a|an|the|one|any)\s+(?:[\w-]+\s+){{0,3}}?{noun}s?\b"
    r"|\b(?:all|each|every)\s+{noun}s?\b"
)
_WAIVER = re.compile(r"\b(?:without asking(?: me)?|(?:do not|don.?t|no need to) ask(?: me)?)\b", re.IGNORECASE)


def deed_asked_for(tool: Tool, leaves: Leaves, origins: Origins) -> bool:
    """Whether one sentence of the person's says all words of a tool's name and every value of the call, and no "not"."""
    deed = roots_of(tool.name)
    return bool(deed) and any(
        deed <= sentence.roots and not _NEGATIONS & sentence.roots and all(_is_in(leaf, sentence) for leaf in leaves)
        for sentence in _sentences(origins)
    )


def data_asked_for(code: str, leaves: Leaves, origins: Origins) -> bool:
    """Whether a code may go where the person said: it is of a record they named, or in what one of their sentences names."""
    return any(
        code in codes_in(text)
        for wish in _wishes_with_places(leaves, origins)
        for text in (*_texts_of_named(origins), *_texts_of_fields(wish, origins), *_texts_of_tools(wish, origins))
    )


def forward_asked_for(place: str, text: str, leaves: Leaves, origins: Origins) -> bool:
    """Whether an address or link stands in what the person wanted sent where they said, and nothing that leads on was left out."""
    return any(
        place in loose.places and _is_whole(loose, place, text)
        for wish in _wishes_with_places(leaves, origins)
        for loose in _results_named(wish, origins)
    )


def found_at_source(leaf: Leaf, origins: Origins) -> bool:
    """Whether the person said that an address is to be found on a page or in a file, and it is the only one of its kind there."""
    value = str(leaf.value)
    sign = next((each for each in _CALLED if each in value), "")
    return any(
        _CALLED[sign] & sentence.roots and sentence.has(page) and [each for each in loose.places if sign in each] == [value]
        for sentence in (_sentences(origins) if sign else ())
        for loose in origins.loose
        for page in loose.pages
    )


def left_open(leaf: Leaf, leaves: Leaves, origins: Origins) -> bool:
    """Whether the person left it open which one of a list it is ("find a channel", "all users"), and said everything else."""
    others = [each for each in leaves if not _is_chosen(each, origins)]
    return leaf not in others and all(any(_is_in(each, wish) for wish in origins.wishes) for each in others)


def detail_waived(number: Decimal, leaves: Leaves, origins: Origins) -> bool:
    """Whether the person didn't want to be asked about details, said where it goes, and the amount is a token one."""
    return 0 < number <= _TOKEN_AMOUNT and any(wish.matches(_WAIVER) for wish in _wishes_with_places(leaves, origins))


def _is_chosen(leaf: Leaf, origins: Origins) -> bool:
    value = str(leaf.value)
    if leaf.kind not in ("place", "thing") or len(value) > _LONGEST_CHOICE or looks_like_place(value):
        return False
    nouns = {word for loose in origins.loose if value in loose.items for word in _nouns(loose)}
    patterns = [re.compile(_CHOICE.format(noun=re.escape(noun.removesuffix("s"))), re.IGNORECASE) for noun in nouns]
    return any(wish.matches(pattern) for wish in origins.wishes for pattern in patterns)


def _is_in(leaf: Leaf, said: Words) -> bool:
    """Whether a value is in what was said: a yes by its name, a choice by its beginning, a short number as that of such a thing."""
    value, name = str(leaf.value), frozenset(words_of(leaf.name))
    if isinstance(leaf.value, bool):
        return not leaf.value or roots_of(leaf.name) <= said.roots
    if leaf.choices:
        return said.has_beginning(value)
    if leaf.kind == "id" and value.isdigit() and len(value) <= _SHORT_ID:
        return said.has_short_id(value, _ID_NOUNS | name)
    if leaf.kind == "day" and (day := day_of(value)) is not None:
        return named(day, said.days)
    number = None if isinstance(leaf.value, str) else number_of(leaf.value)
    return said.has(value) if number is None else number in said.numbers


def _sentences(origins: Origins) -> Iterator[Words]:
    return (sentence for wish in origins.wishes for sentence in wish.sentences)


def _wishes_with_places(leaves: Leaves, origins: Origins) -> list[Words]:
    """What the person said in which everybody and everything a call goes to is named."""
    places = [str(leaf.value) for leaf in leaves if leaf.kind == "place"]
    return [wish for wish in origins.wishes if places and all(wish.has(place) for place in places)]


def _texts_of_named(origins: Origins) -> Iterator[str]:
    return (text for record in named_records(origins) for text in record.texts())


def _texts_of_fields(wish: Words, origins: Origins) -> Iterator[str]:
    """The fields that the person asked for by a name of several words, such as a passport number."""
    for returned in (*origins.trusted, *origins.loose):
        for record in returned.records:
            for key, values in record.fields.items():
                if len(words_of(key)) > 1 and wish.has_words(" ".join(words_of(key))):
                    yield from map(str, values)


def _texts_of_tools(wish: Words, origins: Origins) -> Iterator[str]:
    return (loose.words.text for loose in _results_named(wish, origins))


def _results_named(wish: Words, origins: Origins) -> list[Loose]:
    """The results of tools that the person named by what they bring, in several words: the scheduled transactions."""
    results = [(each, roots_of(" ".join(_nouns(each)))) for each in (*origins.trusted, *origins.loose)]
    return [each for each, nouns in results if len(nouns) > 1 and any(nouns <= sentence.roots for sentence in wish.sentences)]


def _nouns(loose: Loose) -> list[str]:
    return [word for word in words_of(loose.name) if word not in _VERBS]


def _is_whole(loose: Loose, place: str, text: str) -> bool:
    """Whether a text has all that leads anywhere in fields like that of a place: picking one out of many isn't forwarding."""
    leading = [(key, value) for record in loose.records for key, value in record.texts_by_field() if places_in(value)]
    keys = {key for key, value in leading if place in value}
    pieces = [value for key, value in leading if key in keys] or [loose.words.text]
    return all(piece in text for piece in pieces)
