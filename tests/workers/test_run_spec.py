"""What is asked of workers, and the agent that is made of it again."""

import asyncio

import pytest

from treadle.core.entries import Opened
from treadle.core.errors import BadPrompt, SettingsError
from treadle.home import close_home, open_home
from treadle.workers.run_spec import FACE, RunSpec, WorkerModels, is_worker_run, open_agent, opening_entries, run_spec_of
from working import installed

ORDER = RunSpec("steps", "stepping:a", "", "Be brief.", "")


def test_it_is_read_back_as_it_was_kept():
    opened, said = opening_entries(ORDER, "hello", "anna")
    assert is_worker_run(opened)
    assert run_spec_of("r1", opened) == ORDER
    assert (opened.origin["face"], said.text) == (FACE, "hello")


def test_one_that_was_kept_before_anybody_could_say_so_is_attended():
    opened, _ = opening_entries(ORDER, "hello", "anna")
    earlier = {name: value for name, value in opened.origin.items() if name != "attended"}
    assert run_spec_of("r1", Opened(origin=earlier)).attended


def test_a_run_that_was_begun_elsewhere_is_not_for_workers():
    for opened in (None, Opened(), Opened(origin={"face": "cli", "assistant": "steps", "model": "a:b"})):
        assert not is_worker_run(opened)
        with pytest.raises(SettingsError, match="wasn't submitted to workers"):
            run_spec_of("r1", opened)


def test_what_cannot_be_read_is_said_so():
    with pytest.raises(SettingsError, match="How run r1 was submitted can't be read"):
        run_spec_of("r1", Opened(origin={"face": FACE, "assistant": 5}))


def test_an_empty_message_is_refused():
    with pytest.raises(BadPrompt):
        opening_entries(ORDER, " \n", "")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("STEPS_DONE", str(tmp_path / "done"))
    monkeypatch.syspath_prepend(str(installed(tmp_path / "packages")))
    home = open_home(tmp_path / "data")
    yield home
    close_home(home)


def test_the_same_agent_is_made_of_it_and_its_model_once(home, tmp_path):
    async def story():
        models = WorkerModels()
        async with open_agent(ORDER, home, "anna", models) as agent:
            first = agent.setup.model._native, agent.setup.instructions
        other = RunSpec("steps", "stepping:a", workspace=str(tmp_path / "work"))
        async with open_agent(other, home, "ben", models) as agent:
            return first, agent.setup.model._native, agent.name

    (model, told), again, name = asyncio.run(story())
    assert model is again
    assert told == "Be brief."
    assert name == "steps"


def test_what_an_assistant_has_opened_is_closed_and_trouble_with_it_keeps_nothing_else_open(home, caplog):
    async def story():
        async with open_agent(RunSpec("opening", "stepping:a"), home, "", WorkerModels()):
            pass
        from stepping_package import CLOSED

        return list(CLOSED)

    assert asyncio.run(story()) == ["later", "at once"]
    assert "couldn't be closed" in caplog.text
