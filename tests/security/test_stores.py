"""Attempts with words that SQL might take for its own, through the functions of all stores, on SQLite and PostgreSQL.

And at what belongs to others: their homes, their runs, the queue of workers.
"""

import asyncio

import pytest

from stores.places import place_of
from treadle.core.entries import Opened, Said
from treadle.core.errors import RunNotFound, SettingsError
from treadle.core.seams import AuditRecord
from treadle.home import close_home, open_home, open_user_home, open_users
from treadle.stores.audit import AuditQuery, DatabaseAudit
from treadle.stores.cache import DatabaseCache
from treadle.stores.journal import DatabaseJournal, JournalQuery
from treadle.stores.leases import Leases
from treadle.stores.postgres.address import quote_identifier, schema_name
from treadle.stores.queue import QueuePosition, RunCeilings, RunQueue
from treadle.stores.results import DatabaseResults
from treadle.stores.schedules import Schedule, Schedules
from treadle.stores.stats.store import DatabaseStats
from treadle.stores.stats.values import StatsQuery
from treadle.stores.users import Users, is_user_name
from treadle.workers.run_spec import RunSpec, is_worker_run, run_spec_of

HOSTILE = [
    "' OR '1'='1",
    "'; DROP TABLE runs; --",
    '"; DROP TABLE runs; --',
    "x') UNION SELECT proof, proof, proof FROM users --",
    "\\'; DELETE FROM audit; --",
    "$1",
    "%s %(x)s %%",
    "? ?1 :name @name",
    "*",
    "_%!",
    "[a-z]*",
    "/* x */ --",
    "E'\\x27'; SELECT pg_sleep(10)",
    "$$; DROP SCHEMA treadle CASCADE; $$",
    "a\x00b",
    "\u202e\u2066\ufeff",
    "{}\\u0000\\",
    "x" * 5_000,
]
TABLES = ("runs", "audit", "queue", "schedules", "leases")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    place = place_of(request.param, tmp_path, request)
    yield place
    place.close()


def opened(run_id, word, title="a title"):
    return [Opened(agent=word, model=word, user=word, at=1.0), Said(text=title, at=1.0)]


def record(run_id, word):
    return AuditRecord(run_id, "call_1", word, word, {word: word}, "allow", word, word, 1.0, True, word, 1.0)


@pytest.mark.parametrize("word", HOSTILE, ids=lambda word: word[:20].encode("unicode-escape").decode())
def test_words_are_values_to_every_store(place, word):
    database = place.open()
    kept = word.replace("\0", "\ufffd") if place.kind == "postgres" else word
    journal, audit, cache, results = (kind(database) for kind in (DatabaseJournal, DatabaseAudit, DatabaseCache, DatabaseResults))
    queue, leases = RunQueue(database), Leases(database)
    schedules = Schedules(database, queue)

    async def work():
        await journal.append("mine", 0, opened("mine", "other"))
        await journal.append(word, 0, opened(word, word, title=f"a {word} b"))
        audit.record(record("mine", "other"))
        await audit.record(record(word, word))
        await cache.put("mine", "other", "other's", 9e9)
        await cache.put(word, word, word, 9e9)
        await results.keep("mine", "other", "other's")
        await results.keep(word, word, word)
        assert await schedules.add(Schedule("other", "* * * * *", "UTC", "{}", 9e9))
        assert await schedules.add(Schedule(word, word, word, word, 9e9))
        await queue.open(QueuePosition("queued", "other", "m"), opened("queued", "other"))
        await queue.add(QueuePosition(word, word, word))
        lease = await leases.take(word, word, 100)
        assert lease is not None

        # what is asked for by such a word is what has that word, and nothing else
        assert [type(entry) for entry in await journal.read(word)] == [Opened, Said]
        assert (await journal.info(word)).agent == kept
        assert {run.run_id for run in await journal.list_runs(JournalQuery(agent=word))} == {kept}
        assert {run.run_id for run in await journal.list_runs(JournalQuery(search=word))} <= {kept, "mine", "queued"}
        assert {run.run_id for run in await journal.list_runs(JournalQuery(status=word))} == set()
        assert await journal.children(word) == []
        if "\0" not in word and "\\u0000" not in word:  # databases can't look for these in JSON; nobody else's are found
            assert [link.record.run_id for link in await audit.list_records(AuditQuery(run_id=word))] == [word]
            assert [link.record.run_id for link in await audit.list_records(AuditQuery(user=word))] == [word]
            found = {link.record.run_id for link in await audit.list_records(AuditQuery(tool=word))}
            assert word in found
            assert found == {word} or set(word) & set("*?")
        for sought in (AuditQuery(run_id=word), AuditQuery(user=word)):
            assert {link.record.run_id for link in await audit.list_records(sought)} <= {word}
        assert (await audit.verify()).broken_at is None
        assert await cache.get(word, 0.0) in (word, kept)
        await cache.forget(word)
        assert (await cache.get(word, 0.0), await cache.get("mine", 0.0)) == (None, "other's")
        assert await results.fetch(word, word) in (word, kept)
        assert await results.fetch("mine", word) is None
        assert await results.fetch("mine", "other") == "other's"
        assert {each.name for each in await schedules.all()} == {kept, "other"}
        assert await schedules.remove(word)
        assert [each.name for each in await schedules.all()] == ["other"]
        assert {sent.run_id for sent in await queue.admit(RunCeilings(per_user=5), 10)} == {"queued", kept}
        assert await leases.renew(lease)
        await leases.give_up(lease)
        for question in (StatsQuery(tool=word), StatsQuery(user=word), StatsQuery(model=word), StatsQuery(assistant=word)):
            await DatabaseStats(database).ask(question)

    asyncio.run(work())
    for table in TABLES:
        assert place.execute(f"SELECT count(*) FROM {table}")  # it is still there
    assert place.execute("SELECT count(*) FROM runs WHERE run_id = 'mine'")[0][0] == 1


