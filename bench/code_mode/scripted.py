"""The fifty tasks with a scripted model, as programs and with one call at a time: what differs is what is sent."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bench.code_mode.tasks import Shop, Task, step_through
from treadle import Agent, Limits, allow
from treadle.core.requests import Request
from treadle.loop.window import CHARACTERS_PER_TOKEN
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.tools.schema import to_openai

NO_LIMITS = Limits(rounds=None, calls=None, seconds=None)


class Cost(Struct, frozen=True):
    """What one way to do a task took: requests, tokens that were sent and received, and those of them that were new.

    New is what no request before it had sent: what a server with a prompt cache computes.
    """

    answer: Any
    effects: tuple[str, ...]
    requests: int
    tokens: int
    new: int


def measure_program(task: Task) -> Cost:
    """Do a task with a program."""
    shop = Shop()
    model = Scripted(calls(("run_program", {"program": task.program})), lambda request: request.history[-1].parts[0].content)
    result = Agent(model, tools=shop.tools(), policy=[allow("*")], code_mode=True, limits=NO_LIMITS).run_sync(task.prompt)
    return _cost(_decode(result.output), shop, model.requests, result.output)


def measure_calls(task: Task) -> Cost:
    """Do a task with one call at a time."""
    shop = Shop()
    steps = step_through(task, shop.tools())

    def reply(request: Request) -> Any:
        if len(request.history) == 1:
            return _ask(steps, None)
        result = request.history[-1].parts[0]
        assert result.problem is None, result.content
        return _ask(steps, _decode(result.content))

    model = Scripted(*[reply] * 400)
    result = Agent(model, tools=shop.tools(), policy=[allow("*")], limits=NO_LIMITS).run_sync(task.prompt)
    return _cost(_decode(result.output), shop, model.requests, result.output)


def _ask(steps: Any, result: Any) -> Any:
    try:
        return calls(steps.send(result))
    except StopIteration as end:
        return end.value if isinstance(end.value, str) else msgspec.json.encode(end.value).decode()


def _decode(content: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return content


def _cost(answer: Any, shop: Shop, requests: Sequence[Request], output: str) -> Cost:
    offered = sum(len(msgspec.json.encode(to_openai(spec))) for spec in requests[0].tools)
    sizes = [offered + len(request.instructions) + request.history.size for request in requests]
    sent, new = sum(sizes) + len(output), sizes[-1] + len(output)
    return Cost(answer, tuple(shop.effects), len(requests), round(sent / CHARACTERS_PER_TOKEN), round(new / CHARACTERS_PER_TOKEN))
