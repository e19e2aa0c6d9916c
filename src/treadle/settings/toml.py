"""Parse the settings file `treadle.toml` strictly: unknown keys, invalid values and lines that are no TOML are each reported.

`schema` defines the keys and who may set them.
"""

import os
import re
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec

from treadle.core.errors import SettingsError
from treadle.core.regular_files import NotRegular, open_regular
from treadle.models.providers import PROVIDERS
from treadle.plugins.entry_points import plugin_names
from treadle.settings.assistant_keys import keys_of
from treadle.settings.schema import KEYS, SECTIONS, ModelSpecNames, Said, key_pattern
from treadle.tools.name_matching import format_hint, nearest_names

FILE_NAME = "treadle.toml"
MAX_BYTES = 1_000_000

_SOURCE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_ERROR_INDEX = re.compile(r" - at `\$(\[\d+\])`\Z")


def find_project_file(folder: Path, own: Path) -> Path | None:
    """Return the nearest file from a folder upwards, up to its repository or the home folder.

    Above the folder only files that the user owns count.
    """
    here, home = folder.resolve(), _home_folder()
    for place in (here, *here.parents):
        path = place / FILE_NAME
        if place != here and not (_is_owned(place) and (_is_owned(path) or not os.path.lexists(path))):
            return None
        if _is_file(path) and path.resolve() != own.resolve():
            return path
        if place == home or os.path.lexists(place / ".git"):
            return None
    return None


def _home_folder() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:  # no such user
        return None


def _is_owned(path: Path) -> bool:
    try:
        return not hasattr(os, "getuid") or path.lstat().st_uid == os.getuid()
    except OSError:
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # one that can't be looked at
        return False


def read_settings_file(path: Path) -> Said:
    """Return a file's values by key; empty where there is no file."""
    return parse_settings(_parse_toml(load_settings_bytes(path), path), path)


def parse_settings(data: dict[str, Any], path: Path) -> Said:
    """Return the values of a parsed file by key; raise `SettingsError` where one is unknown or invalid."""
    said: Said = {}
    for section, values in _iter_tables(_normalize_model(data), "", path):
        match section:
            case "tools" | "mcp" | "openapi":
                for name, fields in _iter_tables(values, f"{section}.", path):
                    said |= _read_tool_source(section, name, fields, path)
            case "providers" | "prices" | "queues" | "quotas" | "notifications":
                for name, fields in _iter_tables(values, f"{section}.", path):
                    said |= _READERS[section](name, fields, path)
            case "assistants":
                for name, fields in _iter_tables(values, "assistants.", path):
                    said |= _read_assistant(name, fields, path)
            case _:
                said |= {f"{section}.{name}": _check_value(f"{section}.{name}", value, path) for name, value in values.items()}
    return said


