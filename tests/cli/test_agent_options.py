import json

import msgspec
import pytest

from treadle.cli.agent_options import AgentOptions, options_from_args, options_of_run, parse_json_object
from treadle.cli.options import build_parser
from treadle.core.entries import Opened, decode, encode
from treadle.core.errors import SettingsError


def chosen(*words, before=None):
    return options_from_args(build_parser().parse_args(["ask", "x", *words]), before)


def test_what_was_typed_comes_back_from_the_journal_as_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").touch()
    instructions = tmp_path / "told.txt"
    instructions.write_text("Be brief.")
    typed = chosen(
        *(
            "-m",
            "openai:x",
            "--base-url",
            "http://localhost:1/v1",
            "-a",
            "courses",
            "--dialect",
            "hermes",
            "--tools",
            "tools.py:stock",
            "--tools",
            "shop",
        ),
        *("-i", f"@{instructions}", "--allow", "a*", "--deny", "b", "--rounds", "3", "--cost", "0.5", "--temperature", "0"),
    )
    entry = decode(encode(Opened(origin=typed.origin)))
    assert isinstance(entry, Opened)
    assert entry.origin["face"] == "cli"
    assert options_of_run("r", entry) == typed
    assert typed.instructions == "Be brief."
    assert (typed.dialect, typed.assistant) == ("hermes", "courses")
    assert typed.policy == {"allow": ["a*"], "deny": ["b"]}
    assert typed.limits == {"rounds": 3, "cost": 0.5}
    assert typed.options == {"temperature": 0.0}
    assert typed.tools[0] == f"{tmp_path}/tools.py:stock"
    assert typed.tools[1] == "shop"


def test_options_replace_only_what_they_name():
    before = chosen(
        "-m", "openai:x", "-a", "courses", "--dialect", "json", "--tools", "shop", "--rounds", "3", "--no-person", "--allow", "a"
    )
    after = chosen("-m", "openai:y", "--calls", "2", before=before)
    assert (after.model, after.tools, after.limits) == ("openai:y", ("shop",), {"rounds": 3, "calls": 2})
    assert (after.policy, after.dialect, after.assistant) == (before.policy, "json", "courses")
    assert not after.attended


def test_a_run_that_a_program_began_was_not_chosen_here():
    assert options_of_run("r", None) is None
    assert options_of_run("r", Opened(origin={"face": "web"})) is None


def test_an_origin_that_cannot_be_read_is_said_so():
    with pytest.raises(SettingsError, match="The options that run r was started with"):
        options_of_run("r", Opened(origin={**AgentOptions().origin, "tools": 3}))


def test_no_key_of_the_environment_is_kept(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert b"sk-secret" not in msgspec.json.encode(chosen("-m", "openai:x").origin)


def test_an_address_with_a_password_is_refused():
    with pytest.raises(SettingsError, match="password"):
        chosen("--base-url", "https://me:secret@example.org/v1")


@pytest.mark.parametrize("name", ["policy.toml", "policy.json"])
def test_a_policy_file_and_typed_rules_are_one_policy(tmp_path, name):
    path = tmp_path / name
    path.write_text('allow = ["a"]\ndefault = "deny"\n' if name.endswith("toml") else '{"allow": ["a"], "default": "deny"}')
    typed = chosen("--policy", str(path), "--allow", "b", "--ask", "c")
    assert typed.policy == {"allow": ["a", "b"], "default": "deny", "ask": ["c"]}


@pytest.mark.parametrize(("name", "text"), [("p.toml", "allow = ["), ("p.json", "[1]"), ("p.json", "{"), ("missing.toml", None)])
def test_a_policy_file_that_cannot_be_read_is_said_so(tmp_path, name, text):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match=r"The policy .* can't be"):
        chosen("--policy", str(path))


def test_instructions_that_cannot_be_read_are_said_so(tmp_path):
    with pytest.raises(SettingsError, match="instructions"):
        chosen("-i", f"@{tmp_path}/missing")


@pytest.mark.parametrize("text", ["{", "[1]", "3", "", json.dumps("x")])
def test_arguments_have_to_be_an_object(text):
    with pytest.raises(SettingsError, match="JSON object"):
        parse_json_object(text, "The arguments")
