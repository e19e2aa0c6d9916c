"""What a person or operator settles for the platform assistant: where the platform is, who may change it, which documents it knows.

Under `[assistants.platform]` in `treadle.toml`. Tokens aren't settled there: they come from the environment, or from where the
platform's own command line keeps them.
"""

import os
import re
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from treadle import SettingsError, assistant_settings

SERVER = "http://localhost:8081"
SERVER_VARIABLE = "TREADLE_PLATFORM_SERVER"
TOKEN_VARIABLES = ("TREADLE_PLATFORM_TOKEN", "IDP_API_KEY")
CREDENTIALS = Path(".innominatus/credentials")


_ADDRESS = r"\Ahttps?://[^/@\s?#]+(/[^\s?#]*)?\Z"


class PlatformSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What can be settled.

    server        where the platform is
    documents     folders of Markdown and YAML that answers go by
    passages      how many passages come with a question
    floor         how near a passage has to be, from 0 to 1
    embeddings    `auto` (those that are built in, where they are installed), `builtin`, `openai:MODEL`, or `none`
    types         types of resources that this platform provides besides the usual ones
    deploy_roles  who may deploy; everyone whom the platform lets, where nobody is named
    delete_roles  who may delete, likewise
    """

    server: Annotated[str, Meta(pattern=_ADDRESS)] = SERVER
    documents: tuple[str, ...] = ()
    passages: Annotated[int, Meta(ge=0, le=20)] = 3
    floor: Annotated[float, Meta(ge=0, le=1)] = 0.3
    embeddings: str = "auto"
    types: tuple[str, ...] = ()
    deploy_roles: tuple[str, ...] = ()
    delete_roles: tuple[str, ...] = ()


def settled(server: str = "") -> PlatformSettings:
    """What counts here: an address that was typed goes before the environment's, and that before the file's."""
    settings = assistant_settings("platform", PlatformSettings)
    named = server or os.environ.get(SERVER_VARIABLE, "")
    if named and re.match(_ADDRESS, named) is None:
        raise SettingsError(
            "What was named is no address of a platform; write one such as http://localhost:8081, without a password."
        )
    return replace(settings, server=(named or settings.server).rstrip("/"))


class _Credentials(Struct, frozen=True):
    """The file in which the platform's own command line keeps a key."""

    server_url: str = ""
    api_key: str = ""
    expires_at: datetime | None = None


def own_token(server: str) -> str:
    """The token of whoever runs this, for this server; empty where they have none."""
    for name in TOKEN_VARIABLES:
        if token := os.environ.get(name, "").strip():
            return token
    kept = _kept()
    expired = kept.expires_at is not None and kept.expires_at.timestamp() < time.time()
    return kept.api_key if kept.server_url.rstrip("/") == server and not expired else ""


def _kept() -> _Credentials:
    """What the file says; nothing where there is none, or none that can be read."""
    try:
        return msgspec.json.decode((Path.home() / CREDENTIALS).read_bytes(), type=_Credentials)
    except (OSError, RuntimeError, msgspec.DecodeError):
        return _Credentials()
