"""`treadle audit`: the account of calls, and whether its chain holds."""

import argparse

import msgspec

from treadle.app.home import open_home
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FAILED, FINE
from treadle.cli.kept import kept
from treadle.cli.render import call_label, counted, one_line, seconds, table, to_json, when
from treadle.cli.screen import Screen
from treadle.stores.audit import Link


def run(args: argparse.Namespace) -> int:
    """List the records, or verify them all."""
    return carry_out(_verify(args) if args.run == "verify" else _list(args))


async def _verify(args: argparse.Namespace) -> int:
    home, screen = open_home(), Screen()
    verified = await home.audit.verify()
    is_new = verified.missing == "database" and not home.folder.exists()
    if args.json:
        screen.line(to_json(verified))
    elif verified.holds:
        no_anchor = f"; {verified.reason}" if verified.reason else ""
        screen.line(f"The audit holds: {counted(verified.records, 'record')}{no_anchor}.")
    elif is_new:
        screen.note(f"There is no audit yet: nothing is kept in {home.folder}.")
    elif verified.broken_at is None:
        hold = f"{counted(verified.records, 'record')} hold together, but " if verified.records else ""
        screen.tell(f"treadle: the audit can't be verified: {hold}{verified.reason} ({home.folder}).", "red")
    else:
        screen.tell(f"treadle: the audit is broken at record {verified.broken_at}: {verified.reason} ({home.folder}).", "red")
    return FINE if verified.holds or is_new else FAILED


async def _list(args: argparse.Namespace) -> int:
    home, screen = kept(), Screen()
    links = [] if home is None else await home.audit.records(args.run or "", args.most)
    if args.json:
        screen.line(to_json([_value(link) for link in links]))
    elif links:
        for line in table([("NO", "WHEN", "RUN", "USER", "VERDICT", "TOOK", "CALL", "RESULT"), *map(_row, links)], screen.width):
            screen.line(line)
    else:
        screen.note("There are no records.")
    return FINE


def _value(link: Link) -> dict[str, object]:
    return {"seq": link.seq, **msgspec.to_builtins(link.record), "previous": link.previous, "hash": link.hash}


def _row(link: Link) -> tuple[str, ...]:
    record = link.record
    return (
        str(link.seq),
        when(record.at),
        record.run_id,
        record.user or "-",
        f"{record.verdict} by {record.verdict_by}" if record.verdict else "-",
        "-" if record.stage in ("begins", "deletion") else seconds(record.duration_ms / 1000),
        call_label(record.tool_name, record.arguments, 60) if record.tool_name else "-",
        record.stage if record.stage != "ended" else one_line(record.error or record.result_summary, 120) or "-",
    )
