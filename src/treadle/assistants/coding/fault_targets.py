"""Targets of a repair: the code that a model is shown and asked to correct, from one function to an excerpt of its module. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from treadle.assistants.coding.code import replace_definition, splice_code
from treadle.assistants.coding.fault_localisation import source_of
from treadle.assistants.coding.project_sources import CodePlace, ProjectSources

MAX_WHOLE_FILE = 2_000  # characters of a Python file up to which all of it is shown
MAX_EXCERPTS = (3_000, 6_000)  # characters of an excerpt: of the neighbouring functions, of the module


class FaultTarget(Struct, frozen=True):
    """Code to correct: its file, the part of it that is shown, and the definitions in that part; none for the whole file."""

    path: str
    source: str
    shown: str
    parts: tuple[CodePlace, ...] = ()

    @property
    def name(self) -> str:
        """What is shown, in a few words."""
        return ", ".join(part.name for part in self.parts) or self.path


def narrow_targets(project: ProjectSources, places: Iterable[CodePlace]) -> list[FaultTarget]:
    """Return a target for each place: the definition alone, or the whole of a small file."""
    found = [_build_target(project, place.path, (place,)) for place in places]
    return list({(target.path, target.parts): target for target in found}.values())


def widen_target(project: ProjectSources, target: FaultTarget, places: Sequence[CodePlace]) -> list[FaultTarget]:
    """Return wider excerpts around a target: its class or what else of its file is suspected, then more of its module."""
    found: list[FaultTarget] = []
    for most in MAX_EXCERPTS if target.parts else ():
        wider = _build_target(project, target.path, _collect_neighbours(project, target.parts[0], places, most))
        if len(wider.parts) != len([target, *found][-1].parts):
            found.append(wider)
    return found


def apply_code(target: FaultTarget, code: str) -> str:
    """Return the file with a model's code in place; empty if the code makes no sense there."""
    if not target.parts:
        return splice_code(target.source, code, target.path)
    content, replaced = target.source, False
    for part in sorted(target.parts, key=lambda part: part.start, reverse=True):  # so that earlier lines don't move
        changed = replace_definition(content, part.name, part.start, part.end, code)
        if changed:
            content, replaced = changed, True
    return content if replaced else ""


def format_part(target: FaultTarget, content: str) -> str:
    """Return the part of another content of the file that a target shows of its source."""
    if not target.parts:
        return content
    project = ProjectSources({target.path: content})
    places = project.module(target.path).places
    return _format_excerpt(project, [places[part.name] for part in target.parts if part.name in places])


def _build_target(project: ProjectSources, path: str, parts: tuple[CodePlace, ...]) -> FaultTarget:
    source = project.files[path]
    if len(source) <= MAX_WHOLE_FILE:
        return FaultTarget(path, source, source)
    return FaultTarget(path, source, _format_excerpt(project, parts), parts)


def _collect_neighbours(project: ProjectSources, place: CodePlace, places: Sequence[CodePlace], most: int) -> tuple[CodePlace, ...]:
    """Return a place with others of its file, in the file's order: suspected ones, those of its class, then the nearest."""
    module = project.module(place.path)
    owner = place.name.rpartition(".")[0]
    others = [each for name, each in module.places.items() if name not in module.classes and each != place]
    others.sort(
        key=lambda each: (each not in places, not owner or each.name.rpartition(".")[0] != owner, abs(each.start - place.start))
    )
    chosen, length = [place], len(source_of(project, place))
    for each in others:
        length += len(source_of(project, each))
        if length > most:
            break
        chosen.append(each)
    return tuple(sorted(chosen, key=lambda each: each.start))


def _format_excerpt(project: ProjectSources, parts: Sequence[CodePlace]) -> str:
    """Return definitions as one piece of valid code: methods stand below the name of their class."""
    lines: list[str] = []
    current = ""
    for part in parts:
        owner = part.name.rpartition(".")[0]
        if owner and owner != current:
            lines.append(f"class {owner}:\n")
        current = owner
        lines.append(source_of(project, part))
    return "\n".join(lines) if len(parts) > 1 else "".join(lines)
