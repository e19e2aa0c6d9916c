"""openai-agents: one request through its chat completions model, with the functions as native tools; tracing is off."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import FunctionTool, ItemHelpers, ModelSettings, ModelTracing, OpenAIChatCompletionsModel, Tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall

from bench.bfcl.answer import Answer, made_from
from bench.bfcl.cases import Case, Function
from bench.bfcl.routes import Ask
from bench.bfcl.where import MOST_TOKENS, Where, client_of

_SETTINGS = ModelSettings(temperature=0, max_tokens=MOST_TOKENS, parallel_tool_calls=True)


@asynccontextmanager
async def opened(where: Where) -> AsyncIterator[Ask]:
    """One model for all cases."""
    set_tracing_disabled(True)
    async with client_of(where) as client:
        model = OpenAIChatCompletionsModel(where.name, openai_client=client)

        async def ask(case: Case) -> Answer:
            said: Any = [*case.earlier, {"role": "user", "content": case.prompts[0]}]
            tools: list[Tool] = [_tool(each) for each in case.functions]
            reply = await model.get_response(case.instructions or None, said, _SETTINGS, tools, None, [], ModelTracing.DISABLED)
            calls = tuple(
                made_from(item.name, item.arguments) for item in reply.output if isinstance(item, ResponseFunctionToolCall)
            )
            said_besides = [ItemHelpers.extract_text(item) or "" for item in reply.output]
            return Answer((calls,), reply.usage.input_tokens or None, "".join(said_besides))

        yield ask


def _tool(function: Function) -> FunctionTool:
    return FunctionTool(function.name, function.description, function.parameters, _nothing, strict_json_schema=False)


async def _nothing(_context: Any, _arguments: str) -> str:
    return "done"