@pytest.mark.parametrize("word", [*HOSTILE, "", "..", "../x", "a/b", "A", "a b", "-x", ".x", "x" * 41, "local", "ä", "a\n"])
def test_no_user_is_called_so_and_no_token_or_session_is_theirs(place, word, tmp_path):
    users = Users(tmp_path / "users.db") if place.kind == "sqlite" else open_users(open_home(tmp_path / "home", database=place.url))
    anna = users.add(f"anna{abs(hash(word)) % 10**9}")
    with pytest.raises(SettingsError):
        users.add(word)
    for ask in (users.get, users.remove, users.renew, users.change, users.begin_session):
        with pytest.raises(SettingsError):
            ask(word)
    assert (users.person_of(word), users.person_of_session(word)) == (None, None)
    assert users.person_of(f"treadle_{word}_{'x' * 43}") is None
    users.end_session(word)
    assert users.person_of(anna) is not None


@pytest.mark.parametrize("name", HOSTILE)
def test_a_schema_is_a_name_whatever_is_in_it(name):
    """Users can't be called so; a program that opens a database by itself may try."""
    assert not is_user_name(name)
    try:
        schema = schema_name(name)
    except SettingsError:
        return
    inside = quote_identifier(schema)[1:-1]
    assert inside.replace('""', "").count('"') == 0


def test_nobody_has_the_runs_of_another_in_postgresql(request, tmp_path):
    """Homes are schemas of one database: what one asks for by its name is looked for in its own."""
    home = open_home(tmp_path / "data", database=request.getfixturevalue("postgres"))
    anna, bob = open_user_home(home, "anna"), open_user_home(home, "bob")

    async def work():
        for each, name in ((home, "owner"), (anna, "anna"), (bob, "bob")):
            await each.journal.append(f"run-{name}", 0, opened("", name, title=f"Words of {name}."))
            await each.audit.record(record(f"run-{name}", name))
            await each.results.keep("run", name, f"secret of {name}")
            await each.cache.put("key", name, f"secret of {name}", 9e9)
        seen = {}
        for each, name in ((home, "owner"), (anna, "anna"), (bob, "bob")):
            others = {"owner", "anna", "bob"} - {name}
            seen[name] = {run.run_id for run in await each.journal.list_runs(JournalQuery())}
            for other in others:
                with pytest.raises(RunNotFound):
                    await each.journal.read(f"run-{other}")
                with pytest.raises(RunNotFound):
                    await each.journal.info(f'treadle_{other}"."run-{other}')
                assert await each.results.fetch("run", other) is None
                assert await each.audit.list_records(AuditQuery(run_id=f"run-{other}")) == []
            assert await each.cache.get("key", 0.0) == f"secret of {name}"
        return seen

    try:
        assert asyncio.run(work()) == {"owner": {"run-owner"}, "anna": {"run-anna"}, "bob": {"run-bob"}}
    finally:
        for each in (anna, bob, home):
            close_home(each)


# workers


@pytest.mark.parametrize(
    "origin",
    [
        {},
        {"face": "server", "assistant": "coding", "model": "command:touch /tmp/x"},
        {"face": "Worker", "assistant": "coding", "model": "m"},
        {"face": "worker"},
        {"face": "worker", "assistant": 1, "model": "m"},
        {"face": "worker", "assistant": "coding", "model": ["command:id"]},
        {"face": "worker", "assistant": "coding", "model": "m", "attended": "no"},
        {"face": "worker", "assistant": "coding", "model": "m", "workspace": {"x": 1}},
    ],
    ids=str,
)
def test_a_worker_takes_nothing_that_was_not_submitted_to_workers(origin):
    with pytest.raises(SettingsError):
        run_spec_of("run-1", Opened(agent="x", model="m", origin=origin, at=0.0))


def test_what_is_submitted_says_nothing_else_than_an_order():
    order = run_spec_of(
        "run-1", Opened(agent="x", model="m", origin={**RunSpec("coding", "m").origin, "yes": True, "policy": "allow"}, at=0.0)
    )
    assert order == RunSpec("coding", "m")
    assert not is_worker_run(None)
