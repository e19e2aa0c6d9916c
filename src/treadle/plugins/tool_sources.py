"""Tools that a person names with a command: OpenAPI documents and MCP servers, with their credentials.

A source is a value without secrets, which is stored with a run: it has the names of the environment variables that
hold them. Added to the settings, it is a section like those of `treadle.toml`, and `user_tools` makes its tools.
"""

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.errors import SettingsError
from treadle.guard.redaction import Redactor
from treadle.http_guard.origins import HttpTarget, parse_target
from treadle.http_guard.problems import TargetNotAllowed
from treadle.http_guard.resolver import is_local_host
from treadle.settings.schema import McpSettings, OpenApiSettings, Settings
from treadle.tools.name_matching import nearest_names

SourceKind = Literal["openapi", "mcp"]
BEARER = ("bearer", "token")

_URL = re.compile(r"https?://", re.IGNORECASE)
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,31})=(.+)", re.DOTALL)
_CREDENTIAL = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=@([A-Za-z_][A-Za-z0-9_]*)")
_UNFIT = re.compile(r"[^A-Za-z0-9]+")


class ToolSource(Struct, frozen=True, omit_defaults=True):
    """An OpenAPI document or an MCP server.

    name         what it is called in records and by credentials; the tools of a `named` one are called `name_tool`
    document     the URL or path of an OpenAPI document
    server       the base URL of its operations, instead of the servers in the document
    url          the URL of an MCP server that is running
    command      the program of an MCP server, and its arguments
    credentials  which environment variable holds a credential: by security scheme for a document, by header for a URL
                 (`bearer` for `Authorization: Bearer …`), by the variable that a program reads it from

    Without any of these it is the section of that name in the user's settings.
    """

    kind: SourceKind
    name: str
    named: bool = False
    document: str = ""
    server: str = ""
    url: str = ""
    command: tuple[str, ...] = ()
    credentials: dict[str, str] = {}

    @property
    def is_section(self) -> bool:
        """Whether it is a section of the settings."""
        return not (self.document or self.url or self.command)

    def __str__(self) -> str:
        return f"--{self.kind} {self.document or self.url or shlex.join(self.command) or self.name}"


def parse_openapi_source(text: str, settings: Settings) -> ToolSource:
    """Parse `[NAME=]URL`, `[NAME=]FILE`, or the name of a section `[openapi.NAME]`."""
    name, place = _split_name(text)
    if not name and place in settings.openapi:
        return ToolSource("openapi", place)
    if _URL.match(place):
        target = _check_url(place, "--openapi")
        return ToolSource("openapi", name or _make_name(target.origin.host), bool(name), document=place)
    path = Path.cwd() / Path(place).expanduser()
    if not path.exists():
        near = nearest_names(place, list(settings.openapi))
        meant = f" Did you mean {' or '.join(near)}, of the settings?" if near else ""
        raise SettingsError(f"--openapi {place}: there is no such file, nor a section [openapi.{place}] in the settings.{meant}")
    return ToolSource("openapi", name or _make_name(path.stem), bool(name), document=str(path))


def parse_mcp_source(text: str, settings: Settings) -> ToolSource:
    """Parse `[NAME=]COMMAND`, `[NAME=]URL`, or the name of a section `[mcp.NAME]`."""
    name, place = _split_name(text)
    if not name and place in settings.mcp:
        return ToolSource("mcp", place)
    if _URL.match(place):
        target = _check_url(place, "--mcp")
        return ToolSource("mcp", name or _make_name(target.origin.host), bool(name), url=place)
    try:
        words = tuple(shlex.split(place))
    except ValueError as error:
        raise SettingsError(f"--mcp {place}: that is no command line: {error}.") from None
    if not words:
        raise SettingsError("--mcp needs a command, an address, or the name of a section [mcp.NAME] in the settings.")
    _refuse_secrets(place, "--mcp")
    unique = f"{_make_name(Path(words[0]).stem)[:23]}-{crc32(place.encode()):08x}"
    return ToolSource("mcp", name or unique, bool(name), command=words)


def with_servers(sources: Sequence[ToolSource], typed: Iterable[str]) -> tuple[ToolSource, ...]:
    """Return the sources with the base URLs of their operations: `[NAME=]URL` each."""
    found = tuple(sources)
    for text in typed:
        name, url = _split_name(text)
        _check_url(url, "--openapi-server")
        documents = [source for source in found if source.kind == "openapi" and not source.is_section]
        fitting = [source for source in documents if not name or source.name == name]
        if len(fitting) != 1:
            raise SettingsError(f"--openapi-server needs to say which document it is for: {_name_sources(documents, 'NAME=URL')}")
        found = _replaced(found, fitting[0], replace(fitting[0], server=url))
    return found


def with_credentials(sources: Sequence[ToolSource], typed: Iterable[str]) -> tuple[ToolSource, ...]:
    """Return the sources with the variables of their credentials: `NAME=@VARIABLE`, or `SOURCE.NAME=@VARIABLE`."""
    found = tuple(sources)
    for text in typed:
        parsed = _CREDENTIAL.fullmatch(text)
        if parsed is None:  # it may hold the credential, so it isn't repeated
            raise SettingsError(
                "--credential takes the name of an environment variable, never the credential itself, which other programs and "
                "your shell's history would see: --credential api_key=@PETSTORE_KEY."
            )
        source, name = _find_owner(found, parsed[1])
        found = _replaced(found, source, replace(source, credentials={**source.credentials, name: parsed[2]}))
    return found


