"""The result of an agent that is another's tool: its answer with its usage, or that it waits for a person."""

from typing import Any

from msgspec import Struct

from treadle.core.requests import Usage
from treadle.engine.setup import Approval


class NestedResult(Struct, frozen=True):
    """The answer of a nested run, its usage, and whether it had read untrusted content. `data` is a typed output."""

    content: str
    usage: Usage
    failed: bool = False
    untrusted: bool = False
    data: Any = None


class Suspended(Exception):
    """A call can't continue before a person has answered; it is resumed then."""

    def __init__(self, approvals: tuple[Approval, ...]) -> None:
        super().__init__("waiting for a person")
        self.approvals = approvals
