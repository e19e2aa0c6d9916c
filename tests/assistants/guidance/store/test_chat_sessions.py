"""Chat sessions and messages: kept in the order in which they came, with what is known about them."""

import asyncio

import pytest

from assistants.guidance.store.stage import bridge, keeping
from treadle.assistants.guidance.store import ChatSession, InvalidValue, ItemNotFound, open_store


def test_a_chat_session_is_found_as_it_was_made(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        first = await store.create_chat_session("ada", project.id, "Main")
        second = await store.create_chat_session("ada", project.id, mode="analysis")
        assert await store.list_chat_sessions("ada", project.id) == [first, second]
        assert await store.get_chat_session("ada", second.id) == second
        assert await store.update_chat_session("ada", first.id, title="All") == await store.get_chat_session("ada", first.id)
        assert (await store.update_chat_session("ada", first.id, mode="analysis")).title == "All"
        with pytest.raises(InvalidValue, match="mode of a chat session"):
            await store.update_chat_session("ada", first.id, mode="party")
        return await store.get_chat_session("ada", first.id)

    kept = keeping(address, job)
    assert isinstance(kept, ChatSession)
    assert (kept.title, kept.mode) == ("All", "analysis")


def test_a_chat_session_is_about_a_run_of_its_own_project(address):
    async def job(store):
        mine, other = await bridge(store), await bridge(store)
        (run,) = await store.list_runs("ada", other.id)
        (candidate, _) = await store.list_candidates("ada", run.id)
        for wrong in (run.id, "nowhere", "\0"):
            with pytest.raises(ItemNotFound, match=r"There is no run .* in this project"):
                await store.create_chat_session("ada", mine.id, run_id=wrong)
        with pytest.raises(ItemNotFound, match=r"There is no candidate .* in this project"):
            await store.create_chat_session("ada", mine.id, candidate_id=candidate.id)
        session = await store.create_chat_session("ada", other.id, run_id=run.id, candidate_id=candidate.id)
        assert (session.run_id, session.candidate_id) == (run.id, candidate.id)

    keeping(address, job)


def test_messages_come_back_in_order_and_the_last_few_alone(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        talk, other = await store.create_chat_session("ada", project.id), await store.create_chat_session("ada", project.id)
        said = []
        for number in range(6):
            said.append(
                await store.add_message("ada", talk.id, ("user", "agent", "system")[number % 3], f"{number}", {"n": number})
            )
            await store.add_message("ada", other.id, "user", "elsewhere")
        assert await store.list_messages("ada", talk.id) == said
        assert await store.list_messages("ada", talk.id, 2) == said[-2:]
        assert await store.list_messages("ada", talk.id, 0) == await store.list_messages("ada", talk.id, -1) == []
        assert await store.list_messages("ada", talk.id, 99) == said
        assert await store.list_messages("ada", talk.id, 1, role="user") == [said[3]]
        assert await store.get_message("ada", said[1].id) == said[1]

    keeping(address, job)


def test_what_cannot_be_kept_is_not_appended(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        talk = await store.create_chat_session("ada", project.id)
        for role, content, metadata in (("assistant", "hi", {}), ("user", "h\0i", {}), ("user", "hi", {"what": object()})):
            with pytest.raises(InvalidValue):
                await store.add_message("ada", talk.id, role, content, metadata)
        assert await store.list_messages("ada", talk.id) == []

    keeping(address, job)


def test_two_who_add_to_the_metadata_of_a_message_at_once_both_do(address):
    async def main():
        async with await open_store(address) as one, await open_store(address) as two:
            project = await one.create_project("ada", "Bridge")
            talk = await one.create_chat_session("ada", project.id)
            said = await one.add_message("ada", talk.id, "agent", "hi", {"kept": 1, "changed": 1})
            await asyncio.gather(
                one.update_message_metadata("ada", said.id, {"audits": [{"tool": "x"}]}),
                two.update_message_metadata("ada", said.id, {"stage": "setup", "changed": 2}),
            )
            with pytest.raises(InvalidValue):
                await one.update_message_metadata("ada", said.id, {"what": object()})
            return (await one.get_message("ada", said.id)).metadata

    assert asyncio.run(main()) == {"kept": 1, "changed": 2, "audits": [{"tool": "x"}], "stage": "setup"}


def test_a_message_with_an_id_of_the_callers_is_kept_once_whoever_comes_first(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        talk = await store.create_chat_session("ada", project.id)
        async with await open_store(address) as other:
            both = await asyncio.gather(
                store.add_message("ada", talk.id, "agent", "one", message_id="answer"),
                other.add_message("ada", talk.id, "agent", "other", message_id="answer"),
            )
        assert both[0] == both[1]
        assert await store.list_messages("ada", talk.id) == [both[0]]

    keeping(address, job)
