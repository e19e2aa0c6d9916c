"""What runners write, read: against recordings of all of them, and against anything at all."""

import re
from pathlib import Path
from time import process_time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.toolsets.checks.format import format_outcome
from treadle.toolsets.checks.parsers.parse import MAX_OUTPUT, parse_outcome
from treadle.toolsets.checks.values import Runner, State

RECORDED = Path(__file__).parent / "recorded"
RECORDINGS = sorted(RECORDED.glob("*.txt"))
OF_NODE = {"spec": "node", "tap": "node"}

# state, passed, failed, skipped, errors
PASSED = ("passed", 1, 0, 1, 0)
CRASHED = ("crashed", 0, 0, 0, 1)
NONE = ("no tests", 0, 0, 0, 0)
EXPECTED = {
    "pytest": {"pass": ("passed", 2, 0, 1, 0), "fail": ("failed", 2, 3, 1, 1)},
    "unittest": {"fail": ("failed", 1, 4, 1, 1)},
    "go": {"fail": ("failed", 3, 2, 0, 0)},
    "cargo": {"fail": ("failed", 2, 5, 0, 0), "broken": ("crashed", 0, 0, 0, 2)},
    "jest": {"fail": ("failed", 2, 4, 2, 1)},
    "vitest": {"fail": ("failed", 2, 4, 2, 1)},
    "mocha": {"fail": ("failed", 1, 4, 1, 1), "broken": ("crashed", 0, 0, 0, 0)},
    "spec": {"fail": ("failed", 3, 6, 2, 0)},
    "tap": {"fail": ("failed", 3, 6, 2, 0)},
}

