"""What becomes of a job's changes: which they are, the commit on its branch, the push; and what is told of all that."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from treadle import Done, Job, Settings, TreadleError
from treadle.assistants.coding.answers import Report
from treadle.assistants.coding.checkout import bring_back
from treadle.assistants.coding.given import Build, Debug
from treadle.assistants.coding.room import Room, git_rules
from treadle.assistants.coding.show import target_of
from treadle.assistants.coding.verify import Verified
from treadle.workspace import commit_paths, publish, repository, unsuitable


async def changed(room: Room) -> dict[str, Any]:
    """What the job's own calls have changed; that state is kept, so that what a person changes isn't taken for it."""
    desk = room.desk
    with suppress(TreadleError):  # the commits stay in the copy
        await _bring_back(room)
    after = await room.checkpoints.take("after the job")
    desk.note(after=after, at=None)
    touched = set(desk.job.facts.get("touched", ()))
    changes = await room.checkpoints.changes(desk.job.facts["before"], after)
    paths = dict.fromkeys(path for change in changes for path in (change.was, change.path) if path)
    output = {"files": [path for path in paths if path in touched], "branch": desk.job.facts.get("branch", "")}
    others = [path for path in paths if path not in touched]
    return {**output, "others": others} if others else output


async def delivered(room: Room, given: Build | Debug, report: Report, proof: Verified) -> Done:
    """The changes committed, pushed where that was asked for, and all of it told, whatever goes wrong on the way."""
    output: dict[str, Any] = {
        "summary": report.summary,
        "verified": proof.holds,
        "denied": proof.denied,
        "tests": proof.why,
        **await changed(room),
    }
    problem = ""
    try:
        if report.done and room.settings.git.commit and output["branch"]:
            output |= await _committed(room, output)
            if given.push or given.pr:
                output |= await published(room.source, room.settings, room.desk.job, output, pull_request=given.pr)
    except TreadleError as error:
        problem = str(error)
    spent = await room.desk.usage()
    output["usage"] = {**msgspec.to_builtins(spent), "total_tokens": spent.total_tokens}
    if not report.done:
        return Done("failed", output, "The agent gave up: " + report.summary)
    if problem:
        return Done("failed", output, f"The work is done and kept, but: {problem}")
    return Done("completed", output, "" if proof.holds else f"Not verified: {proof.why}.")


async def _committed(room: Room, output: dict[str, Any]) -> dict[str, Any]:
    """A commit of what the job changed, on its own branch and on no other."""
    found = await repository(room.folder, unsafe=room.unsafe)
    branch = output["branch"]
    if found is None or found.branch != branch:
        now = found.branch if found and found.branch else "no branch"
        raise TreadleError(f"the folder is on {now} now, and not on {branch}. Nothing more was committed.")
    message = message_of(output["summary"], room.desk.job.title)
    changes = [path for path in output["files"] if path in found.dirty]
    left_out = await unsuitable(room.folder, changes, unsafe=room.unsafe)
    commit = await commit_paths(room.folder, output["files"], message, f"{room.desk.job.id}-end", unsafe=room.unsafe)
    await _bring_back(room)
    return {"commit": commit or "", **({"left_out": left_out} if left_out else {})}


async def _bring_back(room: Room) -> None:
    """Have the person's repository take over what is committed so far."""
    if room.is_private and (commit := await bring_back(room.desk.job, room.folder, unsafe=room.unsafe)):
        room.desk.note(delivered=commit)


async def published(folder: Path, settings: Settings, job: Job, output: dict[str, Any], *, pull_request: bool) -> dict[str, str]:
    """A job's branch pushed, with a pull request where one is wanted; the outcome of each as a sentence."""
    return await publish(
        folder,
        message_of(output["summary"], job.title).partition("\n")[0],
        _body(output),
        rules=git_rules(settings),
        pull_request=pull_request,
        branch=output["branch"],
        base=target_of(job),
        unsafe=not settings.commands.sandbox,
    )


def message_of(summary: str, otherwise: str) -> str:
    """A commit's message: the first sentence as its title, all of it below where there is more."""
    words = " ".join((summary.strip() or otherwise).split())
    title = words.partition(". ")[0].rstrip(".")[:72]
    return title if title == words.rstrip(".") else f"{title}\n\n{summary.strip()}"


def _body(output: dict[str, Any]) -> str:
    """A pull request's description."""
    files = "\n".join(f"- `{path}`" for path in output["files"])
    proof = f"{'Verified' if output['verified'] else 'Not verified'}: {output['tests']}."
    return f"{output['summary']}\n\n## Files\n{files}\n\n## Tests\n{proof}\n"
