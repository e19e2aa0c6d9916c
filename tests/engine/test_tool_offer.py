"""With many tools, a model sees a few and finds the others."""

from treadle import Agent, Discovery, FunctionToolset, tool
from treadle.models.scripted import calls
from treadle.testing import Scripted


def made(name: str, about: str):
    async def function() -> str:
        return name

    function.__name__ = name
    function.__doc__ = about
    return tool(function, effect="read")


TOOLS = [
    made("list_invoices", "All invoices of a customer."),
    made("send_invoice", "Send an invoice by post."),
    made("weather", "The weather of tomorrow."),
    made("help", "What can be done here."),
]


def names(model, request):
    return [spec.name for spec in model.requests[request].tools]


def test_few_tools_are_all_shown():
    model = Scripted("ok")
    Agent(model, tools=TOOLS).run_sync("Go.")
    assert names(model, 0) == ["list_invoices", "send_invoice", "weather", "help"]


def test_many_are_found_by_what_they_do_and_can_then_be_called():
    model = Scripted(calls(("find_tools", {"query": "invoices"})), calls(("send_invoice", {})), "sent")
    result = Agent(model, tools=TOOLS, discovery=Discovery(above=3, always=("help",))).run_sync("Go.")
    assert names(model, 0) == ["help", "find_tools"]
    assert names(model, 1) == ["list_invoices", "send_invoice", "help", "find_tools"]
    assert [record.result.content for record in result.calls][1] == "send_invoice"
    assert "send_invoice: Send an invoice by post." in result.calls[0].result.content


def test_a_search_that_finds_nothing_says_so():
    model = Scripted(calls(("find_tools", {"query": "zzz"})), "no")
    result = Agent(model, tools=TOOLS, discovery=Discovery(above=1)).run_sync("Go.")
    assert "No tool fits" in result.calls[0].result.content
    assert names(model, 1) == ["find_tools"]


def test_a_tool_of_ones_own_by_that_name_wins():
    own = made("find_tools", "My own.")
    model = Scripted(calls(("find_tools", {})), "ok")
    result = Agent(model, toolsets=[FunctionToolset([own])]).run_sync("Go.")
    assert result.calls[0].result.content == "find_tools"


def test_a_tool_of_ones_own_by_the_name_of_one_hides_no_other_and_is_offered_once():
    model = Scripted("ok")
    many = [made("find_tools", "My own."), *[made(f"tool_{number}", "One of many.") for number in range(60)]]
    Agent(model, toolsets=[FunctionToolset(many)]).run_sync("Go.")
    assert len(model.requests[0].tools) == 61

    model = Scripted(calls(("huge", {})), "ok")
    huge = tool(lambda: "y" * 50_000, name="huge", effect="read")
    Agent(model, toolsets=[FunctionToolset([made("read_result", "My own."), huge])]).run_sync("Go.")
    assert sorted(spec.name for spec in model.requests[1].tools) == ["huge", "read_result"]
    (shortened,) = model.requests[1].history[-1].parts
    assert "it is not kept" in shortened.content
    assert "read_result(" not in shortened.content
