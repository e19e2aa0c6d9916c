"""What has happened in a run so far, as a plan looks at it: the task, and every call with what came back. Pure."""

import re

from msgspec import Struct

from treadle import Call, History, Result

_NUMBER = re.compile(r"^\d+\|", re.MULTILINE)
_NOTE = re.compile(r"\n\[[^\n]*\]\s*\Z")


class Step(Struct, frozen=True):
    """A call, and what came back."""

    name: str
    arguments: dict[str, object]
    content: str
    failed: bool

    @property
    def path(self) -> str:
        """The file it was about, if one."""
        return str(self.arguments.get("path", ""))


class Story(Struct, frozen=True):
    """The task, and what was done about it."""

    task: str
    steps: tuple[Step, ...]
    said: tuple[str, ...] = ()  # by the model, before its calls

    def last(self, *names: str) -> Step | None:
        """The last call of one of these tools."""
        return next((step for step in reversed(self.steps) if step.name in names), None)

    def source(self, path: str) -> str | None:
        """A file as it was when it was first read, before anything was done to it; None where it wasn't, or can't be."""
        read = next((step for step in self.steps if step.name == "read_file" and step.path == path and not step.failed), None)
        return None if read is None else unnumbered(read.content)

    def was_read(self, path: str) -> bool:
        """Whether somebody tried to read it."""
        return any(step.name == "read_file" and step.path == path for step in self.steps)

    def tries(self, path: str) -> list[tuple[str, str]]:
        """What was written to a file, and what the tests said after each."""
        found: list[tuple[str, str]] = []
        for index, step in enumerate(self.steps):
            if step.name == "write_file" and step.path == path and not step.failed:
                after = next((later.content for later in self.steps[index:] if later.name == "run_tests"), "")
                found.append((str(step.arguments.get("content", "")), after))
        return found


def story_of(history: History) -> Story:
    """The story that a history tells."""
    asked: dict[str, Call] = {}
    steps: list[Step] = []
    task = ""
    for message in history:
        task = task or (message.text if message.role == "person" else "")
        for part in message.parts:
            if isinstance(part, Call):
                asked[part.id] = part
            elif isinstance(part, Result) and part.call_id in asked:
                call = asked[part.call_id]
                steps.append(Step(call.name, call.arguments, part.content, part.problem is not None))
    return Story(task, tuple(steps), tuple([message.text for message in history if message.role == "model"]))


def unnumbered(lines: str) -> str:
    """The text of a file from what was shown of it."""
    text = _NUMBER.sub("", _NOTE.sub("", lines))
    return text if text.endswith("\n") else f"{text}\n"
