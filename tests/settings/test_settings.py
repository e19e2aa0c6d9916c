"""`treadle.toml`: the person's word counts, and a project's where it is stricter or about itself."""

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.assistant import Settings, settings_for
from treadle.assistants.courses.settings import CoursesSettings
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.platform.settings import PlatformSettings
from treadle.errors import SettingsError
from treadle.plugins.entry_points import plugin_names
from treadle.settings.assistant_keys import default_value_of, keys_of, rule_of, variable_of
from treadle.settings.loader import SettingRow, describe_settings, user_settings
from treadle.settings.schema import KEYS, NAMED, SECTIONS

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project in a repository, and the person's own file elsewhere."""
    monkeypatch.delenv("TREADLE_CONFIG", raising=False)
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / "part").mkdir()
    return tmp_path / "repository"


@pytest.fixture
def told(place, tmp_path):
    """What counts, where the person and the project say this."""

    def settings(own="", project=""):
        (tmp_path / "own.toml").write_text(own)
        (place / "treadle.toml").write_text(project)
        return settings_for(place, user_file=tmp_path / "own.toml")

    return settings


# the defaults and the table


def test_without_files_everything_is_as_it_comes(place, tmp_path):
    settings = settings_for(place, user_file=tmp_path / "none.toml")
    assert (settings.limits.rounds, settings.commands.sandbox, settings.commands.network) == (20, True, False)
    assert (settings.git.branch_prefix, settings.git.remote, settings.git.protected) == ("treadle/", "origin", ("main", "master"))
    assert (settings.commands.allow, settings.mcp, settings.notes, settings.sources) == (None, {}, (), {})
    assert (settings.user_file, settings.project_file) == (str(tmp_path / "none.toml"), "")


def keys_of_structs():
    for section, kind in SECTIONS.items():
        prefix = f"{section}.NAME" if section in NAMED else section
        yield from (f"{prefix}.{name}" for name in kind.__struct_fields__)


def test_every_key_has_its_rule_and_every_rule_its_key():
    assert list(KEYS) == [*keys_of_structs()]
    assert list(SECTIONS) == [name for name in Settings.__struct_fields__ if name in SECTIONS]


SAYS = {
    "user": "can't say it",
    "project": "says it",
    "lower": "can lower it",
    "more": "can add to it",
    "fewer": "can take away from it",
    "on": "can turn it on",
    "off": "can turn it off",
}


OWN = [f"assistants.{name}.{key}" for name in ("coding", "courses", "guidance", "platform", "reading") for key in keys_of(name)]


def rows_of_the_page():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): row[1:] for row in rows}


@pytest.mark.parametrize("key", [*KEYS, *OWN])
def test_the_page_names_every_key_its_default_and_who_may_say_it(key):
    default, words, says = rows_of_the_page()[key]
    usual = default_value_of(key)
    plain = msgspec.json.encode(usual).decode().replace(",", ", ")
    nothing = usual in (None, "", {}) or key == "mcp.NAME.command"
    assert default.strip("`") == ("" if nothing else plain)
    assert words
    assert says == SAYS[rule_of(key)]


def test_the_page_names_no_other_key():
    assert list(rows_of_the_page()) == [*KEYS, *OWN]


# the person


def test_what_the_person_says_counts(told):
    settings = told(
        """
        [model]
        name = "openai:x"
        base_url = "http://localhost:8000/v1"
        temperature = 1
        [limits]
        rounds = 50
        cost = 2.5
        [commands]
        sandbox = false
        network = true
        allow = ["make"]
        [mcp.issues]
        command = ["issues", "--stdio"]
        env = { TOKEN = "x" }
        """
    )
    assert (settings.model.name, settings.model.base_url, settings.model.temperature) == (
        "openai:x",
        "http://localhost:8000/v1",
        1.0,
    )
    assert (settings.limits.rounds, settings.limits.cost) == (50, 2.5)
    assert (settings.commands.sandbox, settings.commands.network, settings.commands.allow) == (False, True, ("make",))
    assert settings.mcp["issues"].command == ("issues", "--stdio")
    assert settings.notes == ()
    assert set(settings.sources.values()) == {settings.user_file}


