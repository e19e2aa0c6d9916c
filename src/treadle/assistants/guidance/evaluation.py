"""The steps of a run: situations, candidate solutions, and a judgement of each, one question to the model at a time. Pure.

What comes next follows from what the store has of the run, so that a run which was killed goes on with the first step that isn't
recorded. A reply that isn't what was asked for is asked for once more.
"""

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from treadle import ModelError, Move, Options, Question, json_in
from treadle.assistants.guidance.changes import told
from treadle.assistants.guidance.scoring import Judgement, ResourceUse, amount_of, evaluation_of, label_of, limit_of, ranked
from treadle.assistants.guidance.store.values import ENDED, Candidate, ProblemSpec, Run, WorldModel

Steps = Generator[Question, str, Move]
Wanted = TypeVar("Wanted", bound=Struct)

MOST_WORLD = 8_000  # characters of a world model that a question shows
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
    """A model's reply: situations."""

    scenarios: tuple[Scenario, ...]


class ProposalList(Struct, frozen=True):
    """A model's reply: solutions."""

    candidates: tuple[Proposal, ...]


class JudgementList(Struct, frozen=True):
    """A model's reply: judgements of one candidate, and what it needs."""

    judgements: tuple[Judgement, ...]
    uses: tuple[ResourceUse, ...] = ()


class RunSnapshot(Struct, frozen=True):
    """A run as the store has it: what it evaluates against, and what is recorded by now."""

    run: Run
    spec: ProblemSpec
    world: WorldModel
    scenarios: tuple[Scenario, ...] | None = None  # None: not asked for yet
    candidates: tuple[Candidate, ...] = ()
    seeds: tuple[Candidate, ...] = ()

    @property
    def wanted(self) -> int:
        """How many candidates the run is to look at."""
        return int(self.run.config.get("num_candidates", 5))

    @property
    def generates(self) -> bool:
        """Whether candidates are still to be proposed."""
        return self.run.mode != "eval_only" and not self.candidates


def next_step(snapshot: RunSnapshot) -> Steps:
    """What comes next in a run."""
    if snapshot.run.status in ENDED:
        yield from ()
        return Move(text=summary(snapshot.run, snapshot.candidates))
    if snapshot.run.status == "created":
        return Move((("begin_run", {}),))
    if snapshot.scenarios is None:
        found = yield from _asked(_scenarios(snapshot), ScenarioList)
        return Move((("record_scenarios", {"scenarios": [] if found is None else msgspec.to_builtins(found.scenarios)}),))
    if snapshot.generates:
        return (yield from _propose(snapshot))
    open_ones = [each for each in snapshot.candidates if evaluation_of(each) is None]
    if not open_ones:
        return Move((("finish_run", {}),))
    judged = yield from _asked(_judge(snapshot, open_ones[0]), JudgementList)
    given = msgspec.to_builtins(judged or JudgementList(()))
    return Move((("record_evaluation", {"candidate_id": open_ones[0].id, **given}),))


def _propose(snapshot: RunSnapshot) -> Steps:
    found = yield from _asked(_candidates(snapshot), ProposalList)
    proposals = [each for each in (found.candidates if found else ()) if each.description.strip()][: snapshot.wanted]
    if not proposals:
        raise ModelError("The model proposed no candidates that could be read, in two replies. Try again, or with another model.")
    return Move((("record_candidates", {"candidates": msgspec.to_builtins(proposals)}),))


def _asked(question: Question, kind: type[Wanted]) -> Generator[Question, str, Wanted | None]:
    """The model's reply as a value; None where it isn't one in two tries."""
    words = yield question
    value = _read(words, kind)
    if value is None:
        words = yield msgspec.structs.replace(question, text=f"{question.text}\n\n{AGAIN}")
        value = _read(words, kind)
    return value


def _read(words: str, kind: type[Wanted]) -> Wanted | None:
    try:
        return msgspec.convert(json_in(words), kind)
    except msgspec.ValidationError:
        return None


# the questions


def _scenarios(snapshot: RunSnapshot) -> Question:
    number = int(snapshot.run.config.get("num_scenarios", 8))
    item = _object(name={"type": "string"}, description={"type": "string"})
    text = f"{_problem(snapshot)}\n\nName {number} situations."
    return Question(text, SCENARIOS, LONG, _object(scenarios=_array(item, number)))


def _candidates(snapshot: RunSnapshot) -> Question:
    item = _object(description={"type": "string"}, effects=_array({"type": "string"}, 5))
    seeds = [f"- {each.mechanism_description}" for each in snapshot.seeds]
    begin = ["\nBegin with these, and improve on them:", *seeds] if seeds else []
    text = "\n".join([_problem(snapshot), *begin, "", f"Propose {snapshot.wanted} solutions."])
    return Question(text, CANDIDATES, LONG, _object(candidates=_array(item, snapshot.wanted)))


def _judge(snapshot: RunSnapshot, candidate: Candidate) -> Question:
    names = [each.name for each in snapshot.spec.constraints]
    limits = [
        f"- {each.name}: predict the number that has to be {limit}"
        for each in snapshot.spec.constraints
        if (limit := limit_of(each))
    ]
    amounts = {each.name: amount for each in snapshot.world.resources if (amount := amount_of(each)) is not None}
    there = [f"- {name}: {amount:,.10g}" for name, amount in amounts.items()]
    situations = [f"- {each.name}: {each.description}" for each in snapshot.scenarios or ()]
    parts = [
        _problem(snapshot),
        *(["\nSituations:", *situations] if situations else []),
        *(["\nNumbers to predict:", *limits] if limits else []),
        *(["\nResources that there are:", *there] if there else []),
        f"\nThe proposed solution:\n{candidate.mechanism_description}",
    ]
    judgement = _object(
        constraint={"type": "string", "enum": names},
        reason={"type": "string"},
        score={"type": "integer", "minimum": 0, "maximum": 100},
        predicted={"type": ["number", "null"]},
        scenario={"type": "string"},
    )
    uses = _object(resource={"type": "string", "enum": list(amounts)}, amount={"type": "number"})
    shape = _object(judgements=_array(judgement, len(names)), **({"uses": _array(uses, len(amounts))} if amounts else {}))
    return Question("\n".join(parts), JUDGE, EXACT, shape)


def _problem(snapshot: RunSnapshot) -> str:
    return f"The problem:\n{told(snapshot.spec)}\n\nIts world:\n{told(snapshot.world)[:MOST_WORLD]}"


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _array(items: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


# the answer


def summary(run: Run, candidates: Sequence[Candidate]) -> str:
    """How a run ended, in a few lines."""
    if run.status != "completed":
        return f"The run is {run.status}. {run.error_summary}".strip()
    lines: list[str] = []
    for number, each in enumerate(ranked(candidates), 1):
        evaluation = evaluation_of(each)
        total = None if evaluation is None else evaluation.total
        lines.append(
            f"{number}. {label_of(each)} ({'no score' if total is None else f'{total:g} of 100'}, {each.status.replace('_', ' ')})"
        )
    return "\n".join([f"{len(candidates)} {'candidate was' if len(candidates) == 1 else 'candidates were'} evaluated:", *lines])
