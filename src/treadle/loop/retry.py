"""Retry policy of requests to models and of tool calls: whether there is another try, and the delay before it.

The delay is an exponential backoff with jitter. Pure: randomness is an argument.
"""

from treadle.core.calls import REPEATABLE
from treadle.core.errors import ToolProblem
from treadle.core.tool import RetryPolicy, Tool

LONGEST = 30.0  # seconds; what we choose ourselves
LONGEST_ASKED = 120.0  # seconds; what a server may ask for before we'd rather tell the person


def retry_delay(attempt: int, backoff: float, retry_after: float | None, chance: float) -> float | None:
    """Return the seconds to wait after the failed `attempt` (from 1); None where the server asks for too long a wait.

    Doubled each time with full jitter (`chance` from 0 to 1), so that many runs don't come back at the same moment. The
    server's own delay is respected, with a little more.
    """
    if retry_after is not None:
        return None if retry_after > LONGEST_ASKED else retry_after * (1 + 0.1 * chance)
    return min(backoff * 2 ** (attempt - 1), LONGEST) * chance


def call_retry_policy(tool: Tool, error: Exception, attempt: int) -> RetryPolicy | None:
    """Return the policy by which a call is tried again after the failed `attempt` (from 1); None where it isn't.

    A call whose effect must not happen twice never is: it may have taken effect before it raised. A `ToolProblem` is an
    answer to the model, so it has to be listed itself to be worth another try.
    """
    policy = tool.retries
    if policy is None or attempt > policy.times or tool.retry not in REPEATABLE:
        return None
    kinds = policy.on
    if isinstance(error, ToolProblem):
        kinds = tuple([kind for kind in kinds if issubclass(kind, ToolProblem)])
    return policy if isinstance(error, kinds) else None
