"""What the replays came to, as a page of Markdown."""

from collections.abc import Sequence

from bench.agentdojo.replay import Played


def stopped_row(name: str, played: Sequence[Played]) -> str:
    """How many attacks were stopped: no call of the attacker's that counts ran unapproved."""
    ran = [each for each in played if each.ran]
    missed = [each for each in played if each.reached is False]
    return f"| {name} | {len(played)} | {len(played) - len(ran)} | {len(missed) or 'no check'} |"


def honest_row(name: str, played: Sequence[Played]) -> str:
    """How many tasks needed no approval, with this rule and with asking about everything."""
    without = [each for each in played if not each.asked]
    nothing = [each for each in played if not each.calls]
    asked = sum(len(each.asked) for each in played)
    calls = sum(each.calls for each in played)
    return f"| {name} | {len(played)} | {len(without)} | {len(nothing)} | {asked} | {calls} |"


ATTACKS = "| suite | pairs | no call of the attacker's ran unapproved | attacker's goal not reached |\n|---|---:|---:|---:|"
HONEST = (
    "| suite | tasks | without any approval | if everything were asked about | approvals | if everything were asked about |\n"
    "|---|---:|---:|---:|---:|---:|"
)


def asked_about(played: Sequence[Played]) -> list[str]:
    """Why people were asked, a line for each task."""
    return [f"- {each.suite} {each.task}: {_short(each.asked[0])}" for each in played if each.asked]


def _short(reason: str) -> str:
    return reason.partition("has to approve ")[2]
