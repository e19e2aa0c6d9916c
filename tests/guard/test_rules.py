import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.core.calls import Allow, Ask, Call, Deny
from treadle.core.errors import SettingsError
from treadle.core.requests import ToolSpec
from treadle.core.seams import Situation
from treadle.core.tool import Tool
from treadle.guard.rules import Rule, RulePolicy, allow, ask, deny

ATTENDED = Situation()
ALONE = Situation(attended=False)
TAINTED = Situation(tainted=True)
TAINTED_ALONE = Situation(attended=False, tainted=True)


def a_tool(name="order", effect="write", toolset="", **properties):
    return Tool(ToolSpec(name, "", {"type": "object", "properties": properties}), effect=effect, toolset=toolset)


def judge(rules, tool=None, situation=ATTENDED, arguments=None, **settings):
    tool = tool or a_tool()
    return RulePolicy(rules, **settings).judge(Call("c1", tool.name, arguments or {}), tool, situation)


def test_reading_is_allowed_where_no_rule_speaks():
    assert judge([], a_tool("stock", "read")) == Allow("default", "stock only reads.")


@pytest.mark.parametrize(("effect", "may"), [("write", "change"), ("destroy", "destroy")])
def test_effects_are_asked_about_where_no_rule_speaks(effect, may):
    assert judge([], a_tool(effect=effect)) == Ask("default", f"order may {may} something, and no rule allows it.")


@pytest.mark.parametrize("effect", ["write", "destroy"])
def test_effects_are_denied_where_no_one_can_be_asked_and_the_model_is_told(effect):
    verdict = judge([], a_tool(effect=effect), ALONE)
    assert isinstance(verdict, Deny)
    assert verdict.reason.startswith(f"order may {'change' if effect == 'write' else 'destroy'} something, and no rule allows it. ")
    assert "no one is there to be asked" in verdict.reason


def test_a_default_may_be_chosen():
    reads = a_tool("stock", "read")
    assert isinstance(judge([], default="allow"), Allow)
    assert isinstance(judge([], default="deny"), Deny)
    assert isinstance(judge([], reads, default="ask"), Ask)
    assert isinstance(judge([], reads, ALONE, default="ask"), Deny)


def test_a_default_that_is_none_is_a_mistake():
    with pytest.raises(SettingsError, match="not 'never'"):
        RulePolicy([], default="never")


@pytest.mark.parametrize("rules", list(itertools.permutations([deny("ord*"), ask("order"), allow()])))
def test_deny_beats_ask_and_allow_in_any_order(rules):
    assert judge(rules) == Deny('deny("ord*")', "The policy forbids order.")


@pytest.mark.parametrize("rules", list(itertools.permutations([ask("order"), allow(), allow("order")])))
def test_ask_beats_allow_in_any_order(rules):
    assert judge(rules) == Ask('ask("order")', "The policy wants a person to approve order.")


def test_asking_is_denying_where_no_one_is_there():
    verdict = judge([ask("order", reason="Orders cost money.")], situation=ALONE)
    reason = "Orders cost money. That needs a person's approval, and no one is there to be asked."
    assert verdict == Deny('ask("order")', reason)


def test_a_rule_goes_by_name_toolset_and_effect_together():
    rule = allow("order_*", toolset="shop*", effect=("write", "read"))
    assert isinstance(judge([rule], a_tool("order_new", "write", "shop.v2")), Allow)
    for other in (a_tool("order", "write", "shop"), a_tool("order_new", "write", "bank"), a_tool("order_new", "destroy", "shop")):
        assert not isinstance(judge([rule], other), Allow)


def test_a_rule_goes_by_arguments():
    rules = [allow("order", where={"amount": "<= 100"}), deny("order", where={"item": "gold"})]
    tool = a_tool(amount={}, item={"default": "tin"})
    assert isinstance(judge(rules, tool, arguments={"amount": 5}), Allow)
    assert isinstance(judge(rules, tool, arguments={"amount": 500}), Ask)
    assert isinstance(judge(rules, tool, arguments={"amount": 5, "item": "gold"}), Deny)


def test_a_missing_argument_is_never_a_way_in():
    tool = a_tool(path={"type": "string"})
    assert isinstance(judge([allow("order", where={"path": "/tmp/*"})], tool), Ask)
    assert isinstance(judge([allow("order"), ask("order", where={"path": "/etc/*"})], tool), Ask)
    assert isinstance(judge([allow("order"), deny("order", where={"path": "/etc/*"})], tool), Deny)


def test_a_predicate_that_raises_is_never_a_way_in():
    def raises(value):
        raise RuntimeError("oh")

    tool, given = a_tool(path={}), {"path": "x"}
    assert isinstance(judge([allow("order", where={"path": raises})], tool, arguments=given), Ask)
    assert isinstance(judge([allow(), ask("order", where={"path": raises})], tool, arguments=given), Ask)
    assert isinstance(judge([allow(), deny("order", where={"path": raises})], tool, arguments=given), Deny)


