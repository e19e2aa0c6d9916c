"""Tools with an `action` argument, offered as one tool per action: small models choose a tool better than an argument.

`FlatToolsModel(model)` wraps any model. The model sees `file_read` and `file_write`; everything else (policies, the journal,
the tool itself) sees `file` with its `action`.
"""

from collections.abc import AsyncIterator, Iterable
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Result, Written
from treadle.core.messages import Message, Part
from treadle.core.requests import CallDelta, CallDone, Delta, Request, ToolSpec
from treadle.core.seams import Model, warm_model

ACTION = "action"

_Schema = dict[str, Any]


class FlatToolOrigin(Struct, frozen=True):
    """The tool and action that a flat tool stands for."""

    tool: str
    action: str


class FlatToolsModel:
    """A model that is offered flat tools."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.traits = model.traits
        self._model = model
        self._offered: tuple[ToolSpec, ...] = ()
        self._flat: tuple[ToolSpec, ...] = ()
        self._origins: dict[str, FlatToolOrigin] = {}
        self._names: dict[str, str] = {}  # flat names of the calls that were retold, by their ids

    def _flatten_request(self, request: Request) -> Request:
        history = request.history.convert("flat", self._flatten_message)
        return replace(request, tools=self._flatten_tools(request.tools), history=history)

    async def warm(self, request: Request) -> None:
        """Have the model read what its requests begin with."""
        await warm_model(self._model, self._flatten_request(request))

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply, with the original names of the tools."""
        async for delta in self._model.reply(self._flatten_request(request)):
            match delta:
                case CallDelta() if delta.name in self._origins:
                    yield CallDelta(delta.id, self._origins[delta.name].tool)
                case CallDone() if delta.call.name in self._origins:
                    yield CallDone(_restore_action(delta.call, self._origins[delta.call.name]))
                case _:
                    yield delta

    def _flatten_tools(self, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        if tools is not self._offered:
            pairs = list(flatten_tools(tools))
            self._offered = tools
            self._flat = tuple(spec for spec, _ in pairs)
            self._origins |= {spec.name: origin for spec, origin in pairs if origin is not None}
        return self._flat

    def _flatten_message(self, message: Message) -> Message:
        return Message(message.role, tuple(map(self._flatten_part, message.parts)))

    def _flatten_part(self, part: Part) -> Part:
        match part:
            case Call() if isinstance(part.arguments.get(ACTION), str):
                action = part.arguments[ACTION]
                name = self._names[part.id] = f"{part.name}_{action}"
                return Call(part.id, name, {key: value for key, value in part.arguments.items() if key != ACTION})
            case Result() if part.call_id in self._names:
                return replace(part, name=self._names[part.call_id])
            case _:
                return part


def flatten_tools(tools: Iterable[ToolSpec]) -> Iterable[tuple[ToolSpec, FlatToolOrigin | None]]:
    """Yield each flat tool and its origin. A tool without actions, or whose flat names are taken, stays as it is."""
    listed = list(tools)
    taken = {tool.name for tool in listed}
    for tool in listed:
        actions = _list_actions(tool)
        if not actions or any(f"{tool.name}_{action}" in taken for action in actions):
            yield tool, None
            continue
        for action in actions:
            yield _flatten_action(tool, action), FlatToolOrigin(tool.name, action)


def _list_actions(tool: ToolSpec) -> list[str]:
    actions_schema = _properties(tool.parameters).get(ACTION) or {}
    actions = cast("list[object]", actions_schema.get("enum") or [])
    return [action for action in actions if isinstance(action, str)] if all(isinstance(action, str) for action in actions) else []


def _flatten_action(tool: ToolSpec, action: str) -> ToolSpec:
    parameters = _find_branch(tool.parameters, action)
    properties = {key: schema for key, schema in _properties(parameters).items() if key != ACTION}
    required = [key for key in parameters.get("required") or () if key != ACTION]
    rest = {key: value for key, value in tool.parameters.items() if key not in {"oneOf", "anyOf", "properties", "required"}}
    return ToolSpec(
        f"{tool.name}_{action}", f"{action}: {tool.description}", {**rest, "properties": properties, "required": required}
    )


def _find_branch(parameters: _Schema, action: str) -> _Schema:
    """Return the part of a schema for one action, if it has a branch for each."""
    for branch in cast("list[_Schema]", parameters.get("oneOf") or parameters.get("anyOf") or ()):
        said = _properties(branch).get(ACTION) or {}
        if said.get("const") == action or said.get("enum") == [action]:
            properties = {key: _properties(parameters).get(key) or value for key, value in _properties(branch).items()}
            return {"properties": properties, "required": branch.get("required") or parameters.get("required") or []}
    return parameters


def _properties(schema: _Schema) -> dict[str, _Schema]:
    return cast("dict[str, _Schema]", schema.get("properties") or {})


def _restore_action(call: Written, origin: FlatToolOrigin) -> Written:
    """Return the call with its action restored, in the text as the model wrote it."""
    from treadle.models.encoding import encode

    said = f'"{ACTION}":{encode(origin.action).decode()}'
    inside = call.text.strip()
    if not inside:
        text = f"{{{said}}}"
    elif not inside.startswith("{"):
        text = call.text
    else:
        rest = inside[1:]
        text = f"{{{said}{'' if rest.lstrip().startswith('}') else ','}{rest}"
    return Written(call.id, origin.tool, text, call.cut)
