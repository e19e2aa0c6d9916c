"""A program as a model, with real little programs."""

import asyncio
import os
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest

from treadle.core.errors import ContextTooLong, ModelError, ModelRefused, SettingsError
from treadle.core.requests import Options, ReplyEnded, TextDelta, Traits, Usage
from treadle.models.programs.command import CommandModel, from_name
from treadle.models.programs.processes import LINGER, MAX_BUFFERED, start_child_process
from treadle.plugins.models import resolve_model
from wire import ask, hear, request, text_in


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def test_the_prompt_comes_on_stdin_and_the_output_is_the_reply():
    deltas = ask(CommandModel("cat"), request("hi there"))
    assert text_in(deltas) == "System: Be brief.\n\nUser: hi there\n\nAssistant:"
    assert deltas[-1] == ReplyEnded("done", Usage(requests=1), "command:cat")


def test_the_prompt_takes_the_place_that_is_kept_for_it():
    code = "import sys; print(len(sys.argv), repr(sys.stdin.read()), sys.argv[1], sys.argv[2])"
    said = text_in(
        ask(CommandModel(python(code, "--prompt={prompt}", "{other}")), request("a 'b' $(c)\x00 \udc80", instructions=""))
    )
    assert said == "3 '' --prompt=User: a 'b' $(c) ?\n\nAssistant: {other}"


def test_no_shell_is_involved(tmp_path):
    assert text_in(ask(CommandModel(f"echo a; touch {tmp_path}/made '$HOME' *"))) == f"a; touch {tmp_path}/made $HOME *"
    assert list(tmp_path.iterdir()) == []


def test_it_is_known_by_its_line_and_calls_nothing_natively():
    model = resolve_model("command:sh -c 'echo hello'")
    assert (model.name, text_in(ask(model))) == ("command:sh -c 'echo hello'", "hello")
    assert from_name("cat", context=4096).traits == Traits(native_calls=False, context=4096, streams=True)
    assert CommandModel(["a b", "c"]).name == "command:'a b' c"


