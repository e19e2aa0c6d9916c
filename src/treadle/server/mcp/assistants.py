"""What assistants offer over MCP: their tools, under their own policies. Several together have their names before their tools'."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request

from treadle.app.assistant import Assistant, Host
from treadle.app.extras import settled_policy
from treadle.app.job_tools import JobTools
from treadle.app.settings import user_settings
from treadle.core.calls import Call, Verdict
from treadle.core.errors import TreadleError
from treadle.core.requests import Usage
from treadle.core.seams import Policy, Situation, Toolset, Watcher
from treadle.core.tool import Tool
from treadle.server.mcp.offering import Offering
from treadle.server.metrics import Figures, effects_of
from treadle.server.place import Place
from treadle.toolsets.wrap import prefixed

FACE = "mcp"
ADVICE = " Use a client that can ask you about it, or ask the assistant on the page."


def one(assistant: Assistant, host: Host, figures: Figures) -> Offering:
    """One assistant's tools, by their own names."""
    return _offering(_tools(assistant, host), settled_policy(user_settings(), assistant.policy), host, figures)


def together(assistants: Sequence[Assistant], host: Host, figures: Figures) -> Offering:
    """The tools of all, each with its assistant's name before its own: `courses_search_course_content`."""
    toolsets = [prefixed(toolset, each.name) for each in assistants for toolset in _tools(each, host)]
    return _offering(toolsets, Policies(assistants), host, figures)


def _tools(assistant: Assistant, host: Host) -> list[Toolset]:
    own = list(assistant.toolsets(host)) if assistant.toolsets is not None else []
    return [*own, JobTools(assistant, host, host.workspace)] if assistant.work is not None else own


def _offering(toolsets: Sequence[Toolset], policy: Policy, host: Host, figures: Figures) -> Offering:
    def watch(run_id: str) -> Watcher:
        return figures.watch(run_id, Usage(), effects)

    def effects() -> dict[str, str]:
        return {name: effect for each in toolsets for name, effect in effects_of(each).items()}

    def origin(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"face": FACE, "tool": name}

    return Offering(
        toolsets,
        policy=policy,
        services=host.home.services(),
        user=host.user,
        origin=origin,
        advice=ADVICE,
        watch=watch,
        enter=_entered,
    )


@asynccontextmanager
async def _entered(request: Request) -> AsyncGenerator[None]:
    """Through the turnstile of whoever asks, for as long as a call lasts."""
    try:
        place = Place(request.scope.get("turnstile"))
    except HTTPException as refused:
        raise TreadleError(refused.detail) from refused
    try:
        yield
    finally:
        place.leave()


class Policies:
    """A policy made of those of assistants: each judges its own tools, by the names it knows them by."""

    def __init__(self, assistants: Iterable[Assistant]) -> None:
        settings = user_settings()
        self._policies = {assistant.name: settled_policy(settings, assistant.policy) for assistant in assistants}

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        """May this call run?"""
        policy, plain = self._own(tool)
        return policy.judge(replace(call, name=plain.name), plain, situation)

    def offers(self, tool: Tool, situation: Situation) -> bool:
        """Whether clients are told of the tool at all."""
        policy, plain = self._own(tool)
        return policy.offers(plain, situation)

    def _own(self, tool: Tool) -> tuple[Policy, Tool]:
        owner, _, name = tool.name.partition("_")  # the name of an assistant has no such mark
        return self._policies[owner], replace(tool, spec=replace(tool.spec, name=name))
