"""What a model is told to do about the error of its program."""

import pytest

from treadle.core.requests import ToolSpec
from treadle.tools.program_hints import find_hint
from treadle.tools.python_signatures import write_functions

ORDER = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "lines": {"type": "array", "items": {"properties": {"sku": {}}}}},
}
RETURNS = {"get_order": ORDER, "list_orders": {"anyOf": [{"type": "array", "items": ORDER}, {"type": "null"}]}, "get_user": {}}
FUNCTIONS = write_functions(
    [ToolSpec(name, "", {}) for name in (*RETURNS, "ship")], {**RETURNS, "get_user": {"properties": {"id": {}}}}
)


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        ("NameError: name 'getOrder' is not defined", "Did you mean get_order?"),
        ("NameError: name 'xyz' is not defined", "There are: get_order, list_orders, get_user, ship."),
        ("KeyError: sku", "'sku' is in what get_order and list_orders return."),
        ("KeyError: 'sku'", "'sku' is in what get_order and list_orders return."),
        ("KeyError: 'price'", ""),
        ("AttributeError: 'dict' object has no attribute 'price'", "A dict has keys, which are written as ['price']."),
        (
            "AttributeError: 'dict' object has no attribute 'lines'",
            "A dict has keys, which are written as ['lines']. 'lines' is in what get_order and list_orders return.",
        ),
        ("AttributeError: 'int' object has no attribute 'sku'", "'sku' is in what get_order and list_orders return."),
        ("AttributeError: 'list' object has no attribute 'price'", ""),
        ("TypeError: 'coroutine' object is not iterable", "Write `await` before each call."),
        ("TypeError: unsupported operand", ""),
        (
            "ModuleNotFoundError: No module named 'shop'",
            "Call the functions by their names, without an import: get_order, list_orders, get_user, ship.",
        ),
        ("ZeroDivisionError: division by zero", ""),
    ],
)
def test_hints(error, hint):
    assert find_hint(error, "getOrder(1) + xyz (2)", FUNCTIONS) == hint


def test_the_name_of_a_variable_isnt_taken_for_that_of_a_function():
    assert find_hint("NameError: name 'order' is not defined", "x = order['id']", FUNCTIONS) == ""
