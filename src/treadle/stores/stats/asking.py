"""Adds the figures up, as somebody asks: what is counted is in the tables already, so no journal is read here."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from treadle.stores.stats.values import OUTCOMES, Question, Report, Row, Seconds, Spent, outcome

if TYPE_CHECKING:
    from sqlite3 import Connection

_KEYS = {
    "tool": "facts.tool",
    "assistant": "whose.agent",
    "model": "whose.model",
    "user": "whose.user",
    "day": "date(facts.at, 'unixepoch', 'localtime')",
}
_CALLS = """
SELECT {key}, facts.problem, count(*), sum(facts.cached), sum(facts.tokens), sum(facts.inner_tokens)
FROM stats_calls AS facts CROSS JOIN stats_who AS whose USING (who) WHERE {where} GROUP BY 1, 2
"""
_SECONDS = """
SELECT {key}, facts.seconds
FROM stats_calls AS facts CROSS JOIN stats_who AS whose USING (who) WHERE facts.seconds IS NOT NULL AND {where}
"""
_REQUESTS = """
SELECT {key}, sum(facts.requests), sum(facts.input_tokens), sum(facts.output_tokens), sum(facts.cache_read_tokens),
    sum(facts.cost), sum(CASE WHEN facts.cost IS NULL THEN facts.requests ELSE 0 END)
FROM stats_requests AS facts CROSS JOIN stats_who AS whose USING (who) WHERE {where} GROUP BY 1
"""
_RUNS = """
SELECT {key}, count(*)
FROM (SELECT opened_at AS at, who FROM stats_runs) AS facts CROSS JOIN stats_who AS whose USING (who) WHERE {where} GROUP BY 1
"""


def nothing(question: Question) -> Report:
    """The answer where nothing was ever kept."""
    return _report(question, {}, {}, 0, {})


def report(connection: "Connection", question: Question, unread: int = 0) -> Report:
    """The answer, from what is counted so far."""
    spent = {} if question.tool else _spent(connection, question)
    return _report(question, _counted(connection, question), _times(connection, question), unread, spent)


def _report(
    question: Question, rows: dict[str, Row], times: dict[str, list[float]], unread: int, spent: dict[str, Spent]
) -> Report:
    """The parts put together. A request isn't a tool's: where tools are told apart or picked, rows say nothing of requests."""
    every = [seconds for each in times.values() for seconds in each]
    total = replace(_together(rows.values()), seconds=_seconds(every), spent=None if question.tool else _sum(spent.values()))
    if question.by != "tool" and not question.tool:
        rows = {key: replace(rows.get(key, Row(key)), spent=spent.get(key, Spent())) for key in {**rows, **spent}}
    timed = [replace(row, seconds=_seconds(times.get(row.key, []))) for row in rows.values()]
    listed = sorted(timed, key=_by_day if question.by == "day" else _by_calls)
    return Report(question.by, question.since, question.until, total, tuple(listed), unread)


def _by_day(row: Row) -> str:
    return row.key


def _by_calls(row: Row) -> tuple[int, int, str]:
    return -row.calls, -(row.spent.tokens if row.spent else 0), row.key


def _seconds(times: list[float]) -> Seconds | None:
    if not times:
        return None
    times.sort()
    count = len(times)
    return Seconds(count, times[(count - 1) // 2], times[(count * 95 + 99) // 100 - 1], sum(times))


def _together(rows: Iterable[Row]) -> Row:
    """All rows as one, but for what can't be added."""
    total = Row("")
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


def _counted(connection: "Connection", question: Question) -> dict[str, Row]:
    """The calls, of which there is a line for each kind of problem."""
    rows: dict[str, Row] = {}
    for key, problem, calls, cached, tokens, inner in _asked(connection, _CALLS, question, question.by):
        line = Row(key, calls, cached=cached, problems={problem: calls} if problem else {}, tokens=tokens, inner_tokens=inner)
        one = replace(line, **{outcome(problem): calls})
        rows[key] = replace(_together([rows[key], one]), key=key) if key in rows else one
    return rows


def _times(connection: "Connection", question: Question) -> dict[str, list[float]]:
    """How long each call took. Ranking them here takes half the time that SQLite takes for it."""
    times: dict[str, list[float]] = {}
    for key, seconds in _asked(connection, _SECONDS, question, question.by):
        times.setdefault(key, []).append(seconds)
    return times


def _spent(connection: "Connection", question: Question) -> dict[str, Spent]:
    by = "assistant" if question.by == "tool" else question.by  # only their sum is told then
    found = {key: Spent(0, *figures) for key, *figures in _asked(connection, _REQUESTS, question, by)}
    for key, runs in _asked(connection, _RUNS, question, by):
        found[key] = replace(found.get(key, Spent()), runs=runs)
    return found


def _sum(spent: Iterable[Spent]) -> Spent:
    total = Spent()
    for one in spent:
        total = Spent(
            total.runs + one.runs,
            total.requests + one.requests,
            total.input_tokens + one.input_tokens,
            total.output_tokens + one.output_tokens,
            total.cache_read_tokens + one.cache_read_tokens,
            total.cost if one.cost is None else one.cost + (total.cost or 0),
            total.unpriced + one.unpriced,
        )
    return total


def _asked(connection: "Connection", query: str, question: Question, by: str) -> Iterable[Any]:
    where, values = _where(question)
    return connection.execute(query.format(key=_KEYS[by], where=where), values)


def _where(question: Question) -> tuple[str, list[object]]:
    """What was picked, as SQL with the values for its marks."""
    picked: list[tuple[str, object]] = [
        ("facts.at >= ?", question.since),
        ("facts.at < ?", question.until),
        ("whose.agent = ?", question.assistant or None),
        ("whose.model = ?", question.model or None),
        ("whose.user = ?", question.user or None),
        ("facts.tool GLOB ?", question.tool.replace("[", "[[]") or None),  # there are no brackets in our globs
    ]
    chosen = [(words, value) for words, value in picked if value is not None]
    return " AND ".join([words for words, _ in chosen]) or "1", [value for _, value in chosen]
