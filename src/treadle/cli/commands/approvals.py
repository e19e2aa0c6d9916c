"""`treadle approve`, `treadle deny` and `treadle settle`: record a person's answer to a call that waits.

They need the run's journal and nothing else.
"""

import argparse
from typing import Any

from treadle.cli.agent_options import parse_json_object
from treadle.cli.exit_codes import OK, USAGE
from treadle.cli.run_store import existing_home, home_of_run, load_run_state, resolve_run_id
from treadle.cli.runner import run_async
from treadle.cli.ui.approval_prompt import TERMINAL_USER
from treadle.cli.ui.render import clean_for_terminal, format_call, to_terminal_json
from treadle.cli.ui.report import mask_approval_secrets, print_approval
from treadle.cli.ui.screen import Screen
from treadle.core.calls import Settling
from treadle.core.errors import ApprovalError, SettingsError
from treadle.core.grants import SCOPES
from treadle.engine.setup import Approval
from treadle.guard.journal_secrets import mask_call
from treadle.guard.redaction import Redactor
from treadle.home import open_home
from treadle.jobs.store import Jobs
from treadle.runs import Runs
from treadle.workers.run_spec import is_worker_run
from treadle.workers.submission import requeue_run

MOST_LISTED = 10  # runs that wait
SETTLEMENTS: dict[str, Settling] = {"happened": "happened", "not-happened": "not_happened", "again": "again"}
SETTLEMENT_TEXT = {"happened": "It happened", "not-happened": "It did not happen", "again": "It is tried again"}


def run(args: argparse.Namespace) -> int:
    """Record the answer."""
    return run_async(_record_answer(args))


async def _record_answer(args: argparse.Namespace) -> int:
    args.run = await (resolve_run_id(args.run) if args.run else _only_waiting_run())
    runs, screen = Runs(home_of_run(args.run)), Screen()
    waiting = await runs.approvals(args.run)
    if vars(args).get("all"):
        return await _approve_all(runs, screen, args)
    if args.command == "settle" and args.said is None and args.call in SETTLEMENTS:  # the call's id was left out
        args.said, args.call = args.call, None
    if args.command != "settle" or args.said is not None:
        args.call = args.call or _only_call(args, waiting)
    if args.call is None or args.list:
        return _list_waiting(screen, args, waiting)
    if args.command == "settle" and args.said is None:
        raise SettingsError(f"Say what happened to {args.call}: treadle settle {args.run} {args.call} happened|not-happened|again")
    if args.call not in [approval.call_id for approval in waiting]:
        there = f"These do: {', '.join(approval.call_id for approval in waiting)}." if waiting else "None does."
        raise ApprovalError(f"No call {args.call} of run {args.run} waits for an approval. {there}")
    approval = await _submit_answer(runs, args)
    following = await _requeue(runs, args.run)
    if args.json:
        screen.line(to_terminal_json({**_to_json(args), "approval": mask_approval_secrets(approval)}))
    else:
        screen.line(f"{_format_done(args, approval)}. {following}")
    return 0


async def _approve_all(runs: Runs, screen: Screen, args: argparse.Namespace) -> int:
    if args.call is not None or args.arguments is not None or args.pattern:
        raise SettingsError("--all approves every call as it is: leave CALL, --arguments and --pattern out.")
    approved = await runs.approve_all(args.run, by=args.user or TERMINAL_USER, scope=args.scope)
    following = await _requeue(runs, args.run)
    if args.json:
        approvals = [mask_approval_secrets(approval) for approval in approved]
        screen.line(to_terminal_json({"approved": True, "scope": args.scope, "approvals": approvals}))
        return 0
    for approval in approved:
        screen.line(_format_done(args, approval))
    screen.line(following if approved else f"No call of {clean_for_terminal(args.run)} waits for an approval.")
    return 0


async def _only_waiting_run() -> str:
    """Return the only run that waits for an answer; raise where there is none, or more than one."""
    from treadle.stores.journal import JournalQuery

    home = existing_home()
    waiting = [] if home is None else await home.journal.list_runs(JournalQuery(status="waiting", limit=MOST_LISTED))
    if len(waiting) == 1:
        return waiting[0].run_id
    if not waiting:
        raise ApprovalError("No run waits for an answer.")
    listed = "; ".join(f"{run.run_id} ({run.title})" if run.title else run.run_id for run in waiting)
    raise SettingsError(f"Several runs wait for an answer: {listed}. Name one.")


def _only_call(args: argparse.Namespace, waiting: list[Approval]) -> str | None:
    """Return the id of the only call that the command can answer; None where there is none, or more than one."""
    calls = [approval.call_id for approval in waiting if bool(approval.unclear) is (args.command == "settle")]
    return calls[0] if len(calls) == 1 else None


async def _requeue(runs: Runs, run_id: str) -> str:
    """Queue a run of the workers again once nothing else waits; return how the run continues, for people."""
    if is_worker_run((await load_run_state(run_id)).opened) and not await runs.approvals(run_id):
        await requeue_run(open_home(), run_id)
        return "It is queued: a worker continues it."
    resume = "treadle jobs resume" if Jobs(open_home().folder).has(run_id) else "treadle resume"
    return f"Continue with: {resume} {run_id}"


def _to_json(args: argparse.Namespace) -> dict[str, Any]:
    if args.command == "settle":
        return {"settled": SETTLEMENTS[args.said]}
    return {"approved": True, "scope": args.scope} if args.command == "approve" else {"approved": False}


def _format_done(args: argparse.Namespace, approval: Approval) -> str:
    label = format_call(approval.name, mask_approval_secrets(approval).arguments)
    if args.command == "settle":
        return f"{SETTLEMENT_TEXT[args.said]}: {label}"
    if args.command == "deny":
        return f"Denied: {label}"
    instead = "" if args.arguments is None else f", with {mask_call(args.arguments, Redactor())} instead"
    scope = "" if args.scope == "once" else f", and calls like it {SCOPES[args.scope]}"
    return f"Approved: {label}{instead}{scope}"


async def _submit_answer(runs: Runs, args: argparse.Namespace) -> Approval:
    by = args.user or TERMINAL_USER
    if args.command == "settle":
        return await runs.settle(args.run, args.call, SETTLEMENTS[args.said], args.words, by=by)
    if args.command == "deny":
        return await runs.deny(args.run, args.call, args.reason, by=by)
    arguments = None if args.arguments is None else parse_json_object(args.arguments, "The arguments")
    where = _parse_patterns(args.pattern)
    if where and args.scope == "once":
        raise SettingsError("--pattern says what is allowed besides: add --for conversation or --for always.")
    return await runs.approve(args.run, args.call, by=by, arguments=arguments, scope=args.scope, where=where or None)


def _parse_patterns(said: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in said]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise SettingsError(f"--pattern is NAME=PATTERN, as in command='pytest *'; not {name!r}.")
    return {name: pattern for name, _, pattern in pairs}


def _list_waiting(screen: Screen, args: argparse.Namespace, waiting: list[Approval]) -> int:
    """Print the calls that could be answered, where there is more than one, or where they were asked for."""
    if args.json:
        screen.line(to_terminal_json([mask_approval_secrets(approval) for approval in waiting]))
    elif waiting:
        screen.tell(f"These calls of {clean_for_terminal(args.run)} wait{'' if args.list else '; say which one'}:")
        for approval in waiting:
            print_approval(screen, approval)
    else:
        screen.tell(f"No call of {clean_for_terminal(args.run)} waits for an approval.")
    return OK if args.list else USAGE
