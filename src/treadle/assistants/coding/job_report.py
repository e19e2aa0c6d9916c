"""A coding job on a terminal: its result, where its work is, and what to do next."""

from typing import Any

from treadle.assistant import Job, Terminal

_EXIT_CODES = {"completed": 0, "failed": 1, "waiting": 3, "cancelled": 130}


def coding_exit_code(job: Job) -> int:
    """Return the exit code for a finished job. A claim that the tests contradict is no success."""
    if job.state == "completed" and job.output.get("denied"):
        return 1
    return _EXIT_CODES.get(job.state, 1)


def job_style(job: Job) -> str:
    """Return the colour of a job's state. Only what was verified, or needn't be, is green."""
    if coding_exit_code(job) == 1:
        return "red"
    return "green" if job.state == "completed" and job.output.get("verified") is not False else "yellow"


def print_coding_job(job: Job, terminal: Terminal) -> None:
    """Print the result: the summary, where the work is, the state, and what to do next."""
    terminal.note("")
    for name in ("review_text", "triage_report", "summary"):
        if job.output.get(name):
            terminal.line(str(job.output[name]))
            terminal.note("")
            break
    for line in format_work_lines(job):
        terminal.tell(line)
    terminal.tell(f"Job {job.id} {format_job_state(job)}", job_style(job))
    for line in suggest_next_steps(job):
        terminal.tell(line)


def format_job_state(job: Job) -> str:
    """Describe the job's state in a sentence."""
    if job.state == "completed" and "verified" in job.output:
        proof = job.output.get("tests", "")
        return f"is completed, and verified: {proof}." if job.output["verified"] else f"is completed, but not verified: {proof}."
    return f"is {job.state}: {job.why}" if job.why else f"is {job.state}."


def format_work_lines(job: Job) -> list[str]:
    """Return lines that say where its work is, and what it used."""
    output = job.output
    found: list[str] = []
    if output.get("reproduction"):
        found += _format_reproduction(output["reproduction"])
    if output.get("files"):
        found.append(f"Changed: {', '.join(output['files'])}")
    if output.get("branch"):
        commit = f"commit {output['commit'][:10]}" if output.get("commit") else "nothing committed"
        found.append(f"Branch: {output['branch']}, {commit}")
    if output.get("left_out"):
        found.append("Not committed: " + "; ".join([f"{path} ({why})" for path, why in output["left_out"].items()]))
    if output.get("merged"):
        found.append(f"Merged: {output['merged']}")
    if output.get("pushed"):
        found.append(f"Pushed: {output['pushed']}")
    if output.get("pull_request"):
        found.append(f"Pull request: {output['pull_request']}")
    if output.get("posted"):
        found.append(str(output["posted"]))
    if output.get("usage"):
        found.append(f"Used: {_format_usage(job, output['usage'])}")
    return found


def _format_reproduction(test: dict[str, Any]) -> list[str]:
    """Return lines with the test that was written for the symptom."""
    kept = "kept" if test["kept"] else "not kept; --keep-test keeps such a test if it is part of a verified fix"
    return [f"Test for the symptom ({test['path']}, {kept}):", *[f"    {line}" for line in test["source"].splitlines()]]


def target_branch_of(job: Job) -> str:
    """Return the target branch of a job: the one it started from, or for a follow-up the one its first job started from."""
    return str(job.facts.get("into") or job.facts.get("base") or "")


def suggest_next_steps(job: Job) -> list[str]:
    """Return how to look at its changes, how to take them over, and how to undo them."""
    if not job.output.get("files"):
        return []
    see, undo = f"To see it: treadle diff {job.id}", f"To take it back: treadle undo {job.id} --all"
    if not job.facts.get("is_private"):
        return [see, undo]
    take = f"treadle merge {job.id}" if job.output.get("commit") else f"treadle patch {job.id} | git apply"
    return [see, f"To take it over: {take}", undo]


def _format_usage(job: Job, usage: dict[str, Any]) -> str:
    requests = "1 request" if usage["requests"] == 1 else f"{usage['requests']} requests"
    cost = f", ${usage['cost']:.4f}" if usage.get("cost") is not None else ""
    took = f", {job.finished_at - job.started_at:.0f} s" if job.finished_at else ""
    return f"{requests}, {usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out{cost}{took}"
