"""pydantic-ai: one request through its OpenAI chat model, with the functions as native tools."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from bench.bfcl.answer import Answer, made_from
from bench.bfcl.cases import Case, Said
from bench.bfcl.routes import Ask
from bench.bfcl.where import MOST_TOKENS, Where, client_of

_SETTINGS = ModelSettings(temperature=0, max_tokens=MOST_TOKENS, parallel_tool_calls=True)


@asynccontextmanager
async def opened(where: Where) -> AsyncIterator[Ask]:
    """One model for all cases."""
    async with client_of(where) as client:
        model = OpenAIChatModel(where.name, provider=OpenAIProvider(openai_client=client))

        async def ask(case: Case) -> Answer:
            parameters = ModelRequestParameters(function_tools=_tools(case), allow_text_output=True)
            reply = await model_request(model, _messages(case), model_settings=_SETTINGS, model_request_parameters=parameters)
            calls = tuple(made_from(part.tool_name, _json(part)) for part in reply.parts if isinstance(part, ToolCallPart))
            return Answer((calls,), reply.usage.input_tokens or None, reply.text or "")

        yield ask


def _json(part: ToolCallPart) -> str:
    """The arguments as they came: the part's own method puts unreadable ones into an object."""
    return part.args if isinstance(part.args, str) else part.args_as_json_str()


def _tools(case: Case) -> list[ToolDefinition]:
    return [
        ToolDefinition(name=each.name, description=each.description, parameters_json_schema=each.parameters)
        for each in case.functions
    ]


def _messages(case: Case) -> list[ModelMessage]:
    last = ModelRequest(parts=[UserPromptPart(case.prompts[0])], instructions=case.instructions or None)
    return [*map(_message, case.earlier), last]


def _message(said: Said) -> ModelMessage:
    if said["role"] == "user":
        return ModelRequest(parts=[UserPromptPart(said["content"])])
    return ModelResponse(parts=[TextPart(said["content"])])
