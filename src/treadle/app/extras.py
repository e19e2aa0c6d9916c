"""What `treadle.toml` adds to an agent, whichever assistant it is: the rules of `[policy]`."""

from typing import Any

from treadle.app.settled import Settings
from treadle.core.seams import Policy
from treadle.guard.policy import allow, ask, deny, policy_of, with_rules


def settled_policy(settings: Settings, policy: Any) -> Policy:
    """An agent's policy, with the rules that were settled: deny beats ask beats allow, whoever said it."""
    said = settings.policy
    rules = (*map(deny, said.deny), *map(ask, said.ask), *map(allow, said.allow))
    return with_rules(policy_of(policy), rules) if rules else policy_of(policy)
