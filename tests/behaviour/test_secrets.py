"""Credentials of every format go through runs: arguments, results, errors, addresses, progress. Nothing kept or told has one.

The one exception is said in docs/policies.md: arguments stand in the journal, as a call that waits has to run as it was approved.
What a person or a model says in words stays as it is said.
"""

import asyncio
import json
import logging
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

import wire
from guard.credentials import Maker
from guard.planted import BY_LOOKS
from treadle import Agent, Limits, Results, RunContext, Scripted, ToolProblem, allow, open_home, tool
from treadle.app.home import close_home
from treadle.models.scripted import Answer, Asked

PLANTED = [(f"it is {secret} now", secret) for _, secret in BY_LOOKS] + [(text, secret) for _, text, secret in Maker(3).all()]
LEAST = 10  # letters of a secret in a row that count as its having got out
PLAIN = "max_tokens=4096, a UUID 550e8400-e29b-41d4-a716-446655440000 and the commit 9fceb02d0ae598e95dc970b74767f19372d61af8"
FILLING = "word " * 300


def stretches(secret: str) -> list[bytes]:
    """All of a secret that counts, as it is and as JSON has it."""
    spelled = [secret, json.dumps(secret)[1:-1]]
    return [each[start : start + LEAST].encode() for each in spelled for start in range(len(each) - LEAST + 1)]


STRETCHES = {stretch for _, secret in PLANTED for stretch in stretches(secret)}


def leaked(told: bytes) -> list[bytes]:
    """Where something of a secret is there."""
    places = [start for start in range(len(told)) if told[start : start + LEAST] in STRETCHES]
    return [told[max(0, start - 60) : start + 40] for start in places[:5]]


def files(folder: Path) -> bytes:
    """All bytes of all files, those that a database writes ahead among them."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def all_but_the_journal(path: Path) -> bytes:
    """Every row of every table, but for the entries of runs."""
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if name != "entries"]
        assert {"audit", "cache", "results", "runs"} <= set(tables)
        return b"\n".join(repr(row).encode() for name in tables for row in database.execute(f"SELECT * FROM {name}"))


def treadle(home: Path, *words: str) -> bytes:
    """What the command line says."""
    environment = {**os.environ, "TREADLE_HOME": str(home)}
    command = [sys.executable, "-m", "treadle.cli.main", *words]
    done = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@tool(effect="read")
async def says(number: int) -> str:
    """Returns one."""
    return f"{PLANTED[number][0]} {PLAIN}"


@tool(effect="read")
async def says_much(number: int) -> str:
    """Returns one in so much else that only a part is shown, and the whole kept."""
    return f"{FILLING}{PLANTED[number][0]}{FILLING}"


@tool(effect="read", cache=60)
async def keeps(number: int) -> dict[str, object]:
    """Returns one in a value, which is cached."""
    return {"note": [PLANTED[number][0]], "max_tokens": 4096}


@tool(effect="read")
async def objects(number: int) -> str:
    """Words a problem with one."""
    raise ToolProblem(f"no good: {PLANTED[number][0]}")


@tool(effect="read")
async def breaks(number: int) -> str:
    """Raises with one in an address."""
    raise ValueError(f"GET https://example.com/x?to={PLANTED[number][0]} failed")


@tool(effect="read")
async def progresses(ctx: RunContext, number: int) -> str:
    """Says one on the way."""
    ctx.progress(PLANTED[number][0])
    return "done"


@tool
async def takes(text: str) -> str:
    """Takes one."""
    return "taken"


RETURNING = [says, says_much, keeps, objects, breaks, progresses]


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.DEBUG)
    return caplog


def test_tool_prints_secrets__of_every_format_in_every_place(tmp_path, log):
    asked = [Asked(each.__name__, {"number": number}) for number in range(len(PLANTED)) for each in RETURNING]
    rounds = [Answer(calls=tuple(asked[start : start + 60])) for start in range(0, len(asked), 60)]
    events = []
    home = open_home(tmp_path)
    agent = Agent(
        Scripted(*rounds, "done"),
        tools=RETURNING,
        policy=[allow("*")],
        results=Results(limit=1000),
        limits=Limits(rounds=None, refuse_at=1000, nudge_at=1000),
    )
    result = asyncio.run(agent.run("Go.", run_id="r1", journal=home.services(), watchers=[events.append]))
    assert result.stopped == "answered"
    assert len(result.calls) == len(asked)
    told = b"\n".join(msgspec.json.encode(event) for event in events[:-1])
    assert leaked(files(tmp_path)) == []
    assert leaked(told) == []
    assert leaked(log.text.encode()) == []
    assert leaked(msgspec.json.encode(list(result.history))) == []
    close_home(home)
    for words in (("show", "r1"), ("show", "r1", "--json"), ("show", "r1", "--entries"), ("audit", "-n", "5000", "--json")):
        assert leaked(treadle(tmp_path, *words)) == []
    assert leaked(files(tmp_path)) == []
    assert PLAIN.encode() in told
    assert b"4096" in files(tmp_path)


@pytest.mark.parametrize("size", range(1, 8))
def test_secret_in_a_call__streamed_in_small_pieces(tmp_path, log, size):
    own = PLANTED[size - 1 :: 7]
    calls = tuple(wire.call("takes", {"text": text}, size=size) for text, _ in own)
    events = []
    home = open_home(tmp_path)
    with wire.WireServer([calls, "done"]) as server:
        agent = Agent(wire.model(server, "anthropic" if size % 2 else "openai"), tools=[takes], policy=[allow("*")])
        result = asyncio.run(agent.run("Go.", run_id="r1", journal=home.services(), watchers=[events.append]))
    assert [record.arguments["text"] for record in result.calls] == [text for text, _ in own]
    assert leaked(b"\n".join(msgspec.json.encode(event) for event in events[:-1])) == []
    assert leaked(log.text.encode()) == []
    close_home(home)
    assert leaked(all_but_the_journal(tmp_path / "treadle.db")) == []
    for words in (("show", "r1"), ("show", "r1", "--json"), ("audit", "-n", "5000", "--json")):
        assert leaked(treadle(tmp_path, *words)) == []


def test_secret_in_a_call__that_was_no_json(tmp_path):
    text, _ = PLANTED[0]
    home = open_home(tmp_path)
    with wire.WireServer([wire.call("takes", f"{{'text': '{text}',}}"), "done"]) as server:
        agent = Agent(wire.model(server), tools=[takes], policy=[allow("*")])
        result = asyncio.run(agent.run("Go.", run_id="r1", journal=home.services()))
    close_home(home)
    assert result.calls[0].arguments == {"text": text}
    assert leaked(treadle(tmp_path, "show", "r1", "--json")) == []
