"""pydantic-ai: its OpenAI chat model; durable on DBOS with SQLite, tools as DBOS steps; approvals as deferred tools."""

from collections.abc import AsyncIterable, Mapping
from typing import Any

from dbos import DBOS, SetWorkflowID
from openai import OpenAIError
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
    Tool,
    ToolApproved,
    ToolDenied,
    UsageLimits,
    exceptions,
)
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from agent_exam.adapters.dbos import launch
from agent_exam.protocol import Decision, Feature, Outcome, Pending, Task


class PydanticAIAdapter:
    """Runs tasks with pydantic-ai."""

    name = "pydantic-ai"
    packages = ("pydantic-ai-slim", "dbos", "openai")
    features: frozenset[Feature] = frozenset({"stream", "limit", "resume", "approval", "edit"})
    errors = (exceptions.AgentRunError, exceptions.UserError, OpenAIError)
    durability = "DBOSDurability on SQLite, tools as DBOS steps"
    approvals = "requires_approval, DeferredToolResults, the history as JSON"

    async def run(self, task: Task) -> Outcome:
        if not task.durable:
            return await self._run(task, task.prompt)
        agent = _agent(task)

        @DBOS.workflow()
        async def work(prompt: str) -> str:
            return (await agent.run(prompt)).output

        launch(task)  # after all is registered that it recovers
        with SetWorkflowID(task.run_id):
            handle = await DBOS.start_workflow_async(work, task.prompt)
        return Outcome(await handle.get_result())

    async def resume(self, task: Task) -> Outcome:
        return await self.run(task)  # launching DBOS recovers what was pending; the workflow's id makes it the same run

    async def answer(self, task: Task, decisions: Mapping[str, Decision]) -> Outcome:
        results = DeferredToolResults()
        for call_id, decision in decisions.items():
            if decision.approve:
                results.approvals[call_id] = ToolApproved(override_args=decision.arguments)
            else:
                results.approvals[call_id] = ToolDenied(decision.reason)
        history = ModelMessagesTypeAdapter.validate_json((task.folder / "history.json").read_bytes())
        return await self._run(task, None, message_history=history, deferred_tool_results=results)

    async def _run(self, task: Task, prompt: str | None, **more: Any) -> Outcome:
        limits = {} if task.limit is None else {"usage_limits": UsageLimits(request_limit=task.limit)}
        result = await _agent(task).run(prompt, event_stream_handler=_drain if task.stream else None, **limits, **more)
        if not isinstance(result.output, DeferredToolRequests):
            return Outcome(result.output)
        (task.folder / "history.json").write_bytes(result.all_messages_json())
        return Outcome(
            pending=tuple(Pending(call.tool_call_id, call.tool_name, call.args_as_dict()) for call in result.output.approvals)
        )


async def _drain(_: Any, events: AsyncIterable[Any]) -> None:
    async for _event in events:
        pass


def _agent(task: Task) -> Agent[None, Any]:
    model = OpenAIChatModel(task.model, provider=OpenAIProvider(base_url=task.base_url, api_key=task.api_key))
    functions = [DBOS.step()(function) for function in task.tools] if task.durable else task.tools
    return Agent(
        model,
        name="exam",
        instructions=task.instructions,
        tools=[Tool(function, requires_approval=function.__name__ in task.approval) for function in functions],
        output_type=[str, DeferredToolRequests] if task.approval else str,
        capabilities=[DBOSDurability()] if task.durable else None,
    )


def adapter() -> PydanticAIAdapter:
    """The adapter."""
    return PydanticAIAdapter()
