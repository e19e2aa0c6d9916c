"""Scores of candidate solutions: a model's judgement of each constraint, numbers checked in code, and totals by weight. Pure.

A number is checked where there is one to check against: a limit in the words of a constraint ("at most 400,000"), or the amount of
a resource of the world model, from its metadata or the beginning of its description ("128 a day").
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
    Entry,
    Issue,
    IssueType,
    ProblemSpec,
    Severity,
    WorldModel,
)

MUST = 100  # the weight of what has to hold
MET = 50  # the score from which a constraint counts as met
GOOD = 70.0  # the total from which a candidate is promising
SHORT = 80  # characters of a candidate's label

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


class Limit(Struct, frozen=True):
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
    """A number that a model predicted, compared in code with what is allowed or there."""

    subject: str
    limit: Limit
    predicted: float
    holds: bool

    def __str__(self) -> str:
        return f"{self.subject}: {self.predicted:,.10g} predicted, {self.limit} allowed"


class ConstraintScore(Struct, frozen=True):
    """How well a candidate meets a constraint, from 0 to 100; None where it wasn't judged.

    judged    what the model said; the score is 0 where a number in code contradicts it
    scenario  the situation in which it does worst
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
        return self.score is not None and self.score >= MET


class Evaluation(Struct, frozen=True):
    """The scores of a candidate. `total` is the mean of its scores by weight; None where there is none."""

    total: float | None = None
    constraints: tuple[ConstraintScore, ...] = ()
    resources: tuple[NumericCheck, ...] = ()

    @property
    def violations(self) -> tuple[str, ...]:
        """What rules a candidate out: musts that it doesn't meet, and resources of which there isn't enough."""
        musts = [each.constraint for each in self.constraints if each.weight == MUST and each.score is not None and not each.is_met]
        return (*musts, *[each.subject for each in self.resources if not each.holds])

    @property
    def missing(self) -> tuple[str, ...]:
        """Constraints that weren't judged."""
        return tuple([each.constraint for each in self.constraints if each.score is None])

    @property
    def status(self) -> CandidateStatus:
        """What becomes of a candidate with these scores."""
        if self.violations:
            return "rejected"
        if self.total is None or self.missing:
            return "under_test"
        return "promising" if self.total >= GOOD else "weak"


class IssueFound(Struct, frozen=True):
    """Something that is wrong, as an evaluation found it."""

    type: IssueType
    severity: Severity
    description: str

    def of(self, project_id: str, run_id: str, candidate_id: str | None = None) -> Issue:
        """It, as it is kept."""
        return Issue(project_id, self.type, self.severity, self.description, run_id=run_id, candidate_id=candidate_id)


def limit_of(constraint: Constraint) -> Limit | None:
    """The number that a constraint's own words limit; None where they limit none, or more than one."""
    found = _LIMIT.findall(f"{constraint.name}. {constraint.description}")
    if len(found) != 1:
        return None
    most, _, number, times = found[0]
    return Limit("at_most" if most else "at_least", _value(number, times))


def amount_of(entry: Entry) -> float | None:
    """How much there is of a resource; None where that isn't said."""
    said: Any = entry.metadata.get("amount")
    if isinstance(said, int | float) and not isinstance(said, bool):
        return float(said)
    found = _AMOUNT.match(entry.description)
    return None if found is None else _value(found[1], found[2] or "")


def _value(number: str, times: str) -> float:
    return float(re.sub(r"[^\d.]", "", number)) * _TIMES.get(times.lower(), 1)


def evaluate(spec: ProblemSpec, world: WorldModel, judgements: Iterable[Judgement], uses: Iterable[ResourceUse] = ()) -> Evaluation:
    """Score a candidate: what was judged of each constraint, corrected where a number contradicts it."""
    said = {each.constraint.strip().casefold(): each for each in judgements}
    scores = tuple([_scored(each, said.get(each.name.strip().casefold())) for each in spec.constraints])
    amounts = {each.name.strip().casefold(): (each.name, amount_of(each)) for each in world.resources}
    checks = [_check(*amounts.get(use.resource.strip().casefold(), ("", None)), use.amount) for use in uses]
    return Evaluation(_total(scores), scores, tuple([each for each in checks if each is not None]))


def _scored(constraint: Constraint, judged: Judgement | None) -> ConstraintScore:
    if judged is None:
        return ConstraintScore(constraint.name, constraint.weight)
    limit, check = limit_of(constraint), None
    if limit is not None and judged.predicted is not None:
        check = _compared(constraint.name, limit, judged.predicted)
    score = 0 if check is not None and not check.holds else judged.score
    return ConstraintScore(constraint.name, constraint.weight, score, judged.reason, judged.score, judged.scenario, check)


def _check(resource: str, amount: float | None, needed: float) -> NumericCheck | None:
    return None if amount is None else _compared(resource, Limit("at_most", amount), needed)


def _compared(subject: str, limit: Limit, predicted: float) -> NumericCheck:
    holds = predicted <= limit.value if limit.relation == "at_most" else predicted >= limit.value
    return NumericCheck(subject, limit, predicted, holds)


def _total(scores: Sequence[ConstraintScore]) -> float | None:
    known = [(each.score, each.weight) for each in scores if each.score is not None]
    weights = sum([weight for _, weight in known])
    return round(sum([score * weight for score, weight in known]) / weights, 1) if weights else None


def issues_in(label: str, evaluation: Evaluation) -> list[IssueFound]:
    """What an evaluation of one candidate found wrong."""
    failed = [(each.check, each.weight) for each in evaluation.constraints if each.check is not None and not each.check.holds]
    found = [
        IssueFound("constraint", "catastrophic" if weight == MUST else "important", f"{label}: {check}") for check, weight in failed
    ]
    found += [IssueFound("model", "important", f"{label}: {each}") for each in evaluation.resources if not each.holds]
    if evaluation.missing:
        found.append(IssueFound("evaluator", "minor", f"{label}: no judgement of {', '.join(evaluation.missing)}"))
    return found


def unmet_musts(spec: ProblemSpec, evaluations: Sequence[Evaluation]) -> list[IssueFound]:
    """Musts that no candidate meets: perhaps too much is asked for."""
    met = {each.constraint for evaluation in evaluations for each in evaluation.constraints if each.is_met}
    unmet = [each.name for each in spec.constraints if each.weight == MUST and each.name not in met]
    return [
        IssueFound("constraint", "catastrophic", f"No candidate meets {name!r}, which is a must") for name in unmet if evaluations
    ]


def evaluation_of(candidate: Candidate) -> Evaluation | None:
    """The scores of a candidate that a run has evaluated; None for others."""
    try:
        return msgspec.convert(candidate.scores, Evaluation) if candidate.scores else None
    except msgspec.ValidationError:
        return None  # somebody else's scores, which an import brought


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates, the best first: those that break a must, or take more than there is, come last."""

    def place(candidate: Candidate) -> tuple[bool, float]:
        evaluation = evaluation_of(candidate)
        total = None if evaluation is None else evaluation.total
        return candidate.status == "rejected", -1.0 * (-1 if total is None else total)

    return sorted(candidates, key=place)


def label_of(candidate: Candidate) -> str:
    """What a candidate is called in lists: the beginning of its description."""
    words = " ".join(candidate.mechanism_description.split())
    return words if len(words) <= SHORT else f"{words[: SHORT - 1].rstrip()}…"
