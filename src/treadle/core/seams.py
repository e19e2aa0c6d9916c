"""Protocols of the parts that vary. One or two methods each; every protocol has a fake beside the real implementations.

Model      models/      scripted, recorded, openai, anthropic, ollama
Dialect    dialects/    calls written in text
Toolset    toolsets/    a source that lists and calls tools
Policy     guard/       allow, deny or ask
Journal    stores/      memory, SQLite, PostgreSQL; so are Audit, Cache and ResultStore
Blobs      stores/      memory, files
GrantStore stores/      a file
WaitStore  stores/      the table of waits in the journal's database
Embedder   retrieval/   embeddings: builtin, endpoint, hashed
Watcher                 any callable
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Protocol

from msgspec import Struct

from treadle.core.calls import Call, Delivery, Preview, Verdict, Written
from treadle.core.context import RunContext
from treadle.core.entries import Entry
from treadle.core.events import Event
from treadle.core.grants import Grant
from treadle.core.messages import ContextItem
from treadle.core.requests import Delta, Request, ToolSpec, Traits
from treadle.core.tool import Tool


class Model(Protocol):
    """A language model. There is one method: a model that doesn't stream yields everything at once."""

    @property
    def name(self) -> str:
        """The name as in settings: `openai:gpt-4o`."""
        ...

    @property
    def traits(self) -> Traits:
        """What it supports."""
        ...

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Yield the reply in deltas, `ReplyEnded` last. Raises `ModelError`; never retries by itself.

        What is returned may have a method `take_arrived` besides: it returns the deltas that have come together with the one that
        was awaited last, so that those of a reply in one piece needn't be awaited one by one.
        """
        ...


class Warms(Protocol):
    """A model that can read in advance what requests begin with also implements this, and says so in its traits."""

    async def warm(self, request: Request) -> None:
        """Read what requests like this one begin with. Raises `ModelError`."""
        ...


async def warm_model(model: Model, request: Request) -> None:
    """Have a model read in advance what requests like this one begin with, if it can."""
    warm = getattr(model, "warm", None) if model.traits.warms else None
    if warm is not None:
        await warm(request)


class Heard(Struct, frozen=True):
    """What a dialect's parser read from a chunk of text: text for the person, thinking, and complete calls.

    `recant` says that all text before this chunk was thinking: the reply closed a thought that the prompt had opened.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[Written, ...] = ()
    recant: bool = False


class Parser(Protocol):
    """Parses one reply as it streams, in time linear in its length."""

    def feed(self, text: str) -> Heard:
        """Return what is certain after this chunk."""
        ...

    def close(self) -> Heard:
        """Return the rest when the reply is over."""
        ...


class Dialect(Protocol):
    """A format in which models write calls in text."""

    @property
    def name(self) -> str:
        """The name in settings."""
        ...

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """Return the description of tools for the model's instructions."""
        ...

    def spell(self, calls: Sequence[Call], /) -> str:
        """Return the calls as a model writes them, for the history."""
        ...

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        """Return a parser for one reply to a request that offered these tools.

        `reasoning_open` says whether the prompt has opened a thought already; None leaves it to what the reply shows.
        """
        ...


class Toolset(Protocol):
    """A source that lists and calls tools. Entered once before its first use, exited when no longer needed."""

    async def __aenter__(self) -> "Toolset": ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def tools(self) -> Sequence[Tool]:
        """Return the tools it offers now."""
        ...

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Run one call; its arguments are already validated. Raise `ToolProblem` to describe a problem to the model."""
        ...


class Reconciles(Protocol):
    """A toolset with `checkable` tools also implements this."""

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Return the result of an interrupted call if it happened, None if it didn't."""
        ...


class Prepares(Protocol):
    """A toolset whose tools are decided for each request also implements this."""

    async def prepare(self, context: RunContext[Any]) -> Sequence[Tool]:
        """Return the tools for the next request: some of `tools()`, by the same names, as they are or described otherwise."""
        ...


class ForRun(Protocol):
    """A toolset that differs from run to run also implements this."""

    async def for_run(self, context: RunContext[Any]) -> "Toolset":
        """Return the toolset of one run, which is entered, used and exited instead."""
        ...


class ProvidesContext(Protocol):
    """A toolset that has something for the model to read from the start also implements this."""

    async def provide_context(self, context: RunContext[Any]) -> Sequence[ContextItem] | None:
        """Return texts for the model to read with its instructions; None where there is no source of any.

        It is called once for a run, before the first request.
        """
        ...


