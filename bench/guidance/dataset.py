"""The questions as a dataset of `treadle.evals`, for `python -m bench.guidance --eval`."""

from bench.guidance.questions import QUESTIONS, Question
from treadle.core.calls import Ask
from treadle.evals import Case, CaseRun, Dataset, Expectations, ExpectedText


def guidance_dataset(project_id: str) -> Dataset:
    """Return the questions about a project."""
    return Dataset("guidance", tuple([_to_case(question, project_id) for question in QUESTIONS]))


def _to_case(question: Question, project_id: str) -> Case:
    expected = Expectations(calls=question.looks, output=ExpectedText(matches=question.has))
    return Case(
        name=question.text,
        input=question.text,
        assistant="guidance",
        context={"project_id": project_id},
        expected=Expectations() if question.waits else expected,
        checks=(one_change_is_asked_for,) if question.waits else (nothing_is_asked_for,),
    )


def one_change_is_asked_for(run: CaseRun) -> bool:
    """Return whether exactly one call needed approval."""
    return _count_asked(run) == 1


def nothing_is_asked_for(run: CaseRun) -> bool:
    """Return whether no call needed approval."""
    return _count_asked(run) == 0


def _count_asked(run: CaseRun) -> int:
    return sum(isinstance(call.verdict, Ask) for call in run.calls)
