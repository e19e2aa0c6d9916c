"""The known providers, as data: their URLs, the variables that hold their keys, how their servers differ.

Values only. What a single model accepts is in `profiles`; each wire encodes its own requests; `factory` combines them. A
server that isn't here is reached as `openai:NAME` with a base URL of its own.
"""

from typing import Literal

from msgspec import Struct

Wire = Literal["chat", "openai", "anthropic", "google", "vertex", "bedrock", "azure", "ollama", "llamacpp"]


class Quirks(Struct, frozen=True):
    """How a server on the chat completions wire differs from OpenAI's.

    limit          name of the field that limits the output
    seed           name of the field for the seed; empty if there is none
    effort         field for the reasoning effort: `reasoning_effort`, `reasoning` ({"effort": …}), empty for none
    reasoning      field in which the reasoning of an assistant's message with calls has to be sent back; empty if not required
    short_ids      call ids have nine letters or digits
    strict_roles   no user message may follow tool results directly
    stream_usage   whether `stream_options` is accepted
    cache_key      whether `prompt_cache_key` is accepted
    holds          whether `response_format` with a JSON schema is honoured
    media          kinds of media that its messages have a form for
    plain_media    documents come as `document_url`, and recordings as Base64 alone
    """

    limit: str = "max_tokens"
    seed: str = "seed"
    effort: str = "reasoning_effort"
    reasoning: str = ""
    short_ids: bool = False
    strict_roles: bool = False
    stream_usage: bool = True
    cache_key: bool = False
    holds: bool = True
    media: frozenset[str] = frozenset(("image", "audio", "document"))
    plain_media: bool = False


class ModelProvider(Struct, frozen=True):
    """One provider.

    keys           variables that may hold its key, in order
    base_urls      variables that may hold its base URL, in order
    default_model  the model that is used if only a key is set
    prices         its id in the price data; empty if there are none
    local          a server on one's own machine: no key is needed, and the context window is its own
    """

    kind: str
    title: str
    wire: Wire
    base_url: str = ""
    keys: tuple[str, ...] = ()
    base_urls: tuple[str, ...] = ()
    default_model: str = ""
    model_variables: tuple[str, ...] = ()
    prices: str = ""
    quirks: Quirks = Quirks()
    local: bool = False


def _chat_provider(
    kind: str,
    title: str,
    base_url: str,
    default_model: str = "",
    *,
    prices: str = "",
    quirks: Quirks = Quirks(),  # noqa: B008 - frozen
    keys: tuple[str, ...] = (),
    local: bool = False,
) -> ModelProvider:
    """Return a provider on the chat completions wire, with the variables derived from its name."""
    upper = kind.upper()
    named = (f"{upper}_API_KEY", *keys), (f"{upper}_BASE_URL",), default_model, (f"{upper}_MODEL",)
    return ModelProvider(kind, title, "chat", base_url, *named, prices, quirks, local)


_IMAGES = frozenset(("image",))
_IMAGE_QUIRKS = Quirks(media=_IMAGES)
_REASONING_QUIRKS = Quirks(reasoning="reasoning_content", effort="", holds=False, media=_IMAGES)

