"""The statistics of one database: updated and queried in a thread over their own connection, so that no run waits for them."""

import asyncio
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.stores.database import Connection, Database, SqlDialect
from treadle.stores.sqlite import SQLITE_DIALECT
from treadle.stores.stats.aggregation import ProgressCallback, reset_stats, shadow_stats, update_stats
from treadle.stores.stats.values import (
    OUTCOMES,
    CallDurations,
    GroupBy,
    StatsQuery,
    StatsReport,
    StatsRow,
    UsageTotals,
    classify_problem,
)

_KEYS = {
    "tool": "facts.tool",
    "assistant": "whose.agent",
    "model": "whose.model",
    "user": 'whose."user"',
}
_CALLS = """
SELECT {key}, facts.problem, count(*), sum(facts.cached), sum(facts.tokens), sum(facts.inner_tokens)
FROM stats_calls AS facts {beside} stats_who AS whose USING (who) WHERE {where} GROUP BY 1, 2
"""
_SECONDS = """
SELECT {key}, facts.seconds
FROM stats_calls AS facts {beside} stats_who AS whose USING (who) WHERE facts.seconds IS NOT NULL AND {where}
"""
_REQUESTS = """
SELECT {key}, sum(facts.requests), sum(facts.input_tokens), sum(facts.output_tokens), sum(facts.cache_read_tokens),
    sum(facts.cost), sum(CASE WHEN facts.cost IS NULL THEN facts.requests ELSE 0 END)
FROM stats_requests AS facts {beside} stats_who AS whose USING (who) WHERE {where} GROUP BY 1
"""
_RUNS = """
SELECT {key}, count(*)
FROM (SELECT opened_at AS at, who FROM stats_runs) AS facts {beside} stats_who AS whose USING (who) WHERE {where} GROUP BY 1
"""


class StatsContext(Struct, frozen=True):
    """A statistics query, and the connection it runs on."""

    connection: Connection
    question: StatsQuery
    words: SqlDialect

    def rows(self, query: str, of_tools: GroupBy = "tool") -> Iterable[Any]:
        """Return the rows of a SQL query, grouped as the statistics query asks.

        Where that groups by tool, rows are grouped by `of_tools`: only a sum is shown then. A key may come more than once.
        """
        by = of_tools if self.question.by == "tool" else self.question.by
        where, values = _to_sql(self.question, self.words)
        key = self.words.day if by == "day" else _KEYS[by]
        found = self.connection.execute(query.format(key=key, where=where, beside=self.words.join_hint), values)
        return ((self.words.format_day(key), *figures) for key, *figures in found) if by == "day" else found


def empty_report(question: StatsQuery) -> StatsReport:
    """Return the report of a database that doesn't exist."""
    return _assemble_report(question, {}, {}, 0, {})


def build_report(connection: Connection, question: StatsQuery, unread: int = 0, words: SqlDialect = SQLITE_DIALECT) -> StatsReport:
    """Build the report from what is counted so far."""
    asked = StatsContext(connection, question, words)
    spent = {} if question.tool else _load_usage(asked)
    return _assemble_report(question, _count_calls(asked), _list_durations(asked), unread, spent)


def _assemble_report(
    question: StatsQuery, rows: dict[str, StatsRow], times: dict[str, list[float]], unread: int, spent: dict[str, UsageTotals]
) -> StatsReport:
    """Assemble the parts. A request belongs to no tool: grouped or filtered by tool, rows have no figures of requests."""
    every = [seconds for each in times.values() for seconds in each]
    total = replace(
        _sum_rows(rows.values()), seconds=_summarize_durations(every), spent=None if question.tool else _sum_usage(spent.values())
    )
    if question.by != "tool" and not question.tool:
        rows = {key: replace(rows.get(key, StatsRow(key)), spent=spent.get(key, UsageTotals())) for key in {**rows, **spent}}
    timed = [replace(row, seconds=_summarize_durations(times.get(row.key, []))) for row in rows.values()]
    listed = sorted(timed, key=_day_key if question.by == "day" else _calls_key)
    return StatsReport(question.by, question.since, question.until, total, tuple(listed), unread)


def _day_key(row: StatsRow) -> str:
    return row.key


def _calls_key(row: StatsRow) -> tuple[int, int, str]:
    return -row.calls, -(row.spent.tokens if row.spent else 0), row.key


