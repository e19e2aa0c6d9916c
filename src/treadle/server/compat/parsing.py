"""Request parsing that both APIs share: texts in blocks, the client's tools. Errors name what isn't supported."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from treadle.core.errors import BadTool
from treadle.core.messages import Message, Part, Text
from treadle.core.requests import ToolSpec
from treadle.server.compat.errors import CompatError
from treadle.server.compat.media import ContentBlock, MediaCollector
from treadle.server.compat.turn_request import ToolChoice
from treadle.tools.validate import Validator

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def read_message_text(content: str | Sequence[ContentBlock] | None, param: str) -> str:
    """Return the text of a message, given as such or in blocks; only text is accepted there."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join([read_text_block(block, f"{param}.content[{number}]") for number, block in enumerate(content)])


def read_text_block(block: ContentBlock, param: str) -> str:
    """Return the text of one block; raise `CompatError` where it is something else."""
    if block.type not in ("text", "refusal"):
        what = "Images" if "image" in block.type else f"Parts of the type {block.type[:40]!r}"
        raise CompatError(400, f"{what} can't be read here; send text.", param)
    return block.text or block.refusal or ""


def read_user_message(content: str | Sequence[ContentBlock] | None, param: str, brought: MediaCollector) -> Message:
    """Return a user's message: text and media."""
    blocks = () if content is None or isinstance(content, str) else content
    if not any(block.type != "text" for block in blocks):
        return Message("person", (Text(read_message_text(content, param)),))
    return Message("person", tuple([read_user_part(block, f"{param}.content[{at}]", brought) for at, block in enumerate(blocks)]))


def read_user_part(block: ContentBlock, param: str, brought: MediaCollector) -> Part:
    """Return a block of a user's message: text or media."""
    return brought.read(block, param) or Text(read_text_block(block, param))


def read_client_tool(name: str, description: str | None, parameters: dict[str, Any] | None, param: str) -> ToolSpec:
    """Return the spec of a client's tool."""
    if _NAME.fullmatch(name) is None:
        raise CompatError(400, "A tool's name has up to 64 letters, digits, _ and -.", f"{param}.name")
    spec = ToolSpec(name, description or "", {"type": "object", "properties": {}} if parameters is None else parameters)
    try:
        Validator(spec.parameters)
    except BadTool as error:
        raise CompatError(400, str(error), f"{param}.parameters") from error
    return spec


def check_unique_tools(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return the client's tools; raise where two have the same name."""
    seen: set[str] = set()
    for number, spec in enumerate(specs):
        if spec.name in seen:
            raise CompatError(400, f"There are two tools called {spec.name!r}.", f"tools[{number}]")
        seen.add(spec.name)
    return tuple(specs)


def read_tool_choice(names: Iterable[str], wanted: str, one: str, param: str = "tool_choice") -> ToolChoice | None:
    """Parse a client's tool choice: `auto`, `none`, `any`, or `one` by its name."""
    known = tuple(names)
    match wanted:
        case "auto":
            return None
        case "none":
            return ToolChoice(())
        case "any" if known:
            return ToolChoice(known, must=True)
        case "tool" if one in known:
            return ToolChoice((one,), must=True)
        case "any" | "tool":
            raise CompatError(400, f"There is no such tool{f' as {one[:64]!r}' if one else ''} in `tools`.", param)
        case _:
            raise CompatError(400, f"There is no choice {wanted[:40]!r} of tools.", param)


def parse_call_arguments(text: str) -> dict[str, Any]:
    """Parse the arguments of a call in a conversation; what isn't an object is kept as it was written."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {"arguments": text}


def reject_unsupported(**given: object) -> None:
    """Raise for options that are set but not supported."""
    name = next((name for name, value in given.items() if value), None)
    if name is not None:
        raise CompatError(400, f"{name} can't be done here; leave it out.", name, "unsupported_parameter")
