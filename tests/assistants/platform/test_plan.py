"""How a small model is led: it says what a message is about, code chooses the tools, and it words what was found."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistants.platform.platform_setup import SPEC
from treadle import Call, History, Message, Result, Text
from treadle.assistants.platform.client import PlatformForbidden
from treadle.assistants.platform.intent import ABOUT, INSTRUCTIONS, MessageIntent, find_number, find_workflow_status, parse_intent
from treadle.assistants.platform.plan import ANSWER, NOT_FOUND, first_field, format_tool_result, plan_platform
from treadle.assistants.platform.prompts import GENERATE, format_documentation
from treadle.core.calls import Opaque
from treadle.core.requests import ToolSpec
from treadle.models import Request
from treadle.passages import Passage, PassageHit
from treadle.plans import FindingsQuestion, PlanQuestion

PASSAGE = format_documentation([PassageHit(Passage("Ten buckets a team.", source="docs/quotas.md"), 0.9)])


def said(text):
    return Message("person", (Text(text),))


def result(name, value, failed=False):
    """What a tool returned, or the words of its problem."""
    data = None if isinstance(value, str) else value
    return Result("c", name, value if data is None else json.dumps(data), "raised" if failed else None, data=data)


def brought(name, value):
    return Message("model", (Call("c", name, {}),)), Message("tools", (result(name, value),))


def led(history, *words, instructions="", tools=(), note="", found="yes"):
    """The move, and what the model was asked on the way to it; these are its words, and whether what was found has the answer."""
    going, asked, left = plan_platform(Request(instructions, History(history), tools, note)), [], list(words)
    try:
        question = next(going)
        while True:
            if isinstance(question, FindingsQuestion):
                question = going.send(found)
                continue
            asked.append(question)
            question = going.send(left.pop(0))
    except StopIteration as over:
        return over.value, asked


def wish(about, app=""):
    return json.dumps({"about": about, "app": app})


@pytest.mark.parametrize(
    ("message", "said_of_it", "call"),
    [
        ("What have I got?", wish("applications"), ("list_applications", {})),
        ("Tell me about demo-app", wish("application", "demo-app"), ("get_application", {"app_name": "demo-app"})),
        ("Tell me about it", wish("application", "demo-app"), ("list_applications", {})),
        (
            "failed workflows of demo-app",
            wish("workflows", "demo-app"),
            ("list_workflows", {"app_name": "demo-app", "status": "failed"}),
        ),
        ("what is running", wish("workflows"), ("list_workflows", {"status": "running"})),
        ("Show me workflow 12", wish("workflows"), ("get_workflow", {"workflow_id": "12"})),
        ("the 12 newest workflows", wish("workflows"), ("list_workflows", {})),
        ("why did #7 fail", wish("workflow"), ("get_workflow", {"workflow_id": "7"})),
        (
            "Why did the last one of demo-app fail?",
            wish("workflow", "demo-app"),
            ("list_workflows", {"app_name": "demo-app", "status": "failed"}),
        ),
        ("databases", wish("resources"), ("list_resources", {})),
        ("figures", wish("figures"), ("get_dashboard_stats", {})),
        ("paths", wish("paths"), ("list_golden_paths", {})),
        ("providers", wish("providers"), ("list_providers", {})),
        ("who am I", wish("me"), ("get_current_user", {})),
        ("deploy it", wish("deploy"), ("deploy_application", {})),
        (f"deploy\n```yaml\n{SPEC}```", wish("deploy"), ("deploy_application", {"spec_content": SPEC})),
        ("delete Demo-App", wish("delete", "Demo-App"), ("delete_application", {"app_name": "Demo-App"})),
        ("delete it", wish("delete", "demo-app"), ("list_applications", {})),
        ("Retry workflow 7", wish("workflow"), ("retry_workflow", {"workflow_id": "7"})),
        (
            "Please retry what went through last of demo-app",
            wish("workflow", "demo-app"),
            ("list_workflows", {"app_name": "demo-app", "status": "failed"}),
        ),
        ("Run the golden path deploy-app", wish("deploy"), ("list_golden_paths", {})),
    ],
)
def test_what_a_message_is_about_chooses_the_call(message, said_of_it, call):
    move, asked = led([said(message)], said_of_it)
    (made,) = move.calls
    assert (made[0], {key: value.strip() for key, value in made[1].items()}) == (
        call[0],
        {key: value.strip() for key, value in call[1].items()},
    )
    assert [question.instructions for question in asked] == [INSTRUCTIONS]


def test_what_was_found_is_put_into_words():
    move, (asked,) = led([said("Apps?"), *brought("list_applications", [{"name": "a", "containers": ["w: i"]}])], " You have a. ")
    assert (move.text, asked.instructions) == ("You have a.", ANSWER)
    assert "The person's applications:\n- name: a; containers: w: i\n\n" in asked.text
    assert asked.text.endswith("Question: Apps?")


def test_a_problem_is_told_as_it_is():
    refused = PlatformForbidden("The platform refused: Access denied.", "Tell the person so.")
    came = Result("c", "get_application", str(refused), "raised", data=refused.data)
    made = Message("model", (Call("c", "get_application", {}),))
    move, asked = led([said("reports?"), made, Message("tools", (came,))])
    assert (asked, str(refused)) == ([], "The platform refused: Access denied. Tell the person so.")
    assert move.text == "The platform refused: Access denied."
    late = Result("c", "get_application", "It took too long.", "timeout")
    assert led([said("reports?"), made, Message("tools", (late,))])[0].text == "It took too long."


def test_why_something_failed_is_looked_up_in_the_newest_of_what_was_found():
    listed = brought("list_workflows", [{"id": 7, "status": "failed"}, {"id": 3}])
    assert led([said("Why did demo-app fail?"), *listed])[0].calls == (("get_workflow", {"workflow_id": "7"}),)
    assert led([said("Which workflows failed?"), *listed], "7 and 3.")[0].text == "7 and 3."
    assert (
        led([said("Why did it fail?"), *brought("list_workflows", "There are no such workflows.")], "It didn't.")[0].text
        == "It didn't."
    )


def test_a_resource_that_was_taken_for_an_application_is_looked_for_among_all():
    call = Message("model", (Call("c", "list_resources", {"app_name": "seats"}),))
    nothing = Message("tools", (result("list_resources", "seats has no resources."),))
    move, _ = led([said("What does seats belong to?"), call, nothing])
    assert move.calls == (("list_resources", {}),)
    everything = brought("list_resources", "The platform has no resources.")
    move, asked = led([said("What does seats belong to?"), call, nothing, *everything], "There is none.")
    assert (move.text, len(asked)) == ("There is none.", 1)


RESOURCES = [
    {"application_name": "shop", "resource_name": "seats", "resource_type": "postgres"},
    {"application_name": "wiki", "resource_name": "pages", "resource_type": "postgres"},
]


def test_details_of_a_resource_are_looked_up_in_the_application_that_has_it():
    found = brought("list_resources", RESOURCES)
    move, _ = led([said("How big is the database pages?"), *found])
    assert move.calls == (("get_application", {"app_name": "wiki"}),)
    several, asked = led([said("Which version do our databases have?"), *found], "It doesn't say.")
    assert (several.calls, len(asked)) == ((), 1)
    plain, asked = led([said("Who has the database pages?"), *found], "wiki.")
    assert (plain.calls, len(asked)) == ((), 1)


def test_the_newest_failure_is_retried_where_no_number_was_named():
    listed = brought("list_workflows", [{"id": 7, "status": "failed"}, {"id": 3}])
    assert led([said("Retry the workflow of demo-app"), *listed])[0].calls == (("retry_workflow", {"workflow_id": "7"}),)


def test_the_golden_path_that_a_message_names_is_run_with_what_it_gives():
    listed = brought("list_golden_paths", [{"name": "deploy-app"}, {"name": "deploy-app-fast"}, "and 3 more"])
    message = f"Run the golden path deploy-app-fast with branch=main:\n```yaml\n{SPEC}```"
    ((name, arguments),) = led([said(message), *listed])[0].calls
    assert (name, arguments["path"], arguments["parameters"]) == ("run_golden_path", "deploy-app-fast", {"branch": "main"})
    assert arguments["spec_content"].strip() == SPEC.strip()
    assert led([said("Use a golden path"), *listed], "Which one?")[0].text == "Which one?"


def test_after_deploying_the_status_is_looked_up_where_it_was_asked_for():
    deployed = brought("deploy_application", {"name": "my-app", "status": "success"})
    assert led([said("Deploy it and show its status"), *deployed])[0].calls == (("get_application", {"app_name": "my-app"}),)
    assert led([said("Deploy it"), *deployed], "Done.")[0].text == "Done."


LIST = ToolSpec("list_applications", "", {})


def asked_again(*words, tools=(LIST,)):
    """The move after an answer that wasn't in who the person is."""
    made = Message("model", (Opaque("led", '"me"'), Call("c", "get_current_user", {})))
    history = [said("Which apps does my team run?"), made, Message("tools", (result("get_current_user", {"team": "data"}),))]
    return led([*history, Message("model", (Text("Salesforce."),))], *words, tools=tools, note="Leave out «Salesforce».")


