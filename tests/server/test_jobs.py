"""Jobs over HTTP."""

import asyncio
import time

import pytest
from msgspec import Struct
from msgspec.structs import replace
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route

from server.running import Serving, assistant
from server.runs.asking import with_server
from treadle.core.calls import Ask, Call, Written
from treadle.core.entries import Finished, Judged, Opened, Replied, Said
from treadle.home import open_home
from treadle.jobs.execution import JobKind, JobResult
from treadle.jobs.store import Jobs
from treadle.server.app import UserMiddleware
from treadle.stores.accounts import User

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


class Digging(Struct):
    depth: int = 1


def digger(run=None, **more):
    async def dug(desk, given):
        model = await desk.host.model()
        return JobResult("completed", {"depth": given.depth, "model": model.name})

    return assistant("digger", work=lambda: [JobKind("dig", "dig", Digging, run or dug)], **more)


@pytest.fixture
def jobs(tmp_path):
    return Jobs(tmp_path / "data")


def state(jobs, job, wanted):
    deadline = time.monotonic() + 120
    while (found := jobs.get(job.id)).state != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def asked(tmp_path, work, *assistants, **more):
    with Serving(tmp_path, assistants or [digger()], **more) as server:
        return with_server(server, work)


def test_jobs_are_listed_newest_first_without_secrets(tmp_path, jobs):
    made = [jobs.create(name, "dig", f"Job {at}", given={"token": SECRET}) for at, name in enumerate(("digger", "other", "digger"))]
    jobs.save(replace(jobs.get(made[0].id), state="failed"))

    async def work(ask):
        queries = ("", "?limit=2", f"?before={made[1].id}", "?state=failed", "?assistant=digger", "?before=nothing")
        return [(await ask("GET", f"/api/jobs{query}"))[1] for query in queries]

    answers = asked(tmp_path, work)
    found = [([int(job["title"][4]) for job in answer["jobs"]], answer["more"]) for answer in answers]
    assert found == [([2, 1, 0], False), ([2, 1], True), ([0], False), ([0], False), ([2, 0], False), ([], False)]
    assert SECRET not in str(answers)


def test_a_job_is_shown_and_cancelled(tmp_path, jobs):
    job = jobs.create("digger", "dig", "Dig")

    async def work(ask):
        path = f"/api/jobs/{job.id}"
        return (
            await ask("GET", path),
            await ask("POST", f"{path}/cancel"),
            await ask("POST", f"{path}/resume"),
            await ask("GET", path),
        )

    shown, cancelled, resumed, after = asked(tmp_path, work)
    assert (shown[1]["state"], cancelled[1]["state"], after[1]["state"]) == ("pending", "cancelled", "cancelled")
    assert (resumed[0], "is cancelled: there is nothing" in resumed[1]["error"]) == (409, True)


@pytest.mark.parametrize("path", ["", "/diff", "/cancel", "/resume"])
def test_what_is_not_there_is_not_found(tmp_path, path, jobs):
    jobs.create("digger", "dig", "Dig")
    method = "POST" if path in ("/cancel", "/resume") else "GET"
    for name in ("job-", "nothing"):  # the beginning of an id is none
        status, said = asked(tmp_path, lambda ask, name=name: ask(method, f"/api/jobs/{name}{path}"))
        assert (status, "There is no job" in said["error"]) == (404, True)


def test_a_job_goes_on_with_the_model_it_was_begun_with(tmp_path, jobs):
    job = jobs.create("digger", "dig", "Dig", given={"depth": 3})

    async def work(ask):
        answer = await ask("POST", f"/api/jobs/{job.id}/resume")
        return answer, await asyncio.to_thread(state, jobs, job, "completed")

    (status, said), done = asked(tmp_path, work)
    assert (status, said["state"]) == (202, "running")
    assert done.output == {"depth": 3, "model": "scripted"}


def test_a_job_with_a_named_model_goes_on_with_that(tmp_path, jobs):
    job = jobs.create("digger", "dig", "Dig", origin={"model": "openai:other", "base_url": "http://127.0.0.1:9/v1"})

    async def work(ask):
        await ask("POST", f"/api/jobs/{job.id}/resume")
        return await asyncio.to_thread(state, jobs, job, "completed")

    assert asked(tmp_path, work).output["model"] == "openai:other"


def test_what_goes_wrong_in_a_job_is_its_end(tmp_path, jobs):
    async def breaks(desk, given):
        raise ValueError("The spade broke.")

    job = jobs.create("digger", "dig", "Dig")

    async def work(ask):
        await ask("POST", f"/api/jobs/{job.id}/resume")
        return await asyncio.to_thread(state, jobs, job, "failed")

    assert asked(tmp_path, work, digger(breaks)).why == "ValueError: The spade broke."


def test_a_job_that_another_process_carries_out_is_left_to_it(tmp_path, jobs):
    job = jobs.create("digger", "dig", "Dig")
    with jobs.held(job.id):
        status, _ = asked(tmp_path, lambda ask: ask("POST", f"/api/jobs/{job.id}/resume"))
        assert status == 202
    assert jobs.get(job.id).state == "pending"