# name, first line of the message, path, line
SHOP_TEST = "tests/test_shop.py"
UNITTEST_FAILURES = [
    ("test_shop.PriceTest.test_below_zero", "ValueError: count is below zero: -1", "/project/shop.py", 4),
    ("test_shop.StoreTest.setUpClass", "RuntimeError: the store is closed", f"/project/{SHOP_TEST}", 33),
    ("test_shop.PriceTest.test_many (count=2)", "AssertionError: 2 != 1", f"/project/{SHOP_TEST}", 20),
    ("test_shop.PriceTest.test_many (count=3)", "AssertionError: 3 != 1", f"/project/{SHOP_TEST}", 20),
    ("test_shop.PriceTest.test_price", "AssertionError: 6 != 7 : wrong price", f"/project/{SHOP_TEST}", 12),
]
NODE_TEST = "/project/test/shop.test.js"
FAILURES = {
    "pytest": [
        (f"{SHOP_TEST}::test_price[2]", "assert 6 == 3", SHOP_TEST, 15),
        (f"{SHOP_TEST}::test_below_zero", "ValueError: count is below zero: -1", "shop.py", 4),
        (f"{SHOP_TEST}::test_store", "RuntimeError: the store is closed", SHOP_TEST, 7),
        (f"{SHOP_TEST}::TestText::test_lines", "AssertionError: assert 'a\\nb\\n' == 'a\\nc\\n'", SHOP_TEST, 29),
    ],
    "unittest": [*UNITTEST_FAILURES, ("test_shop.PriceTest.test_unexpected", "unexpected success", "", None)],
    "unittest3.8": UNITTEST_FAILURES,  # which doesn't name a success that nobody expected
    "go": [
        ("TestPrice/count=2", "shop_test.go:15: a note", "example.com/shop/shop_test.go", 17),
        ("TestBelowZero", "panic: count is below zero: -1", "/project/shop.go", 7),
    ],
    "cargo": [
        ("from_outside", "assertion failed: shop::price(1, 1) == 2", "tests/outer.rs", 4),
        ("tests::below_zero", "count is below zero: -1", "src/lib.rs", 5),
        ("tests::panics", "note: test did not panic as expected at src/lib.rs:37:8", "src/lib.rs", 37),
        ("tests::parses", "Error: ParseIntError { kind: InvalidDigit }", "", None),
        ("tests::prices", "assertion `left == right` failed: wrong price", "src/lib.rs", 22),
    ],
    "jest": [
        ("lists", "expect(received).toEqual(expected) // deep equality", "test/shop.test.js", 24),
        ("prices \u203a below zero", "count is below zero: -1", "shop.js", 3),
        ("prices \u203a later", "TypeError: rejected", "test/shop.test.js", 19),
        (
            "prices \u203a of many \u203a three times as much",
            "expect(received).toBe(expected) // Object.is equality",
            "test/shop.test.js",
            9,
        ),
        (
            "test/broken.test.js: Test suite failed to run",
            "Cannot find module '../no-such-shop' from 'test/broken.test.js'",
            "test/broken.test.js",
            1,
        ),
    ],
    "vitest": [
        (
            "test/broken.test.mjs",
            "Error: Cannot find module '../no-such-shop.mjs' imported from /project/test/broken.test.mjs",
            "test/broken.test.mjs",
            2,
        ),
        (
            "test/shop.test.mjs > lists",
            "AssertionError: expected [ 1, { a: 1 } ] to deeply equal [ 1, { a: 2 } ]",
            "test/shop.test.mjs",
            24,
        ),
        ("test/shop.test.mjs > prices > below zero", "Error: count is below zero: -1", "shop.mjs", 3),
        ("test/shop.test.mjs > prices > later", "TypeError: rejected", "test/shop.test.mjs", 19),
        (
            "test/shop.test.mjs > prices > of many > three times as much",
            "AssertionError: expected 6 to be 7 // Object.is equality",
            "test/shop.test.mjs",
            9,
        ),
    ],
    "mocha": [
        ('a store > "before all" hook for "is open"', "TypeError: the store is closed", "test/shop.js", 26),
        ("fails at once", "AssertionError [ERR_ASSERTION]: The expression evaluated to a falsy value:", "test/shop.js", 4),
        ("prices > below zero", "Error: count is below zero: -1", "shop.js", 3),
        ("prices > lists", "AssertionError [ERR_ASSERTION]: Expected values to be loosely deep-equal:", "test/shop.js", 21),
        ("prices > of many > three times as much", "AssertionError [ERR_ASSERTION]: 6 == 7", "test/shop.js", 11),
    ],
    "spec": [  # the last part of a name is all it tells
        ("a store", "TypeError [Error]: the store is closed", NODE_TEST, 27),
        ("below zero", "Error: count is below zero: -1", "/project/shop.js", 3),
        ("fails at once", "AssertionError [ERR_ASSERTION]: The expression evaluated to a falsy value:", NODE_TEST, 5),
        ("is open", "'test did not finish before its parent and was cancelled'", "test/shop.test.js", 28),
        ("lists", "AssertionError [ERR_ASSERTION]: Expected values to be loosely deep-equal:", NODE_TEST, 22),
        ("three times as much", "AssertionError [ERR_ASSERTION]: 6 == 7", NODE_TEST, 12),
        ("waits", "TypeError [Error]: rejected", NODE_TEST, 32),
    ],
    "tap": [
        ("a store", "the store is closed", NODE_TEST, 27),
        ("a store > is open", "test did not finish before its parent and was cancelled", NODE_TEST, 28),
        ("fails at once", "The expression evaluated to a falsy value:", NODE_TEST, 5),
        ("prices > below zero", "count is below zero: -1", "/project/shop.js", 3),
        ("prices > lists", "Expected values to be loosely deep-equal:", NODE_TEST, 22),
        ("prices > of many > three times as much", "6 == 7", NODE_TEST, 12),
        ("waits", "rejected", NODE_TEST, 32),
    ],
}


def recorded(name):
    """What a runner wrote, and its exit code."""
    first, _, text = (RECORDED / f"{name}.txt").read_text().partition("\n")
    return text, int(first.removeprefix("exit code "))


def read(name, **how):
    kind = re.match("[a-z]+", name)[0]
    text, code = recorded(name)
    return parse_outcome(OF_NODE.get(kind, kind), text, code, **how)


def told(outcome):
    """The failures, as they are expected above, in an order that doesn't depend on which test was quicker."""
    return by_name((each.name, each.message.split("\n")[0], each.path, each.line) for each in outcome.failures)


def by_name(failures):
    return sorted(failures, key=lambda failure: failure[0])


def test_there_are_recordings_of_every_runner_and_case():
    cases = {tuple(re.match("([a-z]+)-([a-z]+)", path.stem).groups()) for path in RECORDINGS if re.match("[a-z]+-", path.stem)}
    assert cases >= {(kind, case) for kind in EXPECTED for case in ("pass", "fail", "broken", "none")}


