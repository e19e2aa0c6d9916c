"""`treadle eval`: run datasets, check each run, write reports and compare with a baseline. `replay` is in `eval_replay`."""

import argparse
import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from treadle.cli.agent_options import load_instructions, read_policy_file
from treadle.cli.exit_codes import FAILED, OK
from treadle.cli.runner import run_async
from treadle.cli.ui.render import clean_for_terminal, escape_invisible, format_count, format_seconds, format_table
from treadle.cli.ui.run_status import RunStatus
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError
from treadle.core.seams import Model
from treadle.engine.engine import new_run_id
from treadle.evals.agents import EvalOptions
from treadle.evals.dataset import Case, Dataset, load_dataset
from treadle.evals.results import (
    Attempt,
    CaseChange,
    CaseResult,
    EvalReport,
    compare_reports,
    load_report,
    regressions,
    report_to_json,
)
from treadle.evals.runner import digest_cases, run_dataset
from treadle.home import open_home
from treadle.plugins.models import configured_model, default_model, model_at
from treadle.plugins.tool_loader import load_object

FOLDER = "evals"


def run(args: argparse.Namespace) -> int:
    """Run the cases, replay kept runs, or import a suite."""
    if args.action == "replay":
        from treadle.cli.commands.eval_replay import replay_runs

        return run_async(replay_runs(args))
    if args.action == "import":
        return _import_suite(args, Screen(quiet=args.quiet))
    return run_async(_evaluate(args, Screen(quiet=args.quiet)))


def _import_suite(args: argparse.Namespace, screen: Screen) -> int:
    from treadle.evals.suites import dataset_to_jsonl, find_suite, read_suite

    dataset = read_suite(args.suite, args.part)
    text = dataset_to_jsonl(dataset)
    if args.output:
        save_report(args.output, text.encode())
    else:
        screen.line(escape_invisible(text.rstrip("\n")))
    package = find_suite(args.suite).package
    screen.note(f"{format_count(len(dataset.cases), 'case')} from the package {package}, whose licence applies to them.")
    return OK


async def _evaluate(args: argparse.Namespace, screen: Screen) -> int:
    if args.fail_on == "regression" and not args.baseline:
        raise SettingsError("--fail-on regression compares with an earlier report: name it with --baseline FILE.")
    if args.agent and args.assistant:
        raise SettingsError("--agent and --assistant both say who is evaluated: leave one out.")
    datasets = [load_dataset(path) for path in args.file]
    if args.attack:
        from treadle.evals.attacks import attack_cases

        datasets = [replace(dataset, cases=attack_cases(dataset.cases)) for dataset in datasets]
    baseline = load_report(args.baseline) if args.baseline else None
    options = await _make_options(args, datasets)
    evaluation, folder = _choose_evaluation(args, datasets, options, screen)
    reports: list[EvalReport] = []
    status = EvalStatus(sum(len(dataset.cases) for dataset in datasets) * args.repeat)
    try:
        with screen.status.showing(status.describe):
            for dataset in datasets:
                show = _progress(screen, dataset, status)
                given = replace(options, evaluation=evaluation, folder=folder / dataset.name, on_attempt=show)
                reports.append(await run_dataset(dataset, given))
    except asyncio.CancelledError:
        screen.tell("Interrupted. The same command with --resume goes on; what has been evaluated is kept.", "yellow")
        raise
    shutil.rmtree(folder, ignore_errors=True)
    report = join_reports(reports)
    changes = compare_reports(report, baseline) if baseline else []
    _write_reports(args, report, changes)
    _print_report(args, report, changes, screen)
    return _exit_code(args, report, changes)


async def _make_options(args: argparse.Namespace, datasets: Sequence[Dataset]) -> EvalOptions:
    model = await choose_model(args, needed=_needs_model(args, datasets))
    return EvalOptions(
        agent=load_object(args.agent, str(Path.cwd())) if args.agent else None,
        assistant=args.assistant or "",
        user=args.user,
        model=model,
        instructions=load_instructions(args.instructions),
        policy=read_policy_file(args.policy) if args.policy else None,
        judge=model_at(args.judge) if args.judge else model,
        repeat=args.repeat,
        parallel=args.parallel,
        home=open_home(),
    )


def _needs_model(args: argparse.Namespace, datasets: Sequence[Dataset]) -> bool:
    """Return whether an assistant or a task is evaluated: agents in code have models of their own."""
    cases = [case for dataset in datasets for case in dataset.cases]
    if args.agent:
        return any(case.task for case in cases)
    return any(case.task or case.assistant or (args.assistant and not case.agent) for case in cases)


async def choose_model(args: argparse.Namespace, *, needed: bool) -> Model | None:
    """Return the typed model; else the default one, where one is needed."""
    if args.model:
        return model_at(args.model, args.base_url or "")
    if not needed:
        return None
    name, address = configured_model()
    return model_at(name or await default_model(), args.base_url or address)


