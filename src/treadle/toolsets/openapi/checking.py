"""Arguments against all that the document says, for tools whose own schema was too long to say it."""

from collections.abc import Mapping
from typing import Any

from treadle.core.errors import ToolProblem
from treadle.tools.validate import Invalid, Validator, word
from treadle.toolsets.openapi.operations import Operation


class Checks:
    """The validators of the operations that need one, made at the first call of each."""

    def __init__(self) -> None:
        self._validators: dict[str, Validator] = {}

    def check(self, operation: Operation, arguments: Mapping[str, Any]) -> None:
        """A problem that names every field, where arguments don't fit."""
        if operation.exact is None:
            return
        name = operation.tool.name
        if name not in self._validators:
            self._validators[name] = Validator(operation.exact)
        found = self._validators[name].check(dict(arguments))
        if isinstance(found, Invalid):
            raise ToolProblem(word(found.issues, name))
