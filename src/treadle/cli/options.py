"""All commands with their options. Imports next to nothing, so that help appears at once."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from treadle.cli.eval_options import eval_options, policy_test_options
from treadle.cli.parser import CommandEntry, CommandParser, add_commands, help_width, integer_from, number_from
from treadle.cli.server_options import (
    dead_letters_options,
    queues_options,
    schedules_options,
    serve_options,
    submit_options,
    users_options,
    worker_options,
)
from treadle.core.states import RUN_STATUSES, parse_state_name
from treadle.settings.reserved import add_common_options, add_dialect_option, add_model_options, add_note_options

LAST = "last"  # as in core.id_matching, which isn't imported for help
RUN_ID = "the run's id, the beginning of it, or `last`"
JOB_ID = "the job's id, the beginning of it, or `last`"


def _make_help_formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, width=help_width())


def build_parser(more: "Sequence[CommandEntry]" = ()) -> CommandParser:
    """Return the parser of all commands, `more` of assistants included. The help of `treadle` itself is `overview`."""
    top = CommandParser(
        prog="treadle",
        description="Any language model working with any tools, safely and durably.",
        formatter_class=_make_help_formatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="print the version")
    add_commands(top, "COMMAND", (*COMMANDS, *more))
    return top


# talking


def _ask_options(command: CommandParser) -> None:
    command.add_argument("prompt", nargs="*", metavar="PROMPT", help="what to ask; piped text is added, and files as @FILE")
    _chat_options(command)


def _chat_options(command: CommandParser) -> None:
    command.add_argument("--demo", action="store_true", help="a demonstration with a scripted model and a small shop")
    words = "an image, a recording or a document to send with the first message; repeatable"
    command.add_argument("-f", "--attach", action="append", metavar="FILE", help=words)
    _agent_options(command)
    _run_options(command)
    _display_options(command)


def _resume_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", nargs="?", default=LAST, help=f"{RUN_ID} (default: last)")
    command.add_argument("--user", help="the user on whose behalf to act (default: as when the run started)")
    _agent_options(command)
    _display_options(command)


def _agent_options(command: CommandParser) -> None:
    """Add the options that configure an agent."""
    group = command.add_argument_group("agent")
    _assistant_options(group.add_argument, "an installed assistant; `treadle assistants` lists them")
    add_model_options(group.add_argument)
    add_dialect_option(group.add_argument)
    group.add_argument("-i", "--instructions", metavar="TEXT", help="instructions for the model; @FILE reads them from a file")
    group.add_argument("--temperature", type=number_from(0), metavar="T", help="the sampling temperature")
    group.add_argument("--max-tokens", type=integer_from(1), metavar="N", help="the maximum length of a reply")
    choice = group.add_mutually_exclusive_group()
    choice.add_argument("--call", dest="tool_choice", action="store_const", const="required", help="have a tool called first")
    choice.add_argument("--no-call", dest="tool_choice", action="store_const", const="none", help="have no tool called")
    _tools_options(command)
    _policy_options(command)
    _limit_options(command)


def _assistant_options(add_argument: Callable[..., object], words: str) -> None:
    add_argument("-a", "--assistant", metavar="NAME", help=words)
    words = "what the conversation with it is about, such as a project or a course; repeatable"
    add_argument("--context", action="append", metavar="NAME=VALUE", help=words)


def _tools_options(command: CommandParser) -> None:
    group = command.add_argument_group("tools")
    group.add_argument(
        "--tools",
        action="append",
        metavar="MODULE[:NAME]",
        help="a function, or all @tools of a module; FILE.py[:NAME] works too; repeatable",
    )
    words = "the operations of an OpenAPI document; with NAME=, they are called NAME_operation; repeatable"
    group.add_argument("--openapi", action="append", metavar="[NAME=]URL|FILE", help=words)
    words = "the base URL of its operations, instead of the servers in the document; repeatable"
    group.add_argument("--openapi-server", action="append", metavar="[NAME=]URL", help=words)
    words = "the tools of an MCP server: a command line, a URL, or NAME of [mcp.NAME] in treadle.toml; repeatable"
    group.add_argument("--mcp", action="append", metavar="NAME|[NAME=]COMMAND|URL", help=words)
    words = (
        "a credential for these tools, in the environment variable ENV. NAME is a security scheme or its kind (bearer, basic, "
        "api_key), a header of an MCP server's URL, or a variable that its command reads; repeatable"
    )
    group.add_argument("--credential", action="append", metavar="[SOURCE.]NAME=@ENV", help=words)


def _policy_options(command: CommandParser) -> None:
    group = command.add_argument_group(
        "policy", "Deny beats ask beats allow. Without a rule, reads are allowed and effects need approval."
    )
    group.add_argument("--allow", action="append", metavar="PATTERN", help="tools that need no approval; repeatable")
    group.add_argument("--ask", action="append", metavar="PATTERN", help="tools that need approval; repeatable")
    group.add_argument("--deny", action="append", metavar="PATTERN", help="tools that are neither offered nor run; repeatable")
    group.add_argument("--policy", metavar="FILE", help="a policy file, TOML or JSON")
    group.add_argument("--yes", action="store_true", help="answer yes to every question")
    group.add_argument("--no-person", action="store_true", help="deny calls that need approval")


def _limit_options(command: CommandParser) -> None:
    group = command.add_argument_group(
        "limits", "At a limit the model is asked once more, without tools; that reply is the answer."
    )
    group.add_argument("--rounds", type=integer_from(0), metavar="N", help="maximum replies with tool calls (default: 50)")
    group.add_argument("--calls", type=integer_from(0), metavar="N", help="maximum tool calls")
    group.add_argument("--seconds", type=number_from(0.001), metavar="S", help="maximum working time")
    group.add_argument("--tokens", type=integer_from(1), metavar="N", help="maximum tokens, input and output together")
    group.add_argument(
        "--cost", type=number_from(0), metavar="USD", help="maximum cost in US dollars; refused if a price is unknown"
    )
    group.add_argument("--tries", type=integer_from(1), metavar="N", help="maximum attempts for a request (default: 5)")


def _run_options(command: CommandParser) -> None:
    group = command.add_argument_group("run")
    which = group.add_mutually_exclusive_group()
    which.add_argument("-c", "--continue", action="store_true", dest="continue_last", help="continue the last conversation")
    which.add_argument("--run-id", metavar="ID", help="continue this run, or start a new one with this id")
    _journal_options(group.add_argument)


def _journal_options(add_argument: Callable[..., object]) -> None:
    add_argument("--no-journal", action="store_true", help="don't store the run; calls that can't be approved at once are denied")
    add_argument("--user", help="the user on whose behalf to act")


def _display_options(command: CommandParser) -> None:
    group = command.add_argument_group("display")
    form = group.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else on stdout")
    form.add_argument("--events", action="store_true", help="print every event as a line of JSON")
    group.add_argument("--thinking", action="store_true", help="show the model's thinking on stderr")
    add_note_options(group.add_argument)


def _quiet_option(add_argument: Callable[..., object]) -> None:
    add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")


# runs


def _runs_options(command: CommandParser) -> None:
    _runs_list_options(command)
    command.set_defaults(status=None, rating="", most=20, json=False, no_pager=False)
    add_commands(command, "ACTION", RUN_ACTIONS)


def _runs_list_options(action: CommandParser) -> None:
    kind = partial(parse_state_name, states=RUN_STATUSES)
    action.add_argument("--status", type=kind, choices=RUN_STATUSES, default=argparse.SUPPRESS, help="only runs with this status")
    words = "only runs with an answer that its user has rated so"
    action.add_argument("--rating", choices=("good", "bad"), default=argparse.SUPPRESS, help=words)
    _list_options(action)
    _pager_option(action)


def _runs_one_options(action: CommandParser) -> None:
    action.add_argument("run", metavar="RUN", help=RUN_ID)
    _action_json_option(action)


def _runs_rate_options(action: CommandParser) -> None:
    action.add_argument("run", metavar="RUN", help=RUN_ID)
    action.add_argument("rating", choices=("good", "bad", "none"), help="how the answer was; `none` withdraws the rating")
    action.add_argument("comment", metavar="COMMENT", nargs="?", default="", help="what was good or wrong")
    words = "the answer to your Nth message (default: the last answer)"
    action.add_argument("--message", type=integer_from(1), metavar="N", default=-1, help=words)
    _action_json_option(action)


def _runs_delete_options(action: CommandParser) -> None:
    action.add_argument("run", metavar="RUN", nargs="+", help=f"{RUN_ID}; several are deleted together")
    _action_json_option(action)
    words = "also a run whose turn isn't over; a process that executes it can't write to it any more"
    action.add_argument("--force", action="store_true", help=words)


def _cancel_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", nargs="+", help=RUN_ID)
    command.add_argument("--json", action="store_true", help="print JSON")


def _watch_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", nargs="?", default=LAST, help=f"{RUN_ID} (default: last)")
    command.add_argument("--after", metavar="ID", default="", help="start after this event, an `id` of --json")
    command.add_argument("--json", action="store_true", help="print each event as a line of JSON")


def _wait_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", nargs="?", default=LAST, help=f"{RUN_ID} (default: last)")
    command.add_argument("--timeout", type=number_from(0), metavar="S", help="seconds to wait at most")
    command.add_argument("--json", action="store_true", help="print JSON")


def _show_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", nargs="?", default=LAST, help=f"{RUN_ID} (default: last)")
    command.add_argument("--entries", action="store_true", help="print the journal: one line of JSON for each entry")
    _json_option(command)
    _pager_option(command)
    command.set_defaults(no_pager=False)


def _approve_options(command: CommandParser) -> None:
    _answer_options(command)
    command.add_argument("--arguments", metavar="JSON", help="run it with these arguments instead")
    command.add_argument("--all", action="store_true", help="approve all calls that wait")
    scope = "also allow calls like it: in this conversation, or always (see `treadle permissions`)"
    command.add_argument("--for", dest="scope", choices=("once", "conversation", "always"), default="once", help=scope)
    words = "what is like it, for one argument: command='pytest *', path='src/**'; several are several options"
    command.add_argument("--pattern", metavar="NAME=PATTERN", action="append", default=[], help=words)


def _deny_options(command: CommandParser) -> None:
    _answer_options(command)
    command.add_argument("--reason", metavar="TEXT", default="", help="the reason, for the model")


def _settle_options(command: CommandParser) -> None:
    _answer_options(command)
    said = "happened: it took effect; not-happened: it didn't; again: run it again"
    command.add_argument("said", metavar="WHAT", nargs="?", choices=("happened", "not-happened", "again"), help=said)
    command.add_argument("--words", metavar="TEXT", default="", help="the result or the reason, for the model")


def _answer_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", nargs="?", help=f"{RUN_ID} (default: the only one that waits)")
    command.add_argument("call", metavar="CALL", nargs="?", help="the call's id (default: the only one that waits)")
    command.add_argument("--list", action="store_true", help="show the calls that wait, in full, and answer none")
    command.add_argument("--user", help="the user who answers")
    _json_option(command)


def _event_options(command: CommandParser) -> None:
    command.add_argument("name", metavar="NAME", help="the event's name")
    command.add_argument("value", metavar="VALUE", nargs="?", help="its value: JSON, or any other text (default: null)")
    command.add_argument("--key", metavar="KEY", default="", help="which of several events of this name")
    command.add_argument("--sender", metavar="NAME", default="", help="who sends it")
    own = "the value is the user's own words; otherwise it is untrusted content"
    command.add_argument("--from-user", action="store_true", help=own)
    _json_option(command)


def _permissions_options(command: CommandParser) -> None:
    _permissions_list_options(command)
    command.set_defaults(json=False)
    add_commands(command, "ACTION", PERMISSION_ACTIONS)


def _permissions_revoke_options(action: CommandParser) -> None:
    action.add_argument("grant", metavar="ID", nargs="+", help="the grant's id, or the beginning of it")
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _permissions_list_options(action: CommandParser) -> None:
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _memory_options(command: CommandParser) -> None:
    _memory_list_options(command)
    command.set_defaults(json=False)
    add_commands(command, "ACTION", MEMORY_ACTIONS)


def _memory_list_options(action: CommandParser) -> None:
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _memory_note_options(action: CommandParser) -> None:
    action.add_argument("note", metavar="NAME", help="the note's name")
    action.add_argument("--scope", choices=("user", "project"), help="yours, or about this project (default: where it is)")
    _memory_list_options(action)


def _fork_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", help=RUN_ID)
    command.add_argument("--at", type=integer_from(1), metavar="N", help="how many entries to copy (default: all)")
    _json_option(command)


def _audit_options(command: CommandParser) -> None:
    command.add_argument("run", metavar="RUN", nargs="?", help="only calls of this run; `verify` checks the log")
    _limit_option(command)
    _json_option(command)
    _pager_option(command)
    command.set_defaults(no_pager=False)


def _stats_options(command: CommandParser) -> None:
    words = "what to group by (default: tool)"
    command.add_argument("--by", choices=("tool", "assistant", "model", "user", "day"), default="tool", help=words)
    command.add_argument("--since", metavar="WHEN", default="", help="from this time on: 7d, 24h, 2w, 2026-11-01, 2026-11-01T14:30")
    command.add_argument("--until", metavar="WHEN", default="", help="up to this time; a day includes its end")
    command.add_argument("-a", "--assistant", metavar="NAME", default="", help="only this assistant or agent")
    command.add_argument("-m", "--model", metavar="NAME", default="", help="only this model")
    command.add_argument("--tool", metavar="PATTERN", default="", help="only tools whose names match: read_*")
    command.add_argument("--user", metavar="NAME", default="", help="only runs of this user")
    command.add_argument("--anew", action="store_true", help="count the whole journal again")
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
    kind = partial(parse_state_name, states=states)
    action.add_argument("--state", type=kind, choices=states, default=argparse.SUPPRESS, help="only jobs in this state")
    _list_options(action)


def _list_options(action: CommandParser) -> None:
    """Add the same options before and after the word `list`, whose defaults must not override what was typed before it."""
    words = "how many at most (default: 20)"
    action.add_argument("-n", type=integer_from(1), metavar="N", dest="most", default=argparse.SUPPRESS, help=words)
    _action_json_option(action)


def _jobs_one_options(action: CommandParser) -> None:
    action.add_argument("job", metavar="JOB", help=JOB_ID)
    _action_json_option(action)


def _jobs_last_options(action: CommandParser) -> None:
    action.add_argument("job", metavar="JOB", nargs="?", default=LAST, help=f"{JOB_ID} (default: last)")
    _action_json_option(action)


def _jobs_resume_options(action: CommandParser) -> None:
    _jobs_last_options(action)
    add_common_options(action)


# retention


def _retention_options(command: CommandParser) -> None:
    _json_option(command)
    add_commands(command, "ACTION", RETENTION_ACTIONS)


# notifications


def _notifications_options(command: CommandParser) -> None:
    _json_option(command)
    add_commands(command, "ACTION", NOTIFICATION_ACTIONS)


# tools


def _tool_options(command: CommandParser) -> None:
    add_commands(command, "ACTION", TOOL_ACTIONS, required=True)


def _tool_list_options(action: CommandParser) -> None:
    action.add_argument("--workspace", metavar="DIR", help="the folder they work in (default: this one)")
    action.add_argument("--user", help="on whose behalf")
    _assistant_options(action.add_argument, "the tools of one that is installed, with your own")
    _tools_options(action)
    _json_option(action)


def _tool_show_options(action: CommandParser) -> None:
    action.add_argument("name", metavar="NAME", help="the tool's name")
    _tool_list_options(action)


def _tool_call_options(action: CommandParser) -> None:
    action.add_argument("name", metavar="NAME", help="the tool's name")
    action.add_argument("--arguments", metavar="JSON", default="{}", help="the arguments, as a JSON object (default: {})")
    action.add_argument("--json", action="store_true", help="print the result's data as JSON, and nothing else on stdout")
    action.add_argument("--workspace", metavar="DIR", help="the folder it works in (default: this one)")
    _assistant_options(action.add_argument, "call a tool of an installed assistant")
    action.add_argument("--seconds", type=number_from(0.001), metavar="S", help="the timeout")
    _journal_options(action.add_argument)
    _quiet_option(action.add_argument)
    _tools_options(action)
    _policy_options(action)


# replies


def _parse_options(command: CommandParser) -> None:
    command.add_argument("--dialect", default="auto", metavar="NAME", help="the dialect of its calls (default: auto)")
    command.add_argument("--tools", metavar="FILE", help="the available tools: a JSON list of schemas")
    command.add_argument("--stream", type=integer_from(1), metavar="N", help="read it in chunks of N characters")
    command.add_argument("--batch", action="store_true", help="read one JSON object per line: text, tools, dialect, reasoning_open")


# models


def _models_options(command: CommandParser) -> None:
    _json_option(command)
    add_commands(command, "ACTION", MODEL_ACTIONS)


def _models_change_options(action: CommandParser) -> None:
    action.add_argument("name", metavar="NAME", help="the model's name, as in the list")
    _action_json_option(action)
    _quiet_option(action.add_argument)


def _models_probe_options(action: CommandParser) -> None:
    action.add_argument("model", metavar="MODEL", help="KIND:NAME")
    action.add_argument("--base-url", metavar="URL", help="the URL of the model's server")
    action.add_argument("--forget", action="store_true", help="delete the result of an earlier probe")
    _action_json_option(action)
    _quiet_option(action.add_argument)


# the MCP server and the agent of editors; the HTTP server is in `server_options`


def _mcp_options(command: CommandParser) -> None:
    _assistant_options(command.add_argument, "serve the tools of an installed assistant")
    command.add_argument("--workspace", metavar="DIR", help="the folder they work in (default: this one)")
    command.add_argument("--http", type=integer_from(0), metavar="PORT", help="serve HTTP on this machine; 0 picks a free port")
    command.add_argument("--no-token", action="store_true", help="with --http, require no token")
    add_model_options(command.add_argument)
    _journal_options(command.add_argument)
    _tools_options(command)
    _policy_options(command)


def _acp_options(command: CommandParser) -> None:
    _assistant_options(command.add_argument, "the assistant that answers (default: coding)")
    add_model_options(command.add_argument)
    add_dialect_option(command.add_argument)
    command.add_argument("--user", help="the user on whose behalf to act")


# backups


def _backup_options(command: CommandParser) -> None:
    command.add_argument("file", metavar="FILE", help="the file to write, such as runs.tar.gz; an existing file isn't overwritten")
    _json_option(command)


def _restore_options(command: CommandParser) -> None:
    command.add_argument("file", metavar="FILE", help="a file that `treadle backup` wrote")
    command.add_argument("--replace", action="store_true", help="move the existing data aside")
    _json_option(command)


# values


def _json_option(command: CommandParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON")


def _action_json_option(action: CommandParser) -> None:
    """Add the option to an action of a command that has it too, and whose value must not be overridden by a default."""
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _pager_option(command: CommandParser) -> None:
    words = "don't show long output in a pager"
    command.add_argument("--no-pager", action="store_true", default=argparse.SUPPRESS, help=words)


def _limit_option(command: CommandParser) -> None:
    command.add_argument("-n", type=integer_from(1), default=20, metavar="N", dest="most", help="how many at most (default: 20)")


RUN_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list stored runs", "The same as `treadle runs` alone.", _runs_list_options),
    ("cancel", "cancel a run; the same as `treadle cancel`", "", _runs_one_options),
    (
        "rate",
        "rate an answer",
        "`treadle runs --rating bad` lists such runs; `treadle eval replay` has the same option.",
        _runs_rate_options,
    ),
    (
        "delete",
        "delete runs with all their stored content",
        "The audit log still records that there were calls.",
        _runs_delete_options,
    ),
)
JOB_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list jobs", "The same as `treadle jobs` alone.", _jobs_list_options),
    ("show", "show a job: its purpose, state and result", "", _jobs_last_options),
    ("watch", "show the events of a job as they happen", "It changes nothing.", _jobs_last_options),
    ("cancel", "stop a job; its changes stay", "", _jobs_one_options),
    ("resume", "resume a job after a crash, an approval or a failure", "", _jobs_resume_options),
    ("delete", "delete a finished job with its run and checkpoints; its changes stay", "", _jobs_one_options),
)
RETENTION_ACTIONS: tuple[CommandEntry, ...] = (
    ("show", "list what would be deleted", "The same as `treadle retention` alone.", _action_json_option),
    ("apply", "delete it", "A server does this when it starts and once a day.", _action_json_option),
)
NOTIFICATION_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list what isn't delivered yet", "The same as `treadle notifications` alone.", _action_json_option),
    ("send", "deliver what is due", "Servers and workers do this by themselves.", _action_json_option),
)
PERMISSION_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list the permanent permissions", "The same as `treadle permissions` alone.", _permissions_list_options),
    ("revoke", "have such calls ask for approval again", "Also in runs that are under way.", _permissions_revoke_options),
    (
        "test",
        "judge the calls of kept runs again, by another policy file",
        "Exits with 1 where a call that was denied or needed approval would be allowed.",
        policy_test_options,
    ),
)
MEMORY_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list your notes, and those about this project", "The same as `treadle memory` alone.", _memory_list_options),
    ("show", "show a note and where it is from", "", _memory_note_options),
    ("forget", "delete a note", "", _memory_note_options),
    ("path", "print the folders that the notes are in", "The files can be edited.", _memory_list_options),
)
TOOL_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list tools as a model sees them", "", _tool_list_options),
    ("show", "show one tool: what it does, its arguments, its effect", "", _tool_show_options),
    ("call", "call a tool by hand", "Policy, journal and audit log apply as for a model's call.", _tool_call_options),
)
MODEL_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list kinds of models and local models", "The same as `treadle models` alone.", _action_json_option),
    ("pull", "download a local model", "An interrupted download continues where it stopped.", _models_change_options),
    ("remove", "remove a local model", "", _models_change_options),
    (
        "probe",
        "find out how a model calls best",
        "It asks a few questions in each way; the best is used from then on.",
        _models_probe_options,
    ),
)


def _completion_options(command: CommandParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    command.add_argument("words", nargs="*", help=argparse.SUPPRESS)  # what was typed so far; the script passes it


def _help_options(command: CommandParser) -> None:
    command.add_argument("name", nargs="?", metavar="COMMAND", help="the command, or `environment`")


COMMANDS: tuple[CommandEntry, ...] = (
    ("ask", "ask one question", "The answer goes to stdout, everything else to stderr.", _ask_options),
    ("chat", "have a conversation", "/help lists what can be typed besides questions.", _chat_options),
    (
        "resume",
        "resume a run after a crash, an approval or a failure",
        "Options replace those it started with.",
        _resume_options,
    ),
    ("runs", "list stored runs; cancel or delete one", "The newest come first.", _runs_options),
    (
        "cancel",
        "cancel runs: queued, waiting, or executed by a worker or a server",
        "The process that executes a run ends it within seconds.",
        _cancel_options,
    ),
    ("watch", "show what happens in a run that another process executes", "It ends with the turn.", _watch_options),
    ("wait", "wait until a run is over, and print its answer", "It also ends when the run waits.", _wait_options),
    ("retry", "queue failed runs again", "A worker continues each from its journal.", _cancel_options),
    ("jobs", "list jobs; show, watch, cancel, resume or delete one", "The newest come first.", _jobs_options),
    ("show", "show what happened in a run", "Nested runs are indented.", _show_options),
    ("approve", "approve a call that waits for approval", "`treadle resume` then continues the run.", _approve_options),
    ("permissions", "list permanent permissions; revoke one; test a policy file", "", _permissions_options),
    ("memory", "list, show or delete notes of earlier conversations", "`memory.enabled` has models write some.", _memory_options),
    ("deny", "deny a call that waits for approval", "`treadle resume` then continues the run.", _deny_options),
    (
        "settle",
        "say what happened to a call whose process was killed",
        "`treadle resume` then continues the run.",
        _settle_options,
    ),
    (
        "event",
        "send an event to the calls that wait for it",
        "A server or a worker then continues its runs; `treadle resume` continues any other.",
        _event_options,
    ),
    ("fork", "create a new run from the first entries of another", "It isn't resumed yet.", _fork_options),
    (
        "audit",
        "list calls from the audit log, or verify it",
        "`treadle audit verify` checks that nothing was changed.",
        _audit_options,
    ),
    ("stats", "show how often tools are called and fail, how long they take and what they cost", "", _stats_options),
    (
        "eval",
        "evaluate agents and assistants: run datasets, or replay kept runs",
        "`treadle eval FILE` is `treadle eval run FILE`.",
        eval_options,
    ),
    ("tool", "list tools, show one, or call one by hand", "", _tool_options),
    ("parse", "parse a model's reply from stdin", "It prints its calls, text and thinking as JSON.", _parse_options),
    ("models", "list kinds of models and local models; download, remove or probe one", "", _models_options),
    ("settings", "show the effective settings of this folder, and where each value comes from", "", _json_option),
    ("assistants", "list the installed assistants", "", _json_option),
    ("serve", "serve the assistants and their pages to browsers and programs", "Ctrl-C stops it.", serve_options),
    (
        "users",
        "list users of the server; add, change or remove one",
        "Without users, the server serves only this machine.",
        users_options,
    ),
    ("submit", "queue a run for workers", "It prints the run's id at once.", submit_options),
    ("worker", "execute queued runs", "It runs until Ctrl-C; other workers then continue its runs.", worker_options),
    ("queues", "show how many runs wait in each queue, and the workers", "", queues_options),
    (
        "dead-letters",
        "list runs that failed too often; retry them, or take them off the list",
        "The newest come first.",
        dead_letters_options,
    ),
    ("schedules", "list scheduled runs; remove a schedule", "", schedules_options),
    ("doctor", "check everything that Treadle needs, and say how to fix problems", "It changes nothing.", _json_option),
    ("backup", "back up all data into one file", "Runs may continue meanwhile.", _backup_options),
    (
        "restore",
        "restore a backup",
        "All of it is verified before anything is changed.",
        _restore_options,
    ),
    ("retention", "list data older than [retention] allows, or delete it", "Only finished runs and jobs.", _retention_options),
    ("notifications", "list notifications that aren't delivered yet, or deliver them", "", _notifications_options),
    ("mcp", "serve tools to other programs over MCP", "On stdin and stdout, until the client disconnects.", _mcp_options),
    ("acp", "use an assistant in an editor, over ACP", "On stdin and stdout, until the editor disconnects.", _acp_options),
    ("plugins", "list what installed packages provide", "", _json_option),
    ("help", "show the help of a command", "`treadle help environment` lists variables and exit codes.", _help_options),
    ("completion", "print a shell's completion script", "`source <(treadle completion bash)` uses it.", _completion_options),
    ("version", "print the version", "", _json_option),
)
