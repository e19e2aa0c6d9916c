"""What the platform has to offer: its providers with the resource types they make, and its golden paths. The same for everybody."""

from typing import Any

from msgspec import Struct, field

from treadle.assistants.platform.demo.values import Answer, Asked, Refused, Visit, said


class Offer(Struct, frozen=True):
    """A workflow of a provider."""

    name: str
    description: str
    category: str = "provisioner"
    version: str = "1.0.0"
    tags: tuple[str, ...] = ()


class Provider(Struct, frozen=True):
    """Who makes resources of some types. `down` says why it can't be reached just now."""

    name: str
    version: str
    category: str
    description: str
    types: tuple[str, ...]
    workflows: tuple[Offer, ...]
    golden_paths: int = 0
    kind: str = "native"
    step: str = "terraform"
    down: str = ""


class Parameter(Struct, frozen=True, rename="pascal"):
    """What a golden path wants to know. Named in upper case on the wire, like all that is made of untagged structs."""

    type: str
    description: str
    default: str = ""
    required: bool = False
    pattern: str = ""
    allowed_values: tuple[str, ...] | None = None
    min: int | None = None
    max: int | None = None


class GoldenPath(Struct, frozen=True):
    """A way that is paved."""

    description: str
    category: str
    tags: tuple[str, ...]
    estimated_duration: str
    workflow_file: str
    parameters: dict[str, Parameter] = field(default_factory=dict[str, Parameter])


PROVIDERS = (
    Provider(
        "container-team",
        "1.3.0",
        "infrastructure",
        "Namespaces, repositories and deployments on Kubernetes",
        (
            "application",
            "argocd-app",
            "argocd-application",
            "container",
            "git-repository",
            "gitea-repo",
            "kubernetes-namespace",
            "namespace",
        ),
        (
            Offer("provision-namespace", "Makes a namespace with quotas", tags=("kubernetes",)),
            Offer("provision-repository", "Makes a Git repository", tags=("git",)),
            Offer("provision-argocd-app", "Lets Argo CD deploy a repository", tags=("gitops",)),
        ),
        golden_paths=2,
        kind="delegated",
        step="kubernetes",
    ),
    Provider(
        "database-team",
        "2.1.0",
        "data",
        "PostgreSQL, and a mock of it that needs no cluster",
        ("postgres", "postgres-mock", "postgresql"),
        (
            Offer("provision-postgres", "Makes a PostgreSQL database with a user of its own", tags=("database", "postgres")),
            Offer("provision-postgres-mock", "Pretends to make a database", tags=("database", "mock")),
        ),
        golden_paths=1,
    ),
    Provider(
        "identity-team",
        "0.9.2",
        "security",
        "Groups and organisations for the people of a team",
        ("gitea-org", "iam-group", "keycloak-group"),
        (Offer("provision-group", "Makes a group and its members", tags=("identity",)),),
        golden_paths=1,
        kind="external",
        step="policy",
    ),
    Provider(
        "storage-team",
        "1.0.4",
        "data",
        "Buckets on MinIO",
        ("minio-bucket", "object-storage", "s3", "s3-bucket"),
        (Offer("provision-bucket", "Makes a bucket with keys of its own", tags=("storage", "s3")),),
    ),
    Provider(
        "test-team",
        "0.1.0",
        "test",
        "Databases for tests, gone after an hour",
        ("test-database", "test-db"),
        (Offer("provision-test-db", "Makes a database in memory", tags=("test",)),),
        step="dummy",
    ),
    Provider(
        "vault-team",
        "1.1.0",
        "security",
        "Spaces for secrets in Vault",
        ("secrets", "vault-namespace", "vault-space"),
        (Offer("provision-vault-space", "Makes a space with policies", tags=("secrets",)),),
        down="connection refused at vault.platform.example:8200; Vault is sealed since its last restart",
    ),
)

GOLDEN_PATHS = {
    "deploy-app": GoldenPath(
        "Deploys an application with everything its spec asks for",
        "deployment",
        ("deployment", "production"),
        "5-10 minutes",
        "./workflows/deploy-app.yaml",
        {
            "replicas": Parameter("int", "how many copies run", "1", min=1, max=10),
            "strategy": Parameter("enum", "how the new version takes over", "rolling", allowed_values=("rolling", "recreate")),
        },
    ),
    "ephemeral-env": GoldenPath(
        "Makes an environment for a branch, which is gone after its time",
        "environment",
        ("testing", "preview"),
        "3-5 minutes",
        "./workflows/ephemeral-env.yaml",
        {
            "ttl": Parameter("duration", "how long it lasts", "24h"),
            "branch": Parameter("string", "what is deployed", required=True),
        },
    ),
    "onboard-dev-team": GoldenPath(
        "Gives a new team its organisation, namespace and groups",
        "team",
        ("onboarding",),
        "10-15 minutes",
        "./workflows/onboard-dev-team.yaml",
        {"team_name": Parameter("string", "the team's name", required=True, pattern="^[a-z][a-z0-9-]*$")},
    ),
    "provision-postgres": GoldenPath(
        "Makes a PostgreSQL database for an application",
        "database",
        ("database", "postgres"),
        "2-4 minutes",
        "./workflows/provision-postgres.yaml",
    ),
}

BY_TYPE = {kind: provider for provider in PROVIDERS for kind in provider.types}
BY_TYPE["kubernetes"] = PROVIDERS[0]  # what `environment.type: kubernetes` adds; nobody may ask for it by name

TYPES = tuple(sorted(set(BY_TYPE) - {"kubernetes"}))


def list_providers(_: Visit, __: Asked) -> Answer:
    """The providers. Which types they make isn't said."""
    return said([_provider(each) for each in PROVIDERS])


def provider_stats(_: Visit, __: Asked) -> Answer:
    """How many there are."""
    return said({"providers": len(PROVIDERS), "provisioners": sum(len(each.workflows) for each in PROVIDERS)})


def list_golden_paths(_: Visit, __: Asked) -> Answer:
    """The golden paths by name."""
    return said({name: _path(each) for name, each in GOLDEN_PATHS.items()})


def get_golden_path(_: Visit, asked: Asked) -> Answer:
    """One of them."""
    name = asked.named["name"]
    return said({"name": name, **_path(golden_path(name))})


def golden_path(name: str) -> GoldenPath:
    """One of them, or a refusal."""
    if name not in GOLDEN_PATHS:
        raise Refused(404, f"Golden path '{name}' not found")
    return GOLDEN_PATHS[name]


def _provider(provider: Provider) -> dict[str, Any]:
    return {
        "name": provider.name,
        "version": provider.version,
        "category": provider.category,
        "description": provider.description,
        "provisioners": len(provider.workflows),
        "golden_paths": provider.golden_paths,
        "workflows": provider.workflows,
    }


def _path(path: GoldenPath) -> dict[str, Any]:
    shown = {name: getattr(path, name) for name in ("description", "category", "tags", "estimated_duration", "workflow_file")}
    return {**shown, "parameters": path.parameters} if path.parameters else shown
