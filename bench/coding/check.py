"""Whether the tasks are what they should be: the tests of each, shown and hidden, before and after its published fix."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from bench.coding.judge import Came, by_hidden, by_shown
from bench.coding.tasks import LEFT_OUT, Task, published

TOGETHER = 2  # tasks at once


class Row(Struct, frozen=True):
    """The result of one task's tests: those shown before and after the fix, then all of them."""

    task: Task
    shown: tuple[Came, Came]
    hidden: tuple[Came, Came]

    @property
    def why_not(self) -> str:
        """Why the task has to be left out; nothing where it is good."""
        match self:
            case Row(task=Task(shown=shown, checks=checks)) if shown == checks:
                return "bare"
            case Row(shown=("hangs", _)) | Row(hidden=("hangs", _)):
                return "hangs"
            case Row(shown=(_, "fails" | "hangs")) | Row(hidden=(_, "fails" | "hangs")) | Row(hidden=("passes", _)):
                return "wrong"
            case Row(shown=("passes", _)):
                return "unseen"
            case _:
                return ""


def check(folder: Path) -> int:
    """A table of all tasks; 1 where others are left out than those that have to be."""
    with ThreadPoolExecutor(TOGETHER) as pool:
        rows = list(pool.map(_row, published(folder)))
    strange = [row for row in rows if row.why_not != _left_out(row.task)]
    print("| task | bug | shown | shown: before, after | all: before, after | left out |\n|---|---|--:|---|---|---|")
    for row in rows:
        told = f"{row.task.shown} of {row.task.checks} | {', '.join(row.shown)} | {', '.join(row.hidden)} | {row.why_not}"
        print(f"| {row.task.name} | {row.task.about} | {told} |")
    counts = Counter(row.why_not or "good" for row in rows)
    print(f"\n{', '.join(f'{count} {why}' for why, count in counts.most_common())}.")
    for row in strange:
        print(f"{row.task.name}: {row.why_not or 'good'!r}, but `LEFT_OUT` has {_left_out(row.task) or 'nothing'!r} for it.")
    return bool(strange)


def _left_out(task: Task) -> str:
    return next((why for why, numbers in LEFT_OUT.items() if task.number in numbers), "")


def _row(task: Task) -> Row:
    return Row(
        task,
        (by_shown(task, task.buggy), by_shown(task, task.fixed)),
        (by_hidden(task, task.buggy), by_hidden(task, task.fixed)),
    )
