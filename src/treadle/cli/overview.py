"""`treadle --help` and `treadle help`: every command, grouped, on one screen.

Imports nothing, so that help is there at once. The commands of the bundled assistants are listed here, because loading the
assistants takes longer than all the rest of help; a test compares the list with what they define.
"""

from collections.abc import Sequence

Group = tuple[str, tuple[tuple[str, str], ...]]  # title, rows of commands and what they do

GROUPS: tuple[Group, ...] = (
    (
        "ask",
        (
            ("ask, chat", "ask a question, or have a conversation (try --demo)"),
            ("serve", "serve the assistants and their pages (--demo: samples)"),
            ("assistants", "list the installed assistants; ask one with ask -a NAME"),
        ),
    ),
    (
        "assistants",
        (
            ("read", "explain a source file or folder"),
            ("platform", "ask about a running platform, and act on it as yourself"),
            ("code, build, debug", "work on code here in a session, or in verified jobs"),
            ("review, triage", "review a change, or find the cause of a failure"),
            ("diff, patch, undo", "show, export or undo what a coding job changed"),
            ("merge, pr", "merge a job's branch, or open a pull request"),
            ("follow-up", "continue a coding job with a new one"),
            ("guide", "plan a project: its problem, world model and runs"),
            ("courses", "answer from your own course material"),
        ),
    ),
    (
        "runs",
        (
            ("runs, jobs", "list, cancel or delete runs and background jobs"),
            ("cancel, retry", "cancel runs wherever they are, queue failed ones again"),
            ("show, watch, wait", "show what happened in a run, follow it, wait for it"),
            ("approve, deny", "answer a call that waits for approval"),
            ("permissions", "list and revoke what is allowed; test a policy file"),
            ("memory", "list, show or delete notes of earlier conversations"),
            ("event, settle", "send an awaited event; report what a killed call did"),
            ("resume, fork", "continue a run, or start another from its first entries"),
            ("audit, stats", "list and verify the audit log; usage statistics"),
        ),
    ),
    (
        "models and tools",
        (
            ("models, plugins", "list models, download one; list what packages provide"),
            ("tool", "list tools, show one, or call one by hand"),
            ("acp, mcp", "use an assistant in an editor; serve tools over MCP"),
            ("eval, parse", "evaluate agents on datasets; parse a model's reply"),
        ),
    ),
    (
        "team",
        (
            ("users, notifications", "manage users; list undelivered notifications"),
            ("worker, submit", "execute queued runs; queue one"),
            ("queues, dead-letters", "show queues and workers; list and retry failed runs"),
        ),
    ),
    (
        "this installation",
        (
            ("doctor, settings", "check everything; show settings and their sources"),
            ("backup, restore", "back up all data into one file, or restore it"),
            ("retention, schedules", "list or delete old data; list scheduled runs"),
            ("help, version", "show the help of a command, or the version"),
            ("completion", "print the completion script for bash, zsh or fish"),
        ),
    ),
)
BUNDLED = frozenset({"coding", "courses", "guidance", "platform", "reading"})

EXIT_CODES = """\
exit codes:
  0    success; also an answer that was given at a limit, which a note on stderr then says
  1    the run or the command failed, or the audit log is broken
  2    wrong usage or settings: unknown model, missing key, bad tool, bad JSON, empty prompt
  3    the run waits for an approval or an answer
  130  interrupted (Ctrl-C)
  141  the reader of the output has closed it
  143  ended by SIGTERM
"""

ENVIRONMENT = """\
environment:
  TREADLE_HOME      the data folder, which holds the runs
  TREADLE_DATABASE  a PostgreSQL database for the runs instead of a file
  TREADLE_KEY       the key that encrypts secrets in the journal, instead of the file journal.key
  TREADLE_MODEL     the default model
  TREADLE_CONFIG    your own treadle.toml, if it isn't in the usual place
  TREADLE_MODELS    the folder of local models
  TREADLE_ANCHORS   a folder for the audit log's anchors, instead of the data folder
  TREADLE_DEBUG     1 shows the traceback of an error
  NO_COLOR          no colours
  OTEL_*            OpenTelemetry's own, such as OTEL_EXPORTER_OTLP_ENDPOINT: where spans and metrics are exported to
  <PROVIDER>_API_KEY, <PROVIDER>_BASE_URL, OLLAMA_HOST, HF_ENDPOINT: see `treadle models`
"""

HELP_TOPICS = {"environment": f"{EXIT_CODES}\n{ENVIRONMENT}", "exit-codes": EXIT_CODES}

_HEAD = """\
usage: treadle COMMAND ...

Any language model working with any tools, safely and durably.
"""
_FOOT = """\
`treadle help COMMAND` shows options, `treadle help environment` variables.
"""


def format_overview(assistants: Sequence[str] = ()) -> str:
    """Return the text of `treadle --help`; `assistants` are the names of all that are installed."""
    width = max(len(names) for _, rows in GROUPS for names, _ in rows)
    lines = [_HEAD]
    for title, rows in GROUPS:
        lines += [f"{title}:", *(f"  {names:{width}}  {summary}" for names, summary in rows)]
        if title == "assistants" and (others := [name for name in assistants if name not in BUNDLED]):
            lines.append(f"  also installed: {', '.join(others)} (`treadle assistants` lists their commands)")
    return "\n".join([*lines, "", _FOOT])
