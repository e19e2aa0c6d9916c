"""Creates a model from a provider's kind and a model's name: keys and URLs from settings or variables, the wire by its name.

Nothing is sent here. A kind that isn't in the table of providers belongs to a plug-in, which creates the model.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.errors import MissingKey, SettingsError
from treadle.core.requests import Traits
from treadle.core.seams import Model
from treadle.models.connections import DEFAULT_TIMEOUTS, Timeouts
from treadle.models.profiles import Profile, profile_of
from treadle.models.providers import PROVIDERS, ModelProvider


class ProviderConnection(Struct, frozen=True):
    """How a provider is reached. Empty values come from the environment, then from the table.

    api_version, region, project and location are for the providers that have them: Azure, Bedrock, Vertex.
    key_source names where the key is from, for messages, if that isn't a variable.
    """

    base_url: str = ""
    api_key: str = ""
    headers: Mapping[str, str] = {}
    stream: bool = True
    context: int | None = None
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    api_version: str = ""
    region: str = ""
    project: str = ""
    location: str = ""
    key_source: str = ""


def make_model(kind: str, name: str, connection: ProviderConnection, environment: Mapping[str, str] | None = None) -> Model:
    """Return the model by this name of a provider in the table. Raises `MissingKey` if its key isn't set."""
    provider = PROVIDERS[kind]
    said = environment if environment is not None else os.environ
    return _MAKERS[provider.wire](provider, name, _fill_in_defaults(provider, connection, said), said)


_PATHS = ("/chat/completions", "/responses", "/messages", "/api/chat")


def find_key_variable(provider: ModelProvider, environment: Mapping[str, str] | None = None) -> str:
    """Return the name of the variable that holds a provider's key; empty if none does."""
    said = environment if environment is not None else os.environ
    return next((name for name in provider.keys if said.get(name, "").strip()), "")


def _fill_in_defaults(provider: ModelProvider, connection: ProviderConnection, said: Mapping[str, str]) -> ProviderConnection:
    """Fill in defaults from the environment and the table."""
    base_url = connection.base_url or next((said[name] for name in provider.base_urls if said.get(name)), "")
    key = connection.api_key or next((said[name] for name in provider.keys if said.get(name, "").strip()), "")
    return replace(connection, base_url=_trim_url(base_url or provider.base_url), api_key=key.strip())


def _trim_url(url: str) -> str:
    """Return a base URL without the path of one request, which is what pages of providers show to be copied."""
    trimmed = url.strip().rstrip("/")
    for path in _PATHS:
        trimmed = trimmed.removesuffix(path)
    return trimmed


def _key_source(provider: ModelProvider, connection: ProviderConnection) -> str:
    """Return what a user has to look at if the key isn't accepted."""
    return connection.key_source or find_key_variable(provider) or provider.keys[0]


def _require_key(provider: ModelProvider, name: str, connection: ProviderConnection) -> None:
    if not connection.api_key and connection.base_url == provider.base_url and not provider.local:
        own = f"For a server of your own, set {provider.base_urls[0]} or base_url."
        raise MissingKey(f"{provider.kind}:{name} needs a key: set {provider.keys[0]}. {own}")


def _make_chat(provider: ModelProvider, name: str, connection: ProviderConnection, _: Mapping[str, str]) -> Model:
    _require_key(provider, name, connection)
    return _make_completions(provider, name, connection, profile_of(provider.kind, name))


def _make_openai(provider: ModelProvider, name: str, connection: ProviderConnection, _: Mapping[str, str]) -> Model:
    """Create a model that uses Responses for OpenAI's newer models; chat for all others, and for compatible servers."""
    _require_key(provider, name, connection)
    return _make_either_wire(provider, name, connection, profile_of(provider.kind, name))


def _make_either_wire(provider: ModelProvider, name: str, connection: ProviderConnection, profile: Profile) -> Model:
    """Use Responses for models known to need it, chat for others; switch if the server says so or has only the other API."""
    from treadle.models.fallback import EitherWireModel

    own = connection.base_url != provider.base_url
    if profile.responses:
        responses = _make_responses(provider, name, connection, profile)
        return EitherWireModel(responses, lambda: _make_completions(provider, name, connection, profile), absent=own)
    chat = _make_completions(provider, name, connection, profile)
    return EitherWireModel(chat, lambda: _make_responses(provider, name, connection, profile), absent=own)


def _make_completions(
    provider: ModelProvider, name: str, connection: ProviderConnection, profile: Profile, path: str = "/chat/completions"
) -> Model:
    from treadle.models.wires.openai import OpenAI

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
        key_variable=_key_source(provider, connection),
    )


def _make_responses(provider: ModelProvider, name: str, connection: ProviderConnection, profile: Profile) -> Model:
    from treadle.models.wires.responses import Responses

    return Responses(
        name,
        base_url=connection.base_url,
        api_key=connection.api_key,
        stream=connection.stream,
        traits=_make_traits(connection, profile),
        headers=connection.headers,
        timeouts=connection.timeouts,
        kind=provider.kind,
        key_variable=_key_source(provider, connection),
        max_output=profile.max_output,
        reasons=profile.reasons,
    )


def _make_anthropic(provider: ModelProvider, name: str, connection: ProviderConnection, _: Mapping[str, str]) -> Model:
    from treadle.models.wires.anthropic import Anthropic

    _require_key(provider, name, connection)
    return Anthropic(
        name,
        base_url=connection.base_url,
        api_key=connection.api_key,
        stream=connection.stream,
        context=connection.context,
        headers=connection.headers,
        timeouts=connection.timeouts,
        key_variable=_key_source(provider, connection),
    )


