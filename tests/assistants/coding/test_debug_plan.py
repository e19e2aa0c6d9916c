"""How a small model is guided: from what has happened so far to the one next step, always the same one."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assistants.coding.packages import LICENCE, LISTS, SLUG, TOML, plant, run_package_tests
from treadle.assistants.coding.debug_plan import MAX_TRIES, plan_debugging
from treadle.assistants.coding.fault_localisation import BugReport
from treadle.assistants.coding.project_sources import ProjectSources
from treadle.assistants.coding.reproduction import choose_test_path
from treadle.assistants.coding.transcript import TranscriptStep, transcript_of
from treadle.core.calls import Call, Opaque, Result
from treadle.core.messages import History, Message, Text, person_message
from treadle.core.requests import Request
from treadle.models.calling.guided import WIRE, PlanQuestion, PlanStep
from treadle.workspace import CheckFailure, CheckOutcome, FileLines, format_outcome

SOURCE = "def price(count):\n    total = count * 3\n    return total + 1\n"
TEST = "from shop import price\n\n\ndef test_price():\n    assert price(2) == 6\n"
FAILURE = CheckFailure("test_shop.py::test_price", "assert 7 == 6", "test_shop.py", 5)
SLOW = 1_000.0  # seconds: no time for single edits
FAILED = CheckOutcome("pytest", "pytest", 0, 1, 0, 0, (FAILURE,), "failed", "", SLOW)
PASSED = CheckOutcome("pytest", "pytest", 1, 0, 0, 0, (), "passed", "", 0.1)
WRITTEN = "Wrote shop.py."
SHOP = ProjectSources({"shop.py": SOURCE, "test_shop.py": TEST})

Reply = Callable[[PlanQuestion], str]


def read(text: str, **changes: int) -> FileLines:
    lines = len(text.splitlines())
    return FileLines(text, 1, lines, changes.get("total", lines))


def result(call: Call, came: CheckOutcome | FileLines | str) -> Result:
    """What came back: its text as it is rendered, and its data."""
    content = format_outcome(came) if isinstance(came, CheckOutcome) else came if isinstance(came, str) else came.text
    return Result(call.id, call.name, content, data=None if isinstance(came, str) else msgspec.to_builtins(came))


def history(*rounds: tuple[Any, list[tuple[str, dict[str, Any], Any]]]) -> History:
    """A conversation: for each round the state of the plan and what was called, with what came back."""
    messages = [person_message("Find the bug.")]
    for number, (state, calls) in enumerate(rounds):
        made = [Call(f"{number}-{index}", name, arguments) for index, (name, arguments, _) in enumerate(calls)]
        kept = [] if state is None else [Opaque(WIRE, msgspec.json.encode(state).decode())]
        messages.append(Message("model", (Text("So."), *kept, *made)))
        messages.append(Message("tools", tuple([result(call, came) for call, (_, _, came) in zip(made, calls, strict=True)])))
    return History(messages)


START = (
    (None, [("run_tests", {}, FAILED)]),
    (None, [("read_file", {"path": "test_shop.py"}, read(TEST)), ("read_file", {"path": "shop.py"}, read(SOURCE))]),
)


def tried(state: int | None, content: str, tests: CheckOutcome = FAILED) -> Any:
    return state, [("write_file", {"path": "shop.py", "content": content}, WRITTEN), ("run_tests", {}, tests)]


def advance(past: History, *words: str, project: ProjectSources = SHOP) -> tuple[PlanStep, list[PlanQuestion]]:
    """The next step, where the model says these words, and what it was asked."""
    plan, asked, left = plan_debugging(Request("", past), project, BugReport()), list[PlanQuestion](), list(words)
    try:
        asked.append(next(plan))
        while True:
            asked.append(plan.send(left.pop(0)))
    except StopIteration as over:
        return over.value, asked


def calls(past: History, *words: str) -> list[tuple[str, dict[str, Any]]]:
    return list(advance(past, *words)[0].calls)


def test_first_the_tests_then_the_failing_test_and_what_it_is_about() -> None:
    assert calls(history()) == [("run_tests", {})]
    assert calls(history(*START[:1])) == [("read_file", {"path": "test_shop.py"}), ("read_file", {"path": "shop.py"})]


def test_the_model_is_asked_for_code_and_what_it_writes_is_tested() -> None:
    fixed = SOURCE.replace(" + 1", "")
    made, asked = advance(history(*START), f"```python\n{fixed}```")
    assert made.calls == (("write_file", {"path": "shop.py", "content": fixed}), ("run_tests", {}))
    assert made.state == 0
    assert SOURCE in asked[0].text
    assert "def test_price():" in asked[0].text
    assert "assert 7 == 6" in asked[0].text


def test_code_that_is_there_already_is_no_attempt_and_the_next_one_is_made_at_once() -> None:
    same, right = '{"code": "count * 3"}', '{"code": "total"}'
    made, asked = advance(
        history(*START), f"```python\n{SOURCE}```", same, same, same, right, '{"code": "return total - 1"}', right
    )
    assert [arguments["content"] for name, arguments in made.calls if name == "write_file"] == [
        SOURCE.replace("total + 1", "total"),
        SOURCE.replace("total + 1", "total - 1"),
    ]
    assert [name for name, _ in made.calls] == ["write_file", "run_tests"] * 2
    assert "return ____" in asked[4].text
    assert "total + 1" not in asked[4].text


def test_it_goes_on_after_the_last_attempt() -> None:
    wrong = SOURCE.replace("count * 3", "count * 2")
    made, asked = advance(history(*START, tried(1, wrong)), *['{"code": "total"}'] * 3)
    assert (made.state, len(asked)) == (2, 3)


def test_of_several_that_were_tried_together_the_one_that_passed_is_put_back() -> None:
    right, wrong = SOURCE.replace(" + 1", ""), SOURCE.replace(" + 1", " + 2")
    calls_made = [*tried(None, right, PASSED)[1], *tried(None, wrong)[1]]
    made, asked = advance(history(*START, (1, calls_made)))
    assert made.calls == (("write_file", {"path": "shop.py", "content": right}), ("run_tests", {}))
    assert asked == []


def test_the_same_past_gives_the_same_step() -> None:
    past = history(*START, tried(1, SOURCE.replace("3", "2")))
    assert advance(past, *['{"code": "total"}'] * 3) == advance(past, *['{"code": "total"}'] * 3)


def test_tests_that_pass_after_a_change_end_it_and_the_change_is_described() -> None:
    past = history(*START, tried(0, SOURCE.replace(" + 1", ""), PASSED))
    summary = "Fix price in shop.py: the tests that failed pass now. The line `return total + 1` is now `return total`."
    assert calls(past) == [("give_answer", {"summary": summary, "done": True})]


def test_tests_that_pass_before_any_change_are_no_success() -> None:
    (_, answer), *more = calls(history((None, [("run_tests", {}, PASSED)])))
    assert answer == {"summary": "All tests pass, and no symptom was described.", "done": False}
    assert more == []


def test_after_so_many_tries_the_file_is_put_back_and_what_was_learnt_is_said() -> None:
    tries = [tried(1, SOURCE.replace("3", str(number + 4))) for number in range(MAX_TRIES)]
    assert calls(history(*START, *tries)) == [("write_file", {"path": "shop.py", "content": SOURCE})]
    back = (None, [("write_file", {"path": "shop.py", "content": SOURCE}, WRITTEN)])
    summary = f"Not fixed; all changes were taken back. price in shop.py: {MAX_TRIES} changes tried; the same tests fail."
    assert calls(history(*START, *tries, back)) == [("give_answer", {"summary": summary, "done": False})]


def test_a_model_that_says_nothing_of_use_is_given_up_with_that_reason() -> None:
    made, asked = advance(history(*START), *["Sorry."] * 20)
    assert made.calls[0][1] == {
        "summary": "Not fixed: none of the model's answers was a change of the code that was shown (shop.py in shop.py).",
        "done": False,
    }
    assert len(asked) == 1 + 2 * 3 + 1


def test_a_file_that_holds_a_masked_secret_is_not_written_anew() -> None:
    masked = f'KEY = "[redacted:api-key]"\n{SOURCE}'
    reads = (None, [("read_file", {"path": "test_shop.py"}, read(TEST)), ("read_file", {"path": "shop.py"}, read(masked))])
    made, _ = advance(history(START[0], reads), *[f'```python\nKEY = "[redacted:api-key]"\n{SOURCE.replace("3", "4")}```'] * 20)
    assert [name for name, _ in made.calls] == ["give_answer"]


def test_a_file_that_cant_be_read_whole_is_named_as_the_reason() -> None:
    reads = (None, [("read_file", {"path": "test_shop.py"}, read(TEST)), ("read_file", {"path": "shop.py"}, "It is no text.")])
    made, _ = advance(history(START[0], reads))
    assert made.calls[0][1]["summary"] == "Not fixed: shop.py couldn't be read as a whole."


def test_where_a_runner_names_no_failure_the_end_of_its_output_tells_the_place() -> None:
    crashed = msgspec.structs.replace(FAILED, failures=(), state="crashed", output="  File test_shop.py:3: SyntaxError")
    assert ("read_file", {"path": "test_shop.py"}) in calls(history((None, [("run_tests", {}, crashed)])))


def test_javascript_is_found_by_its_relative_imports_and_replaced_as_a_whole() -> None:
    failed = msgspec.structs.replace(FAILED, runner="jest", failures=(CheckFailure("adds", "no", "test/a.test.js", 3),))
    first = (None, [("run_tests", {}, failed)])
    test = (None, [("read_file", {"path": "test/a.test.js"}, read("const { add } = require('../lib/a.js')\n"))])
    made, _ = advance(history(first, test), project=ProjectSources({}))
    assert made.calls == (("read_file", {"path": "lib/a.js"}),)
    code = (None, [("read_file", {"path": "lib/a.js"}, read("exports.add = (a, b) => a - b\n"))])
    made, _ = advance(history(first, test, code), "```js\nexports.add = (a, b) => a + b\n```", project=ProjectSources({}))
    assert made.calls[0] == ("write_file", {"path": "lib/a.js", "content": "exports.add = (a, b) => a + b\n"})


def test_a_file_that_is_too_long_to_be_replaced_is_named_as_the_reason() -> None:
    failed = msgspec.structs.replace(FAILED, runner="jest", failures=(CheckFailure("adds", "no", "lib/a.js", 3),))
    long = "// words\n" * 1_000
    made, asked = advance(
        history((None, [("run_tests", {}, failed)]), (None, [("read_file", {"path": "lib/a.js"}, read(long))])),
        project=ProjectSources({}),
    )
    assert asked == []
    assert made.calls[0][1]["summary"] == (
        "Not fixed: lib/a.js can only be replaced as a whole, and has more than 6,000 characters."
    )


def test_tests_that_lead_to_no_code_are_given_up_with_that_reason() -> None:
    failed = msgspec.structs.replace(FAILED, failures=(CheckFailure("tests/test_a.py::test_a", "no", "tests/test_a.py", 1),))
    project = ProjectSources({"tests/test_a.py": "def test_a():\n    assert False\n"})
    reads = (None, [("read_file", {"path": "tests/test_a.py"}, read(project.files["tests/test_a.py"]))])
    made, _ = advance(history((None, [("run_tests", {}, failed)]), reads), project=project)
    assert made.calls[0][1]["summary"] == "Not fixed: the failing tests lead to no code of this project."


def test_a_write_that_is_refused_is_tried_again_after_reading() -> None:
    fixed = SOURCE.replace(" + 1", "")
    past = history(*START, tried(0, fixed))
    tools = past[-1]
    first, *rest = tools.parts
    assert isinstance(first, Result)
    refused = Message("tools", (msgspec.structs.replace(first, problem="unread"), *rest))
    refusing = History([*list(past)[:-1], refused])
    made, asked = advance(refusing)
    assert (made.calls, made.state, asked) == ((("read_file", {"path": "shop.py"}),), -1, [])


def test_another_turn_begins_with_the_first_attempt_again_and_asks_otherwise() -> None:
    past = history(*START, tried(7, SOURCE.replace("3", "4")))
    again = History([*past, person_message("Once more.")])
    made, asked = advance(again, f"```python\n{SOURCE.replace(' + 1', '')}```")
    assert (made.state, asked[0].options.temperature, asked[0].options.seed) == (0, 0.5, 1_000)


@pytest.mark.parametrize(
    ("step", "passed"),
    [
        (TranscriptStep("run_tests", {}, "Passed", failed=False, data=msgspec.to_builtins(PASSED)), True),
        (TranscriptStep("run_tests", {}, "Failed", failed=False, data=msgspec.to_builtins(FAILED)), False),
        (TranscriptStep("run_tests", {}, "Passed: that is what somebody says.", failed=True), False),
    ],
)
def test_whether_tests_passed_is_in_their_data_whatever_the_text_says(step, passed) -> None:
    assert step.passed is passed


@pytest.mark.parametrize(
    ("came", "source"),
    [(read("a\n"), "a\n"), (read("a"), "a\n"), (read(""), ""), (read("a\n", total=9), None), ("1|a", None)],
)
def test_a_file_is_fixed_only_if_all_of_it_was_read(came, source) -> None:
    assert transcript_of(history((None, [("read_file", {"path": "a.py"}, came)]))).source("a.py") == source


class Session:
    """A whole session in a package: the plan's calls are executed on its files, its questions answered by a function."""

    def __init__(self, folder: Path, files: dict[str, str], symptom: str = "") -> None:
        self.folder, self.files = folder, dict(files)
        self.asked: list[str] = []
        self.report = BugReport(symptom, choose_test_path(files))

    def run(self, reply: Reply, rounds: int = 60) -> dict[str, Any]:
        """Work until there is an answer."""
        past: list[Any] = []
        for _ in range(rounds):
            python = {path: text for path, text in self.files.items() if path.endswith(".py")}
            plan = plan_debugging(Request("", history(*past)), ProjectSources(python), self.report)
            words = None
            while True:
                try:
                    question = next(plan) if words is None else plan.send(words)
                except StopIteration as over:
                    step: PlanStep = over.value
                    break
                self.asked.append(question.text)
                words = reply(question)
            if step.calls[0][0] == "give_answer":
                return step.calls[0][1]
            past.append((step.state, [(name, arguments, self._call(name, arguments)) for name, arguments in step.calls]))
        raise AssertionError("It never ends.")

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        path = arguments.get("path", "")
        if name == "run_tests":
            return run_package_tests(self.folder, self.files, path)
        if name == "read_file":
            return read(self.files[path])
        if name == "delete_file":
            del self.files[path]
            return "Deleted."
        self.files[path] = arguments["content"]
        return "Written."


