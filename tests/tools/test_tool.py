import asyncio
import functools
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Literal

import pytest

from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.tool import RetryPolicy
from treadle.tools.tool import FunctionTool, as_tool, check_tool_name, to_tool_name, tool


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="read", timeout=5, trust="untrusted", cache=60, sequential=True, inline=True)
async def fetch(ctx: RunContext[Any], url: str) -> str:
    """Fetch a page."""
    return url


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    @tool(effect="read")
    def price(self, item: str) -> str:
        """What it costs here."""
        return f"{self.name}: {item}"

    @tool
    @staticmethod
    def hours(day: str) -> str:
        """When it is open."""
        return day

    @tool
    @classmethod
    def named(cls, name: str) -> str:
        """Where."""
        return cls.__name__ + name

    @staticmethod
    @tool
    def other(day: str) -> str:
        """When else."""
        return day


class Buyer:
    """Buys things."""

    async def __call__(self, item: str) -> str:
        return item


def test_a_decorated_function_is_called_as_before():
    assert add(1) == 3
    assert add(1, b=5) == 6
    assert asyncio.run(fetch(RunContext(), "x")) == "x"


def test_a_decorated_function_looks_as_before():
    assert add.__name__ == "add"
    assert add.__doc__ == "Add two numbers."
    assert add.__wrapped__ is add.function
    assert str(inspect.signature(add)) == "(a: int, b: int = 2) -> int"
    assert repr(add) == "<tool add>"


def test_what_the_engine_knows_of_a_bare_tool():
    made = add.tool
    assert (made.name, made.spec.description) == ("add", "Add two numbers.")
    assert (made.effect, made.retry, made.timeout, made.trust, made.cache, made.sequential) == (
        "write",
        "once",
        None,
        "trusted",
        0,
        False,
    )
    assert made.parameters["required"] == ["a"]
    assert not add.is_async
    assert not add.inline
    assert add.reconcile is None


def test_what_the_engine_knows_of_a_tool_with_options():
    made = fetch.tool
    assert (made.effect, made.retry, made.timeout, made.trust, made.cache, made.sequential) == (
        "read",
        "read",
        5,
        "untrusted",
        60,
        True,
    )
    assert list(made.parameters["properties"]) == ["url"]
    assert fetch.is_async
    assert fetch.inline
    assert fetch.signature.context == "ctx"


def test_the_name_and_description_can_be_chosen():
    named = tool(add.function, name="plus", description="")
    assert (named.tool.name, named.tool.spec.description, named.signature.name) == ("plus", "", "plus")


def test_the_retry_class_can_be_chosen():
    def happened(a: int, b: int = 2) -> int | None:
        return None

    assert tool(add.function, retry="idempotent").tool.retry == "idempotent"
    checkable = tool(add.function, retry="checkable", reconcile=happened)
    assert (checkable.tool.retry, checkable.reconcile) == ("checkable", happened)
    assert tool(add.function, preview=happened).preview is happened


def test_arguments_are_bound():
    assert add.bind({"a": 1}, None) == ((), {"a": 1})
    context: RunContext[Any] = RunContext()
    assert fetch.bind({"url": "x"}, context) == ((context,), {"url": "x"})


def test_a_method_is_a_tool_of_its_instance():
    corner, mall = Shop("corner"), Shop("mall")
    assert corner.price("A") == "corner: A"
    made = as_tool(mall.price)
    assert list(made.tool.parameters["properties"]) == ["item"]
    assert made.tool.effect == "read"
    args, kwargs = made.bind({"item": "B"}, None)
    assert made.function(*args, **kwargs) == "mall: B"


def test_a_method_of_no_instance_says_how_to_offer_it():
    assert isinstance(Shop.price, FunctionTool)
    with pytest.raises(BadTool, match="offer it from an instance"):
        as_tool(Shop.price)


def test_static_and_class_methods_are_tools():
    for found in (Shop.hours, Shop("a").hours, Shop.named, Shop("a").named, Shop.other, Shop("a").other):
        made: Any = as_tool(found)
        (name,) = made.tool.parameters["properties"]
        assert made(**{name: "x"}).endswith("x")


def test_a_callable_object_stays_itself_in_a_class():
    class Holder:
        buy = tool(Buyer())

    assert Holder().buy is Holder.buy


def test_plain_functions_become_tools_where_they_are_offered():
    def double(a: int) -> int:
        """Double."""
        return 2 * a

    made = as_tool(double)
    assert made.tool.name == "double"
    assert made.tool.effect == "write"
    assert as_tool(made) is made


async def slow(a: int) -> int:
    """Slow."""
    return a


def run_now(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return asyncio.run(function(*args, **kwargs))

    return wrapper


@pytest.mark.parametrize(
    ("function", "is_async"),
    [
        (slow, True),
        (functools.partial(slow, 1), True),
        (functools.partial(tool(slow), 1), True),
        (Buyer(), True),
        (Buyer().__call__, True),
        (tool(slow), True),
        (staticmethod(slow), True),
        (run_now(slow), False),
        (add, False),
    ],
)
def test_what_has_to_be_awaited_is_known(function: Any, is_async: bool):
    assert as_tool(function).is_async is is_async


def test_a_partial_fixes_what_it_was_given():
    made = as_tool(functools.partial(add, b=40))
    assert list(made.tool.parameters["properties"]) == ["a"]
    assert made(2) == 42


def test_nothing_is_worked_out_before_a_tool_is_used():
    broken = tool(lambda a: a)
    assert broken(5) == 5
    with pytest.raises(BadTool):
        as_tool(broken)


def test_importing_the_decorator_brings_nothing_heavy_along():
    heavy = {"dataclasses", "pydantic", "difflib", "pathlib", "urllib.parse", "asyncio"}
    program = f"import sys; import treadle.tools.tool; print(*(set(sys.modules) & {heavy}))"
    alone = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}  # which imports things itself
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True, env=alone)
    assert done.stdout.strip() == ""