def test_an_answer_that_was_not_in_what_was_found_is_looked_for_elsewhere():
    move, (asked,) = asked_again(wish("applications"))
    assert (move.calls, move.state) == ((("list_applications", {}),), "applications")
    assert "me" not in asked.shape["properties"]["about"]["enum"]
    assert {"deploy", "delete", "talk"}.isdisjoint(asked.shape["properties"]["about"]["enum"])


def test_where_there_is_nowhere_else_to_look_the_answer_is_asked_for_again_with_the_reason():
    move, (_, asked) = asked_again(wish("talk"), "I don't know.")
    assert (move.text, asked.text.endswith("Leave out «Salesforce».")) == ("I don't know.", True)
    assert asked_again("I don't know.", tools=())[0].text == "I don't know."


def test_what_was_not_found_is_looked_for_elsewhere_and_then_said():
    history = (said("What does demo-app cost?"), *brought("get_dashboard_stats", {"applications": 3}))
    move, asked = led(history, wish("application", "demo-app"), tools=(LIST,), found="no")
    assert (move.calls, len(asked)) == ((("get_application", {"app_name": "demo-app"}),), 1)
    move, asked = led((*history, *brought("get_application", {"name": "demo-app"})), tools=(LIST,), found="no")
    assert (move.text, asked) == (NOT_FOUND, [])
    assert led(history, found="no")[0].text == NOT_FOUND  # without tools there is nowhere to look


