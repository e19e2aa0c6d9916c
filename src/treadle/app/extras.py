"""What `treadle.toml` adds to an agent, whichever assistant it is: the rules of `[policy]`, and the person's own tools.

Tools come from Python (`[tools.NAME]`), MCP servers (`[mcp.NAME]`) and OpenAPI documents (`[openapi.NAME]`), for every assistant or
for those that are named. Only the person's own file can add any.
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from treadle.app.loading import load_tools, located
from treadle.app.mcp_servers import from_environment, mcp_toolsets
from treadle.app.settled import Settings
from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import SettingsError, TreadleError
from treadle.core.seams import Policy, Toolset
from treadle.guard.policy import allow, ask, deny, policy_of, with_rules
from treadle.toolsets.wrap import Wrapped, prefixed


def settled_policy(settings: Settings, policy: Any) -> Policy:
    """An agent's policy, with the rules that were settled: deny beats ask beats allow, whoever said it."""
    said = settings.policy
    rules = (*map(deny, said.deny), *map(ask, said.ask), *map(allow, said.allow))
    return with_rules(policy_of(policy), rules) if rules else policy_of(policy)


def extra_tools(settings: Settings, assistant: str, home: Path) -> list[Any]:
    """The tools that were settled for an assistant. `home` is where it is kept how those of servers were described at first.

    Their toolsets are called by their section too, so that no rule about an assistant's own toolset is about one of these.
    """
    servers = {name: said for name, said in settings.mcp.items() if _is_for(said.assistants, assistant)}
    toolsets = mcp_toolsets(replace(settings, mcp=servers), home)
    return [
        *[tool for name, said in settings.tools.items() if _is_for(said.assistants, assistant) for tool in _python(name, settings)],
        *[_labelled(toolset, f"mcp.{name}") for name, toolset in zip(servers, toolsets, strict=True)],
        *[_api(name, settings) for name, said in settings.openapi.items() if _is_for(said.assistants, assistant)],
    ]


def _labelled(toolset: Toolset, label: str) -> Toolset:
    return Wrapped(toolset, lambda tool: replace(tool, toolset=label))


def _is_for(assistants: tuple[str, ...], name: str) -> bool:
    return not assistants or name in assistants


def _python(name: str, settings: Settings) -> list[Any]:
    """The tools of files and modules. A file is run once, and again when it has changed; not for each agent."""
    folder = str(Path(settings.user_file).parent)
    specs = [located(spec, folder) for spec in settings.tools[name].python]
    try:
        return list(_loaded(tuple([(spec, _changed_at(spec)) for spec in specs]), folder))
    except TreadleError as error:
        raise SettingsError(f"tools.{name} in {settings.user_file} can't be used: {error}") from error


@lru_cache(maxsize=64)
def _loaded(places: tuple[tuple[str, int], ...], folder: str) -> tuple[Any, ...]:
    return tuple(load_tools([spec for spec, _ in places], folder))


def _changed_at(spec: str) -> int:
    path = Path(spec if spec.endswith(".py") else spec.rpartition(":")[0])
    return path.stat().st_mtime_ns if path.is_file() else 0


def _api(name: str, settings: Settings) -> Toolset:
    from treadle.toolsets.openapi import openapi_tools

    said, file = settings.openapi[name], settings.user_file
    document = said.document if "://" in said.document else Path(file).parent / Path(said.document).expanduser()
    try:
        api = openapi_tools(
            document,
            name=f"openapi.{name}",
            base_url=said.base_url,
            origins=said.origins,
            private=said.private,
            only=said.only,
            effects=said.effects,
            keyed=said.keyed,
            retry=said.retry,
            credentials=said.credentials,
            headers=from_environment(said.headers),
        )
    except SettingsError as error:
        raise SettingsError(f"openapi.{name} in {file} can't be used: {error}") from error
    return prefixed(_Credited(api, tuple(said.credentials.values())), name)


class _Credited(Wrapped):
    """A toolset whose calls have credentials from the person's environment, besides those of whoever the run is for."""

    def __init__(self, inner: Toolset, variables: tuple[str, ...]) -> None:
        super().__init__(inner, lambda tool: tool)
        self._variables = variables

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Call it with the credentials."""
        known = {name: os.environ[name] for name in self._variables if name in os.environ}
        return await super().call(call, context.with_credentials({**known, **context.credentials}))
