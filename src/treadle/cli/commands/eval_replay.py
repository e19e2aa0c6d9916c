"""`treadle eval replay` and `treadle permissions test`: kept runs, replayed or judged again with something different."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from treadle.agent.agent import Agent
from treadle.cli.agent_options import AgentOptions, load_instructions, options_from_args, options_of_run, read_policy_file
from treadle.cli.agents import build_agent
from treadle.cli.commands.eval import EvalStatus, choose_model, save_report
from treadle.cli.exit_codes import FAILED, OK
from treadle.cli.run_store import home_of_run, pick_runs
from treadle.cli.ui.display import Display
from treadle.cli.ui.render import clean_for_terminal, format_count, format_table, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.calls import Call
from treadle.core.entries import Entry, Opened
from treadle.core.errors import SettingsError
from treadle.core.seams import Model
from treadle.core.tool import Tool
from treadle.evals.agents import make_agent
from treadle.evals.replay import ReplayReport, ReplayResult, describe_call, list_tools, replay_run, replay_together
from treadle.evals.verdicts import PolicyTest, VerdictChange, compare_policy
from treadle.guard.policy import parse_policy
from treadle.models.scripted import Scripted
from treadle.plugins.entry_points import plugin_names
from treadle.plugins.tool_loader import load_object


async def replay_runs(args: argparse.Namespace) -> int:
    """Replay the chosen runs and report where they depart."""
    screen = Screen(quiet=args.quiet)
    model = await choose_model(args, needed=False)
    if args.instructions and model is None:
        raise SettingsError("Other instructions need a model that reads them: name it with -m.")
    ids = await pick_runs(args.run, args.query, args.of, args.rating, args.most)
    if not ids:
        raise SettingsError("There are no such runs; `treadle runs` lists them.")
    began = monotonic()
    work = [(run_id, partial(_replay_one, args, run_id, model)) for run_id in ids]
    status = EvalStatus(len(work))
    with screen.status.showing(status.describe):
        results = await replay_together(work, args.parallel, _progress(screen, status))
    report = ReplayReport(tuple(results), round(monotonic() - began, 3))
    if args.report:
        save_report(args.report, to_terminal_json(report, indent=1).encode())
    _print_replay(args, report, screen)
    return FAILED if report.differs else OK


async def _replay_one(args: argparse.Namespace, run_id: str, model: Model | None) -> ReplayResult:
    home = home_of_run(run_id)
    entries = await home.journal.read(run_id)
    how: dict[str, Any] = {
        "recorded_replies": model is None,
        "run_reads": args.run_reads,
        "compare_answers": not args.ignore_answers,
        "fetch": home.results.fetch,
    }
    if not args.agent:
        return await replay_run(run_id, entries, _make_agent(args, run_id, entries, model), **how)
    agent = _load_agent(args.agent)
    with agent.override(**_overrides(args, model)):
        return await replay_run(run_id, entries, agent, **how)


def _overrides(args: argparse.Namespace, model: Model | None) -> Any:
    changes: dict[str, Any] = {}
    if model is not None:
        changes["model"] = model
    if args.instructions:
        changes["instructions"] = load_instructions(args.instructions)
    if args.policy:
        changes["policy"] = read_policy_file(args.policy)
    return changes


def _load_agent(spec: str) -> Agent[Any, Any]:
    return make_agent(load_object(spec, str(Path.cwd())), spec, Path.cwd())


def _make_agent(args: argparse.Namespace, run_id: str, entries: list[Entry], model: Model | None) -> Agent[Any, Any]:
    """Return the agent that a run was started with, and what is typed in place of its parts."""
    opened = next((entry for entry in entries if isinstance(entry, Opened)), Opened())
    before = options_of_run(run_id, opened)
    if before is None and not args.assistant and opened.agent not in plugin_names("assistants"):
        raise SettingsError(f"It is of the agent {opened.agent!r}, which is made by a program; name it: --agent MODULE:NAME.")
    before = before or AgentOptions(assistant=opened.agent, folder=str(Path.cwd()), about=opened.origin.get("about") or {})
    chosen = options_from_args(args, before)
    face = Display(argparse.Namespace(quiet=True))
    return build_agent(chosen, face, opened.agent, opened.user, model=model or Scripted())


def _progress(screen: Screen, status: EvalStatus) -> Callable[[ReplayResult], None]:
    def show(result: ReplayResult) -> None:
        status.count_ended()
        if result.status == "skipped":
            screen.note(clean_for_terminal(f"{result.run_id}: skipped: {result.reason}"))

    return show


def _print_replay(args: argparse.Namespace, report: ReplayReport, screen: Screen) -> None:
    if args.json:
        screen.line(to_terminal_json(report, indent=1))
        return
    rows = [_to_row(run) for run in report.runs if run.departure is not None]
    heads = ("RUN", "WHERE", "WHAT", "RECORDED", "NOW", "WHY")
    for line in format_table([heads, *rows], screen.width) if rows else ():
        screen.line(line)
    _print_changes([change for run in report.runs for change in run.verdicts], screen)
    counts = f"{report.count('same')} the same, {report.count('departed')} departed, {report.count('skipped')} skipped"
    screen.note(f"{format_count(len(report.runs), 'run')} in {report.seconds:.1f} s: {counts}.")


def _to_row(run: ReplayResult) -> tuple[str, ...]:
    found = run.departure
    assert found is not None, "only those are shown"
    where = f"turn {found.turn}" + (f", call {found.position}" if found.position else "")
    return run.run_id, where, found.kind, found.recorded, found.now, found.reason or "-"


# policies


async def judge_kept_calls(args: argparse.Namespace) -> int:
    """Judge the calls of the chosen runs again, by a policy file."""
    screen = Screen(quiet=args.quiet)
    policy = parse_policy(read_policy_file(args.policy))
    tools = await _known_tools(args)
    ids = await pick_runs(args.run, args.query, args.of, args.rating, args.most)
    found = PolicyTest()
    for run_id in ids:  # one after the other: a journal may be large
        found += compare_policy([(run_id, await home_of_run(run_id).journal.read(run_id))], policy, tools)
    if args.json:
        screen.line(to_terminal_json(found, indent=1))
    else:
        _print_changes(found.changes, screen)
        screen.note(_summarize(found))
    return FAILED if found.loosened or (args.strict and found.changes) else OK


async def _known_tools(args: argparse.Namespace) -> dict[str, Tool]:
    if args.agent:
        return await list_tools(_load_agent(args.agent))
    if not args.assistant:
        return {}
    options = AgentOptions(assistant=args.assistant, folder=str(Path.cwd()))
    return await list_tools(build_agent(options, Display(argparse.Namespace(quiet=True)), args.assistant, model=Scripted()))


def _print_changes(changes: Sequence[VerdictChange], screen: Screen) -> None:
    rows = [
        (each.run_id, each.before, each.now, describe_call(Call(each.call_id, each.tool, each.arguments)), each.reason or "-")
        for each in changes
    ]
    for line in format_table([("RUN", "VERDICT", "WOULD BE", "CALL", "WHY"), *rows], screen.width) if rows else ():
        screen.line(line)


def _summarize(found: PolicyTest) -> str:
    counts = f"{format_count(found.calls, 'call')} of {format_count(found.runs, 'run')} judged again"
    differ = f"{len(found.changes)} would differ, {len(found.loosened)} of them would be allowed"
    assumed = (
        f" The effects of {found.assumed} are taken from the journal; -a or --agent names their tools." if found.assumed else ""
    )
    return f"{counts}: {differ}.{assumed}"
