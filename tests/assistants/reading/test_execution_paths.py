"""The three ways to ask a model about a file."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from assistants.reading.sample_outlines import ANSWER, DESCRIPTIONS, source
from treadle import Agent, Limits, tool
from treadle.assistants.reading import execution_paths
from treadle.assistants.reading.change_reading import INSTRUCTIONS as CHANGE_INSTRUCTIONS
from treadle.assistants.reading.execution_paths import (
    PathContext,
    UnusableAnswer,
    collect_strings,
    run_fast_path,
    run_tool_calling,
    run_two_stage,
)
from treadle.assistants.reading.folder_reading import INSTRUCTIONS as FOLDER_INSTRUCTIONS
from treadle.assistants.reading.settings import MAX_TOOL_CALLS
from treadle.assistants.reading.source_files import SourceReader
from treadle.core.requests import Traits
from treadle.models.scripted import calls
from treadle.plans import GuidedModel, PlanStep
from treadle.testing import Scripted

GOOD = json.dumps(ANSWER)
DESCRIBED = json.dumps(DESCRIPTIONS)
LABELS = ["Keeping the shelf", "Knowing prices", "Filling it up"]


def reads(*spans):
    return calls(*[("refer_to_source_code", {"start_line": start, "end_line": end}) for start, end in spans])


def run(path, *replies, of=None, **more):
    model, file, found, stages = Scripted(*replies, **more), of or source(), [], []

    def plan(request):
        found.append((yield from path(PathContext(model.traits, request, stages=stages), file)))
        return PlanStep(text="Done.")

    tools = [tool(SourceReader(file).refer_to_source_code, effect="read")]
    agent = Agent(
        GuidedModel(model, plan),
        tools=tools,
        limits=Limits(rounds=40, per_tool={"refer_to_source_code": MAX_TOOL_CALLS}),
        dialect="native",
    )
    assert asyncio.run(agent.run("What is it for?")).output == "Done."
    model.stages = [stage.name for stage in stages]
    return found[0], model


def last(request):
    return request.history[-1].parts[0]


def test_a_small_file_is_sent_whole_with_numbers():
    asked, model = run(run_fast_path, GOOD)
    assert (asked.path, [block.label for block in asked.settled.blocks]) == ("fast-path", LABELS)
    assert "\n7|line 7\n" in last(model.requests[0]).text
    assert model.requests[0].tools == ()


def test_a_large_file_is_shown_as_its_outline_with_a_tool():
    asked, model = run(run_tool_calling, reads((9, 30), (32, 36)), GOOD)
    assert asked.path == "tool-calling"
    assert [(read.start_line, read.end_line) for read in asked.reads] == [(9, 30), (32, 36)]
    first, second = model.requests
    assert [tool.name for tool in first.tools] == ["refer_to_source_code"]
    assert "line 7" not in last(first).text
    assert "Shelf" in last(first).text
    assert [part.content.splitlines()[0] for part in second.history[-1].parts] == ["line 9", "line 32"]


def test_lines_that_are_not_there_are_a_problem_and_an_end_beyond_the_file_is_its_end():
    asked, model = run(run_tool_calling, reads((0, 5), (9, 3), (60, 70), (48, 99)), GOOD)
    results = [part.content for part in model.requests[1].history[-1].parts]
    assert ["Invalid line range" in result for result in results] == [True, True, True, False]
    assert [(read.start_line, read.end_line) for read in asked.reads] == [(48, 50)]


def test_whether_the_tool_is_called_is_the_models_to_decide():
    without, model = run(run_tool_calling, GOOD)
    assert (without.path, without.reads, len(model.requests)) == ("tool-calling", (), 1)
    assert [tool.name for tool in model.requests[0].tools] == ["refer_to_source_code"]
    assert len(run(run_tool_calling, reads((1, 9)), GOOD)[0].reads) == 1


def test_a_call_that_failed_is_tried_again_with_other_lines():
    asked, model = run(run_tool_calling, reads((60, 70)), reads((40, 50)), GOOD)
    assert "Invalid line range" in model.requests[1].history[-1].parts[0].content
    assert [(read.start_line, read.end_line) for read in asked.reads] == [(40, 50)]


def test_the_instructions_say_when_source_is_read_and_when_it_is_not():
    _, model = run(run_tool_calling, GOOD)
    said = model.requests[0].instructions
    assert "read its lines with refer_to_source_code" in said
    assert "What is clear needs no reading." in said


def test_the_whole_of_a_large_file_is_not_read():
    asked, model = run(run_tool_calling, reads((1, 401)), GOOD, of=source(lines=500))
    assert asked.reads == ()
    assert "That is 401 lines; at most 400 are read at once." in model.requests[1].history[-1].parts[0].content


def test_there_is_an_end_to_reading():
    greedy = [reads(*[(1, round_ * 4 + n) for n in range(1, 5)]) for round_ in range(8)]
    asked, model = run(run_tool_calling, *greedy, GOOD)
    assert len(asked.reads) == MAX_TOOL_CALLS
    assert model.requests[-1].tools == ()


def test_an_answer_in_a_fence_with_words_around_it_is_read():
    asked, _ = run(run_fast_path, f"Here it is:\n```json\n{GOOD}\n```\nDone.")
    assert len(asked.settled.blocks) == 3


def test_what_is_wrong_goes_back_once():
    bad = json.dumps({**ANSWER, "responsibilities": [{**ANSWER["responsibilities"][0], "label": "Helpers", "ranges": [[1, 50]]}]})
    asked, model = run(run_tool_calling, reads((9, 30)), bad, GOOD)
    assert [block.label for block in asked.settled.blocks] == LABELS
    assert "'Helpers' could stand on anything" in last(model.requests[2]).text
    assert any(message.role == "tools" for message in model.requests[2].history), "what was read is still known"
    assert model.stages == ["tool_calling_analysis"] * 3, "that which called the tool, too"


def test_the_better_of_two_bad_answers_is_taken():
    worse, bad = json.dumps({"file_intent": "x"}), json.dumps({**ANSWER, "responsibilities": ANSWER["responsibilities"][:1]})
    asked, _ = run(run_fast_path, bad, worse)
    assert [block.label for block in asked.settled.blocks] == [LABELS[0], "total and price functions", "Empty class"]


@pytest.mark.parametrize(
    "said",
    [
        "I don't know.",
        '{"file_intent": "x", "responsibilities": []}',
        GOOD.replace("Keeps a shop's shelf and knows its prices.", ""),
    ],
)
def test_an_answer_of_no_use_is_none(said):
    with pytest.raises(UnusableAnswer):
        run(run_fast_path, said, said)


def echoing(said):
    """An answer that says what it was told to do, as if the file did."""
    return json.dumps({**ANSWER, "file_intent": said})


PATHS = {
    "fast-path": (run_fast_path, execution_paths.FAST_PROMPT),
    "tool-calling": (run_tool_calling, execution_paths.TOOLS_PROMPT),
}
PLANTED = [
    ("fast-path", "It is there to tell a developer what a source file is for."),
    ("fast-path", "Each holds all that serves one purpose."),
    ("tool-calling", "You get its outline: line ranges, definitions."),
]


@pytest.mark.parametrize(("path", "said"), PLANTED)
def test_an_answer_in_the_words_of_the_prompt_is_asked_for_again_and_then_refused(path, said):
    way, _ = PATHS[path]
    asked, model = run(way, echoing(said), GOOD)
    assert asked.settled.file_intent == ANSWER["file_intent"]
    assert "is in your instructions and not in the code" in last(model.requests[1]).text
    with pytest.raises(UnusableAnswer, match="it repeats its instructions"):
        run(way, echoing(said), echoing(said))


def test_labels_and_descriptions_are_held_to_the_file_too():
    for field, said in (("label", "Line ranges"), ("description", "Functions, state, imports, types and constants.")):
        first, *others = ANSWER["responsibilities"]
        planted = json.dumps({**ANSWER, "responsibilities": [{**first, field: said}, *others]})
        with pytest.raises(UnusableAnswer, match="it repeats its instructions"):
            run(run_fast_path, planted, planted)


def test_words_of_the_prompt_that_are_in_the_file_may_be_used():
    file = source()
    about = replace(file, text=f"{file.text}# Each request holds all that serves one purpose of a developer\n")
    assert run(run_fast_path, echoing("Each holds all that serves one purpose."), of=about)[0].settled.file_intent.startswith(
        "Each"
    )


@pytest.mark.parametrize(
    "text",
    [
        execution_paths.FAST_PROMPT,
        execution_paths.TOOLS_PROMPT,
        execution_paths.GROUPS_PROMPT,
        execution_paths.ANALYSE_PROMPT,
        FOLDER_INSTRUCTIONS,
        CHANGE_INSTRUCTIONS,
    ],
)
def test_the_form_of_an_answer_has_no_words_that_could_be_taken_for_the_files(text):
    form = json.JSONDecoder().raw_decode(text[text.index('{"') :])[0]
    assert form
    assert not [word for word in collect_strings(form) if any(map(str.isalnum, word))]


def test_two_stages_read_what_the_first_asks_for():
    wanted = {"ranges_to_read": [{"start_line": 9, "end_line": 30, "reason": "unclear"}, {"start_line": 80, "end_line": 99}, "x"]}
    asked, model = run(lambda view, file: run_two_stage(view, file, '{"type": "module"}'), json.dumps(wanted), GOOD)
    assert (asked.path, model.stages) == ("two-stage", ["stage_1_identification", "stage_2_analysis"])
    assert [(read.start_line, read.reason) for read in asked.reads] == [(9, "unclear")]
    assert '"9-30":"line 9\\n' in last(model.requests[1]).text
    assert all('{"type": "module"}' in last(request).text for request in model.requests)


def test_a_model_that_is_held_to_shapes_is_held_to_its_answer_from_the_outline_alone():
    held = Traits(native_calls=False, holds=True)
    asked, model = run(run_tool_calling, DESCRIBED, traits=held)
    assert [block.label for block in asked.settled.blocks] == LABELS
    assert "refer_to_source_code" not in model.requests[0].instructions
    assert model.requests[0].tools == ()
    assert model.requests[0].shape["required"] == ["file_intent", "part_1_Shelf", "part_2_total", "part_3_restock"]
    assert "part_1_Shelf:\nShelf (methods put, take)" in last(model.requests[0]).text


def test_a_large_outline_is_cut_to_what_the_model_can_read():
    file = source()
    wide = replace(file, outline=replace(file.outline, nodes=file.outline.nodes * 400))
    _, model = run(run_tool_calling, GOOD, of=wide, traits=Traits(context=4000))
    assert len(last(model.requests[0]).text) < 4000 * 3 / 2
