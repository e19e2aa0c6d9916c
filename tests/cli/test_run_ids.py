"""Runs and jobs are named by their id, by the beginning of it, by `last`, or not at all where only one can be meant."""

import pytest

from cli.running import TOOLBOX, script, treadle

ORDER = {"calls": [{"name": "order", "arguments": {"item": "A"}, "id": "c1"}]}
BOTH = {"calls": [*ORDER["calls"], {"name": "order", "arguments": {"item": "B"}, "id": "c2"}]}


def ask(home, reply, run_id):
    return treadle(home, "ask", f"Title of {run_id}", "-m", script(home, reply), "--tools", TOOLBOX, "--run-id", run_id)


@pytest.fixture
def runs(home):
    """Two runs that are answered, with ids that begin alike."""
    for run_id in ("abc1", "abd2"):
        assert ask(home, "Fine.", run_id).code == 0
    return home


@pytest.mark.parametrize(
    "words",
    [
        ["show", "RUN"],
        ["show", "RUN", "--entries"],
        ["resume", "RUN"],
        ["fork", "RUN"],
        ["audit", "RUN"],
        ["runs", "delete", "RUN"],
    ],
)
def test_a_command_about_a_run_takes_a_unique_prefix_and_lists_the_candidates_of_any_other(runs, words):
    def typed(run_id):
        return treadle(runs, *[run_id if word == "RUN" else word for word in words])

    ambiguous = typed("ab")
    assert (ambiguous.code, ambiguous.out) == (1, "")
    assert "Several runs begin with ab: abd2 (Title of abd2); abc1 (Title of abc1). Type more of the id." in ambiguous.err
    assert "There is no run nope here. `treadle runs` lists them." in typed("nope").err
    assert typed("abc").code == 0


def test_the_last_run_needs_no_id(runs):
    for words in (["show"], ["show", "last"], ["show", "abd"]):
        assert treadle(runs, *words).out.startswith("run abd2\n")
    assert treadle(runs, "resume", "-q").out == "Fine.\n"


def test_without_runs_there_is_no_last_one(home):
    ran = treadle(home, "show")
    assert (ran.code, ran.out) == (1, "")
    assert "nothing is stored in" in ran.err


def test_the_only_call_that_waits_needs_no_id(home):
    assert ask(home, ORDER, "waits1").code == 3
    assert treadle(home, "approve", "wai", "--list").err.startswith("These calls of waits1 wait:")
    assert treadle(home, "approve", "wai").out.startswith('Approved: order(item="A")')


def test_the_only_run_that_waits_needs_no_id(home):
    assert treadle(home, "approve").err == "treadle: No run waits for an answer.\n"
    assert ask(home, ORDER, "waits1").code == 3
    assert treadle(home, "deny", "--reason", "no").out.startswith('Denied: order(item="A")')


def test_where_several_wait_one_has_to_be_named(home):
    assert ask(home, BOTH, "two").code == 3
    ran = treadle(home, "approve", "two")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("These calls of two wait; say which one:")
    assert ask(home, ORDER, "three").code == 3
    ran = treadle(home, "approve")
    assert ran.code == 2
    assert "Several runs wait for an answer: three (Title of three); two (Title of two). Name one." in ran.err


def test_the_last_conversation_goes_on(home):
    assert ask(home, "Fine.", "talk").code == 0
    assert treadle(home, "tool", "call", "stock", "--arguments", '{"item": "A"}', "--tools", TOOLBOX).code == 0
    ran = treadle(home, "ask", "-c", "And then?", "-m", script(home, "Then this."))
    assert (ran.code, ran.out) == (0, "Then this.\n")
    assert "Continuing run talk: Title of talk" in ran.err
    assert "Title of talk" in treadle(home, "show", "talk").out
    assert treadle(home, "chat", "--continue", "-m", script(home, "More."), stdin="Go on\n").out == "More.\n"
    assert treadle(home, "runs", "--json").json[0]["run_id"] == "talk"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["ask", "-c", "x"], 1, "There is no conversation to continue yet."),
        (["ask", "-c", "--no-journal", "x"], 2, "leave one of them out"),
        (["ask", "-c", "--run-id", "r", "x"], 2, "argument --run-id: not allowed with argument -c/--continue"),
    ],
)
def test_what_cannot_go_on_is_a_sentence(home, words, code, says):
    ran = treadle(home, *words, "-m", script(home, "Fine."))
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
