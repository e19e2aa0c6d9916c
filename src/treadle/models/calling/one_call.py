"""A model that makes exactly one call and then ends: how a direct call by a user or a program goes through the engine."""

from typing import Any

from treadle.core.requests import Request
from treadle.models.scripted import Scripted, ScriptedCall, ScriptedReply

DONE = "Done."


def one_call(name: str, arguments: dict[str, Any], by: str = "typed") -> Scripted:
    """Return the model, named `by`.

    It depends on the conversation alone, so it also resumes after a wait and in another process.
    """

    def reply(request: Request) -> ScriptedReply | str:
        called = any(message.role == "tools" for message in request.history)
        return DONE if called else ScriptedReply(calls=(ScriptedCall(name, arguments, "call_1"),))

    return Scripted(reply, reply, name=by)
