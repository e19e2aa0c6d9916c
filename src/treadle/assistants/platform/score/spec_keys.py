"""What the platform supports: the keys of a spec, suggestions for keys that it silently drops, and the shipped types."""

from msgspec import Struct

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
