"""What an agent that is another's tool hands back: its words with what it spent, or that it waits for a person."""

from typing import Any

from msgspec import Struct

from treadle.core.requests import Usage
from treadle.engine.setup import Approval


class Nested(Struct, frozen=True):
    """The answer of a nested run, what it spent, and whether it had read anything that isn't trusted. `data` is a typed output."""

    content: str
    usage: Usage
    failed: bool = False
    untrusted: bool = False
    data: Any = None


class Suspended(Exception):
    """A call can't go on before a person has answered; it is taken up again when they have."""

    def __init__(self, approvals: tuple[Approval, ...]) -> None:
        super().__init__("waiting for a person")
        self.approvals = approvals
