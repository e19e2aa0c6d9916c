"""A coding session in an editor: the session of `treadle code`, with its modes, tasks and commands as values (`EditorSession`)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from treadle import Approval, Call
from treadle.assistant import ApprovalChoice, Assistant, Host, SessionCommand, SessionCommandResult, SessionMode, SessionTask
from treadle.assistants.coding import assistant as coding
from treadle.assistants.coding import prompts
from treadle.assistants.coding.inputs import truncate_middle
from treadle.assistants.coding.modes import MODES, PROPOSE_PLAN, Mode, parse_mode
from treadle.assistants.coding.session import UPDATE_TASKS, CodingSession, Task
from treadle.assistants.coding.session_changes import ChangedSince, find_mode
from treadle.assistants.coding.undo import UNDO_VERBS
from treadle.errors import SettingsError
from treadle.journal import Entry
from treadle.workspace import review_diff

MAX_DIFF = 60_000  # characters
_STATUS: dict[str, Literal["pending", "in_progress", "completed"]] = {
    "pending": "pending",
    "active": "in_progress",
    "done": "completed",
}


def open_editor_session(
    host: Host, on_mode: Callable[[str], object], entries: Sequence[Entry], run_id: str
) -> "CodingEditorSession":
    """Return the session, in the mode that its run was in. Its symbol index is built in the background until it is closed."""
    opened = CodingEditorSession(host, on_mode, find_mode(host.home.folder, run_id, entries) or "ask")
    if entries:
        opened.keep_mode(run_id)
    opened.start()
    return opened


class CodingEditorSession:
    """One session. `on_mode` is called with the name of each new mode."""

    def __init__(self, host: Host, on_mode: Callable[[str], object], mode: Mode) -> None:
        self._session = CodingSession(coding, host, mode)
        self._session.state.on_switch = on_mode

    def keep_mode(self, run_id: str) -> None:
        """Store the mode with its run from now on."""
        self._session.keep_mode(run_id)

    def start(self) -> None:
        """Start what runs in the background."""
        self._session.start()

    async def close(self) -> None:
        """Stop what runs in the background."""
        await self._session.close()

    @property
    def assistant(self) -> Assistant:
        """The assistant with the policy, the tools and the instructions of the session."""
        return self._session.assistant

    @property
    def about(self) -> Mapping[str, Any]:
        """The context of the run: `treadle code --continue` and `treadle resume` go on with it."""
        return {"mode": self.mode}

    @property
    def modes(self) -> Sequence[SessionMode]:
        """All modes."""
        return [SessionMode(each.name, each.title, each.summary) for each in MODES.values()]

    @property
    def mode(self) -> Mode:
        """The current mode."""
        return self._session.state.mode

    def switch(self, name: str) -> None:
        """Switch to a mode."""
        self._session.state.switch(parse_mode(name))

    def take_note(self) -> str:
        """Return which mode the session is in now, where the model doesn't know it yet."""
        return self._session.take_mode_note()

    def tasks(self, call: Call) -> Sequence[SessionTask] | None:
        """Return the task list that a call of `update_tasks` sets."""
        if call.name != UPDATE_TASKS:
            return None
        try:
            tasks = msgspec.convert(call.arguments.get("tasks"), list[Task])
        except msgspec.ValidationError:  # another tool of that name
            return None
        return [SessionTask(task.title, _STATUS[task.state]) for task in tasks]

    def is_plan(self, approval: Approval) -> bool:
        """Whether the user is asked to approve a plan."""
        return approval.name == PROPOSE_PLAN

    def choices(self, approval: Approval) -> Sequence[ApprovalChoice]:
        """Return the answers that accept edits from now on."""
        state = self._session.state

        def carry_out() -> None:
            state.after_plan = "accept-edits"

        choices = (
            ApprovalChoice("edits", "Accept edits in this session", self._accepts, lambda: state.switch("accept-edits")),
            ApprovalChoice("plan", "Approve the plan and accept its edits", self.is_plan, carry_out),
        )
        return [choice for choice in choices if choice.applies(approval)]

    def _accepts(self, approval: Approval) -> bool:
        return self.mode == "ask" and self._session.accepts(approval.name)

    # commands

    def commands(self, run_id: str) -> Mapping[str, SessionCommand]:
        """Return what can be typed besides messages."""
        return {
            "diff": SessionCommand("show what this session has changed", lambda _: self._show_diff(run_id)),
            "undo": SessionCommand(
                "undo the last change of a file, or the last N, or all", lambda text: self._undo(run_id, text), "N"
            ),
            "review": SessionCommand("have uncommitted changes reviewed", lambda text: self._review(run_id, text), "focus"),
        }

    async def _show_diff(self, run_id: str) -> SessionCommandResult:
        diff = await self._session.changes(run_id).diff()
        return SessionCommandResult(
            f"```diff\n{truncate_middle(diff, MAX_DIFF)}\n```" if diff else "This session has changed nothing."
        )

    async def _undo(self, run_id: str, text: str) -> SessionCommandResult:
        if text and text != "all" and not (text.isdecimal() and int(text)):
            raise SettingsError("/undo takes how many changes to undo, or `all`.")
        changes = self._session.changes(run_id)
        try:
            with self._session.lock_folder():
                undone = await changes.undo(len(changes.load()) if text == "all" else int(text or 1))
        except ChangedSince as changed:
            names = ", ".join(changed.paths)
            raise SettingsError(
                f"{names} changed after that, so it isn't undone. Save your own changes elsewhere first."
            ) from changed
        restored = [(UNDO_VERBS[change.kind], change.path) for each in undone for change in each.restored]
        if not restored:
            return SessionCommandResult("There is nothing to undo.")
        files = ", ".join(dict.fromkeys([path for _, path in restored]))
        return SessionCommandResult(
            "\n".join([f"- {verb}: {path}" for verb, path in restored]),
            note=f"The user undid your last changes of {files}: read them again before you change them.",
        )

    async def _review(self, run_id: str, text: str) -> SessionCommandResult:
        session = self._session
        diff = await session.changes(run_id).diff()
        if (session.folder / ".git").exists():
            diff = await review_diff(session.folder, unsafe=not session.is_sandboxed) or diff
        if not diff.strip():
            return SessionCommandResult("There is nothing to review.")
        asked = prompts.format_review_prompt(text, truncate_middle(diff, MAX_DIFF), "", "")
        return SessionCommandResult(message=f"{prompts.SESSION_REVIEW}\n\n{asked}")
