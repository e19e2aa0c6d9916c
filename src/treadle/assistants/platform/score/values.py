"""What a Score spec is made of, and what was found in one. Values only; names of fields are those of the spec."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct, field

from treadle import TreadleError

Level = Literal["error", "warning"]


class Finding(Struct, frozen=True, order=True):
    """What is wrong or doubtful at one place of a spec. Lines and columns count from 1; `path` is empty for the whole text."""

    line: int
    column: int
    level: Level
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"line {self.line}, column {self.column}: {self.level}: {where}{self.message}"


class Container(Struct, frozen=True):
    """One container: what runs, and the variables it is given."""

    image: str = ""
    variables: dict[str, str] = field(default_factory=dict[str, str])


class Resource(Struct, frozen=True):
    """Something that an application needs, made by the provider of its type."""

    type: str = ""
    params: dict[str, Any] = field(default_factory=dict[str, Any])
    properties: dict[str, Any] = field(default_factory=dict[str, Any])


class Environment(Struct, frozen=True):
    """Where an application runs, and for how long."""

    type: str = ""
    ttl: str = ""


class Spec(Struct, frozen=True):
    """A Score spec as the server keeps it; keys that it drops aren't here."""

    name: str = ""
    containers: dict[str, Container] = field(default_factory=dict[str, Container])
    resources: dict[str, Resource] = field(default_factory=dict[str, Resource])
    environment: Environment | None = None
    workflows: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])


class Checked(Struct, frozen=True):
    """A text that was checked. `spec` is what could be read of it, also where there are errors; None where nothing could."""

    spec: Spec | None
    findings: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """For these it would be refused."""
        return tuple(each for each in self.findings if each.level == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """It would be taken, but perhaps not as it was meant."""
        return tuple(each for each in self.findings if each.level == "warning")

    @property
    def ok(self) -> bool:
        """Whether it would be taken."""
        return self.spec is not None and not self.errors


class BadSpec(TreadleError):
    """A text that is no Score spec, or one with errors; `findings` say where."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("The Score spec can't be used. " + "; ".join(str(each) for each in findings))
        self.findings = tuple(findings)
