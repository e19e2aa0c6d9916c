"""Toolsets made of toolsets."""

import asyncio
from contextlib import asynccontextmanager, nullcontext

import pytest

from treadle import Agent, FunctionToolset, RunContext, tool
from treadle.core.calls import Call, Preview
from treadle.core.errors import BadTool
from treadle.core.messages import ContextItem
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.toolsets.checkpointed import checkpointed
from treadle.toolsets.diagnostics.toolset import diagnosed
from treadle.toolsets.dynamic import prepared
from treadle.toolsets.wrappers import (
    CombinedToolset,
    LazyToolset,
    WrapperToolset,
    only,
    prefixed,
    preview_call,
    renamed,
    untrusted,
    with_cache,
)


@tool(effect="read")
async def read(name: str) -> str:
    """Read."""
    return f"read {name}"


@tool(retry="checkable", reconcile=lambda name: f"found {name}", preview=lambda name: f"would write {name}")
async def write(name: str) -> str:
    """Write."""
    return f"wrote {name}"


FILES = FunctionToolset([read, write], name="files")


def names(toolset):
    return [tool.name for tool in toolset.tools()]


def call(toolset, name):
    async def inside():
        async with toolset:
            toolset.tools()
            return await toolset.call(Call("c", name, {"name": "a"}), RunContext())

    return asyncio.run(inside())


def reconcile(toolset, name):
    toolset.tools()
    return asyncio.run(toolset.reconcile(Call("c", name, {"name": "a"}), RunContext()))


def test_only_some_of_the_tools():
    assert names(only(FILES, "re*")) == ["read"]
    assert call(only(FILES, "re*"), "read") == "read a"


def test_a_name_that_no_tool_has_is_refused():
    with pytest.raises(BadTool, match=r"`only` names 'raed', which this toolset doesn't have\. Did you mean read\?"):
        only(FILES, "write", "raed")
    with pytest.raises(BadTool, match=r"`renamed` names 'look', which this toolset doesn't have\. There are: read, write\."):
        renamed(FILES, {"look": "open"})
    assert names(only(FILES, "look*")) == []
    assert names(only(LazyToolset(lambda: nullcontext(FILES)), "look")) == []  # it may have it once it is entered


def test_other_names():
    assert names(renamed(FILES, {"read": "open"})) == ["open", "write"]
    assert call(renamed(FILES, {"read": "open"}), "open") == "read a"
    assert names(prefixed(FILES, "docs")) == ["docs_read", "docs_write"]
    assert call(prefixed(FILES, "docs"), "docs_write") == "wrote a"
    assert reconcile(prefixed(FILES, "docs"), "docs_write") == "found a"


def test_other_settings():
    assert [tool.cache for tool in with_cache(FILES, 30).tools()] == [30, 0]
    assert {tool.trust for tool in untrusted(FILES).tools()} == {"untrusted"}


def test_wrapping_is_done_once_as_long_as_nothing_changes():
    wrapped = prefixed(FILES, "a")
    both = CombinedToolset(wrapped, FILES)
    assert wrapped.tools() is wrapped.tools()
    assert both.tools() is both.tools()


def test_several_as_one():
    both = CombinedToolset(prefixed(FILES, "a"), prefixed(FILES, "b"))
    assert names(both) == ["a_read", "a_write", "b_read", "b_write"]
    assert call(both, "b_read") == "read a"
    assert reconcile(both, "a_write") == "found a"


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(BadTool, match="prefixed"):
        CombinedToolset(FILES, FILES).tools()


def test_a_tool_without_a_way_to_look_it_up_says_so():
    with pytest.raises(BadTool, match="reconcile"):
        reconcile(FILES, "read")

    class Bare:
        async def __aenter__(self):
            return self

        async def __aexit__(self, *_):
            return None

        def tools(self):
            return FILES.tools()

        async def call(self, call, context):
            return "x"

    with pytest.raises(BadTool, match="reconcile"):
        reconcile(prefixed(Bare(), "x"), "x_read")


def test_an_agent_takes_toolsets_and_functions_together():
    @tool(effect="read")
    def now() -> str:
        """The time."""
        return "noon"

    model = Scripted(calls(("docs_read", {"name": "a"}), ("now", {})), "ok")
    result = Agent(model, tools=[now, prefixed(FILES, "docs")]).run_sync("Go.")
    assert [record.result.content for record in result.calls] == ["read a", "noon"]


