"""LangGraph: LangChain's `create_agent` on ChatOpenAI, with the SQLite checkpointer and LangChain's own middleware."""

from collections.abc import Mapping
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelCallLimitMiddleware, ToolRetryMiddleware
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain_core.exceptions import LangChainException
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command
from openai import OpenAIError
from pydantic import SecretStr

from agent_exam.protocol import Decision, Feature, Outcome, Pending, Task


class LangGraphAdapter:
    """Runs tasks with LangGraph."""

    name = "langgraph"
    packages = ("langgraph", "langchain", "langchain-openai", "langgraph-checkpoint-sqlite", "openai")
    features: frozenset[Feature] = frozenset({"stream", "limit", "resume", "approval", "edit"})
    errors = (LangChainException, GraphRecursionError, ModelCallLimitExceededError, OpenAIError)
    durability = 'AsyncSqliteSaver, durability="sync"'
    approvals = "HumanInTheLoopMiddleware, Command(resume=…)"

    async def run(self, task: Task) -> Outcome:
        return await self._invoke(task, _input(task))

    async def resume(self, task: Task) -> Outcome:
        async with AsyncSqliteSaver.from_conn_string(str(task.folder / "checkpoints.sqlite")) as saver:
            known = await saver.aget_tuple(_config(task)) is not None
        return await self._invoke(task, None if known else _input(task))

    async def answer(self, task: Task, decisions: Mapping[str, Decision]) -> Outcome:
        ordered = [_decision(decisions[number]) for number in sorted(decisions, key=int)]
        return await self._invoke(task, Command(resume={"decisions": ordered}))

    async def _invoke(self, task: Task, given: Any) -> Outcome:
        if not task.durable and not task.approval:
            return await _outcome(task, _agent(task, None), given)
        async with AsyncSqliteSaver.from_conn_string(str(task.folder / "checkpoints.sqlite")) as saver:
            return await _outcome(task, _agent(task, saver), given, durability="sync")


def _input(task: Task) -> Any:
    return {"messages": [{"role": "user", "content": task.prompt}]}


def _config(task: Task) -> Any:
    return {"configurable": {"thread_id": task.run_id}}


def _decision(decision: Decision) -> dict[str, Any]:
    if not decision.approve:
        return {"type": "reject", "message": decision.reason}
    if decision.arguments is None:
        return {"type": "approve"}
    return {"type": "edit", "edited_action": {"name": "pay", "args": decision.arguments}}


async def _outcome(task: Task, agent: Any, given: Any, **how: Any) -> Outcome:
    config = _config(task)
    if task.stream:
        result: Any = None
        async for mode, part in agent.astream(given, config, stream_mode=["messages", "values"], **how):
            result = part if mode == "values" else result
    else:
        result = await agent.ainvoke(given, config, **how)
    requests = [action for interrupt in result.get("__interrupt__", ()) for action in interrupt.value["action_requests"]]
    if requests:
        return Outcome(pending=tuple(Pending(str(number), one["name"], one["args"]) for number, one in enumerate(requests)))
    return Outcome(result["messages"][-1].text)


def _agent(task: Task, saver: Any) -> Any:
    middleware: list[Any] = [ToolRetryMiddleware(max_retries=0, on_failure="continue")]  # the model reads what a tool raised
    if task.limit is not None:
        middleware.append(ModelCallLimitMiddleware(run_limit=task.limit, exit_behavior="error"))
    if task.approval:
        middleware.append(HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(task.approval, True)))
    model = ChatOpenAI(model=task.model, base_url=task.base_url, api_key=SecretStr(task.api_key), streaming=task.stream)
    return create_agent(model, list(task.tools), system_prompt=task.instructions, middleware=middleware, checkpointer=saver)


def adapter() -> LangGraphAdapter:
    """The adapter."""
    return LangGraphAdapter()
