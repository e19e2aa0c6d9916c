"""Provenance: how everything in a project came about. Entries are kept with the changes they are of, and never changed."""

from treadle.assistants.guidance.store.change import changing
from treadle.assistants.guidance.store.part import Part
from treadle.assistants.guidance.store.rows import project_row, rows_in_order, value_of
from treadle.assistants.guidance.store.tables import provenance
from treadle.assistants.guidance.store.values import Provenance
from treadle.assistants.guidance.store.whole import whole


class Origins(Part):
    """Read the provenance of a project, and add to it."""

    @whole
    async def list_provenance(
        self, user: str, project_id: str, last: int | None = None, *, subject: str | None = None
    ) -> list[Provenance]:
        """How a project came to be as it is, in order: the last few entries, or all; about one subject, or about all."""
        async with self._database.reading() as connection:
            await project_row(connection, user, project_id)
            about = [] if subject is None else [provenance.c.subject == subject]
            rows = await rows_in_order(connection, provenance, provenance.c.project_id == project_id, *about, last=last)
            return [value_of(row, Provenance) for row in rows]

    @whole
    async def add_provenance(self, user: str, project_id: str, why: Provenance) -> Provenance:
        """Keep how something came about that the store doesn't know of itself, such as a recommendation."""
        async with changing(self._database, user, project_id) as change:
            return await change.account(why, why.subject, why.version)
