"""Where the platform is, and whose token it is."""

import json
import time

import pytest

from treadle.assistants.platform.settings import PlatformSettings, load_own_token, resolve_platform_settings
from treadle.errors import SettingsError
from treadle.testing import throwaway_host


@pytest.fixture(autouse=True)
def nobody(tmp_path, monkeypatch):
    for name in ("TREADLE_PLATFORM_SERVER", "TREADLE_PLATFORM_TOKEN", "IDP_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "own.toml").write_text("")
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def settled(server=""):
    with throwaway_host() as host:
        return resolve_platform_settings(host, server)


def test_what_is_typed_goes_before_the_environment_and_that_before_the_file(nobody, monkeypatch):
    assert settled() == PlatformSettings()
    (nobody / "own.toml").write_text('[assistants.platform]\nserver = "https://platform.example/"\ndeploy_roles = ["admin"]\n')
    assert settled() == PlatformSettings(server="https://platform.example", deploy_roles=("admin",))
    monkeypatch.setenv("TREADLE_PLATFORM_SERVER", "http://localhost:9/")
    assert settled().server == "http://localhost:9"
    assert settled("http://localhost:8/base/").server == "http://localhost:8/base"


@pytest.mark.parametrize(
    "line", ['server = "ftp://x"', 'server = "http://ann:secret@x"', "passages = 99", "floor = 2.0", "odd = 1"]
)
def test_what_doesnt_fit_is_said(nobody, line):
    (nobody / "own.toml").write_text(f"[assistants.platform]\n{line}\n")
    with pytest.raises(SettingsError, match=r"assistants\.platform"):
        settled()


@pytest.mark.parametrize("typed", ["localhost:8081", "ftp://x", "http://ann:secret@x", "http://x/?a=b"])
def test_so_is_an_address_that_was_typed(typed):
    with pytest.raises(SettingsError, match="is no address of a platform"):
        settled(typed)


def test_a_token_comes_from_the_environment_or_from_the_platforms_own_file(nobody, monkeypatch):
    server = "http://localhost:8081"
    assert load_own_token(server) == ""
    (nobody / ".innominatus").mkdir()
    file = nobody / ".innominatus" / "credentials"
    file.write_text("nonsense")
    assert load_own_token(server) == ""
    file.write_text(json.dumps({"server_url": f"{server}/", "username": "ann", "api_key": "kept"}))
    assert load_own_token(server) == "kept"
    assert load_own_token("http://elsewhere") == ""
    past = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))
    file.write_text(json.dumps({"server_url": server, "api_key": "kept", "expires_at": past}))
    assert load_own_token(server) == ""
    monkeypatch.setenv("IDP_API_KEY", "theirs")
    assert load_own_token(server) == "theirs"
    monkeypatch.setenv("TREADLE_PLATFORM_TOKEN", " ours\n")
    assert load_own_token(server) == "ours"
