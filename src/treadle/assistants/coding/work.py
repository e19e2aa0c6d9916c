"""The four kinds of work, as jobs. Build and debug change a workspace on a branch of its own, and what they claim is checked;
review and triage only read. Each goes on where it was, in whichever process, by what the job, its run and the workspace say.
"""

from typing import Any

import msgspec

from treadle import Desk, Done, RunResult, Usage
from treadle.assistants.coding import answers, prompts
from treadle.assistants.coding.given import Build, Debug, Review, Triage, shortened, told
from treadle.assistants.coding.room import ROUNDS, Room, agent_in, branch_of, room_for
from treadle.assistants.coding.tools import bounds_of, bounds_of_tests, usual_tests
from treadle.assistants.coding.verify import Verified, verified
from treadle.workspace import Outcome, check, commit_paths, outcome_words, publish, repository, review_diff, start_branch

_AGAIN = 2  # times a claim that doesn't hold is sent back
_MOST_DIFF = 60_000


async def build(desk: Desk, given: Build) -> Done:
    """Build what was asked for."""
    return await _change(await room_for(desk, "build", keeps=given.keep_context, free=given.free), given)


async def debug(desk: Desk, given: Debug) -> Done:
    """Find and mend a bug."""
    return await _change(await room_for(desk, "debug", keeps=given.keep_context, free=given.free), given)


async def review(desk: Desk, given: Review) -> Done:
    """Say what is to be said about a change."""
    room = await room_for(desk, "review", keeps=given.keep_context)
    diff = given.diff or await review_diff(room.folder, given.base, given.branch, rules=room.git)
    if not diff.strip():
        return Done("completed", {"review_text": "There is nothing to review: nothing was changed.", "verdict": "COMMENT"})
    about = f"{given.description}\n\n" if given.description else ""
    result = await desk.ask(
        agent_in(room, leaves=False, rounds=await _rounds(room)), f"{about}Review this change:\n\n{_fenced(diff)}"
    )
    if result.stopped != "answered":
        return _stopped(result, {})
    found = answers.sound(result.output)
    output = {
        "review_text": answers.review_text(found),
        "verdict": found.verdict,
        "issues_found": len(found.findings),
        "branch": given.branch,
        **msgspec.to_builtins(found),
    }
    return Done("completed", {**output, **await _usage(desk)})


async def triage(desk: Desk, given: Triage) -> Done:
    """Say what is wrong, and why."""
    room = await room_for(desk, "triage", keeps=given.keep_context)
    result = await desk.ask(agent_in(room, leaves=False, rounds=await _rounds(room)), told(given))
    if result.stopped != "answered":
        return _stopped(result, {})
    found: answers.TriageAnswer = result.output
    output = {"triage_report": answers.triage_text(found), **msgspec.to_builtins(found)}
    return Done("completed", {**output, **await _usage(desk)})


async def _change(room: Room, given: Build | Debug) -> Done:
    """Prepare, let the agent work until its claim holds or it gives up, and deliver what there is."""
    desk = room.desk
    await _prepare(room)
    before = _known(desk.job.facts.get("tests_before"))
    turn = max(0, await desk.turns() - 1)  # taken up again, it goes on with the last
    prompt = _task(given, before)
    while True:
        tests = None if before is None else bounds_of_tests(room.settings, before.seconds)
        agent = agent_in(room, leaves=given.push or given.pr, rounds=await _rounds(room), tests=tests)
        result = await desk.ask(agent, prompt, turn)
        if result.stopped != "answered":
            return _stopped(result, await _changed(room))
        report: answers.Report = result.output
        _say(room, "Running the tests, to see whether that holds …")
        after = await _tested(room)
        proof = verified(before, after)
        if proof.holds or not report.done or turn >= _AGAIN or after.state in ("no tests", "not run"):
            return await _delivered(room, given, report, proof)
        turn += 1
        prompt = prompts.UNVERIFIED.format(tests=outcome_words(after))


