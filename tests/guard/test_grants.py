"""Remembered approvals: which calls a grant covers, and that it overrides nothing."""

import pytest
from msgspec.structs import replace

from treadle.core.calls import Allow, Ask, Call, Deny
from treadle.core.errors import ApprovalError
from treadle.core.grants import ArgumentPattern, Grant, GrantTerms
from treadle.core.requests import ToolSpec
from treadle.core.seams import Situation
from treadle.core.tool import Tool
from treadle.guard.grants import apply_grants, covers, find_terms, format_grant, make_grant
from treadle.guard.policy import to_policy
from treadle.guard.rules import allow, ask, deny

RUN = Tool(ToolSpec("run_command", "", {"properties": {"command": {}}}), toolset="shell")
DELETE = Tool(ToolSpec("delete", "", {"properties": {"path": {}, "force": {}}}), effect="destroy")
TERMS = GrantTerms("coding", "write", "shell")
CALL = Call("c1", "run_command", {"command": "pytest -q"})
ATTENDED = Situation("ann")


def grant(call=CALL, terms=TERMS, scope="always", where=None, user="ann") -> Grant:
    return make_grant(call, terms, scope, where, user=user, by="Ann", at=1.0, run_id="r1")


def judge(*rules, call=CALL, tool=RUN, situation=ATTENDED, grants=None, agent="coding"):
    given = (grant(),) if grants is None else grants
    policy = to_policy(list(rules))
    return apply_grants(policy.judge(call, tool, situation), policy, lambda: given, call, tool, situation, agent)


def test_a_grant_answers_what_would_be_asked_and_is_named_in_the_verdict():
    for rules in ((), (ask("run_*"),)):
        judged = judge(*rules)
        assert judged.verdict == Allow(f"grant {grant().id} by Ann", "Ann has allowed run_command (command: pytest *) always.")
        assert judged.grant == grant()
        assert judged.terms is None


def test_without_a_grant_the_question_says_what_an_answer_can_be_remembered_for():
    judged = judge(grants=())
    assert isinstance(judged.verdict, Ask)
    assert judged.terms == TERMS
    assert judged.grant is None


def test_a_grant_never_overrides_a_denial():
    assert isinstance(judge(deny("run_*")).verdict, Deny)
    assert isinstance(judge(deny(where={"command": "*-q*"}), situation=Situation("ann", attended=False)).verdict, Deny)


def test_what_is_allowed_anyway_is_not_by_a_grant():
    judged = judge(allow("run_*"))
    assert judged.verdict.by == 'allow("run_*")'
    assert judged.grant is None


def test_it_also_counts_where_nobody_can_be_asked():
    alone = Situation("ann", attended=False)
    assert isinstance(judge(situation=alone).verdict, Allow)
    assert isinstance(judge(situation=alone, grants=()).verdict, Deny)


def test_it_never_covers_values_whose_origin_is_not_trusted():
    doubtful = Situation("ann", tainted=True, doubts=lambda call, tool: ("command is from the result of read_file (untrusted).",))
    unknown = Situation("ann", tainted=True)
    for situation in (doubtful, unknown):
        for rules in ((), (ask(),), (allow(),)):
            judged = judge(*rules, situation=situation)
            assert isinstance(judged.verdict, Ask)
            assert judged.terms is None  # it can't be remembered either
    vouched = Situation("ann", tainted=True, doubts=lambda call, tool: ())
    assert isinstance(judge(situation=vouched).verdict, Allow)


def test_it_covers_neither_another_tool_agent_toolset_nor_user():
    kept = grant()
    assert covers(kept, CALL, TERMS, "ann")
    assert not covers(kept, CALL, TERMS, "bob")
    assert not covers(kept, CALL, GrantTerms("courses", "write", "shell"), "ann")
    assert not covers(kept, CALL, GrantTerms("coding", "write", "other"), "ann")
    assert not covers(kept, Call("c1", "bash", CALL.arguments), TERMS, "ann")
    assert not covers(kept, Call("c1", "run_command", {"command": "pytest; rm x"}), TERMS, "ann")


def test_it_covers_no_stronger_effect_than_was_granted():
    weak = grant(where={})
    assert covers(weak, CALL, GrantTerms("coding", "read", "shell"), "ann")
    assert not covers(weak, CALL, GrantTerms("coding", "destroy", "shell"), "ann")


def test_what_destroys_is_only_covered_where_every_argument_is_named():
    terms, call = GrantTerms("coding", "destroy"), Call("c1", "delete", {"path": "build/a", "force": True})
    exact = grant(call, terms)
    assert covers(exact, call, terms, "ann")
    assert not covers(exact, Call("c2", "delete", {"path": "build/b", "force": True}), terms, "ann")
    wide = grant(call, terms, where={"path": "build/**", "force": "true"})
    assert covers(wide, Call("c2", "delete", {"path": "build/b", "force": True}), terms, "ann")
    for where in ({}, {"path": "build/**"}):
        with pytest.raises(ApprovalError, match="every argument"):
            grant(call, terms, where=where)


def test_a_pattern_has_to_match_the_call_that_was_shown():
    with pytest.raises(ApprovalError, match="matches the call itself"):
        grant(where={"command": "ruff *"})


def test_the_effect_is_that_of_the_action():
    tool = Tool(ToolSpec("file", "", {}), effect="destroy", effects={"write": "write", "delete": "destroy"})
    assert find_terms(Call("c", "file", {"action": "write"}), tool, ATTENDED, "a") == GrantTerms("a", "write")
    assert find_terms(Call("c", "file", {"action": "delete"}), tool, ATTENDED, "a") == GrantTerms("a", "destroy")
    assert find_terms(Call("c", "file", {"action": "write"}), replace(tool, grantable=False), ATTENDED, "a") is None


def test_the_same_grant_given_twice_has_the_same_id():
    other = make_grant(CALL, TERMS, "always", {"command": "pytest *"}, user="ann", by="Ben", at=9.0, run_id="r2")
    assert other.id == grant().id
    assert grant(scope="conversation").id != grant().id
    assert grant(user="bob").id != grant().id


def test_a_grant_reads_as_what_it_covers():
    assert format_grant(grant()) == "run_command (command: pytest *)"
    assert format_grant(grant(where={})) == "run_command (any arguments)"
    assert grant(where={"command": ArgumentPattern("glob", "py*")}).where["command"].kind == "glob"
