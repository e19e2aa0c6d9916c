"""How a small model builds: a test that fails comes first, then code until it passes, else everything is taken back."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assistants.coding.stage import MENDED, carried_out, git, needs_git, patch_in, project
from assistants.coding.test_debug_plan import FAILED, PASSED, history, read
from treadle.assistants.coding.build_plan import choose_build_test_path, plan_build
from treadle.assistants.coding.code import append_code
from treadle.assistants.coding.inputs import BuildInputs
from treadle.assistants.coding.project_sources import ProjectSources
from treadle.core.messages import History
from treadle.core.requests import Request, Traits
from treadle.models.calling.guided import PlanStep
from treadle.models.scripted import Scripted
from treadle.workspace import CheckOutcome

SMALL = Traits(native_calls=False, holds=True)
TASK = {"description": "Add a function discount(count) that is half of the price."}
TEST = "from shop import discount\n\n\ndef test_discount():\n    assert discount(4) == 6\n"
RIGHT = "import math\n\n\ndef discount(count):\n    return math.floor(price(count) / 2)\n"
WRONG = "def discount(count):\n    return price(count)\n"


class Builder:
    """A small model: one answer to each kind of question, the next one if it is asked again."""

    def __init__(self, place: str, tests: list[str], codes: list[str]) -> None:
        self.place, self.tests, self.codes = place, tests, codes
        self.prompts: list[str] = []

    def __call__(self, request: Request) -> str:
        text = request.history[0].text
        self.prompts.append(text)
        if "Where does it belong?" in text:
            return json.dumps({"place": self.place})
        if "How is the Python file called?" in text:
            return json.dumps({"path": "shop.py"})
        replies = self.tests if "Write one test" in text else self.codes
        return f"```python\n{replies.pop(0) if len(replies) > 1 else replies[0]}```"


def shop(tmp_path: Path) -> Path:
    folder = project(tmp_path)
    (folder / "shop.py").write_text(MENDED)
    git(folder, "commit", "--quiet", "-am", "Right prices")
    return folder


@needs_git
@pytest.mark.usefixtures("real_pytest")
def test_what_is_built_is_verified_by_a_test_that_failed_first(tmp_path: Path) -> None:
    folder = shop(tmp_path)
    passes = "from shop import price\n\n\ndef test_price_again():\n    assert price(1) == 3\n"
    builder = Builder("a new function in shop.py", [passes, TEST], [WRONG, RIGHT])
    job = carried_out(tmp_path, folder, "build", TASK, Scripted(*[builder] * 40, traits=SMALL))
    assert job.state == "completed", job.why
    assert (job.output["verified"], job.output["files"]) == (True, ["shop.py", "test_add_a_function_discount.py"])
    assert any("it passes before anything is built" in text for text in builder.prompts)
    assert any("What was tried last fails" in text for text in builder.prompts)
    patch = patch_in(tmp_path, job)
    assert "+import math" in patch
    assert "+    return math.floor(price(count) / 2)" in patch
    assert "return price(count)" not in patch


@needs_git
def test_what_cannot_be_built_is_taken_back_and_not_claimed(tmp_path: Path) -> None:
    folder = shop(tmp_path)
    job = carried_out(
        tmp_path, folder, "build", TASK, Scripted(*[Builder("a new function in shop.py", [TEST], [WRONG])] * 40, traits=SMALL)
    )
    assert job.state == "failed"
    assert "The test for it still fails; 1 change was tried." in job.why
    assert job.output["files"] == []


SHOP = ProjectSources({"shop.py": MENDED, "test_shop.py": "from shop import price\n"})
TEST_PATH = "test_discount.py"
STATE = {"path": "shop.py", "name": "price"}
START: Any = (
    (None, [("run_tests", {}, PASSED)]),
    (STATE, [("read_file", {"path": "shop.py"}, read(MENDED))]),
)


def written(content: str, tests: CheckOutcome, path: str = TEST_PATH) -> Any:
    scope = {"path": TEST_PATH} if path == TEST_PATH else {}
    return STATE, [("write_file", {"path": path, "content": content}, "Wrote it."), ("run_tests", scope, tests)]


def advance(past: History, *words: str) -> PlanStep:
    """The next step, where the model says these words."""
    plan, left = plan_build(Request("", past), SHOP, BuildInputs("Add a discount"), TEST_PATH), list(words)
    try:
        next(plan)
        while True:
            plan.send(left.pop(0))
    except StopIteration as over:
        return over.value


def test_the_tests_run_first_and_then_a_place_is_chosen_and_read() -> None:
    assert advance(history()).calls == (("run_tests", {}),)
    step = advance(history(START[0]), '{"place": "price in shop.py"}')
    assert (step.calls, step.state) == ((("read_file", {"path": "shop.py"}),), STATE)


def test_an_existing_function_is_changed_in_place() -> None:
    better = "def price(count):\n    return count * 2\n"
    step = advance(history(*START, written(TEST, FAILED)), f"```python\n{better}```")
    assert step.calls == (("write_file", {"path": "shop.py", "content": better}), ("run_tests", {}))
    done = advance(history(*START, written(TEST, FAILED), written(better, PASSED, "shop.py")))
    assert done.calls == (("give_answer", {"summary": f"Add a discount: shop.py, with a test in {TEST_PATH}.", "done": True}),)


def test_without_a_test_that_fails_nothing_is_built() -> None:
    gives_up = advance(history(*START), "no code (", "no code (", "no code (")
    assert gives_up.calls[0][0] == "give_answer"
    assert gives_up.calls[0][1]["done"] is False
    passes = written("def test_a():\n    pass\n", PASSED)
    undoes = advance(history(*START, passes), "?(", "?(")
    assert undoes.calls == (("delete_file", {"path": TEST_PATH}),)
    said = advance(history(*START, passes, (STATE, [("delete_file", {"path": TEST_PATH}, "Gone.")])), "?(", "?(").calls[0][1]
    assert "it passes before anything is built" in said["summary"]


def test_other_languages_are_refused_with_what_to_do() -> None:
    go = replace(PASSED, runner="go")
    said = advance(history((None, [("run_tests", {}, go)]))).calls[0][1]
    assert said["summary"] == "A small model is guided only in Python projects: use --free, or a larger model."


def test_code_is_added_at_the_end_of_a_file_and_imports_at_its_beginning() -> None:
    source = '"""A shop."""\n\nimport os\n\n\ndef price():\n    return os.sep\n'
    added = append_code(source, "import math\n\n\n@cache\ndef floor(x):\n    return math.floor(x)\n")
    header = '"""A shop."""\n\nimport os\nimport math\n\n\ndef price():\n    return os.sep\n'
    assert added == f"{header}\n\n@cache\ndef floor(x):\n    return math.floor(x)\n"
    assert append_code(source, "import math\n") == append_code(source, "x = (") == ""


def test_the_test_is_named_after_the_task() -> None:
    assert choose_build_test_path({"tests/test_a.py": ""}, "Add --json to the list!") == "tests/test_add_json_to_the.py"
    assert choose_build_test_path({}, "…") == "test_new.py"
