"""agno: its OpenAI chat model, checkpoints after each batch of calls in SqliteDb, and tools that require confirmation."""

from collections.abc import Mapping
from typing import Any

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.exceptions import AgentRunException, AgnoError, RunNotFoundError
from agno.models.openai import OpenAIChat
from agno.run.agent import RunErrorEvent
from agno.run.base import RunStatus
from agno.tools import tool
from openai import OpenAIError

from agent_exam.protocol import Decision, Feature, Outcome, Pending, Task


class AgnoAdapter:
    """Runs tasks with agno."""

    name = "agno"
    packages = ("agno", "openai")
    features: frozenset[Feature] = frozenset({"stream", "limit", "resume", "approval"})
    errors = (AgnoError, AgentRunException, OpenAIError)
    durability = 'SqliteDb, checkpoint="tool-batch", continue_run'
    approvals = "requires_confirmation, SqliteDb, continue_run(requirements=…)"

    async def run(self, task: Task) -> Outcome:
        if not task.stream:
            return _outcome(await _agent(task).arun(task.prompt, run_id=task.run_id, session_id=task.run_id))
        last: Any = None
        async for event in _agent(task).arun(
            task.prompt, run_id=task.run_id, session_id=task.run_id, stream=True, yield_run_output=True
        ):
            last = event
        return _outcome(last)

    async def resume(self, task: Task) -> Outcome:
        try:
            return _outcome(await _agent(task).acontinue_run(run_id=task.run_id, session_id=task.run_id))
        except RunNotFoundError:
            return await self.run(task)

    async def answer(self, task: Task, decisions: Mapping[str, Decision]) -> Outcome:
        agent = _agent(task)
        stored: Any = agent.get_run_output(run_id=task.run_id, session_id=task.run_id)
        for requirement in stored.active_requirements:
            decision = decisions[requirement.tool_execution.tool_call_id]
            if decision.approve:
                requirement.confirm()
            else:
                requirement.reject(note=decision.reason)
        return _outcome(await agent.acontinue_run(run_id=task.run_id, session_id=task.run_id, requirements=stored.requirements))


def _outcome(result: Any) -> Outcome:
    if isinstance(result, RunErrorEvent):
        return Outcome(stopped=f"error: {result.content}"[:500])
    if result.is_paused:
        calls = [requirement.tool_execution for requirement in result.active_requirements]
        return Outcome(pending=tuple(Pending(call.tool_call_id, call.tool_name, call.tool_args) for call in calls))
    if result.status != RunStatus.completed:
        return Outcome(stopped=f"{result.status}: {result.content}"[:500])
    return Outcome(result.content)


def _agent(task: Task) -> Agent:
    tools = [
        tool(requires_confirmation=True)(function) if function.__name__ in task.approval else function for function in task.tools
    ]
    stored = task.durable or task.approval
    return Agent(
        id="exam",
        model=OpenAIChat(id=task.model, base_url=task.base_url, api_key=task.api_key),
        instructions=task.instructions,
        tools=tools,
        db=SqliteDb(db_file=str(task.folder / "agno.sqlite")) if stored else None,
        checkpoint="tool-batch" if stored else None,
        tool_call_limit=task.limit,
        telemetry=False,
    )


def adapter() -> AgnoAdapter:
    """The adapter."""
    return AgnoAdapter()
