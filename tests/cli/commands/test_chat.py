import signal

from attachments import png
from cli.running import TOOLBOX, Terminal, asks, script, treadle
from wire import WireServer, reply, stall


def test_piped_lines_are_answered_in_one_run_until_they_end(home):
    ran = treadle(home, "chat", "-m", script(home, "one", "two"), "-q", stdin="first\n\n  \nsecond\n")
    assert (ran.code, ran.out, ran.err) == (0, "one\ntwo\n", "")
    (kept,) = treadle(home, "runs", "--json").json
    assert kept["title"] == "first"


def test_files_go_with_the_first_message(home):
    (home / "a.png").write_bytes(png())
    with WireServer([reply("one"), reply("two")]) as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        ran = treadle(home, "chat", "-m", "openai:m", "-q", "--attach", str(home / "a.png"), stdin="first\nsecond\n", **env)
        first, _, last = server.requests[1].body["messages"]
    assert (ran.code, ran.out) == (0, "one\ntwo\n")
    assert [part["type"] for part in first["content"]] == ["text", "image_url"]
    assert last["content"] == "second"


def test_what_begins_with_a_slash_is_not_for_the_model(home):
    lines = "/tools\none\n/usage\n/new\ntwo\n/usage\n/odd thing\n/help\n/quit\nnever\n"
    ran = treadle(home, "chat", "-m", script(home, "1", "2"), "--tools", f"{TOOLBOX}:stock", stdin=lines)
    assert (ran.code, ran.out) == (0, "1\n2\n")
    for words in ("stock  read", "1 request in 1 turn of run", "A new conversation", "There is no /odd", "/usage         what"):
        assert words in ran.err
    assert len(treadle(home, "runs", "--json").json) == 2


def test_a_conversation_can_be_compacted(home):
    with WireServer([reply("one"), reply("two"), reply("NOTES: counting"), reply("three")]) as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        ran = treadle(home, "chat", "-m", "openai:m", stdin="/compact\nfirst\nsecond\n/compact\nthird\n", **env)
        said = [message["content"] for message in server.requests[3].body["messages"]]
    assert (ran.code, ran.out) == (0, "one\ntwo\nthree\n")
    assert "There is nothing to compact yet." in ran.err
    assert "The conversation was compacted." in ran.err
    assert "NOTES: counting" in said[0]
    assert said[-1] == "third"


def test_a_conversation_without_a_journal_still_remembers(home):
    with WireServer([reply("one"), reply("two")]) as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        ran = treadle(home, "chat", "-m", "openai:m", "--no-journal", "--json", stdin="first\nsecond\n", **env)
        said = [message["content"] for message in server.requests[1].body["messages"]]
    assert [line.count('"stopped":"answered"') for line in ran.out.splitlines()] == [1, 1]
    assert said == ["first", "one", "second"]
    assert not (home / "data").exists()


def test_a_reply_that_fails_is_told_and_the_conversation_goes_on(home):
    ran = treadle(home, "chat", "-m", script(home, "one"), stdin="a\nb\nc\n")
    assert (ran.code, ran.out) == (1, "one\n")
    assert ran.err.count("has no reply left") == 2


def test_a_call_that_waits_ends_a_piped_conversation(home):
    ran = treadle(home, "chat", "-m", script(home, asks(("order", {"item": "A"}))), "--tools", TOOLBOX, stdin="a\nb\n")
    assert ran.code == 3
    assert "treadle approve" in ran.err


def test_at_a_terminal_an_interrupt_ends_the_reply_and_then_the_conversation(home):
    with WireServer([reply("first", stall()), reply("second")]) as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k", "NO_COLOR": "1"}
        with Terminal(home, "chat", "-m", "openai:m", **env) as terminal:
            terminal.until("> ")
            terminal.type("one\n")
            terminal.until("first")
            terminal.process.send_signal(signal.SIGINT)
            terminal.until("interrupted")
            terminal.until("> ")
            terminal.type("two\n")
            terminal.until("second")
            terminal.until("> ")
            assert terminal.interrupted() == 0
