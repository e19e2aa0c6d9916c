"""Which files are taken to hold secrets, by their names alone. Pure."""

from fnmatch import fnmatchcase

NAMES = (
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
ENDS = (".aws/credentials", ".docker/config.json", ".kube/config", ".git/config")
OPEN = ("*.example", "*.sample", "*.template", "*.dist", "*.pub")


def is_secret(path: str) -> bool:
    """Whether a file of this path (with `/` between its parts) is not for models."""
    path = path.casefold()
    name = path.rpartition("/")[2]
    if any(fnmatchcase(name, pattern) for pattern in OPEN):
        return False
    return any(fnmatchcase(name, pattern) for pattern in NAMES) or any(f"/{path}".endswith(f"/{end}") for end in ENDS)
