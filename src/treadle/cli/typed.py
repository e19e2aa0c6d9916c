"""A model that makes exactly the call a person typed, and then ends: how `treadle tool call` goes through the engine."""

from treadle.cli.choices import TypedCall
from treadle.core.requests import Request
from treadle.models.scripted import Answer, Asked, Scripted

DONE = "Done."


def caller(call: TypedCall) -> Scripted:
    """The model. It looks at the conversation alone, so it also goes on in another process."""

    def reply(request: Request) -> Answer | str:
        called = any(message.role == "tools" for message in request.history)
        return DONE if called else Answer(calls=(Asked(call.name, call.arguments, "call_1"),))

    return Scripted(reply, reply, name="typed")
