"""A run that is deleted leaves nothing of its content, in tables and files, and an audit whose chain holds."""

import asyncio

import pytest
from msgspec.structs import replace

from treadle.core.entries import Finished, Opened, Said
from treadle.core.errors import RunNotFound
from treadle.core.seams import AuditRecord
from treadle.stores.anchors import Anchors
from treadle.stores.audit import AuditLink, DatabaseAudit, erase_records, verify_chain
from treadle.stores.cache import DatabaseCache
from treadle.stores.deletion import delete_runs
from treadle.stores.journal import DatabaseJournal
from treadle.stores.queue import QueuePosition, RunQueue
from treadle.stores.results import DatabaseResults

OPENED = Opened(agent="clerk", model="m", user="ann", at=1.0)
SECRET = "Marigold"
CALL = AuditRecord("a", "c1", "ann", "look", {"name": SECRET}, "allow", "rule", f"{SECRET} is ill", 1.0, True, None, 2.0)
DELETION = AuditRecord("a", "", "ann", "", {}, "", "", "", 0.0, True, None, 9.0, "deletion")


def test_a_run_is_deleted_with_those_inside_of_it_and_nothing_else(database):
    journal = DatabaseJournal(database)

    async def story():
        for run_id, parent in (("a", ""), ("a.1", "a"), ("a.1.1", "a.1"), ("b", "")):
            await journal.append(run_id, 0, [Opened(parent=parent, at=1.0)])
        deletion = await delete_runs(database, ["a"], DELETION, None)
        assert deletion.run_ids == {"a", "a.1", "a.1.1"}
        for gone in ("a", "a.1", "a.1.1"):
            with pytest.raises(RunNotFound):
                await journal.read(gone)
        await journal.append("a", 0, [OPENED])  # the name is free again
        return await journal.read("a"), await journal.children("a"), await journal.read("b")

    assert asyncio.run(story()) == ([OPENED], [], [Opened(at=1.0)])


def test_what_is_kept_for_a_run_that_is_deleted_goes_with_it(place):
    database = place.open()
    results, queue, cache = DatabaseResults(database), RunQueue(database), DatabaseCache(database)

    async def story():
        for run_id in ("a", "b"):
            await queue.open(QueuePosition(run_id, "ann", "m", 0.0), [OPENED])
            await results.keep(run_id, "large", "x" * 100)
        await cache.put("key", "group", SECRET, 10**12)
        await delete_runs(database, ["a"], DELETION, None)

    asyncio.run(story())
    for table in ("runs", "entries", "results", "queue"):
        assert place.execute(f"SELECT DISTINCT run_id FROM {table}") == [("b",)], table
    assert place.execute("SELECT count(*) FROM cache") == [(0,)]
    assert database.purge()


def audited(database, tmp_path):
    """An audit with a call of each of two runs, the first of which is deleted."""
    anchors = Anchors(tmp_path / "anchors")
    audit, journal = DatabaseAudit(database, anchors), DatabaseJournal(database)

    async def story():
        for run_id in ("a", "b"):
            await journal.append(run_id, 0, [OPENED, Said(text=SECRET, at=1.5), Finished(stopped="answered", at=3.0)])
            await audit.record(replace(CALL, run_id=run_id))
            await audit.anchor(run_id)
        await delete_runs(database, ["a"], DELETION, audit)
        return await audit.records(), await audit.verify()

    return *asyncio.run(story()), anchors.all()


def test_the_audit_holds_without_what_was_said_in_the_calls_of_the_run(database, tmp_path):
    links, verified, anchors = audited(database, tmp_path)
    erased, other, deletion = [each.record for each in links]
    assert (erased.stage, erased.tool_name, erased.user, erased.success, erased.at) == ("erased", "look", "ann", True, 2.0)
    assert (erased.arguments, erased.result_summary) == ({}, "")
    assert other.result_summary == f"{SECRET} is ill"
    assert (deletion.stage, deletion.run_id, [*deletion.arguments["erased"]]) == ("deletion", "a", ["1"])
    assert (verified.holds, verified.records) == (True, 3)
    assert anchors[-1].seq == 3


def test_a_tombstone_that_no_deletion_names_breaks_the_chain(database, tmp_path):
    links, _, _ = audited(database, tmp_path)
    forged = [links[0], erased_by_hand(links[1]), links[2]]
    found = verify_chain(forged, (3, links[2].hash))
    assert (found.broken_at, found.reason) == (2, "record 2 was erased, and no deletion on record names it")


def test_a_tombstone_that_was_changed_breaks_the_chain(database, tmp_path):
    links, _, _ = audited(database, tmp_path)
    changed = replace(links[0], line=links[0].line.replace(b'"user":"ann"', b'"user":"bob"'))
    assert verify_chain([changed, *links[1:]], (3, links[2].hash)).broken_at == 1


def erased_by_hand(link: AuditLink) -> AuditLink:
    return replace(link, line=link.line.replace(SECRET.encode(), b"").replace(b'"stage":"ended"', b'"stage":"erased"'))


def test_a_run_by_the_same_name_is_deleted_again(database, tmp_path):
    audited(database, tmp_path)
    audit = DatabaseAudit(database, Anchors(tmp_path / "anchors"))

    async def story():
        await audit.record(CALL)
        await audit.erase(lambda connection: erase_records(connection, database.words, ["a"], DELETION), "a")
        return [each.record.stage for each in await audit.records()], await audit.verify()

    stages, verified = asyncio.run(story())
    assert stages == ["erased", "ended", "deletion", "erased", "deletion"]
    assert verified.holds


def test_no_byte_of_it_is_left_in_the_file_or_its_log(in_sqlite):
    """Rows of other runs in between, of all sizes: what is deleted has been moved from page to page."""
    database = in_sqlite.open()
    journal = DatabaseJournal(database)

    async def story():
        for number in range(300):
            for run_id, word in (("a", SECRET), ("b", "Rosemary"), (f"c{number % 7}", "Sage")):
                text = f"{word} " * (1 + number * 37 % 400)
                await journal.append(run_id, number if run_id in "ab" else number // 7, [Said(text=text, at=1.0)])
        await delete_runs(database, ["a"], DELETION, None)

    asyncio.run(story())
    assert database.purge()
    left = b"".join([path.read_bytes() for path in in_sqlite.path.parent.iterdir()])
    assert SECRET.encode() not in left
    assert b"Rosemary" in left
