"""The servers that cases run against, by name: each is a provider with one of its models, strict as the real one is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from providers.servers import anthropic_replies, chat_rules
from providers.servers.anthropic import Messages
from providers.servers.base import Wire
from providers.servers.bedrock import Converse
from providers.servers.chat import Chat
from providers.servers.chat_rules import Personality
from providers.servers.google import Gemini
from providers.servers.responses import Responses


@dataclass(frozen=True)
class Server:
    """A provider with one of its models.

    base   what comes after the host in its base URL, as its clients are given it
    needs  the package whose types its requests are checked against
    """

    wire: str
    provider: str
    model: str
    wires: Callable[[], Sequence[Wire]]
    base: str = ""
    needs: str = ""


def _chat(who: Personality, base: str = "/v1") -> Server:
    return Server("chat", who.name, who.model, lambda: [Chat(who)], base, "mistralai" if who.oracle == "mistral" else who.oracle)


def _responses(model: str, **how: bool) -> Server:
    return Server("responses", "openai", model, lambda: [Responses(model, **how)], "/v1", "openai")


def _openai(who: Personality) -> Server:
    """A model of OpenAI's that reasons, over both of its APIs."""
    return Server("chat", "openai", who.model, lambda: [Chat(who), Responses(who.model, reasons=True)], "/v1", "openai")


def _anthropic(claude: anthropic_replies.Claude) -> Server:
    return Server("anthropic", "anthropic", claude.model, lambda: [Messages(claude)], needs="anthropic")


def _bedrock(model: str, *, sampling: bool) -> Server:
    return Server("bedrock", "bedrock", model, lambda: [Converse(model, sampling=sampling)], needs="botocore")


SERVERS: dict[str, Server] = {
    "gpt-4o": _chat(chat_rules.GPT_4O),
    "gpt-5-mini": _openai(chat_rules.GPT_5_MINI),
    "gpt-5.6": _openai(chat_rules.GPT_5_6),
    "o3": _chat(chat_rules.O3),
    "azure": _chat(chat_rules.AZURE, "/openai/v1"),
    "mistral": _chat(chat_rules.MISTRAL),
    "deepseek": _chat(chat_rules.DEEPSEEK, ""),
    "kimi": _chat(chat_rules.KIMI),
    "glm": _chat(chat_rules.GLM),
    "openrouter": _chat(chat_rules.OPENROUTER, "/api/v1"),
    "gemini-chat": _chat(chat_rules.GEMINI_CHAT, "/v1beta/openai"),
    "groq": _chat(chat_rules.GROQ, "/openai/v1"),
    "no-tools": _chat(chat_rules.NO_TOOLS),
    "vllm": _chat(chat_rules.VLLM),
    "gpt-6": _responses("gpt-6-sol", reasons=True),
    "gpt-4.1": _responses("gpt-4.1", reasons=False),
    "no-retention": _responses("gpt-6-sol", reasons=True, stores=False),
    "gemini": Server("google", "google", "gemini-3-pro-preview", lambda: [Gemini("gemini-3-pro-preview")], needs="google.genai"),
    "bedrock": _bedrock("us.anthropic.claude-opus-4-8", sampling=False),
    "nova": _bedrock("us.amazon.nova-pro-v1:0", sampling=True),
    "claude": _anthropic(anthropic_replies.OPUS),
    "haiku": _anthropic(anthropic_replies.HAIKU),
}
