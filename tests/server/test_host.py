import asyncio
import os

import pytest

from cli.running import script
from treadle.core.errors import SettingsError, UnknownModel
from treadle.server.host import lazy_model, make_host


@pytest.fixture(autouse=True)
def _nothing_set_up(tmp_path, monkeypatch):
    monkeypatch.delenv("TREADLE_MODEL", raising=False)
    monkeypatch.setenv("TREADLE_CONFIG", os.devnull)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("TREADLE_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))


def test_the_model_is_made_at_first_need_and_kept(tmp_path):
    model = lazy_model(script(tmp_path, "hello"))

    async def both():
        return await model(), await model()

    one, other = asyncio.run(both())
    assert one is other
    assert one.name == f"scripted:{tmp_path / 'script.json'}"


def test_a_model_that_is_not_there_is_told_when_it_is_needed():
    model = lazy_model("nonsense:x")
    with pytest.raises(UnknownModel, match="No kind of model is called 'nonsense'"):
        asyncio.run(model())


def test_a_model_that_comes_later_is_found_then(tmp_path, monkeypatch):
    model = lazy_model()
    with pytest.raises(UnknownModel, match="No model was named"):
        asyncio.run(model())
    monkeypatch.setenv("TREADLE_MODEL", script(tmp_path, "hello"))
    assert asyncio.run(model()).name.startswith("scripted:")


def test_the_model_of_the_persons_settings_comes_with_its_address(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text(f'[model]\nname = "{script(tmp_path, "hello")}"\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "mine.toml"))
    assert asyncio.run(lazy_model()()).name.startswith("scripted:")
    with (tmp_path / "mine.toml").open("a") as file:
        file.write('base_url = "http://127.0.0.1:9"\n')
    with pytest.raises(SettingsError, match=r"scripted:.* has no server"):
        asyncio.run(lazy_model()())
    assert asyncio.run(lazy_model(script(tmp_path, "hello"))()).name.startswith("scripted:")


def test_an_address_goes_with_the_model_that_can_use_it(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    assert asyncio.run(lazy_model("openai:x", "http://127.0.0.1:9/v1")()).name == "openai:x"
    with pytest.raises(SettingsError, match=r"scripted:.* has no server, so a base URL doesn't apply to it\."):
        asyncio.run(lazy_model(script(tmp_path, "hello"), "http://127.0.0.1:9")())


def test_the_host_is_at_home_and_makes_nothing_there(tmp_path):
    assert make_host().home.folder == tmp_path / "home"
    assert not (tmp_path / "home").exists()
