"""Checks the arguments of an agent and of its runs, before anything uses them: a mistake gets a sentence that says what to pass.

Pure. Text that has to be parsed (a model's name, a policy's rules, a type's schema) is checked by its parser.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import iscoroutinefunction
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from treadle.agent.output import OUTPUT_TOOL, OutputMode
from treadle.agent.override import AgentChanges
from treadle.core.errors import BadTool, SettingsError
from treadle.core.messages import History, Message, Role
from treadle.core.requests import Options, find_option_mistakes
from treadle.core.seams import Toolset
from treadle.engine.catalog import OWN_TOOLS
from treadle.engine.result import RunResult
from treadle.engine.setup import Approval, Compaction, Services
from treadle.guard.policy import Rule, allow, ask, deny
from treadle.guard.redaction import Redactor
from treadle.loop.limits import Limits, find_limit_mistakes
from treadle.tools.name_matching import hint_for, nearest_names
from treadle.tools.values import shorten_json_text

LONGEST_MESSAGE_ID = 200

if TYPE_CHECKING:
    from treadle.toolsets.functions import ToolsetFunction


def check_agent_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of an agent, with lists for what may be read only once. Raises `SettingsError`."""
    given = {**given, "tools": _read_tools(given["tools"]), "toolsets": _read_toolsets(given["toolsets"])}
    for name, (is_right, takes) in _AGENT.items():
        if name in given and not is_right(given[name]):
            _refuse(name, takes, given[name])
    for name in ("limits", "options", "discovery"):
        if given[name] is not None:
            _check_types(given[name])
    for mistake in (*find_limit_mistakes(given["limits"] or Limits()), *find_option_mistakes(given["options"] or Options())):
        raise SettingsError(mistake)
    for rule in (allow, ask, deny):
        if given["policy"] is rule:
            raise SettingsError(f'`policy` takes rules: write policy=[{rule.__name__}("a_tool")].')
    return given


def check_overrides(options: object, tools: object) -> list[Any]:
    """Return the tools of one run, as a list. The rest of what it overrides is checked with the agent's arguments."""
    if options is not None and not isinstance(options, Options):
        _refuse("options", _AGENT["options"][1], options)
    return _read_tools(tools)


def check_tool_choice(options: Options, given: Mapping[str, Any], toolset: Toolset) -> None:
    """Raise `SettingsError` where `tool_choice` names a tool that isn't there.

    Nothing is known where a toolset lists its tools only in a run.
    """
    choice = options.tool_choice
    sources = [each for each in (*given["tools"], *given["toolsets"]) if _is_toolset(each)]
    if choice in (None, "auto", "required", "none") or not all(source.tools() for source in sources):
        return
    names = [tool.name for tool in toolset.tools()]
    if choice not in (*names, OUTPUT_TOOL, *(tool.name for tool in OWN_TOOLS)):
        hint = hint_for(choice, ["auto", "required", "none", *names])
        raise SettingsError(f"Options.tool_choice is {choice!r}, and this agent has no such tool. {hint}")


def find_rule_mistakes(policy: object, given: Mapping[str, Any], toolset: Toolset) -> Iterator[str]:
    """Yield a sentence for each rule of a list that seems to be about another tool or argument than there is.

    Nothing is known about rules where a toolset lists its tools only in a run.
    """
    sources = [each for each in (*given["tools"], *given["toolsets"]) if _is_toolset(each)]
    if not isinstance(policy, list | tuple) or not all(source.tools() for source in sources):
        return
    named = {tool.name: tool for tool in toolset.tools()}
    for rule in cast("Sequence[Rule]", policy):
        if any(sign in rule.pattern for sign in "*?["):
            continue
        tool = named.get(rule.pattern)
        if tool is None:
            if near := nearest_names(rule.pattern, named):
                yield f"The rule {rule} is about no tool of this agent. Did you mean {near[0]}?"
        elif tool.parameters.get("additionalProperties") is False:
            known: dict[str, Any] = tool.parameters.get("properties") or {}
            for name in rule.where:
                if name not in known and name.partition(".")[0] not in known:
                    yield f"The rule {rule} never applies: {tool.name} has no argument {name}, only {', '.join(known) or 'none'}."


def check_changes(changes: Mapping[str, Any]) -> None:
    """Check what a test overrides. Raises `SettingsError`."""
    known = AgentChanges.__annotations__
    if strange := [name for name in changes if name not in known]:
        raise SettingsError(f"`override` takes {', '.join(known)}, not {strange[0]!r}.")


