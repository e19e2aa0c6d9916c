"""A workspace in a sandbox. Where there is none, tests are skipped and say why."""

import asyncio

import pytest

from treadle.sandbox.probe import check_sandbox


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("TREADLE_BWRAP", raising=False)


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    here = asyncio.run(check_sandbox(folder))
    if not here.sandboxed:
        pytest.skip(here.why)
    return folder
