"""All commands with their options. Imports next to nothing, so that help appears at once."""

import argparse
from collections.abc import Callable, Sequence

from treadle.cli.parser import CommandEntry, CommandParser, add_commands, help_width, integer_from, number_from
from treadle.cli.server_options import serve_options, users_options
from treadle.cli.worker_options import schedules_options, submit_options, worker_options
from treadle.settings.reserved import add_common_options, add_dialect_option, add_model_options


def build_parser(more: "Sequence[CommandEntry]" = ()) -> CommandParser:
    """Return the parser of all commands, `more` of assistants included. The help of `treadle` itself is `overview`."""
    top = CommandParser(
        prog="treadle",
        description="Any language model working with any tools, safely and durably.",
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=help_width()),
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="print the version")
    add_commands(top, "COMMAND", (*COMMANDS, *more))
    return top


# talking


def _ask_options(command: CommandParser) -> None:
    command.add_argument("prompt", nargs="*", metavar="PROMPT", help="what to ask; - stands for what comes on stdin")
    _chat_options(command)


def _chat_options(command: CommandParser) -> None:
    command.add_argument("--demo", action="store_true", help="a demonstration: a scripted model and a small shop; needs nothing")
    words = "an image, a recording or a document to show the model with the first message; repeatable"
    command.add_argument("--attach", action="append", metavar="FILE", help=words)
    _agent_options(command)
    _run_options(command)
    _display_options(command)


def _resume_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", help="the run's id")
    command.add_argument("--user", help="on whose behalf (default: as the run began)")
    _agent_options(command)
    _display_options(command)


def _agent_options(command: CommandParser) -> None:
    """Add the options that configure an agent."""
    group = command.add_argument_group("agent")
    group.add_argument("-a", "--assistant", metavar="NAME", help="ask one that is installed; `treadle assistants` lists them")
    add_model_options(group.add_argument)
    add_dialect_option(group.add_argument)
    group.add_argument("-i", "--instructions", metavar="TEXT", help="what the model is told first; @FILE reads it from a file")
    group.add_argument("--temperature", type=number_from(0), metavar="T", help="how freely the model writes")
    group.add_argument("--max-tokens", type=integer_from(1), metavar="N", help="the longest reply")
    _tools_options(command)
    _policy_options(command)
    _limit_options(command)


def _tools_options(command: CommandParser) -> None:
    group = command.add_argument_group("tools")
    group.add_argument(
        "--tools",
        action="append",
        metavar="MODULE[:NAME]",
        help="a function to offer, or all @tools of a module; FILE.py[:NAME] works too; repeatable",
    )


def _policy_options(command: CommandParser) -> None:
    group = command.add_argument_group(
        "policy", "Deny beats ask beats allow. Without a rule, reading is allowed and effects are asked about."
    )
    group.add_argument("--allow", action="append", metavar="PATTERN", help="tools that run without asking; repeatable")
    group.add_argument("--ask", action="append", metavar="PATTERN", help="tools that a person has to approve; repeatable")
    group.add_argument("--deny", action="append", metavar="PATTERN", help="tools that never run and aren't offered; repeatable")
    group.add_argument("--policy", metavar="FILE", help="a policy in TOML or JSON")
    group.add_argument("--yes", action="store_true", help="say yes to everything that would be asked")
    group.add_argument("--no-person", action="store_true", help="nobody is there: deny what would be asked")


def _limit_options(command: CommandParser) -> None:
    group = command.add_argument_group("limits", "At a limit the model is asked once more, without tools, and that answer counts.")
    group.add_argument("--rounds", type=integer_from(0), metavar="N", help="replies that ask for tools (default: 50)")
    group.add_argument("--calls", type=integer_from(0), metavar="N", help="tool calls")
    group.add_argument("--seconds", type=number_from(0.001), metavar="S", help="working time")
    group.add_argument("--tokens", type=integer_from(1), metavar="N", help="input and output together")
    group.add_argument("--cost", type=number_from(0), metavar="USD", help="US dollars; refused where the price isn't known")
    group.add_argument("--tries", type=integer_from(1), metavar="N", help="how often a request is tried (default: 5)")


def _run_options(command: CommandParser) -> None:
    group = command.add_argument_group("run")
    group.add_argument("--run-id", metavar="ID", help="continue this run, or give a new one this name")
    _journal_options(group.add_argument)


def _journal_options(add_argument: Callable[..., object]) -> None:
    add_argument("--no-journal", action="store_true", help="don't keep the run; where nobody can be asked at once, deny")
    add_argument("--user", help="on whose behalf")


