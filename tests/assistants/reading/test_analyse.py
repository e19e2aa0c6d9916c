"""Which path a file takes, what happens when one fails, and what is kept."""

import asyncio
import json

import pytest

from assistants.reading.files import ANSWER, source
from treadle import Scripted, UnknownModel
from treadle.assistants.reading.analyse import How, analyse, source_of
from treadle.assistants.reading.outline.values import Outline
from treadle.models.scripted import calls
from treadle.stores.cache import MemoryCache

GOOD = json.dumps(ANSWER)


def how(*replies, model=None, **more):
    found = model or Scripted(*replies)

    async def give():
        return found

    return How(give, **more)


def read(file, using):
    return asyncio.run(analyse(file, using)).reading


def large():
    return source(lines=400)


def test_a_small_file_takes_the_fast_path():
    metadata = read(source(), how(GOOD)).metadata
    assert (metadata.execution_path, metadata.why) == ("fast-path", "the file is small")
    assert (metadata.model, metadata.language, metadata.tokens.requests) == ("scripted", "python", 1)


def test_a_large_file_takes_the_tool():
    ask = calls(("refer_to_source_code", {"start_line": 1, "end_line": 9}))
    metadata = read(large(), how(ask, GOOD)).metadata
    assert (metadata.execution_path, metadata.tool_call_count) == ("tool-calling", 1)
    assert metadata.tool_reads[0].start_line == 1


def test_where_a_path_fails_two_stages_are_tried_and_that_is_said():
    metadata = read(large(), how("What?", "What?", '{"ranges_to_read": []}', GOOD)).metadata
    assert metadata.execution_path == "two-stage"
    assert "tool-calling failed" in metadata.why


def test_where_everything_fails_there_is_a_sketch_and_it_says_so():
    reading = read(large(), how("What?", "What?", "What?", "What?", "What?"))
    assert reading.metadata.execution_path == "sketch"
    assert "two-stage failed" in reading.metadata.why
    assert "A sketch, made without a model" in reading.metadata.notes
    assert reading.metadata.model == ""
    assert reading.responsibilities


def test_without_a_model_there_is_a_sketch():
    async def none():
        raise UnknownModel("Set TREADLE_MODEL.")

    metadata = read(source(), How(none)).metadata
    assert (metadata.execution_path, metadata.why) == ("sketch", "Set TREADLE_MODEL.")


def test_no_model_is_asked_where_none_is_wanted():
    assert read(source(), how(path="sketch")).metadata.why == "no model was wanted"


def test_an_empty_file_is_empty():
    reading = read(empty(), how())
    assert (reading.file_intent, reading.metadata.execution_path) == ("Empty file", "empty")


def empty():
    return source_of("a.py", " \n\n", Outline("python", 2))


@pytest.mark.parametrize("path", ["fast-path", "tool-calling"])
def test_a_path_can_be_asked_for(path):
    assert read(source(), how(GOOD, path=path)).metadata.execution_path == path


def test_two_stages_can_be_asked_for():
    assert read(source(), how("{}", GOOD, path="two-stage")).metadata.execution_path == "two-stage"


def test_an_answer_is_kept_by_content_model_and_path():
    cache = MemoryCache()
    assert not read(source(), how(GOOD, keeper=cache)).metadata.cached
    assert read(source(filename="moved.py"), how(keeper=cache)).metadata.cached
    assert not read(source(lines=51), how(GOOD, keeper=cache)).metadata.cached
    assert not read(source(), how(keeper=cache, model=Scripted(GOOD, name="other"))).metadata.cached
    assert not read(source(), how(GOOD, keeper=cache, path="fast-path")).metadata.cached
    assert not read(source(), how(GOOD, keeper=cache, fresh=True)).metadata.cached


def test_a_sketch_is_not_kept():
    cache = MemoryCache()
    assert read(source(), how(keeper=cache)).metadata.execution_path == "sketch"
    assert read(source(), how(GOOD, keeper=cache)).metadata.execution_path == "fast-path"


def test_what_another_version_kept_is_read_again():
    class Old(MemoryCache):
        async def get(self, key, now):
            return '{"old": true}'

    assert not read(source(), how(GOOD, keeper=Old())).metadata.cached
