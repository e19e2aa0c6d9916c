"""Scores of candidates: judgements by weight, and numbers that code checks."""

import pytest
from msgspec.structs import replace

from treadle.assistants.guidance.scoring import (
    Judgement,
    NumericLimit,
    ResourceUse,
    candidate_label,
    evaluate_candidate,
    find_issues,
    find_unmet_musts,
    load_evaluation,
    parse_amount,
    parse_limit,
    rank_candidates,
)
from treadle.assistants.guidance.store import Candidate, Constraint, ProblemSpec, WorldEntry, WorldModel

SPEC = ProblemSpec((Constraint("Budget", "At most 400,000 a year more", 50), Constraint("Fares", "Stay as they are", 100)))
WORLD = WorldModel(resources=(WorldEntry("Drivers", "128 a day"), WorldEntry("Goodwill", "plenty")))


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("At most 400,000 a year more than today", NumericLimit("at_most", 400_000)),
        ("no more than $2.5 million", NumericLimit("at_most", 2_500_000)),
        ("Costs below 10k", NumericLimit("at_most", 10_000)),
        ("At least 12 seats", NumericLimit("at_least", 12)),
        ("Nobody drives longer than the law allows", None),
        ("No new depot before 2029", None),
        ("At least 2 and at most 5", None),
    ],
)
def test_the_number_that_a_constraint_limits_is_read_from_its_words(words, limit):
    assert parse_limit(Constraint("X", words)) == limit


@pytest.mark.parametrize(
    ("entry", "amount"),
    [
        (WorldEntry("Budget", "11.2 million"), 11_200_000),
        (WorldEntry("Lanes", "4.5 km"), 4.5),
        (WorldEntry("Drivers", "140, of whom 12 are missing"), 140),
        (WorldEntry("Goodwill", "a lot, since 2020"), None),
        (WorldEntry("Buses", "some", metadata={"amount": 64}), 64),
        (WorldEntry("Buses", "some", metadata={"amount": True}), None),
    ],
)
def test_how_much_there_is_of_a_resource(entry, amount):
    assert parse_amount(entry) == amount


def test_a_total_is_the_mean_by_weight():
    found = evaluate_candidate(SPEC, WORLD, [Judgement("budget ", "cheap", 100), Judgement("Fares", "the same", 70)])
    assert (found.total, found.status, found.missing, found.violations) == (80.0, "promising", (), ())
    assert evaluate_candidate(SPEC, WORLD, [Judgement("Budget", "dear", 0), Judgement("Fares", "the same", 60)]).status == "weak"


def test_a_number_that_is_too_high_beats_the_models_judgement():
    said = [Judgement("Budget", "cheap", 90, predicted=500_000), Judgement("Fares", "the same", 100)]
    found = evaluate_candidate(SPEC, WORLD, said)
    budget = found.constraints[0]
    assert (budget.score, budget.judged, budget.check.holds) == (0, 90, False)
    (issue,) = find_issues("C", found)
    assert (issue.type, issue.severity) == ("constraint", "important")
    assert issue.description == "C: Budget: 500,000 predicted, at most 400,000 allowed"
    assert evaluate_candidate(SPEC, WORLD, [replace(said[0], predicted=400_000)]).constraints[0].score == 90


def test_a_must_that_isnt_met_and_a_resource_that_runs_out_rule_a_candidate_out():
    broken = evaluate_candidate(SPEC, WORLD, [Judgement("Budget", "", 100), Judgement("Fares", "they rise", 20)])
    assert (broken.status, broken.violations) == ("rejected", ("Fares",))
    said = [Judgement("Budget", "", 100), Judgement("Fares", "", 100)]
    short = evaluate_candidate(
        SPEC, WORLD, said, [ResourceUse("drivers", 200), ResourceUse("Goodwill", 9), ResourceUse("Unicorns", 1)]
    )
    assert (short.status, short.violations, len(short.resources)) == ("rejected", ("Drivers",), 1)
    assert [each.type for each in find_issues("C", short)] == ["model"]


def test_what_nobody_judged_has_no_score_and_is_an_issue():
    found = evaluate_candidate(SPEC, WORLD, [Judgement("Fares", "the same", 80), Judgement("Weather", "fine", 100)])
    assert (found.total, found.status, found.missing) == (80.0, "under_test", ("Budget",))
    assert [each.type for each in find_issues("C", found)] == ["evaluator"]
    assert evaluate_candidate(SPEC, WORLD, []).total is None


def test_a_must_that_no_candidate_meets_is_an_issue():
    broken = evaluate_candidate(SPEC, WORLD, [Judgement("Fares", "they rise", 0)])
    assert ["Fares" in each.description for each in find_unmet_musts(SPEC, [broken])] == [True]
    assert find_unmet_musts(SPEC, [broken, evaluate_candidate(SPEC, WORLD, [Judgement("Fares", "", 90)])]) == []
    assert find_unmet_musts(SPEC, []) == []


def test_the_best_comes_first_and_what_is_ruled_out_last():
    def candidate(words, status, total):
        return Candidate("r", words, scores={} if total is None else {"total": total}, status=status)

    order = rank_candidates(
        [candidate("a", "rejected", 99), candidate("b", "new", None), candidate("c", "weak", 40), candidate("d", "promising", 80)]
    )
    assert [each.mechanism_description for each in order] == ["d", "c", "b", "a"]


def test_scores_of_somebody_else_are_no_evaluation():
    assert load_evaluation(Candidate("r", "x", scores={"constraints": 3})) is None
    assert load_evaluation(Candidate("r", "x")) is None


def test_a_long_description_is_shortened_for_lists():
    assert candidate_label(Candidate("r", "two\n words")) == "two words"
    assert len(candidate_label(Candidate("r", "w" * 200))) == 80
