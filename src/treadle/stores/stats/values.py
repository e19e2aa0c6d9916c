"""Queries for statistics and their reports. Values only, and the rule which problem counts as which outcome."""

from typing import Literal, get_args

from msgspec import Struct

GroupBy = Literal["tool", "assistant", "model", "user", "day"]
GROUP_BYS: tuple[GroupBy, ...] = get_args(GroupBy)

OutcomeKind = Literal["fine", "failed", "denied", "cancelled"]
OUTCOMES: tuple[OutcomeKind, ...] = get_args(OutcomeKind)
_NOT_FAILED: dict[str | None, OutcomeKind] = {
    None: "fine",
    "denied": "denied",
    "limit": "denied",
    "repeat": "denied",
    "cancelled": "cancelled",
}


def classify_problem(problem: str | None) -> OutcomeKind:
    """Return the outcome of a kind of problem: what wasn't allowed is denied, any other problem has failed."""
    return _NOT_FAILED.get(problem, "failed")


class StatsQuery(Struct, frozen=True):
    """Filters and grouping. Empty filters don't apply; times are seconds since 1970, `until` is exclusive.

    `tool` is a glob: `*` is any run of characters, `?` is one.
    """

    by: GroupBy = "tool"
    since: float | None = None
    until: float | None = None
    assistant: str = ""
    model: str = ""
    tool: str = ""
    user: str = ""


class CallDurations(Struct, frozen=True):
    """Durations of the `timed` calls that were executed. The median and the 95th percentile are durations of actual calls."""

    timed: int
    median: float
    p95: float
    total: float


class UsageTotals(Struct, frozen=True):
    """Runs that began, and requests to models. `cost` is in US dollars, of all requests except the `unpriced` ones."""

    runs: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cost: float | None = None
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


class StatsRow(Struct, frozen=True):
    """The figures of one tool, assistant, model, user or day.

    problems      number of calls by kind of problem
    tokens        tokens of the requests that made these calls, shared equally among the calls of a reply
    inner_tokens  tokens the calls spent themselves: in nested agents, in summaries of their results
    spent         None when grouped by tool: a request belongs to no tool
    """

    key: str
    calls: int = 0
    fine: int = 0
    failed: int = 0
    denied: int = 0
    cancelled: int = 0
    cached: int = 0
    problems: dict[str, int] = {}
    seconds: CallDurations | None = None
    tokens: int = 0
    inner_tokens: int = 0
    spent: UsageTotals | None = None


class StatsReport(Struct, frozen=True):
    """The report: a row for each key, most calls first, days in their order; the total; the number of unreadable runs."""

    by: GroupBy
    since: float | None
    until: float | None
    total: StatsRow
    rows: tuple[StatsRow, ...]
    unread: int = 0
