"""`treadle serve --demo`: samples that are made once, recordings that can be played, and a model that is fetched meanwhile."""

import asyncio
import json
import os
import signal
import socket
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from browser import Browser, needs_browser
from cli.running import environment, start
from server.running import Serving, host
from treadle.core.entries import Finished, Opened, Returned, Said
from treadle.core.errors import JournalDamaged
from treadle.home import open_home
from treadle.loop.state import replay
from treadle.server.demo import letterbox, recordings, samples
from treadle.server.demo.model import find_demo_model
from treadle.server.demo.platform import demo_platform
from treadle.server.models import DownloadTracker, ModelFetcher
from treadle.server.runs.origin import load_run_origin
from wire.files import FileServer
from wire.index import HUB_PATH, content, tiny

NOBODY = "http://127.0.0.1:9"
NO_NETWORK = {"HF_ENDPOINT": NOBODY, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": f"{NOBODY}/simple", "PIP_RETRIES": "0"}
PATIENCE = 60  # seconds
WITHOUT = "import sys\nsys.modules['alembic'] = sys.modules['yaml'] = sys.modules['xllamacpp'] = None\n"
ASSISTANTS = ["coding", "courses", "guidance", "platform", "reading"]
IDS = {f"demo-{name}" for name in ASSISTANTS}


@pytest.fixture
def home(tmp_path):
    return tmp_path


@contextmanager
def served(home, *words, port="0", **env):
    """The demonstration, its address, and nobody who could give it a model."""
    models = {"TREADLE_MODELS": str(home / "models"), **NO_NETWORK}
    with start(home, "serve", "--demo", "--no-token", "--port", port, *words, **{**models, **env}) as server:
        try:
            yield server, server.stdout.readline().strip().rstrip("/")
        finally:
            server.kill()


def asked(url, body=None):
    """What the server says, and with which status."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"} if data else {})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def told(url):
    status, said = asked(url)
    assert status == 200, said
    return json.loads(said)


def until(look):
    """Look until there is something to see."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.1)
    return found


def filled(home):
    """Wait until every sample is made."""
    folder = home / "data" / "demo"
    until(lambda: len(samples.created_samples(folder)) == len(samples.SAMPLES))
    return folder


def ended(server):
    server.send_signal(signal.SIGINT)
    return server.wait(PATIENCE), server.stderr.read()


def seen(url):
    """Everything that must not be there twice."""
    return {
        "courses": told(f"{url}/api/courses")["course_titles"],
        "projects": [each["title"] for each in told(f"{url}/projects")],
        "runs": sorted(each["run_id"] for each in told(f"{url}/api/runs")["runs"]),
        "files": told(f"{url}/api/reading/files")["files"],
        "platform": told(f"{url}/api/platform/me"),
    }


def test_killed_while_it_is_filled_it_is_complete_after_the_next_start_and_nothing_is_there_twice(home):
    with served(home) as (server, url):
        assert asked(f"{url}/")[0] == 200
        server.kill()
        server.wait()
    with served(home) as (server, url):
        filled(home)
        until(lambda: len(told(f"{url}/api/demonstrations")) == len(ASSISTANTS))
        first = seen(url)
        assert len(first["courses"]) == 8
        assert first["projects"] == ["Buses on time"]
        assert set(first["runs"]) == IDS
        assert {"main.py", "server.go", "test_delivery.py"} <= set(first["files"])
        assert first["platform"]["username"] == "alice"
        assert [each.name for each in (home / "data").iterdir()] == ["demo"]
        assert [each["name"] for each in told(f"{url}/api/coding/workspaces")["workspaces"]] == ["cart"]
        for path in ("/runs", "/runs/demo-courses", "/courses/", "/platform/", "/guidance/", "/reading/", "/coding/"):
            assert asked(f"{url}{path}")[0] == 200, path
        assert ended(server)[0] == 0
    with served(home) as (server, url):
        assert seen(url) == first
        code, said = ended(server)
        assert (code, "There is no" in said) == (0, False)


def test_without_a_network_a_sentence_says_so_and_the_page_can_try_again(home):
    with served(home) as (server, url):
        until(lambda: (told(f"{url}/api/models")["fetching"] or {}).get("problem"))
        said = told(f"{url}/api/models")
        assert said["fetching"]["problem"].startswith("qwen2.5-coder-1.5b could not be pulled: the hub")
        assert "OPENAI_API_KEY" in said["hint"]
        status, answer = asked(f"{url}/api/models/fetch", {})
        assert (status, json.loads(answer)["problem"]) == (202, "")
        until(lambda: told(f"{url}/api/models")["fetching"]["problem"])
        code, shown = ended(server)
    assert code == 0
    assert "so qwen2.5-coder-1.5b is fetched, 1.1 GB, once" in shown
    assert shown.count("qwen2.5-coder-1.5b could not be pulled") == 2
    assert "To use a model of your own" in shown


@needs_browser
def test_the_page_plays_recordings_says_how_to_use_ones_own_model_and_tries_again(home):
    async def look(url):
        async with Browser() as browser:
            page = await browser.open(f"{url}/")
            await page.wait_for("document.querySelectorAll('.assistant .watch').length === 5")
            await page.wait_for("document.querySelector('#notices').innerText.includes('could not be pulled')")
            assert "OPENAI_API_KEY" in await page.text("#notices")
            await page.click("#notices button")
            await page.wait_for("!!document.querySelector('#notices progress')")
            await page.wait_for("document.querySelector('#notices').innerText.includes('could not be pulled')")
            await page.click(".watch[href*='demo-courses']")
            await page.wait_for("document.querySelector('#play')?.textContent === 'Pause'")  # it plays by itself
            assert "Recorded" in await page.text("#about")
            await page.click("#last")
            await page.wait_for("document.querySelector('#then').innerText.includes('Talking to Databases')")
            page.check()

    with served(home) as (_, url):
        until(lambda: len(told(f"{url}/api/demonstrations")) == len(ASSISTANTS))
        asyncio.run(look(url))


def test_what_isnt_installed_is_named_and_the_rest_is_there_at_another_port_if_need_be(home):
    (home / "sitecustomize.py").write_text(WITHOUT)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with served(home, port=str(port), PYTHONPATH=str(home)) as (server, url):
            until(lambda: len(samples.created_samples(home / "data" / "demo")) == len(samples.SAMPLES) - 1)
            assert not url.endswith(f":{port}")
            assert len(told(f"{url}/api/courses")["course_titles"]) == 8
            assert told(f"{url}/api/models")["fetching"] is None
            assert asked(f"{url}/api/models/fetch", {})[0] == 409
            _, shown = ended(server)
    assert f"Port {port} is taken, so another one is used." in shown
    assert "There is no platform to try: " in shown
    assert "pip install 'treadle[platform]'" in shown
    assert "There is no sample of guidance: " in shown
    assert "pip install 'treadle[local]' lets one run here" in shown


def test_a_model_that_somebody_has_is_used_and_nothing_is_fetched(home):
    script = home / "script.json"
    script.write_text('["hello"]')
    with served(home, TREADLE_MODEL=f"scripted:{script}") as (server, url):
        said = told(f"{url}/api/models")
        assert (said["default"], said["fetching"]) == (f"scripted:{script}", None)
        _, shown = ended(server)
    assert f"The model is scripted:{script}." in shown
    assert "To use a model of your own" not in shown


# the model


@pytest.fixture
def nothing(tmp_path, monkeypatch):
    """A machine on which nobody has set anything up."""
    for name in ("TREADLE_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "treadle.toml").touch()
    for name, value in environment(tmp_path, TREADLE_CONFIG=str(tmp_path / "treadle.toml")).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TREADLE_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    return tmp_path


def test_the_model_is_what_was_named_else_settled_else_keyed_and_else_there_is_none(nothing, monkeypatch):
    def found(*words):
        return asyncio.run(find_demo_model(*words))

    assert found() == ("", "")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    assert found() == ("anthropic:claude-sonnet-5-5", "")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert found() == ("openai:gpt-5-mini", "")
    (nothing / "treadle.toml").write_text('[model]\nname = "openai:other"\nbase_url = "http://localhost:1/v1"\n')
    assert found() == ("openai:other", "http://localhost:1/v1")
    monkeypatch.setenv("TREADLE_MODEL", "ollama:mine")
    assert found() == ("ollama:mine", "")
    assert found("openai:named", "http://localhost:2/v1") == ("openai:named", "http://localhost:2/v1")


def test_a_model_that_didnt_come_comes_when_it_is_asked_for_again(nothing, monkeypatch):
    data = content(300_000)
    shown = []

    async def fetch():
        fetching, over = DownloadTracker(), asyncio.Queue()
        fetcher = ModelFetcher(tiny(data), fetching, shown.append, over.put_nowait)
        await fetcher.close()  # nothing was begun
        fetcher.begin()
        await over.get()
        assert "could not be pulled" in fetching.now.problem
        with FileServer({HUB_PATH: data}) as hub:
            monkeypatch.setenv("HF_ENDPOINT", hub.url)
            fetching.again()
            fetching.again()  # it is under way already
            assert fetching.now.problem == ""
            assert await over.get() == "tiny is here, and answers from now on."
        assert fetching.now is None
        await fetcher.close()

    asyncio.run(fetch())
    assert shown[-1].done == len(data)


# the samples


def test_a_project_without_its_world_is_made_anew_and_another_of_the_same_name_isnt_touched(tmp_path):
    from treadle.assistants.guidance.projects import open_projects, project_user_of
    from treadle.assistants.guidance.sample import SAMPLE_TITLE

    lent = host(tmp_path)

    async def projects():
        async with open_projects(lent) as store:
            return {
                each.id: await store.get_world_model(project_user_of(lent), each.id)
                for each in await store.list_projects(project_user_of(lent))
            }

    async def half():
        async with open_projects(lent) as store:
            return (await store.create_project(project_user_of(lent), SAMPLE_TITLE)).id

    broken = asyncio.run(half())
    asyncio.run(samples.SAMPLES["guidance"](lent))
    made = asyncio.run(projects())
    assert broken not in made
    assert [world is not None for world in made.values()] == [True]
    asyncio.run(samples.SAMPLES["guidance"](lent))
    assert asyncio.run(projects()).keys() == made.keys()


def test_samples_that_were_made_are_left_alone(tmp_path):
    lent = host(tmp_path)
    lent.home.folder.mkdir(parents=True)
    (lent.home.folder / samples.CREATED_FILE).write_text(json.dumps([*samples.SAMPLES]))
    assert asyncio.run(samples.create_demo_samples(lent)) == []
    assert not (lent.home.folder / "courses.json").exists()


def test_what_breaks_is_named_and_tried_again_the_next_time(tmp_path):
    lent = host(tmp_path)
    folder = lent.home.folder
    folder.mkdir(parents=True)
    (folder / samples.CREATED_FILE).write_text("[]broken")
    (folder / "letterbox").touch()  # where a folder has to be
    (folder / "courses.json").write_text("broken")
    problems = asyncio.run(samples.create_demo_samples(lent))
    assert [problem.partition(": ")[0] for problem in problems] == [
        "There is no sample of reading",
        "There is no sample of courses",
    ]
    assert "FileExistsError" in problems[0]
    assert "can't be read" in problems[1]
    (folder / "letterbox").unlink()
    (folder / "courses.json").unlink()
    assert asyncio.run(samples.create_demo_samples(lent)) == []
    assert sorted(samples.created_samples(folder)) == sorted(samples.SAMPLES)


def test_a_file_that_somebody_changed_stays_as_it_is(tmp_path):
    letterbox.write_letterbox(tmp_path)
    (tmp_path / "main.py").write_text("mine")
    (tmp_path / "server.go").unlink()
    letterbox.write_letterbox(tmp_path)
    assert (tmp_path / "main.py").read_text() == "mine"
    assert {each.name for each in tmp_path.iterdir()} == letterbox.FILES.keys()


def test_the_platform_is_where_it_was_unless_somebody_else_is_there_now(tmp_path, monkeypatch):
    for name in ("TREADLE_PLATFORM_SERVER", "TREADLE_PLATFORM_TOKEN"):
        monkeypatch.setenv(name, "before")

    def where():
        with demo_platform(tmp_path) as problem:
            assert problem == ""
            return os.environ["TREADLE_PLATFORM_SERVER"]

    first = where()
    assert where() == first
    with socket.create_server(("127.0.0.1", int(first.rpartition(":")[2]))):
        assert where() != first


def test_a_platform_that_cant_be_started_is_nobodys(tmp_path, monkeypatch):
    for name in ("TREADLE_PLATFORM_SERVER", "TREADLE_PLATFORM_TOKEN"):
        monkeypatch.setenv(name, "mine")
    (tmp_path / "platform-demo.db").mkdir()
    with demo_platform(tmp_path) as problem:
        assert problem.startswith("There is no platform to try: ")
        assert "mine" not in (os.environ["TREADLE_PLATFORM_SERVER"], os.environ["TREADLE_PLATFORM_TOKEN"])


# the recordings


def test_there_is_one_of_each_assistant_and_it_says_what_it_is():
    assert [each.assistant for each in recordings.load_recordings()] == ASSISTANTS
    for each in recordings.load_recordings():
        assert each.model == "llamacpp:qwen2.5-coder-1.5b"
        assert time.strptime(each.recorded, "%Y-%m-%d")
        assert each.title


@pytest.mark.parametrize("name", ASSISTANTS)
def test_a_recording_is_a_whole_run_that_shows_calls_and_ends_with_an_answer(name):
    entries = next(entries for each, entries in recordings.load_recordings().items() if each.assistant == name)
    state = replay(entries)
    assert isinstance(entries[0], Opened)
    assert entries[0].at == 0
    assert [each.at for each in entries] == sorted(each.at for each in entries)
    assert isinstance(entries[-1], Finished)
    assert len(entries[-1].text) > 40 or entries[-1].output
    assert state.finished == entries[-1]
    assert load_run_origin("x", entries[0], [name]).assistant == name  # so that it can be gone on with
    assert {entry.stopped for entry in entries if isinstance(entry, Finished)} == {"answered"}
    assert [entry.result.content for entry in entries if isinstance(entry, Returned) and entry.result.problem] == []


@pytest.mark.parametrize("path", sorted(recordings.FOLDER.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_recording_says_nothing_of_the_machine_it_was_made_on(path):
    text = path.read_text()
    assert path.stat().st_size < 100_000
    for word in ("/tmp", "/home", "/root", "/work", str(Path.home()), "127.0.0.1:"):
        assert word not in text


def test_brought_twice_they_are_there_once_and_have_just_ended(tmp_path):
    home = open_home(tmp_path / "data")

    async def bring():
        assert await recordings.list_recordings(home) == []
        await home.journal.append("other", 0, [Opened(), Said(text="hello")])
        assert await recordings.list_recordings(home) == []
        await recordings.import_recordings(home)
        await recordings.import_recordings(home)
        return await recordings.list_recordings(home), await home.journal.list_runs()

    brought, runs = asyncio.run(bring())
    assert brought == [*recordings.load_recordings()]
    assert {each.run_id for each in runs} == IDS | {"other"}
    assert all(abs(each.updated_at - time.time()) < 60 for each in runs if each.run_id in IDS)


def test_a_server_without_them_has_none_to_play(tmp_path):
    with Serving(tmp_path) as server:
        assert told(f"{server.url}/api/demonstrations") == []
        asyncio.run(recordings.import_recordings(open_home(tmp_path / "data")))
        assert {each["run_id"] for each in told(f"{server.url}/api/demonstrations")} == IDS


def test_a_recording_that_doesnt_say_how_it_was_made_is_refused():
    with pytest.raises(JournalDamaged, match="make it anew"):
        recordings.recording_of("rivers", (Said(text="hello"),))