@pytest.mark.parametrize("name", [path.stem for path in RECORDINGS])
def test_the_counts_and_the_state_are_those_of_the_runner(name):
    kind, case = re.match("([a-z]+).*-([a-z]+)", name).groups()
    usual = {"pass": PASSED, "broken": CRASHED, "none": NONE} | EXPECTED[kind]
    outcome = read(name)
    counts = (outcome.state, outcome.passed, outcome.failed, outcome.skipped, outcome.errors)
    assert counts == (usual["fail"] if case == "colour" else usual[case])


@pytest.mark.parametrize("kind", sorted(EXPECTED))
def test_every_failure_has_its_name_its_message_and_its_place(kind):
    assert told(read(f"{kind}-fail")) == by_name(FAILURES[kind])


@pytest.mark.parametrize("name", [path.stem for path in RECORDINGS if path.stem.endswith("-colour")])
def test_colours_make_no_difference(name):
    assert "\x1b[" in recorded(name)[0]
    assert told(read(name)) == told(read(name.replace("-colour", "-fail")))
    assert "\x1b" not in read(name).output


@pytest.mark.parametrize("label", ["unittest3.8", "unittest3.13", "go1.27", "jest27", "vitest5", "mocha8", "spec24", "tap24"])
def test_other_versions_tell_the_same_tests_at_the_same_places(label):
    expected = FAILURES.get(label) or FAILURES[re.match("[a-z]+", label)[0]]
    found = told(read(f"{label}-fail"))
    assert [(name, path, line) for name, _, path, line in found] == [
        (name, path, line) for name, _, path, line in by_name(expected)
    ]


def test_an_old_vitest_does_not_say_where_an_import_failed():
    found = told(read("vitest1-fail"))
    assert (found[0][0], found[0][2:]) == ("test/broken.test.mjs", ("test/broken.test.mjs", None))
    assert found[1:] == by_name(FAILURES["vitest"])[1:]


@pytest.mark.parametrize(
    ("name", "message", "path", "line"),
    [
        ("pytest", "ModuleNotFoundError: No module named 'no_such_shop'", "tests/test_shop.py", 1),
        ("unittest", "ModuleNotFoundError: No module named 'no_such_shop'", "/project/tests/test_shop.py", 1),
        ("go", "undefined: Cost", "./shop_test.go", 6),
        ("go1.27", "undefined: Cost", "./shop_test.go", 6),
        ("cargo", "cannot find function `cost` in module `super`", "src/lib.rs", 15),
        ("jest", "Cannot find module '../no-such-shop' from 'test/shop.test.js'", "test/shop.test.js", 1),
        ("mocha", "Error: Cannot find module '../no-such-shop'", "/project/test/shop.js", 2),
        ("spec", "Error: Cannot find module '../no-such-shop'", "/project/test/shop.test.js", 3),
        ("tap", "Error: Cannot find module '../no-such-shop'", "/project/test/shop.test.js", 3),
    ],
)
def test_what_keeps_tests_from_running_is_told_with_its_place(name, message, path, line):
    first = read(f"{name}-broken").failures[0]
    assert (first.message.split("\n")[0], first.path, first.line) == (message, path, line)


def test_a_message_has_all_its_lines_and_none_of_the_source():
    [failure] = [each for each in read("jest-fail").failures if each.name == "lists"]
    assert failure.message.endswith(
        '- Expected  - 1\n+ Received  + 1\n\n  Array [\n    1,\n    Object {\n-     "a": 2,\n+     "a": 1,\n    },\n  ]'
    )
    assert "\nreceived" not in failure.message


@pytest.mark.parametrize(
    ("code", "timed_out", "state"), [(0, False, "passed"), (2, False, "failed"), (None, False, "crashed"), (1, True, "timed out")]
)
def test_a_check_in_place_of_tests_is_judged_by_its_exit_code(code, timed_out, state):
    outcome = parse_outcome("check", "12 passed\n", code, timed_out=timed_out)
    assert (outcome.state, outcome.passed) == (state, 0)
    assert format_outcome(outcome).startswith("There are no tests. The check ")


@pytest.mark.parametrize("runner", [runner for runner in get_args(Runner) if runner != "check"])
def test_nothing_passes_by_its_exit_code_alone(runner):
    assert parse_outcome(runner, "everything is fine\n", 0).state == "no tests"
    assert parse_outcome(runner, "", 1).state == "crashed"
    assert parse_outcome(runner, "", None).state == "crashed"
    assert parse_outcome(runner, "", None, timed_out=True).state == "timed out"


