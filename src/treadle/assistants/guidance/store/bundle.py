"""A whole project as one value, and that value with ids of its own. Pure: reading and writing it is `exports`."""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

from treadle.assistants.guidance.store.checks import words
from treadle.assistants.guidance.store.errors import BadValue
from treadle.assistants.guidance.store.values import (
    Candidate,
    ChatMessage,
    ChatSession,
    Issue,
    ProblemSpec,
    Project,
    Provenance,
    Run,
    WorldModel,
    new_id,
)

FORMAT: Literal["treadle.guidance.project/1"] = "treadle.guidance.project/1"
Thing = TypeVar("Thing", Project, ChatSession, ChatMessage, Run, Candidate, Issue, Provenance)


class ProjectBundle(Struct, frozen=True):
    """Everything of one project, in order. Whose it is isn't part of it."""

    project: Project
    problem_spec: ProblemSpec | None = None
    world_model: WorldModel | None = None
    chat_sessions: tuple[ChatSession, ...] = ()
    messages: tuple[ChatMessage, ...] = ()
    runs: tuple[Run, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    issues: tuple[Issue, ...] = ()
    provenance: tuple[Provenance, ...] = ()
    format: Literal["treadle.guidance.project/1"] = FORMAT


def renewed(bundle: ProjectBundle, owner: str) -> ProjectBundle:
    """The same project of another owner, with new ids throughout."""
    names = _new_names(bundle)
    _refuse_strays(bundle)
    return replace(
        bundle,
        project=replace(_renewed(bundle.project, names), owner=owner, members=()),
        chat_sessions=tuple(_renewed(each, names) for each in bundle.chat_sessions),
        messages=tuple(_renewed(each, names) for each in bundle.messages),
        runs=tuple(_renewed(each, names) for each in bundle.runs),
        candidates=tuple(_renewed(each, names) for each in bundle.candidates),
        issues=tuple(_renewed(each, names) for each in bundle.issues),
        provenance=tuple(_renewed(each, names) for each in bundle.provenance),
    )


def _things(bundle: ProjectBundle) -> "list[ChatSession | ChatMessage | Run | Candidate | Issue | Provenance]":
    return [
        *bundle.chat_sessions,
        *bundle.messages,
        *bundle.runs,
        *bundle.candidates,
        *bundle.issues,
        *bundle.provenance,
    ]


def _new_names(bundle: ProjectBundle) -> dict[str, str]:
    names = {bundle.project.id: new_id()}
    for thing in _things(bundle):
        if thing.id in names:
            raise BadValue(f"Two things of this project have the id {thing.id!r}; each needs one of its own.")
        names[thing.id] = new_id()
    return names


def _refuse_strays(bundle: ProjectBundle) -> None:
    """What refers to something that isn't there."""
    messages = {each.id for each in bundle.messages}
    there = {
        "chat_session_id": {each.id for each in bundle.chat_sessions},
        "run_id": {each.id for each in bundle.runs},
        "candidate_id": {each.id for each in bundle.candidates},
        "recommended_message_id": messages,
        "run_summary_message_id": messages,
    }
    for thing in _things(bundle):
        for key, known in there.items():
            one = getattr(thing, key, None)
            if one is not None and one not in known:
                raise BadValue(f"The {words(type(thing))} {thing.id!r} has the {key} {one!r}, which isn't in this project.")


def _renewed(thing: Thing, names: dict[str, str]) -> Thing:
    """A thing by its new name. Only ids and what programs wrote is looked into; what people wrote stays as it is."""
    fields = asdict(thing)
    changed = {key: _by_new_names(fields[key], names) for key in fields if key == "id" or key.endswith(("_id", "_ids"))}
    plain = {key: _by_new_names(part, names) for key, part in fields.items() if isinstance(part, dict)}
    return replace(thing, **changed, **plain)


def _by_new_names(value: Any, names: dict[str, str]) -> Any:
    match value:
        case str():
            return names.get(value, value)
        case dict():
            return {key: _by_new_names(part, names) for key, part in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_by_new_names(part, names) for part in cast("Sequence[Any]", value)]
        case _:
            return value
