"""Asks the person at the terminal to approve, deny or edit a call. What they are shown is never truncated.

Also asks for the outcome of a call that was running when its process ended.
"""

import asyncio
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import msgspec

from treadle.agent.talk import ApprovalChoice
from treadle.cli.ui.call_details import format_arguments, print_call, print_preview
from treadle.cli.ui.render import clean_for_terminal, format_count, format_time, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.cli.ui.stdin import discard_typed_input, edit_text, read_typed_line
from treadle.cli.ui.turn_input import TurnInput
from treadle.core.errors import ApprovalError
from treadle.core.grants import ArgumentPattern, Patterns
from treadle.core.tool import Tool
from treadle.engine.setup import Answer, Approval
from treadle.guard.argument_patterns import matches_patterns, parse_patterns
from treadle.guard.grants import format_patterns
from treadle.guard.visible_text import make_visible
from treadle.tools.validate import InvalidArguments, Validator

OUTCOME_QUESTION = "Did it happen? [y]es (y WHAT tells the model its result), [n]o, [a]gain runs it once more, [l]ater:"
SETTLE_COMMANDS = (
    ("It happened", "happened [--words TEXT]"),
    ("It did not", "not-happened"),
    ("Try it again", "again"),
)


def print_unclear_call(screen: Screen, approval: Approval) -> None:
    """Print the whole call, and since when its outcome is unknown."""
    since = f" since {format_time(approval.began_at)}" if approval.began_at else ""
    screen.tell(f"Unknown{since}: the outcome of {make_visible(approval.name)} with:", "yellow")
    for line in format_arguments(approval.arguments, screen.fold_width):
        screen.tell(line)
    if approval.preview:
        print_preview(screen, approval.preview)


async def ask_outcome(screen: Screen, by: str) -> Answer:
    """Ask for the call's outcome until there is an answer; `later` leaves the question open."""
    while True:
        screen.ask(OUTCOME_QUESTION)
        said, _, words = (await read_typed_line("later")).strip().partition(" ")
        match said.lower().rstrip(",:"), bool(words):
            case (("y" | "yes"), _):
                return Answer(by=by, reason=words.strip(), settled="happened")
            case (("n" | "no"), _):
                return Answer(by=by, reason=words.strip(), settled="not_happened")
            case (("a" | "again"), False):
                return Answer(by=by, settled="again")
            case (("l" | "later"), False):
                return Answer(by=by)
            case _:
                screen.tell("Please answer y, n, a or l.")


def print_unclear_calls(screen: Screen, approvals: Sequence[Approval], resume: str) -> None:
    """Print the calls that a person has to settle, and how."""
    what = format_count(len(approvals), "call")
    screen.tell(f"The run waits for a person to report the outcome of {what} that ran when a process ended:", "yellow")
    for approval in approvals:
        print_settle_commands(screen, approval)
    screen.tell(f"Then:       {resume}")


def print_settle_commands(screen: Screen, approval: Approval) -> None:
    """Print one such call with all its arguments, and the commands that settle it."""
    began = f", begun {format_time(approval.began_at)}" if approval.began_at else ""
    screen.tell(
        f"  {clean_for_terminal(approval.call_id)}: {make_visible(approval.name)} "
        f"{make_visible(to_terminal_json(approval.arguments))}{began}"
    )
    screen.tell(f"    {make_visible(approval.reason)}", "dim")
    call = shlex.join([clean_for_terminal(approval.run_id), clean_for_terminal(approval.call_id)])
    for words, way in SETTLE_COMMANDS:
        screen.tell(f"    {words + ':':<14}treadle settle {call} {way}")


TERMINAL_USER = "The person at the terminal"
APPROVAL_QUESTION = "Run it? [y]es, [n]o (n WHY tells the model why), [e]dit:"
SCOPE_QUESTION = "Run it? [y]es, [c] for this conversation, [a]lways, [p]attern, [n]o (n WHY tells the model why), [e]dit:"


def approve_all(approval: Approval) -> Answer:
    """Approve the call (`--yes`).

    It doesn't settle an unclear call, so that the run waits for a person who knows its outcome.
    """
    return Answer(True, by="--yes")