def load_settings_bytes(path: Path) -> bytes:
    """Return the bytes of a file; none where there is no file."""
    try:
        with os.fdopen(open_regular(str(path)), "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return b""
    except NotRegular as error:
        if stat.S_ISCHR(error.mode):
            return b""  # /dev/null, for no settings at all
        raise SettingsError(f"{path} can't be opened: {error.strerror}.") from error
    except OSError as error:
        raise SettingsError(f"{path} can't be opened: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise SettingsError(f"{path} is too large for settings: at most {MAX_BYTES:,} bytes are read.")
    return data


def _parse_toml(data: bytes, path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{path} is no text at line {line}; write it in UTF-8.") from error
    except (ValueError, RecursionError) as error:
        last = f"at line {len(data.splitlines()) or 1}"
        raise SettingsError(f"{path} is no TOML: {str(error).replace('at end of document', last)}.") from error


def _normalize_model(data: dict[str, Any]) -> dict[str, Any]:
    """Normalize `model = "…"`, or a list of names, to a table with a name."""
    named: object = data.get("model")
    texts = isinstance(named, list) and all(isinstance(each, str) for each in cast("list[object]", named))
    return {**data, "model": {"name": named}} if isinstance(named, str) or texts else data


def _iter_tables(values: dict[str, Any], prefix: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in values.items():
        if prefix == "" and name not in SECTIONS:
            raise _unknown_key_error(name, path)
        if not isinstance(value, dict):
            raise SettingsError(f"{prefix}{name} in {path} must be a table, which begins with a line [{prefix}{name}].")
        yield name, cast("dict[str, Any]", value)


def _read_tool_source(section: str, name: str, fields: dict[str, Any], path: Path) -> Said:
    """Read a source of tools."""
    prefix = f"{section}.{name}"
    if _SOURCE_NAME.fullmatch(name) is None:
        what = "a server's name" if section == "mcp" else "a name of tools"
        raise SettingsError(f"{section}.{name!r} in {path} can't be {what}: use up to 32 letters, digits, `_` and `-`.")
    said = {f"{prefix}.{field}": _check_value(f"{prefix}.{field}", value, path) for field, value in fields.items()}
    if section == "mcp" and bool(said.get(f"{prefix}.command")) == bool(said.get(f"{prefix}.url")):
        raise SettingsError(f"{prefix} in {path} needs a command or a url, and not both.")
    needed = {"tools": "python", "openapi": "document"}.get(section)
    if needed and not said.get(f"{prefix}.{needed}"):
        raise SettingsError(f"{prefix} in {path} needs {KEYS[f'{section}.NAME.{needed}'].what}: {needed} = ….")
    return said


def _read_provider(name: str, fields: dict[str, Any], path: Path) -> Said:
    if name not in PROVIDERS:
        hint = format_hint([f"providers.{near}" for near in nearest_names(name, PROVIDERS)[:1]], list(PROVIDERS))
        raise SettingsError(f"providers.{name} in {path} isn't a known provider. {hint}")
    return {f"providers.{name}.{field}": _check_value(f"providers.{name}.{field}", value, path) for field, value in fields.items()}


def _read_table(section: str, name: str, fields: dict[str, Any], path: Path) -> Said:
    prefix = f"{section}.{name}"
    return {f"{prefix}.{field}": _check_value(f"{prefix}.{field}", value, path) for field, value in fields.items()}


def _read_channel(name: str, fields: dict[str, Any], path: Path) -> Said:
    if _SOURCE_NAME.fullmatch(name) is None:
        raise SettingsError(
            f"notifications.{name!r} in {path} can't be a channel's name: use up to 32 letters, digits, `_` and `-`."
        )
    return _read_table("notifications", name, fields, path)


def _read_quota(name: str, fields: dict[str, Any], path: Path) -> Said:
    """Read a quota, which needs a limit and those whom it limits."""
    if _SOURCE_NAME.fullmatch(name) is None:
        raise SettingsError(f"quotas.{name!r} in {path} can't be a quota's name: use up to 32 letters, digits, `_` and `-`.")
    said = _read_table("quotas", name, fields, path)
    if not (fields.get("tokens") or fields.get("cost")) or not (fields.get("users") or fields.get("groups")):
        raise SettingsError(f"quotas.{name} in {path} needs users or groups, and a limit: tokens, cost, or both.")
    return said


def _read_assistant(name: str, fields: dict[str, Any], path: Path) -> Said:
    """Read an assistant's table. The keys of one that isn't installed are unknown; whether that matters is up to `loader`."""
    if name not in plugin_names("assistants"):
        return {f"assistants.{name}.{field}": value for field, value in fields.items()}
    known, said = keys_of(name), dict[str, Any]()
    for field, value in fields.items():
        key = f"assistants.{name}.{field}"
        if field not in known:
            near = [f"assistants.{name}.{each}" for each in nearest_names(field, known)]
            raise _unknown_name_error(key, path, near, [*known] or ["none"])
        try:
            said[key] = msgspec.convert(value, known[field].type)
        except msgspec.ValidationError as error:
            raise _invalid_value_error(key, known[field].what, value, path, str(error)) from error
    return said


def _check_value(key: str, value: Any, path: Path) -> Any:
    if key_pattern(key) not in KEYS:
        raise _unknown_key_error(key, path)
    section, _, name = key.partition(".")
    kinds = {field.name: field.type for field in msgspec.structs.fields(SECTIONS[section])}
    try:
        if key == "model.name" and isinstance(value, list):
            return ", ".join(msgspec.convert(value, ModelSpecNames))  # as one text, of which `model_of` makes a fallback
        return msgspec.convert(value, kinds[name.rpartition(".")[2]])
    except msgspec.ValidationError as error:
        raise _invalid_value_error(key, KEYS[key_pattern(key)].what, value, path, str(error)) from error


def _invalid_value_error(key: str, what: str, value: Any, path: Path, why: str) -> SettingsError:
    within = _ERROR_INDEX.search(why)
    if within is not None:
        return SettingsError(f"{key} in {path} must be {what}; {key}{within[1]} doesn't fit.")
    return SettingsError(f"{key} in {path} must be {what}, not {_format_value(value)}.")


def _format_value(value: Any) -> str:
    """Format a value for an error message. Texts aren't repeated: one may contain a secret."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            return "that text"
        case list():
            return "that list"
        case dict():
            return "a table"
        case _:
            return "a date or a time"


def _unknown_key_error(key: str, path: Path) -> SettingsError:
    """Return the error for an unknown key, with suggestions from this or another table."""
    *above, name = key.split(".")
    prefix = ".".join([*above, ""])
    known = [
        each.rpartition(".")[2]
        for each in KEYS
        if above and key_pattern(f"{prefix}x").rpartition(".")[0] == each.rpartition(".")[0]
    ]
    near = [f"{prefix}{each}" for each in nearest_names(name, known or SECTIONS)]
    meant = near or [each for each in KEYS if each.rpartition(".")[2] == name]
    return _unknown_name_error(key, path, meant, known or list(SECTIONS))


def _unknown_name_error(key: str, path: Path, meant: list[str], known: list[str]) -> SettingsError:
    return SettingsError(f"{key} in {path} isn't a known setting. {format_hint(meant, known)}")


_READERS = {
    "providers": _read_provider,
    "prices": partial(_read_table, "prices"),
    "queues": partial(_read_table, "queues"),
    "quotas": _read_quota,
    "notifications": _read_channel,
}
