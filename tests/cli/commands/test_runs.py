import asyncio
import json
import shutil
import sqlite3

import pytest

from cli.running import TOOLBOX, asks, script, treadle
from treadle.core.entries import Delivered, Opened, Said, Steered
from treadle.home import open_home


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """One run with a run inside of it, for tests that only look."""
    home = tmp_path_factory.mktemp("kept")
    model = script(home, {"thinking": "hm", **asks(("helper", {"prompt": "go"}))}, "The helper knows:\nforty.")
    treadle(home, "ask", "How many?", "-m", model, "--tools", f"{TOOLBOX}:helper", "--run-id", "r", "--user", "ann")
    return home


def test_runs_are_listed_for_people_and_for_programs(kept):
    listed = treadle(kept, "runs").out.splitlines()
    assert listed[0].split() == ["RUN", "WHEN", "STATUS", "AGENT", "TITLE"]
    assert len(listed) == 2
    assert listed[1].startswith("r ")
    assert listed[1].endswith("How many?")
    (info,) = treadle(kept, "runs", "--json", "--status", "answered", "-n", "1").json
    assert (info["run_id"], info["status"], info["agent"], info["user"]) == ("r", "answered", "ask", "ann")
    assert treadle(kept, "runs", "--json", "--status", "failed").json == []


def test_a_run_is_shown_entry_by_entry_with_runs_inside_of_it_indented(kept):
    shown = treadle(kept, "show", "r").out
    lines = shown.splitlines()
    kinds = [line.split()[2] for line in lines if line[:4].strip().isdigit()]
    assert kinds == ["opened", "said", "replied", "judged", "returned", "replied", "finished"]
    assert any(line.startswith("      run r.call_1_1") for line in lines)
    for words in ("(thinks) hm", 'helper(prompt="go") allowed by', "The helper says 40.", "calls stock as", "answered"):
        assert words in shown
    assert f"{' ' * 27}forty." in lines


def test_messages_during_a_turn_are_shown_where_they_came_and_where_they_were_read(home):
    entries = [Opened(agent="ask"), Said(text="Oslo."), Steered(id="m1", text="Bergen."), Delivered(message_ids=("m1",))]

    async def write():
        await open_home(home / "data").journal.append("r", 0, entries)

    asyncio.run(write())
    lines = [line.split() for line in treadle(home, "show", "r").out.splitlines() if line[:4].strip().isdigit()]
    assert [line[2:] for line in lines[1:]] == [["said", "Oslo."], ["steered", "Bergen."], ["delivered", "1", "message"]]


def test_a_journal_is_printed_as_it_is_kept(kept):
    entries = [json.loads(line) for line in treadle(kept, "show", "r", "--entries").out.splitlines()]
    assert [entry["kind"] for entry in entries][:3] == ["opened", "said", "replied"]
    value = treadle(kept, "show", "r", "--json").json
    assert [entry["kind"] for entry in value["entries"]] == [entry["kind"] for entry in entries]
    assert [nested["run_id"] for nested in value["nested"]] == ["r.call_1_1"]


def test_the_audit_is_listed_and_holds(kept):
    listed = treadle(kept, "audit").out
    assert "helper(" in listed
    assert "stock(" in listed
    (record,) = treadle(kept, "audit", "r", "--json").json
    assert (record["tool_name"], record["user"], record["success"]) == ("helper", "ann", True)
    assert treadle(kept, "audit", "verify").out == "The audit log is intact: 2 records.\n"


def test_a_changed_record_breaks_the_audit_and_is_named(kept, home):
    shutil.copytree(kept / "data", home / "data")
    database = sqlite3.connect(home / "data" / "treadle.db")
    database.execute("UPDATE audit SET line = replace(CAST(line AS TEXT), 'ann', 'bob') WHERE seq = 2")
    database.commit()
    database.close()
    ran = treadle(home, "audit", "verify")
    assert ran.code == 1
    assert "broken at record 2" in ran.err
    assert treadle(home, "audit", "verify", "--json").json["broken_at"] == 2


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("treadle.db", "the audit log is broken at record 1: the database is gone, and record 2 was there when run "),
        (
            "audit.anchors",
            "the audit log can't be verified: 2 records are intact, but there are no anchors",
        ),
    ],
)
def test_an_audit_without_its_database_or_anchors_does_not_hold(kept, home, name, says):
    shutil.copytree(kept / "data", home / "data")
    (home / "data" / name).unlink()
    ran = treadle(home, "audit", "verify")
    assert (ran.code, ran.out) == (1, "")
    assert says in ran.err


