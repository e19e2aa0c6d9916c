"""`treadle stats`: which tools are called, how often, how long they take, how often they fail, and what they cost."""

import argparse
import csv
import io
from collections.abc import Callable, Iterable, Sequence
from time import time

from treadle.app.home import open_home
from treadle.app.stats import moment, stats_of
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FINE
from treadle.cli.render import counted, fit, one_line, seconds, to_json, width_of
from treadle.cli.screen import Screen
from treadle.stores.stats.values import Question, Report, Row, Spent, outcome

MANY = 1000  # runs that take a moment to be counted, which a person is told
LONGEST, SHORTEST = 40, 12  # columns of a name
TOKENS = (
    "TOKENS are those of the requests that asked for the calls, shared equally among the calls of a reply, "
    "and what the calls spent themselves."
)
COLUMNS = (
    *("calls", "fine", "failed", "denied", "cancelled", "cached", "median_seconds", "p95_seconds", "tokens", "inner_tokens"),
    *("runs", "requests", "input_tokens", "output_tokens", "cost"),
)

Line = tuple[str, ...]


def run(args: argparse.Namespace) -> int:
    """Count what is new, and show the figures."""
    return carry_out(_stats(args))


async def _stats(args: argparse.Namespace) -> int:
    question, screen = _question(args, time()), Screen()
    report = await stats_of(open_home()).ask(question, anew=args.anew, told=_teller(screen))
    if args.json:
        screen.line(to_json(report))
    elif args.csv:
        _print_csv(report, screen)
    else:
        _show(report, screen)
    if report.unread:
        screen.tell(f"treadle: {counted(report.unread, 'run')} can't be read, so what is new in them isn't counted.", "yellow")
    return FINE


def _question(args: argparse.Namespace, now: float) -> Question:
    since, until = moment(args.since, now), moment(args.until, now, end=True)
    return Question(args.by, since, until, args.assistant, args.model, args.tool, args.user)


def _teller(screen: Screen) -> Callable[[int, int], None]:
    def told(done: int, of: int) -> None:
        if done == 0 and of >= MANY:
            screen.note(f"Counting {counted(of, 'run')} that are new…")

    return told


# for people


def _show(report: Report, screen: Screen) -> None:
    if not report.rows:
        screen.note("There is nothing to count.")
        return
    for line in _lines(_table(report), screen.width):
        screen.line(line)
    screen.line()
    screen.line(_about_calls(report.total))
    if report.total.spent is not None:
        screen.line(_about_requests(report.total.spent))
    if report.by == "tool":
        screen.note(TOKENS)


def _table(report: Report) -> list[Line]:
    if report.total.spent is None or report.by == "tool":
        head = (report.by.upper(), "CALLS", "FAILED", "DENIED", "CACHED", "MEDIAN", "P95", "TOKENS", "PROBLEMS")
        return [head, *[(*_calls(row), _short(row.tokens + row.inner_tokens), _problems(row)) for row in report.rows]]
    head = (report.by.upper(), "CALLS", "FAILED", "DENIED", "CACHED", "MEDIAN", "P95", "RUNS", "REQUESTS", "TOKENS", "COST")
    return [head, *[(*_calls(row), *_spent(row.spent or Spent())) for row in report.rows]]


def _calls(row: Row) -> Line:
    took = row.seconds
    failed = f"{row.failed:,} ({_percent(row.failed, row.calls)})" if row.failed else "0"
    times = ("-", "-") if took is None else (_took(took.median), _took(took.p95))
    return row.key or "-", f"{row.calls:,}", failed, f"{row.denied:,}", f"{row.cached:,}", *times


def _took(spent: float) -> str:
    return seconds(spent) if spent >= 0.001 else "<1 ms"


def _spent(spent: Spent) -> Line:
    return f"{spent.runs:,}", f"{spent.requests:,}", _short(spent.tokens), "-" if spent.cost is None else f"${spent.cost:.4f}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if 100 * part >= whole else "<1 %"


def _short(number: int) -> str:
    """A large number in few digits: 1.2M."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= size:
            return f"{number / (1000 if letter == 'k' else size):.1f}{letter}"
    return f"{number:,}"


def _problems(row: Row) -> str:
    kinds = sorted(row.problems.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join([f"{kind} {number:,}" for kind, number in kinds]) or "-"


def _lines(rows: Sequence[Line], width: int | None) -> list[str]:
    """Names to the left, figures to the right, and words at the end as far as there is room."""
    named = [(fit(one_line(name, 200), LONGEST), *rest) for name, *rest in rows]
    words = rows[0][-1] == "PROBLEMS"
    widths = [max(width_of(row[column]) for row in named) for column in range(len(named[0]))]
    others = sum(widths[1:-1] if words else widths[1:]) + 2 * (len(widths) - 1)
    if width is not None:
        widths[0] = min(widths[0], max(width - others, SHORTEST))
    lines = ["  ".join(_cells(row, widths, words)) for row in named]
    return [(line if width is None else fit(line, width)).rstrip() for line in lines]


def _cells(row: Line, widths: Sequence[int], words: bool) -> Iterable[str]:
    name = fit(row[0], widths[0])
    yield name + " " * (widths[0] - width_of(name))
    figures = row[1:-1] if words else row[1:]
    yield from [cell.rjust(wide) for cell, wide in zip(figures, widths[1:], strict=False)]
    if words:
        yield row[-1]


def _about_calls(total: Row) -> str:
    parts = [counted(total.calls, "call")]
    if total.failed:
        parts.append(f"{total.failed:,} failed{_kinds(total, 'failed')}")
    if total.denied:
        parts.append(f"{total.denied:,} denied{_kinds(total, 'denied')}")
    if total.cancelled:
        parts.append(f"{total.cancelled:,} cancelled")
    if total.cached:
        parts.append(f"{total.cached:,} from the cache")
    return ", ".join(parts)


def _kinds(total: Row, which: str) -> str:
    """The kinds of problems that counted as this, where they say more than it does."""
    kinds = {kind: number for kind, number in total.problems.items() if outcome(kind) == which}
    return "" if list(kinds) == [which] else f" ({_problems(Row('', problems=kinds))})"


def _about_requests(spent: Spent) -> str:
    read = f"{spent.input_tokens:,} tokens in"
    if spent.cache_read_tokens:
        read += f" ({spent.cache_read_tokens:,} of them cached)"
    parts = [counted(spent.runs, "run"), counted(spent.requests, "request"), read, f"{spent.output_tokens:,} out"]
    if spent.cost is not None:
        known = f" for {spent.requests - spent.unpriced:,} of them; the others' price isn't known" if spent.unpriced else ""
        parts.append(f"${spent.cost:.4f}{known}")
    return ", ".join(parts)


# for programs


def _print_csv(report: Report, screen: Screen) -> None:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow((report.by, *COLUMNS))
    writer.writerows([_values(row) for row in report.rows])
    for line in written.getvalue().splitlines():
        screen.line(line)


def _values(row: Row) -> list[object]:
    took, spent = row.seconds, row.spent
    times = ("", "") if took is None else (took.median, took.p95)
    counts = (row.calls, row.fine, row.failed, row.denied, row.cancelled, row.cached)
    used = [""] * 5 if spent is None else [spent.runs, spent.requests, spent.input_tokens, spent.output_tokens, spent.cost]
    return [_harmless(one_line(row.key, 200)), *counts, *times, row.tokens, row.inner_tokens, *used]


def _harmless(name: str) -> str:
    """A name that no spreadsheet takes for a formula: a model may have made it up."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name
