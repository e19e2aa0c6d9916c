"""How a small model triages: code finds the places and the evidence, and the model answers one question at a time."""

import json
from pathlib import Path

from assistants.coding.stage import carried_out, needs_git, project
from treadle.core.requests import Request, Traits
from treadle.models.scripted import Scripted

SMALL = Traits(native_calls=False, holds=True)
TRACE = """\
Traceback (most recent call last):
  File "/srv/shop/shop.py", line 2, in price
    return count * 3 + 1
TypeError: can only concatenate str (not "int") to str
"""


def triaging(**answers: str) -> Scripted:
    def reply(request: Request) -> str:
        assert request.shape is not None
        names = list(request.shape["properties"])
        return json.dumps({name: answers.get(name, "yes") for name in names})

    return Scripted(*[reply] * 20, traits=SMALL)


ANSWERS = {
    "severity": "high",
    "category": "bug",
    "place": "shop.py",
    "cause": "A text is multiplied.",
    "reason": "So it is.",
    "fix": "Convert count to a number.",
}


@needs_git
def test_the_evidence_is_what_the_report_and_the_code_really_say(tmp_path: Path) -> None:
    folder = project(tmp_path)
    model = triaging(**ANSWERS)
    job = carried_out(tmp_path, folder, "triage", {"description": "Checkout fails.", "stack_trace": TRACE}, model)
    assert job.state == "completed", job.why
    assert job.output["summary"] == 'Checkout fails. TypeError: can only concatenate str (not "int") to str'
    assert (job.output["severity"], job.output["category"]) == ("high", "bug")
    assert job.output["root_cause"] == "In shop.py: A text is multiplied."
    assert list(job.output["evidence"]) == [
        "shop.py:2: return count * 3 + 1",
        'TypeError: can only concatenate str (not "int") to str',
    ]
    assert job.output["fix"] == "Convert count to a number."
    assert "def price(count):" in model.requests[0].history[0].text
    assert len(model.requests) == 6


@needs_git
def test_a_cause_that_does_not_hold_at_a_second_look_is_uncertain(tmp_path: Path) -> None:
    model = triaging(**ANSWERS, is_cause="no")
    job = carried_out(tmp_path, project(tmp_path), "triage", {"stack_trace": TRACE}, model)
    assert job.output["root_cause"] == "Not certain. Perhaps in shop.py: A text is multiplied."


@needs_git
def test_nothing_is_made_up_where_no_code_explains_it(tmp_path: Path) -> None:
    model = triaging(**{**ANSWERS, "place": "none of these"})
    job = carried_out(tmp_path, project(tmp_path), "triage", {"logs": "disk full"}, model)
    assert job.output["root_cause"].startswith("Not known:")
    assert (list(job.output["evidence"]), job.output["fix"]) == (["disk full"], "")


def test_a_folder_without_code_has_no_place_to_ask_for(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    model = triaging(**ANSWERS)
    job = carried_out(tmp_path, tmp_path / "empty", "triage", {"logs": "disk full"}, model)
    assert job.output["root_cause"].startswith("Not known:")
    assert len(model.requests) == 2