def check_run_arguments(
    *, run_id: object, user: object, credentials: object, watchers: object, history: object = (), origin: object = None
) -> None:
    """Check the arguments of one run. Raises `SettingsError`."""
    if run_id is not None and not (isinstance(run_id, str) and run_id):
        _refuse("run_id", "a run's id, as text, or nothing for a new run", run_id)
    if not isinstance(user, str):
        _refuse("user", "the user's name, as text", user)
    if credentials is not None and not _maps_text(credentials):
        kind = type(credentials).__name__  # never the value
        raise SettingsError(f'`credentials` takes a mapping of text to text, such as {{"shop": token}}, not {kind}.')
    if not _is_list_of(watchers, callable):
        _refuse("watchers", "a list of functions of an event, such as [print]", watchers)
    for watcher in cast("Sequence[Any]", watchers):
        if iscoroutinefunction(watcher):
            name = getattr(watcher, "__name__", "it")
            raise SettingsError(
                f"`watchers` takes functions that return at once, and {name} is async: loop over `agent.stream(…)` instead."
            )
    if origin is not None and not isinstance(origin, dict):
        _refuse("origin", "a dict that JSON can express", origin)
    _check_history(history)


def check_message_id(message_id: object) -> None:
    """Check the sender's id of a message. Raises `SettingsError`."""
    if not isinstance(message_id, str) or len(message_id) > LONGEST_MESSAGE_ID:
        _refuse("message_id", f"text of at most {LONGEST_MESSAGE_ID} characters that identifies the message", message_id)


def check_journal(journal: object) -> None:
    """Check where runs are kept. Raises `SettingsError`."""
    has_methods = hasattr(journal, "append") and hasattr(journal, "read") and not isinstance(journal, type)
    if journal is None or isinstance(journal, bool | Services) or has_methods:
        return
    if isinstance(journal, str | PathLike):
        raise SettingsError(
            f"`journal` takes no path: True keeps runs in your data folder, open_home({str(cast('object', journal))!r}).services() "
            "in this one."
        )
    if hasattr(journal, "services"):
        raise SettingsError("`journal` takes the services of a home: write journal=home.services().")
    _refuse("journal", "True, a Journal, or the services of a home", journal)


def check_call_id(call_id: object) -> None:
    """Check which call an answer is about. Raises `SettingsError`."""
    if isinstance(call_id, Approval):
        raise SettingsError("An answer takes the call's id: write approval.call_id instead of approval.")
    if not isinstance(call_id, str):
        _refuse("call_id", "the id of a call, as text", call_id)


def _check_history(history: object) -> None:
    if isinstance(history, RunResult):
        raise SettingsError("`history` takes messages: write history=result.history.")
    if isinstance(history, str | bytes):
        return  # JSON, which is read when the run begins
    if isinstance(history, Mapping) or not isinstance(history, Iterable):
        _refuse("history", _HISTORY, cast("object", history))
    for message in () if isinstance(history, History) else cast("Iterable[object]", history):
        if not isinstance(message, Message):
            raise SettingsError(f"`history` takes {_HISTORY}; it has {_describe(message)} in it. {_MADE}")
        if message.role not in get_args(Role):
            raise SettingsError(f"A message's role is one of {', '.join(get_args(Role))}, not {message.role!r}. {_MADE}")
        if not _are_parts(message.parts):
            given = _describe(cast("object", message.parts))
            raise SettingsError(f"A message's parts are a tuple of Text, Call, Result and the like, not {given}. {_MADE}")


def _are_parts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, Struct) for part in cast("tuple[object, ...]", value))


_MADE = 'A message of your own is Message("person", (Text("…"),)), one of the model Message("model", (Text("…"),)).'
_HISTORY = "messages, such as `result.history` of an earlier run"


def _read_tools(given: object) -> list[Any]:
    if (chosen := _dynamic_toolset(given)) is not None:
        return [chosen]
    tools = _read_list("tools", given, "a list of functions and toolsets")
    for each in tools:
        if hasattr(each, "as_tool") and hasattr(each, "run"):
            raise SettingsError("An agent is given to another as a tool by its `as_tool()`: write tools=[agent.as_tool()].")
    return tools


def _read_toolsets(given: object) -> list[Any]:
    toolsets = [_dynamic_toolset(each) or each for each in _read_list("toolsets", given, "a list of toolsets")]
    for each in toolsets:
        if not _is_toolset(each):
            more = "; put functions into `tools`" if callable(each) else ""
            raise SettingsError(f"`toolsets` takes a list of toolsets; it has {_describe(each)} in it{more}.")
    return toolsets


def _dynamic_toolset(given: object) -> Toolset | None:
    """Return a function of the `RunContext` as a toolset; None if it isn't one."""
    if not callable(given) or _is_toolset(given):
        return None
    from treadle.toolsets.dynamic import DynamicToolset  # few agents have one

    try:
        return DynamicToolset(cast("ToolsetFunction", given))
    except BadTool:
        return None


