"""Prompts from typed words, piped text and mentioned files. What stdin is, a real process shows."""

import os
import socket
import subprocess

import pytest

from attachments import png
from cli.running import environment, opened, script, treadle
from treadle.core.errors import BadMedia, BadPrompt
from treadle.core.messages import Quote
from treadle.plugins.prompts import MAX_TEXT_BYTES, TypedPrompt, expand_mentions, prompt_from_words


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("milk\neggs\n")
    (tmp_path / "my notes.txt").write_text("tea")
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").write_text("print(1)")
    return tmp_path


@pytest.fixture
def home(tmp_path):
    return tmp_path


def said(home):
    """What the model was asked, from the journal of the one run."""
    (kept,) = treadle(home, "runs", "--json").json
    entries = treadle(home, "show", kept["run_id"], "--json").json["entries"]
    return next(entry["text"] for entry in entries if entry["kind"] == "said")


# piped text


def test_piped_text_is_joined_to_the_typed_prompt(home):
    ran = treadle(home, "ask", "what", "is this?", "-m", script(home, "A log."), stdin="KeyError: 'x'\n")
    assert (ran.code, ran.out) == (0, "A log.\n")
    assert said(home) == "what is this?\n\n<stdin>\nKeyError: 'x'\n</stdin>"


def test_a_hyphen_says_where_the_piped_text_goes(home):
    treadle(home, "ask", "explain", "-", "briefly", "-m", script(home, "ok"), stdin="TypeError")
    assert said(home) == "explain TypeError briefly"


@pytest.mark.parametrize("stdin", ["", " \n"])
def test_an_empty_pipe_adds_nothing(home, stdin):
    ran = treadle(home, "ask", "hello", "-m", script(home, "ok"), stdin=stdin)
    assert (ran.code, said(home)) == (0, "hello")


def test_a_file_on_stdin_is_joined_too(home):
    (home / "log").write_text("line 1\n")
    with (home / "log").open() as log:
        words = ["ask", "why?", "-m", script(home, "ok")]
        with opened(*words, stdin=log, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(home)) as process:
            assert process.communicate(timeout=60)[0] == "ok\n"
    assert said(home) == "why?\n\n<stdin>\nline 1\n</stdin>"


def test_a_socket_that_a_service_leaves_open_is_not_waited_for(home):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = ["ask", "hello", "-m", script(home, "ok")]
        pipe = subprocess.PIPE
        with opened(*words, stdin=theirs, stdout=pipe, stderr=pipe, text=True, env=environment(home)) as process:
            assert process.communicate(timeout=60)[0] == "ok\n"
    assert said(home) == "hello"


def test_a_silent_pipe_is_left_with_a_sentence(home):
    read, write = os.pipe()
    words = ["ask", "hello", "-m", script(home, "ok")]
    pipe = subprocess.PIPE
    with opened(*words, stdin=read, stdout=pipe, stderr=pipe, text=True, env=environment(home)) as process:
        out, err = process.communicate(timeout=60)
    os.close(read)
    os.close(write)
    assert out == "ok\n"
    assert "nothing arrived in 5 s, so it isn't read; - waits for it" in err


def test_too_much_text_is_a_sentence(home):
    ran = treadle(home, "ask", "why?", "-m", script(home, "ok"), stdin="x" * (MAX_TEXT_BYTES + 1))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "treadle: stdin has more than 1,000,000 bytes, the most that a prompt takes; send the part that matters.\n"


def test_text_with_bytes_of_another_encoding_is_still_text(home):
    pipe = subprocess.PIPE
    with opened("ask", "why?", "-m", script(home, "ok"), stdin=pipe, stdout=pipe, stderr=pipe, env=environment(home)) as process:
        assert process.communicate(b"caf\xe9", timeout=60)[0] == b"ok\n"
    assert said(home) == "why?\n\n<stdin>\ncaf\ufffd\n</stdin>"


def test_piped_text_is_never_a_reason_to_open_a_file(home):
    (home / "notes.txt").write_text("milk")
    treadle(home, "ask", "-", "-m", script(home, "ok"), stdin="see @notes.txt", cwd=home)
    assert said(home) == "see @notes.txt"


# mentions


def test_a_mentioned_text_file_is_quoted(folder):
    prompt = expand_mentions("what is in @notes.txt?")
    assert prompt == TypedPrompt("what is in @notes.txt?", (Quote("notes.txt", (folder / "notes.txt").read_text()),))
    (folder / "empty.txt").write_text(" \n")
    assert expand_mentions("what is in @empty.txt?").attachments == ()


def test_a_command_that_takes_text_alone_has_the_file_in_it(folder, monkeypatch):
    monkeypatch.setattr("treadle.plugins.prompts._read_pipe", bytes)
    assert prompt_from_words(["see", "@notes.txt"]) == 'see @notes.txt\n\n<file name="notes.txt">\nmilk\neggs\n</file>'


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@notes.txt and @src/main.py", ["notes.txt", "src/main.py"]),
        ("(@notes.txt) me@notes.txt", []),
        ("@notes.txt, again @notes.txt.", ["notes.txt"]),
        ('in @"my notes.txt"', ["my notes.txt"]),
        ("ask @alice about the @property", []),
    ],
)
def test_a_mention_is_a_word_of_its_own(folder, text, names):
    expanded = expand_mentions(text)
    assert expanded.text == text
    assert [quote.source for quote in expanded.attachments] == names


def test_a_mentioned_image_is_attached(folder):
    prompt = expand_mentions("what is on @a.png?")
    assert prompt.text == "what is on @a.png?"
    assert [(each.name, each.media_type) for each in prompt.attachments] == [("a.png", "image/png")]


def test_a_backslash_keeps_a_mention_as_it_is(folder):
    assert expand_mentions(r"what is \@app.get for?") == TypedPrompt("what is @app.get for?")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("see @notse.txt", r"There is no file notse.txt. If @notse.txt isn't meant to be one, write \@notse.txt."),
        ("see @src/other", "There is no file src/other."),
        ('see @"no notes"', "There is no file no notes."),
        ("see @../x.txt", "../x.txt is outside of this folder, where @ finds files; `treadle ask -f` takes any file."),
        ("see @/etc/passwd", "/etc/passwd is outside of this folder"),
        ("see @.env", ".env"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_sentence(folder, text, sentence):
    (folder / ".env").write_text("KEY=1")
    with pytest.raises(BadPrompt) as raised:
        expand_mentions(text)
    assert sentence in str(raised.value)


def test_bytes_that_are_neither_text_nor_media_are_a_sentence(folder):
    (folder / "x.bin").write_bytes(b"\x00\x01\x02")
    with pytest.raises(BadMedia, match=r"x\.bin isn't"):
        expand_mentions("what is @x.bin")


def test_ask_sends_mentioned_images_and_text(home):
    (home / "a.png").write_bytes(png())
    (home / "notes.txt").write_text("milk")
    ran = treadle(home, "ask", "compare @a.png with @notes.txt", "-m", script(home, "ok"), cwd=home)
    assert ran.code == 0
    assert said(home) == "compare @a.png with @notes.txt [notes.txt] [image a.png]"
    assert "milk" in treadle(home, "show", "last").out