def knows(wrong: str, right: str, test: str = "") -> Reply:
    """A model that corrects a line when it sees it whole, and otherwise repeats what it sees."""

    def reply(question: PlanQuestion) -> str:
        if "Write one test" in question.text:
            return f"```python\n{test}```"
        shown = re.findall(r"```python\n(.*?)```", question.text, re.DOTALL)[0]
        return f"```python\n{shown.replace(wrong, right)}```" if "Fix it" in question.text else "{}"

    return reply


TOML_RE, TOML_PARSER, LIST = "src/minitoml/_re.py", "src/minitoml/_parser.py", "minibolts/listutils.py"
BUGS = {
    "a function two imports away": (TOML, TOML_RE, 'sign = 1 if sign_str == "+" else -1', "sign = 1"),
    "a value of a date": (TOML, TOML_RE, "return date(year, month, day)", "return date(year, day, month)"),
    "a method": (TOML, TOML_PARSER, "if key[-1] in table:", "if key[0] in ():"),
    "an array": (TOML, TOML_PARSER, "for item in items if item]", "for item in items[1:] if item]"),
    "a method of a long class": (LISTS, LIST, "return length + current.index(item)", "return current.index(item)"),
    "a private method": (LISTS, LIST, "index += len(self)\n        rel", "index += len(self) - 1\n        rel"),
    "an exported star": (SLUG, "minislug/slugify.py", "if word not in stopwords]", "if word in stopwords]"),
    "a pattern of a module": (SLUG, "minislug/slugify.py", r'r"(?<=\d),(?=\d)"', r'r"(?<=\d);(?=\d)"'),
    "a constant in a small file": (SLUG, "minislug/special.py", '("ü", "ue")', '("ü", "u")'),
    "a small file": (LISTS, "minibolts/mathutils.py", "while value >= base", "while value > base"),
}


