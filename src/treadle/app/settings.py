"""`treadle.toml`, read: what the person settled, and what the project may add to it. Key by key, with where each comes from.

What there is to settle and who may say it is `settled`; how a file is read is `toml`. Nothing is read before somebody asks.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, assert_never

import msgspec
from msgspec import Struct

from treadle.app.settled import KEYS, NAMED, SECTIONS, DatabaseSettings, Rule, Said, Settings, default_of, pattern_of
from treadle.app.toml import NAME, project_file, said_in
from treadle.core.errors import SettingsError
from treadle.tools.names import nearest

T = TypeVar("T")

VARIABLE = "TREADLE_CONFIG"
DATABASE = "TREADLE_DATABASE"
DEFAULT = "default"
SOURCES = {"mcp": "the MCP server", "openapi": "the OpenAPI document", "tools": "the tools"}


def settings_of(folder: Path, *, user_file: Path | None = None) -> Settings:
    """What counts in a folder: the person's settings, and the nearest project's where it may say so."""
    own = _users_file(user_file)
    theirs = project_file(Path(folder), own)
    said = said_in(own)
    return _settings(said, own, {} if theirs is None else said_in(theirs), theirs)


def user_settings(user_file: Path | None = None) -> Settings:
    """What the person settled, wherever they are."""
    own = _users_file(user_file)
    return _settings(said_in(own), own, {}, None)


def _users_file(named: Path | None) -> Path:
    """The person's own file, whether it is there or not; the one they named has to be."""
    if named is not None:
        return named
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        from platformdirs import user_config_path

        return user_config_path("treadle", appauthor=False) / NAME
    path = Path(chosen).expanduser().absolute()
    if not path.exists():
        raise SettingsError(f"{VARIABLE} names {path}, which isn't there. Correct it, or take it away.")
    return path


def _settings(said: Said, own: Path, theirs: Said, project: Path | None) -> Settings:
    _check_assistants(said, own)
    values, sources = dict(said), dict.fromkeys(said, str(own))
    notes: dict[str, str] = {}
    for key, value in theirs.items():
        mine = values.get(key, default_of(key))
        taken = _taken(KEYS[pattern_of(key)].rule, value, mine)
        if taken != mine:
            values[key] = taken
            sources[key] = f"{sources[key]}, {project}" if key in sources and isinstance(taken, tuple) else str(project)
        if _is_refused(KEYS[pattern_of(key)].rule, value, taken):
            notes |= _note(key, own, project)
    return Settings(
        **_sections(values),
        user_file=str(own),
        project_file="" if project is None else str(project),
        sources=sources,
        notes=tuple(notes.values()),
    )


def _check_assistants(said: Said, own: Path) -> None:
    """Refuse names of assistants that aren't installed. A project's aren't looked at: they don't count, and it may have others."""
    named = [(key, key.partition(".")[2]) for key in said if key.startswith("assistants.")]
    named += [(key, name) for key, value in said.items() if key.endswith(".assistants") for name in value]
    if not named:
        return
    from treadle.app.plugins import names

    known = names("assistants")
    for key, name in named:
        if name not in known:
            near = nearest(name, known)
            hint = f" Did you mean {' or '.join(near)}?" if near else f" There are: {', '.join(known)}."
            raise SettingsError(f"{key} in {own} is about the assistant {name}, which isn't installed.{hint}")


def _taken(rule: Rule, theirs: Any, mine: Any) -> Any:
    """What counts of what a project says, where `mine` is the person's word or the default."""
    match rule:
        case "project":
            return theirs
        case "user":
            return mine
        case "lower":
            return theirs if mine is None or theirs < mine else mine
        case "more":
            return (*mine, *[each for each in theirs if each not in mine])
        case "fewer":
            return theirs if mine is None else tuple([each for each in mine if each in theirs])
        case "on":
            return mine or theirs
        case "off":
            return mine and theirs
        case _:
            assert_never(rule)


def _is_refused(rule: Rule, theirs: Any, taken: Any) -> bool:
    """Whether some of what a project says doesn't count."""
    if rule in ("more", "fewer"):
        return not {*theirs} <= {*taken}
    return theirs != taken


