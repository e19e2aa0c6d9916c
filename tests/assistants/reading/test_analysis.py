"""Which path a file takes, what happens when one fails, and what is kept."""

import asyncio
import json
import sqlite3

import pytest

from assistants.reading.sample_outlines import ANSWER, source
from treadle.assistant import Host
from treadle.assistants.reading.analysis import AnalysisOptions, analyse
from treadle.assistants.reading.outline.nodes import Outline
from treadle.assistants.reading.source_files import build_source
from treadle.errors import UnknownModel
from treadle.home import DATABASE_FILE, open_home
from treadle.models.scripted import calls
from treadle.stores.journal import JournalQuery
from treadle.testing import Scripted

GOOD = json.dumps(ANSWER)


@pytest.fixture
def how(tmp_path):
    """How to read with a model that replies so, in one home."""

    def using(*replies, model=None, **more):
        found = model or Scripted(*replies)

        async def give():
            if isinstance(found, Exception):
                raise found
            return found

        return AnalysisOptions(Host(open_home(tmp_path), give, "ann", folder=tmp_path), **more)

    return using


def read(file, using):
    return asyncio.run(analyse(file, using)).reading


def runs_in(using):
    return asyncio.run(using.host.home.journal.list_runs(JournalQuery()))


def large():
    return source(lines=400)


def test_a_small_file_takes_the_fast_path(how):
    metadata = read(source(), how(GOOD)).metadata
    assert (metadata.execution_path, metadata.why) == ("fast-path", "the file is small")
    assert (metadata.model, metadata.language, metadata.tokens.requests) == ("scripted", "python", 1)


def test_a_large_file_takes_the_tool(how):
    ask = calls(("refer_to_source_code", {"start_line": 1, "end_line": 9}))
    metadata = read(large(), how(ask, GOOD)).metadata
    assert (metadata.execution_path, metadata.tool_call_count) == ("tool-calling", 1)
    assert metadata.tool_reads[0].start_line == 1


def test_a_class_of_two_hundred_lines_is_read_in_one_call(how):
    ask = [calls(("refer_to_source_code", {"start_line": start, "end_line": end})) for start, end in ((79, 293), (475, 562))]
    metadata = read(source(lines=600), how(*ask, GOOD)).metadata
    assert [(read.start_line, read.end_line) for read in metadata.tool_reads] == [(79, 293), (475, 562)]


def one_by_one(amount):
    return [calls(("refer_to_source_code", {"start_line": n, "end_line": n + 3})) for n in range(1, amount + 1)]


def test_thirty_calls_one_per_reply_are_carried_out_and_then_the_model_has_to_answer(how):
    using = how(*one_by_one(30), GOOD)
    metadata = read(large(), using).metadata
    assert (metadata.execution_path, metadata.tool_call_count, metadata.tokens.requests) == ("tool-calling", 30, 31)


def test_calls_and_lines_of_an_analysis_are_settings(how, tmp_path):
    (tmp_path / "treadle.toml").write_text("[assistants.reading]\nmax_tool_calls = 3\nmax_lines = 3\n")
    within = calls(("refer_to_source_code", {"start_line": 1, "end_line": 3}))
    metadata = read(large(), how(*one_by_one(2), within, GOOD)).metadata
    assert (metadata.tool_call_count, metadata.tokens.requests) == (1, 4)


def test_where_a_path_fails_two_stages_are_tried_and_that_is_said(how):
    metadata = read(large(), how("What?", "What?", '{"ranges_to_read": []}', GOOD)).metadata
    assert metadata.execution_path == "two-stage"
    assert "tool-calling failed" in metadata.why


def test_where_everything_fails_there_is_a_sketch_and_it_says_so(how):
    reading = read(large(), how("What?", "What?", "What?", "What?", "What?"))
    assert reading.metadata.execution_path == "sketch"
    assert "two-stage failed" in reading.metadata.why
    assert "A sketch, made without a model" in reading.metadata.notes
    assert reading.metadata.model == ""
    assert reading.responsibilities


def test_every_fallback_is_data_a_label_and_a_log_line(how, caplog):
    metadata = read(large(), how("What?", "What?", '{"ranges_to_read": []}', GOOD)).metadata
    assert [fallback.path for fallback in metadata.fallbacks] == ["tool-calling"]
    assert metadata.label.startswith("[FALLBACK] tool-calling failed: ")
    assert metadata.label.endswith("; two-stage was used instead.")
    assert not metadata.is_failed
    assert [record.getMessage()[:42] for record in caplog.records if record.name == "treadle.reading"] == [
        "[FALLBACK] shop.py: tool-calling failed: T"
    ]


