"""The public face."""

import asyncio
import subprocess
import sys
from contextlib import suppress

import pytest

import treadle
from treadle import Agent, Limits, ResultOptions, Usage, ask, resolve_model, tool
from treadle.agent.agent import MOST_IN_MEMORY
from treadle.core.errors import BadTool, JournalError, RunTaken, SettingsError, UnknownModel
from treadle.core.events import RunStarted, TextArrived
from treadle.core.requests import TextDelta, Traits
from treadle.errors import RunNotFound
from treadle.models.providers import PROVIDERS
from treadle.models.scripted import ScriptedReply, calls
from treadle.prices import calculate_cost
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted

PUBLIC = [
    "Agent",
    "Allow",
    "Answer",
    "Approval",
    "Ask",
    "Audio",
    "Call",
    "CallRecord",
    "CodeMode",
    "Compaction",
    "Deny",
    "Discovery",
    "Document",
    "FunctionToolset",
    "Grant",
    "History",
    "Home",
    "Image",
    "Limits",
    "Message",
    "Model",
    "Options",
    "Preview",
    "RequestRecord",
    "Result",
    "ResultOptions",
    "RetryPolicy",
    "RunContext",
    "RunFailed",
    "RunInfo",
    "RunResult",
    "RunWaiting",
    "Runs",
    "Text",
    "Tool",
    "ToolProblem",
    "ToolResult",
    "Toolset",
    "TreadleError",
    "Usage",
    "__version__",
    "allow",
    "ask",
    "deny",
    "dump_history",
    "load_history",
    "open_home",
    "resolve_model",
    "tool",
]


def test_the_public_names_are_these_and_all_of_them_are_there():
    assert treadle.__all__ == dir(treadle) == PUBLIC
    assert [name for name in PUBLIC if not hasattr(treadle, name)] == []
    with pytest.raises(AttributeError):
        _ = treadle.Nothing


HEAVY = (
    *("aiohttp", "httpx", "yarl", "http", "email", "sqlite3", "pydantic", "jinja2", "yaml", "opentelemetry", "genai_prices"),
    *(
        "platformdirs",
        "prompt_toolkit",
        "dataclasses",
        "json",
        "importlib.metadata",
        "multiprocessing",
        "unittest",
        "xllamacpp",
        "numpy",
        "cryptography",
    ),
    *(
        "treadle.home",
        "treadle.guard.provenance",
        "treadle.models.diagnosis",
        "treadle.models.connections",
        "treadle.stores.sqlite",
    ),
)
MOST_MODULES = 150  # that Treadle adds to asyncio's: a module is a third of a millisecond


def test_importing_the_public_names_imports_nothing_heavy_and_not_much():
    code = "import asyncio, sys; before = set(sys.modules); from treadle import Agent, tool; print(*set(sys.modules) - before)"
    added = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert sorted(added & set(HEAVY)) == []
    assert len(added) <= MOST_MODULES


@pytest.mark.parametrize(
    ("name", "words"),
    [("gpt-4o", "openai:gpt-4o"), ("", "KIND:NAME"), ("openai:", "KIND:NAME"), ("acme:big", "no kind of model|No kind of model")],
)
def test_an_unknown_model_is_told_in_a_sentence(name, words):
    with pytest.raises(UnknownModel, match=words):
        Agent(name)


def test_a_model_object_is_taken_as_it_is():
    model = Scripted("a")
    assert resolve_model(model) is model


def test_a_tool_without_type_hints_is_refused_when_the_agent_is_made():
    def vague(item):
        """Vague."""

    with pytest.raises(BadTool, match="item"):
        Agent(Scripted("a"), tools=[vague])


def test_plain_functions_are_tools_too():
    def double(number: int) -> int:
        """Twice the number."""
        return 2 * number

    model = Scripted(calls(("double", {"number": 4})), "8")
    result = Agent(model, tools=[double], approver=lambda approval: True).run_sync("Go.")
    assert result.calls[0].result.content == "8"
    assert model.requests[0].tools[0].description == "Twice the number."


def test_two_tools_of_one_name_are_refused():
    @tool(name="look")
    def one() -> str:
        """One."""

    @tool(name="look")
    def two() -> str:
        """Two."""

    with pytest.raises(BadTool, match="two tools called look"):
        Agent(Scripted("a"), tools=[one, two])


def test_a_long_conversation_is_kept_within_what_the_model_can_read():
    @tool(effect="read")
    async def page(number: int) -> str:
        """A page."""
        return str(number) * 4000

    script = [calls(("page", {"number": number})) for number in range(8)]
    model = Scripted(*script, "read", traits=Traits(context=8000))
    result = Agent(model, tools=[page], results=ResultOptions(limit=5000)).run_sync("Read it all, and remember MY WORDS.")
    assert result.output == "read"
    sizes = [request.history.size for request in model.requests]
    assert max(sizes) < (8000 - 2048) * 3.5 + 4100
    assert "MY WORDS" in model.requests[-1].history[0].parts[0].text
    assert "left out to save room" in str(list(model.requests[-1].history))
    assert "7" * 4000 in str(list(model.requests[-1].history))


