"""Commands below one another, and their help: how a table of them becomes what argparse reads. What there is says `options`."""

import argparse
import os
from collections.abc import Callable, Sequence

Parser = argparse.ArgumentParser
Entry = tuple[str, str, str, Callable[[Parser], None]]  # name, what it does, more about it, its options


def add_commands(parent: Parser, metavar: str, entries: Sequence[Entry], *, required: bool = False) -> None:
    """Commands below another one. Which one was typed is under the name of `metavar`."""
    word = metavar.lower()
    commands = parent.add_subparsers(dest=word, metavar=metavar, title=f"{word}s", prog=parent.prog, required=required)
    for name, summary, more, fill in entries:
        description = f"{summary[:1].upper()}{summary[1:]}. {more}".rstrip()
        shown = summary.replace("%", "%%")  # argparse formats it once more
        fill(commands.add_parser(name, help=shown, description=description, formatter_class=_formatter, allow_abbrev=False))


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=width())


def width() -> int:
    """Columns for help. Argparse would load much to find out, and not only when it shows help."""
    chosen = os.environ.get("COLUMNS", "")
    try:
        found = int(chosen) if chosen.isdecimal() else os.get_terminal_size().columns
    except OSError:
        found = 80
    return min(max(found, 40), 120) - 2
