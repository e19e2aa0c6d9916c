"""The routes of the wires, for one person: `/v1/chat/completions`, `/v1/messages`, and `/v1/models` for the clients of both."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from treadle.app.assistant import Assistant, Host
from treadle.routes import EVENTS, Returns, Unfit, get, post, routes_of
from treadle.server.metrics import Figures
from treadle.server.wires.anthropic import AnthropicMessage, Counted, Posted, TokensCounted, count_tokens, messages
from treadle.server.wires.desk import BEAT, ChooseModel, Desk
from treadle.server.wires.openai import ChatCompletion, Completion, completions
from treadle.server.wires.refused import OVERLOADED, Refused, refusal_at

OWNER = "treadle"
SINCE = "1970-01-01T00:00:00Z"  # an assistant has no birthday
NO_MODEL = "there is no such model"
FAILED = {502: "the model's server failed"}
GOES_WRONG = {404: NO_MODEL, 409: "the run is under way elsewhere", **FAILED}
NOT_NOW = "there is no model just now; the sentence says what to do"

Streamed = Annotated[Response, Returns(200, "the same as events", EVENTS, dict[str, Any])]


class OpenAIError(Struct, frozen=True):
    """What went wrong, in a sentence; `param` names what in the request it is about."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIProblem(Struct, frozen=True):
    """What went wrong, as OpenAI's clients read it."""

    error: OpenAIError


class AnthropicError(Struct, frozen=True):
    """What went wrong, in a sentence."""

    type: str
    message: str


class AnthropicProblem(Struct, frozen=True):
    """What went wrong, as Anthropic's clients read it."""

    type: Literal["error"]
    error: AnthropicError


class WireModel(Struct, frozen=True):
    """An assistant as a model, for the clients of both wires."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    type: Literal["model"]
    display_name: str
    created_at: str
    description: str


class WireModels(Struct, frozen=True):
    """The assistants, each as a model."""

    object: Literal["list"]
    data: list[WireModel]
    has_more: bool
    first_id: str | None
    last_id: str | None


class Service:
    """The handlers, for one person."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @post("/v1/chat/completions", errors={**GOES_WRONG, 503: NOT_NOW}, problem=OpenAIProblem)
    async def completions(
        self, request: Request, body: Completion
    ) -> Annotated[Response, Returns(200, "the answer", body=ChatCompletion)] | Streamed:
        """A chat completion, whole or as it is written (`stream`)."""
        return await completions(request, body, self._desk)

    @post("/v1/messages", errors={**GOES_WRONG, OVERLOADED: NOT_NOW}, problem=AnthropicProblem)
    async def messages(
        self, request: Request, body: Posted
    ) -> Annotated[Response, Returns(200, "the answer", body=AnthropicMessage)] | Streamed:
        """A message, whole or as it is written (`stream`)."""
        return await messages(request, body, self._desk)

    @post("/v1/messages/count_tokens", errors={404: NO_MODEL}, problem=AnthropicProblem, returns="the number")
    async def count_tokens(self, body: Counted) -> TokensCounted:
        """How many tokens a message would have."""
        return await count_tokens(body, self._desk)

    @get("/v1/models", problem=OpenAIProblem, returns="the models")
    async def models(self) -> WireModels:
        """The assistants, each as a model."""
        told = [_told(assistant, assistant.name) for assistant in self._desk.assistants.values()]
        return WireModels(
            "list", told, has_more=False, first_id=told[0].id if told else None, last_id=told[-1].id if told else None
        )

    @get("/v1/models/{model:path}", errors={404: NO_MODEL, **FAILED, 503: NOT_NOW}, problem=OpenAIProblem, returns="the model")
    async def model(self, model: str) -> WireModel:
        """One of them, perhaps with `@` and the model that it is to use."""
        return _told((await self._desk.meant(model))[0], model)


def wire_routes(
    assistants: Sequence[Assistant], host: Host, choose: ChooseModel, figures: Figures | None = None, *, beat: float = BEAT
) -> list[BaseRoute]:
    """Each assistant as a model. `choose` gives the model that is named after an `@`; `UnknownModel` where it isn't offered."""
    return routes_of(Service(Desk(assistants, host, choose, figures, beat)), on_error=_on_error)


def _on_error(request: Request, error: Exception) -> Response | None:
    """What goes wrong, in the shape of the wire."""
    refused = Refused(400, error.words, error.where) if isinstance(error, Unfit) else error
    return refusal_at(request.url.path, refused) if isinstance(refused, Refused) else None


def _told(assistant: Assistant, name: str) -> WireModel:
    """An assistant as a model, for the clients of both wires: each reads the fields it knows."""
    return WireModel(name, "model", 0, OWNER, "model", assistant.title, SINCE, assistant.summary)
