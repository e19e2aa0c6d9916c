"""`python -m bench.evals`: replays kept runs, unchanged and with a worse prompt, a changed tool and a looser policy.

Each has to be found in exactly the runs that it concerns, and nothing may be found where nothing differs.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from bench.evals.shop import TOOLS, WORSE_PROMPT, changed_stock, make_agent, plan_calls, prompts_of
from bench.machine import describe
from treadle import Agent, allow, deny
from treadle.evals.replay import ReplayResult, replay_run, replay_together
from treadle.evals.verdicts import compare_policy
from treadle.guard.policy import to_policy
from treadle.home import Home, close_home, open_home

RESULTS = Path(__file__).parents[1] / "results" / "evals.md"


class Measured(Struct, frozen=True):
    """What one replay of all runs found: runs that should differ, those that do, and the seconds it took."""

    name: str
    expected: frozenset[str]
    found: frozenset[str]
    seconds: float

    @property
    def missed(self) -> int:
        """Planted differences that weren't found."""
        return len(self.expected - self.found)

    @property
    def invented(self) -> int:
        """Differences that aren't there."""
        return len(self.found - self.expected)


async def measure(runs: int, home: Home) -> list[Measured]:
    """Keep runs, then replay them unchanged and with each planted regression."""
    ids = await _keep_runs(runs, home)
    plans = {run_id: [plan_calls(text, checks_stock=True) for text in prompts_of(number)] for number, run_id in enumerate(ids)}
    names = {run_id: [name for plan in made for name, _ in plan] for run_id, made in plans.items()}
    without = {run_id: [plan_calls(text, checks_stock=False) for text in prompts_of(number)] for number, run_id in enumerate(ids)}
    worse = {run_id for run_id in ids if plans[run_id] != without[run_id]}
    changed = make_agent(tools=[each for each in TOOLS if each.tool.name != "stock"] + [changed_stock])
    looser = [allow("refund"), deny("close_account")]
    return [
        await _replay("unchanged, recorded replies", home, ids, make_agent(), set(), recorded_replies=True),
        await _replay("unchanged, the model asked again", home, ids, make_agent(), set()),
        await _replay("a worse prompt", home, ids, make_agent(instructions=WORSE_PROMPT), worse),
        await _replay("a changed tool", home, ids, changed, _having(names, "stock"), recorded_replies=True),
        await _replay("a looser policy", home, ids, make_agent(policy=looser), _having(names, "refund"), recorded_replies=True),
        await _judge("a looser policy, `permissions test`", home, ids, looser, _having(names, "refund")),
        await _judge("the same policy, `permissions test`", home, ids, [deny("close_account")], set()),
    ]


def _having(names: dict[str, list[str]], tool: str) -> set[str]:
    return {run_id for run_id, called in names.items() if tool in called}


async def _keep_runs(runs: int, home: Home) -> list[str]:
    agent, ids = make_agent(), [f"run{number:06}" for number in range(runs)]
    for number, run_id in enumerate(ids):
        for prompt in prompts_of(number):
            await agent.run(prompt, run_id=run_id, journal=home.services())
    return ids


async def _replay(name: str, home: Home, ids: Sequence[str], agent: Agent[Any, Any], expected: set[str], **how: Any) -> Measured:
    async def one(run_id: str) -> ReplayResult:
        return await replay_run(run_id, await home.journal.read(run_id), agent, fetch=home.results.fetch, **how)

    began = time.perf_counter()
    results = await replay_together([(run_id, partial(one, run_id)) for run_id in ids], 8, lambda _: None)
    found = {result.run_id for result in results if result.status != "same" or result.verdicts}
    return Measured(name, frozenset(expected), frozenset(found), time.perf_counter() - began)


async def _judge(name: str, home: Home, ids: Sequence[str], rules: Any, expected: set[str]) -> Measured:
    began = time.perf_counter()
    found = compare_policy([(run_id, await home.journal.read(run_id)) for run_id in ids], to_policy(rules))
    changed = {change.run_id for change in found.changes}
    return Measured(name, frozenset(expected), frozenset(changed), time.perf_counter() - began)


def render(runs: int, measured: Sequence[Measured]) -> str:
    """Return the result as Markdown."""
    rows = [
        f"| {each.name} | {len(each.expected)} | {len(each.found)} | {each.missed} | {each.invented} | {each.seconds:.1f} |"
        for each in measured
    ]
    head = "| replayed with | runs that differ | found | missed | invented | seconds |\n|---|---|---|---|---|---|"
    machine = describe()
    about = f"{machine.date}, {machine.cores} cores of {machine.cpu}, {machine.python}. The model takes no time."
    return f"# Replays of {runs} kept runs\n\n{about}\n\n{head}\n" + "\n".join(rows) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write down."""
    parser = argparse.ArgumentParser(prog="python -m bench.evals")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--write", action="store_true", help=f"write the result to {RESULTS.name}")
    wanted = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        home = open_home(folder)
        try:
            measured = asyncio.run(measure(wanted.runs, home))
        finally:
            close_home(home)
    report = render(wanted.runs, measured)
    print(report)
    if wanted.write:
        RESULTS.write_text(report)
    if any(each.missed or each.invented for each in measured):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
