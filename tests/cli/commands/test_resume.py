import asyncio
import shlex
import shutil

import pytest

from cli.running import TOOLBOX, asks, script, treadle
from treadle import Agent, open_home
from treadle.home import close_homes
from treadle.models.scripted import Scripted, calls

ORDER = {"text": "I'll order.", "calls": [{"name": "order", "arguments": {"item": "A"}, "id": "c1"}]}


@pytest.fixture
def waiting(home):
    """What a command said that left a run waiting, begun in a folder of its own with a module of that folder."""
    folder = home / "folder"
    folder.mkdir()
    (folder / "shoptools.py").write_text(f"exec(open({TOOLBOX!r}).read())")
    words = ("ask", "x", "-m", script(home, ORDER), "--tools", "shoptools", "--run-id", "r", "--user", "ann")
    ran = treadle(home, *words, cwd=folder)
    script(home, "Ordered.")  # what the same model says next
    return ran


def test_a_run_that_waits_says_how_to_go_on_and_that_works(home, waiting):
    assert (waiting.code, waiting.out) == (3, "I'll order.\n")
    assert 'c1: order {"item":"A"}' in waiting.err
    approve, resume = waiting.err.partition("To go on:")[2].splitlines()[0].split("&&")
    assert treadle(home, *shlex.split(approve)[1:]).code == 0
    gone_on = treadle(home, *shlex.split(resume)[1:])
    assert (gone_on.code, gone_on.out) == (0, "Ordered.\n")
    assert '← order(item="A")' in gone_on.err
    assert "1 A ordered for ann" in treadle(home, "show", "r").out
    script(home, "Never asked for.")
    assert treadle(home, "resume", "r", "-q") == (0, "Ordered.\n", "")


def test_a_person_may_say_no_from_elsewhere(home, waiting):
    assert treadle(home, "deny", "r", "c1", "--reason", "over budget", "--user", "Bob", "--json").json["approved"] is False
    assert treadle(home, "resume", "r", "-q").out == "Ordered.\n"
    assert "by Bob: over budget" in treadle(home, "show", "r").out


def test_a_person_may_change_the_arguments_from_elsewhere(home, waiting):
    ran = treadle(home, "approve", "r", "c1", "--arguments", '{"item": "B", "count": 2}')
    assert ran.code == 0
    assert "instead" in ran.out
    assert treadle(home, "resume", "r", "--json").json["calls"][0]["result"] == "2 B ordered for ann"


def test_people_are_told_what_was_done_and_how_to_go_on(home, waiting):
    assert treadle(home, "deny", "r", "c1").out == 'Denied: order(item="A"). Continue with: treadle resume r\n'
    forked = treadle(home, "fork", "r")
    assert f"treadle resume {forked.out.strip()}" in forked.err
    assert "No call of r waits" in treadle(home, "approve", "r").err


def test_what_cannot_be_is_a_sentence(home, waiting):
    cases = {
        ("approve", "r", "nope"): (1, "No call nope of run r waits for an approval. These do: c1."),
        ("approve", "nope", "c1"): (1, "There is no run nope"),
        ("deny", "r", "--list"): (0, 'c1: order {"item":"A"}'),
        ("approve", "r", "c1", "--arguments", "[1]"): (2, "JSON object"),
        ("resume", "nope"): (1, "There is no run nope"),
        ("ask", "more", "--run-id", "r"): (1, "resume it"),
        ("fork", "r", "--at", "99"): (2, "has 5 entries"),
        ("resume", "r"): (3, "treadle approve r c1"),
    }
    for words, (code, sentence) in cases.items():
        ran = treadle(home, *words)
        assert ran.code == code
        assert sentence in ran.err
        assert "Traceback" not in ran.err


