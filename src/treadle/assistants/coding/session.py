"""A coding session: the assistant in one folder, in a permission mode, with its changes, its task list and its plan.

It has no user interface. `treadle code` and editors show it through `SessionView`, and hold conversations with
`AssistantSession(coding.assistant, host)`; each run keeps its changes by its id, whichever process goes on with it.
"""

from asyncio import to_thread
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from types import TracebackType
from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from treadle import Call, Limits, Preview, Result, RunContext, Tool, ToolProblem, ToolResult, Toolset, TreadleError, tool
from treadle.assistant import Assistant, Host, Jobs, settings_for
from treadle.assistants.coding.agreed_checks import CHECK_CALL, ask_in_run, find_check, save_agreed_check
from treadle.assistants.coding.modes import MODES, PROPOSE_PLAN, SESSION_TOOLSET, Mode, ModePolicy, ModeState
from treadle.assistants.coding.project_symbols import ProjectSymbols
from treadle.assistants.coding.prompts import SESSION, format_project_facts
from treadle.assistants.coding.session_changes import SessionChanges, load_mode, save_mode
from treadle.assistants.coding.tools import bounds_of, make_coding_toolset
from treadle.toolsets import FunctionToolset, MappedToolset, WrapperToolset
from treadle.workspace import ToolChange, checkpointed, shell_tools

UPDATE_TASKS = "update_tasks"
MAX_ROUNDS = 100  # of one turn: a session is watched, and can be interrupted
_SHELL = "run_command"


class Task(Struct, frozen=True):
    """A task of the list that the model keeps for the user."""

    title: str
    state: Literal["pending", "active", "done"] = "pending"


class SessionView(Protocol):
    """Shows what happens in a session besides the events of its run."""

    def show_diff(self, diff: str) -> None:
        """Show what a call changed, if the user hasn't seen it already to approve it."""
        ...

    def show_tasks(self, tasks: Sequence[Task]) -> None:
        """Show the task list."""
        ...

    def show_mode(self, mode: Mode) -> None:
        """Show the mode that applies from now on."""
        ...


