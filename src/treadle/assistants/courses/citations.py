"""Numbered citations: which passages an answer cites by the numbers that the model saw. Pure.

The numbers are part of the data of each search result. A number without a passage is dropped from the answer; code is
left alone.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from treadle import CallRecord
from treadle.assistants.courses.sources import FoundPassage, lookup_from_result

_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
_MARK = re.compile(r"([ \t]?)\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\](?![(\[:])")


class Citation(Struct, frozen=True):
    """A passage that an answer cites: `[number]` in its text. `text` and `url` are those of its source."""

    number: int
    id: str
    text: str
    place: str
    url: str | None = None


def collect_passages(calls: Iterable[CallRecord]) -> dict[int, FoundPassage]:
    """Return the passages that a run's searches found, by their numbers."""
    lookups = [lookup for record in calls if (lookup := lookup_from_result(record.result)) is not None]
    return {each.number: each for lookup in lookups for each in lookup.passages if each.number}


def resolve_citations(answer: str, found: Mapping[int, FoundPassage]) -> tuple[str, tuple[Citation, ...]]:
    """Return the answer without numbers that have no passage, and its citations in the order of their numbers."""
    if not found:
        return answer, ()
    named: set[int] = set()

    def keep(mark: re.Match[str]) -> str:
        numbers = [int(each) for each in re.findall(r"\d+", mark[2])]
        there = list(dict.fromkeys([number for number in numbers if number in found]))
        named.update(there)
        return mark[1] + "".join([f"[{number}]" for number in there]) if there else ""

    pieces = [piece if at % 2 else _MARK.sub(keep, piece) for at, piece in enumerate(_CODE.split(answer))]
    return "".join(pieces), tuple([_build_citation(number, found[number]) for number in sorted(named)])


def _build_citation(number: int, found: FoundPassage) -> Citation:
    passage = found.source.passages[0]
    return Citation(number, passage.id, found.source.text, passage.place, found.source.url)
