"""What the guidance assistant's tests act on: the sample project in a real store, and a script for the model."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from treadle import open_home
from treadle.assistant import AssistantSession, Host
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.command import make_sample_project
from treadle.assistants.guidance.projects import open_projects
from treadle.errors import ModelError
from treadle.models import Traits
from treadle.testing import Scripted

BOTH = ["sqlite", "postgresql"]
on_both_stores = pytest.mark.parametrize("address", BOTH, indirect=True)
SMALL = Traits(native_calls=False)


class Table:
    """A person at a project: `table(work, *replies)` gives what comes of `work(session, store)`, and the model."""

    def __init__(self, folder: Path, address: str, patched: pytest.MonkeyPatch) -> None:
        self._folder = folder
        patched.setenv("TREADLE_GUIDANCE_DATABASE", address)
        patched.setenv("TREADLE_CONFIG", str(folder / "own.toml"))

    def __call__(self, work: Any, *replies: Any, user: str = "ann", traits: Traits | None = None, **settings: Any) -> Any:
        listed = "".join(f"{name} = {list(value)!r}\n" for name, value in settings.items())
        (self._folder / "own.toml").write_text(f"[assistants.guidance]\n{listed}")
        model = Scripted(*replies, **({} if traits is None else {"traits": traits}))

        async def chosen():
            if not replies:
                raise ModelError("There is no model here.")
            return model

        async def tale():
            host = Host(open_home(self._folder), chosen, user)
            async with open_projects(host) as store:
                project = await make_sample_project(store, "ann")
                (chat,) = await store.list_chat_sessions("ann", project.id)
                context = {"project_id": project.id, "session_id": chat.id}
                return await work(AssistantSession(assistant, host, context), store)

        return asyncio.run(tale()), model
