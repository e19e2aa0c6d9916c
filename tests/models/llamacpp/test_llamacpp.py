"""A GGUF run by a child of this process: SmolLM2-135M, for real. It calls a tool, answers, is cancelled, is killed, and goes on."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from local import smollm
from treadle import Agent, Options, tool
from treadle.core.errors import SettingsError, UnknownModel
from treadle.core.messages import History, person_message
from treadle.core.requests import Request, TextDelta
from treadle.models.calling.constrained import ConstrainedModel
from treadle.models.llamacpp.child import LlamaSettings, close_children, start_child
from treadle.models.llamacpp.model import LlamaCpp
from treadle.models.llamacpp.serve import choose_batch
from wire import ask, hear, text_in

SHORT = Options(temperature=0, max_tokens=4)
LONG = "You are a clerk in a shop that sells lamps, chairs and tables. " * 10  # long enough to be worth keeping


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    path = smollm()
    monkeypatch.setenv("TREADLE_MODELS", str(tmp_path / "models"))
    yield path
    close_children()


def model(**settings):
    return LlamaCpp(str(smollm()), context=2048, threads=1, **settings)


def asked(words="Say hello.", instructions="", options=SHORT):
    return Request(instructions, History([person_message(words)]), options=options)


def test_it_answers_and_says_what_that_took():
    deltas = ask(model(), asked())
    assert text_in(deltas)
    assert deltas[-1].usage.output_tokens > 0


def test_it_reports_how_far_it_is_with_loading_reading_and_writing():
    reported = []
    wordy = Options(temperature=0, max_tokens=12)
    request = replace(asked("Count. " * 30, instructions=LONG, options=wordy), progress=reported.append)
    ask(model(), request)
    stages = [progress.stage for progress in reported]
    assert list(dict.fromkeys(stages)) == ["loading", "reading", "writing"]
    assert (reported[stages.index("reading") - 1].done, reported[stages.index("reading") - 1].total) == (1.0, 1)
    read = [progress for progress in reported if progress.stage == "reading"]
    assert all(0 <= progress.done <= progress.total for progress in read)
    assert {progress.done == progress.total for progress in read} == {True, False}  # the instructions, and then the rest


def test_held_to_calls_it_makes_a_correct_one_and_finishes_the_run():
    asked_for = []

    @tool(effect="read")
    def weather(city: str) -> str:
        """The weather in a city."""
        asked_for.append(city)
        return f"It is raining in {city}."

    options = Options(temperature=0, max_tokens=60)
    agent = Agent(ConstrainedModel(model(), sure=float("-inf")), tools=[weather], options=options)
    result = agent.run_sync("What is the weather in Oslo?")
    assert asked_for == ["Oslo"]
    assert (result.stopped, bool(result.text)) == ("answered", True)


def test_what_it_read_once_is_kept_on_disk_for_the_next_process(tmp_path):
    first = ask(model(), asked("Hello.", LONG))[-1].usage
    assert list((tmp_path / "models" / "prefixes").glob("*.prefix"))
    close_children()  # the next one has nothing in memory
    second = ask(model(), asked("Who are you?", LONG))[-1].usage
    assert second.cache_read_tokens > 0.8 * first.input_tokens


def test_a_model_that_was_warmed_has_read_what_the_first_request_begins_with(tmp_path):
    async def warmed():
        local = model()
        await local.warm(asked("Something else.", LONG))
        return [delta async for delta in local.reply(asked("Hello.", LONG))]

    usage = asyncio.run(warmed())[-1].usage
    assert usage.cache_read_tokens > 0.8 * usage.input_tokens


def test_what_was_kept_and_is_damaged_is_read_again(tmp_path):
    ask(model(), asked("Hello.", LONG))
    (kept,) = (tmp_path / "models" / "prefixes").glob("*.prefix")
    kept.write_bytes(b"nonsense")
    close_children()
    assert text_in(ask(model(), asked("Hello.", LONG)))
    assert kept.stat().st_size > 1000


def test_two_beginnings_are_kept_in_memory_at_once():
    local = model()
    other = LONG.replace("lamps", "books")
    for instructions in (LONG, other):
        ask(local, asked("Hello.", instructions))
    for instructions in (LONG, other):
        usage = ask(local, asked("Goodbye.", instructions))[-1].usage
        assert usage.cache_read_tokens > 0.8 * usage.input_tokens


def test_a_reply_that_nobody_wants_any_more_is_stopped():
    async def timed(local):
        began = time.monotonic()
        heard = [delta async for delta in local.reply(asked())]
        return time.monotonic() - began, heard

    async def tale():
        local = model()
        alone, _ = await timed(local)
        endless = Options(temperature=0, max_tokens=2000, extra={"ignore_eos": True})
        async for delta in local.reply(asked("Count to a thousand.", options=endless)):
            if isinstance(delta, TextDelta):
                break
        return alone, *await timed(local)

    alone, after, heard = asyncio.run(tale())
    assert text_in(heard)
    assert after < 10 * alone + 1  # two thousand tokens take a hundred times as long as the reply


def test_a_stop_while_a_prompt_is_read_takes_effect_after_at_most_three_batches():
    async def read_after_stop():
        local, reading = model(), asyncio.Event()
        request = asked("The dough rested in the bowl before it was shaped into a loaf. " * 110)
        watched = replace(request, progress=lambda progress: progress.stage == "reading" and reading.set())
        reply = asyncio.ensure_future(anext(local.reply(watched)))
        await reading.wait()  # it has begun
        reply.cancel()
        heard = [delta async for delta in local.reply(request)]
        return heard[-1].usage

    usage = asyncio.run(read_after_stop())
    assert 0 < usage.cache_read_tokens <= 3 * choose_batch(1, smollm().stat().st_size) < usage.input_tokens


@pytest.mark.parametrize(
    ("threads", "megabytes", "tokens"), [(2, 1_117, 16), (4, 1_117, 32), (16, 1_117, 64), (1, 98, 64), (1, 9_000, 16)]
)
def test_a_batch_of_a_prompt_takes_about_half_a_second(threads, megabytes, tokens):
    assert choose_batch(threads, megabytes * 1_000_000) == tokens


def test_a_child_that_dies_is_started_again():
    local = model()
    ask(local, asked())
    found = start_child(local._settings)
    os.kill(found.process.pid, signal.SIGKILL)
    found.process.wait()
    assert text_in(ask(local, asked()))


def test_a_child_that_dies_in_the_middle_is_an_error_that_another_try_mends():
    async def tale():
        local = model()
        endless = Options(temperature=0, max_tokens=2000, extra={"ignore_eos": True})
        async for _ in local.reply(asked("Count.", options=endless)):
            os.kill(start_child(local._settings).process.pid, signal.SIGKILL)

    with pytest.raises(Exception, match="SmolLM2") as caught:
        asyncio.run(tale())
    assert caught.value.retryable


def test_the_child_ends_with_its_parent_even_if_that_is_killed():
    program = (
        "import sys, time\nfrom treadle.models.llamacpp.model import LlamaCpp\n"
        "from treadle.models.llamacpp.child import start_child\n"
        f"local = LlamaCpp({str(smollm())!r}, context=512)\n"  # as users do: as many threads as the machine can spare
        "print(start_child(local._settings).process.pid, flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    for _ in range(300):
        try:
            if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.1)
    raise AssertionError("the child is still there")


def test_nobody_else_can_ask_the_child():
    import urllib.error
    import urllib.request

    found = start_child(model()._settings)
    request = urllib.request.Request(f"{found.address}/slots")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request)


def test_a_file_that_ends_too_early_is_told_in_a_sentence(tmp_path):
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(smollm().read_bytes()[:5_000_000])
    _, error = hear(LlamaCpp(str(cut), context=512, threads=1), asked())
    assert type(error) is SettingsError
    assert str(error).startswith(f"{cut} can't be loaded: ")
    assert str(error).endswith("Is it a whole GGUF file?")


def test_a_file_that_is_no_model_is_told_before_anything_is_started(tmp_path):
    odd = tmp_path / "odd.gguf"
    odd.write_text("hello")
    with pytest.raises(SettingsError, match="is no GGUF file"):
        LlamaCpp(str(odd))


def test_a_file_that_is_not_there_is_told_with_the_names_there_are():
    with pytest.raises(UnknownModel, match=r"There is no file ./none.gguf.*qwen2\.5-coder-1\.5b"):
        LlamaCpp("./none.gguf")


def test_a_model_that_was_not_pulled_yet_says_how_to():
    with pytest.raises(UnknownModel, match="treadle models pull smollm2-135m"):
        LlamaCpp("smollm2-135m")


def test_models_with_the_same_settings_share_a_child():
    one, other = model(), model()
    assert start_child(one._settings) is start_child(other._settings)
    assert isinstance(one._settings, LlamaSettings)