def test_untrusted_content_puts_effects_under_approval():
    verdict = judge([allow("order")], situation=TAINTED)
    assert verdict == Ask("untrusted content", "Untrusted content was read in this run, so a user must approve order.")
    denied = judge([allow("order")], situation=TAINTED_ALONE)
    assert isinstance(denied, Deny)
    assert "Untrusted content" in denied.reason
    assert "no one is there" in denied.reason
    assert isinstance(judge([], situation=TAINTED, default="allow"), Ask)


def test_untrusted_content_leaves_reading_alone():
    assert isinstance(judge([allow()], a_tool("stock", "read"), TAINTED_ALONE), Allow)
    assert isinstance(judge([], a_tool("stock", "read"), TAINTED), Allow)


def test_a_rule_may_allow_effects_despite_untrusted_content():
    assert judge([allow("order"), allow("ord*", untrusted=True)], situation=TAINTED_ALONE).by == 'allow("ord*")'
    assert isinstance(judge([allow("order", untrusted=True), ask("order")], situation=TAINTED), Ask)
    assert isinstance(judge([allow("pay", untrusted=True), allow("order")], situation=TAINTED), Ask)


def test_tools_outside_the_allowed_are_denied_and_not_offered():
    rules = RulePolicy([allow()], allowed_tools=["stock", "order_*"])
    outside = a_tool("pay")
    assert rules.judge(Call("c", "pay", {}), outside, ATTENDED) == Deny("allowed_tools", "pay isn't among the allowed tools.")
    assert not rules.offers(outside, ATTENDED)
    assert rules.offers(a_tool("order_new"), ATTENDED)


def test_being_among_the_allowed_tools_lets_nothing_run_unasked():
    assert isinstance(judge([], allowed_tools=["order"]), Ask)


def test_denied_tools_are_denied_and_not_offered_whatever_else_is_said():
    rules = RulePolicy([allow("order")], allowed_tools="order", denied_tools="ord*")
    assert rules.judge(Call("c", "order", {}), a_tool(), ATTENDED) == Deny("denied_tools", "order is among the denied tools.")
    assert not rules.offers(a_tool(), ATTENDED)


def test_no_allowed_tools_at_all_allow_none():
    assert not RulePolicy([], allowed_tools=[]).offers(a_tool("stock", "read"), ATTENDED)


def test_a_tool_that_is_always_denied_is_not_offered():
    rules = RulePolicy([deny("delete_*"), deny(toolset="mail"), deny("order", where={"item": "gold"})])
    assert not rules.offers(a_tool("delete_all"), ATTENDED)
    assert not rules.offers(a_tool("send", toolset="mail"), ATTENDED)
    assert rules.offers(a_tool("order", item={}), ATTENDED)
    assert rules.offers(a_tool("order", item={}), ALONE)


def test_verdicts_name_their_rule_as_it_would_be_written():
    def is_small(value):
        return value < 3

    class Check:
        def __call__(self, value):
            return True

    rule = deny(
        "a*", toolset="shop", effect=["write", "destroy"], where={"n": is_small, "p": "/tmp/*", "c": Check(), "i": [1] * 50}
    )
    assert str(rule).startswith(
        'deny("a*", toolset="shop", effect="write|destroy", where={"n": is_small, "p": "/tmp/*", "c": a function'
    )
    assert str(rule).endswith("1, 1,...})")
    assert str(allow()) == 'allow("*")'


def test_a_reason_of_ones_own_is_what_the_model_reads():
    assert judge([deny("order", reason="Use the shop.")]).reason == "Use the shop."
    assert judge([ask("order", reason="")], situation=ALONE).reason.startswith("The policy wants a person to approve order.")
    assert (
        judge([allow("order", where={"n": 1})], a_tool(n={}), arguments={"n": 1}).reason == "The policy allows this call of order."
    )


def test_rules_are_values():
    assert allow("a", effect="read", where={"b": "c"}) == Rule("allow", "a", None, ("read",), {"b": "c"})
    with pytest.raises(AttributeError):
        allow().pattern = "b"


@pytest.mark.parametrize("make", [allow, ask, deny])
def test_an_effect_that_does_not_exist_is_a_mistake(make):
    with pytest.raises(SettingsError, match="no effect 'delete'"):
        make(effect="delete")


def test_what_is_no_rule_is_a_mistake():
    with pytest.raises(SettingsError, match=r"'stock' is none; write allow"):
        RulePolicy(["stock"])


def test_more_tools_than_are_remembered_are_still_judged_alike():
    rules = RulePolicy([deny("t7")])
    verdicts = [rules.offers(a_tool(f"t{number}", "read"), ATTENDED) for number in range(5000)]
    assert [number for number, offered in enumerate(verdicts) if not offered] == [7]
    assert not rules.offers(a_tool("t7", "read"), ATTENDED)


