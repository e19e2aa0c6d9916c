"""What an agent's model reads besides its instructions, as the settings say: a project's guide, skills, notes."""

from pathlib import Path

from treadle.core.seams import Toolset
from treadle.settings.schema import Settings

SKILLS_FOLDER = "skills"


def context_toolsets(settings: Settings, home: Path | None, project: Path | None) -> list[Toolset]:
    """Return the sources of context for an agent.

    home     the folder of the user's data; None for an agent that has nothing of the user's own
    project  the folder that the agent works on; None where it works on none
    """
    toolsets: list[Toolset] = []
    if project is not None and settings.context.project_guide:
        from treadle.toolsets.project_guide import ProjectGuide

        toolsets.append(ProjectGuide(project))
    if settings.skills.enabled and (home is not None or project is not None):
        from treadle.toolsets.skills import Skills

        toolsets.append(Skills(*_skill_folders(settings, home), project=project))
    if settings.memory.enabled and home is not None:
        from treadle.toolsets.memory import Memory
        from treadle.toolsets.notes import project_notes, user_notes

        about = None if project is None else project_notes(home, project)
        toolsets.append(Memory(user_notes(home), about, index=settings.memory.index_limit))
    return toolsets


def _skill_folders(settings: Settings, home: Path | None) -> list[Path]:
    """Return the user's folders of skills. A relative one in the settings is relative to their file."""
    if home is None:
        return []
    beside = Path(settings.user_file).parent
    return [home / SKILLS_FOLDER, *[beside / Path(folder).expanduser() for folder in settings.skills.folders]]
