"""Where an answer is from: the lessons that were looked at for a run, each once, with its link and its passages."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from treadle import CallRecord
from treadle.assistants.courses.catalogue import Course
from treadle.passages import Passage

MOST_RUNS = 200  # whose looks are remembered until somebody takes them


class Cited(Struct, frozen=True):
    """A passage that was looked at."""

    id: str
    place: str


class Source(Struct, frozen=True):
    """A lesson, or a course, that an answer is from. `text` and `url` are what clients of the original know."""

    text: str
    url: str | None = None
    course: str = ""
    lesson: int | None = None
    passages: tuple[Cited, ...] = ()


_looks: "OrderedDict[tuple[str, str], Sequence[Source]]" = OrderedDict()


def look(run_id: str, call_id: str, sources: Sequence[Source]) -> None:
    """Something was looked at."""
    _looks[run_id, call_id] = sources
    while len(_looks) > MOST_RUNS:
        _looks.popitem(last=False)


def sources_of(calls: Iterable[CallRecord]) -> tuple[Source, ...]:
    """What was looked at by these calls, merged in their order."""
    return merged([source for each in calls for key, found in _looks.items() if key[1] == each.call.id for source in found])


def merged(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Each lesson once, in the order they were found first, with all of its passages."""
    found: dict[tuple[str, str], Source] = {}
    for each in sources:
        before = found.get((each.course, each.text), each)
        passages = tuple(dict.fromkeys((*before.passages, *each.passages)))
        found[each.course, each.text] = Source(each.text, before.url or each.url, each.course, each.lesson, passages)
    return tuple(found.values())


def source_of(passage: Passage, name: str) -> Source:
    """A passage as a source; `name` is what its course is called."""
    number = passage.tags.get("lesson")
    lesson = number if isinstance(number, int) else None
    under = f"Lesson {lesson}" if lesson is not None else "".join(passage.headings[:1])
    text = f"{name} - {under}" if under and under != name else name
    return Source(text, passage.link or None, str(passage.tags.get("course", "")), lesson, (Cited(passage.id, passage.place),))


def source_of_course(course: Course) -> Source:
    """A course whose outline was looked at."""
    return Source(course.name, course.link or None, course.key)