class CodingSession:
    """One user's session in the host's folder.

    `check` is the command that checks the work where there are no tests.
    `goes_on` says that `mode` is the one a run started with: a later turn is in the mode that is stored with the run.
    """

    def __init__(
        self,
        base: Assistant,
        host: Host,
        mode: Mode = "ask",
        view: SessionView | None = None,
        *,
        goes_on: bool = False,
        check: str = "",
    ) -> None:
        self.folder = host.workspace
        self.state = ModeState(mode, None if view is None else view.show_mode)
        self.tasks: tuple[Task, ...] = ()
        self._known_mode = mode  # as far as the model knows
        self._goes_on = goes_on
        self._run_id = ""  # that the mode is stored with
        self._first_instructions = MODES[mode].instructions
        self._host = host
        self._view = view
        self._settings = settings_for(self.folder)
        commands = self._settings.commands
        self.is_sandboxed = commands.sandbox
        self.is_confined = commands.sandbox and not commands.network
        has_tools = commands.sandbox or not host.shared  # what the owner allows themselves they don't allow others
        self.symbols = ProjectSymbols(self.folder, host.home.folder)
        self._coding = _SessionToolset(self._make_coding_tools(host, check), self) if has_tools else None
        self._own = MappedToolset(
            FunctionToolset([tool(self.update_tasks, effect="read"), self._make_plan_tool()], SESSION_TOOLSET),
            lambda each: replace(each, grantable=each.name != PROPOSE_PLAN),  # each plan is approved by itself
        )
        self._unoffered = MappedToolset(
            FunctionToolset([tool(self.agree_check, name=CHECK_CALL, retry="idempotent")], SESSION_TOOLSET),
            lambda each: replace(each, offered=False, grantable=False),  # the answer is remembered for the folder
        )
        self.assistant = replace(base, configure=None, **self.configure())

    def _make_coding_tools(self, host: Host, check: str) -> Toolset:
        return make_coding_toolset(
            "build",
            self.folder,
            self._settings,
            flat=True,
            background=True,
            symbols=self.symbols,
            ask_check=partial(self._choose_check, named=check),
            diagnostics=host.settings.assistant("coding").diagnostics,
        )

    def start(self) -> None:
        """Build the symbol index in the background, for a session that stays open; `close` ends it."""
        if self._host.settings.assistant("coding").index:
            self.symbols.start()

    async def close(self) -> None:
        """Stop what runs in the background."""
        await self.symbols.close()

    def configure(self) -> Mapping[str, Any]:
        """Return what makes the assistant this session's: policy, tools, instructions and limits."""
        return {
            "policy": ModePolicy(self.state, confined=self.is_confined),
            "toolsets": self._make_toolsets,
            "instructions": self._build_instructions,
            "limits": Limits(rounds=MAX_ROUNDS),
            "parts": {"priced": True},
        }

    def _make_toolsets(self, _: Host) -> Sequence[Toolset]:
        return (self._own,) if self._coding is None else (self._coding, self._own, self._unoffered)

    def _build_instructions(self, context: RunContext[Any]) -> str:
        if self._goes_on and load_mode(self._host.home.folder, context.run_id) is None:  # such as in a fork of a session
            for mode in _approved_modes(context):
                self.state.switch(mode)
        if not self._goes_on and self._run_id not in ("", context.run_id):  # another conversation, after /new
            self._first_instructions, self._known_mode = self.state.instructions, self.state.mode
        self.keep_mode(context.run_id)
        project = self._settings.project
        about = format_project_facts(tuple(project.facts), project.instructions)
        return "\n\n".join(filter(None, (SESSION, self._first_instructions, about)))

    def keep_mode(self, run_id: str) -> None:
        """Store the mode with a run from now on, for another process that goes on with it or switches it."""
        if run_id == self._run_id:
            return
        self._run_id, home = run_id, self._host.home.folder
        stored = load_mode(home, run_id)
        if self._goes_on and stored is not None:
            self.state.switch(stored)
        elif stored != self.state.mode:
            save_mode(home, run_id, self.state.mode)
        self.state.load, self.state.store = partial(load_mode, home, run_id), partial(save_mode, home, run_id)

    def start_afresh(self) -> None:
        """Begin another conversation in the mode that this one is in. From now on, a switch is about the new one."""
        self._run_id, self._goes_on = "", False
        self.state.load, self.state.store = lambda: None, lambda _: None
        self._first_instructions, self._known_mode = self.state.instructions, self.state.mode
        self.tasks = ()

    def go_on_with(self, run_id: str, mode: Mode) -> None:
        """Go on with another conversation, in the mode that it was left in. The one before keeps its own."""
        if run_id == self._run_id:
            return
        self.state.store = lambda _: None
        self.state.switch(mode)
        self._first_instructions, self._known_mode = self.state.instructions, mode
        self.keep_mode(run_id)

    def take_mode_note(self) -> str:
        """Return what the next message has to tell the model of a mode that was switched since; empty where it knows the mode.

        The instructions stay as they are: a provider's cache of the conversation begins with them. Before the first message, they
        are what says it.
        """
        if self._known_mode == self.state.mode:
            return ""
        self._known_mode = self.state.mode
        if not (self._run_id or self._goes_on):
            self._first_instructions = self.state.instructions
            return ""
        return f"The session is in the mode {self.state.mode} now. {self.state.instructions}"

    def accepts(self, name: str) -> bool:
        """Return whether the mode `accept-edits` lets calls of a tool run."""
        found = next((each for each in self._tools() if each.name == name), None)
        if found is None or found.effect == "read":
            return False
        return found.toolset == "workspace" or (found.toolset == "shell" and self.is_confined)

    def _tools(self) -> Sequence[Tool]:
        return () if self._coding is None else self._coding.tools()

    # changes

    def lock_folder(self) -> AbstractContextManager[None]:
        """Return a lock on the folder while it is changed. Raises `JobTaken` while a job changes it in place."""
        return Jobs(self._host.home.folder).along_in(str(self.folder))

    def changes(self, run_id: str) -> SessionChanges:
        """Return the changes of a run of this session."""
        return SessionChanges(self.folder, self._host.home.folder, run_id)

    async def note_change(self, changes: SessionChanges, change: ToolChange) -> None:
        """Record a change, and show it if the user hasn't approved it with its diff."""
        changes.record(change)
        if self._view is not None and change.paths and not change.previewed:
            self._view.show_diff(await changes.checkpoints.diff(change.before, change.after, change.paths))

    async def run_shell_line(self, line: str) -> str:
        """Run a command of the user's own in the sandbox, and return how it ended with its output."""
        commands = self._settings.commands
        shell = shell_tools(
            self.folder, flat=True, bounds=bounds_of(self._settings), network=commands.network, unsafe=not commands.sandbox
        )
        async with shell:
            return str(await shell.call(Call("", _SHELL, {"command": line}), RunContext()))

    # a check where there are no tests

    async def _choose_check(self, ctx: RunContext[Any], named: str) -> str:
        """Return the command, after asking the user; a piped prompt, which can't be answered, isn't held up by a question."""
        if self._host.approver is None and not self._goes_on:
            return find_check(self._host, self.folder, self._settings, named) or ""
        return await ask_in_run(ctx, self._host, self.folder, self._settings, named)

    async def agree_check(self, command: str) -> str:
        """Check work in this folder with a command from now on. `run_tests` calls it, and the user's approval is the agreement.

        :param command: a command line, whose exit code counts
        """
        save_agreed_check(self._host.home.folder, self.folder, command.strip())
        return command.strip()

    # the model's own tools

    async def update_tasks(self, tasks: list[Task]) -> ToolResult:
        """Keep the list of tasks that the user sees. Give the whole list each time; for work of three steps or more.

        :param tasks: every task with its state: pending, active or done
        """
        self.tasks = tuple(tasks)
        if self._view is not None:
            self._view.show_tasks(self.tasks)
        done = sum(task.state == "done" for task in tasks)
        return ToolResult(f"{done} of {len(tasks)} tasks are done.", {"tasks": list(tasks)})

    async def propose_plan(self, steps: list[str]) -> ToolResult:
        """Ask the user to approve your plan. Only in plan mode; then the plan is carried out.

        :param steps: what will be done, one step each, with the files that it changes
        """
        mode = self._known_mode = self.state.leave_plan()
        words = f"The user approved the plan. {MODES[mode].instructions} Carry the plan out now."
        return ToolResult(words, {"mode": mode, "steps": list(steps)})

    def _make_plan_tool(self) -> Any:
        def preview(steps: list[str]) -> Preview:
            return Preview("\n".join([f"{number}. {step}" for number, step in enumerate(steps, 1)]), covers=("steps",))

        return tool(self.propose_plan, name=PROPOSE_PLAN, retry="idempotent", preview=preview, sequential=True)


