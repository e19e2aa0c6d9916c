"""The folder that runs are kept in."""

import asyncio

import pytest

from postgres import database as postgres_database
from treadle import Agent, open_home
from treadle.admin.stats import open_stats
from treadle.core.errors import RunNotFound
from treadle.home import close_home, close_homes, open_user_home, open_users
from treadle.settings.loader import describe_settings, user_settings
from treadle.stores.accounts import User
from treadle.stores.stats.values import StatsQuery
from treadle.testing import Scripted


def test_letting_go_of_one_folder_leaves_the_others_open(tmp_path):
    left, right = open_home(tmp_path / "left"), open_home(tmp_path / "right")
    for home in (left, right):
        asyncio.run(Agent(Scripted("Fine.")).run("Well?", run_id="r", journal=home.services()))
    close_home(left)
    assert open_home(tmp_path / "right") is right
    again = open_home(tmp_path / "left")
    assert again is not left
    assert asyncio.run(again.journal.read("r")) != []
    close_homes()


# in PostgreSQL


@pytest.fixture
def postgres():
    with postgres_database() as url:
        yield url
    close_homes()


def test_a_home_can_be_in_postgresql_with_its_folder_where_it_was(tmp_path, postgres):
    home = open_home(tmp_path / "data", database=postgres)
    asyncio.run(Agent(Scripted("Fine.")).run("Well?", run_id="r", journal=home.services()))
    assert [run.run_id for run in asyncio.run(home.journal.list_runs())] == ["r"]
    assert asyncio.run(open_stats(home).ask(StatsQuery())).total.spent.runs == 1
    assert home.folder == tmp_path / "data"
    assert not (tmp_path / "data" / "treadle.db").exists()
    assert open_home(tmp_path / "data", database=postgres) is home
    assert open_home(tmp_path / "data") is not home


def test_what_is_settled_counts_where_no_folder_is_named(tmp_path, postgres, monkeypatch):
    settled = tmp_path / "treadle.toml"
    settled.write_text('[database]\nurl = "postgresql://anna:hidden@db/settled"\nwait = 1\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(settled))
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("TREADLE_DATABASE", raising=False)
    assert (open_home().database.name, open_home().database.wait) == ("postgresql://db/settled", 1)
    monkeypatch.setenv("TREADLE_DATABASE", postgres)
    assert open_home().database.url == postgres
    shown = {row.key: row.value for row in describe_settings(user_settings())}
    assert (shown["database.url"], shown["database.wait"]) == ("postgresql://db/settled", 1)


@pytest.mark.parametrize("kind", ["files", "postgresql"])
def test_everybody_has_a_home_of_their_own(tmp_path, request, kind):
    owners = open_home(tmp_path, database="" if kind == "files" else request.getfixturevalue("postgres"))
    anna, ben = open_user_home(owners, "anna"), open_user_home(owners, "ben")
    assert open_user_home(owners, "anna") is anna
    for home in (owners, anna):
        asyncio.run(Agent(Scripted("Fine.")).run("Well?", run_id="r", journal=home.services()))
    with pytest.raises(RunNotFound):
        asyncio.run(ben.journal.read("r"))
    assert anna.folder == tmp_path / "users" / "anna"
    close_homes()


@pytest.mark.parametrize("kind", ["files", "postgresql"])
def test_the_users_of_a_server_are_in_its_home(tmp_path, request, kind):
    home = open_home(tmp_path, database="" if kind == "files" else request.getfixturevalue("postgres"))
    users = open_users(home)
    token = users.add("anna")
    assert open_users(home).person_of(token) == User("anna")
    assert (tmp_path / "users.db").exists() == (kind == "files")
    close_homes()
