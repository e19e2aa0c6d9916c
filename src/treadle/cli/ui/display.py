"""Display options: how a command shows a run and asks for approvals.

text: the model's words; result: what the one call returned; data: the same as JSON; json: one object at the end; events: one
JSON line per event.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Literal

from treadle.cli.ui.approval_prompt import ApprovalPrompt, approve_all
from treadle.cli.ui.screen import Screen
from treadle.cli.ui.turn_input import TurnInput, open_turn_input
from treadle.engine.setup import Approver

OutputFormat = Literal["text", "result", "data", "json", "events"]


class Display:
    """The screen, the output format, and the approver."""

    def __init__(self, args: argparse.Namespace, *, result_only: bool = False) -> None:
        given = vars(args)
        self.quiet = bool(given.get("quiet"))
        self.screen = Screen(quiet=self.quiet)
        plain: OutputFormat = "result" if result_only else "text"
        as_json: OutputFormat = "data" if result_only else "json"
        self.form: OutputFormat = "events" if given.get("events") else as_json if given.get("json") else plain
        self.thinking = bool(given.get("thinking"))
        self.verbose = bool(given.get("verbose"))
        self.is_interactive = sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()
        stores = not given.get("no_journal")
        self.person = ApprovalPrompt(self.screen, given.get("user") or "", stores=stores) if self.is_interactive else None
        self.says_yes = bool(given.get("yes"))
        self.turn_input: TurnInput | None = None  # of a conversation at a terminal
        self.goes_on = False  # what is interrupted goes on with the next message, which is typed here
        self.approver: Approver | None = approve_all if self.says_yes else self.person

    @property
    def asks(self) -> bool:
        """Whether a person at the terminal is asked about calls that need approval."""
        return self.person is not None and self.approver is self.person

    def open_turn_input(self, is_command: Callable[[str], bool]) -> TurnInput | None:
        """Take input during the turns of a conversation, where there is a terminal. `is_command` tells which lines are commands."""
        self.turn_input = open_turn_input(self.screen, is_command, interactive=self.is_interactive)
        if self.person is not None:
            self.person.turn_input = self.turn_input
        return self.turn_input
