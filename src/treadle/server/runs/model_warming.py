"""Has the model read in advance what a conversation with an assistant begins with, while the user still writes the first message.

Only a model that says it can is asked: the embedded one, for which instructions and tools take many seconds at first.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from treadle.core.log import log


class ModelWarmer:
    """Warms the model for one assistant at a time: that of the page that was opened last."""

    def __init__(self) -> None:
        self._assistant = ""
        self._task: asyncio.Task[None] | None = None

    def begin(self, assistant: str, warm: Callable[[], Awaitable[None]]) -> None:
        """Begin to warm the model for an assistant in the background, in place of another one's."""
        self.stop_except(assistant)
        if self._task is None or self._task.done():
            self._assistant = assistant
            self._task = asyncio.create_task(_warm(assistant, warm))

    def stop_except(self, assistant: str) -> None:
        """Stop, unless the model is warmed for this assistant: a message to another one shouldn't have to wait for that."""
        if self._task is not None and assistant != self._assistant:
            self._task.cancel()
            self._task = None

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


async def _warm(assistant: str, warm: Callable[[], Awaitable[None]]) -> None:
    """Warm the model. A failure changes nothing: the next message reports it."""
    try:
        await warm()
    except Exception as error:  # noqa: BLE001 - an assistant's, perhaps
        log.debug("The model couldn't be warmed for %s: %s", assistant, error)
