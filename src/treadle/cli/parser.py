"""Argument parser and subcommands: turns a table of commands into argparse parsers. The commands are defined in `options`."""

import argparse
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

UNLIMITED = "unlimited"


def integer_from(least: int) -> Callable[[str], int]:
    """Return an argument type for whole numbers from `least` up."""

    def counted(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} up")
        return int(text)

    return counted


def number_from(least: float) -> Callable[[str], float]:
    """Return an argument type for numbers from `least` up."""

    def numbered(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least:g} up")
        return value

    return numbered


def or_unlimited(limit: Callable[[str], float]) -> Callable[[str], float | str]:
    """Return an argument type for such a number or the word `unlimited`."""

    def most(text: str) -> float | str:
        return text if text == UNLIMITED else limit(text)

    return most


class CommandParser(argparse.ArgumentParser):
    """Argument parser that accepts `-description` as `--description`.

    An abbreviated option is refused instead of being read as a letter with a value.
    """

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse the arguments, including long options with a single dash."""
        words = list(args or ())
        end = words.index("--") if "--" in words else len(words)
        return super().parse_known_args([*map(self._expand_long_option, words[:end]), *words[end:]], namespace)

    def _expand_long_option(self, word: str) -> str:
        name = word[1:].partition("=")[0]
        if word[:1] != "-" or len(name) < 2 or name[0] == "-":
            return word
        known = [option[2:] for option in self._option_string_actions if option.startswith("--")]
        if name in known:
            return f"-{word}"
        meant = [option for option in known if option.startswith(name)]
        if meant:
            self.error(f"there is no option -{name}; write --{' or --'.join(meant)}")
        return word


CommandEntry = tuple[str, str, str, Callable[[CommandParser], None]]  # name, what it does, more about it, its options


def add_commands(parent: CommandParser, metavar: str, entries: Sequence[CommandEntry], *, required: bool = False) -> None:
    """Add subcommands to a parser. The typed one is stored under the lower-case name of `metavar`."""
    word = metavar.lower()
    commands = parent.add_subparsers(dest=word, metavar=metavar, title=f"{word}s", prog=parent.prog, required=required)
    for name, summary, more, fill in entries:
        description = f"{summary[:1].upper()}{summary[1:]}. {more}".rstrip()
        shown = summary.replace("%", "%%")  # argparse formats it once more
        fill(commands.add_parser(name, help=shown, description=description, formatter_class=_make_formatter, allow_abbrev=False))


def _make_formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=help_width())


def help_width() -> int:
    """Return the number of columns for help. Argparse would import much to find out, and not only when it shows help."""
    chosen = os.environ.get("COLUMNS", "")
    try:
        found = int(chosen) if chosen.isdecimal() else os.get_terminal_size().columns
    except OSError:
        found = 80
    return min(max(found, 40), 120) - 2