def _display_options(command: CommandParser) -> None:
    group = command.add_argument_group("display")
    form = group.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object at the end, and nothing else on stdout")
    form.add_argument("--events", action="store_true", help="every event as a line of JSON, instead of text")
    group.add_argument("--thinking", action="store_true", help="show what the model thinks, on stderr")
    _quiet_option(group.add_argument)


def _quiet_option(add_argument: Callable[..., object]) -> None:
    add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")


# runs


def _runs_options(command: CommandParser) -> None:
    _runs_list_options(command)
    command.set_defaults(status=None, most=20, json=False)
    add_commands(command, "ACTION", RUN_ACTIONS)


def _runs_list_options(action: CommandParser) -> None:
    statuses = ("open", "answered", "limit", "waiting", "cancelled", "failed")
    action.add_argument("--status", choices=statuses, default=argparse.SUPPRESS, help="only these")
    _list_options(action)


def _runs_one_options(action: CommandParser) -> None:
    action.add_argument("run", metavar="RUN", help="the run's id")
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _runs_delete_options(action: CommandParser) -> None:
    action.add_argument("run", metavar="RUN", nargs="+", help="the run's id; several are deleted together")
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    words = "also one whose turn isn't over; a process that carries it on is refused its next write"
    action.add_argument("--force", action="store_true", help=words)


def _show_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", help="the run's id")
    command.add_argument("--entries", action="store_true", help="the journal as it is kept: one line of JSON an entry")
    _json_option(command)


def _approve_options(command: CommandParser) -> None:
    _answer_options(command)
    command.add_argument("--arguments", metavar="JSON", help="run it with these arguments instead")


def _deny_options(command: CommandParser) -> None:
    _answer_options(command)
    command.add_argument("--reason", metavar="TEXT", default="", help="why; the model reads it")


def _settle_options(command: CommandParser) -> None:
    _answer_options(command)
    said = "happened: it took effect, and never runs again; not-happened: it didn't, and the model may call it again; again: run it"
    command.add_argument("said", metavar="WHAT", nargs="?", choices=("happened", "not-happened", "again"), help=said)
    command.add_argument("--words", metavar="TEXT", default="", help="what came of it, or why; the model reads it")


def _answer_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", help="the run's id")
    command.add_argument("call", metavar="CALL", nargs="?", help="the call's id; without it, what waits is shown")
    command.add_argument("--user", help="who says so")
    _json_option(command)


def _fork_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", help="the run's id")
    command.add_argument("--at", type=integer_from(1), metavar="N", help="how many entries to take over (default: all)")
    _json_option(command)


def _audit_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", nargs="?", help="only this run's calls; or the word `verify`")
    _limit_option(command)
    _json_option(command)


def _stats_options(command: CommandParser) -> None:
    words = "what the figures are of (default: tool)"
    command.add_argument("--by", choices=("tool", "assistant", "model", "user", "day"), default="tool", help=words)
    command.add_argument("--since", metavar="WHEN", default="", help="from then on: 7d, 24h, 2w, 2026-11-01, 2026-11-01T14:30")
    command.add_argument("--until", metavar="WHEN", default="", help="up to then; a day counts to its end")
    command.add_argument("-a", "--assistant", metavar="NAME", default="", help="only this assistant or agent")
    command.add_argument("-m", "--model", metavar="NAME", default="", help="only this model")
    command.add_argument("--tool", metavar="PATTERN", default="", help="only tools with such names: read_*")
    command.add_argument("--user", metavar="NAME", default="", help="only on behalf of this user")
    command.add_argument("--anew", action="store_true", help="count everything in the journal again")
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", action="store_true", help="print CSV")


# jobs


def _jobs_options(command: CommandParser) -> None:
    _jobs_list_options(command)
    command.set_defaults(state=None, most=20, json=False)
    add_commands(command, "ACTION", JOB_ACTIONS)


def _jobs_list_options(action: CommandParser) -> None:
    states = ("pending", "running", "waiting", "completed", "failed", "cancelled")
    action.add_argument("--state", choices=states, default=argparse.SUPPRESS, help="only these")
    _list_options(action)


