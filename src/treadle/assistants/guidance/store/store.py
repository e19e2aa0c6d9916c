"""The project store: all its methods, each from the module of its concept.

Every method takes the user it acts for. What that user may not see is missing: `ItemNotFound`, and for projects
`ProjectNotFound`.
"""

from typing import Self

from treadle.assistants.guidance.store.candidates import CandidatesMixin
from treadle.assistants.guidance.store.chat_sessions import ChatSessionsMixin
from treadle.assistants.guidance.store.exports import ExportsMixin
from treadle.assistants.guidance.store.issues import IssuesMixin
from treadle.assistants.guidance.store.models import ProblemSpecMixin, WorldModelMixin
from treadle.assistants.guidance.store.projects import ProjectsMixin
from treadle.assistants.guidance.store.provenance import ProvenanceMixin
from treadle.assistants.guidance.store.runs import RunsMixin


class Store(
    ProjectsMixin,
    ChatSessionsMixin,
    ProblemSpecMixin,
    WorldModelMixin,
    RunsMixin,
    CandidatesMixin,
    IssuesMixin,
    ProvenanceMixin,
    ExportsMixin,
):
    """The project store. Belongs to the event loop it was opened in; close it, or use it in an `async with`."""

    async def close(self) -> None:
        """Close the database."""
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
