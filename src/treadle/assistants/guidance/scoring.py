"""Scores of candidate solutions: a model's judgement of each constraint, numbers checked in code, and weighted totals. Pure.

A number is checked if there is one to check against: a limit in the text of a constraint ("at most 400,000"), or the amount
of a resource of the world model, from its metadata or the beginning of its description ("128 a day").
"""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from treadle.assistants.guidance.store.values import (
    Candidate,
    CandidateStatus,
    Constraint,
    IssueType,
    ProblemSpec,
    ProjectIssue,
    Severity,
    WorldEntry,
    WorldModel,
)

MUST_WEIGHT = 100  # the weight of what has to hold
MET_SCORE = 50  # the score from which a constraint counts as met
PROMISING_SCORE = 70.0  # the total from which a candidate is promising
MAX_LABEL = 80  # characters of a candidate's label

Relation = Literal["at_most", "at_least"]
RELATIONS: dict[Relation, str] = {"at_most": "at most", "at_least": "at least"}

_NUMBER = r"[$€£]?\s?(\d{1,3}(?:[,  ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?(thousand|million|billion|k|bn)?\b"
_AMOUNT = re.compile(rf"\s*{_NUMBER}", re.IGNORECASE)
_LIMIT = re.compile(
    r"\b(?:(at most|no more than|not more than|up to|less than|below|under|maximum of|max\.?)"
    rf"|(at least|no less than|not less than|more than|above|minimum of|min\.?))\s+{_NUMBER}",
    re.IGNORECASE,
)
_TIMES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "billion": 1e9, "bn": 1e9}


class NumericLimit(Struct, frozen=True):
    """A number that something must not exceed, or has to reach."""

    relation: Relation
    value: float

    def __str__(self) -> str:
        return f"{RELATIONS[self.relation]} {self.value:,.10g}"


class Judgement(Struct, frozen=True):
    """What a model says about one constraint. `predicted` is the number that the constraint limits, where it limits one."""

    constraint: str
    reason: str
    score: Annotated[int, Meta(ge=0, le=100)]
    predicted: float | None = None
    scenario: str = ""


class ResourceUse(Struct, frozen=True):
    """How much of a resource a candidate would need."""

    resource: str
    amount: float


class NumericCheck(Struct, frozen=True):
    """A number that a model predicted, compared in code with what is allowed or available."""

    subject: str
    limit: NumericLimit
    predicted: float
    holds: bool

    def __str__(self) -> str:
        return f"{self.subject}: {self.predicted:,.10g} predicted, {self.limit} allowed"


class ConstraintScore(Struct, frozen=True):
    """How well a candidate meets a constraint, from 0 to 100; None if it wasn't judged.

    judged    the model's score; `score` is 0 if a number checked in code contradicts it
    scenario  the scenario in which it does worst
    """

    constraint: str
    weight: int
    score: int | None = None
    reason: str = ""
    judged: int | None = None
    scenario: str = ""
    check: NumericCheck | None = None

    @property
    def is_met(self) -> bool:
        """Whether it counts as met."""
        return self.score is not None and self.score >= MET_SCORE


class Evaluation(Struct, frozen=True):
    """The scores of a candidate. `total` is their weighted mean; None if there is none."""

    total: float | None = None
    constraints: tuple[ConstraintScore, ...] = ()
    resources: tuple[NumericCheck, ...] = ()

    @property
    def violations(self) -> tuple[str, ...]:
        """What rules a candidate out: musts that it doesn't meet, and resources of which there isn't enough."""
        musts = [
            each.constraint
            for each in self.constraints
            if each.weight == MUST_WEIGHT and each.score is not None and not each.is_met
        ]
        return (*musts, *[each.subject for each in self.resources if not each.holds])

    @property
    def missing(self) -> tuple[str, ...]:
        """Constraints that weren't judged."""
        return tuple([each.constraint for each in self.constraints if each.score is None])

    @property
    def status(self) -> CandidateStatus:
        """The status of a candidate with these scores."""
        if self.violations:
            return "rejected"
        if self.total is None or self.missing:
            return "under_test"
        return "promising" if self.total >= PROMISING_SCORE else "weak"


class FoundIssue(Struct, frozen=True):
    """An issue found by an evaluation."""

    type: IssueType
    severity: Severity
    description: str

    def of(self, project_id: str, run_id: str, candidate_id: str | None = None) -> ProjectIssue:
        """Return the issue as it is stored."""
        return ProjectIssue(project_id, self.type, self.severity, self.description, run_id=run_id, candidate_id=candidate_id)


def parse_limit(constraint: Constraint) -> NumericLimit | None:
    """Parse the number that a constraint's text limits; None if it limits none, or more than one."""
    found = _LIMIT.findall(f"{constraint.name}. {constraint.description}")
    if len(found) != 1:
        return None
    most, _, number, times = found[0]
    return NumericLimit("at_most" if most else "at_least", _to_number(number, times))


