"""Change the user's `treadle.toml`: single keys and whole tables, with comments and order kept.

A change is made in the text, and written only if the file then says exactly what it said before, but for the change. A file
that is written in another way than this knows (an inline table of tables, for example) is left as it is, and the error says so.
"""

import fcntl
import json
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.settings.loader import check_assistant_names, user_file_path
from treadle.settings.toml import load_settings_bytes, parse_settings

KeyPath = tuple[str, ...]


def set_settings(changes: Mapping[KeyPath, Any], user_file: Path | None = None) -> Path:
    """Set keys in the user's file, each by its path such as `("model", "name")`; None removes a key. Return the file."""
    return _change_file(changes, (), user_file)


def remove_table(path: KeyPath, user_file: Path | None = None) -> Path:
    """Remove a table, such as `("mcp", "issues")`, with everything in it. Return the file."""
    return _change_file({}, path, user_file)


def _change_file(changes: Mapping[KeyPath, Any], removed: KeyPath, user_file: Path | None) -> Path:
    path = user_file_path(user_file).resolve()  # a link stays one
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = load_settings_bytes(path)
            parse_settings(tomllib.loads(before.decode("utf-8-sig")), path)
            after = edit_settings(before.decode("utf-8-sig"), changes, removed, path)
            check_assistant_names(parse_settings(tomllib.loads(after), path), path)
            _replace(path, after.encode())
    except OSError as error:
        raise SettingsError(f"{path} can't be written: {error.strerror}.") from error
    except ValueError as error:  # no TOML, or no text
        raise SettingsError(f"{path} can't be changed: {error}. Correct it first.") from error
    return path


def _replace(path: Path, data: bytes) -> None:
    fresh = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def edit_settings(text: str, changes: Mapping[KeyPath, Any], removed: KeyPath = (), path: Path = Path("treadle.toml")) -> str:
    """Return the text of a file with keys set and a table removed."""
    expected = tomllib.loads(text)
    lines = text.splitlines(keepends=True)
    if removed:
        _drop(expected, removed)
        lines = _without_table(lines, removed)
    for key, value in changes.items():
        key = _written_key(expected, key)
        _put(expected, key, value)
        lines = _with_value(lines, key, value)
    edited = "".join(lines)
    with suppress(tomllib.TOMLDecodeError):
        if _without_empty(tomllib.loads(edited)) == _without_empty(expected):
            return edited
    named = ", ".join([".".join(key) for key in (*changes, *([removed] if removed else []))])
    raise SettingsError(f"{path} is written so that {named} can't be changed here; change it in the file.")


def _written_key(data: dict[str, Any], key: KeyPath) -> KeyPath:
    """Return the key as the file has it: `model = "…"` is the short form of a table with a name."""
    is_short = key == ("model", "name") and isinstance(data.get("model"), str | list)
    return ("model",) if is_short else key


class _Statement(Struct, frozen=True):
    """A header, or a key with its value: the lines from `start` up to `end`. `name` is empty for a header."""

    start: int
    end: int
    table: KeyPath
    name: KeyPath

    @property
    def path(self) -> KeyPath:
        return (*self.table, *self.name)


def _statements(lines: list[str]) -> list[_Statement]:
    """Return the statements of a valid file. A value may have several lines."""
    found: list[_Statement] = []
    table: KeyPath = ()
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        end = at + 1
        if line.startswith("["):
            table = _header_path(line)
            found.append(_Statement(at, end, table, ()))
        elif line and not line.startswith("#"):
            while not _is_complete("".join(lines[at:end])):
                end += 1
            found.append(_Statement(at, end, table, _key_path(lines[at])))
        at = end
    return found


