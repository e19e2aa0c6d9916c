"""What material is made into: lessons, what a file says of its course, and a file's text on the way there. Values only."""

from msgspec import Struct


class Lesson(Struct, frozen=True):
    """A lesson of a course. Zero is a number; a lesson may have none."""

    number: int | None = None
    title: str = ""
    link: str = ""

    @property
    def heading(self) -> str:
        """The lesson as a heading: `Lesson 4: Shaping the loaf`."""
        if self.number is None:
            return self.title
        return f"Lesson {self.number}: {self.title}" if self.title else f"Lesson {self.number}"


class CourseFile(Struct, frozen=True):
    """What one file says about the course it belongs to. Files with the same `course` are of one course."""

    course: str
    title: str
    link: str = ""
    instructor: str = ""
    lessons: tuple[Lesson, ...] = ()


class Material(Struct, frozen=True):
    """A file as one text, whatever its format.

    `anchors` are places in it, each with the offset it begins at: `page 3`, `00:12:30`, `cell 4`. `lines` says whether its lines
    are the file's own. `title` is what the file calls itself outside of its text.
    """

    text: str
    markdown: bool = False
    anchors: tuple[tuple[int, str], ...] = ()
    title: str = ""
    lines: bool = False
