"""Build, debug and triage jobs; `review` has those that review.

Build and debug change a private copy, on its own branch, and their claims are verified; triage only reads.
Each resumes where it was, in any process, from the state of the job, its run and the workspace.
"""

from asyncio import to_thread
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle import Approval, RunResult
from treadle.assistant import JobContext, JobResult
from treadle.assistants.coding import answers, prompts
from treadle.assistants.coding.agreed_checks import choose_check, lacks_tests, propose_check
from treadle.assistants.coding.build_plan import choose_build_test_path, plan_build
from treadle.assistants.coding.debug_plan import plan_debugging
from treadle.assistants.coding.delivery import collect_changes, deliver_changes
from treadle.assistants.coding.follow_up import facts_from_earlier_job
from treadle.assistants.coding.inputs import (
    BuildInputs,
    DebugInputs,
    JobInputs,
    TriageInputs,
    find_missing_input,
    symptom_of,
    to_task_prompt,
)
from treadle.assistants.coding.job_environment import (
    JobEnvironment,
    build_job_agent,
    prepare_environment,
    read_project_sources,
)
from treadle.assistants.coding.repair_evidence import (
    collect_evidence,
    note_bug_facts,
    report_on,
    restore_reproduction,
    run_usual_tests,
    take_reproduction,
)
from treadle.assistants.coding.tools import bounds_of_tests, usual_tests
from treadle.assistants.coding.triage_plan import plan_triage
from treadle.assistants.coding.verification import Verification, has_failed, verify_claim, verify_repair
from treadle.errors import SettingsError
from treadle.plans import Plan
from treadle.workspace import CheckOutcome, format_counts, format_outcome

_MAX_RETRIES = 2  # times a claim that doesn't hold is sent back


async def run_build(desk: JobContext, given: BuildInputs) -> JobResult:
    """Run a build job."""
    return await _run_change(desk, given)


async def run_debug(desk: JobContext, given: DebugInputs) -> JobResult:
    """Run a debug job: find and fix a bug."""
    return await _run_change(desk, given)


async def run_triage(desk: JobContext, given: TriageInputs) -> JobResult:
    """Run a triage job: find out what is wrong, and why."""
    _check_inputs(given)
    room = await prepare_environment(desk, "triage", keeps=given.keep_context, free=given.free)
    plan = None
    if room.is_guided:
        plan = partial(plan_triage, project=await to_thread(read_project_sources, room.folder), given=given)
    result = await desk.ask(await build_job_agent(room, plan=plan, issue=given.github_issue), to_task_prompt(given))
    if result.stopped != "answered":
        return stopped_result(result, {})
    answer: answers.TriageAnswer = result.output
    output = {"triage_report": answers.format_triage(answer), **msgspec.to_builtins(answer)}
    return JobResult("completed", {**output, **await usage_output(desk)})


def _check_inputs(given: JobInputs) -> None:
    missing = find_missing_input(given)
    if missing:
        raise SettingsError(missing)


async def _run_change(desk: JobContext, given: BuildInputs | DebugInputs) -> JobResult:
    """Change a private workspace; or the user's folder, which no other job changes meanwhile."""
    _check_inputs(given)
    kind = "build" if isinstance(given, BuildInputs) else "debug"
    if given.follows and "earlier" not in desk.job.facts:
        desk.note(**facts_from_earlier_job(given.follows, desk))
    room = await prepare_environment(desk, kind, keeps=given.keep_context, free=given.free, leaves=given.push or given.pr)
    with nullcontext() if room.is_private else desk.alone():
        await _prepare(room, given.check)
        return _find_early_result(room, given) or await _work_until_verified(room, given)