def _note(key: str, own: Path, project: Path | None) -> dict[str, str]:
    """A sentence about what wasn't taken: one for all of a source of tools."""
    section, name = key.split(".")[:2]
    if section in SOURCES:
        what = f"{SOURCES[section]} {name}"
        return {what: f"{project} names {what}, which only you can: it is left out. To have it, name it in {own}."}
    why = "which is for you alone to say" if KEYS[pattern_of(key)].rule == "user" else "which would allow more than you do"
    return {key: f"{project} sets {key}, {why}: it is left out. To have it, set it in {own}."}


def _sections(values: Said) -> dict[str, Any]:
    parts: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    for key, value in values.items():
        section, _, name = key.partition(".")
        if section in NAMED:
            server, _, name = name.rpartition(".")
            parts[section].setdefault(server, {})[name] = value
        else:
            parts[section][name] = value
    assistants = parts.pop("assistants")
    named = {section: {name: SECTIONS[section](**fields) for name, fields in parts.pop(section).items()} for section in NAMED}
    return {name: SECTIONS[name](**fields) for name, fields in parts.items()} | named | {"assistants": assistants}


def assistant_settings(name: str, kind: type[T], *, user_file: Path | None = None) -> T:
    """What the person settled for an assistant, under `[assistants.NAME]`. A project's file has no say in it."""
    settings = user_settings(user_file)
    said = settings.assistants.get(name, {})
    known: tuple[str, ...] = getattr(kind, "__struct_fields__", tuple(said))
    for key in said:
        if key not in known:
            near = [f"assistants.{name}.{each}" for each in nearest(key, known)]
            hint = f" Did you mean {' or '.join(near)}?" if near else f" There are: {', '.join(known)}."
            raise SettingsError(f"assistants.{name}.{key} in {settings.user_file} means nothing.{hint}")
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError as error:
        raise SettingsError(f"[assistants.{name}] in {settings.user_file} can't be used: {error}.") from error


def database_url() -> str:
    """The PostgreSQL database that runs are kept in; empty where they are kept in files."""
    return os.environ.get(DATABASE) or user_settings().database.url


class Row(Struct, frozen=True):
    """A key, its value, and where that comes from."""

    key: str
    value: Any
    source: str


def describe(settings: Settings) -> list[Row]:
    """Every key, in order. Of headers and environments only the names are told."""
    from treadle.guard.redaction import Redactor

    rows: list[Row] = []
    for section in SECTIONS:
        if section == "assistants":
            rows += _rows(section, Redactor().value(settings.assistants), settings.sources)
        elif section in SOURCES:
            for name, source in getattr(settings, section).items():
                rows += _rows(f"{section}.{name}", _without_secrets(source), settings.sources)
        elif section == "providers":
            for name, provider in settings.providers.items():
                shown = {**msgspec.to_builtins(provider), "headers": sorted(provider.headers)}
                rows += _rows(f"providers.{name}", shown, settings.sources)
        elif section == "prices":
            for name, price in settings.prices.items():
                rows += _rows(f"prices.{name}", msgspec.to_builtins(price), settings.sources)
        elif section == "database":
            rows += _rows(section, _without_password(settings.database), settings.sources)
        else:
            rows += _rows(section, msgspec.to_builtins(getattr(settings, section)), settings.sources)
    return rows


def _rows(prefix: str, values: Mapping[str, Any], sources: Mapping[str, str]) -> list[Row]:
    return [Row(f"{prefix}.{name}", value, sources.get(f"{prefix}.{name}", DEFAULT)) for name, value in values.items()]


def _without_password(database: DatabaseSettings) -> dict[str, Any]:
    from treadle.stores.postgres.address import shown

    return {**msgspec.to_builtins(database), "url": shown(database.url) if database.url else ""}


def _without_secrets(source: Struct) -> dict[str, Any]:
    from treadle.guard.redaction import Redactor

    values: dict[str, Any] = msgspec.to_builtins(source)
    names = {field: sorted(values[field]) for field in ("headers", "env") if field in values}
    return {**Redactor().value(values), **names}
