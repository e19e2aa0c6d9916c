"""What the routes of the wires are: what can be asked, and every answer there can be. Both wires have more fields than these.

What is asked is read by `openai` and `anthropic`, which also write the answers.
"""

from typing import Any, Literal

from msgspec import Struct

from treadle.routes import Answer, Operation
from treadle.server.wires.anthropic import Counted, Posted
from treadle.server.wires.openai import Completion
from treadle.server.wires.refused import OVERLOADED

# OpenAI's


class OpenAIError(Struct, frozen=True):
    """What went wrong, in a sentence; `param` names what in the request it is about."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIProblem(Struct, frozen=True):
    """What went wrong, as OpenAI's clients read it."""

    error: OpenAIError


class ChatSpoken(Struct, frozen=True):
    """What is said in an answer, and the caller's tools that are to be called."""

    role: Literal["assistant"]
    content: str | None
    tool_calls: list[dict[str, Any]] = []


class ChatChoice(Struct, frozen=True):
    """An answer, and why it ended."""

    index: int
    message: ChatSpoken
    finish_reason: Literal["stop", "tool_calls", "length", "content_filter"]


class ChatUsage(Struct, frozen=True):
    """What an answer used, in tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(Struct, frozen=True):
    """A chat completion. There is one choice."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage


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


# Anthropic's


class AnthropicError(Struct, frozen=True):
    """What went wrong, in a sentence."""

    type: str
    message: str


class AnthropicProblem(Struct, frozen=True):
    """What went wrong, as Anthropic's clients read it."""

    type: Literal["error"]
    error: AnthropicError


class AnthropicUsage(Struct, frozen=True):
    """What an answer used, in tokens; input that was cached counts apart."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int


class AnthropicMessage(Struct, frozen=True):
    """An answer: text, and the caller's tools that are to be called."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[dict[str, Any]]
    stop_reason: Literal["end_turn", "tool_use", "max_tokens", "refusal"]
    stop_sequence: str | None
    usage: AnthropicUsage


class TokensCounted(Struct, frozen=True):
    """How many tokens a message would have, roughly."""

    input_tokens: int


GOES_WRONG = {
    404: "there is no such model",
    409: "the run is under way elsewhere",
    502: "the model's server failed",
    503: "there is no model just now; the sentence says what to do",
}
OPENAI = {status: Answer(words, OpenAIProblem) for status, words in GOES_WRONG.items()}
ANTHROPIC = {OVERLOADED if status == 503 else status: Answer(words, AnthropicProblem) for status, words in GOES_WRONG.items()}

COMPLETIONS = Operation(
    "A chat completion, whole or as it is written (`stream`)",
    body=Completion,
    answers={200: Answer("the answer", ChatCompletion, events=True), **OPENAI},
    problem=OpenAIProblem,
)
MODELS = Operation("The assistants, each as a model", answers={200: Answer("the models", WireModels)}, problem=OpenAIProblem)
MODEL = Operation(
    "One of them, perhaps with `@` and the model that it is to use",
    answers={200: Answer("the model", WireModel), 404: OPENAI[404], 502: OPENAI[502], 503: OPENAI[503]},
    problem=OpenAIProblem,
)
MESSAGES = Operation(
    "A message, whole or as it is written (`stream`)",
    body=Posted,
    answers={200: Answer("the answer", AnthropicMessage, events=True), **ANTHROPIC},
    problem=AnthropicProblem,
)
COUNT = Operation(
    "How many tokens a message would have",
    body=Counted,
    answers={200: Answer("the number", TokensCounted), 404: ANTHROPIC[404]},
    problem=AnthropicProblem,
)
