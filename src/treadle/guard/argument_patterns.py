"""What the arguments of a call must be for a remembered approval to cover it: matching, and suggestions for a person. Pure.

A path pattern never matches `..`, and its wildcards no hidden names, as in a shell. A command pattern only matches a line that is
one command: what could run another one (`;`, `$(…)`) or write elsewhere (`>`) doesn't match, whatever the line begins with.
"""

from collections.abc import Mapping
from typing import Any, assert_never, cast

import msgspec

from treadle.core.calls import Effect
from treadle.core.errors import ApprovalError
from treadle.core.grants import ArgumentPattern, PatternKind, Patterns
from treadle.guard.globs import compile_glob
from treadle.guard.secret_names import split_name
from treadle.guard.shell_parser import ShellWord, UnclearCommand, parse_simple_command

_COMMAND_NAMES = frozenset(("command", "cmd", "shell"))
_PATH_NAMES = frozenset(("path", "paths", "file", "files", "filename", "folder", "directory", "dir"))
_canonical = msgspec.json.Encoder(order="sorted")

# The first words of a command that say what it does: `git commit`, `python -m pytest`.
_SUBCOMMANDS = frozenset(
    ("git", "npm", "pnpm", "yarn", "npx", "cargo", "go", "dotnet", "make", "just", "uv", "poetry", "pip", "pip3", "bundle", "mvn")
)
_RUNS_ANOTHER = frozenset(("npm run", "pnpm run", "yarn run", "uv run", "uv pip", "poetry run", "bundle exec"))
_INTERPRETERS = frozenset(("python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "lua", "awk", "gawk", "sed"))
_NEVER_GENERAL = _INTERPRETERS | {
    *("sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "source", ".", "export", "set"),
    *("find", "rm", "rmdir", "mv", "ln", "dd", "shred", "truncate", "tee", "install", "chmod", "chown", "kill", "pkill", "killall"),
    *("curl", "wget", "rsync", "scp"),
}
_NEVER_GENERAL_TOGETHER = frozenset(  # these lose work, leave the machine, or change what other commands do
    ("git push", "git reset", "git clean", "git checkout", "git restore", "git rebase", "git config", "git filter-branch")
) | {f"{program} {action}" for program in ("npm", "pnpm", "yarn", "cargo", "uv", "poetry") for action in ("publish", "config")}


# matching


def matches_patterns(where: Patterns, arguments: Mapping[str, Any]) -> bool:
    """Return whether every argument that is named is there and matches."""
    return all(name in arguments and matches_pattern(pattern, arguments[name]) for name, pattern in where.items())


def matches_pattern(pattern: ArgumentPattern, value: Any) -> bool:
    """Return whether a value matches. Of a list, all items have to match a path or a glob, and there must be some."""
    match pattern.kind:
        case "equals":
            return value == pattern.value
        case "json":
            return to_canonical_json(value) == pattern.value
        case "command":
            return isinstance(value, str) and _matches_command(pattern.value, value)
        case "path" | "glob":
            matches = _matches_path if pattern.kind == "path" else _matches_glob
            values = cast("list[Any]", value) if isinstance(value, list) else [value]
            return bool(values) and all(isinstance(each, str) and matches(pattern.value, each) for each in values)
        case _:
            assert_never(pattern.kind)


def to_canonical_json(value: Any) -> str:
    """Return a value as JSON, independent of the order of names."""
    try:
        return _canonical.encode(value).decode()
    except UnicodeEncodeError:  # half of a surrogate pair: no UTF-8 for it, and still an argument
        import json

        return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _matches_glob(pattern: str, value: str) -> bool:
    return bool(compile_glob(pattern)(value))


def _matches_path(pattern: str, value: str) -> bool:
    wanted, parts = _split_path(pattern), _split_path(value)
    if any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts[1:]) or parts[0] in (".", ".."):
        return False
    if wanted[-1] == "**":
        wanted = [*wanted[:-1], *["*"] * max(len(parts) - len(wanted) + 1, 1)]
    return len(parts) == len(wanted) and all(map(_matches_name, wanted, parts))


def _split_path(path: str) -> list[str]:
    """Return the names of a path; an absolute one begins with an empty name."""
    while path.startswith("./"):
        path = path[2:]
    return path.split("/")


def _matches_name(pattern: str, name: str) -> bool:
    """Return whether one name of a path matches. A wildcard is no hidden name, no home folder, and not the root."""
    return pattern == name or ((name[:1] == pattern[:1] or name[:1] not in ("", ".", "~")) and bool(compile_glob(pattern)(name)))


def _matches_command(pattern: str, line: str) -> bool:
    wanted, is_prefix = _split_command(pattern)
    try:
        words = parse_simple_command(line)
    except UnclearCommand:
        return False
    first = words[: len(wanted)]
    return (is_prefix or len(words) == len(wanted)) and [word.text for word in first] == wanted and _is_fixed(first)


def _is_fixed(words: list[ShellWord]) -> bool:
    """Return whether a shell leaves the words as they are. An equals sign does nothing after the first word."""
    return words[0].plain and all(word.plain or not set("*?[{~^") & set(word.text) for word in words)


def _split_command(pattern: str) -> tuple[list[str], bool]:
    """Return the words of a command pattern, and whether anything may follow them. Raises `UnclearCommand`."""
    is_prefix = pattern.endswith(" *")
    words = parse_simple_command(pattern.removesuffix(" *"))
    if not _is_fixed(words):
        raise UnclearCommand("a pattern in the middle")
    return [word.text for word in words], is_prefix


# what a person may write


def parse_patterns(where: Mapping[str, str | ArgumentPattern], arguments: Mapping[str, Any]) -> Patterns:
    """Return patterns for a call's arguments, validated. A text is a command, a path or a glob, by the argument's name."""
    return {name: _parse_pattern(name, said, arguments) for name, said in where.items()}


def _parse_pattern(name: str, said: str | ArgumentPattern, arguments: Mapping[str, Any]) -> ArgumentPattern:
    if name not in arguments:
        raise ApprovalError(f"The call has no argument {name!r}; it has {', '.join(arguments) or 'none'}.")
    pattern = said if isinstance(said, ArgumentPattern) else ArgumentPattern(_choose_kind(name, said, arguments[name]), said)
    check_pattern(name, pattern)
    return pattern


def check_pattern(name: str, pattern: ArgumentPattern) -> None:
    """Raise `ApprovalError` for a pattern that could never match, or that says something else than it seems to."""
    if pattern.kind == "command":
        try:
            _split_command(pattern.value)
        except UnclearCommand as unclear:
            raise ApprovalError(
                f"The pattern for {name} has to be the words of one command, with ` *` at the end for more words; not {unclear}."
            ) from unclear
    elif pattern.kind == "path":
        *folders, _ = names = _split_path(pattern.value)
        if "**" in folders or any(each in ("", ".", "..") for each in names[1:]) or names[0] in (".", ".."):
            raise ApprovalError(f"The pattern for {name} has to be a path such as src/app.py, src/*.py or src/**.")


def _choose_kind(name: str, said: str, value: Any) -> PatternKind:
    kind = _format_of(name)
    if kind is not None:
        return kind
    if isinstance(value, str | list):
        return "glob" if "*" in said or "?" in said or isinstance(value, list) else "equals"
    return "json"


def _format_of(name: str) -> PatternKind | None:
    """Return whether an argument is a shell line or a path, by the last word of its name."""
    last = (split_name(name) or ("",))[-1]
    return "command" if last in _COMMAND_NAMES else "path" if last in _PATH_NAMES else None


# suggestions


def suggest_patterns(arguments: Mapping[str, Any], effect: Effect) -> tuple[Patterns, ...]:
    """Return what a person may want to allow: calls like this one first, then exactly this one, then all calls of the tool.

    What destroys something is only suggested exactly.
    """
    exact = {name: exact_pattern(value) for name, value in arguments.items()}
    if effect == "destroy":
        return (exact,)
    general = {name: pattern for name, value in arguments.items() if (pattern := _generalize(name, value)) is not None}
    found = [general, exact, {}] if general else [exact, {}]
    return tuple([each for number, each in enumerate(found) if each not in found[:number]])


def exact_pattern(value: Any) -> ArgumentPattern:
    """Return the pattern of exactly this value."""
    return ArgumentPattern("equals", value) if isinstance(value, str) else ArgumentPattern("json", to_canonical_json(value))


def _generalize(name: str, value: Any) -> ArgumentPattern | None:
    """Return the pattern for arguments like this one; None for one that isn't a command or a path."""
    kind = _format_of(name)
    if kind is None or not isinstance(value, str):
        return None
    return (_generalize_command(value) if kind == "command" else _generalize_path(value)) or exact_pattern(value)


def _generalize_path(path: str) -> ArgumentPattern | None:
    """Return everything below the first folder of a path, or below the folder that an absolute one names."""
    *folders, _ = _split_path(path)
    folder = folders if path.startswith(("/", "~")) else folders[:1]
    pattern = "/".join([*folder, "**"])
    is_hidden = any(name.startswith(".") for name in folder)
    return ArgumentPattern("path", pattern) if any(folder) and not is_hidden and _matches_path(pattern, path) else None


def _generalize_command(line: str) -> ArgumentPattern | None:
    """Return the command that a line runs, with any options: as many words as it takes to say what it does."""
    try:
        texts = [word.text for word in parse_simple_command(line)]
    except UnclearCommand:
        return None
    size = 1
    if texts[0] in _SUBCOMMANDS:
        size = 3 if " ".join(texts[:2]) in _RUNS_ANOTHER else 2
    elif texts[0] in _INTERPRETERS:
        size = 3 if texts[1:2] == ["-m"] else 2
    words = texts[:size]
    is_option = any(word.startswith("-") and word != "-m" for word in words[1:])
    if len(words) < size or is_option or words[-1] in _NEVER_GENERAL or " ".join(words) in _NEVER_GENERAL_TOGETHER:
        return None
    pattern = ArgumentPattern("command", f"{' '.join(words)} *")
    return pattern if matches_pattern(pattern, line) else None
