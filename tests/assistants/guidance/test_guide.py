"""Guidance: answers from what the project holds, every look on record, changes only as shown and approved."""

import asyncio
import json

import pytest

from assistants.guidance.table import SMALL, guided
from treadle.assistants.guidance.store import Provenance
from treadle.assistants.guidance.store.errors import NotThere
from treadle.assistants.guidance.talks import NothingSaid, Talks
from treadle.core.errors import ModelRefused
from treadle.routes import Decision
from treadle.testing import calls

BUDGET = {"constraints": [{"name": "Budget", "description": "At most 10k", "weight": 80}]}


def ask(query, **more):
    async def work(guide, store, project, session):
        return await guide.provide_guidance(project.id, query, session.id, **more)

    return work


def results(request):
    return [part.content for part in request.history[-1].parts]


def test_what_constraints_are_in_my_problem_spec(address, tmp_path):
    answer, model = guided(
        address, tmp_path, ask("What constraints are in my ProblemSpec?"), calls(("get_problem_spec", {})), "Four.\n1. Add more"
    )
    assert "Nobody drives longer than the law allows" in results(model.requests[1])[0]
    assert (answer.guidance_message, answer.guidance_type, answer.workflow_stage) == (
        "Four.\n1. Add more",
        "spec_refinement",
        "ready_to_run",
    )
    assert answer.suggested_actions == ("Add more",)
    (audit,) = answer.tool_call_audits
    assert (audit["tool_name"], audit["success"], audit["error"], audit["user"]) == ("get_problem_spec", True, None, "ann")
    assert audit["duration_ms"] >= 0
    assert len(audit["result_summary"]) <= 203


def test_both_are_looked_up_in_one_reply(address, tmp_path):
    both = calls(("get_problem_spec", {}), ("get_world_model", {}))
    answer, model = guided(
        address, tmp_path, ask("Compare my ProblemSpec constraints with my WorldModel resources"), both, "They fit."
    )
    spec, world = results(model.requests[1])
    assert "Budget" in spec
    assert "Bus lanes" in world
    assert sorted(audit["tool_name"] for audit in answer.tool_call_audits) == ["get_problem_spec", "get_world_model"]


def test_a_small_model_is_led_to_both(address, tmp_path):
    answer, model = guided(
        address, tmp_path, ask("Compare my constraints with my resources"), '{"about": "both"}', "They fit.", traits=SMALL
    )
    assert answer.guidance_message == "They fit."
    assert {audit["tool_name"] for audit in answer.tool_call_audits} == {"get_problem_spec", "get_world_model"}
    assert "Bus lanes" in model.requests[1].history[-1].text


def test_the_model_is_told_the_ids_it_needs(address, tmp_path):
    async def work(guide, store, project, session):
        await guide.provide_guidance(project.id, "Hello", session.id)
        return project.id, session.id

    (project_id, session_id), model = guided(address, tmp_path, work, "Hello!")
    assert project_id in model.requests[0].instructions
    assert session_id in model.requests[0].instructions


@pytest.mark.parametrize(
    ("call", "problem", "said"),
    [
        (("get_problem_spec", {"project_id": "another"}), "raised", "There is no such project in this conversation."),
        (("get_chat_history", {"chat_session_id": "another"}), "raised", "There is no such conversation here."),
        (("get_chat_history", {"limit": "many"}), "invalid", "limit"),
        (("get_secrets", {}), "unknown_tool", "get_secrets"),
        (("list_runs", {}), "denied", "list_runs"),
        (("change_problem_spec", {"constraints": [{"name": "x", "weight": 101}]}), "raised", "from 0 to 100"),
        (("change_problem_spec", {"without_constraints": ["Nothing"]}), "raised", "There is no constraint called 'Nothing'."),
        (("change_problem_spec", {}), "raised", "would change nothing"),
        (("change_world_model", {"section": "planets"}), "invalid", "section"),
    ],
)
def test_what_cant_be_done_is_a_problem_and_on_record(address, tmp_path, call, problem, said):
    answer, model = guided(address, tmp_path, ask("Go"), calls(call), "Sorry.", denied_tools=("list_runs",))
    assert said in results(model.requests[1])[0]
    (audit,) = answer.tool_call_audits
    assert (audit["tool_name"], audit["success"]) == (call[0], False)
    assert audit["error"].startswith(problem)


def test_only_tools_that_are_allowed_are_offered(address, tmp_path):
    _, model = guided(address, tmp_path, ask("Go"), "Well.", allowed_tools=("get_problem_spec",))
    assert [tool.name for tool in model.requests[0].tools] == ["get_problem_spec"]


