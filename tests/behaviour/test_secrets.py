"""Credentials of every format go through runs: arguments, results, errors, addresses, progress, words. No file has one.

Nothing that is told has one either, but for what a model says in words to whoever listens. Whatever has to be used again as it was
is encrypted, and comes back as it was.
"""

import asyncio
import json
import logging
import os
from hashlib import sha256
from pathlib import Path
from typing import Literal
from urllib.request import Request, urlopen

import msgspec
import pytest

import wire
from cli.forkserver import ran
from guard.credentials import Maker
from guard.planted import BY_LOOKS
from properties import EXPLORE
from server.running import Serving, assistant, host
from treadle import Agent, FunctionToolset, Limits, ResultOptions, RunContext, ToolProblem, allow, ask, open_home, tool
from treadle.cli.ui.report import result_to_json
from treadle.core.entries import Judged
from treadle.core.errors import ModelRefused
from treadle.core.events import RunEnded
from treadle.guard.redaction import Redactor
from treadle.home import close_home
from treadle.jobs.store import Jobs
from treadle.models.recorded import Recorded
from treadle.models.scripted import ScriptedCall, ScriptedReply, calls
from treadle.stores.queue import RunQueue
from treadle.stores.schedules import Schedule, Schedules
from treadle.testing import Scripted
from treadle.workers.run_spec import RunSpec
from treadle.workers.submission import submit_run

PLANTED = [(f"it is {secret} now", secret) for _, secret in BY_LOOKS] + [(text, secret) for _, text, secret in Maker(3).all()]
LEAST = 10  # letters of a secret in a row that count as its having got out
PLAIN = "max_tokens=4096, a UUID 550e8400-e29b-41d4-a716-446655440000 and the commit 9fceb02d0ae598e95dc970b74767f19372d61af8"
FILLING = "word " * 300


def stretches(secret: str) -> list[bytes]:
    """All of a secret that counts, as it is and as JSON has it."""
    spelled = [secret, json.dumps(secret)[1:-1]]
    return [each[start : start + LEAST].encode() for each in spelled for start in range(len(each) - LEAST + 1)]


STRETCHES = {stretch for _, secret in PLANTED for stretch in stretches(secret)}
PART = 5  # letters; wherever a stretch begins, one of its parts begins at a multiple of STEP
STEP = LEAST - PART + 1
PARTS = {stretch[start : start + PART] for stretch in STRETCHES for start in range(STEP)}


def leaked(told: bytes) -> list[bytes]:
    """Where something of a secret is there."""
    near = [place for place in range(0, len(told), STEP) if told[place : place + PART] in PARTS]
    starts = [start for place in near for start in range(max(0, place - STEP + 1), place + 1)]
    places = [start for start in starts if told[start : start + LEAST] in STRETCHES]
    return [told[max(0, start - 60) : start + 40] for start in places[:5]]


def files(folder: Path) -> bytes:
    """All bytes of all files, those that a database writes ahead among them."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def tables(address: str) -> bytes:
    """Every row of every table of a PostgreSQL database."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(address) as connection:
        query = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'treadle%'"
        names = connection.execute(query).fetchall()
        assert {"entries", "runs", "audit", "schedules"} <= {name for _, name in names}
        return b"\n".join(repr(row).encode() for each in names for row in connection.execute("SELECT * FROM {}.{}".format(*each)))


def told(events: list) -> bytes:
    """All that watchers were told, how it ended as the command line tells it."""
    assert isinstance(events[-1], RunEnded)
    return b"\n".join(
        [*[msgspec.json.encode(event) for event in events[:-1]], msgspec.json.encode(result_to_json(events[-1].result))]
    )


def treadle(home: Path, *words: str) -> bytes:
    """What the command line says."""
    return other_process(home, "-m", "treadle.cli.main", *words)