def rule_strategy():
    names = st.sampled_from(["*", "a", "b*", "?"])
    where = st.sampled_from([None, {"x": "1"}, {"x": "> 0"}, {"y": "*"}])
    effects = st.sampled_from([None, "read", ("write", "destroy")])
    return st.one_of(
        st.builds(allow, names, effect=effects, where=where, untrusted=st.booleans()),
        st.builds(ask, names, effect=effects, where=where),
        st.builds(deny, names, effect=effects, where=where),
    )


SITUATIONS = st.builds(Situation, attended=st.booleans(), tainted=st.booleans())
TOOLS = st.builds(a_tool, st.sampled_from(["a", "b", "bb"]), st.sampled_from(["read", "write", "destroy"]), x=st.just({}))
ARGUMENTS = st.fixed_dictionaries({}, optional={"x": st.sampled_from([0, 1, "1"])})


@settings(deadline=None)
@given(st.lists(rule_strategy(), max_size=5), TOOLS, SITUATIONS, ARGUMENTS, st.randoms())
def test_the_order_of_rules_never_matters(rules, tool, situation, arguments, chance):
    shuffled = rules[:]
    chance.shuffle(shuffled)
    assert type(judge(rules, tool, situation, arguments)) is type(judge(shuffled, tool, situation, arguments))


@settings(deadline=None)
@given(st.lists(rule_strategy(), max_size=5), rule_strategy(), TOOLS, SITUATIONS, ARGUMENTS)
def test_a_further_deny_or_ask_never_lets_more_run(rules, further, tool, situation, arguments):
    if further.decision != "allow":
        before, after = judge(rules, tool, situation, arguments), judge([*rules, further], tool, situation, arguments)
        strictness = {Allow: 0, Ask: 1, Deny: 2}
        assert strictness[type(after)] >= strictness[type(before)]


@settings(deadline=None)
@given(st.lists(rule_strategy(), max_size=5), TOOLS, ARGUMENTS, st.booleans())
def test_taint_and_being_alone_never_let_more_run(rules, tool, arguments, attended):
    plain = judge(rules, tool, Situation(attended=attended), arguments)
    tainted = judge(rules, tool, Situation(attended=attended, tainted=True), arguments)
    alone = judge(rules, tool, Situation(attended=False), arguments)
    assert not (isinstance(tainted, Allow) and not isinstance(plain, Allow))
    assert not isinstance(alone, Ask)
    assert isinstance(alone, Allow) == isinstance(judge(rules, tool, ATTENDED, arguments), Allow)


@settings(deadline=None)
@given(st.lists(rule_strategy(), max_size=5), TOOLS, SITUATIONS, ARGUMENTS)
def test_what_is_not_offered_is_denied(rules, tool, situation, arguments):
    if not RulePolicy(rules).offers(tool, situation):
        assert isinstance(judge(rules, tool, situation, arguments), Deny)


# actions

KEEP = Tool(
    ToolSpec("keep", "", {"type": "object", "properties": {"action": {"enum": ["look", "put", "drop"]}}}),
    effect="destroy",
    effects={"look": "read", "put": "write", "drop": "destroy"},
)


def test_the_action_is_judged_and_not_the_tool():
    verdicts = [type(judge([], KEEP, arguments={"action": action})) for action in ("look", "put", "drop", "LOOK")]
    assert verdicts == [Allow, Ask, Ask, Ask]
    assert isinstance(judge([], KEEP, arguments={}), Ask)


def test_a_rule_about_an_effect_is_about_the_actions_that_have_it():
    rules = [allow(effect="write"), deny(effect="destroy")]
    verdicts = [type(judge(rules, KEEP, arguments={"action": action})) for action in ("look", "put", "drop", "other")]
    assert verdicts == [Allow, Allow, Deny, Deny]


def test_one_policy_judges_actions_one_after_the_other():
    policy = RulePolicy([deny(effect=("write", "destroy"))])
    calls = [Call("c", "keep", {"action": action}) for action in ("drop", "look", "drop")]
    assert [type(policy.judge(call, KEEP, ATTENDED)) for call in calls] == [Deny, Allow, Deny]


def test_a_tool_is_offered_as_long_as_one_action_may_run():
    assert RulePolicy([deny(effect=("write", "destroy"))]).offers(KEEP, ATTENDED)
    assert not RulePolicy([deny(effect=("read", "write", "destroy"))]).offers(KEEP, ATTENDED)
    assert not RulePolicy([deny("keep")]).offers(KEEP, ATTENDED)


def test_an_action_that_reads_is_allowed_after_untrusted_content_and_one_that_writes_asked_about():
    rules = [allow()]
    assert isinstance(judge(rules, KEEP, TAINTED, {"action": "look"}), Allow)
    assert isinstance(judge(rules, KEEP, TAINTED, {"action": "put"}), Ask)
