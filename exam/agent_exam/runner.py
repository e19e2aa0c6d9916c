"""Runs cases: a scripted model in this process, the framework in another one with a time limit, and a verdict on what came out."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from agent_exam.candidate import Candidate, Verdict, candidate_of
from agent_exam.case import Case
from agent_exam.model import ScriptedModel
from agent_exam.process import Order, Record, perform, read_records
from agent_exam.protocol import MISSING, Adapter
from agent_exam.tools import World
from providers.servers import SERVERS
from providers.servers.http import serve
from providers.toolbox import covers

SECONDS = 300.0  # for all processes of a case together; much more than any takes


class Host(Protocol):
    """Where a framework runs."""

    candidate: Candidate

    def live(self, order: Order, seconds: float) -> str:
        """Carry an order out: returns `ended`, `killed` or `late`."""
        ...

    def kill(self) -> None:
        """Kill the process that carries out the order, from any thread."""
        ...


class ProcessHost:
    """A process that has imported the framework and forks for each order."""

    def __init__(self, adapter: str) -> None:
        command = [sys.executable, "-m", "agent_exam.process", adapter]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._pid: int | None = None
        self._begun = threading.Event()
        described = self._line()
        if not described:
            raise SystemExit(f"The adapter {adapter!r} can't be imported.")
        self.candidate = Candidate(**json.loads(described))

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def live(self, order: Order, seconds: float) -> str:
        assert self._process.stdin is not None
        self._begun.clear()
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._pid = int(self._line())
        self._begun.set()
        late = threading.Event()
        timer = threading.Timer(seconds, lambda: (late.set(), self.kill()))
        timer.start()
        status = int(self._line())
        timer.cancel()
        self._pid = None
        return "late" if late.is_set() else "killed" if os.WIFSIGNALED(status) else "ended"

    def kill(self) -> None:
        self._begun.wait(20)
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


@contextmanager
def process_host(adapter: str) -> Iterator[ProcessHost]:
    """A host for as long as the block lasts."""
    host = ProcessHost(adapter)
    try:
        yield host
    finally:
        host.close()


class LocalHost:
    """This process: for tests of adapters, with cases that kill nothing."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self.candidate = candidate_of(adapter)

    def live(self, order: Order, seconds: float) -> str:
        async def limited() -> None:
            async with asyncio.timeout(seconds):
                await perform(order, self._adapter)

        try:
            asyncio.run(limited())
        except TimeoutError:
            return "late"
        return "ended"

    def kill(self) -> None:
        raise NotImplementedError("This process can't be killed.")


def run_case(case: Case, host: Host, logs: Path | None = None) -> Verdict:
    """Run a case, and judge it. With `logs`, what its processes printed is kept there."""
    lacking = sorted(case.needs - set(host.candidate.features))
    if lacking:
        return Verdict(case.id, "unsupported", tuple(MISSING[feature] for feature in lacking))
    with tempfile.TemporaryDirectory(prefix="exam-") as folder:
        begun = time.monotonic()
        reasons = _Run(case, host, Path(folder)).reasons()
        seconds = round(time.monotonic() - begun, 1)
        log = Path(folder) / "log.txt"
        if logs is not None and log.exists():
            logs.mkdir(parents=True, exist_ok=True)
            (logs / f"{host.candidate.name}-{case.id.replace('/', '-')}.txt").write_bytes(log.read_bytes())
    return Verdict(case.id, "failed" if reasons else "passed", tuple(reasons), seconds)


