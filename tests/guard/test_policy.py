import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.core.calls import Allow, Ask, Call, Deny
from treadle.core.errors import SettingsError
from treadle.core.requests import ToolSpec
from treadle.core.seams import Situation
from treadle.core.tool import Tool
from treadle.guard.policy import RulePolicy, allow, ask, deny, digest_arguments, parse_policy, to_policy, with_rules

ATTENDED = Situation()
ORDER = Tool(ToolSpec("order", "", {"properties": {"amount": {}, "item": {}}}))
STOCK = Tool(ToolSpec("stock", "", {}), effect="read")


def judge(policy, tool=ORDER, situation=ATTENDED, **arguments):
    return policy.judge(Call("c1", tool.name, arguments), tool, situation)


def test_a_list_of_rules_is_a_policy():
    assert isinstance(judge(to_policy([deny("order")])), Deny)
    assert isinstance(judge(to_policy(rule for rule in [allow("order")])), Allow)


def test_one_rule_is_a_policy():
    assert isinstance(judge(to_policy(allow("order"))), Allow)


def test_none_is_the_default_policy():
    policy = to_policy(None)
    assert isinstance(judge(policy, STOCK), Allow)
    assert isinstance(judge(policy), Ask)


def test_a_policy_is_itself():
    rules = RulePolicy([allow()])
    assert to_policy(rules) is rules


def test_a_policy_of_ones_own_has_the_last_word():
    class Mine:
        def judge(self, call, tool, situation):
            return Allow("mine")

        def offers(self, tool, situation):
            return False

    assert judge(to_policy(Mine()), situation=Situation(attended=False, tainted=True)) == Allow("mine")


def test_a_function_is_a_policy_and_offers_everything():
    policy = to_policy(lambda call, tool, situation: Deny("me", "Not on Sundays.") if call.arguments else Allow("me"))
    assert judge(policy, item="x") == Deny("me", "Not on Sundays.")
    assert judge(policy) == Allow("me")
    assert policy.offers(ORDER, ATTENDED)


def test_a_function_is_held_to_what_rules_are_held_to():
    allows = to_policy(lambda call, tool, situation: Allow())
    asks = to_policy(lambda call, tool, situation: Ask("me", ""))
    assert isinstance(judge(allows, situation=Situation(tainted=True)), Ask)
    assert isinstance(judge(allows, STOCK, Situation(tainted=True)), Allow)
    alone = Situation(attended=False)
    assert judge(asks, situation=alone) == Deny("me", "That needs a person's approval, and no one is there to be asked.")
    assert isinstance(judge(asks), Ask)


def test_a_function_that_returns_no_verdict_is_a_mistake():
    with pytest.raises(SettingsError, match="returned True; it has to return Allow, Ask or Deny"):
        judge(to_policy(lambda call, tool, situation: True))


@pytest.mark.parametrize("value", ["stock", 3])
def test_what_is_no_policy_is_a_mistake(value):
    with pytest.raises(SettingsError, match="A policy is a list of rules"):
        to_policy(value)


FILE = """
allow = ["stock", { tool = "order", where = { amount = "<= 100", item = ["tin", "iron"] }, untrusted = true }]
ask = [{ tool = "order", effect = ["write", "destroy"], where = { item = "iron" }, reason = "Iron is dear." }]
deny = [{ toolset = "mail*" }, "delete_*"]
denied_tools = ["danger"]
default = "deny"
"""


def test_a_policy_file_says_what_rules_say():
    written = parse_policy(tomllib.loads(FILE))
    spoken = [
        deny("*", toolset="mail*"),
        deny("delete_*"),
        ask("order", effect=("write", "destroy"), where={"item": "iron"}, reason="Iron is dear."),
        allow("stock"),
        allow("order", where={"amount": "<= 100", "item": ["tin", "iron"]}, untrusted=True),
    ]
    assert list(written.rules) == spoken
    assert isinstance(judge(written, item="tin", amount=100), Allow)
    assert isinstance(judge(written, item="tin", amount=101), Deny)
    assert judge(written, item="iron", amount=1) == Ask(str(spoken[2]), "Iron is dear.")
    assert not written.offers(Tool(ToolSpec("danger", "", {})), ATTENDED)


def test_rules_beside_a_policy_file_hold_as_if_they_were_in_it():
    policy = parse_policy({"allow": ["order"], "default": "deny"}, [ask("order", where={"item": "iron"})])
    assert isinstance(judge(policy, item="tin"), Allow)
    assert isinstance(judge(policy, item="iron"), Ask)
    assert isinstance(judge(policy, STOCK), Deny)


