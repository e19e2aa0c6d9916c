"""Settings of `treadle.toml` over HTTP: their values, where each is from, and changes of those that the page offers."""

import asyncio
import os
from collections.abc import Mapping
from typing import Annotated, Any, cast

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.core.errors import SettingsError
from treadle.models.providers import PROVIDERS
from treadle.plugins.models import split_model_names
from treadle.routes import get, put, routes_of
from treadle.server.settings.access import FORBIDDEN, HAS_USERS, SettingsAccess
from treadle.settings.editing import set_settings
from treadle.settings.loader import DEFAULT, describe_settings, user_settings

MODEL_VARIABLE = "TREADLE_MODEL"
FOLDERS = ("assistants.coding.workspaces", "assistants.courses.folders")  # on a shared server, only its owner may name some
EDITABLE = (
    "model.name",
    "server.models",
    "policy.allow",
    "policy.ask",
    "policy.deny",
    "memory.enabled",
    "skills.enabled",
    "retention.runs_days",
    "retention.jobs_days",
    *FOLDERS,
)
FOR_EVERYONE = ("retention.runs_days", "retention.jobs_days")


class SettingView(Struct, frozen=True):
    """A setting. `source` is the file or the variable that it is from, or `default`.

    `locked` says why it can't be changed here; empty where it can.
    """

    key: str
    value: Any
    source: str
    locked: str = ""


class SettingsView(Struct, frozen=True):
    """The settings that the page shows. `locked` says why none of them can be changed; `file` is where they are written."""

    file: str
    locked: str
    values: list[SettingView]
    notes: tuple[str, ...] = ()


class SettingChange(Struct, frozen=True, forbid_unknown_fields=True):
    """A new value; null restores the default."""

    value: Annotated[Any, Meta(description="As in treadle.toml; null removes the key, so that its default applies.")]


class SettingsApi:
    """The handlers for one user."""

    def __init__(self, access: SettingsAccess) -> None:
        self._access = access

    @get("/api/settings", returns="the settings; those that are an admin's to see, only for admins")
    async def list_settings(self) -> SettingsView:
        """List the settings that the page shows, and where each is from."""
        return await asyncio.to_thread(self._list)

    @put(
        "/api/settings/values/{key}",
        errors={
            **FORBIDDEN,
            404: "it isn't one that is changed here",
            409: "a variable takes precedence",
            422: "the value is invalid",
        },
        returns="the setting",
    )
    async def change_setting(self, key: str, body: SettingChange) -> SettingView:
        """Change a setting in the owner's treadle.toml, for every face."""
        return await asyncio.to_thread(self._change, key, body.value)

    def _list(self) -> SettingsView:
        refusal, is_admin = self._access.refusal, self._access.person.role == "admin"
        try:
            settings = user_settings()
        except SettingsError as error:
            return SettingsView("", str(error) if is_admin else refusal, [])
        rows = {row.key: (row.value, row.source) for row in describe_settings(settings)}
        if os.environ.get(MODEL_VARIABLE):
            rows["model.name"] = os.environ[MODEL_VARIABLE], MODEL_VARIABLE
        shown = EDITABLE if is_admin else FOR_EVERYONE
        values = [
            SettingView(
                key, rows[key][0], rows[key][1] if is_admin else "", self._explain_lock(key, rows[key][1], settings.user_file)
            )
            for key in shown
            if key in rows
        ]
        return SettingsView(settings.user_file if is_admin else "", refusal, values, settings.notes if is_admin else ())

    def _explain_lock(self, key: str, source: str, file: str) -> str:
        if key in FOLDERS and not self._access.is_owner:
            return HAS_USERS.format(what="folders are named")
        if source not in (DEFAULT, file):
            return f"The environment variable {source} is set, and takes precedence."
        return ""

    def _change(self, key: str, value: Any) -> SettingView:
        self._access.check()
        if key not in EDITABLE:
            raise HTTPException(404, f"{key[:100]} isn't changed here; edit treadle.toml.")
        before = next(each for each in self._list().values if each.key == key)
        if before.locked:
            raise HTTPException(403 if key in FOLDERS and not self._access.is_owner else 409, before.locked)
        try:
            _check_models(key, value)
            set_settings({_path_of(key): value or None if key == "model.name" else value})
        except SettingsError as error:
            raise HTTPException(422, str(error)) from error
        return next(each for each in self._list().values if each.key == key)


def _path_of(key: str) -> tuple[str, ...]:
    return tuple(key.split("."))


def _check_models(key: str, value: Any) -> None:
    """Refuse models that aren't a provider's: the name of another kind could start a program (`command:…`)."""
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    named: Mapping[str, list[Any]] = {"model.name": [value], "server.models": listed}
    for each in named.get(key, []):
        for name in split_model_names(each) if isinstance(each, str) and each else []:
            if name.partition(":")[0] not in PROVIDERS:
                raise SettingsError(f"{name} isn't a model of a known provider: write KIND:NAME, such as openai:gpt-5-mini.")


def settings_routes(access: SettingsAccess) -> list[BaseRoute]:
    """Return the routes."""
    return routes_of(SettingsApi(access))
