"""Which files are assumed to contain secrets, by their names alone. Pure."""

from fnmatch import fnmatchcase

SECRET_NAMES = (
    ".env*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
)
SECRET_SUFFIXES = (".aws/credentials", ".docker/config.json", ".kube/config", ".git/config")
PUBLIC_PATTERNS = ("*.example", "*.sample", "*.template", "*.dist", "*.pub")


def is_secret_file(path: str) -> bool:
    """Return whether a file with this path (with `/` between its parts) is not for models."""
    path = path.casefold()
    name = path.rpartition("/")[2]
    if any(fnmatchcase(name, pattern) for pattern in PUBLIC_PATTERNS):
        return False
    return any(fnmatchcase(name, pattern) for pattern in SECRET_NAMES) or any(
        f"/{path}".endswith(f"/{end}") for end in SECRET_SUFFIXES
    )
