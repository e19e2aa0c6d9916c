"""What a request asks, as a value: its JSON, and what stands behind its question mark. What doesn't fit is said in a sentence."""

from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")
StructT = TypeVar("StructT", bound=Struct)

UNFIT = 400


async def body_of(request: "Request", kind: type[T], *, unfit: int = UNFIT, most: int | None = None) -> T:
    """The request's JSON, which has to be like this; else it is answered with the status `unfit` and a sentence.

    The server takes 4 MB, unless a route says with `most` how many bytes it takes; 64 MB is the most that there can be.
    """
    from starlette.exceptions import HTTPException

    limit = request.scope.get("body_limit")
    if most is not None and limit is not None:
        limit.become(most)
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HTTPException(unfit, f"The request has to be a JSON object: {error}.") from error


def query_of(request: "Request", kind: type[StructT], *, unfit: int = UNFIT) -> StructT:
    """What stands behind the question mark, which has to be like this; else likewise. A name that isn't known doesn't fit."""
    from starlette.exceptions import HTTPException

    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    strange = next((name for name in request.query_params if name not in names), None)
    if strange is not None:
        raise HTTPException(unfit, f"There is no {strange[:100]!r} to ask by; there are {', '.join(names)}.")
    try:
        return msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise HTTPException(unfit, f"This can't be asked: {error}.") from error
