"""Which paths are whose. Two assistants that want the same one, or one of the server's own, are told before anybody comes."""

import re
from collections.abc import Sequence
from itertools import combinations

from msgspec import Struct
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from treadle.app.reserved import PATHS
from treadle.core.errors import SettingsError

SAMPLES = {"uuid": "00000000-0000-0000-0000-000000000000", "float": "0.5"}  # what a parameter may be; 0 suits the others


class Claim(Struct, frozen=True):
    """A route, and whose it is: an assistant's by its name, the server's own where that is empty."""

    owner: str
    route: BaseRoute


def check(claims: Sequence[Claim]) -> None:
    """Raise where two owners want the same path. What one owner does with its own paths is its business.

    The server's own are also those that nothing is at yet, so that an assistant of today is still there tomorrow.
    """
    for claim in claims:
        if not isinstance(claim.route, Route | WebSocketRoute | Mount):
            raise SettingsError(f"The assistant {claim.owner} has to make routes of Starlette's; {claim.route!r} is none.")
    reserved = [Claim("", Mount(path, routes=[])) for path in PATHS]
    for one, other in combinations([_taken(claim) for claim in (*claims, *reserved)], 2):
        if one.owner != other.owner and (path := _common(one, other)) is not None:
            raise SettingsError(_clash(one.owner, other.owner, path))


def _clash(one: str, other: str, path: str) -> str:
    if one and other:
        return f"The assistants {one} and {other} both want {path}; only one of them can be served."
    return f"The assistant {one or other} wants {path}, which is the server's own."


class _Taken(Struct, frozen=True):
    """What a route takes, worked out once: each is compared with all others."""

    owner: str
    path: str
    methods: set[str]
    samples: list[str]
    pattern: re.Pattern[str]

    def takes(self, path: str) -> bool:
        return path == self.path or self.pattern.match(path) is not None


def _taken(claim: Claim) -> _Taken:
    route = claim.route
    return _Taken(claim.owner, _path(route), _methods(route), _samples(route), getattr(route, "path_regex", re.compile("$^")))


def _common(one: _Taken, other: _Taken) -> str | None:
    """The path that both routes would take, as one of them writes it."""
    if one.methods.isdisjoint(other.methods):
        return None
    for route, rival in ((one, other), (other, one)):
        if any(rival.takes(path) for path in route.samples):
            return route.path or "/"
    return None


def _samples(route: BaseRoute) -> list[str]:
    """Paths that a route takes. A folder's own name counts: from there people are sent into it."""
    path = re.sub(r"{\w+(?::(\w+))?}", lambda found: SAMPLES.get(found[1] or "", "0"), _path(route))
    return [path, f"{path}/0"] if isinstance(route, Mount) else [path]


def _path(route: BaseRoute) -> str:
    return getattr(route, "path", "")


def _methods(route: BaseRoute) -> set[str]:
    every = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
    return getattr(route, "methods", None) or every
