"""Models on Vertex AI: Gemini on its own protocol and Claude on Anthropic's, both at the addresses of a Google Cloud project.

Who may ask is proven by an access token (`google_auth`), not by a key. What is sent and read is `google` and `anthropic`.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

from treadle.core.errors import SettingsError
from treadle.core.requests import Traits
from treadle.models.anthropic import Anthropic
from treadle.models.exchange import PATIENT, Timeouts
from treadle.models.google import DEFAULT_TRAITS, Google
from treadle.models.http import Authorize

KIND = "vertex"
CLAUDE_VERSION = "vertex-2023-10-16"  # of Anthropic's messages on Vertex
CREDENTIALS = "GOOGLE_APPLICATION_CREDENTIALS"
MULTI_REGIONS = ("us", "eu")


def vertex_google(
    name: str,
    *,
    project: str,
    location: str,
    authorize: Authorize,
    base_url: str = "",
    stream: bool = True,
    traits: Traits = DEFAULT_TRAITS,
    headers: Mapping[str, str] | None = None,
    timeouts: Timeouts = PATIENT,
    max_output: int | None = None,
) -> Google:
    """A Gemini model of a project."""
    return Google(
        name,
        base_url=base_url or address_of(location),
        stream=stream,
        traits=traits,
        headers=headers,
        timeouts=timeouts,
        kind=KIND,
        key_variable=CREDENTIALS,
        max_output=max_output,
        path=_path(project, location, "google", name),
        authorize=authorize,
        call_ids=False,  # version 1 of this API refuses the field
        absent="Check the model's name, the project and the location.",
    )


def vertex_anthropic(
    name: str,
    *,
    project: str,
    location: str,
    authorize: Authorize,
    base_url: str = "",
    stream: bool = True,
    context: int | None = None,
    headers: Mapping[str, str] | None = None,
    timeouts: Timeouts = PATIENT,
) -> Anthropic:
    """A Claude model of a project."""
    return Anthropic(
        name,
        base_url=base_url or address_of(location),
        stream=stream,
        context=context,
        headers=headers,
        timeouts=timeouts,
        kind=KIND,
        path=_path(project, location, "anthropic", name) + (":streamRawPredict" if stream else ":rawPredict"),
        authorize=authorize,
        body_version=CLAUDE_VERSION,
        key_variable=CREDENTIALS,
    )


def address_of(location: str) -> str:
    """The address of Vertex AI in a location: a region, one of the multi-regions, or `global`."""
    if not re.fullmatch(r"[a-z0-9-]+", location):
        raise SettingsError(f"{location!r} is no location of Google Cloud; write it as europe-west1, us or global.")
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def _path(project: str, location: str, publisher: str, name: str) -> str:
    named = (quote(part, safe="@") for part in (project, location, name))
    return "/v1/projects/{}/locations/{}/publishers/{publisher}/models/{}".format(*named, publisher=publisher)
