"""Candidates for the next word of a command line, from the parser of the typed command; shells call it at each Tab.

Treadle's own commands load nothing else. The commands of an assistant load that assistant; ids of runs and jobs open the stores.
"""

import argparse
from collections.abc import Iterator, Sequence

from treadle.cli.assistant_names import list_assistant_names
from treadle.cli.options import COMMANDS
from treadle.cli.overview import GROUPS, HELP_TOPICS
from treadle.cli.parser import CommandParser

Candidate = tuple[str, str]  # the word, and what it does
MOST_IDS = 30
LONGEST = 60  # characters of a description


def find_candidates(words: Sequence[str]) -> list[Candidate]:
    """Return what may stand in the place of the last word. Nothing means that any text fits, such as the name of a file."""
    *before, current = words or [""]
    if before[:1] == ["help"]:
        before = before[1:]
        offered = [*_list_commands(), *((topic, "") for topic in HELP_TOPICS)] if not before else _complete_typed(before, current)
    elif before:
        offered = _complete_typed(before, current)
    else:
        offered = [*_list_commands(), ("--help", "show all commands"), ("--version", "print the version")]
    return [(word, _shorten(does)) for word, does in offered if word.startswith(current)]


def _shorten(does: str) -> str:
    line = " ".join(does.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _list_commands() -> Iterator[Candidate]:
    return ((name, does) for _, rows in GROUPS for names, does in rows for name in names.split(", "))


def _complete_typed(before: Sequence[str], current: str) -> list[Candidate]:
    """Return the candidates after a command."""
    parser = _load_parser(before[0])
    if parser is None:
        return []
    for number, word in enumerate(before[1:], 2):
        if word in parser.subcommands:
            return _complete_argument(parser.subcommands[word][1], before[number:], current)
    return _complete_argument(parser, before[1:], current)


def _load_parser(name: str) -> CommandParser | None:
    """Return the parser of one command; of an assistant's only if no command of Treadle has the name."""
    parser = CommandParser(prog=f"treadle {name}", allow_abbrev=False)
    for own, _, _, fill in COMMANDS:
        if own == name:
            fill(parser)
            return parser
    from treadle.cli.plugin_commands import fill_parser

    return parser if fill_parser(parser, name) else None


def _complete_argument(parser: CommandParser, typed: Sequence[str], current: str) -> list[Candidate]:
    """Return the candidates after some arguments: the value of an option, options, or what a positional argument may be."""
    options = parser._option_string_actions
    words = [word for word in typed if word != "="]  # bash splits there
    if words and (option := options.get(words[-1])) is not None and option.nargs != 0:
        return _list_values(option)
    if current.startswith("-"):
        return [(name, action.help or "") for name, action in options.items() if name.startswith("--")]
    positional = _next_positional(parser, words)
    if positional is not None and positional.nargs == argparse.PARSER:
        return [(name, does) for name, (does, _) in parser.subcommands.items()]
    return [] if positional is None else _list_values(positional)


def _next_positional(parser: CommandParser, words: Sequence[str]) -> argparse.Action | None:
    """Return the positional argument that comes next."""
    options, count = parser._option_string_actions, 0
    for before, word in zip(("", *words), words, strict=False):
        is_value = before in options and options[before].nargs != 0
        count += not word.startswith("-") and not is_value
    positionals = parser._get_positional_actions()
    if count < len(positionals):
        return positionals[count]
    return positionals[-1] if positionals and positionals[-1].nargs in ("*", "+") else None


def _list_values(action: argparse.Action) -> list[Candidate]:
    """Return the values that an argument may have; nothing where it may have any."""
    if action.choices is not None:
        return [(str(choice), "") for choice in action.choices]
    match action.metavar:
        case "RUN":
            return _list_runs()
        case "JOB":
            return _list_jobs()
        case _:
            return [(name, "") for name in list_assistant_names()] if action.dest == "assistant" else []


def _list_runs() -> list[Candidate]:
    from treadle.cli.run_store import existing_home
    from treadle.cli.runner import run_async
    from treadle.stores.journal import JournalQuery

    found: list[Candidate] = []

    async def read() -> int:
        home = existing_home()
        runs = [] if home is None else await home.journal.list_runs(JournalQuery(limit=MOST_IDS))
        found.extend([(run.run_id, run.title) for run in runs])
        return 0

    run_async(read())
    return [*found, *([("last", "the newest one")] if found else [])]


def _list_jobs() -> list[Candidate]:
    from treadle.home import open_home
    from treadle.jobs.store import Jobs

    found = [(job.id, job.title) for job in Jobs(open_home().folder).all()[:MOST_IDS]]
    return [*found, *([("last", "the newest one")] if found else [])]
