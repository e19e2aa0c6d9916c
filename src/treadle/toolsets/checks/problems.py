"""Why tests were never started; each message is a sentence for the model that says what to do."""

from treadle.core.errors import ToolProblem, TreadleError


class NotRun(TreadleError, ToolProblem):
    """No runner, no program, or a wish that the runner can't be told."""
