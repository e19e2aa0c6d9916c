"""Settings of the platform assistant: the platform's address, who may change it, and its documents.

Under `[assistants.platform]` in `treadle.toml`. Tokens aren't set there: they come from the environment, or from the
credentials file of the platform's own command line.
"""

import os
import re
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import force_setattr, replace

from treadle.assistant import Host
from treadle.errors import SettingsError

SERVER = "http://localhost:8081"
TOKEN_VARIABLES = ("TREADLE_PLATFORM_TOKEN", "IDP_API_KEY")
CREDENTIALS = Path(".innominatus/credentials")


Roles = Annotated[tuple[str, ...], Meta(description="a list of roles")]

_ADDRESS = r"\Ahttps?://[^/@\s?#]+(/[^\s?#]*)?\Z"


class PlatformSettings(Struct, frozen=True):
    """The keys.

    server        the platform's address
    openapi       an OpenAPI document whose operations are the tools, for a platform that isn't innominatus
    documents     folders of Markdown and YAML that answers are based on
    passages      how many passages come with a question
    floor         minimum similarity of a passage, from 0 to 1
    embeddings    `auto` (the built-in ones, if installed), `builtin`, `openai:MODEL`, or `none`
    types         resource types that this platform provides besides the usual ones
    deploy_roles  who may deploy, run golden paths and retry workflows; everyone whom the platform lets, if empty
    delete_roles  who may delete, likewise
    """

    server: Annotated[str, Meta(pattern=_ADDRESS, description=f"an address such as {SERVER}, without a password in it")] = SERVER
    openapi: Annotated[str, Meta(description="a file or an address of an OpenAPI document")] = ""
    documents: Annotated[tuple[str, ...], Meta(description="a list of folders")] = ()
    passages: Annotated[int, Meta(ge=0, le=20, description="a whole number from 0 to 20")] = 3
    floor: Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")] = 0.3
    embeddings: Annotated[str, Meta(description="auto, builtin, openai:MODEL or none")] = "auto"
    types: Annotated[tuple[str, ...], Meta(description="a list of types of resources")] = ()
    deploy_roles: Roles = ()
    delete_roles: Roles = ()

    def __post_init__(self) -> None:
        force_setattr(self, "server", self.server.rstrip("/"))

    @property
    def roles(self) -> dict[str, tuple[str, ...]]:
        """Return the roles that may use the tools that change something; empty if everyone may."""
        deploying = dict.fromkeys(("deploy_application", "run_golden_path", "retry_workflow"), self.deploy_roles)
        return {**deploying, "delete_application": self.delete_roles}


def resolve_platform_settings(host: Host, server: str = "") -> PlatformSettings:
    """Return the settings for this user: an address given on the command line or with a run overrides the configured one."""
    settings: PlatformSettings = host.settings.assistant("platform")
    if server and re.match(_ADDRESS, server) is None:
        raise SettingsError(
            "What was named is no address of a platform; write one such as http://localhost:8081, without a password."
        )
    return replace(settings, server=server) if server else settings


class _CredentialsFile(Struct, frozen=True):
    """The credentials file of the platform's own command line."""

    server_url: str = ""
    api_key: str = ""
    expires_at: datetime | None = None


def load_own_token(server: str) -> str:
    """Return the local user's token for this server; empty if they have none."""
    for name in TOKEN_VARIABLES:
        if token := os.environ.get(name, "").strip():
            return token
    kept = _read_credentials()
    expired = kept.expires_at is not None and kept.expires_at.timestamp() < time.time()
    return kept.api_key if kept.server_url.rstrip("/") == server and not expired else ""


def _read_credentials() -> _CredentialsFile:
    """Return the content of the file; empty if it is missing or unreadable."""
    try:
        return msgspec.json.decode((Path.home() / CREDENTIALS).read_bytes(), type=_CredentialsFile)
    except (OSError, RuntimeError, msgspec.DecodeError):
        return _CredentialsFile()
