"""Compare candidates by constraint, and write an architecture decision record for one of them in Markdown. Pure."""

from collections.abc import Sequence
from datetime import date

from msgspec import Struct

from treadle.assistants.guidance.recording import spec_of_run
from treadle.assistants.guidance.scoring import MUST_WEIGHT, Evaluation, candidate_label, load_evaluation, rank_candidates
from treadle.assistants.guidance.store.values import Candidate, CandidateStatus, ProblemSpec, Project, ProjectIssue, Run


class ComparedConstraint(Struct, frozen=True):
    """A row of a comparison: a constraint, and the score of each candidate; None if it wasn't judged."""

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


def build_comparison(run: Run, candidates: Sequence[Candidate]) -> Comparison:
    """Compare candidates of a run."""
    order = rank_candidates(candidates)
    evaluations = [load_evaluation(each) or Evaluation() for each in order]
    columns = [
        ComparedCandidate(each.id, candidate_label(each), each.status, found.total, found.violations)
        for each, found in zip(order, evaluations, strict=True)
    ]
    rows = [
        ComparedConstraint(each.name, each.weight, tuple([_find_score(found, each.name) for found in evaluations]))
        for each in spec_of_run(run).constraints
    ]
    return Comparison(run.project_id, run.id, tuple(columns), tuple(rows))


def _find_score(evaluation: Evaluation, constraint: str) -> int | None:
    return next((each.score for each in evaluation.constraints if each.constraint == constraint), None)


def format_comparison(comparison: Comparison) -> list[str]:
    """Format a comparison as a table for a terminal, with a key to its columns."""
    heads = [f"C{number}" for number in range(1, len(comparison.candidates) + 1)]
    names = [_format_constraint(each) for each in comparison.constraints]
    width = max([len("constraint"), *[len(name) for name in names]])
    rows = [("constraint", heads)]
    rows += [
        (name, [_format_cell(score) for score in each.scores]) for name, each in zip(names, comparison.constraints, strict=True)
    ]
    rows.append(("total", ["-" if each.total is None else f"{each.total:g}" for each in comparison.candidates]))
    lines = [f"{name:<{width}}  {'  '.join([f'{cell:>5}' for cell in cells])}".rstrip() for name, cells in rows]
    key = [f"{head}  {each.id}  {each.status:<10}  {each.label}" for head, each in zip(heads, comparison.candidates, strict=True)]
    return [*lines, "", *key]


def _format_constraint(constraint: ComparedConstraint) -> str:
    return f"{constraint.name} ({'must' if constraint.weight == MUST_WEIGHT else constraint.weight})"


def _format_cell(score: int | None) -> str:
    return "-" if score is None else str(score)


# the record of a decision


def format_decision_record(
    project: Project, run: Run, chosen: Candidate, candidates: Sequence[Candidate], issues: Sequence[ProjectIssue], today: date
) -> str:
    """Return the architecture decision record for a candidate, in Markdown."""
    evaluation = load_evaluation(chosen) or Evaluation()
    others = [each for each in rank_candidates(candidates) if each.id != chosen.id]
    mine = [each for each in issues if each.candidate_id == chosen.id or (each.run_id == run.id and each.candidate_id is None)]
    parts = [
        f"# {_to_inline(project.title)}: {_to_inline(candidate_label(chosen))}",
        f"- Status: proposed\n- Date: {today.isoformat()}\n- Run: `{run.id}`, candidate `{chosen.id}`",
        "## Context",
        *([project.description] if project.description else []),
        *_context_lines(spec_of_run(run)),
        "## Decision",
        chosen.mechanism_description,
        "## Consequences",
        *_consequence_lines(chosen, evaluation),
        *(["### Open issues", _to_bullets([f"{each.severity}: {each.description}" for each in mine])] if mine else []),
        "## Alternatives considered",
        _format_alternatives(others) if others else "None.",
    ]
    return "\n\n".join(parts) + "\n"


def _context_lines(spec: ProblemSpec) -> list[str]:
    rows = [f"| {_to_inline(each.name)} | {each.weight} | {_to_inline(each.description)} |" for each in spec.constraints]
    table = ["\n".join(["| Constraint | Weight | |", "|---|---|---|", *rows])] if rows else []
    return [*table, *([f"Goals:\n\n{_to_bullets(spec.goals)}"] if spec.goals else [])]


def _consequence_lines(chosen: Candidate, evaluation: Evaluation) -> list[str]:
    effects = [str(each) for each in chosen.predicted_effects.get("effects", ())]
    total = "It hasn't been evaluated." if evaluation.total is None else f"Total: {evaluation.total:g} of 100, by weight."
    cells = [(each.constraint, _format_cell(each.score), each.reason, str(each.check or "")) for each in evaluation.constraints]
    rows = [f"| {' | '.join([_to_inline(cell) for cell in row])} |" for row in cells]
    table = ["\n".join(["| Constraint | Score | Reason | Checked in code |", "|---|---|---|---|", *rows])] if rows else []
    return [
        *([_to_bullets(effects)] if effects else []),
        total,
        *table,
        *([f"Resources:\n\n{_to_bullets([str(each) for each in evaluation.resources])}"] if evaluation.resources else []),
    ]


def _format_alternatives(others: Sequence[Candidate]) -> str:
    lines: list[str] = []
    for each in others:
        found = load_evaluation(each)
        total = "no score" if found is None or found.total is None else f"{found.total:g} of 100"
        broken = f"; breaks {', '.join(found.violations)}" if found is not None and found.violations else ""
        lines.append(f"{each.mechanism_description} ({total}, {each.status}{broken})")
    return _to_bullets(lines)


def _to_bullets(lines: Sequence[str]) -> str:
    return "\n".join([f"- {_to_inline(each)}" for each in lines])


def _to_inline(text: str) -> str:
    """Return a text on one line, with the character escaped that ends a table cell."""
    return " ".join(text.split()).replace("|", "\\|")
