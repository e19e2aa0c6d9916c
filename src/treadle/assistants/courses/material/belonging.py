"""Which course a file belongs to, by where it lies: a course of its own, or a lesson of the course its folder is. Pure."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from treadle.assistants.courses.material.named import readable


class Belonging(Struct, frozen=True):
    """The course that a file is of. A lesson's course has its title from the folder; another's is its own to say."""

    course: str
    title: str = ""

    @property
    def lesson(self) -> bool:
        """Whether the file is a lesson, not a course by itself."""
        return bool(self.title)


def belonging(source: str, titles: Mapping[str, str], folders: Iterable[str] = ()) -> Belonging:
    """The course of a file that doesn't name one itself: of the added folder, if that has a title; else of the folder in it."""
    name = _folder(source, (*titles, *folders))
    if name in titles and source != name:
        return Belonging(name, titles[name] or readable(name.rpartition("/")[2]))
    within = source.removeprefix(name).strip("/").split("/")
    return Belonging(f"{name}/{within[0]}", readable(within[0])) if len(within) > 1 else Belonging(source)


def _folder(source: str, known: Iterable[str]) -> str:
    """The name of the added folder: the longest one that is known, else the first part of the source."""
    fitting = [each for each in known if source.startswith(f"{each}/")]
    return max(fitting, key=len) if fitting else source.partition("/")[0]
