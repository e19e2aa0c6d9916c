"""`treadle build`, `debug`, `review` and `triage`: their options, the job made from them, and its output."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

import msgspec
from msgspec.structs import replace

from treadle.assistant import Host, Job, JobKind, Jobs, Terminal, execute_job, model_spec, read_piped_text, settings_for
from treadle.assistants.coding import job_report
from treadle.assistants.coding.answers import FINDING_SEVERITIES, is_at_least
from treadle.assistants.coding.inputs import (
    BuildInputs,
    DebugInputs,
    IssueText,
    JobInputs,
    ReviewInputs,
    TriageInputs,
    find_missing_input,
    job_title,
)
from treadle.errors import SettingsError
from treadle.files import check_workspace, read_named
from treadle.workspace import GitHub, is_github_reference

NAME = "coding"
MAX_BYTES = 10_000_000  # of a file that is named
_FILE_HELP = "; @FILE reads it from a file, - from stdin"
_LOG_HELP = "; the name of a file, or the text itself, - for stdin"


def _words_arguments(parser: ArgumentParser, name: str, what: str) -> None:
    parser.add_argument("words", nargs="*", metavar=name, help=f"{what}; piped text is added")
    parser.add_argument("-d", "--description", "--symptoms", metavar="TEXT", default="", help=f"the same{_FILE_HELP}")


def _common_arguments(parser: ArgumentParser, *, sarif: bool = False) -> None:
    parser.add_argument("-C", "--workspace", metavar="FOLDER", default=".", help="the folder to work in (default: this one)")
    _run_arguments(parser, sarif=sarif)


def _run_arguments(parser: ArgumentParser, *, sarif: bool = False) -> None:
    parser.add_argument("--keep-context", action="store_true", help="write prompts and replies into the job's folder")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--direct", action="store_true", help="work in this process (the default)")
    where.add_argument("--detach", action="store_true", help="run in the background; `treadle jobs watch` shows it")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the job as JSON at the end")
    if sarif:
        output.add_argument("--sarif", action="store_true", help="print the findings as SARIF 2.1.0 at the end")


def _publish_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--push", action="store_true", help="push the branch at the end")
    parser.add_argument("--pr", action="store_true", help="push it and open a pull request, or write a description for one")
    _free_argument(parser)


def _free_argument(parser: ArgumentParser) -> None:
    parser.add_argument("--free", action="store_true", help="let a small model choose its own tools")


def add_check_argument(parser: ArgumentParser) -> None:
    """Add the option that names a check."""
    parser.add_argument("--check", metavar="COMMAND", default="", help="what checks the work where there are no tests; remembered")


def _change_arguments(parser: ArgumentParser) -> None:
    add_check_argument(parser)
    _publish_arguments(parser)
    _common_arguments(parser)


def _evidence_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--issue", metavar="ISSUE", default="", help="the number or address of the issue on GitHub, read with gh")
    parser.add_argument("--error-log", "--error-logs", metavar="LOG", default="", help=f"an error log{_LOG_HELP}")
    parser.add_argument("--stack-trace", metavar="LOG", default="", help=f"a stack trace{_LOG_HELP}")
    parser.add_argument("--reproduction-steps", "--steps", metavar="TEXT", default="", help=f"how to reproduce it{_FILE_HELP}")


def add_build_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `treadle build`."""
    _words_arguments(parser, "DESCRIPTION", "what to build")
    what = "the issue it is about: its text, or its number or address on GitHub"
    parser.add_argument("--issue", metavar="ISSUE", default="", help=f"{what}{_FILE_HELP}")
    parser.add_argument("--criterion", action="append", default=[], metavar="TEXT", help="an acceptance criterion; repeatable")
    _change_arguments(parser)


