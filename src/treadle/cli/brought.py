"""The commands that assistants bring: `treadle NAME …`, where Treadle itself has no such command."""

from treadle.app.assistants import Broken, Installed, Offer, add_options, commands, find
from treadle.cli.carrying import carry_out_either
from treadle.cli.host import host_for_command
from treadle.cli.options import Entry, Parser, parser
from treadle.cli.screen import Screen


def run(words: list[str], name: str) -> int:
    """Carry out what was typed, `name` being the command."""
    found, broken = find()
    offers, clashes = commands(found)
    if name not in offers:
        _tell_why(name, found, broken, clashes)
    args = parser(tuple([_entry(offer, name) for offer in offers.values()])).parse_args(
        words
    )  # exits where there is no such command
    return carry_out_either(lambda: offers[name].command.run(args, host_for_command(args, offers[name].assistant.name)))


def _entry(offer: Offer, typed: str) -> Entry:
    """A command as the parser takes it. The options of those that weren't typed are left alone."""
    command = offer.command
    summary = command.summary.strip().rstrip(".")

    def fill(empty: Parser) -> None:
        if command.name == typed:
            add_options(empty, offer)

    return command.name, summary, command.more, fill


def _tell_why(name: str, found: list[Installed], broken: list[Broken], clashes: list[str]) -> None:
    """Whoever misses a command may miss one of these, or may mean the assistant itself."""
    screen = Screen()
    meant = [f'{name} has no such command; ask it: treadle ask -a {name} "…"' for each in found if each.assistant.name == name]
    for sentence in (*meant, *map(str, broken), *clashes):
        screen.tell(f"treadle: {sentence}")
