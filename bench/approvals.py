"""`python -m bench.approvals`: how often a person is asked in a coding session of 30 edits and 40 commands.

The session is scripted, and runs through the real engine with the default policy: all calls with an effect need approval. Counted
is what a person is asked: allowing each call by itself, allowing calls like it for the conversation as they are suggested, and with
the permissions that an earlier session has left. The table goes to standard output and to `bench/results/approvals.md`.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from treadle import Agent, Answer, Approval, Limits, open_home, tool
from treadle.core.grants import Scope
from treadle.engine.setup import Services
from treadle.guard.grants import format_patterns
from treadle.home import close_home
from treadle.models.scripted import ScriptedCall, ScriptedReply
from treadle.testing import Scripted

RESULTS = Path(__file__).parent / "results" / "approvals.md"
ENOUGH = Limits(rounds=100, calls=100)
GOAL = 25  # approvals at most, where calls like one are allowed for the conversation

EDITS = [
    *[f"src/shop/{name}.py" for name in ("cart", "prices", "orders", "cart", "api", "prices", "models", "orders", "cart", "cli")],
    *[f"src/shop/storage/{name}.py" for name in ("sqlite", "rows", "sqlite", "migrations")],
    *[f"tests/test_{name}.py" for name in ("cart", "prices", "orders", "cart", "api", "storage", "cart", "orders", "cli")],
    *("README.md", "pyproject.toml", "docs/usage.md", "docs/changelog.md", ".github/workflows/ci.yml", "src/.env", "README.md"),
]
COMMANDS = [
    *("ls", "ls src/shop", "git status", "git log --oneline -5", "grep -rn total src", "pytest -q"),
    *("pytest -q tests/test_cart.py", "pytest -q tests/test_cart.py -x", "ruff check src", "ruff check --fix src", "git diff"),
    *("pytest -q", "git add -A", "git commit -m 'Totals include the discount'", "grep -rn discount src tests"),
    *("pytest -q -k prices", "python -m mypy src", "ruff format src tests", "pytest -q", "git diff --stat", "git add src"),
    *("git commit -m 'Rounding by Decimal'", "pytest -q tests/test_orders.py", "pytest -q 2>&1 | tail -20", "git status"),
    *("python scripts/load_samples.py --small", "pytest -q tests/test_storage.py", "rm -rf build"),
    *("pytest -q && git commit -am 'Storage keeps the order'", "ruff check src tests", "python -m mypy src", "ls docs"),
    *("grep -rn usage docs", "pytest -q --durations=5", "python -c 'import shop; print(shop.__version__)'", "make docs"),
    *("git diff", "git add -A", "git commit -m 'Document the new options'", "git push origin main"),
]


def session() -> list[ScriptedCall]:
    """The calls: edits and commands by turns, as one works."""
    edits = [
        ScriptedCall("edit_file", {"path": path, "old": f"a{number}", "new": f"b{number}"}) for number, path in enumerate(EDITS)
    ]
    commands = [ScriptedCall("run_command", {"command": line}) for line in COMMANDS]
    return [call for _, call in sorted([*enumerate_evenly(edits), *enumerate_evenly(commands)], key=lambda pair: pair[0])]


def enumerate_evenly(calls: list[ScriptedCall]) -> list[tuple[float, ScriptedCall]]:
    """Return the calls with their places in a session, from 0 to 1."""
    return [((number + 0.5) / len(calls), call) for number, call in enumerate(calls)]


@tool
def edit_file(path: str, old: str, new: str) -> str:
    """Replace a text in a file."""
    return f"{path}: replaced {old}."


@tool
def run_command(command: str) -> str:
    """Run a shell line."""
    return f"{command}: done."


def approvals_in(services: Services, scope: Scope) -> list[Approval]:
    """Return what a person is asked in one session, who allows calls like each with this scope, where that is offered."""
    asked: list[Approval] = []

    def answer(approval: Approval) -> Answer:
        asked.append(approval)
        return Answer(True, "Ann", scope=scope if approval.patterns else "once")

    model = Scripted(*[ScriptedReply(calls=(call,)) for call in session()], "Done.")
    agent = Agent(model, tools=[edit_file, run_command], approver=answer, limits=ENOUGH, name="coding")
    result = asyncio.run(agent.run("Fix the totals.", journal=services))
    assert [call.problem for call in result.calls] == [None] * (len(EDITS) + len(COMMANDS))  # each has run, once
    return asked


def counted() -> dict[str, list[Approval]]:
    """Return what is asked, by how the person answers."""
    with tempfile.TemporaryDirectory() as folder:
        homes = [open_home(Path(folder) / name) for name in ("once", "conversation", "always")]
        once, conversation, always = [home.services() for home in homes]
        found = {
            "each call is allowed once": approvals_in(once, "once"),
            "calls like it are allowed for the conversation": approvals_in(conversation, "conversation"),
            "calls like it are allowed always: first session": approvals_in(always, "always"),
            "calls like it are allowed always: second session": approvals_in(always, "always"),
        }
        for home in homes:
            close_home(home)
    return found


def page_of(found: dict[str, list[Approval]]) -> str:
    """Return the results as Markdown."""
    rows = [
        f"| {how} | {len(asked)} | {_count(asked, 'edit_file')} | {_count(asked, 'run_command')} |" for how, asked in found.items()
    ]
    remembered = found["calls like it are allowed for the conversation"]
    lines = [f"- `{approval.name}`: {format_patterns(approval.patterns[0])}" for approval in remembered]
    return "\n".join(
        [
            f"# Approvals in a coding session: {len(EDITS)} edits, {len(COMMANDS)} commands",
            "",
            "Written by `python -m bench.approvals`. Calls with an effect need approval; the person allows what is suggested.",
            "",
            "| how the person answers | approvals | of edits | of commands |",
            "|---|---:|---:|---:|",
            *rows,
            "",
            "What was suggested, and allowed for the conversation:",
            "",
            *lines,
            "",
        ]
    )


def _count(asked: list[Approval], name: str) -> int:
    return sum(approval.name == name for approval in asked)


def main() -> None:
    """Count, print, write down."""
    found = counted()
    page = page_of(found)
    RESULTS.write_text(page, "utf-8")
    print(page)
    sys.exit(len(found["calls like it are allowed for the conversation"]) > GOAL)


if __name__ == "__main__":
    main()
