"""Data types of course material: lessons, what a file states about its course, and a file's text before splitting."""

from msgspec import Struct


class Lesson(Struct, frozen=True):
    """A lesson of a course. Zero is a valid number; a lesson may have none."""

    number: int | None = None
    title: str = ""
    link: str = ""

    @property
    def heading(self) -> str:
        """The lesson as a heading: `Lesson 4: Shaping the loaf`."""
        if self.number is None:
            return self.title
        return f"Lesson {self.number}: {self.title}" if self.title else f"Lesson {self.number}"


class CourseFileInfo(Struct, frozen=True):
    """What one file states about its course. Files with the same `course` belong to one course."""

    course: str
    title: str
    link: str = ""
    instructor: str = ""
    lessons: tuple[Lesson, ...] = ()


class Material(Struct, frozen=True):
    """A file as one text, in any format.

    `anchors` are positions in it, each with its offset: `page 3`, `00:12:30`, `cell 4`. `lines` says whether its lines
    are the file's own. `title` is the file's title from outside its text.
    """

    text: str
    markdown: bool = False
    anchors: tuple[tuple[int, str], ...] = ()
    title: str = ""
    lines: bool = False