def test_the_report_has_every_request_and_call_of_paths_that_failed(how):
    ask = calls(
        ("refer_to_source_code", {"start_line": 1, "end_line": 9}), ("refer_to_source_code", {"start_line": 9, "end_line": 1})
    )
    found = asyncio.run(analyse(large(), how(ask, "What?", "What?", '{"ranges_to_read": []}', GOOD)))
    assert [stage.name for stage in found.stages] == [
        *["tool_calling_analysis"] * 3,
        "stage_1_identification",
        "stage_2_analysis",
    ]
    assert sum(stage.tokens.requests for stage in found.stages) == found.reading.metadata.tokens.requests == 5
    assert [(call.args["start_line"], bool(call.problem)) for call in found.calls] == [(1, False), (9, True)]
    assert all(call.timestamp > 0 for call in found.calls)


def test_requests_that_failed_are_in_the_report(how):
    found = asyncio.run(analyse(source(), how()))
    assert found.reading.metadata.is_failed
    assert [failed.reason for failed in found.failed][-1:] == [found.reading.metadata.fallbacks[0].reason]


def test_without_a_model_there_is_a_sketch(how):
    metadata = read(source(), how(model=UnknownModel("Set TREADLE_MODEL."))).metadata
    assert (metadata.execution_path, metadata.why) == ("sketch", "Set TREADLE_MODEL.")


def test_no_model_is_asked_where_none_is_wanted(how):
    assert read(source(), how(path="sketch")).metadata.why == "no model was wanted"


def test_an_empty_file_is_empty(how):
    reading = read(empty(), how())
    assert (reading.file_intent, reading.metadata.execution_path) == ("Empty file", "empty")


def empty():
    return build_source("a.py", " \n\n", Outline("python", 2))


@pytest.mark.parametrize("path", ["fast-path", "tool-calling"])
def test_a_path_can_be_asked_for(how, path):
    assert read(source(), how(GOOD, path=path)).metadata.execution_path == path


def test_two_stages_can_be_asked_for(how):
    assert read(source(), how("{}", GOOD, path="two-stage")).metadata.execution_path == "two-stage"


def test_an_answer_is_kept_by_content_model_and_path(how):
    assert not read(source(), how(GOOD)).metadata.cached
    assert read(source(filename="moved.py"), how()).metadata.cached
    assert not read(source(lines=51), how(GOOD)).metadata.cached
    assert not read(source(), how(model=Scripted(GOOD, name="other"))).metadata.cached
    assert not read(source(), how(GOOD, path="fast-path")).metadata.cached
    assert not read(source(), how(GOOD, fresh=True)).metadata.cached


def test_a_sketch_is_not_kept(how):
    assert read(source(), how()).metadata.execution_path == "sketch"
    assert read(source(), how(GOOD)).metadata.execution_path == "fast-path"


def test_what_another_version_kept_is_read_again(how, tmp_path):
    assert not read(source(), how(GOOD)).metadata.cached
    with sqlite3.connect(tmp_path / DATABASE_FILE) as database:
        database.execute("UPDATE cache SET content = '{\"old\": true}'")
    assert not read(source(), how(GOOD)).metadata.cached


# the run


def test_an_analysis_is_a_run_with_what_it_cost(how):
    using = how(GOOD)
    metadata = read(source(), using).metadata
    (info,) = runs_in(using)
    assert (info.run_id, info.agent, info.status, info.user) == (metadata.run_id, "reading", "answered", "ann")
    assert "What is shop.py for" in info.title


def test_without_a_model_there_is_no_run_and_none_for_what_is_kept(how):
    assert read(source(), how(path="sketch")).metadata.run_id == ""
    assert runs_in(how()) == []
    first = read(source(), how(GOOD)).metadata
    again = read(source(), how()).metadata
    assert (again.cached, again.run_id) == (True, first.run_id)
    assert len(runs_in(how())) == 1


def test_all_paths_of_an_analysis_are_one_run(how):
    using = how("What?", "What?", '{"ranges_to_read": []}', GOOD)
    metadata = read(large(), using).metadata
    assert (metadata.execution_path, metadata.tokens.requests) == ("two-stage", 4)
    assert [info.run_id for info in runs_in(using)] == [metadata.run_id]


def test_a_model_that_fails_leaves_a_failed_run_and_a_sketch(how):
    using = how()
    metadata = read(source(), using).metadata
    assert (metadata.execution_path, metadata.why.startswith("the model's run failed (")) == ("sketch", True)
    assert [info.status for info in runs_in(using)] == ["failed"]
