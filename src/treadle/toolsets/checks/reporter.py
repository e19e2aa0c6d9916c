"""Runs pytest and reports each test, as lines of JSON among pytest's own. Its text is passed to a workspace's Python.

So it doesn't import Treadle, and works with Python 3.7 and old pytests. Every line it writes begins with a mark that is
random and written in its first line: tests may print what they like.
"""

from __future__ import annotations  # for the older ones

import json
import os
import sys
from typing import Any

SIGN = "test-report"
MAX_FAILURES = 50  # failures in the last line
MAX_MESSAGE = 2_000  # characters of a message


class Reporter:
    """A pytest plug-in that writes to a descriptor which pytest doesn't capture."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._mark = f"{SIGN}-{os.urandom(8).hex()}"
        self._counts = {"passed": 0, "failed": 0, "skipped": 0, "errors": 0}
        self._failures: list[dict[str, Any]] = []
        self._write({})

    def _write(self, told: dict[str, Any]) -> None:
        """Write one line with all counts so far, wherever pytest's own output has got to."""
        os.write(self._out, f"\n{self._mark} {json.dumps({**self._counts, **told})}\n".encode())

    def end(self, code: int) -> None:
        """Write the last line, with the complete report."""
        self._write({"failures": self._failures[:MAX_FAILURES], "code": code})

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Report that a test begins."""
        self._write({"begun": nodeid})

    def pytest_collectreport(self, report: Any) -> None:
        """Report a module that could not be imported."""
        if report.failed:
            self._add_failure("errors", report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Report a finished phase of a test: setup, call or teardown."""
        if report.failed:
            self._add_failure("failed" if report.when == "call" else "errors", report)
        elif report.skipped:
            self._counts["skipped"] += 1
        elif report.passed and report.when == "call" and not hasattr(report, "context"):  # parts of a test have one
            self._counts["passed"] += 1

    def _add_failure(self, count: str, report: Any) -> None:
        self._counts[count] += 1
        message, path, line = _find_crash(report)
        told = {"name": report.nodeid, "message": _clean(message), "path": path, "line": line}
        self._failures.append(told)
        self._write({"failures": [told]})


def _find_crash(report: Any) -> Any:
    """Return the message and the location: the last line of the project's own code on the way to the failure."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return str(report.longrepr), "", None
    traceback = getattr(report.longrepr, "reprtraceback", None)
    places = [getattr(entry, "reprfileloc", None) for entry in getattr(traceback, "reprentries", [])]
    for place in [crash, *reversed(places)]:
        own = "" if place is None else _project_path(place.path)
        if place is not None and own:
            return crash.message, own, place.lineno
    path, line, _ = getattr(report, "location", ("", None, ""))  # of the test itself, counted from 0
    return crash.message, path, None if line is None else line + 1


def _project_path(path: str) -> str:
    """Return the path relative to the current folder, if it belongs to the project."""
    here = os.path.relpath(path)
    return "" if here.startswith("..") or "site-packages" in here else here


def _clean(message: str) -> str:
    short = message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE // 2]}\n…\n{message[-MAX_MESSAGE // 2 :]}"
    return short.encode("utf-8", "replace").decode()


def main(arguments: list[str]) -> int:
    """Run pytest with these arguments and return its exit code."""
    import pytest

    sys.argv = ["pytest", *arguments]  # for plug-ins that look
    reporter = Reporter(os.dup(1))
    code = int(pytest.main(arguments, plugins=[reporter]))
    reporter.end(code)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
