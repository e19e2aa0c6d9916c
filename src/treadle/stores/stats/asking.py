"""Adds the figures up, as somebody asks: what is counted is in the tables already, so no journal is read here."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.stores.database import Connection, Words
from treadle.stores.sqlite import WORDS
from treadle.stores.stats.values import OUTCOMES, By, Question, Report, Row, Seconds, Spent, outcome

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


class Asked(Struct, frozen=True):
    """A question, and where it is asked."""

    connection: Connection
    question: Question
    words: Words

    def rows(self, query: str, of_tools: By = "tool") -> Iterable[Any]:
        """What a query finds, by what the question asks for; `of_tools` where it asks for tools: only a sum is told then.

        A key may come more than once.
        """
        by = of_tools if self.question.by == "tool" else self.question.by
        where, values = _where(self.question, self.words)
        key = self.words.day if by == "day" else _KEYS[by]
        found = self.connection.execute(query.format(key=key, where=where, beside=self.words.beside), values)
        return ((self.words.day_of(key), *figures) for key, *figures in found) if by == "day" else found


def nothing(question: Question) -> Report:
    """The answer where nothing was ever kept."""
    return _report(question, {}, {}, 0, {})


def report(connection: Connection, question: Question, unread: int = 0, words: Words = WORDS) -> Report:
    """The answer, from what is counted so far."""
    asked = Asked(connection, question, words)
    spent = {} if question.tool else _spent(asked)
    return _report(question, _counted(asked), _times(asked), unread, spent)


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


def _counted(asked: Asked) -> dict[str, Row]:
    """The calls, of which there is a line for each kind of problem."""
    rows: dict[str, Row] = {}
    for key, problem, calls, cached, tokens, inner in asked.rows(_CALLS):
        line = Row(key, calls, cached=cached, problems={problem: calls} if problem else {}, tokens=tokens, inner_tokens=inner)
        one = replace(line, **{outcome(problem): calls})
        rows[key] = replace(_together([rows[key], one]), key=key) if key in rows else one
    return rows


def _times(asked: Asked) -> dict[str, list[float]]:
    """How long each call took. Ranking them here takes half the time that SQLite takes for it."""
    times: dict[str, list[float]] = {}
    for key, seconds in asked.rows(_SECONDS):
        times.setdefault(key, []).append(seconds)
    return times


def _spent(asked: Asked) -> dict[str, Spent]:
    found: dict[str, Spent] = {}
    for key, *figures in asked.rows(_REQUESTS, "assistant"):
        found[key] = _sum([found.get(key, Spent()), Spent(0, *figures)])
    for key, runs in asked.rows(_RUNS, "assistant"):
        found[key] = _sum([found.get(key, Spent()), Spent(runs)])
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


def _where(question: Question, words: Words) -> tuple[str, list[object]]:
    """What was picked, as SQL with the values for its marks."""
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
