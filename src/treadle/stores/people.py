"""Who uses a server: a person, what they may do, and how much. Values only; where they are kept is `users`."""

from typing import Literal

from msgspec import Struct

Role = Literal["reader", "user", "admin"]
ROLES: tuple[Role, ...] = ("reader", "user", "admin")


class Allowance(Struct, frozen=True, forbid_unknown_fields=True):
    """How much one person may have; None is as much as they like.

    requests  requests a minute
    runs      runs under way at once
    tokens    tokens of models a day, by the clock of the server
    cost      US dollars a day, where prices are known
    """

    requests: int | None = 600
    runs: int | None = 20
    tokens: int | None = None
    cost: float | None = None


class Person(Struct, frozen=True):
    """Somebody who uses the server: a reader looks, a user also asks and decides, an admin also sees to users."""

    name: str
    role: Role = "user"
    allowance: Allowance = Allowance()

    @property
    def may_change(self) -> bool:
        """Whether they may do more than look."""
        return self.role != "reader"


LOCAL = Person("", "admin", Allowance(requests=None, runs=None))  # whoever started a server that has no users
