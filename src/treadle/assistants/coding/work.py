"""The four kinds of work, as jobs. Build and debug change a private copy, on a branch of its own, and what they claim is checked;
review and triage only read. Each goes on where it was, in whichever process, by what the job, its run and the workspace say.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import msgspec

from treadle import Approval, Desk, Done, RunResult, SettingsError
from treadle.assistants.coding import answers, prompts
from treadle.assistants.coding.deliver import changed, delivered
from treadle.assistants.coding.follow import earlier_facts
from treadle.assistants.coding.given import Build, Debug, Given, Review, Triage, is_enough, shortened, told
from treadle.assistants.coding.room import Room, agent_in, room_for
from treadle.assistants.coding.tools import bounds_of, bounds_of_tests, usual_tests
from treadle.assistants.coding.verify import verified
from treadle.workspace import Outcome, Wanted, check, outcome_words, repository, review_diff

_AGAIN = 2  # times a claim that doesn't hold is sent back
_MOST_DIFF = 60_000


async def build(desk: Desk, given: Build) -> Done:
    """Build what was asked for."""
    return await _change(desk, given)


async def debug(desk: Desk, given: Debug) -> Done:
    """Find and mend a bug."""
    return await _change(desk, given)


async def review(desk: Desk, given: Review) -> Done:
    """Say what is to be said about a change."""
    room = await room_for(desk, "review", keeps=given.keep_context)
    diff = given.diff or await review_diff(room.folder, given.base, given.branch, rules=room.git, unsafe=room.unsafe)
    if not diff.strip():
        return Done("completed", {"review_text": "There is nothing to review: nothing was changed.", "verdict": "COMMENT"})
    found = await repository(room.folder, unsafe=room.unsafe) if given.branch else None
    asked = prompts.review_of(given.description, shortened(diff, _MOST_DIFF), given.branch, found.branch if found else "")
    result = await desk.ask(await agent_in(room), asked)
    if result.stopped != "answered":
        return _stopped(result, {})
    answer = answers.sound(result.output)
    output = {
        "review_text": answers.review_text(answer),
        "verdict": answer.verdict,
        "issues_found": len(answer.findings),
        "branch": given.branch,
        **msgspec.to_builtins(answer),
    }
    return Done("completed", {**output, **await usage(desk)})


async def triage(desk: Desk, given: Triage) -> Done:
    """Say what is wrong, and why."""
    _check(given)
    room = await room_for(desk, "triage", keeps=given.keep_context)
    result = await desk.ask(await agent_in(room), told(given))
    if result.stopped != "answered":
        return _stopped(result, {})
    answer: answers.TriageAnswer = result.output
    output = {"triage_report": answers.triage_text(answer), **msgspec.to_builtins(answer)}
    return Done("completed", {**output, **await usage(desk)})


def _check(given: Given) -> None:
    missing = is_enough(given)
    if missing:
        raise SettingsError(missing)


async def _change(desk: Desk, given: Build | Debug) -> Done:
    """Change a private workspace; or the person's folder, which no other job changes meanwhile."""
    _check(given)
    kind = "build" if isinstance(given, Build) else "debug"
    if given.follows and "earlier" not in desk.job.facts:
        desk.note(**earlier_facts(given.follows, desk))
    room = await room_for(desk, kind, keeps=given.keep_context, free=given.free, leaves=given.push or given.pr)
    with nullcontext() if room.is_private else desk.alone():
        await _prepare(room)
        return await _worked(room, given)


async def _worked(room: Room, given: Build | Debug) -> Done:
    """Let the agent work until its claim holds or it gives up, and deliver what there is."""
    desk, before = room.desk, _known(room.desk.job.facts.get("tests_before"))
    turn = max(0, await desk.turns() - 1)  # taken up again, it goes on with the last
    prompt, given_up = _task(given, before, desk.job.facts.get("earlier", "")), desk.before == "failed"
    while True:
        tests = bounds_of_tests(room.settings, before)
        agent = await agent_in(room, leaves=given.push or given.pr, turn=turn, tests=tests)
        result = await desk.ask(agent, prompt, turn)
        if result.stopped != "answered":
            return _stopped(result, await changed(room))
        report: answers.Report = result.output
        if result.reason and not desk.job.facts.get("touched"):  # words alone, and nothing was done
            return Done("failed", await changed(room), f"Nothing was changed. The model said: {report.summary}")
        if given_up and not report.done:  # somebody wants it to be tried once more
            turn, prompt, given_up = turn + 1, prompts.ONCE_MORE, False
            continue
        room.say("Running the tests, to see whether that holds …")
        after = await _tested(room)
        proof = verified(before, after)
        if proof.holds or not report.done or turn >= _AGAIN or after.state in ("no tests", "not run"):
            return await delivered(room, given, report, proof)
        turn += 1
        prompt = prompts.UNVERIFIED.format(tests=outcome_words(after))


async def _prepare(room: Room) -> None:
    """Once, before anything is changed: a checkpoint, and what the tests say. Taken up again, only what is missing."""
    desk, facts = room.desk, room.desk.job.facts
    if "before" not in facts:
        desk.note(before=await room.checkpoints.take("before the job"))
    if "tests_before" not in facts:
        room.say("Running the tests before the first change …")
        desk.note(
            usual_tests=msgspec.to_builtins(usual_tests(room.settings))
        )  # what the agent may write into settings is no matter
        desk.note(tests_before=msgspec.to_builtins(await _tested(room)))


def _known(fact: Any) -> Outcome | None:
    return None if fact is None else msgspec.convert(fact, Outcome)


async def _tested(room: Room) -> Outcome:
    wanted = msgspec.convert(room.desk.job.facts["usual_tests"], Wanted)
    return await check(room.folder, wanted, bounds=bounds_of(room.settings), project=room.project, unsafe=room.unsafe)


def _task(given: Build | Debug, before: Outcome | None, earlier: str) -> str:
    parts = [told(given), *([earlier] if earlier else [])]
    if before is not None and before.state not in ("not run", "no tests"):
        parts.append(f"Before your first change, the tests say:\n{outcome_words(before)}")
    return "\n\n".join(parts)


def _stopped(result: RunResult[Any], output: dict[str, Any]) -> Done:
    """A run that didn't come to an answer."""
    if result.stopped == "waiting":
        calls = " && ".join([_answering(approval) for approval in result.approvals])
        return Done("waiting", output, f"It waits for {_what(result.approvals)}: {calls} && treadle jobs resume {result.run_id}")
    if result.stopped == "cancelled":
        return Done("cancelled", output)
    return Done("failed", output, result.reason)


def _answering(approval: Approval) -> str:
    """The command with which a person answers; of what became of a call there are three."""
    call = f"{approval.run_id} {approval.call_id}"
    return f"treadle settle {call} happened|not-happened|again" if approval.unclear else f"treadle approve {call}"


def _what(approvals: Sequence[Approval]) -> str:
    unclear = any(approval.unclear for approval in approvals)
    return "somebody to say what became of a call that ran when a process ended" if unclear else "an approval"


async def usage(desk: Desk) -> dict[str, Any]:
    """What the job has used, for its output."""
    spent = await desk.usage()
    return {"usage": {**msgspec.to_builtins(spent), "total_tokens": spent.total_tokens}}
