"""The Agent Client Protocol: what an editor requests, and the sessions that answer it. One client, any number of sessions."""

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from acp.agent.connection import AgentSideConnection
from acp.exceptions import RequestError
from acp.interfaces import Agent, Client
from acp.meta import PROTOCOL_VERSION
from acp.schema import (
    AgentCapabilities,
    AuthenticateResponse,
    ClientCapabilities,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SetSessionModeResponse,
)

from treadle._version import __version__
from treadle.agent.session import AssistantSession
from treadle.core.entries import Entry
from treadle.core.errors import BadMedia, BadPrompt, RunNotFound, SettingsError, TreadleError
from treadle.core.requests import Traits
from treadle.files.workspace import Workspace
from treadle.files.workspace_folders import NotAWorkspace, workspace_at
from treadle.guard.redaction import Redactor
from treadle.plugins.assistant import Assistant, Host
from treadle.server.acp.mcp_servers import NamedServer, can_connect, connect_servers
from treadle.server.acp.prompt import ContentBlock
from treadle.server.acp.session import AcpSession
from treadle.server.runs.journals import find_opened, read_run_entries
from treadle.stores.journal import JournalQuery

INVALID_PARAMS, INTERNAL_ERROR, NOT_FOUND = -32602, -32603, -32002
LISTED = 50  # sessions
WORKSPACE = "workspace"  # of a run's origin: the folder that its session is about

HostForFolder = Callable[[Path], Host]


