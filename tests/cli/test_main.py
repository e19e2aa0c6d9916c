import subprocess
import sys

import pytest

from cli.running import command, environment, script, start
from cli.running import treadle_here as treadle
from treadle import __version__


def test_help_loads_neither_the_engine_nor_an_event_loop(home):
    for words in (["--help"], ["ask", "--help"], ["tool", "call", "--help"]):
        run = [sys.executable, "-X", "importtime", *command(*words)[1:]]
        done = subprocess.run(run, capture_output=True, text=True, env=environment(home))
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert done.returncode == 0
        assert "treadle.cli.options" in loaded
        assert loaded.isdisjoint({"asyncio", "msgspec", "aiohttp", "sqlite3", "treadle.core.errors", "treadle.agent.agent"})


def test_no_command_shows_what_there_is(home):
    for words in ([], ["--"]):
        ran = treadle(home, *words)
        assert (ran.code, ran.out) == (2, "")
        assert "models and tools:" in ran.err


def test_help_is_also_a_command(home):
    assert treadle(home, "help") == treadle(home, "--help") == treadle(home, "-h")
    assert treadle(home, "help", "show") == treadle(home, "show", "--help")
    assert treadle(home, "help", "read") == treadle(home, "read", "--help")
    assert treadle(home, "help", "models", "pull").out.startswith("usage: treadle models pull")
    assert "TREADLE_HOME" in treadle(home, "help", "environment").out
    assert treadle(home, "help", "exit-codes").out.startswith("exit codes:")
    assert treadle(home, "help", "nonsense").code == 2


@pytest.mark.parametrize("words", [["version"], ["--version"]])
def test_the_version_is_printed(home, words):
    assert treadle(home, *words).out.startswith(f"treadle {__version__} (Python ")


def test_a_sentence_instead_of_a_traceback_unless_it_is_asked_for(home):
    ran = treadle(home, "show", "nothing")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("treadle: There is no run nothing")
    assert len(ran.err.splitlines()) == 1
    assert "Traceback" in treadle(home, "show", "nothing", TREADLE_DEBUG="1").err


def test_a_damaged_database_is_named_and_left_alone(home):
    path = home / "data" / "treadle.db"
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 100)
    for words in (["runs"], ["show", "x"], ["audit", "verify"], ["ask", "x", "-m", script(home, "hello")]):
        ran = treadle(home, *words)
        assert ran.code == 1
        assert f"{path} is damaged" in ran.err
        assert "Traceback" not in ran.err
    assert path.read_bytes() == b"this is no database" * 100


EVERY_STORE = (
    *(["runs"], ["show"], ["show", "x"], ["resume", "x"], ["approve"], ["fork", "x"], ["jobs"], ["jobs", "show"], ["audit"]),
    *(["audit", "verify"], ["stats"], ["users"], ["schedules"], ["backup", "x.tar.gz"], ["worker"]),
    *(["ask", "-c", "x"], ["runs", "delete", "x"], ["undo"]),
)


def test_a_data_folder_that_cannot_be_made_is_named(home):
    (home / "file").write_text("")
    for folder, words in (("file/data", ["ask", "x", "-m", script(home, "hello")]), *(("file", words) for words in EVERY_STORE)):
        ran = treadle(home, *words, TREADLE_HOME=str(home / folder))
        assert (ran.code, ran.out) == (2, ""), words
        says = f"treadle: The data folder can't be {home / folder}: {home / 'file'} is a file. Set TREADLE_HOME to a folder.\n"
        assert ran.err == says


def test_looking_makes_no_files(home):
    for words in (["runs"], ["audit"], ["audit", "verify"]):
        assert treadle(home, *words).code == 0
    assert not (home / "data").exists()


def test_a_reader_who_leaves_is_no_reason_to_complain(home):
    process = start(home, "version")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(120) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


def test_words_that_are_no_text_are_taken_as_far_as_they_are(home):
    done = subprocess.run(
        [*command("ask", "-m", script(home, "hello"), "--json"), b"caf\xe9"], capture_output=True, env=environment(home)
    )
    assert done.returncode == 0
    assert "caf\ufffd" in treadle(home, "runs").out
