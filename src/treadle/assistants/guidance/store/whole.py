"""Methods that are carried through once they have begun."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Back = TypeVar("Back")
Method = Callable[Given, Coroutine[Any, Any, Back]]


def whole(method: Method[Given, Back]) -> Method[Given, Back]:
    """A method that ends what it began, also where its caller is called off meanwhile; the caller then waits for that.

    A driver that is interrupted between asking and hearing can leave a transaction open, and everybody else waiting.
    """

    @wraps(method)
    async def carried_through(*args: Given.args, **kwargs: Given.kwargs) -> Back:
        task = asyncio.ensure_future(method(*args, **kwargs))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            raise

    return carried_through
