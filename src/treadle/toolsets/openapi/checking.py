"""Validation of arguments against the full schema, for tools whose own schema had to be shortened."""

from collections.abc import Mapping
from typing import Any

from treadle.core.errors import ToolProblem
from treadle.tools.validate import InvalidArguments, Validator, format_issues
from treadle.toolsets.openapi.operations import OpenApiOperation


class ArgumentValidators:
    """The validators of the operations that need one, built at the first call of each."""

    def __init__(self) -> None:
        self._validators: dict[str, Validator] = {}

    def check(self, operation: OpenApiOperation, arguments: Mapping[str, Any]) -> None:
        """Raise a problem that names every field, where arguments are invalid."""
        if operation.exact is None:
            return
        name = operation.tool.name
        if name not in self._validators:
            self._validators[name] = Validator(operation.exact)
        found = self._validators[name].check(dict(arguments))
        if isinstance(found, InvalidArguments):
            raise ToolProblem(format_issues(found.issues, name))
