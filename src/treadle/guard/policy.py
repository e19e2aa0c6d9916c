"""Policies: whether a call may run. Converts every accepted form; `digest_arguments` binds an approval to its arguments.

Rules themselves are in `guard.rules`. Not here: asking a person (the engine does) and the limits of files, hosts and
processes (the tools enforce those).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import msgspec

from treadle.core.calls import Allow, Ask, Call, Deny, Verdict
from treadle.core.errors import SettingsError
from treadle.core.seams import Policy, Situation
from treadle.core.tool import Tool
from treadle.guard.rules import DECISIONS, Decision, Rule, RulePolicy, allow, ask, ask_if_tainted, ask_or_deny, deny, to_effects

__all__ = ["Rule", "RulePolicy", "allow", "ask", "deny", "digest_arguments", "parse_policy", "to_policy", "with_rules"]

JudgeFunction = Callable[[Call, Tool, Situation], Verdict]


class _FunctionPolicy:
    """A function as a policy. Unattended runs, and effects after untrusted content, are treated as with rules."""

    def __init__(self, function: JudgeFunction) -> None:
        self._function = function

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        tool = tool.for_call(call.arguments)
        verdict = self._function(call, tool, situation)
        match verdict:
            case Allow():
                return ask_if_tainted(verdict, call, tool, situation)
            case Ask():
                return ask_or_deny(verdict, situation)
            case Deny():
                return verdict
            case _:  # pyright: ignore[reportUnnecessaryComparison] - what a person's function returns isn't known
                raise SettingsError(f"The policy function returned {verdict!r}; it has to return Allow, Ask or Deny.")

    def offers(self, tool: Tool, situation: Situation) -> bool:
        return True


class _StricterPolicy:
    """A policy that isn't made of rules, combined with rules that deny or ask: the stricter verdict counts."""

    def __init__(self, policy: Policy, rules: RulePolicy) -> None:
        self._policy = policy
        self._rules = rules

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        verdict, objection = self._policy.judge(call, tool, situation), self._rules.objection(call, tool, situation)
        if isinstance(verdict, Deny) or objection is None:
            return verdict
        return objection if isinstance(objection, Deny) or isinstance(verdict, Allow) else verdict

    def offers(self, tool: Tool, situation: Situation) -> bool:
        return self._policy.offers(tool, situation) and self._rules.offers(tool, situation)


def with_rules(policy: Policy, rules: Iterable[Rule]) -> Policy:
    """Return a policy with more rules: deny beats ask beats allow, whichever side says it.

    A policy made of rules has a `with_rules` of its own. Any other policy can only be made stricter, not more permissive.
    """
    extend: Callable[[Iterable[Rule]], Policy] | None = getattr(policy, "with_rules", None)
    return _StricterPolicy(policy, RulePolicy(rules)) if extend is None else extend(rules)


def to_policy(value: Policy | Iterable[Rule] | Rule | JudgeFunction | Mapping[str, Any] | None) -> Policy:
    """Convert to a policy: from rules, a policy, a function of call, tool and situation, a policy file's content, or None.

    A policy of your own has the last word. A function is held to what rules are held to: no asking in unattended runs, no
    effects without approval after untrusted content unless the values come from the user.
    """
    match value:
        case None:
            return RulePolicy()
        case Rule():
            return RulePolicy([value])
        case Mapping():
            return parse_policy(cast("Mapping[str, Any]", value))
        case _ if hasattr(value, "judge") and hasattr(value, "offers"):
            return cast("Policy", value)
        case _ if callable(value):
            return _FunctionPolicy(value)
        case _ if isinstance(value, Iterable) and not isinstance(value, str):
            return RulePolicy(cast("Iterable[Rule]", value))
        case _:
            raise SettingsError(f"A policy is a list of rules, a policy object or a function, not {value!r}.")


def parse_policy(mapping: Mapping[str, Any], besides: Iterable[Rule] = ()) -> RulePolicy:
    """Parse a policy file, as read from TOML or JSON: rules under `allow`, `ask` and `deny`, and the settings of `RulePolicy`.

    A rule is a glob, or a table of `tool`, `toolset`, `effect`, `where`, `reason` and (to allow) `untrusted`. `besides` are
    rules that apply too.
    """
    _check_keys(mapping, ("allow", "ask", "deny", "allowed_tools", "denied_tools", "default"), "A policy file")
    return RulePolicy(
        [*besides, *[_parse_rule(decision, line) for decision in DECISIONS for line in _get_list(mapping, decision)]],
        allowed_tools=_get_names(mapping, "allowed_tools") if "allowed_tools" in mapping else None,
        denied_tools=_get_names(mapping, "denied_tools"),
        default=mapping.get("default"),
    )


def _parse_rule(decision: Decision, line: Any) -> Rule:
    if isinstance(line, str):
        return Rule(decision, line)
    if not isinstance(line, Mapping):
        raise SettingsError(f"Under {decision!r} in the policy file is {line!r}; a rule is a tool's name or a table.")
    table = cast("Mapping[str, Any]", line)
    fields = ("tool", "toolset", "effect", "where", "reason", *(("untrusted",) if decision == "allow" else ()))
    _check_keys(table, fields, f"A rule under {decision!r} in a policy file")
    _check_types(table, {"tool": str, "toolset": str, "effect": (str, list), "where": Mapping, "reason": str, "untrusted": bool})
    return Rule(
        decision,
        table.get("tool", "*"),
        table.get("toolset"),
        to_effects(table.get("effect")),
        dict(table.get("where", {})),
        table.get("reason", ""),
        table.get("untrusted", False),
    )


def _check_keys(mapping: Mapping[str, Any], keys: tuple[str, ...], what: str) -> None:
    strange = [key for key in mapping if key not in keys]
    if strange:
        raise SettingsError(f"{what} has no {strange[0]!r}; it may have {', '.join(keys)}.")


def _check_types(table: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if not isinstance(value, types[key]):
            raise SettingsError(f"A rule's {key} in the policy file can't be {value!r}.")


def _get_list(mapping: Mapping[str, Any], key: str) -> list[Any]:
    value = mapping.get(key, [])
    if not isinstance(value, list):
        raise SettingsError(f"The policy file's {key!r} has to be a list, not {value!r}.")
    return cast("list[Any]", value)


def _get_names(mapping: Mapping[str, Any], key: str) -> list[str]:
    names = _get_list(mapping, key)
    for name in names:
        if not isinstance(name, str):
            raise SettingsError(f"The policy file's {key!r} lists {name!r}, which is no tool's name.")
    return names


_canonical = msgspec.json.Encoder(order="sorted")


def digest_arguments(arguments: Mapping[str, Any]) -> str:
    """Return what an approval is bound to: a hash of the exact arguments, independent of the order of their names."""
    from hashlib import sha256  # loads OpenSSL; only approvals and caches need it

    try:
        canonical = _canonical.encode(arguments)
    except UnicodeEncodeError:  # half of a surrogate pair: no UTF-8 for it, and still an argument
        import json

        canonical = json.dumps(arguments, sort_keys=True, separators=(",", ":")).encode()
    return sha256(canonical).hexdigest()
