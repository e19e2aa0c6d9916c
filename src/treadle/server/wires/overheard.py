"""A model of which is remembered how it last failed: a run that failed says so in words, and a wire needs a status as well."""

from collections.abc import AsyncIterator

from treadle.core.errors import ModelError
from treadle.core.requests import Delta, Request
from treadle.core.seams import Model


class Overheard:
    """A model as it is."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.traits = model.traits
        self.error: ModelError | None = None
        self._model = model

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """The reply, piece by piece."""
        self.error = None
        try:
            async for delta in self._model.reply(request):
                yield delta
        except ModelError as error:
            self.error = error
            raise
