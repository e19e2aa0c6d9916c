"""Runs cases with Treadle, through its public names."""

import os
import re
import tempfile
from collections.abc import Callable
from typing import Any

from providers.case import Case, Leg, Outcome, Task, Unsupported
from providers.script import Tokens
from providers.servers import SERVERS, Server
from providers.servers.base import KEY
from treadle import Agent, Limits, Model, Options, RunResult, TreadleError, Usage, allow, model_of

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
                return await _run(task)
            except TreadleError as error:
                return Outcome(error="other", detail=f"{type(error).__name__}: {error}")
            finally:
                if before is None:
                    del os.environ["TREADLE_HOME"]
                else:
                    os.environ["TREADLE_HOME"] = before


async def _run(task: Task) -> Outcome:
    case = task.case
    if case.image:
        raise Unsupported("no adapter support: images")
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
        result = await agent.run(leg.prompt, history=history)
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
    if case.tools:
        raise Unsupported("a provider's own tools can't be offered besides functions")
    return Options(**case.options, extra={"tools": [_SEARCH[case.wire]]})


def _failed(result: RunResult[Any]) -> Outcome:
    error = next((name for name, words in _ERRORS if re.search(words, result.reason)), "other")
    return Outcome(result.text, error=error, detail=f"{result.stopped}: {result.reason}")


def _model(case: Case, leg: Leg, task: Task) -> Model:
    at = case.at_of(leg)
    server = SERVERS[at]
    make = _MODELS.get(server.wire)
    if make is None:
        raise Unsupported(f"Treadle has no {server.wire} wire yet")
    return make(server, task.urls[at] + server.base, case.stream)


def _chat(server: Server, url: str, stream: bool) -> Model:
    if server.model == "gpt-5.6":  # which wire is the library's choice
        return model_of(f"openai:{server.model}", base_url=url, api_key=KEY, stream=stream)
    from treadle.models.openai import OpenAI

    headers = {"api-key": KEY} if server.provider == "azure" else {}
    return OpenAI(server.model, base_url=url, api_key=KEY, stream=stream, headers=headers, kind=server.provider)


def _anthropic(server: Server, url: str, stream: bool) -> Model:
    return model_of(f"anthropic:{server.model}", base_url=url, api_key=KEY, stream=stream)


_MODELS: dict[str, Callable[[Server, str, bool], Model]] = {"chat": _chat, "anthropic": _anthropic}


def adapter() -> _Treadle:
    return _Treadle()
