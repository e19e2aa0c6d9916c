"""A call that was running when its process ended, at the terminal: what is shown of it, and what the person says became of it."""

import shlex
from collections.abc import Sequence

from treadle.cli.render import card, clean, counted, to_json, when
from treadle.cli.screen import Screen
from treadle.cli.typed import read_line
from treadle.engine.setup import Answer, Approval
from treadle.guard.visible import visible

QUESTION = "Did it happen? [y]es (y WHAT tells the model what came of it), [n]o, [a]gain runs it once more, [l]ater:"
WAYS = (
    ("It happened", "happened [--words TEXT]"),
    ("It did not", "not-happened"),
    ("Try it again", "again"),
)


def show_unclear(screen: Screen, approval: Approval) -> None:
    """The whole call, and since when nobody knows of it."""
    began = f"Since {when(approval.began_at)} nobody knows" if approval.began_at else "Nobody knows"
    screen.tell(f"{began} what became of {visible(approval.name)} with {card(approval.arguments)}", "yellow")


async def what_became(screen: Screen, by: str) -> Answer:
    """Ask until there is an answer; one without a word about it leaves the question open."""
    while True:
        screen.ask(QUESTION)
        said, _, words = (await read_line("later")).strip().partition(" ")
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


def tell_unclear(screen: Screen, approvals: Sequence[Approval], resume: str) -> None:
    """Which calls a person has to settle, and how."""
    what = counted(len(approvals), "call")
    screen.tell(f"The run waits for a person to say what became of {what} that ran when a process ended:", "yellow")
    for approval in approvals:
        show_one(screen, approval)
    screen.tell(f"Then:       {resume}")


def show_one(screen: Screen, approval: Approval) -> None:
    """One such call, with all its arguments, and what can be said of it."""
    began = f", begun {when(approval.began_at)}" if approval.began_at else ""
    screen.tell(f"  {clean(approval.call_id)}: {visible(approval.name)} {visible(to_json(approval.arguments))}{began}")
    screen.tell(f"    {visible(approval.reason)}", "dim")
    call = shlex.join([clean(approval.run_id), clean(approval.call_id)])
    for words, way in WAYS:
        screen.tell(f"    {words + ':':<14}treadle settle {call} {way}")