def test_another_persons_project_isnt_there(address, tmp_path):
    with pytest.raises(NotThere):
        guided(address, tmp_path, ask("Go"), "Well.", user="bob")


def test_nor_is_a_conversation_about_another_project(address, tmp_path):
    async def work(guide, store, project, session):
        other = await store.create_project("ann", "Other")
        await guide.provide_guidance(other.id, "Go", session.id)

    with pytest.raises(NotThere):
        guided(address, tmp_path, work, "Well.")


def test_what_is_read_is_reused_within_a_turn_and_forgotten_after_a_change(address, tmp_path):
    async def work(guide, store, project, session):
        events = [event async for event in guide.stream(project.id, "Go", session.id)]
        (waits,) = events[-1].approvals
        after = [event async for event in guide.answer(waits.run_id, waits.call_id, Decision(approved=True, digest=waits.digest))]
        return [event.cached for event in [*events, *after] if type(event).__name__ == "CallReturned"]

    look = calls(("get_problem_spec", {}))
    cached, _ = guided(address, tmp_path, work, look, look, calls(("change_problem_spec", BUDGET)), look, "Done.")
    assert cached == [False, True, False, False]


@pytest.mark.parametrize("approved", [True, False])
def test_a_change_is_shown_and_made_when_it_is_approved(address, tmp_path, approved):
    async def work(guide, store, project, session):
        waiting = await guide.provide_guidance(project.id, "add a budget constraint of 10k, weight 80", session.id)
        (approval,) = waiting.approvals
        said = guide.answer(
            approval.run_id, approval.call_id, Decision(approved=approved, digest=approval.digest, reason="Not now.")
        )
        done = [event async for event in said][-1]
        return (
            waiting,
            approval,
            done,
            await store.get_problem_spec("ann", project.id),
            await store.list_provenance("ann", project.id),
        )

    (waiting, approval, done, spec, changes), _ = guided(address, tmp_path, work, calls(("change_problem_spec", BUDGET)), "So.")
    assert waiting.stopped == "waiting"
    assert "-  - Budget (weight 90): At most 400,000 a year more than today" in approval.preview
    assert "+  - Budget (weight 80): At most 10k" in approval.preview
    assert done.guidance_message == "So."
    assert (spec.constraints[0].weight == 80) == approved
    assert [change.type for change in changes].count("spec_change") == approved
    if approved:
        assert (changes[-1].actor, changes[-1].version, changes[-1].user) == ("agent", 2, "ann")
        assert "+  - Budget (weight 80)" in changes[-1].description


def test_a_change_that_somebody_else_was_faster_with_is_not_made(address, tmp_path):
    """Approved for what was shown, and something else is there by then: nobody's change is lost."""

    async def work(guide, store, project, session):
        waiting = await guide.provide_guidance(project.id, "budget", session.id)
        (approval,) = waiting.approvals
        spec = await store.get_problem_spec("ann", project.id)
        await store.put_problem_spec("ann", project.id, spec, expected=1, why=Provenance("edit", "by hand"))
        done = [
            event
            async for event in guide.answer(approval.run_id, approval.call_id, Decision(approved=True, digest=approval.digest))
        ][-1]
        return done, await store.get_problem_spec("ann", project.id)

    (done, spec), model = guided(address, tmp_path, work, calls(("change_problem_spec", BUDGET)), "Sorry.")
    assert "Somebody has changed it since" in results(model.requests[1])[0]
    assert (spec.version, spec.constraints[0].weight) == (2, 90)
    assert done.guidance_message == "Sorry."


def test_what_was_approved_is_carried_through_although_nobody_looks_any_more(address, tmp_path):
    async def work(guide, store, project, session):
        waiting = await guide.provide_guidance(project.id, "budget", session.id)
        (approval,) = waiting.approvals
        said = guide.answer(approval.run_id, approval.call_id, Decision(approved=True, digest=approval.digest))
        await anext(said)
        await said.aclose()  # the page was closed
        for _ in range(200):
            if (spec := await store.get_problem_spec("ann", project.id)).version == 2:
                return spec
            await asyncio.sleep(0.02)
        raise AssertionError("nothing was changed")

    spec, _ = guided(address, tmp_path, work, calls(("change_problem_spec", BUDGET)), "Done.")
    assert spec.constraints[0].weight == 80


