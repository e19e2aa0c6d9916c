"""Projects, and who may see them. The owner alone says who else may, and removes a project; members may do everything else."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from sqlalchemy import RowMapping, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from treadle.assistants.guidance.store.change import Change, changing
from treadle.assistants.guidance.store.checks import checked, name
from treadle.assistants.guidance.store.errors import ChangedMeanwhile, NotYours
from treadle.assistants.guidance.store.part import Part
from treadle.assistants.guidance.store.rows import project_row, row_of, value_of, visible
from treadle.assistants.guidance.store.tables import members, projects
from treadle.assistants.guidance.store.values import Project, Provenance, now
from treadle.assistants.guidance.store.whole import whole


class Projects(Part):
    """Create, list, get, update, share and delete projects."""

    @whole
    async def create_project(self, user: str, title: str, description: str = "") -> Project:
        """A new project of this user."""
        name("name of a user", user)
        moment = now()
        project = checked(Project(title, description, owner=user, created_at=moment, updated_at=moment))
        async with self._database.writing() as connection:
            await connection.execute(insert(projects).values(row_of(project, projects) | {"counter": 0}))
        return project

    @whole
    async def list_projects(self, user: str) -> list[Project]:
        """The projects this user may see; what was changed last comes first."""
        async with self._database.reading() as connection:
            query = select(projects).where(visible(user)).order_by(projects.c.updated_at.desc(), projects.c.id)
            rows = (await connection.execute(query)).mappings().all()
            return await _with_members(connection, rows)

    @whole
    async def get_project(self, user: str, project_id: str) -> Project:
        """A project, or `ProjectNotFound`."""
        async with self._database.reading() as connection:
            return await project_of(connection, await project_row(connection, user, project_id))

    @whole
    async def update_project(
        self,
        user: str,
        project_id: str,
        *,
        expected: int,
        title: str | None = None,
        description: str | None = None,
        why: Provenance | None = None,
    ) -> Project:
        """Change title or description of the version that was seen, or `ChangedMeanwhile`."""
        async with changing(self._database, user, project_id) as change:
            current = await project_of(change.connection, change.project)
            if current.version != expected:
                raise ChangedMeanwhile("Somebody else has changed this project meanwhile; look at it again.", current)
            wanted = checked(_renamed(current, title, description))
            kept = {"title": wanted.title, "description": wanted.description, "version": wanted.version}
            await change.connection.execute(update(projects).where(projects.c.id == project_id).values(kept))
            await change.account(why or Provenance("updated"), "project", wanted.version)
            return replace(wanted, updated_at=change.moment)

    @whole
    async def share_project(self, user: str, project_id: str, *others: str) -> Project:
        """Let others see and change a project; only its owner can."""
        for other in others:
            name("name of a user", other)
        async with changing(self._database, user, project_id) as change:
            _owns(change)
            known = {change.user, *await _members(change.connection, project_id)}
            rows = [{"project_id": project_id, "member": other} for other in dict.fromkeys(others) if other not in known]
            if rows:
                await change.connection.execute(insert(members), rows)
            return replace(await project_of(change.connection, change.project), updated_at=change.moment)

    @whole
    async def unshare_project(self, user: str, project_id: str, *others: str) -> Project:
        """Let others no longer see a project; only its owner can."""
        async with changing(self._database, user, project_id) as change:
            _owns(change)
            gone = delete(members).where(members.c.project_id == project_id, members.c.member.in_(others))
            await change.connection.execute(gone)
            return replace(await project_of(change.connection, change.project), updated_at=change.moment)

    @whole
    async def delete_project(self, user: str, project_id: str) -> None:
        """Remove a project and everything of it; only its owner can."""
        async with changing(self._database, user, project_id) as change:
            _owns(change)
            await change.connection.execute(delete(projects).where(projects.c.id == project_id))
        await self._database.purge()


async def project_of(connection: AsyncConnection, row: RowMapping) -> Project:
    """The value of a project's row, with its members."""
    return (await _with_members(connection, [row]))[0]


def _renamed(current: Project, title: str | None, description: str | None) -> Project:
    return replace(
        current,
        title=current.title if title is None else title,
        description=current.description if description is None else description,
        version=current.version + 1,
    )


def _owns(change: Change) -> None:
    if change.project["owner"] != change.user:
        raise NotYours(f"Only {change.project['owner']}, who owns this project, can do that; ask them.")


async def _members(connection: AsyncConnection, project_id: str) -> Iterable[str]:
    return (await connection.execute(select(members.c.member).where(members.c.project_id == project_id))).scalars().all()


async def _with_members(connection: AsyncConnection, rows: Sequence[RowMapping]) -> list[Project]:
    ids = [row["id"] for row in rows]
    query = select(members.c.project_id, members.c.member).where(members.c.project_id.in_(ids)).order_by(members.c.member)
    shared: dict[str, list[str]] = {one: [] for one in ids}
    for project_id, member in await connection.execute(query):
        shared[project_id].append(member)
    return [value_of(row, Project, members=shared[row["id"]]) for row in rows]
