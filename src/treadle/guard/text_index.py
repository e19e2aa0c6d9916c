"""Text that is searched for values: a value occurs only as a whole, never as a part of a longer word, address or number. Pure.

Letters count as they are written, so that a look-alike from another alphabet is another letter; only A to Z are
case-insensitive.
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import cached_property
from string import ascii_lowercase, ascii_uppercase

from treadle.guard.dates import Day, find_days, strip_days

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


def normalize_text(text: str) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(text.translate(_SMALL).split())


class TextIndex:
    """One text and its tokens, computed when first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _single_spaced(self) -> str:
        return " ".join(self.text.split())

    @cached_property
    def _normalized(self) -> str:
        return normalize_text(self.text)

    @cached_property
    def _joined_words(self) -> str:
        return join_tokens(self.text)

    @cached_property
    def days(self) -> frozenset[Day]:
        """The days it mentions."""
        return find_days(self.text)

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        """The numbers it mentions, other than those of dates, times and percentages."""
        found = _NUMBER.findall(strip_days(self.text))
        return frozenset([Decimal(each.replace(",", "")) for each in found])

    @cached_property
    def roots(self) -> frozenset[str]:
        """Its word stems."""
        return stem_tokens(self.text)

    @cached_property
    def sentences(self) -> tuple["TextIndex", ...]:
        """Its sentences and lines, each by itself."""
        return tuple([TextIndex(each) for each in _SENTENCE.split(self.text) if each.strip()])

    @cached_property
    def beginnings(self) -> list[str]:
        """What it says that something starts with, where it doesn't say the whole."""
        return [normalize_text(match) for match in _BEGINNING.findall(self.text)]

    @cached_property
    def templates(self) -> list[re.Pattern[str]]:
        """What it asks for with a placeholder: `'Dinner at {restaurant}'`."""
        return [_compile_template(match) for match in _TEMPLATE.findall(self.text)]

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Return whether a pattern of ours matches it."""
        return pattern.search(self.text) is not None

    def has(self, value: str) -> bool:
        """Return whether it contains a value as a whole."""
        wanted = normalize_text(value)
        return any(self._is_standalone(each) for each in _url_variants(wanted)) if wanted else True

    def has_place(self, value: str, nouns: frozenset[str]) -> bool:
        """Return whether it contains a value as a whole; a common word (`all`, `general`) only where it is marked as a name.

        That is: in quotes, after `@` or `#`, after `to`, or beside the word for such a thing (`the general channel`).
        """
        if not (value.isalpha() and value.islower()):
            return self.has(value)
        word, beside = re.escape(value), "|".join(sorted(nouns))
        marked = rf"[{_QUOTES}@#]{word}(?!\w)|\bto (?:the )?{word}(?!\w)|\b(?:{beside}) {word}(?!\w)|\b{word} (?:{beside})\b"
        return self.has(value) and re.search(marked, self._normalized) is not None

    def has_words(self, value: str) -> bool:
        """Return whether it contains the words of a value in sequence, with any separators; a file extension may be left out."""
        return join_tokens(value) in self._joined_words or join_tokens(_ENDING.sub("", value)) in self._joined_words

    def has_beginning(self, value: str) -> bool:
        """Return whether a word of it begins with a value, or is the beginning of it."""
        wanted = normalize_text(value)
        return any(part.startswith(wanted) or (len(part) > 2 and wanted.startswith(part)) for part in split_tokens(self.text))

    def has_short_id(self, value: str, nouns: frozenset[str]) -> bool:
        """Return whether it contains a short number as the id of such a thing: `file 13`, `id: 7`."""
        tokens = split_tokens(strip_days(self.text))
        return any(token == value and nouns & set(tokens[max(0, at - 2) : at]) for at, token in enumerate(tokens))

    def _is_standalone(self, wanted: str) -> bool:
        return any(_is_apart(self._single_spaced, at, at + len(wanted)) for at in _find_all(self._normalized, wanted))


def split_tokens(text: str) -> list[str]:
    """Split a text into lower-case words and numbers; `_` and a change to upper case separate them too."""
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).translate(_SMALL))


def stem_tokens(text: str) -> frozenset[str]:
    """Return the stems of the words and numbers of a text, without stop words: `deleted files` are `delet` and `file`."""
    return frozenset([stem_word(part) for part in split_tokens(text) if part not in _SMALL_WORDS])


def stem_word(word: str) -> str:
    """Return a word without its inflections; no grammar, but the same for both sides of a comparison."""
    while ending := next((each for each in _ENDINGS if word.endswith(each) and len(word) - len(each) > 2), ""):
        word = word.removesuffix(ending)
    return word


def join_tokens(text: str) -> str:
    """Return the words and numbers of a text, a space around each; where there are none, a text that occurs nowhere."""
    return f" {' '.join(split_tokens(text)) or chr(0)} "


def parse_decimal(value: str | float) -> Decimal | None:
    """Return the number a value is, or None."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _find_all(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _is_apart(text: str, start: int, end: int) -> bool:
    """Return whether nothing joins a range to what is before and after it."""
    before = text[start - 1 : start]
    if before and (before.isalnum() or before in _JOINING_BEFORE) and text[max(0, start - 3) : start] != "://":
        return False
    after, further = text[end : end + 1], text[end + 1 : end + 3]
    if after == "." and further.istitle() and further.isalpha():
        return True  # the next sentence, without a space before it
    return not after or not (after.isalnum() or after in _JOINING_AFTER or (after in _JOINING_ON and further[:1].isalnum()))


def _url_variants(wanted: str) -> list[str]:
    """Return the spellings of a URL: it may be written without its scheme, and with a slash at its end."""
    bare = re.sub(r"^https?://", "", wanted)
    return [wanted] if bare == wanted else [wanted, bare.rstrip("/")]


def _compile_template(text: str) -> re.Pattern[str]:
    pieces = re.split(r"\{\w+\}", normalize_text(text))
    return re.compile(".{1,80}".join(re.escape(piece) for piece in pieces))
