"""A chain in which nothing can be changed unnoticed."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.seams import AuditRecord
from treadle.stores.audit import GENESIS, Link, MemoryAudit, SqliteAudit, verify
from treadle.stores.database import Database


def record(number: int, run_id: str = "r1") -> AuditRecord:
    return AuditRecord(
        run_id, f"c{number}", "ann", "stock", {"item": number}, "allow", "default", "5", 1.5, True, None, float(number)
    )


def chain(count: int) -> list[Link]:
    audit = MemoryAudit()
    for number in range(count):
        asyncio.run(wait(audit.record(record(number))))
    return audit.links


async def wait(ticket):
    await ticket


def head(links: list[Link]) -> tuple[int, str]:
    return (links[-1].seq, links[-1].hash) if links else (0, GENESIS)


def test_an_untouched_chain_holds():
    for count in (0, 1, 5):
        links = chain(count)
        assert verify(links, head(links)).records == count
        assert verify(links, head(links)).broken_at is None


@given(st.integers(0, 9), st.integers(0, 200))
def test_any_changed_byte_is_found_where_it_is(index, place):
    links = chain(10)
    found = links[index]
    place %= len(found.line)
    changed = found.line[:place] + bytes([found.line[place] ^ 1]) + found.line[place + 1 :]
    links[index] = Link(found.seq, found.previous, changed, found.hash)
    assert verify(links, head(chain(10))).broken_at == index + 1


@given(st.integers(0, 9))
def test_a_removed_record_is_found(index):
    links = chain(10)
    end = head(links)
    del links[index]
    assert verify(links, end).broken_at == index + 1


@given(st.permutations(range(6)))
def test_reordered_records_are_found(order):
    links = chain(6)
    assert (verify([links[index] for index in order], head(links)).broken_at is None) == (list(order) == list(range(6)))


def test_a_record_forged_with_a_fitting_hash_breaks_the_one_after_it():
    from treadle.stores.audit import link

    links = chain(3)
    links[1] = link(2, links[0].hash, b'{"forged": true}')
    assert verify(links, head(links)).broken_at == 3


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "t.db")
    yield database
    database.close()


def test_records_are_kept_and_can_be_asked_for_by_run(database):
    async def story():
        audit = SqliteAudit(database)
        for number in range(5):
            await audit.record(record(number, "r1" if number % 2 else "r2"))
        return await audit.records(limit=2), await audit.records("r1"), await audit.verify()

    newest, of_run, verified = asyncio.run(story())
    assert [link.record.call_id for link in newest] == ["c3", "c4"]
    assert [link.record.call_id for link in of_run] == ["c1", "c3"]
    assert (verified.records, verified.broken_at) == (5, None)


@pytest.mark.parametrize(
    ("tamper", "where"),
    [
        ("UPDATE audit SET line = CAST(replace(CAST(line AS TEXT), 'ann', 'bob') AS BLOB) WHERE seq = 2", 2),
        ("DELETE FROM audit WHERE seq = 3", 3),
        ("DELETE FROM audit WHERE seq = 5", 5),
        ("UPDATE audit SET seq = 9 WHERE seq = 1", 1),
        ("UPDATE audit_head SET seq = 4", 6),
    ],
)
def test_tampering_with_the_file_is_found(database, tamper, where):
    async def story():
        audit = SqliteAudit(database)
        for number in range(5):
            await audit.record(record(number))
        await database.submit(lambda connection: connection.execute(tamper))
        return await audit.verify()

    assert asyncio.run(story()).broken_at == where


def test_two_writers_make_one_chain(database):
    async def story():
        other = SqliteAudit(second)
        audit = SqliteAudit(database)
        for number in range(20):
            await (audit if number % 2 else other).record(record(number))
        return await audit.verify()

    second = Database(database.path)
    assert asyncio.run(story()).records == 20
    second.close()
