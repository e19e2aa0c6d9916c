"""Retry policy: the delay (exponential backoff with jitter) before a request is retried. Pure: randomness is an argument."""

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
