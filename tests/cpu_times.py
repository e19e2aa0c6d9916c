"""Lists the test files that use most CPU time: `PYTHONPATH=tests pytest -p cpu_times -n 2`.

A test has the time of its process, and of the processes that it started and that have ended. Modules count for the test that
is the first to import them.
"""

import os
from collections import Counter
from collections.abc import Iterator

import pytest

SHOWN = 60
_seconds: Counter[str] = Counter()


def _cpu_seconds() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Add up what a test uses, with its fixtures."""
    before = _cpu_seconds()
    try:
        return (yield)
    finally:
        _seconds[item.location[0]] += _cpu_seconds() - before


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass a worker's times to the process that reports."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cpu_seconds"] = dict(_seconds)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Take a worker's times."""
    _seconds.update(getattr(node, "workeroutput", {}).get("cpu_seconds", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the list."""
    terminalreporter.section(f"{sum(_seconds.values()):.0f} CPU seconds")
    for path, seconds in _seconds.most_common(SHOWN):
        terminalreporter.line(f"{seconds:7.1f}  {path}")