def other_process(home: Path, *words: str, code: int = 0) -> bytes:
    """What Python says in another process."""
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(Path(__file__).parents[1])])
    done = ran(*words, env={**os.environ, "TREADLE_HOME": str(home), "PYTHONPATH": path})
    assert done.returncode == code, done.stderr
    return (done.stdout + done.stderr).encode()


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
    pairs = [(number, place) for number in range(len(PLANTED)) for place in range(len(RETURNING))]
    tried = [pair for pair in pairs if EXPLORE or sum(pair) % 2 == 0]  # half of the formats in each place; all in `make explore`
    asked = [ScriptedCall(RETURNING[place].__name__, {"number": number}) for number, place in tried]
    rounds = [ScriptedReply(calls=tuple(asked[start : start + 60])) for start in range(0, len(asked), 60)]
    events = []
    home = open_home(tmp_path)
    agent = Agent(
        Scripted(*rounds, "done"),
        tools=RETURNING,
        policy=[allow("*")],
        results=ResultOptions(limit=1000),
        limits=Limits(rounds=None, refuse_at=1000, nudge_at=1000),
    )
    result = asyncio.run(agent.run("Go.", run_id="r1", journal=home.services(), watchers=[events.append]))
    assert result.stopped == "answered"
    assert len(result.calls) == len(asked)
    assert leaked(files(tmp_path)) == []
    assert leaked(told(events)) == []
    assert leaked(log.text.encode()) == []
    assert leaked(msgspec.json.encode(list(result.history))) == []
    close_home(home)
    for words in (("show", "r1"), ("show", "r1", "--json"), ("show", "r1", "--entries"), ("audit", "-n", "5000", "--json")):
        assert leaked(treadle(tmp_path, *words)) == []
    assert leaked(files(tmp_path)) == []
    assert PLAIN.encode() in told(events)
    assert PLAIN.encode() in files(tmp_path)  # what is no secret stands there as it is
    assert not (tmp_path / "journal.key").exists()  # what is masked needn't be encrypted


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
    assert leaked(told(events)) == []
    assert leaked(log.text.encode()) == []
    assert leaked(files(tmp_path)) == []
    close_home(home)
    assert leaked(files(tmp_path)) == []
    for words in (("show", "r1"), ("show", "r1", "--json"), ("show", "r1", "--entries"), ("audit", "-n", "5000", "--json")):
        assert leaked(treadle(tmp_path, *words)) == []
    assert leaked(treadle(tmp_path, "stats", "--json")) == []
    assert leaked(files(tmp_path)) == []


def test_secret_in_a_call__that_was_no_json(tmp_path):
    text, _ = PLANTED[0]
    home = open_home(tmp_path)
    with wire.WireServer([wire.call("takes", f"{{'text': '{text}',}}"), "done"]) as server:
        agent = Agent(wire.model(server), tools=[takes], policy=[allow("*")])
        result = asyncio.run(agent.run("Go.", run_id="r1", journal=home.services()))
    close_home(home)
    assert result.calls[0].arguments == {"text": text}
    assert leaked(treadle(tmp_path, "show", "r1", "--json")) == []
    assert leaked(files(tmp_path)) == []


@pytest.mark.parametrize("how", [r"\u00{:02x}", r"\u00{:02X}"])
def test_secret_in_a_call__with_its_letters_spelled(tmp_path, how):
    _, secret = PLANTED[0]
    spelled = "".join([how.format(ord(letter)) if place % 12 == 2 else letter for place, letter in enumerate(secret)])
    home = open_home(tmp_path)
    with wire.WireServer([wire.call("takes", f'{{"text": "it is {spelled} now"}}'), "done"]) as server:
        agent = Agent(wire.model(server), tools=[takes], policy=[allow("*")])
        result = asyncio.run(agent.run("Go.", run_id="r1", journal=home.services()))
    close_home(home)
    assert result.calls[0].arguments == {"text": f"it is {secret} now"}
    assert leaked(files(tmp_path) + treadle(tmp_path, "show", "r1", "--entries")) == []


