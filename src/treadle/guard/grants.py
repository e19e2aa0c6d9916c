"""Remembered approvals: what a grant covers, and the policy's verdict with the grants of a user and a conversation. Pure.

A grant only answers a question that would be asked anyway: it overrides no denial. It never covers a call with a value whose origin
isn't trusted (`guard.provenance`), a stronger effect than was granted, another agent's tool, or another user's run. A call that
destroys something is only covered where every argument is named.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Allow, Ask, Call, Deny, Verdict
from treadle.core.errors import ApprovalError
from treadle.core.grants import SCOPES, ArgumentPattern, Grant, GrantTerms, Patterns
from treadle.core.seams import Policy, Situation
from treadle.core.tool import Tool, strongest
from treadle.guard.argument_patterns import matches_patterns, parse_patterns, suggest_patterns, to_canonical_json


class GrantVerdict(Struct, frozen=True):
    """A verdict; the grant that it is by, if any; and what an approval can be remembered for, where a person is asked."""

    verdict: Verdict
    grant: Grant | None = None
    terms: GrantTerms | None = None


def apply_grants(
    verdict: Verdict,
    policy: Policy,
    grants: Callable[[], Iterable[Grant]],
    call: Call,
    tool: Tool,
    situation: Situation,
    agent: str,
) -> GrantVerdict:
    """Return a policy's verdict, unless it asks for approval and a person has given that before.

    In an unattended run too, where the policy denies what it would ask about.
    """
    if isinstance(verdict, Allow) or (isinstance(verdict, Deny) and situation.attended):
        return GrantVerdict(verdict)
    if not situation.attended and not isinstance(policy.judge(call, tool, replace(situation, attended=True)), Ask):
        return GrantVerdict(verdict)
    terms = find_terms(call, tool, situation, agent)
    if terms is None:
        return GrantVerdict(verdict)
    grant = find_grant(grants(), call, terms, situation.user)
    if grant is None:
        return GrantVerdict(verdict, terms=terms)
    return GrantVerdict(
        Allow(f"grant {grant.id} by {grant.by}", f"{grant.by} has allowed {format_grant(grant)} {SCOPES[grant.scope]}."), grant
    )


def find_terms(call: Call, tool: Tool, situation: Situation, agent: str) -> GrantTerms | None:
    """Return what an approval of a call can be remembered for; None where it can't, or the origin of its values isn't trusted."""
    tool = tool.for_call(call.arguments)
    if not tool.grantable or (situation.tainted and (situation.doubts is None or situation.doubts(call, tool))):
        return None
    return GrantTerms(agent, tool.effect, tool.toolset)


def find_grant(grants: Iterable[Grant], call: Call, terms: GrantTerms, user: str) -> Grant | None:
    """Return the first grant that covers a call."""
    return next((grant for grant in grants if covers(grant, call, terms, user)), None)


def covers(grant: Grant, call: Call, terms: GrantTerms, user: str) -> bool:
    """Return whether a grant covers a call."""
    if (grant.tool, grant.agent, grant.toolset, grant.user) != (call.name, terms.agent, terms.toolset, user):
        return False
    if strongest((terms.effect, grant.effect)) != grant.effect:
        return False
    if terms.effect == "destroy" and not call.arguments.keys() <= grant.where.keys():
        return False
    return matches_patterns(grant.where, call.arguments)


def make_grant(
    call: Call,
    terms: GrantTerms,
    scope: Literal["conversation", "always"],
    where: Mapping[str, str | ArgumentPattern] | None,
    *,
    user: str,
    by: str,
    at: float,
    run_id: str,
) -> Grant:
    """Return the grant of an approval: what was suggested first, unless the person says `where`.

    Raises `ApprovalError` where it wouldn't cover the call itself. Its id is made from what it covers: given twice, it is one.
    """
    from hashlib import sha256  # loads OpenSSL

    patterns: Patterns = (
        suggest_patterns(call.arguments, terms.effect)[0] if where is None else parse_patterns(where, call.arguments)
    )
    what = Grant("", call.name, scope, terms.agent, terms.effect, terms.toolset, patterns, user)
    grant = replace(
        what,
        id=sha256(to_canonical_json(msgspec.to_builtins(what)).encode()).hexdigest()[:12],
        by=by,
        at=at,
        run_id=run_id,
        call_id=call.id,
    )
    if not covers(grant, call, terms, user):
        why = "says what every argument has to be" if terms.effect == "destroy" else "matches the call itself"
        raise ApprovalError(f"{call.name} can only be allowed {SCOPES[scope]} with a pattern that {why}.")
    return grant


def format_grant(grant: Grant) -> str:
    """Return what a grant covers, for people: `run_command (command: pytest *)`."""
    return f"{grant.tool} ({format_patterns(grant.where)})"


def format_patterns(where: Mapping[str, Any]) -> str:
    """Return patterns as text, for people."""
    return ", ".join([f"{name}: {pattern.value}" for name, pattern in where.items()]) or "any arguments"
