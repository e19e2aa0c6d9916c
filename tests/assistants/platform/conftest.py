"""The demo platform, in both of its shapes, and the server that asks it."""

import shutil

import pytest
from msgspec.structs import replace

from server.running import Serving
from treadle.assistants.platform import assistant
from treadle.demo.platform import start_demo
from treadle.testing import Scripted


@pytest.fixture(scope="package", params=["new", "old"])
def either(request):
    """One that nobody changes; in the shape of before and in that of today."""
    with start_demo(shape=request.param) as demo:
        yield demo


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    """A platform's file with all of its samples, and its keys: making them takes longer than most tests."""
    folder = tmp_path_factory.mktemp("samples")
    start_demo(folder / "platform.db", pace=None).stop()
    return folder


@pytest.fixture
def copied(samples, tmp_path_factory):
    """The file of a platform that one test has for itself."""
    return shutil.copytree(samples, tmp_path_factory.mktemp("platform"), dirs_exist_ok=True) / "platform.db"


@pytest.fixture(params=["new", "old"])
def fresh(request, copied):
    """One of its own for a test that changes something."""
    with start_demo(copied, shape=request.param) as demo:
        yield demo


@pytest.fixture
def demo(copied):
    """The newer one, for a test that changes something."""
    with start_demo(copied) as demo:
        yield demo


@pytest.fixture
def serve(demo, tmp_path, monkeypatch):
    """The page's server for this platform, with these replies; no user is signed in but who says so."""
    monkeypatch.setenv("TREADLE_PLATFORM_SERVER", demo.url)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("TREADLE_PLATFORM_TOKEN", "IDP_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "quotas.md").write_text("# Quotas\n\nEvery team may have ten buckets.\n")
    (tmp_path / "own.toml").write_text(f'[assistants.platform]\ndocuments = ["{tmp_path / "docs"}"]\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    return lambda *replies: Serving(tmp_path, [replace(assistant, panel=None)], Scripted(*replies))  # the page is tested by itself
