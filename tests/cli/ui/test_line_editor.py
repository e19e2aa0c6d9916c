"""The line editor: keys through a pipe in this process, and screens of real terminals of 80 and 48 columns."""

import asyncio
import json
import stat

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from cli.running import script, treadle
from cli.screens import ScreenTerminal
from treadle.cli.ui.line_editor import MAX_ENTRIES, HistoryFile, LineEditor, PromptCompleter, edit_in_place
from treadle.cli.ui.stdin import is_unfinished, strip_quotes

PASTE = "\x1b[200~{}\x1b[201~"
UP, ALT_ENTER, TAB = "\x1b[A", "\x1b\r", "\t"


def typed(*keys, history=None, count=1, commands=()):
    """What the editor returns for these keys."""

    async def read():
        with create_pipe_input() as source:
            source.send_text("".join(keys))
            editor = LineEditor(history=history, commands=commands, source=source, output=DummyOutput())
            return [await editor.read() for _ in range(count)]

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("hello\r", "hello"),
        ("helo\x02l\r", "hello"),
        (f"first{ALT_ENTER}second\r", "first\nsecond"),
        ("first\\\rsecond\r", "first\nsecond"),
        ('"""\rfirst\rsecond\r"""\r', '"""\nfirst\nsecond\n"""'),
        (PASTE.format("Traceback:\r  line 1\r  line 2") + "\r", "Traceback:\n  line 1\n  line 2"),
        (f"why? {PASTE.format('a' + chr(10) + 'b')} please\r", "why? a\nb please"),
    ],
)
def test_a_message_may_have_several_lines(keys, message):
    assert typed(keys) == [message]


@pytest.mark.parametrize(("key", "error"), [("\x03", KeyboardInterrupt), ("\x04", EOFError)])
def test_ctrl_c_and_ctrl_d_leave(key, error):
    with pytest.raises(error):
        typed(key)


def test_three_quotes_hold_a_message_until_there_are_three_more():
    assert all(map(is_unfinished, ('"""', '"""a', '"""a"')))
    assert not any(map(is_unfinished, ('"""a"""', 'a """', '""""""', "a")))
    assert strip_quotes('"""\na\nb\n"""') == "\na\nb\n"
    assert strip_quotes('say """this"""') == 'say """this"""'


def test_arguments_are_edited_in_place():
    async def edit():
        with create_pipe_input() as source:
            source.send_text("\x7f3}\r")
            return await edit_in_place('{"count": 2}'[:-1] + "}", source=source, output=DummyOutput())

    assert asyncio.run(edit()) == '{"count": 23}'


# history


