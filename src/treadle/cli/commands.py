"""Commands below one another, and their help: how a table of them becomes what argparse reads. What there is says `options`."""

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any


class Parser(argparse.ArgumentParser):
    """Takes `-description` as `--description`. The beginning of an option is refused, not read as a letter and a value."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse the words, long options with a single dash among them."""
        words = list(args or ())
        end = words.index("--") if "--" in words else len(words)
        return super().parse_known_args([*map(self._long, words[:end]), *words[end:]], namespace)

    def _long(self, word: str) -> str:
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
