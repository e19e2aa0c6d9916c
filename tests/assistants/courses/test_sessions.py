"""Conversations that survive a restart, each one person's."""

import asyncio
import sqlite3
import stat

import pytest

from server.running import host
from treadle.assistant import AssistantSession
from treadle.assistants.courses import assistant
from treadle.assistants.courses.session import load_exchanges
from treadle.assistants.courses.session_store import FILE, CourseExchange, CourseSessionStore
from treadle.assistants.courses.sources import AnswerSource, CitedPassage
from treadle.errors import SettingsError
from treadle.testing import Scripted

SOURCE = AnswerSource("Sailing - Lesson 0", None, "sailing", 0, (CitedPassage("a#0", "line 1"),))


def run(work):
    return asyncio.run(work)


def test_what_was_said_is_there_after_a_restart(tmp_path):
    async def before():
        sessions = CourseSessionStore(tmp_path)
        session = await sessions.begin("ada")
        for number in range(4):
            await sessions.keep(session, CourseExchange(f"Q{number}", f"A{number}", (SOURCE,), "run", 1000.0 + number))
        return session

    session = run(before())
    after = CourseSessionStore(tmp_path)
    last = run(after.exchanges("ada", session, 2))
    assert [(each.question, each.answer) for each in last] == [("Q2", "A2"), ("Q3", "A3")]
    assert last[0].sources == (SOURCE,)
    assert len(run(after.exchanges("ada", session))) == 4
    assert run(after.begin("ada", session)) == session


def test_nobody_sees_or_touches_another_ones(tmp_path):
    async def work():
        sessions = CourseSessionStore(tmp_path)
        session = await sessions.begin("ada")
        await sessions.keep(session, CourseExchange("Q", "A"))
        assert await sessions.begin("ben", session) != session
        assert await sessions.exchanges("ben", session) == []
        assert await sessions.list_sessions("ben") == []
        assert not await sessions.remove("ben", session)
        assert [each.id for each in await sessions.list_sessions("ada")] == [session]

    run(work())


def test_sessions_are_listed_newest_first_by_what_was_asked_first(tmp_path):
    async def work():
        sessions = CourseSessionStore(tmp_path)
        one, two = await sessions.begin(""), await sessions.begin("")
        await sessions.begin("")  # nothing was asked in it
        await sessions.keep(one, CourseExchange("One", "1", at=10.0))
        await sessions.keep(two, CourseExchange("Two", "2", at=20.0))
        await sessions.keep(one, CourseExchange("Three", "3", at=30.0))
        return [(each.question, each.last) for each in await sessions.list_sessions("")]

    assert run(work()) == [("One", 30.0), ("Two", 20.0)]


def test_a_removed_session_is_gone_and_an_answer_that_comes_later_brings_nothing_back(tmp_path):
    async def work():
        sessions = CourseSessionStore(tmp_path)
        session = await sessions.begin("ada")
        await sessions.keep(session, CourseExchange("Q", "A"))
        assert await sessions.remove("ada", session)
        assert not await sessions.remove("ada", session)
        await sessions.keep(session, CourseExchange("late", "answer"))
        return await sessions.exchanges("ada", session), await sessions.list_sessions("ada")

    assert run(work()) == ([], [])
    with sqlite3.connect(tmp_path / FILE) as file:
        assert file.execute("SELECT count(*) FROM exchanges").fetchone() == (0,)
    file.close()


def test_many_at_once_lose_nothing(tmp_path):
    async def work():
        session = await CourseSessionStore(tmp_path).begin("ada")
        each = [CourseSessionStore(tmp_path).keep(session, CourseExchange(str(number), "A")) for number in range(30)]
        await asyncio.gather(*each)
        return {exchange.question for exchange in await CourseSessionStore(tmp_path).exchanges("ada", session)}

    assert run(work()) == {str(number) for number in range(30)}


def test_the_file_is_its_owners_and_one_that_cant_be_used_is_a_sentence(tmp_path):
    run(CourseSessionStore(tmp_path).begin(""))
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE).write_bytes(b"no database" * 500)
    with pytest.raises(SettingsError, match="can't be used"):
        run(CourseSessionStore(tmp_path / "other").begin(""))
    newer = tmp_path / "newer"
    run(CourseSessionStore(newer).begin(""))
    with sqlite3.connect(newer / FILE) as file:
        file.execute("PRAGMA user_version=9")
    file.close()
    with pytest.raises(SettingsError, match="newer Treadle"):
        run(CourseSessionStore(newer).begin(""))


def test_an_answer_whose_process_was_killed_before_it_was_kept_is_kept_when_somebody_looks(tmp_path):
    async def main():
        asking = host(tmp_path, Scripted("It keeps the boat upright."))
        named = await CourseSessionStore(asking.home.folder).begin(asking.user)
        session = AssistantSession(assistant, asking, {"session_id": named})
        before = await session.begin("run-1", "What does a keel do?")
        kept = {"journal": asking.home.services(), "origin": session.origin, "history": before}
        await session.agent(await asking.model()).run("What does a keel do?", run_id="run-1", **kept)  # and nothing after it
        unkept = await CourseSessionStore(asking.home.folder).exchanges(asking.user, named)
        return unkept, await load_exchanges(asking, named), await load_exchanges(asking, named)

    unkept, once, twice = asyncio.run(main())
    assert [each.answer for each in unkept] == [""]
    assert [(each.question, each.answer) for each in once] == [("What does a keel do?", "It keeps the boat upright.")]
    assert twice == once