@pytest.mark.parametrize(("files", "path", "right", "wrong"), BUGS.values(), ids=BUGS)
def test_a_bug_in_a_package_is_found_and_fixed_and_nothing_else_is_changed(
    tmp_path: Path, files: dict[str, str], path: str, right: str, wrong: str
) -> None:
    session = Session(tmp_path, plant(files, path, right, wrong))
    answer = session.run(knows(wrong, right))
    assert answer["done"] is True, answer
    assert session.files == files
    assert len(session.asked) <= 5
    assert path in answer["summary"]


def test_where_one_operator_is_wrong_single_edits_are_tried_after_the_models_first_answer(tmp_path: Path) -> None:
    files, *bug = BUGS["an exported star"]
    session = Session(tmp_path, plant(files, *bug))
    assert session.run(lambda _: "Sorry.")["done"] is True
    assert session.files == files
    assert len(session.asked) == 1


def count_edits(passed: int, seconds: float) -> int:
    started = [("run_tests", {}, msgspec.structs.replace(FAILED, passed=passed, seconds=seconds))]
    made = advance(history((None, started), START[1]), "Sorry.", *["?"] * 20)[0]
    return sum(name == "write_file" for name, _ in made.calls)


def test_single_edits_take_as_much_time_as_the_tests_leave() -> None:
    assert [count_edits(4, seconds) for seconds in (0.1, 59.0, 1_000.0)] == [2, 1, 0]


