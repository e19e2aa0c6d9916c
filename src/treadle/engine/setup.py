"""What the engine works with: an agent's parts (`Setup`), and the stores and clock around it (`Services`). Values only."""

import inspect
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Effect, Settling
from treadle.core.context import DepsT_co, RunContext
from treadle.core.errors import SettingsError
from treadle.core.grants import ArgumentPattern, Patterns, Scope
from treadle.core.messages import Message
from treadle.core.requests import Options, Usage
from treadle.core.seams import (
    Audit,
    Blobs,
    Cache,
    Dialect,
    GrantStore,
    Journal,
    Model,
    Policy,
    ResultStore,
    Toolset,
    WaitStore,
    Watcher,
)
from treadle.core.tool import Tool
from treadle.guard.redaction import Redactor
from treadle.loop.decide import TurnTerms

InstructionsFunction = Callable[[RunContext[DepsT_co]], str | Awaitable[str]] | Callable[[], str | Awaitable[str]]
Instructions = str | InstructionsFunction[DepsT_co]


async def call_instructions(function: InstructionsFunction[Any], context: RunContext[Any]) -> str:
    """Return the instructions that a function makes, with the context if it takes it."""
    given: Any = function
    said = given(context) if inspect.signature(given).parameters else given()
    told: Any = await said if inspect.isawaitable(said) else said
    if not isinstance(told, str):
        raise SettingsError(f"The function in `instructions` has to return text; it returned {told!r}.")
    return told


Price = Callable[[str, Usage], float | None]

APPROVALS_EXPIRE = 7 * 24 * 3600.0  # seconds


class Approval(Struct, frozen=True):
    """A call that waits for a person, bound to its exact arguments by their digest. `preview` says what it would do, if known.

    An `unclear` one had begun, at `began_at`, when its process died: the question is what happened to it, not whether it may
    run. `patterns` are suggestions for what to allow besides, for this conversation or always, the best one first; empty where
    only this call can be allowed. `effect` is that of the tool; empty where the origin of the call's values isn't trusted.
    `covers` names the arguments of which the preview shows everything.
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
    patterns: tuple[Patterns, ...] = ()
    effect: Effect | Literal[""] = ""
    covers: tuple[str, ...] = ()


class Answer(Struct, frozen=True):
    """A person's answer to an approval. `arguments` are theirs where they edited them.

    Of an unclear call they say what happened to it (`settled`, with `reason` for words of theirs): a yes or no is no answer
    to that.

    With a `scope` of "conversation" or "always", calls like this one are allowed too: those whose arguments match `where`,
    by name (`{"command": "pytest *"}`), or the approval's first suggestion.
    """

    approved: bool = False
    by: str = ""
    reason: str = ""
    arguments: dict[str, Any] | None = None
    settled: Settling | None = None
    scope: Scope = "once"
    where: Mapping[str, str | ArgumentPattern] | None = None


Approver = Callable[[Approval], Awaitable[Answer | bool] | Answer | bool]


OutputFunction = Callable[[dict[str, Any], RunContext[Any]], Awaitable[dict[str, Any]]]
OutputValidator = Callable[..., Any]  # of the output, or of the `RunContext` and the output; returns it, another one, or None


class Output(Struct, frozen=True):
    """The required output: a tool whose arguments are the answer, and how to convert what is journaled of it to the value.

    tool        None where only text is an answer
    convert     makes the value from the tool's arguments, or from what `function` made of them
    wraps       the value is the field `value` of what is journaled, which is an object
    takes_text  a plain text is an answer too, and is the value itself
    shape       the tool's parameters as a schema for servers that accept one; None where it can't be expressed for them
    function    gets the arguments, and returns what is journaled in their place
    validators  check the value, one after the other; each may reject or replace it
    grounded    an answer in text is checked for values that are in no tool result, and asked for again once if it has some
    from_words  returns the tool's arguments for an answer in words, or None where those are no answer; it gets the words, and
                after how many replies without a call they came, themselves included
    """

    tool: Tool | None
    convert: Callable[[dict[str, Any]], Any]
    shape: dict[str, Any] | None = None
    from_words: Callable[[str, int], dict[str, Any] | None] | None = None
    wraps: bool = False
    takes_text: bool = False
    function: OutputFunction | None = None
    validators: tuple[OutputValidator, ...] = ()
    grounded: bool = False


class Compaction(Struct, frozen=True):
    """How a conversation that outgrows the model is compacted.

    at     the share of the context window that the conversation may fill before
    model  the model that writes the notes, usually a cheaper one; by default the summarizer of results, or the agent's own
    notes  a function in place of a model: it gets the oldest messages and how many characters their notes may have
    """

    at: float = 0.9
    model: Model | str | None = None
    notes: Callable[[Sequence[Message], int], str | Awaitable[str]] | None = None


class Setup(Struct, frozen=True):
    """An agent, as the engine sees it."""

    name: str
    model: Model
    toolset: Toolset
    policy: Policy
    instructions: Instructions[Any] = ""
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
    compaction: Compaction = Compaction()
    discover_above: int = 40
    always_offered: tuple[str, ...] = ()
    price: Price | None = None
    raise_tool_errors: bool = False  # for tests: what a tool raises ends the run, instead of being a problem for the model
    handoffs: Mapping[str, Callable[[], "Setup"]] = {}  # the agents that a run can be handed off to, by name


def find_agent(setup: Setup, name: str) -> Setup | None:
    """Return the setup of the agent that a run was handed off to, directly or by others; None where it isn't known."""
    seen, waiting = set[str](), [setup]
    while waiting:
        found = waiting.pop(0)
        if found.name == name:
            return found
        if found.name not in seen:
            seen.add(found.name)
            waiting += [target() for target in found.handoffs.values()]
    return None


def hand_off(first: Setup, agent: Setup) -> Setup:
    """Return an agent's setup for a run that was handed off to it. The turn's limits, and who is asked, stay those of the first."""
    return replace(
        agent,
        terms=replace(agent.terms, limits=first.terms.limits),
        approver=agent.approver or first.approver,
        attended=agent.attended and first.attended,
        approvals_expire=first.approvals_expire,
        redactor=first.redactor.combine(agent.redactor),
        price=agent.price or first.price,
        raise_tool_errors=agent.raise_tool_errors or first.raise_tool_errors,
    )


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
    grants: GrantStore | None = None
    waits: WaitStore | None = None


class Caller(Struct, frozen=True):
    """The user a run acts for. Credentials never leave this value except through `RunContext.credentials`."""

    user: str = ""
    deps: Any = None
    credentials: Mapping[str, str] = {}
    watchers: Sequence[Watcher] = ()

    def __repr__(self) -> str:
        return f"Caller(user={self.user!r})"


def to_answer(said: Answer | bool) -> Answer:
    """Convert an approver's return value to an answer. Raises `SettingsError` for any other value."""
    if isinstance(said, bool):
        return Answer(said)
    if not isinstance(said, Answer):  # pyright: ignore[reportUnnecessaryIsInstance]  # what a program's function returns isn't known
        raise SettingsError(f"The `approver` has to return True, False or an Answer; it returned {said!r}.")
    return said
