"""`@tool`: a function, unchanged, that can also be offered to a model.

Nothing is computed when a function is decorated: its schema is read when the tool is first used (`as_tool`), and that is when
a function that can't be a tool raises. Running it is up to `toolsets.python`.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, partial, update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Protocol, TypedDict, Unpack, cast, get_args, overload

import msgspec
from msgspec import Struct

from treadle.core.calls import REPEATABLE, Effect, Retry, Trust
from treadle.core.context import DepsT_co, RunContext
from treadle.core.errors import BadTool
from treadle.core.requests import Shorthand, ToolSpec
from treadle.core.tool import ACTION, RetryPolicy, Tool, strongest
from treadle.tools.convert import Binder, make_binder
from treadle.tools.schema import FunctionSignature, function_name, read_signature

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    P = ParamSpec("P", default=...)
    R = TypeVar("R", default=Any)
    DepsT = TypeVar("DepsT", default=object)
    DepsT_contra = TypeVar("DepsT_contra", default=object, contravariant=True)
else:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")
    DepsT = TypeVar("DepsT")
    DepsT_contra = TypeVar("DepsT_contra", contravariant=True)

Q = ParamSpec("Q")

Prepare = Callable[[RunContext[Any], Tool], Tool | Awaitable[Tool | None] | None]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class ToolOptions(TypedDict, total=False):
    """The options of `@tool`; see `tool`."""

    name: str | None
    description: str | None
    effect: Effect
    effects: Mapping[str, Effect]
    retry: Retry | None
    timeout: float | None
    trust: Trust
    cache: float
    sequential: bool
    inline: bool
    reconcile: Callable[..., Any] | None
    preview: Callable[..., Any] | None
    sends_to: str | None
    command_line: Mapping[str, Shorthand]
    retries: int | RetryPolicy
    prepare: Prepare | None
    background: bool


class _ToolSettings(Struct, frozen=True):
    """The options of one tool."""

    name: str | None = None
    description: str | None = None
    effect: Effect = "write"
    retry: Retry | None = None
    timeout: float | None = None
    trust: Trust = "trusted"
    cache: float = 0
    sequential: bool = False
    inline: bool = False
    reconcile: Callable[..., Any] | None = None
    preview: Callable[..., Any] | None = None
    sends_to: str | None = None
    effects: Mapping[str, Effect] = {}
    command_line: Mapping[str, Shorthand] = {}
    retries: RetryPolicy | None = None
    prepare: Prepare | None = None
    background: bool = False


class FunctionTool(Generic[P, R, DepsT_contra]):
    """A function that is also a tool: call it as before, or put it into `tools=[...]`. Methods work from their instance.

    `DepsT_contra` is the type of the dependencies that it needs, if its first parameter is a `RunContext`.
    """

    def __init__(self, function: Callable[P, R], terms: _ToolSettings) -> None:
        update_wrapper(self, function, updated=())
        self.function = function
        self._terms = terms

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type) -> "FunctionTool[P, R, DepsT_contra]": ...
    @overload
    def __get__(self: "FunctionTool[Concatenate[Any, Q], R, Any]", instance: object, owner: type) -> "FunctionTool[Q, R, Any]": ...
    def __get__(self, instance: object, owner: type) -> "FunctionTool[..., R, Any]":
        bind = getattr(self.function, "__get__", None)
        bound = self.function if bind is None else bind(instance, owner)
        return self if bound is self.function else FunctionTool(bound, self._terms)

    @cached_property
    def signature(self) -> FunctionSignature:
        """The function's signature, as offered to the model."""
        found = read_signature(self.function)
        chosen = self._terms.name
        name = check_tool_name(
            found.name if chosen is None else chosen, "; choose one with `@tool(name=...)`" if chosen is None else ""
        )
        description = found.description if self._terms.description is None else self._terms.description
        return msgspec.structs.replace(found, name=name, description=description)

    @cached_property
    def tool(self) -> Tool:
        """The tool as the engine and the policy see it."""
        terms, told = self._terms, self.signature
        _check_actions(terms.effects, told)
        effect = _strongest_effect(terms)
        return Tool(
            ToolSpec(told.name, told.description, told.parameters, dict(terms.command_line)),
            effect=effect,
            effects=terms.effects,
            retry=_retry_class(terms),
            timeout=terms.timeout,
            trust=terms.trust,
            cache=terms.cache,
            sequential=terms.sequential,
            sends_to=terms.sends_to,
            retries=terms.retries,
            background=terms.background,
        )

    @cached_property
    def bind(self) -> Binder:
        """The converter from validated arguments and the run's context to the function's `(args, kwargs)`."""
        return make_binder(self.signature)

    @cached_property
    def is_async(self) -> bool:
        """Whether calling it returns an awaitable."""
        from inspect import iscoroutinefunction

        return iscoroutinefunction(_underlying_function(self.function))

    @property
    def inline(self) -> bool:
        """Whether it is fast enough to run in the event loop although it isn't async."""
        return self._terms.inline

    @property
    def reconcile(self) -> Callable[..., Any] | None:
        """The callback that says whether an interrupted call happened."""
        return self._terms.reconcile

    @property
    def preview(self) -> Callable[..., Any] | None:
        """The callback that says what a call would do."""
        return self._terms.preview

    @property
    def prepare(self) -> Prepare | None:
        """The hook that decides how the tool is offered with a request, if at all."""
        return self._terms.prepare

    def with_preview(self, preview: Callable[..., Any]) -> "FunctionTool[P, R, DepsT_contra]":
        """Return the same tool with a preview, for one that can only be made of an instance."""
        return FunctionTool(self.function, msgspec.structs.replace(self._terms, preview=preview))

    def __repr__(self) -> str:
        return f"<tool {function_name(self.function)}>"


