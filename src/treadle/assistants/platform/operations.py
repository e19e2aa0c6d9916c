"""What the routes of the platform assistant are: what can be asked, and every answer there can be. Who answers is `routes`."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from treadle import Approval
from treadle.assistants.platform.generate import Generated
from treadle.assistants.platform.score import Finding
from treadle.routes import Answer, Operation, problem

LONGEST = 100_000  # characters of one message

# What is asked


class Earlier(Struct, frozen=True):
    """Something that was said before. `spec` is the one that was shown with it."""

    role: Literal["user", "assistant"]
    content: str
    spec: str | None = None
    timestamp: Any = None


class ChatAsked(Struct, frozen=True):
    """A question, or a plain yes or no to what was asked. `run_id` goes on with a conversation that is kept here; a history brings
    one along.
    """

    message: Annotated[str, Meta(examples=["Which applications run?"])]
    conversation_history: tuple[Earlier, ...] = ()
    context: Any = None
    run_id: str | None = None


class SpecWanted(Struct, frozen=True):
    """What a spec is wanted for."""

    description: Annotated[str, Meta(examples=["A web application with a database"])]
    metadata: dict[str, Any] | None = None


class SpecGiven(Struct, frozen=True):
    """A spec."""

    spec: str


# What is answered


class PlatformReply(Struct, frozen=True):
    """An answer. Its first five fields are those that clients of the original know."""

    message: str
    generated_spec: str | None
    citations: tuple[str, ...]
    tokens_used: int
    timestamp: str
    run_id: str
    stopped: str
    approvals: tuple[Approval, ...]
    findings: tuple[Finding, ...]


class PlatformStatus(Struct, frozen=True):
    """Whether it can be used, and what is missing."""

    enabled: bool
    llm_provider: str
    embedding_model: str
    documents_loaded: int
    status: Literal["ready", "not_configured"]
    message: str
    missing_keys: list[str]


class PlatformPerson(Struct, frozen=True):
    """Which platform is asked, and who they are there. Nobody, where the platform names nobody."""

    server: str
    username: str = ""
    role: str = ""
    team: str = ""


class SpecChecked(Struct, frozen=True):
    """What is wrong or doubtful in a spec."""

    valid: bool
    findings: tuple[Finding, ...]


MODEL = {502: problem("the model's server failed"), 503: problem("there is no model; the sentence says what to do")}
RUNS = {404: problem("there is no such run of theirs"), 409: problem("the run is under way, waits, or waits no more"), **MODEL}
LONG = problem(f"more than {LONGEST:,} characters, or than is taken at once")
CHAT = Operation(
    "Ask the platform assistant", body=ChatAsked, answers={200: Answer("the answer", PlatformReply), 413: LONG, **RUNS}, runs=True
)
GENERATE = Operation(
    "Have a spec written",
    body=SpecWanted,
    answers={200: Answer("the spec", Generated), **MODEL, 502: problem("the model failed, or wrote no spec")},
    runs=True,
)
STATUS = Operation("Whether the platform assistant can be used", answers={200: Answer("how it stands", PlatformStatus)})
ME = Operation("Who asks, and which platform", answers={200: Answer("the person", PlatformPerson)})
VALIDATE = Operation("Look a spec over", body=SpecGiven, answers={200: Answer("what was found", SpecChecked)})
