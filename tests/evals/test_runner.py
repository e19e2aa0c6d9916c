"""Evaluations: cases are run, repeated, checked, judged, and resumed after a kill."""

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from eval_shop import SCRIPTS, ByPrompt, agent, has_forty, is_short, order, orders, stock, writer
from treadle import Agent, allow
from treadle.core.errors import SettingsError
from treadle.evals import (
    Case,
    CaseMessage,
    CaseRun,
    Dataset,
    EvalReport,
    Expectations,
    ExpectedCall,
    ExpectedFile,
    ExpectedText,
    Rubric,
    SimulatedUser,
    compare_reports,
    evaluate,
    evaluate_sync,
    load_report,
    report_to_json,
    wilson_interval,
)
from treadle.evals.agents import EvalOptions
from treadle.evals.results import Attempt, CaseResult
from treadle.evals.runner import run_dataset
from treadle.home import close_home, open_home
from treadle.models import Delta, Request
from treadle.testing import Scripted, calls

STOCK = Case(name="stock", input="How many A-113?", expected=Expectations(calls=("stock",), output="40"))
ORDER = Case(
    name="order",
    input="Order ten B-7.",
    approve=("ord*",),
    expected=Expectations(calls=("stock", ExpectedCall("order", {"count": 10})), in_order=True, only=True, forbidden=("delete",)),
)


def run(*cases: Case, **how: object) -> EvalReport:
    return evaluate_sync(Dataset("shop", cases), how.pop("agent", agent), **how)  # type: ignore[arg-type]


def checks_of(*cases: Case, **how: object) -> list[tuple[str, str, bool, str]]:
    report = run(*cases, **how)
    return [(check.kind, check.name, check.passed, check.detail) for check in report.attempts[0].checks]


def test_cases_are_run_repeated_and_checked():
    orders.clear()
    report = run(STOCK, ORDER, repeat=3, parallel=2)
    assert report.passed
    assert [(case.name, case.passed, len(case.attempts)) for case in report.cases] == [("stock", 3, 3), ("order", 3, 3)]
    assert orders == [("B-7", 10)] * 3
    asked = report.cases[1].attempts[0]
    assert [(call.tool, call.verdict) for call in asked.asked] == [("order", "ask")]
    assert asked.approved == 1
    assert len({attempt.run_id for attempt in report.attempts}) == 6


def test_what_the_policy_asks_for_is_denied_unless_the_case_approves_it():
    orders.clear()
    report = run(Case(name="order", input="Order ten B-7.", expected=Expectations(calls=("order",))))
    attempt = report.attempts[0]
    assert (attempt.passed, orders, attempt.approved) == (False, [], 0)
    assert [(call.tool, call.problem) for call in attempt.asked] == [("order", "denied")]
    verdict = Case(name="order", input="Order ten B-7.", expected=Expectations(calls=(ExpectedCall("order", verdict="ask"),)))
    assert run(verdict).passed


def test_calls_that_are_missing_forbidden_or_out_of_order_fail():
    wrong = Expectations(calls=("order", "stock"), in_order=True, forbidden=(ExpectedCall("order", where={"count": ">= 5"}),))
    found = checks_of(Case(name="a", input="Order ten B-7.", approve=("*",), expected=wrong))
    assert [(kind, name, passed) for kind, name, passed, _ in found[1:]] == [
        ("call", "order", True),
        ("call", "stock", False),
        ("forbidden", "order(count='>= 5')", False),
    ]
    assert "not in this order" in found[2][3]
    found = checks_of(Case(name="a", input="How many A-113?", expected=Expectations(calls=("delete",), only=True)))
    assert [passed for _, _, passed, _ in found[1:]] == [False, False]
    assert found[1][3] == "there is no such call; calls: stock(item='A-113')"


def test_a_specific_call_is_not_taken_by_a_general_one():
    script = [calls(("stock", {"item": "A-113"}), ("stock", {"item": "B-7"})), "Both."]
    both = Expectations(calls=("stock", ExpectedCall("stock", {"item": "A-113"})), only=True)
    assert run(Case(name="a", input="x", expected=both), agent=Agent(Scripted(*script), tools=[stock, order])).passed


