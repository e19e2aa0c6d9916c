"""Words for times become moments, in the time of this place."""

import time

import pytest

from treadle.admin.stats import open_stats, parse_moment
from treadle.core.errors import SettingsError
from treadle.home import close_home, open_home
from treadle.stores.stats.store import DatabaseStats

NOW = 1_793_885_400.0  # 2026-11-05T13:30Z


@pytest.fixture(params=["UTC", "America/New_York"])
def zone(request, monkeypatch):
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def local(words):
    return time.mktime(time.strptime(words, "%Y-%m-%d %H:%M"))


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("1d", "2026-11-05 00:00"),
        ("7d", "2026-10-30 00:00"),
        ("2w", "2026-10-23 00:00"),
        ("2026-11-01", "2026-11-01 00:00"),
        ("2026-11-01T14:30", "2026-11-01 14:30"),
        ("2026-11-01 14:30", "2026-11-01 14:30"),
    ],
)
def test_times_are_of_this_place(zone, words, meant):
    assert parse_moment(words, NOW) == local(meant)


def test_hours_are_counted_from_now(zone):
    assert parse_moment("24h", NOW) == NOW - 24 * 3600


def test_a_day_counts_to_its_end_where_the_end_is_meant(zone):
    assert parse_moment("2026-11-01", NOW, end=True) == local("2026-11-02 00:00")
    assert parse_moment("2026-11-01T14:30", NOW, end=True) == local("2026-11-01 14:30")


def test_a_time_may_say_its_own_zone(zone):
    assert parse_moment("2026-11-05T13:30Z", NOW) == NOW


def test_nothing_said_is_no_time():
    assert parse_moment("", NOW) is None


@pytest.mark.parametrize(
    "words", ["yesterday", "7", "d", "-3d", "7 d", "2026-13-01", "0001-01-01T00:00", "99999d", "9999-12-31", "²d"]
)
def test_what_is_no_time_is_told_with_what_would_be_one(words):
    with pytest.raises(SettingsError, match="write it as 7d"):
        parse_moment(words, NOW, end=True)


def test_the_figures_are_of_the_file_that_runs_are_kept_in(tmp_path):
    home = open_home(tmp_path)
    assert isinstance(open_stats(home), DatabaseStats)
    close_home(home)
