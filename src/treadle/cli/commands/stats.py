"""`treadle stats`: which tools are called, how often, how long they take, how often they fail, and what they cost."""

import argparse
import csv
import io
from collections.abc import Callable, Iterable, Sequence
from time import time

from treadle.admin.stats import open_stats, parse_moment
from treadle.cli.exit_codes import OK
from treadle.cli.runner import run_async
from treadle.cli.ui.render import display_width, fit_columns, format_count, format_seconds, to_one_line, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.home import open_home
from treadle.stores.stats.values import StatsQuery, StatsReport, StatsRow, UsageTotals, classify_problem

NOTICE_RUNS = 1000  # runs that take a moment to be counted, which a person is told
LONGEST, SHORTEST = 40, 12  # columns of a name
TOKENS = (
    "TOKENS are those of the requests that asked for the calls, shared equally among the calls of a reply, "
    "and what the calls spent themselves."
)
COLUMNS = (
    *("calls", "fine", "failed", "denied", "cancelled", "cached", "median_seconds", "p95_seconds", "tokens", "inner_tokens"),
    *("runs", "requests", "input_tokens", "output_tokens", "cost"),
)

TableRow = tuple[str, ...]


def run(args: argparse.Namespace) -> int:
    """Count new runs, and print the statistics."""
    return run_async(_print_stats(args))


async def _print_stats(args: argparse.Namespace) -> int:
    question, screen = _build_query(args, time()), Screen()
    report = await open_stats(open_home()).ask(question, anew=args.anew, told=_progress_callback(screen))
    if args.json:
        screen.line(to_terminal_json(report))
    elif args.csv:
        _print_csv(report, screen)
    else:
        _print_report(report, screen)
    if report.unread:
        screen.tell(f"treadle: {format_count(report.unread, 'run')} can't be read, so what is new in them isn't counted.", "yellow")
    return OK


def _build_query(args: argparse.Namespace, now: float) -> StatsQuery:
    since, until = parse_moment(args.since, now), parse_moment(args.until, now, end=True)
    return StatsQuery(args.by, since, until, args.assistant, args.model, args.tool, args.user)


def _progress_callback(screen: Screen) -> Callable[[int, int], None]:
    def told(done: int, of: int) -> None:
        if done == 0 and of >= NOTICE_RUNS:
            screen.note(f"Counting {format_count(of, 'run')} that are new…")

    return told


# for people


def _print_report(report: StatsReport, screen: Screen) -> None:
    if not report.rows:
        screen.note("There is nothing to count.")
        return
    for line in _align(_table_rows(report), screen.width):
        screen.line(line)
    screen.line()
    screen.line(_describe_calls(report.total))
    if report.total.spent is not None:
        screen.line(_describe_requests(report.total.spent))
    if report.by == "tool":
        screen.note(TOKENS)


def _table_rows(report: StatsReport) -> list[TableRow]:
    if report.total.spent is None or report.by == "tool":
        head = (report.by.upper(), "CALLS", "FAILED", "DENIED", "CACHED", "MEDIAN", "P95", "TOKENS", "PROBLEMS")
        return [
            head,
            *[(*_call_cells(row), _abbreviate(row.tokens + row.inner_tokens), _format_problems(row)) for row in report.rows],
        ]
    head = (report.by.upper(), "CALLS", "FAILED", "DENIED", "CACHED", "MEDIAN", "P95", "RUNS", "REQUESTS", "TOKENS", "COST")
    return [head, *[(*_call_cells(row), *_usage_cells(row.spent or UsageTotals())) for row in report.rows]]


def _call_cells(row: StatsRow) -> TableRow:
    took = row.seconds
    failed = f"{row.failed:,} ({_format_percent(row.failed, row.calls)})" if row.failed else "0"
    times = ("-", "-") if took is None else (_format_duration(took.median), _format_duration(took.p95))
    return row.key or "-", f"{row.calls:,}", failed, f"{row.denied:,}", f"{row.cached:,}", *times


def _format_duration(spent: float) -> str:
    return format_seconds(spent) if spent >= 0.001 else "<1 ms"


