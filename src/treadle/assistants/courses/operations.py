"""What the routes of the course assistant are: what can be asked, and every answer there can be. Who answers is `routes`."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from treadle.assistants.courses.catalogue import Course
from treadle.assistants.courses.sessions import Exchange, Session
from treadle.assistants.courses.sources import Source
from treadle.routes import Answer, Operation, problem

LONGEST = 20_000  # characters of a question

# What is asked

Number = Annotated[int, Meta(ge=0, le=1_000_000)] | Literal[""]  # of a lesson; nothing is none of them


class QueryAsked(Struct, frozen=True):
    """A question, as clients of the original send it."""

    query: Annotated[str, Meta(examples=["What is a keel?"])]
    session_id: str | None = None


class SearchAsked(Struct, frozen=True):
    """Words to look for, perhaps in one course or lesson only."""

    q: Annotated[str, Meta(examples=["keel"])]
    course: str = ""
    lesson: Number = ""


class PassageAsked(Struct, frozen=True):
    """A passage by its id."""

    id: str = ""


class LessonAsked(Struct, frozen=True):
    """A lesson of a course; what belongs to none, where none is named."""

    course: str = ""
    lesson: Number = ""


# What is answered


class QueryAnswered(Struct, frozen=True):
    """An answer, with where it is from."""

    answer: str
    sources: tuple[Source, ...]
    session_id: str
    run_id: str
    stopped: str
    tokens_used: int


class CoursesListed(Struct, frozen=True):
    """The courses: their names, as clients of the original know them, and all that is known of them."""

    total_courses: int
    course_titles: list[str]
    courses: list[Course]


class PassageTold(Struct, frozen=True):
    """A passage, and what it is from."""

    id: str
    place: str
    headings: tuple[str, ...]
    text: str
    source: str
    url: str | None
    course: str
    lesson: int | None


class PassageFound(PassageTold, frozen=True, kw_only=True):
    """A passage that fits, the better the higher its score."""

    score: float


class PassageShown(PassageTold, frozen=True, kw_only=True):
    """A passage, with the ids of those around it."""

    before: str | None
    after: str | None


class PassagesFound(Struct, frozen=True):
    """The passages that fit, the best first."""

    found: list[PassageFound]


class LessonShown(Struct, frozen=True):
    """The passages of a lesson, in order."""

    course: str
    passages: list[PassageTold]


class SessionsListed(Struct, frozen=True):
    """Conversations, the newest first."""

    sessions: list[Session]


class SessionBegun(Struct, frozen=True):
    """A new conversation."""

    session_id: str


class SessionShown(Struct, frozen=True):
    """What was said in a conversation."""

    exchanges: list[Exchange]


UNFIT = problem("something is missing, or isn't what it has to be")
LONG = problem(f"more than {LONGEST:,} characters, or than is taken at once")
NO_SESSION = problem("there is no such conversation of theirs")
QUERY = Operation(
    "Ask about the courses",
    body=QueryAsked,
    answers={
        200: Answer("the answer", QueryAnswered),
        413: LONG,
        422: UNFIT,
        502: problem("the model's server failed"),
        503: problem("there is no model; the sentence says what to do"),
    },
    runs=True,
)
COURSES = Operation("The courses there are", answers={200: Answer("the courses", CoursesListed)})
SEARCH = Operation(
    "Passages that fit words, without a model",
    query=SearchAsked,
    answers={200: Answer("the passages", PassagesFound), 404: problem("there is no such course"), 413: LONG, 422: UNFIT},
)
PASSAGE = Operation(
    "A passage",
    query=PassageAsked,
    answers={200: Answer("the passage", PassageShown), 404: problem("there is no such passage any more"), 422: UNFIT},
)
LESSON = Operation(
    "The passages of a lesson",
    query=LessonAsked,
    answers={200: Answer("the passages", LessonShown), 404: problem("there is no such lesson"), 422: UNFIT},
)
SESSIONS = Operation("The person's conversations about courses", answers={200: Answer("the conversations", SessionsListed)})
SESSION = Operation("What was said in one", answers={200: Answer("what was said", SessionShown), 404: NO_SESSION})
FORGET = Operation("Forget one", answers={204: Answer("it is forgotten"), 404: NO_SESSION})
BEGIN = Operation("Begin a conversation", answers={201: Answer("the conversation", SessionBegun)})
