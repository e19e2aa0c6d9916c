"""Which slot a prompt goes to, and when its prefix has to be evaluated there."""

import asyncio

import pytest

from treadle.core.messages import History, person_message
from treadle.core.requests import Request
from treadle.models.llamacpp.prompt_cache import PromptCache


class Child:
    """A child that can be stopped in the middle of a prompt."""

    address = "http://127.0.0.1:9"

    def __init__(self, folder):
        self.folder, self.evaluated, self.go = folder, [], asyncio.Event()
        self.go.set()

    async def post(self, path, body):
        if path == "/apply-template":
            return {"prompt": body["messages"][0]["content"] + body["messages"][-1]["content"]}
        if path.endswith("=save"):
            (self.folder / body["filename"]).touch()
        return {}

    async def read_prompt(self, path, body, report):
        await self.go.wait()
        self.evaluated.append((body["id_slot"], body["prompt"][:1]))


def asked(letter):
    return Request(letter * 700, History([person_message("Hello.")]))


@pytest.fixture
def cache(tmp_path):
    return PromptCache(tmp_path, "model", 2)


async def read(cache, child, letter):
    slot, prefix = cache.choose(child, asked(letter))
    await cache.load(child, slot, prefix, None)
    return slot


def test_a_prefix_is_evaluated_once_and_the_slot_used_longest_ago_is_taken(cache, tmp_path):
    async def work():
        child = Child(tmp_path)
        slots = [await read(cache, child, letter) for letter in "abacab"]
        return slots, child.evaluated

    # b comes back from disk, into the slot of c, which was used longest ago then
    assert asyncio.run(work()) == ([0, 1, 0, 1, 0, 1], [(0, "a"), (1, "b"), (1, "c")])


def test_what_was_interrupted_has_not_been_read(cache, tmp_path):
    async def work():
        child = Child(tmp_path)
        child.go.clear()
        reading = asyncio.create_task(read(cache, child, "a"))
        await asyncio.sleep(0.01)
        reading.cancel()
        child.go.set()
        return await read(cache, child, "a"), child.evaluated

    assert asyncio.run(work()) == (0, [(0, "a")])


def test_a_request_that_waited_for_the_slot_does_not_read_the_same_again(cache, tmp_path):
    async def work():
        child = Child(tmp_path)
        first, second = cache.choose(child, asked("a")), cache.choose(child, asked("a"))
        assert first == second
        await cache.load(child, *first, None)
        await cache.load(child, *second, None)
        return child.evaluated

    assert asyncio.run(work()) == [(0, "a")]
