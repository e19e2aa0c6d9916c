"""Numbered citations: which passages an answer names by the numbers that its model read them under. Pure.

The numbers are part of the data of each search's result. A number that no passage has is dropped from the answer; what stands in
code is left alone.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from treadle import CallRecord
from treadle.assistants.courses.sources import FoundPassage, lookup_of

_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
_MARK = re.compile(r"([ \t]?)\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\](?![(\[:])")


class Citation(Struct, frozen=True):
    """A passage that an answer names: `[number]` in its words. `text` and `url` are those of its source."""

    number: int
    id: str
    text: str
    place: str
    url: str | None = None


def found_by(calls: Iterable[CallRecord]) -> dict[int, FoundPassage]:
    """Return the passages that a run's searches found, by their numbers."""
    lookups = [lookup for record in calls if (lookup := lookup_of(record.result)) is not None]
    return {each.number: each for lookup in lookups for each in lookup.passages if each.number}


def cite(answer: str, found: Mapping[int, FoundPassage]) -> tuple[str, tuple[Citation, ...]]:
    """Return the answer without numbers that no passage has, and the citations in it, in the order of their numbers."""
    if not found:
        return answer, ()
    named: set[int] = set()

    def keep(mark: re.Match[str]) -> str:
        numbers = [int(each) for each in re.findall(r"\d+", mark[2])]
        there = list(dict.fromkeys([number for number in numbers if number in found]))
        named.update(there)
        return mark[1] + "".join([f"[{number}]" for number in there]) if there else ""

    pieces = [piece if at % 2 else _MARK.sub(keep, piece) for at, piece in enumerate(_CODE.split(answer))]
    return "".join(pieces), tuple([_citation(number, found[number]) for number in sorted(named)])


def _citation(number: int, found: FoundPassage) -> Citation:
    passage = found.source.passages[0]
    return Citation(number, passage.id, found.source.text, passage.place, found.source.url)