def test_where_few_tests_decide_no_single_edits_are_tried() -> None:
    assert [count_edits(passed, 0.1) for passed in (0, 3, 4)] == [0, 0, 2]


def test_no_question_has_a_licence_or_ends_in_the_middle_of_a_line(tmp_path: Path) -> None:
    session = Session(tmp_path, plant(*BUGS["a method of a long class"]))
    session.run(lambda _: "Sorry.")
    lines = {line.strip() for text in (*LISTS.values(), session.files[LIST]) for line in text.splitlines()}
    for text in session.asked:
        assert LICENCE.splitlines()[1] not in text
        assert len(text) < 9_000
        shown = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0] if "Fix it" in text else ""
        assert {line.strip() for line in shown.splitlines()} - {"class BarrelList:"} <= lines


def test_questions_widen_from_the_function_to_its_class_and_module(tmp_path: Path) -> None:
    session = Session(tmp_path, plant(*BUGS["a method of a long class"]))
    session.run(lambda _: "Sorry.")
    shown = [re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0] for text in session.asked if "Fix it" in text]
    first, wider = shown[0], shown[5]
    assert first.count("def ") == 1
    assert 3 <= wider.count("def ") < session.files[LIST].count("def ")
    assert max(map(len, shown)) <= 6_100


def test_several_candidates_are_tested_and_the_first_that_passes_stays(tmp_path: Path) -> None:
    right, wrong = BUGS["a value of a date"][2:]
    guesses = iter([wrong.replace("year, day", "day, year"), wrong.replace("day, month", "day, day"), right])

    def reply(question: PlanQuestion) -> str:
        shown = re.findall(r"```python\n(.*?)```", question.text, re.DOTALL)[0]
        return f"```python\n{shown.replace(wrong, next(guesses))}```" if "Fix it" in question.text and wrong in shown else "?"

    session = Session(tmp_path, plant(*BUGS["a value of a date"]))
    assert session.run(reply)["done"] is True
    assert session.files == TOML