def test_the_persons_file_is_in_the_usual_place_or_where_they_say(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CONFIG", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = Path(user_settings().user_file)
    assert usual.is_relative_to(tmp_path)
    usual.parent.mkdir(parents=True)
    usual.write_text("[limits]\nrounds = 3\n")
    assert user_settings().limits.rounds == 3
    (tmp_path / "other.toml").write_text("[limits]\nrounds = 4\n")
    monkeypatch.setenv("TREADLE_CONFIG", "~/other.toml")
    assert user_settings().limits.rounds == 4
    monkeypatch.setenv("TREADLE_CONFIG", os.devnull)
    assert user_settings().limits.rounds == 20
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(SettingsError, match=r"TREADLE_CONFIG names .*none\.toml, which isn't there"):
        user_settings()


# the project


def test_what_a_project_says_of_itself_counts(told, place):
    settings = told(
        """
        project.facts = ["mine"]
        git.branch_prefix = "me/"
        """,
        """
        [project]
        name = "shop"
        facts = ["Python 3.11", "no network"]
        instructions = "Keep it short."
        [tests]
        command = "make test"
        runner = "python"
        [git]
        branch_prefix = "bot/"
        [model]
        temperature = 0.2
        """,
    )
    assert (settings.project.name, settings.project.facts) == ("shop", ("Python 3.11", "no network"))
    assert (settings.tests.command, settings.tests.runner, settings.git.branch_prefix) == ("make test", "python", "bot/")
    assert settings.model.temperature == 0.2
    assert settings.sources["git.branch_prefix"] == settings.project_file == str(place / "treadle.toml")
    assert settings.notes == ()


def test_a_project_can_be_stricter_than_the_person(told):
    settings = told(
        """
        limits = { rounds = 50, cost = 2 }
        commands = { allow = ["make", "git", "ls"], network = true, sandbox = false, seconds = 60, forbid = ["rm"] }
        git = { commit = true, draft_pr = false }
        """,
        """
        limits = { rounds = 10, cost = 0.5, tokens = 1000, seconds = 60 }
        commands.allow = ["ls", "make"]
        commands.forbid = ["dd"]
        commands.network = false
        commands.sandbox = true
        commands.seconds = 5
        commands.memory_mb = 10
        commands.disk_mb = 20
        git = { commit = false, draft_pr = true, protected = ["release"] }
        context = { result_limit = 500 }
        """,
    )
    assert settings.limits == type(settings.limits)(rounds=10, seconds=60, tokens=1000, cost=0.5)
    assert settings.commands == type(settings.commands)(("make", "ls"), ("rm", "dd"), 5, 10, 20, network=False, sandbox=True)
    assert (settings.git.commit, settings.git.draft_pr, settings.git.protected) == (False, True, ("main", "master", "release"))
    assert settings.context.result_limit == 500
    assert settings.notes == ()
    assert settings.sources["commands.forbid"] == f"{settings.user_file}, {settings.project_file}"
    assert settings.sources["git.protected"] == settings.project_file


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model.name", '"openai:x"'),
        ("model.name", '["openai:x", "openai:y"]'),
        ("model.base_url", '"http://evil.example"'),
        ("model.context", "10"),
        ("model.dialect", '"hermes"'),
        ("model.code_mode", "true"),
        ("model.grounded", "false"),
        ("limits.rounds", "21"),
        ("commands.sandbox", "false"),
        ("commands.network", "true"),
        ("commands.seconds", "121"),
        ("commands.memory_mb", "4096"),
        ("commands.disk_mb", "10000"),
        ("git.remote", '"evil"'),
        ("context.keep", "true"),
        ("context.result_limit", "20001"),
        ("context.compact_at", "0.5"),
    ],
)
def test_a_project_cannot_allow_itself_anything(told, key, value):
    settings = told("", f"{key} = {value}\n")
    assert msgspec.structs.replace(settings, notes=()) == told("", "")
    (note,) = settings.notes
    assert note.startswith(f"{settings.project_file} sets {key}, which ")
    assert note.endswith(f": it is left out. To have it, set it in {settings.user_file}.")


