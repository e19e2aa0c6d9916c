"""One session of an editor: a durable run of an assistant in a folder. A prompt is a turn of it, which the client can cancel."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, NoReturn

from acp.exceptions import RequestError
from acp.helpers import update_available_commands, update_current_mode
from acp.interfaces import Client
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    PromptResponse,
    SessionMode,
    SessionModeState,
    StopReason,
    UnstructuredCommandInput,
    Usage,
)
from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.agent.session import AssistantSession, caller_arguments
from treadle.core.entries import Entry
from treadle.core.errors import RunNotFound
from treadle.core.media import Prompt
from treadle.core.seams import Toolset
from treadle.engine.engine import new_run_id
from treadle.engine.result import RunResult
from treadle.engine.setup import Answer, Approval
from treadle.files.workspace import Workspace
from treadle.guard.redaction import Redactor
from treadle.loop.state import replay
from treadle.plugins.assistant import Assistant, Host
from treadle.plugins.editor_session import SessionCommand, SessionCommandResult
from treadle.server.acp.permissions import REJECT, REJECTED, answer_from_option, permission_call, permission_options
from treadle.server.acp.prompt import ContentBlock, prompt_from_blocks, text_of_prompt
from treadle.server.acp.session_client import SessionClient
from treadle.server.acp.tool_calls import CallPresenter
from treadle.server.acp.updates import SessionUpdates, ShownCalls
from treadle.server.runs.journals import read_journals, read_run_entries
from treadle.server.runs.replay import events_from_journal

EDITOR_USER = "The user in the editor"
NOT_ASKED = "The editor could not ask the user."
COMPACTED = "The model reads a summary of the conversation from now on. The journal keeps all of it."
NOT_SENT = "Your message was not sent: the turn before it isn't over."
BUSY = "A turn of this session is running: wait until it ends, or cancel it first."
INVALID_REQUEST, INTERNAL_ERROR = -32600, -32603
TOKEN_LIMITS = frozenset(("tokens", "cost"))


class AcpSession:
    """A session with one client. Its id is that of its run, unless the assistant stores conversations itself.

    entries   those of its run so far
    toolsets  further tools: those of MCP servers that the client names
    redactor  masks the secrets of their settings
    """

    def __init__(
        self,
        client: Client,
        assistant: Assistant,
        host: Host,
        workspace: Workspace,
        *,
        session_id: str = "",
        entries: Sequence[Entry] = (),
        toolsets: Sequence[Toolset] = (),
        redactor: Redactor | None = None,
    ) -> None:
        self.id = session_id or new_run_id()
        self.workspace = workspace
        self._client = SessionClient(client, self.id)
        host = replace(host, approver=self._ask_user)
        self._own = None if assistant.session is None else assistant.session(host, self._on_mode, entries, self.id)
        self._session = AssistantSession(assistant if self._own is None else self._own.assistant, host)
        self._toolsets = toolsets
        self._redactor = redactor
        self._stack = AsyncExitStack()
        self._run_id = self.id
        self._turns = 0  # of this process
        self._notes: list[str] = []  # for the model, with the next message
        self._agent: Agent[Any, Any] | None = None
        self._calls = CallPresenter(workspace, lambda: () if self._agent is None else self._agent.setup.toolset.tools())
        self._shown = ShownCalls()
        self._updates: SessionUpdates | None = None  # of the running turn
        self._turn: asyncio.Task[RunResult[Any] | None] | None = None
        self._cancelling: asyncio.Task[None] | None = None  # kept, or it might be collected before it is over

    async def build_agent(self) -> None:
        """Build the agent, so that what is missing is reported when the session is opened."""
        model = await self._session.host.model()
        more = {} if self._redactor is None else {"redactor": self._redactor}
        self._agent = self._session.agent(model, toolsets=self._toolsets, priced=True, **more)

    def keep(self, stack: AsyncExitStack) -> None:
        """Keep what is open for as long as the session is in use: `release` closes it."""
        self._stack = stack

    async def close(self) -> None:
        """Interrupt the turn, which goes on when the session is loaded, and send no more updates."""
        await self._stop(interrupt=True)
        await self._client.close()
        if self._own is not None:
            await self._own.close()

    async def release(self) -> None:
        """Close the session, and what is open with it."""
        await self._stack.aclose()

    @property
    def agent(self) -> Agent[Any, Any]:
        """The agent of the session."""
        assert self._agent is not None, "a session is opened first"
        return self._agent

    # modes and commands

    @property
    def modes(self) -> SessionModeState | None:
        """The modes of the session; None for an assistant without modes."""
        if self._own is None:
            return None
        known = [SessionMode(id=mode.name, name=mode.title, description=mode.summary) for mode in self._own.modes]
        return SessionModeState(current_mode_id=self._own.mode, available_modes=known)

    def switch(self, mode_id: str) -> None:
        """Switch to a mode, also during a turn: the next call is judged by it. Raises `SettingsError` where there is none."""
        if self._own is None:
            raise RequestError(INVALID_REQUEST, f"The assistant {self._session.assistant.name} has no modes.")
        self._own.switch(mode_id)

    def _on_mode(self, mode_id: str) -> None:
        self._client.send(update_current_mode(mode_id))

    def announce_commands(self) -> None:
        """Send which slash commands there are."""
        known = [
            AvailableCommand(
                name=name,
                description=command.summary,
                input=AvailableCommandInput(UnstructuredCommandInput(hint=command.takes)) if command.takes else None,
            )
            for name, command in self._commands().items()
        ]
        if known:
            self._client.send(update_available_commands(known))

    def _commands(self) -> dict[str, SessionCommand]:
        compact = SessionCommand("replace the conversation so far with a summary", self._compact)
        common = {} if self._session.has_own_history else {"compact": compact}
        return common if self._own is None else {**common, **self._own.commands(self._run_id)}

    async def _compact(self, _: str) -> SessionCommandResult:
        with suppress(RunNotFound):
            if await self.agent.compact(self._run_id, journal=self._session.host.home.services()):
                return SessionCommandResult(COMPACTED)
        return SessionCommandResult("There is too little to compact.")

    # a turn

    async def prompt(self, blocks: Sequence[ContentBlock]) -> PromptResponse:
        """Run a turn; return how it ended once all its updates are sent. Where this is cancelled, the turn is interrupted."""
        if self._turn is not None:
            raise RequestError(INVALID_REQUEST, BUSY)
        message = prompt_from_blocks(blocks, self.workspace, self.agent.setup.model.traits)
        self._turn = turn = asyncio.create_task(self._take_turn(message))
        try:
            await asyncio.wait([turn])
            await self._client.flush()
        except asyncio.CancelledError:
            await self._stop(interrupt=True)
            raise
        finally:
            self._turn = self._updates = None
        if turn.cancelled():  # before there was a run
            return PromptResponse(stop_reason="cancelled")
        result = turn.result()
        return PromptResponse(stop_reason="end_turn") if result is None else to_response(result)

    async def cancel(self) -> None:
        """Cancel the turn: its calls end as cancelled, and so does the question that the user is asked."""
        await self._stop(interrupt=False)

    async def _stop(self, *, interrupt: bool) -> None:
        turn = self._turn
        if turn is None or turn.done():
            return
        stop = self.agent.interrupt if interrupt else self.agent.cancel
        if not await stop(self._run_id):
            turn.cancel()
        await asyncio.wait([turn])

    async def _take_turn(self, message: Prompt) -> RunResult[Any] | None:
        """Run a slash command, or a turn; one that a killed process has left in the middle goes on first."""
        if isinstance(message, str) and (command := self._find_command(message)) is not None:
            told = await command.run(message.partition(" ")[2].strip())
            self._notes += [told.note] if told.note else []
            if told.shown:
                self._make_updates().say(told.shown)
            if not told.message:
                return None
            message = told.message
        how: dict[str, Any] = {"journal": self._session.host.home.services(), **caller_arguments(await self._session.caller())}
        if await self._is_unfinished():
            result = await self._run_with_updates(
                lambda watchers: self.agent.resume(self._run_id, watchers=watchers, **how), resumes=True
            )
            if result.stopped in ("waiting", "cancelled", "failed"):
                self._make_updates().say(NOT_SENT)
                return result
        history: Sequence[Any] = ()
        if self._session.has_own_history:
            self._run_id = new_run_id() if self._turns else self._run_id
            history = await self._session.begin(self._run_id, text_of_prompt(message))
        self._turns += 1
        message = self._add_notes(message)
        origin = self._session.host.remember(dict(self._session.host.about if self._own is None else self._own.about))
        return await self._run_with_updates(
            lambda watchers: self.agent.run(message, run_id=self._run_id, history=history, watchers=watchers, origin=origin, **how)
        )

    async def _run_with_updates(
        self, work: Callable[[tuple[Any, ...]], Awaitable[RunResult[Any]]], *, resumes: bool = False
    ) -> RunResult[Any]:
        """Run a turn whose events are sent as updates, and send what no model has streamed of its answer."""
        updates = self._updates = self._make_updates()
        async with self._session.observe_turn(self.agent, self._run_id, resumes=resumes) as counting:
            result = await work((updates, *counting))
        if (
            result.stopped in ("answered", "limit", "waiting")
            and (said := result.message.strip())
            and said != updates.words.strip()
        ):
            updates.say(said)
        if result.stopped == "limit" and result.reason:
            updates.say(result.reason)
        return result

    def _make_updates(self, *, is_live: bool = True) -> SessionUpdates:
        output, traits = self.agent.setup.output, self.agent.setup.model.traits
        held = is_live and output is not None and output.grounded  # such an answer is shown once it is checked
        more: dict[str, Any] = {} if self._own is None else {"tasks": self._own.tasks}
        return SessionUpdates(
            self._client.send, self._calls, window=traits.context, holds_text=held, is_live=is_live, shown=self._shown, **more
        )

    def _add_notes(self, message: Prompt) -> Prompt:
        """Return a message with what the model has to know of commands and modes since the last one."""
        told = [*self._notes, "" if self._own is None else self._own.take_note()]
        notes, self._notes = "".join([f"\n\n{note}" for note in told if note]), []
        if not notes:
            return message
        return f"{message}{notes}" if isinstance(message, str) else [*message, notes]

    def _find_command(self, message: str) -> SessionCommand | None:
        return self._commands().get(message[1:].split(" ", 1)[0].strip()) if message.startswith("/") else None

    async def _is_unfinished(self) -> bool:
        """Whether a process that was killed or disconnected has left the turn in the middle, or waiting for an answer."""
        if self._session.has_own_history:
            return False
        try:
            finished = replay(await read_run_entries(self._session.host.home, self._run_id)).finished
        except RunNotFound:  # nothing was said yet
            return False
        return finished is None or finished.interrupted or finished.stopped == "waiting"

    # the user

    async def _ask_user(self, approval: Approval) -> Answer:
        """Ask for a permission. Where the turn ends instead, this waits to be cancelled with it, and nothing is answered."""
        by = (await self._session.caller()).user or EDITOR_USER
        updates = self._updates
        number = approval.call_id if updates is None else updates.call_id(approval.run_id, approval.call_id)
        is_plan = self._own is not None and self._own.is_plan(approval)
        choices = {} if self._own is None else {choice.key: choice for choice in self._own.choices(approval)}
        options = permission_options(approval, list(choices.values()), is_plan=is_plan)
        refusal = REJECTED
        try:
            chosen = await self._client.request_permission(permission_call(approval, number, self._calls), options)
        except RequestError:
            chosen, refusal = REJECT, NOT_ASKED
        except ConnectionError:
            await _wait_for_end()  # the turn is interrupted, and the question is asked again when it goes on
        if chosen is None:
            self._cancelling = asyncio.create_task(self.cancel())
            await _wait_for_end()
        if chosen in choices:
            choices[chosen].choose()
            return Answer(True, by)
        answer = answer_from_option(approval, chosen, by, refusal)
        if updates is not None and not answer.approved and answer.settled is None:
            updates.fail(number, answer.reason)
        return answer

    # what was said before

    async def send_history(self) -> None:
        """Send the whole conversation as updates, from its journal."""
        journals = await read_journals(self._session.host.home, self._run_id)
        updates = self._make_updates(is_live=False)
        for event in events_from_journal(self._run_id, journals):
            updates(event)
        await self._client.flush()


async def _wait_for_end() -> NoReturn:
    """Wait to be cancelled with the turn."""
    await asyncio.Event().wait()
    raise AssertionError("it is never set")


def to_response(result: RunResult[Any]) -> PromptResponse:
    """Return how a turn ended. Raises `RequestError` where it failed, with the reason."""
    if result.stopped == "failed":
        raise RequestError(INTERNAL_ERROR, result.reason)
    used = result.usage
    usage = Usage(
        total_tokens=used.total_tokens,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_read_tokens=used.cache_read_tokens,
        cached_write_tokens=used.cache_write_tokens,
    )
    return PromptResponse(stop_reason=_stop_reason(result), usage=usage)


def _stop_reason(result: RunResult[Any]) -> StopReason:
    match result.stopped:
        case "cancelled":
            return "cancelled"
        case "limit":
            return "max_tokens" if result.limit in TOKEN_LIMITS else "max_turn_requests"
        case _:
            return "max_tokens" if result.truncated else "end_turn"
