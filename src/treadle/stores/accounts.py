"""User accounts of a server: role and allowance. Values only; they are stored by `users`."""

from typing import Literal

from msgspec import Struct

Role = Literal["reader", "user", "admin"]
ROLES: tuple[Role, ...] = ("reader", "user", "admin")


class Allowance(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one user; None is unlimited.

    requests  requests per minute
    runs      concurrent runs
    tokens    model tokens per day, by the clock of the server
    cost      US dollars per day, where prices are known
    """

    requests: int | None = 600
    runs: int | None = 20
    tokens: int | None = None
    cost: float | None = None


class User(Struct, frozen=True):
    """A user of the server: a reader views, a user also starts runs and approves, an admin also manages users.

    groups   the groups that they are in: of the identity provider, or named by an administrator
    service  whether it is a service account: a program's, which has a token and no browser sessions
    expires  when their token ends, in seconds since 1970; None is never
    """

    name: str
    role: Role = "user"
    allowance: Allowance = Allowance()
    groups: tuple[str, ...] = ()
    service: bool = False
    expires: float | None = None

    @property
    def may_change(self) -> bool:
        """Whether they may do more than view."""
        return self.role != "reader"


LOCAL_OWNER = User("", "admin", Allowance(requests=None, runs=None))  # the administrator of a server that has no users
