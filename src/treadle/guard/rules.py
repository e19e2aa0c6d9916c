"""Rules that allow, ask or deny; how they combine; what untrusted content forbids. Pure.

Not here: other kinds of policy (`guard.policy`), and conditions on arguments (`guard.conditions`).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from treadle.core.calls import Allow, Ask, Call, Deny, Effect, Verdict
from treadle.core.errors import SettingsError
from treadle.core.seams import Situation
from treadle.core.tool import Tool
from treadle.guard.conditions import Condition, Conditions, compile_conditions, conditions_hold
from treadle.guard.globs import Glob, compile_glob

Decision = Literal["allow", "ask", "deny"]
Effects = Effect | Sequence[Effect] | None

_EFFECTS = ("read", "write", "destroy")
BY_TAINT = "untrusted content"  # what a verdict is by, where untrusted content was read and values are doubtful
DECISIONS: tuple[Decision, ...] = ("deny", "ask", "allow")  # the first that matches wins
_SAYS = {"allow": "allows", "ask": "wants a person to approve", "deny": "forbids"}
_MOST_PLANS = 4096  # remembered tools; more than anyone offers, and a bound where tools come and go


class Rule(Struct, frozen=True):
    """One rule of a policy: a decision, and which calls it applies to. Made by `allow`, `ask` and `deny`.

    pattern    the tool's name, as a glob
    toolset    the name of its toolset, as a glob; None is any
    effect     the effect of the call is one of these; none is any
    where      what its arguments must be (see `guard.conditions`)
    reason     a sentence for the model and the person, in place of ours
    untrusted  allows effects even after untrusted content was read
    """

    decision: Decision
    pattern: str = "*"
    toolset: str | None = None
    effect: tuple[Effect, ...] = ()
    where: Conditions = {}
    reason: str = ""
    untrusted: bool = False

    def __str__(self) -> str:
        """Return the rule as code: `deny("delete_*")`."""
        words = [f'"{self.pattern}"']
        if self.toolset is not None:
            words.append(f'toolset="{self.toolset}"')
        if self.effect:
            words.append(f'effect="{"|".join(self.effect)}"')
        if self.where:
            words.append(
                "where={" + ", ".join([f'"{name}": {_format_argument(asked)}' for name, asked in self.where.items()]) + "}"
            )
        return f"{self.decision}({', '.join(words)})"


def allow(
    pattern: str = "*",
    *,
    toolset: str | None = None,
    effect: Effects = None,
    where: Conditions | None = None,
    reason: str = "",
    untrusted: bool = False,
) -> Rule:
    """Allow calls. With `untrusted`, also those with effects after untrusted content was read."""
    return Rule("allow", pattern, toolset, to_effects(effect), dict(where or {}), reason, untrusted)


def ask(
    pattern: str = "*", *, toolset: str | None = None, effect: Effects = None, where: Conditions | None = None, reason: str = ""
) -> Rule:
    """Require approval for calls."""
    return Rule("ask", pattern, toolset, to_effects(effect), dict(where or {}), reason)


def deny(
    pattern: str = "*", *, toolset: str | None = None, effect: Effects = None, where: Conditions | None = None, reason: str = ""
) -> Rule:
    """Deny calls. Without `where`, the tools aren't even offered."""
    return Rule("deny", pattern, toolset, to_effects(effect), dict(where or {}), reason)


_Wanted: TypeAlias = tuple[Condition, ...]


class _CompiledRule(Struct, frozen=True):
    """A compiled rule."""

    rule: Rule
    by: str
    named: Glob
    within: Glob
    wanted: _Wanted

    def fits(self, tool: Tool) -> bool:
        """Return whether the rule is about this tool at all."""
        effects = self.rule.effect or _EFFECTS
        return tool.effect in effects and bool(self.named(tool.name)) and bool(self.within(tool.toolset))

    def reason(self, tool: Tool) -> str:
        """Return the reason, as a sentence."""
        which = f"this call of {tool.name}" if self.wanted else tool.name
        return self.rule.reason or f"The policy {_SAYS[self.rule.decision]} {which}."


