"""What the parts of the store have in common: the database. Each part is one concept, in a file of its own."""

from treadle.assistants.guidance.store.database import Database


class Part:
    """Some methods of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database
