"""The almanac over HTTP: one route, which says what it is, so that the server's document has it."""

from datetime import date

from msgspec import Struct, to_builtins
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from treadle import Host
from treadle.routes import Answer, Described, Operation, problem
from treadle_almanac.sky import GREENWICH, moon_of, sun_of


class Day(Struct, frozen=True):
    """What the almanac says of a day, at Greenwich."""

    day: str
    moon: str
    sun: str


DAY = Operation("The moon and the sun of a day", answers={200: Answer("both", Day), 400: problem("that is no day")})


async def answer(request: Request) -> JSONResponse:
    """The moon and the sun of a day."""
    text = request.path_params["day"]
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise HTTPException(400, f"{text!r} is no date such as 2026-03-20.") from error
    return JSONResponse(to_builtins(Day(str(day), str(moon_of(day)), str(sun_of(day, *GREENWICH)))))


def routes(host: Host) -> list[Described]:
    """The route."""
    return [Described("/api/almanac/{day}", answer, DAY)]
