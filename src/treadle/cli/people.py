"""Asks the person at the terminal about a call: yes, no, or with other arguments. What they are shown is never cut.

What became of a call that is unclear is asked by `unclear`.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from treadle.cli.interrupts import typing
from treadle.cli.render import card, to_json
from treadle.cli.screen import Screen
from treadle.cli.typed import forget_typed, read_line
from treadle.cli.unclear import show_unclear, what_became
from treadle.core.tool import Tool
from treadle.engine.setup import Answer, Approval
from treadle.guard.visible import visible
from treadle.tools.validate import Invalid, Validator

PERSON = "The person at the terminal"
QUESTION = "Run it? [y]es, [n]o (n WHY tells the model why), [e]dit:"


def yes_to_all(approval: Approval) -> Answer:
    """`--yes`. What became of an unclear call it doesn't say, so that the run waits for somebody who does."""
    return Answer(True, by="--yes")


def show_preview(screen: Screen, text: str, indent: str = "") -> None:
    """What a call would do; what a diff adds and takes away is coloured."""
    for line in visible(text.rstrip("\n")).split("\n"):
        style = {"+": "green", "-": "red"}.get(line[:1], "")
        screen.tell(f"{indent}{line}", style)


class Person:
    """Whoever sits at the terminal. `tools` is looked at when they edit arguments."""

    def __init__(self, screen: Screen, name: str = "") -> None:
        self._screen = screen
        self._name = name or PERSON
        self._one_at_a_time = asyncio.Lock()
        self.tools: Callable[[], Sequence[Tool]] = tuple

    async def __call__(self, approval: Approval) -> Answer:
        """Ask until there is an answer."""
        async with self._one_at_a_time:
            self._show(approval)
            forget_typed()
            return await (what_became(self._screen, self._name) if approval.unclear else self._answer(approval))

    async def _answer(self, approval: Approval) -> Answer:
        while True:
            self._screen.ask(QUESTION)
            said, _, why = (await read_line()).strip().partition(" ")
            match said.lower().rstrip(",:"), bool(why):
                case (("y" | "yes"), False):
                    return Answer(True, by=self._name)
                case (("n" | "no"), _):
                    return Answer(False, by=self._name, reason=why.strip())
                case (("e" | "edit"), False):
                    arguments = self._edited(approval)
                    if arguments is not None:
                        return Answer(True, by=self._name, arguments=arguments)
                case _:
                    self._screen.tell("Please answer y, n or e.")

    def _show(self, approval: Approval) -> None:
        if approval.unclear:
            show_unclear(self._screen, approval)
        else:
            self._screen.tell(f"{visible(approval.name)} wants to run with {card(approval.arguments)}", "yellow")
        if approval.preview:
            show_preview(self._screen, approval.preview)
        if approval.reason:
            self._screen.tell(visible(approval.reason), "dim")

    def _edited(self, approval: Approval) -> dict[str, Any] | None:
        """Other arguments that fit the tool; None where the person thought better of it."""
        try:
            text = _edit_line("Arguments: ", to_json(approval.arguments))
        except (KeyboardInterrupt, EOFError):
            self._screen.tell("")
            return None
        arguments, problem = self._checked(approval.name, text)
        if problem:
            self._screen.tell(problem, "red")
        return arguments

    def _checked(self, name: str, text: str) -> tuple[dict[str, Any] | None, str]:
        try:
            arguments = msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError as error:
            return None, f"That is no JSON object: {error}"
        tool = next((tool for tool in self.tools() if tool.name == name), None)
        if tool is None:
            return arguments, ""
        checked = Validator(tool.parameters).check(arguments)
        if isinstance(checked, Invalid):
            return None, "\n".join([f"{issue.path}: expected {issue.expected}; got {issue.got}" for issue in checked.issues])
        return checked.arguments, ""


def _edit_line(prompt: str, text: str) -> str:
    """The text as a person changed it, in place where the terminal can do that."""
    try:
        import readline
    except ImportError:
        with typing():
            return input(f"{prompt}{text}\n{prompt}") or text
    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        with typing():
            return input(prompt)
    finally:
        readline.set_startup_hook(None)
