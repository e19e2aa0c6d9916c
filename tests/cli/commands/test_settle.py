"""`treadle settle`: the outcome of a call that was running when its process was killed."""

import pytest

from cli.running import Terminal, script, treadle

QUESTION = "[l]ater:"
DEADLY = '''
import os, signal
from pathlib import Path
from treadle import RunContext, tool

@tool
def pay(ctx: RunContext, amount: int) -> str:
    """Pay."""
    ledger = Path(os.environ["TREADLE_HOME"]) / "ledger"
    with ledger.open("a") as file:
        file.write(f"{amount} {ctx.key} {ctx.attempt}\\n")
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"paid {amount}"
'''
PAY = {"text": "I'll pay.", "calls": [{"name": "pay", "arguments": {"amount": 5}, "id": "c1"}]}


@pytest.fixture
def killed(home):
    """A data folder whose run was killed while it paid."""
    tools = home / "deadly.py"
    tools.write_text(DEADLY)
    words = ("ask", "x", "-m", script(home, PAY), "--tools", str(tools), "--run-id", "r", "--user", "ann", "--yes")
    assert treadle(home, *words).code == -9
    script(home, "Paid, I think.")  # what the same model says next
    return home


def paid(home):
    return (home / "data" / "ledger").read_text().splitlines()


def test_a_run_that_was_killed_says_what_is_asked_and_how_to_answer(killed):
    ran = treadle(killed, "resume", "r")
    assert ran.code == 3
    assert 'c1: pay {"amount":5}, begun 20' in ran.err
    assert "may have taken effect" in ran.err
    for way in ("happened", "not-happened", "again"):
        assert f"treadle settle r c1 {way}" in ran.err
    assert "treadle approve" not in ran.err
    assert ran.err.splitlines()[-2].strip() == "Then:       treadle resume r"
    assert treadle(killed, "resume", "r", "--yes").code == 3  # a yes to everything doesn't say what happened
    assert len(paid(killed)) == 1


@pytest.mark.parametrize(
    ("said", "told", "came", "times"),
    [
        ("happened", "It happened: pay(amount=5)", "Bob says that it took effect", 1),
        ("not-happened", "It did not happen: pay(amount=5)", "Bob says that it did not take effect", 1),
        ("again", "It is tried again: pay(amount=5)", "paid 5", 2),
    ],
)
def test_each_answer_is_told_kept_and_gone_by(killed, said, told, came, times):
    treadle(killed, "resume", "r")
    ran = treadle(killed, "settle", "r", "c1", said, "--words", "I looked.", "--user", "Bob")
    assert (ran.code, ran.out) == (0, f"{told}. Continue with: treadle resume r\n")
    gone_on = treadle(killed, "resume", "r", "--json").json
    assert (gone_on["output"], came in gone_on["calls"][0]["result"]) == ("Paid, I think.", True)
    shown = treadle(killed, "show", "r").out
    assert "unclear    c1: It was running when its process ended" in shown
    assert f"settled    c1: {said.replace('-', ' ')} by Bob: I looked." in shown
    assert len(paid(killed)) == times
    assert {line.split()[1] for line in paid(killed)} == {"r:c1"}


def test_what_cannot_be_is_a_sentence(killed):
    treadle(killed, "resume", "r")
    cases = {
        ("approve", "r", "c1"): (1, "say that it happened, that it did not, or that it is to be tried again"),
        ("deny", "r", "c1"): (1, "can't be approved or denied"),
        ("settle", "r", "c1"): (2, "treadle settle r c1 happened|not-happened|again"),
        ("settle", "r", "c9", "happened"): (1, "No call c9 of run r waits"),
        ("settle", "r", "c1", "perhaps"): (2, "'perhaps' isn't one of the choices. There are: happened, not-happened, again."),
        ("settle", "nope", "c1", "again"): (1, "There is no run nope"),
        ("settle", "r"): (2, "treadle settle r c1 again"),
        ("approve", "r"): (2, "treadle settle r c1 again"),
    }
    for words, (code, sentence) in cases.items():
        ran = treadle(killed, *words)
        assert (ran.code, sentence in ran.err) == (code, True), ran.err
    assert treadle(killed, "settle", "r", "c1", "happened", "--json").json["settled"] == "happened"
    assert "waits" in treadle(killed, "settle", "r", "c1", "happened").err


@pytest.mark.parametrize(
    ("typed", "kind", "times"), [("y it is order 17\n", "happened", 1), ("n\n", "not_happened", 1), ("a\n", "again", 2)]
)
def test_a_person_at_the_terminal_is_asked_on_the_spot(killed, typed, kind, times):
    with Terminal(killed, "resume", "r", NO_COLOR="1") as terminal:
        assert "the outcome of pay with" in terminal.until(QUESTION)
        terminal.type("perhaps\n")
        terminal.until(QUESTION)
        terminal.type(typed)
        assert terminal.end() == 0
    settled = [entry for entry in treadle(killed, "show", "r", "--json").json["entries"] if entry["kind"] == "settled"]
    assert [(entry["said"], entry.get("words", "")) for entry in settled] == [(kind, typed[2:].strip())]
    assert len(paid(killed)) == times


@pytest.mark.parametrize("typed", ["l\n", "\x04"])
def test_who_answers_later_or_leaves_has_said_nothing(killed, typed):
    with Terminal(killed, "resume", "r", NO_COLOR="1") as terminal:
        terminal.until(QUESTION)
        terminal.type(typed)
        assert terminal.end() == 3
    assert "settled" not in treadle(killed, "show", "r").out
    assert len(paid(killed)) == 1
