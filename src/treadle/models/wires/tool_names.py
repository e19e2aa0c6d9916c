"""Names of tools and of their arguments, and ids of calls, as servers accept them; arguments under their own names again. Pure.

A model may call a tool that doesn't exist, by any name, and that call is part of the history. Names of arguments come from the
servers of tools, such as `filter[status]`; Claude's servers refuse every request with a tool that has such a name.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import Decoder
from msgspec.structs import replace

from treadle.core.calls import Written
from treadle.core.requests import ToolSpec
from treadle.models.encoding import encode
from treadle.models.tool_schemas import to_tool_parameters

MAX_NAME = 64  # characters, of a tool and of an argument
MAX_ID = 64  # of a call's id

ArgumentNames = Mapping[str, Mapping[str, str]]  # by tool: an argument's own name by the one that was sent

_CACHED = 256  # names, and ids

_TOOL = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME}}}")
_ID = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_ID}}}")
_ARGUMENT = re.compile(rf"[a-zA-Z0-9_.-]{{1,{MAX_NAME}}}")
_decode_arguments = Decoder(dict[str, Raw]).decode


def clean_tool_name(name: str) -> str:
    """Return a tool name that nearly all servers accept."""
    return name if _TOOL.fullmatch(name) else re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:MAX_NAME] or "unknown"


def clean_call_id(call_id: str) -> str:
    """Return a call's id as nearly all servers accept it. Another one is replaced by its hash: two never become the same."""
    return call_id if _ID.fullmatch(call_id) else f"call_{sha256(call_id.encode(errors='replace')).hexdigest()[:40]}"


@lru_cache(_CACHED)
def encode_tool_name(name: str) -> bytes:
    """Return a tool name that nearly all servers accept, as JSON. A run has few, and sends one with each call and result."""
    return encode(clean_tool_name(name))


@lru_cache(_CACHED)
def encode_call_id(call_id: str) -> bytes:
    """Return a call's id as nearly all servers accept it, as JSON: the result of a call is sent soon after it."""
    return encode(clean_call_id(call_id))


def find_renamed_arguments(tools: Sequence[ToolSpec]) -> ArgumentNames:
    """Return the tools some of whose arguments have to be sent under other names."""
    renamed = {tool.name: _rename(list(to_tool_parameters(tool.parameters)["properties"])) for tool in tools}
    return {tool: names for tool, names in renamed.items() if names}


def _rename(properties: Sequence[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for own in properties:
        if not _ARGUMENT.fullmatch(own):
            plain = name = (re.sub(r"[^a-zA-Z0-9.-]+", "_", own).strip("_") or "argument")[: MAX_NAME - 5]
            number = 1
            while name in names or name in properties:
                number += 1
                name = f"{plain}_{number}"
            names[name] = own
    return names


def rename_properties(schema: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a tool's schema with these names of its arguments."""
    sent = {own: name for name, own in names.items()}
    properties = {sent.get(own, own): value for own, value in schema["properties"].items()}
    required = {"required": [sent.get(own, own) for own in schema["required"]]} if "required" in schema else {}
    return {**schema, "properties": properties, **required}


def restore_arguments(written: Written, names: ArgumentNames) -> Written:
    """Return a call with its arguments under their own names; unchanged if they can't be read."""
    own = names.get(written.name)
    if not own:
        return written
    try:
        arguments = _decode_arguments(written.text)
    except (DecodeError, UnicodeError, RecursionError):
        return written
    return replace(written, text=encode({own.get(name, name): value for name, value in arguments.items()}).decode())
