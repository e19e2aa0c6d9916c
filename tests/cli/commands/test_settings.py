"""`treadle settings`, and the model that a person settled on."""

import pytest

from cli.running import script, treadle


@pytest.fixture
def own(home):
    """The person's own file, in the usual place."""
    path = home / ".config" / "treadle" / "treadle.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def project(home):
    folder = home / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def test_every_value_is_shown_with_the_file_it_is_from(home, own, project):
    own.write_text("[limits]\nrounds = 30\n")
    (project / "treadle.toml").write_text('[tests]\ncommand = "make test"\n[commands]\nsandbox = false\n')
    ran = treadle(home, "settings", cwd=project)
    rows = {line.split()[0]: line for line in ran.out.splitlines()}
    assert rows["limits.rounds"].split() == ["limits.rounds", "30", str(own)]
    assert rows["tests.command"].split()[1:3] == ['"make', 'test"']
    assert rows["tests.command"].endswith(str(project / "treadle.toml"))
    assert rows["commands.sandbox"].split()[1:] == ["true", "default"]
    assert rows["model.context"].split()[1:] == ["-", "default"]
    assert ran.err == (
        f"{project}/treadle.toml sets commands.sandbox, which would allow more than you do: it is left out. "
        f"To have it, set it in {own}.\n"
    )


def test_programs_get_json(home, own, project):
    own.write_text('[mcp.x]\nurl = "https://example.org"\nheaders = { Authorization = "Bearer verysecret" }\n')
    ran = treadle(home, "settings", "--json", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    rows = {row["key"]: (row["value"], row["from"]) for row in ran.json["settings"]}
    assert rows["git.protected"] == (["main", "master"], "default")
    assert rows["mcp.x.headers"] == (["Authorization"], str(own))
    assert "verysecret" not in ran.out
    assert (ran.json["user_file"], ran.json["project_file"], ran.json["notes"]) == (str(own), None, [])


def test_whoever_has_settled_nothing_is_told_where_to(home):
    ran = treadle(home, "settings", cwd=home)
    assert ran.code == 0
    assert ran.err == f"Nothing is set yet. What you write in {home}/.config/treadle/treadle.toml applies everywhere.\n"


def test_a_mistake_is_a_sentence(home, own):
    own.write_text("[limits]\nround = 1\n")
    ran = treadle(home, "settings")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"treadle: limits.round in {own} isn't a known setting. Did you mean limits.rounds?\n"


def test_the_settled_model_answers_where_none_is_named(home, own, project):
    own.write_text(f'[model]\nname = "{script(home, "from the settings", name="a.json")}"\n')
    other = script(home, "another", name="b.json")
    (project / "treadle.toml").write_text(f'[model]\nname = "{other}"\n')
    assert treadle(home, "ask", "x", "--no-journal", cwd=project).out == "from the settings\n"
    assert treadle(home, "ask", "x", "--no-journal", cwd=project, TREADLE_MODEL=other).out == "another\n"
    assert treadle(home, "ask", "x", "--no-journal", "-m", other, cwd=project).out == "another\n"
    assert treadle(home, "models", "--json").json["default"].endswith("a.json")


def test_its_address_goes_with_it_and_what_is_typed_comes_first(home, own):
    own.write_text('[model]\nname = "openai:x"\nbase_url = "http://127.0.0.2:9/v1"\n')
    ask = ("ask", "x", "--no-journal", "--tries", "1")
    keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.4:9/v1"}
    assert "openai:x at 127.0.0.2:9 does not answer" in treadle(home, *ask, **keys).err
    assert "openai:x at 127.0.0.3:9 does not" in treadle(home, *ask, "--base-url", "http://127.0.0.3:9/v1", **keys).err
    assert "openai:y at 127.0.0.4:9 does not" in treadle(home, *ask, "-m", "openai:y", **keys).err


def test_the_environment_is_said_to_come_first(home, own):
    own.write_text('[model]\nname = "openai:x"\n')
    ran = treadle(home, "settings", TREADLE_MODEL="openai:y")
    assert ran.err == "TREADLE_MODEL is set, so openai:y is used instead of model.name and model.base_url.\n"
