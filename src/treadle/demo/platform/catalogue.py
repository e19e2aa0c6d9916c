"""The demo platform's catalogue: providers with their resource types, and golden paths. The same for all users."""

from typing import Any

from msgspec import Struct, field

from treadle.demo.platform.http_types import PlatformRequest, PlatformResponse, RequestContext, RequestRefused, json_reply


class ProviderWorkflow(Struct, frozen=True):
    """A workflow of a provider."""

    name: str
    description: str
    category: str = "provisioner"
    version: str = "1.0.0"
    tags: tuple[str, ...] = ()


class ResourceProvider(Struct, frozen=True):
    """A provider of some resource types. `down` says why it is currently unreachable."""

    name: str
    version: str
    category: str
    description: str
    types: tuple[str, ...]
    workflows: tuple[ProviderWorkflow, ...]
    golden_paths: int = 0
    kind: str = "native"
    step: str = "terraform"
    down: str = ""


class PathParameter(Struct, frozen=True, rename="pascal"):
    """A parameter of a golden path. Serialized with upper-case names, like all untagged Go structs."""

    type: str
    description: str
    default: str = ""
    required: bool = False
    pattern: str = ""
    allowed_values: tuple[str, ...] | None = None
    min: int | None = None
    max: int | None = None


class DemoGoldenPath(Struct, frozen=True):
    """A golden path."""

    description: str
    category: str
    tags: tuple[str, ...]
    estimated_duration: str
    workflow_file: str
    parameters: dict[str, PathParameter] = field(default_factory=dict[str, PathParameter])


PROVIDERS = (
    ResourceProvider(
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
            ProviderWorkflow("provision-namespace", "Makes a namespace with quotas", tags=("kubernetes",)),
            ProviderWorkflow("provision-repository", "Makes a Git repository", tags=("git",)),
            ProviderWorkflow("provision-argocd-app", "Lets Argo CD deploy a repository", tags=("gitops",)),
        ),
        golden_paths=2,
        kind="delegated",
        step="kubernetes",
    ),
    ResourceProvider(
        "database-team",
        "2.1.0",
        "data",
        "PostgreSQL, and a mock of it that needs no cluster",
        ("postgres", "postgres-mock", "postgresql"),
        (
            ProviderWorkflow(
                "provision-postgres", "Makes a PostgreSQL database with a user of its own", tags=("database", "postgres")
            ),
            ProviderWorkflow("provision-postgres-mock", "Pretends to make a database", tags=("database", "mock")),
        ),
        golden_paths=1,
    ),
    ResourceProvider(
        "identity-team",
        "0.9.2",
        "security",
        "Groups and organisations for the people of a team",
        ("gitea-org", "iam-group", "keycloak-group"),
        (ProviderWorkflow("provision-group", "Makes a group and its members", tags=("identity",)),),
        golden_paths=1,
        kind="external",
        step="policy",
    ),
    ResourceProvider(
        "storage-team",
        "1.0.4",
        "data",
        "Buckets on MinIO",
        ("minio-bucket", "object-storage", "s3", "s3-bucket"),
        (ProviderWorkflow("provision-bucket", "Makes a bucket with keys of its own", tags=("storage", "s3")),),
    ),
    ResourceProvider(
        "test-team",
        "0.1.0",
        "test",
        "Databases for tests, gone after an hour",
        ("test-database", "test-db"),
        (ProviderWorkflow("provision-test-db", "Makes a database in memory", tags=("test",)),),
        step="dummy",
    ),
    ResourceProvider(
        "vault-team",
        "1.1.0",
        "security",
        "Spaces for secrets in Vault",
        ("secrets", "vault-namespace", "vault-space"),
        (ProviderWorkflow("provision-vault-space", "Makes a space with policies", tags=("secrets",)),),
        down="connection refused at vault.platform.example:8200; Vault is sealed since its last restart",
    ),
)

GOLDEN_PATHS = {
    "deploy-app": DemoGoldenPath(
        "Deploys an application with everything its spec asks for",
        "deployment",
        ("deployment", "production"),
        "5-10 minutes",
        "./workflows/deploy-app.yaml",
        {
            "replicas": PathParameter("int", "how many copies run", "1", min=1, max=10),
            "strategy": PathParameter("enum", "how the new version takes over", "rolling", allowed_values=("rolling", "recreate")),
        },
    ),
    "ephemeral-env": DemoGoldenPath(
        "Makes an environment for a branch, which is gone after its time",
        "environment",
        ("testing", "preview"),
        "3-5 minutes",
        "./workflows/ephemeral-env.yaml",
        {
            "ttl": PathParameter("duration", "how long it lasts", "24h"),
            "branch": PathParameter("string", "what is deployed", required=True),
        },
    ),
    "onboard-dev-team": DemoGoldenPath(
        "Gives a new team its organisation, namespace and groups",
        "team",
        ("onboarding",),
        "10-15 minutes",
        "./workflows/onboard-dev-team.yaml",
        {"team_name": PathParameter("string", "the team's name", required=True, pattern="^[a-z][a-z0-9-]*$")},
    ),
    "provision-postgres": DemoGoldenPath(
        "Makes a PostgreSQL database for an application",
        "database",
        ("database", "postgres"),
        "2-4 minutes",
        "./workflows/provision-postgres.yaml",
    ),
}

BY_TYPE = {kind: provider for provider in PROVIDERS for kind in provider.types}
BY_TYPE["kubernetes"] = PROVIDERS[0]  # what `environment.type: kubernetes` adds; it can't be requested by name

TYPES = tuple(sorted(set(BY_TYPE) - {"kubernetes"}))


def list_providers(_: RequestContext, __: PlatformRequest) -> PlatformResponse:
    """List the providers. Their resource types aren't included."""
    return json_reply([_provider_to_json(each) for each in PROVIDERS])


def provider_stats(_: RequestContext, __: PlatformRequest) -> PlatformResponse:
    """Return the number of providers and provisioners."""
    return json_reply({"providers": len(PROVIDERS), "provisioners": sum(len(each.workflows) for each in PROVIDERS)})


def list_golden_paths(_: RequestContext, __: PlatformRequest) -> PlatformResponse:
    """List the golden paths by name."""
    return json_reply({name: _path_to_json(each) for name, each in GOLDEN_PATHS.items()})


def get_golden_path(_: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Return one golden path."""
    name = asked.named["name"]
    return json_reply({"name": name, **_path_to_json(find_golden_path(name))})


def find_golden_path(name: str) -> DemoGoldenPath:
    """Return a golden path; raise `RequestRefused` if there is none."""
    if name not in GOLDEN_PATHS:
        raise RequestRefused(404, f"Golden path '{name}' not found")
    return GOLDEN_PATHS[name]


def _provider_to_json(provider: ResourceProvider) -> dict[str, Any]:
    return {
        "name": provider.name,
        "version": provider.version,
        "category": provider.category,
        "description": provider.description,
        "provisioners": len(provider.workflows),
        "golden_paths": provider.golden_paths,
        "workflows": provider.workflows,
    }


def _path_to_json(path: DemoGoldenPath) -> dict[str, Any]:
    shown = {name: getattr(path, name) for name in ("description", "category", "tags", "estimated_duration", "workflow_file")}
    return {**shown, "parameters": path.parameters} if path.parameters else shown
