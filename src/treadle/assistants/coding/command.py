"""`treadle build`, `debug`, `review` and `triage`: what can be typed, the job that is made of it, and what is shown of it."""

import sys
from argparse import ArgumentParser, Namespace
from asyncio import CancelledError
from pathlib import Path

import msgspec

from treadle import Host, Job, Jobs, SettingsError, Terminal, Work, carry_out, settings_of, spec_of
from treadle.assistants.coding import show
from treadle.assistants.coding.given import Build, Debug, Given, Review, Triage, is_enough, title_of
from treadle.files import check_workspace, read_named

NAME = "coding"
MOST_BYTES = 10_000_000  # of a file that is named
_FILE = "; @FILE reads it from a file, - from stdin"
_LOG = "; the name of a file, or the text itself, - for stdin"


def _words(parser: ArgumentParser, name: str, what: str) -> None:
    parser.add_argument("words", nargs="*", metavar=name, help=what)
    parser.add_argument("-d", "--description", "--symptoms", metavar="TEXT", default="", help=f"the same{_FILE}")


def _common(parser: ArgumentParser) -> None:
    parser.add_argument("-C", "--workspace", metavar="FOLDER", default=".", help="where to work (default: here)")
    _running(parser)


def _running(parser: ArgumentParser) -> None:
    parser.add_argument("--keep-context", action="store_true", help="write what the model was asked and said into the job's folder")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--direct", action="store_true", help="work in this process, as it does anyway")
    where.add_argument("--detach", action="store_true", help="work in the background; `treadle jobs watch` shows it")
    parser.add_argument("--json", action="store_true", help="print the job as JSON at the end")


def _leaving(parser: ArgumentParser) -> None:
    parser.add_argument("--push", action="store_true", help="push the branch at the end")
    parser.add_argument("--pr", action="store_true", help="push it and open a pull request, or write its description")
    parser.add_argument("--free", action="store_true", help="let a small model choose its tools itself")


def _changing(parser: ArgumentParser) -> None:
    _leaving(parser)
    _common(parser)


def _evidence(parser: ArgumentParser) -> None:
    parser.add_argument("--error-log", "--error-logs", metavar="LOG", default="", help=f"an error log{_LOG}")
    parser.add_argument("--stack-trace", metavar="LOG", default="", help=f"a stack trace{_LOG}")
    parser.add_argument("--reproduction-steps", "--steps", metavar="TEXT", default="", help=f"how to make it happen{_FILE}")


def build_arguments(parser: ArgumentParser) -> None:
    """What can be typed after `treadle build`."""
    _words(parser, "DESCRIPTION", "what to build")
    parser.add_argument("--issue", metavar="TEXT", default="", help=f"the issue it is about{_FILE}")
    parser.add_argument("--criterion", action="append", default=[], metavar="TEXT", help="when it is done; repeatable")
    _changing(parser)


def debug_arguments(parser: ArgumentParser) -> None:
    """What can be typed after `treadle debug`."""
    _words(parser, "SYMPTOMS", "what goes wrong (default: tests fail)")
    parser.add_argument("--failing-test", metavar="NAME", default="", help="a test that shows it")
    parser.add_argument("--logs", metavar="LOG", default="", help=f"the same as --error-log{_LOG}")
    _evidence(parser)
    _changing(parser)


def review_arguments(parser: ArgumentParser) -> None:
    """What can be typed after `treadle review`."""
    parser.add_argument("branch", nargs="?", default="", metavar="BRANCH", help="the branch (default: what isn't committed yet)")
    parser.add_argument("-b", "--branch", dest="named", default="", metavar="BRANCH", help="the same")
    parser.add_argument(
        "--base", default="", metavar="BRANCH", help="what it is compared with (default: the repository's main one)"
    )
    parser.add_argument("--diff", default="", metavar="TEXT", help=f"a diff instead{_FILE}")
    parser.add_argument("-d", "--description", default="", metavar="TEXT", help="what the change is for")
    _common(parser)


def triage_arguments(parser: ArgumentParser) -> None:
    """What can be typed after `treadle triage`."""
    _words(parser, "SYMPTOMS", "what goes wrong")
    parser.add_argument("--logs", metavar="LOG", default="", help=f"logs{_LOG}")
    _evidence(parser)
    _common(parser)


