"""`treadle guide …`, as it is typed."""

import pytest

from cli.running import asks, script
from cli.running import treadle_here as treadle

CHANGE = asks(("change_problem_spec", {"constraints": [{"name": "Noise", "weight": 33}]}))


@pytest.fixture
def home(tmp_path):
    return tmp_path


@pytest.fixture
def project(home):
    return treadle(home, "guide", "demo").out.split()[0]


def test_without_projects_it_says_how_to_begin(home):
    ran = treadle(home, "guide", "projects")
    assert (ran.code, ran.out) == (0, "")
    assert "treadle guide new TITLE" in ran.err
    assert treadle(home, "guide", "show").code == 2


def test_projects_are_begun_listed_and_shown(home, project):
    assert treadle(home, "guide", "new", "Tea", "--description", "A shop for tea").code == 0
    assert "Buses on time" in treadle(home, "guide", "projects").out
    assert [each["title"] for each in treadle(home, "guide", "projects", "--json").json] == ["Tea", "Buses on time"]
    shown = treadle(home, "guide", "show", "buses ON time").out
    for words in ("stage: ready_to_run", "Fares (weight 100)", "Bus lanes (road): 4.5 km", "comes with the sample project"):
        assert words in shown
    assert "A shop for tea" in treadle(home, "guide", "show").out  # the newest
    ran = treadle(home, "guide", "show", "Coffee")
    assert (ran.code, "There are: " in ran.err) == (2, True)


def test_two_of_one_name_are_told_apart_by_their_ids(home, project):
    other = treadle(home, "guide", "demo").out.split()[0]
    ran = treadle(home, "guide", "show", "Buses on time")
    assert (ran.code, project in ran.err, other in ran.err) == (2, True, True)
    assert treadle(home, "guide", "show", other).code == 0


def test_a_question_is_answered_from_the_project_and_kept_with_it(home, project):
    model = script(home, asks(("get_problem_spec", {}), ("get_world_model", {})), "Four constraints.")
    ran = treadle(home, "guide", "ask", "Compare", "them", "-m", model)
    assert (ran.code, ran.out) == (0, "Four constraints.\n")
    exported = treadle(home, "guide", "show", "--json").json
    assert "Four constraints." in str(exported)


def test_everything_that_came_of_a_question_can_be_had_as_json(home, project):
    ran = treadle(home, "guide", "ask", "Can I run it?", "--json", "-m", script(home, "Yes."))
    assert ran.json["recommended_run_config"]["status"] == "ready"
    assert ran.json["guidance_message"] == "Yes."


def test_a_change_waits_and_is_made_by_the_usual_commands(home, project):
    waiting = treadle(home, "guide", "ask", "noise", "-m", script(home, CHANGE, "Done."))
    assert waiting.code == 3
    assert "+  - Noise (weight 33)" in waiting.err
    (run,) = treadle(home, "runs", "--json").json
    (call,) = treadle(home, "approve", run["run_id"], "--list", "--json").json
    treadle(home, "approve", run["run_id"], call["call_id"])
    script(home, "Done.")  # what is left of the script for the process that goes on
    done = treadle(home, "resume", run["run_id"])
    assert (done.code, done.out) == (0, "Done.\n")
    assert "Noise (weight 33)" in treadle(home, "guide", "show").out


def test_what_may_not_be_used_may_not_be_used_later_either(home, project):
    (home / "own.toml").write_text('[assistants.guidance]\ndenied_tools = ["get_world_model"]\n')
    env = {"TREADLE_CONFIG": str(home / "own.toml")}
    treadle(home, "guide", "ask", "noise", "-m", script(home, CHANGE), **env)
    (run,) = treadle(home, "runs", "--json").json
    (call,) = treadle(home, "approve", run["run_id"], "--list", "--json").json
    treadle(home, "approve", run["run_id"], call["call_id"])
    script(home, asks(("get_world_model", {})), "Done.")
    assert "There is no tool 'get_world_model'" in treadle(home, "resume", run["run_id"], **env).err


def test_a_conversation_is_kept_with_the_project(home, project):
    ran = treadle(home, "guide", "chat", "-m", script(home, "One.", "Two."), stdin="first\nsecond\n/exit\n")
    assert (ran.code, ran.out) == (0, "One.\nTwo.\n")
    said = str(treadle(home, "guide", "show", "--json").json)
    assert all(words in said for words in ("first", "One.", "second", "Two."))


