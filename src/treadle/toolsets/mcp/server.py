"""Where an MCP server is, and how far it is believed: a value. What a person's credentials make of it is `Filled`.

Nothing is started or sent here.
"""

import re
from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct

from treadle.core.errors import SettingsError, ToolProblem
from treadle.toolsets.outbound.origins import target
from treadle.toolsets.outbound.problems import NotAllowed

Repeat = Literal["idempotent", "once"]  # nothing tells such a server of a key, and none can be asked what became of a call

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_BLANK = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SENDABLE = re.compile(r"[\x20-\x7e\x80-\xff\t]*")


class Server(Struct, frozen=True):
    """An MCP server: a program that is started (`command`), or one that is somewhere already (`url`).

    name      what it is called here; its tools are called `name_tool`
    command   the program and its arguments; it talks over stdin and stdout
    env       its environment, beside the little that programs get anyway
    folder    the folder it is started in; this one unless you say otherwise
    url       its address; it talks streamable HTTP
    headers   what is sent with each request
    sse       it talks HTTP as servers did before 2025
    private   whether the host of its address may be a private, shared or loopback one; what is written as such may anyway
    only      the tools that are wanted, as globs over the server's own names; none means all
    reads     tools that you know to read only, as globs; unless the server itself says otherwise, they count as reading
    retry     tools that you know to do the same when they are called twice, as globs: `{"set_*": "idempotent"}`; of several that
              fit, the first counts. All others are `once`, whatever the server says
    prefix    whether its name comes before the names of its tools
    starting  seconds until it has to be there and to have listed its tools
    timeout   seconds without an answer, or news of progress, until a call is given up
    trusted   whether what it says of its tools is believed, and what they return

    `{name}` in a value of `env` or `headers` is a credential of whoever the call is made for.
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
        problem = _flaw(self)
        if problem:
            raise SettingsError(problem)

    def __repr__(self) -> str:
        return f"Server(name={self.name!r})"  # the rest may hold secrets

    @property
    def blanks(self) -> tuple[str, ...]:
        """The credentials that it needs of whoever calls."""
        values = (*self.env.values(), *self.headers.values())
        return tuple(dict.fromkeys([name for value in values for name in _BLANK.findall(value)]))


def _flaw(server: Server) -> str:
    """What is wrong with it, in a sentence; empty where nothing is."""
    if _NAME.fullmatch(server.name) is None:
        return f"{server.name!r} can't be an MCP server's name: use up to 32 letters, digits, `_` and `-`, no sign first."
    if isinstance(server.command, str):
        return f"The command of the MCP server {server.name} has to be a list of words, not one text."
    if bool(server.command) == bool(server.url):
        return f"The MCP server {server.name} needs a command or an address, and not both."
    if server.url and not server.url.startswith(("http://", "https://")):
        return f"The address of the MCP server {server.name} has to begin with http:// or https://."
    if server.url and not _is_plain(server.url):
        return (
            f"The address of the MCP server {server.name} can't be used: write it as https://host/path, with nobody's name in it."
        )
    if (server.url and (server.env or server.folder)) or (server.command and (server.headers or server.sse or server.private)):
        return f"The MCP server {server.name}: env and folder go with a command; headers, sse and private with an address."
    if wrong := next((word for word in server.retry.values() if word not in get_args(Repeat)), None):
        return f"{wrong!r} can't be the retry of a tool of the MCP server {server.name}: write idempotent or once."
    if not (server.timeout > 0 and server.starting > 0):
        return f"The MCP server {server.name} needs more than 0 seconds to start, and to answer."
    return ""


def _is_plain(url: str) -> bool:
    """Whether an address can be read in one way only."""
    try:
        target(url)
    except NotAllowed:
        return False
    return True


class Filled(Struct, frozen=True):
    """The values of a server's environment and headers for one person. `user` keeps two people with the same values apart."""

    user: str
    env: tuple[tuple[str, str], ...]
    headers: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return "Filled()"

    @property
    def secrets(self) -> tuple[str, ...]:
        """All values, and the words in them: `Bearer x` is none that anybody would repeat, `x` is."""
        values = [value for _, value in (*self.env, *self.headers)]
        return tuple([word for value in values for word in (value, *value.split()) if len(word) >= 8])


def filled(server: Server, credentials: Mapping[str, str], user: str) -> Filled:
    """The server's values for one person. Where it needs nothing of theirs, they are everybody's."""
    if not server.blanks:
        return Filled("", _sorted(server.env), _sorted(server.headers))
    missing = [name for name in server.blanks if name not in credentials]
    if missing:
        which = f"the credential {' and '.join(missing)} of whoever it is called for"
        raise ToolProblem(f"The MCP server {server.name} needs {which}, which isn't there. A person has to provide it.")
    return Filled(user, _inserted(server.env, credentials), _checked(_inserted(server.headers, credentials), server))


def filled_for_listing(server: Server, credentials: Mapping[str, str]) -> Filled:
    """The values with which tools are listed, when nobody calls yet: those that need a credential that isn't there are left out."""
    known = {name: value for name, value in server.headers.items() if _is_known(value, credentials)}
    env = {name: value for name, value in server.env.items() if _is_known(value, credentials)}
    return Filled("", _inserted(env, credentials), _checked(_inserted(known, credentials), server))


def _is_known(value: str, credentials: Mapping[str, str]) -> bool:
    return all(name in credentials for name in _BLANK.findall(value))


def _inserted(values: Mapping[str, str], credentials: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return _sorted({name: _BLANK.sub(lambda found: credentials[found[1]], value) for name, value in values.items()})


def _sorted(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


def _checked(headers: tuple[tuple[str, str], ...], server: Server) -> tuple[tuple[str, str], ...]:
    """Values that can be sent: libraries that can't send one would say in their error what it was."""
    for name, value in headers:
        if _SENDABLE.fullmatch(value) is None:
            raise ToolProblem(f"The header {name} of the MCP server {server.name} holds characters that can't be sent.")
    return headers