def _approved_modes(context: RunContext[Any]) -> list[Mode]:
    """Return the modes that approved plans of the run left plan mode for."""
    results = [part for message in context.history or () for part in message.parts if isinstance(part, Result)]
    return [each.data["mode"] for each in results if each.name == PROPOSE_PLAN and each.data is not None]


class _SessionToolset(WrapperToolset):
    """The coding tools, with a checkpoint before and after each change, which belongs to the run that made it."""

    def __init__(self, inner: Toolset, session: CodingSession) -> None:
        super().__init__(inner)
        self._checked = inner
        self._session = session

    async def for_run(self, context: RunContext[Any]) -> Toolset:
        """Return the tools of one run."""
        changes = self._session.changes(context.run_id)
        kept = checkpointed(self._checked, changes.checkpoints, partial(self._session.note_change, changes))
        return FolderLockToolset(kept, self._session.lock_folder)


class FolderLockToolset(WrapperToolset):
    """Tools that hold a lock on their folder from the first change on until the end of the turn."""

    def __init__(self, inner: Toolset, lock: Callable[[], AbstractContextManager[None]]) -> None:
        super().__init__(inner)
        self._lock = lock
        self._held = ExitStack()
        self._is_held = False

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            self._held.close()
            self._is_held = False

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Make a call, with the folder locked if it may change it. Raises `ToolProblem` if the lock is taken."""
        tool = next((tool for tool in self.tools() if tool.name == call.name), None)
        if not self._is_held and tool is not None and tool.effect_of(call.arguments) != "read":
            try:
                await to_thread(self._held.enter_context, self._lock())
            except TreadleError as taken:
                raise ToolProblem(str(taken)) from taken
            self._is_held = True
        return await super().call(call, context)