def _read_list(name: str, given: object, takes: str) -> list[Any]:
    if callable(given) or _is_toolset(given):
        word = getattr(given, "__name__", None) or getattr(getattr(given, "tool", None), "name", None) or "…"
        raise SettingsError(f"`{name}` takes {takes}: write {name}=[{word}].")
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        _refuse(name, takes, cast("object", given))
    return list(cast("Iterable[Any]", given))


def _is_toolset(value: object) -> bool:
    return hasattr(value, "tools") and hasattr(value, "call") and not isinstance(value, type)


def _is_model(value: object) -> bool:
    if isinstance(value, str):
        return True
    if isinstance(value, Sequence):
        return all(map(_is_model, cast("Sequence[object]", value)))
    if not hasattr(value, "reply") or isinstance(value, type):
        return False
    for name, example in (("name", '"mine:1"'), ("traits", "Traits()")):
        if not hasattr(value, name):
            raise SettingsError(f"A model has a name, traits and `reply`; {type(value).__name__} needs `{name} = {example}`.")
    return True


def _is_result_options(value: Any) -> bool:
    return value is None or (hasattr(value, "summarizer") and isinstance(value.limit, int) and value.limit > 0)


def _is_compaction(value: object) -> bool:
    share: Any = getattr(value, "at", None)
    return value is None or (isinstance(value, Compaction) and isinstance(share, int | float) and 0 < share <= 1)


def _maps_text(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    pairs = cast("Mapping[object, object]", value).items()
    return all(isinstance(key, str) and isinstance(text, str) for key, text in pairs)


def _is_list_of(value: object, is_right: Callable[[Any], bool]) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(is_right, cast("Sequence[Any]", value)))


def _is_optional(kind: type) -> Callable[[Any], bool]:
    return lambda value: value is None or isinstance(value, kind)


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


_FLAG = _is(bool), "True or False"
_AGENT: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model": (_is_model, 'a name such as "openai:gpt-5-mini", a model, or a list of these'),
    "instructions": (
        lambda value: isinstance(value, str) or callable(value),
        "text, or a function of the RunContext that returns it",
    ),
    "output_mode": (lambda value: value in get_args(OutputMode), '"auto", "native" or "tool"'),
    "name": (lambda value: isinstance(value, str) and bool(value.strip()), "the agent's name, as text"),
    "limits": (_is_optional(Limits), "Limits, such as Limits(rounds=10)"),
    "options": (_is_optional(Options), "Options, such as Options(temperature=0.2)"),
    "approver": (lambda value: value is None or callable(value), "a function of an Approval that returns True, False or an Answer"),
    "attended": _FLAG,
    "notes": (lambda value: _is_list_of(value, _is(str)), "a list of texts"),
    "results": (_is_result_options, "ResultOptions, with a limit of 1 or more"),
    "compaction": (_is_compaction, "Compaction, with a share of the window from above 0 to 1 as `at`"),
    "discovery": (lambda value: value is None or hasattr(value, "always"), "Discovery, such as Discovery(above=20)"),
    "dialect": (_is(str), "the name of a dialect, as text"),
    "redactor": (_is_optional(Redactor), "a Redactor"),
    "priced": _FLAG,
    "grounded": _FLAG,
    "code_mode": (
        lambda value: isinstance(value, bool) or hasattr(value, "calls"),
        "True, or CodeMode, such as CodeMode(calls=50)",
    ),
    "raise_tool_errors": _FLAG,
}


def _check_types(value: Struct) -> None:
    """Check the types of a value's fields: nothing has, where it was made in code."""
    for field in fields(type(value)):
        given = getattr(value, field.name)
        try:
            msgspec.convert(given, field.type)
        except msgspec.ValidationError as error:
            choices = _list_choices(field.type)
            why = f"; there are {', '.join(choices)}" if choices else f": {error}"
            raise SettingsError(f"{type(value).__name__}.{field.name} can't be {_describe(given)}{why}.") from None


def _list_choices(kind: Any) -> list[str]:
    """Return the values of a `Literal`, also of an optional one."""
    return [choice for part in (kind, *get_args(kind)) if get_origin(part) is Literal for choice in get_args(part)]


def _refuse(name: str, takes: str, given: object) -> NoReturn:
    raise SettingsError(f"`{name}` takes {takes}, not {_describe(given)}.")


def _describe(value: object) -> str:
    name = getattr(value, "__name__", "")
    if name:
        return f"{'the class' if isinstance(value, type) else 'the function'} {name}"
    return shorten_json_text(Redactor().text(repr(value)))
