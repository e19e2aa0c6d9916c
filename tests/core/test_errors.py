"""The error tree."""

from treadle.core import errors
from treadle.core.errors import RunStopped, ToolProblem
from treadle.core.requests import Usage


def test_the_tree_in_the_docstring_names_every_error():
    raised = [name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)]
    assert all(name in (errors.__doc__ or "") for name in raised)


def test_only_a_server_that_may_recover_is_worth_another_try():
    retryable = {
        error.__name__ for error in vars(errors).values() if isinstance(error, type) and getattr(error, "retryable", False)
    }
    assert retryable == {"ModelUnavailable", "ReplyBroken"}


def test_a_models_error_carries_what_the_engine_needs_to_know():
    usage = Usage(requests=1, input_tokens=9)
    error = errors.ModelUnavailable("busy", status=429, retry_after=2.5, usage=usage)
    assert (str(error), error.status, error.retry_after, error.usage) == ("busy", 429, 2.5, usage)


def test_a_problem_of_a_tool_has_its_words_what_it_quotes_and_its_data():
    problem = ToolProblem("The server says: ", "No.", data={"status": 403})
    assert (str(problem), problem.words, problem.quote, problem.data) == (
        "The server says: No.",
        "The server says: ",
        "No.",
        {"status": 403},
    )
    assert (str(ToolProblem(ValueError("no"))), ToolProblem().quote) == ("no", "")


def test_a_problem_of_ones_own_kind_needs_no_more_than_its_words():
    class Closed(ToolProblem):
        def __init__(self, until: str) -> None:
            self.until = until

    closed = Closed("Monday")
    assert (str(closed), closed.quote, closed.data) == ("Monday", "", None)


def test_a_run_that_stopped_without_an_answer_has_its_result():
    assert RunStopped("It waits.", result=5).result == 5
