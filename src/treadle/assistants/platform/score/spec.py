"""Data types of a Score spec and of the findings in one, and what the platform supports. Field names are those of the spec.

`KnownKeys` has the keys of a spec, suggestions for keys that the platform silently drops, and the types that are shipped.
"""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct, field

from treadle import TreadleError

Level = Literal["error", "warning"]
API_VERSION = "score.dev/v1b1"

PROVIDED = (
    "application",
    "argocd-app",
    "argocd-application",
    "container",
    "git-repository",
    "gitea-org",
    "gitea-repo",
    "iam-group",
    "keycloak-group",
    "kubernetes-namespace",
    "minio-bucket",
    "namespace",
    "object-storage",
    "postgres",
    "postgres-mock",
    "postgresql",
    "s3",
    "s3-bucket",
    "secrets",
    "test-database",
    "test-db",
    "vault-namespace",
    "vault-space",
)


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


"""Resource types that the shipped providers make."""

ADDED_BY_KUBERNETES = ("gitea-repo", "kubernetes", "argocd-app")
"""Resources that `environment.type: kubernetes` adds to an application."""

WANT_PARAMS = ("postgres", "postgresql", "mysql", "mongodb")


class KnownKeys(Struct, frozen=True):
    """The supported keys at one position, and hints for some unsupported ones."""

    known: tuple[str, ...]
    hints: dict[str, str]


TOP = KnownKeys(
    ("apiVersion", "metadata", "containers", "resources", "environment", "workflows"),
    {
        "service": "services aren't made from a spec; what is reachable is up to the platform",
        "extensions": "put what a provider needs into `params` of a resource",
        "variables": "write it into a container, as `containers.<name>.variables`",
        "name": "write it as `metadata.name`",
        "image": "write it into a container, as `containers.<name>.image`",
    },
)
METADATA = KnownKeys(
    ("name",),
    {
        "labels": "only `name` is kept",
        "annotations": "only `name` is kept",
        "namespace": "only `name` is kept; the team's own namespace is used",
    },
)
CONTAINER = KnownKeys(
    ("image", "variables"),
    {
        "env": "write it as `variables`, a mapping of names to text; references in it count only there",
        "environment": "write it as `variables`, a mapping of names to text",
        "ports": "give the port to the program as one of its `variables`",
        "service": "give the port to the program as one of its `variables`",
        "resources": "limits of a container aren't set from a spec; `resources` at the top are what the application needs",
        "command": "put the command into the image",
        "args": "put the arguments into the image, or into `variables`",
        "files": "put the file into the image, or its content into `variables`",
        "volumes": "name the storage under `resources` at the top",
        "livenessProbe": "health is checked by the platform",
        "readinessProbe": "health is checked by the platform",
    },
)
RESOURCE = KnownKeys(
    ("type", "params", "properties"),
    {
        "class": "write it into `params`, if the provider of the type reads it",
        "id": "the name of the resource is its key",
        "metadata": "write it into `properties`",
        "parameters": "write it as `params`",
    },
)
ENVIRONMENT = KnownKeys(("type", "ttl"), {"name": "environments take their name from the application"})
WORKFLOW = KnownKeys(("steps", "variables", "outputs"), {})