def _is_complete(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _header_path(line: str) -> KeyPath:
    data: object = tomllib.loads(line)
    path: list[str] = []
    while data:
        if isinstance(data, list):
            data = cast("list[object]", data)[0]
            continue
        name, data = next(iter(cast("dict[str, object]", data).items()))
        path.append(name)
    return tuple(path)


def _key_path(line: str) -> KeyPath:
    """Return the path of the key that begins a line: up to the first `=` that isn't part of it."""
    at = -1
    while (at := line.index("=", at + 1)) >= 0:
        if _is_complete(f"{line[:at]}= 0"):
            break
    data: Any = tomllib.loads(f"{line[:at]}= 0")
    path: list[str] = []
    while isinstance(data, dict):
        name, data = next(iter(cast("dict[str, Any]", data).items()))
        path.append(name)
    return tuple(path)


def _with_value(lines: list[str], key: KeyPath, value: Any) -> list[str]:
    statements = _statements(lines)
    there = next((each for each in statements if each.name and each.path == key), None)
    if there is not None:
        old = lines[there.start : there.end]
        return [*lines[: there.start], *([] if value is None else [_changed_line(old, value)]), *lines[there.end :]]
    if value is None:
        return lines
    written = f"{_format_key(key[-1])} = {format_toml(value)}\n"
    siblings = [each for each in statements if each.table == key[:-1]]
    if siblings:
        end = siblings[-1].end
        return [*lines[: end - 1], _ended(lines[end - 1]), written, *lines[end:]]
    if len(key) == 1:
        return [written, *lines]
    gap = ["\n"] if lines else []
    header = f"[{'.'.join([_format_key(name) for name in key[:-1]])}]\n"
    return [*lines[:-1], *[_ended(line) for line in lines[-1:]], *gap, header, written]


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n"


def _changed_line(old: list[str], value: Any) -> str:
    """Return the line of a key with another value; a comment behind it stays."""
    line = old[0]
    at = -1
    while not _is_complete(f"{line[: (at := line.index('=', at + 1))]}= 0"):
        pass
    comment = ""
    if len(old) == 1:
        marks = [at for at, char in enumerate(line) if char == "#"]
        comment = next((f"  {line[at:].rstrip()}" for at in marks if _is_complete(line[:at])), "")
    return f"{line[:at].rstrip()} = {format_toml(value)}{comment}\n"


def _without_table(lines: list[str], path: KeyPath) -> list[str]:
    """Return the lines without those from a header up to its last key, and without keys of the table that are elsewhere."""
    gone: set[int] = set()
    statements = _statements(lines)
    for number, each in enumerate(statements):
        if each.path[: len(path)] != path:
            continue
        after = statements[number + 1] if number + 1 < len(statements) else None
        is_own = not each.name or each.table[: len(path)] == path
        goes_on = after is not None and bool(after.name) and after.table == each.table
        gone |= set(range(each.start, after.start if after is not None and is_own and goes_on else each.end))
    return [line for number, line in enumerate(lines) if number not in gone]


def _put(data: dict[str, Any], key: KeyPath, value: Any) -> None:
    if value is None:
        _drop(data, key)
        return
    for name in key[:-1]:
        data = data.setdefault(name, {})
    data[key[-1]] = value


def _drop(data: dict[str, Any], key: KeyPath) -> None:
    for name in key[:-1]:
        data = data.get(name, {})
    data.pop(key[-1], None)


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    """Return tables without those that have nothing in them: a header may stay behind."""
    pairs = [
        (name, _without_empty(cast("dict[str, Any]", value)) if isinstance(value, dict) else value) for name, value in data.items()
    ]
    return {name: value for name, value in pairs if value != {}}


def format_toml(value: Any) -> str:
    """Return a value as TOML, on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value.encode("utf-8", "replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007F")
        case list() | tuple():
            return f"[{', '.join([format_toml(each) for each in cast('list[Any]', value)])}]"
        case dict():
            pairs = [f"{_format_key(name)} = {format_toml(each)}" for name, each in cast("dict[str, Any]", value).items()]
            return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
        case _:
            raise TypeError(f"A setting can't be a {type(value).__name__}.")


def _format_key(name: str) -> str:
    is_bare = name and all(char.isascii() and (char.isalnum() or char in "_-") for char in name)
    return name if is_bare else format_toml(name)