PROVIDERS: dict[str, ModelProvider] = {
    provider.kind: provider
    for provider in (
        ModelProvider(
            "openai",
            "OpenAI",
            "openai",
            "https://api.openai.com/v1",
            ("OPENAI_API_KEY",),
            ("OPENAI_BASE_URL",),
            "gpt-5-mini",
            ("OPENAI_MODEL",),
            "openai",
            Quirks(limit="max_completion_tokens", cache_key=True),
        ),
        ModelProvider(
            "anthropic",
            "Anthropic",
            "anthropic",
            "https://api.anthropic.com",
            ("ANTHROPIC_API_KEY",),
            ("ANTHROPIC_BASE_URL",),
            "claude-sonnet-5-5",
            ("ANTHROPIC_MODEL", "CLAUDE_MODEL"),
            "anthropic",
        ),
        ModelProvider(
            "google",
            "Google Gemini",
            "google",
            "https://generativelanguage.googleapis.com",
            ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            ("GOOGLE_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"),
            "gemini-3.8-flash",
            ("GOOGLE_MODEL", "GEMINI_MODEL"),
            "google",
        ),
        ModelProvider(
            "vertex",
            "Google Vertex AI",
            "vertex",
            "",
            ("VERTEX_API_KEY", "GOOGLE_VERTEX_ACCESS_TOKEN"),
            ("VERTEX_BASE_URL",),
            "gemini-3.8-flash",
            ("VERTEX_MODEL",),
            "google",
        ),
        ModelProvider(
            "bedrock",
            "AWS Bedrock",
            "bedrock",
            "",
            ("BEDROCK_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"),
            ("BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
            "global.anthropic.claude-sonnet-5-5-v1:0",
            ("BEDROCK_MODEL",),
            "aws",
        ),
        ModelProvider(
            "azure",
            "Azure OpenAI",
            "azure",
            "",
            ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY"),
            ("AZURE_BASE_URL", "AZURE_OPENAI_ENDPOINT"),
            "",
            ("AZURE_MODEL", "AZURE_OPENAI_DEPLOYMENT"),
            "azure",
            Quirks(limit="max_completion_tokens", cache_key=True),
        ),
        _chat_provider(
            "mistral",
            "Mistral",
            "https://api.mistral.ai/v1",
            "mistral-medium-latest",
            prices="mistral",
            quirks=Quirks(seed="random_seed", effort="", short_ids=True, strict_roles=True, stream_usage=False, plain_media=True),
        ),
        _chat_provider(
            "deepseek", "DeepSeek", "https://api.deepseek.com/v1", "deepseek-chat", prices="deepseek", quirks=_REASONING_QUIRKS
        ),
        _chat_provider(
            "openrouter",
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            "openai/gpt-5-mini",
            prices="openrouter",
            quirks=Quirks(effort="reasoning"),
        ),
        _chat_provider(
            "groq", "Groq", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", prices="groq", quirks=_IMAGE_QUIRKS
        ),
        _chat_provider("xai", "xAI", "https://api.x.ai/v1", "grok-4.7", prices="x-ai", quirks=_IMAGE_QUIRKS),
        _chat_provider(
            "together",
            "Together",
            "https://api.together.xyz/v1",
            "deepseek-ai/DeepSeek-V4.1-Flash",
            prices="together",
            quirks=_IMAGE_QUIRKS,
        ),
        _chat_provider(
            "fireworks",
            "Fireworks",
            "https://api.fireworks.ai/inference/v1",
            "accounts/fireworks/models/gpt-oss-120b",
            prices="fireworks",
            quirks=_IMAGE_QUIRKS,
        ),
        _chat_provider(
            "cerebras", "Cerebras", "https://api.cerebras.ai/v1", "gpt-oss-120b", prices="cerebras", quirks=_IMAGE_QUIRKS
        ),
        _chat_provider(
            "perplexity",
            "Perplexity",
            "https://api.perplexity.ai",
            "sonar-pro",
            prices="perplexity",
            quirks=_IMAGE_QUIRKS,
            keys=("PPLX_API_KEY",),
        ),
        _chat_provider(
            "moonshot", "Moonshot", "https://api.moonshot.ai/v1", "kimi-k3", prices="moonshotai", quirks=_REASONING_QUIRKS
        ),
        _chat_provider(
            "zai",
            "Z.ai",
            "https://api.z.ai/api/paas/v4",
            "glm-5.3",
            prices="zai",
            quirks=_REASONING_QUIRKS,
            keys=("ZHIPUAI_API_KEY",),
        ),
        _chat_provider("vllm", "vLLM", "http://127.0.0.1:8000/v1", "", local=True),
        _chat_provider("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", "", local=True, quirks=Quirks(effort="")),
        ModelProvider("ollama", "Ollama", "ollama", "", ("OLLAMA_API_KEY",), ("OLLAMA_BASE_URL", "OLLAMA_HOST"), local=True),
        ModelProvider("llamacpp", "llama.cpp", "llamacpp", "", ("LLAMACPP_API_KEY",), ("LLAMACPP_BASE_URL",), local=True),
    )
}
