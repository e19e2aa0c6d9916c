"""Several people, tabs and processes at one project: nobody's change is lost silently, and nobody waits in vain.

Each has a store of its own, so their transactions are real ones of different connections.
"""

import asyncio
import sqlite3
import sys
from contextlib import AsyncExitStack, asynccontextmanager, closing

import pytest
from msgspec.structs import replace

from assistants.guidance.store.stage import SPEC, WHY, WORLD, bridge, keeping
from treadle.assistants.guidance.store import Constraint, ProblemSpec, Store, StoreError, VersionConflict, WorldEntry, open_store
from treadle.assistants.guidance.store.addresses import SqliteFile
from treadle.assistants.guidance.store.database import ProjectDatabase

PEOPLE = 6
WRITER = """
import asyncio, sys
from msgspec.structs import replace
from treadle.assistants.guidance.store import *

async def main(address, project, me):
    async with await open_store(address) as store:
        for number in range(5):
            while True:
                spec = await store.get_problem_spec("ada", project) or ProblemSpec()
                wanted = replace(spec, goals=(*spec.goals, f"{me} {number}"))
                try:
                    await store.put_problem_spec("ada", project, wanted, expected=spec.version, why=Provenance("added", source=me))
                    break
                except VersionConflict:
                    continue

asyncio.run(main(*sys.argv[1:]))
"""