def test_money_is_counted_and_limited_where_the_price_is_known():
    usage = Usage(1, 0, 100_000, 1000)

    @tool(effect="read")
    async def look(place: int) -> int:
        """Look."""
        return place

    script = [ScriptedReply(calls=calls(("look", {"place": number})).calls, usage=usage) for number in range(20)]
    model = Scripted(*script[:3], ScriptedReply("enough", usage=usage), name="openai:gpt-4o-mini")
    result = Agent(model, tools=[look], limits=Limits(cost=0.065)).run_sync("Go.")
    assert result.stopped == "limit"
    assert "$0.065" in result.reason
    assert 0.03 < result.cost <= 0.065


def test_a_limit_on_the_cost_that_cannot_be_kept_is_refused():
    with pytest.raises(SettingsError, match=r"The price of openai:no-such-model isn't known, so a limit of \$1 can't be kept"):
        Agent(Scripted("a", name="openai:no-such-model"), limits=Limits(cost=1))
    with pytest.raises(SettingsError, match="isn't known"):
        Agent(Scripted("a"), limits=Limits(cost=1)).run_sync("Go.", model=Scripted("a", name="plugin:x"))
    assert Agent(Scripted("a", name="ollama:qwen3"), limits=Limits(cost=1)).run_sync("Go.").cost == 0.0


def test_a_price_of_ones_own_counts(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text('[prices."openai:own-5.5"]\ninput = 2\noutput = 10\ncache_read = 0.5\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "mine.toml"))
    usage = Usage(1, 0, 1_000_000, 100_000, cache_read_tokens=400_000)
    model = Scripted(ScriptedReply("a", usage=usage), name="openai:own-5.5")
    assert Agent(model, limits=Limits(cost=100)).run_sync("Go.").cost == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10)


def test_every_provider_with_prices_has_some():
    for provider in PROVIDERS.values():
        if provider.prices and provider.default_model:
            assert calculate_cost(f"{provider.kind}:{provider.default_model}", Usage(input_tokens=1000, output_tokens=10)), (
                provider.kind
            )


def test_a_model_nobody_knows_has_no_price():
    model = Scripted("a", name="openai:no-such-model-anywhere")
    assert Agent(model, priced=True).run_sync("Go.").cost is None
    assert Agent(Scripted("a", name="ollama:qwen3"), priced=True).run_sync("Go.").cost == 0.0


def test_a_run_without_a_journal_is_continued_by_its_id():
    agent = Agent(Scripted("a", "b", "c"))
    first = agent.run_sync("Go.")
    assert [str(len(agent.run_sync(f"{number}?", run_id=first.run_id).history)) for number in range(2)] == ["4", "6"]


def test_the_oldest_runs_without_a_journal_are_dropped_and_never_begun_anew_by_mistake():
    async def tale():
        agent = Agent(Scripted(*["fine"] * (MOST_IN_MEMORY + 2)))
        for number in range(MOST_IN_MEMORY + 1):
            await agent.run("Go.", run_id=f"r{number}")
        await agent.run("And?", run_id="r1")
        await agent.run("And?", run_id="r0")

    with pytest.raises(
        JournalError, match="Run r0 is no longer there: memory has only the last 100 that are over; use journal=True"
    ):
        asyncio.run(tale())


def test_a_journaled_run_is_kept_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path))
    result = Agent(Scripted("kept")).run_sync("Go.", run_id="r", journal=True)
    again = Agent(Scripted()).resume_sync("r")
    assert result.output == again.output == "kept"
    assert (tmp_path / "treadle.db").exists()


@tool
async def order(item: str) -> str:
    """Order."""
    return f"{item} ordered"


async def _slow_words():
    for number in range(1000):
        yield TextDelta(f"word {number} ")
        await asyncio.sleep(0.01)


def test_leaving_a_stream_early_cancels_the_run_and_the_conversation_goes_on():
    async def tale():
        journal = MemoryJournal()
        agent = Agent(Scripted(lambda request: _slow_words(), "In short."))
        async for event in agent.stream("Everything!", run_id="r", journal=journal):
            if isinstance(event, TextArrived):
                break
        while True:  # until whoever collects what was left has done so
            with suppress(RunTaken):
                return await agent.run("And now?", run_id="r", journal=journal)
            await asyncio.sleep(0.01)

    assert asyncio.run(tale()).output == "In short."


def test_a_run_that_is_taken_up_can_be_seen_too():
    async def tale():
        journal = MemoryJournal()
        agent = Agent(Scripted(calls(("order", {"item": "tin"})), "Done."), tools=[order], policy=[ask("*")])
        waiting = await agent.run("Go.", run_id="r", journal=journal)
        await agent.approve("r", waiting.approvals[0].call_id, journal=journal)
        return [event async for event in agent.stream_resumed("r", journal=journal)]

    events = asyncio.run(tale())
    assert isinstance(events[0], RunStarted)
    assert events[0].resumed
    assert events[-1].result.output == "Done."


def test_a_stream_of_a_run_that_isnt_there_says_so():
    async def tale():
        return [event async for event in Agent(Scripted("x")).stream_resumed("nothing", journal=MemoryJournal())]

    with pytest.raises(RunNotFound):
        asyncio.run(tale())
