"""Why a request brought no answer, in words for the model. `kind` is for programs.

Addresses appear as origins only: paths, queries and headers may hold secrets.
"""

from typing import ClassVar

from treadle.core.errors import ToolProblem

PERHAPS = " It may or may not have taken effect."


class OutboundProblem(ToolProblem):
    """A request that brought no answer."""

    kind: ClassVar[str] = "failed"


class NotAllowed(OutboundProblem):
    """An address, a header or a redirect that tools may not use."""

    kind = "not_allowed"


class NotResolved(OutboundProblem):
    """A host that nobody knows."""

    kind = "not_resolved"


class NoAnswer(OutboundProblem):
    """Refused, reset, or closed before the answer was whole."""

    kind = "no_answer"


class TimedOut(OutboundProblem):
    """No whole answer in time."""

    kind = "timed_out"


class TooLarge(OutboundProblem):
    """More than is read of an answer."""

    kind = "too_large"


class NotHttp(OutboundProblem):
    """Something else than HTTP came back."""

    kind = "no_http"


class NotSecure(OutboundProblem):
    """A connection that can't be trusted: its certificate isn't accepted, or nothing spoke TLS."""

    kind = "not_secure"
