"""What the engine works with: an agent's parts (`Setup`), and the stores and clock around it (`Services`). Values only."""

import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from treadle.core.calls import Settling
from treadle.core.context import RunContext
from treadle.core.requests import Options, Usage
from treadle.core.seams import Audit, Blobs, Cache, Dialect, Journal, Model, Policy, ResultStore, Toolset, Watcher
from treadle.core.tool import Tool
from treadle.guard.redaction import Redactor
from treadle.loop.decide import TurnTerms

Instructions = str | Callable[[RunContext[Any]], str | Awaitable[str]]
Price = Callable[[str, Usage], float | None]

APPROVALS_EXPIRE = 7 * 24 * 3600.0  # seconds


class Approval(Struct, frozen=True):
    """A call that waits for a person, bound to its exact arguments by their digest. `preview` says what it would do, if known.

    An `unclear` one had begun, at `began_at`, when its process died: the question is what happened to it, not whether it may
    run.
    """

    run_id: str
    call_id: str
    name: str
    arguments: dict[str, Any]
    reason: str
    digest: str
    asked_at: float
    expires_at: float
    preview: str = ""
    unclear: bool = False
    began_at: float = 0.0


class Answer(Struct, frozen=True):
    """A person's answer to an approval. `arguments` are theirs where they edited them.

    Of an unclear call they say what happened to it (`settled`, with `reason` for words of theirs): a yes or no is no answer
    to that.
    """

    approved: bool = False
    by: str = ""
    reason: str = ""
    arguments: dict[str, Any] | None = None
    settled: Settling | None = None


Approver = Callable[[Approval], Awaitable[Answer | bool] | Answer | bool]


class Output(Struct, frozen=True):
    """The required output: a tool whose arguments are the answer, and how to convert them to the value.

    `shape` is the same as a schema for servers that accept one; None where it can't be expressed for them. `from_words`
    returns the tool's arguments for an answer in words, or None where those are no answer; it gets the words, and after how
    many replies without a call they came, themselves included.
    """

    tool: Tool
    convert: Callable[[dict[str, Any]], Any]
    shape: dict[str, Any] | None = None
    from_words: Callable[[str, int], dict[str, Any] | None] | None = None


class Setup(Struct, frozen=True):
    """An agent, as the engine sees it."""

    name: str
    model: Model
    toolset: Toolset
    policy: Policy
    instructions: Instructions = ""
    terms: TurnTerms = TurnTerms()
    options: Options = Options()
    redactor: Redactor = msgspec.field(default_factory=Redactor)
    net: Dialect | None = None  # catches calls that a model with native calling writes as text
    output: Output | None = None
    approver: Approver | None = None
    attended: bool = True
    approvals_expire: float = APPROVALS_EXPIRE
    shows_secrets: bool = False
    result_limit: int = 20_000
    summarizer: Model | None = None
    discover_above: int = 40
    always_offered: tuple[str, ...] = ()
    price: Price | None = None


def _random() -> float:
    return int.from_bytes(os.urandom(4), "big") / 2**32


class Services(Struct, frozen=True):
    """The stores of a run, and the sources of time and randomness."""

    journal: Journal | None = None
    audit: Audit | None = None
    cache: Cache | None = None
    results: ResultStore | None = None
    clock: Callable[[], float] = time.time
    chance: Callable[[], float] = _random
    blobs: Blobs | None = None


class Caller(Struct, frozen=True):
    """The user a run acts for. Credentials never leave this value except through `RunContext.credentials`."""

    user: str = ""
    deps: Any = None
    credentials: Mapping[str, str] = {}
    watchers: Sequence[Watcher] = ()

    def __repr__(self) -> str:
        return f"Caller(user={self.user!r})"


def to_answer(said: Answer | bool) -> Answer:
    """Convert an approver's return value to an answer."""
    return Answer(said) if isinstance(said, bool) else said
