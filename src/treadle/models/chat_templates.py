"""Fetches the chat template of a model from its server: it shows how the model was taught to call. Ollama and llama-server."""

import os

import msgspec
from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.models.server_probe import probe_server
from treadle.models.wires.ollama import ollama_address

_TIMEOUT = 2.0  # seconds


class _TemplateResponse(Struct):
    template: str | None = None
    chat_template: str | None = None


async def fetch_chat_template(model: str, base_url: str = "") -> str:
    """Return the template of `KIND:NAME`; empty if no server provides it."""
    kind, _, name = model.partition(":")
    match kind:
        case "ollama":
            said = await _fetch_from_ollama(name, base_url)
        case "openai":
            said = await _fetch_from_server(base_url or os.environ.get("OPENAI_BASE_URL") or "")
        case _:
            said = None
    try:
        shown = msgspec.json.decode(said or b"{}", type=_TemplateResponse)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return shown.template or shown.chat_template or ""


async def _fetch_from_ollama(name: str, base_url: str) -> bytes | None:
    try:
        address = ollama_address(base_url or None)
    except SettingsError:
        return None
    return await probe_server(address, "/api/show", body=msgspec.json.encode({"model": name}), seconds=_TIMEOUT)


async def _fetch_from_server(base_url: str) -> bytes | None:
    """Fetch the template from llama-server; its own paths are beside those of the chat completions."""
    if not base_url:
        return None
    key = (os.environ.get("OPENAI_API_KEY") or "").strip()
    return await probe_server(base_url.rstrip("/").removesuffix("/v1"), "/props", key=key, seconds=_TIMEOUT)
