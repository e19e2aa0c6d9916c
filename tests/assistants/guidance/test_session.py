"""The guidance assistant's session: answers from what the project holds, every look on record, changes as shown and approved."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from assistants.guidance.table import SMALL, on_both_stores
from treadle import Answer, Runs, open_home
from treadle.assistant import AssistantSession, ContextNotFound
from treadle.assistants.guidance.projects import open_projects
from treadle.assistants.guidance.session import recover_answers
from treadle.assistants.guidance.store import Provenance
from treadle.core.entries import Opened, Said
from treadle.core.errors import ModelRefused, SettingsError
from treadle.testing import calls

BUDGET = {"constraints": [{"name": "Budget", "description": "At most 10k", "weight": 80}]}
CHANGE = calls(("change_problem_spec", BUDGET))


def ask(query):
    async def work(session, store):
        return (await session.run(query)).data

    return work


def about(session):
    return session.host.about["project_id"], session.host.about["session_id"]


async def decide(session, guided, approved=True, reason=""):
    (waits,) = guided.approvals
    return (await session.answer(waits.run_id, waits.call_id, Answer(approved, reason=reason), waits.digest)).data


def results(request):
    return [part.content for part in request.history[-1].parts]


def test_what_constraints_are_in_my_problem_spec(table):
    answer, model = table(ask("What constraints are in my ProblemSpec?"), calls(("get_problem_spec", {})), "Four.\n1. Add more")
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


def test_both_are_looked_up_in_one_reply(table):
    both = calls(("get_problem_spec", {}), ("get_world_model", {}))
    answer, model = table(ask("Compare my ProblemSpec constraints with my WorldModel resources"), both, "They fit.")
    spec, world = results(model.requests[1])
    assert "Budget" in spec
    assert "Bus lanes" in world
    assert sorted(audit["tool_name"] for audit in answer.tool_call_audits) == ["get_problem_spec", "get_world_model"]


def test_a_small_model_is_led_to_both(table):
    answer, model = table(ask("Compare my constraints with my resources"), '{"about": "both"}', "They fit.", traits=SMALL)
    assert answer.guidance_message == "They fit."
    assert {audit["tool_name"] for audit in answer.tool_call_audits} == {"get_problem_spec", "get_world_model"}
    assert "Bus lanes" in model.requests[1].history[-1].text


def test_without_a_project_the_tools_mean_the_one_that_changed_last(table):
    async def work(session, store):
        await store.create_project("ann", "Older", "Nothing in it")
        bare = AssistantSession(session.assistant, session.host, {})
        await store.update_project("ann", session.host.about["project_id"], expected=1, title="Buses")
        return (await bare.run("What constraints do I have?")).result

    result, model = table(
        work, calls(("list_projects", {}), ("get_problem_spec", {}), ("get_world_model", {"project_id": "Older"})), "Four."
    )
    listed, spec, world = results(model.requests[1])
    assert listed.index("Buses") < listed.index("Older")
    assert "Fares" in spec
    assert world == "The project has no world model yet."
    assert (result.text, "list_projects" in model.requests[0].instructions) == ("Four.", True)


def test_a_small_model_is_led_without_a_project_too(table):
    async def work(session, store):
        return (await AssistantSession(session.assistant, session.host, {}).run("What constraints do I have?")).result

    result, model = table(work, '{"about": "spec"}', "yes", "Four.", traits=SMALL)  # yes: what was found has the answer
    assert (result.text, "Fares" in model.requests[2].history[-1].text) == ("Four.", True)


def test_whoever_has_no_project_is_told_how_to_begin_one(table):
    async def work(session, store):
        await store.delete_project("ann", session.host.about["project_id"])
        return (await AssistantSession(session.assistant, session.host, {}).run("What constraints do I have?")).result

    _, model = table(work, calls(("get_problem_spec", {})), "None.")
    assert "There are no projects yet" in results(model.requests[1])[0]


def test_the_model_is_told_the_ids_it_needs(table):
    async def work(session, store):
        await session.run("Hello")
        return about(session)

    ids, model = table(work, "Hello!")
    assert all(each in model.requests[0].instructions for each in ids)


@pytest.mark.parametrize(
    ("call", "problem", "said"),
    [
        (("get_problem_spec", {"project_id": "another"}), "raised", "There is no such project in this conversation."),
        (("get_chat_history", {"chat_session_id": "another"}), "raised", "There is no such conversation here."),
        (("get_chat_history", {"limit": "many"}), "invalid", "limit"),
        (("get_secrets", {}), "unknown_tool", "get_secrets"),
        (("list_runs", {}), "unknown_tool", "list_runs"),
        (("change_problem_spec", {"constraints": [{"name": "x", "weight": 101}]}), "raised", "from 0 to 100"),
        (("change_problem_spec", {"without_constraints": ["Nothing"]}), "raised", "There is no constraint called 'Nothing'."),
        (("change_problem_spec", {}), "raised", "would change nothing"),
        (("change_world_model", {"section": "planets"}), "invalid", "section"),
    ],
)
def test_what_cant_be_done_is_a_problem_and_on_record(table, call, problem, said):
    answer, model = table(ask("Go"), calls(call), "Sorry.", denied_tools=("list_runs",))
    assert said in results(model.requests[1])[0]
    (audit,) = answer.tool_call_audits
    assert (audit["tool_name"], audit["success"]) == (call[0], False)
    assert audit["error"].startswith(problem)


def test_only_tools_that_are_allowed_are_offered(table):
    _, model = table(ask("Go"), "Well.", allowed_tools=("get_problem_spec", "list_runs"), denied_tools=("list_runs",))
    assert [tool.name for tool in model.requests[0].tools] == ["get_problem_spec"]


@pytest.mark.parametrize("key", ["allowed_tools", "denied_tools"])
def test_a_misspelt_tool_in_a_setting_is_refused(table, key):
    with pytest.raises(SettingsError, match=rf"assistants\.guidance\.{key} names list_run, .* list_runs"):
        table(ask("Go"), "Well.", **{key: ("list_run",)})


def test_another_persons_project_isnt_there(table):
    with pytest.raises(ContextNotFound):
        table(ask("Go"), "Well.", user="bob")


@pytest.mark.parametrize("context", [{"session_id": True}, {"message_id": "x"}, {"project_id": 7}, {"project_id": ""}])
def test_a_context_that_doesnt_fit_together_isnt_there_either(table, context):
    async def work(session, store):
        other = await store.create_project("ann", "Other")
        given = {"project_id": other.id} if context == {"session_id": True} else context
        await AssistantSession(session.assistant, session.host, {**session.host.about, **given}).run("Go")

    with pytest.raises(ContextNotFound):
        table(work, "Well.")


def test_the_store_is_open_once_and_closed_after_the_last(table):
    async def work(session, store):
        async with open_projects(session.host) as again:
            assert again is store
        return await store.list_projects("ann")

    assert len(table(work, "Well.")[0]) == 1


def test_what_is_read_is_reused_within_a_turn_and_forgotten_after_a_change(table):
    async def work(session, store):
        events = [event async for event in session.stream("Go")]
        (waits,) = events[-1].data.approvals
        after = [event async for event in session.stream_answer(waits.run_id, waits.call_id, Answer(True), waits.digest)]
        return [event.cached for event in [*events, *after] if type(event).__name__ == "CallReturned"]

    look = calls(("get_problem_spec", {}))
    cached, _ = table(work, look, look, CHANGE, look, "Done.")
    assert cached == [False, True, False, False]


@on_both_stores
@pytest.mark.parametrize("approved", [True, False])
def test_a_change_is_shown_and_made_when_it_is_approved(table, approved):
    async def work(session, store):
        waiting = (await session.run("add a budget constraint of 10k, weight 80")).data
        done = await decide(session, waiting, approved, "Not now.")
        project, _ = about(session)
        return waiting, done, await store.get_problem_spec("ann", project), await store.list_provenance("ann", project)

    (waiting, done, spec, changes), _ = table(work, CHANGE, "So.")
    (approval,) = waiting.approvals
    assert waiting.stopped == "waiting"
    assert "-  - Budget (weight 90): At most 400,000 a year more than today" in approval.preview
    assert "+  - Budget (weight 80): At most 10k" in approval.preview
    assert approval.preview in waiting.guidance_message
    assert waiting.guidance_message.endswith("Answer yes or no.")
    assert done.guidance_message == "So."
    assert (spec.constraints[0].weight == 80) == approved
    assert [change.type for change in changes].count("spec_change") == approved
    if approved:
        assert (changes[-1].actor, changes[-1].version, changes[-1].user) == ("agent", 2, "ann")
        assert "+  - Budget (weight 80)" in changes[-1].description


@on_both_stores
def test_a_change_that_somebody_else_was_faster_with_is_not_made(table):
    """Approved for what was shown, and something else is there by then: nobody's change is lost."""

    async def work(session, store):
        waiting = (await session.run("budget")).data
        project, _ = about(session)
        spec = await store.get_problem_spec("ann", project)
        await store.put_problem_spec("ann", project, spec, expected=1, why=Provenance("edit", "by hand"))
        return await decide(session, waiting), await store.get_problem_spec("ann", project)

    (done, spec), model = table(work, CHANGE, "Sorry.")
    assert "It was changed since" in results(model.requests[1])[0]
    assert (spec.version, spec.constraints[0].weight) == (2, 90)
    assert done.guidance_message == "Sorry."


