"""What both wires share in reading a request: texts in blocks, the caller's tools. What can't be done is named."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from treadle.core.errors import BadTool
from treadle.core.messages import Message, Part, Text
from treadle.core.requests import ToolSpec
from treadle.server.wires.asked import Choice
from treadle.server.wires.media import Block, Brought
from treadle.server.wires.refused import Refused
from treadle.tools.validate import Validator

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def words_of(content: str | Sequence[Block] | None, param: str) -> str:
    """The text of a message, given as such or in blocks; nothing but text can be read there."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join([text_in(block, f"{param}.content[{number}]") for number, block in enumerate(content)])


def text_in(block: Block, param: str) -> str:
    """The text of one block; `Refused` where it is something else."""
    if block.type not in ("text", "refusal"):
        what = "Images" if "image" in block.type else f"Parts of the type {block.type[:40]!r}"
        raise Refused(400, f"{what} can't be read here; send text.", param)
    return block.text or block.refusal or ""


def person_of(content: str | Sequence[Block] | None, param: str, brought: Brought) -> Message:
    """What a person says: words, and what they show."""
    blocks = () if content is None or isinstance(content, str) else content
    if not any(block.type != "text" for block in blocks):
        return Message("person", (Text(words_of(content, param)),))
    return Message("person", tuple([part_of(block, f"{param}.content[{at}]", brought) for at, block in enumerate(blocks)]))


def part_of(block: Block, param: str, brought: Brought) -> Part:
    """A block of a person's message: words or media."""
    return brought.read(block, param) or Text(text_in(block, param))


def tool_of(name: str, description: str | None, parameters: dict[str, Any] | None, param: str) -> ToolSpec:
    """A tool of the caller's."""
    if _NAME.fullmatch(name) is None:
        raise Refused(400, "A tool's name has up to 64 letters, digits, _ and -.", f"{param}.name")
    spec = ToolSpec(name, description or "", {"type": "object", "properties": {}} if parameters is None else parameters)
    try:
        Validator(spec.parameters)
    except BadTool as error:
        raise Refused(400, str(error), f"{param}.parameters") from error
    return spec


def distinct(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The caller's tools, no two by one name."""
    seen: set[str] = set()
    for number, spec in enumerate(specs):
        if spec.name in seen:
            raise Refused(400, f"There are two tools called {spec.name!r}.", f"tools[{number}]")
        seen.add(spec.name)
    return tuple(specs)


def choice_of(names: Iterable[str], wanted: str, one: str, param: str = "tool_choice") -> Choice | None:
    """What a caller says of which tools are to be called: `auto`, `none`, `any`, or `one` by its name."""
    known = tuple(names)
    match wanted:
        case "auto":
            return None
        case "none":
            return Choice(())
        case "any" if known:
            return Choice(known, must=True)
        case "tool" if one in known:
            return Choice((one,), must=True)
        case "any" | "tool":
            raise Refused(400, f"There is no such tool{f' as {one[:64]!r}' if one else ''} in `tools`.", param)
        case _:
            raise Refused(400, f"There is no choice {wanted[:40]!r} of tools.", param)


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments of a call in a conversation; what isn't an object is kept as it was written."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {"arguments": text}


def unable(**given: object) -> None:
    """Refuse what is asked for and can't be done."""
    name = next((name for name, value in given.items() if value), None)
    if name is not None:
        raise Refused(400, f"{name} can't be done here; leave it out.", name, "unsupported_parameter")
