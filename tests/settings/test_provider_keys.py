"""Keys of providers that were added on the settings page: encrypted, and used wherever a model is."""

import asyncio

import pytest

from treadle.core.errors import MissingKey, SettingsError, WrongKey
from treadle.models.providers import PROVIDERS
from treadle.plugins.models import model_from_keys, resolve_model
from treadle.server.host import lazy_model
from treadle.settings import provider_keys
from treadle.settings.editing import set_settings
from treadle.settings.provider_keys import (
    PROVIDER_KEYS_FILE,
    inherit_provider_keys,
    key_ending,
    load_provider_key,
    remove_provider_key,
    store_provider_key,
    stored_providers,
)

KEY = "sk-proj-abcdefghijklmnopqrstuv"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").touch()
    monkeypatch.setattr(provider_keys, "_inherited", [])
    for name in {
        name for provider in PROVIDERS.values() for name in (*provider.keys, *provider.base_urls, *provider.model_variables)
    }:
        monkeypatch.delenv(name, raising=False)
    for name in ("TREADLE_MODEL", "TREADLE_KEY", "LLM_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "data"


def test_a_key_is_encrypted_and_its_owners_alone(folder):
    store_provider_key("openai", KEY)
    path = folder / PROVIDER_KEYS_FILE
    assert KEY not in path.read_text()
    assert KEY[-4:] not in path.read_text()
    assert {path.stat().st_mode & 0o777, (folder / "journal.key").stat().st_mode & 0o777} == {0o600}
    assert load_provider_key("openai") == KEY
    assert load_provider_key("groq") == ""
    assert [*stored_providers()] == ["openai"]
    remove_provider_key("openai")
    assert load_provider_key("openai") == ""
    assert stored_providers() == {}


def test_an_ending_is_shown_of_a_long_key_alone():
    assert key_ending(KEY) == "stuv"
    assert key_ending("short") == ""


def test_a_model_uses_the_stored_key_and_a_variable_comes_first(monkeypatch):
    with pytest.raises(MissingKey):
        resolve_model("groq:x")
    store_provider_key("groq", KEY)
    assert resolve_model("groq:x").name == "groq:x"
    assert model_from_keys() == ("groq:openai/gpt-oss-120b", PROVIDER_KEYS_FILE)
    monkeypatch.setenv("XAI_API_KEY", "x" * 20)
    assert model_from_keys()[1] == "XAI_API_KEY"


def test_a_key_of_another_encryption_key_is_not_read(folder):
    store_provider_key("openai", KEY)
    (folder / "journal.key").unlink()
    with pytest.raises(WrongKey, match="the key of openai"):
        load_provider_key("openai")


def test_a_key_cannot_be_moved_to_another_provider(folder):
    store_provider_key("openai", KEY)
    path = folder / PROVIDER_KEYS_FILE
    path.write_text(path.read_text().replace('"openai"', '"groq"'))
    with pytest.raises(Exception, match="isn't what was written"):
        load_provider_key("groq")


def test_a_damaged_file_says_what_to_do(folder):
    folder.mkdir()
    (folder / PROVIDER_KEYS_FILE).write_text("nothing")
    with pytest.raises(SettingsError, match="add the keys again"):
        stored_providers()


def test_the_demo_uses_the_users_keys_and_keeps_its_own(folder, monkeypatch):
    store_provider_key("openai", KEY)
    inherit_provider_keys(folder)
    monkeypatch.setenv("TREADLE_HOME", str(folder / "demo"))
    assert load_provider_key("openai") == KEY
    store_provider_key("openai", "another-key-of-the-demo")
    assert load_provider_key("openai") == "another-key-of-the-demo"
    monkeypatch.setenv("TREADLE_HOME", str(folder))
    assert load_provider_key("openai") == KEY


def test_a_server_that_runs_uses_what_was_changed():
    async def changed():
        model = lazy_model()
        set_settings({("model", "name"): "ollama:first"})
        first = await model()
        assert first is await model()
        assert first.name == "ollama:first"
        set_settings({("model", "name"): "ollama:second"})
        second = await model()
        assert second.name == "ollama:second"
        store_provider_key("ollama", KEY)
        assert await model() is not second

    asyncio.run(changed())
