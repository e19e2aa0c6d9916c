"""What an MCP server says of its tools, and what becomes of it here: names that models can call, effects, retries. Pure.

Hints of a server that isn't trusted can make a tool more careful, never less. What a server doesn't say counts as the protocol
has it: a tool may destroy. Whether a call may be repeated after a crash is never its to say.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from treadle.core.calls import Effect, Retry
from treadle.core.errors import BadTool
from treadle.core.log import log
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.guard.globs import glob
from treadle.guard.policy import digest
from treadle.tools.validate import Validator
from treadle.toolsets.mcp.server import Server

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 4000  # characters; a model reads them with every request
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


class Told(Struct, frozen=True):
    """A tool, as its server tells of it."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    annotations: dict[str, Any] = {}

    @property
    def fingerprint(self) -> str:
        """Changes with any of it."""
        values = {"name": self.name, "description": self.description, "schema": self.schema}
        return digest({**values, "annotations": self.annotations})


class Offer(Struct, frozen=True):
    """A tool as it is offered here, and what it was made of."""

    tool: Tool
    told: Told


def offers(server: Server, told: Sequence[Told]) -> dict[str, Offer]:
    """The tools that are wanted, by the names they have here. One whose schema nothing can be checked by is left out."""
    wanted = [each for each in told if not server.only or _is_among(each.name, server.only)]
    usable = {each.name: each for each in reversed(wanted) if _is_usable(each, server)}  # of two by one name, the first
    names = _names(server, [each.name for each in wanted if usable.get(each.name) is each])
    return {name: Offer(_tool(server, usable[own], name), usable[own]) for own, name in names.items()}


def _is_usable(told: Told, server: Server) -> bool:
    try:
        Validator(told.schema)
    except BadTool as error:
        log.warning("The tool %s of the MCP server %s is left out: %s", told.name, server.name, error)
        return False
    return True


def _tool(server: Server, told: Told, name: str) -> Tool:
    effect = _effect(server, told)
    return Tool(
        ToolSpec(name, _description(told), {"type": "object", "properties": {}, **told.schema}),
        effect=effect,
        retry=_retry(server, told, effect),
        trust="trusted" if server.trusted else "untrusted",
        toolset=server.name,
        sends_to=_sends_to(server, told),
    )


def _description(told: Told) -> str:
    text = told.description.strip()
    missing = len(text) - LONGEST_DESCRIPTION
    return text if missing <= 0 else f"{text[:LONGEST_DESCRIPTION]} [… {missing} more characters]"


# effects


def _effect(server: Server, told: Told) -> Effect:
    hints = told.annotations
    if _is_among(told.name, server.reads) and not _says_that_it_changes(hints):
        return "read"
    if server.trusted and hints.get("readOnlyHint") is True:
        return "read"
    if server.trusted and hints.get("destructiveHint") is False:
        return "write"
    return "destroy"


def _sends_to(server: Server, told: Told) -> str:
    """A server that isn't trusted is a third party; of one that is, the tools that say they reach further tell others."""
    return server.name if not server.trusted or told.annotations.get("openWorldHint") is True else ""


def _says_that_it_changes(hints: Mapping[str, Any]) -> bool:
    return hints.get("readOnlyHint") is False or (hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True)


def _retry(server: Server, told: Told, effect: Effect) -> Retry:
    """By your word alone: that a call can be repeated isn't a server's to say, also of one that is trusted."""
    if effect == "read":
        return "read"
    for pattern, retry in server.retry.items():
        if glob(pattern)(told.name):
            return retry
    return "once"


def _is_among(name: str, patterns: Sequence[str]) -> bool:
    return any(glob(pattern)(name) for pattern in patterns)


# names


def _names(server: Server, own: Sequence[str]) -> dict[str, str]:
    """A name for each, that models can call and no other has. Where two would be the same, those that had to change tell apart."""
    plain = {name: _plain(server, name) for name in own}
    names: dict[str, str] = {}
    for name, fit in plain.items():
        rivals = [other for other, its in plain.items() if its == fit and other != name]
        unclear = rivals and _UNFIT.search(name)
        names[name] = _told_apart(fit, name) if unclear or len(fit) > LONGEST_NAME else fit
    return names


def _plain(server: Server, name: str) -> str:
    fit = _UNFIT.sub("_", name)
    return f"{server.name}_{fit}" if server.prefix else fit or "_"


def _told_apart(fit: str, name: str) -> str:
    """Cut to what can be called, with a mark that only this name has."""
    return f"{fit[: LONGEST_NAME - 9]}_{digest({'name': name})[:8]}"