def test_a_job_under_way_is_left_when_the_server_stops_and_can_be_resumed(tmp_path, jobs):
    begun = []

    async def digs(desk, given):
        begun.append(desk.before)
        await asyncio.Event().wait()

    job = jobs.create("digger", "dig", "Dig")

    async def work(ask):
        await ask("POST", f"/api/jobs/{job.id}/resume")
        await asyncio.to_thread(state, jobs, job, "running")
        return await ask("POST", f"/api/jobs/{job.id}/resume")

    status, _ = asked(tmp_path, work, digger(digs))
    assert (status, begun) == (409, ["pending"])
    assert (jobs.get(job.id).state, "is gone" in jobs.get(job.id).why) == ("waiting", True)


@pytest.mark.parametrize(("name", "kind"), [("nobody", "dig"), ("digger", "fly")])
def test_a_job_that_nobody_knows_how_to_do_stays(tmp_path, jobs, name, kind):
    job = jobs.create(name, kind, "Dig")
    status, said = asked(tmp_path, lambda ask: ask("POST", f"/api/jobs/{job.id}/resume"))
    assert (status, "could go on with" in said["error"]) == (409, True)


def test_with_users_only_the_assistants_own_routes_go_on_with_jobs(tmp_path, jobs):
    job = jobs.create("digger", "dig", "Dig")

    def around(app):
        app.user_middleware.append(Middleware(UserMiddleware, person=User("ada")))
        return app

    status, said = asked(tmp_path, lambda ask: ask("POST", f"/api/jobs/{job.id}/resume"), around=around)
    assert (status, "Only the server's administrator" in said["error"]) == (403, True)


def test_what_an_assistant_does_with_its_jobs_itself_is_left_to_it(tmp_path, jobs):
    async def own(request):
        return JSONResponse({"own": request.path_params["id"]})

    paths = ("diff", "resume", "approvals/{call_id}")
    table = [Route(f"/api/digger/jobs/{{id}}/{path}", own, methods=["GET" if path == "diff" else "POST"]) for path in paths]
    job = jobs.create("digger", "dig", "Dig")
    call = Call("c1", "dig", {})
    entries = [
        Opened(agent="digger"),
        Said(text="x"),
        Replied(parts=(Written("c1", "dig", "{}"),)),
        Judged(call=call, verdict=Ask()),
        Finished(stopped="waiting"),
    ]

    async def work(ask):
        await open_home(tmp_path / "data").journal.append(job.id, 0, entries)
        body = {"approved": False}
        redirects = [
            await ask._session.get(f"{ask.url}/api/jobs/{job.id}/diff", allow_redirects=False),
            await ask._session.post(f"{ask.url}/api/jobs/{job.id}/resume", allow_redirects=False),
            await ask._session.post(f"{ask.url}/api/runs/{job.id}/approvals/c1", json=body, allow_redirects=False),
        ]
        async with ask._session.post(f"{ask.url}/api/jobs/{job.id}/resume") as followed:
            return [(each.status, each.headers["location"]) for each in redirects], await followed.json()

    redirects, followed = asked(tmp_path, work, digger(routes=lambda host: table))
    own_path = f"/api/digger/jobs/{job.id}"
    assert redirects == [(307, f"{own_path}/diff"), (307, f"{own_path}/resume"), (307, f"{own_path}/approvals/c1")]
    assert followed == {"own": job.id}


def test_a_job_whose_assistant_says_nothing_has_no_diff_and_takes_no_answers(tmp_path, jobs):
    job = jobs.create("digger", "dig", "Dig")

    async def work(ask):
        await open_home(tmp_path / "data").journal.append(job.id, 0, [Opened(agent="digger"), Said(text="x")])
        return await ask("GET", f"/api/jobs/{job.id}/diff"), await ask(
            "POST", f"/api/runs/{job.id}/approvals/c1", {"approved": False}
        )

    (status, said), (refused, _) = asked(tmp_path, work)
    assert (status, "doesn't say here" in said["error"], refused) == (404, True, 409)


def test_a_job_whose_file_is_damaged_is_not_found(tmp_path, jobs):
    job = jobs.create("digger", "dig", "Dig")
    (jobs.folder_of(job.id) / "job.json").write_text("{")
    status, said = asked(tmp_path, lambda ask: ask("GET", f"/api/jobs/{job.id}"))
    assert (status, "can't be read" in said["error"]) == (404, True)


def test_a_job_that_is_over_is_deleted_with_its_run(tmp_path, jobs):
    job = jobs.create("digger", "dig", "Dig")

    async def work(ask):
        await open_home(tmp_path / "data").journal.append(job.id, 0, [Opened(), Said(text="Dig"), Finished(stopped="answered")])
        early = await ask("DELETE", f"/api/jobs/{job.id}")
        await ask("POST", f"/api/jobs/{job.id}/cancel")
        deleted = await ask("DELETE", f"/api/jobs/{job.id}")
        return early[0], deleted[0], (await ask("GET", f"/api/jobs/{job.id}"))[0], (await ask("GET", f"/api/runs/{job.id}"))[0]

    assert asked(tmp_path, work) == (409, 204, 404, 404)
    assert not jobs.folder_of(job.id).exists()
