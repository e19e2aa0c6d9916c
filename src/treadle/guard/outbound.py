"""Reads that leave the machine: the receiver of a request learns its values, so they may only be what the user said. Pure.

Checked after untrusted content was read, and only where there is something to leak: a third party may receive its own data.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from treadle.core.tool import Tool
from treadle.guard.argument_kinds import ArgumentLeaf, find_addresses, is_link
from treadle.guard.links import find_mentioned_records, is_id_of_named_record
from treadle.guard.origins import Origins
from treadle.guard.reasons import explain_field_leak, explain_leak, explain_source
from treadle.guard.secret_names import split_name
from treadle.guard.text_index import TextIndex, normalize_text

WEB = "the web"
_WEB_WORDS = frozenset(
    ("web", "internet", "online", "google", "bing", "duckduckgo", "wikipedia", "http", "browse", "crawl", "scrape")
)
_MOST_OFFERED = 8  # links from which a choice may be made unasked: which of them are followed tells less than three letters
_ROUND = frozenset((0, 1, 2, 3, 5, 10, 20, 25, 30, 50, 100))  # numbers of results or of pages; others may be a code
_MOST_SMALL = 2  # values of a call that carry next to nothing: a list of them could spell anything
_MOST_REQUESTS = 3  # calls after which even such values are asked about


def third_party_of(tool: Tool) -> str:
    """Return the third party that a tool sends its arguments to; empty where there is none."""
    if tool.sends_to is not None:
        return tool.sends_to
    return WEB if _WEB_WORDS.intersection(split_name(tool.name)) else ""


def is_outbound_link(leaf: ArgumentLeaf) -> bool:
    """Return whether a value is the address of a page, anywhere."""
    return leaf.kind == "place" and isinstance(leaf.value, str) and is_link(leaf.value)


def find_read_doubts(arguments: Mapping[str, Any], leaves: tuple[ArgumentLeaf, ...], tool: Tool, origins: Origins) -> list[str]:
    """Return why a user has to approve a read, a sentence each; none where all of it may be sent."""
    party = third_party_of(tool)
    links = [leaf for leaf in leaves if is_outbound_link(leaf)]
    found = [explain_source(leaf, str(leaf.value), origins) for leaf in links if not _may_follow(leaf, party, origins)]
    if not party or not origins.elsewhere(party):
        return found
    small = [leaf for leaf in leaves if _is_small(leaf)]
    free = small if len(small) <= _MOST_SMALL and origins.requests_to(party) <= _MOST_REQUESTS else []
    telling = [leaf for leaf in leaves if leaf not in links and leaf not in free and not _is_said(leaf, origins)]
    declared = _declared_fields(tool.parameters)
    named = [name for name in _find_field_names(arguments) if name not in declared and not origins.says_every_word(name)]
    return [*found, *[explain_leak(leaf, party) for leaf in telling], *[explain_field_leak(name, party) for name in named]]


def _may_follow(leaf: ArgumentLeaf, party: str, origins: Origins) -> bool:
    """Return whether a page may be requested: one the user said, a field of a result where nothing else was read, or referenced."""
    value = str(leaf.value)
    if origins.is_vouched(value):
        return True
    if not origins.elsewhere(party):
        return any(value in loose.items for loose in origins.loose)
    return normalize_text(value) not in origins.followed and _is_pointed_at(value, origins)


def _is_pointed_at(value: str, origins: Origins) -> bool:
    """Return whether a page is in a record that the user mentioned, and is one of a few: a choice tells its owner something."""
    texts = [text for loose in origins.loose for record in find_mentioned_records(loose, origins) for text in record.texts()]
    offered = {link for text in texts for link in find_addresses(text) if is_link(link)}
    return len(offered) <= _MOST_OFFERED and any(TextIndex(text).has(value) for text in texts)


def _is_small(leaf: ArgumentLeaf) -> bool:
    """Return whether a value carries almost no information: a boolean, a count, a page number. Choices may be untrusted."""
    return isinstance(leaf.value, bool) or (not isinstance(leaf.value, str) and leaf.value in _ROUND)


def _is_said(leaf: ArgumentLeaf, origins: Origins) -> bool:
    return origins.says_every_word(str(leaf.value)) or (leaf.kind == "id" and is_id_of_named_record(leaf, origins))


def _find_field_names(value: Any) -> Iterator[str]:
    """Yield the names of all fields, also of empty ones."""
    match value:
        case Mapping():
            for name, inner in cast("Mapping[str, Any]", value).items():
                yield name
                yield from _find_field_names(inner)
        case list():
            for inner in cast("list[Any]", value):
                yield from _find_field_names(inner)
        case _:
            return


def _declared_fields(schema: Any) -> frozenset[str]:
    """Return the names of fields that a schema declares, at any depth."""
    match schema:
        case Mapping():
            keywords = cast("Mapping[str, Any]", schema)
            listed = keywords.get("properties")
            own = frozenset(cast("Mapping[str, Any]", listed)) if isinstance(listed, Mapping) else frozenset[str]()
            return own.union(*[_declared_fields(inner) for inner in keywords.values()])
        case list():
            return frozenset[str]().union(*[_declared_fields(inner) for inner in cast("list[Any]", schema)])
        case _:
            return frozenset()
