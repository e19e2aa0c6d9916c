"""What all tests share: how properties are searched, a PostgreSQL, and a browser.

Properties are searched by the same cases in every run, so that one run says what the next will; not in `make explore`.
"""

import asyncio
import os

import pytest
from hypothesis import HealthCheck, settings

# How fast a machine is says nothing about what is right on it.
_HOW = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, **_HOW)
settings.register_profile("explore", derandomize=False, print_blob=True, **_HOW)
settings.load_profile(os.environ.get("TREADLE_PROPERTIES", "same"))


@pytest.fixture(scope="session")
def postgres():
    """The address of a PostgreSQL database; tests that need one are skipped, with the reason, where there is none."""
    from postgres import database  # few tests need it

    with database() as url:
        yield url


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests, with the loop it lives in."""
    from browser import Browser  # few tests need it

    with asyncio.Runner() as runner:
        started = runner.run(Browser().__aenter__())
        yield runner, started
        runner.run(started.__aexit__(None, None, None))