class _Run:
    def __init__(self, case: Case, host: Host, folder: Path) -> None:
        self.case = case
        self.world = World(folder / "world.jsonl")
        self._host = host
        self._folder = folder
        self._model = ScriptedModel(case, self.world, self._arrived)
        self._lives = 0
        self._excess = False

    def _arrived(self, number: int) -> None:
        if self._lives == 1 and self.case.kill == f"request {number}":
            self._host.kill()
        if number > self.case.expect.requests:
            self._excess = True
            self._host.kill()

    def reasons(self) -> list[str]:
        """Carry the case out, and return why it failed."""
        deadline = time.monotonic() + SECONDS
        ended = "ended"
        with serve(self._model) as url:
            for steps in self._orders():
                first = self._lives == 0
                order = Order(
                    self.case.id, url + SERVERS[self.case.at].base, str(self._folder), steps, self.case.kill if first else ""
                )
                self._lives += 1
                ended = self._host.live(order, deadline - time.monotonic())
                if first and self.case.kill and ended == "ended":
                    return [f"the point {self.case.kill!r} wasn't reached", *self._ending(read_records(order.records))]
                if ended == "late" or self._excess:
                    break
            records = read_records(order.records)
        if self._excess:
            return [f"did not stop after {self.case.expect.requests} requests"]
        if ended == "late":
            return [f"did not end within {SECONDS:g} s", *self._payments()]
        found = [*self._waits(records), *self._ending(records), *self._payments(), *self._calls(), *self._read()]
        refused = [f"refused by the server: {line}"[:300] for line in dict.fromkeys(self._model.session.violations)]
        return [*found, *refused] if found or self.case.strict else []

    def _orders(self) -> list[list[str]]:
        """The steps of each process."""
        if self.case.kill:
            return [["run"], ["resume"]]
        orders = [["run"]]
        for number, review in enumerate(self.case.reviews):
            step = f"answer {number}"
            if review.restart:
                orders.append([step])
            else:
                orders[-1].append(step)
        return orders

    def _waits(self, records: list[Record]) -> list[str]:
        """Calls wait as each review expects, with no other effects so far than the approved ones."""
        approved: list[str] = []
        for number, review in enumerate(self.case.reviews):
            if number >= len(records):
                return ["ended before it asked"]
            record = records[number]
            waiting = sorted(str(call.arguments.get("order")) for call in record.outcome.pending)
            if waiting != sorted(review.decisions):
                return [f"waited for approval of {waiting or 'nothing'}, not of {sorted(review.decisions)}"]
            if [line.split()[0] for line in record.payments] != sorted(approved):
                return [f"paid {record.payments} before the approval"]
            approved += [name for name, decision in review.decisions.items() if decision.approve]
        return []

    def _ending(self, records: list[Record]) -> list[str]:
        expect = self.case.expect
        if not records:
            return ["the process ended without an outcome"]
        last = records[-1].outcome
        if last.error and not last.documented:
            return [f"crashed with {last.error}"[:300]]
        if last.pending:
            return [f"waits for approval of {[call.arguments for call in last.pending]}"]
        if last.error or last.stopped:
            return [] if expect.error in ("may", "must") else [f"ended without an answer: {last.error or last.stopped}"[:300]]
        if expect.error == "must":
            return [f"answered {last.text!r} where an error was due"[:300]]
        if expect.text is not None and (last.text or "").strip() != expect.text:
            return [f"answered {(last.text or '')[:120]!r}"]
        return []

    def _payments(self) -> list[str]:
        made, due = Counter(self.world.payments()), Counter(self.case.expect.payments)
        more, less = made - due, due - made
        found = [f"payment {name} happened {made[name]} times" for name in more if due[name]]
        found += [f"payment {name} happened, and shouldn't have" for name in more if not due[name]]
        return found + [f"payment {name} didn't happen" for name in less]

    def _calls(self) -> list[str]:
        want = self.case.expect.calls
        if want is None:
            return []
        got = [(act.tool, act.arguments) for act in self.world.acts()]
        same = len(got) == len(want) and all(any(a == c and covers(b, d) for a, b in got) for c, d in want)
        return [] if same else [f"called {str(got)[:150]}, not {str(want)[:150]}"]

    def _read(self) -> list[str]:
        reads = self.case.expect.reads
        if not reads or (self._model.requests and reads in self._model.requests[-1].raw.decode()):
            return []
        return ["the model wasn't given the reason of the denial"]
