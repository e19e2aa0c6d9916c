"""pydantic-ai on DBOS: an agent whose model asks for three calls of one tool. With `step`, the tool is a DBOS step too."""

import asyncio
import sys

from dbos import DBOS
from pydantic_ai import Agent, RunContext
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bench.scale.peer_workers.dbos_queue import WORKFLOW, serve_queue
from bench.scale.peer_workers.effects import EFFECTS, PAUSE, write_effect


def _reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
    return ModelResponse(parts=[ToolCallPart("make", {"number": done + 1}) if done < EFFECTS else TextPart("All made.")])


agent = Agent(FunctionModel(_reply), name="scale", deps_type=str, capabilities=[DBOSDurability()])


async def _make(run_id: str, number: int) -> str:
    await asyncio.sleep(PAUSE)
    write_effect(run_id, number)
    return f"made {number}"


_make_once = DBOS.step(name="make")(_make) if sys.argv[3] == "step" else _make


@agent.tool
async def make(ctx: RunContext[str], number: int) -> str:
    """Make something."""
    return await _make_once(ctx.deps, number)


@DBOS.workflow(name=WORKFLOW)
async def work(run_id: str) -> str:
    """Have the agent make three things."""
    return (await agent.run("Make all.", deps=run_id)).output


if __name__ == "__main__":
    serve_queue()
