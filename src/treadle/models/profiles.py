"""What is known of a model by its name: its context window, its maximum output, which parameters it accepts, whether it reasons.

Windows come from packaged data (`windows.json`, written by scripts/profiles.py); rules for families of models are here. An
unknown name gets a stated default, so that a window is never unknown.
"""

import re
from functools import cache

import msgspec
from msgspec import Struct

from treadle.core.requests import Structured
from treadle.models.providers import PROVIDERS

DEFAULT_WINDOW = 128_000  # tokens, for a model of a hosted provider that nothing is known of
DEFAULT_LOCAL_WINDOW = 32_768  # the same for a server of one's own that doesn't say

IMAGES = frozenset(("image",))
IMAGES_AND_DOCUMENTS = frozenset(("image", "document"))
ALL_MEDIA = frozenset(("image", "audio", "document"))


class Profile(Struct, frozen=True):
    """What one model accepts and returns.

    context     tokens that it reads at once; `known` says that this is more than a default
    max_output  tokens of one response at most; None if unknown, and the server decides
    reasons     it thinks before it answers, and accepts a reasoning effort
    samples     it accepts `temperature` and `top_p`
    responses   it is used over OpenAI's Responses API, if its provider has that
    modalities  kinds of media it accepts; None if unknown
    structured  whether its maker's server accepts the schema of an answer; None if unknown
    """

    context: int = DEFAULT_WINDOW
    known: bool = False
    max_output: int | None = None
    reasons: bool = False
    samples: bool = True
    responses: bool = False
    modalities: frozenset[str] | None = None
    structured: Structured | None = None


class _Family(Struct, frozen=True):
    """What models whose names match a pattern have in common."""

    pattern: str
    max_output: int | None = None
    reasons: bool = False
    samples: bool = True
    responses: bool = False
    modalities: frozenset[str] | None = None
    context: int | None = None
    structured: Structured | None = None


# The first that matches counts. Patterns are searched for in the name without its vendor, in lower case.
_FAMILIES = (
    # OpenAI
    _Family(r"^gpt-5(\.\d+)?-chat", 16_384, responses=True, modalities=IMAGES, structured="yes"),
    _Family(r"^(gpt-([5-9]|\d\d)|codex|computer-use)", 128_000, True, False, True, IMAGES_AND_DOCUMENTS, 400_000, "yes"),
    _Family(r"^o1-(mini|preview)", 65_536, True, False, True, frozenset(), 128_000, "no"),
    _Family(r"^o\d", 100_000, True, False, True, IMAGES_AND_DOCUMENTS, 200_000, "yes"),
    _Family(r"^gpt-(4o-(mini-)?)?audio", 16_384, modalities=frozenset(("audio",))),
    _Family(r"^gpt-4\.1", 32_768, modalities=IMAGES_AND_DOCUMENTS, structured="yes"),
    _Family(r"^(chatgpt-)?gpt-4o-2024-05", 4_096, modalities=IMAGES_AND_DOCUMENTS, structured="no"),
    _Family(r"^(chatgpt-)?gpt-4o|^chatgpt", 16_384, modalities=IMAGES_AND_DOCUMENTS, structured="yes"),
    _Family(r"^gpt-[34]", structured="no"),
    _Family(r"^gpt-oss", None, True),
    # Anthropic
    _Family(r"^claude-(opus|sonnet|haiku|fable)-([5-9]|\d\d)", 128_000, True, False, False, IMAGES_AND_DOCUMENTS, 200_000, "yes"),
    _Family(r"^claude-opus-4-([789]|\d\d\b)", 128_000, True, False, False, IMAGES_AND_DOCUMENTS, 200_000, "yes"),
    _Family(r"^claude-opus-4-6", 128_000, True, True, False, IMAGES_AND_DOCUMENTS, 200_000, "yes"),
    _Family(r"^claude-(opus|sonnet|haiku)-4-[5-9]", 64_000, True, True, False, IMAGES_AND_DOCUMENTS, 200_000, "yes"),
    _Family(r"^claude-(sonnet-4|haiku-4|3-7)", 64_000, True, True, False, IMAGES_AND_DOCUMENTS, 200_000, "no"),
    _Family(r"^claude-opus-4-1", 32_000, True, True, False, IMAGES_AND_DOCUMENTS, 200_000, "yes"),
    _Family(r"^claude-opus-4", 32_000, True, True, False, IMAGES_AND_DOCUMENTS, 200_000, "no"),
    _Family(r"^claude-3-5", 8_192, modalities=IMAGES_AND_DOCUMENTS, structured="no"),
    _Family(r"^claude-(3|2|v1|instant)", 4_096, structured="no"),
    _Family(r"^claude", 64_000, True, False, False, IMAGES_AND_DOCUMENTS, 200_000, "yes"),
    # Google
    _Family(r"^gemini-(1|2\.0)", 8_192, modalities=ALL_MEDIA, structured="without_tools"),
    _Family(r"^gemini-2", 65_536, True, True, False, ALL_MEDIA, 1_048_576, "without_tools"),
    _Family(r"^gemini", 65_536, True, True, False, ALL_MEDIA, 1_048_576, "yes"),
    # Others
    _Family(r"^deepseek-(reasoner|r1|v4|flash)", None, True),
    _Family(r"^(kimi-k[3-9]|kimi.*thinking|glm-[5-9]|glm-4\.[5-9]|minimax-m|grok-(3-mini|4|5)|qwen3|magistral)", None, True),
    _Family(r"^(pixtral|mistral-(medium|small|large-([3-9]\b|2512|2[6-9]\d\d))|llama-4|.*vision|.*-vl)", modalities=IMAGES),
    _Family(r"^voxtral", modalities=frozenset(("audio",))),
)
_BEDROCK = re.compile(r"^(?:(?:global|apac|us-gov|[a-z]{2})\.)?((?:[a-z0-9-]+)\.(.+?)(?:-\d{8})?(?:-v\d+(?::\d+)?)?)$")
_CLAUDE_VERSION = re.compile(r"^(claude-(?:[a-z]+-)?\d+)\.(\d)")  # claude-opus-4.7, as OpenRouter writes it
_CLAUDE_ORDER = re.compile(r"^claude-([4-9](?:-\d)?)-(opus|sonnet|haiku)(?!\d)")  # claude-4-opus