def test_nor_what_the_person_has_forbidden(told):
    own = """
        limits = { rounds = 5, cost = 1, tokens = 10, seconds = 10 }
        commands = { allow = ["make"], forbid = ["rm"] }
        git = { commit = false, draft_pr = true, protected = ["main"] }
    """
    settings = told(
        own,
        """
        limits = { rounds = 6, cost = 2, tokens = 20, seconds = 20 }
        commands = { allow = ["make", "curl"], forbid = [] }
        git = { commit = true, draft_pr = false, protected = [] }
        """,
    )
    assert msgspec.structs.replace(settings, notes=()) == told(own, "")
    told_of = [note.split(" sets ")[1].partition(",")[0] for note in settings.notes]
    assert told_of == [f"limits.{name}" for name in ("rounds", "cost", "tokens", "seconds")] + [
        "commands.allow",
        "git.commit",
        "git.draft_pr",
    ]


def test_a_project_cannot_name_programs_to_start(told):
    settings = told("", '[mcp.evil]\ncommand = ["sh", "-c", "evil"]\nenv = { A = "b" }\n')
    assert settings.mcp == {}
    (note,) = settings.notes
    assert note.startswith(f"{settings.project_file} names the MCP server evil, which only you can: it is left out.")
    assert note.endswith(f"To have it, name it in {settings.user_file}.")


def test_nor_add_tools(told):
    settings = told("", '[tools.evil]\npython = ["evil.py"]\n[openapi.evil]\ndocument = "evil.json"\nprivate = true\n')
    assert (settings.tools, settings.openapi) == ({}, {})
    assert [note.partition(" names ")[2].partition(",")[0] for note in settings.notes] == [
        "the tools evil",
        "the OpenAPI document evil",
    ]


def test_a_project_may_know_assistants_that_are_not_installed_here(told):
    assert told("", "[assistants.elsewhere]\na = 1\n").assistants == {}


def test_nor_change_those_of_the_person(told):
    own = '[mcp.issues]\nurl = "https://example.org"\n'
    settings = told(own, '[mcp.issues]\nurl = "https://evil.example"\nheaders = { A = "b" }\n')
    assert settings.mcp["issues"].url == "https://example.org"
    assert settings.mcp["issues"].headers == {}
    assert len(settings.notes) == 1


def test_what_both_say_alike_is_not_worth_a_word(told):
    both = '[model]\nname = "openai:x"\n[commands]\nsandbox = false\n[limits]\nrounds = 30\n'
    settings = told(both, both)
    assert settings.notes == ()
    assert (settings.model.name, settings.commands.sandbox, settings.limits.rounds) == ("openai:x", False, 30)


LISTS = st.lists(st.sampled_from(["make", "git", "ls"]), unique=True)
STRICTNESS = st.fixed_dictionaries(
    {},
    optional={
        "limits": st.fixed_dictionaries(
            {}, optional={"rounds": st.integers(1, 100), "cost": st.floats(0.1, 9), "tokens": st.integers(1, 100)}
        ),
        "commands": st.fixed_dictionaries(
            {},
            optional={
                "allow": LISTS,
                "forbid": LISTS,
                "network": st.booleans(),
                "sandbox": st.booleans(),
                "seconds": st.floats(1, 500),
                "memory_mb": st.integers(1, 5000),
                "disk_mb": st.integers(1, 20_000),
            },
        ),
        "git": st.fixed_dictionaries({}, optional={"commit": st.booleans(), "draft_pr": st.booleans(), "protected": LISTS}),
    },
)


