"""Which models may be chosen."""

import asyncio
import os

import pytest
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from cli.running import script
from server.running import Serving, host
from server.runs.asking import rivers, with_server, words
from treadle.core.errors import UnknownModel
from treadle.models.downloads.catalogue import LOCAL_MODELS
from treadle.models.scripted import Scripted
from treadle.server.models import DownloadTracker, ModelCatalog, ModelDownload, OfferedModel
from wire.server import WireServer


@pytest.fixture(autouse=True)
def _nothing_set_up(tmp_path, monkeypatch):
    monkeypatch.delenv("TREADLE_MODEL", raising=False)
    monkeypatch.setenv("TREADLE_CONFIG", os.devnull)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("TREADLE_MODELS", str(tmp_path / "models"))


def listed(tmp_path, monkeypatch, *names):
    path = tmp_path / "treadle.toml"
    path.write_text(f"[server]\nmodels = {list(names)}\n")
    monkeypatch.setenv("TREADLE_CONFIG", str(path))


def chosen(models):
    return asyncio.run(models.choice())


def test_the_default_is_named_and_nothing_else_is_offered_unasked(tmp_path):
    with Serving(tmp_path, [rivers()], Scripted(name="openai:small")) as server:
        status, said = with_server(server, lambda ask: ask("GET", "/api/models"))
    assert status == 200
    assert (said["default"], said["problem"], said["models"], said["fetching"]) == ("openai:small", "", [], None)


def test_without_a_model_it_is_said_what_to_do(tmp_path):
    async def none():
        raise UnknownModel("Pull one first; your key is ghp_abcdefghijklmnopqrstuvwxyz0123456789.")

    choice = chosen(ModelCatalog(replace(host(tmp_path), model=none), is_local=True))
    assert choice.default == ""
    assert choice.problem.startswith("Pull one first")
    assert "[redacted" in choice.problem


def test_those_of_the_settings_may_be_chosen_by_everybody(tmp_path, monkeypatch):
    other = script(tmp_path, "I am the other one.", "And still am.")
    listed(tmp_path, monkeypatch, other, other)

    async def work(ask):
        told = await ask.events("/api/runs", {"assistant": "rivers", "message": "Who?", "model": other})
        again = await ask.events("/api/runs", {"run_id": told[0].data["run_id"], "message": "Still?"})
        return told, again, await ask("GET", "/api/models")

    with Serving(tmp_path, [rivers()], Scripted("I am the default.")) as server:
        told, again, (_, said) = with_server(server, work)
    assert (words(told), words(again)) == ("I am the other one.", "And still am.")
    assert said["models"] == [{"name": other, "title": other, "note": ""}]
    assert [each.name for each in chosen(ModelCatalog(host(tmp_path), is_local=False)).models] == [other]


def test_a_projects_file_offers_nothing(tmp_path, monkeypatch):
    (tmp_path / "treadle.toml").write_text('[server]\nmodels = ["command:rm"]\n')
    monkeypatch.chdir(tmp_path)
    assert chosen(ModelCatalog(host(tmp_path), is_local=True)).models == ()


def test_settings_that_cannot_be_read_are_a_problem_and_the_default_is_still_there(tmp_path, monkeypatch):
    listed(tmp_path, monkeypatch, "nonsense")
    choice = chosen(ModelCatalog(host(tmp_path), is_local=True))
    assert (choice.default, choice.models) == ("scripted", ())
    assert "server.models" in choice.problem


def test_whoever_started_the_server_may_choose_what_is_on_their_machine(tmp_path, monkeypatch):
    model = LOCAL_MODELS[-1]
    (tmp_path / "models").mkdir()
    with (tmp_path / "models" / model.file).open("wb") as file:
        file.truncate(model.size)
    with WireServer() as ollama:
        ollama.tags = {"models": [{"name": "qwen3:8b"}]}
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        own, others = chosen(ModelCatalog(host(tmp_path), is_local=True)), chosen(ModelCatalog(host(tmp_path), is_local=False))
    assert (f"llamacpp:{model.name}", model.title) in [(each.name, each.title) for each in own.models]
    assert own.models[-1] == OfferedModel("ollama:qwen3:8b", "qwen3:8b", "in Ollama")
    assert others.models == ()


def test_what_is_here_is_not_looked_for_all_the_time(tmp_path, monkeypatch):
    async def twice():
        models = ModelCatalog(host(tmp_path), is_local=True)
        first = await models.list_models()
        listed(tmp_path, monkeypatch, "openai:later")
        return first, await models.list_models()

    assert asyncio.run(twice()) == ((), ())


def test_no_other_name_is_taken(tmp_path):
    async def naming():
        models = ModelCatalog(host(tmp_path), is_local=True)
        with pytest.raises(UnknownModel, match="isn't offered here"):
            await models.get_model("command:rm")
        with pytest.raises(HTTPException):
            await models.check("command:rm")
        return await models.get_model("")

    assert asyncio.run(naming()).name == "scripted"


def test_a_model_on_its_way_is_told_of(tmp_path):
    fetching = DownloadTracker()
    models = ModelCatalog(host(tmp_path), is_local=True, fetching=fetching)
    seen = []
    fetching.progress(1, 2)
    fetching.fail("Nothing is on its way.")
    for step in (
        lambda: fetching.begin("small", 10),
        lambda: fetching.progress(5, 10),
        lambda: fetching.fail("No room."),
        fetching.done,
    ):
        seen.append(chosen(models).fetching)
        step()
    seen.append(chosen(models).fetching)
    assert seen == [
        None,
        ModelDownload("small", 0, 10),
        ModelDownload("small", 5, 10),
        ModelDownload("small", 5, 10, "No room."),
        None,
    ]
