"""What `treadle.toml` adds to every agent: the rules of `[policy]`, and the user's own tools.

Tools come from Python (`[tools.NAME]`), MCP servers (`[mcp.NAME]`) and OpenAPI documents (`[openapi.NAME]`), for
every assistant or for those that are named. Only the user's own file, and their command line (`tool_sources`), can add any.
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import SettingsError, ToolProblem, TreadleError
from treadle.core.seams import Policy, Toolset
from treadle.guard.policy import allow, ask, deny, to_policy, with_rules
from treadle.plugins.mcp_servers import expand_variables, mcp_toolsets, referenced_values
from treadle.plugins.tool_loader import load_tools, resolve_tool_spec
from treadle.settings.schema import Settings
from treadle.toolsets.wrappers import MappedToolset, WrapperToolset, prefixed


def apply_policy_settings(settings: Settings, policy: Any) -> Policy:
    """Add the rules from the settings to an agent's policy: deny beats ask beats allow, whatever their source."""
    said = settings.policy
    rules = (*map(deny, said.deny), *map(ask, said.ask), *map(allow, said.allow))
    return with_rules(to_policy(policy), rules) if rules else to_policy(policy)


class UserTools(Struct, frozen=True):
    """The tools, and the secrets of their servers, which are masked wherever they occur."""

    tools: tuple[Any, ...] = ()
    secrets: tuple[str, ...] = ()


def load_user_tools(settings: Settings, assistant: str, home: Path) -> UserTools:
    """Return the configured tools for an assistant. `home` stores how servers' tools were described when first approved.

    Their toolsets are named after their section, so that no rule about an assistant's own toolset applies to them.
    """
    servers = {name: said for name, said in settings.mcp.items() if _applies_to(said.assistants, assistant)}
    apis = {name: said for name, said in settings.openapi.items() if _applies_to(said.assistants, assistant)}
    toolsets = mcp_toolsets(replace(settings, mcp=servers), home)
    tools = [
        *[
            tool
            for name, said in settings.tools.items()
            if _applies_to(said.assistants, assistant)
            for tool in _python_tools(name, settings)
        ],
        *[label_toolset(toolset, f"mcp.{name}") for name, toolset in zip(servers, toolsets, strict=True)],
        *[_openapi_toolset(name, settings) for name in apis],
    ]
    used = [value for said in servers.values() for value in (*said.env.values(), *said.headers.values())]
    used += [value for said in apis.values() for value in said.headers.values()]
    credentials = [os.environ.get(name, "") for said in apis.values() for name in said.credentials.values()]
    return UserTools(tuple(tools), tuple([secret for secret in (*referenced_values(used), *credentials) if secret]))


def label_toolset(toolset: Toolset, label: str) -> Toolset:
    """Return a toolset under another name, so that no rule about a toolset of its own name applies to its tools."""
    return MappedToolset(toolset, lambda tool: replace(tool, toolset=label))


def _applies_to(assistants: tuple[str, ...], name: str) -> bool:
    return not assistants or name in assistants


def _python_tools(name: str, settings: Settings) -> list[Any]:
    """Return the tools of files and modules. A file is executed once, and again when it has changed; not for each agent."""
    folder = str(Path(settings.user_file).parent)
    specs = [resolve_tool_spec(spec, folder) for spec in settings.tools[name].python]
    try:
        return list(_load_cached(tuple([(spec, _mtime_of(spec)) for spec in specs]), folder))
    except TreadleError as error:
        raise SettingsError(f"tools.{name} in {settings.user_file} can't be used: {error}") from error


@lru_cache(maxsize=64)
def _load_cached(places: tuple[tuple[str, int], ...], folder: str) -> tuple[Any, ...]:
    return tuple(load_tools([spec for spec, _ in places], folder))


def _mtime_of(spec: str) -> int:
    path = Path(spec if spec.endswith(".py") else spec.rpartition(":")[0])
    return path.stat().st_mtime_ns if path.is_file() else 0


def _openapi_toolset(name: str, settings: Settings) -> Toolset:
    from treadle.toolsets.openapi import openapi_tools

    said, file = settings.openapi[name], settings.user_file
    typed = settings.sources.get(f"openapi.{name}", "")
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
            credentials=said.credentials if typed else said.credentials or None,
            headers=expand_variables(said.headers),
        )
    except SettingsError as error:
        raise SettingsError(f"{typed or f'openapi.{name} in {file}'} can't be used: {error}") from error
    credentialed = _CredentialedToolset(api, tuple(said.credentials.values()), name if typed else "")
    return prefixed(credentialed, name) if said.prefix else credentialed


class _CredentialedToolset(WrapperToolset):
    """A toolset whose calls get credentials from the user's environment, besides those of the run's caller.

    `source` is the name of one that was typed, for the hint how to type a credential.
    """

    def __init__(self, inner: Toolset, variables: tuple[str, ...], source: str = "") -> None:
        super().__init__(inner)
        self._variables = variables
        self._source = source

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Call the tool with the credentials."""
        from treadle.toolsets.openapi.security import CredentialMissing

        known = {name: os.environ[name] for name in self._variables if name in os.environ}
        try:
            return await super().call(call, context.with_credentials({**known, **context.credentials}))
        except CredentialMissing as missing:
            if not self._source:
                raise
            named = " or ".join([f"{self._source}.{scheme}=@VARIABLE" for scheme in missing.schemes])  # a form that isn't masked
            raise ToolProblem(
                f"{missing} They name the environment variable that holds it, as {named} after --credential."
            ) from None