def _summarize_durations(times: list[float]) -> CallDurations | None:
    if not times:
        return None
    times.sort()
    count = len(times)
    return CallDurations(count, times[(count - 1) // 2], times[(count * 95 + 99) // 100 - 1], sum(times))


def _sum_rows(rows: Iterable[StatsRow]) -> StatsRow:
    """Sum rows into one, except for what can't be added."""
    total = StatsRow("")
    for row in rows:
        counts = {which: getattr(total, which) + getattr(row, which) for which in OUTCOMES}
        problems = {kind: total.problems.get(kind, 0) + row.problems.get(kind, 0) for kind in {**total.problems, **row.problems}}
        total = replace(
            total,
            **counts,
            calls=total.calls + row.calls,
            cached=total.cached + row.cached,
            problems=problems,
            tokens=total.tokens + row.tokens,
            inner_tokens=total.inner_tokens + row.inner_tokens,
        )
    return total


def _count_calls(asked: StatsContext) -> dict[str, StatsRow]:
    """Count the calls, of which there is a row for each kind of problem."""
    rows: dict[str, StatsRow] = {}
    for key, problem, calls, cached, tokens, inner in asked.rows(_CALLS):
        line = StatsRow(key, calls, cached=cached, problems={problem: calls} if problem else {}, tokens=tokens, inner_tokens=inner)
        one = replace(line, **{classify_problem(problem): calls})
        rows[key] = replace(_sum_rows([rows[key], one]), key=key) if key in rows else one
    return rows


def _list_durations(asked: StatsContext) -> dict[str, list[float]]:
    """List how long each call took. Ranking them here takes half the time that SQLite takes for it."""
    times: dict[str, list[float]] = {}
    for key, seconds in asked.rows(_SECONDS):
        times.setdefault(key, []).append(seconds)
    return times


def _load_usage(asked: StatsContext) -> dict[str, UsageTotals]:
    found: dict[str, UsageTotals] = {}
    for key, *figures in asked.rows(_REQUESTS, "assistant"):
        found[key] = _sum_usage([found.get(key, UsageTotals()), UsageTotals(0, *figures)])
    for key, runs in asked.rows(_RUNS, "assistant"):
        found[key] = _sum_usage([found.get(key, UsageTotals()), UsageTotals(runs)])
    return found


def _sum_usage(spent: Iterable[UsageTotals]) -> UsageTotals:
    total = UsageTotals()
    for one in spent:
        total = UsageTotals(
            total.runs + one.runs,
            total.requests + one.requests,
            total.input_tokens + one.input_tokens,
            total.output_tokens + one.output_tokens,
            total.cache_read_tokens + one.cache_read_tokens,
            total.cost if one.cost is None else one.cost + (total.cost or 0),
            total.unpriced + one.unpriced,
        )
    return total


def _to_sql(question: StatsQuery, words: SqlDialect) -> tuple[str, list[object]]:
    """Return the filters as a SQL condition with the values of its placeholders."""
    glob, pattern = words.glob("facts.tool", question.tool)
    picked: list[tuple[str, object]] = [
        ("facts.at >= ?", question.since),
        ("facts.at < ?", question.until),
        ("whose.agent = ?", question.assistant or None),
        ("whose.model = ?", question.model or None),
        ('whose."user" = ?', question.user or None),
        (glob, pattern or None),
    ]
    chosen = [(clause, value) for clause, value in picked if value is not None]
    return " AND ".join([clause for clause, _ in chosen]) or "1 = 1", [value for _, value in chosen]


class DatabaseStats:
    """Statistics of a journal's database. Where there is none, querying doesn't create it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = asyncio.Lock()  # two who ask at once would only do the same work twice

    async def ask(self, question: StatsQuery, *, anew: bool = False, told: ProgressCallback | None = None) -> StatsReport:
        """Return the report of the whole journal; `anew` rebuilds the statistics. `progress` is called as runs are folded."""
        if not self._database.exists():
            return empty_report(question)
        async with self._turn:
            return await asyncio.to_thread(self._query, question, anew, told)

    def _query(self, question: StatsQuery, anew: bool, told: ProgressCallback | None) -> StatsReport:
        from sqlite3 import OperationalError

        with self._database.apart() as connection:
            try:
                unread = self._update(connection, anew, told)
            except OperationalError:  # the disk is full or read-only; PostgreSQL raises other errors
                shadow_stats(connection)
                unread = self._update(connection, anew, told)
            return build_report(connection, question, unread, self._database.words)

    def _update(self, connection: Connection, anew: bool, told: ProgressCallback | None) -> int:
        words = self._database.words
        if anew:
            reset_stats(connection, words)
        return update_stats(connection, told, words=words, cipher=self._database.cipher)
