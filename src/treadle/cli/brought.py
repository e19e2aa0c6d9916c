"""The commands that assistants bring: `treadle NAME …`, where Treadle itself has no such command."""

from msgspec.structs import replace

from treadle.app.assistant import Command
from treadle.app.assistants import Broken, Installed, Offer, add_options, commands, find
from treadle.app.reserved import COMMANDS
from treadle.cli.carrying import carry_out_either
from treadle.cli.commands import Entry, Parser, add_commands
from treadle.cli.host import host_for_command
from treadle.cli.options import parser
from treadle.cli.screen import Screen
from treadle.core.errors import SettingsError
from treadle.tools.names import nearest


def run(words: list[str], name: str) -> int:
    """Carry out what was typed, `name` being the command."""
    found, broken = find()
    offers, clashes = commands(found)
    if name not in offers:
        _tell_why(name, found, broken, clashes)
        near = nearest(name, [*COMMANDS, *offers])
        hint = f"; did you mean {' or '.join(near)}?" if near else "."
        raise SettingsError(f"There is no command {name!r}{hint} `treadle --help` lists them.")
    args = parser(tuple([_entry(offer, name) for offer in offers.values()])).parse_args(words)
    offer = offers[name]
    run = _typed(offer, vars(args).get("part", "")).run
    if run is None:
        raise SettingsError(f"The command {name} can't be used: the assistant {offer.assistant.name} doesn't say what it does.")
    return carry_out_either(lambda: run(args, host_for_command(args, offer.assistant.name)))


def _typed(offer: Offer, part: str) -> Command:
    """The command that was typed, or the part of it."""
    return next((each for each in offer.command.parts if each.name == part), offer.command)


def _entry(offer: Offer, typed: str) -> Entry:
    """A command as the parser takes it. The options of those that weren't typed are left alone."""
    command = offer.command

    def fill(empty: Parser) -> None:
        if command.name != typed:
            return
        if command.parts:
            add_commands(empty, "PART", [_entry(replace(offer, command=part), part.name) for part in command.parts], required=True)
        else:
            add_options(empty, offer)

    return command.name, command.summary.strip().rstrip("."), command.more, fill


def _tell_why(name: str, found: list[Installed], broken: list[Broken], clashes: list[str]) -> None:
    """Whoever misses a command may miss one of these, or may mean the assistant itself."""
    screen = Screen()
    meant = [f'{name} has no such command; ask it: treadle ask -a {name} "…"' for each in found if each.assistant.name == name]
    for sentence in (*meant, *map(str, broken), *clashes):
        screen.tell(f"treadle: {sentence}")
