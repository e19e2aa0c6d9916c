import re
import signal

import pytest

from cli.running import TOOLBOX, Terminal, asks, script, treadle

QUESTION = "[e]dit:"
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def asked(home, *more, typed="", **env):
    long = "x" * 3000
    model = script(home, asks(("order", {"item": f"A\u202eB{long}", "count": 2})), "That is all.")
    return Terminal(home, "ask", "x", "-m", model, "--tools", TOOLBOX, "--run-id", "r", *more, typed=typed, **env)


def made(home):
    """What calls returned that were carried out."""
    entries = treadle(home, "show", "r", "--json").json["entries"]
    return [entry["result"]["content"] for entry in entries if entry["kind"] == "returned" and not entry["result"]["problem"]]


def test_a_person_sees_all_arguments_and_says_yes(home):
    with asked(home, COLUMNS="60") as terminal:
        shown = terminal.until(QUESTION).replace("\r\n", "")
        assert "x" * 3000 in shown
        assert "A\\u202eB" in shown
        assert COLOUR.search(shown)
        terminal.type("y\n")
        assert terminal.end() == 0
    assert "That is all." in terminal.shown
    assert len(made(home)) == 1


def test_a_person_says_no_and_the_model_reads_why(home):
    with asked(home, NO_COLOR="1") as terminal:
        assert not COLOUR.search(terminal.until(QUESTION))  # a slow machine erases a line that says it works, which is no colour
        terminal.type("maybe\n")
        terminal.until(QUESTION)
        terminal.type("n far too many\n")
        assert terminal.end() == 0
    assert made(home) == []
    assert "far too many" in treadle(home, "show", "r").out


def test_a_person_changes_the_arguments_and_they_have_to_fit(home):
    with asked(home) as terminal:
        terminal.until(QUESTION)
        terminal.type("e\n")
        terminal.until("Arguments:")
        terminal.type('\x01\x0b{"item": "B", "count": "many"}\n')
        assert "count: expected" in terminal.until(QUESTION)
        terminal.type("e\n")
        terminal.until("Arguments:")
        terminal.type("\x01\x0bnonsense\n")
        assert "no JSON object" in terminal.until(QUESTION)
        terminal.type("e\n")
        terminal.until("Arguments:")
        terminal.type('\x01\x0b{"item": "B", "count": 3}\n')
        assert terminal.end() == 0
    assert made(home) == ["3 B ordered for nobody"]


def test_what_was_typed_before_the_question_is_no_answer(home):
    with asked(home, typed="y\ny\n") as terminal:
        terminal.until(QUESTION)
        terminal.type("n\n")
        assert terminal.end() == 0
    assert made(home) == []


def test_an_interrupt_at_the_question_cancels_the_run(home):
    with asked(home) as terminal:
        terminal.until(QUESTION)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
    assert made(home) == []


@pytest.mark.parametrize("end", ["\x04", "no\n"])
def test_a_person_who_leaves_has_said_no(home, end):
    with asked(home) as terminal:
        terminal.until(QUESTION)
        terminal.type(end)
        assert terminal.end() == 0
    assert made(home) == []


def test_a_person_reads_what_the_call_would_do_here_and_later(home):
    model = script(home, asks(("refund", {"amount": 5})), "Done.")
    with Terminal(home, "ask", "x", "-m", model, "--tools", TOOLBOX, "--run-id", "r", NO_COLOR="1") as terminal:
        shown = terminal.until(QUESTION)
        assert "-balance: 12" in shown
        assert "+balance: 7" in shown
        terminal.type("y\n")
        assert terminal.end() == 0
    later = treadle(home, "ask", "x", "-m", script(home, asks(("refund", {"amount": 5}))), "--tools", TOOLBOX, "--run-id", "s")
    assert "+balance: 7" in later.err
    assert "previewed" in treadle(home, "show", "s").out


COMMAND_TOOLS = """
from treadle import tool


@tool
def run_command(command: str) -> str:
    'Run a command.'
    return f"ran {command}"
"""


def commands(home, *lines, more=("--run-id", "r")):
    model = script(home, *[asks(("run_command", {"command": line})) for line in lines], "That is all.")
    tools = home / "commandtools.py"
    tools.write_text(COMMAND_TOOLS)
    return Terminal(home, "ask", "x", "-m", model, "--tools", str(tools), "--user", "ann", *more, COLUMNS="200")


def test_a_person_is_asked_once_for_calls_like_it_in_a_conversation(home):
    with commands(home, "pytest -q", "pytest tests", "ls") as terminal:
        assert "c and a allow calls with command: pytest *" in terminal.until(QUESTION)
        terminal.type("c\n")
        assert "ls" in terminal.until(QUESTION)
        terminal.type("y\n")
        assert terminal.end() == 0
    assert made(home) == ["ran pytest -q", "ran pytest tests", "ran ls"]
    assert treadle(home, "permissions", "--json").json == []
    assert "for this conversation (grant" in treadle(home, "show", "r").out


def test_a_person_allows_it_for_always_and_revokes_it(home):
    with commands(home, "pytest -q") as terminal:
        terminal.until(QUESTION)
        terminal.type("a\n")
        assert terminal.end() == 0
    with commands(home, "pytest tests", more=()) as terminal:
        assert terminal.end() == 0
    [grant] = treadle(home, "permissions", "list", "--json").json
    assert (grant["tool"], grant["by"], grant["user"]) == ("run_command", "ann", "ann")
    assert "pytest *" in treadle(home, "permissions").out
    assert treadle(home, "permissions", "revoke", grant["id"][:6]).out == "Revoked: run_command with command: pytest *\n"
    assert treadle(home, "permissions").err == "Nothing is allowed for always.\n"
    assert treadle(home, "permissions", "revoke", "abc").code == 1
    with commands(home, "pytest tests", more=()) as terminal:
        terminal.until(QUESTION)
        terminal.type("n\n")
        assert terminal.end() == 0


def test_a_person_edits_what_is_like_it(home):
    with commands(home, "git log -n 3", "git log --stat", "git log -n 5") as terminal:
        for wrong, why in (("ls *", "has to match this call"), ("git * -n", "the words of one command"), ("\x04", "git log *")):
            terminal.until(QUESTION)
            terminal.type("p\n")
            terminal.until("> git log *")
            terminal.type(f"\x01\x0b{wrong}" if wrong == "\x04" else f"\x01\x0b{wrong}\n")
            assert why in terminal.until(QUESTION)
            terminal.type("x\n")
        terminal.until(QUESTION)
        terminal.type("p\n")
        terminal.until("> git log *")
        terminal.type("\x01\x0bgit log -n *\n")
        assert "calls with command: git log -n *" in terminal.until(QUESTION)
        terminal.type("c\n")
        assert "--stat" in terminal.until(QUESTION)
        terminal.type("y\n")
        assert terminal.end() == 0
    assert len(made(home)) == 3


def test_where_nothing_is_stored_nothing_is_allowed_for_always(home):
    with commands(home, "pytest -q", "pytest x", more=("--no-journal",)) as terminal:
        assert "[a]lways" not in terminal.until(QUESTION)
        terminal.type("a\n")
        assert "Please answer y, c, p, n or e." in terminal.until(QUESTION)
        terminal.type("c\n")
        assert terminal.end() == 0
