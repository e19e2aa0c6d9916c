"""Reads that leave the machine: whoever answers a request gets to know its values, so they may only be what the person said. Pure.

Asked after untrusted content was read, and only where there is something to tell: a third party may be told what it said itself.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from treadle.core.tool import Tool
from treadle.guard.kinds import Leaf, is_link, places_in
from treadle.guard.links import id_of_named, mentioned
from treadle.guard.names import words_of
from treadle.guard.origins import Origins
from treadle.guard.reasons import leaving_reason, naming_reason, source_reason
from treadle.guard.words import Words, flat

WEB = "the web"
_WEB_WORDS = frozenset(
    ("web", "internet", "online", "google", "bing", "duckduckgo", "wikipedia", "http", "browse", "crawl", "scrape")
)
_MOST_OFFERED = 8  # links from which a choice may be made unasked: which of them are followed tells less than three letters
_ROUND = frozenset((0, 1, 2, 3, 5, 10, 20, 25, 30, 50, 100))  # numbers of results or of pages; others may be a code
_MOST_SMALL = 2  # values of a call that carry next to nothing: a list of them could spell anything
_MOST_REQUESTS = 3  # calls after which even such values are asked about


def party_of(tool: Tool) -> str:
    """The third party that a tool tells its arguments to; empty where there is none."""
    if tool.sends_to is not None:
        return tool.sends_to
    return WEB if _WEB_WORDS.intersection(words_of(tool.name)) else ""


def leads_out(leaf: Leaf) -> bool:
    """Whether a value is the address of a page, wherever that is."""
    return leaf.kind == "place" and isinstance(leaf.value, str) and is_link(leaf.value)


def doubts_of_read(arguments: Mapping[str, Any], leaves: tuple[Leaf, ...], tool: Tool, origins: Origins) -> list[str]:
    """Why a person has to look at a read, a sentence each; none where all of it may go out."""
    party = party_of(tool)
    links = [leaf for leaf in leaves if leads_out(leaf)]
    found = [source_reason(leaf, str(leaf.value), origins) for leaf in links if not _may_follow(leaf, party, origins)]
    if not party or not origins.elsewhere(party):
        return found
    small = [leaf for leaf in leaves if _is_small(leaf)]
    free = small if len(small) <= _MOST_SMALL and origins.requests_to(party) <= _MOST_REQUESTS else []
    telling = [leaf for leaf in leaves if leaf not in links and leaf not in free and not _is_said(leaf, origins)]
    declared = _declared(tool.parameters)
    named = [name for name in _names_in(arguments) if name not in declared and not origins.says_every_word(name)]
    return [*found, *[leaving_reason(leaf, party) for leaf in telling], *[naming_reason(name, party) for name in named]]


def _may_follow(leaf: Leaf, party: str, origins: Origins) -> bool:
    """Whether a page may be asked for: one that was said, a field of a result where nothing else was read, or pointed at."""
    value = str(leaf.value)
    if origins.vouched(value):
        return True
    if not origins.elsewhere(party):
        return any(value in loose.items for loose in origins.loose)
    return flat(value) not in origins.followed and _is_pointed_at(value, origins)


def _is_pointed_at(value: str, origins: Origins) -> bool:
    """Whether a page stands in a record that the person mentioned, and is one of a few: a choice tells its owner something."""
    texts = [text for loose in origins.loose for record in mentioned(loose, origins) for text in record.texts()]
    offered = {link for text in texts for link in places_in(text) if is_link(link)}
    return len(offered) <= _MOST_OFFERED and any(Words(text).has(value) for text in texts)


def _is_small(leaf: Leaf) -> bool:
    """Whether a value carries next to nothing: a yes or no, a number of results or of a page. Choices may be a stranger's."""
    return isinstance(leaf.value, bool) or (not isinstance(leaf.value, str) and leaf.value in _ROUND)


def _is_said(leaf: Leaf, origins: Origins) -> bool:
    return origins.says_every_word(str(leaf.value)) or (leaf.kind == "id" and id_of_named(leaf, origins))


def _names_in(value: Any) -> Iterator[str]:
    """The names of all fields, also of those that hold nothing."""
    match value:
        case Mapping():
            for name, inner in cast("Mapping[str, Any]", value).items():
                yield name
                yield from _names_in(inner)
        case list():
            for inner in cast("list[Any]", value):
                yield from _names_in(inner)
        case _:
            return


def _declared(schema: Any) -> frozenset[str]:
    """The names of fields that a schema lists, wherever in it."""
    match schema:
        case Mapping():
            keywords = cast("Mapping[str, Any]", schema)
            listed = keywords.get("properties")
            own = frozenset(cast("Mapping[str, Any]", listed)) if isinstance(listed, Mapping) else frozenset[str]()
            return own.union(*[_declared(inner) for inner in keywords.values()])
        case list():
            return frozenset[str]().union(*[_declared(inner) for inner in cast("list[Any]", schema)])
        case _:
            return frozenset()
