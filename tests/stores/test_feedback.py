"""Feedback on answers in every kind of database: stored once for each answer, found with its run, and deleted with it."""

import asyncio

from treadle.core.entries import Finished, Opened, Said
from treadle.core.seams import AuditRecord
from treadle.guard.redaction import Redactor
from treadle.stores.deletion import delete_runs
from treadle.stores.feedback import LONGEST_COMMENT, DatabaseFeedback, Feedback, clean_comment
from treadle.stores.journal import DatabaseJournal, JournalQuery

DELETION = AuditRecord("a", "", "ann", "", {}, "", "", "", 0.0, True, None, 9.0, "deletion")
BAD, GOOD = Feedback(1, "bad", "No such lamp.", 5.0), Feedback(2, "good", "", 6.0)


async def fill(database):
    for at, run_id in enumerate(("a", "b", "c"), 1):
        entries = [Opened(agent="clerk", at=at), Said(text="Lamps?", at=at), Finished(stopped="answered", text="3", at=at)]
        await DatabaseJournal(database).append(run_id, 0, entries)
    stored = DatabaseFeedback(database)
    await stored.put("a", Feedback(1, "good", "", 4.0))
    await stored.put("a", BAD)
    await stored.put("a", GOOD)
    await stored.put("b", GOOD)
    return stored


def test_an_answer_has_one_rating_the_last(database):
    async def story():
        stored = await fill(database)
        before = await stored.of_runs(["a", "b", "c", "none"])
        await stored.delete("a", 1)
        await stored.delete("c", 1)
        return before, await stored.of_runs(["a"])

    assert asyncio.run(story()) == ({"a": [BAD, GOOD], "b": [GOOD]}, {"a": [GOOD]})


def test_runs_are_listed_by_their_ratings(database):
    async def story():
        await fill(database)
        journal = DatabaseJournal(database)
        return [[run.run_id for run in await journal.list_runs(JournalQuery(rating=rating))] for rating in ("good", "bad", "")]

    assert asyncio.run(story()) == [["b", "a"], ["a"], ["c", "b", "a"]]


def test_with_its_run_feedback_is_gone(database, place):
    async def story():
        await fill(database)
        await delete_runs(database, ["a"], DELETION, None)

    asyncio.run(story())
    assert place.execute("SELECT run_id FROM feedback") == [("b",)]


def test_comments_have_no_secrets_no_control_characters_and_an_end():
    key = "sk-ant-api03-" + "a" * 95
    assert key not in clean_comment(f"It used {key}", Redactor())
    assert clean_comment("  one\x00\x1b[2J\ntwo ", Redactor()) == "one[2J\ntwo"
    assert len(clean_comment("x" * 5_000, Redactor())) == LONGEST_COMMENT
