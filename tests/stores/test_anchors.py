"""Where the audit ended, noted outside of it."""

import asyncio

import pytest

from stores.test_audit import chain, head, record
from treadle.core.entries import Finished, Opened, Resumed, Said
from treadle.stores.anchors import Anchor, Anchors, open_anchors
from treadle.stores.audit import NO_ANCHOR_YET, NO_ANCHORS, DatabaseAudit, chain_record, verify_chain
from treadle.stores.journal import DatabaseJournal
from treadle.stores.sqlite import SqliteDatabase


def anchor(links, seq):
    return Anchor(seq, links[seq - 1].hash, f"run{seq}", 0.0)


def test_a_chain_that_was_only_added_to_holds_with_its_anchors():
    links = chain(5)
    assert verify_chain(links, head(links), [anchor(links, 2), anchor(links, 5)]).broken_at is None


def test_a_chain_that_was_cut_short_is_found_by_the_first_record_that_is_gone():
    links = chain(5)
    found = verify_chain(links[:3], head(links[:3]), [anchor(links, 2), anchor(links, 4), anchor(links, 5)])
    assert (found.records, found.broken_at) == (3, 4)
    assert found.reason == "the chain ends at record 3, but record 4 was there when run run4 ended"


def test_a_chain_that_was_made_anew_is_found_where_it_is_anchored():
    links, previous = chain(4), "0" * 64
    anew = []
    for each in links:
        anew.append(chain_record(each.seq, previous, each.line.replace(b"ann", b"bob")))
        previous = anew[-1].hash
    assert verify_chain(anew, head(anew)).broken_at is None  # by itself it holds
    found = verify_chain(anew, head(anew), [anchor(links, 3)])
    assert (found.broken_at, found.reason) == (3, "record 3 is not what it was when run run3 ended")


def test_the_end_of_the_chain_is_noted_once_it_is_on_disk(tmp_path):
    database, anchors = SqliteDatabase(tmp_path / "a.db"), Anchors(tmp_path / "notes")
    audit = DatabaseAudit(database, anchors)

    async def work():
        await audit.anchor("r0")  # nothing was recorded yet
        audit.record(record(1))
        audit.record(record(2))
        await audit.anchor("r1")
        audit.record(record(3))
        await audit.anchor("r2")
        return await audit.verify(), await audit.records()

    verified, links = asyncio.run(work())
    database.close()
    assert (verified.records, verified.broken_at) == (3, None)
    assert [(each.seq, each.hash, each.run_id) for each in anchors.all()] == [(2, links[1].hash, "r1"), (3, links[2].hash, "r2")]


def test_a_line_that_was_cut_short_counts_for_nothing_and_the_next_one_does(tmp_path):
    anchors = Anchors(tmp_path / "not there yet" / "notes")
    assert anchors.all() == []
    anchors.add(1, "a", "r")
    with anchors.path.open("ab") as file:
        file.write(b'\n{"seq": 2, "ha')
    anchors.add(3, "c", "s")
    assert [each.seq for each in anchors.all()] == [1, 3]


def test_they_may_be_kept_elsewhere_each_home_with_a_file_of_its_own(tmp_path, monkeypatch):
    assert open_anchors(tmp_path).path == tmp_path / "audit.anchors"
    monkeypatch.setenv("TREADLE_ANCHORS", str(tmp_path / "safe"))
    one, other = open_anchors(tmp_path / "a").path, open_anchors(tmp_path / "b").path
    assert one != other
    assert one.parent == other.parent == tmp_path / "safe"


# what is missing


@pytest.mark.parametrize(
    ("gone", "found"),
    [
        (("audit.anchors",), (3, None, "anchors")),
        (("treadle.db",), (0, 1, "database")),
        (("treadle.db", "audit.anchors"), (0, None, "database")),
        ((), (3, None, "")),
    ],
)
def test_what_is_missing_is_said(tmp_path, gone, found):
    database, anchors = SqliteDatabase(tmp_path / "treadle.db"), Anchors(tmp_path / "audit.anchors")

    async def work():
        audit = DatabaseAudit(database, anchors)
        for number in (1, 2, 3):
            audit.record(record(number))
        await audit.anchor("r1")

    asyncio.run(work())
    database.close()
    for name in gone:
        (tmp_path / name).unlink()
    looked = SqliteDatabase(tmp_path / "treadle.db")
    verified = asyncio.run(DatabaseAudit(looked, anchors).verify())
    looked.close()
    assert (verified.records, verified.broken_at, verified.missing, verified.holds) == (*found, not gone)
    assert [name for name in ("treadle.db", "audit.anchors") if (tmp_path / name).exists() and name in gone] == []


def test_a_database_that_is_gone_is_told_by_what_was_in_it(tmp_path):
    database, anchors = SqliteDatabase(tmp_path / "treadle.db"), Anchors(tmp_path / "audit.anchors")
    anchors.add(7, "hash", "r3")
    verified = asyncio.run(DatabaseAudit(database, anchors).verify())
    assert verified.reason == "the database is gone, and record 7 was there when run r3 ended"


OPENED = [Opened(agent="a"), Said(text="Go.")]


@pytest.mark.parametrize(
    ("entries", "inside", "says"),
    [
        (OPENED, False, (True, "", NO_ANCHOR_YET)),
        (OPENED, True, (True, "", NO_ANCHOR_YET)),
        ([*OPENED, Finished(stopped="waiting"), Resumed()], False, (False, "anchors", NO_ANCHORS)),
        ([*OPENED, Finished(stopped="answered")], True, (False, "anchors", NO_ANCHORS)),
    ],
)
def test_before_the_first_run_has_ended_no_anchor_is_missing(tmp_path, entries, inside, says):
    """A process that was killed in its first run has written none; whatever ended a turn has written one."""
    database = SqliteDatabase(tmp_path / "treadle.db")

    async def work():
        journal, audit = DatabaseJournal(database), DatabaseAudit(database, Anchors(tmp_path / "audit.anchors"))
        root = "r0" if inside else record(1).run_id
        await journal.append(root, 0, entries)
        if inside:
            await journal.append(record(1).run_id, 0, [Opened(parent="r0"), Finished(stopped="answered")])
        await audit.record(record(1))
        return await audit.verify()

    verified = asyncio.run(work())
    database.close()
    assert (verified.records, verified.broken_at) == (1, None)
    assert (verified.holds, verified.missing, verified.reason) == says