def _list_options(action: CommandParser) -> None:
    """Add the same options before and after the word `list`, whose defaults must not override what was typed before it."""
    words = "how many at most (default: 20)"
    action.add_argument("-n", type=integer_from(1), metavar="N", dest="most", default=argparse.SUPPRESS, help=words)
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _jobs_one_options(action: CommandParser) -> None:
    action.add_argument("job", metavar="JOB", help="the job's id, or the beginning of it")
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _jobs_resume_options(action: CommandParser) -> None:
    _jobs_one_options(action)
    add_common_options(action)


# retention


def _retention_options(command: CommandParser) -> None:
    command.set_defaults(json=False)
    add_commands(command, "ACTION", RETENTION_ACTIONS)


# tools


def _tool_options(command: CommandParser) -> None:
    add_commands(command, "ACTION", TOOL_ACTIONS, required=True)


def _tool_list_options(action: CommandParser) -> None:
    _tools_options(action)
    _json_option(action)


def _tool_call_options(action: CommandParser) -> None:
    action.add_argument("name", metavar="NAME", help="the tool's name")
    action.add_argument("--json", metavar="JSON", default="{}", dest="arguments", help="its arguments (default: {})")
    action.add_argument("--as-json", action="store_true", dest="json", help="one JSON object instead of the result alone")
    action.add_argument("--workspace", metavar="DIR", help="the folder it works in (default: this one)")
    action.add_argument("--seconds", type=number_from(0.001), metavar="S", help="working time")
    _journal_options(action.add_argument)
    _quiet_option(action.add_argument)
    _tools_options(action)
    _policy_options(action)


# replies


def _parse_options(command: CommandParser) -> None:
    command.add_argument("--dialect", default="auto", metavar="NAME", help="how the reply writes calls (default: auto)")
    command.add_argument("--tools", metavar="FILE", help="the tools on offer: a JSON list of schemas")
    command.add_argument("--stream", type=integer_from(1), metavar="N", help="read it in pieces of N characters")
    command.add_argument("--batch", action="store_true", help="JSON objects, a line each: text, tools, dialect, reasoning_open")


# models


def _models_options(command: CommandParser) -> None:
    _json_option(command)
    add_commands(command, "ACTION", MODEL_ACTIONS)


def _models_list_options(action: CommandParser) -> None:
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _models_change_options(action: CommandParser) -> None:
    action.add_argument("name", metavar="NAME", help="the model's name in the list")
    _models_list_options(action)
    _quiet_option(action.add_argument)


def _models_probe_options(action: CommandParser) -> None:
    action.add_argument("model", metavar="MODEL", help="KIND:NAME")
    action.add_argument("--base-url", metavar="URL", help="where the model's server is")
    action.add_argument("--forget", action="store_true", help="forget what an earlier probe found out")
    _models_list_options(action)
    _quiet_option(action.add_argument)


# the server is `serving_options`; what other programs are offered


def _mcp_options(command: CommandParser) -> None:
    command.add_argument("-a", "--assistant", metavar="NAME", help="offer the tools of one that is installed")
    command.add_argument("--workspace", metavar="DIR", help="the folder they work in (default: this one)")
    command.add_argument("--http", type=integer_from(0), metavar="PORT", help="over HTTP, on this machine; 0 picks a free port")
    command.add_argument("--no-token", action="store_true", help="with --http, let every program on this machine call the tools")
    add_model_options(command.add_argument)
    _journal_options(command.add_argument)
    _tools_options(command)
    _policy_options(command)


# what is kept, as a whole


def _backup_options(command: CommandParser) -> None:
    command.add_argument("file", metavar="FILE", help="the file to write: runs.tar.gz; one that is there isn't written over")
    _json_option(command)


def _restore_options(command: CommandParser) -> None:
    command.add_argument("file", metavar="FILE", help="a file that `treadle backup` wrote")
    command.add_argument("--replace", action="store_true", help="move what is kept now aside")


# values


