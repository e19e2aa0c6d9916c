"""Who speaks chat completions, and what each of them refuses beyond the wire. Sources of the rules are named beside them.

Words of refusals are those that the servers use: clients that repair their requests go by them.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from providers.servers.base import KEY, Problem

Rule = Callable[[Any], Iterable[Problem]]


@dataclass(frozen=True)
class Personality:
    """A provider on this wire.

    oracle   the SDK whose types its requests are checked against; none for servers that ignore what they don't know
    extras   fields it takes besides: of the body, or `assistant.…`, `call.…`, `part.…`
    rules    what it refuses, beyond what all servers of this wire refuse
    strict   whether it refuses schemas that ask for `strict` and can't have it
    thinks   the field in which its reasoning comes
    returns  what has to come back with a call
    keys     the headers that its key may be in, each in its form
    quirks   oddities of all its replies
    overflow what it says when a conversation is too long
    """

    name: str
    model: str
    oracle: str = "openai"
    extras: frozenset[str] = frozenset()
    rules: tuple[Rule, ...] = ()
    strict: bool = False
    thinks: str = ""
    returns: str = ""
    keys: tuple[tuple[str, str], ...] = (("authorization", f"Bearer {KEY}"),)
    ids: str = "call_{:02d}{:02d}xxxxxxxxxxxxxxxxxxxx"
    quirks: frozenset[str] = frozenset()
    path: str = "/v1/chat/completions"
    overflow: str = ""


# OpenAI's reasoning models


def _responses_for_tools(body: Any) -> Iterator[Problem]:
    """litellm#34569, LibreChat#14231, webmcp-tools#417: only the effort none is accepted with tools."""
    if body.get("tools") and body.get("reasoning_effort") != "none":
        words = f"Function tools with reasoning_effort are not supported for {body['model']} in /v1/chat/completions."
        message = f"{words} To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        yield Problem(message, param="reasoning_effort", repairable=True)


def _only_default_sampling(body: Any) -> Iterator[Problem]:
    """qwen-code#921, langchaingo#1355."""
    for name in ("temperature", "top_p"):
        if body.get(name) not in (None, 1, 1.0):
            words = f"Unsupported value: '{name}' does not support {body[name]} with this model."
            yield Problem(f"{words} Only the default (1) value is supported.", param=name, repairable=True)


def _completion_tokens(body: Any) -> Iterator[Problem]:
    """qwen-code#224."""
    if body.get("max_tokens") is not None:
        message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        yield Problem(message, param="max_tokens", repairable=True)


def _no_stop(body: Any) -> Iterator[Problem]:
    if body.get("stop") is not None:
        yield Problem("Unsupported parameter: 'stop' is not supported with this model.", param="stop", repairable=True)


# Mistral


