"""Runs pytest and tells what came of each test, as lines of JSON among pytest's own. Its text is handed to a workspace's Python.

So it knows nothing of Treadle, and does with Python 3.7 and old pytests. Every line it writes begins with a mark made up on the
spot and told in its first line: tests may print what they like.
"""

from __future__ import annotations  # for the older ones

import json
import os
import sys
from typing import Any

SIGN = "test-report"
MOST = 50  # failures in the last line
LONGEST = 2_000  # characters of a message


class Reporter:
    """A plug-in of pytest that writes to a descriptor which pytest doesn't capture."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._mark = f"{SIGN}-{os.urandom(8).hex()}"
        self._counts = {"passed": 0, "failed": 0, "skipped": 0, "errors": 0}
        self._failures: list[dict[str, Any]] = []
        self._write({})

    def _write(self, told: dict[str, Any]) -> None:
        """One line with all counts until then, wherever pytest's own has got to."""
        os.write(self._out, f"\n{self._mark} {json.dumps({**self._counts, **told})}\n".encode())

    def end(self, code: int) -> None:
        """The last line, which has all of it."""
        self._write({"failures": self._failures[:MOST], "code": code})

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self._write({"begun": nodeid})

    def pytest_collectreport(self, report: Any) -> None:
        """A module was imported, or not."""
        if report.failed:
            self._failed("errors", report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A part of a test is over: setup, call or teardown."""
        if report.failed:
            self._failed("failed" if report.when == "call" else "errors", report)
        elif report.skipped:
            self._counts["skipped"] += 1
        elif report.passed and report.when == "call" and not hasattr(report, "context"):  # parts of a test have one
            self._counts["passed"] += 1

    def _failed(self, count: str, report: Any) -> None:
        self._counts[count] += 1
        message, path, line = _crash(report)
        told = {"name": report.nodeid, "message": _clean(message), "path": path, "line": line}
        self._failures.append(told)
        self._write({"failures": [told]})


def _crash(report: Any) -> Any:
    """The message and the place: the last line of the project's own on the way to the failure."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return str(report.longrepr), "", None
    traceback = getattr(report.longrepr, "reprtraceback", None)
    places = [getattr(entry, "reprfileloc", None) for entry in getattr(traceback, "reprentries", [])]
    for place in [crash, *reversed(places)]:
        own = "" if place is None else _own(place.path)
        if place is not None and own:
            return crash.message, own, place.lineno
    path, line, _ = getattr(report, "location", ("", None, ""))  # of the test itself, counted from 0
    return crash.message, path, None if line is None else line + 1


def _own(path: str) -> str:
    """The path from here, if it is one of the project's."""
    here = os.path.relpath(path)
    return "" if here.startswith("..") or "site-packages" in here else here


def _clean(message: str) -> str:
    short = message if len(message) <= LONGEST else f"{message[: LONGEST // 2]}\n…\n{message[-LONGEST // 2 :]}"
    return short.encode("utf-8", "replace").decode()


def main(arguments: list[str]) -> int:
    """Run pytest with these arguments; its exit code."""
    import pytest

    sys.argv = ["pytest", *arguments]  # for plug-ins that look
    reporter = Reporter(os.dup(1))
    code = int(pytest.main(arguments, plugins=[reporter]))
    reporter.end(code)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
