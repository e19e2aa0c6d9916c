"""The users of a server: what is kept of them, and what lets them in."""

import hmac
import sqlite3
import stat
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import SettingsError
from treadle.guard.redaction import Redactor
from treadle.stores.accounts import Allowance, User
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.postgres.users import PostgresUserStore
from treadle.stores.sqlite_users import UsersError
from treadle.stores.users import MAX_SESSIONS, SESSION_SECONDS, USERS_FILE, Share, SharedItem, Users, is_user_name


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


class Kept:
    """Where users are kept, which any number of stores of users can be opened on, as any number of processes would."""

    def __init__(self, place):
        self.place = place
        self.path = place.path.parent / USERS_FILE
        self._opened = []

    def open(self, **how):
        if self.place.kind == "sqlite":
            return Users(self.path, **how)
        self._opened.append(PostgresUserStore(self.place.open()))
        return Users(self._opened[-1], **how)

    def sessions(self):
        if self.place.kind == "postgres":
            return self.place.execute("SELECT count(*) FROM sessions")[0]
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute("SELECT count(*) FROM sessions").fetchone()

    def close(self):
        for each in self._opened:
            each.close()


@pytest.fixture
def kept(place):
    kept = Kept(place)
    yield kept
    kept.close()


@pytest.fixture
def users(kept):
    return kept.open()


@pytest.fixture
def in_file(in_sqlite):
    return Kept(in_sqlite).open()


def bytes_in(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


# tokens


def test_a_token_says_whose_it_is(users):
    anna, ben = users.add("anna"), users.add("ben", "reader", Allowance(tokens=5))
    assert users.person_of(anna) == User("anna")
    assert users.person_of(ben) == User("ben", "reader", Allowance(tokens=5))
    assert users.all() == [User("anna"), User("ben", "reader", Allowance(tokens=5))]
    assert users.get("anna") == User("anna")


def test_a_token_has_the_name_in_it_and_no_two_are_the_same(users):
    first, second = users.add("a_b-c.d"), users.renew("a_b-c.d")
    assert first.startswith("treadle_a_b-c.d_")
    assert len(first.removeprefix("treadle_a_b-c.d_")) == 43
    assert first != second


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token[:-1],
        lambda token: token + "A",
        lambda token: token[:-1] + ("A" if token[-1] != "A" else "B"),
        lambda token: token.replace("anna", "ben"),
        lambda token: token.replace("anna", "nobody"),
        lambda token: token.upper(),
        lambda token: "",
        lambda token: "treadle_anna_",
        lambda token: "\udc80\ud800",
        lambda token: token + "\n",
        lambda token: "x" * 100_000,
    ],
)
def test_any_other_token_is_nobodys(users, change):
    token = users.add("anna")
    users.add("ben")
    assert users.person_of(change(token)) is None
    assert users.person_of(token) == User("anna")


def test_the_same_comparison_is_made_whether_there_is_such_a_user_or_not(kept, tmp_path):
    compared = []

    def same(one, other):
        compared.append((len(one), len(other)))
        return hmac.compare_digest(one, other)

    users = kept.open(same=same)
    token = users.add("anna")
    for shown in (token, token.replace("anna", "nobody"), "garbage", ""):
        users.person_of(shown)
    Users(tmp_path / "nowhere" / USERS_FILE, same=same).person_of(token)
    assert compared == [(32, 32)] * 5


def test_a_proof_of_nobody_lets_nobody_in(kept):
    users = kept.open(same=lambda one, other: True)
    token = users.add("anna")
    assert users.person_of(token.replace("anna", "nobody")) is None


def test_a_new_token_ends_the_old_one_and_every_session(users):
    old = users.add("anna")
    session = users.begin_session("anna")
    new = users.renew("anna")
    assert (users.person_of(old), users.person_of_session(session)) == (None, None)
    assert users.person_of(new) == User("anna")


def test_nothing_that_lets_somebody_in_is_kept(in_file):
    shown = [in_file.add("anna"), in_file.renew("anna"), in_file.begin_session("anna")]
    kept = bytes_in(in_file.path.parent)
    assert b"anna" in kept
    for secret in shown:
        assert secret.removeprefix("treadle_anna_").encode() not in kept


def test_a_token_is_masked_wherever_it_turns_up(users):
    for name in ("anna", "a", "x" * 40, "a_b-c.d"):
        token = users.add(name)
        for text in (token, f"it is {token}.", f'["{token}"]', f"/api?x={token}&y"):
            assert token[-20:] not in Redactor().text(text)
    assert Redactor().text("treadle_home_folder is where it is") == "treadle_home_folder is where it is"


# names


