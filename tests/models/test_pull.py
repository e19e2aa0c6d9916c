"""Pulling a model from the hub: over real sockets and files, with everything that can come in between."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from treadle.core.errors import PullFailed, SettingsError
from treadle.models.downloads.catalogue import HubFile
from treadle.models.downloads.pull import PullProgress, pull_model
from treadle.models.downloads.storage import find_model_file, lock_model, partial_path
from wire.files import FileServer
from wire.index import HUB_PATH, content, tiny

DATA = content(1_000_000)
MODEL = tiny(DATA)
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    return tmp_path / "models"


@pytest.fixture
def hub(monkeypatch):
    """A hub with one file, that misbehaves as told."""
    servers = []

    def start(data: bytes = DATA, **behaviour) -> FileServer:
        server = FileServer({HUB_PATH: data}, **behaviour).__enter__()
        servers.append(server)
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        return server

    yield start
    for server in servers:
        server.__exit__()


def pulled(model=MODEL) -> Path:
    return asyncio.run(pull_model(model))


def failure(model=MODEL) -> str:
    with pytest.raises(PullFailed) as failed:
        pulled(model)
    assert find_model_file(model) is None
    return str(failed.value)


def begun(folder: Path, data: bytes) -> None:
    """What an earlier pull left."""
    folder.mkdir()
    partial_path(MODEL).write_bytes(data)


def test_a_model_comes_from_the_hub_and_stays(folder, hub):
    server = hub()
    assert pulled() == pulled() == folder / "tiny.gguf"
    assert (folder / "tiny.gguf").read_bytes() == DATA
    assert server.asked == [(HUB_PATH, 0)]
    assert not partial_path(MODEL).exists()


def test_progress_goes_from_nothing_to_all(hub):
    hub()
    seen: list[PullProgress] = []
    asyncio.run(pull_model(MODEL, seen.append))
    fetching = [progress.done for progress in seen if progress.stage == "fetching"]
    assert fetching == sorted(fetching)
    assert (fetching[0], fetching[-1]) == (0, len(DATA))
    assert len(fetching) > 3
    assert {progress.source for progress in seen if progress.stage == "fetching"} == {"the hub"}
    assert seen[-1] == PullProgress("checking", len(DATA), len(DATA))


def test_a_connection_that_breaks_off_is_made_again_where_it_broke(hub):
    server = hub(breaks=(300_000, 400_000))
    assert pulled().read_bytes() == DATA
    assert server.asked == [(HUB_PATH, 0), (HUB_PATH, 300_000), (HUB_PATH, 700_000)]


def test_a_hub_that_knows_no_ranges_begins_again(hub):
    server = hub(breaks=(300_000,), ranges=False)
    assert pulled().read_bytes() == DATA
    assert server.asked == [(HUB_PATH, 0), (HUB_PATH, 0)]


def test_a_pull_goes_on_where_an_earlier_one_ended(folder, hub):
    begun(folder, DATA[:600_000])
    server = hub()
    assert pulled().read_bytes() == DATA
    assert server.asked == [(HUB_PATH, 600_000)]


def test_a_pull_that_ended_before_the_check_only_checks(folder):
    begun(folder, DATA)
    assert pulled().read_bytes() == DATA


@pytest.mark.parametrize("left", [DATA[:-1] + b"?", DATA + b"more"], ids=["wrong", "too long"])
def test_what_an_earlier_pull_left_in_disorder_is_fetched_anew(folder, hub, left):
    begun(folder, left)
    server = hub()
    assert pulled().read_bytes() == DATA
    assert server.asked == [(HUB_PATH, 0)]


def test_a_file_with_another_hash_is_removed_and_said(folder, hub):
    hub(DATA[:-1] + b"?")
    assert failure() == "tiny could not be pulled: what the hub gave has another SHA-256 than Tiny 1 and was removed."
    assert not partial_path(MODEL).exists()


def test_a_file_of_another_size_is_not_even_fetched(hub):
    hub(DATA + b"more")
    assert "has another file: its size is 1000004 bytes instead of 1000000" in failure()
    assert not partial_path(MODEL).exists()


def test_the_rest_of_a_file_of_another_size_is_not_taken(folder, hub):
    begun(folder, DATA[:600_000])
    hub(DATA + b"more")
    assert "has another file: its size is 1000004 bytes instead of 1000000" in failure()


def test_a_hub_that_does_not_say_how_much_it_sends_may_send_more(hub):
    hub(DATA + b"more", sized=False)
    assert pulled().read_bytes() == DATA


def test_a_hub_that_does_not_say_how_much_it_sends_may_send_less(hub):
    hub(DATA[:500_000], sized=False, ranges=False)
    assert "the hub ends the file too early" in failure()


@pytest.mark.parametrize(("status", "words"), [(404, "doesn't have it (404)"), (503, "doesn't give it (503)")])
def test_the_next_source_is_asked_where_one_has_no_such_file(hub, status, words):
    server = hub(status={HUB_PATH: status})
    second = "/other/place/resolve/main/tiny%20copy.gguf"
    server.files[second] = DATA
    sources = HubFile("some/repository", "tiny.gguf"), HubFile("other/place", "tiny copy.gguf")
    assert words in failure(tiny(DATA, sources[0]))
    assert pulled(tiny(DATA, *sources)).read_bytes() == DATA
    assert [path for path, _ in server.asked] == [HUB_PATH, HUB_PATH, second]


def test_without_a_network_one_sentence_says_so():
    said = failure()
    assert said.startswith("tiny could not be pulled: the hub at 127.0.0.1:9 does not answer; is there a network?")
    assert "\n" not in said


def test_a_hub_that_breaks_off_at_once_again_and_again_is_given_up(hub):
    hub(breaks=(1000, 0))
    assert "broke off" in failure()
    assert partial_path(MODEL).stat().st_size == 1000


def test_redirects_are_followed_within_the_server(hub):
    server = hub()
    server.files = {"/cdn/x?sign=a%2Fb": DATA}
    server.leads = {HUB_PATH: "/api/cache", "/api/cache": f"{server.url}/cdn/x?sign=a%2Fb"}
    assert pulled().read_bytes() == DATA
    assert [path for path, _ in server.asked] == [HUB_PATH, "/api/cache", "/cdn/x?sign=a%2Fb"]


@pytest.mark.parametrize(
    "location", ["http://localhost:9/x", "ftp://127.0.0.1/x", "file:///etc/passwd", "https://", "https://localhost/ä"]
)
def test_redirects_to_other_servers_are_followed_over_https_only(hub, location):
    server = hub()
    server.leads = {HUB_PATH: location}
    assert "which isn't followed" in failure()


def test_redirects_over_https_lead_to_other_servers(hub):
    hub().leads = {HUB_PATH: "https://localhost:9/x"}
    assert "the hub at localhost:9 does not answer" in failure()


def test_redirects_in_a_circle_end(hub):
    server = hub()
    server.leads = {HUB_PATH: HUB_PATH}
    assert "leads from one place to the next" in failure()
    assert len(server.asked) == 5


def test_an_address_that_is_none_is_a_wrong_setting(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "my mirror")
    with pytest.raises(SettingsError, match="HF_ENDPOINT is 'my mirror', which is no address of a hub"):
        pulled()


def test_what_has_come_stays_when_a_pull_is_cancelled(folder, hub):
    hub()

    async def interrupted() -> None:
        task = asyncio.ensure_future(pull_model(MODEL, lambda progress: progress.done and task.cancel()))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    come = partial_path(MODEL).read_bytes()
    assert come
    assert DATA.startswith(come)
    assert find_model_file(MODEL) is None
    assert pulled().read_bytes() == DATA


def test_two_pulls_at_once_fetch_once(hub):
    server = hub()
    seen: list[PullProgress] = []

    async def both() -> list[Path]:
        return await asyncio.gather(pull_model(MODEL), pull_model(MODEL, seen.append))

    first, second = asyncio.run(both())
    assert first == second
    assert server.asked == [(HUB_PATH, 0)]
    assert {progress.stage for progress in seen} == {"waiting"}


def test_a_pull_waits_for_another_process_and_goes_on_when_that_dies(folder, hub):
    hub()
    folder.mkdir()
    code = "import sys; from treadle.models.downloads.storage import lock_model; from wire.index import *\n"
    code += "with lock_model(tiny(b'')): print('held', flush=True); sys.stdin.read()"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, env=environment) as other:
        assert other.stdout.readline() == b"held\n"

        def end_the_other(progress: PullProgress) -> None:
            if progress.stage == "waiting":
                other.kill()

        assert asyncio.run(pull_model(MODEL, end_the_other)).read_bytes() == DATA
        other.communicate()
    with lock_model(MODEL) as is_held:
        assert is_held


# Disks


def test_what_cannot_fit_is_not_even_begun(folder, hub):
    server = hub()
    huge = tiny(DATA)
    huge = type(huge)(huge.name, huge.title, huge.file, 10**18, huge.sha256, huge.licence, huge.sources)
    said = failure(huge)
    assert said.startswith(f"1000000.0 TB are needed in {folder}, but only ")
    assert "are free; make room there, or let TREADLE_MODELS name another folder." in said
    assert server.asked == []


PULL = """
import asyncio, sys
from pathlib import Path
from treadle.core.errors import PullFailed
from treadle.models.downloads.storage import models_folder
from treadle.models.downloads.pull import pull_model
from wire.index import content, tiny
{before}
try:
    print(asyncio.run(pull_model(tiny(content({size})), {watch})))
