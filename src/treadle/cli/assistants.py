"""`treadle assistants`: who can be asked, what they are for, and what can be typed."""

import argparse
import shlex
from typing import Any

from treadle.app.assistants import Installed, commands, find
from treadle.cli.codes import FINE
from treadle.cli.render import to_json
from treadle.cli.screen import Screen


def run(args: argparse.Namespace) -> int:
    """List them, and say what is wrong with those that can't be used."""
    screen = Screen()
    found, broken = find()
    offers, clashes = commands(found)
    if args.json:
        screen.line(to_json({"assistants": [_object(each) for each in found], "broken": broken, "clashes": clashes}))
        return FINE
    for each in found:
        typed = [offer.command.name for offer in offers.values() if offer.assistant is each.assistant]
        _show(each, typed, screen)
    if not found:
        screen.note("No assistant is installed.")
    for sentence in (*map(str, broken), *clashes):
        screen.tell(sentence, "red")
    return FINE


def _show(each: Installed, typed: list[str], screen: Screen) -> None:
    one = each.assistant
    screen.line(f"{one.name}: {one.title} ({each.package} {each.version})", "bold")
    screen.line(f"  {one.summary}")
    for command in one.commands:
        if command.name in typed:
            screen.line(f"  treadle {command.name}: {command.summary}")
    for question in one.questions:
        screen.line(f"  treadle ask -a {one.name} {shlex.quote(question)}")


def _object(each: Installed) -> dict[str, Any]:
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
