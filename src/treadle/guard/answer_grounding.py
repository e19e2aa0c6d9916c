"""Values of an answer that nothing vouches for: numbers, times, dates, names, identifiers and quotes that are in no source. Pure.

No model judges. A value is grounded if it is in a tool result, a message or the instructions, in whatever spelling, or follows from
them by counting or adding. Code blocks aren't checked: they are written, not looked up. Nor is a word with a capital letter at the
beginning of a sentence: it may be any word.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from treadle.core.entries import UngroundedValue, ValueKind
from treadle.guard.answer_sources import WEEKDAYS, AnswerSources
from treadle.guard.dates import contains_day, locate_days, locate_times, month_number
from treadle.guard.numerals import Numeral, find_number_words, find_numerals

MARK = "[?]"
_LONGEST_NUMBER = 24  # characters; what is longer identifies something
MOST_TOLD = 8  # values that a model is told of at once

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_MARKER = re.compile(r"^[ \t]*(?:#{1,6}[ \t].*|[-*+][ \t]+|\d{1,3}[.)][ \t]+)", re.MULTILINE)
_LABEL = re.compile(r"^[^\S\n]*\**[\w ,'-]{1,60}:\**[^\S\n]*$", re.MULTILINE)
_CITATION = re.compile(r"\[\d{1,3}(?:\s?,\s?\d{1,3})*\]")  # of a passage, which has a check of its own
_QUOTE = re.compile(r"`([^`\n]+)`|\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”")
_CHUNK = re.compile(r"[^\s|()\[\]{}<>,;!?\"“”*=…]+")
_EDGES = ".:'\u2019`_-\u2013—/&"
_NUMBER = re.compile(r"[~≈≤≥+$€£#-]*\d[\d,]*(?:\.\d+)?(?:%|°?[A-Za-zµ]{1,3}|°)?")
_RANGE = re.compile(r"[-\u2013—/\u00d7x:]")
_COUNTED = re.compile(r"\d[\d,.]*-[a-z]+(?:-[a-z]+)*")  # a 24-hour clock
_NAME = re.compile(r"[A-Z][\w\u2019'.&-]*")
_BEGINNING = re.compile(r"(?:\A|[.!?][\"”)]*\s+|[\n|(\"“>;\u2013—•]\s*)[*_\s]*\Z")  # of a sentence: any word has a capital here
_ITEM = re.compile(r"(?::[^\S\n]*|(?:\A|\n)[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+)[*_]*\Z")  # of a list: what comes may be a name
_ALONE = re.compile(r"(?:\s+[A-Z][\w'.-]*)*[*_]*(?:[,.](?:\s|\Z)|[^\S\n]*(?:\n|\Z)|\s+(?:and|or)\s+[A-Z])")
_UNIT = re.compile(
    r"[\s-]?(?:[kcm]?m|[km]?g|m?l|[kmgt]i?b|ms|s|min|h|hrs?|d|seconds?|minutes?|hours?|days?|weeks?|months?|years?|grams?|bytes?)\b",
    re.IGNORECASE,
)
_ATTACHED = re.compile(r"\d[\d.,]*\Z")  # a number before its unit
_PERCENT = re.compile(r"\s?(?:%|per ?cent\b)")
_CURRENCY_BEFORE = re.compile(r"[$€£¥]\s?\Z")
_CURRENCY_AFTER = re.compile(r"\s?(?:[$€£¥]|(?:dollars?|euros?|pounds?|cents?|usd|eur|gbp)\b)", re.IGNORECASE)
_UNIT_SCALES = (60, 3600, 24, 86400, 7, 12, 1000, 1024, 10**6, 2**20)
_PLAIN_WORDS = frozenset(
    re.findall(
        r"\S+",
        "i i'm i've i'll i'd yes no none ok api http https url id ids utc gmt json yaml html csv pdf am pm faq usd eur markdown",
    )
)
_FREE_NUMBERS = frozenset((Decimal(0), Decimal(1)))  # none, and one


def find_ungrounded(answer: str, sources: AnswerSources) -> tuple[UngroundedValue, ...]:
    """Return the values of an answer that are in no source and don't follow from one, in their order."""
    check = _AnswerCheck(answer, sources)
    found = [value for finder in _FINDERS for value in finder(check)]
    return tuple(_joined(answer, sorted(found, key=lambda value: value.start)))