def toml(tables):
    return "\n".join(
        f"[{section}]\n" + "\n".join(f"{name} = {msgspec.json.encode(value).decode()}" for name, value in values.items())
        for section, values in tables.items()
    )


@given(own=STRICTNESS, project=STRICTNESS)
def test_whatever_a_project_says_nothing_is_looser_than_without_it(tmp_path_factory, own, project):
    place = tmp_path_factory.getbasetemp() / "any"
    place.mkdir(exist_ok=True)
    (place / "own").write_text(toml(own))
    (place / "treadle.toml").write_text("")
    before = settings_for(place, user_file=place / "own")
    (place / "treadle.toml").write_text(toml(project))
    after = settings_for(place, user_file=place / "own")
    for name in ("rounds", "seconds", "tokens", "cost"):
        limit = getattr(before.limits, name)
        assert limit is None or getattr(after.limits, name) <= limit
    assert after.commands.seconds <= before.commands.seconds
    assert after.commands.memory_mb <= before.commands.memory_mb
    assert after.commands.disk_mb <= before.commands.disk_mb
    assert after.commands.network <= before.commands.network
    assert after.commands.sandbox >= before.commands.sandbox
    assert {*after.commands.forbid} >= {*before.commands.forbid}
    assert before.commands.allow is None or {*(("all",) if after.commands.allow is None else after.commands.allow)} <= {
        *before.commands.allow
    }
    assert {*after.git.protected} >= {*before.git.protected}
    assert after.git.commit <= before.git.commit
    assert after.git.draft_pr >= before.git.draft_pr


def test_a_project_adds_rules_that_ask_and_deny_but_none_that_allow(told):
    settings = told('[policy]\nallow = ["a"]\ndeny = ["b"]\n', '[policy]\nallow = ["x"]\nask = ["y"]\ndeny = ["z"]\n')
    assert (settings.policy.allow, settings.policy.ask, settings.policy.deny) == (("a",), ("y",), ("b", "z"))
    assert ["policy.allow, which is for you alone to say" in note for note in settings.notes] == [True]


# where it is looked for


def found_from(folder, tmp_path):
    return settings_for(folder, user_file=tmp_path / "own.toml").project_file


def test_the_nearest_file_counts_up_to_the_repositorys_root(place, tmp_path):
    (tmp_path / "treadle.toml").write_text("")
    assert found_from(place / "part", tmp_path) == ""
    (place / "treadle.toml").write_text("")
    assert found_from(place / "part", tmp_path) == str(place / "treadle.toml")
    (place / "part" / "treadle.toml").write_text("")
    assert found_from(place / "part", tmp_path) == str(place / "part" / "treadle.toml")


def test_or_up_to_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "x").mkdir(parents=True)
    (tmp_path / "treadle.toml").write_text("")
    assert found_from(tmp_path / "home" / "x", tmp_path) == ""
    (tmp_path / "home" / "treadle.toml").write_text("")
    assert found_from(tmp_path / "home" / "x", tmp_path) == str(tmp_path / "home" / "treadle.toml")


