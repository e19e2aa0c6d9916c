"""`treadle audit`: list the audit records of calls, or verify their hash chain."""

import argparse

import msgspec

from treadle.cli.exit_codes import FAILED, OK
from treadle.cli.run_store import existing_home, home_of_run, resolve_run_id
from treadle.cli.runner import run_async
from treadle.cli.ui.pager import open_pager
from treadle.cli.ui.render import (
    format_call,
    format_count,
    format_seconds,
    format_table,
    format_time,
    to_one_line,
    to_terminal_json,
)
from treadle.cli.ui.screen import Screen
from treadle.home import open_home
from treadle.stores.audit import AuditLink


def run(args: argparse.Namespace) -> int:
    """List the records, or verify them all."""
    return run_async(_verify(args) if args.run == "verify" else _list_records(args))


async def _verify(args: argparse.Namespace) -> int:
    home, screen = open_home(), Screen()
    verified = await home.audit.verify()
    is_new = verified.missing == "database" and not home.folder.exists()
    if args.json:
        screen.line(to_terminal_json(verified))
    elif verified.holds:
        no_anchor = f"; {verified.reason}" if verified.reason else ""
        screen.line(f"The audit log is intact: {format_count(verified.records, 'record')}{no_anchor}.")
    elif is_new:
        screen.note(f"There is no audit log yet: nothing is stored in {home.folder}.")
    elif verified.broken_at is None:
        hold = f"{format_count(verified.records, 'record')} are intact, but " if verified.records else ""
        screen.tell(f"treadle: the audit log can't be verified: {hold}{verified.reason} ({home.folder}).", "red")
    else:
        screen.tell(f"treadle: the audit log is broken at record {verified.broken_at}: {verified.reason} ({home.folder}).", "red")
    return OK if verified.holds or is_new else FAILED


async def _list_records(args: argparse.Namespace) -> int:
    home, screen = existing_home(), Screen()
    links = [] if home is None else await home.audit.records(args.run or "", args.most)
    if not links and args.run:  # the audit still has runs that were deleted, so a whole id needn't be one that is stored
        links = await home_of_run(args.run).audit.records(await resolve_run_id(args.run), args.most)
    if args.json:
        screen.line(to_terminal_json([_to_json(link) for link in links]))
    elif links:
        rows = [("NO", "WHEN", "RUN", "USER", "VERDICT", "TOOK", "CALL", "RESULT"), *map(_to_row, links)]
        with open_pager(screen, wanted=not args.no_pager):
            for line in format_table(rows, screen.width):
                screen.line(line)
    else:
        screen.note("There are no records.")
    return OK


def _to_json(link: AuditLink) -> dict[str, object]:
    return {"seq": link.seq, **msgspec.to_builtins(link.record), "previous": link.previous, "hash": link.hash}


def _to_row(link: AuditLink) -> tuple[str, ...]:
    record = link.record
    return (
        str(link.seq),
        format_time(record.at),
        record.run_id,
        record.user or "-",
        f"{record.verdict} by {record.verdict_by}" if record.verdict else "-",
        "-" if record.stage in ("begins", "deletion") else format_seconds(record.duration_ms / 1000),
        format_call(record.tool_name, record.arguments, 60) if record.tool_name else "-",
        record.stage if record.stage != "ended" else to_one_line(record.error or record.result_summary, 120) or "-",
    )