def test_output_is_compared_as_text_and_as_json():
    expected = ExpectedText(contains=("a-113", "40"), excludes="sorry", matches=(r"\d+", "A-"), json={"count": 40, "more": [1, 2]})
    assert run(Case(name="a", input="As JSON, please.", expected=Expectations(output=expected))).passed
    wrong = ExpectedText(equals="40", contains="41", excludes="40", matches="x", json={"count": True})
    found = checks_of(Case(name="a", input="As JSON, please.", expected=Expectations(output=wrong)))
    assert [passed for _, _, passed, _ in found[1:]] == [False] * 5
    found = checks_of(Case(name="a", input="How many A-113?", expected=Expectations(output=ExpectedText(json=1))))
    assert "it is no JSON" in found[1][3]


def test_files_of_the_workspace_are_checked_after_the_run(tmp_path: Path):
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "in.txt").write_text("in")
    wanted = {"out.txt": "forty", "in.txt": ExpectedFile(contains="in"), "no.txt": ExpectedFile(exists=False)}
    case = Case(name="a", input="x", workspace="sample", approve=("write",), expected=Expectations(files=wanted))
    assert evaluate_sync(Dataset("files", (case,), tmp_path), writer).passed
    assert not (tmp_path / "sample" / "out.txt").exists()
    missing = Case(name="a", input="x", expected=Expectations(files={"out.txt": "forty", "x": ExpectedFile(exists=False)}))
    assert [check.passed for check in evaluate_sync(Dataset("files", (missing,)), writer).attempts[0].checks] == [True, False, True]


def test_checks_in_code_return_raise_or_say_why():
    def asserts(run: object) -> None:
        raise AssertionError("no")

    def breaks(run: object) -> None:
        raise ValueError("odd")

    def refuses(run: object) -> bool:
        return False

    case = Case(name="a", input="How many A-113?", checks=(has_forty, is_short, asserts, breaks, refuses, "eval_shop:has_forty"))
    found = [each for each in checks_of(case) if each[0] == "code"]
    assert [(name, passed, detail) for _, name, passed, detail in found] == [
        ("has_forty", True, ""),
        ("is_short", False, "22 characters"),
        ("asserts", False, "no"),
        ("breaks", False, "ValueError: odd"),
        ("refuses", False, "it returned False"),
        ("eval_shop:has_forty", True, ""),
    ]


def test_cost_seconds_and_the_end_of_a_run_are_limits():
    found = checks_of(Case(name="a", input="How many A-113?", expected=Expectations(cost=1, seconds=100, stopped="limit")))
    assert found[0] == ("stopped", "the run is limit", False, "it is answered")
    assert found[1] == ("cost", "at most 1 US dollars", False, "the price of the model isn't known")
    assert found[2][2]


def test_a_judge_decides_by_a_rubric():
    case = Case(name="a", input="How many A-113?", judge=Rubric("It names a number."))
    yes = Scripted(calls(("give_answer", {"passed": True, "reason": "It says 40."})))
    found = checks_of(case, judge=yes)
    assert found[-1] == ("judge", "rubric 'It names a number.'", True, "It says 40.")
    assert "There are 40 of A-113." in yes.requests[0].history[0].parts[0].text
    assert "no judge model is named" in checks_of(case)[-1][3]


def test_a_conversation_is_the_history_of_the_run():
    model = Scripted("Ten.")
    said = (CaseMessage("user", "Hello."), CaseMessage("assistant", "Hello?"), CaseMessage("user", "How many?"))
    assert run(Case(name="a", messages=said), agent=Agent(model)).passed
    assert [message.role for message in model.requests[0].history] == ["person", "model", "person"]


def test_a_case_without_an_agent_and_an_agent_that_is_none_are_refused():
    with pytest.raises(SettingsError, match="names no agent"):
        evaluate_sync(Dataset("a", (Case(name="a", input="x"),)))
    with pytest.raises(SettingsError, match="has to be an Agent"):
        evaluate_sync(Dataset("a", (Case(name="a", input="x", agent="eval_shop:STOCK"),), Path(__file__).parents[1]))


