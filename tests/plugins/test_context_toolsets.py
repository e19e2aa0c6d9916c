"""What every assistant's model reads besides its instructions, by one definition and one layer of settings."""

import pytest

from treadle.agent.agent import Agent
from treadle.home import close_home, open_home
from treadle.plugins.assistant import Assistant, Host
from treadle.plugins.assistants import assistant_agent, configured_agent, list_assistants
from treadle.testing import Scripted

NAMES = ["coding", "courses", "guidance", "platform", "reading"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project with a guide and a skill, and a user with a skill and settings."""
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text("[memory]\nenabled = true\n")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "AGENTS.md").write_text("GUIDE")
    for folder, name in ((project / ".claude" / "skills", "theirs"), (tmp_path / "home" / "skills", "mine")):
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}.\n---\nBody.")
    return tmp_path


def host(place, model, **how):
    async def chosen():
        return model

    return Host(open_home(place / "home"), chosen, "ann", folder=place / "project", **how)


def first_request(agent: Agent, model):
    agent.run_sync("Go.")
    request = model.requests[0]
    return request.instructions, {tool.name for tool in request.tools}


@pytest.mark.parametrize("shared", [False, True])
def test_an_assistant_reads_skills_and_notes_of_the_user_and_one_that_works_on_a_project_its_guide(place, shared):
    for works in (True, False):
        model = Scripted("done")
        lent = host(place, model, shared=shared)
        agent = assistant_agent(Assistant("a", "A", "It.", instructions="OWN", project=works), lent, model)
        prompt, tools = first_request(agent, model)
        assert prompt.startswith("OWN\n\n")
        assert ("GUIDE" in prompt, "- theirs:" in prompt) == (works, works)
        assert "- mine: About mine." in prompt
        assert "There are no notes yet." in prompt
        assert tools == {"load_skill", "list_notes", "read_note", "write_note", "delete_note"}
        close_home(lent.home)


def test_each_of_them_is_switched_by_a_setting_and_a_project_can_only_turn_them_off(place):
    model = Scripted("done", "done")
    lent = host(place, model)
    off = "[context]\nproject_guide = false\n[skills]\nenabled = false\n[memory]\nenabled = false\n"
    (place / "project" / "treadle.toml").write_text(off)
    agent = assistant_agent(Assistant("a", "A", "It.", instructions="OWN", project=True), lent, model)
    assert first_request(agent, model) == ("OWN", set())
    (place / "project" / "treadle.toml").write_text(off.replace("false", "true"))
    (place / "own.toml").write_text(off)
    model = Scripted("done")
    agent = assistant_agent(Assistant("a", "A", "It.", instructions="OWN", project=True), lent, model)
    assert first_request(agent, model) == ("OWN", set())
    close_home(lent.home)


def test_further_folders_of_skills_are_relative_to_the_users_settings(place):
    (place / "more" / "extra").mkdir(parents=True)
    (place / "more" / "extra" / "SKILL.md").write_text("---\nname: extra\ndescription: More.\n---\nBody.")
    (place / "own.toml").write_text('[skills]\nfolders = ["more"]\n')
    model = Scripted("done")
    lent = host(place, model)
    prompt, _ = first_request(assistant_agent(Assistant("a", "A", "It."), lent, model), model)
    assert "- extra: More.\n- mine: About mine." in prompt
    close_home(lent.home)


def test_an_agent_without_a_user_and_one_that_a_plan_guides_read_none(place):
    model = Scripted("done", "done")
    assert first_request(configured_agent(place / "project", model, parts={}), model) == ("", set())
    agent = configured_agent(place / "project", model, parts={}, project=place / "project", context=False)
    agent.run_sync("Go.")
    assert agent.setup.toolset.tools() == ()


def test_all_five_assistants_get_skills_and_notes_and_two_work_on_a_project(place):
    built = [each for each in list_assistants() if each.name in NAMES]
    assert [each.name for each in built] == NAMES
    assert [each.name for each in built if each.project] == ["coding", "reading"]
