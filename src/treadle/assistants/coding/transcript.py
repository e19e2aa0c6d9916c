"""Transcript of a run for the debug plan: the task, and every call with its result. Pure."""

from typing import Any

import msgspec
from msgspec import Struct

from treadle import Call, History, Result
from treadle.plans import load_plan_state
from treadle.workspace import CheckOutcome, FileLines

_MAX_REFUSALS = 5  # of one file, before it is left as it is


class TranscriptStep(Struct, frozen=True):
    """A call and its result: as text, and as data."""

    name: str
    arguments: dict[str, object]
    content: str
    failed: bool
    data: Any = None

    @property
    def path(self) -> str:
        """The file it was about, if any."""
        return str(self.arguments.get("path", ""))

    @property
    def tests(self) -> CheckOutcome | None:
        """The outcome of tests; None if none were run."""
        return msgspec.convert(self.data, CheckOutcome) if self.name == "run_tests" and self.data is not None else None

    @property
    def passed(self) -> bool:
        """Whether tests were run and passed."""
        return self.tests is not None and self.tests.state == "passed"

    @property
    def whole_file(self) -> str | None:
        """The text of a file that was read from its first line to its last; None for anything else."""
        lines = msgspec.convert(self.data, FileLines) if self.name == "read_file" and self.data is not None else None
        if lines is None or lines.start != 1 or lines.end < lines.total:
            return None
        return lines.text if lines.text.endswith("\n") or not lines.text else f"{lines.text}\n"


class Transcript(Struct, frozen=True):
    """The task, and the calls made for it."""

    task: str
    steps: tuple[TranscriptStep, ...]
    state: Any = None  # of the plan, with its last step in this turn that had one
    turn: int = 0

    def last(self, *names: str) -> TranscriptStep | None:
        """Return the last call of one of these tools."""
        return next((step for step in reversed(self.steps) if step.name in names), None)

    def source(self, path: str) -> str | None:
        """Return a file as it was when it was first read, before any change; None if it wasn't, or can't be."""
        read = next((step for step in self.steps if step.name == "read_file" and step.path == path and not step.failed), None)
        return None if read is None else read.whole_file

    def was_read(self, path: str) -> bool:
        """Return whether reading the file was tried."""
        return any(step.name == "read_file" and step.path == path for step in self.steps)

    @property
    def first_tests(self) -> TranscriptStep | None:
        """The tests before anything was changed."""
        return next((step for step in self.steps if step.name == "run_tests"), None)

    def steps_before_change(self, but: str = "") -> tuple[TranscriptStep, ...]:
        """Return the calls before the first change of a file other than this one."""
        changes = (at for at, step in enumerate(self.steps) if step.name == "write_file" and step.path != but and not step.failed)
        return self.steps[: next(changes, len(self.steps))]

    @property
    def refused_write(self) -> str:
        """The file of a write that failed, unless it was read since, or is refused again and again: as after a restart."""
        refused = [(at, step.path) for at, step in enumerate(self.steps) if step.name == "write_file" and step.failed]
        at, path = refused[-1] if refused else (0, "")
        was_read = any(step.name == "read_file" and step.path == path for step in self.steps[at:])
        return "" if was_read or [each for _, each in refused].count(path) > _MAX_REFUSALS else path

    def tries(self, path: str) -> list[tuple[str, TranscriptStep | None]]:
        """Return what was written to a file, and the tests after each."""
        found: list[tuple[str, TranscriptStep | None]] = []
        for index, step in enumerate(self.steps):
            if step.name == "write_file" and step.path == path and not step.failed:
                after = next((later for later in self.steps[index:] if later.name == "run_tests"), None)
                found.append((str(step.arguments.get("content", "")), after))
        return found


def transcript_of(history: History) -> Transcript:
    """Return the transcript of a message history."""
    asked: dict[str, Call] = {}
    steps: list[TranscriptStep] = []
    task = ""
    begins = [index for index, message in enumerate(history) if message.role == "person"]
    for message in history:
        task = task or (message.text if message.role == "person" else "")
        for part in message.parts:
            if isinstance(part, Call):
                asked[part.id] = part
            elif isinstance(part, Result) and part.call_id in asked:
                call = asked[part.call_id]
                steps.append(TranscriptStep(call.name, call.arguments, part.content, part.problem is not None, part.data))
    this_turn = list(history)[begins[-1] :] if begins else []
    return Transcript(task, tuple(steps), load_plan_state(this_turn), max(0, len(begins) - 1))
