"""Argument parser and subcommands: turns a table of commands into argparse parsers. The commands are defined in `options`."""

import argparse
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

UNLIMITED = "unlimited"
IDS = frozenset(("RUN", "JOB", "CALL", "PROJECT"))  # arguments that mean the last one, or the only one, where they are left out


def integer_from(least: int) -> Callable[[str], int]:
    """Return an argument type for whole numbers from `least` up."""

    def counted(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} isn't a whole number from {least} up")
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
            raise argparse.ArgumentTypeError(f"{text!r} isn't a number from {least:g} up")
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

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.subcommands: dict[str, tuple[str, CommandParser]] = {}  # what each does, and its parser
        self.default_action = ""  # the subcommand that is meant where none is typed

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parse the arguments, including long options with a single dash."""
        words = list(args or ())
        if self.default_action and (not words or words[0] not in (*self.subcommands, "-h", "--help")):
            words.insert(0, self.default_action)
        end = words.index("--") if "--" in words else len(words)
        parsed, unknown = super().parse_known_args([*map(self._expand_long_option, words[:end]), *words[end:]], namespace)
        if unknown:  # reported here, by the command that was typed, and not by `treadle` as a whole
            self._reject_unknown(unknown)
        return parsed, unknown

    def _reject_unknown(self, words: list[str]) -> None:
        """Report what was typed beyond the arguments; suggest options for the first unknown one."""
        from treadle.tools.name_matching import format_hint, nearest_names  # only a misspelt word pays for it

        option = next((word.partition("=")[0] for word in words if word.startswith("-") and word != "--"), "")
        if not option:
            self.error(f"unexpected argument{'s' if len(words) > 1 else ''}: {' '.join(words)}")
        near = nearest_names(option, [known for known in self._option_string_actions if known.startswith("--")])
        self.error(f"there is no option {option}. {format_hint(near, ()) if near else ''}".rstrip())

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Return an argument's value. An id that is empty, as of a shell variable that isn't set, isn't one that was left out."""
        if arg_strings == [""] and action.metavar in IDS and not action.option_strings:
            raise argparse.ArgumentError(action, f"it is empty. Name a {str(action.metavar).lower()}, or leave it out.")
        return super()._get_values(action, arg_strings)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise for a value or a subcommand that isn't one of the choices, with the likely ones."""
        if action.choices is None or value in action.choices:
            return
        from treadle.tools.name_matching import hint_for

        hint = hint_for(str(value), map(str, action.choices))
        if action.nargs == argparse.PARSER:
            raise argparse.ArgumentError(None, f"there is no {str(action.metavar).lower()} {value!r}. {hint}")
        raise argparse.ArgumentError(action, f"{value!r} isn't one of the choices. {hint}")

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
        command = commands.add_parser(
            name, help=shown, description=description, formatter_class=_make_formatter, allow_abbrev=False
        )
        parent.subcommands[name] = summary, command
        fill(command)


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
