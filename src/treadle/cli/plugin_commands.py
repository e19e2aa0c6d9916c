"""Commands contributed by assistants: `treadle NAME …`, where Treadle itself has no such command."""

from msgspec.structs import replace

from treadle.cli.host import run_with_host
from treadle.cli.options import build_parser
from treadle.cli.parser import CommandEntry, CommandParser, add_commands
from treadle.cli.runner import run_sync_or_async
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError
from treadle.plugins.assistant import Command
from treadle.plugins.assistants import (
    AssistantCommand,
    BrokenAssistant,
    InstalledAssistant,
    add_command_options,
    collect_commands,
    find_assistants,
)
from treadle.settings.reserved import COMMANDS
from treadle.tools.name_matching import format_hint, nearest_names


def run(words: list[str], name: str) -> int:
    """Run the typed command; `name` is the command's name."""
    found, broken = find_assistants()
    offers, clashes = collect_commands(found)
    if name not in offers:
        _explain_missing(name, found, broken, clashes)
        near = nearest_names(name, [*COMMANDS, *offers])
        hint = f"{format_hint(near, ())} " if near else ""
        raise SettingsError(f"There is no command {name!r}. {hint}`treadle --help` lists them.")
    args = build_parser(tuple([_parser_entry(offer, name) for offer in offers.values()])).parse_args(words)
    offer = offers[name]
    command = _find_command(offer, vars(args).get("action", ""))
    run = command.run
    if run is None:
        raise SettingsError(f"The command {name} can't be used: the assistant {offer.assistant.name} doesn't say what it does.")
    pages = command.pages and not args.no_pager
    return run_sync_or_async(lambda: run_with_host(args, lambda host: run(args, host), offer.assistant.name, pages=pages))


def fill_parser(parser: CommandParser, name: str) -> bool:
    """Add the options of an assistant's command to a parser; return whether there is such a command."""
    offer = collect_commands(find_assistants()[0])[0].get(name)
    if offer is not None:
        _parser_entry(offer, name)[3](parser)
    return offer is not None


def _find_command(offer: AssistantCommand, part: str) -> Command:
    """Return the typed command, or the subcommand of it."""
    return next((each for each in offer.command.parts if each.name == part), offer.command)


def _parser_entry(offer: AssistantCommand, typed: str) -> CommandEntry:
    """Return a command as a parser entry. The options of commands that weren't typed are not loaded."""
    command = offer.command

    def fill(empty: CommandParser) -> None:
        if command.name != typed:
            return
        if command.parts:
            add_commands(
                empty, "ACTION", [_parser_entry(replace(offer, command=part), part.name) for part in command.parts], required=True
            )
        else:
            add_command_options(empty, offer)

    return command.name, command.summary.strip().rstrip("."), command.more, fill


def _explain_missing(name: str, found: list[InstalledAssistant], broken: list[BrokenAssistant], clashes: list[str]) -> None:
    """Print hints for a missing command: broken assistants, name clashes, or an assistant of that name."""
    screen = Screen()
    meant = [f'{name} has no such command; ask it: treadle ask -a {name} "…"' for each in found if each.assistant.name == name]
    for sentence in (*meant, *map(str, broken), *clashes):
        screen.tell(f"treadle: {sentence}")