except PullFailed as error:
    print(error)
"""


def in_a_child(*prefix: str, size: int = len(DATA), before: str = "", watch: str = "lambda progress: None") -> str:
    code = PULL.format(size=size, before=before, watch=watch)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([*prefix, sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stderr == ""
    return done.stdout.strip()


def test_a_file_that_may_grow_no_further_is_one_sentence_and_the_pull_can_go_on(folder, hub):
    hub()
    said = in_a_child(before="import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))")
    assert said.startswith(f"The disk of {folder} is full; make room there")
    assert said.endswith("and pull again: what has come is kept.")
    assert find_model_file(MODEL) is None
    assert partial_path(MODEL).read_bytes() == DATA[:400_000]
    assert pulled().read_bytes() == DATA


def can_mount() -> bool:
    return (
        bool(shutil.which("unshare"))
        and not subprocess.run(
            ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
        ).returncode
    )


@pytest.mark.skipif(not can_mount(), reason="needs a disk of its own")
def test_a_disk_that_fills_up_meanwhile_is_one_sentence_and_the_name_stays_free(hub, folder):
    hub()
    folder.mkdir()
    mounted = f'mount -t tmpfs -o size=1400k none {folder} && "$@" && ls -A {folder}'
    filler = "lambda p: p.done and (models_folder() / 'filler').write_bytes(bytes(700_000))"
    said = in_a_child("unshare", "-Urm", "sh", "-c", mounted, "sh", watch=filler)
    assert said.startswith(f"The disk of {folder} is full; make room there")
    assert "\ntiny.gguf" not in said
    assert partial_path(MODEL).name in said


def test_a_folder_that_cannot_be_made_is_named(folder, monkeypatch):
    folder.write_text("")
    monkeypatch.setenv("TREADLE_MODELS", str(folder / "deeper"))
    assert failure() == f"{folder / 'deeper'} can't be written: Not a directory."
