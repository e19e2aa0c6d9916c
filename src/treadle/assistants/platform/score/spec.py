"""Data types of a Score spec and of the findings in one. Field names are those of the spec."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct, field

from treadle import TreadleError

Level = Literal["error", "warning"]


class SpecFinding(Struct, frozen=True, order=True):
    """An error or warning at one position of a spec. Lines and columns count from 1; `path` is empty for the whole text."""

    line: int
    column: int
    level: Level
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"line {self.line}, column {self.column}: {self.level}: {where}{self.message}"


class SpecContainer(Struct, frozen=True):
    """One container: its image and its variables."""

    image: str = ""
    variables: dict[str, str] = field(default_factory=dict[str, str])


class SpecResource(Struct, frozen=True):
    """A resource that an application needs, created by the provider of its type."""

    type: str = ""
    params: dict[str, Any] = field(default_factory=dict[str, Any])
    properties: dict[str, Any] = field(default_factory=dict[str, Any])


class SpecEnvironment(Struct, frozen=True):
    """Where an application runs, and for how long."""

    type: str = ""
    ttl: str = ""


class ScoreSpec(Struct, frozen=True):
    """A Score spec as the server stores it, without the keys that it drops."""

    name: str = ""
    containers: dict[str, SpecContainer] = field(default_factory=dict[str, SpecContainer])
    resources: dict[str, SpecResource] = field(default_factory=dict[str, SpecResource])
    environment: SpecEnvironment | None = None
    workflows: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])


class CheckedSpec(Struct, frozen=True):
    """A checked text. `spec` is what could be parsed of it, also if there are errors; None if nothing could."""

    spec: ScoreSpec | None
    findings: tuple[SpecFinding, ...] = ()

    @property
    def errors(self) -> tuple[SpecFinding, ...]:
        """The findings for which it would be refused."""
        return tuple(each for each in self.findings if each.level == "error")

    @property
    def warnings(self) -> tuple[SpecFinding, ...]:
        """The findings with which it would be accepted, but perhaps not as intended."""
        return tuple(each for each in self.findings if each.level == "warning")

    @property
    def ok(self) -> bool:
        """Whether it would be accepted."""
        return self.spec is not None and not self.errors


class BadSpec(TreadleError):
    """A text that isn't a Score spec, or one with errors; `findings` say where."""

    def __init__(self, findings: Sequence[SpecFinding]) -> None:
        super().__init__("The Score spec can't be used. " + "; ".join(str(each) for each in findings))
        self.findings = tuple(findings)
