"""What the numbers were measured on: machine, Python, packages, date and source version."""

import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.processes import ROOT

_PACKAGES = (
    "treadle",
    "msgspec",
    "aiohttp",
    "pydantic-ai-slim",
    "openai-agents",
    "openai",
    "langchain",
    "langchain-openai",
    "langgraph",
    "pydantic",
    "httpx2",
)


@dataclass(frozen=True, slots=True)
class Machine:
    """The circumstances of one benchmark."""

    date: str
    cpu: str
    cores: int
    memory_gib: float
    kernel: str
    python: str
    packages: dict[str, str]
    commit: str
    load_average_before: float


def describe() -> Machine:
    """Look around."""
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        kernel=platform.release(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        packages={name: _version(name) for name in _PACKAGES},
        commit=_commit(),
        load_average_before=round(os.getloadavg()[0], 2),
    )


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or "none"
