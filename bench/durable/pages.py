"""A page of results, and which of its goals were missed."""

from collections.abc import Sequence

from msgspec import Struct

from bench.machine import describe


class Page(Struct, frozen=True):
    """What was measured, as Markdown, and the goals that it misses."""

    text: str
    missed: tuple[str, ...] = ()


class Goal(Struct, frozen=True):
    """What had to be reached, and what it came to."""

    what: str
    figure: str
    reached: bool


def circumstances() -> str:
    """On what it was measured, and how busy that was."""
    machine = describe()
    busy = f"load {machine.load_average_before:.1f} before"
    return f"{machine.cpu}, {machine.cores} cores, {machine.python}, {machine.date}, {busy}."


def with_goals(parts: Sequence[str], goals: Sequence[Goal]) -> Page:
    """The page, with its goals at the end."""
    lines = [f"- {goal.what}: {'reached' if goal.reached else '**missed**'} ({goal.figure})" for goal in goals]
    text = "\n\n".join([*parts, "## Goals", "\n".join(lines)]) + "\n"
    return Page(text, tuple([f"{goal.what}: {goal.figure}" for goal in goals if not goal.reached]))
