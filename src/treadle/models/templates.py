"""The chat template of a model, where its server tells: it shows how the model was taught to call. Ollama's, and llama-server's."""

import os

import msgspec
from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.models.glance import glance
from treadle.models.ollama import address_of

_PATIENCE = 2.0  # seconds


class _Shown(Struct):
    template: str | None = None
    chat_template: str | None = None


async def template_of(model: str, base_url: str = "") -> str:
    """The template of `KIND:NAME`; nothing where nobody tells."""
    kind, _, name = model.partition(":")
    match kind:
        case "ollama":
            said = await _of_ollama(name, base_url)
        case "openai":
            said = await _of_server(base_url or os.environ.get("OPENAI_BASE_URL") or "")
        case _:
            said = None
    try:
        shown = msgspec.json.decode(said or b"{}", type=_Shown)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return shown.template or shown.chat_template or ""


async def _of_ollama(name: str, base_url: str) -> bytes | None:
    try:
        address = address_of(base_url or None)
    except SettingsError:
        return None
    return await glance(address, "/api/show", body=msgspec.json.encode({"model": name}), seconds=_PATIENCE)


async def _of_server(base_url: str) -> bytes | None:
    """What llama-server says; its own paths are beside those of the chat completions."""
    if not base_url:
        return None
    key = (os.environ.get("OPENAI_API_KEY") or "").strip()
    return await glance(base_url.rstrip("/").removesuffix("/v1"), "/props", key=key, seconds=_PATIENCE)
