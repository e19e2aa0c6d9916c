"""What an assistant adds to a session in an editor: modes, a task list, plans and slash commands. Values and a protocol."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from treadle.agent.talk import ApprovalChoice
from treadle.core.calls import Call
from treadle.engine.setup import Approval
from treadle.plugins.assistant import Assistant


class SessionMode(Struct, frozen=True):
    """A mode of a session: its name, and for people a title and what it means."""

    name: str
    title: str
    summary: str


class SessionTask(Struct, frozen=True):
    """One item of the task list that a model keeps in a session."""

    text: str
    status: Literal["pending", "in_progress", "completed"] = "pending"


class SessionCommandResult(Struct, frozen=True):
    """The result of a slash command: what the user reads, a message to send, and a note for the model with the next message."""

    shown: str = ""
    message: str = ""
    note: str = ""


class SessionCommand(Struct, frozen=True):
    """A slash command in an editor: what it does, its argument for help, and what runs it with the text after it."""

    summary: str
    run: Callable[[str], Awaitable[SessionCommandResult]]
    takes: str = ""


class EditorSession(Protocol):
    """What an assistant adds to one session in an editor: modes, which decide what runs without asking, tasks and commands."""

    @property
    def assistant(self) -> Assistant:
        """The assistant as this session has it."""
        ...

    @property
    def about(self) -> Mapping[str, Any]:
        """The context that is journaled with the run, so that it is resumed as it is now."""
        ...

    @property
    def modes(self) -> Sequence[SessionMode]:
        """All modes."""
        ...

    @property
    def mode(self) -> str:
        """The name of the current mode."""
        ...

    def switch(self, name: str) -> None:
        """Switch to a mode, also during a turn. Raises `SettingsError` where there is none."""
        ...

    def take_note(self) -> str:
        """Return what the next message has to tell the model, such as a mode that was switched; empty where there is nothing."""
        ...

    def tasks(self, call: Call) -> Sequence[SessionTask] | None:
        """Return the task list that a call sets; None for other calls."""
        ...

    def is_plan(self, approval: Approval) -> bool:
        """Whether the user is asked to approve a plan of the model, which is never allowed in advance."""
        ...

    def choices(self, approval: Approval) -> Sequence[ApprovalChoice]:
        """Return further answers that approve a call."""
        ...

    def commands(self, run_id: str) -> Mapping[str, SessionCommand]:
        """Return the slash commands of a run of the session, by name."""
        ...

    async def close(self) -> None:
        """Release what is open: the editor has closed the session, or disconnected."""
        ...


OnMode = Callable[[str], object]
