"""Display options: how a command shows a run and asks for approvals.

text: the model's words; result: what the one call returned; json: one object at the end; events: one JSON line per event.
"""

import argparse
import sys
from typing import Literal

from treadle.cli.ui.approval_prompt import ApprovalPrompt, approve_all
from treadle.cli.ui.screen import Screen
from treadle.engine.setup import Approver

OutputFormat = Literal["text", "result", "json", "events"]


class Display:
    """The screen, the output format, and the approver."""

    def __init__(self, args: argparse.Namespace, *, result_only: bool = False) -> None:
        given = vars(args)
        self.quiet = bool(given.get("quiet"))
        self.screen = Screen(quiet=self.quiet)
        plain: OutputFormat = "result" if result_only else "text"
        self.form: OutputFormat = "events" if given.get("events") else "json" if given.get("json") else plain
        self.shows_progress = sys.stderr.isatty() and not self.quiet and self.form in ("text", "result")
        self.thinking = bool(given.get("thinking"))
        self.is_interactive = sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()
        self.person = ApprovalPrompt(self.screen, given.get("user") or "") if self.is_interactive else None
        self.says_yes = bool(given.get("yes"))
        self.approver: Approver | None = approve_all if self.says_yes else self.person