def add_debug_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `treadle debug`."""
    _words_arguments(parser, "SYMPTOMS", "what goes wrong (default: tests fail)")
    parser.add_argument("--failing-test", metavar="NAME", default="", help="a test that fails because of it")
    parser.add_argument("--logs", metavar="LOG", default="", help=f"the same as --error-log{_LOG_HELP}")
    parser.add_argument("--keep-test", action="store_true", help="keep a test that a small model writes for the symptom")
    _evidence_arguments(parser)
    _change_arguments(parser)


def add_review_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `treadle review`."""
    parser.add_argument("branch", nargs="?", default="", metavar="BRANCH", help="the branch (default: uncommitted changes)")
    parser.add_argument("-b", "--branch", dest="named", default="", metavar="BRANCH", help="the same")
    parser.add_argument("--base", default="", metavar="BRANCH", help="the branch to compare with (default: the main branch)")
    parser.add_argument("--since", default="", metavar="COMMIT", help="everything since a commit, committed or not")
    parser.add_argument("--diff", default="", metavar="TEXT", help=f"a diff instead{_FILE_HELP}")
    parser.add_argument("-d", "--description", default="", metavar="TEXT", help="the purpose of the change")
    parser.add_argument("--pr", metavar="PR", default="", help="a pull request of GitHub, by number or address, read with gh")
    parser.add_argument("--post", action="store_true", help="post the review to the pull request, after you approve it")
    parser.add_argument("--fail-on", choices=FINDING_SEVERITIES, help="exit with 1 if there is a finding this severe, or worse")
    _free_argument(parser)
    _common_arguments(parser, sarif=True)


def add_triage_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `treadle triage`."""
    _words_arguments(parser, "SYMPTOMS", "what goes wrong")
    parser.add_argument("--logs", metavar="LOG", default="", help=f"logs{_LOG_HELP}")
    _evidence_arguments(parser)
    _free_argument(parser)
    _common_arguments(parser)


def follow_up_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `treadle follow-up`."""
    parser.add_argument("job", metavar="JOB", help="the id of the job to continue, the beginning of it, or `last`")
    _words_arguments(parser, "DESCRIPTION", "what is still to be done")
    _publish_arguments(parser)
    _run_arguments(parser)


def build_inputs(args: Namespace) -> BuildInputs:
    """Return the job's inputs from the arguments."""
    return BuildInputs(
        _join_description(args),
        _join_piped(args, "" if is_github_reference(args.issue) else _read_text(args.issue)),
        tuple(args.criterion),
        args.push,
        args.pr,
        args.free,
        keep_context=args.keep_context,
        check=args.check,
    )


def debug_inputs(args: Namespace) -> DebugInputs:
    """Return the job's inputs from the arguments."""
    log = _join_piped(args, _read_log(args.error_log), _read_log(args.logs))
    steps, trace = _read_text(args.reproduction_steps), _read_log(args.stack_trace)
    return DebugInputs(
        _join_description(args),
        log,
        trace,
        args.failing_test,
        steps,
        args.push,
        args.pr,
        args.free,
        keep_context=args.keep_context,
        keep_test=args.keep_test,
        check=args.check,
    )


def follow_up_inputs(args: Namespace, kind: str, follows: str) -> BuildInputs | DebugInputs:
    """Return the inputs of a job of this kind from the arguments."""
    make = DebugInputs if kind == "debug" else BuildInputs
    what = _join_piped(args, _join_description(args))
    return make(what, push=args.push, pr=args.pr, free=args.free, keep_context=args.keep_context, follows=follows)


def review_inputs(args: Namespace) -> ReviewInputs:
    """Return the job's inputs from the arguments."""
    branch, diff = args.named or args.branch, _read_text(args.diff)
    if args.since and (branch or args.base or diff):
        raise SettingsError("--since reviews everything since a commit: leave out the branch, --base and --diff.")
    if args.detach and (args.sarif or args.fail_on):
        raise SettingsError("--sarif and --fail-on need the result: leave out --detach.")
    if args.post and not args.pr:
        raise SettingsError("--post posts to a pull request: name it with --pr.")
    if args.pr and (branch or args.base or diff or args.since):
        raise SettingsError("--pr reviews a pull request: leave out the branch, --base, --since and --diff.")
    is_named = bool(branch or args.since or args.pr)
    diff = diff if is_named else _join_piped(args, diff)
    about = _read_text(args.description)
    return ReviewInputs(branch, args.base, diff, about, args.keep_context, args.since, args.free, args.pr, args.post)


def triage_inputs(args: Namespace) -> TriageInputs:
    """Return the job's inputs from the arguments."""
    log, trace, logs = _read_log(args.error_log), _read_log(args.stack_trace), _join_piped(args, _read_log(args.logs))
    steps = _read_text(args.reproduction_steps)
    return TriageInputs(_join_description(args), log, trace, logs, steps, args.keep_context, args.free)


