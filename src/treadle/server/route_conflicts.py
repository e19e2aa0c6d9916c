"""Route conflicts: two assistants that claim the same path, or one of the server's own, are reported at startup."""

import re
from collections.abc import Sequence
from itertools import combinations

from msgspec import Struct
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from treadle.core.errors import SettingsError
from treadle.settings.reserved import PATHS

SAMPLES = {"uuid": "00000000-0000-0000-0000-000000000000", "float": "0.5"}  # what a parameter may be; 0 suits the others
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
NOTHING = re.compile("$^")


class RouteClaim(Struct, frozen=True):
    """A route and its owner: an assistant's name, or empty for the server."""

    owner: str
    route: BaseRoute


class _Place(Struct, frozen=True):
    """What a claim takes: by which methods, `samples` of its paths, and the pattern of them all."""

    owner: str
    path: str
    methods: frozenset[str]
    samples: tuple[str, ...]
    pattern: re.Pattern[str]


def check_route_conflicts(claims: Sequence[RouteClaim]) -> None:
    """Raise where two owners claim the same path. Overlaps within one owner are allowed.

    Reserved server paths include unused ones, so that an assistant of today still works tomorrow.
    """
    for claim in claims:
        if not isinstance(claim.route, Route | WebSocketRoute | Mount):
            raise SettingsError(f"The assistant {claim.owner} has to make routes of Starlette's; {claim.route!r} is none.")
    reserved = [RouteClaim("", Mount(path, routes=[])) for path in PATHS]
    for one, other in combinations([_place(claim) for claim in [*claims, *reserved]], 2):
        if one.owner != other.owner and (path := _shared_path(one, other)) is not None:
            raise SettingsError(_conflict_message(one.owner, other.owner, path))


def _conflict_message(one: str, other: str, path: str) -> str:
    if one and other:
        return f"The assistants {one} and {other} both want {path}; only one of them can be served."
    return f"The assistant {one or other} wants {path}, which is the server's own."


def _shared_path(one: _Place, other: _Place) -> str | None:
    """Return the path that both routes would match, as one of them writes it."""
    if one.methods.isdisjoint(other.methods):
        return None
    for place, rival in ((one, other), (other, one)):
        if any(path == rival.path or rival.pattern.match(path) for path in place.samples):
            return place.path or "/"
    return None


def _place(claim: RouteClaim) -> _Place:
    route = claim.route
    path: str = getattr(route, "path", "")
    sample = re.sub(r"{\w+(?::(\w+))?}", lambda found: SAMPLES.get(found[1] or "", "0"), path)
    samples = (sample, f"{sample}/0") if isinstance(route, Mount) else (sample,)  # from a folder's own name people are sent into it
    methods: frozenset[str] = frozenset(getattr(route, "methods", None) or METHODS)
    return _Place(claim.owner, path, methods, samples, getattr(route, "path_regex", NOTHING))
