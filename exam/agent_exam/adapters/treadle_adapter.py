"""Treadle: an agent with a home in the case's folder. `pay` has the exam's check as its `reconcile`."""

from collections.abc import Mapping
from typing import Any

from agent_exam.protocol import Decision, Feature, Outcome, Pending, Task
from treadle import Agent, Limits, RunResult, TreadleError, allow, ask, open_home, tool
from treadle.errors import RunNotFound
from treadle.home import close_home
from treadle.models.http import close_model_connections
from treadle.models.wires.openai import OpenAI


class TreadleAdapter:
    """Runs tasks with Treadle."""

    name = "treadle"
    packages = ("treadle",)
    features: frozenset[Feature] = frozenset({"stream", "limit", "resume", "approval", "edit"})
    errors = (TreadleError,)
    durability = 'journal in SQLite; a tool with retry="checkable"'
    approvals = "policy ask(…), agent.approve, agent.deny"

    async def run(self, task: Task) -> Outcome:
        return await self._with_home(task, self._start)

    async def resume(self, task: Task) -> Outcome:
        return await self._with_home(task, self._continue)

    async def answer(self, task: Task, decisions: Mapping[str, Decision]) -> Outcome:
        async def answered(agent: Agent[Any, Any], task: Task, services: Any) -> RunResult[Any]:
            for call_id, decision in decisions.items():
                if decision.approve:
                    await agent.approve(task.run_id, call_id, by="Ann", arguments=decision.arguments, journal=services)
                else:
                    await agent.deny(task.run_id, call_id, decision.reason, by="Ann", journal=services)
            return await agent.resume(task.run_id, journal=services)

        return await self._with_home(task, answered)

    async def _start(self, agent: Agent[Any, Any], task: Task, services: Any) -> RunResult[Any]:
        return await agent.run(task.prompt, run_id=task.run_id, journal=services)

    async def _continue(self, agent: Agent[Any, Any], task: Task, services: Any) -> RunResult[Any]:
        try:
            return await agent.resume(task.run_id, journal=services)
        except RunNotFound:  # killed before anything was worth storing
            return await self._start(agent, task, services)

    async def _with_home(self, task: Task, work: Any) -> Outcome:
        home = open_home(task.folder / "home")
        try:
            return _outcome(await work(_agent(task), task, home.services()))
        finally:
            await close_model_connections()
            close_home(home)


def _agent(task: Task) -> Agent[Any, Any]:
    return Agent(
        OpenAI(task.model, base_url=task.base_url, api_key=task.api_key, stream=task.stream),
        instructions=task.instructions,
        tools=[_tool(function, task) for function in task.tools],
        policy=[allow("*"), *(ask(name) for name in task.approval)],
        limits=Limits() if task.limit is None else Limits(rounds=task.limit, at_limit="fail"),
    )


def _tool(function: Any, task: Task) -> Any:
    check = task.checks.get(function.__name__)
    if check is None:
        return tool(effect="read")(function)
    return tool(effect="write", retry="checkable", reconcile=check)(function)


def _outcome(result: RunResult[Any]) -> Outcome:
    if result.stopped == "waiting":
        return Outcome(pending=tuple(Pending(call.call_id, call.name, dict(call.arguments)) for call in result.approvals))
    if result.stopped != "answered":
        return Outcome(text=result.text, stopped=f"{result.stopped}: {result.reason}")
    return Outcome(result.text)


def adapter() -> TreadleAdapter:
    """The adapter."""
    return TreadleAdapter()
