"""Rules that allow, ask or deny; how they combine; what untrusted content forbids. Pure.

Not here: other kinds of policy (`guard.policy`), and what a rule can ask of arguments (`guard.where`).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from treadle.core.calls import Allow, Ask, Call, Deny, Effect, Verdict
from treadle.core.errors import SettingsError
from treadle.core.seams import Situation
from treadle.core.tool import Tool
from treadle.guard.globs import Glob, glob
from treadle.guard.where import Condition, Where, conditions, hold

Decision = Literal["allow", "ask", "deny"]
Effects = Effect | Sequence[Effect] | None

_EFFECTS = ("read", "write", "destroy")
DECISIONS: tuple[Decision, ...] = ("deny", "ask", "allow")  # the first that matches wins
_SAYS = {"allow": "allows", "ask": "wants a person to approve", "deny": "forbids"}
_MOST_PLANS = 4096  # remembered tools; more than anyone offers, and a bound where tools come and go


class Rule(Struct, frozen=True):
    """One line of a policy: a decision, and which calls it is about. Made by `allow`, `ask` and `deny`.

    pattern    the tool's name, as a glob
    toolset    the name of its toolset, as a glob; None is any
    effect     the effect of the call is one of these; none is any
    where      what its arguments must be (see `guard.where`)
    reason     a sentence for the model and the person, in place of ours
    untrusted  allows effects even after untrusted content was read
    """

    decision: Decision
    pattern: str = "*"
    toolset: str | None = None
    effect: tuple[Effect, ...] = ()
    where: Where = {}
    reason: str = ""
    untrusted: bool = False

    def __str__(self) -> str:
        """As it would be written: `deny("delete_*")`."""
        words = [f'"{self.pattern}"']
        if self.toolset is not None:
            words.append(f'toolset="{self.toolset}"')
        if self.effect:
            words.append(f'effect="{"|".join(self.effect)}"')
        if self.where:
            words.append("where={" + ", ".join([f'"{name}": {_shown(asked)}' for name, asked in self.where.items()]) + "}")
        return f"{self.decision}({', '.join(words)})"


def allow(
    pattern: str = "*",
    *,
    toolset: str | None = None,
    effect: Effects = None,
    where: Where | None = None,
    reason: str = "",
    untrusted: bool = False,
) -> Rule:
    """Calls that may run. With `untrusted`, also those with effects after untrusted content was read."""
    return Rule("allow", pattern, toolset, effects_of(effect), dict(where or {}), reason, untrusted)


def ask(
    pattern: str = "*", *, toolset: str | None = None, effect: Effects = None, where: Where | None = None, reason: str = ""
) -> Rule:
    """Calls that a person has to approve."""
    return Rule("ask", pattern, toolset, effects_of(effect), dict(where or {}), reason)


def deny(
    pattern: str = "*", *, toolset: str | None = None, effect: Effects = None, where: Where | None = None, reason: str = ""
) -> Rule:
    """Calls that never run. Without `where`, the tools aren't even offered."""
    return Rule("deny", pattern, toolset, effects_of(effect), dict(where or {}), reason)


_Wanted: TypeAlias = tuple[Condition, ...]


class _Compiled(Struct, frozen=True):
    """A rule, ready made."""

    rule: Rule
    by: str
    named: Glob
    within: Glob
    wanted: _Wanted

    def fits(self, tool: Tool) -> bool:
        """Whether the rule is about this tool at all."""
        effects = self.rule.effect or _EFFECTS
        return tool.effect in effects and bool(self.named(tool.name)) and bool(self.within(tool.toolset))

    def reason(self, tool: Tool) -> str:
        """Why, in a sentence."""
        which = f"this call of {tool.name}" if self.wanted else tool.name
        return self.rule.reason or f"The policy {_SAYS[self.rule.decision]} {which}."


class _Plan(Struct, frozen=True):
    """All that the rules say about one tool, and what they still ask of its arguments. Allowing also says whether despite taint."""

    barred: Deny | None
    denies: tuple[tuple[_Wanted, Deny], ...]
    asks: tuple[tuple[_Wanted, Ask], ...]
    allows: tuple[tuple[_Wanted, Allow, bool], ...]


