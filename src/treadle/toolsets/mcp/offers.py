"""Tools of an MCP server as they are offered here, and which of their descriptions a user has approved.

Hints of an untrusted server can make a tool more restricted, never less. What a server doesn't say has the protocol's
default: a tool may be destructive. Whether a call may be repeated after a crash is never for the server to say.

A description guides the model. A server's first listing is accepted and stored in a small JSON file; a description that changes
later is held back until a user has reviewed it: `changes` shows old and new, `approve` accepts the new. Whether tools may run is
decided by the policy, not here.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from treadle.core.calls import Effect, Retry
from treadle.core.errors import BadTool, SettingsError
from treadle.core.log import log
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.guard.globs import compile_glob
from treadle.guard.policy import digest_arguments
from treadle.tools.validate import Validator
from treadle.toolsets.mcp.server import McpServer

MAX_NAME = 64
MAX_DESCRIPTION = 4000  # characters; a model reads them with every request
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]")
VERSION = 1


class AdvertisedTool(Struct, frozen=True):
    """A tool as advertised by its server."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    annotations: dict[str, Any] = {}

    @property
    def fingerprint(self) -> str:
        """A digest of all fields."""
        values = {"name": self.name, "description": self.description, "schema": self.schema}
        return digest_arguments({**values, "annotations": self.annotations})


class OfferedTool(Struct, frozen=True):
    """A tool as it is offered here, and the advertised tool behind it."""

    tool: Tool
    told: AdvertisedTool


def build_offers(server: McpServer, told: Sequence[AdvertisedTool]) -> dict[str, OfferedTool]:
    """Return the wanted tools by their names here. One with an unusable schema is left out."""
    wanted = [each for each in told if not server.only or _matches_any(each.name, server.only)]
    usable = {each.name: each for each in reversed(wanted) if _is_usable(each, server)}  # of two by one name, the first
    names = _assign_names(server, [each.name for each in wanted if usable.get(each.name) is each])
    return {name: OfferedTool(_build_tool(server, usable[own], name), usable[own]) for own, name in names.items()}


def _is_usable(told: AdvertisedTool, server: McpServer) -> bool:
    try:
        Validator(told.schema)
    except BadTool as error:
        log.warning("The tool %s of the MCP server %s is left out: %s", told.name, server.name, error)
        return False
    return True


def _build_tool(server: McpServer, told: AdvertisedTool, name: str) -> Tool:
    effect = _choose_effect(server, told)
    return Tool(
        ToolSpec(name, _build_description(told), {"type": "object", "properties": {}, **told.schema}),
        effect=effect,
        retry=_choose_retry(server, told, effect),
        trust="trusted" if server.trusted else "untrusted",
        toolset=server.name,
        sends_to=_find_recipient(server, told),
    )


def _build_description(told: AdvertisedTool) -> str:
    text = told.description.strip()
    missing = len(text) - MAX_DESCRIPTION
    return text if missing <= 0 else f"{text[:MAX_DESCRIPTION]} [… {missing} more characters]"


# effects


def _choose_effect(server: McpServer, told: AdvertisedTool) -> Effect:
    hints = told.annotations
    if _matches_any(told.name, server.reads) and not _hints_at_changes(hints):
        return "read"
    if server.trusted and hints.get("readOnlyHint") is True:
        return "read"
    if server.trusted and hints.get("destructiveHint") is False:
        return "write"
    return "destroy"


def _find_recipient(server: McpServer, told: AdvertisedTool) -> str:
    """Return the third party that gets the data: an untrusted server, or a trusted one for tools with an open-world hint."""
    return server.name if not server.trusted or told.annotations.get("openWorldHint") is True else ""


def _hints_at_changes(hints: Mapping[str, Any]) -> bool:
    return hints.get("readOnlyHint") is False or (hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True)


def _choose_retry(server: McpServer, told: AdvertisedTool, effect: Effect) -> Retry:
    """Return the retry policy by the user's settings alone: it isn't for a server to say, even a trusted one."""
    if effect == "read":
        return "read"
    for pattern, retry in server.retry.items():
        if compile_glob(pattern)(told.name):
            return retry
    return "once"


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(compile_glob(pattern)(name) for pattern in patterns)