SITUATIONS = '{"scenarios": [{"name": "Snow", "description": "Two weeks of it"}]}'
PROPOSED = '{"candidates": [{"description": "Signals first", "effects": []}]}'
JUDGED = '{"judgements": [{"constraint": "Fares", "reason": "They stay", "score": 90}]}'


def test_a_run_is_carried_out_listed_compared_and_decided(home, project):
    ran = treadle(home, "guide", "run", "--candidates", "1", "-m", script(home, SITUATIONS, PROPOSED, JUDGED))
    assert ran.code == 0, ran.err
    assert "Fares (must)" in ran.out
    assert "completed" in treadle(home, "guide", "runs").out
    compared = treadle(home, "guide", "compare", "--json").json
    assert [each["total"] for each in compared["candidates"]] == [90.0]
    record = treadle(home, "guide", "adr", compared["candidates"][0]["id"]).out
    assert record.startswith("# Buses on time: Signals first")
    assert "no judgement of Budget" in treadle(home, "guide", "issues").out


def test_a_run_in_the_background_is_a_job_that_can_be_watched(home, project):
    model = script(home, SITUATIONS, PROPOSED, JUDGED)
    run_id = treadle(home, "guide", "run", "--candidates", "1", "--detach", "-m", model).out.strip()
    assert treadle(home, "jobs", "watch", run_id).code == 0
    assert [each["status"] for each in treadle(home, "guide", "runs", "--json").json] == ["completed"]


def test_without_a_model_a_run_is_refused(home, project):
    ran = treadle(home, "guide", "run")
    assert ran.code != 0
    assert "model" in ran.err
    assert treadle(home, "guide", "runs").out == ""


def test_a_candidate_and_an_issue_are_added_by_hand_and_the_candidate_is_scored(home, project):
    kept = treadle(home, "guide", "candidate", "A", "ferry", "--json").json
    assert (kept["origin"], kept["status"]) == ("user", "new")
    assert treadle(home, "guide", "resume", kept["run_id"], "-m", script(home, SITUATIONS, JUDGED)).code == 0
    assert [each["label"] for each in treadle(home, "guide", "compare", "--json").json["candidates"]] == ["A ferry"]
    assert treadle(home, "guide", "issue", "No", "weather", "--severity", "minor").code == 0
    assert "No weather" in treadle(home, "guide", "issues").out


def test_a_run_is_cancelled(home, project):
    kept = treadle(home, "guide", "candidate", "A ferry", "--json").json
    assert treadle(home, "guide", "cancel", kept["run_id"], "--json").json["status"] == "cancelled"


def test_a_project_is_shared_with_a_colleague_and_no_longer(home, project):
    assert "bo" in treadle(home, "guide", "share", project, "bo").out
    assert project in treadle(home, "guide", "projects", "--user", "bo").out
    assert treadle(home, "guide", "share", project, "cy", "--user", "bo").code != 0
    treadle(home, "guide", "unshare", project, "bo")
    assert treadle(home, "guide", "projects", "--user", "bo").out == ""


def test_a_deleted_project_leaves_no_word_in_any_file(home, project):
    treadle(home, "guide", "candidate", "Xylophone ferries")
    treadle(home, "guide", "ask", "Xylophone questions", "-m", script(home, "Xylophone answers"))
    assert treadle(home, "guide", "delete", project).code == 0
    assert treadle(home, "guide", "projects").out == ""
    assert treadle(home, "runs", "--json").json == []
    assert files_with(home, b"ylophone") == []


def files_with(home, word):
    return [each.name for each in (home / "data").rglob("*") if each.is_file() and word in each.read_bytes()]


def test_a_deleted_run_takes_its_messages_out_of_the_project(home, project):
    for words in ("Marimba", "Xylophone"):  # the later one was told what was said before
        treadle(home, "guide", "ask", f"{words} questions", "-m", script(home, f"{words} answers"))
    (run,) = [each["run_id"] for each in treadle(home, "runs", "--json").json if "Xylophone" in each["title"]]
    assert treadle(home, "runs", "delete", run).code == 0
    assert files_with(home, b"ylophone") == []
    assert files_with(home, b"arimba") != []


def test_ask_has_the_tools_of_guidance(home, project):
    ran = treadle(home, "ask", "-a", "guidance", "Which?", "-m", script(home, asks(("get_problem_spec", {})), "Four."))
    assert (ran.code, ran.out) == (0, "Four.\n")
