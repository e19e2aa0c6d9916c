"""The almanac is right, and a good assistant."""

import asyncio
from argparse import Namespace
from datetime import date, datetime

import pytest

from treadle.assistant import assistant_agent
from treadle.testing import calls, check_assistant, throwaway_host
from treadle_almanac import ALMANAC
from treadle_almanac.sky import moon_of, sun_of


def test_it_keeps_the_contract():
    check_assistant(ALMANAC)


@pytest.mark.parametrize(
    ("day", "phase"),
    [
        ("2026-03-03", "full moon"),
        ("2026-03-11", "last quarter"),
        ("2026-03-19", "new moon"),
        ("2026-03-20", "waxing crescent"),
        ("2026-03-25", "first quarter"),
        ("2000-01-06", "new moon"),
    ],
)
def test_the_moon_has_the_phase_that_calendars_give_it(day, phase):
    assert moon_of(date.fromisoformat(day)).phase == phase


@pytest.mark.parametrize(
    ("day", "latitude", "longitude", "rises", "sets"),
    [("2026-03-20", 51.48, 0, "06:04", "18:14"), ("2026-12-21", 40.71, -74.01, "12:17", "21:32")],
)
def test_the_sun_rises_and_sets_within_minutes_of_what_calendars_say(day, latitude, longitude, rises, sets):
    found = sun_of(date.fromisoformat(day), latitude, longitude)
    for moment, expected in ((found.rise, rises), (found.set, sets)):
        assert moment is not None
        assert abs((moment.replace(tzinfo=None) - datetime.fromisoformat(f"{day} {expected}")).total_seconds()) < 240


def test_near_the_poles_the_sun_may_stay_up_or_down():
    assert str(sun_of(date(2026, 6, 21), 78.2, 15.6)) == "up all day"
    assert str(sun_of(date(2026, 12, 21), 78.2, 15.6)) == "down all day"


def test_the_command_shows_both():
    with throwaway_host() as host:
        assert ALMANAC.commands[0].run(Namespace(day=date(2026, 3, 20), at=(51.48, 0.0)), host) == 0
        assert host.terminal.lines[0] == "moon  waxing crescent, 3% lit"
        assert host.terminal.lines[1].startswith("sun   rises at 06:0")


def test_a_model_can_look_days_up():
    with throwaway_host(calls(("moon", {"day": "2026-03-03"})), "It is full.") as host:
        result = asyncio.run(_asked(host))
    assert result.output == "It is full."
    assert "full moon" in result.calls[0].result.content


async def _asked(host):
    return await assistant_agent(ALMANAC, host, await host.model()).run("Is the moon full on 3 March 2026?")