if TYPE_CHECKING:

    class _Anything: ...  # accepted only by a first parameter of type `Any` or `object`, which is no context

    class _ContextArgument(RunContext[DepsT_co], Any): ...  # as an argument it fits any type but a `RunContext` of other deps

    class _ToolDecorator(Protocol):
        """The decorator that `@tool(...)` returns, with the overloads of `tool`."""

        @overload
        def __call__(self, function: Callable[Concatenate[_Anything, P], R], /) -> FunctionTool[Concatenate[Any, P], R, object]: ...
        @overload
        def __call__(
            self, function: Callable[Concatenate[RunContext[DepsT], P], R], /
        ) -> FunctionTool[Concatenate[RunContext[DepsT], P], R, DepsT]: ...
        @overload
        def __call__(self, function: Callable[P, R], /) -> FunctionTool[P, R, object]: ...

    # A `FunctionTool` has no `__name__` for type checkers, so that only its own dependencies decide whether it fits.
    class _Function(Protocol[DepsT_contra]):
        @property
        def __name__(self) -> str: ...
        def __call__(self, first: _ContextArgument[DepsT_contra], /, *args: Any, **kwargs: Any) -> Any: ...

    class _FunctionOfNothing(Protocol):
        @property
        def __name__(self) -> str: ...
        def __call__(self) -> Any: ...

    ToolFunction = FunctionTool[..., Any, DepsT] | _Function[DepsT] | _FunctionOfNothing | partial[Any]


@overload
def tool(
    function: Callable[Concatenate["_Anything", P], R], /, **options: Unpack[ToolOptions]
) -> FunctionTool[Concatenate[Any, P], R, object]: ...
@overload
def tool(
    function: Callable[Concatenate[RunContext[DepsT], P], R], /, **options: Unpack[ToolOptions]
) -> FunctionTool[Concatenate[RunContext[DepsT], P], R, DepsT]: ...
@overload
def tool(function: Callable[P, R], /, **options: Unpack[ToolOptions]) -> FunctionTool[P, R, object]: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> "_ToolDecorator": ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "write",
    effects: Mapping[str, Effect] | None = None,
    retry: Retry | None = None,
    timeout: float | None = None,
    trust: Trust = "trusted",
    cache: float = 0,
    sequential: bool = False,
    inline: bool = False,
    reconcile: Callable[..., Any] | None = None,
    preview: Callable[..., Any] | None = None,
    sends_to: str | None = None,
    command_line: Mapping[str, Shorthand] | None = None,
    retries: int | RetryPolicy = 0,
    prepare: Prepare | None = None,
    background: bool = False,
) -> Any:
    """Make a function a tool, as `@tool` or `@tool(effect="read", timeout=5)`.

    name         what the model calls it by, if not by the function's name
    description  what the model is told, if not the docstring
    effect       what it does to the world: "read", "write" or "destroy"
    effects      the effect of each value of the argument `action`, instead of `effect`: `{"get": "read", "put": "write"}`
    retry        what to do when the process died during a call: "read" for effect "read", else "once", unless it says otherwise
    timeout      seconds until a call is given up
    trust        "untrusted" if what it returns may be written by anybody, such as a web page
    cache        seconds a result may be reused
    sequential   the calls before it are waited for, and the calls after it wait
    inline       quick enough to run in the event loop although it isn't async
    reconcile    for retry "checkable": gets the same arguments; returns the result if the call happened, else None
    preview      gets the same arguments; returns what the call would do, for the person who is asked about it
    sends_to     the third party that its arguments go to, such as "a search engine"; "" if they go nowhere
    command_line options that stand for arguments, for models that call by command lines (`core.requests.Shorthand`)
    retries      how often a call that raised is tried again, with increasing delays, before the model reads the problem; or a
                 `RetryPolicy`. Only for reads, and for writes whose `retry` says that they may run twice
    prepare      gets the `RunContext` and the `Tool` before each request; returns it, a changed copy, or None to leave it out
    background   a call returns at once; the model goes on meanwhile, and reads the result with `background_result`
    """
    terms = _ToolSettings(
        name,
        description,
        effect,
        retry,
        timeout,
        trust,
        cache,
        sequential,
        inline,
        reconcile,
        preview,
        sends_to,
        dict(effects or {}),
        dict(command_line or {}),
        _retry_policy(retries),
        prepare,
        background,
    )
    _check_terms(terms)

    def made(plain: Callable[..., Any]) -> FunctionTool:
        return FunctionTool(plain, terms)

    return made if function is None else made(function)


