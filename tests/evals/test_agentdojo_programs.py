"""AgentDojo's calls as programs: what is written ahead, and what only after reading."""

from importlib.util import find_spec

import pytest

if find_spec("agentdojo") is None:
    pytest.skip("agentdojo isn't installed", allow_module_level=True)

from bench.agentdojo.programs import played_as_programs, write_programs
from bench.agentdojo.replay import attacks_of
from bench.agentdojo.world import suites

EVENTS = [{"id_": "5", "title": "Dental check-up", "description": "At the Elm Street practice"}]


def test_a_value_that_is_a_whole_field_is_a_path_and_one_in_a_text_begins_another_program():
    calls = [
        ("search", {"query": "Dental check-up"}),
        ("reschedule", {"event_id": "5", "day": "2024-05-20"}),
        ("note", {"place": "Elm Street"}),
    ]
    first, second = write_programs(calls, [EVENTS, None, None], "Move my Dental check-up to 2024-05-20.")
    assert "search(query='Dental check-up')" in first.source
    assert "reschedule(event_id=r0[0]['id_'], day='2024-05-20')" in first.source
    assert "note(place='Elm Street')" in second.source
    assert (first.first, second.first) == (0, 2)


def test_a_hijacked_program_is_stopped():
    suite = suites()["slack"]
    played = played_as_programs(suite, suite.user_tasks["user_task_0"], attacks_of(suite)[0])
    assert played.stopped
    assert not played.ran
    assert not played.failed