def test_what_a_call_would_do_is_asked_where_the_tool_lives():
    both = CombinedToolset(prefixed(FILES, "a"), renamed(FILES, {"write": "put"}))
    both.tools()

    def told(name):
        return asyncio.run(both.preview(Call("c", name, {"name": "x"}), RunContext())).text

    assert (told("a_write"), told("put"), told("a_read")) == ("would write x", "would write x", "")


def test_a_toolset_that_cant_tell_says_nothing():
    class Silent:
        def tools(self):
            return FILES.tools()

    assert asyncio.run(preview_call(Silent(), Call("c", "write", {"name": "x"}), RunContext())).text == ""


def test_tools_that_are_made_when_they_are_needed():
    seen = []

    @asynccontextmanager
    async def opened():
        seen.append("opened")
        try:
            yield FILES
        finally:
            seen.append("closed")

    async def inside(late):
        async with late:
            assert (names(late), seen) == (["read", "write"], ["opened"])
            asked = Call("c", "write", {"name": "a"})
            said = [await each(asked, RunContext()) for each in (late.call, late.reconcile, late.preview)]
            assert (*said[:2], said[2].text) == ("wrote a", "found a", "would write a")
            raise RuntimeError("stop")

    late = LazyToolset(opened)
    assert names(late) == []
    with pytest.raises(RuntimeError, match="stop"):
        asyncio.run(inside(late))
    assert (names(late), seen) == ([], ["opened", "closed"])


def test_tools_that_are_entered_by_two_are_made_for_each():
    made = iter([FILES, only(FILES, "read")])

    @asynccontextmanager
    async def opened():
        yield next(made)

    async def inside(late):
        async with late:
            async with late:
                assert names(late) == ["read"]
            assert names(late) == ["read", "write"]

    asyncio.run(inside(LazyToolset(opened)))


class EverythingToolset:
    """A toolset with all that a toolset can have."""

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, trace):
        return None

    def tools(self):
        return FILES.tools()

    async def prepare(self, context):
        return FILES.tools()[1:]

    async def provide_context(self, context):
        return [ContextItem("notes", "Look here.")]

    async def call(self, call, context):
        return f"called {call.name}"

    def return_schema(self, name):
        return {"title": name}

    async def reconcile(self, call, context):
        return f"reconciled {call.name}"

    async def preview(self, call, context):
        return Preview(f"previewed {call.name}")


@asynccontextmanager
async def open_everything():
    yield EverythingToolset()


class NoCheckpoints:
    async def take(self, label):
        return "same"


WRAPPERS = {
    "wrapper": lambda folder: WrapperToolset(EverythingToolset()),
    "only": lambda folder: only(EverythingToolset(), "*"),
    "combined": lambda folder: CombinedToolset(EverythingToolset()),
    "lazy": lambda folder: LazyToolset(open_everything),
    "prepared": lambda folder: prepared(EverythingToolset(), lambda context, tool: tool),
    "checkpointed": lambda folder: checkpointed(EverythingToolset(), NoCheckpoints()),
    "diagnosed": lambda folder: diagnosed(EverythingToolset(), folder),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_pass_everything_on(name, tmp_path):
    async def inside():
        wrote = Call("c", "write", {"name": "a"})
        async with WRAPPERS[name](tmp_path) as toolset:
            assert names(toolset) == ["read", "write"]
            assert [tool.name for tool in await toolset.prepare(RunContext())] == ["write"]
            assert await toolset.provide_context(RunContext()) == [ContextItem("notes", "Look here.")]
            assert await toolset.call(wrote, RunContext()) == "called write"
            assert toolset.return_schema("write") == {"title": "write"}
            assert await toolset.reconcile(wrote, RunContext()) == "reconciled write"
            assert await toolset.preview(wrote, RunContext()) == Preview("previewed write")

    asyncio.run(inside())


class PerRunToolset(EverythingToolset):
    async def for_run(self, context):
        return FunctionToolset([read], name="chosen")


@pytest.mark.parametrize(
    "wrap",
    [WrapperToolset, CombinedToolset, lambda inner: only(inner, "*"), lambda inner: prepared(inner, lambda context, tool: tool)],
)
def test_a_wrapper_is_copied_around_the_toolset_of_a_run(wrap):
    toolset = wrap(PerRunToolset())
    of_run = asyncio.run(toolset.for_run(RunContext()))
    assert (names(toolset), names(of_run)) == (["read", "write"], ["read"])
    assert call(of_run, "read") == "read a"
