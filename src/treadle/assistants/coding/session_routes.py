"""HTTP API of coding sessions, for the page's conversation: the modes that there are, and the one that a session is in.

The conversation itself is a run about `{"mode": MODE}`, as of every assistant (`POST /api/runs`).
"""

from msgspec import Struct
from starlette.exceptions import HTTPException

from treadle.assistant import AssistantSession, Host
from treadle.assistants.coding.modes import MODES, parse_mode
from treadle.assistants.coding.session_changes import find_mode, save_mode
from treadle.errors import RunNotFound, SettingsError
from treadle.routes import get, post

NO_SESSION_ERRORS = {404: "there is no such session of theirs"}


class CodingMode(Struct, frozen=True):
    """A mode: its name, and for people a title and what it means."""

    name: str
    title: str
    summary: str


class CodingModes(Struct, frozen=True):
    """All modes, and the one that a session is in; a new one, that it starts in."""

    mode: str
    modes: tuple[CodingMode, ...]


class ModeSwitch(Struct, frozen=True, forbid_unknown_fields=True):
    """The mode to switch to."""

    mode: str


class SessionApi:
    """The request handlers, for one user."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @get("/api/coding/modes")
    async def modes(self) -> CodingModes:
        """List the modes of a session."""
        return _to_modes("ask")

    @get("/api/coding/sessions/{run_id}/mode", errors=NO_SESSION_ERRORS)
    async def mode(self, run_id: str) -> CodingModes:
        """Get the mode that a session is in."""
        return _to_modes(await self._find_mode(run_id))

    @post("/api/coding/sessions/{run_id}/mode", errors={**NO_SESSION_ERRORS, 422: "there is no such mode"})
    async def switch(self, run_id: str, body: ModeSwitch) -> CodingModes:
        """Switch the mode of a session, also during a turn: the next call is judged by it."""
        await self._find_mode(run_id)
        try:
            mode = parse_mode(body.mode)
        except SettingsError as error:
            raise HTTPException(422, str(error)) from error
        save_mode(self._host.home.folder, run_id, mode)
        return _to_modes(mode)

    async def _find_mode(self, run_id: str) -> str:
        """Return the mode of a session of the user."""
        from treadle.assistants.coding import assistant  # it names these routes

        home = self._host.home
        try:
            await AssistantSession(assistant, self._host).info(run_id)
            mode = find_mode(home.folder, run_id, await home.journal.read(run_id))
        except RunNotFound:
            mode = None
        if mode is None:
            raise HTTPException(404, f"There is no session {run_id[:100]!r} of yours.")
        return mode


def _to_modes(mode: str) -> CodingModes:
    return CodingModes(mode, tuple([CodingMode(each.name, each.title, each.summary) for each in MODES.values()]))
