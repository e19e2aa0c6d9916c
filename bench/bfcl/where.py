"""Where the model is: for Treadle a model object, for the others the address of the very same server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from openai import AsyncOpenAI, DefaultAioHttpClient

from treadle import resolve_model
from treadle.core.seams import Model
from treadle.models.connections import Timeouts
from treadle.models.llamacpp.child import start_child
from treadle.models.llamacpp.model import LlamaCpp

MOST_TOKENS = 400  # of one reply, for everybody
PATIENCE = 3600.0  # seconds: a small machine takes its time to read a long prompt


@dataclass(frozen=True, slots=True)
class Where:
    """The model, and where its server listens; no address where others can't reach it."""

    model: Model
    dialect: str = ""
    base_url: str = ""
    key: str = "unused"

    @property
    def name(self) -> str:
        """The model's name without its kind, and without the folder it is in."""
        return PurePath(self.model.name.partition(":")[2]).name


async def found(name: str, dialect: str, base_url: str) -> Where:
    """The model by this name. A model run here is started, and its server shared."""
    if base_url:
        hurry = Timeouts(first_byte=PATIENCE, idle=PATIENCE)
        settings: dict[str, Any] = {"base_url": base_url, "timeouts": hurry} if name.startswith("openai:") else {}
        return Where(resolve_model(name, **settings), dialect, base_url)
    model = resolve_model(name)
    if not isinstance(model, LlamaCpp):
        return Where(model, dialect)
    child = await asyncio.to_thread(start_child, model._settings)  # the only way to the child that this very model talks to
    return Where(model, dialect, f"{child.address}/v1", child.key)


@asynccontextmanager
async def client_of(where: Where) -> AsyncIterator[AsyncOpenAI]:
    """The SDK's client for the model's server, with as much patience as Treadle has."""
    if not where.base_url:
        raise SystemExit(f"Only Treadle can reach {where.model.name}: say with --base-url where its server listens.")
    async with (
        DefaultAioHttpClient(timeout=PATIENCE) as http,
        AsyncOpenAI(base_url=where.base_url, api_key=where.key, http_client=http, timeout=PATIENCE) as client,
    ):
        yield client
