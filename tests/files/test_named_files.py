"""A file that a person named, and the folder: what is refused is said in a sentence, by every command alike."""

import os
from argparse import Namespace
from pathlib import Path

import pytest

from treadle.assistants.coding.command import _check_folder, _read_text
from treadle.assistants.coding.job_environment import source_folder_of
from treadle.assistants.coding.workspaces import WorkspaceAccess, WorkspaceNotAllowed
from treadle.assistants.courses.command import _require_paths
from treadle.cli.agent_options import options_from_args
from treadle.core.errors import SettingsError
from treadle.files.named_files import NotOpened, head_of, read_named
from treadle.sandbox.discovery import resolve_spec
from treadle.sandbox.values import SandboxMissing, SandboxSpec
from treadle.settings.loader import settings_for
from treadle.toolsets.workspace.tools import workspace_tools

NEVER = "Name a project's own folder."


def test_a_file_is_read_up_to_its_limit(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("12345")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_named("~/a.txt", 5) == head_of(tmp_path / "a.txt", 5) == b"12345"
    assert head_of(tmp_path / "a.txt", 2) == b"12"
    with pytest.raises(NotOpened, match=r"a\.txt has 5 bytes; files up to 4 bytes are read"):
        read_named(tmp_path / "a.txt", 4)


@pytest.mark.parametrize(
    ("name", "said"), [("", "is a folder; name a file in it"), ("gone", "There is no file"), ("a\0b", "There is no file")]
)
def test_what_is_no_file_is_said(tmp_path, name, said):
    with pytest.raises(NotOpened, match=said):
        read_named(tmp_path / name if "\0" not in name else name, 10)


def test_a_pipe_is_read_only_where_somebody_typed_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotOpened, match="no regular file"):
        read_named(tmp_path / "pipe", 10)
    read, write = os.pipe()
    os.write(write, b"piped")
    os.close(write)
    try:
        assert read_named(f"/proc/self/fd/{read}", 10, pipes=True) == b"piped"
    finally:
        os.close(read)
    with pytest.raises(SettingsError, match="There is no file"):
        _read_text(f"@{tmp_path}/gone")


class _Host:
    folder = None

    def __init__(self, place: Path) -> None:
        self.home = Namespace(folder=place)

    @property
    def settings(self):
        return settings_for(Path.cwd())


@pytest.mark.parametrize("named", ["/etc", "~", "~/.ssh", "~/.config/systemd", "{data}/jobs", "~/link"])
def test_every_way_to_choose_a_folder_refuses_what_is_never_a_workspace(named, tmp_path, monkeypatch):
    for name in ("ann/.ssh", "ann/.config/systemd", "data/jobs", "ann/shop"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "ann" / "link").symlink_to(tmp_path / "ann" / ".ssh")
    monkeypatch.setenv("HOME", str(tmp_path / "ann"))
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    named = named.format(data=tmp_path / "data")
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text(f'[assistants.coding]\nworkspaces = ["{named}", "~/shop"]\n')
    places, real = WorkspaceAccess(_Host(tmp_path / "data")), Path(named).expanduser()
    for choose, raised in (
        (lambda: _check_folder(named), SettingsError),
        (lambda: source_folder_of(Namespace(workspace=str(real), id="job-1")), SettingsError),
        (lambda: _require_paths([real]), SettingsError),
        (lambda: options_from_args(Namespace(workspace=named)), SettingsError),
        (lambda: workspace_tools(real), SettingsError),
        (lambda: resolve_spec(SandboxSpec(real)), SandboxMissing),
        (lambda: places.require_folder(named, is_local=True), WorkspaceNotAllowed),
    ):
        with pytest.raises(raised, match=NEVER):
            choose()
    assert [each.path for each in places.list_workspaces()] == [str(tmp_path / "ann" / "shop")]
    assert places.missing() == [named]
