"""Input during a turn: keys in this process, and real terminals whose screens are read."""

import asyncio
import io
import json
import signal
import threading

import pytest

from cli.running import TOOLBOX, asks, script, treadle
from cli.screens import ScreenTerminal
from treadle.cli.ui.screen import Screen
from treadle.cli.ui.turn_input import TurnInput, open_turn_input
from treadle.core.errors import RunTaken
from wire import WireServer, gate, reply

ESC, ALT_ENTER, UP = "\x1b", "\x1b\r", "\x1b[A"
PATIENCE = 60.0


def typed(*chunks, answer=True):
    """What comes of keys that are typed during a turn: the input, what was sent, how often the turn was stopped, and stderr."""
    sent, stops, err = [], [], io.StringIO()
    screen = Screen(out=io.StringIO(), err=err)
    turn_input = TurnInput(screen, lambda text: text.startswith("/"))

    async def send(message):
        sent.append(message)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def turn():
        with turn_input.reading(send, lambda: stops.append(1)):
            for chunk in chunks:
                turn_input.feed(chunk)
        await turn_input.finish()

    asyncio.run(turn())
    return turn_input, sent, len(stops), err.getvalue()


@pytest.mark.parametrize(
    ("chunks", "messages"),
    [
        (("hello\r",), ["hello"]),
        (("hel", "lo", "\n"), ["hello"]),
        (("helo\x7flo\r",), ["hello"]),
        (("nonsense\x15hello\r",), ["hello"]),
        ((f"first{ALT_ENTER}second\r",), ["first\nsecond"]),
        (("first\\\r", "second\r"), ["first\nsecond"]),
        (('"""first\r', 'second"""\r'), ["first\nsecond"]),
        (("a paste\rof two lines\r",), ["a paste\nof two lines"]),
        (("one\r", "two\r"), ["one", "two"]),
        ((f"{UP}hello\x01\r",), ["hello"]),
        (("\r", "  \r"), []),
        (("größe\r",), ["größe"]),
    ],
)
def test_a_line_that_is_entered_is_a_message(chunks, messages):
    turn_input, sent, stops, shown = typed(*chunks)
    assert (sent, stops, turn_input.draft, turn_input.queued) == (messages, 0, "", [])
    for message in messages:
        assert f"> {' '.join(message.split())}\n" in shown


def test_what_is_not_entered_begins_the_next_message():
    turn_input, sent, _, _ = typed("one\r", "and al")
    assert (sent, turn_input.describe(), turn_input.take_draft(), turn_input.take_draft()) == (["one"], "> and al", "and al", "")


def test_escape_stops_the_turn_once_and_keeps_what_was_typed():
    turn_input, sent, stops, _ = typed("wait", ESC, ESC)
    assert (sent, stops, turn_input.draft) == ([], 1, "wait")


def test_a_message_that_is_too_late_and_a_command_come_next():
    turn_input, sent, _, shown = typed("too late\r", "/undo\r", answer=False)
    assert sent == ["too late"]
    assert sorted(turn_input.queued) == ["/undo", "too late"]
    assert "/undo is run when the turn is over." in shown


def test_a_message_that_is_refused_is_reported():
    turn_input, _, _, shown = typed("hello\r", answer=RunTaken("Run r is under way elsewhere."))
    assert turn_input.queued == []
    assert "treadle: Run r is under way elsewhere." in shown


def test_of_a_long_line_the_end_is_shown(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    turn_input, _, _, _ = typed("a long line that doesn't fit into forty columns at all")
    assert turn_input.describe() == "> …doesn't fit into forty columns at all"[:2] + "…" + turn_input.draft[-34:]


def test_without_a_terminal_there_is_no_such_input():
    screen = Screen(out=io.StringIO(), err=io.StringIO())
    assert open_turn_input(screen, lambda text: False, interactive=True) is None
    with TurnInput(screen, lambda text: False).pause():
        pass


# terminals


def wired(server):
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}


def words_of(request):
    return [message["content"] for message in request.body["messages"] if message["role"] == "user"]