def test_secret_in_a_call__that_does_not_fit(tmp_path, log):
    @tool
    async def narrow(count: int, kind: Literal["a", "b"]) -> str:
        """Takes little."""
        return "taken"

    asked = [ScriptedCall("narrow", {"count": text, "kind": text}) for text, _ in PLANTED]
    events = []
    home = open_home(tmp_path)
    agent = Agent(Scripted(ScriptedReply(calls=tuple(asked)), "done"), tools=[narrow], limits=Limits(refuse_at=1000, nudge_at=1000))
    result = asyncio.run(agent.run("Go.", run_id="r1", journal=home.services(), watchers=[events.append]))
    close_home(home)
    assert {record.problem for record in result.calls} == {"invalid"}
    assert leaked(told(events) + log.text.encode() + files(tmp_path)) == []


def waiting(folder: Path, database: str = "", run_id: str = "r1") -> None:
    """Have a run wait for a person, with all credentials in its calls."""
    home = open_home(folder, database=database)
    calls = tuple([ScriptedCall("proves", {"text": text, "max_tokens": 4096}) for text, _ in PLANTED])
    agent = Agent(Scripted(ScriptedReply(calls=calls)), tools=[proves], policy=[ask("*")])
    result = asyncio.run(agent.run("Go.", run_id=run_id, journal=home.services()))
    assert (result.stopped, len(result.approvals)) == ("waiting", len(PLANTED))
    close_home(home)


def test_secret_in_a_call__that_waits_runs_as_it_was_approved_in_another_process(tmp_path):
    waiting(tmp_path)
    assert leaked(files(tmp_path)) == []
    assert leaked(treadle_lists(tmp_path)) == []
    said = other_process(tmp_path, "-c", "from behaviour.test_secrets import approved; approved()")
    assert said.decode().split() == [proof(text) for text, _ in PLANTED]
    assert leaked(files(tmp_path)) == []


def treadle_lists(home: Path) -> bytes:
    """What lists say of a run that waits."""
    return treadle(home, "runs", "--json") + other_process(home, "-m", "treadle.cli.main", "approve", "r1", "--list", "--json")


def proof(text: str) -> str:
    """What only somebody who has the text can say."""
    return sha256(text.encode()).hexdigest()


@tool
async def proves(text: str, max_tokens: int) -> str:
    """Says what it was given, in a way that gives nothing away."""
    return proof(text)


def approved(database: str = "", run_id: str = "r1") -> None:
    """In another process: everything that waits is approved and carried out."""
    home = open_home(os.environ["TREADLE_HOME"], database=database)
    agent = Agent(Scripted("done"), tools=[proves], policy=[ask("*")])

    async def going_on() -> None:
        for each in await agent.approvals(run_id, journal=home.services()):
            await agent.approve(run_id, each.call_id, digest=each.digest, journal=home.services())
        result = await agent.resume(run_id, journal=home.services())
        print(*[record.result.content for record in result.calls], sep="\n")

    asyncio.run(going_on())
    close_home(home)


def test_secret_in_a_call__kept_in_postgresql(tmp_path, postgres):
    waiting(tmp_path, postgres)
    assert leaked(tables(postgres) + files(tmp_path)) == []
    said = other_process(tmp_path, "-c", f"from behaviour.test_secrets import approved; approved({postgres!r})")
    assert said.decode().split() == [proof(text) for text, _ in PLANTED]
    assert leaked(tables(postgres) + files(tmp_path)) == []


def test_secret_in_a_call__to_another_machine_with_another_key(tmp_path, postgres):
    waiting(tmp_path / "one", postgres, "r2")
    (tmp_path / "one" / "journal.key").rename(tmp_path / "away")
    code = f"from behaviour.test_secrets import approved; approved({postgres!r}, 'r2')"
    assert b"was encrypted with another key" in other_process(tmp_path / "other", "-c", code, code=1)
    key = (tmp_path / "away").read_text().strip()
    said = other_process(tmp_path / "other", "-c", f"import os; os.environ['TREADLE_KEY'] = {key!r}; {code}")
    assert said.decode().split() == [proof(text) for text, _ in PLANTED]


