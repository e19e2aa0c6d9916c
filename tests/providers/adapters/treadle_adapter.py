"""Runs cases with Treadle, through its public names."""

import os
import re
import tempfile
from collections.abc import Callable
from typing import Any

from providers.case import IMAGE, Case, Leg, Outcome, Task
from providers.script import Tokens
from providers.servers import SERVERS, Server
from providers.servers.base import KEY, REGION, SECRET_KEY
from treadle import Agent, Image, Limits, Model, Options, RunResult, TreadleError, Usage, allow, resolve_model
from treadle.models.http import close_model_connections
from treadle.models.profiles import profile_of
from treadle.models.providers import PROVIDERS
from treadle.models.repairs import repair_memory
from treadle.models.wires.aws_auth import AwsCredentials
from treadle.models.wires.bedrock import Bedrock
from treadle.models.wires.openai import OpenAI
from treadle.models.wires.responses import Responses

_ERRORS = (
    ("filtered", r"filtered|content (filter|policy|management)|declined"),
    ("context", r"is more than \S+ can read"),
    ("auth", r"does not accept the key|does not let you use"),
    ("not_found", r"There is no model"),
    ("broken", r"broke off|can't be read"),
    ("rate_limit", r"can't answer now \(429\)"),
    ("unavailable", r"can't answer now|does not answer|gave no answer"),
    ("refused", r"refused the request|takes no tools"),
)


class _Treadle:
    async def run(self, task: Task) -> Outcome:
        with tempfile.TemporaryDirectory() as home:
            before = os.environ.get("TREADLE_HOME")
            os.environ["TREADLE_HOME"] = home  # what one case finds out about a model is nothing to the next
            try:
                repair_memory.all().clear()
                return await _run(task)
            except TreadleError as error:
                return Outcome(error="other", detail=f"{type(error).__name__}: {error}")
            finally:
                await close_model_connections()
                if before is None:
                    del os.environ["TREADLE_HOME"]
                else:
                    os.environ["TREADLE_HOME"] = before


async def _run(task: Task) -> Outcome:
    case = task.case
    history: Any = ()
    usage = Usage()
    for leg in case.legs:
        agent = Agent(
            _model(case, leg, task),
            tools=task.tools,
            instructions=case.instructions,
            output_type=case.output or str,
            options=_options(case),
            limits=Limits(backoff=0.05),
            policy=[allow("*")],
        )
        prompt = [leg.prompt, Image.from_bytes(IMAGE)] if case.image else leg.prompt
        result = await agent.run(prompt, history=history)
        usage += result.usage
        if result.stopped != "answered":
            return _failed(result)
        history = result.history
    tokens = Tokens(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return Outcome(result.text, result.output if case.output else None, tokens=tokens)


_SEARCH = {"anthropic": {"type": "web_search_20250305", "name": "web_search"}, "responses": {"type": "web_search"}}


def _options(case: Case) -> Options:
    if not case.search:
        return Options(**case.options)
    return Options(**case.options, extra={"tools": [_SEARCH[case.wire]]})


def _failed(result: RunResult[Any]) -> Outcome:
    error = next((name for name, words in _ERRORS if re.search(words, result.reason)), "other")
    return Outcome(result.text, error=error, detail=f"{result.stopped}: {result.reason}")


def _model(case: Case, leg: Leg, task: Task) -> Model:
    at = case.at_of(leg)
    server = SERVERS[at]
    return _MODELS[server.wire](server, task.urls[at] + server.base, case.stream)


_KINDS = {"moonshotai": "moonshot"}


def _chat(server: Server, url: str, stream: bool) -> Model:
    if server.model == "gpt-5.6":  # which wire is the library's choice
        return _named(server, url, stream)
    kind = _KINDS.get(server.provider, server.provider)
    headers = {"api-key": KEY} if kind == "azure" else {}
    quirks = PROVIDERS[kind].quirks if kind in PROVIDERS and kind != "ollama" else None
    return OpenAI(server.model, base_url=url, api_key=KEY, stream=stream, headers=headers, kind=kind, quirks=quirks)


def _responses(server: Server, url: str, stream: bool) -> Model:
    profile = profile_of("openai", server.model)
    return Responses(server.model, base_url=url, api_key=KEY, stream=stream, reasons=profile.reasons, max_output=profile.max_output)


def _named(server: Server, url: str, stream: bool) -> Model:
    return resolve_model(f"{server.provider}:{server.model}", base_url=url, api_key=KEY, stream=stream)


def _bedrock(server: Server, url: str, stream: bool) -> Model:
    return Bedrock(server.model, region=REGION, credentials=AwsCredentials(KEY, SECRET_KEY), base_url=url, stream=stream)


_MODELS: dict[str, Callable[[Server, str, bool], Model]] = {
    "chat": _chat,
    "responses": _responses,
    "anthropic": _named,
    "google": _named,
    "bedrock": _bedrock,
}


def adapter() -> _Treadle:
    return _Treadle()