def test_above_the_folder_only_what_is_ones_own_counts(tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to somebody else")
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    (tmp_path / "shared" / "mine").mkdir(parents=True)
    shared, mine = tmp_path / "shared", tmp_path / "shared" / "mine"
    (shared / "treadle.toml").write_text("")
    assert found_from(mine, tmp_path) == str(shared / "treadle.toml")
    os.chown(shared / "treadle.toml", 12345, 12345)
    assert found_from(mine, tmp_path) == ""
    os.chown(shared / "treadle.toml", 0, 0)
    os.chown(shared, 12345, 12345)
    assert found_from(mine, tmp_path) == ""
    (tmp_path / "treadle.toml").write_text("")
    assert found_from(mine, tmp_path) == ""
    assert found_from(shared, tmp_path) == str(shared / "treadle.toml")


def test_ones_own_file_is_no_projects(tmp_path, place):
    (place / "treadle.toml").write_text("[limits]\nrounds = 99\n")
    settings = settings_for(place, user_file=place / "treadle.toml")
    assert (settings.limits.rounds, settings.project_file, settings.notes) == (99, "", ())


def test_what_is_no_file_is_not_opened(place, tmp_path):
    os.mkfifo(place / "treadle.toml")
    assert found_from(place, tmp_path) == ""


# mistakes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[modle]\nname = 1\n", "modle in FILE isn't a known setting. Did you mean model?"),
        ("[limits]\nround = 1\n", "limits.round in FILE isn't a known setting. Did you mean limits.rounds?"),
        ("[mcp.x]\nurls = 1\n", "mcp.x.urls in FILE isn't a known setting. Did you mean mcp.x.url?"),
        ("sandbox = false\n", "sandbox in FILE isn't a known setting. Did you mean commands.sandbox?"),
        ("[git]\nnetwork = true\n", "git.network in FILE isn't a known setting. Did you mean commands.network?"),
        ("[tests]\nqqq = 1\n", "tests.qqq in FILE isn't a known setting. There are: command, check, runner."),
        (
            "zzz = 1\n",
            f"zzz in FILE isn't a known setting. There are: {', '.join(SECTIONS)}.",
        ),
        ('"model.name" = "openai:x"\n', "model.name in FILE isn't a known setting. Did you mean model.name?"),
        ('[mcp.x]\nurl = "https://e.org"\n"y.url" = "z"\n', "mcp.x.y.url in FILE isn't a known setting."),
        ("model = 5\n", "model in FILE must be a table, which begins with a line [model]."),
        ("mcp.x = 5\n", "mcp.x in FILE must be a table, which begins with a line [mcp.x]."),
        ("[[model]]\nname = 1\n", "model in FILE must be a table"),
        ('[limits]\nrounds = "many"\n', "limits.rounds in FILE must be a whole number from 1 up, not that text."),
        ("[limits]\nrounds = 0\n", "limits.rounds in FILE must be a whole number from 1 up, not 0."),
        ("[limits]\nrounds = 1.5\n", "limits.rounds in FILE must be a whole number from 1 up, not 1.5."),
        ("[context]\ncompact_at = 1.5\n", "context.compact_at in FILE must be a number from 0.1 to 1, not 1.5."),
        ("[context]\ncompact_at = 0\n", "context.compact_at in FILE must be a number from 0.1 to 1, not 0."),
        ("[limits]\ncost = nan\n", "limits.cost in FILE must be a number above 0, not nan."),
        ("[limits]\ncost = inf\n", "limits.cost in FILE must be a number above 0, not inf."),
        ("[limits]\nseconds = 2020-01-01\n", "limits.seconds in FILE must be a number above 0, not a date or a time."),
        ("[limits]\nseconds = [1]\n", "limits.seconds in FILE must be a number above 0, not that list."),
        ("[limits.seconds]\na = 1\n", "limits.seconds in FILE must be a number above 0, not a table."),
        ("[commands]\nsandbox = 1\n", "commands.sandbox in FILE must be true or false, not 1."),
        ("[limits]\nrounds = true\n", "limits.rounds in FILE must be a whole number from 1 up, not true."),
        ('[git]\nprotected = ["a", 5]\n', "git.protected in FILE must be a list of names; git.protected[1] doesn't fit."),
        ('[git]\nbranch_prefix = "-x"\n', "git.branch_prefix in FILE must be a text that a branch's name can begin with"),
        ('[git]\nbranch_prefix = "a..b/"\n', "git.branch_prefix in FILE must be"),
        ('[git]\nremote = "https://evil.example/x.git"\n', "git.remote in FILE must be the name of a remote"),
        (
            '[model]\nname = "gpt"\n',
            "model.name in FILE must be a text such as ollama:qwen3, or a list of such texts, not that text.",
        ),
        (
            'model = ["openai:x", "gpt"]\n',
            "model.name in FILE must be a text such as ollama:qwen3, or a list of such texts; model.name[1] doesn't fit.",
        ),
        ("model = []\n", "model.name in FILE must be a text such as ollama:qwen3, or a list of such texts, not that list."),
        ("model = [1]\n", "model in FILE must be a table, which begins with a line [model]."),
        ('[model]\nbase_url = "http://a:b@c"\n', "model.base_url in FILE must be an address"),
        ('[tests]\nrunner = "ruby"\n', "tests.runner in FILE must be auto, go, npm, python or rust, not that text."),
        ('[mcp.x]\nonly = ["a"]\n', "mcp.x in FILE needs a command or a url, and not both."),
        ('[mcp.x]\ncommand = ["a"]\nurl = "http://b"\n', "mcp.x in FILE needs a command or a url, and not both."),
        (
            "[assistants.platfrom]\na = 1\n",
            "assistants.platfrom in FILE is about the assistant platfrom, which isn't installed. Did you",
        ),
        (
            '[mcp.x]\nurl = "http://b"\nassistants = ["zzzzzz"]\n',
            "mcp.x.assistants in FILE is about the assistant zzzzzz, which isn't installed. There are: ",
        ),
        ("[tools.x]\npython = []\n", "tools.x in FILE needs a list of files or modules, such as tools.py:rollback: python = …."),
        ("[tools.x]\nfile = 'a'\n", "tools.x.file in FILE isn't a known setting. There are: python, assistants."),
        ("[openapi.x]\nprivate = true\n", "openapi.x in FILE needs a file or an address: document = …."),
        ('[tools."x y"]\npython = ["a.py"]\n', "tools.'x y' in FILE can't be a name of tools"),
        ('[mcp."x y"]\nurl = "http://b"\n', "mcp.'x y' in FILE can't be a server's name"),
        ("[model]\n\nname = \n", "FILE is no TOML: Invalid value (at line 3, column 8)."),
        ("[model]\nname = '''\n\n", "FILE is no TOML: Expected \"'''\" (at line 3)."),
        ("a = " + "[" * 5000, "FILE is no TOML"),
        ("a = " + "9" * 5000, "FILE is no TOML"),
        ("#" * 1_000_001, "FILE is too large for settings"),
    ],
)
def test_a_mistake_is_named_with_its_place(told, tmp_path, text, said):
    with pytest.raises(SettingsError) as raised:
        told(text)
    assert str(raised.value).startswith(said.replace("FILE", str(tmp_path / "own.toml")))