def _join_description(args: Namespace) -> str:
    return " ".join(filter(None, [_read_text(" ".join(args.words)), _read_text(args.description)]))


def _join_piped(args: Namespace, *given: str) -> str:
    """Return the texts that were given, and what is piped to the command, where no argument takes that as `-`."""
    takes_stdin = "-" in vars(args).values() or vars(args).get("words") == ["-"]
    return "\n".join(filter(None, [*given, "" if takes_stdin else read_piped_text()]))


def _read_text(given: str) -> str:
    """Return the typed text, or the contents of the named file."""
    if given == "-":
        return sys.stdin.read()
    if not given.startswith("@"):
        return given
    return read_named(given[1:], MAX_BYTES, pipes=True).decode("utf-8", errors="replace")


def _read_log(given: str) -> str:
    """Return a log as typed, or the file of that name. A single word that looks like a file name has to be a file."""
    if not given or given[:1] in ("@", "-") or len(given.split()) != 1:
        return _read_text(given)
    path = Path(given).expanduser()
    return _read_text(f"@{given}") if path.is_file() or path.suffix in (".log", ".txt", ".out") else given


async def run(args: Namespace, host: Host, work: JobKind, given: JobInputs) -> int:
    """Create a job, and run it here or in the background."""
    folder = _check_folder(args.workspace)
    given = await _add_issue(given, vars(args).get("issue", ""), folder)
    missing = find_missing_input(given)
    if missing:
        raise SettingsError(missing)
    notes = settings_for(folder).notes  # what is wrong with them is said before there is a job
    model = await host.model()  # one that can't be had is said before there is a job
    jobs = Jobs(host.home.folder)
    job = jobs.create(
        NAME,
        work.name,
        job_title(given),
        given=msgspec.to_builtins(given),
        workspace=str(folder),
        user=host.user,
        origin={**host.origin, "model": model_spec(model)},
    )
    terminal = host.command_terminal
    if args.detach:
        assert host.detach is not None, "a command always has it"
        host.detach(["jobs", "resume", job.id, "--quiet"])
        host.show(job) if args.json else terminal.line(job.id)
        return 0
    for note in notes:
        terminal.note(note, "yellow")
    terminal.note(f"Job {job.id}: {work.name} in {folder}")
    done = await execute_job(job.id, work, host)
    if work.name == "review":
        return print_review(done, terminal, args)
    return print_finished_job(done, terminal, as_json=args.json)


async def _add_issue(given: JobInputs, reference: str, folder: Path) -> JobInputs:
    """Return the inputs with the issue of GitHub that was named, if one was. Raises if it can't be read."""
    if isinstance(given, ReviewInputs) or not reference or (isinstance(given, BuildInputs) and not is_github_reference(reference)):
        return given
    settings = settings_for(folder)
    github = GitHub(folder, remote=settings.git.remote, unsafe=not settings.commands.sandbox)
    issue = await github.read_issue(await github.find(reference))
    return replace(given, github_issue=IssueText(issue.url, issue.text))


def _check_folder(named: str) -> Path:
    folder = check_workspace(named)
    if not folder.is_dir():
        raise SettingsError(f"There is no folder {named}.")
    return folder


def print_finished_job(job: Job, terminal: Terminal, *, as_json: bool = False, as_sarif: bool = False) -> int:
    """Print the result of a job, and return its exit code."""
    if as_json or as_sarif:
        from treadle.assistants.coding.review import sarif_of

        printed = sarif_of(job.output, "" if job.state == "completed" else job.why or job.state) if as_sarif else job
        terminal.line(msgspec.json.format(msgspec.json.encode(printed)).decode())
    else:
        job_report.print_coding_job(job, terminal)
    return job_report.coding_exit_code(job)


def print_review(job: Job, terminal: Terminal, args: Namespace) -> int:
    """Print a review in the format that was asked for, and return its exit code: also for findings, with --fail-on."""
    code = print_finished_job(job, terminal, as_json=args.json, as_sarif=args.sarif)
    if code or not args.fail_on:
        return code
    failing = [each for each in job.output.get("findings", ()) if is_at_least(each["severity"], args.fail_on)]
    if failing:
        count = "1 finding is" if len(failing) == 1 else f"{len(failing)} findings are"
        terminal.tell(f"{count} {args.fail_on} or worse.", "red")
    return 1 if failing else 0
