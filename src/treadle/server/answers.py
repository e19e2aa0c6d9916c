"""Values as JSON answers."""

from typing import Any

import msgspec
from starlette.responses import Response

_encode = msgspec.json.Encoder().encode


def json_answer(value: Any, status: int = 200) -> Response:
    """An answer that says this."""
    return Response(_encode(value), status, media_type="application/json")
