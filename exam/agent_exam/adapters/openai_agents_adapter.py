"""openai-agents: its chat completions model; durable by DBOS' runner, which its documentation names; approvals by `RunState`."""

import json
from collections.abc import Mapping
from typing import Any

from agents import Agent, AgentsException, OpenAIChatCompletionsModel, Runner, RunState, function_tool, set_tracing_disabled
from dbos import DBOS, SetWorkflowID
from dbos_openai_agents import DBOSRunner
from openai import AsyncOpenAI, OpenAIError

from agent_exam.adapters.dbos import launch
from agent_exam.protocol import Decision, Feature, Outcome, Pending, Task


class OpenAIAgentsAdapter:
    """Runs tasks with openai-agents."""

    name = "openai-agents"
    packages = ("openai-agents", "dbos-openai-agents", "dbos", "openai")
    features: frozenset[Feature] = frozenset({"stream", "limit", "resume", "approval"})
    errors = (AgentsException, OpenAIError)
    durability = "DBOSRunner on SQLite, tools as DBOS steps"
    approvals = "needs_approval, RunState as a string"

    def __init__(self) -> None:
        set_tracing_disabled(True)

    async def run(self, task: Task) -> Outcome:
        if not task.durable:
            return await self._run(task, task.prompt)
        agent = _agent(task)

        @DBOS.workflow()
        async def work(prompt: str) -> str:
            return str((await DBOSRunner.run(agent, prompt)).final_output)

        launch(task)  # after all is registered that it recovers
        with SetWorkflowID(task.run_id):
            handle = await DBOS.start_workflow_async(work, task.prompt)
        return Outcome(await handle.get_result())

    async def resume(self, task: Task) -> Outcome:
        return await self.run(task)

    async def answer(self, task: Task, decisions: Mapping[str, Decision]) -> Outcome:
        state = await RunState.from_string(_agent(task), (task.folder / "state.json").read_text("utf-8"))
        for item in state.get_interruptions():
            decision = decisions[str(item.call_id)]
            if decision.approve:
                state.approve(item)
            else:
                state.reject(item, rejection_message=decision.reason)
        return await self._run(task, state)

    async def _run(self, task: Task, given: Any) -> Outcome:
        more = {} if task.limit is None else {"max_turns": task.limit}
        if task.stream:
            result: Any = Runner.run_streamed(_agent(task), given, **more)
            async for _event in result.stream_events():
                pass
        else:
            result = await Runner.run(_agent(task), given, **more)
        if not result.interruptions:
            return Outcome(result.final_output)
        (task.folder / "state.json").write_text(result.to_state().to_string(), "utf-8")
        return Outcome(pending=tuple(_pending(item) for item in result.interruptions))


def _pending(item: Any) -> Pending:
    return Pending(str(item.call_id), str(item.name), json.loads(item.arguments or "{}"))


def _agent(task: Task) -> Agent[Any]:
    client = AsyncOpenAI(base_url=task.base_url, api_key=task.api_key)
    functions = [DBOS.step()(function) for function in task.tools] if task.durable else task.tools
    return Agent(
        name="exam",
        instructions=task.instructions,
        model=OpenAIChatCompletionsModel(task.model, openai_client=client),
        tools=[function_tool(function, needs_approval=function.__name__ in task.approval) for function in functions],
    )


def adapter() -> OpenAIAgentsAdapter:
    """The adapter."""
    return OpenAIAgentsAdapter()
