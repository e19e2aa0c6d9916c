"""Models on Vertex AI: Gemini on its own protocol and Claude on Anthropic's, both at the URLs of a Google Cloud project.

Requests are authenticated by an access token (`google_auth`), not by a key. `google` and `anthropic` define the protocols.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

from treadle.core.errors import SettingsError
from treadle.core.requests import Traits
from treadle.models.connections import DEFAULT_TIMEOUTS, Timeouts
from treadle.models.http import Authorize
from treadle.models.wires.anthropic import Anthropic
from treadle.models.wires.google import DEFAULT_TRAITS, Google

KIND = "vertex"
CLAUDE_VERSION = "vertex-2023-10-16"  # of Anthropic's messages on Vertex
CREDENTIALS = "GOOGLE_APPLICATION_CREDENTIALS"
MULTI_REGIONS = ("us", "eu")


def make_vertex_google(
    name: str,
    *,
    project: str,
    location: str,
    authorize: Authorize,
    base_url: str = "",
    stream: bool = True,
    traits: Traits = DEFAULT_TRAITS,
    headers: Mapping[str, str] | None = None,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
    max_output: int | None = None,
) -> Google:
    """Return a Gemini model of a project."""
    return Google(
        name,
        base_url=base_url or vertex_address(location),
        stream=stream,
        traits=traits,
        headers=headers,
        timeouts=timeouts,
        kind=KIND,
        key_variable=CREDENTIALS,
        max_output=max_output,
        path=_model_path(project, location, "google", name),
        authorize=authorize,
        call_ids=False,  # version 1 of this API refuses the field
        absent="Check the model's name, the project and the location.",
    )


def make_vertex_anthropic(
    name: str,
    *,
    project: str,
    location: str,
    authorize: Authorize,
    base_url: str = "",
    stream: bool = True,
    context: int | None = None,
    headers: Mapping[str, str] | None = None,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
) -> Anthropic:
    """Return a Claude model of a project."""
    return Anthropic(
        name,
        base_url=base_url or vertex_address(location),
        stream=stream,
        context=context,
        headers=headers,
        timeouts=timeouts,
        kind=KIND,
        path=_model_path(project, location, "anthropic", name) + (":streamRawPredict" if stream else ":rawPredict"),
        authorize=authorize,
        body_version=CLAUDE_VERSION,
        key_variable=CREDENTIALS,
    )


def vertex_address(location: str) -> str:
    """Return the URL of Vertex AI in a location: a region, one of the multi-regions, or `global`."""
    if not re.fullmatch(r"[a-z0-9-]+", location):
        raise SettingsError(f"{location!r} is no location of Google Cloud; write it as europe-west1, us or global.")
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def _model_path(project: str, location: str, publisher: str, name: str) -> str:
    named = (quote(part, safe="@") for part in (project, location, name))
    return "/v1/projects/{}/locations/{}/publishers/{publisher}/models/{}".format(*named, publisher=publisher)
