"""What an argument is for: a recipient or destination, a thing, an amount, a date, or words that are only read. Pure.

Classified by the words of its name and by the format of the value; what is neither known nor harmless is `thing`, and has to
be vouched for like a recipient.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from msgspec import Struct

from treadle.guard.dates import is_time_of_day, parse_day
from treadle.guard.secret_names import split_name

ArgumentKind = Literal[
    "place",  # whom or where it goes to: a recipient, an address, an account, a channel
    "power",  # what it allows: a password, a command, a permission
    "id",  # which thing, by a sign that means nothing to a person
    "thing",  # which thing, by its name, path or anything else
    "title",  # what a thing is called
    "amount",  # how much, how many
    "day",  # when
    "text",  # words to be read
    "plain",  # what does no harm by itself
]


class ArgumentLeaf(Struct, frozen=True):
    """One value in the arguments of a call: its path and what it is for. `choices` says that the schema lists all its values."""

    path: str
    name: str
    value: str | int | float | bool
    kind: ArgumentKind
    choices: bool = False


def _split_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_TEXT = _split_set(
    "body content contents text message messages description subject note notes comment comments summary detail details reason "
    "caption html markdown location venue about bio remark remarks memo greeting signature paragraph"
)
_PLACE = _split_set(
    "recipient recipients receiver receivers to cc bcc email emails mail mails address addresses url urls uri uris link links href "
    "endpoint host hostname domain webhook ip server phone phones telephone mobile fax iban bic swift account accounts channel "
    "channels user users username usernames member members participant participants attendee attendees invitee invitees guest "
    "guests assignee assignees reviewer reviewers contact contacts payee beneficiary destination destinations target targets room "
    "group groups chat team teams handle sender from reply owner remote repo repository bucket"
)
_POWER = _split_set(
    "password passwd passphrase passcode pwd pin secret token credential credentials key command commands cmd script code sql "
    "query expression shell program executable args argv env permission permissions role roles access privilege privileges scope "
    "scopes visibility public admin sharing"
)
_GRANTS = _split_set("permission permissions role roles access privilege privileges scope scopes visibility public admin sharing")
_ID = _split_set("id ids uid uids uuid uuids guid ref refs reference number nr no identifier identifiers")
_TITLE = _split_set("title titles name names label labels heading headline topic")
_AMOUNT = _split_set("amount amounts price sum total quantity count budget cost fee rate limit")
_PLAIN = _split_set(
    "type types kind format formats language lang locale encoding mime unit units currency timezone tz color colour style"
)
_ABOUT: tuple[tuple[frozenset[str], ArgumentKind], ...] = (
    (_ID, "id"),
    (_PLACE, "place"),
    (_POWER, "power"),
    (_TEXT, "text"),
    (_TITLE, "title"),
    (_AMOUNT, "amount"),
    (_PLAIN, "plain"),
)
_NAMES_OF = _split_set("file folder directory host user path")  # a `file_name` is which file, not what it is called

_MAIL = re.compile(r"[^\s@<>()\",;:]+@[^\s@<>()\",;:]+\.[^\s@<>()\",;:]+")
_LINK = re.compile(r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.)\S+", re.IGNORECASE)
_HOST = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,24}(?:[/:?#]\S*)?")
_ACCOUNT = re.compile(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?")
_PATH = re.compile(r"(?:[A-Za-z]:)?[\w.~ -]*[/\\][^\n]*|~[^\n]*|\.\.[^\n]*")
_FILES = _split_set(
    "txt md rst pdf doc docx xls xlsx ppt pptx odt ods csv tsv json yaml yml toml xml html htm log png jpg jpeg gif svg zip tar gz "
    "py js ts rs go java kt rb php c h cpp hpp cs sh ini cfg lock"
)


def flatten_arguments(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[ArgumentLeaf]:
    """Yield every value of a call, lists item by item and objects field by field. Nothing for missing values."""
    properties = cast("Mapping[str, Any]", parameters.get("properties") or {})
    for name, value in arguments.items():
        yield from _flatten(name, name, value, properties.get(name), parameters)


def _flatten(path: str, name: str, value: Any, schema: Any, whole: Mapping[str, Any]) -> Iterator[ArgumentLeaf]:
    match value:
        case None | "":
            return
        case dict():
            for key, inner in cast("dict[str, Any]", value).items():
                yield from _flatten(f"{path}.{key}", key, inner, None, whole)
        case list():
            for number, item in enumerate(cast("list[Any]", value), 1):
                yield from _flatten(f"{path} {number}" if len(cast("list[Any]", value)) > 1 else path, name, item, schema, whole)
        case _:
            listed = _lists_choices(schema, whole)
            yield ArgumentLeaf(path, name, value, _classify(name, value, listed=listed), listed)


def _classify(name: str, value: Any, *, listed: bool) -> ArgumentKind:
    if isinstance(value, bool) or listed:
        return "power" if _GRANTS & set(split_name(name)) else "plain"
    by_name = classify_argument_name(name)
    if isinstance(value, int | float):
        return by_name if by_name in ("id", "place", "power") else "amount"
    if by_name in ("place", "power", "text"):
        return by_name
    text = str(value)
    if looks_like_address(text):
        return "place"
    if parse_day(text) is not None:
        return "day"
    return "plain" if is_time_of_day(text) else by_name


@lru_cache(4096)
def classify_argument_name(name: str) -> ArgumentKind:
    """Return what a parameter is for, by its name. Its last word is the most significant: a `message_id` is no message."""
    words = split_name(name)
    if len(words) > 1 and words[-1] in _TITLE and words[-2] in _NAMES_OF:
        return "thing"
    for word in reversed(words):
        for known, kind in _ABOUT:
            if word in known:
                return kind
    return "thing"


def looks_like_address(text: str) -> bool:
    """Return whether a value as a whole is an address: of mail, of a page, of an account, of a file."""
    return any(pattern.fullmatch(text) for pattern in (_MAIL, _LINK, _ACCOUNT)) or (
        _PATH.fullmatch(text) is not None and "\n" not in text
    )


def is_link(text: str) -> bool:
    """Return whether a value is the address of a page."""
    return _LINK.fullmatch(text) is not None or (_HOST.fullmatch(text) is not None and "@" not in text)


def find_addresses(text: str) -> list[str]:
    """Return the addresses of mail, pages and accounts in a text."""
    found = [match.rstrip(".,;:!?)'\"]}>") for pattern in (_MAIL, _LINK) for match in pattern.findall(text)]
    rest = _LINK.sub(" ", _MAIL.sub(" ", text))
    hosts = [match[0].rstrip(".,;:!?)'\"]}>") for match in _HOST.finditer(rest)]
    found += [host for host in hosts if host.lower().split("/")[0].rpartition(".")[2] not in _FILES]
    return [*dict.fromkeys([*found, *[match[0] for match in _ACCOUNT.finditer(rest)]])]


def find_codes(text: str) -> list[str]:
    """Return the words that can be a card, passport or account number, a code or a key: long, and with digits."""
    tokens = re.findall(r"[^\W_]+(?:[-_.][^\W_]+)*", re.sub(r"(?<=\d{4})[ -](?=\d{3,4})", "", text))
    return [
        token for token in tokens if len(token) >= 6 and sum(char.isdigit() for char in token) >= min(6, 3 + token.isdigit() * 3)
    ]


def _lists_choices(schema: Any, whole: Mapping[str, Any]) -> bool:
    """Return whether a schema lists all possible values."""
    if not isinstance(schema, dict):
        return False
    known = cast("dict[str, Any]", schema)
    if "$ref" in known:
        definitions = cast("dict[str, Any]", whole.get("$defs") or {})
        return _lists_choices(definitions.get(str(known["$ref"]).rpartition("/")[2]), whole)
    if "enum" in known or "const" in known:
        return True
    if "items" in known:
        return _lists_choices(known["items"], whole)
    options = [each for each in cast("list[Any]", known.get("anyOf") or []) if each != {"type": "null"}]
    return bool(options) and all(_lists_choices(each, whole) for each in options)
