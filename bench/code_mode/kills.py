"""Kills inside of programs: simulated at every entry of the journal, and real ones by the system at effects."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from bench.code_mode.tasks import Shop, Task, make_tasks
from treadle import Agent, allow
from treadle.core.entries import Called, Entry, Replied, Started
from treadle.home import close_home, open_home
from treadle.journal import MemoryJournal
from treadle.models.scripted import calls
from treadle.testing import Scripted


class Kills(Struct, frozen=True):
    """How often programs were killed, and how many effects were repeated after that.

    `unclear` programs were stopped after the kill: a call had begun and not ended, and no one could say whether it took effect.
    They are counted where kills are simulated.
    """

    kills: int
    repeated: int
    unclear: int = 0


def _agent(shop: Shop, *script: object) -> Agent:
    return Agent(Scripted(*script), tools=shop.tools(), policy=[allow("*")], code_mode=True, attended=False)


def _script(task: Task) -> tuple[object, ...]:
    return calls(("run_program", {"program": task.program})), "Done."


async def simulate_kills(tasks: list[Task]) -> Kills:
    """Cut the journal of each task at each of its entries inside of the program, and resume it from there."""
    found = [await _cut_everywhere(task) for task in tasks]
    return Kills(sum(each.kills for each in found), sum(each.repeated for each in found), sum(each.unclear for each in found))


async def _cut_everywhere(task: Task) -> Kills:
    journal, shop = MemoryJournal(most=10_000), Shop()
    await _agent(shop, *_script(task)).run(task.prompt, run_id="whole", journal=journal)
    entries = await journal.read("whole")
    first = next(number for number, entry in enumerate(entries) if isinstance(entry, Called))
    kills, repeated, unclear = 0, 0, 0
    for count in range(first, len(entries) - 2):
        kept, again = entries[:count], Shop()
        run_id = f"cut {count}"
        await journal.append(run_id, 0, kept)
        spoken = sum(isinstance(entry, Replied) for entry in kept)
        await _agent(again, *_script(task)[spoken:]).resume(run_id, journal=journal)
        began = _count_begun(kept)
        kills += 1
        repeated += max(0, began + len(again.effects) - len(shop.effects))
        unclear += began + len(again.effects) < len(shop.effects)
    return Kills(kills, repeated, unclear)


def _count_begun(entries: list[Entry]) -> int:
    """Return how many effects had begun: of one that hasn't returned, it isn't known whether it took place."""
    return len({entry.call_id for entry in entries if isinstance(entry, Started)})


def kill_processes(tasks: list[Task], most: int) -> Kills:
    """Have a process kill itself with SIGKILL right before and right after effects; then resume the run in another one."""
    kills, repeated = 0, 0
    with TemporaryDirectory() as folder:
        for number in range(most):
            task = number % len(tasks)
            place = Path(folder, str(number))
            place.mkdir()
            dies = {"at": 1 + number // (2 * len(tasks)), "after": bool(number % 2)}
            first = _live(place, {"task": tasks[task].prompt, "resume": False, **dies})
            assert first == -signal.SIGKILL, first
            assert _live(place, {"task": tasks[task].prompt, "resume": True}) == 0
            counted = Counter(place.joinpath("effects").read_text().splitlines())
            kills += 1
            repeated += sum(count - 1 for count in counted.values())
    return Kills(kills, repeated)


def _live(place: Path, order: dict[str, object]) -> int:
    command = [sys.executable, "-m", "bench.code_mode.kills", str(place), json.dumps(order)]
    return subprocess.run(command, check=False, timeout=120).returncode


def _main(place: Path, order: dict[str, object]) -> None:
    file = (place / "effects").open("a")
    seen = 0

    def record(effect: str) -> None:
        nonlocal seen
        seen += 1
        if seen == order.get("at") and not order["after"]:
            os.kill(os.getpid(), signal.SIGKILL)
        file.write(f"{effect}\n")
        file.flush()
        if seen == order.get("at"):
            os.kill(os.getpid(), signal.SIGKILL)

    async def live() -> None:
        task = next(each for each in make_tasks() if each.prompt == order["task"])
        home = open_home(place / "home")
        if order["resume"]:
            await _agent(Shop(record), "Done.").resume("r", journal=home.services())
        else:
            await _agent(Shop(record), *_script(task)).run(task.prompt, run_id="r", journal=home.services())
        close_home(home)

    asyncio.run(live())
    file.close()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), json.loads(sys.argv[2]))