def test_when_it_gives_up_it_names_the_places_and_what_the_tests_said(tmp_path: Path) -> None:
    wrong = BUGS["a value of a date"][3]
    planted = plant(*BUGS["a value of a date"])
    session = Session(tmp_path, planted)
    answer = session.run(knows(wrong, wrong.replace("year, day, month", "1, 2, 3")))
    assert answer["done"] is False
    assert answer["summary"].startswith("Not fixed; all changes were taken back. ")
    assert f"match_to_datetime in {TOML_RE}: 10 changes tried; the same tests fail" in answer["summary"]
    assert session.files == planted


def test_the_last_attempt_is_shown_what_was_tried_and_what_the_tests_said(tmp_path: Path) -> None:
    path, right, wrong = BUGS["a value of a date"][1:]
    session = Session(tmp_path, plant(*BUGS["a value of a date"]))
    session.run(knows(wrong, wrong.replace("year, day, month", "1, 2, 3")))
    assert "This was tried, and they still fail:" in session.asked[-1]
    tried_code = session.asked[-1].partition("This was tried")[2]
    assert "return date(1, 2, 3)" in tried_code
    assert tried_code.count("\ndef ") == 1
    assert right not in session.files[path]


MICROS = (
    TOML,
    TOML_RE,
    'micros = int(micros_str.ljust(6, "0")) if micros_str else 0\n    tz',
    'micros = int(micros_str[:3].ljust(6, "0")) if micros_str else 0\n    tz',
)
SYMPTOM = "microseconds of a datetime are cut off: 1979-05-27T00:32:00.999999 is read as .999000"
SHOWS = """import minitoml


def test_microseconds():
    assert minitoml.loads("d = 1979-05-27T00:32:00.999999")["d"].microsecond == 999999
"""
PASSES = SHOWS.replace(".999999", ".999").replace("== 999999", "== 999000")
BROKEN = SHOWS.replace("minitoml.loads", "toml.loads")
FOREIGN = "import datetime\n\n\ndef test_it():\n    assert datetime.timezone is None\n"


