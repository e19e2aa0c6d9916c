"""The audit over HTTP."""

import asyncio
import sqlite3

import pytest

from server.running import Serving
from server.runs.asking import with_server
from treadle.core.seams import AuditRecord
from treadle.home import close_home, open_home
from treadle.stores.audit import NO_ANCHORS

RECORDS = [("r1", "read_file", ""), ("r1", "write_file", "ada"), ("r2", "read_file", "ada"), ("r2", "read[1]", "")]


@pytest.fixture
def folder(tmp_path):
    home = open_home(tmp_path / "data")

    async def write():
        for at, (run_id, name, user) in enumerate(RECORDS):
            await home.audit.record(
                AuditRecord(run_id, f"c{at}", user, name, {}, "allow", "default", "ok", 1.5, True, None, float(at))
            )

    asyncio.run(write())
    close_home(home)
    return tmp_path


def asked(folder, *paths):
    async def work(ask):
        return [await ask("GET", path) for path in paths]

    with Serving(folder) as server:
        return with_server(server, work)


def numbers(answer):
    return [record["seq"] for record in answer[1]["records"]], answer[1]["more"]


def test_records_are_listed_newest_first_page_by_page_and_by_what_is_sought(folder):
    queries = ("", "?limit=3", "?before=2", "?run=r1", "?tool=read*", "?tool=read[1]", "?user=ada&run=r2", "?user=nobody")
    answers = asked(folder, *[f"/api/audit{query}" for query in queries])
    found = [([4, 3, 2, 1], False), ([4, 3, 2], True), ([1], False), ([2, 1], False), ([4, 3, 1], False), ([4], False)]
    assert [numbers(answer) for answer in answers] == [*found, ([3], False), ([], False)]
    assert answers[0][1]["records"][0]["tool_name"] == "read[1]"
    assert answers[0][1]["records"][0]["previous"] == answers[0][1]["records"][1]["hash"]


def test_it_says_whether_the_chain_holds(folder):
    assert asked(folder, "/api/audit/verify") == [
        (200, {"records": 4, "broken_at": None, "reason": NO_ANCHORS, "missing": "anchors"})
    ]
    with sqlite3.connect(folder / "data" / "treadle.db") as connection:
        connection.execute("UPDATE audit SET line = '{}' WHERE seq = 3")
    connection.close()
    ((_, said),) = asked(folder, "/api/audit/verify")
    assert (said["records"], said["broken_at"]) == (2, 3)


def test_where_nothing_was_kept_there_is_nothing_and_no_file_is_made(tmp_path):
    listed, verified = asked(tmp_path, "/api/audit", "/api/audit/verify")
    assert listed == (200, {"records": [], "more": False})
    assert verified == (200, {"records": 0, "broken_at": None, "reason": "there is no database", "missing": "database"})
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "before=x", "before=0", "colour=red"])
def test_what_makes_no_sense_is_answered_with_a_sentence(tmp_path, query):
    ((status, said),) = asked(tmp_path, f"/api/audit?{query}")
    assert (status, said["success"]) == (400, False)
