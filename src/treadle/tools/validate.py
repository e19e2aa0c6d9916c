"""Arguments against the schema of their tool: valid (after conversions that are certain) or every issue found.

This is the front of `accept` (does it fit), `fit` (make it fit), `issues` (words), `names` and `unwrap` (calls of a wrong shape).
Defaults are not filled in: the function has them. Make one `Validator` for a tool and keep it.
"""

from typing import Any

from msgspec import Struct

from treadle.core.errors import BadTool
from treadle.tools.accept import Schema, Scope, TooManyReferences
from treadle.tools.fit import fit
from treadle.tools.issues import Issue, word
from treadle.tools.names import canonical, nearest
from treadle.tools.unwrap import Unwrapped, unwrap
from treadle.tools.values import as_list, as_object, shown

__all__ = ["Invalid", "Issue", "Unwrapped", "Valid", "Validator", "canonical", "nearest", "unwrap", "validate", "word"]


class Valid(Struct, frozen=True):
    """Arguments that fit. `converted` names the fields that were given in another spelling, such as `"5"` for `5`."""

    arguments: dict[str, Any]
    converted: tuple[str, ...] = ()


class Invalid(Struct, frozen=True):
    """Arguments that don't fit, and why: every field, not just the first."""

    issues: tuple[Issue, ...]


_TOO_DEEP = Invalid((Issue("", "arguments that are nested less deeply", "too many levels"),))
_TOO_MUCH = Invalid((Issue("", "arguments that take less to check", "too many branches of the schema"),))


class Validator:
    """The schema of one tool, made ready: building it takes a moment, checking with it hardly any time."""

    __slots__ = ("_scope", "_test")

    def __init__(self, schema: Schema) -> None:
        self._scope = Scope.of_arguments(schema)
        try:
            self._test = self._scope.test(self._scope.root)
        except RecursionError as error:
            raise BadTool("The schema of a tool is nested too deeply; name its parts under `$defs`.") from error

    def accepts(self, arguments: Any) -> bool:
        """Whether arguments fit as they are."""
        return self._scope.accepts(arguments)

    def check(self, arguments: Any) -> Valid | Invalid:
        """Arguments as the tool gets them, or all that is wrong with them. Never raises, whatever JSON it is given."""
        self._scope.begin()
        try:
            return Valid(arguments) if self._test(arguments) else self._fitted(arguments)
        except TooManyReferences:
            return _TOO_MUCH
        except RecursionError:  # in the value, or a schema whose references lead nowhere but round
            return _TOO_DEEP

    def _fitted(self, arguments: Any) -> Valid | Invalid:
        issues: list[Issue] = []
        fitted = fit(arguments, self._scope.root, self._scope, "", issues)
        if not issues and not self._test(fitted):
            issues.append(Issue("", "arguments that fit the whole schema", shown(arguments)))
        if issues:
            return Invalid(tuple(dict.fromkeys(issues)))
        return Valid(fitted, tuple(_changed(arguments, fitted, "")))


def validate(arguments: Any, schema: Schema) -> Valid | Invalid:
    """Check arguments once. Whoever checks more often keeps a `Validator`."""
    return Validator(schema).check(arguments)


def _changed(before: Any, after: Any, path: str) -> list[str]:
    """The paths at which two values differ."""
    if before is after:
        return []
    old, new = _entries(before), _entries(after)
    if old is None or new is None or type(before) is not type(after):
        return [path or "arguments"]
    inner = [_changed(value, new[key], _within(path, key)) for key, value in old.items()]
    return [changed for paths in inner for changed in paths]


def _entries(value: Any) -> dict[Any, Any] | None:
    items = as_list(value)
    return as_object(value) if items is None else dict(enumerate(items))


def _within(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key
