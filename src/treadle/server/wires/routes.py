"""The routes of the wires, for one person: `/v1/chat/completions`, `/v1/messages`, and `/v1/models` for the clients of both."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from treadle.app.assistant import Assistant, Host
from treadle.routes import Described
from treadle.server.metrics import Figures
from treadle.server.wires.anthropic import count_tokens, messages
from treadle.server.wires.desk import BEAT, ChooseModel, Desk
from treadle.server.wires.openai import completions
from treadle.server.wires.operations import COMPLETIONS, COUNT, MESSAGES, MODEL, MODELS
from treadle.server.wires.refused import Refused, refusal_at

OWNER = "treadle"
SINCE = "1970-01-01T00:00:00Z"  # an assistant has no birthday

Answering = Callable[[Request, Desk], Awaitable[Response]]


def wire_routes(
    assistants: Sequence[Assistant], host: Host, choose: ChooseModel, figures: Figures | None = None, *, beat: float = BEAT
) -> list[BaseRoute]:
    """Each assistant as a model. `choose` gives the model that is named after an `@`; `UnknownModel` where it isn't offered."""
    desk = Desk(assistants, host, choose, figures, beat)

    return [
        Described("/v1/chat/completions", _at(desk, completions), COMPLETIONS, "POST"),
        Described("/v1/messages", _at(desk, messages), MESSAGES, "POST"),
        Described("/v1/messages/count_tokens", _at(desk, count_tokens), COUNT, "POST"),
        Described("/v1/models", _at(desk, _models), MODELS),
        Described("/v1/models/{model:path}", _at(desk, _model), MODEL),
    ]


def _at(desk: Desk, answer: Answering) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that says what goes wrong in the shape of its wire."""

    async def endpoint(request: Request) -> Response:
        try:
            return await answer(request, desk)
        except Refused as refused:
            return refusal_at(request.url.path, refused)

    return endpoint


async def _models(request: Request, desk: Desk) -> Response:
    """The assistants, for the clients of both wires: each reads the fields it knows."""
    told = [_told(assistant, assistant.name) for assistant in desk.assistants.values()]
    ends = {"first_id": told[0]["id"], "last_id": told[-1]["id"]} if told else {"first_id": None, "last_id": None}
    return JSONResponse({"object": "list", "data": told, "has_more": False, **ends})


async def _model(request: Request, desk: Desk) -> Response:
    """One of them."""
    name: str = request.path_params["model"]
    assistant = (await desk.meant(name))[0]
    return JSONResponse(_told(assistant, name))


def _told(assistant: Assistant, name: str) -> dict[str, Any]:
    openai = {"id": name, "object": "model", "created": 0, "owned_by": OWNER}
    return {**openai, "type": "model", "display_name": assistant.title, "created_at": SINCE, "description": assistant.summary}
