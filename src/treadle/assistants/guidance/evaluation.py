"""The steps of a run: scenarios, candidate solutions, and a judgement of each, one question to the model at a time. Pure.

The next step follows from what the store has recorded, so that a run which was killed continues with the first step
that isn't recorded. A reply of the wrong shape is requested once more.
"""

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from treadle import Options
from treadle.assistants.guidance.changes import to_plain_lines
from treadle.assistants.guidance.scoring import (
    Judgement,
    ResourceUse,
    candidate_label,
    load_evaluation,
    parse_amount,
    parse_limit,
    rank_candidates,
)
from treadle.assistants.guidance.store.values import ENDED, Candidate, ProblemSpec, Run, WorldModel
from treadle.errors import ModelError
from treadle.plans import PlanQuestion, PlanStep, extract_json

EvaluationSteps = Generator[PlanQuestion, str, PlanStep]
Wanted = TypeVar("Wanted", bound=Struct)

MAX_WORLD = 8_000  # characters of a world model that a question shows
LONG = Options(temperature=0.7, max_tokens=3000)
EXACT = Options(temperature=0, max_tokens=2000)

SCENARIOS = (
    "You test plans. Name situations in which a solution of this problem could fail: assumptions that turn out wrong, resources "
    "that run short, actors who do something else. Reply with JSON alone."
)
CANDIDATES = (
    "You design solutions. Propose solutions of this problem that differ from each other in how they work, and that keep its "
    "constraints. Say in two or three sentences what is done and by which mechanism of the world it works, and list what it would "
    "bring about. Reply with JSON alone."
)
JUDGE = (
    "You judge a proposed solution against each constraint, with the world model in mind and in all of these situations. For each "
    "constraint say why in a sentence, then a score from 0 (broken) to 100 (kept in every situation), and in which situation it "
    "does worst. Where a constraint limits a number, predict that number. Say how much of each resource it needs. Be strict. Reply "
    "with JSON alone."
)
AGAIN = "That wasn't JSON of the form that was asked for. Reply with that JSON and nothing else."


class Scenario(Struct, frozen=True):
    """A situation in which candidates are judged."""

    name: str
    description: str = ""


class Proposal(Struct, frozen=True):
    """A solution that a model proposes."""

    description: str
    effects: tuple[str, ...] = ()


class ScenarioList(Struct, frozen=True):
    """A model's reply: scenarios."""

    scenarios: tuple[Scenario, ...]


class ProposalList(Struct, frozen=True):
    """A model's reply: solutions."""

    candidates: tuple[Proposal, ...]


class JudgementList(Struct, frozen=True):
    """A model's reply: judgements of one candidate, and what it needs."""

    judgements: tuple[Judgement, ...]
    uses: tuple[ResourceUse, ...] = ()


class RunSnapshot(Struct, frozen=True):
    """A run as stored: what it evaluates against, and what is recorded so far."""

    run: Run
    spec: ProblemSpec
    world: WorldModel
    scenarios: tuple[Scenario, ...] | None = None  # None: not asked for yet
    candidates: tuple[Candidate, ...] = ()
    seeds: tuple[Candidate, ...] = ()

    @property
    def wanted(self) -> int:
        """How many candidates the run evaluates."""
        return int(self.run.config.get("num_candidates", 5))

    @property
    def generates(self) -> bool:
        """Whether candidates have yet to be proposed."""
        return self.run.mode != "eval_only" and not self.candidates


def next_evaluation_step(snapshot: RunSnapshot) -> EvaluationSteps:
    """Return the next step of a run."""
    if snapshot.run.status in ENDED:
        yield from ()
        return PlanStep(text=format_run_summary(snapshot.run, snapshot.candidates))
    if snapshot.run.status == "created":
        return PlanStep((("begin_run", {}),))
    if snapshot.scenarios is None:
        found = yield from _ask_for(_scenario_question(snapshot), ScenarioList)
        return PlanStep((("record_scenarios", {"scenarios": [] if found is None else msgspec.to_builtins(found.scenarios)}),))
    if snapshot.generates:
        return (yield from _propose_candidates(snapshot))
    open_ones = [each for each in snapshot.candidates if load_evaluation(each) is None]
    if not open_ones:
        return PlanStep((("finish_run", {}),))
    judged = yield from _ask_for(_judge_question(snapshot, open_ones[0]), JudgementList)
    given = msgspec.to_builtins(judged or JudgementList(()))
    return PlanStep((("record_evaluation", {"candidate_id": open_ones[0].id, **given}),))