def _find_early_result(room: JobEnvironment, given: BuildInputs | DebugInputs) -> JobResult | None:
    """Return the result of a debug job with nothing to go by: no test fails, and no symptom was described."""
    before = _to_outcome(room.desk.job.facts.get("tests_before"))
    if not isinstance(given, DebugInputs) or before is None:
        return None
    name = given.failing_test
    output: dict[str, Any] = {"files": [], "branch": ""}
    is_listed = before.state == "passed" or (before.state == "failed" and before.failed + before.errors == len(before.failures))
    if name and is_listed and not any(name in failure.name for failure in before.failures):
        return JobResult("failed", output, f"No test {name} fails: {format_counts(before)}. Nothing was changed.")
    if has_failed(before) or symptom_of(given):
        return None
    if before.state == "passed":
        passes = f"There are no tests, and `{before.command}` passes" if before.runner == "check" else "All tests pass"
        words = f"{passes}, and no symptom was described, so there is nothing to repair."
        return JobResult("completed", {**output, "summary": words})
    return JobResult("failed", output, f"{_describe_untested(before)}, and no symptom was described: say what goes wrong.")


def _describe_untested(before: CheckOutcome) -> str:
    return "There are no tests" if before.state == "no tests" else f"The tests can't be run ({before.output.strip()})"


async def _work_until_verified(room: JobEnvironment, given: BuildInputs | DebugInputs) -> JobResult:
    """Let the agent work until its claim holds or it gives up, and deliver the changes there are."""
    desk, before = room.desk, _to_outcome(room.desk.job.facts.get("tests_before"))
    turn = max(0, await desk.turns() - 1)  # taken up again, it goes on with the last
    prompt, given_up = _build_task(given, before, desk.job.facts.get("earlier", "")), desk.before == "failed"
    while True:
        tests = bounds_of_tests(room.settings, before)
        plan = await _make_plan(room, given) if room.is_guided else None
        leaves = given.push or given.pr
        agent = await build_job_agent(room, leaves=leaves, turn=turn, tests=tests, plan=plan, issue=given.github_issue)
        result = await desk.ask(agent, prompt, turn)
        if result.stopped != "answered":
            return stopped_result(result, await collect_changes(room))
        answer: answers.WorkReport = result.output
        if result.reason and not desk.job.facts.get("touched"):  # words alone, and nothing was done
            return JobResult("failed", await collect_changes(room), f"Nothing was changed. The model said: {answer.summary}")
        if given_up and not answer.done:  # somebody wants it to be tried once more
            turn, prompt, given_up = turn + 1, prompts.ONCE_MORE, False
            continue
        room.say("Running the tests, to see whether that holds …")
        after = await run_usual_tests(room)
        proof = _suggest_check(room, after, await _verify(room, given, before, after))
        if proof.holds or not answer.done or turn >= _MAX_RETRIES or after.state == "not run" or not proof.denied:
            reproduction = await take_reproduction(room, given, keep=proof.holds)
            return await deliver_changes(room, given, answer, proof, reproduction)
        turn += 1
        prompt = _format_rejection(proof, after)


async def _make_plan(room: JobEnvironment, given: BuildInputs | DebugInputs) -> Plan:
    """Return the plan of a guided model, which sees the project as it is now."""
    project = await to_thread(read_project_sources, room.folder)
    if isinstance(given, DebugInputs):
        return partial(plan_debugging, project=project, report=report_on(room, given))
    return partial(plan_build, project=project, given=given, test_path=str(room.desk.job.facts["build_test"]))


async def _verify(
    room: JobEnvironment, given: BuildInputs | DebugInputs, before: CheckOutcome | None, after: CheckOutcome
) -> Verification:
    """Verify the claim of a job. What was built is verified by its tests; a repair needs a test that fails without it.

    A follow-up need not be about a bug: then it isn't verified without such a test, and not contradicted either.
    """
    proof = verify_claim(before, after)
    if isinstance(given, DebugInputs):
        evidence = await collect_evidence(room, before, after, symptom_of(given))
        is_open = bool(given.follows and evidence.changed and proof.holds and not has_failed(before))
        repair = verify_repair(evidence)
        return replace(repair, denied=False) if is_open else repair
    return Verification(False, "nothing was changed") if proof.holds and not room.desk.job.facts.get("touched") else proof