def parse_amount(entry: WorldEntry) -> float | None:
    """Parse how much there is of a resource; None if that isn't given."""
    said: Any = entry.metadata.get("amount")
    if isinstance(said, int | float) and not isinstance(said, bool):
        return float(said)
    found = _AMOUNT.match(entry.description)
    return None if found is None else _to_number(found[1], found[2] or "")


def _to_number(number: str, times: str) -> float:
    return float(re.sub(r"[^\d.]", "", number)) * _TIMES.get(times.lower(), 1)


def evaluate_candidate(
    spec: ProblemSpec, world: WorldModel, judgements: Iterable[Judgement], uses: Iterable[ResourceUse] = ()
) -> Evaluation:
    """Score a candidate: the judgement of each constraint, corrected if a number contradicts it."""
    said = {each.constraint.strip().casefold(): each for each in judgements}
    scores = tuple([_score_constraint(each, said.get(each.name.strip().casefold())) for each in spec.constraints])
    amounts = {each.name.strip().casefold(): (each.name, parse_amount(each)) for each in world.resources}
    checks = [_check_resource(*amounts.get(use.resource.strip().casefold(), ("", None)), use.amount) for use in uses]
    return Evaluation(_weighted_mean(scores), scores, tuple([each for each in checks if each is not None]))


def _score_constraint(constraint: Constraint, judged: Judgement | None) -> ConstraintScore:
    if judged is None:
        return ConstraintScore(constraint.name, constraint.weight)
    limit, check = parse_limit(constraint), None
    if limit is not None and judged.predicted is not None:
        check = _check_number(constraint.name, limit, judged.predicted)
    score = 0 if check is not None and not check.holds else judged.score
    return ConstraintScore(constraint.name, constraint.weight, score, judged.reason, judged.score, judged.scenario, check)


def _check_resource(resource: str, amount: float | None, needed: float) -> NumericCheck | None:
    return None if amount is None else _check_number(resource, NumericLimit("at_most", amount), needed)


def _check_number(subject: str, limit: NumericLimit, predicted: float) -> NumericCheck:
    holds = predicted <= limit.value if limit.relation == "at_most" else predicted >= limit.value
    return NumericCheck(subject, limit, predicted, holds)


def _weighted_mean(scores: Sequence[ConstraintScore]) -> float | None:
    known = [(each.score, each.weight) for each in scores if each.score is not None]
    weights = sum([weight for _, weight in known])
    return round(sum([score * weight for score, weight in known]) / weights, 1) if weights else None


def find_issues(label: str, evaluation: Evaluation) -> list[FoundIssue]:
    """Return the issues that the evaluation of one candidate found."""
    failed = [(each.check, each.weight) for each in evaluation.constraints if each.check is not None and not each.check.holds]
    found = [
        FoundIssue("constraint", "catastrophic" if weight == MUST_WEIGHT else "important", f"{label}: {check}")
        for check, weight in failed
    ]
    found += [FoundIssue("model", "important", f"{label}: {each}") for each in evaluation.resources if not each.holds]
    if evaluation.missing:
        found.append(FoundIssue("evaluator", "minor", f"{label}: no judgement of {', '.join(evaluation.missing)}"))
    return found


def find_unmet_musts(spec: ProblemSpec, evaluations: Sequence[Evaluation]) -> list[FoundIssue]:
    """Return issues for musts that no candidate meets: perhaps they demand too much."""
    met = {each.constraint for evaluation in evaluations for each in evaluation.constraints if each.is_met}
    unmet = [each.name for each in spec.constraints if each.weight == MUST_WEIGHT and each.name not in met]
    return [
        FoundIssue("constraint", "catastrophic", f"No candidate meets {name!r}, which is a must") for name in unmet if evaluations
    ]


def load_evaluation(candidate: Candidate) -> Evaluation | None:
    """Return the scores of a candidate that a run has evaluated; None for others."""
    try:
        return msgspec.convert(candidate.scores, Evaluation) if candidate.scores else None
    except msgspec.ValidationError:
        return None  # another user's scores, from an import


def rank_candidates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates, the best first: those that violate a must, or need more than there is, come last."""

    def place(candidate: Candidate) -> tuple[bool, float]:
        evaluation = load_evaluation(candidate)
        total = None if evaluation is None else evaluation.total
        return candidate.status == "rejected", -1.0 * (-1 if total is None else total)

    return sorted(candidates, key=place)


def candidate_label(candidate: Candidate) -> str:
    """Return the label of a candidate in lists: the beginning of its description."""
    words = " ".join(candidate.mechanism_description.split())
    return words if len(words) <= MAX_LABEL else f"{words[: MAX_LABEL - 1].rstrip()}…"
