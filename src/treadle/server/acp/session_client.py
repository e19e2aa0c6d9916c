"""The client of one session: updates are sent to it in order, and it asks its user for permissions."""

import asyncio
from typing import Any

from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.schema import AllowedOutcome, PermissionOption, ToolCallUpdate

from treadle.core.log import log


class SessionClient:
    """Sends to one client. Updates are queued, so that the watcher of a run never waits for the client."""

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self._session_id = session_id
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self._sending = asyncio.create_task(self._send_queue())
        self._asking = asyncio.Lock()

    def send(self, update: Any) -> None:
        """Queue an update."""
        self._queue.put_nowait(update)

    async def flush(self) -> None:
        """Wait until every update is sent."""
        await self._queue.join()

    async def close(self) -> None:
        """Send no more."""
        self._sending.cancel()
        await asyncio.wait([self._sending])

    async def request_permission(self, call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        """Ask the user, one question at a time; return the id of the option they chose, None where they cancelled the turn.

        Raises `RequestError` where the client can't ask, and `ConnectionError` where it has disconnected.
        """
        async with self._asking:
            await self.flush()  # the call has to be known
            response = await self._client.request_permission(self._session_id, call, options)
        return response.outcome.option_id if isinstance(response.outcome, AllowedOutcome) else None

    async def _send_queue(self) -> None:
        while True:
            update = await self._queue.get()
            try:
                await self._client.session_update(self._session_id, update)
            except (OSError, RequestError) as error:  # ConnectionError too: the run is interrupted by the end of the connection
                log.debug("An update of session %s was not sent: %s", self._session_id, error)
            finally:
                self._queue.task_done()
