"""Waiting for a time or an event: when a wait ends, whether it is over, and what its result is. Pure."""

from datetime import UTC, datetime

from treadle.core.calls import Delivery, Result, Wait, WaitRequest


def begin_wait(request: WaitRequest, now: float) -> Wait:
    """Return a wait that begins now."""
    until = request.until if request.seconds is None else now + max(request.seconds, 0.0)
    return Wait(until, request.event, request.key, request.seconds)


def matches_request(wait: Wait, request: WaitRequest) -> bool:
    """Return whether a tool that is called anew asks for the same wait. When that ends was decided the first time."""
    return (wait.event, wait.key) == (request.event, request.key) and (wait.seconds is None) == (request.seconds is None)


def is_over(wait: Wait, delivery: Delivery | None, now: float) -> bool:
    """Return whether a wait is over: the event has come, or the time has."""
    return delivery is not None or (wait.until is not None and now >= wait.until)


def timeout_result(call_id: str, name: str, wait: Wait) -> Result:
    """Return the result of a wait for an event that didn't come in time."""
    return Result(call_id, name, f"{_name_event(wait).capitalize()} hasn't come by {format_moment(wait.until)}.", "timeout")


def describe_wait(wait: Wait) -> str:
    """Return what a call waits for, in words."""
    if not wait.event:
        return f"until {format_moment(wait.until)}"
    return f"for {_name_event(wait)}{'' if wait.until is None else f', until {format_moment(wait.until)} at the latest'}"


def format_moment(at: float | None) -> str:
    """Return a time as in ISO 8601, in UTC."""
    return datetime.fromtimestamp(at or 0.0, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _name_event(wait: Wait) -> str:
    return f"the event {wait.event!r}{f' of {wait.key!r}' if wait.key else ''}"
