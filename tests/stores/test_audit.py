"""A chain in which nothing can be changed unnoticed."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from treadle.core.seams import AuditRecord
from treadle.stores.audit import GENESIS, AuditLink, AuditQuery, DatabaseAudit, MemoryAudit, verify_chain


def record(number: int, run_id: str = "r1") -> AuditRecord:
    return AuditRecord(
        run_id, f"c{number}", "ann", "stock", {"item": number}, "allow", "default", "5", 1.5, True, None, float(number)
    )


def chain(count: int) -> list[AuditLink]:
    audit = MemoryAudit()
    for number in range(count):
        asyncio.run(wait(audit.record(record(number))))
    return audit.links


async def wait(ticket):
    await ticket


def head(links: list[AuditLink]) -> tuple[int, str]:
    return (links[-1].seq, links[-1].hash) if links else (0, GENESIS)


def test_an_untouched_chain_holds():
    for count in (0, 1, 5):
        links = chain(count)
        assert verify_chain(links, head(links)).records == count
        assert verify_chain(links, head(links)).broken_at is None


@given(st.integers(0, 9), st.integers(0, 200))
def test_any_changed_byte_is_found_where_it_is(index, place):
    links = chain(10)
    found = links[index]
    place %= len(found.line)
    changed = found.line[:place] + bytes([found.line[place] ^ 1]) + found.line[place + 1 :]
    links[index] = AuditLink(found.seq, found.previous, changed, found.hash)
    assert verify_chain(links, head(chain(10))).broken_at == index + 1


@given(st.integers(0, 9))
def test_a_removed_record_is_found(index):
    links = chain(10)
    end = head(links)
    del links[index]
    assert verify_chain(links, end).broken_at == index + 1


@given(st.permutations(range(6)))
def test_reordered_records_are_found(order):
    links = chain(6)
    assert (verify_chain([links[index] for index in order], head(links)).broken_at is None) == (list(order) == list(range(6)))


def test_a_record_forged_with_a_fitting_hash_breaks_the_one_after_it():
    from treadle.stores.audit import chain_record

    links = chain(3)
    links[1] = chain_record(2, links[0].hash, b'{"forged": true}')
    assert verify_chain(links, head(links)).broken_at == 3


def test_records_are_kept_and_can_be_asked_for_by_run(database):
    async def story():
        audit = DatabaseAudit(database)
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
        ("UPDATE audit SET line = {changed} WHERE seq = 2", 2),
        ("DELETE FROM audit WHERE seq = 3", 3),
        ("DELETE FROM audit WHERE seq = 5", 5),
        ("UPDATE audit SET seq = 9 WHERE seq = 1", 1),
        ("UPDATE audit SET seq = -1 WHERE seq = 1", 1),
        ("UPDATE audit_head SET seq = 4", 6),
    ],
)
def test_tampering_with_what_is_kept_is_found(place, tamper, where):
    changed = {
        "sqlite": "CAST(replace(CAST(line AS TEXT), 'ann', 'bob') AS BLOB)",
        "postgres": "convert_to(replace(convert_from(line, 'UTF8'), 'ann', 'bob'), 'UTF8')",
    }

    async def story():
        database = place.open()
        audit = DatabaseAudit(database)
        for number in range(5):
            await audit.record(record(number))
        await database.submit(lambda connection: connection.execute(tamper.format(changed=changed[place.kind])))
        return await audit.verify()

    assert asyncio.run(story()).broken_at == where


def test_two_writers_make_one_chain(place):
    async def story():
        audit, other = DatabaseAudit(place.open()), DatabaseAudit(place.open())
        for number in range(20):
            await (audit if number % 2 else other).record(record(number))
        return await audit.verify()

    assert asyncio.run(story()).records == 20


def test_many_writers_at_once_make_one_chain(place):
    async def story():
        audits = [DatabaseAudit(place.open()) for _ in range(4)]
        await asyncio.gather(*[many(audit) for audit in audits])
        return await audits[0].verify()

    async def many(audit):
        for number in range(25):
            await audit.record(record(number))

    found = asyncio.run(story())
    assert (found.records, found.broken_at) == (100, None)


def test_a_chain_longer_than_what_is_read_at_once_is_verified_whole(database):
    async def story():
        audit = DatabaseAudit(database)
        for number in range(2500):
            audit.record(record(number))
        whole = await audit.verify()
        await database.submit(lambda connection: connection.execute("DELETE FROM audit WHERE seq = 2000"))
        return whole, await audit.verify()

    whole, broken = asyncio.run(story())
    assert (whole.records, whole.broken_at, broken.broken_at) == (2500, None, 2000)


def test_nothing_recorded_is_a_chain_that_holds(database):
    assert asyncio.run(DatabaseAudit(database).verify()).records == 0


def test_records_are_found_by_run_tool_and_user(place):
    async def story():
        audit = DatabaseAudit(place.open())
        assert await audit.list_records(AuditQuery()) == []
        assert place.kind == "postgres" or not place.path.exists()
        for number, (tool, user) in enumerate(
            [("read_file", "ann"), ("read\0\\u0000", "b'ob"), ("Read_file", "ann"), ("pay%_!", "ann")]
        ):
            await audit.record(replace(record(number, f"r{number}"), tool_name=tool, user=user))
        for sought, numbers in SOUGHT:
            assert [link.seq for link in await audit.list_records(sought)] == numbers, sought

    asyncio.run(story())


SOUGHT = [
    (AuditQuery(), [4, 3, 2, 1]),
    (AuditQuery(limit=2), [4, 3]),
    (AuditQuery(before=3), [2, 1]),
    (AuditQuery(run_id="r1"), [2]),
    (AuditQuery(user="b'ob"), [2]),
    (AuditQuery(user="ann", before=4), [3, 1]),
    (AuditQuery(tool="read*"), [2, 1]),
    (AuditQuery(tool="?ead_file"), [3, 1]),
    (AuditQuery(tool="pay%_!"), [4]),
    (AuditQuery(tool="[rp]*"), []),
    (AuditQuery(tool="%"), []),
]
