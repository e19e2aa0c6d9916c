"""`treadle users`, and what `treadle serve` makes of them."""

import json
import re
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from cli.running import start, treadle
from treadle.stores.accounts import Allowance, User
from treadle.stores.users import USERS_FILE, Users

USAGE = 2


def users_in(home):
    return Users(home / "data" / USERS_FILE)


# people


def test_a_token_is_printed_once_and_nothing_else_on_stdout(home):
    ran = treadle(home, "users", "add", "anna")
    token = ran.out.strip()
    assert (ran.code, token.startswith("treadle_anna_")) == (0, True)
    assert users_in(home).person_of(token) == User("anna")
    assert "This token is shown only now." in ran.err
    assert "Restart a server that is already running" in ran.err
    assert token not in ran.err
    again = treadle(home, "users", "add", "ben")
    assert "started again" not in again.err
    assert token not in treadle(home, "users", "list").out + treadle(home, "users", "list", "--json").out


def test_a_user_is_added_with_what_was_typed(home):
    limits = ("--requests", "5", "--runs", "2", "--tokens", "100000", "--cost", "1.5")
    token = treadle(home, "users", "add", "anna", "--role", "admin", *limits, "--json").json
    assert users_in(home).person_of(token.pop("token")) == User("anna", "admin", Allowance(5, 2, 100_000, 1.5))
    limited = {"name": "anna", "role": "admin", "requests": 5, "runs": 2, "tokens": 100_000, "cost": 1.5}
    assert token == {**limited, "groups": [], "service": False, "expires": None}
    assert treadle(home, "users", "--json").json == [token]


def test_users_are_listed_with_what_they_may(home):
    treadle(home, "users", "add", "anna", "--tokens", "100000")
    ran = treadle(home, "users", "list")
    assert re.search(r"^NAME +ROLE +REQUESTS A MINUTE +RUNS AT ONCE +TOKENS A DAY +DOLLARS A DAY$", ran.out, re.MULTILINE)
    assert re.search(r"^anna +user +600 +20 +100,000 +unlimited$", ran.out, re.MULTILINE)


def test_where_there_are_none_it_says_how_to_add_one(home):
    ran = treadle(home, "users")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "There are no users: the server serves you alone. To add one: treadle users add NAME\n"
    assert treadle(home, "users", "list", "--json").json == []
    assert not (home / "data").exists()


def test_only_what_was_typed_is_changed_and_unlimited_is_a_number_too(home):
    treadle(home, "users", "add", "anna", "--tokens", "5", "--runs", "3")
    ran = treadle(home, "users", "change", "anna", "--tokens", "unlimited", "--cost", "2")
    assert re.search(r"^anna +user +600 +3 +unlimited +2\.0$", ran.out, re.MULTILINE)
    treadle(home, "users", "change", "anna", "--role", "reader")
    assert users_in(home).all() == [User("anna", "reader", Allowance(600, 3, None, 2.0))]


def test_a_new_token_ends_the_old_one(home):
    old, new = treadle(home, "users", "add", "anna").out.strip(), treadle(home, "users", "token", "anna").out.strip()
    assert [users_in(home).person_of(token) for token in (old, new)] == [None, User("anna")]


def test_who_is_removed_leaves_their_things_and_it_says_where(home):
    treadle(home, "users", "add", "anna")
    ran = treadle(home, "users", "remove", "anna")
    assert ran.out == "anna can't use the server any more: their token and their sessions have ended.\n"
    treadle(home, "users", "add", "anna")
    folder = home / "data" / "users" / "anna"
    folder.mkdir(parents=True)
    assert treadle(home, "users", "remove", "anna").out.endswith(f" What is theirs stays in {folder}.\n")
    back = treadle(home, "users", "add", "anna")
    assert f"There are things of an earlier anna in {folder}, which this one will see" in back.err
    assert treadle(home, "users", "remove", "anna", "--json").json == {"name": "anna", "folder": str(folder)}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "../x"), "'../x' can't be a user's name"),
        (("add", "Anna"), "'Anna' can't be a user's name"),
        (("add", "local"), "choose another name"),
        (("remove", "nobody"), "There is no user 'nobody'; `treadle users list` says who there is."),
        (("token", "nobody"), "There is no user 'nobody'"),
        (("change", "nobody", "--role", "admin"), "There is no user 'nobody'"),
        (("add", "anna", "--role", "king"), "'king' isn't one of the choices"),
        (("add", "anna", "--requests", "0"), "'0' isn't a whole number from 1 up"),
        (("add", "anna", "--cost", "-1"), "isn't a number from 0 up"),
        (("add",), "NAME"),
    ],
)
def test_what_cannot_be_is_a_sentence(home, words, says):
    ran = treadle(home, "users", *words)
    assert (ran.code, ran.out) == (USAGE, "")
    assert says in ran.err


# the server


@contextmanager
def served(home, *words):
    with start(home, "serve", "--port", "0", *words) as server:
        try:
            yield server, server.stdout.readline().strip()
        finally:
            server.kill()


