"""Runs cases with pydantic-ai: its model class for each provider, its defaults, and retries as its documentation sets them up."""

import warnings
from collections.abc import AsyncIterable, Callable
from typing import Any

from pydantic_ai import Agent, BinaryContent, ModelSettings, RunUsage, exceptions
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.models import Model
from pydantic_ai.native_tools import WebSearchTool

from providers.case import IMAGE, Outcome, Task, Unsupported
from providers.script import Tokens
from providers.servers import SERVERS, Server
from providers.servers.base import KEY, REGION, SECRET_KEY

# The more special ones first: a category may be a subclass of another.
_ERRORS: tuple[tuple[str, type[BaseException]], ...] = (
    ("filtered", exceptions.ContentFilterError),
    ("length", exceptions.IncompleteToolCall),
    ("context", exceptions.ModelContextWindowExceededError),
    ("auth", exceptions.ModelAuthenticationError),
    ("not_found", exceptions.ModelNotFoundError),
    ("rate_limit", exceptions.ModelRateLimitError),
    ("unavailable", exceptions.ModelUnavailableError),
    ("unavailable", exceptions.ModelServerError),
    ("broken", exceptions.ModelConnectionError),
    ("refused", exceptions.ModelRequestRejectedError),
    ("refused", exceptions.ModelAPIError),
    ("broken", exceptions.UnexpectedModelBehavior),
)
_SETTINGS = {"stop": "stop_sequences", "parallel_calls": "parallel_tool_calls", "reasoning": "thinking"}


class _PydanticAI:
    async def run(self, task: Task) -> Outcome:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return await _run(task)
            except (exceptions.AgentRunError, exceptions.UserError) as error:
                name = next((name for name, kind in _ERRORS if isinstance(error, kind)), "other")
                name = "length" if "token limit" in str(error) else name
                return Outcome(error=name, detail=f"{type(error).__name__}: {error}")
            except Unsupported:
                raise
            except Exception as error:  # noqa: BLE001 - whatever escapes a library is how it ended
                return Outcome(error="other", detail=f"{type(error).__name__}: {error}")


async def _run(task: Task) -> Outcome:
    case = task.case
    history: Any = None
    usage = RunUsage()
    settings: Any = {
        _SETTINGS.get(name, name): list(value) if isinstance(value, tuple) else value for name, value in case.options.items()
    }
    for leg in case.legs:
        at = case.at_of(leg)
        agent = Agent(
            _MODELS[SERVERS[at].provider](SERVERS[at], task.urls[at]),
            tools=list(task.tools),
            instructions=case.instructions or None,
            output_type=case.output or str,
            model_settings=ModelSettings(**settings),
            capabilities=[NativeTool(WebSearchTool())] if case.search else None,
        )
        prompt = [leg.prompt, BinaryContent(IMAGE, media_type="image/png")] if case.image else leg.prompt
        handler = _drain if case.stream else None
        result = await agent.run(prompt, message_history=history, event_stream_handler=handler)
        usage += result.usage
        history = result.all_messages()
    tokens = Tokens(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return Outcome(None if case.output else result.output, result.output if case.output else None, tokens=tokens)


async def _drain(_: Any, events: AsyncIterable[Any]) -> None:
    async for _event in events:
        pass


# The models of its documentation, each with the provider it is meant for


def _openai(server: Server, url: str) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=url + server.base, api_key=KEY)
    by_name = server.wire == "responses" or server.model == "gpt-5.6"  # what `openai:…` is
    return OpenAIResponsesModel(server.model, provider=provider) if by_name else OpenAIChatModel(server.model, provider=provider)


def _azure(server: Server, url: str) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.azure import AzureProvider

    return OpenAIChatModel(server.model, provider=AzureProvider(azure_endpoint=url + "/openai/v1/", api_key=KEY))


def _compatible(provider: str, name: str, model: str = "openai.OpenAIChatModel") -> Callable[[Server, str], Model]:
    """A provider that speaks chat completions through the client of OpenAI."""

    def made(server: Server, url: str) -> Model:
        from importlib import import_module

        from openai import AsyncOpenAI

        module, kind = model.split(".")
        of = getattr(import_module(f"pydantic_ai.providers.{provider}"), name)
        client = AsyncOpenAI(base_url=url + server.base, api_key=KEY)
        return getattr(import_module(f"pydantic_ai.models.{module}"), kind)(server.model, provider=of(openai_client=client))

    return made


def _mistral(server: Server, url: str) -> Model:
    from pydantic_ai.models.mistral import MistralModel
    from pydantic_ai.providers.mistral import MistralProvider

    return MistralModel(server.model, provider=MistralProvider(api_key=KEY, base_url=url, http_client=_retrying()))


def _retrying() -> Any:
    from httpx2 import HTTPStatusError
    from pydantic_ai.models import create_async_httpx2_client
    from pydantic_ai.retries import AsyncHTTPX2TenacityTransport, RetryConfig, wait_retry_after
    from tenacity import retry_if_exception_type, stop_after_attempt

    config = RetryConfig(
        retry=retry_if_exception_type((HTTPStatusError, ConnectionError)),
        wait=wait_retry_after(max_wait=120),
        stop=stop_after_attempt(5),
        reraise=True,
    )

    def validate(response: Any) -> None:
        if response.status_code in (429, 502, 503, 504):
            response.raise_for_status()

    return create_async_httpx2_client(transport=AsyncHTTPX2TenacityTransport(config, validate_response=validate))


def _groq(server: Server, url: str) -> Model:
    from pydantic_ai.models.groq import GroqModel
    from pydantic_ai.providers.groq import GroqProvider

    return GroqModel(server.model, provider=GroqProvider(api_key=KEY, base_url=url))


def _anthropic(server: Server, url: str) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(base_url=url, api_key=KEY)
    return AnthropicModel(server.model, provider=AnthropicProvider(anthropic_client=client))


def _google(server: Server, url: str) -> Model:
    from google.genai.types import HttpRetryOptions
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    retries = HttpRetryOptions(attempts=5, initial_delay=0.1)
    return GoogleModel(server.model, provider=GoogleProvider(api_key=KEY, base_url=url, retry_options=retries))


def _bedrock(server: Server, url: str) -> Model:
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    provider = BedrockProvider(aws_access_key_id=KEY, aws_secret_access_key=SECRET_KEY, region_name=REGION, base_url=url)
    return BedrockConverseModel(server.model, provider=provider)


_MODELS: dict[str, Callable[[Server, str], Model]] = {
    "openai": _openai,
    "azure": _azure,
    "mistral": _mistral,
    "deepseek": _compatible("deepseek", "DeepSeekProvider"),
    "moonshotai": _compatible("moonshotai", "MoonshotAIProvider"),
    "zai": _compatible("zai", "ZaiProvider", "zai.ZaiModel"),
    "openrouter": _compatible("openrouter", "OpenRouterProvider", "openrouter.OpenRouterModel"),
    "ollama": _compatible("ollama", "OllamaProvider", "ollama.OllamaModel"),
    "vllm": _compatible("vllm", "VLLMProvider"),
    "gemini-openai": _compatible("openai", "OpenAIProvider"),
    "groq": _groq,
    "anthropic": _anthropic,
    "google": _google,
    "bedrock": _bedrock,
}


def adapter() -> _PydanticAI:
    return _PydanticAI()
