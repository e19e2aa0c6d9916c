"""What the guidance assistant's tests act on: the sample project in a real store, and a script for the model."""

import asyncio
from pathlib import Path

from treadle import Host, ModelError, Scripted, Traits, open_home
from treadle.assistants.guidance.command import make_sample
from treadle.assistants.guidance.guide import Guide
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.guidance.store import open_store

SMALL = Traits(native_calls=False)


def guided(address: str, folder: Path, work, *replies, user: str = "ann", traits=None, **settings):
    """What `work(guide, store, project, session)` gives, with these replies of the model."""
    model = Scripted(*replies, **({} if traits is None else {"traits": traits}))

    async def chosen():
        if not replies:
            raise ModelError("There is no model here.")
        return model

    async def tale():
        async with await open_store(address) as store:
            project = await make_sample(store, "ann")
            (session,) = await store.list_chat_sessions("ann", project.id)
            guide = Guide(Host(open_home(folder), chosen), store, GuidanceSettings(**settings), user)
            return await work(guide, store, project, session)

    return asyncio.run(tale()), model