def profile_of(kind: str, name: str) -> Profile:
    """Return what is known of a provider's model; the defaults for an unknown one."""
    provider = PROVIDERS.get(kind)
    plain = _strip_name(kind, name)
    family = next((family for family in _FAMILIES if re.search(family.pattern, plain)), _Family(""))
    window = _find_window(provider.prices if provider else "", (name.lower(), _strip_region(kind, name), plain))
    fallback = DEFAULT_LOCAL_WINDOW if provider is None or provider.local else DEFAULT_WINDOW
    facts = family.max_output, family.reasons, family.samples, family.responses, family.modalities
    known = window is not None or family.context is not None
    return Profile(window or family.context or fallback, known, *facts, family.structured)


def _strip_name(kind: str, name: str) -> str:
    """Return a name as its maker writes it: without the vendor, the region and the version that others add."""
    name = name.lower()
    if kind == "bedrock" and (found := _BEDROCK.match(name.rpartition("/")[2])):
        return found.group(2)
    plain = name.removeprefix("ft:").rpartition("/")[2].partition("@")[0].partition(":")[0]  # a fine-tuned model is of its base
    return _CLAUDE_ORDER.sub(r"claude-\2-\1", _CLAUDE_VERSION.sub(r"\1-\2", plain))


def _strip_region(kind: str, name: str) -> str:
    """Return the id of a model on Bedrock without the region of an inference profile."""
    found = _BEDROCK.match(name.lower().rpartition("/")[2]) if kind == "bedrock" else None
    return found.group(1) if found is not None else name.lower()


def _find_window(provider: str, names: tuple[str, str, str]) -> int | None:
    """Return the window of a model, or of the longest name that is a prefix of it: releases have dates after their names."""
    windows = _load_windows()
    own, plain = windows.get(provider, {}), names[-1]
    for known, wanted in (*((own, name) for name in names), *((each, plain) for each in _maker_windows(windows, plain))):
        if (found := known.get(wanted)) is not None:
            return found
        begins = [known_name for known_name in known if len(known_name) > 2 and wanted.startswith(f"{known_name}-")]
        if begins:
            return known[max(begins, key=len)]
    return None


_MAKERS = {
    "gpt": "openai",
    "o": "openai",
    "claude": "anthropic",
    "gemini": "google",
    "mistral": "mistral",
    "deepseek": "deepseek",
} | {
    "grok": "x-ai",
    "kimi": "moonshotai",
    "glm": "zai",
}


def _maker_windows(windows: dict[str, dict[str, int]], plain: str) -> list[dict[str, int]]:
    """Return the models of this one's maker, whatever provider it is reached through."""
    maker = _MAKERS.get(re.split(r"[\d.-]", plain, maxsplit=1)[0])
    return [windows[maker]] if maker in windows else []


@cache
def _load_windows() -> dict[str, dict[str, int]]:
    from importlib.resources import files  # slow to import, and only models need it

    data = files("treadle.models").joinpath("windows.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, dict[str, int]])
