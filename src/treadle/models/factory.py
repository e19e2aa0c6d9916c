"""From a provider's kind and a model's name to a model object: keys and addresses from settings or variables, the wire by its name.

Nothing is sent here. A kind that isn't in the table of providers is a plug-in's, and is made by that.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.errors import MissingKey, SettingsError
from treadle.core.requests import Traits
from treadle.core.seams import Model
from treadle.models.exchange import PATIENT, Timeouts
from treadle.models.profiles import Profile, profile_of
from treadle.models.providers import PROVIDERS, Provider


class Connection(Struct, frozen=True):
    """How a provider is reached. What is empty comes from the environment, then from the table.

    api_version, region, project and location are for the providers that have them: Azure, Bedrock, Vertex.
    """

    base_url: str = ""
    api_key: str = ""
    headers: Mapping[str, str] = {}
    stream: bool = True
    context: int | None = None
    timeouts: Timeouts = PATIENT
    api_version: str = ""
    region: str = ""
    project: str = ""
    location: str = ""


def make_model(kind: str, name: str, connection: Connection, environment: Mapping[str, str] | None = None) -> Model:
    """Return the model by this name of a provider in the table. Raises `MissingKey` where its key isn't set."""
    provider = PROVIDERS[kind]
    said = environment if environment is not None else os.environ
    return _MAKERS[provider.wire](provider, name, _complete(provider, connection, said), said)


def key_of(provider: Provider, environment: Mapping[str, str] | None = None) -> str:
    """Return the name of the variable that holds a provider's key; empty where none does."""
    said = environment if environment is not None else os.environ
    return next((name for name in provider.keys if said.get(name, "").strip()), "")


def _complete(provider: Provider, connection: Connection, said: Mapping[str, str]) -> Connection:
    """Fill in what the environment and the table know."""
    base_url = connection.base_url or next((said[name] for name in provider.base_urls if said.get(name)), "")
    key = connection.api_key or next((said[name] for name in provider.keys if said.get(name, "").strip()), "")
    return replace(connection, base_url=(base_url or provider.base_url).rstrip("/"), api_key=key.strip())


def _need_key(provider: Provider, name: str, connection: Connection) -> None:
    if not connection.api_key and connection.base_url == provider.base_url and not provider.local:
        own = f"For a server of your own, set {provider.base_urls[0]} or base_url."
        raise MissingKey(f"{provider.kind}:{name} needs a key: set {provider.keys[0]}. {own}")


def _chat(provider: Provider, name: str, connection: Connection, _: Mapping[str, str]) -> Model:
    _need_key(provider, name, connection)
    return _completions(provider, name, connection, profile_of(provider.kind, name))


def _openai(provider: Provider, name: str, connection: Connection, _: Mapping[str, str]) -> Model:
    """OpenAI's newer models are asked over Responses; everything else, and servers that only look like OpenAI, over chat."""
    _need_key(provider, name, connection)
    return _either(provider, name, connection, profile_of(provider.kind, name))


def _either(provider: Provider, name: str, connection: Connection, profile: Profile) -> Model:
    """Responses for models that are known to want it, chat for others; the other one where the server says so or has only that."""
    from treadle.models.fallback import EitherWire

    own = connection.base_url != provider.base_url
    if profile.responses:
        responses = _responses(provider, name, connection, profile)
        return EitherWire(responses, lambda: _completions(provider, name, connection, profile), absent=own)
    chat = _completions(provider, name, connection, profile)
    return EitherWire(chat, lambda: _responses(provider, name, connection, profile), absent=own)


def _completions(provider: Provider, name: str, connection: Connection, profile: Profile, path: str = "/chat/completions") -> Model:
    from treadle.models.openai import OpenAI

    own = connection.base_url != provider.base_url and provider.kind == "openai"
    return OpenAI(
        name,
        base_url=connection.base_url,
        api_key=connection.api_key,
        stream=connection.stream,
        context=connection.context,
        headers=connection.headers,
        timeouts=connection.timeouts,
        kind=provider.kind,
        quirks=None if own else provider.quirks,
        profile=profile,
        path=path,
        key_variable=key_of(provider) or provider.keys[0],
    )


def _responses(provider: Provider, name: str, connection: Connection, profile: Profile) -> Model:
    from treadle.models.responses import Responses

    return Responses(
        name,
        base_url=connection.base_url,
        api_key=connection.api_key,
        stream=connection.stream,
        traits=_traits(connection, profile),
        headers=connection.headers,
        timeouts=connection.timeouts,
        kind=provider.kind,
        key_variable=key_of(provider) or provider.keys[0],
        max_output=profile.max_output,
        reasons=profile.reasons,
    )


def _anthropic(provider: Provider, name: str, connection: Connection, _: Mapping[str, str]) -> Model:
    from treadle.models.anthropic import Anthropic

    _need_key(provider, name, connection)
    return Anthropic(
        name,
        base_url=connection.base_url,
        api_key=connection.api_key,
        stream=connection.stream,
        context=connection.context,
        headers=connection.headers,
        timeouts=connection.timeouts,
        key_variable=key_of(provider) or provider.keys[0],
    )


