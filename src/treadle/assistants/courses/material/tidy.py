"""What files say, made fit to be shown: titles in one line, links that lead to the web, texts without odd characters. Pure."""

import re
from urllib.parse import urlsplit

LONGEST_TITLE = 200
LONGEST_LINK = 2_000

_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIDDEN = re.compile("[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")  # of no width, or turning the direction of writing
_LINKED = re.compile(r"\[[^\[\]]*\]\(<?(?P<address>[^()<>\s]*(?:\([^()<>\s]*\)[^()<>\s]*)*)>?(?:\s[^()]*)?\)")


def plain(text: str) -> str:
    """A text whose lines end in one way, other control characters as spaces. Its offsets stay as they are from there on."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATE.sub("\ufffd", _UNSHOWN.sub(" ", lines))


def title_of(text: str) -> str:
    """A title: one line, no control characters, not too long. HTML in it stays as it was written."""
    shown = _HIDDEN.sub("", plain(text))
    return " ".join(shown.split())[:LONGEST_TITLE].rstrip()


def link_of(text: str) -> str:
    """A link to the web, bare or as Markdown writes it; nothing where it is anything else."""
    said = text.strip().strip("*_").strip()
    linked = _LINKED.fullmatch(said)
    address = linked["address"] if linked else said.removeprefix("<").removesuffix(">")
    return address if len(address) <= LONGEST_LINK and _leads_to_the_web(address) else ""


def _leads_to_the_web(address: str) -> bool:
    if not address.isprintable() or re.search(r"\s", address):
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
