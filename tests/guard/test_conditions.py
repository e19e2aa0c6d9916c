import pytest

from treadle.core.errors import SettingsError
from treadle.guard.conditions import compile_conditions, conditions_hold


def holds(where, arguments, properties=None, *, doubtful=False):
    given = {name: {} for name in arguments} if properties is None else properties
    return conditions_hold(compile_conditions(where), arguments, {"properties": given}, doubtful=doubtful)


def certainly(where, arguments, properties=None):
    """The answer, where an allowing and a denying rule have to agree on it."""
    allowed, denied = (holds(where, arguments, properties, doubtful=doubtful) for doubtful in (False, True))
    assert allowed == denied
    return allowed


def cannot_tell(where, arguments, properties=None):
    return [holds(where, arguments, properties, doubtful=doubtful) for doubtful in (False, True)] == [False, True]


HELD = [
    ({"path": "/tmp/*"}, {"path": "/tmp/a/b"}),
    ({"path": "*.txt"}, {"path": "notes.txt"}),
    ({"flag": "true"}, {"flag": True}),
    ({"flag": "false"}, {"flag": False}),
    ({"note": "null"}, {"note": None}),
    ({"count": "4?"}, {"count": 42}),
    ({"share": "0.5"}, {"share": 0.5}),
    ({"amount": "<= 100"}, {"amount": 100}),
    ({"amount": "<100"}, {"amount": 99.5}),
    ({"amount": ">= -1.5"}, {"amount": -1.5}),
    ({"amount": "> 1e3"}, {"amount": 1001}),
    ({"amount": "== 3"}, {"amount": 3.0}),
    ({"amount": "!= 0"}, {"amount": 1}),
    ({"where": ["north", "south"]}, {"where": "south"}),
    ({"where": {"north"}}, {"where": "north"}),
    ({"count": 3}, {"count": 3}),
    ({"sure": True}, {"sure": True}),
    ({"note": None}, {"note": None}),
    ({"count": lambda value: value % 2 == 0}, {"count": 4}),
    ({"items.0.price": "<= 5"}, {"items": [{"price": 5}]}),
    ({"to.name": "ann"}, {"to": {"name": "ann"}}),
    ({"items.*.price": "<= 5"}, {"items": [{"price": 5}, {"price": 1}]}),
    ({"limits.*": "<= 5"}, {"limits": {"a": 5, "b": 4}}),
    ({"paths": "/tmp/*"}, {"paths": ["/tmp/a", ["/tmp/b"]]}),
    ({"a": "x", "b": "y"}, {"a": "x", "b": "y"}),
    ({"url": "https://example.com/*"}, {"url": "https://example.com/a"}),
    ({}, {}),
]
NOT_HELD = [
    ({"path": "/tmp/*"}, {"path": "/etc/passwd"}),
    ({"amount": "<= 100"}, {"amount": 101}),
    ({"amount": "< 5"}, {"amount": 5}),
    ({"where": ["north"]}, {"where": "South"}),
    ({"count": [1]}, {"count": True}),
    ({"sure": True}, {"sure": 1}),
    ({"count": lambda value: value > 4}, {"count": 4}),
    ({"a": "x", "b": "y"}, {"a": "x", "b": "z"}),
    ({"items.*.price": "<= 5"}, {"items": []}),
    ({"paths": "/tmp/*"}, {"paths": []}),
]
IN_DOUBT = [
    ({"items.0.price": "<= 5"}, {"items": []}),
    ({"items.first": "x"}, {"items": ["x"]}),
    ({"to.name": "ann"}, {"to": {}}),
    ({"to.name": "ann"}, {"to": "ann"}),
    ({"amount": "<= 100"}, {"amount": "5"}),
    ({"amount": "<= 100"}, {"amount": True}),
    ({"amount": "<= 100"}, {"amount": float("nan")}),
    ({"to": "ann"}, {"to": {"name": "ann"}}),
    ({"count": lambda value: value / 0}, {"count": 1}),
    ({"path": "/tmp/*"}, {"path": "/tmp/../etc/passwd"}),
    ({"path": "/tmp/*"}, {"path": "/tmp/.."}),
    ({"path": "/tmp/*"}, {"path": "/tmp/./a"}),
    ({"path": "/tmp/*"}, {"path": "//etc/passwd"}),
    ({"path": "/tmp/*"}, {"path": "/tmp/a\0"}),
]


@pytest.mark.parametrize(("where", "arguments"), HELD)
def test_a_condition_holds(where, arguments):
    assert certainly(where, arguments)


@pytest.mark.parametrize(("where", "arguments"), NOT_HELD)
def test_a_condition_does_not_hold(where, arguments):
    assert not certainly(where, arguments)


@pytest.mark.parametrize(("where", "arguments"), IN_DOUBT)
def test_where_it_cannot_be_told_allowing_does_not_match_and_denying_does(where, arguments):
    assert cannot_tell(where, arguments)


def test_allowing_wants_every_item_and_denying_wants_one():
    assert not holds({"to": "*@us.example"}, {"to": ["a@us.example", "b@them.example"]}, doubtful=False)
    assert holds({"to": "*@them.example"}, {"to": ["a@us.example", "b@them.example"]}, doubtful=True)


def test_an_argument_left_out_has_its_default():
    assert certainly({"path": "/tmp"}, {}, {"path": {"default": "/tmp"}})
    assert not certainly({"path": "/tmp"}, {}, {"path": {"default": "/"}})
    assert not certainly({"copy": "*@them.example"}, {}, {"copy": {"default": None}})


def test_an_argument_left_out_without_a_default_is_in_doubt():
    assert cannot_tell({"path": "/tmp"}, {}, {"path": {"type": "string"}})


def test_an_argument_that_the_tool_does_not_have_is_nobodys_business():
    assert not certainly({"path": "/tmp"}, {"item": "x"}, {"item": {}})


def test_a_tool_without_properties_has_only_the_arguments_it_is_given():
    assert conditions_hold(compile_conditions({"path": "/tmp"}), {"path": "/tmp"}, {}, doubtful=False)
    assert not conditions_hold(compile_conditions({"path": "/tmp"}), {}, {}, doubtful=True)


def test_a_name_with_a_dot_in_the_schema_is_no_path_and_the_model_cannot_make_one_up():
    where = {"page.size": "<= 10"}
    assert certainly(where, {"page.size": 5}, {"page.size": {}})
    assert not certainly(where, {"page.size": 5, "page": {"size": 500}}, {"page": {}})


@pytest.mark.parametrize("asked", ["<= ten", "== north", "< 5 EUR", ">= ", "!= x", "> .5.5"])
def test_half_a_comparison_is_a_mistake(asked):
    with pytest.raises(SettingsError, match=r"'amount' is .* one number"):
        compile_conditions({"amount": asked})


def test_angle_brackets_alone_are_a_glob():
    assert certainly({"text": "<html*"}, {"text": "<html><body>"})


def test_what_is_no_condition_is_a_mistake():
    with pytest.raises(SettingsError, match="'amount' is dict; use a glob"):
        compile_conditions({"amount": {"max": 3}})