@pytest.mark.parametrize("columns", [80, 48])
def test_a_line_typed_during_a_turn_is_read_with_the_next_request(home, columns):
    go_on = threading.Event()
    with (
        WireServer([reply(gate(go_on, seconds=PATIENCE), "Hello."), reply("Bonjour.")]) as server,
        ScreenTerminal(home, "chat", "-m", "openai:m", columns=columns, **wired(server)) as terminal,
    ):
        terminal.seen("> ")
        terminal.type("Greet me.\r")
        terminal.seen("Waiting for openai:m")
        terminal.type("In Fren")
        terminal.seen("> In Fren")
        terminal.type("ch, please.\r")
        terminal.seen("> In French, please.", "Waiting for openai:m")
        go_on.set()
        lines = terminal.seen("Bonjour.", "2 requests")
        assert lines.index("> In French, please.") < lines.index("Hello.") < lines.index("» In French, please.")
        terminal.prompted(2)
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert [words_of(request) for request in server.requests] == [["Greet me."], ["Greet me.", "In French, please."]]
    kept = (home / "data" / "chat-history.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in kept] == ["Greet me.", "In French, please.", "/quit"]


def test_what_is_typed_and_not_entered_is_in_the_next_prompt(home):
    go_on = threading.Event()
    with (
        WireServer([reply(gate(go_on, seconds=PATIENCE), "Hello.")]) as server,
        ScreenTerminal(home, "chat", "-m", "openai:m", **wired(server)) as terminal,
    ):
        terminal.seen("> ")
        terminal.type("Greet me.\r")
        terminal.seen("Waiting for openai:m")
        terminal.type("/qu")
        terminal.seen("> /qu")
        go_on.set()
        terminal.seen("Hello.", "1 request", "> /qu")
        terminal.type("it\r")
        assert terminal.end() == 0
    assert len(server.requests) == 1


def test_a_command_during_a_turn_is_run_after_it(home):
    go_on = threading.Event()
    with (
        WireServer([reply(gate(go_on, seconds=PATIENCE), "Hello.")]) as server,
        ScreenTerminal(home, "chat", "-m", "openai:m", **wired(server)) as terminal,
    ):
        terminal.seen("> ")
        terminal.type("Greet me.\r")
        terminal.seen("Waiting for openai:m")
        terminal.type("/quit\r")
        terminal.seen("/quit is run when the turn is over.")
        go_on.set()
        assert terminal.end() == 0
    assert "Hello." in terminal.shown


@pytest.mark.parametrize("key", ["escape", "ctrl-c"])
def test_escape_and_ctrl_c_stop_a_turn_and_the_terminal_is_as_before(home, key):
    go_on = threading.Event()
    with (
        WireServer([reply(gate(go_on, seconds=PATIENCE), "Hello."), reply("Again.")]) as server,
        ScreenTerminal(home, "chat", "-m", "openai:m", **wired(server)) as terminal,
    ):
        terminal.seen("> ")
        terminal.type("Greet me.\r")
        terminal.seen("Waiting for openai:m")
        if key == "escape":
            terminal.type(ESC)
        else:
            terminal.process.send_signal(signal.SIGINT)
        terminal.seen("interrupted; your next message goes on from here.")
        terminal.prompted(2)
        go_on.set()
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert "Hello." not in terminal.shown


def test_an_approval_has_the_terminal_to_itself(home):
    model = script(home, asks(("order", {"item": "tea", "count": 2})), "Ordered.")
    with ScreenTerminal(home, "chat", "-m", model, "--tools", TOOLBOX) as terminal:
        terminal.seen("> ")
        terminal.type("Order tea.\r")
        terminal.seen("[e]dit:")
        terminal.type("y\n")
        terminal.seen("Ordered.")
        terminal.prompted(2)
        terminal.type("/quit\r")
        assert terminal.end() == 0
    (run,) = treadle(home, "runs", "--json").json
    entries = treadle(home, "show", run["run_id"], "--json").json["entries"]
    assert [entry["kind"] for entry in entries if entry["kind"] in ("approved", "steered")] == ["approved"]


def test_piped_lines_are_one_turn_each(home):
    ran = treadle(home, "chat", "-m", script(home, "One.", "Two."), stdin="first\nsecond\n")
    assert (ran.code, ran.out.split()) == (0, ["One.", "Two."])
    (run,) = treadle(home, "runs", "--json").json
    entries = treadle(home, "show", run["run_id"], "--json").json["entries"]
    assert [entry["kind"] for entry in entries if entry["kind"] in ("said", "steered")] == ["said", "said"]
