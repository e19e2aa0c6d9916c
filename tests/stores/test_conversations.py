"""Conversations in every kind of database: runs of one session are one, with a title and a pin that outlive the process."""

import asyncio

from treadle.core.entries import Finished, Opened, Said
from treadle.core.seams import AuditRecord
from treadle.stores.conversations import ConversationQuery, DatabaseConversations
from treadle.stores.deletion import delete_runs
from treadle.stores.journal import DatabaseJournal

DELETION = AuditRecord("a", "", "ann", "", {}, "", "", "", 0.0, True, None, 9.0, "deletion")
ALL = ConversationQuery(("clerk", "tutor"))


def entries(at, text, agent="clerk", **about):
    origin = {"about": about} if about else {}
    opened = Opened(agent=agent, user="ann", origin=origin, at=at)
    return [opened, Said(text=text, at=at), Finished(stopped="answered", text="Yes.", at=at + 0.5)]


async def fill(database):
    journal = DatabaseJournal(database)
    await journal.append("a", 0, entries(1.0, "How many lamps?"))
    await journal.append("t1", 0, entries(2.0, "What is yeast?", "tutor", session_id="s"))
    await journal.append("b", 0, entries(3.0, "100% of_them!"))
    await journal.append("t2", 0, entries(4.0, "And salt?", "tutor", session_id="s"))
    await journal.append("other", 0, entries(5.0, "Not an assistant's", "script"))
    await journal.append("odd", 0, entries(0.5, "No session", session_id=7))
    await journal.append("odder", 0, [Opened(agent="script", origin={"about": "this"}, at=0.1)])
    await journal.append("a.inner", 0, [Opened(agent="clerk", parent="a", at=6.0, origin={"about": {"session_id": "s"}})])
    return DatabaseConversations(database)


def ids(found):
    return [each.id for each in found]


def test_runs_of_one_session_are_one_conversation_named_after_what_was_said_first(database):
    async def story():
        stored = await fill(database)
        return await stored.list_conversations(ALL), await stored.runs_of("s"), await stored.runs_of("a")

    found, of_session, of_run = asyncio.run(story())
    assert ids(found) == ["s", "b", "a", "odd"]
    assert (found[0].run_id, found[0].agent, found[0].first, found[0].status, found[0].updated_at) == (
        "t2",
        "tutor",
        "What is yeast?",
        "answered",
        4.5,
    )
    assert (of_session, of_run) == (["t1", "t2"], ["a"])


def test_they_are_found_by_words_of_their_titles_and_without_some(database):
    async def story():
        stored = await fill(database)
        await stored.label("a", "Stock of the shop", 0.0)
        searched = [ConversationQuery(ALL.agents, search=words) for words in ("SHOP stock", "lamps", "0% of_", "yeast")]
        some = ConversationQuery(ALL.agents, without=("b", "odd"), limit=1)
        more = ConversationQuery((), runs=("other",))
        one = ConversationQuery(ALL.agents, id="b")
        return [ids(await stored.list_conversations(each)) for each in (*searched, some, one, more, ConversationQuery(()))]

    assert asyncio.run(story()) == [["a"], [], ["b"], ["s"], ["s"], ["b"], ["other"], []]


def test_titles_and_pins_are_there_in_another_process(place):
    async def label():
        stored = await fill(place.open())
        await stored.label("a", "Lamps", 10.0)
        await stored.label("a", "Lamps", 11.0)

    async def look():
        return (await DatabaseConversations(place.open()).list_conversations(ALL))[0]

    asyncio.run(label())
    first = asyncio.run(look())
    assert (first.id, first.title, first.pinned_at) == ("a", "Lamps", 11.0)


def test_with_its_last_run_a_label_is_gone(database, place):
    async def story():
        stored = await fill(database)
        await stored.label("a", "Lamps", 1.0)
        await stored.label("s", "Baking", 1.0)
        await delete_runs(database, ["a", "t1"], DELETION, None)
        left = [(each.id, each.title) for each in await stored.list_conversations(ALL)]
        await delete_runs(database, ["t2"], DELETION, None)
        return left

    assert asyncio.run(story())[0] == ("s", "Baking")
    assert place.execute("SELECT * FROM conversation_labels") == []
    assert place.execute("SELECT * FROM run_sessions") == []


def test_where_nothing_was_written_there_are_none_and_nothing_is_created(in_sqlite):
    database = in_sqlite.open()
    assert asyncio.run(DatabaseConversations(database).list_conversations(ALL)) == []
    assert not database.exists()