def test_a_mistake_of_a_project_is_one_too(told, place):
    with pytest.raises(SettingsError, match=re.escape(f"limits.round in {place / 'treadle.toml'} isn't a known setting")):
        told("", "[limits]\nround = 1\n")


def test_a_file_that_is_no_text_is_said_so_with_the_line(place, tmp_path):
    (tmp_path / "own.toml").write_bytes(b"[model]\nname = \xff\n")
    with pytest.raises(SettingsError, match=r"own\.toml is no text at line 2"):
        settings_for(place, user_file=tmp_path / "own.toml")
    (tmp_path / "own.toml").write_bytes(b"\xef\xbb\xbf[limits]\nrounds = 3\n")
    assert settings_for(place, user_file=tmp_path / "own.toml").limits.rounds == 3


def test_a_file_that_cannot_be_opened_is_said_so(place, tmp_path):
    (tmp_path / "own.toml").mkdir()
    with pytest.raises(SettingsError, match=r"own\.toml can't be opened: it is no regular file"):
        settings_for(place, user_file=tmp_path / "own.toml")


# describing


def test_every_value_is_described_with_its_source(told):
    settings = told("[limits]\nrounds = 30\n", "[limits]\nrounds = 10\ncost = 1\n[project]\nfacts = ['a']\n")
    rows = {row.key: row for row in describe_settings(settings)}
    assert [*[key for key in KEYS if ".NAME" not in key], *OWN] == list(rows)
    assert rows["limits.rounds"] == SettingRow("limits.rounds", 10, settings.project_file)
    assert rows["project.facts"].value == ("a",)
    assert rows["git.remote"] == SettingRow("git.remote", "origin", "default")


