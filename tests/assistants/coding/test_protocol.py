"""The text protocol: a model without native calls works through command lines in Markdown, and ends its task in words."""

from pathlib import Path

import pytest

from assistants.coding.stage import MENDED, SHOP, asks, carried_out, git, mends, needs_git, project, reports
from treadle.assistants.coding.delivery import commit_message
from treadle.core.requests import Traits
from treadle.models.scripted import Scripted

pytestmark = needs_git
TEXT = Traits(native_calls=False)
LOOKS = """\
I'll help you with that. Let me search for the function:

```bash
search -t "def price" .
```

Now let me read the file:

```bash
file shop.py
```
"""
EDITS = """\
```bash
code_edit -f shop.py -l 2:2 -r "    return count * 3"
test
```
"""
ADDS = """\
Now I'll create the test file:
```bash
code_edit -f test_more.py -a 'from shop import price


def test_three():
    assert price(3) == 9
'
```"""
COMPLETE = "Task complete. The price is no longer off by one."


def bash(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the model be taught command lines."""
    (place / "own.toml").write_text('[model]\ndialect = "bash"\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(place / "own.toml"))


@pytest.mark.parametrize("taught", [True, False])
def test_every_markdown_block_of_a_reply_counts_and_task_complete_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taught: bool
) -> None:
    folder = project(tmp_path)
    if taught:
        bash(tmp_path, monkeypatch)
    model = Scripted(LOOKS, EDITS, ADDS, COMPLETE, traits=TEXT)
    job = carried_out(tmp_path, folder, "build", {"description": "Mend the price", "free": not taught}, model)
    assert job.state == "completed", job.why
    assert (job.output["verified"], job.output["summary"]) == (True, COMPLETE)
    assert git(folder, "show", f"{job.output['branch']}:shop.py") + "\n" == MENDED
    results = model.requests[1].history[-1].text
    assert "shop.py:1:def price(count)" in results
    assert "return count * 3 + 1" in results


def test_a_bad_line_is_told_and_the_others_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path)
    bash(tmp_path, monkeypatch)
    reply = "```bash\npip install shop\ncat shop.py | head\nfile shop.py\n```"
    model = Scripted(reply, '```bash\ngive_answer --summary "Can\'t" --done false\n```', traits=TEXT)
    job = carried_out(tmp_path, folder, "build", {"description": "x"}, model)
    told = model.requests[1].history[-1].text
    assert "There is no tool 'pip'" in told
    assert "Result of file" in told
    assert (job.state, job.why) == ("failed", "The agent gave up: Can't")


def test_the_answer_may_be_a_command_line_with_done_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path)
    bash(tmp_path, monkeypatch)
    answer = '```bash\ngive_answer --summary "Mend the price" --done true\n```'
    model = Scripted("```bash\nfile shop.py\n```", EDITS, answer, traits=TEXT)
    job = carried_out(tmp_path, folder, "build", {"description": "x"}, model)
    assert (job.state, job.output["verified"], job.output["summary"]) == ("completed", True, "Mend the price")


def test_two_replies_without_a_call_end_the_task_and_the_tests_verify_it(tmp_path: Path) -> None:
    folder = project(tmp_path)
    model = Scripted(mends(), "I think that is it.", "The price is right now.")
    job = carried_out(tmp_path, folder, "debug", {}, model)
    assert (job.state, job.output["verified"]) == ("completed", True)
    assert git(folder, "log", "-1", "--format=%s", job.output["branch"]) == "The price is right now"
    assert "No tool was called" in model.requests[2].note


def test_replies_without_a_call_count_one_after_the_other(tmp_path: Path) -> None:
    folder = project(tmp_path)
    reads = asks(("file", {"action": "read", "path": "test_shop.py"}))
    model = Scripted("Let me think.", reads, "Hm.", mends(), reports())
    assert carried_out(tmp_path, folder, "debug", {}, model).state == "completed"


def test_task_complete_is_no_title_of_a_commit(tmp_path: Path) -> None:
    folder = project(tmp_path)
    model = Scripted(mends(), "Task complete. Created PR #1.")
    job = carried_out(tmp_path, folder, "build", {"description": "Mend the price"}, model)
    assert job.state == "completed", job.why
    message = git(folder, "log", "-1", "--format=%B", job.output["branch"])
    written, _, _ = message.partition("\n\nCo-authored-by: ")  # a line that only a user with an identity of their own in git has
    assert written == "Mend the price\n\nTask complete. Created PR #1."
    assert commit_message("Task complete.", "Mend the\nprice") == "Mend the price"
    assert commit_message("The price is right. So.", "x") == "The price is right\n\nThe price is right. So."


def test_task_complete_without_a_change_is_no_success(tmp_path: Path) -> None:
    folder = project(tmp_path)
    job = carried_out(tmp_path, folder, "build", {"description": "x"}, Scripted("Task complete. All is well."))
    assert (job.state, job.why) == ("failed", "Nothing was changed. The model said: Task complete. All is well.")


def test_task_complete_that_the_tests_deny_is_sent_back(tmp_path: Path) -> None:
    folder = project(tmp_path)
    worse = mends("def price(count):\n    return 0\n")
    model = Scripted(worse, "Task complete.", mends(), COMPLETE)
    job = carried_out(tmp_path, folder, "debug", {}, model)
    assert (job.state, job.output["verified"]) == ("completed", True)
    assert "the tests say otherwise" in model.requests[2].history[-1].text


def test_at_the_limit_of_rounds_a_job_fails_and_keeps_its_work(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "treadle.toml").write_text("[limits]\nrounds = 2\n")
    again = [asks(("file", {"action": "read", "path": path})) for path in ("shop.py", "test_shop.py", ".gitignore")]
    job = carried_out(tmp_path, folder, "build", {"description": "x"}, Scripted(*again))
    assert job.state == "failed"
    assert "limit of 2 rounds" in job.why
    assert (folder / "shop.py").read_text() == SHOP
