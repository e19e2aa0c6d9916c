"""Numbers in text: `1,000`, `forty-seven`, `3.5 million`, `2nd`, `12 %`. Pure; a value with how exactly it was written.

Digits inside of a date, a version or an identifier are numbers of a source too; what counts as a number of an answer is decided
in `guard.answer_grounding`.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct

UNITS = {
    **dict(
        zip(
            ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
            range(13),
            strict=True,
        )
    ),
    **dict(zip(["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"], range(13, 20), strict=True)),
}
TENS = dict(zip(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], range(20, 100, 10), strict=True))
SCALES = {"hundred": 10**2, "thousand": 10**3, "k": 10**3, "million": 10**6, "billion": 10**9, "bn": 10**9, "trillion": 10**12}
OTHER_WORDS: dict[str, float] = {
    "half": 0.5,
    "quarter": 0.25,
    "dozen": 12,
    "single": 1,
    "both": 2,
    "couple": 2,
    "pair": 2,
    "twice": 2,
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
}
LARGEST = 10**15  # a longer row of digits is an identifier, and no number that anybody counts with
WORDS: dict[str, float] = {**UNITS, **TENS, **{word: scale for word, scale in SCALES.items() if len(word) > 2}, **OTHER_WORDS}

_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_WORD = "|".join([*UNITS, *TENS, *[word for word in SCALES if len(word) > 2]])
_WORDED = re.compile(rf"\b(?:{_WORD})\b(?:(?:\s+and\s+|[\s-]+)(?:{_WORD})\b)*", re.IGNORECASE)
_SCALE = re.compile(r"\s?(thousand|k|million|billion|bn|trillion)\b", re.IGNORECASE)


class Numeral(Struct, frozen=True):
    """A number at a place in a text; `step` is the value of its last written digit."""

    start: int
    end: int
    value: Decimal
    step: Decimal = Decimal(1)


def find_numerals(text: str) -> Iterator[Numeral]:
    """Yield the numbers of a text that are written in digits."""
    for match in _DIGITS.finditer(text):
        numeral = _scale(match, text)
        if numeral.value < LARGEST:
            yield numeral


def find_number_words(text: str) -> Iterator[Numeral]:
    """Yield the numbers of a text that are written in words."""
    for match in _WORDED.finditer(text):
        yield Numeral(match.start(), match.end(), Decimal(_read_words(match[0])))


def all_numbers(text: str) -> frozenset[Decimal]:
    """Return every number that a text mentions, digits within identifiers, dates and versions among them."""
    found = {each.value for each in (*find_numerals(text), *find_number_words(text))}
    found |= {Decimal(digits) for digits in re.findall(r"\d{1,15}", text)}
    found |= {Decimal(str(OTHER_WORDS[word])) for word in re.findall(r"[a-z]+", text.lower()) if word in OTHER_WORDS}
    return frozenset(found)


def _scale(match: re.Match[str], text: str) -> Numeral:
    digits = match[0].replace(",", "")
    step = Decimal(1).scaleb(-len(digits.partition(".")[2]))
    scale = _SCALE.match(text, match.end())
    if scale is None:
        return Numeral(match.start(), match.end(), Decimal(digits), step)
    factor = SCALES[scale[1].lower()]
    return Numeral(match.start(), scale.end(), Decimal(digits) * factor, step * factor)


def _read_words(words: str) -> int:
    """Return the number that words like `two hundred and forty-seven` are."""
    total = current = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        if word in SCALES:
            current = (current or 1) * SCALES[word]
            if SCALES[word] > 100:
                total, current = total + current, 0
        elif word != "and":
            current += UNITS.get(word, 0) or TENS.get(word, 0)
    return total + current