def _usage_cells(spent: UsageTotals) -> TableRow:
    return f"{spent.runs:,}", f"{spent.requests:,}", _abbreviate(spent.tokens), "-" if spent.cost is None else f"${spent.cost:.4f}"


def _format_percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if 100 * part >= whole else "<1 %"


def _abbreviate(number: int) -> str:
    """Abbreviate a large number: 1.2M."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= size:
            return f"{number / (1000 if letter == 'k' else size):.1f}{letter}"
    return f"{number:,}"


def _format_problems(row: StatsRow) -> str:
    kinds = sorted(row.problems.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join([f"{kind} {number:,}" for kind, number in kinds]) or "-"


def _align(rows: Sequence[TableRow], width: int | None) -> list[str]:
    """Align names to the left and figures to the right, with text at the end as far as it fits."""
    named = [(fit_columns(to_one_line(name, 200), LONGEST), *rest) for name, *rest in rows]
    words = rows[0][-1] == "PROBLEMS"
    widths = [max(display_width(row[column]) for row in named) for column in range(len(named[0]))]
    others = sum(widths[1:-1] if words else widths[1:]) + 2 * (len(widths) - 1)
    if width is not None:
        widths[0] = min(widths[0], max(width - others, SHORTEST))
    lines = ["  ".join(_pad_cells(row, widths, words)) for row in named]
    return [(line if width is None else fit_columns(line, width)).rstrip() for line in lines]


def _pad_cells(row: TableRow, widths: Sequence[int], words: bool) -> Iterable[str]:
    name = fit_columns(row[0], widths[0])
    yield name + " " * (widths[0] - display_width(name))
    figures = row[1:-1] if words else row[1:]
    yield from [cell.rjust(wide) for cell, wide in zip(figures, widths[1:], strict=False)]
    if words:
        yield row[-1]


def _describe_calls(total: StatsRow) -> str:
    parts = [format_count(total.calls, "call")]
    if total.failed:
        parts.append(f"{total.failed:,} failed{_describe_kinds(total, 'failed')}")
    if total.denied:
        parts.append(f"{total.denied:,} denied{_describe_kinds(total, 'denied')}")
    if total.cancelled:
        parts.append(f"{total.cancelled:,} cancelled")
    if total.cached:
        parts.append(f"{total.cached:,} from the cache")
    return ", ".join(parts)


def _describe_kinds(total: StatsRow, which: str) -> str:
    """Describe the problem kinds that were counted under this one, where they say more than it does."""
    kinds = {kind: number for kind, number in total.problems.items() if classify_problem(kind) == which}
    return "" if list(kinds) == [which] else f" ({_format_problems(StatsRow('', problems=kinds))})"


def _describe_requests(spent: UsageTotals) -> str:
    read = f"{spent.input_tokens:,} tokens in"
    if spent.cache_read_tokens:
        read += f" ({spent.cache_read_tokens:,} of them cached)"
    parts = [format_count(spent.runs, "run"), format_count(spent.requests, "request"), read, f"{spent.output_tokens:,} out"]
    if spent.cost is not None:
        known = f" for {spent.requests - spent.unpriced:,} of them; the others' price isn't known" if spent.unpriced else ""
        parts.append(f"${spent.cost:.4f}{known}")
    return ", ".join(parts)


# for programs


def _print_csv(report: StatsReport, screen: Screen) -> None:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow((report.by, *COLUMNS))
    writer.writerows([_csv_values(row) for row in report.rows])
    for line in written.getvalue().splitlines():
        screen.line(line)


def _csv_values(row: StatsRow) -> list[object]:
    took, spent = row.seconds, row.spent
    times = ("", "") if took is None else (took.median, took.p95)
    counts = (row.calls, row.fine, row.failed, row.denied, row.cancelled, row.cached)
    used = [""] * 5 if spent is None else [spent.runs, spent.requests, spent.input_tokens, spent.output_tokens, spent.cost]
    return [_escape_formula(to_one_line(row.key, 200)), *counts, *times, row.tokens, row.inner_tokens, *used]


def _escape_formula(name: str) -> str:
    """Escape a name that a spreadsheet would take for a formula: a model may have made it up."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name