def mark_ungrounded(answer: str, values: Sequence[UngroundedValue]) -> str:
    """Return an answer with a mark behind each of these values."""
    for value in sorted(values, key=lambda value: value.start, reverse=True):
        answer = f"{answer[: value.end]} {MARK}{answer[value.end :]}"
    return answer


def explain_ungrounded(values: Sequence[UngroundedValue]) -> str:
    """Return the message to the model whose answer has these values."""
    quoted = ", ".join(dict.fromkeys([f"«{value.text}»" for value in values[:MOST_TOLD]]))
    return (
        f"Your last answer says {quoted}, and no tool result says that. Answer again: use only the values that are in the results, "
        "exactly as they are written there, and say so if they don't have what was asked for."
    )


class _AnswerCheck:
    """An answer in progress: what a finder has dealt with is blanked out, so that the next ones don't see it."""

    def __init__(self, answer: str, sources: AnswerSources) -> None:
        self.answer = answer
        self.sources = sources
        self.rest = answer
        for pattern in (_FENCE, _MARKER, _LABEL, _CITATION):
            self.rest = pattern.sub(lambda match: _blank(match[0]), self.rest)
        self._shown: list[Decimal] = []
        self.own_counts = _count_items(answer)

    def take(self, start: int, end: int, kind: ValueKind, *, grounded: bool) -> Iterator[UngroundedValue]:
        """Blank a value out, and yield it unless it is grounded."""
        self.rest = self.rest[:start] + _blank(self.rest[start:end]) + self.rest[end:]
        if not grounded:
            yield UngroundedValue(start, end, self.answer[start:end], kind)

    def has_number(self, numeral: Numeral) -> bool:
        """Return whether a number is in the sources, a rounding or conversion of one there, or is counted or computed."""
        value, known = numeral.value, self.sources.numbers
        if value in _FREE_NUMBERS and self._is_money(numeral):  # even nothing has to be said somewhere
            return value in self.sources.stated
        if value in _FREE_NUMBERS or value in known or value in self.own_counts:
            self._shown.append(value)
            return True
        if any(abs(each - value) <= numeral.step / 2 for each in known if numeral.step > 1 or each % numeral.step):
            return True
        if _PERCENT.match(self.answer, numeral.end) and value / 100 in known:
            return True
        unit = _UNIT.match(self.answer, numeral.end)
        if unit is not None and any(value * scale in known for scale in _UNIT_SCALES):
            return True
        return value in self._computed()

    def _is_money(self, numeral: Numeral) -> bool:
        """Return whether a number is an amount of money."""
        return _CURRENCY_BEFORE.search(self.answer[: numeral.start]) is not None or (
            _CURRENCY_AFTER.match(self.answer, numeral.end) is not None
        )

    def _computed(self) -> set[Decimal]:
        """Return what follows from two numbers that the answer itself shows."""
        pairs = list(combinations(self._shown, 2))
        return {result for one, other in pairs for result in (one + other, abs(one - other), one * other, one * other / 100)} | {
            Decimal(round(100 * one / other)) for pair in pairs for one, other in (pair, pair[::-1]) if other
        }


# what an answer has, one kind after the other


def _find_dates(check: _AnswerCheck) -> Iterator[UngroundedValue]:
    for start, end, day in [*locate_days(check.rest)]:
        known = check.sources.days
        grounded = contains_day(day, known) or (not day.year and any(day[1:] == other[1:] for other in known))
        yield from check.take(start, end, "date", grounded=grounded)


def _find_times(check: _AnswerCheck) -> Iterator[UngroundedValue]:
    for time in [*locate_times(check.rest)]:
        spellings = {time.minutes} if time.half else {time.minutes, (time.minutes + 720) % 1440}
        yield from check.take(time.start, time.end, "time", grounded=not spellings.isdisjoint(check.sources.minutes))


def _find_quotes(check: _AnswerCheck) -> Iterator[UngroundedValue]:
    for match in [*_QUOTE.finditer(check.rest)]:
        text = match[1] or match[2] or match[3]
        if not _is_number(text):
            grounded = check.sources.has_phrase(text) or check.sources.has_word(text)
            yield from check.take(match.start(), match.end(), "quote", grounded=grounded)


def _find_ids(check: _AnswerCheck) -> Iterator[UngroundedValue]:
    for start, end, text in [*_chunks(check.rest)]:
        if _is_id(text) and not _is_number(text):
            yield from check.take(start, end, "id", grounded=check.sources.has_phrase(text))