def test_a_model_that_fails_after_a_change_doesnt_hide_it(address, tmp_path):
    async def work(guide, store, project, session):
        (approval,) = (await guide.provide_guidance(project.id, "budget", session.id)).approvals
        said = guide.answer(approval.run_id, approval.call_id, Decision(approved=True, digest=approval.digest))
        return [event async for event in said][-1]

    answer, _ = guided(address, tmp_path, work, calls(("change_problem_spec", BUDGET)), ModelRefused("gone"))
    assert answer.guidance_message == "The model failed (gone). What was done before that stands: change_problem_spec."
    assert [audit["tool_name"] for audit in answer.tool_call_audits] == ["change_problem_spec"]


def test_what_is_kept_with_a_message_has_no_arguments_that_nobody_masked(address, tmp_path):
    secret = {"constraints": [{"name": "Key", "description": "AKIAIOSFODNN7EXAMPLE", "weight": 1}]}

    async def work(guide, store, project, session):
        return await Talks(store, guide, "ann").keep(session.id, await guide.provide_guidance(project.id, "key", session.id))

    message, _ = guided(address, tmp_path, work, calls(("change_problem_spec", secret)))
    assert message.metadata["approvals"][0]["preview"]
    assert "AKIA" not in json.dumps(message.metadata)


def test_the_world_model_is_changed_likewise(address, tmp_path):
    async def work(guide, store, project, session):
        waiting = await guide.provide_guidance(project.id, "add a supplier", session.id)
        (approval,) = waiting.approvals
        [event async for event in guide.answer(approval.run_id, approval.call_id, Decision(approved=True, digest=approval.digest))]
        return approval, await store.get_world_model("ann", project.id)

    change = {"section": "actors", "entries": [{"name": "Supplier", "type": "firm"}], "without": ["town council"]}
    (approval, world), _ = guided(address, tmp_path, work, calls(("change_world_model", change)), "Done.")
    assert "+  - Supplier (firm)" in approval.preview
    assert [entry.name for entry in world.actors] == ["Passengers", "Drivers", "Supplier"]


def test_a_run_is_recommended_never_started(address, tmp_path):
    checked = calls(("check_run", {"num_candidates": 30}))
    answer, _ = guided(address, tmp_path, ask("Can I start a run?"), checked, "You can.")
    config = answer.recommended_run_config
    assert (config["status"], config["mode"], config["parameters"]["num_candidates"]) == ("ready", "full_search", 30)
    assert [each["code"] for each in config["warnings"]] == ["large_candidate_count"]
    assert config["prerequisites"] == {"problem_spec": True, "world_model": True}


def test_without_a_model_the_state_answers_and_says_so(address, tmp_path):
    answer, _ = guided(address, tmp_path, ask(""))
    assert answer.guidance_message.startswith(
        "No model could be asked (There is no model here), so this comes from the project's state alone."
    )
    assert answer.suggested_actions[0] == "Run the search"
    assert (answer.stopped, answer.guidance_type) == ("failed", "run_recommendation")


def test_the_question_isnt_told_twice_and_what_was_said_before_is(address, tmp_path):
    async def work(guide, store, project, session):
        await store.add_message("ann", session.id, "user", "First")
        await store.add_message("ann", session.id, "agent", "Answer")
        await store.add_message("ann", session.id, "system", "A failure")
        await store.add_message("ann", session.id, "user", "Second")
        await guide.provide_guidance(project.id, "Second", session.id)

    _, model = guided(address, tmp_path, work, "Well.")
    assert [(message.role, message.text) for message in model.requests[0].history] == [
        ("person", "First"),
        ("model", "Answer"),
        ("person", "Second"),
    ]


def test_an_answer_is_kept_with_its_looks(address, tmp_path):
    async def work(guide, store, project, session):
        talks = Talks(store, guide, "ann")
        with pytest.raises(NothingSaid):
            await talks.reply(session.id)
        await store.add_message("ann", session.id, "user", "Constraints?")
        return await talks.reply(session.id), await store.list_messages("ann", session.id)

    (reply, messages), _ = guided(address, tmp_path, work, calls(("get_problem_spec", {})), "Four.")
    assert [message.role for message in messages] == ["user", "agent"]
    assert (reply.content, reply.metadata["agent_name"], reply.metadata["workflow_stage"]) == ("Four.", "Architect", "ready_to_run")
    assert reply.metadata["tool_call_audits"][0]["tool_name"] == "get_problem_spec"
    assert json.dumps(reply.metadata)  # can be told to anybody
