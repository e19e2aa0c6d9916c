"""`treadle guide run` and related commands: runs, comparisons, decision records, candidates and issues."""

from argparse import ArgumentParser, Namespace
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, get_args

from treadle.assistant import Host, execute_job, prompt_from_words
from treadle.assistants.guidance.comparison import Comparison, format_comparison
from treadle.assistants.guidance.comparison import build_comparison as compared
from treadle.assistants.guidance.preflight import DEFAULT_COUNTS
from treadle.assistants.guidance.project_runs import (
    EvaluationInput,
    cancel_project_run,
    create_project_run,
    find_run_job,
    is_run_interrupted,
    reconcile_runs,
    start_draft_run,
    start_in_background,
    work,
)
from treadle.assistants.guidance.projects import find_project, open_projects, project_user_of
from treadle.assistants.guidance.recording import without_snapshot
from treadle.assistants.guidance.run_routes import load_decision_record
from treadle.assistants.guidance.run_tools import load_comparison, propose_candidate
from treadle.assistants.guidance.store.values import IssueType, Mode, ProjectIssue, Severity
from treadle.assistants.guidance.tools import ProjectScope

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store


def _project_options(parser: ArgumentParser) -> None:
    parser.add_argument("-p", "--project", default="", metavar="PROJECT", help="the project's id or title (default: the newest)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for starting a run."""
    _project_options(parser)
    parser.add_argument("--mode", choices=get_args(Mode), default="full_search", help="the kind of search (default: full_search)")
    parser.add_argument(
        "--candidates", type=int, default=DEFAULT_COUNTS["num_candidates"], metavar="N", help="the number of candidates"
    )
    parser.add_argument(
        "--scenarios", type=int, default=DEFAULT_COUNTS["num_scenarios"], metavar="N", help="the number of scenarios"
    )
    parser.add_argument("--seed", action="append", default=[], metavar="CANDIDATE", help="a candidate to start with")
    parser.add_argument("--budget-tokens", type=int, metavar="N", help="maximum tokens")
    parser.add_argument("--budget-usd", type=float, metavar="USD", help="maximum US dollars")
    parser.add_argument("--max-seconds", type=float, metavar="SECONDS", help="maximum working time")
    parser.add_argument("--detach", action="store_true", help="run in the background; `treadle jobs watch` shows it")


def runs_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for listing runs."""
    _project_options(parser)


def _run_argument(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run's id")
    parser.add_argument("--json", action="store_true", help="print JSON")


resume_arguments = cancel_arguments = _run_argument


def compare_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for comparing candidates."""
    parser.add_argument("run", nargs="?", default="", metavar="RUN", help="the run's id (default: the last one with candidates)")
    _project_options(parser)


def adr_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for printing a decision record."""
    parser.add_argument("candidate", metavar="CANDIDATE", help="the candidate's id, as `treadle guide compare` prints it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def candidate_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for proposing a candidate."""
    parser.add_argument("words", nargs="*", metavar="DESCRIPTION", help="what is done, and how that works")
    parser.add_argument("--run", default="", metavar="RUN", help="the run it belongs to (default: a new one)")
    _project_options(parser)


def issue_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for reporting an issue."""
    parser.add_argument("words", nargs="*", metavar="DESCRIPTION", help="what is wrong")
    parser.add_argument("--type", choices=get_args(IssueType), default="model", help="what it is wrong with (default: model)")
    parser.add_argument("--severity", choices=get_args(Severity), default="important", help="how bad that is (default: important)")
    _project_options(parser)


def issues_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for listing issues."""
    _project_options(parser)


async def run(args: Namespace, host: Host) -> int:
    """Start a run, and execute it here or in the background."""
    parameters: dict[str, Any] = {
        "num_candidates": args.candidates,
        "num_scenarios": args.scenarios,
        "seed_candidate_ids": args.seed,
        "budget_tokens": args.budget_tokens,
        "budget_usd": args.budget_usd,
        "max_runtime_s": args.max_seconds,
    }
    async with open_projects(host) as store:
        project = await find_project(store, project_user_of(host), args.project)
        wanted = EvaluationInput(project.id, args.mode, parameters, ui_trigger_source="cli")
        begun = await create_project_run(host, store, wanted)
        if args.detach:
            start_in_background(host, begun.id)
            host.show(without_snapshot(begun)) if args.json else host.command_terminal.line(begun.id)
            return 0
        host.command_terminal.note(f"Run {begun.id} of {project.title!r} …")
        return await _run_to_end(host, store, begun.id, as_json=args.json)


async def resume(args: Namespace, host: Host) -> int:
    """Resume a run, or start one that candidates were proposed for."""
    async with open_projects(host) as store:
        found = await store.get_run(project_user_of(host), args.run)
        if find_run_job(host, found.id) is None:
            await start_draft_run(host, store, found)
        return await _run_to_end(host, store, found.id, as_json=args.json)


async def _run_to_end(host: Host, store: "Store", run_id: str, *, as_json: bool) -> int:
    try:
        await execute_job(run_id, work()[0], host)
    except CancelledError:
        host.command_terminal.tell(
            f"Stopped. To go on: treadle guide resume {run_id}   To drop it: treadle guide cancel {run_id}", "yellow"
        )
        raise
    found = await store.get_run(project_user_of(host), run_id)
    if found.status != "completed":
        host.command_terminal.tell(f"Run {found.id} is {found.status}. {found.error_summary}".strip(), "red")
        return 1
    _print_comparison(host, compared(found, await store.list_candidates(project_user_of(host), found.id)), as_json=as_json)
    return 0


def _print_comparison(host: Host, comparison: Comparison, *, as_json: bool) -> None:
    if as_json:
        host.show(comparison)
        return
    for line in format_comparison(comparison):
        host.command_terminal.line(line)


async def runs(args: Namespace, host: Host) -> int:
    """List the runs."""
    async with open_projects(host) as store:
        project = await find_project(store, project_user_of(host), args.project)
        found = await reconcile_runs(host, store, await store.list_runs(project_user_of(host), project.id))
    if args.json:
        host.show([without_snapshot(each) for each in found])
        return 0
    for each in found:
        status = f"interrupted: treadle guide resume {each.id}" if is_run_interrupted(host, each) else each.status
        host.command_terminal.line(
            f"{each.id}  {each.created_at:%Y-%m-%d %H:%M}  {each.mode:<11}  {each.candidate_count:>3}  {status}"
        )
    if not found:
        host.command_terminal.tell("Nothing has been run yet: `treadle guide run` starts one.")
    return 0


async def cancel(args: Namespace, host: Host) -> int:
    """Cancel a run."""
    async with open_projects(host) as store:
        found = await cancel_project_run(host, store, await store.get_run(project_user_of(host), args.run))
    host.show(without_snapshot(found)) if args.json else host.command_terminal.tell(f"Run {found.id} is {found.status}.")
    return 0


async def compare(args: Namespace, host: Host) -> int:
    """Print the candidates of a run side by side."""
    async with open_projects(host) as store:
        scope = ProjectScope(host, store)
        project_id = (await store.get_run(scope.user, args.run)).project_id if args.run else ""
        project_id = project_id or (await find_project(store, scope.user, args.project)).id
        found = await load_comparison(scope, project_id, args.run)
    if found is None:
        host.command_terminal.tell("Nothing has been evaluated yet: `treadle guide run` does.")
        return 1
    _print_comparison(host, found, as_json=args.json)
    return 0


async def adr(args: Namespace, host: Host) -> int:
    """Print a decision record."""
    async with open_projects(host) as store:
        scope = ProjectScope(host, store)
        chosen = await store.get_candidate(scope.user, args.candidate)
        record = (await load_decision_record(scope, chosen.project_id, chosen.id)).rstrip()
        host.show({"candidate": chosen.id, "record": record}) if args.json else host.command_terminal.line(record)
    return 0


async def candidate(args: Namespace, host: Host) -> int:
    """Propose a candidate."""
    async with open_projects(host) as store:
        project = await find_project(store, project_user_of(host), args.project)
        kept = await propose_candidate(ProjectScope(host, store), project.id, prompt_from_words(args.words), args.run)
    host.show(kept) if args.json else host.command_terminal.line(f"{kept.id}  run {kept.run_id}")
    return 0


async def issue(args: Namespace, host: Host) -> int:
    """Report an issue."""
    async with open_projects(host) as store:
        project = await find_project(store, project_user_of(host), args.project)
        kept = await store.create_issue(
            project_user_of(host), ProjectIssue(project.id, args.type, args.severity, prompt_from_words(args.words))
        )
    host.show(kept) if args.json else host.command_terminal.line(kept.id)
    return 0


async def issues(args: Namespace, host: Host) -> int:
    """List the issues."""
    async with open_projects(host) as store:
        project = await find_project(store, project_user_of(host), args.project)
        found = await store.list_issues(project_user_of(host), project.id)
    if args.json:
        host.show(found)
        return 0
    for each in found:
        host.command_terminal.line(
            f"{each.id}  {each.resolution_status:<11}  {each.severity:<12}  {each.type:<10}  {each.description}"
        )
    return 0
