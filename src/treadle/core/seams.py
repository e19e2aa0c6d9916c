"""Where implementations vary. One or two methods each; every seam has its fake beside the real ones.

Model      models/      scripted, recorded, openai, anthropic, ollama
Dialect    dialects/    calls written in text
Toolset    toolsets/    a source that lists and calls tools
Policy     guard/       allow, deny or ask
Journal    stores/      memory, SQLite, PostgreSQL; so are Audit, Cache and Results
Blobs      stores/      memory, files
Embedder   models/      embeddings: builtin, endpoint, hashed
Watcher                 any callable
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Literal, Protocol

from msgspec import Struct

from treadle.core.calls import Call, Preview, Verdict, Written
from treadle.core.context import RunContext
from treadle.core.entries import Entry
from treadle.core.events import Event
from treadle.core.requests import Delta, Request, ToolSpec, Traits
from treadle.core.tool import Tool


class Model(Protocol):
    """What replies. One path: whoever doesn't stream yields everything at once."""

    @property
    def name(self) -> str:
        """As a person would write it: `openai:gpt-4o`."""
        ...

    @property
    def traits(self) -> Traits:
        """What it can do."""
        ...

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """The reply, piece by piece, `ReplyEnded` last. Raises `ModelError`; never retries by itself."""
        ...


class Heard(Struct, frozen=True):
    """What a dialect's parser made of a piece of text: words for the person, thinking, and calls written to their end.

    `recant` says that all words before this piece were thinking: the reply closed a thought that the prompt had opened.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[Written, ...] = ()
    recant: bool = False


class Parser(Protocol):
    """Reads one reply as it arrives, in time linear in its length."""

    def feed(self, text: str) -> Heard:
        """What is certain after this piece."""
        ...

    def close(self) -> Heard:
        """What is left when the reply is over."""
        ...


class Dialect(Protocol):
    """A way models write calls in text."""

    @property
    def name(self) -> str:
        """The name a person picks it by."""
        ...

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """How to tell a model about tools, for its instructions."""
        ...

    def spell(self, calls: Sequence[Call], /) -> str:
        """The calls as a model writes them, for the history it is told."""
        ...

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        """A parser for one reply to a request that offered these tools.

        `reasoning_open` says whether the prompt has opened a thought already; None leaves it to what the reply shows.
        """
        ...


class Toolset(Protocol):
    """A source that lists and calls tools. Entered once before its first use, left when its user is done with it."""

    async def __aenter__(self) -> "Toolset": ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def tools(self) -> Sequence[Tool]:
        """What it offers, now."""
        ...

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Carry one call out; its arguments already fit the tool's schema. Raise `ToolProblem` to word a problem for the model."""
        ...


class Reconciles(Protocol):
    """A toolset with `checkable` tools also has this."""

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Whether an interrupted call happened: its result if it did, None if it didn't."""
        ...


class Previews(Protocol):
    """A toolset that can tell what a call would do also has this."""

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """What carrying the call out would do now, in words for the person who is asked about it. Changes nothing."""
        ...


Doubts = Callable[[Call, Tool], Sequence[str]]


class Situation(Struct, frozen=True):
    """What a policy may look at besides the call: who, whether a person can be asked, whether untrusted content was read.

    `doubts` says which values of a call neither the person nor trusted data gave, a sentence each; None where nobody can tell.
    """

    user: str = ""
    attended: bool = True
    tainted: bool = False
    doubts: Doubts | None = None


class Policy(Protocol):
    """The rule. Pure: the same call in the same situation gets the same verdict, and the verdict is journaled."""

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        """May this call run?"""
        ...

    def offers(self, tool: Tool, situation: Situation) -> bool:
        """Whether the model is told of the tool at all."""
        ...


class Journal(Protocol):
    """Keeps entries. Listing and searching runs is the store's own business.

    Where it has an `append_hiding` as well, that gets the run's redactor besides, which says what must not stand there as it is.
    """

    def append(self, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
        """Write entries at `position` (how many the run has). Order is kept; await it to know that they are safe on disk.

        Never raises by itself. Awaiting it fails with `RunTaken` where somebody else has written there.
        """
        ...

    async def read(self, run_id: str) -> list[Entry]:
        """All entries of a run; `RunNotFound` where there are none."""
        ...


Stage = Literal["begins", "ended", "erased", "deletion"]


class AuditRecord(Struct, frozen=True):
    """One call, for people: redacted. The store adds its number, the hash of the record before it, and its own.

    A call with an effect has two: one before it `begins`, without which it doesn't, and one when it has `ended`. When its run is
    deleted, the record is `erased`: it stays in the chain without what was said in the call. The `deletion` of a run is a record
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
    """Keeps audit records, chained. Where it has an `anchor(run_id)` as well, that is called at the end of each turn."""

    def record(self, record: AuditRecord) -> Awaitable[Any]:
        """Add one; await it to know that it is safe on disk."""
        ...


class Cache(Protocol):
    """Keeps results that may be reused for a while."""

    async def get(self, key: str, now: float) -> str | None:
        """What was kept under `key`, unless its time is over."""
        ...

    async def put(self, key: str, group: str, content: str, until: float) -> None:
        """Keep `content` under `key`; `group` is what `forget` goes by."""
        ...

    async def forget(self, group: str) -> None:
        """Drop all of a group."""
        ...


class Results(Protocol):
    """Keeps the whole of results that were too large for a conversation."""

    async def keep(self, run_id: str, result_id: str, content: str) -> None:
        """Keep `content`."""
        ...

    async def fetch(self, run_id: str, result_id: str) -> str | None:
        """The whole of a kept result."""
        ...


class Blobs(Protocol):
    """Keeps the bytes of images, recordings and documents, once each, by their hash. May be called in any thread."""

    def put(self, data: bytes) -> str:
        """Keep `data`, safe on disk when this returns; its SHA-256, in hexadecimal."""
        ...

    def get(self, sha256: str) -> bytes:
        """The bytes with this hash; `MediaMissing` where they aren't kept here."""
        ...


class Embedder(Protocol):
    """Texts as vectors: those that mean nearly the same point nearly the same way."""

    @property
    def name(self) -> str:
        """As a person would write it: `openai:text-embedding-3-small`. Vectors of different names are never compared."""
        ...

    @property
    def floor(self) -> float:
        """The cosine from which on two texts can be said to have something to do with each other."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text: float32 as this machine writes them, of length one, all of one dimension. Raises `ModelError`."""
        ...


Watcher = Callable[[Event], None]