def follow_up_arguments(parser: ArgumentParser) -> None:
    """What can be typed after `treadle follow-up`."""
    parser.add_argument("job", metavar="JOB", help="the id of the job that it goes on from")
    _words(parser, "DESCRIPTION", "what is still to be done")
    _leaving(parser)
    _running(parser)


def build_given(args: Namespace) -> Build:
    """What was typed, as the work takes it."""
    return Build(
        _description(args), _text(args.issue), tuple(args.criterion), args.push, args.pr, args.free, keep_context=args.keep_context
    )


def debug_given(args: Namespace) -> Debug:
    """What was typed, as the work takes it."""
    log = "\n".join(filter(None, [_log(args.error_log), _log(args.logs)]))
    steps, trace = _text(args.reproduction_steps), _log(args.stack_trace)
    return Debug(
        _description(args), log, trace, args.failing_test, steps, args.push, args.pr, args.free, keep_context=args.keep_context
    )


def follow_up_given(args: Namespace, kind: str, follows: str) -> Build | Debug:
    """What was typed, as the work of this kind takes it."""
    make = Debug if kind == "debug" else Build
    return make(_description(args), push=args.push, pr=args.pr, free=args.free, keep_context=args.keep_context, follows=follows)


def review_given(args: Namespace) -> Review:
    """What was typed, as the work takes it."""
    return Review(args.named or args.branch, args.base, _text(args.diff), _text(args.description), args.keep_context)


def triage_given(args: Namespace) -> Triage:
    """What was typed, as the work takes it."""
    log, trace, logs = _log(args.error_log), _log(args.stack_trace), _log(args.logs)
    return Triage(_description(args), log, trace, logs, _text(args.reproduction_steps), args.keep_context)


def _description(args: Namespace) -> str:
    return " ".join(filter(None, [_text(" ".join(args.words)), _text(args.description)]))


def _text(given: str) -> str:
    """What was typed, or what is in the file that was named."""
    if given == "-":
        return sys.stdin.read()
    if not given.startswith("@"):
        return given
    return read_named(given[1:], MOST_BYTES, pipes=True).decode("utf-8", errors="replace")


def _log(given: str) -> str:
    """A log as it was typed, or the file by that name. A single word that looks like a file has to be one."""
    if not given or given[:1] in ("@", "-") or len(given.split()) != 1:
        return _text(given)
    path = Path(given).expanduser()
    return _text(f"@{given}") if path.is_file() or path.suffix in (".log", ".txt", ".out") else given


async def run(args: Namespace, host: Host, work: Work, given: Given) -> int:
    """Make a job of it, and carry it out here or in the background."""
    missing = is_enough(given)
    if missing:
        raise SettingsError(missing)
    folder = _folder(args.workspace)
    notes = settings_of(folder).notes  # what is wrong with them is said before there is a job
    model = await host.model()  # one that can't be had is said before there is a job
    jobs = Jobs(host.home.folder)
    job = jobs.create(
        NAME,
        work.name,
        title_of(given),
        given=msgspec.to_builtins(given),
        workspace=str(folder),
        user=host.user,
        origin={**host.origin, "model": spec_of(model)},
    )
    terminal = host.shown_at
    if args.detach:
        assert host.detach is not None, "a command always has it"
        host.detach(["jobs", "resume", job.id, "--quiet"])
        terminal.line(job.id)
        return 0
    for note in notes:
        terminal.note(note, "yellow")
    terminal.note(f"Job {job.id}: {work.name} in {folder}")
    try:
        done = await carry_out(job.id, work, host)
    except CancelledError:
        terminal.tell(f"Stopped. To go on: treadle jobs resume {job.id}   To drop it: treadle jobs cancel {job.id}", "yellow")
        raise
    return finished(done, terminal, as_json=args.json)


def _folder(named: str) -> Path:
    folder = check_workspace(named)
    if not folder.is_dir():
        raise SettingsError(f"There is no folder {named}.")
    return folder


def finished(job: Job, terminal: Terminal, *, as_json: bool = False) -> int:
    """What came of a job, and the exit code that says so."""
    if as_json:
        terminal.line(msgspec.json.format(msgspec.json.encode(job)).decode())
    else:
        show.show(job, terminal)
    return show.code_of(job)