def test_a_command_that_fails_after_all_tests_passed_has_failed():
    text, _ = recorded("jest-pass")
    assert parse_outcome("jest", text + "Jest: coverage threshold for lines (80%) not met: 50%\n", 1).state == "failed"


def test_pytest_that_ends_before_its_end_has_crashed_and_the_last_test_is_known():
    text, _ = recorded("pytest-pass")
    broken_off = text[: text.index('"code"')].rpartition("\n")[0]
    for code in (0, 139):
        outcome = parse_outcome("pytest", broken_off, code)
        assert (outcome.state, outcome.passed, outcome.last) == ("crashed", 2, "tests/test_shop.py::test_later")


def test_only_lines_with_the_mark_of_this_run_are_believed():
    text, code = recorded("pytest-fail")
    mark = re.search("test-report-[0-9a-f]+", text)[0]
    forged = text + '\ntest-report-0000000000000000 {"passed": 99, "code": 0}\n'
    assert parse_outcome("pytest", forged, code).passed == 2
    assert mark not in parse_outcome("pytest", text, code).output


def test_a_test_of_unittest_that_hangs_is_named():
    text, _ = recorded("unittest-pass")
    hanging = text.partition("\n")[0] + "\ntest_price (test_shop.PriceTest.test_price) ... "
    assert parse_outcome("unittest", hanging, None, timed_out=True).last == "test_shop.PriceTest.test_price"


def test_a_test_of_go_that_hangs_is_named():
    text, _ = recorded("go-pass")
    hanging = text[: text.index('"Action":"pass"')].rpartition("\n")[0]
    assert parse_outcome("go", hanging, None, timed_out=True).last == "TestPrice"


def test_a_test_of_cargo_that_is_slow_is_named():
    text = "running 1 test\ntest tests::waits has been running for over 60 seconds\n"
    assert parse_outcome("cargo", text, None, timed_out=True).last == "tests::waits"


def test_lines_that_were_cut_off_are_passed_over():
    text, code = recorded("go-pass")
    assert parse_outcome("go", text + '{"Action":"fail","Package":"exa', code).state == "passed"
    text, code = recorded("pytest-pass")
    begun = text.index('{"passed": 1')
    assert parse_outcome("pytest", text[: begun + 5] + "\n" + text[begun:], code).state == "passed"


def test_a_failure_of_unittest_with_a_name_of_its_own_is_told_by_it():
    text, code = recorded("unittest-fail")
    outcome = parse_outcome("unittest", text.replace("test_price (test_shop.PriceTest.test_price)", "doctest of shop"), code)
    assert ("doctest of shop", "AssertionError: 6 != 7 : wrong price") in [each[:2] for each in told(outcome)]


def test_a_result_of_tap_without_a_note_has_failed_all_the_same():
    [failure] = parse_outcome("npm", "TAP version 13\nnot ok 1 - a\n1..1\n", 1).failures
    assert (failure.name, failure.message) == ("a", "")
    [failure] = parse_outcome(
        "npm", 'TAP version 13\nnot ok 1 - a\n  ---\n  error: "no"\n  at: file:///project/a.js:3:1\n1..1\n', 1
    ).failures
    assert (failure.message, failure.path, failure.line) == ("no", "/project/a.js", 3)


def test_colours_in_what_a_go_test_prints_are_taken_away():
    text, code = recorded("go-fail")
    outcome = parse_outcome("go", text.replace("a note", "\\u001b[31ma note\\u001b[0m"), code)
    assert "shop_test.go:15: a note" in {each.name: each.message for each in outcome.failures}["TestPrice/count=2"]
    assert "\x1b" not in outcome.output


def test_results_of_several_runners_in_one_script_are_added_up():
    jest, mocha = recorded("jest-fail")[0], recorded("mocha-fail")[0]
    outcome = parse_outcome("npm", jest + mocha + jest, 1)
    assert (outcome.passed, outcome.failed, outcome.skipped) == (2 + 1 + 2, 4 + 4 + 4, 2 + 1 + 2)
    assert len(outcome.failures) == 5 + 5  # the same failure twice is told once


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("  \u2714 a\n  \u2718 b\n\n  3 tests passed\n  1 test failed\n", (3, 1, 0)),
        ("  1 failed\n    a.spec.ts:3:1 > b\n  2 skipped\n  5 passed (2.1s)\n", (5, 1, 2)),
        ("ok | 3 passed | 0 failed (5ms)\n", (3, 0, 0)),
        (" 4 pass\n 1 fail\nRan 5 tests across 1 files.\n", (4, 1, 0)),
    ],
)
def test_an_unknown_runner_is_read_by_its_last_counts(text, counts):
    outcome = parse_outcome("npm", text, 1 if counts[1] else 0)
    assert (outcome.passed, outcome.failed, outcome.skipped) == counts
    assert outcome.state == ("failed" if counts[1] else "passed")