def test_what_was_approved_is_carried_through_although_nobody_looks_any_more(table):
    async def work(session, store):
        (waits,) = (await session.run("budget")).data.approvals
        seen = session.stream_answer(waits.run_id, waits.call_id, Answer(True), waits.digest)
        await anext(seen)
        await seen.aclose()  # the page was closed
        for _ in range(200):
            if (spec := await store.get_problem_spec("ann", about(session)[0])).version == 2:
                return spec
            await asyncio.sleep(0.02)
        raise AssertionError("nothing was changed")

    spec, _ = table(work, CHANGE, "Done.")
    assert spec.constraints[0].weight == 80


def test_a_model_that_fails_after_a_change_doesnt_hide_it(table):
    async def work(session, store):
        return await decide(session, (await session.run("budget")).data)

    answer, _ = table(work, CHANGE, ModelRefused("gone"))
    assert answer.guidance_message == "The model failed (gone). What was done before that stands: change_problem_spec."
    assert [audit["tool_name"] for audit in answer.tool_call_audits] == ["change_problem_spec"]


def test_the_world_model_is_changed_likewise(table):
    async def work(session, store):
        waiting = (await session.run("add a supplier")).data
        await decide(session, waiting)
        return waiting.approvals[0], await store.get_world_model("ann", about(session)[0])

    change = {"section": "actors", "entries": [{"name": "Supplier", "type": "firm"}], "without": ["town council"]}
    (approval, world), _ = table(work, calls(("change_world_model", change)), "Done.")
    assert "+  - Supplier (firm)" in approval.preview
    assert [entry.name for entry in world.actors] == ["Passengers", "Drivers", "Supplier"]


