"""Which parts of the Converse API each model family on Bedrock accepts, by model id. Values and pure functions.

Converse is one protocol, but its server refuses a field that a family doesn't accept instead of ignoring it. The ARN of an
application's own inference profile doesn't name the model behind it: such a model is sent only what every family accepts.
"""

import re
from typing import Any, Literal

from msgspec import Struct

from treadle.core.requests import Effort, Options

Reasoning = Literal["", "budget", "adaptive", "effort", "nested_effort", "nova"]

SMALLEST_BUDGET = 1024  # tokens; Claude refuses less
_BUDGETS: dict[Effort, int] = {"minimal": SMALLEST_BUDGET, "low": 4096, "medium": 8192, "high": 16384, "xhigh": 32768}
_FREE = frozenset((None, "auto", "none"))  # tool choices that leave the model free to think first


class BedrockFamily(Struct, frozen=True):
    """What a family of models accepts.

    caches             cache points in `system` and `messages`
    caches_tools       cache points after the tools
    choices            values of `toolChoice` that require a call
    forbids_calls      Anthropic's `tool_choice` among the model's own fields, which can forbid calls; `toolChoice` can't
    samples            temperature and top_p
    reasoning          the form of the reasoning parameters
    most_effort        the highest reasoning effort
    returns_reasoning  signed reasoning in the history
    lone_results       tool results only in a message without other content
    json_results       tool results as JSON objects, not text
    result_status      the status of a tool result
    structured         the schema of an answer in `outputConfig`, for models that are known to accept one
    """

    caches: bool = False
    caches_tools: bool = False
    choices: tuple[str, ...] = ()
    forbids_calls: bool = False
    samples: bool = True
    reasoning: Reasoning = ""
    most_effort: str = "high"
    returns_reasoning: bool = False
    lone_results: bool = False
    json_results: bool = False
    result_status: bool = True
    structured: bool = False


_BOTH = ("any", "tool")
_UNKNOWN = BedrockFamily(choices=_BOTH, returns_reasoning=True)
_REASONING_ONLY = BedrockFamily(choices=_BOTH, samples=False, reasoning="nested_effort", most_effort="xhigh")
_PROVIDERS: dict[str, BedrockFamily] = {
    "meta": BedrockFamily(lone_results=True),
    "mistral": BedrockFamily(choices=("any",), lone_results=True, json_results=True),
    "writer": BedrockFamily(lone_results=True, result_status=False),
    "openai": _REASONING_ONLY,
    "xai": _REASONING_ONLY,
    "zai": BedrockFamily(choices=("any",)),
    "moonshot": BedrockFamily(choices=_BOTH),
    "moonshotai": BedrockFamily(choices=_BOTH),
}
_PROVIDER = re.compile(
    r"(?:^|[./])(ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia"
    r"|openai|qwen|writer|xai|zai)\."
)
_CLAUDE_3 = re.compile(r"claude-(\d+)(?:-(\d))?-(?:sonnet|haiku|opus)")
_CLAUDE = re.compile(r"claude-[a-z]+-(\d+)(?:-(\d{1,2})(?!\d))?")
_NEWEST = 99, 0


def find_bedrock_family(model: str) -> BedrockFamily:
    """Return the family of a model, by its id or its ARN."""
    found = _PROVIDER.search(model.lower())
    match found[1] if found else "":
        case "":
            return _UNKNOWN
        case "anthropic":
            return _describe_claude(model.lower())
        case "amazon":
            return _describe_amazon(model)
        case "openai" if "gpt-oss" in model:
            return BedrockFamily(reasoning="effort")
        case provider:
            return _PROVIDERS.get(provider, BedrockFamily())


def _describe_amazon(model: str) -> BedrockFamily:
    return (
        BedrockFamily(caches=True, choices=_BOTH, reasoning="nova" if "nova-2" in model else "")
        if "nova" in model
        else BedrockFamily()
    )


def _describe_claude(model: str) -> BedrockFamily:
    version = _read_version(model)
    caches = version >= (3, 7) or "3-5-haiku" in model
    return BedrockFamily(
        caches=caches,
        caches_tools=caches,
        choices=_BOTH,
        forbids_calls=True,
        samples=version < (4, 7),
        reasoning="adaptive" if version >= (4, 6) else "budget" if version >= (3, 7) else "",
        most_effort="xhigh" if version >= (4, 7) else "high",
        returns_reasoning=True,
        structured=version >= (4, 5),
    )


def _read_version(model: str) -> tuple[int, int]:
    """Return the version in a model id: `claude-3-7-sonnet-20250219`, `claude-opus-4-6-v1`.

    An id without a number is the newest.
    """
    if re.search(r"claude-(v\d|instant)", model):
        return 2, 0
    found = _CLAUDE_3.search(model) or _CLAUDE.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else _NEWEST


def build_reasoning_fields(family: BedrockFamily, options: Options, limit: int | None) -> dict[str, Any]:
    """Return the model's own fields for reasoning; `limit` is the maximum number of tokens in the response."""
    if options.reasoning == "none" or not (options.reasoning or options.reasoning_budget):
        return {}
    effort = _map_effort(family, options.reasoning)
    match family.reasoning:
        case "budget":
            return _build_budget(options, limit)
        case "adaptive" if options.tool_choice in _FREE:
            return {"thinking": {"type": "adaptive"}, **({"output_config": {"effort": effort}} if effort else {})}
        case "effort" if effort:
            return {"reasoning_effort": effort}
        case "nested_effort" if effort:
            return {"reasoning": {"effort": effort}}
        case "nova" if effort:
            return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
        case _:
            return {}


def _map_effort(family: BedrockFamily, effort: Effort | None) -> str | None:
    return "low" if effort == "minimal" else family.most_effort if effort == "xhigh" else effort


def _build_budget(options: Options, limit: int | None) -> dict[str, Any]:
    """Return a budget in tokens. It counts towards the limit, and is refused together with a required call."""
    budget = max(options.reasoning_budget or _BUDGETS[options.reasoning or "medium"], SMALLEST_BUDGET)
    if limit is not None:
        budget = min(budget, limit - 1 if options.reasoning_budget else limit // 2)
    if budget < SMALLEST_BUDGET or options.tool_choice not in _FREE:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}
