"""pydantic-ai on DBOS: an agent whose model asks for twenty calls of one tool. `how` says whether the tool is a DBOS step too."""

import asyncio
from pathlib import Path

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from bench.faults.births import Tell, serve
from bench.faults.orders import Life, Order
from bench.faults.peers import STEPS, effect
from bench.faults.peers.dbos_steps import launched
from bench.faults.plans import DONE
from bench.faults.world import World


def _reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
    if done == STEPS:
        return ModelResponse(parts=[TextPart(DONE)])
    return ModelResponse(parts=[ToolCallPart("act", {"number": done})])


def living(order: Order, tell: Tell) -> Life:
    """A life: launch, which recovers, and see the workflow to its end."""
    agent = Agent(FunctionModel(_reply), name="faults", capabilities=[DBOSDurability()])

    async def act(number: int) -> str:
        World(Path(order.folder) / "world").happen(order.run_id, effect(number))
        await asyncio.sleep(order.tail)
        return effect(number)

    agent.tool_plain(DBOS.step()(act) if order.how == "step" else act)

    @DBOS.workflow()
    async def work(prompt: str) -> str:
        result = await agent.run(prompt, usage_limits=UsageLimits(request_limit=None))
        return result.output

    async def lived() -> str:
        tell()
        with SetWorkflowID(order.run_id):
            handle = await DBOS.start_workflow_async(work, "Do it all.")
        return await handle.get_result()

    launched(order)
    return Life(stopped="answered", text=asyncio.run(lived()))


if __name__ == "__main__":
    serve(living, "bench.faults.peers.pydantic_ai_dbos")