def test_the_history_outlasts_a_conversation_and_is_private(tmp_path):
    path = tmp_path / "data" / "history"
    assert typed("first\r", f"a{ALT_ENTER}b\r", history=path, count=2) == ["first", "a\nb"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert HistoryFile(path).load_history_strings() == ["a\nb", "first"]


def test_messages_with_secrets_are_never_written(tmp_path):
    secret = "use sk-proj-" + "a1B2" * 12
    assert typed(f"{secret}\r", history=tmp_path / "history") == [secret]
    assert not (tmp_path / "history").exists()
    history = HistoryFile(tmp_path / "history")
    history.append_string(secret)
    assert history.get_strings() == [secret]


def test_the_history_is_limited(tmp_path):
    path = tmp_path / "history"
    path.write_text("".join([json.dumps(f"message {number}") + "\n" for number in range(MAX_ENTRIES + 1)]) + "damaged\n")
    newest = HistoryFile(path).load_history_strings()
    assert newest[0] == f"message {MAX_ENTRIES}"
    assert len(path.read_text().splitlines()) == MAX_ENTRIES // 2


def test_a_history_that_cannot_be_written_keeps_nobody_from_talking(tmp_path):
    (tmp_path / "file").write_text("")
    assert typed("hello\r", history=tmp_path / "file" / "history") == ["hello"]
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert typed("hello\r", history=tmp_path / "link") == ["hello"]
    assert not (tmp_path / "elsewhere").exists()


# completion


def offered(text, commands=("/model", "/save", "/help")):
    completions = PromptCompleter(commands).get_completions(Document(text), CompleteEvent())
    return [text[: len(text) + each.start_position] + each.text for each in completions]


def test_slash_commands_and_mentioned_files_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").touch()
    (tmp_path / "setup.py").touch()
    (tmp_path / ".env").touch()
    assert offered("/") == ["/help", "/model", "/save"]
    assert offered("/m") == ["/model"]
    assert offered("what is @s") == ["what is @setup.py", "what is @src/"]
    assert offered("what is\n@src/m") == ["what is\n@src/main.py"]
    assert offered("what is @") == ["what is @setup.py", "what is @src/"]
    for nothing in ("what is /m", "@../", "@/etc/pass", "@missing/", "src"):
        assert offered(nothing) == []


# screens


@pytest.mark.parametrize("columns", [80, 48])
def test_a_paste_is_one_message_on_every_screen(home, columns):
    trace = "Traceback (most recent call last):\n  File \"main.py\", line 1\nKeyError: 'x'"
    with ScreenTerminal(home, "chat", "-m", script(home, "That is a KeyError."), columns=columns) as terminal:
        terminal.seen("> ")
        terminal.type(PASTE.format(trace))
        terminal.seen("> Traceback (most recent call last):", '    File "main.py", line 1', "  KeyError: 'x'")
        terminal.type("\r")
        terminal.seen("That is a KeyError.")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    (kept,) = treadle(home, "runs", "--json").json
    entries = treadle(home, "show", kept["run_id"], "--json").json["entries"]
    assert [entry["text"] for entry in entries if entry["kind"] == "said"] == [trace]


@pytest.mark.parametrize("columns", [80, 48])
def test_lines_are_recalled_in_the_next_conversation(home, columns):
    long = "a question that is longer than a narrow terminal is wide, all of it"
    for keys in (long, UP + UP):
        with ScreenTerminal(home, "chat", "-m", script(home, "Yes."), columns=columns) as terminal:
            terminal.seen("> ")
            terminal.type(keys)
            terminal.seen("> a question that is longer than a narrow")
            terminal.type("\r")
            terminal.seen("Yes.")
            terminal.type("/quit\r")
            assert terminal.end() == 0
    titles = [run["title"] for run in treadle(home, "runs", "--json").json]
    assert titles == [long, long]
    kept = (home / "data" / "chat-history.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in kept] == [long, "/quit", long, "/quit"]


@pytest.mark.parametrize("columns", [80, 48])
def test_tab_completes_a_command_and_offers_files(home, columns):
    (home / "notes.md").write_text("milk")
    (home / "notes.txt").write_text("eggs")
    words = ("chat", "-m", script(home, "Milk."), "--no-journal")
    with ScreenTerminal(home, *words, columns=columns, cwd=home) as terminal:
        terminal.seen("> ")
        terminal.type(f"/mo{TAB}")
        terminal.seen("> /model")
        terminal.type("\r")
        terminal.prompted(2)
        terminal.type(f"what is in @no{TAB}")
        terminal.seen("notes.md", "notes.txt")
        terminal.type(f"m{TAB}")
        terminal.seen("> what is in @notes.md")
        terminal.type("\r")
        terminal.seen("Milk.")
        terminal.type("/quit\r")
        assert terminal.end() == 0


def test_a_conversation_that_is_not_kept_leaves_no_history(home):
    with ScreenTerminal(home, "chat", "--no-journal", "-m", script(home, "Yes.")) as terminal:
        terminal.seen("> ")
        terminal.type("hello\r")
        terminal.seen("Yes.")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert not (home / "data").exists()


def test_a_dumb_terminal_has_plain_lines(home):
    with ScreenTerminal(home, "chat", "-m", script(home, "Yes."), TERM="dumb") as terminal:
        terminal.seen("> ")
        terminal.type("first\\\nsecond\n")
        terminal.seen("Yes.")
        terminal.type("/quit\r")
        assert terminal.end() == 0
        assert "\x1b" not in terminal.shown
    (kept,) = treadle(home, "runs", "--json").json
    entries = treadle(home, "show", kept["run_id"], "--json").json["entries"]
    assert [entry["text"] for entry in entries if entry["kind"] == "said"] == ["first\nsecond"]


@pytest.mark.parametrize("columns", [80, 48])
def test_answers_are_wrapped_at_words(home, columns):
    answer = "The engine, the policy and the approvals are real, and so is every word of this rather long answer."
    with ScreenTerminal(home, "ask", "-q", "-m", script(home, answer), "x", columns=columns) as terminal:
        lines = terminal.seen("answer.")
        assert terminal.end() == 0
    assert " ".join(lines) == answer
    assert len(lines) == -(-len(answer) // columns)
