"""Candidates side by side, by constraint, and the decision for one of them as an architecture decision record in Markdown. Pure."""

from collections.abc import Sequence
from datetime import date

from msgspec import Struct

from treadle.assistants.guidance.recording import spec_of_run
from treadle.assistants.guidance.scoring import MUST, Evaluation, evaluation_of, label_of, ranked
from treadle.assistants.guidance.store.values import Candidate, CandidateStatus, Issue, ProblemSpec, Project, Run


class ComparedConstraint(Struct, frozen=True):
    """A row of a comparison: a constraint, and the score of each candidate; None where it wasn't judged."""

    name: str
    weight: int
    scores: tuple[int | None, ...]


class ComparedCandidate(Struct, frozen=True):
    """A column of a comparison."""

    id: str
    label: str
    status: CandidateStatus
    total: float | None
    violations: tuple[str, ...] = ()


class Comparison(Struct, frozen=True):
    """The candidates of a run, the best first, and their scores by constraint."""

    project_id: str
    run_id: str
    candidates: tuple[ComparedCandidate, ...]
    constraints: tuple[ComparedConstraint, ...]


def compare(run: Run, candidates: Sequence[Candidate]) -> Comparison:
    """Candidates of a run, side by side."""
    order = ranked(candidates)
    evaluations = [evaluation_of(each) or Evaluation() for each in order]
    columns = [
        ComparedCandidate(each.id, label_of(each), each.status, found.total, found.violations)
        for each, found in zip(order, evaluations, strict=True)
    ]
    rows = [
        ComparedConstraint(each.name, each.weight, tuple([_score(found, each.name) for found in evaluations]))
        for each in spec_of_run(run).constraints
    ]
    return Comparison(run.project_id, run.id, tuple(columns), tuple(rows))


def _score(evaluation: Evaluation, constraint: str) -> int | None:
    return next((each.score for each in evaluation.constraints if each.constraint == constraint), None)


def to_lines(comparison: Comparison) -> list[str]:
    """A comparison as a table for a terminal, with a key to its columns."""
    heads = [f"C{number}" for number in range(1, len(comparison.candidates) + 1)]
    names = [_named(each) for each in comparison.constraints]
    width = max([len("constraint"), *[len(name) for name in names]])
    rows = [("constraint", heads)]
    rows += [(name, [_cell(score) for score in each.scores]) for name, each in zip(names, comparison.constraints, strict=True)]
    rows.append(("total", ["-" if each.total is None else f"{each.total:g}" for each in comparison.candidates]))
    lines = [f"{name:<{width}}  {'  '.join([f'{cell:>5}' for cell in cells])}".rstrip() for name, cells in rows]
    key = [f"{head}  {each.id}  {each.status:<10}  {each.label}" for head, each in zip(heads, comparison.candidates, strict=True)]
    return [*lines, "", *key]


def _named(constraint: ComparedConstraint) -> str:
    return f"{constraint.name} ({'must' if constraint.weight == MUST else constraint.weight})"


def _cell(score: int | None) -> str:
    return "-" if score is None else str(score)


# the record of a decision


def decision_record(
    project: Project, run: Run, chosen: Candidate, candidates: Sequence[Candidate], issues: Sequence[Issue], today: date
) -> str:
    """The architecture decision record for a candidate, in Markdown."""
    evaluation = evaluation_of(chosen) or Evaluation()
    others = [each for each in ranked(candidates) if each.id != chosen.id]
    mine = [each for each in issues if each.candidate_id == chosen.id or (each.run_id == run.id and each.candidate_id is None)]
    parts = [
        f"# {_inline(project.title)}: {_inline(label_of(chosen))}",
        f"- Status: proposed\n- Date: {today.isoformat()}\n- Run: `{run.id}`, candidate `{chosen.id}`",
        "## Context",
        *([project.description] if project.description else []),
        *_context(spec_of_run(run)),
        "## Decision",
        chosen.mechanism_description,
        "## Consequences",
        *_consequences(chosen, evaluation),
        *(["### Open issues", _bullets([f"{each.severity}: {each.description}" for each in mine])] if mine else []),
        "## Alternatives considered",
        _alternatives(others) if others else "None.",
    ]
    return "\n\n".join(parts) + "\n"


def _context(spec: ProblemSpec) -> list[str]:
    rows = [f"| {_inline(each.name)} | {each.weight} | {_inline(each.description)} |" for each in spec.constraints]
    table = ["\n".join(["| Constraint | Weight | |", "|---|---|---|", *rows])] if rows else []
    return [*table, *([f"Goals:\n\n{_bullets(spec.goals)}"] if spec.goals else [])]


def _consequences(chosen: Candidate, evaluation: Evaluation) -> list[str]:
    effects = [str(each) for each in chosen.predicted_effects.get("effects", ())]
    total = "It hasn't been evaluated." if evaluation.total is None else f"Total: {evaluation.total:g} of 100, by weight."
    cells = [(each.constraint, _cell(each.score), each.reason, str(each.check or "")) for each in evaluation.constraints]
    rows = [f"| {' | '.join([_inline(cell) for cell in row])} |" for row in cells]
    table = ["\n".join(["| Constraint | Score | Reason | Checked in code |", "|---|---|---|---|", *rows])] if rows else []
    return [
        *([_bullets(effects)] if effects else []),
        total,
        *table,
        *([f"Resources:\n\n{_bullets([str(each) for each in evaluation.resources])}"] if evaluation.resources else []),
    ]


def _alternatives(others: Sequence[Candidate]) -> str:
    lines: list[str] = []
    for each in others:
        found = evaluation_of(each)
        total = "no score" if found is None or found.total is None else f"{found.total:g} of 100"
        broken = f"; breaks {', '.join(found.violations)}" if found is not None and found.violations else ""
        lines.append(f"{each.mechanism_description} ({total}, {each.status}{broken})")
    return _bullets(lines)


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join([f"- {_inline(each)}" for each in lines])


def _inline(text: str) -> str:
    """A text in one line that ends no cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
