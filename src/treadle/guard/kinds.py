"""What an argument is for: who or where something goes to, which thing, how much, when, or words that are only read. Pure.

By the words of its name and by the value's own looks, as a person would tell; what is neither known nor harmless is `thing`,
and has to be vouched for like a recipient.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from msgspec import Struct

from treadle.guard.days import day_of, is_clock
from treadle.guard.names import words_of

Kind = Literal[
    "place",  # whom or where it goes to: a recipient, an address, an account, a channel
    "power",  # what it lets somebody do: a password, a command, a permission
    "id",  # which thing, by a sign that means nothing to a person
    "thing",  # which thing, by its name, path or anything else
    "title",  # what a thing is called
    "amount",  # how much, how many
    "day",  # when
    "text",  # words to be read
    "plain",  # what does no harm by itself
]


class Leaf(Struct, frozen=True):
    """One value in the arguments of a call: where it stands, what it is for. `choices` says that its tool lists all there are."""

    path: str
    name: str
    value: str | int | float | bool
    kind: Kind
    choices: bool = False


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_TEXT = _set(
    "body content contents text message messages description subject note notes comment comments summary detail details reason "
    "caption html markdown location venue about bio remark remarks memo greeting signature paragraph"
)
_PLACE = _set(
    "recipient recipients receiver receivers to cc bcc email emails mail mails address addresses url urls uri uris link links href "
    "endpoint host hostname domain webhook ip server phone phones telephone mobile fax iban bic swift account accounts channel "
    "channels user users username usernames member members participant participants attendee attendees invitee invitees guest "
    "guests assignee assignees reviewer reviewers contact contacts payee beneficiary destination destinations target targets room "
    "group groups chat team teams handle sender from reply owner remote repo repository bucket"
)
_POWER = _set(
    "password passwd passphrase passcode pwd pin secret token credential credentials key command commands cmd script code sql "
    "query expression shell program executable args argv env permission permissions role roles access privilege privileges scope "
    "scopes visibility public admin sharing"
)
_GRANTS = _set("permission permissions role roles access privilege privileges scope scopes visibility public admin sharing")
_ID = _set("id ids uid uids uuid uuids guid ref refs reference number nr no identifier identifiers")
_TITLE = _set("title titles name names label labels heading headline topic")
_AMOUNT = _set("amount amounts price sum total quantity count budget cost fee rate limit")
_PLAIN = _set(
    "type types kind format formats language lang locale encoding mime unit units currency timezone tz color colour style"
)
_ABOUT: tuple[tuple[frozenset[str], Kind], ...] = (
    (_ID, "id"),
    (_PLACE, "place"),
    (_POWER, "power"),
    (_TEXT, "text"),
    (_TITLE, "title"),
    (_AMOUNT, "amount"),
    (_PLAIN, "plain"),
)
_NAMES_OF = _set("file folder directory host user path")  # a `file_name` is which file, not what it is called

_MAIL = re.compile(r"[^\s@<>()\",;:]+@[^\s@<>()\",;:]+\.[^\s@<>()\",;:]+")
_LINK = re.compile(r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.)\S+", re.IGNORECASE)
_HOST = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,24}(?:[/:?#]\S*)?")
_ACCOUNT = re.compile(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?")
_PATH = re.compile(r"(?:[A-Za-z]:)?[\w.~ -]*[/\\][^\n]*|~[^\n]*|\.\.[^\n]*")
_FILES = _set(
    "txt md rst pdf doc docx xls xlsx ppt pptx odt ods csv tsv json yaml yml toml xml html htm log png jpg jpeg gif svg zip tar gz "
    "py js ts rs go java kt rb php c h cpp hpp cs sh ini cfg lock"
)


def leaves_of(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[Leaf]:
    """Every value of a call, lists item by item and objects field by field. Nothing where nothing was given."""
    properties = cast("Mapping[str, Any]", parameters.get("properties") or {})
    for name, value in arguments.items():
        yield from _leaves(name, name, value, properties.get(name), parameters)


def _leaves(path: str, name: str, value: Any, schema: Any, whole: Mapping[str, Any]) -> Iterator[Leaf]:
    match value:
        case None | "":
            return
        case dict():
            for key, inner in cast("dict[str, Any]", value).items():
                yield from _leaves(f"{path}.{key}", key, inner, None, whole)
        case list():
            for number, item in enumerate(cast("list[Any]", value), 1):
                yield from _leaves(f"{path} {number}" if len(cast("list[Any]", value)) > 1 else path, name, item, schema, whole)
        case _:
            listed = _lists(schema, whole)
            yield Leaf(path, name, value, _kind(name, value, listed=listed), listed)


def _kind(name: str, value: Any, *, listed: bool) -> Kind:
    if isinstance(value, bool) or listed:
        return "power" if _GRANTS & set(words_of(name)) else "plain"
    by_name = kind_of_name(name)
    if isinstance(value, int | float):
        return by_name if by_name in ("id", "place", "power") else "amount"
    if by_name in ("place", "power", "text"):
        return by_name
    text = str(value)
    if looks_like_place(text):
        return "place"
    if day_of(text) is not None:
        return "day"
    return "plain" if is_clock(text) else by_name


@lru_cache(4096)
def kind_of_name(name: str) -> Kind:
    """What a parameter is for, by its name. Its last word says most: a `message_id` is no message."""
    words = words_of(name)
    if len(words) > 1 and words[-1] in _TITLE and words[-2] in _NAMES_OF:
        return "thing"
    for word in reversed(words):
        for known, kind in _ABOUT:
            if word in known:
                return kind
    return "thing"


def looks_like_place(text: str) -> bool:
    """Whether a value as a whole is an address: of mail, of a page, of an account, of a file."""
    return any(pattern.fullmatch(text) for pattern in (_MAIL, _LINK, _ACCOUNT)) or (
        _PATH.fullmatch(text) is not None and "\n" not in text
    )


def is_link(text: str) -> bool:
    """Whether a value is the address of a page."""
    return _LINK.fullmatch(text) is not None or (_HOST.fullmatch(text) is not None and "@" not in text)


def places_in(text: str) -> list[str]:
    """The addresses of mail, pages and accounts that stand in words."""
    found = [match.rstrip(".,;:!?)'\"]}>") for pattern in (_MAIL, _LINK) for match in pattern.findall(text)]
    rest = _LINK.sub(" ", _MAIL.sub(" ", text))
    hosts = [match[0].rstrip(".,;:!?)'\"]}>") for match in _HOST.finditer(rest)]
    found += [host for host in hosts if host.lower().split("/")[0].rpartition(".")[2] not in _FILES]
    return [*dict.fromkeys([*found, *[match[0] for match in _ACCOUNT.finditer(rest)]])]


def codes_in(text: str) -> list[str]:
    """What in words can be a number of a card, a passport or an account, a code or a key: long, and with figures."""
    tokens = re.findall(r"[^\W_]+(?:[-_.][^\W_]+)*", re.sub(r"(?<=\d{4})[ -](?=\d{3,4})", "", text))
    return [
        token for token in tokens if len(token) >= 6 and sum(char.isdigit() for char in token) >= min(6, 3 + token.isdigit() * 3)
    ]


def _lists(schema: Any, whole: Mapping[str, Any]) -> bool:
    """Whether a schema lists all the values there can be."""
    if not isinstance(schema, dict):
        return False
    known = cast("dict[str, Any]", schema)
    if "$ref" in known:
        definitions = cast("dict[str, Any]", whole.get("$defs") or {})
        return _lists(definitions.get(str(known["$ref"]).rpartition("/")[2]), whole)
    if "enum" in known or "const" in known:
        return True
    if "items" in known:
        return _lists(known["items"], whole)
    options = [each for each in cast("list[Any]", known.get("anyOf") or []) if each != {"type": "null"}]
    return bool(options) and all(_lists(each, whole) for each in options)