def _find_numbers(check: _AnswerCheck) -> Iterator[UngroundedValue]:
    for find in (find_numerals, find_number_words):
        found = [(numeral.value not in check.sources.numbers, numeral) for numeral in find(check.rest)]
        for _, numeral in sorted(found, key=lambda each: each[0]):  # what is shown first, then what follows from it
            yield from check.take(numeral.start, numeral.end, "number", grounded=check.has_number(numeral))


def _find_names(check: _AnswerCheck) -> Iterator[UngroundedValue]:
    for start, end, text in [*_chunks(check.rest)]:
        if _NAME.fullmatch(text) and not _begins_sentence(check.answer, start, end):
            name = text.removesuffix("'s").removesuffix("\u2019s")
            grounded = _is_known_name(name, check) or _is_known_unit(check, start, end)
            yield from check.take(start, end, "name", grounded=grounded)


_FINDERS: tuple[Callable[[_AnswerCheck], Iterator[UngroundedValue]], ...] = (
    _find_dates,
    _find_times,
    _find_quotes,
    _find_ids,
    _find_numbers,
    _find_names,
)


def _begins_sentence(answer: str, start: int, end: int) -> bool:
    """Return whether a word has its capital letter from where it stands; an item of a list is a name if it stands alone."""
    if _ITEM.search(answer[:start]):
        return _ALONE.match(answer, end) is None
    return _BEGINNING.search(answer[:start]) is not None


def _is_known_name(name: str, check: _AnswerCheck) -> bool:
    word, sources = name.lower(), check.sources
    if word in _PLAIN_WORDS or sources.has_word(name):
        return True
    if word in WEEKDAYS:
        return word in sources.weekdays
    month = month_number(word)
    return month > 0 and any(day.month == month for day in sources.days)


def _is_known_unit(check: _AnswerCheck, start: int, end: int) -> bool:
    """Return whether a word is the unit of a number that a source has with it: `Gi` in `200Gi`."""
    number = _ATTACHED.search(check.answer[max(0, start - _LONGEST_NUMBER) : start])
    return number is not None and check.sources.has_phrase(number[0] + check.answer[start:end])


def _is_id(text: str) -> bool:
    """Return whether a word is an identifier, a file name or an address rather than a word of a language."""
    if _COUNTED.fullmatch(text):
        return False
    letters, digits = any(map(str.isalpha, text)), any(map(str.isdigit, text))
    if (letters and digits) or text.isdigit() or "_" in text or "@" in text or "://" in text:
        return True
    if re.fullmatch(r"[a-z]+(?:[A-Z][a-z]*)+", text):
        return True
    return re.fullmatch(r"[\w/-]{2,}(?:\.[a-z]{1,5})+", text) is not None


def _is_number(text: str) -> bool:
    """Return whether a word is a number with its sign and unit, or a range of numbers."""
    if len(text) > _LONGEST_NUMBER:
        return False
    parts = [part for part in _RANGE.split(text.strip()) if part]
    return _NUMBER.fullmatch(text.strip()) is not None or (bool(parts) and all(_NUMBER.fullmatch(part) for part in parts))


def _chunks(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the words of a text without the punctuation around them."""
    for match in _CHUNK.finditer(text):
        word = match[0].lstrip(_EDGES).rstrip(_EDGES)
        start = match.start() + len(match[0]) - len(match[0].lstrip(_EDGES))
        if word:
            yield start, start + len(word), word


def _count_items(answer: str) -> set[Decimal]:
    """Return how many items the lists of an answer have: a number that says so is grounded by what it counts."""
    found = {Decimal(len(re.findall(r"^\s*(?:[-*+]|\d+[.)])\s", answer, re.MULTILINE)))}
    for sentence in re.split(r"(?<=[.!?:])\s|\n", answer):
        items = re.split(r",\s*(?:and\s+|or\s+)?|\s+and\s+", sentence)
        found.add(Decimal(len(items)))
    return found - {Decimal(1)}


def _joined(answer: str, values: list[UngroundedValue]) -> Iterator[UngroundedValue]:
    """Yield the values, names that stand side by side as one."""
    last: UngroundedValue | None = None
    for value in values:
        if last is not None and last.kind == value.kind == "name" and not answer[last.end : value.start].strip():
            last = UngroundedValue(last.start, value.end, answer[last.start : value.end], "name")
            continue
        if last is not None:
            yield last
        last = value
    if last is not None:
        yield last


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