@pytest.mark.parametrize("name", ["a", "0", "anna", "anna.b", "a-b_c", "x" * 40, "con", "a.b.c"])
def test_a_name_is_small_and_plain(users, name):
    assert users.person_of(users.add(name)) == User(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a..b",
        "../anna",
        "a/b",
        "a\\b",
        "/etc",
        ".hidden",
        "-x",
        "_x",
        "Anna",
        "änna",
        "a b",
        "a\n",
        "a\0",
        "x" * 41,
        "~",
    ],
)
def test_a_name_that_could_be_a_path_is_none(in_file, name):
    with pytest.raises(SettingsError, match=r"can't be a user's name: that has up to 40 of a-z"):
        in_file.add(name)
    assert not in_file.path.exists()


@given(st.text())
def test_no_name_leads_out_of_a_folder(name):
    if is_user_name(name):
        assert "/" not in name
        assert name not in (".", "..")


def test_the_name_of_a_server_without_users_is_taken(users):
    with pytest.raises(SettingsError, match="'local' is what a server without users calls its one person"):
        users.add("local")


def test_a_name_is_given_once(users):
    token = users.add("anna")
    with pytest.raises(SettingsError, match="There is a user anna already; `treadle users token anna`"):
        users.add("anna")
    assert users.person_of(token) == User("anna")


@pytest.mark.parametrize("act", ["renew", "remove", "change", "get", "begin_session"])
def test_who_is_not_there_is_told(users, act):
    with pytest.raises(SettingsError, match=r"There is no user 'nobody'; `treadle users list` says who there is\."):
        getattr(users, act)("nobody")


def test_a_role_that_is_none_is_told(users):
    with pytest.raises(SettingsError, match="There is no role 'king'; there are reader, user, admin"):
        users.add("anna", "king")


# changes


def test_what_is_changed_counts_at_once_for_whoever_else_has_the_file_open(users, kept):
    token, other = users.add("anna"), kept.open()
    session = users.begin_session("anna")
    assert other.change("anna", role="reader") == User("anna", "reader")
    assert users.person_of(token) == users.person_of_session(session) == User("anna", "reader")
    other.change("anna", allowance=Allowance(runs=1))
    assert users.person_of(token) == User("anna", "reader", Allowance(runs=1))


def test_who_is_removed_is_gone_at_once_and_may_come_back_as_somebody_new(users):
    token, session = users.add("anna"), users.begin_session("anna")
    users.remove("anna")
    assert (users.person_of(token), users.person_of_session(session), users.all()) == (None, None, [])
    users.add("anna")
    assert (users.person_of(token), users.person_of_session(session)) == (None, None)


# sessions


def test_a_session_stands_for_its_user_until_it_ends(users):
    users.add("anna")
    first, second = users.begin_session("anna"), users.begin_session("anna")
    assert users.person_of_session(first) == users.person_of_session(second) == User("anna")
    users.end_session(first)
    assert (users.person_of_session(first), users.person_of_session(second)) == (None, User("anna"))
    assert users.person_of_session("") is None
    assert users.person_of(second) is None


def test_a_session_lasts_thirty_days_and_is_then_forgotten(kept):
    clock = Clock()
    users = kept.open(clock=clock)
    users.add("anna")
    session = users.begin_session("anna")
    clock.now += SESSION_SECONDS - 1
    assert users.person_of_session(session) == User("anna")
    clock.now += 1
    assert users.person_of_session(session) is None
    users.begin_session("anna")
    assert kept.sessions() == (1,)


def test_a_person_has_twenty_sessions_and_the_oldest_end_first(kept):
    clock = Clock()
    users = kept.open(clock=clock)
    users.add("anna")
    users.add("ben")
    of_ben, sessions = users.begin_session("ben"), []
    for _ in range(MAX_SESSIONS + 2):
        clock.now += 1
        sessions.append(users.begin_session("anna"))
    assert [users.person_of_session(each) is None for each in sessions] == [True, True, *[False] * MAX_SESSIONS]
    assert users.person_of_session(of_ben) == User("ben")


# the file


def test_looking_makes_no_file(in_file):
    assert (in_file.all(), in_file.person_of("x"), in_file.person_of_session("x")) == ([], None, None)
    assert not in_file.path.parent.exists()


