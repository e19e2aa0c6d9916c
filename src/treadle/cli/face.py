"""How a command shows a run and asks about it, from its display options.

text: the model's words; result: what the one call returned; json: one object at the end; events: a line of JSON an event.
"""

import argparse
import sys
from typing import Literal

from treadle.cli.people import Person, yes_to_all
from treadle.cli.screen import Screen
from treadle.engine.setup import Approver

Form = Literal["text", "result", "json", "events"]


class Face:
    """A screen, the form of what is shown on it, and who answers approvals."""

    def __init__(self, args: argparse.Namespace, *, result_only: bool = False) -> None:
        given = vars(args)
        self.quiet = bool(given.get("quiet"))
        self.screen = Screen(quiet=self.quiet)
        plain: Form = "result" if result_only else "text"
        self.form: Form = "events" if given.get("events") else "json" if given.get("json") else plain
        self.shows_progress = sys.stderr.isatty() and not self.quiet and self.form in ("text", "result")
        self.thinking = bool(given.get("thinking"))
        self.is_interactive = sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()
        self.person = Person(self.screen, given.get("user") or "") if self.is_interactive else None
        self.says_yes = bool(given.get("yes"))
        self.approver: Approver | None = yes_to_all if self.says_yes else self.person