def test_secrets_of_mcp_servers_are_not_described(told):
    settings = told(
        """
        [mcp.one]
        url = "https://example.org/mcp?api_key=sk-1234567890abcdef1234567890"
        headers = { Authorization = "Bearer verysecret", X-Team = "verysecret" }
        [mcp.two]
        command = ["serve", "--token", "verysecret"]
        env = { TOKEN = "verysecret" }
        [notifications.team]
        url = "https://hooks.example.org/services/verysecret"
        format = "slack"
        """
    )
    rows = {row.key: row.value for row in describe_settings(settings)}
    assert rows["mcp.one.headers"] == ["Authorization", "X-Team"]
    assert rows["mcp.two.env"] == ["TOKEN"]
    assert rows["mcp.two.command"][0] == "serve"
    assert rows["notifications.team.url"] == "https://hooks.example.org/…"
    assert "verysecret" not in str(rows)
    assert "sk-1234567890" not in str(rows)


def test_nothing_is_imported_for_settings_before_they_are_asked_for():
    code = "import sys; from treadle import Agent, tool; print('tomllib' in sys.modules, 'treadle.settings.loader' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False False\n"


def test_a_named_model_costs_no_settings():
    code = (
        "import sys, os; os.environ['TREADLE_MODEL'] = 'openai:x'; from treadle.plugins.models import configured_model;"
        "configured_model();"
        "print('tomllib' in sys.modules, 'treadle.settings.loader' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False False\n"


# assistants


def test_an_assistant_is_told_what_the_person_settled_for_it(told):
    settings = told('[assistants.platform]\ndeploy_roles = ["admin"]\n[assistants.courses]\nresults = 7\n')
    assert settings.assistant("platform") == PlatformSettings(deploy_roles=("admin",))
    assert settings.assistant("courses") == CoursesSettings(results=7)
    assert settings.assistant("guidance") == GuidanceSettings()
    assert settings.sources["assistants.courses.results"] == settings.user_file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[assistants.coding]\nport = 1",
            r"assistants.coding.port in .*own.toml isn't a known setting. There are: workspaces, d",
        ),
        (
            "[assistants.platform]\ndeploy_role = 1",
            r"assistants.platform.deploy_role in .* Did you mean assistants.platform.deploy_roles",
        ),
        ("[assistants.platform]\nserver = 1", r"assistants.platform.server in .*own.toml must be an address .*, not 1\."),
        (
            "[assistants.platform]\ntypes = ['a', 1]",
            r"must be a list of types of resources; assistants.platform.types\[1\] doesn't fit",
        ),
        ("[assistants.courses]\nresults = 51", r"assistants.courses.results in .* must be a whole number from 1 to 50, not 51\."),
        ("[assistants.reading]\nresults = 51", r"assistants.reading.results in .* isn't a known setting\."),
        ("[assistants]\nplatform = 1", "assistants.platform in .* must be a table"),
    ],
)
def test_what_an_assistant_cannot_use_is_said_whoever_asks(told, text, said):
    with pytest.raises(SettingsError, match=said):
        told(text)


def test_keys_that_do_not_go_together_are_said_too(told):
    settings = told("[assistants.courses]\nsize = 100\noverlap = 60\n")
    with pytest.raises(SettingsError, match=r"\[assistants.courses\] in .*own.toml can't be used: `overlap` may be half of `size`"):
        settings.assistant("courses")


def test_an_assistant_without_settings_has_none_to_give(told):
    with pytest.raises(SettingsError, match="The assistant nobody has no settings"):
        told().assistant("nobody")


