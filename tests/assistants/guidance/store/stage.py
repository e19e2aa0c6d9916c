"""What the tests of the store have in common: a store for a while, and a project with something of everything in it."""

import asyncio

from treadle.assistants.guidance.store import (
    Candidate,
    Constraint,
    ProblemSpec,
    Project,
    ProjectIssue,
    Provenance,
    Run,
    Store,
    WorldEntry,
    WorldModel,
    open_store,
)

SPEC = ProblemSpec((Constraint("Budget", "at most 10k", 80),), ("cross the river",), "fine", "seeded")
WORLD = WorldModel(actors=(WorldEntry("Council", "who pays", "person", ("river",)),), resources=(WorldEntry("River", id="river"),))
WHY = Provenance("refined", "as the person asked", "agent", "chat", ("m1",), {"reason": "said so"})


def keeping(address, job):
    """What a job gets out of a store that is open for as long as it takes."""

    async def main():
        async with await open_store(address) as store:
            return await job(store)

    return asyncio.run(main())


async def bridge(store: Store, user: str = "ada") -> Project:
    """A project with something of everything."""
    project = await store.create_project(user, "Bridge", "One that holds.")
    await store.put_problem_spec(user, project.id, SPEC, expected=0, why=WHY)
    await store.put_world_model(user, project.id, WORLD, expected=0, why=WHY)
    talk = await store.create_chat_session(user, project.id, "Main")
    said = await store.add_message(user, talk.id, "user", "What next?")
    advice = await store.add_message(user, talk.id, "agent", "Run it.", {"answers": said.id})
    run = await store.create_run(
        user,
        Run(
            project.id,
            config={"num_candidates": 5},
            chat_session_id=talk.id,
            recommended_message_id=advice.id,
            recommended_config_snapshot={"project_id": project.id, "parameters": [talk.id]},
        ),
    )
    first = await store.create_candidate(user, Candidate(run.id, "an arch"))
    second = await store.create_candidate(user, Candidate(run.id, "two arches", parent_ids=(first.id,)), WHY)
    await store.create_issue(user, ProjectIssue(project.id, "model", "minor", "no wind", run_id=run.id, candidate_id=second.id))
    await store.create_chat_session(user, project.id, "About a candidate", "analysis", run_id=run.id, candidate_id=second.id)
    return await store.get_project(user, project.id)
