"""The user's settings file, changed key by key: comments and everything else stay as they are."""

import tomllib

import pytest

from treadle.core.errors import SettingsError
from treadle.settings.editing import edit_settings, format_toml, remove_table, set_settings
from treadle.settings.loader import user_settings

FILE = """\
# mine
model = "ollama:qwen3"  # small

[limits]
rounds = 40
# the end of limits

[mcp.issues]
url = "https://example.org/mcp"
# tools of it
only = [
  "a",  # one
  "b",
]

[mcp.wiki]
command = ["wiki"]
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(FILE)
    return path


def test_a_value_is_replaced_and_its_comment_stays():
    assert edit_settings(FILE, {("model", "name"): "openai:gpt-5-mini"}) == FILE.replace(
        'model = "ollama:qwen3"  # small', 'model = "openai:gpt-5-mini"  # small'
    )
    assert edit_settings('[model]\nname = "a:b#c"', {("model", "name"): "x:y"}) == '[model]\nname = "x:y"\n'


def test_a_value_on_several_lines_is_replaced_and_removed():
    assert tomllib.loads(edit_settings(FILE, {("mcp", "issues", "only"): ["c"]}))["mcp"]["issues"]["only"] == ["c"]
    removed = edit_settings(FILE, {("mcp", "issues", "only"): None})
    assert "only" not in tomllib.loads(removed)["mcp"]["issues"]
    assert "# tools of it" in removed


def test_a_key_is_added_to_its_table_or_with_a_table():
    assert edit_settings(FILE, {("limits", "cost"): 2.5}).splitlines()[5:7] == ["cost = 2.5", "# the end of limits"]
    assert edit_settings("[limits]\nrounds = 4", {("limits", "cost"): 1}) == "[limits]\nrounds = 4\ncost = 1\n"
    added = edit_settings(FILE, {("openapi", "shop", "document"): "shop.json", ("openapi", "shop", "private"): True})
    assert added == f'{FILE}\n[openapi.shop]\ndocument = "shop.json"\nprivate = true\n'
    assert edit_settings("", {("model", "name"): "a:b"}) == '[model]\nname = "a:b"\n'
    assert edit_settings("", {("limits", "cost"): None}) == ""


def test_a_table_is_removed_and_the_others_stay():
    assert (
        edit_settings(FILE, {}, ("mcp", "issues")) == FILE[: FILE.index("[mcp.issues]")] + "\n" + FILE[FILE.index("[mcp.wiki]") :]
    )
    assert edit_settings("[mcp]\nx.url = 'y'\nx.private = true\nz.url = 'a'\n", {}, ("mcp", "x")) == "[mcp]\nz.url = 'a'\n"
    assert (
        edit_settings("[mcp.x]\nurl = 'y'\n[mcp.x.headers]\na = 'b'\n[mcp.z]\nurl='c'\n", {}, ("mcp", "x")) == "[mcp.z]\nurl='c'\n"
    )


@pytest.mark.parametrize("text", ['mcp = {x = {url = "y"}}', '[mcp]\nx = {url = "y"}'])
def test_what_is_written_in_another_way_is_left_as_it_is(text):
    with pytest.raises(SettingsError, match="change it in the file"):
        edit_settings(text, {("mcp", "x", "private"): True})


@pytest.mark.parametrize("value", ['a "b" \\ \n\x7f ü', [1, 2.5, True], {"a b": "c"}, {}, "[x]", "# no comment = 3"])
def test_values_are_what_they_were(value):
    assert tomllib.loads(f"x = {format_toml(value)}")["x"] == value
    edited = edit_settings("", {("model", "name"): value})
    assert tomllib.loads(edit_settings(edited, {("model", "name"): value}))["model"].get("name", {}) == value


def test_a_change_counts_for_every_face_and_the_file_keeps_its_mode(own):
    own.chmod(0o640)
    link = own.with_name("link.toml")
    link.symlink_to(own)
    set_settings({("model", "name"): "openai:gpt-5-mini", ("limits", "rounds"): 7}, link)
    settings = user_settings(own)
    assert (settings.model.name, settings.limits.rounds) == ("openai:gpt-5-mini", 7)
    assert own.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    remove_table(("mcp", "issues"), own)
    assert [*user_settings(own).mcp] == ["wiki"]


def test_a_new_file_is_its_owners_alone(tmp_path):
    path = set_settings({("model", "name"): "ollama:qwen3"}, tmp_path / "new" / "treadle.toml")
    assert path.stat().st_mode & 0o777 == 0o600
    assert user_settings(path).model.name == "ollama:qwen3"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({("model", "name"): "nothing"}, "model.name in .* must be"),
        ({("limits", "rounds"): 0}, "limits.rounds"),
        ({("nothing", "x"): 1}, "isn't a known setting"),
        ({("mcp", "issues", "command"): ["x"]}, "and not both"),
        ({("mcp", "wiki", "assistants"): ["nothing"]}, "which isn't installed"),
    ],
)
def test_an_invalid_value_changes_nothing(own, change, problem):
    with pytest.raises(SettingsError, match=problem):
        set_settings(change, own)
    assert own.read_text() == FILE


def test_a_file_that_is_wrong_already_is_not_changed(own):
    own.write_text("[model\n")
    with pytest.raises(SettingsError, match="Correct it first"):
        set_settings({("limits", "rounds"): 7}, own)
    own.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="can't be changed"):
        set_settings({("limits", "rounds"): 7}, own)