class AcpServer:
    """The agent's side of the protocol, for one assistant. `host` returns the host for a session in a folder."""

    def __init__(self, assistant: Assistant, host: HostForFolder) -> None:
        self._assistant = assistant
        self._host = host
        self._client: Client | None = None
        self._sessions: dict[str, AcpSession] = {}

    def on_connect(self, conn: Client) -> None:
        """Remember the client."""
        self._client = conn

    async def close(self) -> None:
        """Interrupt all turns, which go on when their sessions are loaded."""
        await asyncio.gather(*[session.release() for session in self._sessions.values()])
        self._sessions.clear()

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        """Return the version and what is supported. A client that doesn't support the version disconnects."""
        traits = await self._find_traits()
        servers = can_connect()
        sessions = SessionCapabilities() if self._has_own_history else SessionCapabilities(list=SessionListCapabilities())
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=not self._has_own_history,
                prompt_capabilities=PromptCapabilities(
                    image=traits.takes("image/png"), audio=traits.takes("audio/wav"), embedded_context=True
                ),
                mcp_capabilities=McpCapabilities(http=servers, sse=servers),
                session_capabilities=sessions,
            ),
            auth_methods=[],
            agent_info=Implementation(name="treadle", title=f"Treadle {self._assistant.title}", version=__version__),
        )

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        """Refuse: no method is offered, because none is needed."""
        raise RequestError(
            INVALID_PARAMS, f"There is no authentication method {method_id!r}: none is needed. Open a session right away."
        )

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[NamedServer] | None = None,
        **_: Any,
    ) -> NewSessionResponse:
        """Open a session in a folder."""
        with _sentences():
            session = await self._open_session(cwd, additional_directories, mcp_servers)
        session.announce_commands()
        return NewSessionResponse(session_id=session.id, modes=session.modes)

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[NamedServer] | None = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> LoadSessionResponse:
        """Open a stored session, and send what was said in it. A turn that was cut off goes on with the next prompt."""
        with _sentences():
            entries = await self._read_stored(cwd, session_id)
            if (known := self._sessions.pop(session_id, None)) is not None:
                await known.release()
            session = await self._open_session(cwd, additional_directories, mcp_servers, session_id, entries)
            await session.send_history()
        session.announce_commands()
        return LoadSessionResponse(modes=session.modes)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """Return the last sessions, of one folder where that is given."""
        with _sentences():
            host = self._host(Path(cwd or "."))
            if not host.home.database.exists():
                return ListSessionsResponse(sessions=[])
            user = (await AssistantSession(self._assistant, host).caller()).user
            found: list[SessionInfo] = []
            for run in await host.home.journal.list_runs(JournalQuery(agent=self._assistant.name, limit=LISTED)):
                folder = _folder_of(await read_run_entries(host.home, run.run_id))
                if run.user != user or not folder or (cwd is not None and folder != cwd):
                    continue
                when = datetime.fromtimestamp(run.updated_at, UTC).isoformat()
                found.append(SessionInfo(session_id=run.run_id, cwd=folder, title=run.title, updated_at=when))
        return ListSessionsResponse(sessions=found)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Switch a session's mode."""
        with _sentences():
            self._find(session_id).switch(mode_id)
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[ContentBlock], **_: Any) -> PromptResponse:
        """Run a turn."""
        with _sentences():
            return await self._find(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Cancel the turn of a session; a notification, so that one without a turn is ignored."""
        if session_id in self._sessions:
            await self._sessions[session_id].cancel()

    # sessions

    @property
    def _has_own_history(self) -> bool:
        return self._assistant.begin is not None

    def _find(self, session_id: str) -> AcpSession:
        if session_id not in self._sessions:
            raise RequestError(NOT_FOUND, f"There is no open session {session_id}: load it, or open a new one.")
        return self._sessions[session_id]

    async def _open_session(
        self,
        cwd: str,
        folders: Sequence[str] | None,
        servers: Sequence[NamedServer] | None,
        session_id: str = "",
        entries: Sequence[Entry] = (),
    ) -> AcpSession:
        if folders:
            raise SettingsError("A session works in one folder: leave additional directories out, or open a session in each.")
        workspace = self._workspace_at(cwd)
        async with AsyncExitStack() as stack:
            connected = await connect_servers(servers or (), stack)
            assert self._client is not None, "requests come from a client"
            session = AcpSession(
                self._client,
                self._assistant,
                self._host(workspace.folder),
                workspace,
                session_id=session_id,
                entries=entries,
                toolsets=connected.toolsets,
                redactor=Redactor(known_secrets=connected.secrets) if connected.secrets else None,
            )
            stack.push_async_callback(session.close)
            await session.build_agent()
            session.keep(stack.pop_all())
        self._sessions[session.id] = session
        return session

    def _workspace_at(self, cwd: str) -> Workspace:
        if not Path(cwd).is_absolute():
            raise SettingsError(f"The folder of a session has to be an absolute path; {cwd[:200]!r} isn't one.")
        return workspace_at(cwd, self._host(Path(cwd)).home.folder)

    async def _read_stored(self, cwd: str, session_id: str) -> Sequence[Entry]:
        """Return the entries of a stored session, if it is the user's own and about this folder."""
        if self._has_own_history:
            raise SettingsError(f"The assistant {self._assistant.name} stores its conversations itself; open a new session.")
        here = self._workspace_at(cwd).folder
        host = self._host(here)
        await AssistantSession(self._assistant, host).info(session_id)
        entries = await read_run_entries(host.home, session_id)
        folder = _folder_of(entries)
        if folder != str(here):
            raise SettingsError(f"The session {session_id} is about {folder or 'no folder'}: open it there.")
        return entries

    async def _find_traits(self) -> Traits:
        """Return what the model can do; that of a text model where there is none yet, which opening a session reports."""
        try:
            return (await self._host(Path.cwd()).model()).traits
        except TreadleError:
            return Traits(modalities=frozenset())


def _folder_of(entries: Sequence[Entry]) -> str:
    """Return the folder that a run is about; empty where it is about none."""
    return str(find_opened(entries).origin.get(WORKSPACE) or "")


@contextmanager
def _sentences() -> Generator[None]:
    """Raise problems as the protocol's errors, with a sentence that says what to do."""
    try:
        yield
    except RunNotFound as error:
        raise RequestError(NOT_FOUND, _redacted(error)) from error
    except (BadMedia, BadPrompt, NotAWorkspace, SettingsError) as error:
        raise RequestError(INVALID_PARAMS, _redacted(error)) from error
    except TreadleError as error:
        raise RequestError(INTERNAL_ERROR, _redacted(error)) from error


def _redacted(error: Exception) -> str:
    return Redactor().text(str(error))


async def serve_acp(assistant: Assistant, host: HostForFolder, transport: Any) -> None:
    """Serve one client until it disconnects. `transport` moves messages, as the SDK's `Transport`."""
    server = AcpServer(assistant, host)
    connection = AgentSideConnection(cast("Agent", server), transport, listening=False)  # what it hasn't is answered as not found
    try:
        await connection.listen()
    finally:
        await server.close()
        await connection.close()