class Rules:
    """A policy made of rules. Deny beats ask beats allow, in whatever order they are written.

    Where no rule matches, `default` decides; None means: reading is allowed, effects are asked about. Where no one is there
    to be asked, asking is denying. Once untrusted content was read, effects that would be allowed are asked about, unless a rule
    that allows them says `untrusted=True` or their values come from the person (`guard.provenance`). `allowed_tools` and
    `denied_tools` are globs: a tool outside the first or inside the second is denied and not offered; being in `allowed_tools`
    alone lets no call run unasked.
    """

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        allowed_tools: Iterable[str] | None = None,
        denied_tools: Iterable[str] | None = None,
        default: Decision | None = None,
    ) -> None:
        if default not in (None, *DECISIONS):
            raise SettingsError(f"A policy's default may be allow, ask or deny, not {default!r}.")
        self.rules = tuple(rules)
        self._compiled = [_compile(rule) for rule in self.rules]
        self._allowed = None if allowed_tools is None else _globs(allowed_tools)
        self._denied = _globs(denied_tools or ())
        self._default: Decision | None = default
        self._plans: dict[tuple[str, str, Effect], _Plan] = {}

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        """May this call run?"""
        tool = tool.for_call(call.arguments)
        objection = self.objection(call, tool, situation)
        if objection is not None:
            return objection
        arguments, parameters = call.arguments, tool.spec.parameters
        verdict: Allow | None = None
        for wanted, allowed, untrusted in self._plan(tool).allows:
            if hold(wanted, arguments, parameters, doubtful=False):
                if untrusted or not situation.tainted:
                    return allowed
                verdict = allowed
        return self._without_rule(call, tool, situation) if verdict is None else unless_tainted(verdict, call, tool, situation)

    def objection(self, call: Call, tool: Tool, situation: Situation) -> Ask | Deny | None:
        """What the rules that deny or ask say of a call; None where none of them is about it."""
        tool = tool.for_call(call.arguments)
        plan = self._plan(tool)
        if plan.barred is not None:
            return plan.barred
        arguments, parameters = call.arguments, tool.spec.parameters
        for wanted, denied in plan.denies:
            if hold(wanted, arguments, parameters, doubtful=True):
                return denied
        for wanted, question in plan.asks:
            if hold(wanted, arguments, parameters, doubtful=True):
                return asked(question, situation)
        return None

    def with_rules(self, rules: Iterable[Rule]) -> "Rules":
        """These rules and more; lists of tools and the default stay."""
        made = Rules((*self.rules, *rules), default=self._default)
        made._allowed, made._denied = self._allowed, self._denied
        return made

    def offers(self, tool: Tool, situation: Situation) -> bool:
        """Whether the model is told of the tool: not where every call of it is denied, whatever its action."""
        return any(self._plan(variant).barred is None for variant in tool.variants())

    def _without_rule(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        decision = self._default or ("allow" if tool.effect == "read" else "ask")
        if decision == "allow":
            does = "only reads" if tool.effect == "read" else "is allowed where no rule says otherwise"
            return unless_tainted(Allow("default", f"{tool.name} {does}."), call, tool, situation)
        if decision == "ask":
            return asked(Ask("default", f"No rule allows {tool.name} without asking."), situation)
        return Deny("default", f"No rule allows {tool.name}.")

    def _plan(self, tool: Tool) -> _Plan:
        key = (tool.spec.name, tool.toolset, tool.effect)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = self._planned(tool)
        return plan

    def _planned(self, tool: Tool) -> _Plan:
        about = [each for each in self._compiled if each.fits(tool)]
        denies = tuple([(each.wanted, Deny(each.by, each.reason(tool))) for each in about if each.rule.decision == "deny"])
        asks = tuple([(each.wanted, Ask(each.by, each.reason(tool))) for each in about if each.rule.decision == "ask"])
        allowing = [each for each in about if each.rule.decision == "allow"]
        allows = tuple([(each.wanted, Allow(each.by, each.reason(tool)), each.rule.untrusted) for each in allowing])
        flatly = next((denied for wanted, denied in denies if not wanted), None)
        return _Plan(self._barred(tool) or flatly, denies, asks, allows)

    def _barred(self, tool: Tool) -> Deny | None:
        """The verdict for every call of the tool, where a list of names decides."""
        if any(matches(tool.name) for matches in self._denied):
            return Deny("denied_tools", f"{tool.name} is among the denied tools.")
        if self._allowed is not None and not any(matches(tool.name) for matches in self._allowed):
            return Deny("allowed_tools", f"{tool.name} isn't among the allowed tools.")
        return None


def asked(question: Ask, situation: Situation) -> Ask | Deny:
    """Ask, or deny where no one is there to be asked."""
    if situation.attended:
        return question
    why = question.reason.rstrip(". ")
    return Deny(question.by, f"{why}. That needs a person's approval, and no one is there to be asked.".removeprefix(". "))


def unless_tainted(verdict: Allow, call: Call, tool: Tool, situation: Situation) -> Verdict:
    """What may run, unless untrusted content was read and nobody vouches for the values of the call.

    Where values can't be traced, every effect is asked about, and no reading is.
    """
    if not situation.tainted or (tool.effect == "read" and situation.doubts is None):
        return verdict
    doubts = None if situation.doubts is None else situation.doubts(call, tool)
    if doubts is not None and not doubts:
        return verdict
    why = f"Untrusted content was read in this run, so a person has to approve {tool.name}."
    return asked(Ask("untrusted content", " ".join((why, *(doubts or ())))), situation)


def _compile(rule: Rule) -> _Compiled:
    if not isinstance(rule, Rule):  # pyright: ignore[reportUnnecessaryIsInstance] - people pass tool names here
        raise SettingsError(f"A policy is made of rules, and {rule!r} is none; write allow(...), ask(...) or deny(...).")
    toolset = "*" if rule.toolset is None else rule.toolset
    return _Compiled(rule, str(rule), glob(rule.pattern), glob(toolset), conditions(rule.where))


def effects_of(effect: Effects) -> tuple[Effect, ...]:
    """One effect or several, as several."""
    effects: tuple[Effect, ...] = () if effect is None else (effect,) if isinstance(effect, str) else tuple(effect)
    for each in effects:
        if each not in _EFFECTS:
            raise SettingsError(f"There is no effect {each!r}; a tool's effect is read, write or destroy.")
    return effects


def _globs(patterns: Iterable[str]) -> tuple[Glob, ...]:
    return tuple([glob(pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns)])


def _shown(asked: Any) -> str:
    if callable(asked):
        return getattr(asked, "__name__", "a function")
    text = f'"{asked}"' if isinstance(asked, str) else repr(asked)
    return text if len(text) <= 60 else text[:57] + "..."
