"""The kit's own judgement: a client that does all of a case passes it, and whatever a client loses or changes is found."""

import asyncio
import json
import urllib.request

import pytest

from providers.case import Outcome, Unsupported, run
from providers.cases import CASES
from providers.script import Tokens
from providers.servers import SERVERS
from providers.servers.base import KEY

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Client:
    """The plainest client of chat completions there is. `change` may spoil the messages before each request."""

    def __init__(self, change=lambda messages: messages):
        self._change = change

    async def run(self, task):
        case = task.case
        tools = {tool.__name__: tool for tool in task.tools}
        messages = [{"role": "system", "content": case.instructions}] if case.instructions else []
        messages.append({"role": "user", "content": case.legs[0].prompt})
        offered = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in tools]
        used = Tokens(0, 0)
        while True:
            body = {"model": "m", "messages": self._change(messages), **({"tools": offered} if offered else {})}
            reply = await asyncio.to_thread(post, f"{task.urls[case.at]}{SERVERS[case.at].base}/chat/completions", body)
            if "error" in reply:
                return Outcome(error="refused", detail=str(reply))
            message, usage = reply["choices"][0]["message"], reply["usage"]
            used = Tokens(used.input + usage["prompt_tokens"], used.output + usage["completion_tokens"])
            messages = [*messages, message]
            for call in message.get("tool_calls") or ():
                content = await tools[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
                messages = [*messages, {"role": "tool", "tool_call_id": call["id"], "content": content}]
            if not message.get("tool_calls"):
                return Outcome(message["content"], tokens=used)


def post(url, body):
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return json.load(error)


def verdict_of(case_id, adapter):
    return asyncio.run(run(CASES[case_id], adapter))


@pytest.mark.parametrize(
    "case_id", ["gpt-4o-plain-whole", "gpt-4o-call-whole", "gpt-4o-parallel-whole", "deepseek-thinking-in-rounds-whole"]
)
def test_a_client_that_does_it_all_passes(case_id):
    assert verdict_of(case_id, Client()).failed == ()


def without_the_first(messages):
    return messages[1:]


def with_other_arguments(messages):
    return json.loads(json.dumps(messages).replace('\\"Paris\\"', '\\"Lyon\\"'))


def with_other_results(messages):
    return [{**message, "content": "no idea"} if message["role"] == "tool" else message for message in messages]


def with_results_swapped(messages):
    contents = [message["content"] for message in messages if message["role"] == "tool"]
    return [{**message, "content": contents.pop()} if message["role"] == "tool" else message for message in messages]


def with_results_late(messages):
    results = [message for message in messages if message["role"] == "tool"]
    asked = {"role": "user", "content": "Well?"}
    return [message for message in messages if message["role"] != "tool"] + ([asked, *results] if results else [])


def with_other_thoughts(messages):
    return [{**message, "reasoning_content": "…"} if "reasoning_content" in message else message for message in messages]


SPOILT = [
    ("gpt-4o-call-whole", without_the_first, "instructions"),
    ("gpt-4o-plain-whole", lambda messages: [messages[0], {"role": "user", "content": "Hello."}], "prompt"),
    ("gpt-4o-call-whole", with_other_arguments, "came back as"),
    ("gpt-4o-call-whole", with_other_results, "isn't in the request"),
    ("gpt-4o-parallel-whole", with_results_swapped, "the result of weather came back as"),
    ("gpt-4o-parallel-whole", with_results_late, "no results directly after"),
    ("deepseek-thinking-in-rounds-whole", with_other_thoughts, "unchanged"),
]


@pytest.mark.parametrize(("case_id", "change", "words"), SPOILT)
def test_what_a_client_loses_or_changes_is_found(case_id, change, words):
    failed = verdict_of(case_id, Client(change)).failed
    assert any(words in line for line in failed), failed


class Saying:
    """Answers without asking anybody."""

    def __init__(self, **outcome):
        self._outcome = outcome

    async def run(self, task):
        return Outcome(**self._outcome)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"text": "It is 21 degrees."}, "took 0 answers of 1"),
        ({"text": "It rains."}, "answered 'It rains.'"),
        ({"error": "auth"}, "ended with auth"),
        ({"text": "It is 21 degrees.", "tokens": Tokens(1, 1)}, "counted"),
    ],
)
def test_an_outcome_that_is_not_expected_is_told(outcome, words):
    failed = verdict_of("gpt-4o-plain-whole", Saying(**outcome)).failed
    assert any(words in line for line in failed), failed


def test_a_library_that_has_no_way_to_do_it_does_not_pass():
    class Refusing:
        async def run(self, task):
            raise Unsupported("no such wire")

    verdict = verdict_of("gpt-4o-plain-whole", Refusing())
    assert (verdict.passed, verdict.unsupported) == (False, "no such wire")
