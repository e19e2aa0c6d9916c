"""A model that makes exactly one call, and then ends: how what a person or a program asks for directly goes through the engine."""

from typing import Any

from treadle.core.requests import Request
from treadle.models.scripted import Answer, Asked, Scripted

DONE = "Done."


def one_call(name: str, arguments: dict[str, Any], by: str = "typed") -> Scripted:
    """The model, called `by`. It looks at the conversation alone, so it also goes on after a wait and in another process."""

    def reply(request: Request) -> Answer | str:
        called = any(message.role == "tools" for message in request.history)
        return DONE if called else Answer(calls=(Asked(name, arguments, "call_1"),))

    return Scripted(reply, reply, name=by)
