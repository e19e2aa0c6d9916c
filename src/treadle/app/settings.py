"""`treadle.toml`, read: what the person settled, and what the project may add to it. Key by key, with where each comes from.

What there is to settle and who may say it is `settled`, for assistants `assistant_keys`; how a file is read is `toml`. Nothing is
read before somebody asks.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, assert_never

import msgspec
from msgspec import Struct

from treadle.app.assistant_keys import keys_of, rule_of, said_by_variables, usual_of
from treadle.app.plugins import names
from treadle.app.settled import NAMED, SECTIONS, DatabaseSettings, Rule, Said, Settings
from treadle.app.toml import NAME, project_file, said_in
from treadle.core.errors import SettingsError
from treadle.tools.names import nearest

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
        rule, mine = rule_of(key), values.get(key, usual_of(key))
        taken = _taken(rule, value, mine)
        if taken != mine:
            values[key] = taken
            sources[key] = f"{sources[key]}, {project}" if key in sources and isinstance(taken, tuple) else str(project)
        if _is_refused(rule, value, taken):
            notes |= _note(key, own, project)
    for key, (variable, value) in said_by_variables().items():
        values[key], sources[key] = value, variable
    return Settings(
        **_sections(values),
        user_file=str(own),
        project_file="" if project is None else str(project),
        sources=sources,
        notes=tuple(notes.values()),
    )


def _check_assistants(said: Said, own: Path) -> None:
    """Refuse names of assistants that aren't installed. A project's aren't looked at: they don't count, and it may have others."""
    named = [(".".join(key.split(".")[:2]), key.split(".")[1]) for key in said if key.startswith("assistants.")]
    named += [(key, name) for key, value in said.items() if key.endswith(".assistants") for name in value]
    if not named:
        return
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
    why = "which is for you alone to say" if rule_of(key) == "user" else "which would allow more than you do"
    return {key: f"{project} sets {key}, {why}: it is left out. To have it, set it in {own}."}


def _sections(values: Said) -> dict[str, Any]:
    parts: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    for key, value in values.items():
        section, _, name = key.partition(".")
        if section in NAMED or section == "assistants":
            server, _, name = name.rpartition(".")
            parts[section].setdefault(server, {})[name] = value
        else:
            parts[section][name] = value
    assistants = parts.pop("assistants")
    named = {section: {name: SECTIONS[section](**fields) for name, fields in parts.pop(section).items()} for section in NAMED}
    return {name: SECTIONS[name](**fields) for name, fields in parts.items()} | named | {"assistants": assistants}


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
    rows: list[Row] = []
    for section in SECTIONS:
        for prefix, values in _described(settings, section):
            rows += [
                Row(f"{prefix}.{name}", value, settings.sources.get(f"{prefix}.{name}", DEFAULT)) for name, value in values.items()
            ]
    return rows


def _described(settings: Settings, section: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tables of a section with their values, without secrets."""
    if section == "assistants":
        for name in filter(keys_of, names("assistants")):
            yield f"assistants.{name}", _without_secrets(settings.assistant(name))
    elif section in NAMED:
        for name, table in getattr(settings, section).items():
            yield f"{section}.{name}", _without_secrets(table)
    elif section == "database":
        yield section, _without_password(settings.database)
    else:
        yield section, msgspec.to_builtins(getattr(settings, section))


def _without_password(database: DatabaseSettings) -> dict[str, Any]:
    from treadle.stores.postgres.address import shown

    return {**msgspec.to_builtins(database), "url": shown(database.url) if database.url else ""}


def _without_secrets(source: Struct) -> dict[str, Any]:
    from treadle.guard.redaction import Redactor

    values: dict[str, Any] = msgspec.to_builtins(source)
    tables = {field: sorted(values[field]) for field in ("headers", "env") if field in values}
    return {**Redactor().value(values), **tables}
