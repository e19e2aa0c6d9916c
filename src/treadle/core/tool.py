"""A tool: one ability with a schema, and what it does to the world. How one is made from a function is `tools.tool`."""

from typing import Any

from msgspec import Struct

from treadle.core.calls import Effect, Retry, Trust
from treadle.core.requests import ToolSpec


class Tool(Struct, frozen=True):
    """One ability. `spec` is what a model is told; the rest is what the engine and the policy go by, and no model sees it.

    effect      what it does to the world; unknown means write
    retry       what to do when the process died during a call (see `loop.recover`)
    timeout     seconds until a call is given up; None waits for as long as the run may last
    trust       whether its output may be believed; untrusted output puts effects under approval
    cache       seconds a result may be reused for the same user and arguments; 0 never
    sequential  the calls before it are waited for, and the calls after it wait
    sends_to    the third party that a call tells its arguments to, also one that only reads; empty if there is none, None if
                nobody said, and then the words of its name tell (see `guard.outbound`)
    threaded    it runs in a thread, which can't be stopped at the timeout, only given up
    """

    spec: ToolSpec
    effect: Effect = "write"
    retry: Retry = "once"
    timeout: float | None = None
    trust: Trust = "trusted"
    cache: float = 0
    sequential: bool = False
    threaded: bool = False
    toolset: str = ""
    sends_to: str | None = None

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.spec.name

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return self.spec.parameters
