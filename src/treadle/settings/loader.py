"""Load the settings files, `treadle.toml`: the user's and what a project may add to it, key by key, with the source of each.

`schema` defines the settings and who may set them, `assistant_keys` those of assistants; `toml` parses a file.
Nothing is read before it is needed.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, assert_never
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.plugins.entry_points import plugin_names
from treadle.settings.assistant_keys import default_value_of, keys_of, read_variables, rule_of
from treadle.settings.schema import NAMED, SECTIONS, DatabaseSettings, MergeRule, NotificationSettings, Said, Settings
from treadle.settings.toml import FILE_NAME, find_project_file, read_settings_file
from treadle.tools.name_matching import hint_for

CONFIG_VARIABLE = "TREADLE_CONFIG"
DATABASE_VARIABLE = "TREADLE_DATABASE"
DEFAULT = "default"
SOURCES = {"mcp": "the MCP server", "openapi": "the OpenAPI document", "tools": "the tools"}


def settings_for(folder: Path, *, user_file: Path | None = None) -> Settings:
    """Return the settings that apply in a folder: the user's, and the nearest project's where it is allowed to set them."""
    own = user_file_path(user_file)
    theirs = find_project_file(Path(folder), own)
    said = read_settings_file(own)
    return _merge_settings(said, own, {} if theirs is None else read_settings_file(theirs), theirs)


def user_settings(user_file: Path | None = None) -> Settings:
    """Return the user's settings, whatever the folder."""
    own = user_file_path(user_file)
    return _merge_settings(read_settings_file(own), own, {}, None)


def user_file_path(named: Path | None = None) -> Path:
    """Return the path of the user's file, which may not exist; one that is named explicitly has to."""
    if named is not None:
        return named
    chosen = os.environ.get(CONFIG_VARIABLE)
    if not chosen:
        from platformdirs import user_config_path

        return user_config_path("treadle", appauthor=False) / FILE_NAME
    path = Path(chosen).expanduser().absolute()
    if not path.exists():
        raise SettingsError(f"{CONFIG_VARIABLE} names {path}, which isn't there. Correct it, or take it away.")
    return path


def _merge_settings(said: Said, own: Path, theirs: Said, project: Path | None) -> Settings:
    check_assistant_names(said, own)
    values, sources = dict(said), dict.fromkeys(said, str(own))
    notes: dict[str, str] = {}
    for key, value in theirs.items():
        rule, mine = rule_of(key), values.get(key, default_value_of(key))
        taken = _apply_rule(rule, value, mine)
        if taken != mine:
            values[key] = taken
            sources[key] = f"{sources[key]}, {project}" if key in sources and isinstance(taken, tuple) else str(project)
        if _is_rejected(rule, value, taken):
            notes |= _rejection_note(key, own, project)
    for key, (variable, value) in read_variables().items():
        values[key], sources[key] = value, variable
    return Settings(
        **_build_sections(values),
        user_file=str(own),
        project_file="" if project is None else str(project),
        sources=sources,
        notes=tuple(notes.values()),
    )


def check_assistant_names(said: Said, own: Path) -> None:
    """Reject names of assistants that aren't installed. A project's aren't checked: they have no effect, and it may use others."""
    named = [(".".join(key.split(".")[:2]), key.split(".")[1]) for key in said if key.startswith("assistants.")]
    named += [(key, name) for key, value in said.items() if key.endswith(".assistants") for name in value]
    if not named:
        return
    known = plugin_names("assistants")
    for key, name in named:
        if name not in known:
            raise SettingsError(f"{key} in {own} is about the assistant {name}, which isn't installed. {hint_for(name, known)}")


def _apply_rule(rule: MergeRule, theirs: Any, mine: Any) -> Any:
    """Return the effective value of a project's setting, where `mine` is the user's value or the default."""
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


def _is_rejected(rule: MergeRule, theirs: Any, taken: Any) -> bool:
    """Whether some of a project's setting has no effect."""
    if rule in ("more", "fewer"):
        return not {*theirs} <= {*taken}
    return theirs != taken


def _rejection_note(key: str, own: Path, project: Path | None) -> dict[str, str]:
    """Return a sentence about a setting that was rejected: one for all of a source of tools."""
    section, name = key.split(".")[:2]
    if section in SOURCES:
        what = f"{SOURCES[section]} {name}"
        return {what: f"{project} names {what}, which only you can: it is left out. To have it, name it in {own}."}
    why = "which is for you alone to say" if rule_of(key) == "user" else "which would allow more than you do"
    return {key: f"{project} sets {key}, {why}: it is left out. To have it, set it in {own}."}


def _build_sections(values: Said) -> dict[str, Any]:
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
    """Return the URL of the PostgreSQL database for runs; empty where they are stored in files."""
    return os.environ.get(DATABASE_VARIABLE) or user_settings().database.url


class SettingRow(Struct, frozen=True):
    """A key, its value, and the source of that."""

    key: str
    value: Any
    source: str


def describe_settings(settings: Settings) -> list[SettingRow]:
    """Return every key, in order. Of headers and environments only the names are included."""
    rows: list[SettingRow] = []
    for section in SECTIONS:
        for prefix, values in _describe_section(settings, section):
            rows += [
                SettingRow(f"{prefix}.{name}", value, settings.sources.get(f"{prefix}.{name}", DEFAULT))
                for name, value in values.items()
            ]
    return rows


def _describe_section(settings: Settings, section: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the tables of a section with their values, without secrets."""
    if section == "assistants":
        for name in filter(keys_of, plugin_names("assistants")):
            yield f"assistants.{name}", _mask_secrets(settings.assistant(name))
    elif section in NAMED:
        for name, table in getattr(settings, section).items():
            yield f"{section}.{name}", _mask_secrets(table)
    elif section == "database":
        yield section, _mask_password(settings.database)
    else:
        yield section, msgspec.to_builtins(getattr(settings, section))


def _mask_password(database: DatabaseSettings) -> dict[str, Any]:
    from treadle.stores.postgres.address import redact_url

    return {**msgspec.to_builtins(database), "url": redact_url(database.url) if database.url else ""}


def _mask_secrets(source: Struct) -> dict[str, Any]:
    from treadle.guard.redaction import Redactor

    values: dict[str, Any] = msgspec.to_builtins(source)
    tables = {field: sorted(values[field]) for field in ("headers", "env") if field in values}
    masked = {**Redactor().value(values), **tables}
    if isinstance(source, NotificationSettings) and source.url:  # the address of a webhook is what entitles to use it
        parts = urlsplit(source.url)
        masked["url"] = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…"
    return masked
