"""The MCP servers of a user's `treadle.toml`, as toolsets. Servers in a project's file are ignored."""

import os
import re
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
    """Return a toolset for each server, connected when a run starts. A tool whose description changed needs approval again."""
    if not settings.mcp:
        return []
    from importlib.util import find_spec

    if not find_spec("mcp"):
        raise SettingsError(f"{settings.user_file} names MCP servers, which need a package: pip install 'treadle[mcp]'")
    from treadle.toolsets.mcp import ApprovalStore, mcp_tools

    approved = ApprovalStore(home / APPROVED_FILE)
    return [mcp_tools(_server_from_settings(name, said), approved=approved) for name, said in settings.mcp.items()]


def _server_from_settings(name: str, said: McpSettings) -> "McpServer":
    from treadle.toolsets.mcp import McpServer

    headers, env = expand_variables(said.headers), expand_variables(said.env)
    return McpServer(name, said.command, env, url=said.url, headers=headers, only=said.only, retry=said.retry, private=said.private)


def expand_variables(values: dict[str, str]) -> dict[str, str]:
    """Expand `{NAME}` in values from the environment, where it is set, so that settings needn't contain secrets."""
    return {key: _PLACEHOLDER.sub(lambda blank: os.environ.get(blank[1], blank[0]), value) for key, value in values.items()}