def test_the_file_is_its_owners_alone(in_file):
    in_file.add("anna")
    assert stat.S_IMODE(in_file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(in_file.path.parent.stat().st_mode) == 0o700


def test_many_may_write_at_once(users, kept):
    errors = []

    def add(number):
        try:
            kept.open().add(f"user{number}")
        except UsersError as error:
            errors.append(error)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(users.all()) == 12


def test_a_file_of_a_newer_treadle_is_left_alone(in_file):
    in_file.add("anna")
    with closing(sqlite3.connect(in_file.path)) as connection:
        connection.execute("PRAGMA user_version=99")
    with pytest.raises(UsersError, match="was made by a newer Treadle; update Treadle to use it"):
        in_file.all()


def test_a_damaged_file_lets_nobody_in(in_file):
    token = in_file.add("anna")
    in_file.path.write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(UsersError, match="can't be read or changed"):
        in_file.person_of(token)


def test_a_change_that_fails_changes_nothing(users):
    token = users.add("anna")
    with pytest.raises(SettingsError):
        users.change("anna", role="king")
    assert users.person_of(token) == User("anna")


def test_a_name_that_two_give_at_once_is_given_once(users, kept):
    told = []

    def add():
        try:
            kept.open().add("anna")
        except SettingsError as error:
            told.append(str(error))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 3
    assert all(words.startswith("There is a user anna already") for words in told)


def test_users_are_known_again_after_the_server_ended_every_connection(in_postgres):
    kept = Kept(in_postgres)
    users = kept.open()
    token = users.add("anna")
    in_postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'treadle'"
    )
    assert users.person_of(token) == User("anna")
    kept.close()


def test_users_that_cannot_be_reached_let_nobody_in(tmp_path):
    users = Users(PostgresUserStore(PostgresDatabase("postgresql://anna:hidden@127.0.0.1:1/x", wait=0)))
    with pytest.raises(UsersError, match=r"Users can't be read or changed: postgresql://127.0.0.1:1/x can't be used") as caught:
        users.person_of("x")
    assert "hidden" not in str(caught.value)


def test_groups_identities_and_keys_are_kept(users):
    users.add("anna", groups=["staff", "ops", "staff"])
    users.add("ben")
    assert users.get("anna").groups == ("ops", "staff")
    assert users.change("anna", groups=[]).groups == ()
    users.link_identity("anna", "https://a", "s")
    users.link_identity("anna", "https://a", "s")
    with pytest.raises(SettingsError, match="linked to the user anna"):
        users.link_identity("ben", "https://a", "s")
    assert users.person_of_identity("https://a", "s") == users.get("anna")
    assert users.person_of_identity("https://b", "s") is None
    assert users.key("x") == users.key("x") != users.key("y")
    users.remove("anna")
    assert users.person_of_identity("https://a", "s") is None


def test_a_file_of_the_first_format_gets_what_it_lacks(tmp_path):
    path = tmp_path / USERS_FILE
    token = Users(path).add("anna", "admin")
    with closing(sqlite3.connect(path)) as connection:  # as it was
        for statement in (
            "DROP TABLE identities",
            "DROP TABLE server_keys",
            "DROP TABLE shares",
            "DROP TABLE item_shares",
            *[f"ALTER TABLE users DROP COLUMN {name}" for name in ("groups", "service", "expires")],
            "PRAGMA user_version=1",
        ):
            connection.execute(statement)
        connection.commit()
    assert Users(path).person_of(token) == User("anna", "admin")
    Users(path).link_identity("anna", "https://a", "s")


def test_a_file_of_the_second_format_gets_the_shares_of_items(tmp_path):
    path = tmp_path / USERS_FILE
    token = Users(path).add("anna")
    with closing(sqlite3.connect(path)) as connection:  # as it was
        connection.execute("DROP TABLE item_shares")
        connection.execute("PRAGMA user_version=2")
        connection.commit()
    assert Users(path).person_of(token) == User("anna")
    assert Users(path).item_shares_of("anna") == []


def test_items_of_an_assistant_are_shared_with_users_and_groups(users):
    for name, groups in (("anna", []), ("ben", ["staff"]), ("carl", ["staff"])):
        users.add(name, groups=groups)
    users.set_item_shares("anna", "guidance", "p", [Share("ben"), Share("staff", is_group=True, can_edit=True)])
    users.set_item_shares("anna", "courses", "c", [Share("carl")])
    assert users.items_shared_with("ben", "guidance") == [SharedItem("anna", "p", can_edit=True)]  # the group may more
    assert users.items_shared_with("carl", "courses") == [SharedItem("anna", "c")]
    assert users.items_shared_with("anna", "guidance") == users.items_shared_with("nemo", "guidance") == []
    users.change("ben", groups=[])
    assert users.items_shared_with("ben", "guidance") == [SharedItem("anna", "p")]
    assert [(each.assistant, each.item, each.share.grantee) for each in users.item_shares_of("anna")] == [
        ("courses", "c", "carl"),
        ("guidance", "p", "ben"),
        ("guidance", "p", "staff"),
    ]
    users.remove("ben")
    users.add("ben")
    assert users.items_shared_with("ben", "guidance") == []
    users.remove("anna")
    assert users.items_shared_with("carl", "courses") == []
