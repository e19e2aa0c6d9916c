"""Context that toolsets provide: loaded once, journaled, cut to the model's window."""

from contextlib import asynccontextmanager

from treadle import Agent, RunContext, allow, tool
from treadle.core.entries import Informed
from treadle.core.messages import ContextItem
from treadle.core.requests import Traits
from treadle.core.tool import ToolResult
from treadle.engine.agent_context import LEAST_CHARACTERS, MAX_CHARACTERS, context_limit, fit_items
from treadle.engine.display import print_progress
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.toolsets import FunctionToolset, LazyToolset


class Notes(FunctionToolset):
    """A toolset with context."""

    def __init__(self, *items):
        super().__init__(())
        self.items = items
        self.asked = 0

    async def provide_context(self, context):
        self.asked += 1
        return self.items


def test_context_is_cut_by_its_longest_items():
    items = [ContextItem("a", "a" * 10), ContextItem("b", "b" * 1000), ContextItem("c", "c" * 40)]
    cut = fit_items(items, 100)
    assert [item.text[:12] for item in cut] == ["a" * 10, "b" * 12, "c" * 12]
    assert cut[2].text == "c" * 40
    assert cut[1].text == "b" * 50 + "\n[… 950 more characters aren't shown …]"
    assert fit_items((), 100) == ()


def test_a_model_with_a_small_window_reads_less():
    assert context_limit(None) == context_limit(10**6) == MAX_CHARACTERS
    assert context_limit(8_000) == 8_000
    assert context_limit(10) == LEAST_CHARACTERS
    model = Scripted("done", traits=Traits(native_calls=True, context=8_000))
    Agent(model, toolsets=[Notes(ContextItem("a", "word " * 10_000))]).run_sync("Go.")
    assert 8_000 < len(model.requests[0].instructions) < 8_100


def test_secrets_in_it_are_masked_and_what_is_empty_is_left_out():
    model = Scripted("done")
    items = ContextItem("a", "The key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD."), ContextItem("b", " ")
    result = Agent(model, toolsets=[Notes(*items)]).run_sync("Go.")
    assert "abcdefghijkl" not in model.requests[0].instructions
    (entry,) = [entry for entry in result.entries if isinstance(entry, Informed)]
    assert [item.source for item in entry.items] == ["a"]


def test_a_run_without_sources_has_no_entry_of_it():
    result = Agent(Scripted("done"), toolsets=[FunctionToolset([]), FunctionToolset([])]).run_sync("Go.")
    assert not [entry for entry in result.entries if isinstance(entry, Informed)]


def test_trusted_context_vouches_for_values_and_changes_no_policy():
    sent = []

    @tool(effect="read", trust="untrusted")
    async def page() -> str:
        """A page."""
        return "words"

    @tool
    async def send_mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    notes = Notes(ContextItem("notes", "Reports go to ann@example.org.", "What the user noted."))
    script = Scripted(calls(("page", {})), calls(("send_mail", {"to": "ann@example.org"})), "done")
    agent = Agent(script, tools=[page, send_mail], toolsets=[notes], policy=[allow("send_mail")])
    assert agent.run_sync("Send the report.").stopped == "answered"
    assert sent == ["ann@example.org"]
    assert script.requests[0].instructions == "What the user noted.\n\nReports go to ann@example.org."


def test_each_agent_of_a_run_has_its_own(capsys):
    first, second = Notes(ContextItem("a", "AAA")), Notes(ContextItem("b", "BBB"))
    model = Scripted(calls(("transfer_to_other", {})), "done", "again")
    other = Agent(model, name="other", toolsets=[second])
    agent = Agent(model, name="first", toolsets=[first], handoffs=[other])
    result = agent.run_sync("Go.", watchers=[print_progress])
    assert [request.instructions for request in model.requests] == ["AAA", "BBB"]
    agent.run_sync("Go on.", run_id=result.run_id)
    assert model.requests[2].instructions == "BBB"
    assert (first.asked, second.asked) == (1, 1)
    assert "[read a]" in capsys.readouterr().out


def test_a_toolset_that_is_opened_later_provides_its_context_too():
    @asynccontextmanager
    async def opened():
        yield Notes(ContextItem("a", "AAA"))

    model = Scripted("done")
    Agent(model, toolsets=[LazyToolset(opened)]).run_sync("Go.")
    assert model.requests[0].instructions == "AAA"


def test_a_nested_run_with_untrusted_context_gives_an_untrusted_answer():
    inner = Agent(Scripted("inner"), name="inner", toolsets=[Notes(ContextItem("a", "AAA", untrusted=True))])
    plain = Agent(Scripted("plain"), name="plain", toolsets=[Notes(ContextItem("a", "AAA"))])
    model = Scripted(calls(("inner", {"prompt": "x"}), ("plain", {"prompt": "x"})), "done")
    result = Agent(model, tools=[inner.as_tool(), plain.as_tool()]).run_sync("Go.")
    assert [record.result.untrusted for record in result.calls] == [True, False]


def test_a_tool_can_mark_one_result_as_untrusted_and_knows_what_was_read():
    seen = []

    @tool(effect="read", cache=60)
    async def look(ctx: RunContext, where: str) -> ToolResult:
        """Look."""
        seen.append(ctx.tainted)
        return ToolResult("words", untrusted=where == "web")

    model = Scripted(calls(("look", {"where": "here"})), calls(("look", {"where": "web"})), calls(("look", {"where": "x"})), "done")
    result = Agent(model, tools=[look]).run_sync("Go.")
    assert [record.result.untrusted for record in result.calls] == [False, True, False]
    assert seen == [False, False, True]
