"""`treadle approve`, `treadle deny` and `treadle settle`: a person's answer to a call that waits.

They need the run's journal, and nothing else.
"""

import argparse
from typing import Any

from treadle.app.home import open_home
from treadle.app.jobs import Jobs
from treadle.app.runs import Runs
from treadle.app.workers.order import is_workers
from treadle.app.workers.submit import queue_again
from treadle.cli.carrying import carry_out
from treadle.cli.choices import json_object
from treadle.cli.codes import USAGE
from treadle.cli.kept import home_of, state_of
from treadle.cli.people import PERSON
from treadle.cli.render import call_label, clean, to_json
from treadle.cli.report import masked, show_approval
from treadle.cli.screen import Screen
from treadle.core.calls import Settling
from treadle.core.errors import ApprovalError, SettingsError
from treadle.engine.setup import Approval
from treadle.guard.held import masked_call
from treadle.guard.redaction import Redactor

SETTLED: dict[str, Settling] = {"happened": "happened", "not-happened": "not_happened", "again": "again"}
TOLD = {"happened": "It happened", "not-happened": "It did not happen", "again": "It is tried again"}


def run(args: argparse.Namespace) -> int:
    """Write the answer down."""
    return carry_out(_answer(args))


async def _answer(args: argparse.Namespace) -> int:
    runs, screen = Runs(home_of(args.run)), Screen()
    waiting = await runs.approvals(args.run)
    if args.call is None:
        return _list(screen, args, waiting)
    if args.command == "settle" and args.said is None:
        raise SettingsError(f"Say what became of {args.call}: treadle settle {args.run} {args.call} happened|not-happened|again")
    if args.call not in [approval.call_id for approval in waiting]:
        there = f"These do: {', '.join(approval.call_id for approval in waiting)}." if waiting else "None does."
        raise ApprovalError(f"No call {args.call} of run {args.run} waits for an approval. {there}")
    approval = await _said(runs, args)
    is_queued = await _queued(runs, args.run)
    if args.json:
        screen.line(to_json({**_value(args), "approval": masked(approval)}))
    elif is_queued:
        screen.line(f"{_done(args, approval)}. It is queued: a worker goes on with it.")
    else:
        resume = "treadle jobs resume" if Jobs(open_home().folder).has(args.run) else "treadle resume"
        screen.line(f"{_done(args, approval)}. Go on with: {resume} {args.run}")
    return 0


async def _queued(runs: Runs, run_id: str) -> bool:
    """A run that workers carry out goes on by itself, once nothing else waits."""
    if not is_workers((await state_of(run_id)).opened) or await runs.approvals(run_id):
        return False
    await queue_again(open_home(), run_id)
    return True


def _value(args: argparse.Namespace) -> dict[str, Any]:
    return {"settled": SETTLED[args.said]} if args.command == "settle" else {"approved": args.command == "approve"}


def _done(args: argparse.Namespace, approval: Approval) -> str:
    label = call_label(approval.name, masked(approval).arguments)
    if args.command == "settle":
        return f"{TOLD[args.said]}: {label}"
    if args.command == "deny":
        return f"Denied: {label}"
    instead = "" if args.arguments is None else f", with {masked_call(args.arguments, Redactor())} instead"
    return f"Approved: {label}{instead}"


async def _said(runs: Runs, args: argparse.Namespace) -> Approval:
    by = args.user or PERSON
    if args.command == "settle":
        return await runs.settle(args.run, args.call, SETTLED[args.said], args.words, by=by)
    if args.command == "deny":
        return await runs.deny(args.run, args.call, args.reason, by=by)
    arguments = None if args.arguments is None else json_object(args.arguments, "The arguments")
    return await runs.approve(args.run, args.call, by=by, arguments=arguments)


def _list(screen: Screen, args: argparse.Namespace, waiting: list[Approval]) -> int:
    """What could be answered, where it wasn't said which."""
    if args.json:
        screen.line(to_json([masked(approval) for approval in waiting]))
    elif waiting:
        screen.tell(f"These calls of {clean(args.run)} wait; say which one:")
        for approval in waiting:
            show_approval(screen, approval)
    else:
        screen.tell(f"No call of {clean(args.run)} waits for an approval.")
    return USAGE
