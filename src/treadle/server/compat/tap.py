"""A model that remembers its last error: a failed run only has a message, and a compatible API needs a status as well."""

from collections.abc import AsyncIterator

from treadle.core.errors import ModelError
from treadle.core.requests import Delta, Request
from treadle.core.seams import Model


class ErrorTap:
    """A model wrapped unchanged, except that `error` is its last one."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.traits = model.traits
        self.error: ModelError | None = None
        self._model = model

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Yield the reply, and remember its error."""
        self.error = None
        try:
            async for delta in self._model.reply(request):
                yield delta
        except ModelError as error:
            self.error = error
            raise
