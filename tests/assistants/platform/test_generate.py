"""A spec from a description: checked, mended, and honest about what is left."""

import asyncio

import pytest

from assistants.platform.platform_setup import SPEC
from treadle.assistants.platform.spec_drafts import NoSpecGenerated, generate_spec
from treadle.errors import ModelError
from treadle.passages import Passage, PassageHit
from treadle.testing import Scripted

GOOD = f"```yaml\n{SPEC}```\nIt runs nginx with a database that is made up for it."
BAD = GOOD.replace("image: nginx:1.27", "port: 80")


def made(*replies, **how):
    model = Scripted(*replies)
    return asyncio.run(generate_spec(model, "A web app with a database", **how)), model


def test_the_spec_comes_with_an_explanation():
    found, model = made(GOOD)
    assert found.spec.strip() == SPEC.strip()
    assert found.explanation == "It runs nginx with a database that is made up for it."
    assert (found.findings, len(model.requests)) == ((), 1)


def test_errors_go_back_to_the_model_by_line():
    found, model = made(BAD, GOOD)
    assert "nginx:1.27" in found.spec
    assert "line" in model.requests[1].history[-1].text
    assert "image" in model.requests[1].history[-1].text


def test_the_best_of_the_tries_is_given_with_what_is_wrong_in_it():
    worse = GOOD.replace("image: nginx:1.27", "port: 80").replace("name: my-app", "name: My App")
    found, model = made(worse, BAD, worse)
    assert len(model.requests) == 3
    assert "my-app" in found.spec
    assert any(each.level == "error" for each in found.findings)


def test_words_without_a_spec_are_asked_for_one_and_then_given_up():
    found, model = made("I'd be glad to.", GOOD)
    assert model.requests[1].history[-1].text == "Write the whole spec in one ```yaml block."
    assert found.spec
    with pytest.raises(NoSpecGenerated, match="wrote no spec"):
        made("No.", "No.", "No.")


def test_a_model_that_fails_is_said_to():
    with pytest.raises(NoSpecGenerated, match="couldn't be written"):
        made(ModelError("gone"))


def test_next_to_no_explanation_is_replaced_by_what_is_in_the_spec():
    found, _ = made(f"```yaml\n{SPEC}```\nHere.")
    assert found.explanation == "The application my-app runs web (nginx:1.27), with db (postgres-mock)."


def test_what_the_documents_and_the_caller_know_is_told_and_cited():
    passage = PassageHit(Passage("Use postgres-mock for tests.", source="docs/db.md"), 0.9)
    found, model = made(GOOD, passages=(passage, passage), facts='Facts: {"team": "shop"}')
    asked = model.requests[0].history[-1].text
    assert found.citations == ("docs/db.md",)
    assert "Use postgres-mock for tests." in asked
    assert '{"team": "shop"}' in asked


def test_types_that_the_operator_adds_are_taken():
    other = GOOD.replace("postgres-mock", "redis")
    assert made(other, types=("redis",))[0].findings == ()
