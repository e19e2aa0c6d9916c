"""The servers that cases run against, by name: each is a provider with one of its models, strict as the real one is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from providers.servers import chat_rules
from providers.servers.base import Wire
from providers.servers.chat import Chat
from providers.servers.chat_rules import Personality


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


SERVERS: dict[str, Server] = {
    "gpt-4o": _chat(chat_rules.GPT_4O),
    "gpt-5.6": _chat(chat_rules.GPT_5_6),
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
}
