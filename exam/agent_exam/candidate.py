"""A framework as the table has it: what its adapter says of it, and the verdicts on its cases."""

from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Literal

from agent_exam.protocol import Adapter

Status = Literal["passed", "failed", "unsupported"]


@dataclass(frozen=True)
class Verdict:
    """A cell of the table. `reasons` say why a case failed, or what the framework lacks."""

    case: str
    status: Status
    reasons: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass
class Candidate:
    """A framework's part of the results."""

    name: str
    versions: dict[str, str]
    features: list[str]
    durability: str
    approvals: str
    verdicts: dict[str, Verdict] = field(default_factory=dict)


def candidate_of(adapter: Adapter) -> Candidate:
    """A framework without results so far."""
    versions = {**{name: _version(name) for name in adapter.packages}, "Python": python_version()}
    return Candidate(adapter.name, versions, sorted(adapter.features), adapter.durability, adapter.approvals)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "from source"