@asynccontextmanager
async def people(address, number=PEOPLE):
    """Stores of their own, all open on the same database."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(await open_store(address)) for _ in range(number)]


@pytest.mark.parametrize("seen", [0, 1])
def test_of_several_who_put_at_once_one_is_first_and_the_others_are_shown_what_is_there(address, seen):
    async def main():
        async with people(address) as stores:
            project = await stores[0].create_project("ada", "Bridge")
            for version in range(seen):
                await stores[0].put_problem_spec("ada", project.id, SPEC, expected=version, why=WHY)
            wanted = [ProblemSpec(goals=(f"goal of {number}",)) for number in range(PEOPLE)]
            puts = (
                store.put_problem_spec("ada", project.id, spec, expected=seen, why=WHY)
                for store, spec in zip(stores, wanted, strict=True)
            )
            outcomes = await asyncio.gather(*puts, return_exceptions=True)
            kept = await stores[0].get_problem_spec("ada", project.id)
            return outcomes, kept, await stores[0].list_provenance("ada", project.id)

    outcomes, kept, provenance = asyncio.run(main())
    first = [each for each in outcomes if isinstance(each, ProblemSpec)]
    assert first == [kept]
    assert kept.version == seen + 1
    assert [each.current for each in outcomes if isinstance(each, VersionConflict)] == [kept] * (PEOPLE - 1)
    assert [each.version for each in provenance] == list(range(1, seen + 2))


def test_whoever_looks_again_after_each_refusal_gets_their_change_in(address):
    async def add(store, project, number):
        while True:
            world = await store.get_world_model("ada", project.id)
            wanted = replace(world, resources=(*world.resources, WorldEntry(f"Resource {number}")))
            try:
                return await store.put_world_model("ada", project.id, wanted, expected=world.version, why=WHY)
            except VersionConflict:
                continue

    async def main():
        async with people(address) as stores:
            project = await stores[0].create_project("ada", "Bridge")
            await stores[0].put_world_model("ada", project.id, WORLD, expected=0, why=WHY)
            await asyncio.gather(*(add(store, project, number) for number, store in enumerate(stores)))
            return await stores[0].get_world_model("ada", project.id)

    world = asyncio.run(main())
    assert world.version == PEOPLE + 1
    assert {each.name for each in world.resources} == {"River", *(f"Resource {number}" for number in range(PEOPLE))}


def test_processes_of_their_own_lose_nothing_either(address):
    async def main():
        async with await open_store(address) as store:
            project = await store.create_project("ada", "Bridge")
            writers = [
                await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, address, project.id, me) for me in ("one", "two")
            ]
            assert [await writer.wait() for writer in writers] == [0, 0]
            return await store.get_problem_spec("ada", project.id), await store.list_provenance("ada", project.id)

    spec, provenance = asyncio.run(main())
    assert sorted(spec.goals) == sorted(f"{me} {number}" for me in ("one", "two") for number in range(5))
    assert [goal.split()[0] for goal in spec.goals] == [each.source for each in provenance]
    assert spec.version == len(provenance) == 10


def test_of_two_titles_at_once_one_is_kept_and_the_other_is_told(address):
    async def main():
        async with people(address, 2) as (one, two):
            project = await one.create_project("ada", "Bridge")
            await one.share_project("ada", project.id, "bob")
            outcomes = await asyncio.gather(
                one.update_project("ada", project.id, expected=1, title="Ada's"),
                two.update_project("bob", project.id, expected=1, title="Bob's"),
                return_exceptions=True,
            )
            return outcomes, await one.get_project("ada", project.id)

    outcomes, kept = asyncio.run(main())
    (told,) = [each for each in outcomes if isinstance(each, VersionConflict)]
    assert told.current.title == kept.title
    assert kept.title in ("Ada's", "Bob's")


def test_one_change_of_a_spec_is_no_reason_to_refuse_one_of_the_world_model(address):
    async def main():
        async with people(address, 2) as (one, two):
            project = await bridge(one)
            spec, world = await one.get_problem_spec("ada", project.id), await two.get_world_model("ada", project.id)
            more = replace(spec, constraints=(*spec.constraints, Constraint("Time")))
            await asyncio.gather(
                one.put_problem_spec("ada", project.id, more, expected=spec.version, why=WHY),
                two.put_world_model("ada", project.id, WORLD, expected=world.version, why=WHY),
                one.update_project("ada", project.id, expected=project.version, title="Tunnel"),
            )
            return await one.get_project("ada", project.id)

    assert asyncio.run(main()).title == "Tunnel"


def test_messages_of_many_at_once_are_all_there_each_in_its_place(address):
    async def talk(store, session, number):
        for turn in range(5):
            await store.add_message("ada", session.id, "user", f"{number}:{turn}")

    async def main():
        async with people(address) as stores:
            project = await stores[0].create_project("ada", "Bridge")
            session = await stores[0].create_chat_session("ada", project.id)
            await asyncio.gather(*(talk(store, session, number) for number, store in enumerate(stores)))
            return [each.content for each in await stores[0].list_messages("ada", session.id)]

    said = asyncio.run(main())
    assert len(said) == PEOPLE * 5
    for number in range(PEOPLE):
        assert [each for each in said if each.startswith(f"{number}:")] == [f"{number}:{turn}" for turn in range(5)]


def test_many_may_use_one_store_at_once(address):
    async def main():
        async with await open_store(address) as store:
            project = await store.create_project("ada", "Bridge")
            session = await store.create_chat_session("ada", project.id)
            await asyncio.gather(*(store.add_message("ada", session.id, "user", f"{number}") for number in range(40)))
            lists = await asyncio.gather(*(store.list_messages("ada", session.id) for _ in range(40)))
            return {len(each) for each in lists}

    assert asyncio.run(main()) == {40}


def test_a_run_ends_once_whoever_says_so_first(address):
    async def main():
        async with people(address, 2) as (one, two):
            project = await bridge(one)
            (run,) = await one.list_runs("ada", project.id)
            outcomes = await asyncio.gather(
                one.update_run("ada", run.id, "completed"), two.update_run("ada", run.id, "cancelled"), return_exceptions=True
            )
            return outcomes, await one.get_run("ada", run.id)

    outcomes, kept = asyncio.run(main())
    (refused,) = [each for each in outcomes if isinstance(each, Exception)]
    assert kept in outcomes
    assert f"A run that is {kept.status} can't become" in str(refused)


def test_who_reads_does_not_wait_for_who_writes(address):
    async def main():
        async with people(address, 2) as (one, two):
            project = await bridge(one)
            before = await one.export_project("ada", project.id)
            async with one._database.writing() as connection:
                await connection.exec_driver_sql("UPDATE guidance_projects SET title = 'half done'")
                return before == await asyncio.wait_for(two.export_project("ada", project.id), 10)

    assert asyncio.run(main())


def test_a_change_that_is_called_off_leaves_nothing_and_holds_up_nobody(address):
    async def main():
        async with people(address, 2) as (one, two):
            project = await one.create_project("ada", "Bridge")
            version = 0
            for pause in range(12):
                put = asyncio.create_task(one.put_problem_spec("ada", project.id, SPEC, expected=version, why=WHY))
                for _ in range(pause):
                    await asyncio.sleep(0)
                put.cancel()
                await asyncio.gather(put, return_exceptions=True)
                spec = await two.get_problem_spec("ada", project.id) or ProblemSpec()
                kept = await two.put_problem_spec("ada", project.id, SPEC, expected=spec.version, why=WHY)
                version = kept.version
                assert len(await one.list_provenance("ada", project.id)) == version
            return version

    assert asyncio.run(asyncio.wait_for(main(), 60)) >= 12


def test_who_waits_too_long_for_another_process_is_told(tmp_path):
    path = tmp_path / "projects.db"
    project = keeping(path, bridge)

    async def main():
        store = Store(ProjectDatabase(SqliteFile(path), patience=0.05))
        async with store:
            with pytest.raises(StoreError, match="is being written by another process"):
                await store.create_project("ada", "Tunnel")
            assert await store.get_project("ada", project.id) == project

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.run(main())
