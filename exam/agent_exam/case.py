"""A case of the exam: a script for the model, what the agent is given, and what has to come out."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_exam.protocol import Decision, Feature
from providers.script import Answer

MOST_REQUESTS = 100  # after which a run is taken not to stop by itself


@dataclass(frozen=True)
class Expect:
    """What has to come out.

    text      the answer; None leaves it open
    payments  the effects, each exactly as often as it is named: order and amount
    calls     names of tools and their arguments, where more than the payments counts; None leaves them open
    error     `no`, `may` or `must`: whether the run may end without an answer, by an error that the framework documents
    requests  the greatest number of requests
    reads     what the last request has to contain, as the model reads it
    """

    text: str | None = None
    payments: tuple[str, ...] = ()
    calls: tuple[tuple[str, dict[str, object]], ...] | None = None
    error: str = "no"
    requests: int = MOST_REQUESTS
    reads: str = ""


@dataclass(frozen=True)
class Review:
    """Calls that have to wait, by order, and the decisions on them. `restart` answers in a new process."""

    decisions: Mapping[str, Decision]
    restart: bool = False


@dataclass(frozen=True)
class Case:
    """A case.

    replies     what the model says, one request after the other
    forever     the last reply is repeated without end
    positional  the reply depends on how far the conversation in the request is, as it does where a run is resumed
    kill        where the first process is killed: `before ORDER`, `after ORDER`, or `request N` when that arrives
    at          the mock server, of the provider kit's
    strict      the server checks that all of the conversation comes back
    """

    id: str
    suite: str
    title: str
    replies: tuple[Answer, ...]
    expect: Expect
    tools: tuple[str, ...] = ("pay", "look_up")
    prompt: str = "Pay order A1."
    needs: frozenset[Feature] = frozenset()
    limit: int | None = None
    approval: tuple[str, ...] = ()
    reviews: tuple[Review, ...] = ()
    kill: str = ""
    forever: bool = False
    positional: bool = False
    at: str = "gpt-4o"
    strict: bool = False
    stream: bool = field(default=False)