def _suggest_check(room: JobEnvironment, after: CheckOutcome, proof: Verification) -> Verification:
    """Return what isn't verified for lack of tests, with a check that would: the user could not be asked, or declined."""
    proposed = propose_check(room.source) if lacks_tests(after) and not proof.holds else ""
    return replace(proof, why=f"{proof.why} (--check '{proposed}' would check it)") if proposed else proof


def _format_rejection(proof: Verification, after: CheckOutcome) -> str:
    """Return the prompt that sends a claim back, with the tests' output if they contradict it."""
    if after.state in ("passed", "no tests"):
        return prompts.UNPROVEN.format(why=proof.why)
    says = "the check says" if after.runner == "check" else "the tests say"
    return prompts.UNVERIFIED.format(says=says, tests=format_outcome(after))


async def _prepare(room: JobEnvironment, check: str) -> None:
    """Take a checkpoint and run the tests once before anything is changed. A resumed job does only what is missing.

    Where there are no tests, the named check runs, or one that the user agrees to.

    A guided model's plan needs facts that no longer can be had after a change.
    """
    desk, facts = room.desk, room.desk.job.facts
    if "before" not in facts:
        desk.note(before=await room.checkpoints.take("before the job"))
    if "tests_before" not in facts:
        room.say("Running the tests before the first change …")
        desk.note(
            usual_tests=msgspec.to_builtins(usual_tests(room.settings))
        )  # what the agent may write into settings is no matter
        before = await run_usual_tests(room)
        if lacks_tests(before) and (check := await choose_check(desk.host, room.source, room.settings, check, desk.job.id)):
            desk.note(usual_tests=msgspec.to_builtins(usual_tests(room.settings, check)))
            before = await run_usual_tests(room)
        desk.note(tests_before=msgspec.to_builtins(before))
    if room.kind == "build" and room.is_guided and "build_test" not in facts:
        files = (await to_thread(read_project_sources, room.folder)).files
        desk.note(build_test=choose_build_test_path(files, desk.job.title))
    if room.kind == "debug" and room.is_guided and "reproduction" not in facts:
        await note_bug_facts(room)
    await restore_reproduction(room)


def _to_outcome(fact: Any) -> CheckOutcome | None:
    return None if fact is None else msgspec.convert(fact, CheckOutcome)


def _build_task(given: BuildInputs | DebugInputs, before: CheckOutcome | None, earlier: str) -> str:
    parts = [to_task_prompt(given), *([earlier] if earlier else [])]
    if before is not None and before.state not in ("not run", "no tests"):
        says = "the check says" if before.runner == "check" else "the tests say"
        parts.append(f"Before your first change, {says}:\n{format_outcome(before)}")
    if isinstance(given, DebugInputs) and not given.follows and not has_failed(before):
        parts.append(prompts.NO_FAILING_TEST)
    return "\n\n".join(parts)


def stopped_result(result: RunResult[Any], output: dict[str, Any]) -> JobResult:
    """Return the result of a run that ended without an answer."""
    if result.stopped == "waiting":
        calls = " && ".join([_answer_command(approval) for approval in result.approvals])
        return JobResult(
            "waiting", output, f"It waits for {_describe_wait(result.approvals)}: {calls} && treadle jobs resume {result.run_id}"
        )
    if result.stopped == "cancelled":
        return JobResult("cancelled", output)
    return JobResult("failed", output, result.reason)


def _answer_command(approval: Approval) -> str:
    """Return the command that answers a waiting call; an unclear call has three possible answers."""
    call = f"{approval.run_id} {approval.call_id}"
    return f"treadle settle {call} happened|not-happened|again" if approval.unclear else f"treadle approve {call}"


def _describe_wait(approvals: Sequence[Approval]) -> str:
    unclear = any(approval.unclear for approval in approvals)
    return "a person to report the outcome of a call that ran when a process ended" if unclear else "an approval"


async def usage_output(desk: JobContext) -> dict[str, Any]:
    """Return the job's usage, for its output."""
    spent = await desk.usage()
    return {"usage": {**msgspec.to_builtins(spent), "total_tokens": spent.total_tokens}}
