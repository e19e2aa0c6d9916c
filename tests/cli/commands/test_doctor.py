"""`treadle doctor`: what it finds, and what it says to do."""

import sqlite3
import tomllib
from pathlib import Path

from cli.running import script, treadle
from treadle.admin.doctor import EXTRAS


def asked(home, **env):
    found = treadle(home, "doctor", "--json", **env)
    return found.code, [(each["about"], each["state"], each["says"], each["do"]) for each in found.json]


def wrong(home, **env):
    return [(about, says, do) for about, state, says, do in asked(home, **env)[1] if state == "wrong"]


def kept(home):
    """A home with one run in it."""
    ran = treadle(home, "ask", "Hello?", "-m", script(home, "Hi."), "-q")
    assert ran.code == 0, ran.err
    return {"TREADLE_MODEL": script(home, "Hi.")}


def test_a_new_home_has_nothing_wrong_but_that_no_model_was_chosen(home):
    found = wrong(home)
    assert [about for about, _, _ in found] == ["model"]
    assert "OPENAI_API_KEY" in found[0][2]
    assert not (home / "data").exists()  # looking makes nothing


def test_with_a_model_everything_is_fine_and_said_in_lines(home):
    env = kept(home)
    ran = treadle(home, "doctor", **env)
    assert (ran.code, ran.out.endswith("\nNothing is wrong.\n")) == (0, True)
    assert "ok     stores: treadle.db is intact.\n" in ran.out
    assert "ok     audit: The audit log is intact: 0 records.\n" in ran.out


def test_a_damaged_file_is_named_and_what_to_do(home):
    env = kept(home)
    path = home / "data" / "treadle.db"
    sqlite3.connect(path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 3] = b"\xff" * 4096
    path.write_bytes(data)
    says = {about: (says, do) for about, says, do in wrong(home, **env)}
    assert "treadle.db" in says["stores"][0]
    assert "treadle restore" in says["stores"][1]


def test_a_changed_audit_is_found(home, tmp_path):
    env = kept(home)
    tool = treadle(home, "tool", "call", "stock", "--arguments", '{"item": "A-113"}', "--tools", "treadle.cli.demo", "-q")
    assert tool.code in (0, 1, 2)
    path = home / "data" / "treadle.db"
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO audit VALUES (1, '0', x'7b7d', 'no hash')")
    assert [(about, "record 1" in says) for about, says, _ in wrong(home, **env)] == [("audit", True)]


def test_files_that_others_can_read_are_told(home):
    env = kept(home)
    (home / "data" / "treadle.db").chmod(0o644)
    ((about, says, do),) = wrong(home, **env)
    assert (about, "can be read by others" in says) == ("folder", True)
    assert do == f"chmod go= {home / 'data' / 'treadle.db'}"


def test_settings_that_cannot_be_read_are_told_and_the_rest_is_looked_at_all_the_same(home):
    (home / "treadle.toml").write_text("model = [")
    found = treadle(home, "doctor", "--json", TREADLE_CONFIG=str(home / "treadle.toml"))
    says = {(each["about"], each["state"]) for each in found.json}
    assert ("settings", "wrong") in says
    assert ("programs", "fine") in says


def test_an_mcp_server_whose_program_is_not_there_is_told(home):
    (home / "treadle.toml").write_text('[mcp.files]\ncommand = ["no-such-program", "x"]\n')
    env = kept(home)
    ((about, says, do),) = wrong(home, TREADLE_CONFIG=str(home / "treadle.toml"), **env)
    assert (about, says, do) == (
        "mcp",
        "The MCP server files is started by no-such-program, which isn't there.",
        "Install no-such-program.",
    )


def test_runs_that_wait_are_told(home):
    env = kept(home)
    waiting = script(home, {"calls": [{"name": "send", "arguments": {}}]}, name="waits.json")
    tools = home / "mailer.py"
    tools.write_text('from treadle import tool\n\n@tool(effect="write")\ndef send() -> str:\n    """Send."""\n    return "sent"\n')
    ran = treadle(home, "ask", "Send it.", "-m", waiting, "--tools", str(tools), "-q")
    assert ran.code == 3, ran.err
    assert ("runs", "note", "1 run is waiting for a user.") in [found[:3] for found in asked(home, **env)[1]]


SECRET = "AK" + "IA" + "IOSFODNN7QXAMPLE"


def test_the_key_of_secrets_is_said_and_that_others_can_read_it(home):
    env = kept(home)
    assert ("key", "fine", "There is no key yet; it is created when the first secret is stored.", "") in asked(home, **env)[1]
    assert treadle(home, "ask", f"It is {SECRET}", "-m", script(home, "Hi."), "-q").code == 0
    key = home / "data" / "journal.key"
    (says,) = [says for about, _, says, _ in asked(home, **env)[1] if about == "key"]
    assert f"in {key}" in says
    assert wrong(home, **env) == []
    key.chmod(0o644)
    assert wrong(home, **env) == [("folder", f"{key} can be read by others on this machine.", f"chmod go= {key}")]


def test_a_key_that_is_none_is_found_and_one_in_the_environment_is_said(home):
    env = kept(home)
    (about, says, _), *_ = wrong(home, TREADLE_KEY="nonsense", **env)
    assert (about, says.startswith("TREADLE_KEY is no key")) == ("key", True)
    found = asked(home, TREADLE_KEY="A" * 43 + "=", **env)[1]
    assert next(says for about, _, says, _ in found if about == "key").endswith("in TREADLE_KEY; no backup has it.")
    (home / "data" / "journal.key").touch(0o600)
    assert [about for about, _, _ in wrong(home, **env)] == ["key"]


def test_one_wrong_setting_is_told_once(home):
    config = home / "own.toml"
    config.write_text("[limits]\nround = 1\n")
    ran = treadle(home, "doctor", TREADLE_CONFIG=str(config))
    assert ran.code == 1
    assert ran.out.count("limits.round in") == ran.out.count("Did you mean limits.rounds?") == 1


def test_an_extra_is_missing_only_where_its_packages_are(home):
    extras = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) <= set(extras)
    for extra, modules in EXTRAS.items():
        packages = " ".join(extras[extra]).replace("-", "_")
        assert all({"acp": "agent_client_protocol"}.get(module, module) in packages for module in modules), extra
