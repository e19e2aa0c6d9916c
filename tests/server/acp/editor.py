"""An editor for tests: the SDK's own client, with an agent in this process or with a program, which remembers what it is sent."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp._transport import memory_transport_pair
from acp.client.connection import ClientSideConnection
from acp.helpers import text_block
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

from treadle.core.seams import Model
from treadle.home import close_home, open_home
from treadle.models.scripted import Scripted
from treadle.plugins.assistant import Assistant, Host
from treadle.plugins.assistants import get_assistant
from treadle.server.acp.server import serve_acp

PATIENCE = 60  # seconds

Choice = Callable[[Any], Awaitable[str | None] | str | None]


def first_only(asked: Any) -> Any:
    """Allow the first call of two, and think about the other."""
    call, _ = asked
    return "allow_once" if "1" in str(call.raw_input) else asyncio.Event().wait()


class Editor:
    """The client's side: answers permission requests by `choose`, and remembers updates and requests."""

    def __init__(self, choose: Choice | str | None = "allow_once") -> None:
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[Any] = []
        self.choose = choose
        self.waits: asyncio.Event | None = None  # the user thinks until it is set
        self._asking = asyncio.Condition()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Remember an update."""
        self.updates.append((session_id, update))

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> RequestPermissionResponse:
        """Answer as the user does."""
        self.asked.append((tool_call, options))
        async with self._asking:
            self._asking.notify_all()
        if self.waits is not None:
            await self.waits.wait()
        chosen = self.choose((tool_call, options)) if callable(self.choose) else self.choose
        if isinstance(chosen, Awaitable):
            chosen = await chosen
        outcome = DeniedOutcome(outcome="cancelled") if chosen is None else AllowedOutcome(outcome="selected", option_id=chosen)
        return RequestPermissionResponse(outcome=outcome)

    async def until_asked(self, count: int = 1) -> None:
        """Wait until the user was asked so often."""
        async with self._asking:
            await self._asking.wait_for(lambda: len(self.asked) >= count)

    def on_connect(self, conn: Any) -> None:
        """Do nothing."""

    # what was seen

    def of(self, kind: str) -> list[Any]:
        """All updates of a kind."""
        return [update for _, update in self.updates if update.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        """The text of all chunks of a kind."""
        return "".join([update.content.text for update in self.of(kind)])

    def calls(self) -> dict[str, dict[str, Any]]:
        """Each call as an editor shows it: its updates on top of each other."""
        shown: dict[str, dict[str, Any]] = {}
        for _, update in self.updates:
            if update.session_update in ("tool_call", "tool_call_update"):
                assert (update.session_update == "tool_call") == (update.tool_call_id not in shown), "started once"
                known = update.model_dump(exclude_none=True, exclude={"session_update"})
                shown[update.tool_call_id] = {**shown.get(update.tool_call_id, {}), **known}
        return shown


class Desk:
    """A connection to the agent, and a session in a folder."""

    def __init__(self, editor: Editor, agent: ClientSideConnection, folder: Path) -> None:
        self.editor = editor
        self.agent = agent
        self.folder = folder
        self.session_id = ""

    async def open(self, **more: Any) -> Any:
        """Open a session."""
        opened = await self.agent.new_session(str(self.folder), mcp_servers=more.pop("mcp_servers", []), **more)
        self.session_id = opened.session_id
        return opened

    async def say(self, *blocks: Any) -> Any:
        """Send a prompt and return how the turn ended."""
        return await self.agent.prompt(self.session_id, [text_block(each) if isinstance(each, str) else each for each in blocks])


@asynccontextmanager
async def connected(
    folder: Path,
    *replies: Any,
    choose: Choice | str | None = "allow_once",
    assistant: Assistant | None = None,
    model: Model | None = None,
    user: str = "",
) -> AsyncGenerator[Desk]:
    """Yield an editor that is connected to an agent in this process. Its data is beside the folder."""
    editor, answers = Editor(choose), model or Scripted(*replies)
    home = open_home(folder.parent / f"{folder.name}-data")

    async def chosen() -> Model:
        return answers

    def host(at: Path) -> Host:
        return Host(home, chosen, user, folder=at, remember=lambda about: {"about": about, "workspace": str(at)})

    ours, theirs = memory_transport_pair()
    serving = asyncio.create_task(serve_acp(assistant or get_assistant("coding"), host, theirs))
    agent = ClientSideConnection(editor, ours)
    try:
        async with asyncio.timeout(PATIENCE):
            await agent.initialize(1)
            yield Desk(editor, agent, folder)
    finally:
        await agent.close()
        await asyncio.wait([serving])
        close_home(home)
    serving.result()


def run(work: Any) -> Any:
    """Run a test's coroutine."""
    return asyncio.run(work)
