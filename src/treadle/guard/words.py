"""Text that values are looked up in: a value occurs only as a whole, never as a part of a longer word, address or number. Pure.

Letters count as they are written, so that a look-alike from another alphabet is another letter; only A to Z may be large or small.
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import cached_property
from string import ascii_lowercase, ascii_uppercase

from treadle.guard.days import Day, days_in, without_days

_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)
_NUMBER = re.compile(r"(?<![\w.,])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w%]|\s?%|[.,]\d)")
_JOINING_BEFORE = "_@%+=&~-./\\"
_JOINING_AFTER = "_@%+=&~\\"
_JOINING_ON = "-./:?#"  # only with something behind it: a sentence may end here
_ENDING = re.compile(r"\.[a-zA-Z]{1,5}$")  # of a file's name
_ENDINGS = ("ing", "ed", "es", "s", "e")
_SMALL_WORDS = frozenset(
    re.findall(r"\w+", "a an the of in on at to for from by with and or is are was were be it this that my me i")
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_QUOTES = "'\"`\u201c\u201d\u2018\u2019"
_BEGINNING = re.compile(rf"\b(?:start|begin)(?:s|ing|ning)? with [{_QUOTES}]?([^\W_][\w-]{{2,}})", re.IGNORECASE)
_TEMPLATE = re.compile(rf"[{_QUOTES}]([^{_QUOTES}\n]*\{{\w+\}}[^{_QUOTES}\n]*)[{_QUOTES}]")


def flat(text: str) -> str:
    """A text with small letters and single spaces."""
    return " ".join(text.translate(_SMALL).split())


class Words:
    """One text, and what is in it, found out when first asked."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _spaced(self) -> str:
        return " ".join(self.text.split())

    @cached_property
    def _flat(self) -> str:
        return flat(self.text)

    @cached_property
    def _parted(self) -> str:
        return parted(self.text)

    @cached_property
    def days(self) -> frozenset[Day]:
        """The days it names."""
        return days_in(self.text)

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        """The numbers it names, other than those of days, times and shares."""
        found = _NUMBER.findall(without_days(self.text))
        return frozenset([Decimal(each.replace(",", "")) for each in found])

    @cached_property
    def roots(self) -> frozenset[str]:
        """Its words without their endings."""
        return roots_of(self.text)

    @cached_property
    def sentences(self) -> tuple["Words", ...]:
        """Its sentences and lines, each by itself."""
        return tuple([Words(each) for each in _SENTENCE.split(self.text) if each.strip()])

    @cached_property
    def beginnings(self) -> list[str]:
        """What it says that something starts with, where it doesn't say the whole."""
        return [flat(match) for match in _BEGINNING.findall(self.text)]

    @cached_property
    def templates(self) -> list[re.Pattern[str]]:
        """What it asks for with a gap to be filled in: `'Dinner at {restaurant}'`."""
        return [_template(match) for match in _TEMPLATE.findall(self.text)]

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern of ours is in it."""
        return pattern.search(self.text) is not None

    def has(self, value: str) -> bool:
        """Whether a value is in it as a whole."""
        wanted = flat(value)
        return any(self._stands(each) for each in _spellings(wanted)) if wanted else True

    def has_place(self, value: str, nouns: frozenset[str]) -> bool:
        """Whether a value is in it as a whole; a common word (`all`, `general`) only where it is marked as a name.

        That is: in quotes, after `@` or `#`, after `to`, or beside the word for such a thing (`the general channel`).
        """
        if not (value.isalpha() and value.islower()):
            return self.has(value)
        word, beside = re.escape(value), "|".join(sorted(nouns))
        marked = rf"[{_QUOTES}@#]{word}(?!\w)|\bto (?:the )?{word}(?!\w)|\b(?:{beside}) {word}(?!\w)|\b{word} (?:{beside})\b"
        return self.has(value) and re.search(marked, self._flat) is not None

    def has_words(self, value: str) -> bool:
        """Whether the words of a value are in it one after the other, whatever is between them; a file's ending may be left out."""
        return parted(value) in self._parted or parted(_ENDING.sub("", value)) in self._parted

    def has_beginning(self, value: str) -> bool:
        """Whether a word of it begins with a value, or is the beginning of it."""
        wanted = flat(value)
        return any(part.startswith(wanted) or (len(part) > 2 and wanted.startswith(part)) for part in parts_of(self.text))

    def has_short_id(self, value: str, nouns: frozenset[str]) -> bool:
        """Whether a short number is in it as the number of such a thing: `file 13`, `id: 7`."""
        tokens = parts_of(without_days(self.text))
        return any(token == value and nouns & set(tokens[max(0, at - 2) : at]) for at, token in enumerate(tokens))

    def _stands(self, wanted: str) -> bool:
        return any(_apart(self._spaced, at, at + len(wanted)) for at in _found(self._flat, wanted))


def parts_of(text: str) -> list[str]:
    """The words and numbers of a text, in small letters; `_` and a change to large letters part them too."""
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).translate(_SMALL))


def roots_of(text: str) -> frozenset[str]:
    """The words and numbers of a text without their endings and without small words: `deleted files` are `delet` and `file`."""
    return frozenset([root(part) for part in parts_of(text) if part not in _SMALL_WORDS])


def root(word: str) -> str:
    """A word without the endings that its use in a sentence gives it; no grammar, but the same for both sides of a comparison."""
    while ending := next((each for each in _ENDINGS if word.endswith(each) and len(word) - len(each) > 2), ""):
        word = word.removesuffix(ending)
    return word


def parted(text: str) -> str:
    """The words and numbers of a text, a space around each; where there are none, what occurs nowhere."""
    return f" {' '.join(parts_of(text)) or chr(0)} "


def number_of(value: str | float) -> Decimal | None:
    """The number a value is, if it is one."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _found(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _apart(text: str, start: int, end: int) -> bool:
    """Whether nothing joins what stands there to what is before and after it."""
    before = text[start - 1 : start]
    if before and (before.isalnum() or before in _JOINING_BEFORE) and text[max(0, start - 3) : start] != "://":
        return False
    after, further = text[end : end + 1], text[end + 1 : end + 3]
    if after == "." and further.istitle() and further.isalpha():
        return True  # the next sentence, without a space before it
    return not after or not (after.isalnum() or after in _JOINING_AFTER or (after in _JOINING_ON and further[:1].isalnum()))


def _spellings(wanted: str) -> list[str]:
    """A page's address may be said without its scheme, and with a slash at its end."""
    bare = re.sub(r"^https?://", "", wanted)
    return [wanted] if bare == wanted else [wanted, bare.rstrip("/")]


def _template(text: str) -> re.Pattern[str]:
    pieces = re.split(r"\{\w+\}", flat(text))
    return re.compile(".{1,80}".join(re.escape(piece) for piece in pieces))