def test_other_writers_of_tap_are_read_too():
    text = """TAP version 13
# prices
ok 1 should be equal
not ok 2 should be equal
  ---
    operator: equal
    expected: 7
    actual:   6
    at: Test.<anonymous> (/project/test.js:5:5)
  ...
not ok 3 later # TODO
Bail out! no more
1..3
"""
    outcome = parse_outcome("npm", text, 1)
    assert (outcome.passed, outcome.failed, outcome.skipped, outcome.state) == (1, 1, 1, "crashed")
    assert "expected: 7" in outcome.failures[0].message


def test_a_rust_panic_as_it_was_written_before_2023_is_read():
    text = "---- tests::a stdout ----\nthread 'tests::a' panicked at 'count is 3', src/lib.rs:9:5\n\nfailures:\n    tests::a\n"
    [failure] = parse_outcome("cargo", text, 101).failures
    assert (failure.name, failure.message, failure.path, failure.line) == ("tests::a", "count is 3", "src/lib.rs", 9)


def test_the_output_that_is_kept_is_bounded():
    outcome = parse_outcome("npm", "x" * 1_000_000 + "\nTests:       1 passed, 1 total\nTest Suites: 1 passed, 1 total\n", 0)
    assert (outcome.state, outcome.passed) == ("passed", 1)
    assert len(outcome.output) < MAX_OUTPUT + 100


texts = st.text(st.sampled_from("\n\n  \t'\"(){}[]|:;.,-=+*#>/\\\x1b\x07\r●✖›❯ℹ⎯0123abcEFtest ok\ud800"), max_size=400)  # noqa: RUF001 - signs that runners write
pieces = st.lists(
    st.one_of(
        texts,
        st.text(max_size=50),
        st.builds(
            lambda path, start, length: path.read_text()[start : start + length],
            st.sampled_from(RECORDINGS),
            st.integers(0, 8_000),
            st.integers(0, 3_000),
        ),
    ),
    max_size=6,
)


@given(st.sampled_from(get_args(Runner)), pieces, st.one_of(st.none(), st.integers(-15, 255)), st.booleans())
def test_no_text_is_too_strange(runner, parts, code, timed_out):
    outcome = parse_outcome(runner, "".join(parts), code, timed_out=timed_out)
    assert outcome.state in get_args(State)
    assert min(outcome.passed, outcome.failed, outcome.skipped, outcome.errors) >= 0
    assert outcome.state != "passed" or (outcome.passed > 0 and code == 0)


REPEATED = [
    "=" * 70 + "\nFAIL: test_a (a.B.test_a)\n",
    "thread 'a' panicked at 'b', c:1:1\n---- a stdout ----\n",
    "error: a\n --> b:1:1\n",
    "  ● a\n    at b (c:1:1)\n",
    "  1 passing (1ms)\n  1) a\n",
    " FAIL  a > b\n",
    "not ok 1 - a\n  ---\n",
    "TypeError: a\n",
    "test at a:1:1\n✖ b\n  'test failed'\n",
    '{"Action":"run","Package":"a","Test":"b/c"}\n{"Action":"fail","Package":"a","Test":"b/c"}\n',
    'test-report-0123456789abcdef {"begun": "a", "failures": [{"name": "b"}]}\n',
    " " * 70,
    "1" * 70,
    "at (" * 20,
    "\x1b]",
    "\n",
]


EVERY_RUNNER = "\nTest Suites: 1 total\n Test Files  1\n  1 passing (1ms)\n\u2139 tests 1\n1..1\nok 1\nError: a\n    at b (c:1:1)\n"


@pytest.mark.parametrize("runner", ["pytest", "unittest", "go", "cargo", "npm"])
@pytest.mark.parametrize("piece", REPEATED)
def test_time_is_linear_whatever_is_repeated(runner, piece):
    text = piece * (300_000 // len(piece)) + EVERY_RUNNER
    begun = process_time()
    parse_outcome(runner, text, 1)
    assert process_time() - begun < 10  # quadratic would be hours