def _make_google(provider: ModelProvider, name: str, connection: ProviderConnection, _: Mapping[str, str]) -> Model:
    from treadle.models.wires.google import Google

    _require_key(provider, name, connection)
    profile = profile_of(provider.kind, name)
    return Google(
        name,
        base_url=connection.base_url,
        api_key=connection.api_key,
        stream=connection.stream,
        traits=_make_traits(connection, profile),
        headers=connection.headers,
        timeouts=connection.timeouts,
        key_variable=_key_source(provider, connection),
        max_output=profile.max_output,
    )


def _make_vertex(provider: ModelProvider, name: str, connection: ProviderConnection, said: Mapping[str, str]) -> Model:
    """Create Gemini and Claude models of a Google Cloud project, with an access token."""
    from treadle.models.wires.google_auth import GoogleCredentials, find_google_credentials
    from treadle.models.wires.vertex import make_vertex_anthropic, make_vertex_google

    token, project = connection.api_key, connection.project or said.get("GOOGLE_CLOUD_PROJECT", "")
    credentials = GoogleCredentials(token, project=project) if token else find_google_credentials(said)
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
        return make_vertex_anthropic(name, context=connection.context, **how)
    return make_vertex_google(name, traits=_make_traits(connection, profile), max_output=profile.max_output, **how)


def _make_bedrock(provider: ModelProvider, name: str, connection: ProviderConnection, said: Mapping[str, str]) -> Model:
    from treadle.models.wires.aws_auth import load_aws_credentials, load_aws_region
    from treadle.models.wires.bedrock import Bedrock

    profile = profile_of(provider.kind, name)
    return Bedrock(
        name,
        region=connection.region or load_aws_region(said),
        credentials=None if connection.api_key else load_aws_credentials(said),
        bearer=connection.api_key,
        base_url=connection.base_url,
        stream=connection.stream,
        traits=_make_traits(connection, profile),
        headers=connection.headers,
        timeouts=connection.timeouts,
        max_output=profile.max_output,
    )


def _make_azure(provider: ModelProvider, name: str, connection: ProviderConnection, said: Mapping[str, str]) -> Model:
    """Create a model on Azure's v1 API, or on its classic one with deployments and dated versions if there is an `api_version`."""
    if not connection.base_url:
        raise SettingsError(
            f"azure:{name} needs the address of your resource: set AZURE_OPENAI_ENDPOINT to https://NAME.openai.azure.com."
        )
    if not connection.api_key:
        raise MissingKey(f"azure:{name} needs a key: set {provider.keys[0]} or {provider.keys[1]}.")
    address = urlsplit(connection.base_url)
    named = dict(parse_qsl(address.query)).get("api-version", "")
    version = connection.api_version or said.get("AZURE_OPENAI_API_VERSION") or said.get("OPENAI_API_VERSION") or named
    root = address._replace(path=re.sub(r"/(openai|models)(/.*)?$", "", address.path.rstrip("/")), query="").geturl()
    profile = profile_of(provider.kind, name)
    keyed = replace(connection, headers={"api-key": connection.api_key, **connection.headers}, api_key="")
    if version[:1].isdecimal():
        at = replace(keyed, base_url=f"{root}/openai/deployments/{quote(name, safe='')}")
        return _make_completions(provider, name, at, profile, f"/chat/completions?api-version={quote(version, safe='')}")
    return _make_either_wire(provider, name, replace(keyed, base_url=f"{root}/openai/v1"), profile)


def _make_ollama(provider: ModelProvider, name: str, connection: ProviderConnection, _: Mapping[str, str]) -> Model:
    from treadle.models.wires.ollama import Ollama

    key = {"authorization": f"Bearer {connection.api_key}"} if connection.api_key else {}
    return Ollama(
        name,
        base_url=connection.base_url or None,
        stream=connection.stream,
        context=connection.context,
        headers={**key, **connection.headers},
        timeouts=connection.timeouts,
        key_variable=_key_source(provider, connection) if key else "",
    )


def _make_llamacpp(provider: ModelProvider, name: str, connection: ProviderConnection, _: Mapping[str, str]) -> Model:
    """Use a llama.cpp server if one is configured, else the model that Treadle runs itself."""
    if connection.base_url:
        return _make_completions(provider, name, connection, profile_of(provider.kind, name))
    from treadle.models.llamacpp.model import LlamaCpp

    return LlamaCpp(name, context=connection.context) if connection.context else LlamaCpp(name)


def _make_traits(connection: ProviderConnection, profile: Profile) -> Traits:
    context = connection.context or profile.context
    structured = profile.structured or "no"
    return Traits(
        context=context,
        streams=connection.stream,
        reasons=profile.reasons,
        modalities=profile.modalities,
        structured_output=structured,
    )


_Maker = Callable[[ModelProvider, str, ProviderConnection, Mapping[str, str]], Model]
_MAKERS: dict[str, _Maker] = {
    "chat": _make_chat,
    "openai": _make_openai,
    "anthropic": _make_anthropic,
    "google": _make_google,
    "vertex": _make_vertex,
    "bedrock": _make_bedrock,
    "azure": _make_azure,
    "ollama": _make_ollama,
    "llamacpp": _make_llamacpp,
}
