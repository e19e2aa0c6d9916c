"""What can be asked of runs over HTTP, and what is answered. Values only, with what the document says about them."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from treadle.engine.setup import Approval
from treadle.routes import Decision
from treadle.stores.journal import RunInfo

MOST_WORDS = 100_000  # characters of a message, or of instructions
MOST_ATTACHED = 20  # images, recordings and documents with one message

Message = Annotated[
    str, Meta(description="What the person says.", extra_json_schema={"minLength": 1, "maxLength": MOST_WORDS, "pattern": r"\S"})
]
Instructions = Annotated[
    str | None,
    Meta(
        description="What the model is told besides what the assistant says.",
        extra_json_schema={"maxLength": MOST_WORDS},
    ),
]
ModelName = Annotated[str | None, Meta(description="One that GET /api/models lists; the default where it is empty.")]


class Attached(Struct, frozen=True, forbid_unknown_fields=True):
    """An image, a recording or a document."""

    data: Annotated[str, Meta(description="Its bytes in Base64.")]
    media_type: Annotated[str, Meta(description="Such as image/png; found out from the bytes where it isn't said.")] = ""
    name: str = ""


class TurnAsked(Struct, frozen=True, forbid_unknown_fields=True):
    """Something that a person says to an assistant, in a new run or in one that is there."""

    message: Message
    assistant: Annotated[str, Meta(description="Its name; in a run that is there, it is that run's.")] = ""
    run_id: Annotated[str, Meta(description="The run to go on with.")] = ""
    model: ModelName = None
    instructions: Instructions = None
    attachments: Annotated[list[Attached], Meta(description="What is shown to the model besides.", max_length=MOST_ATTACHED)] = []
    context: Annotated[
        dict[str, Any], Meta(description="What a new run is about, as its assistant's page says it: kept with the run, no secrets.")
    ] = {}


class GoneOn(Struct, frozen=True, forbid_unknown_fields=True):
    """How a run goes on; as it was begun where nothing else is said."""

    model: ModelName = None
    instructions: Instructions = None


class ForkAsked(Struct, frozen=True, forbid_unknown_fields=True):
    """Up to where a run is copied, and how the copy goes on: at once, where there is a message."""

    at: Annotated[int | None, Meta(description="How many entries are copied; all of them where it isn't said.")] = None
    message: Message | None = None
    model: ModelName = None
    instructions: Instructions = None


class CallAnswered(Decision, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person says about a call that waits. The digest is needed where the call then runs."""

    digest: str = ""
    arguments: Annotated[dict[str, Any] | None, Meta(description="Others than those that were shown.")] = None


class RunsAsked(Struct, frozen=True):
    """Which runs are listed."""

    search: Annotated[str, Meta(description="Words in their titles, or an id.", max_length=200)] = ""
    status: Literal["", "open", "answered", "limit", "waiting", "cancelled", "failed"] = ""
    assistant: Annotated[str, Meta(max_length=200)] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    before: Annotated[str, Meta(description="`next` of the list before, or the id of its last run.", max_length=200)] = ""


class EventsAsked(Struct, frozen=True):
    """After which event a stream begins."""

    after: Annotated[str, Meta(description="The id of the last event that was read.", max_length=200)] = ""


class Listed(Struct, frozen=True):
    """Runs, the newest first. `next` is where a list of those after them begins."""

    runs: list[RunInfo]
    more: bool
    next: str


class Begins(Struct, frozen=True):
    """A run that goes on by itself, or waits for more answers."""

    run_id: str
    status: str


class Made(Struct, frozen=True):
    """A run that is there now."""

    run_id: str


class Waits(Approval, frozen=True, kw_only=True):
    """A call that waits for a person, and in which run that they began."""

    root: str
    assistant: str
    title: str


class Waiting(Struct, frozen=True):
    """All that waits for a person."""

    approvals: list[Waits]