def test_a_run_is_recommended_never_started(table):
    checked = calls(("check_run", {"num_candidates": 30}))
    answer, _ = table(ask("Can I start a run?"), checked, "You can.")
    config = answer.recommended_run_config
    assert (config["status"], config["mode"], config["parameters"]["num_candidates"]) == ("ready", "full_search", 30)
    assert [each["code"] for each in config["warnings"]] == ["large_candidate_count"]
    assert config["prerequisites"] == {"problem_spec": True, "world_model": True}


# what is kept in the chat session


def test_what_was_said_before_is_told_but_for_failures(table):
    async def work(session, store):
        chat = about(session)[1]
        await store.add_message("ann", chat, "user", "First")
        await store.add_message("ann", chat, "agent", "Answer")
        await store.add_message("ann", chat, "system", "A failure")
        await session.run("Second")

    _, model = table(work, "Well.")
    assert [(message.role, message.text) for message in model.requests[0].history] == [
        ("person", "First"),
        ("model", "Answer"),
        ("person", "Second"),
    ]


@on_both_stores
def test_a_question_and_its_answer_are_kept_once_however_often_the_reply_is_asked_for(table):
    async def work(session, store):
        reply = await session.run("Can I start a run?")
        again = await asyncio.gather(*[session.reply(reply.result) for _ in range(3)])
        assert all(each == reply.data for each in again)
        return reply.result, await store.list_messages("ann", about(session)[1])

    (result, (said, answer)), _ = table(work, calls(("check_run", {})), "You can.")
    assert (said.role, said.content, said.metadata) == ("user", "Can I start a run?", {"run_id": result.run_id})
    assert (answer.role, answer.content, answer.metadata["agent_name"]) == ("agent", "You can.", "Architect")
    assert (answer.metadata["run_id"], answer.metadata["tool_call_audits"][0]["tool_name"]) == (result.run_id, "check_run")
    assert json.dumps(answer.metadata)  # can be told to anybody