def test_an_evaluation_is_resumed_where_it_was_killed(tmp_path: Path):
    """What has ended is taken from the journal, what was open goes on: no call with an effect is repeated."""
    orders.clear()
    home, dataset = open_home(tmp_path / "home"), Dataset("shop", (STOCK, ORDER))
    seen: list[str] = []

    async def killed() -> None:
        ended = asyncio.Event()
        task = asyncio.ensure_future(run_dataset(dataset, options(lambda case, attempt: (seen.append(case.name), ended.set()))))
        await ended.wait()
        task.cancel()
        await asyncio.wait([task])

    def options(on_attempt: object, model: object = None) -> EvalOptions:
        return EvalOptions(
            agent=agent, model=model, home=home, evaluation="e1", folder=tmp_path / "w", parallel=1, on_attempt=on_attempt
        )  # type: ignore[arg-type]

    asyncio.run(killed())
    again = ByPrompt({"Order ten B-7.": SCRIPTS["Order ten B-7."]})  # it couldn't answer the first case
    report = asyncio.run(run_dataset(dataset, options(None, again)))
    assert (seen, report.passed, orders) == (["stock"], True, [("B-7", 10)])
    assert report.attempts[0].run_id.startswith("eval-e1-")
    unasked = asyncio.run(run_dataset(dataset, options(None, Scripted())))
    assert [attempt.run_id for attempt in unasked.attempts] == [attempt.run_id for attempt in report.attempts]
    close_home(home)


def test_intervals_are_wilsons():
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert [round(each, 3) for each in wilson_interval(8, 10)] == [0.49, 0.943]
    assert wilson_interval(3, 3)[1] == 1.0
    assert wilson_interval(0, 3)[0] == 0.0


def report_of(**cases: tuple[int, int]) -> EvalReport:
    made = [
        CaseResult(name, tuple([Attempt(f"{name}{number}", number < passed, "answered") for number in range(total)]))
        for name, (passed, total) in cases.items()
    ]
    return EvalReport("shop", "m", tuple(made))


def test_a_report_is_compared_with_a_baseline(tmp_path: Path):
    baseline = report_of(a=(1, 1), b=(0, 1), c=(3, 5), d=(3, 5), e=(5, 5), gone=(1, 1))
    path = tmp_path / "baseline.json"
    path.write_bytes(report_to_json(baseline))
    assert load_report(path) == baseline
    now = report_of(a=(0, 1), b=(1, 1), c=(2, 5), d=(0, 5), e=(4, 5), fresh=(1, 1))
    assert {each.name: each.change for each in compare_reports(now, load_report(path))} == {
        "a": "regressed",
        "b": "improved",
        "c": "same",
        "d": "regressed",
        "e": "regressed",
        "fresh": "new",
        "gone": "missing",
    }
    path.write_text("{}")
    with pytest.raises(SettingsError, match="can't be read"):
        load_report(path)
    path.write_text('{"dataset": "a", "model": "", "cases": [], "version": 99}')
    with pytest.raises(SettingsError, match="newer"):
        load_report(path)


def test_evaluate_is_asynchronous_too_and_a_policy_can_allow():
    orders.clear()
    allowed = Agent(ByPrompt(SCRIPTS), tools=[stock, order], policy=[allow("order")])
    report = asyncio.run(evaluate(Dataset("shop", (ORDER,)), lambda: allowed))
    assert report.passed
    assert report.attempts[0].asked == ()
    assert report.failures() == ""


def test_the_example_passes():
    report = evaluate_sync(Path(__file__).parents[2] / "examples" / "evaluation" / "purchases.yaml", repeat=2)
    assert report.passed, report.failures()
    assert [check.kind for check in report.attempts[0].checks] == ["stopped", "call", "call", "call", "output", "code"]


def test_an_agent_that_raises_fails_its_own_case_alone():
    def broken(workspace: Path) -> Agent:
        raise ValueError("no such thing")

    report = evaluate_sync(Dataset("shop", (STOCK,)), broken)
    assert report.attempts[0].checks[0].detail == "ValueError: no such thing"


def test_a_judge_that_failed_is_asked_again_when_the_evaluation_is_resumed(tmp_path: Path):
    case = Case(name="a", input="How many A-113?", judge=Rubric("It names a number."))
    home = open_home(tmp_path / "home")

    def judged(judge: Scripted) -> tuple[bool, str]:
        options = EvalOptions(agent=agent, judge=judge, home=home, evaluation="e2", folder=tmp_path / "w")
        check = asyncio.run(run_dataset(Dataset("shop", (case,)), options)).attempts[0].checks[-1]
        return check.passed, check.detail

    assert "couldn't be judged" in judged(Scripted())[1]
    assert judged(Scripted(calls(("give_answer", {"passed": True, "reason": "Yes."})))) == (True, "Yes.")
    assert judged(Scripted()) == (True, "Yes.")
    close_home(home)


