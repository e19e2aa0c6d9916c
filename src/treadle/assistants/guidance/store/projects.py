"""Projects and their members. Only the owner shares and deletes a project; members may do everything else."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from sqlalchemy import RowMapping, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from treadle.assistants.guidance.store.database import StoreMixin, in_any_store, run_to_completion
from treadle.assistants.guidance.store.errors import NotProjectOwner, VersionConflict
from treadle.assistants.guidance.store.rows import Grantee, is_visible_to, load_project_row, row_to_value, value_to_row
from treadle.assistants.guidance.store.tables import members, projects
from treadle.assistants.guidance.store.transaction import ProjectTransaction, project_transaction
from treadle.assistants.guidance.store.validation import check_name, validate_value
from treadle.assistants.guidance.store.values import Project, Provenance, utc_now


class ProjectsMixin(StoreMixin):
    """Create, list, get, update, share and delete projects."""

    @run_to_completion
    async def create_project(self, user: str, title: str, description: str = "") -> Project:
        """Create a project of this user."""
        check_name("name of a user", user)
        moment = utc_now()
        project = validate_value(Project(title, description, owner=user, created_at=moment, updated_at=moment))
        async with self._database.writing() as connection:
            await connection.execute(insert(projects).values(value_to_row(project, projects) | {"counter": 0}))
        return project

    async def list_projects(self, user: str) -> list[Project]:
        """Return the projects this user may see, their own and shared ones, the last changed first."""
        found = await self._list_projects(user)
        for store, grantee in await self.shared_stores():
            assert isinstance(store, ProjectsMixin)
            known = {each.id for each in found}
            found += [each for each in await store._list_projects(grantee) if each.id not in known]
        return sorted(found, key=lambda each: (-each.updated_at.timestamp(), each.id))

    @run_to_completion
    async def _list_projects(self, user: str) -> list[Project]:
        async with self._database.reading() as connection:
            query = select(projects).where(is_visible_to(user)).order_by(projects.c.updated_at.desc(), projects.c.id)
            rows = (await connection.execute(query)).mappings().all()
            return [_with_access(each, user) for each in await _add_members(connection, rows)]

    @in_any_store
    async def get_project(self, user: str, project_id: str) -> Project:
        """Return a project; raises `ProjectNotFound`."""
        async with self._database.reading() as connection:
            return _with_access(await load_project(connection, await load_project_row(connection, user, project_id)), user)

    @in_any_store
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
        """Change title or description of the version that was seen; raises `VersionConflict`."""
        async with project_transaction(self._database, user, project_id) as change:
            current = await load_project(change.connection, change.project)
            if current.version != expected:
                raise VersionConflict("Another user has changed this project meanwhile; look at it again.", current)
            wanted = validate_value(_apply_update(current, title, description))
            kept = {"title": wanted.title, "description": wanted.description, "version": wanted.version}
            await change.connection.execute(update(projects).where(projects.c.id == project_id).values(kept))
            await change.account(why or Provenance("updated"), "project", wanted.version)
            return replace(wanted, updated_at=change.moment)

    @in_any_store
    async def share_project(self, user: str, project_id: str, *others: str) -> Project:
        """Let other users see and change a project; only its owner can."""
        for other in others:
            check_name("name of a user", other)
        async with project_transaction(self._database, user, project_id) as change:
            _check_owner(change)
            known = {change.user, *await _load_members(change.connection, project_id)}
            rows = [{"project_id": project_id, "member": other} for other in dict.fromkeys(others) if other not in known]
            if rows:
                await change.connection.execute(insert(members), rows)
            return replace(await load_project(change.connection, change.project), updated_at=change.moment)

    @in_any_store
    async def unshare_project(self, user: str, project_id: str, *others: str) -> Project:
        """Stop sharing a project with other users; only its owner can."""
        async with project_transaction(self._database, user, project_id) as change:
            _check_owner(change)
            gone = delete(members).where(members.c.project_id == project_id, members.c.member.in_(others))
            await change.connection.execute(gone)
            return replace(await load_project(change.connection, change.project), updated_at=change.moment)

    @in_any_store
    async def delete_project(self, user: str, project_id: str) -> None:
        """Delete a project and everything in it; only its owner can."""
        async with project_transaction(self._database, user, project_id) as change:
            _check_owner(change)
            await change.connection.execute(delete(projects).where(projects.c.id == project_id))
        await self._database.purge()


async def load_project(connection: AsyncConnection, row: RowMapping) -> Project:
    """Return a project from its row, with its members."""
    return (await _add_members(connection, [row]))[0]


def _with_access(project: Project, user: str) -> Project:
    return replace(project, can_edit=user.access[project.id]) if isinstance(user, Grantee) else project


def _apply_update(current: Project, title: str | None, description: str | None) -> Project:
    return replace(
        current,
        title=current.title if title is None else title,
        description=current.description if description is None else description,
        version=current.version + 1,
    )


def _check_owner(change: ProjectTransaction) -> None:
    if change.project["owner"] != change.user:
        raise NotProjectOwner(f"Only {change.project['owner']}, who owns this project, can do that; ask them.")


async def _load_members(connection: AsyncConnection, project_id: str) -> Iterable[str]:
    return (await connection.execute(select(members.c.member).where(members.c.project_id == project_id))).scalars().all()


async def _add_members(connection: AsyncConnection, rows: Sequence[RowMapping]) -> list[Project]:
    ids = [row["id"] for row in rows]
    query = select(members.c.project_id, members.c.member).where(members.c.project_id.in_(ids)).order_by(members.c.member)
    shared: dict[str, list[str]] = {one: [] for one in ids}
    for project_id, member in await connection.execute(query):
        shared[project_id].append(member)
    return [row_to_value(row, Project, members=shared[row["id"]]) for row in rows]
