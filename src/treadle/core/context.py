"""The context of a running tool: `RunContext`, the first parameter of a tool that wants it.

It holds no engine: the two things a tool can do through it (call another tool, report progress) are passed in.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Generic

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
        run: object = None,
    ) -> None:
        self.deps = deps
        self.run_id = run_id
        self.call_id = call_id
        self.tool_name = tool_name
        self.user = user
        self.key = key  # the same for every try of this call: hand it to whoever can tell a repeat by it
        self.seal = seal  # of the preview that was approved: where it isn't true any more, nothing may be done
        self.attempt = attempt
        self.tainted = tainted  # untrusted content was read before: what the model passes on may be from there
        self.credentials: Mapping[str, str] = {} if credentials is None else credentials
        self.usage = usage
        self.history = history
        self._parts = parts
        self._call = call
        self._progress = progress
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

    def progress(self, text: str) -> None:
        """Report the progress of this call to the watchers."""
        if self._progress is not None:
            self._progress(text)

    def __repr__(self) -> str:
        return f"RunContext(run_id={self.run_id!r}, call_id={self.call_id!r}, tool_name={self.tool_name!r})"  # never credentials
