"""`treadle assistants`: list the assistants, what they are for, and their commands."""

import argparse
import shlex
from typing import Any

from treadle.cli.exit_codes import OK
from treadle.cli.ui.render import to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.plugins.assistants import InstalledAssistant, collect_commands, find_assistants


def run(args: argparse.Namespace) -> int:
    """List the assistants, and report what is wrong with those that can't be used."""
    screen = Screen()
    found, broken = find_assistants()
    offers, clashes = collect_commands(found)
    if args.json:
        screen.line(to_terminal_json({"assistants": [_to_json(each) for each in found], "broken": broken, "clashes": clashes}))
        return OK
    for each in found:
        typed = [offer.command.name for offer in offers.values() if offer.assistant is each.assistant]
        _print_assistant(each, typed, screen)
    if not found:
        screen.note("No assistant is installed.")
    for sentence in (*map(str, broken), *clashes):
        screen.tell(sentence, "red")
    return OK


def _print_assistant(each: InstalledAssistant, typed: list[str], screen: Screen) -> None:
    one = each.assistant
    screen.line(f"{one.name}: {one.title} ({each.package} {each.version})", "bold")
    screen.line(f"  {one.summary}")
    for command in one.commands:
        if command.name in typed:
            screen.line(f"  treadle {command.name}: {command.summary}")
    for question in one.questions:
        screen.line(f"  treadle ask -a {one.name} {shlex.quote(question)}")


def _to_json(each: InstalledAssistant) -> dict[str, Any]:
    one = each.assistant
    return {
        "name": one.name,
        "title": one.title,
        "summary": one.summary,
        "commands": [{"name": command.name, "summary": command.summary} for command in one.commands],
        "questions": one.questions,
        "panel": one.panel is not None,
        "package": each.package,
        "version": each.version,
    }