def test_secret_in_a_call__or_in_words_comes_back_as_it_was(tmp_path):
    words = " and ".join([text.strip() for text, _ in PLANTED])
    home = open_home(tmp_path)
    agent = Agent(Scripted(f"You said: {words}"), name="echo")

    async def forked():
        result = await agent.run(words, run_id="r1", journal=home.services())
        fork = await agent.fork("r1", journal=home.services())
        return result, await home.journal.read("r1"), await home.journal.read(fork)

    result, entries, copy = asyncio.run(forked())
    close_home(home)
    assert result.text == f"You said: {words}"
    assert entries == result.entries
    assert copy[:-1] == entries
    assert leaked(files(tmp_path) + treadle(tmp_path, "runs", "--json") + treadle(tmp_path, "show", "r1")) == []


def fetched(address: str, body: object = None) -> bytes:
    """What a server says."""
    sent = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address, sent, {"content-type": "application/json", "accept": "text/event-stream"})) as answer:
        return answer.read()


@pytest.mark.parametrize("policy", [(), (allow("*"),)], ids=["asked", "allowed"])
def test_secret_in_a_call__told_by_a_server(tmp_path, policy):
    model = Scripted(ScriptedReply(calls=tuple([ScriptedCall("takes", {"text": text}) for text, _ in PLANTED])), "done")
    lent = host(tmp_path, model)
    made = assistant("keys", toolsets=lambda _: [FunctionToolset([takes])], policy=policy)
    with Serving(tmp_path, [made], lent=lent) as server:
        stream = fetched(f"{server.url}/api/runs", {"assistant": "keys", "message": "Go."})
        run_id = json.loads(fetched(f"{server.url}/api/runs"))["runs"][0]["run_id"]
        places = (f"/api/runs/{run_id}", f"/api/runs/{run_id}/events", "/api/approvals", "/api/audit", "/metrics")
        later = [fetched(server.url + place) for place in places]
    assert stream.count(b'"call_returned"' if policy else b'"approval_needed"') >= 1
    assert leaked(b"\n".join([stream, *later])) == []
    close_home(lent.home)
    assert leaked(files(tmp_path)) == []


