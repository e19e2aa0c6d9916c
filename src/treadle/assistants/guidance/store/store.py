"""The store of projects: all its methods, each from the file of its concept.

Every method says for which user it acts. What that user may not see isn't there: `NotThere`, and for projects `ProjectNotFound`.
"""

from typing import Self

from treadle.assistants.guidance.store.candidates import Candidates
from treadle.assistants.guidance.store.exports import Exports
from treadle.assistants.guidance.store.issues import Issues
from treadle.assistants.guidance.store.origins import Origins
from treadle.assistants.guidance.store.projects import Projects
from treadle.assistants.guidance.store.runs import Runs
from treadle.assistants.guidance.store.specs import Specs
from treadle.assistants.guidance.store.talks import Talks
from treadle.assistants.guidance.store.worlds import Worlds


class Store(Projects, Talks, Specs, Worlds, Runs, Candidates, Issues, Origins, Exports):
    """Where projects are kept. Belongs to the event loop it was opened in; close it, or use it in an `async with`."""

    async def close(self) -> None:
        """Let go of the database."""
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