def _google(provider: Provider, name: str, connection: Connection, _: Mapping[str, str]) -> Model:
    from treadle.models.google import Google

    _need_key(provider, name, connection)
    profile = profile_of(provider.kind, name)
    return Google(
        name,
        base_url=connection.base_url,
        api_key=connection.api_key,
        stream=connection.stream,
        traits=_traits(connection, profile),
        headers=connection.headers,
        timeouts=connection.timeouts,
        key_variable=key_of(provider) or provider.keys[0],
        max_output=profile.max_output,
    )


def _vertex(provider: Provider, name: str, connection: Connection, said: Mapping[str, str]) -> Model:
    """Gemini and Claude at the addresses of a Google Cloud project, with an access token."""
    from treadle.models.google_auth import GoogleCredentials, find_credentials
    from treadle.models.vertex import vertex_anthropic, vertex_google

    token, project = connection.api_key, connection.project or said.get("GOOGLE_CLOUD_PROJECT", "")
    credentials = GoogleCredentials(token, project=project) if token else find_credentials(said)
    project = project or credentials.project
    if not project:
        raise SettingsError(f"vertex:{name} needs the project: set GOOGLE_CLOUD_PROJECT, or project in [providers.vertex].")
    profile = profile_of(provider.kind, name)
    how: dict[str, Any] = {
        "project": project,
        "location": connection.location or said.get("GOOGLE_CLOUD_LOCATION") or "global",
        "authorize": credentials,
        "base_url": connection.base_url,
        "stream": connection.stream,
        "headers": connection.headers,
        "timeouts": connection.timeouts,
    }
    if name.startswith("claude"):
        return vertex_anthropic(name, context=connection.context, **how)
    return vertex_google(name, traits=_traits(connection, profile), max_output=profile.max_output, **how)


def _bedrock(provider: Provider, name: str, connection: Connection, said: Mapping[str, str]) -> Model:
    from treadle.models.aws import load_credentials, load_region
    from treadle.models.bedrock import Bedrock

    profile = profile_of(provider.kind, name)
    return Bedrock(
        name,
        region=connection.region or load_region(said),
        credentials=None if connection.api_key else load_credentials(said),
        bearer=connection.api_key,
        base_url=connection.base_url,
        stream=connection.stream,
        traits=_traits(connection, profile),
        headers=connection.headers,
        timeouts=connection.timeouts,
        max_output=profile.max_output,
    )


def _azure(provider: Provider, name: str, connection: Connection, said: Mapping[str, str]) -> Model:
    """Azure's v1 surface, or its classic one with deployments and dated versions where an `api_version` says so."""
    if not connection.base_url:
        raise SettingsError(
            f"azure:{name} needs the address of your resource: set AZURE_OPENAI_ENDPOINT to https://NAME.openai.azure.com."
        )
    if not connection.api_key:
        raise MissingKey(f"azure:{name} needs a key: set {provider.keys[0]} or {provider.keys[1]}.")
    version = connection.api_version or said.get("AZURE_OPENAI_API_VERSION") or said.get("OPENAI_API_VERSION") or ""
    root = connection.base_url.removesuffix("/v1").removesuffix("/openai")
    profile = profile_of(provider.kind, name)
    keyed = replace(connection, headers={"api-key": connection.api_key, **connection.headers}, api_key="")
    if version[:1].isdecimal():
        at = replace(keyed, base_url=f"{root}/openai/deployments/{quote(name, safe='')}")
        return _completions(provider, name, at, profile, f"/chat/completions?api-version={quote(version, safe='')}")
    return _either(provider, name, replace(keyed, base_url=f"{root}/openai/v1"), profile)


def _ollama(provider: Provider, name: str, connection: Connection, _: Mapping[str, str]) -> Model:
    from treadle.models.ollama import Ollama

    key = {"authorization": f"Bearer {connection.api_key}"} if connection.api_key else {}
    return Ollama(
        name,
        base_url=connection.base_url or None,
        stream=connection.stream,
        context=connection.context,
        headers={**key, **connection.headers},
        timeouts=connection.timeouts,
        key_variable=provider.keys[0] if key else "",
    )


def _llamacpp(provider: Provider, name: str, connection: Connection, _: Mapping[str, str]) -> Model:
    """A llama.cpp server where one is named, else the model that Treadle runs itself."""
    if connection.base_url:
        return _completions(provider, name, connection, profile_of(provider.kind, name))
    from treadle.models.llamacpp.model import LlamaCpp

    return LlamaCpp(name, context=connection.context) if connection.context else LlamaCpp(name)


def _traits(connection: Connection, profile: Profile) -> Traits:
    context = connection.context or profile.context
    structured = profile.structured or "no"
    return Traits(
        context=context,
        streams=connection.stream,
        reasons=profile.reasons,
        modalities=profile.modalities,
        structured_output=structured,
    )


_Maker = Callable[[Provider, str, Connection, Mapping[str, str]], Model]
_MAKERS: dict[str, _Maker] = {
    "chat": _chat,
    "openai": _openai,
    "anthropic": _anthropic,
    "google": _google,
    "vertex": _vertex,
    "bedrock": _bedrock,
    "azure": _azure,
    "ollama": _ollama,
    "llamacpp": _llamacpp,
}