class _ToolRules(Struct, frozen=True):
    """All that the rules say about one tool, and their conditions on arguments. Allowing also says whether despite taint."""

    barred: Deny | None
    denies: tuple[tuple[_Wanted, Deny], ...]
    asks: tuple[tuple[_Wanted, Ask], ...]
    allows: tuple[tuple[_Wanted, Allow, bool], ...]
    default: Verdict
    objects: bool  # denies or asks about some calls, or all


NO_RULE = "default"  # what a verdict is by where no rule matches
_MAY: dict[Effect, str] = {"read": "reads", "write": "may change something", "destroy": "may destroy something"}


class RulePolicy:
    """A policy made of rules. Deny beats ask beats allow, in any order.

    Where no rule matches, `default` decides; None means: reading is allowed, effects need approval. In unattended runs,
    asking is denying. Once untrusted content was read, effects that would be allowed need approval, unless a rule that allows
    them says `untrusted=True` or their values come from the user (`guard.provenance`). `allowed_tools` and `denied_tools` are
    globs: a tool outside the first or inside the second is denied and not offered; being in `allowed_tools` alone lets no
    call run without approval.
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
        self._allowed = None if allowed_tools is None else _compile_globs(allowed_tools)
        self._denied = _compile_globs(denied_tools or ())
        self._default: Decision | None = default
        self._plans: dict[tuple[str, str, Effect], _ToolRules] = {}

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        """Return the verdict on a call."""
        tool = tool.for_call(call.arguments)
        plan = self._plan(tool)
        objection = _object_by_plan(plan, call, tool, situation) if plan.objects else None
        if objection is not None:
            return objection
        verdict = plan.default
        for wanted, allowed, untrusted in plan.allows:
            if conditions_hold(wanted, call.arguments, tool.spec.parameters, doubtful=False):
                if untrusted or not situation.tainted:
                    return allowed
                verdict = allowed
        if isinstance(verdict, Allow):
            return ask_if_tainted(verdict, call, tool, situation) if situation.tainted else verdict
        return ask_or_deny(verdict, situation) if isinstance(verdict, Ask) else verdict

    def objection(self, call: Call, tool: Tool, situation: Situation) -> Ask | Deny | None:
        """Return what the deny and ask rules say of a call; None where none of them applies."""
        tool = tool.for_call(call.arguments)
        return _object_by_plan(self._plan(tool), call, tool, situation)

    def with_rules(self, rules: Iterable[Rule]) -> "RulePolicy":
        """Return these rules and more; lists of tools and the default stay."""
        made = RulePolicy((*self.rules, *rules), default=self._default)
        made._allowed, made._denied = self._allowed, self._denied
        return made

    def offers(self, tool: Tool, situation: Situation) -> bool:
        """Return whether the tool is offered to the model: not where every call of it is denied, whatever its action."""
        return any(self._plan(variant).barred is None for variant in tool.variants())

    def _default_verdict(self, tool: Tool) -> Verdict:
        decision = self._default or ("allow" if tool.effect == "read" else "ask")
        if decision == "allow":
            does = "only reads" if tool.effect == "read" else "is allowed where no rule says otherwise"
            return Allow(NO_RULE, f"{tool.name} {does}.")
        if decision == "ask":
            return Ask(NO_RULE, f"{tool.name} {_MAY.get(tool.effect, 'may do anything')}, and no rule allows it.")
        return Deny(NO_RULE, f"No rule allows {tool.name}.")

    def _plan(self, tool: Tool) -> _ToolRules:
        key = (tool.spec.name, tool.toolset, tool.effect)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = self._compile_plan(tool)
        return plan

    def _compile_plan(self, tool: Tool) -> _ToolRules:
        about = [each for each in self._compiled if each.fits(tool)]
        denies = tuple([(each.wanted, Deny(each.by, each.reason(tool))) for each in about if each.rule.decision == "deny"])
        asks = tuple([(each.wanted, Ask(each.by, each.reason(tool))) for each in about if each.rule.decision == "ask"])
        allowing = [each for each in about if each.rule.decision == "allow"]
        allows = tuple([(each.wanted, Allow(each.by, each.reason(tool)), each.rule.untrusted) for each in allowing])
        flatly = next((denied for wanted, denied in denies if not wanted), None)
        barred = self._find_barred(tool) or flatly
        objects = barred is not None or bool(denies or asks)
        return _ToolRules(barred, denies, asks, allows, self._default_verdict(tool), objects)

    def _find_barred(self, tool: Tool) -> Deny | None:
        """Return the verdict for every call of the tool, where a list of names decides."""
        if any(matches(tool.name) for matches in self._denied):
            return Deny("denied_tools", f"{tool.name} is among the denied tools.")
        if self._allowed is not None and not any(matches(tool.name) for matches in self._allowed):
            return Deny("allowed_tools", f"{tool.name} isn't among the allowed tools.")
        return None


def _object_by_plan(plan: _ToolRules, call: Call, tool: Tool, situation: Situation) -> Ask | Deny | None:
    if plan.barred is not None:
        return plan.barred
    arguments, parameters = call.arguments, tool.spec.parameters
    for wanted, denied in plan.denies:
        if conditions_hold(wanted, arguments, parameters, doubtful=True):
            return denied
    for wanted, question in plan.asks:
        if conditions_hold(wanted, arguments, parameters, doubtful=True):
            return ask_or_deny(question, situation)
    return None


def ask_or_deny(question: Ask, situation: Situation) -> Ask | Deny:
    """Return the question, or a denial in an unattended run."""
    if situation.attended:
        return question
    why = question.reason.rstrip(". ")
    return Deny(question.by, f"{why}. That needs a person's approval, and no one is there to be asked.".removeprefix(". "))


def ask_if_tainted(verdict: Allow, call: Call, tool: Tool, situation: Situation) -> Verdict:
    """Return the verdict, or a question if untrusted content was read and nothing vouches for the call's values.

    Where values can't be traced, every effect needs approval, and no reading does.
    """
    if not situation.tainted or (tool.effect == "read" and situation.doubts is None):
        return verdict
    doubts = None if situation.doubts is None else situation.doubts(call, tool)
    if doubts is not None and not doubts:
        return verdict
    why = f"Untrusted content was read in this run, so a user must approve {tool.name}."
    return ask_or_deny(Ask(BY_TAINT, " ".join((why, *(doubts or ())))), situation)


def _compile(rule: Rule) -> _CompiledRule:
    if not isinstance(rule, Rule):  # pyright: ignore[reportUnnecessaryIsInstance] - people pass tool names here
        raise SettingsError(f"A policy is made of rules, and {rule!r} is none; write allow(...), ask(...) or deny(...).")
    toolset = "*" if rule.toolset is None else rule.toolset
    return _CompiledRule(rule, str(rule), compile_glob(rule.pattern), compile_glob(toolset), compile_conditions(rule.where))


def to_effects(effect: Effects) -> tuple[Effect, ...]:
    """Return one effect or several as a tuple."""
    effects: tuple[Effect, ...] = () if effect is None else (effect,) if isinstance(effect, str) else tuple(effect)
    for each in effects:
        if each not in _EFFECTS:
            raise SettingsError(f"There is no effect {each!r}; a tool's effect is read, write or destroy.")
    return effects


def _compile_globs(patterns: Iterable[str]) -> tuple[Glob, ...]:
    return tuple([compile_glob(pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns)])


def _format_argument(asked: Any) -> str:
    if callable(asked):
        return getattr(asked, "__name__", "a function")
    text = f'"{asked}"' if isinstance(asked, str) else repr(asked)
    return text if len(text) <= 60 else text[:57] + "..."