def test_a_lambda_needs_a_name():
    def quick(a=5):
        return a

    nameless = lambda a=5: a  # noqa: E731  it is what people offer
    with pytest.raises(BadTool, match="A lambda has no name; give it one"):
        as_tool(nameless)
    assert as_tool(tool(nameless, name="five")).tool.name == "five"
    assert as_tool(quick).tool.name == "quick"


@pytest.mark.parametrize("name", ["has space", "", "x" * 65, "päckchen", "a.b"])
def test_a_name_no_model_may_use_is_refused_in_a_sentence(name: str):
    with pytest.raises(BadTool, match=r"can't be the name of a tool: use 1 to 64 letters, digits, `_` and `-` only\.$"):
        as_tool(tool(add.function, name=name))


@pytest.mark.parametrize(
    ("text", "name"),
    [("Clerk (night shift)", "Clerk_night_shift_"), ("Zürich", "Z_rich"), ("x" * 70, "x" * 64), ("a-b_2", "a-b_2")],
)
def test_a_text_becomes_a_name_that_models_may_use(text: str, name: str):
    assert to_tool_name(text) == check_tool_name(to_tool_name(text)) == name


def test_a_functions_own_name_that_no_model_may_use_comes_with_advice():
    def größe(a: int) -> int:
        """Size."""
        return a

    with pytest.raises(BadTool, match=r"choose one with `@tool\(name=\.\.\.\)`"):
        as_tool(größe)


def test_options_that_make_no_sense_are_refused_at_once():
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"effect": "none"}, "'none' is no effect of a tool; write one of read, write, destroy"),
        ({"retry": "always"}, "'always' is no retry of a tool"),
        ({"trust": "some"}, "'some' is no trust of a tool"),
        ({"timeout": 0}, "can't be given 0 seconds"),
        ({"cache": -1}, "can't be reused for -1 seconds"),
        ({"retry": "checkable"}, "needs `reconcile=`"),
    ]
    for options, words in wrong:
        with pytest.raises(BadTool) as caught:
            tool(**options)
        assert words in str(caught.value)


def test_what_is_no_function_is_refused_in_a_sentence():
    with pytest.raises(BadTool, match="5 can't be offered as a tool: it is no function"):
        as_tool(5)  # pyright: ignore[reportArgumentType] - the mistake under test


def test_a_generator_is_refused_in_a_sentence():
    def pages(a: int):
        """Pages."""
        yield a

    async def more(a: int):
        """More."""
        yield a

    for function in (pages, more):
        with pytest.raises(BadTool, match="yields its results one by one; return them as a list"):
            as_tool(function)


def _kept(action: Literal["get", "put", "drop"], item: str = "") -> str:
    """Keep things."""
    return action + item


def test_a_tool_with_actions_has_the_strongest_of_their_effects():
    made = tool(_kept, effects={"get": "read", "put": "write", "drop": "destroy"}).tool
    assert (made.effect, made.retry, made.effects) == ("destroy", "once", {"get": "read", "put": "write", "drop": "destroy"})
    looking = tool(_kept, effects=dict.fromkeys(("get", "put", "drop"), "read")).tool
    assert (looking.effect, looking.retry) == ("read", "read")


@pytest.mark.parametrize("effects", [{"get": "read"}, {"get": "read", "put": "write", "drop": "destroy", "Drop": "read"}])
def test_every_action_needs_its_effect_and_no_other_has_one(effects):
    with pytest.raises(BadTool, match="has to be a Literal of just these"):
        as_tool(tool(_kept, effects=effects))


def test_effects_of_actions_need_an_argument_that_chooses_the_action():
    with pytest.raises(BadTool, match="its argument `action` has to be a Literal"):
        as_tool(tool(add.function, effects={"get": "read"}))


def test_the_effect_of_an_action_is_one_that_there_is():
    with pytest.raises(BadTool, match="'reads' is no effect"):
        tool(_kept, effects={"get": "reads"})


def test_a_preview_can_be_added_to_a_tool_that_is_otherwise_as_it_was():
    shown = fetch.with_preview(str.upper)
    assert (shown.preview, fetch.preview, shown.tool) == (str.upper, None, fetch.tool)


@pytest.mark.parametrize("options", [{"effect": "read"}, {"retry": "idempotent"}, {"retry": "keyed"}, {"effects": {"a": "read"}}])
def test_what_may_run_twice_can_have_retries(options):
    def act(action: Literal["a"] = "a") -> str:
        """Act."""
        return action

    assert tool(act, retries=3, **options).tool.retries == RetryPolicy(3)
    assert tool(act, retries=RetryPolicy(1, 9.0, (OSError,)), **options).tool.retries == RetryPolicy(1, 9.0, (OSError,))
    assert tool(act, **options).tool.retries is None


@pytest.mark.parametrize("options", [{}, {"retry": "once"}, {"retry": "checkable", "reconcile": print}, {"effect": "destroy"}])
def test_a_write_that_must_not_happen_twice_has_no_retries(options):
    with pytest.raises(BadTool, match="may have taken effect, so only reads and repeatable writes"):
        tool(retries=1, **options)


@pytest.mark.parametrize("retries", [-1, RetryPolicy(1, -0.5)])
def test_a_number_of_retries_is_not_negative(retries):
    with pytest.raises(BadTool, match="can't be tried again"):
        tool(effect="read", retries=retries)