def _choose_evaluation(
    args: argparse.Namespace, datasets: Sequence[Dataset], options: EvalOptions, screen: Screen
) -> tuple[str, Path]:
    """Return the id of the evaluation and the folder of its workspaces; with --resume, those of one that was killed."""
    from platformdirs import user_cache_path

    said = [
        options.model.name if options.model else "",
        options.instructions,
        repr(options.policy),
        args.agent or "",
        options.assistant,
    ]
    key = digest_cases(datasets, "\0".join(said))
    parent = user_cache_path("treadle", appauthor=False) / FOLDER
    if args.resume:
        killed = sorted(parent.glob(f"{key}-*"), key=lambda each: each.stat().st_mtime)
        if killed:
            screen.note(f"Resuming the evaluation {killed[-1].name}.")
            return killed[-1].name, killed[-1]
        screen.note("There is no evaluation of these cases that was killed; a new one begins.")
    evaluation = f"{key}-{new_run_id()[:8]}"
    folder = parent / evaluation
    folder.mkdir(parents=True, mode=0o700)
    return evaluation, folder


class EvalStatus(RunStatus):
    """What the status line says of an evaluation or a replay: how many of its runs have ended."""

    def __init__(self, total: int) -> None:
        super().__init__()
        self._ended, self._total = -1, total
        self.count_ended()

    def count_ended(self) -> None:
        """One more has ended."""
        self._ended += 1
        self.idle = f"{self._ended} of {format_count(self._total, 'run')}"


def _progress(screen: Screen, dataset: Dataset, status: EvalStatus) -> Any:
    def show(case: Case, attempt: Attempt) -> None:
        status.count_ended()
        state = "passed" if attempt.passed else "failed"
        screen.note(clean_for_terminal(f"{dataset.name}: {case.name}: {state}, {format_seconds(attempt.seconds)}"))

    return show


def join_reports(reports: Sequence[EvalReport]) -> EvalReport:
    """Return one report of several datasets; the names of their cases then begin with that of the dataset."""
    if len(reports) == 1:
        return reports[0]
    cases = [CaseResult(f"{report.dataset}/{case.name}", case.attempts) for report in reports for case in report.cases]
    first = reports[0]
    seconds = round(sum(report.seconds for report in reports), 3)
    return replace(first, dataset=", ".join([report.dataset for report in reports]), cases=tuple(cases), seconds=seconds)


def _write_reports(args: argparse.Namespace, report: EvalReport, changes: Sequence[CaseChange]) -> None:
    from treadle.evals.formats import report_to_html, report_to_junit

    written: list[tuple[str | None, Any]] = [
        (args.report, lambda: report_to_json(report, changes)),
        (args.junit, lambda: report_to_junit(report).encode()),
        (args.html, lambda: report_to_html(report, changes).encode()),
    ]
    for path, make in written:
        if path:
            save_report(path, make())


def save_report(path: str, data: bytes) -> None:
    """Write a report where the user says."""
    try:
        Path(path).expanduser().write_bytes(data)
    except OSError as error:
        raise SettingsError(f"{path} can't be written: {error.strerror}.") from error


def _print_report(args: argparse.Namespace, report: EvalReport, changes: Sequence[CaseChange], screen: Screen) -> None:
    if args.json:
        screen.line(escape_invisible(report_to_json(report, changes).decode()))
        return
    changed = {change.name: change for change in changes}
    rows = [_to_row(case, changed.get(case.name)) for case in report.cases]
    heads = ("CASE", "PASSED", "95 % INTERVAL", "TIME", "ASKED", "BASELINE", "FIRST FAILURE")
    for line in format_table([heads, *rows], screen.width):
        screen.line(line)
    low, high = report.interval
    cost = "" if report.cost is None else f", ${report.cost:.4f}"
    total = f"{report.rate:.0%} of {format_count(len(report.attempts), 'run')} passed ({low:.0%} to {high:.0%}){cost}."
    screen.note(total)
    for change in changes:
        if change.change in ("regressed", "missing"):
            screen.tell(f"{clean_for_terminal(change.name)}: {change.change}", "red")


def _to_row(case: CaseResult, change: CaseChange | None) -> tuple[str, ...]:
    low, high = case.interval
    failed = [check for attempt in case.attempts for check in attempt.failed_checks]
    asked = sum(len(attempt.asked) for attempt in case.attempts)
    return (
        case.name,
        f"{case.passed}/{len(case.attempts)}",
        f"{low:.0%}-{high:.0%}",
        format_seconds(sum(attempt.seconds for attempt in case.attempts) / len(case.attempts)),
        str(asked) if asked else "-",
        change.change if change else "-",
        f"{failed[0].kind} {failed[0].name}: {failed[0].detail}" if failed else "-",
    )


def _exit_code(args: argparse.Namespace, report: EvalReport, changes: Sequence[CaseChange]) -> int:
    fail_on = args.fail_on or ("regression" if args.baseline else "any")
    bad = bool(regressions(changes)) if fail_on == "regression" else not report.passed
    return FAILED if bad else OK
