"""The context of a running tool: `RunContext`, the first parameter of a tool that wants it.

It holds no engine: what a tool can do through it (call another tool, wait, report progress) is passed in.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic

from treadle.core.calls import WaitRequest
from treadle.core.messages import History, text_of
from treadle.core.requests import Usage

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    DepsT_co = TypeVar("DepsT_co", default=object, covariant=True)
else:
    from typing import TypeVar

    DepsT_co = TypeVar("DepsT_co", covariant=True)

_NOTHING = Usage()


class RunContext(Generic[DepsT_co]):
    """The run a tool is called in. Left out of the tool's schema; `RunContext[MyDeps]` types `deps`, else an `object`."""

    __slots__ = (
        "_call",
        "_parts",
        "_progress",
        "_run",
        "_wait",
        "attempt",
        "call_id",
        "credentials",
        "deps",
        "history",
        "key",
        "run_id",
        "seal",
        "tainted",
        "tool_name",
        "usage",
        "user",
    )

    def __init__(
        self,
        *,
        deps: DepsT_co = None,
        run_id: str = "",
        call_id: str = "",
        tool_name: str = "",
        user: str = "",
        key: str = "",
        seal: str = "",
        attempt: int = 1,
        tainted: bool = False,
        credentials: Mapping[str, str] | None = None,
        usage: Usage = _NOTHING,
        history: History | None = None,
        parts: Iterable[object] = (),
        call: Callable[[str, dict[str, Any]], Awaitable[Any]] | None = None,
        progress: Callable[[str], None] | None = None,
        wait: Callable[[WaitRequest], Awaitable[Any]] | None = None,
        run: object = None,
    ) -> None:
        self.deps = deps
        self.run_id = run_id
        self.call_id = call_id
        self.tool_name = tool_name
        self.user = user
        self.key = key  # the same for every attempt of this call: pass it to a service that detects repeats by it
        self.seal = seal  # of the preview that was approved: where it isn't true any more, nothing may be done
        self.attempt = attempt
        self.tainted = tainted  # untrusted content was read before: what the model passes on may be from there
        self.credentials: Mapping[str, str] = {} if credentials is None else credentials
        self.usage = usage
        self.history = history
        self._parts = parts
        self._call = call
        self._progress = progress
        self._wait = wait
        self._run = run  # the engine's own, for agents that are tools of other agents

    def with_credentials(self, credentials: Mapping[str, str]) -> "RunContext[DepsT_co]":
        """Return the same context with other credentials."""
        made = copy(self)
        made.credentials = credentials
        return made

    @property
    def words(self) -> str:
        """What the model has said in the reply that makes this call; it isn't in the history yet."""
        return text_of(self._parts)

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """Call another tool of this run: same policy, journal and audit as if the model had asked."""
        if self._call is None:
            raise RuntimeError(f"{self.tool_name or 'This tool'} was called outside of a run, so it can't call {name}.")
        return await self._call(name, arguments)

    async def sleep(self, seconds: float | None = None, *, until: datetime | float | None = None) -> None:
        """Wait for a time: `seconds` from now on, or `until` a moment. The run waits as rows in its store, not in memory.

        Once the time has come, the tool is called anew from its beginning: what it has called with `call` and what it has waited
        for isn't repeated, everything else is. So it has to be a tool that may run again (`retry`); any other one returns `defer`.
        """
        if seconds is None and until is None:
            raise TypeError("Say how long to sleep: `seconds`, or `until` a time.")
        await self._await(_wait_request(seconds, until))

    async def wait_for_event(self, name: str, key: str = "", *, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - a durable one
        """Wait for an event, and return its value. Raises `EventTimeout` where it hasn't come after `timeout` seconds.

        The run waits as with `sleep`. `key` says which of several events of this name: an order's number, for example.
        """
        return await self._await(_wait_request(timeout, None, name, key))

    def defer(
        self,
        *,
        seconds: float | None = None,
        until: datetime | float | None = None,
        event: str = "",
        key: str = "",
        timeout: float | None = None,
    ) -> Any:
        """Return this from a tool whose result comes later: at a time, or as the value of an event. The tool isn't called anew."""
        if not event and seconds is None and until is None:
            raise TypeError("Say when the result comes: `seconds`, `until` a time, or an `event`.")
        if event and (seconds is not None or until is not None):
            raise TypeError("A result comes at a time or with an event; how long to wait for an event is its `timeout`.")
        return _wait_request(timeout if event else seconds, until, event, key)

    async def _await(self, request: WaitRequest) -> Any:
        if self._wait is None:
            raise RuntimeError(f"{self.tool_name or 'This tool'} was called outside of a run, so it can't wait.")
        return await self._wait(request)

    def progress(self, text: str) -> None:
        """Report the progress of this call to the watchers."""
        if self._progress is not None:
            self._progress(text)

    def __repr__(self) -> str:
        return f"RunContext(run_id={self.run_id!r}, call_id={self.call_id!r}, tool_name={self.tool_name!r})"  # never credentials


def _wait_request(seconds: float | None, until: datetime | float | None, event: str = "", key: str = "") -> WaitRequest:
    if seconds is not None and until is not None:
        raise TypeError("Say either `seconds` or `until`.")
    if isinstance(until, datetime):
        if until.tzinfo is None:
            raise ValueError(f"{until} has no time zone; use `datetime.now(UTC)`, for example, and add to it.")
        until = until.timestamp()
    return WaitRequest(seconds, until, event, key)