def test_a_project_settles_nothing_for_an_assistant_but_what_is_stricter(told):
    own = '[assistants.guidance]\ndenied_tools = ["a"]\n[assistants.courses]\nrounds = 3\n'
    project = (
        '[assistants.platform]\nserver = "http://elsewhere"\n[assistants.guidance]\ndenied_tools = ["b"]\n'
        "[assistants.courses]\nrounds = {}"
    )
    settings = told(own, project.format(2))
    assert settings.assistant("platform") == PlatformSettings()
    assert settings.assistant("guidance").denied_tools == ("a", "b")
    assert settings.assistant("courses").rounds == 2
    (note,) = settings.notes
    assert "assistants.platform.server, which is for you alone to say" in note
    looser = told(own, project.format(9))
    assert looser.assistant("courses").rounds == 3
    assert "assistants.courses.rounds, which would allow more than you do" in looser.notes[1]


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("TREADLE_PLATFORM_SERVER", "http://localhost:9", "assistants.platform.server", "http://localhost:9"),
        ("TREADLE_PLATFORM_PASSAGES", "7", "assistants.platform.passages", 7),
        ("TREADLE_COURSES_FLOOR", "0.5", "assistants.courses.floor", 0.5),
        ("TREADLE_GUIDANCE_DENIED_TOOLS", "a, b", "assistants.guidance.denied_tools", ("a", "b")),
    ],
)
def test_a_variable_goes_before_the_files(told, monkeypatch, variable, text, key, value):
    monkeypatch.setenv(variable, text)
    own = '[assistants.platform]\nserver = "http://own"\npassages = 1\n[assistants.courses]\nfloor = 0.1\n'
    settings = told(own)
    row = next(row for row in describe_settings(settings) if row.key == key)
    assert (row.value, row.source) == (value, variable)
    _, name, field = key.split(".")
    assert variable_of(name, field) == variable
    monkeypatch.setenv(variable, "")
    assert told(own).sources.get(key) != variable


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        (
            "TREADLE_PLATFORM_SEVER",
            "x",
            "TREADLE_PLATFORM_SEVER in the environment isn't a known setting. Did you mean TREADLE_PLATFORM_SERVER?",
        ),
        (
            "TREADLE_PLATFROM_SERVER",
            "x",
            "TREADLE_PLATFROM_SERVER in the environment isn't a known setting. Did you mean TREADLE_PLATFORM_SERVER?",
        ),
        (
            "TREADLE_READING_ANYTHING",
            "x",
            (
                "TREADLE_READING_ANYTHING in the environment isn't a known setting. Did you mean TREADLE_READING_MAX_TOOL_CALLS or "
                "TREADLE_READING_MAX_LINES?"
            ),
        ),
        ("TREADLE_COURSES_RESULTS", "many", "TREADLE_COURSES_RESULTS in the environment must be a whole number from 1 to 50."),
    ],
)
def test_a_variable_that_means_nothing_is_said(told, monkeypatch, variable, text, said):
    monkeypatch.setenv(variable, text)
    with pytest.raises(SettingsError) as raised:
        told()
    assert str(raised.value) == said


@pytest.mark.parametrize("variable", ["TREADLE_PLATFORM_TOKEN", "TREADLE_SOMETHING_ELSE"])
def test_a_variable_that_somebody_else_reads_is_none_of_these(told, monkeypatch, variable):
    monkeypatch.setenv(variable, "x")
    assert told().assistants == {}


def test_what_is_settled_for_an_assistant_is_described_without_secrets(told):
    settings = told(own='[assistants.platform]\ntypes = ["AKIAIOSFODNN7EXAMPLE", "queue"]')
    (row,) = [row for row in describe_settings(settings) if row.key == "assistants.platform.types"]
    assert "queue" in row.value
    assert "AKIA" not in str(row.value)


def test_every_installed_assistant_is_described_with_its_defaults(told):
    rows = {row.key: row for row in describe_settings(told())}
    for name in plugin_names("assistants"):
        for field, key in keys_of(name).items():
            assert rows[f"assistants.{name}.{field}"] == SettingRow(f"assistants.{name}.{field}", key.default, "default")