def as_tool(function: Callable[..., Any]) -> FunctionTool:
    """Return a function or `@tool` as a tool that is about to be offered. Raises `BadTool` if it can't be."""
    made = cast("FunctionTool", function) if isinstance(function, FunctionTool) else FunctionTool(function, _ToolSettings())
    _check_function(made.function)
    made.tool  # noqa: B018  worked out now, so that what is wrong with it is said now
    return made


def _check_function(function: Any) -> None:
    from inspect import isasyncgenfunction, isgeneratorfunction

    if not callable(function):
        raise BadTool(f"{function!r} can't be offered as a tool: it is no function.")
    inner = _underlying_function(function)
    if isgeneratorfunction(inner) or isasyncgenfunction(inner):
        raise BadTool(f"{function_name(function)} yields its results one by one; return them as a list.")


def _underlying_function(function: Any) -> Any:
    """Return the function that a call runs first: behind partials, methods and callable objects, but not behind decorators."""
    while True:
        if isinstance(function, FunctionTool):
            function = cast("FunctionTool", function).function
        elif hasattr(function, "func") and hasattr(function, "keywords"):
            function = function.func
        elif hasattr(function, "__func__"):
            function = function.__func__
        else:
            return function if hasattr(function, "__code__") else getattr(function.__call__, "__func__", function)


def to_tool_name(text: str) -> str:
    """Return a text, such as an agent's name, as the name of a tool."""
    return re.sub("[^a-zA-Z0-9_-]+", "_", text)[:64]


def check_tool_name(name: str, hint: str = "") -> str:
    """Return the name of a tool. Raises `BadTool` for one that models' servers don't take."""
    if name == "<lambda>":
        raise BadTool('A lambda has no name; give it one, as in `tool(lambda ..., name="double")`.')
    if _NAME.fullmatch(name) is None:
        raise BadTool(f"{name!r} can't be the name of a tool: use 1 to 64 letters, digits, `_` and `-` only{hint}.")
    return name


def _check_terms(terms: _ToolSettings) -> None:
    for effect in (terms.effect, *terms.effects.values()):
        _check_choice("effect", effect, Effect)
    _check_choice("retry", terms.retry or "once", Retry)
    _check_choice("trust", terms.trust, Trust)
    if terms.timeout is not None and terms.timeout <= 0:
        raise BadTool(f"A tool can't be given {terms.timeout} seconds; write a timeout above 0, or leave it out to wait for ever.")
    if terms.cache < 0:
        raise BadTool(f"A result can't be reused for {terms.cache} seconds; write 0 for never.")
    if terms.retry == "checkable" and terms.reconcile is None:
        raise BadTool('A tool with retry "checkable" needs `reconcile=`: a function that tells whether a call happened.')
    if terms.retries is not None and _retry_class(terms) not in REPEATABLE:
        raise BadTool(
            "A call that raised may have taken effect, so only reads and repeatable writes can have `retries`:"
            ' write `effect="read"`, or `retry="idempotent"` (or "keyed") if a second call does no harm.'
        )


def _strongest_effect(terms: _ToolSettings) -> Effect:
    return strongest(terms.effects.values()) if terms.effects else terms.effect


def _retry_class(terms: _ToolSettings) -> Retry:
    return terms.retry or ("read" if _strongest_effect(terms) == "read" else "once")


def _retry_policy(retries: int | RetryPolicy) -> RetryPolicy | None:
    policy = retries if isinstance(retries, RetryPolicy) else RetryPolicy(times=retries)
    if policy.times < 0 or policy.seconds < 0:
        raise BadTool(f"A call can't be tried again {policy.times} times after {policy.seconds} seconds; write 0 for never.")
    return policy if policy.times else None


def _check_actions(effects: Mapping[str, Effect], told: FunctionSignature) -> None:
    """Check that each action has its effect: one that was forgotten, or misspelt, would silently count as the strongest."""
    if not effects:
        return
    actions = told.parameters.get("properties", {}).get(ACTION, {}).get("enum")
    if actions is None or set(actions) != set(effects):
        raise BadTool(
            f"{told.name} declares the effects of {', '.join(effects)}; its argument `{ACTION}` has to be a Literal of just these."
        )


def _check_choice(option: str, value: str, allowed: Any) -> None:
    if value not in get_args(allowed):
        raise BadTool(f"{value!r} is no {option} of a tool; write one of {', '.join(get_args(allowed))}.")
