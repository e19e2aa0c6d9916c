"""tau2-bench, from the package `inspect-evals`, which has its data: an agent that serves simulated users by a policy.

A case has the policy as its instructions and the user's situation as the goal of a simulated user. Expected are the published
calls that change something, that everything was said which has to be said, and the published assertions, by a judge. The agent
with the tools of the domain isn't part of a case; name it with `--agent`. Telecom and banking are left out: their users have tools
of their own, which simulated users don't have.
"""

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from treadle.evals.checks import CaseRun
from treadle.evals.dataset import Case, Expectations, ExpectedCall, Rubric, SimulatedUser
from treadle.evals.simulated_user import conversation_of

NAME = "treadle.evals.suites.tau2"
TURNS = 30
READS = ("get_", "find_", "list_", "search_", "calculate", "think")  # as the domains call tools that change nothing


def read_cases(part: str, folder: Path) -> list[Case]:
    """Return the cases of a domain."""
    domain = folder / "tau2" / "data" / "domains" / part
    policy = (domain / "policy.txt").read_text("utf-8")
    tasks: list[dict[str, Any]] = msgspec.json.decode(_read(domain / "tasks.json"))
    return [_to_case(part, task, policy) for task in tasks]


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes())


def _to_case(domain: str, task: Mapping[str, Any], policy: str) -> Case:
    criteria: dict[str, Any] = task.get("evaluation_criteria") or {}
    said: list[str] = criteria.get("communicate_info") or []
    asserted: list[str] = criteria.get("nl_assertions") or []
    return Case(
        name=f"{domain} {task['id']}",
        user=SimulatedUser(_to_goal(task["user_scenario"]), turns=TURNS),
        instructions=policy,
        expected=Expectations(calls=tuple(_expected_calls(criteria.get("actions") or []))),
        context={"communicate": said} if said else {},
        checks=(f"{NAME}:check_communication",) if said else (),
        judge=Rubric("All of this holds:\n" + "\n".join([f"- {each}" for each in asserted])) if asserted else None,
    )


def _to_goal(scenario: Mapping[str, Any]) -> str:
    given = scenario["instructions"]
    if isinstance(given, str):
        return given
    heads = {
        "reason_for_call": "",
        "known_info": "What you know: ",
        "unknown_info": "What you don't know: ",
        "task_instructions": "How you behave: ",
    }
    parts = [f"{head}{given[name]}" for name, head in heads.items() if given.get(name)]
    return "\n\n".join([*parts, *([f"Who you are: {scenario['persona']}"] if scenario.get("persona") else [])])


def _expected_calls(actions: list[dict[str, Any]]) -> Iterator[ExpectedCall]:
    for action in actions:
        name, compared = action["name"], action.get("compare_args")
        if action.get("requestor", "assistant") != "assistant" or name.startswith(READS):
            continue
        arguments: dict[str, Any] = {} if name == "transfer_to_human_agents" else action["arguments"]
        yield ExpectedCall(name, arguments if compared is None else {each: arguments[each] for each in compared})


def check_communication(run: CaseRun) -> str | None:
    """Return what the agent hasn't said in the conversation. Commas don't count, since they are in numbers."""
    said = " ".join([message.get("assistant", "") for message in conversation_of(run.result.entries)])
    text = said.casefold().replace(",", "")
    missing = [each for each in run.case.context["communicate"] if each.casefold().replace(",", "") not in text]
    return f"it wasn't said: {', '.join(missing)}" if missing else None
