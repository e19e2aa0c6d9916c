"""Slash commands of a conversation, typed and piped."""

import json

import pytest

from cli.running import TOOLBOX, asks, script, treadle
from cli.screens import ScreenTerminal
from wire import WireServer, reply


def wired(server):
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}


def contents(request):
    return [message["content"] for message in request.body["messages"]]


def test_undo_drops_the_last_turn_for_the_model(home):
    with WireServer([reply("one"), reply("two"), reply("three"), reply("four")]) as server:
        lines = "/undo\nfirst\nsecond\n/undo\nthird\n/undo\n/undo\nfourth\n"
        ran = treadle(home, "chat", "-m", "openai:m", stdin=lines, **wired(server))
        asked = list(map(contents, server.requests))
    assert (ran.code, ran.out) == (0, "one\ntwo\nthree\nfour\n")
    assert asked == [["first"], ["first", "one", "second"], ["first", "one", "third"], ["fourth"]]
    assert "There is no turn to drop." in ran.err
    assert ran.err.count("The last turn is dropped; what its tools did stays done.") == 3


def test_undo_works_where_nothing_is_kept(home):
    with WireServer([reply("one"), reply("two"), reply("three")]) as server:
        treadle(home, "chat", "-m", "openai:m", "--no-journal", stdin="first\nsecond\n/undo\nthird\n", **wired(server))
        assert contents(server.requests[2]) == ["first", "one", "third"]
    assert not (home / "data").exists()


def test_another_model_goes_on_with_the_conversation(home):
    with WireServer([reply("one"), reply("two")]) as server:
        lines = "first\n/model openai:other\nsecond\n/model\n/model nope:x\n"
        ran = treadle(home, "chat", "-m", "openai:m", stdin=lines, **wired(server))
        asked = [(request.body["model"], contents(request)) for request in server.requests]
    assert asked == [("m", ["first"]), ("other", ["first", "one", "second"])]
    assert ran.err.count("Talking to openai:other.") == 2
    assert "treadle: No kind of model is called 'nope'" in ran.err


def test_a_conversation_is_saved_as_markdown_and_never_over_a_file(home):
    model = script(home, asks(("stock", {"item": "A"})), "There are 40.")
    lines = f"/save\nHow many?\n/save {home}/talk.md\n/save {home}/talk.md\n/save {home}/no/such\n"
    ran = treadle(home, "chat", "-m", model, "--tools", f"{TOOLBOX}:stock", stdin=lines)
    assert (home / "talk.md").read_text() == '## You\n\nHow many?\n\n    stock(item="A")\n\n## Model\n\nThere are 40.\n'
    for words in (
        "Say where: /save FILE",
        "talk.md is there already",
        "can't be written: No such file",
        f"Written to {home}/talk.md",
    ):
        assert words in ran.err


def test_a_message_is_written_in_the_editor(home):
    (home / "editor").write_text('#!/bin/sh\nprintf "%s\\nand more" "$(cat $1)" > $1\n')
    (home / "editor").chmod(0o755)
    with ScreenTerminal(home, "chat", "-m", script(home, "Yes."), EDITOR=str(home / "editor")) as terminal:
        terminal.seen("> ")
        terminal.type("/edit a question\r")
        terminal.seen("Yes.")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    (kept,) = treadle(home, "runs", "--json").json
    entries = treadle(home, "show", kept["run_id"], "--json").json["entries"]
    assert [entry["text"] for entry in entries if entry["kind"] == "said"] == ["a question\nand more"]


def test_an_editor_that_cannot_be_had_is_a_sentence(home):
    ran = treadle(home, "chat", "-m", script(home, "Yes."), stdin="/edit x\n")
    assert "treadle: /edit needs a terminal." in ran.err
    with ScreenTerminal(home, "chat", "-m", script(home, "Yes."), VISUAL="no-such-editor") as terminal:
        terminal.seen("> ")
        terminal.type("/edit x\r")
        terminal.seen("The editor no-such-editor can't be started")
        terminal.type("/quit\r")
        assert terminal.end() == 0


@pytest.mark.parametrize(("term", "is_told"), [("xterm", True), ("dumb", False)])
def test_help_says_what_can_be_typed_during_a_turn_where_that_is_possible(home, term, is_told):
    with ScreenTerminal(home, "chat", "-m", script(home), TERM=term) as terminal:
        terminal.seen("> ")
        terminal.type("/help\r")
        shown = "\n".join(terminal.seen("Tab completes commands and"))
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert ("is a message to it, and Esc stops it." in " ".join(shown.split())) == is_told


def test_a_path_at_the_beginning_is_a_message(home):
    ran = treadle(home, "chat", "-m", script(home, "It is a program."), "--json", stdin="/usr/bin/env: what is it?\n")
    assert json.loads(ran.out)["output"] == "It is a program."


def test_a_mentioned_file_is_sent_and_a_missing_one_is_a_sentence(home):
    (home / "notes.txt").write_text("milk")
    with ScreenTerminal(home, "chat", "-m", script(home, "Milk."), cwd=home) as terminal:
        terminal.seen("> ")
        terminal.type("see @notse.txt\r")
        terminal.seen("treadle: There is no file notse.txt.")
        terminal.type("see @notes.txt\r")
        terminal.seen("Milk.")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    (kept,) = treadle(home, "runs", "--json").json
    entries = treadle(home, "show", kept["run_id"], "--json").json["entries"]
    (said,) = [entry for entry in entries if entry["kind"] == "said"]
    assert said["text"] == "see @notes.txt [notes.txt]"
    assert said["parts"][1] == {"part": "quote", "source": "notes.txt", "text": "milk"}


def test_help_lists_every_command(home):
    ran = treadle(home, "chat", "-m", script(home), stdin="/help\n")
    for name in ("/help", "/tools", "/usage", "/model", "/edit", "/undo", "/save", "/compact", "/new", "/quit"):
        assert f"\n{name} " in f"\n{ran.err}"
