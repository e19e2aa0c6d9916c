"""The servers of a person's treadle.toml are toolsets; a real one is really asked."""

import asyncio
import sys
from pathlib import Path

import pytest

from treadle.core.errors import SettingsError
from treadle.plugins.mcp_servers import mcp_toolsets
from treadle.settings.loader import settings_for


def test_servers_that_a_person_settled_on_are_toolsets(tmp_path: Path) -> None:
    settings = tmp_path / "user.toml"
    settings.write_text(f'[mcp.time]\ncommand = ["{sys.executable}", "-m", "mcp_server_time"]\nonly = ["get_*"]\n')
    (tmp_path / "work").mkdir()
    (toolset,) = mcp_toolsets(settings_for(tmp_path / "work", user_file=settings), tmp_path)

    async def listed() -> list[str]:
        async with toolset:
            return [tool.name for tool in toolset.tools()]

    assert asyncio.run(listed()) == ["time_get_current_time"]
    assert (tmp_path / "mcp.json").exists()


def test_a_project_names_no_servers(tmp_path: Path) -> None:
    (tmp_path / "treadle.toml").write_text('[mcp.evil]\ncommand = ["sh", "-c", "touch /tmp/evil"]\n')
    settings = settings_for(tmp_path, user_file=tmp_path / "none.toml")
    assert mcp_toolsets(settings, tmp_path) == []
    assert any("evil" in note for note in settings.notes)


def test_which_tools_may_be_called_again_after_a_crash_is_the_persons_to_say_and_never_the_projects(tmp_path: Path) -> None:
    settings = tmp_path / "user.toml"
    server = f'[mcp.time]\ncommand = ["{sys.executable}", "-m", "mcp_server_time"]\nretry = {{"convert_*" = "idempotent"}}\n'
    settings.write_text(server)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "treadle.toml").write_text(server.replace("convert_*", "*"))
    (toolset,) = mcp_toolsets(settings_for(tmp_path / "work", user_file=settings), tmp_path)

    async def listed() -> dict[str, str]:
        async with toolset:
            return {tool.name: tool.retry for tool in toolset.tools()}

    assert asyncio.run(listed()) == {"time_get_current_time": "once", "time_convert_time": "idempotent"}


def test_a_retry_that_a_server_cannot_keep_to_is_a_sentence(tmp_path: Path) -> None:
    settings = tmp_path / "user.toml"
    settings.write_text('[mcp.time]\ncommand = ["x"]\nretry = {a = "keyed"}\n')
    with pytest.raises(SettingsError, match=r'mcp.time.retry in .* must be a table of tools, each "idempotent" or "once"'):
        settings_for(tmp_path, user_file=settings)