def add_sources(settings: Settings, sources: Sequence[ToolSource], *, alone: bool = False) -> Settings:
    """Return the settings with the sources as sections that apply to every assistant; `alone`: and no other tools of the user.

    Raise `SettingsError` where one is missing: a section, or a variable of a credential.
    """
    for source in sources:
        if source.is_section and source.name not in getattr(settings, source.kind):
            raise SettingsError(f"There is no section [{source.kind}.{source.name}] in the settings any more.")
        _check_credentials(source)
    kept: dict[str, dict[str, Any]] = {"openapi": {}, "mcp": {}} if alone else {"openapi": settings.openapi, "mcp": settings.mcp}
    made: dict[str, dict[str, Any]] = {kind: dict(sections) for kind, sections in kept.items()}
    typed: dict[str, str] = {}
    for source in sources:
        if not source.is_section and source.name in made[source.kind]:
            raise SettingsError(f"There are two sources called {source.name}; name one: {_name_example(source)}.")
        made[source.kind][source.name] = _to_section(source, settings)
        if not source.is_section:
            typed[f"{source.kind}.{source.name}"] = str(source)
    tools = {} if alone else settings.tools
    return replace(settings, tools=tools, openapi=made["openapi"], mcp=made["mcp"], sources={**settings.sources, **typed})


def _to_section(source: ToolSource, settings: Settings) -> OpenApiSettings | McpSettings:
    """Return a source as a section of the settings."""
    if source.kind == "openapi":
        said = settings.openapi[source.name] if source.is_section else _openapi_section(source)
        return replace(said, credentials={**said.credentials, **source.credentials}, assistants=())
    server = settings.mcp[source.name] if source.is_section else _mcp_section(source)
    if server.command:
        env = {name: f"{{{variable}}}" for name, variable in source.credentials.items()}
        return replace(server, env={**server.env, **env}, assistants=())
    headers = dict(_to_header(name, variable) for name, variable in source.credentials.items())
    return replace(server, headers={**server.headers, **headers}, assistants=())


def _openapi_section(source: ToolSource) -> OpenApiSettings:
    """Return a document's section. An address that is written as local may be local; then requests go nowhere else."""
    address = source.server or (source.document if _URL.match(source.document) else "")
    origin = parse_target(address).origin if address else None
    is_local = origin is not None and is_local_host(origin.host)
    return OpenApiSettings(
        document=source.document,
        base_url=source.server,
        origins=(str(origin),) if is_local else (),
        private=is_local,
        prefix=source.named,
    )


def _mcp_section(source: ToolSource) -> McpSettings:
    return McpSettings(command=source.command, url=source.url, prefix=source.named)


def _to_header(name: str, variable: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {{{variable}}}") if name.lower() in BEARER else (name, f"{{{variable}}}")


def _check_credentials(source: ToolSource) -> None:
    for name, variable in source.credentials.items():
        if not os.environ.get(variable):
            shown = Redactor().text(variable)  # where the credential itself was typed
            raise SettingsError(
                f"The credential {name} of {source} is read from the environment variable {shown}, which isn't set. "
                "Set it, or name another: --credential NAME=@VARIABLE."
            )


def _find_owner(sources: Sequence[ToolSource], text: str) -> tuple[ToolSource, str]:
    """Return the source that a credential is for, and the credential's name there. With several sources, it says which."""
    for source in sorted(sources, key=lambda source: -len(source.name)):
        if text.startswith(f"{source.name}."):
            return source, text[len(source.name) + 1 :]
    if len(sources) == 1:
        return sources[0], text
    if not sources:
        raise SettingsError("--credential is for tools of --openapi or --mcp, and there are none; name them too.")
    raise SettingsError(f"--credential needs to say which source it is for: {_name_sources(sources, f'NAME.{text}=@…')}")


def _name_sources(sources: Sequence[ToolSource], form: str) -> str:
    names = ", ".join([source.name for source in sources]) or "none, as there is no --openapi"
    return f"{form}, where NAME is one of {names}."


def _name_example(source: ToolSource) -> str:
    return f"--{source.kind} OTHER={source.document or source.url or shlex.quote(shlex.join(source.command))}"


def _replaced(sources: tuple[ToolSource, ...], old: ToolSource, new: ToolSource) -> tuple[ToolSource, ...]:
    return tuple([new if source is old else source for source in sources])


def _split_name(text: str) -> tuple[str, str]:
    found = _NAMED.fullmatch(text)
    return (found[1], found[2]) if found else ("", text)


def _make_name(text: str) -> str:
    return _UNFIT.sub("-", text).strip("-")[:32] or "tools"


def _check_url(url: str, option: str) -> HttpTarget:
    if "@" in url.partition("://")[2].partition("/")[0]:  # not repeated
        raise SettingsError(f"{option}: an address is stored with the run, so it must not have a password in it; use --credential.")
    _refuse_secrets(url, option)
    try:
        return parse_target(url)
    except TargetNotAllowed as problem:
        raise SettingsError(f"{option} {url}: {problem}") from None


def _refuse_secrets(text: str, option: str) -> None:
    """Refuse text that seems to contain a secret: a source is stored with the run, and is shown."""
    if Redactor().text(text) != text:
        raise SettingsError(f"{option}: that seems to have a secret in it, which would be stored with the run; use --credential.")