def _json_option(command: CommandParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON")


def _limit_option(command: CommandParser) -> None:
    command.add_argument("-n", type=integer_from(1), default=20, metavar="N", dest="most", help="how many at most (default: 20)")


RUN_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list the runs that are kept", "The same as `treadle runs` alone.", _runs_list_options),
    ("cancel", "end one that waits for a person; the calls that wait aren't run", "", _runs_one_options),
    (
        "delete",
        "delete runs, with all that is kept of their content",
        "The audit keeps that there were calls.",
        _runs_delete_options,
    ),
)
JOB_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list the jobs that are kept", "The same as `treadle jobs` alone.", _jobs_list_options),
    ("show", "show one: what it is for, where it stands, what came of it", "", _jobs_one_options),
    ("watch", "show what happens in one, as it happens", "Looking changes nothing.", _jobs_one_options),
    ("cancel", "stop one; what it has changed stays", "", _jobs_one_options),
    ("resume", "go on with one: after a crash, an approval, a failure", "", _jobs_resume_options),
    ("delete", "delete one that is over, with its run and checkpoints; what it changed stays", "", _jobs_one_options),
)
RETENTION_ACTIONS: tuple[CommandEntry, ...] = (
    ("show", "list what would be deleted", "The same as `treadle retention` alone.", _json_option),
    ("apply", "delete it", "A server does so when it starts, and once a day.", _json_option),
)
TOOL_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list tools as a model is told of them", "", _tool_list_options),
    ("call", "call one tool by hand", "The policy, the journal and the audit are those of a model's call.", _tool_call_options),
)
MODEL_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list the kinds of models, and what is here", "The same as `treadle models` alone.", _models_list_options),
    ("pull", "fetch a local model", "A pull that was interrupted goes on where it was.", _models_change_options),
    ("remove", "remove a local model", "", _models_change_options),
    (
        "probe",
        "find out how a model calls best",
        "A few questions in each way; the best is used from then on.",
        _models_probe_options,
    ),
)


def _help_options(command: CommandParser) -> None:
    command.add_argument("name", nargs="?", metavar="COMMAND", help="the command, or `environment`")


COMMANDS: tuple[CommandEntry, ...] = (
    ("ask", "ask one question", "The answer goes to stdout, everything else to stderr.", _ask_options),
    ("chat", "have a conversation", "/help lists what can be typed besides questions.", _chat_options),
    (
        "resume",
        "take a run up again: after a crash, an approval, a failure",
        "Options replace those it began with.",
        _resume_options,
    ),
    ("runs", "list the runs that are kept; cancel or delete one", "The newest come first.", _runs_options),
    ("jobs", "list the jobs that are kept; show, watch, cancel, resume or delete one", "The newest come first.", _jobs_options),
    ("show", "show what happened in a run", "Runs inside of it are indented.", _show_options),
    ("approve", "say yes to a call that waits", "`treadle resume` then goes on.", _approve_options),
    ("deny", "say no to a call that waits", "`treadle resume` then goes on.", _deny_options),
    (
        "settle",
        "say what became of a call that was running when its process ended",
        "happened, not-happened or again; `treadle resume` then goes on.",
        _settle_options,
    ),
    ("fork", "make a new run from the first entries of another", "Nothing runs yet.", _fork_options),
    ("audit", "list calls from the audit, or verify it", "`treadle audit verify` checks that nothing was changed.", _audit_options),
    ("stats", "show how often tools are called, how long they take, how often they fail, what they cost", "", _stats_options),
    ("tool", "list tools, or try one by hand", "", _tool_options),
    ("parse", "read a model's reply from stdin", "Prints its calls, words and thinking as JSON.", _parse_options),
    ("models", "list the kinds of models, what is configured and what is here; fetch local ones", "", _models_options),
    ("settings", "show what counts here of treadle.toml, and where each value comes from", "", _json_option),
    ("assistants", "list the assistants that are installed", "", _json_option),
    ("serve", "serve the assistants and their pages to browsers and programs", "Ctrl-C stops it.", serve_options),
    (
        "users",
        "list who may use the server; add, change or remove users",
        "Without users, it serves this machine alone.",
        users_options,
    ),
    ("submit", "queue a run for workers to carry out", "Prints its id at once.", submit_options),
    ("worker", "carry out the runs that are queued", "Until Ctrl-C; others then go on with what is under way.", worker_options),
    ("schedules", "list the runs that begin by the clock; remove one", "", schedules_options),
    ("doctor", "look at everything Treadle needs here, and say what to do about what is wrong", "Changes nothing.", _json_option),
    ("backup", "write all that is kept into one file", "Runs may go on meanwhile.", _backup_options),
    (
        "restore",
        "put a backup in the place of what is kept",
        "Nothing is changed before it was found to be whole.",
        _restore_options,
    ),
    ("retention", "list what is older than [retention] allows, or delete it", "Only what is over.", _retention_options),
    ("mcp", "offer tools to other programs over MCP", "On stdin and stdout, until the client ends.", _mcp_options),
    ("plugins", "list what installed packages offer", "", _json_option),
    ("help", "show the help of a command", "`treadle help environment` lists variables and exit codes.", _help_options),
    ("version", "print the version", "", _json_option),
)
