"""Functions whose annotations are text, as `from __future__ import annotations` leaves them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

if TYPE_CHECKING:
    from decimal import Decimal

    from treadle.core.context import RunContext as HiddenContext

from treadle.core.context import RunContext


@dataclass
class Node:
    value: int
    kids: list[Node] = field(default_factory=list)


class Row(TypedDict):
    name: str
    note: NotRequired[str]


def everything(ctx: RunContext[int], node: Node, row: Row, count: Annotated[int, "how many"] = 1) -> Unfindable:  # noqa: F821
    """Take everything."""


def hidden(price: Decimal) -> None:
    """Take a type that only a type checker sees."""


def hidden_context(ctx: HiddenContext, a: int) -> None:
    """Take a context that only a type checker sees."""


def no_type(a: "not a type") -> None:  # noqa: F722  that is the point
    """Take words for a type."""
