"""A workspace to run tests in. Where there is no sandbox, or not the runner, tests are skipped and say why."""

import asyncio

import pytest

from treadle.sandbox.probe import check_sandbox


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def sandboxed(workspace):
    here = asyncio.run(check_sandbox(workspace))
    if not here.sandboxed:
        pytest.skip(here.why)
    return workspace