def test_a_setup_is_entered_before_the_cases_and_left_after_them():
    steps: list[str] = []

    @contextmanager
    def start(user: str) -> Generator[dict[str, str]]:
        steps.append(f"start for {user}")
        yield {"place": "here"}
        steps.append("end")

    def context_is_there(run: CaseRun) -> bool:
        steps.append("checked")
        return run.case.context == {"place": "here", "own": 1}

    case = replace(STOCK, context={"own": 1}, checks=(context_is_there,))
    report = asyncio.run(run_dataset(Dataset("shop", (case,), setup=start), EvalOptions(agent=agent, user="ann")))
    assert report.passed, report.failures()
    assert steps == ["start for ann", "checked", "end"]


def test_a_setup_that_is_no_context_manager_is_refused():
    with pytest.raises(SettingsError, match="has to be a function that returns a context manager"):
        evaluate_sync(Dataset("shop", (STOCK,), setup=lambda: 5), agent)  # pyright: ignore[reportArgumentType]


def test_several_ends_of_a_run_may_be_right():
    case = replace(STOCK, expected=Expectations(stopped=("answered", "limit")))
    assert evaluate_sync(Dataset("shop", (case,)), agent).passed
    case = replace(STOCK, expected=Expectations(stopped=("cancelled", "limit")))
    assert "the run is cancelled or limit" in evaluate_sync(Dataset("shop", (case,)), agent).failures()


class Player:
    """A model that plays a user: its messages, then that it is done."""

    name = "player"
    traits = Scripted("x").traits

    def __init__(self, *messages: str) -> None:
        self.messages = messages
        self.prompts: list[str] = []

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        self.prompts.append(request.history[-1].text)
        number = len(self.prompts) - 1
        move = {"message": self.messages[number]} if number < len(self.messages) else {"message": "Thanks.", "done": True}
        async for delta in Scripted(calls(("give_answer", move))).reply(request):
            yield delta


GOAL = SimulatedUser("You want ten of B-7, and to know the stock of A-113.")


def test_a_simulated_user_begins_goes_on_and_ends_the_conversation():
    orders.clear()
    player = Player("How many A-113?", "Order ten B-7.")
    expected = Expectations(calls=("stock", "stock", ExpectedCall("order", {"count": 10})), in_order=True, output="10")
    case = Case(name="order", user=GOAL, approve=("order",), expected=expected)
    report = asyncio.run(run_dataset(Dataset("shop", (case,)), EvalOptions(agent=agent, judge=player)))
    assert report.passed, report.failures()
    assert orders == [("B-7", 10)]
    assert [len(prompt.split('"assistant"')) - 1 for prompt in player.prompts] == [0, 1, 2]
    assert len(report.cases[0].attempts[0].calls) == 3


def test_a_simulated_user_sends_no_more_messages_than_the_case_allows():
    case = Case(name="stock", input="How many A-113?", user=replace(GOAL, turns=2))
    player = Player(*["Order ten B-7."] * 9)
    report = asyncio.run(run_dataset(Dataset("shop", (case,)), EvalOptions(agent=agent, judge=player)))
    assert len(report.cases[0].attempts[0].calls) == 3
    assert len(player.prompts) == 1  # the first message is the case's own


def test_a_conversation_with_a_simulated_user_is_resumed(tmp_path: Path):
    home = open_home(tmp_path / "home")

    class DiesOnce(Player):
        async def reply(self, request: Request) -> AsyncIterator[Delta]:
            if len(self.prompts) == 1 and not self.died:
                self.died = True
                raise SettingsError("as if it were killed")
            async for delta in super().reply(request):
                yield delta

        died = False

    player = DiesOnce("Order ten B-7.", "How many A-113?")
    orders.clear()
    case = Case(name="order", user=GOAL, approve=("order",), expected=Expectations(calls=("order", "stock"), output="40"))
    options = EvalOptions(agent=agent, judge=player, home=home, evaluation="e1", folder=tmp_path / "w")
    with pytest.raises(SettingsError, match="as if it were killed"):
        asyncio.run(run_dataset(Dataset("shop", (case,)), options))
    again = asyncio.run(run_dataset(Dataset("shop", (case,)), options))
    assert again.passed, again.failures()
    assert orders == [("B-7", 10)]
    close_home(home)


def test_a_simulated_user_needs_a_model_and_something_to_say():
    case = Case(name="order", user=GOAL)
    with pytest.raises(SettingsError, match="No model plays the simulated user"):
        evaluate_sync(Dataset("shop", (case,)), agent)
    report = asyncio.run(run_dataset(Dataset("shop", (case,)), EvalOptions(agent=agent, judge=Player())))
    assert "The simulated user has said nothing." in report.failures()
