"""Cases of the provider kit on the chat completions wire, for which an OpenAI-compatible model is what every framework documents.

Servers for which frameworks have classes of their own are left to the kit itself.
"""

from agent_exam.case import Case, Expect
from providers import case as kit
from providers.cases import CASES as KIT

CHOSEN = {
    "gpt-4o-call-whole": "a call, with instructions",
    "gpt-4o-parallel-stream": "two parallel calls, streamed",
    "gpt-4o-long-arguments-stream": "long arguments, streamed in pieces",
    "gpt-4o-no-arguments-whole": "a call without arguments",
    "gpt-4o-keep-alive-stream": "comments that keep a stream alive",
    "gpt-4o-key-refused-whole": "401: a documented error",
    "gpt-4o-proxy-page-whole": "502 with a page of HTML, then a reply",
    "gpt-4o-error-in-stream-stream": "an error event inside a stream, then a reply",
    "vllm-no-ids-whole": "calls without ids",
    "vllm-object-arguments-whole": "arguments as an object, not as a string",
    "vllm-index-zero-stream": "parallel calls that all have index 0, streamed",
    "vllm-stop-with-calls-whole": "calls with the finish reason stop",
}


def _case(name: str, title: str) -> Case:
    made = KIT[name]
    (leg,) = made.legs
    return Case(
        f"provider/{name}",
        "provider",
        title,
        leg.answers,
        _expect(made.expects[0]),
        tools=made.tools,
        prompt=leg.prompt,
        stream=made.stream,
        needs=frozenset({"stream"}) if made.stream else frozenset(),
        at=made.at,
        strict=True,
    )


def _expect(expect: kit.Expect) -> Expect:
    if expect.error:
        return Expect(error="must", calls=())
    return Expect(expect.text, calls=expect.calls)


CASES = tuple(_case(name, title) for name, title in CHOSEN.items())