class ApprovalPrompt:
    """Approver that asks at the terminal. `tools` is called when the person edits arguments."""

    def __init__(self, screen: Screen, name: str = "", *, stores: bool = True) -> None:
        self._screen = screen
        self._stores = stores  # else nothing can be allowed for always
        self._name = name or TERMINAL_USER
        self._one_at_a_time = asyncio.Lock()
        self.tools: Callable[[], Sequence[Tool]] = tuple
        self.choices: Sequence[ApprovalChoice] = ()  # of an assistant, besides the usual answers
        self.turn_input: TurnInput | None = None  # which has the terminal otherwise

    async def __call__(self, approval: Approval) -> Answer:
        """Ask until there is an answer."""
        async with self._one_at_a_time:
            with self._screen.status.hidden(), nullcontext() if self.turn_input is None else self.turn_input.pause():
                return await self._ask(approval)

    async def _ask(self, approval: Approval) -> Answer:
        self._screen.drop_held((approval.run_id, approval.call_id))
        self._show(approval)
        discard_typed_input()
        return await (ask_outcome(self._screen, self._name) if approval.unclear else self._answer(approval))

    async def _answer(self, approval: Approval) -> Answer:
        where = approval.patterns[0] if approval.patterns else None
        choices = {choice.key: choice for choice in self.choices if choice.applies(approval)}
        while True:
            self._print_question(where, choices.values())
            self._screen.topic = approval.run_id, approval.call_id
            said, _, why = (await read_typed_line()).strip().partition(" ")
            if not why and (chosen := choices.get(said.lower())):
                chosen.choose()
                return Answer(True, by=self._name)
            match said.lower().rstrip(",:"), bool(why):
                case (("y" | "yes"), False):
                    return Answer(True, by=self._name)
                case ("c", False) if where is not None:
                    return Answer(True, by=self._name, scope="conversation", where=where)
                case (("a" | "always"), False) if where is not None and self._stores:
                    return Answer(True, by=self._name, scope="always", where=where)
                case (("p" | "pattern"), False) if where is not None:
                    where = await self._edit_patterns(approval, where)
                case (("n" | "no"), _):
                    return Answer(False, by=self._name, reason=why.strip())
                case (("e" | "edit"), False):
                    arguments = await self._edit_arguments(approval)
                    if arguments is not None:
                        return Answer(True, by=self._name, arguments=arguments)
                case _:
                    scopes = () if where is None else ("c", "a", "p") if self._stores else ("c", "p")
                    self._screen.tell(f"Please answer {', '.join(['y', *choices, *scopes, 'n'])} or e.")

    def _print_question(self, where: Patterns | None, choices: Iterable[ApprovalChoice]) -> None:
        more = "".join([f"{choice.label}, " for choice in choices])
        if where is None:
            self._screen.ask(APPROVAL_QUESTION.replace("[y]es, ", f"[y]es, {more}"))
            return
        keys, always = ("c and a allow", "[a]lways, ") if self._stores else ("c allows", "")
        self._screen.prose(f"{keys} calls with {make_visible(format_patterns(where))}", "dim")
        self._screen.ask(SCOPE_QUESTION.replace("[a]lways, ", always).replace("[y]es, ", f"[y]es, {more}"))

    async def _edit_patterns(self, approval: Approval, where: Patterns) -> Patterns:
        """Return the patterns as edited by the person; an argument without one may have any value."""
        edited: dict[str, str | ArgumentPattern] = {}
        try:
            for name, pattern in (where or approval.patterns[0]).items():
                self._screen.tell(f"{clean_for_terminal(name)}:")
                text = (await edit_text(clean_for_terminal(pattern.value))).strip()
                if text:
                    edited[name] = pattern if text == pattern.value else text
            patterns = parse_patterns(edited, approval.arguments)
        except (KeyboardInterrupt, EOFError):
            self._screen.tell("")
            return where
        except ApprovalError as error:
            self._screen.tell(str(error), "red")
            return where
        if {} not in approval.patterns and patterns.keys() != approval.arguments.keys():
            self._screen.tell("What destroys something needs a pattern for every argument.", "red")
            return where
        if not matches_patterns(patterns, approval.arguments):
            self._screen.tell("The pattern has to match this call.", "red")
            return where
        return patterns

    def _show(self, approval: Approval) -> None:
        if approval.unclear:
            print_unclear_call(self._screen, approval)
        else:
            print_call(self._screen, approval)
        if approval.reason:
            self._screen.prose(make_visible(approval.reason), "dim")

    async def _edit_arguments(self, approval: Approval) -> dict[str, Any] | None:
        """Return edited arguments that fit the tool; None if the person cancelled."""
        self._screen.tell("Arguments:")
        try:
            text = await edit_text(to_terminal_json(approval.arguments))
        except (KeyboardInterrupt, EOFError):
            self._screen.tell("")
            return None
        arguments, problem = self._validate_arguments(approval.name, text)
        if problem:
            self._screen.tell(problem, "red")
        return arguments

    def _validate_arguments(self, name: str, text: str) -> tuple[dict[str, Any] | None, str]:
        try:
            arguments = msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError as error:
            return None, f"That is no JSON object: {error}"
        tool = next((tool for tool in self.tools() if tool.name == name), None)
        if tool is None:
            return arguments, ""
        checked = Validator(tool.parameters).check(arguments)
        if isinstance(checked, InvalidArguments):
            return None, "\n".join([f"{issue.path}: expected {issue.expected}; got {issue.got}" for issue in checked.issues])
        return checked.arguments, ""