class Previews(Protocol):
    """A toolset that can preview calls also implements this."""

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Return what the call would do now, described for the person who is asked about it. Changes nothing."""
        ...


Doubts = Callable[[Call, Tool], Sequence[str]]


class Situation(Struct, frozen=True):
    """What a policy may consider besides the call: the user, whether a person can be asked, whether untrusted content was read.

    `doubts` returns which values of a call neither the user nor trusted data gave, a sentence each; None where it isn't
    known.
    """

    user: str = ""
    attended: bool = True
    tainted: bool = False
    doubts: Doubts | None = None


class Policy(Protocol):
    """A policy. Pure: the same call in the same situation gets the same verdict, and the verdict is journaled."""

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        """Return the verdict on a call."""
        ...

    def offers(self, tool: Tool, situation: Situation) -> bool:
        """Return whether the tool is offered to the model at all."""
        ...


class Journal(Protocol):
    """Stores entries. Listing and searching runs is up to the store.

    Where it has an `append_hiding` as well, that gets the run's redactor too, which finds what must not be stored in plain
    text. Where it has a `read_from(run_id, position)` as well, which returns the entries from there on, a long conversation isn't
    read anew for each turn.
    """

    def append(self, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
        """Write entries at `position` (how many the run has). Order is kept; await it to know that they are safe on disk.

        Never raises by itself. Awaiting it raises `RunTaken` where another process has written there.
        """
        ...

    async def read(self, run_id: str) -> list[Entry]:
        """Return all entries of a run. Raises `RunNotFound` where there are none."""
        ...


Stage = Literal["begins", "ended", "erased", "deletion"]


class AuditRecord(Struct, frozen=True):
    """One call, for auditors: redacted. The store adds its number, the hash of the previous record, and its own.

    A call with an effect has two: one before it `begins`, without which it doesn't, and one when it has `ended`. When its run
    is deleted, the record is `erased`: it stays in the chain without the call's content. The `deletion` of a run is a record
    too; its arguments name the records that were erased.
    """

    run_id: str
    call_id: str
    user: str
    tool_name: str
    arguments: dict[str, Any]
    verdict: str
    verdict_by: str
    result_summary: str
    duration_ms: float
    success: bool
    error: str | None
    at: float
    stage: Stage = "ended"


class Audit(Protocol):
    """Stores audit records, chained. Where it has an `anchor(run_id)` as well, that is called at the end of each turn."""

    def record(self, record: AuditRecord) -> Awaitable[Any]:
        """Add a record; await it to know that it is safe on disk."""
        ...


class Cache(Protocol):
    """Stores results that may be reused for a limited time."""

    async def get(self, key: str, now: float) -> str | None:
        """Return the content under `key`, unless it has expired."""
        ...

    async def put(self, key: str, group: str, content: str, until: float) -> None:
        """Store `content` under `key`; `group` is what `forget` drops."""
        ...

    async def forget(self, group: str) -> None:
        """Drop all entries of a group."""
        ...


class ResultStore(Protocol):
    """Stores results in full that were too large for a conversation."""

    async def keep(self, run_id: str, result_id: str, content: str) -> None:
        """Store `content`."""
        ...

    async def fetch(self, run_id: str, result_id: str) -> str | None:
        """Return a stored result in full."""
        ...


class Blobs(Protocol):
    """Stores the bytes of images, recordings and documents, once each, by their hash. May be called in any thread."""

    def put(self, data: bytes) -> str:
        """Store `data` and return its SHA-256, in hexadecimal. It is safe on disk when this returns."""
        ...

    def get(self, sha256: str) -> bytes:
        """Return the bytes with this hash. Raises `MediaMissing` where they aren't stored here."""
        ...


class GrantStore(Protocol):
    """Stores what a user has allowed for always. May be called in any thread."""

    def load(self) -> Sequence[Grant]:
        """Return all grants. Raises `SettingsError` where they can't be read."""
        ...

    def add(self, grant: Grant) -> None:
        """Add a grant, unless it is there. It is safe on disk when this returns."""
        ...

    def revoke(self, grant_id: str) -> Grant:
        """Remove a grant and return it. Raises `ApprovalError` where there is none."""
        ...


class Embedder(Protocol):
    """Maps texts to vectors: similar meanings have similar directions."""

    @property
    def name(self) -> str:
        """The name as in settings: `openai:text-embedding-3-small`. Vectors of different names are never compared."""
        ...

    @property
    def floor(self) -> float:
        """The cosine from which on two texts can be considered related."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text: float32 in native byte order, of length one, all of one dimension. Raises `ModelError`."""
        ...


Watcher = Callable[[Event], None]


class DueRun(Struct, frozen=True):
    """A top-level run that waits, and when a call of it goes on; `user` is whom it acts for."""

    run_id: str
    due: float
    user: str = ""


class WaitStore(Protocol):
    """The calls that wait for a time or an event, and the events that have come for them.

    What waits is written by the journal, with its entries.
    """

    async def deliveries(self, run_id: str) -> Mapping[str, Delivery]:
        """Return the events that have come for a run's waiting calls, by the calls' ids."""
        ...

    async def deliver(self, event: str, key: str, delivery: Delivery, now: float) -> list[str]:
        """Store an event for the calls that wait for it; return their top-level runs, which are due now."""
        ...

    async def due(self, now: float, most: int, *, agent: str = "") -> Sequence[DueRun]:
        """Return the top-level runs that are due, the longest first; of one agent, if it is given."""
        ...
