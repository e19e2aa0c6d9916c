"""Permission modes of a coding session: what runs without asking, as data, and the policy that follows from it.

`ask`           edits and commands need approval, an edit with its diff
`accept-edits`  edits in the workspace run, and commands that the sandbox confines
`plan`          nothing is changed; the model ends with a plan, and the user's approval of it leaves the mode

In every mode the model reads, searches and runs the project's tests in the sandbox without asking. What leaves the machine always
needs approval. A user interface holds a `ModeState`, gives its agent `ModePolicy(state, …)`, and calls `state.switch`, also during
a turn: the next call is judged by the new mode.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

from msgspec import Struct

from treadle import Allow, Ask, Call, Deny, Tool, allow, ask
from treadle.assistant import NO_RULE, Rule, RulePolicy, Situation
from treadle.assistants.coding.agreed_checks import CHECK_CALL, CHECK_REASON
from treadle.errors import SettingsError

Mode = Literal["ask", "accept-edits", "plan"]
Verdict = Allow | Ask | Deny

PROPOSE_PLAN = "propose_plan"  # the tool by which a model asks for the approval of its plan
SESSION_TOOLSET = "session"  # of the tools that change the session itself, and no file
_TESTS = ("checks", "checks-unsandboxed")
_PUBLISH = "This sends what it changed to another machine."
_PLAN_REASON = f"This session is in plan mode, so nothing is changed. Read what you need, then call {PROPOSE_PLAN} with your plan."


class ModeInfo(Struct, frozen=True):
    """A mode for people (`title` and `summary`) and for the model (`instructions`)."""

    name: Mode
    title: str
    summary: str
    instructions: str


MODES: dict[Mode, ModeInfo] = {
    "ask": ModeInfo(
        "ask",
        "Ask",
        "edits and commands need your approval",
        "Edits and commands need the user's approval; reading, searching and running the tests don't.",
    ),
    "accept-edits": ModeInfo(
        "accept-edits",
        "Accept edits",
        "edits in this folder and sandboxed commands run without asking",
        "Edits in this folder run without asking.",
    ),
    "plan": ModeInfo(
        "plan",
        "Plan",
        "nothing is changed; it ends with a plan that you approve",
        "You are in plan mode: change nothing. Read and search until you know what has to be done, then call "
        f"{PROPOSE_PLAN} with the steps, each of which names the files it changes. Once the user approves, carry the plan out.",
    ),
}


def parse_mode(text: str) -> Mode:
    """Return the mode that is named, or that alone begins so. Raises `SettingsError` where there is none."""
    found = [mode for mode in get_args(Mode) if mode.startswith(text.strip().lower())] if text.strip() else []
    if len(found) != 1:
        raise SettingsError(f"There is no mode {text!r}; the modes are {', '.join(get_args(Mode))}.")
    return found[0]


def next_mode(mode: Mode) -> Mode:
    """Return the mode after this one, for a key that goes through them."""
    modes: tuple[Mode, ...] = get_args(Mode)
    return modes[(modes.index(mode) + 1) % len(modes)]


def mode_rules(mode: Mode, *, confined: bool) -> tuple[Rule, ...]:
    """Return the rules of a mode. `confined` says whether commands run in the sandbox and without network.

    Values that the model has from the project's own files need no approval besides (`untrusted`): an edit stays in the workspace
    and can be undone, and a confined command reaches nothing else.
    """
    common = (
        allow(effect="read"),
        *[allow(toolset=name, effect="read", untrusted=True) for name in ("workspace", "git", SESSION_TOOLSET)],
        allow(toolset="checks", untrusted=True, reason="The project's own tests run in the sandbox."),
        ask("git_push", reason=_PUBLISH),
        ask("create_pr", reason=_PUBLISH),
        ask(PROPOSE_PLAN, toolset=SESSION_TOOLSET, reason="Approving the plan ends plan mode."),
        ask(CHECK_CALL, toolset=SESSION_TOOLSET, reason=CHECK_REASON),
    )
    if mode != "accept-edits":
        return common
    edits = allow(toolset="workspace", untrusted=True, reason="The session accepts edits in the workspace.")
    commands = allow(toolset="shell", untrusted=True, reason="The session accepts commands that the sandbox confines.")
    return (*common, edits, *([commands] if confined else []))


def explain_question(mode: Mode, tool: Tool) -> str:
    """Return why a person is asked about a call that no rule allows."""
    match tool.toolset:
        case "workspace":
            return f"In the mode {mode}, edits need your approval."
        case "shell" if mode == "ask":
            return "In the mode ask, commands need your approval."
        case "shell":
            return "Commands run without your approval only where the sandbox confines them."
        case "checks-unsandboxed":
            return "The tests run without the sandbox here, so they need your approval."
        case "git":
            return "In every mode, changes of the repository need your approval."
        case _:
            return f"In every mode, {tool.name} needs your approval, as no rule allows it."


def runs_in_plan_mode(tool: Tool) -> bool:
    """Return whether plan mode lets a call reach the rules: it reads, tests, or is about the session. Pass `tool.for_call(…)`."""
    return tool.effect == "read" or tool.toolset in (*_TESTS, SESSION_TOOLSET)


class ModeState:
    """The current mode of a session.

    `after_plan` is the mode in which an approved plan is carried out. `on_switch` is called with each new mode, which `store`
    stores; `load` returns the stored one before each call is judged, as another process may have switched it.
    """

    def __init__(self, mode: Mode = "ask", on_switch: Callable[[Mode], object] | None = None) -> None:
        self.mode: Mode = mode
        self.after_plan: Mode = "ask"
        self.on_switch = on_switch
        self.load: Callable[[], Mode | None] = lambda: None
        self.store: Callable[[Mode], object] = lambda _: None

    def switch(self, mode: Mode) -> None:
        """Go on in a mode. Plan mode, once its plan is approved, goes back to the one before it."""
        if mode == self.mode:
            return
        if mode == "plan":
            self.after_plan = self.mode
        self.mode = mode
        self.store(mode)
        if self.on_switch is not None:
            self.on_switch(mode)

    def refresh(self) -> None:
        """Switch to the mode that is stored, if it is another one."""
        mode = self.load()
        if mode is not None:
            self.switch(mode)

    def leave_plan(self) -> Mode:
        """Carry out an approved plan: return the mode that applies from now on."""
        if self.mode == "plan":
            self.switch(self.after_plan)
        return self.mode

    @property
    def instructions(self) -> str:
        """What the model has to know of the mode."""
        return MODES[self.mode].instructions


class ModePolicy:
    """The policy of a session: the rules of its current mode, and `more` from settings and options. A denial beats any mode."""

    def __init__(self, state: ModeState, *, confined: bool, more: Iterable[Rule] = ()) -> None:
        self._state = state
        self._confined = confined
        self._more = tuple(more)
        self._policies = {mode: RulePolicy((*mode_rules(mode, confined=confined), *self._more)) for mode in MODES}

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        """Return the verdict on a call, by the current mode."""
        self._state.refresh()
        if self._state.mode == "plan" and not runs_in_plan_mode(tool.for_call(call.arguments)):
            return Deny("plan mode", _PLAN_REASON)
        if self._state.mode != "plan" and tool.name == PROPOSE_PLAN:
            return Deny("mode", f"This session is in the mode {self._state.mode}, which needs no plan: do what was asked.")
        verdict = self._policies[self._state.mode].judge(call, tool, situation)
        if isinstance(verdict, Ask) and verdict.by == NO_RULE:
            return Ask(verdict.by, explain_question(self._state.mode, tool))
        return verdict

    def offers(self, tool: Tool, situation: Situation) -> bool:
        """Return whether a tool is offered: the same in every mode, since the mode may change in the middle of a turn."""
        return self._policies[self._state.mode].offers(tool, situation)

    def with_rules(self, rules: Iterable[Any]) -> "ModePolicy":
        """Return the policy with more rules, for every mode."""
        return ModePolicy(self._state, confined=self._confined, more=(*self._more, *rules))
