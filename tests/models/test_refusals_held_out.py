"""Refusals that the repairs were not developed with: real servers' words, collected first and tried afterwards.

`refusals_held_out.jsonl` has one a line, with where it was reported. Where a report speaks of the ninetieth tool of a request, the
number is a small one here; the words are the server's. `expect` says what has to hold of the next request, not how it comes about.
"""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from treadle.core.errors import ModelRefused, ToolsRefused
from treadle.models.http import find_repair
from treadle.models.request_changes import apply_repairs
from treadle.models.server_errors import ServerIdentity, error_from_response

CASES = [json.loads(line) for line in (Path(__file__).parent / "refusals_held_out.jsonl").read_text().splitlines()]
HELLO = {"messages": [{"role": "user", "content": "Hi"}]}
BODIES = {
    "chat": {"model": "m", "stream": True, **HELLO},
    "responses": {"model": "m", "stream": True, "input": "Hi"},
    "anthropic": {"model": "m", "stream": True, "max_tokens": 4096, **HELLO},
    "google": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "bedrock": {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]},
}


GONE = object()


def values_at(body, path):
    """What stands at a path of a body, `*` standing for each of a list; `GONE` where there is no such field."""
    here = [body]
    for name in path.split("."):
        if name == "*":
            here = [inner for each in here if isinstance(each, list) for inner in each]
        elif name.isdecimal():
            here = [each[int(name)] if isinstance(each, list) and int(name) < len(each) else GONE for each in here]
        else:
            here = [each.get(name, GONE) if isinstance(each, dict) else GONE for each in here]
    return here


def allows(allowed, value):
    """Whether a value is among those allowed; null stands for a field that isn't sent."""
    return None in allowed if value is GONE else value in allowed


def blocks_apart(messages):
    """Whether no message has results of tools together with anything else."""
    kinds = [{"toolResult" in block for block in message["content"]} for message in messages]
    return all(len(each) == 1 for each in kinds)


def alternating(messages):
    roles = [message["role"] for message in messages if message["role"] != "system"]
    return all(one != other for one, other in pairwise(roles))


def holds(expect, error, repair, before, after):
    if "tools_refused" in expect:
        return type(error) is ToolsRefused
    if "refused" in expect:
        return type(error) is ModelRefused and repair is None and expect.get("sentence", "It said:") in str(error)
    if repair is None:
        return False
    checks = [
        *(value is GONE for path in expect.get("gone", ()) for value in values_at(after, path)),
        *(allows(allowed, values_at(after, path)[0]) for path, allowed in expect.get("value", {}).items()),
        *(values_at(after, path)[0] <= most for path, most in expect.get("at_most", {}).items()),
        *(words in json.dumps(after[name]) for name, words in expect.get("contains", {}).items()),
        "streamed" not in expect or (repair.kind, after) == ("no_stream", before),
        "alternating" not in expect or alternating(after["messages"]),
        "apart" not in expect or (blocks_apart(after["messages"]) and alternating(after["messages"])),
    ]
    return all(checks)


def outcome(case):
    """The error of a refusal, the repair and the bodies before and after it."""
    before = BODIES[case["wire"]] | case["request"]
    server = ServerIdentity(f"{case['provider']}:m", "https://api.example.com/v1")
    error = error_from_response(server, case["status"], {}, json.dumps(case["reply"]).encode())
    body = json.dumps(before).encode()
    repair = find_repair(error, body)
    return error, repair, before, json.loads(apply_repairs(body, [repair])) if repair else before


@pytest.mark.parametrize("case", CASES, ids=[case["seen"] for case in CASES])
def test_a_refusal_that_nobody_prepared_for_is_read(case):
    error, repair, before, after = outcome(case)
    assert holds(case["expect"], error, repair, before, after), (str(error), repair)


def test_there_are_more_than_thirty_of_them_and_each_is_another():
    assert len({json.dumps(case["reply"]) for case in CASES}) == len(CASES) > 30