def _propose_candidates(snapshot: RunSnapshot) -> EvaluationSteps:
    found = yield from _ask_for(_candidate_question(snapshot), ProposalList)
    proposals = [each for each in (found.candidates if found else ()) if each.description.strip()][: snapshot.wanted]
    if not proposals:
        raise ModelError("The model proposed no candidates that could be read, in two replies. Try again, or with another model.")
    return PlanStep((("record_candidates", {"candidates": msgspec.to_builtins(proposals)}),))


def _ask_for(question: PlanQuestion, kind: type[Wanted]) -> Generator[PlanQuestion, str, Wanted | None]:
    """Return the model's reply as a value; None if it is invalid twice."""
    words = yield question
    value = _parse_reply(words, kind)
    if value is None:
        words = yield msgspec.structs.replace(question, text=f"{question.text}\n\n{AGAIN}")
        value = _parse_reply(words, kind)
    return value


def _parse_reply(words: str, kind: type[Wanted]) -> Wanted | None:
    try:
        return msgspec.convert(extract_json(words), kind)
    except msgspec.ValidationError:
        return None


# the questions


def _scenario_question(snapshot: RunSnapshot) -> PlanQuestion:
    number = int(snapshot.run.config.get("num_scenarios", 8))
    item = _object_schema(name={"type": "string"}, description={"type": "string"})
    text = f"{_describe_problem(snapshot)}\n\nName {number} situations."
    return PlanQuestion(text, SCENARIOS, LONG, _object_schema(scenarios=_array_schema(item, number)))


def _candidate_question(snapshot: RunSnapshot) -> PlanQuestion:
    item = _object_schema(description={"type": "string"}, effects=_array_schema({"type": "string"}, 5))
    seeds = [f"- {each.mechanism_description}" for each in snapshot.seeds]
    begin = ["\nBegin with these, and improve on them:", *seeds] if seeds else []
    text = "\n".join([_describe_problem(snapshot), *begin, "", f"Propose {snapshot.wanted} solutions."])
    return PlanQuestion(text, CANDIDATES, LONG, _object_schema(candidates=_array_schema(item, snapshot.wanted)))


def _judge_question(snapshot: RunSnapshot, candidate: Candidate) -> PlanQuestion:
    names = [each.name for each in snapshot.spec.constraints]
    limits = [
        f"- {each.name}: predict the number that has to be {limit}"
        for each in snapshot.spec.constraints
        if (limit := parse_limit(each))
    ]
    amounts = {each.name: amount for each in snapshot.world.resources if (amount := parse_amount(each)) is not None}
    there = [f"- {name}: {amount:,.10g}" for name, amount in amounts.items()]
    situations = [f"- {each.name}: {each.description}" for each in snapshot.scenarios or ()]
    parts = [
        _describe_problem(snapshot),
        *(["\nSituations:", *situations] if situations else []),
        *(["\nNumbers to predict:", *limits] if limits else []),
        *(["\nResources that there are:", *there] if there else []),
        f"\nThe proposed solution:\n{candidate.mechanism_description}",
    ]
    judgement = _object_schema(
        constraint={"type": "string", "enum": names},
        reason={"type": "string"},
        score={"type": "integer", "minimum": 0, "maximum": 100},
        predicted={"type": ["number", "null"]},
        scenario={"type": "string"},
    )
    uses = _object_schema(resource={"type": "string", "enum": list(amounts)}, amount={"type": "number"})
    shape = _object_schema(
        judgements=_array_schema(judgement, len(names)), **({"uses": _array_schema(uses, len(amounts))} if amounts else {})
    )
    return PlanQuestion("\n".join(parts), JUDGE, EXACT, shape)


def _describe_problem(snapshot: RunSnapshot) -> str:
    return f"The problem:\n{to_plain_lines(snapshot.spec)}\n\nIts world:\n{to_plain_lines(snapshot.world)[:MAX_WORLD]}"


def _object_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _array_schema(items: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


# the answer


def format_run_summary(run: Run, candidates: Sequence[Candidate]) -> str:
    """Summarize how a run ended, in a few lines."""
    if run.status != "completed":
        return f"The run is {run.status}. {run.error_summary}".strip()
    return format_candidates(candidates)


def format_candidates(candidates: Sequence[Candidate]) -> str:
    """List the candidates of a completed run, the best first."""
    lines: list[str] = []
    for number, each in enumerate(rank_candidates(candidates), 1):
        evaluation = load_evaluation(each)
        total = None if evaluation is None else evaluation.total
        lines.append(
            f"{number}. {candidate_label(each)} "
            f"({'no score' if total is None else f'{total:g} of 100'}, {each.status.replace('_', ' ')})"
        )
    return "\n".join([f"{len(candidates)} {'candidate was' if len(candidates) == 1 else 'candidates were'} evaluated:", *lines])