def test_a_fork_goes_on_by_itself(home, waiting):
    forked = treadle(home, "fork", "r", "--at", "4", "--json").json
    assert (forked["from"], forked["entries"]) == ("r", 4)
    treadle(home, "approve", forked["run_id"], "c1")
    assert treadle(home, "resume", forked["run_id"]).out == "Ordered.\n"
    assert "from 4 entries of r" in treadle(home, "show", forked["run_id"]).out
    assert [info["run_id"] for info in treadle(home, "runs", "--status", "waiting", "--json").json] == ["r"]


def test_a_folder_that_is_gone_is_named(home, waiting):
    shutil.rmtree(home / "folder")
    ran = treadle(home, "resume", "r")
    assert ran.code == 2
    assert "can't be entered" in ran.err


def test_a_program_has_to_resume_its_own_runs_unless_a_model_is_named(home):
    from cli.toolbox import order

    agent = Agent(Scripted(calls(("order", {"item": "A"}))), tools=[order])
    asyncio.run(agent.run("x", run_id="theirs", journal=open_home(home / "data").services()))
    close_homes()
    ran = treadle(home, "resume", "theirs")
    assert ran.code == 2
    assert "started by a program" in ran.err
    treadle(home, "approve", "theirs", "call_1_1")
    ran = treadle(home, "resume", "theirs", "-m", script(home, "Yes."), "--tools", TOOLBOX)
    assert (ran.code, ran.out) == (0, "Yes.\n")


def test_a_run_inside_of_another_is_resumed_with_it(home):
    model = script(home, asks(("helper", {"prompt": "go"})), "ok")
    begun = treadle(home, "ask", "x", "-m", model, "--tools", f"{TOOLBOX}:helper", "--run-id", "r")
    assert begun.out == "ok\n"
    assert '\n  → stock(item="A") allowed by default\n' in begun.err
    ran = treadle(home, "resume", "r.call_1_1")
    assert ran.code == 2
    assert "treadle resume r" in ran.err


def test_a_call_inside_of_another_run_is_approved_where_it_waits(home):
    model = script(home, asks(("buyer", {"prompt": "go"})))
    ran = treadle(home, "ask", "x", "-m", model, "--tools", f"{TOOLBOX}:buyer", "--run-id", "r")
    assert ran.code == 3
    assert "treadle approve r.call_1_1 call_1_1 && treadle resume r" in ran.err
    treadle(home, "approve", "r.call_1_1", "call_1_1")
    script(home, "ok")
    ran = treadle(home, "resume", "r")
    assert (ran.code, ran.out) == (0, "ok\n")
    assert "1 A ordered for nobody" in treadle(home, "show", "r").out


def test_calls_like_it_are_allowed_from_elsewhere_for_always(home, waiting):
    wrong = treadle(home, "approve", "r", "c1", "--pattern", "item=A*")
    assert (wrong.code, "--for" in wrong.err) == (2, True)
    assert treadle(home, "approve", "r", "c1", "--for", "always", "--pattern", "item").code == 2
    done = treadle(home, "approve", "r", "c1", "--for", "always", "--pattern", "item=A*", "--user", "Bob")
    assert done.out == 'Approved: order(item="A"), and calls like it always. Continue with: treadle resume r\n'
    [grant] = treadle(home, "permissions", "--json").json
    assert (grant["where"], grant["by"], grant["user"]) == ({"item": {"kind": "glob", "value": "A*"}}, "Bob", "ann")
    assert treadle(home, "resume", "r", "-q").out == "Ordered.\n"


def test_all_that_wait_are_approved_at_once(home, waiting):
    assert treadle(home, "approve", "r", "c1", "--all").code == 2
    done = treadle(home, "approve", "r", "--all", "--for", "conversation", "--json").json
    assert (done["approved"], done["scope"], [each["call_id"] for each in done["approvals"]]) == (True, "conversation", ["c1"])
    assert treadle(home, "approve", "r", "--all").out == "No call of r waits for an approval.\n"
    assert treadle(home, "resume", "r", "-q").out == "Ordered.\n"