def test_a_policy_file_may_name_the_only_tools():
    policy = to_policy({"allowed_tools": ["stock"]})
    assert policy.offers(STOCK, ATTENDED)
    assert not policy.offers(ORDER, ATTENDED)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"alow": ["stock"]}, "A policy file has no 'alow'; it may have allow, ask, deny"),
        ({"allow": "stock"}, "'allow' has to be a list, not 'stock'"),
        ({"allow": [3]}, "Under 'allow' in the policy file is 3; a rule is a tool's name or a table"),
        ({"deny": [{"name": "stock"}]}, "A rule under 'deny' in a policy file has no 'name'; it may have tool"),
        ({"deny": [{"tool": "x", "untrusted": True}]}, "has no 'untrusted'"),
        ({"allow": [{"tool": 3}]}, "A rule's tool in the policy file can't be 3"),
        ({"allow": [{"where": ["x"]}]}, "A rule's where in the policy file can't be"),
        ({"allow": [{"effect": "delete"}]}, "no effect 'delete'"),
        ({"allow": [{"where": {"amount": "<= lots"}}]}, "after a comparison comes one number"),
        ({"allowed_tools": [3]}, "'allowed_tools' lists 3, which is no tool's name"),
        ({"default": "maybe"}, "default may be allow, ask or deny, not 'maybe'"),
    ],
)
def test_a_mistake_in_a_policy_file_is_told_in_a_sentence(content, said):
    with pytest.raises(SettingsError) as error:
        parse_policy(content)
    assert said in str(error.value)
    assert str(error.value).endswith(".")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=4)


@settings(deadline=None)
@given(ARGUMENTS)
def test_a_digest_does_not_depend_on_the_order_of_names(arguments):
    assert digest_arguments(dict(reversed(arguments.items()))) == digest_arguments(arguments)


@settings(deadline=None)
@given(ARGUMENTS, ARGUMENTS)
def test_other_arguments_have_another_digest(one, other):
    assert (digest_arguments(one) == digest_arguments(other)) == (repr(_sorted(one)) == repr(_sorted(other)))


def _sorted(value):
    match value:
        case dict():
            return {key: _sorted(value[key]) for key in sorted(value)}
        case list():
            return [_sorted(item) for item in value]
        case _:
            return value


def test_a_digest_is_the_hash_of_canonical_json():
    assert digest_arguments({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert digest_arguments({"b": [1, 2.5], "a": "é"}) == digest_arguments({"a": "é", "b": [1, 2.5]})
    assert digest_arguments({"a": 1}) != digest_arguments({"a": "1"})


def test_half_a_surrogate_pair_has_a_digest_too():
    assert digest_arguments({"a": "\ud800"}) != digest_arguments({"a": "\ud801"})


def test_a_function_is_given_the_tool_with_the_effect_of_the_action():
    seen = []

    def judge(call, tool, situation):
        seen.append(tool.effect)
        return Allow("mine")

    keep = Tool(ToolSpec("keep", "", {"type": "object"}), effect="destroy", effects={"look": "read", "drop": "destroy"})
    verdicts = [
        to_policy(judge).judge(Call("c", "keep", {"action": action}), keep, Situation(tainted=True)) for action in ("look", "drop")
    ]
    assert (seen, [type(verdict) for verdict in verdicts]) == (["read", "destroy"], [Allow, Ask])


def test_rules_are_added_to_a_policy_of_rules_and_its_lists_stay():
    own = parse_policy({"allow": ["order"], "denied_tools": ["stock"], "default": "deny"})
    assert isinstance(judge(with_rules(own, [ask("order")])), Ask)
    assert isinstance(judge(with_rules(own, [allow("stock")]), STOCK), Deny)
    assert isinstance(judge(with_rules(parse_policy({"default": "deny"}), [ask("stock")])), Deny)
    assert isinstance(judge(with_rules(parse_policy({"allowed_tools": ["stock"]}), [allow("order")])), Deny)
    assert isinstance(judge(own), Allow), "it stays as it was"


@pytest.mark.parametrize(
    ("own", "rule", "counts"),
    [
        (Allow("me"), deny("order"), "deny"),
        (Allow("me"), ask("order"), "ask"),
        (Allow("me"), deny("stock"), "me"),
        (Ask("me", ""), deny("order"), "deny"),
        (Ask("me", ""), ask("order"), "me"),
        (Ask("me", ""), allow("order"), "me"),
        (Deny("me", ""), ask("order"), "me"),
    ],
)
def test_any_other_policy_is_only_made_stricter(own, rule, counts):
    policy = with_rules(to_policy(lambda call, tool, situation: own), [rule])
    assert judge(policy).by.partition("(")[0] == counts


def test_what_is_denied_by_either_is_not_offered():
    policy = with_rules(to_policy(lambda call, tool, situation: Allow("me")), [deny("order")])
    assert (policy.offers(ORDER, ATTENDED), policy.offers(STOCK, ATTENDED)) == (False, True)
