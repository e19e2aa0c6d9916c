"""Why a request got no response, in words for the model. `kind` is for programs.

URLs appear as origins only: paths, query strings and headers may contain secrets.
"""

from typing import ClassVar

from treadle.core.errors import ToolProblem

MAYBE_DONE = " It may or may not have taken effect."


class HttpProblem(ToolProblem):
    """A request that got no response."""

    kind: ClassVar[str] = "failed"


class TargetNotAllowed(HttpProblem):
    """A URL, a header or a redirect that tools may not use."""

    kind = "not_allowed"


class HostNotResolved(HttpProblem):
    """A host that can't be resolved."""

    kind = "not_resolved"


class NoResponse(HttpProblem):
    """Refused, reset, or closed before the response was complete."""

    kind = "no_answer"


class RequestTimedOut(HttpProblem):
    """No complete response before the timeout."""

    kind = "timed_out"


class ResponseTooLarge(HttpProblem):
    """A response larger than the limit."""

    kind = "too_large"


class NotHttp(HttpProblem):
    """The response isn't HTTP."""

    kind = "no_http"


class NotSecure(HttpProblem):
    """A connection that can't be trusted: its certificate isn't accepted, or the server doesn't speak TLS."""

    kind = "not_secure"
