"""Validates arguments against the schema of their tool: valid (after certain coercions) or every issue found.

The front of `compiled_schema` (validation), `coercion`, `issues` (messages), `name_matching` and `unwrap_call` (calls of a wrong
shape). Defaults are not filled in: the function has them. Create one `Validator` for a tool and reuse it.
"""

from typing import Any

from msgspec import Struct

from treadle.core.errors import BadTool
from treadle.tools.coercion import coerce_value
from treadle.tools.compiled_schema import CompiledSchema, Schema, TooManyReferences
from treadle.tools.issues import ArgumentIssue, format_issues
from treadle.tools.name_matching import match_name
from treadle.tools.unwrap import UnwrappedCall, unwrap_call
from treadle.tools.values import as_list, as_object, format_json_value

__all__ = [
    "ArgumentIssue",
    "InvalidArguments",
    "UnwrappedCall",
    "ValidArguments",
    "Validator",
    "format_issues",
    "match_name",
    "unwrap_call",
    "validate_tool_arguments",
]


class ValidArguments(Struct, frozen=True):
    """Valid arguments. `converted` names the fields that were given in another spelling, such as `"5"` for `5`."""

    arguments: dict[str, Any]
    converted: tuple[str, ...] = ()


class InvalidArguments(Struct, frozen=True):
    """Invalid arguments, and why: every field, not just the first."""

    issues: tuple[ArgumentIssue, ...]


_TOO_DEEP = InvalidArguments((ArgumentIssue("", "arguments that are nested less deeply", "too many levels"),))
_TOO_MUCH = InvalidArguments((ArgumentIssue("", "arguments that take less to check", "too many branches of the schema"),))


class Validator:
    """The compiled schema of one tool: building it takes a moment, validating hardly any time."""

    __slots__ = ("_scope", "_test")

    def __init__(self, schema: Schema) -> None:
        self._scope = CompiledSchema.of_arguments(schema)
        try:
            self._test = self._scope.test(self._scope.root)
        except RecursionError as error:
            raise BadTool("The schema of a tool is nested too deeply; name its parts under `$defs`.") from error

    def accepts(self, arguments: Any) -> bool:
        """Return whether arguments are valid as they are."""
        return self._scope.accepts(arguments)

    def check(self, arguments: Any) -> ValidArguments | InvalidArguments:
        """Return the arguments for the tool, or all that is wrong with them. Never raises, whatever JSON it is given."""
        self._scope.begin()
        try:
            return ValidArguments(arguments) if self._test(arguments) else self._coerce(arguments)
        except TooManyReferences:
            return _TOO_MUCH
        except RecursionError:  # in the value, or a schema whose references lead nowhere but round
            return _TOO_DEEP

    def _coerce(self, arguments: Any) -> ValidArguments | InvalidArguments:
        issues: list[ArgumentIssue] = []
        fitted = coerce_value(arguments, self._scope.root, self._scope, "", issues)
        if not issues and not self._test(fitted):
            issues.append(ArgumentIssue("", "arguments that fit the whole schema", format_json_value(arguments)))
        if issues:
            return InvalidArguments(tuple(dict.fromkeys(issues)))
        return ValidArguments(fitted, tuple(_changed_paths(arguments, fitted, "")))


def validate_tool_arguments(arguments: Any, schema: Schema) -> ValidArguments | InvalidArguments:
    """Validate arguments once. To validate repeatedly, keep a `Validator`."""
    return Validator(schema).check(arguments)


def _changed_paths(before: Any, after: Any, path: str) -> list[str]:
    """Return the paths at which two values differ."""
    if before is after:
        return []
    old, new = _to_mapping(before), _to_mapping(after)
    if old is None or new is None or type(before) is not type(after):
        return [path or "arguments"]
    inner = [_changed_paths(value, new[key], _join_path(path, key)) for key, value in old.items()]
    return [changed for paths in inner for changed in paths]


def _to_mapping(value: Any) -> dict[Any, Any] | None:
    items = as_list(value)
    return as_object(value) if items is None else dict(enumerate(items))


def _join_path(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key