def test_secrets_among_arguments_are_masked_where_they_are_shown(home):
    words = ("tool", "call", "stock", "--arguments", '{"item": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"}', "--tools", TOOLBOX)
    ran = treadle(home, *words)
    assert ran.out == "40\n"
    (info,) = treadle(home, "runs", "--json").json
    shown = ran.err + info["title"] + treadle(home, "audit").out + treadle(home, "show", info["run_id"]).out
    assert "abcdefghijklmnop" not in shown


MAILER = """
import os
from treadle import tool


@tool(effect="write")
def send() -> str:
    \"\"\"Send.\"\"\"
    return "sent"


@tool(effect="read")
def look() -> str:
    \"\"\"Look.\"\"\"
    return "nothing"


@tool(effect="write")
def crash() -> str:
    \"\"\"Die.\"\"\"
    os._exit(9)
"""


@pytest.fixture
def mailer(home):
    (home / "mailer.py").write_text(MAILER)
    return str(home / "mailer.py")


def test_a_run_that_waits_is_cancelled_and_then_deleted_and_the_audit_still_holds(home, mailer):
    model = script(home, asks(("look", {})), asks(("send", {})))
    assert treadle(home, "ask", "Send it.", "-m", model, "--tools", mailer, "--run-id", "r", "-q").code == 3
    refused = treadle(home, "runs", "delete", "nobody")
    assert (refused.code, "There is no run nobody" in refused.err) == (1, True)
    assert treadle(home, "runs", "cancel", "r").out == "Cancelled: r\n"
    (info,) = treadle(home, "runs", "--json").json
    assert (info["run_id"], info["status"]) == ("r", "cancelled")
    assert treadle(home, "cancel", "r").out == "Cancelled: r\n"  # it stays so
    assert treadle(home, "runs", "delete", "r", "--json").json == {"deleted": ["r"]}
    assert treadle(home, "runs", "list", "--json").json == []
    assert treadle(home, "audit", "verify").out.startswith("The audit log is intact: ")


def test_before_the_first_run_has_ended_the_audit_holds_and_says_that_it_has_no_anchor_yet(home, mailer):
    model = script(home, asks(("crash", {})))
    assert treadle(home, "ask", "Die.", "-m", model, "--tools", mailer, "--allow", "crash", "--run-id", "r", "-q").code == 9
    assert not (home / "data" / "audit.anchors").exists()
    ran = treadle(home, "audit", "verify")
    assert (ran.code, ran.out) == (0, "The audit log is intact: 1 record; no anchor exists yet, since no run has ended.\n")
    kept = treadle(home, "runs", "delete", "r")
    assert (kept.code, "isn't over" in kept.err) == (1, True)
    assert treadle(home, "runs", "delete", "r", "--force").code == 0
    gone = treadle(home, "audit", "verify")
    assert (gone.code, gone.out) == (0, "The audit log is intact: 2 records.\n")  # the deletion is on record, and anchored


def test_an_answer_is_rated_listed_by_its_rating_and_shown_with_it(home):
    model = script(home, "Three.")
    treadle(home, "ask", "How many?", "-m", model, "--run-id", "r")
    treadle(home, "ask", "How many?", "-m", model, "--run-id", "other")
    assert treadle(home, "runs", "rate", "r", "bad", "There are four.").out == "Rated bad, answer 1: r\n"
    (info,) = treadle(home, "runs", "--rating", "bad", "--json").json
    assert info["run_id"] == "r"
    assert treadle(home, "runs", "list", "--rating", "good", "--json").json == []
    assert treadle(home, "show", "r").out.endswith("feedback on answer 1: bad (There are four.)\n")
    assert treadle(home, "show", "r", "--json").json["feedback"][0]["comment"] == "There are four."
    replayed = treadle(home, "eval", "replay", "--rating", "bad", "--json").json
    assert [run["run_id"] for run in replayed["runs"]] == ["r"]
    assert treadle(home, "runs", "rate", "r", "none", "--json").json == {"run_id": "r", "feedback": None}
    assert treadle(home, "runs", "--rating", "bad", "--json").json == []
    none = treadle(home, "runs", "rate", "r", "good", "--message", "2")
    assert (none.code, none.err) == (1, "treadle: Run r has no message 2 of the user.\n")