def get(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        with refused as answer:
            return answer.status, json.loads(answer.read())


def told(server):
    server.terminate()
    return server.communicate(timeout=120)[1]


OWNER = (200, {"name": "", "role": "admin", "local": True})


def test_without_users_and_token_it_serves_this_machine_and_says_so(home):
    with served(home, "--no-token") as (server, url):
        assert get(f"{url}api/me") == OWNER
        assert told(server) == (
            "No token: every account and program on this machine may use it, and do what you can do with it.\nCtrl-C stops it.\n"
        )


def test_without_users_it_serves_whoever_started_it_and_its_link_signs_one_browser_in(home):
    file = home / "data" / "server.token"
    with served(home) as (server, link):
        url = link.partition("login?token=")[0]
        assert get(f"{url}api/me")[0] == 401
        bearer = {"authorization": f"Bearer {file.read_text().strip()}"}
        assert get(f"{url}api/me", **bearer) == OWNER
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(link, timeout=20) as page, browser.open(f"{url}api/me", timeout=20) as me:
            assert (page.url, json.loads(me.read())) == (url, OWNER[1])
        with urllib.request.urlopen(link, timeout=120) as again:
            assert (again.url, b"Sign in to Treadle" in again.read()) == (link, True)
        said = told(server)
    assert said == (
        "Only you may use it: this link signs one browser in, once.\n"
        f"Programs send the token in {file}.\nCtrl-C stops it.\n"
        "A browser has signed in with the link, which can't be used again. Another browser signs in with the token.\n"
    )
    with served(home) as (_, link):
        url = link.partition("login?token=")[0]
        for each in browser.handlers:
            if isinstance(each, urllib.request.HTTPCookieProcessor):
                cookie = "; ".join([f"{one.name}={one.value}" for one in each.cookiejar])
        assert get(f"{url}api/me", cookie=cookie) == OWNER
        assert get(f"{url}api/me", **bearer) == OWNER


def test_with_users_it_asks_everybody_who_they_are_and_says_how_many_there_are(home):
    token = treadle(home, "users", "add", "anna").out.strip()
    with served(home) as (server, url):
        assert get(f"{url}api/me")[0] == 401
        assert get(f"{url}api/me", authorization=f"Bearer {token}")[1]["name"] == "anna"
        treadle(home, "users", "remove", "anna")
        until = time.monotonic() + 120
        while get(f"{url}api/me", authorization=f"Bearer {token}")[0] != 401:  # somebody is known for a second
            assert time.monotonic() < until
        assert get(f"{url}api/me")[0] == 401
        assert told(server) == "1 user may use it, each with a token.\nCtrl-C stops it.\n"


@pytest.mark.parametrize(
    ("words", "where"),
    [(("--host", "0.0.0.0"), "0.0.0.0"), (("--host", "192.0.2.1"), "192.0.2.1"), (("--behind-proxy",), "a server behind a proxy")],
)
def test_what_others_can_reach_is_not_served_without_users_unless_one_says_so(home, words, where):
    ran = treadle(home, "serve", "--port", "0", *words)
    assert (ran.code, ran.out) == (USAGE, "")
    assert ran.err == (
        f"treadle: Others can reach {where}, and there are no users yet. `treadle users add NAME` makes one;"
        " --anyone serves every client without authentication, with all rights.\n"
    )


def test_anyone_may_come_where_one_says_so(home):
    with served(home, "--host", "0.0.0.0", "--anyone", "--name", "treadle.example") as (server, url):
        assert url.startswith("http://127.0.0.1:")
        assert get(f"{url}api/me")[1]["local"] is True
        assert get(f"{url}api/me", host="192.0.2.7:99")[0] == 200
        assert get(f"{url}api/me", host="[2001:db8::1]")[0] == 200
        assert get(f"{url}api/me", host="Treadle.Example")[0] == 200
        status, answer = get(f"{url}api/me", host="evil.example")
        assert status == 400
        assert answer["error"].startswith("This server isn't called evil.example; use the address that it printed")
        assert answer["error"].endswith("or start it with --name evil.example.")
        assert told(server) == "No users: every client that reaches it may use it.\nCtrl-C stops it.\n"


def test_with_users_it_can_be_reached_from_everywhere(home):
    token = treadle(home, "users", "add", "anna").out.strip()
    with served(home, "--host", "0.0.0.0", "--cors", "https://chat.example", "--behind-proxy") as (_, url):
        assert get(f"{url}api/me", authorization=f"Bearer {token}")[1]["name"] == "anna"
        assert get(f"{url}api/me")[0] == 401


def test_on_this_machine_another_address_is_no_name(home):
    with served(home, "--no-token") as (_, url):
        assert get(f"{url}api/me", host="192.0.2.7")[0] == 400


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--anyone",), "There are users, so that not anyone is let in; leave --anyone out, or remove them all."),
        (("--no-token",), "There are users, who each have a token; leave --no-token out, or remove them all."),
        (
            ("--host", "example.org"),
            "'example.org' is no IP address; write one of this machine's, 0.0.0.0 for all of them, or localhost.",
        ),
        (("--name", "https://x.example"), "'https://x.example' can't be a server's name; write it as treadle.example.org"),
        (("--cors", "chat.example"), "'chat.example' is no origin; write it as https://example.org"),
    ],
)
def test_what_makes_no_sense_is_told_before_it_listens(home, words, says):
    users_in(home).add("anna")
    ran = treadle(home, "serve", "--port", "0", *words)
    assert (ran.code, ran.out) == (USAGE, "")
    assert says in ran.err


def test_a_service_account_has_a_token_that_ends(home):
    assert "--expires 90d" in treadle(home, "users", "add", "ci", "--service").err
    treadle(home, "users", "add", "ci", "--service", "--role", "reader", "--group", "builds", "--expires", "90d")
    kept = users_in(home).get("ci")
    assert (kept.service, kept.role, kept.groups) == (True, "reader", ("builds",))
    assert kept.expires
