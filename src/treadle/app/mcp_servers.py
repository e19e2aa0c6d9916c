"""The MCP servers that a person settled on in their `treadle.toml`, as toolsets. What a project says of servers isn't taken."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.app.settled import McpSettings, Settings
from treadle.core.errors import SettingsError
from treadle.core.seams import Toolset

if TYPE_CHECKING:
    from treadle.toolsets.mcp import Server

_BLANK = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
APPROVED = "mcp.json"  # in the home folder: how tools were described when they were first seen


def mcp_toolsets(settings: Settings, home: Path) -> list[Toolset]:
    """One for each server, connected when a run begins. A tool that is described otherwise than before needs approval again."""
    if not settings.mcp:
        return []
    from importlib.util import find_spec

    if not find_spec("mcp"):
        raise SettingsError(f"{settings.user_file} names MCP servers, which need a package: pip install 'treadle[mcp]'")
    from treadle.toolsets.mcp import Approved, mcp_tools

    approved = Approved(home / APPROVED)
    return [mcp_tools(_server(name, said), approved=approved) for name, said in settings.mcp.items()]


def _server(name: str, said: McpSettings) -> "Server":
    from treadle.toolsets.mcp import Server

    headers, env = from_environment(said.headers), from_environment(said.env)
    return Server(name, said.command, env, url=said.url, headers=headers, only=said.only, retry=said.retry, private=said.private)


def from_environment(values: dict[str, str]) -> dict[str, str]:
    """Values with `{NAME}` filled in from the person's environment, where it has that; settings needn't hold secrets."""
    return {key: _BLANK.sub(lambda blank: os.environ.get(blank[1], blank[0]), value) for key, value in values.items()}