async def _prepare(room: Room) -> None:
    """Once, before anything is changed: a checkpoint, a branch, and what the tests say. Taken up again, only what is missing."""
    desk, facts = room.desk, room.desk.job.facts
    if "before" not in facts:
        desk.note(before=await room.checkpoints.take("before the job"))
    if "branch" not in facts:
        found = await repository(room.folder, remote=room.settings.git.remote, unsafe=room.unsafe)
        if found is not None:
            branch = branch_of(room)
            desk.note(base=found.branch, base_commit=found.head)
            await start_branch(room.folder, branch, unsafe=room.unsafe)
            desk.note(branch=branch)
    if "tests_before" not in facts:
        _say(room, "Running the tests before the first change …")
        desk.note(tests_before=msgspec.to_builtins(await _tested(room)))


def _say(room: Room, words: str) -> None:
    """What happens between turns, for whoever watches."""
    if room.desk.host.terminal is not None:
        room.desk.host.terminal.note(words)


def _known(fact: Any) -> Outcome | None:
    return None if fact is None else msgspec.convert(fact, Outcome)


async def _tested(room: Room) -> Outcome:
    return await check(room.folder, usual_tests(room.settings), bounds=bounds_of(room.settings), unsafe=room.unsafe)


def _task(given: Build | Debug, before: Outcome | None) -> str:
    parts = [told(given)]
    if before is not None and before.state not in ("not run", "no tests"):
        parts.append(f"Before your first change, the tests say:\n{outcome_words(before)}")
    return "\n\n".join(parts)


async def _rounds(room: Room) -> int:
    """Those that are left of the whole job."""
    most = room.settings.limits.rounds or ROUNDS
    return most - await room.desk.rounds()


async def _changed(room: Room) -> dict[str, Any]:
    """What the job has changed so far; that state is kept, so that what a person changes later isn't taken for it."""
    after = await room.checkpoints.take("after the job")
    room.desk.note(after=after)
    changes = await room.checkpoints.changes(room.desk.job.facts["before"], after)
    paths = dict.fromkeys(path for change in changes for path in (change.was, change.path) if path)
    return {"files": [*paths], "branch": room.desk.job.facts.get("branch", "")}


async def _delivered(room: Room, given: Build | Debug, report: answers.Report, proof: Verified) -> Done:
    """The changes committed, pushed where that was asked for, and all of it told."""
    desk = room.desk
    output: dict[str, Any] = {"summary": report.summary, "verified": proof.holds, "tests": proof.why, **await _changed(room)}
    if desk.job.facts.get("branch") and report.done and room.settings.git.commit:
        commit = await commit_paths(
            room.folder, output["files"], _message(report.summary), f"{desk.job.id}-end", unsafe=room.unsafe
        )
        output["commit"] = commit or ""
        if given.push or given.pr:
            title, base = _message(report.summary).partition("\n")[0], desk.job.facts.get("base") or ""
            output |= await publish(
                room.folder, title, _body(output), rules=room.git, pull_request=given.pr, base=base, unsafe=room.unsafe
            )
    output |= await _usage(desk)
    if not report.done:
        return Done("failed", output, "The agent gave up: " + report.summary)
    return Done("completed", output, "" if proof.holds else f"Not verified: {proof.why}.")


def _message(summary: str) -> str:
    """A commit's message: the first sentence as its title, all of it below where there is more."""
    words = " ".join(summary.split())
    title = words.partition(". ")[0].rstrip(".")[:72]
    return title if title == words.rstrip(".") else f"{title}\n\n{summary.strip()}"


def _body(output: dict[str, Any]) -> str:
    """A pull request's description."""
    files = "\n".join(f"- `{path}`" for path in output["files"])
    proof = f"{'Verified' if output['verified'] else 'Not verified'}: {output['tests']}."
    return f"{output['summary']}\n\n## Files\n{files}\n\n## Tests\n{proof}\n"


def _stopped(result: RunResult[Any], output: dict[str, Any]) -> Done:
    """A run that didn't come to an answer."""
    if result.stopped == "waiting":
        calls = " && ".join([f"treadle approve {approval.run_id} {approval.call_id}" for approval in result.approvals])
        return Done("waiting", output, f"It waits for an approval: {calls} && treadle jobs resume {result.run_id}")
    if result.stopped == "cancelled":
        return Done("cancelled", output)
    return Done("failed", output, result.reason)


async def _usage(desk: Desk) -> dict[str, Any]:
    spent: Usage = await desk.usage()
    return {"usage": {**msgspec.to_builtins(spent), "total_tokens": spent.total_tokens}}


def _fenced(diff: str) -> str:
    return f"```diff\n{shortened(diff, _MOST_DIFF)}\n```"
