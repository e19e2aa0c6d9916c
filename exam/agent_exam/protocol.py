"""What an adapter implements, and the values that it gets and returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

Feature = Literal["stream", "limit", "resume", "approval", "edit"]

MISSING: dict[str, str] = {  # what the table says where an adapter lacks a feature
    "stream": "no streaming",
    "limit": "no limit",
    "resume": "no durability",
    "approval": "no approval",
    "edit": "no editing",
}


@dataclass(frozen=True)
class Task:
    """What an agent is built of and asked.

    checks    by a tool's name, a function that takes its arguments and returns the result if the call took effect, else None;
              for frameworks that have a place for it
    approval  names of the tools that need approval
    durable   the process may be killed, and `resume` be called in another one
    limit     the greatest number of requests to the model; None is the framework's default
    folder    where the framework may store its state; `run_id` is the same in every process of a case
    """

    base_url: str
    api_key: str
    model: str
    prompt: str
    instructions: str
    tools: tuple[Callable[..., str], ...]
    folder: Path
    run_id: str
    stream: bool = False
    durable: bool = False
    limit: int | None = None
    approval: tuple[str, ...] = ()
    checks: Mapping[str, Callable[..., str | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Pending:
    """A call that waits for approval."""

    id: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Decision:
    """The answer to an approval: approve, with other `arguments` or as it is, or deny with a `reason`."""

    approve: bool
    arguments: dict[str, Any] | None = None
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """How `run`, `resume` or `answer` ended: with a text, with calls that wait for approval, or stopped.

    stopped  why the run ended without an answer, where the framework reports that as a value
    error    the exception that ended it, as the exam saw it; `documented` says that the adapter lists its class
    """

    text: str | None = None
    pending: tuple[Pending, ...] = ()
    stopped: str = ""
    error: str = ""
    documented: bool = False


class Adapter(Protocol):
    """Runs tasks with one framework, by what its documentation shows.

    An adapter sets options that the framework has. It doesn't contain code that would have to be written by the framework's user,
    such as handlers for errors of tools.

    packages  the distributions whose versions the page states
    features  what the framework can do, with `durability` and `approvals` saying in a few words by which means
    errors    the classes of exceptions that its documentation, or that of the client it uses, tells users to expect
    """

    name: str
    packages: tuple[str, ...]
    features: frozenset[Feature]
    errors: tuple[type[BaseException], ...]
    durability: str
    approvals: str

    async def run(self, task: Task) -> Outcome:
        """Run the prompt. If the task is `durable`, all that `resume` needs is stored meanwhile."""
        ...

    async def resume(self, task: Task) -> Outcome:
        """Continue, in a new process, the run whose process was killed."""
        ...

    async def answer(self, task: Task, decisions: Mapping[str, Decision]) -> Outcome:
        """Answer the calls that wait, by their ids, and continue; possibly in a new process."""
        ...
