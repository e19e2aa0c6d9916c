"""The MCP servers of a user's `treadle.toml` and command line, as toolsets. Servers in a project's file are ignored."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.core.errors import SettingsError
from treadle.core.seams import Toolset
from treadle.settings.schema import McpSettings, Settings

if TYPE_CHECKING:
    from treadle.toolsets.mcp import McpServer

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
APPROVED_FILE = "mcp.json"  # in the home folder: how tools were described when they were first seen


def mcp_toolsets(settings: Settings, home: Path) -> list[Toolset]:
    """Return a toolset for each server, connected when a run starts.

    A tool of a server in the settings needs approval again when its description has changed. A server that is named on
    the command line has no name there that would last.
    """
    if not settings.mcp:
        return []
    from importlib.util import find_spec

    if not find_spec("mcp"):
        raise SettingsError("MCP servers need a package: pip install 'treadle[mcp]'")
    from treadle.toolsets.mcp import ApprovalStore, mcp_tools

    approved = ApprovalStore(home / APPROVED_FILE)
    return [
        mcp_tools(_server_from_settings(name, said), approved=None if f"mcp.{name}" in settings.sources else approved)
        for name, said in settings.mcp.items()
    ]


def _server_from_settings(name: str, said: McpSettings) -> "McpServer":
    from treadle.toolsets.mcp import McpServer

    headers, env = expand_variables(said.headers), expand_variables(said.env)
    return McpServer(
        name,
        said.command,
        env,
        url=said.url,
        headers=headers,
        only=said.only,
        retry=said.retry,
        prefix=said.prefix,
        private=said.private,
    )


def referenced_values(values: Iterable[str]) -> list[str]:
    """Return the values of the environment variables that `{NAME}` stands for in these values: secrets, as a rule."""
    names = [name for value in values for name in _PLACEHOLDER.findall(value)]
    return [os.environ[name] for name in names if os.environ.get(name)]


def expand_variables(values: dict[str, str]) -> dict[str, str]:
    """Expand `{NAME}` in values from the environment, where it is set, so that settings needn't contain secrets."""
    return {key: _PLACEHOLDER.sub(lambda blank: os.environ.get(blank[1], blank[0]), value) for key, value in values.items()}
