"""The almanac over HTTP: one typed handler, which the server's OpenAPI document has too."""

from datetime import date

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.assistant import Host
from treadle.routes import get, routes_of
from treadle_almanac.sky import GREENWICH, moon_of, sun_of


class Day(Struct, frozen=True):
    """What the almanac says of a day, at Greenwich."""

    day: str
    moon: str
    sun: str


@get("/api/almanac/{day}", errors={400: "that is no day"}, returns="both")
async def show_day(day: str) -> Day:
    """The moon and the sun of a day."""
    try:
        found = date.fromisoformat(day)
    except ValueError as error:
        raise HTTPException(400, f"{day!r} is no date such as 2026-03-20.") from error
    return Day(str(found), str(moon_of(found)), str(sun_of(found, *GREENWICH)))


def routes(host: Host) -> list[BaseRoute]:
    """The route."""
    return routes_of(show_day)