def _mistral_ids(body: Any) -> Iterator[Problem]:
    """opencode#1680, langchain#24668."""
    for message in body["messages"]:
        ids = [call.get("id") for call in message.get("tool_calls") or ()] + [message.get("tool_call_id")]
        for call_id in filter(None, ids):
            if not re.fullmatch(r"[a-zA-Z0-9]{9}", call_id):
                yield Problem(f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9.")


_FOLLOWS = {
    "system": ("user", "assistant", "system"),
    "user": ("assistant", "system", "user"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("assistant", "tool"),
}


def _mistral_order(body: Any) -> Iterator[Problem]:
    """datapizza-ai#98, hermes-agent#20154, and the validator of mistral-common."""
    roles = [message["role"] for message in body["messages"]]
    for before, after in pairwise(roles):
        if after not in _FOLLOWS[before]:
            yield Problem(f"Unexpected role '{after}' after role '{before}'")
    if roles[-1] == "assistant" and not body["messages"][-1].get("prefix"):
        yield Problem("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")


# Reasoning that has to come back


def _deepseek_thoughts(body: Any) -> Iterator[Problem]:
    """crush#2696, pi#3636: the field has to be there, if only empty, unless thinking is off."""
    if (body.get("thinking") or {}).get("type") == "disabled":
        return
    if any(message.get("tool_calls") and message.get("reasoning_content") is None for message in body["messages"]):
        yield Problem("The `reasoning_content` in the thinking mode must be passed back to the API.")


def _kimi_thoughts(body: Any) -> Iterator[Problem]:
    """deer-flow#3043, opencode#16318, crush#2696: an empty one counts as missing."""
    for index, message in enumerate(body["messages"]):
        if message.get("tool_calls") and not message.get("reasoning_content"):
            words = "thinking is enabled but reasoning_content is missing in assistant tool call message"
            yield Problem(f"{words} at index {index}")


def _openrouter_details(body: Any) -> Iterator[Problem]:
    """agent-framework#2947, home-assistant#159812: of the turn that is under way."""
    for message in _turn_under_way(body):
        if message.get("tool_calls") and not message.get("reasoning_details"):
            yield Problem("Gemini models require OpenRouter reasoning details to be preserved in each request.")


def _gemini_signatures(body: Any) -> Iterator[Problem]:
    """Roo-Code#9499, langroid#969: the first call of every step of the turn that is under way."""
    for message in _turn_under_way(body):
        for call in (message.get("tool_calls") or ())[:1]:
            if not ((call.get("extra_content") or {}).get("google") or {}).get("thought_signature"):
                words = "Function call is missing a thought_signature in functionCall parts."
                yield Problem(f"{words} This is required for tools to work correctly. Function call `{call['function']['name']}`.")


def _turn_under_way(body: Any) -> list[Any]:
    messages = body["messages"]
    last = max((index for index, message in enumerate(messages) if message["role"] == "user"), default=0)
    return messages[last:]


# Others


def _groq_fields(body: Any) -> Iterator[Problem]:
    """jan#8136, AstrBot#5946, chatbot#21."""
    for index, message in enumerate(body["messages"]):
        if "reasoning_content" in message:
            place = f"'messages.{index}' : for 'role:{message['role']}' the following must be satisfied"
            message_ = f"{place}[('messages.{index}' : property 'reasoning_content' is unsupported)]"
            yield Problem(message_, param=f"messages.{index}.reasoning_content", repairable=True)
    if "store" in body:
        yield Problem("property 'store' is unsupported, did you mean 'stop'?", param="store", repairable=True)


def _no_tools(body: Any) -> Iterator[Problem]:
    """What Ollama says of a model whose capabilities are only `completion`."""
    if body.get("tools"):
        yield Problem(f"registry.ollama.ai/library/{body['model']} does not support tools", param="tools", repairable=True)


def _readable_arguments(body: Any) -> Iterator[Problem]:
    """vLLM and llama.cpp read the arguments of earlier calls for the chat template."""
    for message in body["messages"]:
        for call in message.get("tool_calls") or ():
            try:
                json.loads(call["function"]["arguments"])
            except (ValueError, TypeError):
                yield Problem(f"the arguments of {call['function']['name']} in the history are no JSON")


_OPENROUTER = (
    "reasoning provider models usage plugins transforms route assistant.reasoning assistant.reasoning_details part.cache_control"
)
_THINKING = frozenset(("assistant.reasoning_content", "thinking"))
_V1 = "(/v1)?/chat/completions"

GPT_4O = Personality("openai", "gpt-4o", strict=True)
GPT_5_6 = Personality("openai", "gpt-5.6", strict=True, rules=(_responses_for_tools, _only_default_sampling, _completion_tokens))
GPT_5_MINI = Personality("openai", "gpt-5-mini", strict=True, rules=(_only_default_sampling, _completion_tokens, _no_stop))
O3 = Personality("openai", "o3", strict=True, rules=(_only_default_sampling, _completion_tokens, _no_stop))
AZURE = Personality(
    "azure",
    "gpt-4o",
    strict=True,
    keys=(("api-key", KEY), ("authorization", f"Bearer {KEY}")),
    quirks=frozenset(("filter_results",)),
    path=r"/openai/(v1/chat/completions(\?api-version=\w+)?|deployments/gpt-4o/chat/completions\?api-version=[\d-]+(-preview)?)",
)
MISTRAL = Personality(
    "mistral",
    "mistral-large-latest",
    oracle="mistral",
    rules=(_mistral_ids, _mistral_order),
    thinks="chunks",
    ids="Kc{:02d}{:02d}pQz",
    overflow="Prompt contains 140001 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
    quirks=frozenset(("one_delta", "usage_always")),  # opik#7385
)
DEEPSEEK = Personality(
    "deepseek",
    "deepseek-v4-pro",
    extras=_THINKING,
    rules=(_deepseek_thoughts,),
    thinks="reasoning_content",
    returns="reasoning_content",
    quirks=frozenset(("cache_hit_usage",)),
    path=_V1,
)
KIMI = Personality(
    "moonshotai",
    "kimi-k2.6",
    extras=_THINKING,
    rules=(_kimi_thoughts, _only_default_sampling),
    thinks="reasoning_content",
    returns="reasoning_content",
    ids="functions.weather:{:d}{:d}",
    path=_V1,
)
GLM = Personality(
    "zai", "glm-5", extras=_THINKING | {"tool_stream"}, thinks="reasoning_content", quirks=frozenset(("whole_calls",)), path=_V1
)
OPENROUTER = Personality(
    "openrouter",
    "google/gemini-3-pro-preview",
    extras=frozenset(_OPENROUTER.split()),
    rules=(_openrouter_details,),
    thinks="reasoning_details",
    returns="reasoning_details",
    ids="tool_0_weather_{:02d}{:02d}",
    quirks=frozenset(("native_finish",)),
    path="/api/v1/chat/completions",
)
GEMINI_CHAT = Personality(
    "gemini-openai",
    "gemini-3-pro-preview",
    extras=frozenset(("call.extra_content", "assistant.extra_content", "extra_body")),
    rules=(_gemini_signatures,),
    returns="thought_signature",
    ids="function-call-1{:03d}{:03d}",
    quirks=frozenset(("whole_calls",)),
    path="/v1beta/openai/chat/completions",
)
GROQ = Personality(
    "groq",
    "openai/gpt-oss-120b",
    extras=frozenset(("assistant.reasoning", "reasoning_format", "include_reasoning")),
    rules=(_groq_fields,),
    thinks="reasoning",
    ids="fc_{:04d}{:04d}",
    quirks=frozenset(("whole_calls",)),
    path="/openai/v1/chat/completions",
)
NO_TOOLS = Personality("ollama", "gemma:2b", oracle="", rules=(_no_tools,))
VLLM = Personality(
    "vllm", "qwen3-32b", oracle="", rules=(_readable_arguments,), thinks="reasoning", ids="chatcmpl-tool-{:04x}{:04x}"
)
