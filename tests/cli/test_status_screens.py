"""What a terminal shows while a command waits, and what is left of that afterwards: real processes, and a terminal emulator."""

import signal
import threading
from pathlib import Path

import pyte
import pytest

from assistants.coding.stage import needs_git, project
from cli.running import SLOW_TOOLS, Terminal, asks, script, treadle
from wire import WireServer, gate, reply


def screen(terminal: Terminal, columns: int = 80) -> list[str]:
    """The lines on the screen."""
    emulated = pyte.Screen(columns, 40)
    pyte.Stream(emulated).feed(terminal.shown)
    return [line.rstrip() for line in emulated.display if line.strip()]


def wired(server: WireServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k", "NO_COLOR": "1"}


@pytest.mark.parametrize("columns", [80, 48])
def test_a_model_that_takes_its_time_is_waited_for_visibly_and_nothing_of_that_is_left(home: Path, columns: int) -> None:
    go_on = threading.Event()
    with WireServer([reply(gate(go_on), "Hello.")]) as server:
        words = ("ask", "x", "-m", "openai:a-model-with-a-name-that-is-too-long-for-48-columns")
        with Terminal(home, *words, COLUMNS=str(columns), **wired(server)) as terminal:
            terminal.until(" s  Waiting for openai:a-model-with-a-name")
            (line,) = screen(terminal, columns)
            assert line.partition("  ")[2].startswith("Waiting for openai:a-model-with-a-name")
            assert len(line) < columns
            go_on.set()
            assert terminal.end() == 0
    answer, *about = screen(terminal, columns)
    assert (answer, about[0][:11]) == ("Hello.", "[1 request,")


def test_a_running_tool_is_named_by_the_status_and_what_was_cut_off_by_a_line(home: Path) -> None:
    model = script(home, asks(("look", {"marker": "m"})))
    words = ("ask", "x", "-m", model, "--tools", SLOW_TOOLS, "--run-id", "r")
    with Terminal(home, *words, COLUMNS="80", NO_COLOR="1", cwd=str(home)) as terminal:
        terminal.until('Running look(marker="m") (')
        *_, status = screen(terminal)
        assert status.partition("  ")[2].startswith('Running look(marker="m") (')
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
    assert screen(terminal)[:2] == [
        '→ look(marker="m")',
        "treadle: interrupted; the run is kept. To go on: treadle resume r",
    ]


def test_reading_a_file_says_what_it_waits_for(home: Path) -> None:
    (home / "shop.py").write_text('"""Keeps a shop."""\n\n\ndef price(item):\n    return item.cost\n')
    go_on = threading.Event()
    with WireServer([reply(gate(go_on), "Hello.")]) as server:
        words = ("read", str(home / "shop.py"), "-m", "openai:m")
        with Terminal(home, *words, COLUMNS="80", **wired(server)) as terminal:
            terminal.until(" s  Waiting for openai:m")
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.end() == 130
            go_on.set()
    assert screen(terminal) == ["Interrupted. The same command goes on; files that were read are kept."]


@needs_git
def test_a_job_says_what_it_waits_for_when_it_begins_and_when_it_goes_on(home: Path) -> None:
    go_on = threading.Event()
    folder = project(home)
    with WireServer([reply(gate(go_on), "Hello."), reply(gate(go_on), "Hello.")]) as server:
        with Terminal(home, "build", "x", "-C", str(folder), "-m", "openai:m", COLUMNS="80", **wired(server)) as terminal:
            terminal.until(" s  Waiting for openai:m")
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.end() == 130
        (job,) = treadle(home, "jobs", "--json").json
        assert f"To go on: treadle jobs resume {job['id']}" in " ".join(screen(terminal))
        assert "Waiting for" not in " ".join(screen(terminal))
        with Terminal(home, "jobs", "resume", job["id"], COLUMNS="80", **wired(server)) as terminal:
            terminal.until(f"Job {job['id']} goes on: build in ")
            terminal.until("Waiting for openai:m")
            terminal.process.send_signal(signal.SIGTERM)
            assert terminal.end() == 143
            go_on.set()
    assert f"To go on: treadle jobs resume {job['id']}" in " ".join(screen(terminal))


def test_an_evaluation_says_how_many_runs_have_ended_and_how_to_go_on(home: Path) -> None:
    (home / "cases.yaml").write_text("cases:\n  - {name: a, input: Hello, assistant: coding}\n")
    go_on = threading.Event()
    with WireServer([reply(gate(go_on), "Hello."), reply("Hello.")]) as server:
        words = ("eval", str(home / "cases.yaml"), "-m", "openai:m")
        with Terminal(home, *words, COLUMNS="80", **wired(server)) as terminal:
            terminal.until(" s  0 of 1 run")
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.end() == 130
            go_on.set()
        said = "Interrupted. The same command with --resume goes on; what has been evaluated is kept."
        assert " ".join(screen(terminal, 120)) == said
        resumed = treadle(home, *words, "--resume", **wired(server))
    assert "1/1" in resumed.out
    assert "Resuming the evaluation " in resumed.err