def test_a_symptom_that_no_test_shows_gets_a_test_before_it_is_fixed(tmp_path: Path) -> None:
    session = Session(tmp_path, plant(*MICROS), SYMPTOM)
    answer = session.run(knows(MICROS[3], MICROS[2], SHOWS))
    assert answer["done"] is True, answer
    assert session.files == {**TOML, "tests/test_reported_symptom.py": SHOWS}
    assert SYMPTOM in session.asked[0]
    assert "import minitoml" in session.asked[0]  # an example of the project's tests


@pytest.mark.parametrize(
    ("test", "why"),
    [
        (PASSES, "it passes, so it doesn't show the bug"),
        (BROKEN, "it fails for another reason: NameError: name 'toml' is not defined"),
        (FOREIGN, "it uses nothing of the project"),
        ("import minitoml\n", "it has no test function"),
        ("def test(:\n", "it is no valid Python"),
    ],
)
def test_a_test_that_does_not_show_the_symptom_is_no_reason_to_change_anything(tmp_path: Path, test: str, why: str) -> None:
    planted = plant(*MICROS)
    session = Session(tmp_path, planted, SYMPTOM)
    answer = session.run(knows(MICROS[3], MICROS[2], test))
    assert answer["done"] is False
    assert answer["summary"].startswith(
        "All tests pass, so they don't show the symptom. No test that was written for it shows it ("
    )
    assert why in answer["summary"]
    assert {path: text for path, text in session.files.items() if path in planted} == planted
    assert len(session.asked) == 3
    assert why.partition(":")[0] in session.asked[1]


def test_an_exception_counts_as_the_symptom_only_if_it_was_reported(tmp_path: Path) -> None:
    planted = plant(TOML, TOML_RE, "return date(year, month, day)", "return date(year, month * 9, day)")
    quiet = {**planted, "tests/test_datetime.py": TOML["tests/test_datetime.py"].partition("def test_date")[0]}
    test = 'import minitoml\n\n\ndef test_it():\n    minitoml.loads("d = 1979-05-27")\n'
    for symptom, done in (("dates raise ValueError", True), ("dates are printed in the wrong order", False)):
        session = Session(tmp_path, quiet, symptom)
        assert session.run(knows("month * 9", "month", test))["done"] is done


COUNT = '''\
def count_up_to(n):
    """Return the primes below a number.

    count_up_to(1) => []
    count_up_to(5) => [2, 3]
    count_up_to(20) => [2, 3, 5, 7, 11, 13, 17, 19]

    >>> count_up_to(11)
    [2, 3, 5, 7]
    """
    return [i for i in range(2, n) if all(j % i for j in range(2, i))]
'''
COUNT_TEST = "from miniprimes import count_up_to\n\n\ndef test_up_to_six():\n    assert count_up_to(6) == [2, 3, 5]\n"


def test_where_there_are_few_tests_the_examples_of_the_documentation_are_tests_too(tmp_path: Path) -> None:
    """A change that only passes the project's test, such as a list that is written out, isn't taken."""
    session = Session(tmp_path, {"miniprimes.py": COUNT, "test_miniprimes.py": COUNT_TEST})
    wrong = COUNT.replace("return [i for i in range(2, n) if all(j % i for j in range(2, i))]", "return [2, 3, 5]")
    answer = session.run(lambda question: f"```python\n{wrong}```" if "Fix it" in question.text else "?")
    assert answer["done"] is True
    assert session.files["miniprimes.py"] == COUNT.replace("j % i", "i % j")
    assert (
        "def test_count_up_to_3(self):\n        self.assertEqual(count_up_to(20), [2, 3, 5, 7, 11, 13, 17, 19])"
        not in session.asked[0]
    )
    assert "assert count_up_to(6) == [2, 3, 5]" in session.asked[0]


def test_examples_that_are_wrong_do_not_keep_what_passes_the_tests_of_the_project(tmp_path: Path) -> None:
    documented = COUNT.replace("count_up_to(5) => [2, 3]", "count_up_to(5) => [2, 3, 5]")
    session = Session(tmp_path, {"miniprimes.py": documented, "test_miniprimes.py": COUNT_TEST})
    right = documented.replace("j % i", "i % j")
    answer = session.run(lambda question: f"```python\n{right}```" if "Fix it" in question.text else "?")
    assert answer["done"] is True
    assert session.files == {"miniprimes.py": right, "test_miniprimes.py": COUNT_TEST}
