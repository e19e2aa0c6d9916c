"""Request and response bodies of the runs API. Values only, with their descriptions for the OpenAPI document."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from treadle.agent.arguments import LONGEST_MESSAGE_ID
from treadle.core.grants import Grant
from treadle.engine.setup import Approval
from treadle.routes import Decision
from treadle.routes.decision import DecisionScope
from treadle.server.runs.origin import RequestedCall
from treadle.stores.journal import RunInfo

MAX_TEXT = 100_000  # characters of a message, or of instructions
MAX_ATTACHMENTS = 20  # images, recordings and documents with one message

Message = Annotated[
    str, Meta(description="What the person says.", extra_json_schema={"minLength": 1, "maxLength": MAX_TEXT, "pattern": r"\S"})
]
Instructions = Annotated[
    str | None,
    Meta(
        description="What the model is told besides what the assistant says.",
        extra_json_schema={"maxLength": MAX_TEXT},
    ),
]
ModelName = Annotated[str | None, Meta(description="One that GET /api/models lists; the default where it is empty.")]


class AttachmentUpload(Struct, frozen=True, forbid_unknown_fields=True):
    """An image, a recording or a document."""

    data: Annotated[str, Meta(description="Its bytes in Base64.")]
    media_type: Annotated[str, Meta(description="Such as image/png; found out from the bytes where it isn't said.")] = ""
    name: str = ""


class TurnRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A message to an assistant, in a new run or in an existing one."""

    message: Message
    assistant: Annotated[str, Meta(description="Its name; in a run that is there, it is that run's.")] = ""
    run_id: Annotated[str, Meta(description="The run to go on with.")] = ""
    model: ModelName = None
    instructions: Instructions = None
    context: Annotated[
        dict[str, Any], Meta(description="What a new run is about, such as a project; which there are says the assistant's page.")
    ] = {}
    call: Annotated[RequestedCall | None, Meta(description="A call to be made instead of asking the model.")] = None
    attachments: Annotated[
        list[AttachmentUpload], Meta(description="What is shown to the model besides.", max_length=MAX_ATTACHMENTS)
    ] = []
    where: Annotated[Literal["server", "workers"], Meta(description="What executes a new run: this server, or a worker.")] = (
        "server"
    )
    queue: Annotated[str, Meta(description="The queue of a run for workers.", max_length=50)] = ""
    priority: Annotated[int, Meta(description="How urgent a run for workers is: higher ones begin first.", ge=-1000, le=1000)] = 0
    any_version: Annotated[bool, Meta(description="Whether workers of any version of the application may continue it.")] = False


class MessageRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A message to a run, whether or not a turn of it is running."""

    message: Message
    message_id: Annotated[
        str,
        Meta(
            description="The sender's own id of the message: one that is sent again is taken in once.",
            max_length=LONGEST_MESSAGE_ID,
        ),
    ] = ""
    attachments: Annotated[
        list[AttachmentUpload], Meta(description="What is shown to the model besides.", max_length=MAX_ATTACHMENTS)
    ] = []


class ResumeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """How a run is resumed; unset values stay as they were."""

    model: ModelName = None
    instructions: Instructions = None


class ForkRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Up to where a run is copied, and how the copy continues: at once, where there is a message."""

    at: Annotated[int | None, Meta(description="How many entries are copied; all of them where it isn't said.")] = None
    before_message: Annotated[
        int | None,
        Meta(
            description="Copy what was before this message of the user, counted from 1 on or from the end with -1, and send it "
            "again, or `message` in its place."
        ),
    ] = None
    message: Message | None = None
    model: ModelName = None
    instructions: Instructions = None


class RunCallDecision(Decision, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision about a waiting call. The digest is required where the call then runs."""

    digest: str = ""
    arguments: Annotated[dict[str, Any] | None, Meta(description="Others than those that were shown.")] = None


class ShownCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A waiting call as it was shown."""

    call_id: str
    digest: Annotated[str, Meta(min_length=1)]


class CallsDecision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One decision about several waiting calls of a run. Where one of them can't be answered, none is."""

    approved: bool
    calls: Annotated[list[ShownCall], Meta(min_length=1, max_length=200)]
    reason: Annotated[str, Meta(description="Why not; for the model.", max_length=10_000)] = ""
    scope: DecisionScope = "once"


class EventRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """An event for the calls that wait for it."""

    value: Annotated[Any, Meta(description="Any JSON; the result of the call that waits.")] = None
    key: Annotated[
        str, Meta(description="Which of several events of this name: an order's number, for example.", max_length=200)
    ] = ""
    sender: Annotated[str, Meta(description="Who sends it; by default the user.", max_length=200)] = ""
    from_user: Annotated[
        bool, Meta(description="The value is the user's own. Any other one is untrusted content, as what tools read is.")
    ] = False


class SentEvent(Struct, frozen=True):
    """The runs that an event has come for; they go on by themselves."""

    run_ids: list[str]


class GrantList(Struct, frozen=True):
    """What is allowed for always."""

    grants: list[Grant]


class RunListQuery(Struct, frozen=True):
    """Filters for the list of runs."""

    search: Annotated[str, Meta(description="Words in their titles, or an id.", max_length=200)] = ""
    status: Literal["", "open", "answered", "limit", "waiting", "cancelled", "failed"] = ""
    assistant: Annotated[str, Meta(max_length=200)] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    before: Annotated[str, Meta(description="`next` of the list before, or the id of its last run.", max_length=200)] = ""
    rating: Annotated[Literal["", "good", "bad"], Meta(description="Runs with an answer that its user has rated so.")] = ""


class RunQuery(Struct, frozen=True):
    """How long a response waits for a run."""

    wait: Annotated[float, Meta(description="Seconds to wait until it is over or waits.", ge=0, le=60)] = 0


class EventStreamQuery(Struct, frozen=True):
    """After which event a stream starts."""

    after: Annotated[str, Meta(description="The id of the last event that was read.", max_length=10_000)] = ""


class RunList(Struct, frozen=True):
    """Runs, newest first. `next` is the cursor of the following page."""

    runs: list[RunInfo]
    more: bool
    next: str


class RunStatusView(Struct, frozen=True):
    """A run that continues in the background, or waits for more answers."""

    run_id: str
    status: str


class MessageView(Struct, frozen=True):
    """A message that was taken in. `steering` says that it was by a turn that had begun before; else it began one."""

    run_id: str
    status: str
    steering: bool


class CreatedRun(Struct, frozen=True):
    """A run that was created."""

    run_id: str


class PendingApproval(Approval, frozen=True, kw_only=True):
    """A call that waits for a person, and the top-level run it belongs to."""

    root: str
    assistant: str
    title: str


class PendingApprovalList(Struct, frozen=True):
    """All pending approvals."""

    approvals: list[PendingApproval]
