"""`treadle approve`, `treadle deny` and `treadle settle`: record a person's answer to a call that waits.

They need the run's journal and nothing else.
"""

import argparse
from typing import Any

from treadle.cli.agent_options import parse_json_object
from treadle.cli.exit_codes import USAGE
from treadle.cli.run_store import home_of_run, load_run_state
from treadle.cli.runner import run_async
from treadle.cli.ui.approval_prompt import TERMINAL_USER
from treadle.cli.ui.render import clean_for_terminal, format_call, to_terminal_json
from treadle.cli.ui.report import mask_approval_secrets, print_approval
from treadle.cli.ui.screen import Screen
from treadle.core.calls import Settling
from treadle.core.errors import ApprovalError, SettingsError
from treadle.engine.setup import Approval
from treadle.guard.journal_secrets import mask_call
from treadle.guard.redaction import Redactor
from treadle.home import open_home
from treadle.jobs.store import Jobs
from treadle.runs import Runs
from treadle.workers.run_spec import is_worker_run
from treadle.workers.submission import requeue_run

SETTLEMENTS: dict[str, Settling] = {"happened": "happened", "not-happened": "not_happened", "again": "again"}
SETTLEMENT_TEXT = {"happened": "It happened", "not-happened": "It did not happen", "again": "It is tried again"}


def run(args: argparse.Namespace) -> int:
    """Record the answer."""
    return run_async(_record_answer(args))


async def _record_answer(args: argparse.Namespace) -> int:
    runs, screen = Runs(home_of_run(args.run)), Screen()
    waiting = await runs.approvals(args.run)
    if args.call is None:
        return _list_waiting(screen, args, waiting)
    if args.command == "settle" and args.said is None:
        raise SettingsError(f"Say what became of {args.call}: treadle settle {args.run} {args.call} happened|not-happened|again")
    if args.call not in [approval.call_id for approval in waiting]:
        there = f"These do: {', '.join(approval.call_id for approval in waiting)}." if waiting else "None does."
        raise ApprovalError(f"No call {args.call} of run {args.run} waits for an approval. {there}")
    approval = await _submit_answer(runs, args)
    is_queued = await _requeue(runs, args.run)
    if args.json:
        screen.line(to_terminal_json({**_to_json(args), "approval": mask_approval_secrets(approval)}))
    elif is_queued:
        screen.line(f"{_format_done(args, approval)}. It is queued: a worker goes on with it.")
    else:
        resume = "treadle jobs resume" if Jobs(open_home().folder).has(args.run) else "treadle resume"
        screen.line(f"{_format_done(args, approval)}. Go on with: {resume} {args.run}")
    return 0


async def _requeue(runs: Runs, run_id: str) -> bool:
    """Queue a run of the workers again once nothing else waits; return whether it was queued."""
    if not is_worker_run((await load_run_state(run_id)).opened) or await runs.approvals(run_id):
        return False
    await requeue_run(open_home(), run_id)
    return True


def _to_json(args: argparse.Namespace) -> dict[str, Any]:
    return {"settled": SETTLEMENTS[args.said]} if args.command == "settle" else {"approved": args.command == "approve"}


def _format_done(args: argparse.Namespace, approval: Approval) -> str:
    label = format_call(approval.name, mask_approval_secrets(approval).arguments)
    if args.command == "settle":
        return f"{SETTLEMENT_TEXT[args.said]}: {label}"
    if args.command == "deny":
        return f"Denied: {label}"
    instead = "" if args.arguments is None else f", with {mask_call(args.arguments, Redactor())} instead"
    return f"Approved: {label}{instead}"


async def _submit_answer(runs: Runs, args: argparse.Namespace) -> Approval:
    by = args.user or TERMINAL_USER
    if args.command == "settle":
        return await runs.settle(args.run, args.call, SETTLEMENTS[args.said], args.words, by=by)
    if args.command == "deny":
        return await runs.deny(args.run, args.call, args.reason, by=by)
    arguments = None if args.arguments is None else parse_json_object(args.arguments, "The arguments")
    return await runs.approve(args.run, args.call, by=by, arguments=arguments)


def _list_waiting(screen: Screen, args: argparse.Namespace, waiting: list[Approval]) -> int:
    """Print the calls that could be answered, where no call id was given."""
    if args.json:
        screen.line(to_terminal_json([mask_approval_secrets(approval) for approval in waiting]))
    elif waiting:
        screen.tell(f"These calls of {clean_for_terminal(args.run)} wait; say which one:")
        for approval in waiting:
            print_approval(screen, approval)
    else:
        screen.tell(f"No call of {clean_for_terminal(args.run)} waits for an approval.")
    return USAGE