def traced() -> None:
    """In another process, since OpenTelemetry is set up once in each: all spans of two runs."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    text = " ".join([text for text, _ in PLANTED])
    for last in ("done", ModelRefused(f"It can't be {text}")):
        Agent(Scripted(calls(("takes", {"text": text})), last), tools=[takes], policy=[allow("*")]).run_sync("Go.")
    print(*[span.to_json() for span in exporter.get_finished_spans()])


def test_secret_in_a_call__traced(tmp_path):
    spans = other_process(tmp_path, "-c", "from behaviour.test_secrets import traced; traced()")
    assert b"execute_tool takes" in spans
    assert b"ModelRefused" in spans
    assert leaked(spans) == []


@pytest.mark.parametrize("form", ["--json", "--events"])
def test_secret_in_a_call__asked_on_the_command_line(tmp_path, form):
    box, script, home = tmp_path / "box.py", tmp_path / "script.json", tmp_path / "home"
    box.write_text("from treadle import tool\n\n\n@tool\ndef takes(text: str) -> str:\n    'Takes one.'\n    return 'taken'\n")
    asked = [{"name": "takes", "arguments": {"text": text}} for text, _ in PLANTED]
    script.write_text(json.dumps([{"calls": asked}, "done"]))
    words = ("ask", "Go.", "-m", f"scripted:{script}", "--tools", str(box), form)
    waits = other_process(home, "-m", "treadle.cli.main", *words, code=3)
    done = treadle(home, *words, "--yes")
    assert done.count(b"[redacted:") >= len(PLANTED)
    assert leaked(waits + done) == []
    assert leaked(files(home)) == []


def test_secret_in_a_call__queued_scheduled_and_given_to_a_job(tmp_path):
    words = " and ".join([text for text, _ in PLANTED])
    home = open_home(tmp_path)
    schedule = Schedule("daily", "0 7 * * *", "UTC", json.dumps({"message": words}), 5.0)

    async def kept():
        run_id = await submit_run(home, RunSpec("reading", "ollama:x"), words)
        schedules = Schedules(home.database, RunQueue(home.database))
        await schedules.add(schedule)
        return (await home.journal.read(run_id))[1], await schedules.all()

    said, schedules = asyncio.run(kept())
    job = Jobs(tmp_path).create("coding", "build", words, given={"description": words})
    close_home(home)
    assert (said.text, schedules) == (words, [schedule])
    assert Jobs(tmp_path).get(job.id) == job
    assert leaked(files(tmp_path) + treadle(tmp_path, "jobs", "--json")) == []


def test_secret_in_a_call__recorded_in_pieces(tmp_path):
    answers = [ScriptedReply(text=text, calls=(ScriptedCall("takes", {"text": text}),)) for text, _ in PLANTED]
    model = Recorded(tmp_path / "recording.jsonl", Scripted(*answers, "done", chunk=3), "record")
    limits = Limits(rounds=None, refuse_at=1000, nudge_at=1000)
    Agent(model, tools=[takes], policy=[allow("*")], limits=limits).run_sync("Go.")
    recording = files(tmp_path)
    assert recording.count(b"\n") > len(PLANTED)
    assert leaked(recording) == []
    said = ["".join([d["text"] for d in json.loads(line)["reply"] if d["delta"] == "text"]) for line in recording.splitlines()[1:]]
    assert leaked("\n".join(said).encode()) == []


def test_secret_in_a_call__whose_preview_breaks_is_not_in_the_log(tmp_path, log):
    class Breaking(FunctionToolset):
        async def preview(self, call, context):
            raise ValueError(f"no good: {call.arguments}")

    asked = [ScriptedCall("takes", {"text": text}) for text, _ in PLANTED]
    agent = Agent(Scripted(ScriptedReply(calls=tuple(asked))), toolsets=[Breaking([takes])], policy=[ask("*")])
    assert agent.run_sync("Go.").stopped == "waiting"
    assert log.text.count("The preview of takes failed") == len(PLANTED)
    assert leaked(log.text.encode()) == []


def test_secret_in_a_call__known_to_the_run_alone(tmp_path):
    home, secret = open_home(tmp_path), "correct horse battery staple"
    calls = ScriptedReply(calls=(ScriptedCall("takes", {"text": f"it is {secret}"}), ScriptedCall("pins", {"pin": "471147114711"})))
    agent = Agent(Scripted(calls, "done"), tools=[takes, pins], policy=[allow("*")], redactor=Redactor(["pin"]))
    asyncio.run(agent.run("Go.", run_id="r1", journal=home.services(), credentials={"shop": secret}))
    entries = asyncio.run(home.journal.read("r1"))
    close_home(home)
    assert [entry.call.arguments for entry in entries if isinstance(entry, Judged)][1] == {"pin": "471147114711"}
    assert [word for word in (secret.encode(), b"471147114711") if word in files(tmp_path)] == []


@tool
async def pins(pin: str) -> str:
    """Takes a number that only this agent takes for a secret."""
    return "taken"


def test_secret_in_a_call__is_all_that_is_encrypted(tmp_path):
    home = open_home(tmp_path)
    agent = Agent(Scripted(calls(("takes", {"text": PLAIN, "max_tokens": 4096})), PLAIN), tools=[takes], policy=[allow("*")])
    asyncio.run(agent.run(PLAIN, run_id="r1", journal=home.services()))
    close_home(home)
    assert b'"kind":"encrypted"' not in files(tmp_path)
    assert not (tmp_path / "journal.key").exists()
