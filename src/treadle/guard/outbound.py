"""Reads that leave the machine: whoever answers a request gets to know its values, so they may only be what the person said. Pure.

Asked after untrusted content was read, and only where there is something to tell: a third party may be told what it said itself.
"""

from treadle.core.tool import Tool
from treadle.guard.kinds import Leaf, is_link, places_in
from treadle.guard.links import id_of_named, mentioned
from treadle.guard.names import words_of
from treadle.guard.origins import Origins
from treadle.guard.reasons import leaving_reason, source_reason
from treadle.guard.words import Words, flat

WEB = "the web"
_WEB_WORDS = frozenset(
    ("web", "internet", "online", "google", "bing", "duckduckgo", "wikipedia", "http", "browse", "crawl", "scrape")
)
_MOST_OFFERED = 8  # links from which a choice may be made unasked: which of them are followed tells less than three letters
_LARGEST_PLAIN = 100  # a number of results or of a page; larger ones may be a code


def party_of(tool: Tool) -> str:
    """The third party that a tool tells its arguments to; empty where there is none."""
    if tool.sends_to is not None:
        return tool.sends_to
    return WEB if _WEB_WORDS.intersection(words_of(tool.name)) else ""


def leads_out(leaf: Leaf) -> bool:
    """Whether a value is the address of a page, wherever that is."""
    return leaf.kind == "place" and isinstance(leaf.value, str) and is_link(leaf.value)


def doubts_of_read(leaf: Leaf, tool: Tool, origins: Origins) -> str:
    """Why a person has to look at a value of a read; empty where it may go out."""
    party = party_of(tool)
    if leads_out(leaf):
        return "" if _may_follow(leaf, party, origins) else source_reason(leaf, str(leaf.value), origins)
    if not party or not origins.elsewhere(party) or _tells_nothing(leaf, origins):
        return ""
    return leaving_reason(leaf, party)


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


def _tells_nothing(leaf: Leaf, origins: Origins) -> bool:
    """Whether a value is the person's own, one of a few that its tool lists, or too small to carry anything."""
    if isinstance(leaf.value, bool) or leaf.choices:
        return True
    if isinstance(leaf.value, int | float) and abs(leaf.value) <= _LARGEST_PLAIN and leaf.value == int(leaf.value):
        return True
    return origins.says_every_word(str(leaf.value)) or (leaf.kind == "id" and id_of_named(leaf, origins))
