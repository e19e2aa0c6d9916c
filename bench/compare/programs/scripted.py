"""The scripted model of these programs: the reply is chosen by the number of responses in the conversation."""

from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

Reply = list[ToolCallPart] | str


def calls(*requested: tuple[str, dict[str, object]]) -> list[ToolCallPart]:
    """Return a reply that calls tools: each a name and its arguments."""
    return [ToolCallPart(name, arguments) for name, arguments in requested]


def scripted(*replies: Reply, chunk: int = 6) -> FunctionModel:
    """Return a model that gives these replies, also as a stream."""

    def choose(messages: list[ModelMessage]) -> Reply:
        return replies[sum(isinstance(message, ModelResponse) for message in messages)]

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        chosen = choose(messages)
        parts: list[ModelResponsePart] = [TextPart(chosen)] if isinstance(chosen, str) else [*chosen]
        return ModelResponse(parts=parts)

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        chosen = choose(messages)
        if isinstance(chosen, str):
            for start in range(0, len(chosen), chunk):
                yield chosen[start : start + chunk]
        else:
            for number, part in enumerate(chosen):
                yield {number: DeltaToolCall(part.tool_name, part.args_as_json_str())}

    return FunctionModel(reply, stream_function=stream)
