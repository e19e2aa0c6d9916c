"""Configuration of an MCP server, and how far it is trusted: a value. `ServerValues` has a user's credentials filled in.

Nothing is started or sent here.
"""

import re
from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct

from treadle.core.errors import SettingsError, ToolProblem
from treadle.http_guard.origins import parse_target
from treadle.http_guard.problems import TargetNotAllowed

Repeat = Literal["idempotent", "once"]  # nothing tells such a server of a key, and none can be asked for the outcome of a call

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SENDABLE = re.compile(r"[\x20-\x7e\x80-\xff\t]*")


class McpServer(Struct, frozen=True):
    """An MCP server: a program to start (`command`), or one that is running already (`url`).

    name      its name here; its tools are called `name_tool`
    command   the program and its arguments; it uses stdin and stdout
    env       its environment, in addition to the few variables that programs get anyway
    folder    the folder it is started in; the current one by default
    url       its URL; it uses streamable HTTP
    headers   sent with each request
    sse       it uses the HTTP+SSE transport from before 2025
    private   whether the host of its URL may have a private, shared or loopback address; one written as such may anyway
    only      the tools to offer, as globs over the server's own names; none means all
    reads     tools known to be read-only, as globs; unless the server itself says otherwise, they count as reading
    retry     tools known to be idempotent, as globs: `{"set_*": "idempotent"}`; of several that match, the first counts. All
              others are `once`, whatever the server says
    prefix    whether its name is prefixed to the names of its tools
    starting  timeout in seconds for it to start and to list its tools
    timeout   seconds without a response, or a progress notification, until a call is given up
    trusted   whether its descriptions of tools are trusted, and what they return

    `{name}` in a value of `env` or `headers` is a credential of the user that the call is made for.
    """

    name: str
    command: tuple[str, ...] = ()
    env: dict[str, str] = {}
    folder: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    sse: bool = False
    only: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    retry: dict[str, Repeat] = {}
    prefix: bool = True
    starting: float = 60
    timeout: float = 60
    trusted: bool = False
    private: bool = False

    def __post_init__(self) -> None:
        problem = _find_flaw(self)
        if problem:
            raise SettingsError(problem)

    def __repr__(self) -> str:
        return f"McpServer(name={self.name!r})"  # the rest may hold secrets

    @property
    def blanks(self) -> tuple[str, ...]:
        """The credentials that it needs of the calling user."""
        values = (*self.env.values(), *self.headers.values())
        return tuple(dict.fromkeys([name for value in values for name in _PLACEHOLDER.findall(value)]))


def _find_flaw(server: McpServer) -> str:
    """Return what is wrong with it, as a sentence; empty if it is valid."""
    if _NAME.fullmatch(server.name) is None:
        return f"{server.name!r} can't be an MCP server's name: use up to 32 letters, digits, `_` and `-`, no sign first."
    if isinstance(server.command, str):
        return f"The command of the MCP server {server.name} has to be a list of words, not one text."
    if bool(server.command) == bool(server.url):
        return f"The MCP server {server.name} needs a command or an address, and not both."
    if server.url and not server.url.startswith(("http://", "https://")):
        return f"The address of the MCP server {server.name} has to begin with http:// or https://."
    if server.url and not _is_unambiguous(server.url):
        return f"The address of the MCP server {server.name} can't be used: write it as https://host/path, without a user name."
    if (server.url and (server.env or server.folder)) or (server.command and (server.headers or server.sse or server.private)):
        return f"The MCP server {server.name}: env and folder go with a command; headers, sse and private with an address."
    if wrong := next((word for word in server.retry.values() if word not in get_args(Repeat)), None):
        return f"{wrong!r} can't be the retry of a tool of the MCP server {server.name}: write idempotent or once."
    if not (server.timeout > 0 and server.starting > 0):
        return f"The MCP server {server.name} needs more than 0 seconds to start, and to answer."
    return ""


def _is_unambiguous(url: str) -> bool:
    """Return whether a URL is unambiguous."""
    try:
        parse_target(url)
    except TargetNotAllowed:
        return False
    return True


class ServerValues(Struct, frozen=True):
    """The values of a server's environment and headers for one user. `user` separates two users with the same values."""

    user: str
    env: tuple[tuple[str, str], ...]
    headers: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return "ServerValues()"

    @property
    def secrets(self) -> tuple[str, ...]:
        """All values, and the words in them: `Bearer x` is unlikely to be repeated, `x` isn't."""
        values = [value for _, value in (*self.env, *self.headers)]
        return tuple([word for value in values for word in (value, *value.split()) if len(word) >= 8])


def fill_server(server: McpServer, credentials: Mapping[str, str], user: str) -> ServerValues:
    """Fill in the server's values for one user. Where it needs no credentials, they are shared by all users."""
    if not server.blanks:
        return ServerValues("", _sorted(server.env), _sorted(server.headers))
    missing = [name for name in server.blanks if name not in credentials]
    if missing:
        which = f"the credential {' and '.join(missing)} of the user"
        raise ToolProblem(f"The MCP server {server.name} needs {which}, which isn't there. The user must provide it.")
    return ServerValues(
        user, _insert_credentials(server.env, credentials), _check_headers(_insert_credentials(server.headers, credentials), server)
    )


def fill_for_listing(server: McpServer, credentials: Mapping[str, str]) -> ServerValues:
    """Fill in the values for listing tools, before any user calls: those that need a missing credential are left out."""
    known = {name: value for name, value in server.headers.items() if _has_credentials(value, credentials)}
    env = {name: value for name, value in server.env.items() if _has_credentials(value, credentials)}
    return ServerValues("", _insert_credentials(env, credentials), _check_headers(_insert_credentials(known, credentials), server))


def _has_credentials(value: str, credentials: Mapping[str, str]) -> bool:
    return all(name in credentials for name in _PLACEHOLDER.findall(value))


def _insert_credentials(values: Mapping[str, str], credentials: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return _sorted({name: _PLACEHOLDER.sub(lambda found: credentials[found[1]], value) for name, value in values.items()})


def _sorted(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


def _check_headers(headers: tuple[tuple[str, str], ...], server: McpServer) -> tuple[tuple[str, str], ...]:
    """Check that values can be sent: libraries that can't send one would quote it in their error."""
    for name, value in headers:
        if _SENDABLE.fullmatch(value) is None:
            raise ToolProblem(f"The header {name} of the MCP server {server.name} holds characters that can't be sent.")
    return headers