# names


def _assign_names(server: McpServer, own: Sequence[str]) -> dict[str, str]:
    """Assign each tool a callable, unique name. Where two would be equal, those that had to change get a digest."""
    plain = {name: _base_name(server, name) for name in own}
    names: dict[str, str] = {}
    for name, fit in plain.items():
        rivals = [other for other, its in plain.items() if its == fit and other != name]
        unclear = rivals and _INVALID_CHARACTERS.search(name)
        names[name] = _add_digest(fit, name) if unclear or len(fit) > MAX_NAME else fit
    return names


def _base_name(server: McpServer, name: str) -> str:
    fit = _INVALID_CHARACTERS.sub("_", name)
    return f"{server.name}_{fit}" if server.prefix else fit or "_"


def _add_digest(fit: str, name: str) -> str:
    """Cut a name to the allowed length, with a digest that is unique to it."""
    return f"{fit[: MAX_NAME - 9]}_{digest_arguments({'name': name})[:8]}"


class DescriptionChange(Struct, frozen=True):
    """A tool that waits for approval: as it was approved (None: never), and as the server describes it now."""

    name: str
    before: AdvertisedTool | None
    after: AdvertisedTool


class _ServerRecord(Struct):
    """The record of one server: tools as approved, and changed ones that wait."""

    approved: dict[str, AdvertisedTool] = {}
    waiting: dict[str, AdvertisedTool] = {}


class _ApprovalFile(Struct):
    version: int = VERSION
    servers: dict[str, _ServerRecord] = {}


class ApprovalStore:
    """The file. It may be shared by processes; each reads it again before it writes."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).expanduser()

    def review(self, server: str, told: Sequence[AdvertisedTool]) -> list[AdvertisedTool]:
        """Return the descriptions that a model may see: each as it was approved. New or changed ones wait from now on.

        The first listing of a server is approved as it is.
        """
        file = self._read()
        if server not in file.servers:
            file.servers[server] = _ServerRecord({each.name: each for each in told})
            self._write(file)
            return list(told)
        known = file.servers[server]
        waiting = {each.name: each for each in told if not _is_same(known.approved.get(each.name), each)}
        if waiting != known.waiting:
            known.waiting = waiting
            self._write(file)
        return [known.approved[each.name] for each in told if each.name in known.approved]

    def changes(self, server: str) -> list[DescriptionChange]:
        """Return the changes that wait for the user, as last listed."""
        known = self._read().servers.get(server, _ServerRecord())
        return [DescriptionChange(name, known.approved.get(name), after) for name, after in known.waiting.items()]

    def approve(self, server: str, names: Iterable[str]) -> None:
        """Approve these tools as listed now; names are the server's own."""
        file = self._read()
        known = file.servers.get(server, _ServerRecord())
        for name in names:
            if name not in known.waiting:
                raise SettingsError(f"The tool {name} of the MCP server {server} doesn't wait for an approval.")
            known.approved[name] = known.waiting.pop(name)
        self._write(file)

    def _read(self) -> _ApprovalFile:
        try:
            file = msgspec.json.decode(self._path.read_bytes(), type=_ApprovalFile)
        except FileNotFoundError:
            return _ApprovalFile()
        except OSError as error:
            raise SettingsError(f"The approved tools in {self._path} can't be opened: {error.strerror}.") from error
        except msgspec.DecodeError as error:
            raise SettingsError(f"The approved tools in {self._path} can't be read: {error}") from error
        if file.version != VERSION:
            raise SettingsError(f"The approved tools in {self._path} were written by another Treadle (format {file.version}).")
        return file

    def _write(self, file: _ApprovalFile) -> None:
        """Write the file atomically, safe against concurrent readers and a killed process."""
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(msgspec.json.format(msgspec.json.encode(file), indent=2))
            fresh.replace(self._path)
        except OSError as error:
            raise SettingsError(f"The approved tools can't be written to {self._path}: {error.strerror}.") from error


def _is_same(approved: AdvertisedTool | None, told: AdvertisedTool) -> bool:
    return approved is not None and approved.fingerprint == told.fingerprint
