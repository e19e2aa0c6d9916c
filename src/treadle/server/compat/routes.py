"""The routes of the compatible APIs, for one user.

`/v1/chat/completions`, `/v1/messages`, and `/v1/models` for clients of both.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from treadle.plugins.assistant import Assistant, Host
from treadle.routes import EVENTS, Returns, Unfit, get, post, routes_of
from treadle.server.compat.anthropic import (
    AnthropicMessage,
    CountTokensRequest,
    MessagesRequest,
    TokenCount,
    count_tokens,
    create_message,
)
from treadle.server.compat.errors import OVERLOADED, CompatError, error_response_at
from treadle.server.compat.openai import ChatCompletion, ChatCompletionRequest, create_completion
from treadle.server.compat.turns import HEARTBEAT_SECONDS, ChooseModel, TurnManager
from treadle.server.metrics import ServerMetrics

OWNER = "treadle"
SINCE = "1970-01-01T00:00:00Z"  # an assistant has no birthday
NO_MODEL = "there is no such model"
MODEL_FAILED = {502: "the model's server failed"}
TURN_ERRORS = {404: NO_MODEL, 409: "the run is under way elsewhere", **MODEL_FAILED}
NO_MODEL_NOW = "there is no model just now; the sentence says what to do"

EventResponse = Annotated[Response, Returns(200, "the same as events", EVENTS, dict[str, Any])]


class OpenAIError(Struct, frozen=True):
    """An error message; `param` names the part of the request it is about."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIProblem(Struct, frozen=True):
    """An error in OpenAI's format."""

    error: OpenAIError


class AnthropicError(Struct, frozen=True):
    """An error message."""

    type: str
    message: str


class AnthropicProblem(Struct, frozen=True):
    """An error in Anthropic's format."""

    type: Literal["error"]
    error: AnthropicError


class CompatModel(Struct, frozen=True):
    """An assistant as a model, for clients of both APIs."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    type: Literal["model"]
    display_name: str
    created_at: str
    description: str


class CompatModelList(Struct, frozen=True):
    """The assistants, each as a model."""

    object: Literal["list"]
    data: list[CompatModel]
    has_more: bool
    first_id: str | None
    last_id: str | None


class CompatApi:
    """The handlers of the compatible APIs, for one user."""

    def __init__(self, desk: TurnManager) -> None:
        self._desk = desk

    @post("/v1/chat/completions", errors={**TURN_ERRORS, 503: NO_MODEL_NOW}, problem=OpenAIProblem)
    async def completions(
        self, request: Request, body: ChatCompletionRequest
    ) -> Annotated[Response, Returns(200, "the answer", body=ChatCompletion)] | EventResponse:
        """Create a chat completion, as one response or streamed (`stream`)."""
        return await create_completion(request, body, self._desk)

    @post("/v1/messages", errors={**TURN_ERRORS, OVERLOADED: NO_MODEL_NOW}, problem=AnthropicProblem)
    async def messages(
        self, request: Request, body: MessagesRequest
    ) -> Annotated[Response, Returns(200, "the answer", body=AnthropicMessage)] | EventResponse:
        """Create a message, as one response or streamed (`stream`)."""
        return await create_message(request, body, self._desk)

    @post("/v1/messages/count_tokens", errors={404: NO_MODEL}, problem=AnthropicProblem, returns="the number")
    async def count_tokens(self, body: CountTokensRequest) -> TokenCount:
        """Count the tokens of a message."""
        return await count_tokens(body, self._desk)

    @get("/v1/models", problem=OpenAIProblem, returns="the models")
    async def models(self) -> CompatModelList:
        """List the assistants, each as a model."""
        told = [_to_model(assistant, assistant.name) for assistant in self._desk.assistants.values()]
        return CompatModelList(
            "list", told, has_more=False, first_id=told[0].id if told else None, last_id=told[-1].id if told else None
        )

    @get(
        "/v1/models/{model:path}",
        errors={404: NO_MODEL, **MODEL_FAILED, 503: NO_MODEL_NOW},
        problem=OpenAIProblem,
        returns="the model",
    )
    async def model(self, model: str) -> CompatModel:
        """Get one assistant as a model, optionally with `@` and the model that it is to use."""
        return _to_model((await self._desk.meant(model))[0], model)


def compat_routes(
    assistants: Sequence[Assistant],
    host: Host,
    choose: ChooseModel,
    figures: ServerMetrics | None = None,
    *,
    beat: float = HEARTBEAT_SECONDS,
) -> list[BaseRoute]:
    """Return the routes.

    `choose` returns the model that is named after an `@`; it raises `UnknownModel` where that isn't offered.
    """
    return routes_of(CompatApi(TurnManager(assistants, host, choose, figures, beat)), on_error=_on_error)


def _on_error(request: Request, error: Exception) -> Response | None:
    """Return an error in the format of the API."""
    refused = CompatError(400, error.words, error.where) if isinstance(error, Unfit) else error
    return error_response_at(request.url.path, refused) if isinstance(refused, CompatError) else None


def _to_model(assistant: Assistant, name: str) -> CompatModel:
    """Return an assistant as a model, for clients of both APIs: each reads the fields it knows."""
    return CompatModel(name, "model", 0, OWNER, "model", assistant.title, SINCE, assistant.summary)
