"""An almanac for Treadle: the moon and the sun of any day. `ALMANAC` is the assistant; what it knows is in `sky`."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import date
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from treadle import FunctionToolset, Limits, tool
from treadle.assistant import Assistant, Command, Host, Panel, lazy_import
from treadle_almanac.sky import GREENWICH, moon_of, sun_of


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


class AlmanacSettings(Struct, frozen=True):
    """The keys under `[assistants.almanac]` in `treadle.toml`: where the sun is looked for."""

    latitude: Annotated[float, Meta(ge=-90, le=90, description="a number of degrees from -90 to 90")] = GREENWICH[0]
    longitude: Annotated[float, Meta(ge=-180, le=180, description="a number of degrees from -180 to 180")] = GREENWICH[1]


# the command


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("day", metavar="DATE", type=_day, help="such as 2026-03-20")
    parser.add_argument("--at", metavar="LAT,LON", type=_place, help="where (default: what is settled, else Greenwich)")


def _run(args: Namespace, host: Host) -> int:
    settings: AlmanacSettings = host.settings.assistant("almanac")
    show = print if host.terminal is None else host.terminal.line
    show(f"moon  {moon_of(args.day)}")
    show(f"sun   {sun_of(args.day, *(args.at or (settings.latitude, settings.longitude)))}")
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


ALMANAC = Assistant(
    name="almanac",
    title="Almanac",
    summary="Knows how full the moon is and when the sun rises and sets.",
    instructions="You are an almanac. Look days up with your tools; never guess. Say in which time zone a time is.",
    toolsets=lambda host: [FunctionToolset([moon, sun], name="almanac")],
    limits=Limits(rounds=5),
    questions=("How full is the moon on 2026-03-20?", "When does the sun rise in Oslo on 2026-06-21?"),
    commands=(Command("almanac", "print the moon and the sun of a day", _run, _arguments),),
    routes=lazy_import("treadle_almanac.routes:routes"),
    panel=Panel("Almanac", Path(__file__).parent / "panel"),
    settings=AlmanacSettings,
)
