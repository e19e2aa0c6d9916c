"""The harness's side of `births`: starts such a process, in whichever environment, and has it live orders."""

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import msgspec

from bench.faults.orders import Life, Order

ROOT = Path(__file__).parents[2]
WORKER = "bench.faults.worker"


class Nursery:
    """One process that gives birth to others, one after the other."""

    def __init__(self, module: str = WORKER, python: str = sys.executable) -> None:
        self._process = subprocess.Popen(
            [python, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        )
        assert self._process.stdin is not None  # asked for above
        assert self._process.stdout is not None
        self._orders, self._lives = self._process.stdin, self._process.stdout
        if self._lives.readline() != b"ready\n":
            raise RuntimeError(f"{module} doesn't start in {python}; what it says is above.")

    def live(self, order: Order) -> Life:
        """One life, to its end."""
        self._orders.write(msgspec.json.encode(order) + b"\n")
        self._orders.flush()
        line = self._lives.readline()
        if not line:
            raise RuntimeError("The process that gives birth to others is gone.")
        return msgspec.json.decode(line, type=Life)

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._orders.close()
        self._lives.close()
        self._process.wait(30)
