"""What can be asked of the figures, and what the answer looks like. Values only, and the rule what counts as which outcome."""

from typing import Literal, get_args

from msgspec import Struct

By = Literal["tool", "assistant", "model", "user", "day"]
BY: tuple[By, ...] = get_args(By)

Outcome = Literal["fine", "failed", "denied", "cancelled"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_NOT_FAILED: dict[str | None, Outcome] = {
    None: "fine",
    "denied": "denied",
    "limit": "denied",
    "repeat": "denied",
    "cancelled": "cancelled",
}


def outcome(problem: str | None) -> Outcome:
    """What a kind of problem counts as: what wasn't allowed is denied, what went wrong otherwise has failed."""
    return _NOT_FAILED.get(problem, "failed")


class Question(Struct, frozen=True):
    """Which figures, and how they are grouped. What is empty doesn't matter; times are seconds since 1970, `until` is left out.

    `tool` is a glob: `*` is any run of characters, `?` is one.
    """

    by: By = "tool"
    since: float | None = None
    until: float | None = None
    assistant: str = ""
    model: str = ""
    tool: str = ""
    user: str = ""


class Seconds(Struct, frozen=True):
    """How long calls took that were carried out: `timed` of them. The median and the 95th percentile are times that one took."""

    timed: int
    median: float
    p95: float
    total: float


class Spent(Struct, frozen=True):
    """Runs that began, and what was asked of models. `cost` is in US dollars, of all requests but those that are `unpriced`."""

    runs: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cost: float | None = None
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


class Row(Struct, frozen=True):
    """The figures of one tool, assistant, model, user or day.

    problems      how many calls had which kind of problem
    tokens        of the requests that asked for these calls, shared equally among the calls of a reply
    inner_tokens  what the calls spent themselves: of agents they asked, of summaries of their results
    spent         None where tools are told apart: a request isn't a tool's
    """

    key: str
    calls: int = 0
    fine: int = 0
    failed: int = 0
    denied: int = 0
    cancelled: int = 0
    cached: int = 0
    problems: dict[str, int] = {}
    seconds: Seconds | None = None
    tokens: int = 0
    inner_tokens: int = 0
    spent: Spent | None = None


class Report(Struct, frozen=True):
    """The answer: a row for each, most calls first, days in their order; all of them together; runs that can't be read."""

    by: By
    since: float | None
    until: float | None
    total: Row
    rows: tuple[Row, ...]
    unread: int = 0
