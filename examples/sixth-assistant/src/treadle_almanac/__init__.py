"""An almanac for Treadle: the moon and the sun of any day. `ALMANAC` is the assistant; what it knows is in `sky`."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import date
from pathlib import Path
from typing import Any

from treadle import Assistant, Command, Functions, Host, Limits, Panel, tool
from treadle_almanac.sky import moon_of, sun_of

GREENWICH = (51.48, 0.0)


@tool(effect="read", inline=True)
def moon(day: date) -> str:
    """How full the moon is on a day.

    :param day: the day, such as 2026-03-20
    """
    return f"The moon on {day}: {moon_of(day)}."


@tool(effect="read", inline=True)
def sun(day: date, latitude: float, longitude: float) -> str:
    """When the sun rises and sets on a day at a place.

    :param day: the day, such as 2026-03-20
    :param latitude: degrees, north positive
    :param longitude: degrees, east positive
    """
    return f"The sun on {day} at {latitude:g}, {longitude:g}: {sun_of(day, latitude, longitude)}."


# the command


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("day", metavar="DATE", type=_day, help="such as 2026-03-20")
    parser.add_argument("--at", metavar="LAT,LON", type=_place, default=GREENWICH, help="where (default: Greenwich)")


def _run(args: Namespace, host: Host) -> int:
    show = print if host.terminal is None else host.terminal.line
    show(f"moon  {moon_of(args.day)}")
    show(f"sun   {sun_of(args.day, *args.at)}")
    return 0


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no date such as 2026-03-20") from error


def _place(text: str) -> tuple[float, float]:
    latitude, _, longitude = text.partition(",")
    try:
        return float(latitude), float(longitude)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no place such as 51.48,0") from error


# the route


def _routes(host: Host) -> list[Any]:
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def answer(request: Request) -> JSONResponse:
        try:
            day = _day(request.path_params["day"])
        except ArgumentTypeError as error:
            raise HTTPException(400, f"{error}.") from error
        return JSONResponse({"day": str(day), "moon": str(moon_of(day)), "sun": str(sun_of(day, *GREENWICH))})

    return [Route("/api/almanac/{day}", answer)]


ALMANAC = Assistant(
    name="almanac",
    title="Almanac",
    summary="Knows how full the moon is and when the sun rises and sets.",
    instructions="You are an almanac. Look days up with your tools; never guess. Say in which time zone a time is.",
    toolsets=lambda host: [Functions([moon, sun], name="almanac")],
    limits=Limits(rounds=5),
    questions=("How full is the moon on 2026-03-20?", "When does the sun rise in Oslo on 2026-06-21?"),
    commands=(Command("almanac", "print the moon and the sun of a day", _run, _arguments),),
    routes=_routes,
    panel=Panel("Almanac", Path(__file__).parent / "panel"),
)
