"""A tool: one ability with a schema, and its effect on the world. How one is made from a function is in `tools.tool`."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Effect, Retry, Trust
from treadle.core.media import Prompt
from treadle.core.requests import ToolSpec

ACTION = "action"  # the argument that chooses what a tool with several effects does
_WEAKEST_FIRST: tuple[Effect, ...] = ("read", "write", "destroy")


def strongest(effects: Iterable[Effect]) -> Effect:
    """Return the most dangerous of some effects."""
    return max(effects, key=_WEAKEST_FIRST.index)


class ToolResult(Struct, frozen=True):
    """What a tool returns where the model is to read something else than the value.

    `content` is for the model: a text, or texts with images and the like. `data` is for code: any JSON-like value, struct,
    dataclass or pydantic model. It is journaled as plain JSON and is `data` of the call's `Result`. `untrusted` marks this result
    as written by others, where the tool's results aren't all so (`trust="untrusted"`); `about` then tells the model what
    it is, in place of the sentence that it is data to be read only.
    """

    content: Prompt
    data: Any = None
    untrusted: bool = False
    about: str = ""

    def __str__(self) -> str:
        """Return the text; media are replaced by labels."""
        return self.content if isinstance(self.content, str) else "\n".join([str(part) for part in self.content])


class RetryPolicy(Struct, frozen=True):
    """How often a call that raised is tried again before the model reads the problem.

    times    further tries after the first
    seconds  the delay before the second try, doubled for each further one, with jitter
    on       the exceptions that are worth another try; a `ToolProblem`, which is for the model, only if it is listed here
    """

    times: int = 2
    seconds: float = 0.5
    on: tuple[type[Exception], ...] = (Exception,)


class Tool(Struct, frozen=True):
    """One ability. `spec` is what the model sees; the rest is for the engine and the policy, and no model sees it.

    effect      its effect on the world; unknown means write. With `effects`, the strongest of them
    effects     the effect of each value of the argument `action`; empty for a tool that does one thing (see `for_call`)
    retry       what to do when the process died during a call (see `loop.recover`)
    timeout     seconds until a call is given up; None waits for as long as the run may last
    trust       whether its output may be trusted; untrusted output puts effects under approval
    cache       seconds a result may be reused for the same user and arguments; 0 never
    sequential  the calls before it are waited for, and the calls after it wait
    sends_to    the third party that a call sends its arguments to, also one that only reads; empty if there is none, None if
                unspecified, and then the words of its name decide (see `guard.outbound`)
    threaded    it runs in a thread, which can't be stopped at the timeout, only given up
    background  a call returns at once, and its work goes on while the model does; its result is read later
    retries     whether a call that raised is tried again; only where its retry class allows that (see `loop.retry`)
    offered     False where the model knows it only from the description of another tool, which calls it
    grantable   whether an approval of a call can be remembered for calls like it
    composite   its results are made of those of the tools that it calls, and have no origin of their own
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
    effects: Mapping[str, Effect] = {}
    retries: RetryPolicy | None = None
    background: bool = False
    offered: bool = True
    composite: bool = False
    grantable: bool = True

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.spec.name

    def copy_with(self, *, description: str | None = None, parameters: dict[str, Any] | None = None) -> "Tool":
        """Return a copy that is described otherwise to the model."""
        spec = self.spec
        new = replace(
            spec,
            description=spec.description if description is None else description,
            parameters=spec.parameters if parameters is None else parameters,
        )
        return replace(self, spec=new)

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return self.spec.parameters

    def effect_of(self, arguments: Mapping[str, Any]) -> Effect:
        """Return the effect of a call with these arguments. An action that isn't declared, or none, counts as the strongest."""
        action = arguments.get(ACTION)
        return self.effects.get(action, self.effect) if isinstance(action, str) else self.effect

    def for_call(self, arguments: Mapping[str, Any]) -> "Tool":
        """Return the tool as a call with these arguments uses it: with the effect of its action alone.

        An action that only reads may be repeated and may run beside others, whatever the tool's other actions need.
        """
        return self if not self.effects else self._acting(self.effect_of(arguments))

    def variants(self) -> tuple["Tool", ...]:
        """Return the tool as its calls may use it, once for each effect that one of them can have."""
        if not self.effects:
            return (self,)
        return tuple([self._acting(effect) for effect in dict.fromkeys(self.effects.values())])

    def _acting(self, effect: Effect) -> "Tool":
        if effect == "read":
            return replace(self, effect=effect, effects={}, retry="read", sequential=False)
        return replace(self, effect=effect, effects={})
