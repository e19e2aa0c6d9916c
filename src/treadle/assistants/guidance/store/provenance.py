"""Provenance: how everything in a project came about. Entries are stored with the changes they describe, and never changed."""

from treadle.assistants.guidance.store.database import StoreMixin, run_to_completion
from treadle.assistants.guidance.store.rows import load_project_row, load_rows, row_to_value
from treadle.assistants.guidance.store.tables import provenance
from treadle.assistants.guidance.store.transaction import project_transaction
from treadle.assistants.guidance.store.values import Provenance


class ProvenanceMixin(StoreMixin):
    """Read the provenance of a project, and add to it."""

    @run_to_completion
    async def list_provenance(
        self, user: str, project_id: str, last: int | None = None, *, subject: str | None = None
    ) -> list[Provenance]:
        """Return the provenance of a project, in order: the last few entries, or all; of one subject, or of all."""
        async with self._database.reading() as connection:
            await load_project_row(connection, user, project_id)
            about = [] if subject is None else [provenance.c.subject == subject]
            rows = await load_rows(connection, provenance, provenance.c.project_id == project_id, *about, last=last)
            return [row_to_value(row, Provenance) for row in rows]

    @run_to_completion
    async def add_provenance(self, user: str, project_id: str, why: Provenance) -> Provenance:
        """Store the provenance of something that the store doesn't know of itself, such as a recommendation."""
        async with project_transaction(self._database, user, project_id) as change:
            return await change.account(why, why.subject, why.version)
