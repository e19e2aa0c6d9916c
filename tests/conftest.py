"""What all tests share: how properties are searched, which skips are expected, a PostgreSQL, and a browser.

Properties are searched by the same cases in every run, so that one run says what the next will; not in `make explore`.
"""

import asyncio
import gc
import os
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import properties  # noqa: F401 - registers how properties are searched

# Reasons for which a test may be skipped on a fresh machine. Any other fails the run there (`scripts/fresh.sh`, CI).
EXPECTED_SKIPS = (
    "root",  # either way: things that only root can do, and things that nothing refuses to root
    "no IPv6",
    "no Chromium",  # an ordinary user can't install one
    "this wire carries whole arguments",  # a parameter that the case doesn't apply to
    "a file has no",  # likewise
    "there, nothing comes that there is no room for",  # likewise
    "1.5b isn't here",  # over a gigabyte, which no test fetches; the small one is always there
    "a small disk can't be mounted here",  # only root can
    "the collected cases aren't on this machine",  # they are kept beside the project, not in it
    r"(agentdojo|bfcl-eval|inspect-evals) isn't installed",  # public suites, each with its own large environment
    r"There is no \S+ here|(go|cargo|node|npx|jest|vitest|mocha)\b.* isn't installed",  # their output is read from recordings too
)
NOT_ON_A_FRESH_MACHINE = ("bwrap", "rg", "node", "npm", "gcc", "cc", "uv", "go", "cargo", "docker", "ollama")


# What the projects have that are worked on in tests: pytest, without our own plugins, which take ten times as long to start.
PROJECTS = Path(__file__).parents[1] / ".venv-projects"


def pytest_configure() -> None:
    """Let Ctrl-C reach the programs under test also where these tests run in the background, with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if PROJECTS.is_dir():
        os.environ["VIRTUAL_ENV"] = str(PROJECTS)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Leave tests and modules, which live to the end, out of every garbage collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionstart() -> None:
    """Refuse to call a machine fresh that has what no command of the README has installed."""
    if os.environ.get("TREADLE_FRESH"):
        there = [path for name in NOT_ON_A_FRESH_MACHINE if (path := shutil.which(name, path="/usr/local/bin:/usr/bin:/bin"))]
        there += [name for name in ("TREADLE_HOME", "TREADLE_BWRAP", "GIT_CONFIG_GLOBAL") if os.environ.get(name)]
        if there:
            raise pytest.UsageError(f"This is no fresh machine: it has {', '.join(there)}, which a test could use unnoticed.")


def _reasons(reporter: pytest.TerminalReporter) -> Counter[str]:
    skipped = [report.longrepr for report in reporter.stats.get("skipped", [])]
    return Counter(str(told[-1]).removeprefix("Skipped: ") for told in skipped)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the skipped tests by their reason."""
    reasons = _reasons(terminalreporter)
    if reasons:
        terminalreporter.section(f"{reasons.total()} skipped")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5}  {reason}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail on a fresh machine where a test was skipped for a reason that nobody expects there."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("TREADLE_FRESH") or not isinstance(reporter, pytest.TerminalReporter):
        return
    odd = [reason for reason in _reasons(reporter) if not any(re.search(known, reason) for known in EXPECTED_SKIPS)]
    if odd and session.exitstatus == 0:
        reporter.write_line(f"Skipped for reasons that aren't expected on a fresh machine: {odd}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    """End the browser's process, where a test has started it."""
    if "browser" in sys.modules:
        sys.modules["browser"].end()


@pytest.fixture(scope="session")
def postgres():
    """The address of a PostgreSQL database; tests that need one are skipped, with the reason, where there is none."""
    from postgres import database  # few tests need it

    with database() as url:
        yield url


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests that only look, with the loop it lives in."""
    from browser import Browser  # few tests need it

    with asyncio.Runner() as runner:
        started = runner.run(Browser().__aenter__())
        yield runner, started
        runner.run(started.__aexit__(None, None, None))


@pytest.fixture
def no_code_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave edits unchecked and the symbol index unbuilt: a language server and a parser take seconds to start."""
    monkeypatch.setenv("TREADLE_CODING_DIAGNOSTICS", "false")
    monkeypatch.setenv("TREADLE_CODING_INDEX", "false")
