"""The assistants' tools over MCP, under their own policies. Several together have their names as prefixes."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request

from treadle.core.calls import Call, Verdict
from treadle.core.errors import TreadleError
from treadle.core.requests import Usage
from treadle.core.seams import Policy, Situation, Toolset, Watcher
from treadle.core.tool import Tool
from treadle.jobs.tools import JobTools
from treadle.plugins.assistant import Assistant, Host
from treadle.plugins.user_tools import apply_policy_settings
from treadle.server.limits import RunSlot
from treadle.server.mcp.offering import Offering
from treadle.server.metrics import ServerMetrics, tool_effects
from treadle.settings.loader import user_settings
from treadle.toolsets.wrappers import prefixed

FACE = "mcp"
ADVICE = " Use a client that can ask you about it, or ask the assistant on the page."


def offer_assistant(assistant: Assistant, host: Host, figures: ServerMetrics) -> Offering:
    """Offer one assistant's tools, by their own names."""
    return _make_offering(_collect_tools(assistant, host), apply_policy_settings(user_settings(), assistant.policy), host, figures)


def offer_assistants(assistants: Sequence[Assistant], host: Host, figures: ServerMetrics) -> Offering:
    """Offer the tools of all assistants, each prefixed with its assistant's name: `courses_search_course_content`."""
    toolsets = [prefixed(toolset, each.name) for each in assistants for toolset in _collect_tools(each, host)]
    return _make_offering(toolsets, PrefixedPolicies(assistants), host, figures)


def _collect_tools(assistant: Assistant, host: Host) -> list[Toolset]:
    own = list(assistant.toolsets(host)) if assistant.toolsets is not None else []
    return [*own, JobTools(assistant, host, host.workspace)] if assistant.work is not None else own


def _make_offering(toolsets: Sequence[Toolset], policy: Policy, host: Host, figures: ServerMetrics) -> Offering:
    def watch(run_id: str) -> Watcher:
        return figures.watch(run_id, Usage(), effects)

    def effects() -> dict[str, str]:
        return {name: effect for each in toolsets for name, effect in tool_effects(each).items()}

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
        enter=_hold_run_slot,
    )


@asynccontextmanager
async def _hold_run_slot(request: Request) -> AsyncGenerator[None]:
    """Hold a slot of the user's run limiter, for the duration of a call."""
    try:
        place = RunSlot(request.scope.get("run_limiter"))
    except HTTPException as refused:
        raise TreadleError(refused.detail) from refused
    try:
        yield
    finally:
        place.release()


class PrefixedPolicies:
    """A policy made of those of the assistants: each judges its own tools, by their unprefixed names."""

    def __init__(self, assistants: Iterable[Assistant]) -> None:
        settings = user_settings()
        self._policies = {assistant.name: apply_policy_settings(settings, assistant.policy) for assistant in assistants}

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        """Judge a call."""
        policy, plain = self._resolve(tool)
        return policy.judge(replace(call, name=plain.name), plain, situation)

    def offers(self, tool: Tool, situation: Situation) -> bool:
        """Whether the tool is listed for clients."""
        policy, plain = self._resolve(tool)
        return policy.offers(plain, situation)

    def _resolve(self, tool: Tool) -> tuple[Policy, Tool]:
        owner, _, name = tool.name.partition("_")  # the name of an assistant has no such mark
        return self._policies[owner], replace(tool, spec=replace(tool.spec, name=name))