def test_an_empty_list_is_an_answer():
    move, _ = led((said("How many workflows are running?"), *brought("list_workflows", [])), "None.", found="no")
    assert move.text == "None."


def test_an_earlier_turn_is_over():
    history = [said("Apps?"), *brought("list_applications", "[]"), Message("model", (Text("None."),)), said("Hello")]
    move, asked = led(history, wish("talk"), "Hi!")
    assert move.text == "Hi!"
    assert "model: None." in asked[1].text


def test_documentation_comes_with_every_answer():
    _, asked = led([said("Buckets?")], wish("talk"), "Ten.", instructions=f"Be kind.\n\n{PASSAGE}")
    assert "Ten buckets a team." in asked[1].text
    assert asked[1].instructions == ANSWER
    _, (asked,) = led([said("Buckets?"), *brought("list_resources", "[]")], "Ten.", instructions=f"Be kind.\n\n{PASSAGE}")
    assert "Ten buckets a team." in asked.text


def test_a_spec_is_written_checked_and_written_again():
    good, bad = f"```yaml\n{SPEC}```", f"```yaml\n{SPEC.replace('image: nginx:1.27', 'port: 80')}```"
    move, asked = led([said("A spec for nginx")], wish("write"), "Sure!", bad, good)
    assert SPEC.strip() in move.text
    assert "runs web (nginx:1.27)" in move.text
    assert [question.instructions for question in asked[1:]] == [GENERATE] * 3
    assert "image" in asked[3].text
    assert "port: 80" in led([said("A spec")], wish("write"), bad, bad, bad)[0].text
    assert led([said("A spec")], wish("write"), "a", "b", "c")[0].text.startswith("I couldn't write a spec")


def test_silence_is_answered_with_what_was_found():
    assert led([said("x")], wish("talk"), " ")[0].text == "I don't know."
    assert "- name: a" in led([said("x"), *brought("list_applications", [{"name": "a"}])], "")[0].text


@given(st.text(), st.text())
def test_whatever_a_model_says_a_wish_comes_out(words, message):
    assert parse_intent(words, message).about in ABOUT


@pytest.mark.parametrize(
    ("words", "message", "expected"),
    [
        ('{"about": "application", "app": "demo-app"}', "about demo-app?", MessageIntent("application", "demo-app")),
        ('{"about": "application", "app": "demo"}', "about demo-app?", MessageIntent("application", "")),
        ('{"about": "odd", "app": ""}', "x", MessageIntent("talk", "")),
        ("nonsense", "x", MessageIntent("talk", "")),
    ],
)
def test_a_name_counts_only_if_the_message_has_it(words, message, expected):
    assert parse_intent(words, message) == expected


def test_numbers_and_states_are_read_from_the_message():
    assert [find_number(text) for text in ("workflow 12", "#7", "nginx:1.27", "demo-2", "none")] == ["12", "7", "", "", ""]
    states = [find_workflow_status(text) for text in ("what failed", "still running?", "succeeded", "all")]
    assert states == ["failed", "running", "completed", ""]


def test_facts_are_lines():
    assert (
        format_tool_result(result("list_golden_paths", [{"name": "a", "parameters": {"x": 1}}, "and 3 more"]))
        == "The golden paths:\n- name: a\n- and 3 more"
    )
    assert format_tool_result(result("get_current_user", {"username": "ann"})) == "The person:\nusername: ann\n"
    assert format_tool_result(result("odd", "words")) == "odd:\nwords"
    assert [first_field(result("odd", value), "id") for value in ([{"id": 7}], [], '{"id": 7}', {"a": 1})] == ["7", "", "", ""]


def test_a_question_has_the_parts_that_led_models_are_asked_with():
    assert isinstance(next(plan_platform(Request("", History([said("x")])))), PlanQuestion)
