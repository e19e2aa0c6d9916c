"""smolagents: `ToolCallingAgent` on its OpenAI model. It has neither durable runs nor approvals of single calls."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from openai import OpenAIError
from smolagents import OpenAIModel, Tool, ToolCallingAgent
from smolagents.monitoring import LogLevel
from smolagents.utils import AgentError

from agent_exam.protocol import Decision, Feature, Outcome, Task

_TYPES = {str: "string", int: "integer"}


class SmolagentsAdapter:
    """Runs tasks with smolagents."""

    name = "smolagents"
    packages = ("smolagents", "openai")
    features: frozenset[Feature] = frozenset({"stream", "limit"})
    errors = (AgentError, OpenAIError)
    durability = "none"
    approvals = "none"

    async def run(self, task: Task) -> Outcome:
        agent = ToolCallingAgent(
            tools=[_tool(function) for function in task.tools],
            model=OpenAIModel(task.model, api_base=task.base_url, api_key=task.api_key),
            instructions=task.instructions,
            stream_outputs=task.stream,
            verbosity_level=LogLevel.OFF,
            return_full_result=True,
        )
        result: Any = agent.run(task.prompt, max_steps=task.limit)
        if result.state != "success":
            return Outcome(stopped=result.state)
        return Outcome(str(result.output))

    async def resume(self, task: Task) -> Outcome:
        raise NotImplementedError

    async def answer(self, task: Task, decisions: Mapping[str, Decision]) -> Outcome:
        raise NotImplementedError


def _tool(function: Callable[..., str]) -> Tool:
    """A tool as a subclass of `Tool`, which is its documented way besides the decorator."""
    parameters = inspect.signature(function).parameters.values()
    inputs = {
        one.name: {"type": _TYPES[one.annotation], "description": one.name}
        | ({} if one.default is inspect.Parameter.empty else {"nullable": True})
        for one in parameters
    }

    class ExamTool(Tool):
        name = function.__name__
        description = (inspect.getdoc(function) or "").partition("\n")[0]
        output_type = "string"
        skip_forward_signature_validation = True

        def forward(self, *args: Any, **kwargs: Any) -> str:
            return function(*args, **kwargs)

    ExamTool.inputs = inputs
    return ExamTool()


def adapter() -> SmolagentsAdapter:
    """The adapter."""
    return SmolagentsAdapter()