def test_it_streams_as_the_program_writes(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    code = "import sys; print('one', end='', flush=True); open(sys.argv[1]).read(); print(' two')"

    async def listen() -> list[str]:
        texts: list[str] = []
        async for delta in CommandModel(python(code, str(gate))).reply(request()):
            if isinstance(delta, TextDelta):
                texts.append(delta.text)
                if len(texts) == 1:
                    await asyncio.to_thread(gate.write_text, "go")  # it writes the rest only now
        return texts

    assert asyncio.run(listen()) == ["one", " two"]


def test_colours_and_progress_are_stripped():
    code = r"print('\r10 %\r\x1b[2K\x1b[1;32mHello\x1b[0m\n\n  there \x1b]0;t\x07', flush=True)"
    assert text_in(ask(CommandModel(python(code)))) == "Hello\n\n  there"


def test_a_program_need_not_read_what_it_is_told():
    assert text_in(ask(CommandModel("echo fine"), request("x" * 1_000_000))) == "fine"


def test_a_large_prompt_and_a_large_reply_pass_at_the_same_time():
    words = "word " * 100_000
    assert text_in(ask(CommandModel("cat"), request(words.strip()))) == f"System: Be brief.\n\nUser: {words.strip()}\n\nAssistant:"


def test_a_stop_sequence_ends_the_reply_and_the_program(tmp_path):
    code = "import time, sys; print('one ST', end='', flush=True); print('OP two', flush=True); time.sleep(600); open(sys.argv[1])"
    deltas = ask(CommandModel(python(code)), request(options=Options(stop=("STOP",))))
    assert text_in(deltas) == "one"
    assert isinstance(deltas[-1], ReplyEnded)
    assert deltas[-1].finish == "done"


def test_what_only_looked_like_a_stop_sequence_is_kept():
    assert text_in(ask(CommandModel("printf 'one ST'"), request(options=Options(stop=("STOP",))))) == "one ST"


def test_a_program_that_never_ends_its_output_is_ended_at_the_limit():
    deltas = ask(CommandModel("yes", most=1000))
    assert text_in(deltas) == "y\n" * 500
    assert deltas[-1].finish == "length"


def test_nothing_is_lost_where_the_program_is_gone_before_its_output_is_read():
    size = MAX_BUFFERED + 50_000

    async def slowly() -> int:
        child = await start_child_process(python(f"print('x' * {size}, end='')"))
        try:
            await asyncio.sleep(2 * LINGER)  # it is the time that passes that must not matter
            count = 0
            while piece := await child.some():
                count += len(piece)
            return count
        finally:
            await child.end()

    assert asyncio.run(slowly()) == size


def test_a_program_that_fails_is_quoted_to_its_last_words():
    code = "import sys; print('some'); print('x' * 5000, file=sys.stderr); "
    code += "sys.exit('\\x1b[31mthe key sk-proj-abcdefghijklmnopqrstuvwx is wrong')"
    deltas, error = hear(CommandModel(python(code)))
    assert text_in(deltas) == "some"
    assert type(error) is ModelError
    said = str(error)
    assert said.startswith(f"{sys.executable} ended with code 1: …x")
    assert said.endswith(" is wrong")
    assert "sk-proj" not in said
    assert "\x1b" not in said
    assert len(said) < 400


def test_a_program_that_fails_silently_or_by_a_signal_is_told_as_well():
    assert str(hear(CommandModel("false"))[1]) == "false ended with code 1, and said nothing about it."
    assert str(hear(CommandModel("sh -c 'kill -9 $$'"))[1]) == "sh was ended by signal 9, and said nothing about it."


def test_a_program_that_is_not_there_is_one_sentence():
    _, error = hear(CommandModel("no-such-program --at all"))
    assert isinstance(error, ModelRefused)
    assert str(error) == "There is no program no-such-program here; install it, or write where it is."


def test_what_is_no_program_is_one_sentence(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("words")
    assert str(hear(CommandModel(shlex.quote(str(file))))[1]) == f"{file} can't be run: Permission denied."


def test_a_prompt_too_long_for_an_argument_says_so():
    _, error = hear(CommandModel("echo {prompt}"), request("x" * 5_000_000))
    assert isinstance(error, ContextTooLong)
    assert "leave out {prompt}, and it comes on stdin" in str(error)


@pytest.mark.parametrize("line", ["", "   ", "''"])
def test_a_command_names_a_program(line):
    with pytest.raises(SettingsError, match="A command names a program"):
        CommandModel(line)


def test_a_command_that_cannot_be_split_says_so():
    with pytest.raises(SettingsError, match="can't be split into words: No closing quotation"):
        CommandModel("echo 'oh")


# Ending it

FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(f"{os.getpid()} {child.pid}", end="", flush=True)  # in one piece
time.sleep(600)
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter where it ends between opening and reading
        return False


def gone(pids: list[int]) -> bool:
    """Whether they are, after the moment that a killed process may take."""
    until = time.monotonic() + 120
    while any(map(is_alive, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(map(is_alive, pids))


linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@linux
def test_cancelling_ends_the_program_and_all_it_started():
    pids: list[int] = []

    async def cancelled() -> None:
        async def listen() -> None:
            async for delta in CommandModel(python(FAMILY)).reply(request()):
                pids.extend(map(int, delta.text.split()))
                task.cancel()

        task = asyncio.ensure_future(listen())
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert len(pids) == 2
    assert gone(pids)


@linux
def test_whoever_stops_listening_ends_the_program():
    async def first() -> list[int]:
        reply = CommandModel(python(FAMILY)).reply(request())
        delta = await anext(reply)
        await reply.aclose()
        return list(map(int, delta.text.split()))

    assert gone(asyncio.run(first()))


@linux
def test_the_time_limit_ends_the_program_and_all_it_started():
    deltas, error = hear(CommandModel(python(FAMILY), seconds=1))
    assert str(error) == f"{sys.executable} took more than 1 seconds and was ended."
    assert gone(list(map(int, text_in(deltas).split())))


@linux
def test_a_program_that_will_not_end_is_killed():
    code = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(600)"
    deltas, error = hear(CommandModel(python(code), seconds=1))
    assert "took more than 1 seconds" in str(error)
    assert gone([int(text_in(deltas))])


def test_output_that_others_hold_open_is_not_waited_for():
    assert text_in(ask(CommandModel("sh -c 'sleep 600 & echo done'"))) == "done"


@linux
def test_input_that_nobody_reads_any_more_is_let_go_of():
    # the reader left its group, so that it outlives the program and keeps the pipe open without reading from it
    code = "import os, subprocess, sys; p = subprocess.Popen(['sleep', '600'], start_new_session=True); print(p.pid)"
    pid = int(text_in(ask(CommandModel(python(code)), request("x" * 1_000_000))))
    os.kill(pid, signal.SIGKILL)


def test_complaints_are_kept_to_their_end():
    async def complaints() -> str:
        child = await start_child_process(python("import sys; sys.stderr.write('a' * 100_000 + 'z')"))
        try:
            assert await child.some() == b""
            assert await child.code() == 0
            return child.complaints
        finally:
            await child.end()

    kept = asyncio.run(complaints())
    assert len(kept) == 8192
    assert kept.endswith("az")