def test_a_question_about_a_change_and_what_came_of_it_are_two_messages(table):
    async def work(session, store):
        await decide(session, (await session.run("budget")).data)
        return await store.list_messages("ann", about(session)[1])

    messages, _ = table(work, CHANGE, "Done.")
    assert [(each.role, each.metadata.get("stopped")) for each in messages] == [
        ("user", None),
        ("agent", "waiting"),
        ("agent", "answered"),
    ]
    assert len({each.metadata["run_id"] for each in messages}) == 1


def test_what_is_kept_with_a_message_has_no_arguments_that_nobody_masked(table):
    secret = {"constraints": [{"name": "Key", "description": "AKIAIOSFODNN7EXAMPLE", "weight": 1}]}

    async def work(session, store):
        await session.run("key")
        return (await store.list_messages("ann", about(session)[1]))[-1]

    message, _ = table(work, calls(("change_problem_spec", secret)))
    assert message.metadata["approvals"][0]["preview"]
    assert "AKIA" not in json.dumps(message.metadata) + message.content


def test_an_answer_whose_process_was_killed_before_it_was_kept_is_kept_later(table, tmp_path):
    """What the journal has of a run that ended is what a kill between its last entry and the reply leaves."""

    async def work(session, store):
        chat, journal = about(session)[1], open_home(tmp_path).journal
        await session.begin("lost", "Well?")
        origin = {"about": dict(session.host.about)}
        entries = [Opened(agent="guidance", user="ann", origin=origin), Said(text="Well?")]
        await journal.append("lost", 0, entries)
        await recover_answers(session.host, store, chat)
        assert len(await store.list_messages("ann", chat)) == 1  # it isn't over
        agent = session.agent(await session.host.model())
        await agent.resume("lost", journal=session.host.home.services(), user="ann")
        await recover_answers(session.host, store, chat)
        await recover_answers(session.host, store, chat)
        return await store.list_messages("ann", chat)

    (_, answer), _ = table(work, "All is well.")
    assert (answer.content, answer.metadata["run_id"]) == ("All is well.", "lost")


def test_a_change_that_was_cancelled_is_said_to_be(table, tmp_path):
    async def work(session, store):
        reply, chat = await session.run("budget"), about(session)[1]
        await Runs(session.host.home).cancel(reply.result.run_id)
        await recover_answers(session.host, store, chat)
        return (await store.list_messages("ann", chat))[-1]

    message, _ = table(work, CHANGE)
    assert (message.metadata["stopped"], message.metadata["approvals"]) == ("cancelled", [])


def test_a_run_of_somebody_else_who_shares_the_project_is_theirs_to_go_on_with(table):
    async def work(session, store):
        project, chat = about(session)
        await store.share_project("ann", project, "bob")
        reply = await session.run("budget")
        bobs = replace(session.host, user="bob")
        await recover_answers(bobs, store, chat)
        return [each.metadata.get("stopped") for each in await store.list_messages("bob", chat)], reply.result.stopped

    (stopped, how), _ = table(work, CHANGE)
    assert (stopped, how) == ([None, "waiting"], "waiting")


def test_an_answer_about_a_project_that_is_gone_has_nothing_with_it(table):
    async def work(session, store):
        reply = await session.run("Well?")
        await store.delete_project("ann", about(session)[0])
        return await session.reply(reply.result)

    assert table(work, "Well.")[0] is None
